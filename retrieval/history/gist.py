"""What a stretch of a conversation comes to, in few words: an extract of it, or what a language model makes of it.

An extract is drawn from the texts and, for what is too near to what has been taken, from vectors that are there
already; nothing is embedded for it. It is kept as places of sentences and not as texts, so that it says nothing more
once its conversation is gone, and is extended by what was said since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import Row
from sqlalchemy.orm import Session

from memory.embedding.likeness import unrelated_cosine
from memory.models import Conversation, EmbeddingModel
from retrieval.history.extract import Sentence, compose, rank, sentences, tidy
from retrieval.lookup.candidates import from_binary
from retrieval.ranking.types import Vector
from retrieval.words import tokens

# Sentences kept: about 1,500 tokens, from which a summary of any size is made.
MOST_KEPT = 64
# Messages read at once, and the characters of all of them together. Of a longer stretch the longest messages of each
# eighth are read, which say most: a summary of all of it would take longer than the answer may.
MOST_READ = 96
MOST_CHARACTERS = 60_000
LONGEST_MESSAGE = 4000

_SAMPLE = f"""
SELECT sequence, id, role, left(content, %(most)s) AS content FROM messages
WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s AND sequence = ANY(ARRAY(
    SELECT sequence FROM (
        SELECT sequence, row_number() OVER (PARTITION BY part ORDER BY token_count DESC, sequence) AS place FROM (
            SELECT sequence, token_count, ntile(8) OVER (ORDER BY sequence) AS part FROM messages
            WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s
              AND sequence > %(after)s AND sequence <= %(upto)s
              AND role IN ('user', 'assistant') AND NOT recalled AND content <> ''
        ) parts
    ) placed WHERE place <= {MOST_READ // 8}
))
"""  # noqa: S608 - all of it is written here

_AGAIN = """
SELECT sequence, id, role, left(content, %(most)s) AS content FROM messages
WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s AND sequence = ANY(%(sequences)s)
"""

# Looked up one after the other, as everywhere: a join of rows that are new to the planner may compare each with each.
_EPISODES = """
SELECT id, message_id, reply_id FROM episodes WHERE user_id = %(user_id)s AND message_id = ANY(%(ids)s)
UNION ALL
SELECT id, message_id, reply_id FROM episodes WHERE user_id = %(user_id)s AND reply_id = ANY(%(ids)s)
"""

_VECTORS = """
SELECT item_id, halfvec_send(vector) AS vector FROM episode_embeddings
WHERE user_id = %(user_id)s AND item_id = ANY(%(ids)s) AND model_id = %(model_id)s AND vector IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Extract:
    """The best sentences of the messages 1 to `upto`, the best first.

    `read` is how many messages they were chosen from; `basis` is `vectors` or `words`.
    """

    upto: int
    ranked: tuple[Sentence, ...]
    read: int
    basis: str

    def text(self, room: int) -> str:
        """Return as much of it as fits into `room` tokens."""
        return compose(self.ranked, room, tokens.count)

    def kept(self) -> dict[str, Any]:
        """Return what `draw` can go on from: places, no texts."""
        picks = [[each.sequence, each.start, each.end] for each in self.ranked]
        return {"upto": self.upto, "picks": picks, "read": self.read, "basis": self.basis}


@dataclass(frozen=True, slots=True)
class _Source:
    session: Session
    conversation: Conversation

    def sample(self, after: int, upto: int) -> Sequence[Row[Any]]:
        """Return what was said after one message up to another; of a long stretch the longest of each eighth."""
        most = min(LONGEST_MESSAGE, MOST_CHARACTERS // min(MOST_READ, upto - after))
        return self._run(_SAMPLE, after=after, upto=upto, most=most)

    def again(self, picks: Sequence[Sequence[int]]) -> tuple[list[Sentence], dict[UUID, int]]:
        """Return the sentences at these places, and the sequence numbers of their messages by id."""
        asked = sorted({pick[0] for pick in picks})
        rows = {row.sequence: row for row in self._run(_AGAIN, sequences=asked, most=LONGEST_MESSAGE)} if asked else {}
        found = [
            Sentence(sequence, rows[sequence].role, start, end, tidy(rows[sequence].content[start:end]))
            for sequence, start, end in picks
            if sequence in rows
        ]
        return [each for each in found if each.text], {row.id: sequence for sequence, row in rows.items()}

    def vectors(self, messages: Mapping[UUID, int], model_id: UUID) -> dict[int, Vector]:
        """Return the unit vectors of the episodes that messages, named by id, are in, by their sequence number."""
        if not messages:
            return {}
        episodes = {row.id: (row.message_id, row.reply_id) for row in self._run(_EPISODES, ids=list(messages))}
        found: dict[int, Vector] = {}
        for row in self._run(_VECTORS, ids=list(episodes), model_id=model_id) if episodes else ():
            vector = from_binary(row.vector)
            if vector is not None:
                unit = vector / np.linalg.norm(vector)
                found |= {messages[each]: unit for each in episodes[row.item_id] if each in messages}
        return found

    def _run(self, statement: str, **values: Any) -> Sequence[Row[Any]]:
        scope = {"user_id": self.conversation.user_id, "conversation_id": self.conversation.id}
        return self.session.connection().exec_driver_sql(statement, {**scope, **values}).all()


def draw(
    session: Session,
    conversation: Conversation,
    upto: int,
    *,
    kept: Sequence[Mapping[str, Any]],
    model: EmbeddingModel | None,
) -> Extract:
    """Return an extract of the messages 1 to `upto`, going on from the longest that was `kept` and fits in there.

    Texts of tools and of the system and what was recalled say nothing here. `model` is the one whose vectors count.
    """
    source = _Source(session, conversation)
    fitting = [each for each in kept if each["upto"] <= upto]
    nothing: Mapping[str, Any] = {"upto": 0, "picks": [], "read": 0}
    known = max(fitting, key=lambda each: int(each["upto"]), default=nothing)
    before, messages = source.again(known["picks"])
    if known["upto"] == upto:
        return Extract(upto, tuple(before), known["read"], known["basis"])
    rows = source.sample(known["upto"], upto)
    candidates = before + [each for row in rows for each in sentences(row.sequence, row.role, row.content)]
    vectors = source.vectors(messages | {row.id: row.sequence for row in rows}, model.id) if model is not None else {}
    ranked = rank(candidates, MOST_KEPT, vectors, unrelated_cosine(model) if model is not None else 0.0)
    return Extract(upto, tuple(ranked), known["read"] + len(rows), "vectors" if vectors else "words")
