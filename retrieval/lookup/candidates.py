"""Candidates from the database: both legs, then what ranking needs, then what is shown."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import chain, islice, zip_longest
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from sqlalchemy import text
from sqlalchemy.orm import Session

from memory.embedding.likeness import likeness
from memory.embedding.passages import READ, passages
from memory.storage.database import EF_SEARCH
from memory.storage.driver import Floats, Ids, Row, fetch
from memory.storage.shelves import EPISODES, MEMORIES
from retrieval.days.dates import Period
from retrieval.days.from_then import probes, tells
from retrieval.days.told_days import lexemes_of, says
from retrieval.lookup.statements import (
    approximate_statement,
    exact_statement,
    kept_near_statement,
    keyword_statement,
    of_the_time_statement,
    pictured_statement,
    pool_statement,
    signed_statement,
    spelled_statement,
    wide_statement,
    with_all_statement,
)
from retrieval.policy import Policy
from retrieval.query import Dense, Query
from retrieval.ranking.types import Candidate, Scored, Vector
from retrieval.words.answers import COLOURED, signed, unsigned, written_out
from retrieval.words.bm25 import LONGEST, Question, TermCounts, score
from retrieval.words.speakers import speaker_of, speakers_of

logger = logging.getLogger(__name__)

# Up to here an exact scan is fast enough, and its recall is 1.0. A question that narrows by more than its scope is
# scanned exactly for longer: an index that must step over what does not fit costs more than comparing all.
EXACT_SCAN_LIMIT = 5_000
FILTERED_SCAN_LIMIT = 25_000
# How many rows an HNSW index looks at, as a multiple of what is asked for; docs/measurements.md says how many it finds.
SMALL_VIEW, LARGE_VIEW, FILTERED_VIEW = 2, 4, 8
LARGE_SPACE = 20_000
# The two header words of a halfvec's binary form: dimensions and flags, 16 bits each.
_HEADER = 4
LONG_TEXT_BYTES = 800
# The place of the beginning of its text in a row of the pool.
_HEAD_PLACE = 6
# Of each leg the best so many bring the memories stored beside them: an answer often does not repeat the question's
# words.
BEST = 20
# So many texts that have the words of a quoted phrase are searched for the phrase itself.
MOST_WITH_ALL = 500
# So many texts that may say a day of a time are read to see whether they do.
MOST_WITH_DAYS = 200
# With a name that has signs, the keyword leg looks at so many times its depth, to find what has other words as well.
DEEPER = 10
# An answer says that vectors are missing from so many memories and such a share of what was searched on: what was
# stored a moment ago always waits a little.
FEW_WAIT = 3
WAITING_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class SemanticLeg:
    """The semantic leg: cosines in order of rank, best first, on the scale where `unrelated` is 0."""

    vector: Vector | None
    cosines: dict[UUID, float]
    unrelated: float = 0.0

    def cosine(self, item_id: UUID, distance: float | None) -> float | None:
        """Return the cosine of an item, by its distance where that is known."""
        return self.cosines.get(item_id) if distance is None else likeness(1.0 - distance, self.unrelated)


@dataclass(frozen=True, slots=True)
class KeywordLeg:
    """The keyword leg: what it listed in order of rank, best first, and the question's words.

    Of words that the index does not have, `counts` has by their places how often each item has them.
    """

    ids: list[UUID]
    question: Question
    counts: Mapping[int, Mapping[UUID, int]] = field(default_factory=dict)


NO_SEMANTIC_LEG = SemanticLeg(None, {})
NO_KEYWORD_LEG = KeywordLeg([], Question())


@dataclass(frozen=True, slots=True)
class Source:
    """Reads candidates of one query from one session."""

    session: Session
    query: Query
    policy: Policy
    now: datetime

    def semantic_leg(self, dense: Dense, vector: Vector) -> SemanticLeg:
        """Run the semantic leg: exact while the scope is small, by HNSW above."""
        query = self.query
        values = {**self.scope(), "vector": HalfVector(vector), "model_id": dense.model_id}
        if query.scope_size <= (FILTERED_SCAN_LIMIT if query.filtered else EXACT_SCAN_LIMIT):
            statement = exact_statement(query.shelf, self.depth, filtered=query.filtered)
        else:
            model_id, dimensions = str(dense.model_id), vector.shape[0]
            statement = approximate_statement(query.shelf, model_id, dimensions, self.depth, filtered=query.filtered)
            self._widen_hnsw()
        rows = fetch(self.session, statement, values)
        unrelated = dense.unrelated
        cosines = {item_id: likeness(1.0 - distance, unrelated) for item_id, _scope, distance in rows}
        return SemanticLeg(vector, cosines, unrelated)

    def _widen_hnsw(self) -> None:
        """Let the HNSW index look at more rows than each connection's setting allows, where the search needs it.

        A large space needs more, as the index misses more there; a filtered search needs still more, as the rows that
        the filter takes out are among those looked at.
        """
        rows = self.query.scope_size
        factor = FILTERED_VIEW if self.query.filtered else LARGE_VIEW if rows > LARGE_SPACE else SMALL_VIEW
        if (wanted := factor * self.depth) > EF_SEARCH:
            setting = text("SELECT set_config('hnsw.ef_search', :ef, true)")
            self.session.execute(setting, {"ef": str(min(1000, wanted))})

    def keyword_leg(self, question: str) -> KeywordLeg:
        """Run the keyword leg; an item with only the letters of a name with signs, as "C#", does not have the name."""
        names = signed(question)
        if not names:
            return self._keyword_leg(question)
        found = {name: held for name, pattern in names.items() if (held := self._signed(name, pattern)) is not None}
        if not found:
            return self._keyword_leg(question)
        rest = self._keyword_leg(unsigned(question, found), deeper=DEEPER)
        ids, counts, idfs, lengths = ([*each] for each in zip(*found.values(), strict=True))
        told = Question(
            [*rest.question.lexemes, *found],
            [*rest.question.idfs, *idfs],
            rest.question.mean_length if rest.question.lexemes else lengths[0],
            [*rest.question.counts, *counts],
        )
        places = dict(enumerate((dict.fromkeys(each, 1) for each in ids), len(rest.question.lexemes)))
        return KeywordLeg(_together(dict.fromkeys(chain(*ids)), rest.ids, self.depth), told, places)

    def _signed(self, name: str, pattern: str) -> tuple[list[UUID], float, float, float] | None:
        """Return the items that have a name with signs, how many these are, its idf, and the mean length of all items.

        None where there are none and the name may be written otherwise: the "R&D" of one is the "research &
        development" of another. For other names, as "C#", no item is an answer, too.
        """
        values = {**self.scope(), "now": self.now, "name": name, "pattern": pattern}
        values["written_out"] = written_out(name)
        values["sign"] = next(each for each in name if not each.isalpha())
        rows = fetch(self.session, signed_statement(self.query.shelf, filtered=self.query.filtered), values)
        if not rows or (not rows[0][0] and "&" in name):
            return None
        ids, count, idf, length = rows[0]
        return ids or [], count, idf, length

    def _keyword_leg(self, question: str, *, deeper: int = 1) -> KeywordLeg:
        values = {**self.scope(), **self._damping(), "question": question}
        values["depth"] *= deeper
        rows = fetch(self.session, keyword_statement(self.query.shelf, filtered=self.query.filtered), values)
        if not rows:
            return NO_KEYWORD_LEG
        _, *said = rows[0]
        return KeywordLeg([row[0] for row in rows], Question(*said))

    def pictured(self, pictures: Sequence[str]) -> KeywordLeg:
        """Run the keyword leg for the items with each of some pictures, which count as one word."""
        values = {
            **self.scope(),
            **self._damping(),
            "now": self.now,
            "pictures": list(pictures),
            "coloured": COLOURED,
        }
        rows = fetch(self.session, pictured_statement(self.query.shelf, filtered=self.query.filtered), values)
        if not rows:
            return NO_KEYWORD_LEG
        _, _, found, idf, mean_length = rows[0]
        question = Question(["".join(pictures)], [idf], mean_length, [found])
        return KeywordLeg([row[0] for row in rows], question, {0: {row[0]: int(row[1]) for row in rows}})

    def _damping(self) -> dict[str, float]:
        return {"k1": self.policy.k1, "b": self.policy.b, "longest": LONGEST}

    def with_all(self, words: str) -> list[UUID]:
        """Return the latest items, at most `MOST_WITH_ALL`, that have all words of a text, in whatever order."""
        values = {**self.scope(), "question": words, "most": MOST_WITH_ALL}
        statement = with_all_statement(self.query.shelf, filtered=self.query.filtered)
        return [row[0] for row in fetch(self.session, statement, values)]

    def of_the_time(self, period: Period) -> list[UUID]:
        """Return the latest items of a time."""
        values = {**self.scope(), "now": self.now, "start": period.start, "end": period.end}
        return [
            row[0]
            for row in fetch(
                self.session, of_the_time_statement(self.query.shelf, filtered=self.query.filtered), values
            )
        ]

    def naming(self, period: Period) -> frozenset[UUID]:
        """Return the memories that name a day, month or year of a period, or tell it from when they were kept."""
        zone = self.now.tzinfo or UTC
        found = self.with_most(lexemes_of(period, zone), MOST_WITH_DAYS)
        named = {item_id for item_id, text, kept in found if says(period, text, kept, zone)}
        # What says the time need not be read again.
        near = [each for each in self._kept_near(period, zone) if each[0] not in named]
        told = (each[0] for each in near if tells(period, *each[1:], zone) or says(period, *each[1:], zone))
        return frozenset(chain(named, told))

    def _kept_near(self, period: Period, zone: tzinfo) -> Sequence[tuple[UUID, str, datetime]]:
        """Return memories, as (id, text, moment), that may tell a time from when they were kept; the nearest first."""
        if not (looked_for := probes(period, zone)):
            return ()
        queries, starts, ends = (list(each) for each in zip(*looked_for, strict=True))
        values = {**self.scope(), "now": self.now, "queries": queries, "starts": starts, "ends": ends}
        values |= {"since": min(starts), "before": max(ends), "start": period.start, "most": MOST_WITH_DAYS}
        return fetch(self.session, kept_near_statement(self.query.shelf, filtered=self.query.filtered), values)

    def with_most(self, probes: Mapping[str, int], most: int) -> Sequence[tuple[UUID, str, datetime]]:
        """Return (id, text, moment) of the items whose lexemes weigh most together, of equal ones the latest first.

        `probes` gives lexemes their weights; "mar*" stands for all that begin with "mar".
        """
        values = {
            **self.scope(),
            "now": self.now,
            "first": [each.removesuffix("*") for each in probes],
            "last": [each.removesuffix("*") + "~" if each.endswith("*") else each for each in probes],
            "weights": list(probes.values()),
            "most": most,
        }
        return fetch(self.session, spelled_statement(self.query.shelf, filtered=self.query.filtered), values)

    def pool(
        self, keyword: KeywordLeg, semantic: SemanticLeg, model_id: UUID | None, also: Sequence[UUID] = ()
    ) -> list[Candidate]:
        """Return the candidates of both legs and the neighbours of the best of them, without their texts.

        `also` are further candidates, which no leg listed.
        """
        shelf, policy, question = self.query.shelf, self.policy, keyword.question
        values = {
            **self.scope(),
            "listed": Ids(dict.fromkeys([*keyword.ids, *semantic.cosines, *also])),
            "best": Ids([*keyword.ids[:BEST], *islice(semantic.cosines, BEST)]),
            "near": Ids(semantic.cosines),
            "lexemes": question.lexemes,
            "vector": HalfVector(semantic.vector) if semantic.vector is not None else None,
            "model_id": model_id,
            "now": self.now,
        }
        beside = shelf is MEMORIES and policy.context_weight > 0 and bool(question.lexemes)
        rows = fetch(self.session, pool_statement(shelf, filtered=self.query.filtered, beside=beside), values)
        speakers = speakers_of(row[_HEAD_PLACE] for row in rows)
        read = [_read(row, speakers) for row in rows]
        if shelf is EPISODES:
            # Episodes are turns of a talk, though they are not ranked with the ones beside them.
            for candidate, *_ in read:
                candidate.is_turn = True
        for place, counts in keyword.counts.items():
            for candidate, said, _ in read:
                if (often := counts.get(candidate.id)) is not None:
                    candidate.places = said.places = (*said.places, place)
                    said.counts = (*said.counts, often)
        scores = zip(*(each.tolist() for each in score([said for _, said, _ in read], question, policy)), strict=True)
        places = [{item_id: place for place, item_id in enumerate(leg, 1)} for leg in (keyword.ids, semantic.cosines)]
        return [
            _placed(candidate, distance, bm25, semantic, *places)
            for (candidate, _, distance), bm25 in zip(read, scores, strict=True)
        ]

    def widen(
        self, scored: Sequence[Scored], model_id: UUID | None, *, asked: Vector | None, saving: bool
    ) -> list[Scored]:
        """Add text, tags, sources and vector; a row that cannot be read is skipped and logged, not served half.

        Of a long text the vector is that of the passage that comes nearest to what is `asked`. With `saving`, the same
        round trip writes the last scores.
        """
        if not scored:
            return []
        parts = [each.score for each in scored]
        values = {
            "user_id": self.query.user_id,
            "space_id": self.query.space_id,
            "tag": self.query.tag,
            "ids": Ids(each.candidate.id for each in scored),
            "model_id": model_id,
            "vector": HalfVector(asked) if asked is not None else None,
            "read": READ,
            "long_text": LONG_TEXT_BYTES,
            "relevance": Floats(part.relevance for part in parts),
            "recency": Floats(part.recency for part in parts),
            "importance": Floats(part.importance for part in parts),
            "total": Floats(part.total for part in parts),
            "now": self.now,
        }
        rows = {row[0]: row for row in fetch(self.session, wide_statement(self.query.shelf, saving=saving), values)}
        return list(_widened(scored, rows))

    @property
    def depth(self) -> int:
        """Return how many candidates each leg lists at most."""
        return max(self.policy.depth, self.query.limit)

    def scope(self) -> dict[str, Any]:
        """Return what every statement asks of the items."""
        query = self.query
        types, tags = (list(each) if each is not None else None for each in (query.types, query.tags))
        return {
            "user_id": query.user_id,
            "space_id": query.space_id,
            "conversation_id": query.conversation_id,
            "depth": self.depth,
            "theme": query.theme,
            "types": types,
            "tags": tags,
            "created_after": query.created_after,
            "only": Ids(query.only),
            "tag": query.tag,
        }


def _together(named: Collection[UUID], worded: Sequence[UUID], depth: int) -> list[UUID]:
    """Return the ids in both lists, then by turns those that are in one of them alone."""
    having, others = frozenset(named), frozenset(worded)
    both = (each for each in worded if each in having)
    alone = zip_longest((each for each in named if each not in others), (each for each in worded if each not in having))
    return [*islice(chain(both, filter(None, chain.from_iterable(alone))), depth)]


def many_wait(source: Source, semantic: SemanticLeg, pool: Sequence[Candidate]) -> bool:
    """Tell whether a notable share of what was searched has no vector yet, as far as that shows without asking.

    A semantic leg with room left lists all memories that have one. Where it is full, or does not look at the whole
    space, what the keyword leg listed is a sample: that leg does not know of vectors.
    """
    query, found = source.query, len(semantic.cosines)
    whole = query.shelf.holds_memories and not query.filtered
    if whole and found < source.depth:
        waiting, of = query.scope_size - found, query.scope_size
    else:
        listed = [each for each in pool if each.keyword_rank is not None]
        waiting, of = sum(each.cosine is None for each in listed), len(listed)
    return waiting >= max(FEW_WAIT, WAITING_SHARE * of)


def _read(row: Row, speakers: Collection[str]) -> tuple[Candidate, TermCounts, float | None]:
    """Return a row of the pool as a candidate, what it says of the question, and its distance where that was told."""
    item_id, created_at, importance, pinned, previous_id, is_said, head, size, places, counts, length, distance = row
    name = speaker_of(head)
    # A memory of a message begins with who said it, even where too few texts have the name to show that it is one.
    speaker = name if is_said or name in speakers else None
    candidate = Candidate(item_id, "", "", "", created_at, importance, pinned=pinned, speaker=speaker, size=size)
    candidate.places, candidate.is_turn = places or (), is_said or speaker is not None
    said = TermCounts(item_id, previous_id, candidate.places, counts or (), length, candidate.is_turn)
    return candidate, said, distance


def _placed(
    candidate: Candidate,
    distance: float | None,
    bm25: tuple[float, float],
    semantic: SemanticLeg,
    keyword_ranks: dict[UUID, int],
    semantic_ranks: dict[UUID, int],
) -> Candidate:
    """Add what the legs made of a candidate."""
    candidate.bm25, candidate.bm25_around = bm25
    candidate.keyword_rank, candidate.semantic_rank = keyword_ranks.get(candidate.id), semantic_ranks.get(candidate.id)
    candidate.cosine = semantic.cosine(candidate.id, distance)
    return candidate


def _widened(scored: Iterable[Scored], rows: dict[UUID, Row]) -> Iterable[Scored]:
    """Fill the candidates in place: nothing else holds them, and copies of all would take longer than reading them."""
    for each in scored:
        row = rows.get(each.candidate.id)
        if row is None:
            continue  # Forgotten, archived or moved between the two reads.
        memory = each.candidate
        try:
            _, memory.text, memory.type, memory.role, memory.theme, tags, sources, *rest = row
            memory.summary, memory.said_again, vector, places = rest
            memory.tags, memory.source_ids, memory.vector = tuple(tags), tuple(sources), from_binary(vector)
            memory.nearest = _nearest(memory.text, places)
        except (TypeError, ValueError):
            logger.exception("the memory %s is malformed and was skipped", memory.id)
        else:
            yield each


def _nearest(text: str, places: Sequence[int] | None) -> tuple[str, ...]:
    """Return passages of a text by their places, from 1 on; none where it was embedded in other passages."""
    if places is None:
        return ()
    parts = passages(text)
    return tuple(parts[place - 1] for place in places) if max(places) <= len(parts) else ()


def from_binary(data: bytes | None) -> Vector | None:
    """Return the vector of a halfvec's binary form: big-endian half precision after a header."""
    if data is None:
        return None
    return np.frombuffer(data, dtype=">f2", offset=_HEADER).astype(np.float32)
