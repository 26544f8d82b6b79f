"""A history that fits: the newest whole messages of a conversation, and a summary of what was left out.

Two steps, so that nobody holds the database while a language model thinks: `draft` reads and says what the model would
be asked, `finish` puts its answer in place, or the extract where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal

from sqlalchemy.orm import Session

from memory.models import Conversation, EmbeddingModel
from retrieval.history.gist import Extract, draw
from retrieval.history.recap import Question, Recap, cut_to, question_for, usable
from retrieval.history.turns import Group, Turn, fitting, groups, read_turns, tokens_of
from retrieval.words import tokens

Strategy = Literal["truncate", "window", "summarise", "hybrid"]
Method = Literal["extractive", "model"]

# Messages where the caller names no number, for the one strategy that is about a number.
LAST = 50
MOST_MESSAGES = 2000
LARGEST_SUMMARY = 600
# What a hybrid history keeps free for the summary: a quarter of the budget, up to this.
RESERVE = 400
# Fewer tokens than that hold no sentence.
LEAST_ROOM = 12
# With a model, the window opens anew at so much of its size, and the summary serves until it is full again: asked for
# each message that falls out of a full window, the model would be asked at every turn.
OPENING = 2 / 3
STILL_OPEN = 1 / 2
# Of each kind: clients that ask for other strategies or budgets must not take one another's away at every turn.
SUMMARIES_KEPT = 4
# Of what is kept: a server that writes another form leaves this one alone.
FORM = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for: at most `token_budget` tokens, summary and all, and `max_messages` messages.

    Of what is shown as it was given, pictures and all, `max_bytes` are the most.
    """

    strategy: Strategy
    token_budget: int
    max_messages: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands for the messages 1 to `upto`.

    `reason` says why an extract is not the model's. Of an extract, `basis` is `vectors` or `words`, and `read` the
    number of messages that it was chosen from.
    """

    text: str
    token_count: int
    upto: int
    method: Method
    basis: str | None = None
    read: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """A history, the oldest message first; `token_count` is exact and counts the summary too."""

    messages: tuple[Turn, ...]
    summary: Summary | None
    token_count: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, or why it said nothing."""

    text: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A history that lacks its summary: of the messages 1 to `upto`, in `room` tokens; 0 for none.

    `question` is what the model is to be asked, None when there is no model or it said it before.
    """

    turns: tuple[Turn, ...]
    upto: int
    room: int
    kept: Mapping[str, Any]
    chat_model: str | None = None
    extract: Extract | None = None
    recap: Recap | None = None
    question: Question | None = None


def draft(
    session: Session,
    conversation: Conversation,
    wish: Wish,
    *,
    kept: Mapping[str, Any],
    embedding_model: EmbeddingModel | None = None,
    chat_model: str | None = None,
) -> Draft:
    """Choose the messages, and find what their summary can be made of.

    `kept` is what `finish` returned for the last history of this conversation, {} for none. The models are those
    whose vectors and whose summaries count, None for none.
    """
    kept = kept if kept.get("form") == FORM else {}
    recaps = [each for each in _recaps(kept) if each.model == chat_model] if chat_model else None
    turns = tuple(chain.from_iterable(_chosen(session, conversation, wish, recaps)))
    upto = turns[0].sequence - 1 if turns else conversation.message_count
    room = min(LARGEST_SUMMARY, wish.token_budget - tokens_of(turns))
    if wish.strategy in {"truncate", "window"} or upto == 0 or room < LEAST_ROOM:
        return Draft(turns, upto, 0, kept)
    recap = usable(recaps or (), upto)
    if recap is not None and recap.upto == upto:
        return Draft(turns, upto, room, kept, chat_model, recap=recap)
    extract = draw(session, conversation, upto, kept=kept.get("extracts", ()), model=embedding_model)
    question = question_for(session, conversation, recap, extract, room) if chat_model else None
    return Draft(turns, upto, room, kept, chat_model, extract=extract, question=question)


def _recaps(kept: Mapping[str, Any]) -> list[Recap]:
    return [Recap(**each) for each in kept.get("recaps", ())]


def _chosen(
    session: Session, conversation: Conversation, wish: Wish, recaps: Sequence[Recap] | None
) -> Sequence[Group]:
    """Return the groups of messages to show, the oldest first; `recaps` is None without a model."""
    most = wish.max_messages or (LAST if wish.strategy == "truncate" else MOST_MESSAGES)
    usual = max(1, conversation.total_tokens // max(1, conversation.message_count))
    expected = 1 if wish.strategy == "summarise" else min(most, wish.token_budget // usual + 1)
    newest = groups(read_turns(session, conversation, expected))
    if wish.strategy == "summarise":
        return fitting(_exchange(newest), wish.token_budget, most, wish.max_bytes)
    chosen = fitting(newest, wish.token_budget, most, wish.max_bytes)
    reserve = min(RESERVE, wish.token_budget // 4)
    if wish.strategy != "hybrid" or reserve < LEAST_ROOM or not chosen or chosen[0][0].sequence == 1:
        return chosen
    room = wish.token_budget - reserve
    chosen = fitting(reversed(chosen), room, most)
    return chosen if recaps is None else _last_opened(chosen, recaps, int(room * OPENING))


def _exchange(newest: Iterable[Group]) -> Iterator[Group]:
    """Yield the groups since the user last began to speak, the newest first."""
    spoken = False
    for group in newest:
        speaks = group[0].role == "user"
        if spoken and not speaks:
            return
        spoken = spoken or speaks
        yield group


def _last_opened(chosen: list[Group], recaps: Iterable[Recap], opening: int) -> list[Group]:
    """Return the window as it was when the model last wrote of what is before it, a new one when that is too long ago.

    `opening` is the number of tokens at which a window opens.
    """
    known = {each.upto for each in recaps}
    total = tokens_of(chain.from_iterable(chosen))
    for place, group in enumerate(chosen):
        if group[0].sequence - 1 in known:
            window = chosen[place:]
            return window if tokens_of(chain.from_iterable(window)) >= total * STILL_OPEN else chosen
    return fitting(reversed(chosen), opening, MOST_MESSAGES) or chosen[-1:]


def finish(drafted: Draft, answer: Answer) -> tuple[History, Mapping[str, Any]]:
    """Return the history, and what to keep for the next one of this conversation."""
    summary = _summary(drafted, answer)
    total = tokens_of(drafted.turns) + (summary.token_count if summary else 0)
    return History(drafted.turns, summary, total, drafted.upto), _to_keep(drafted, answer)


def _summary(drafted: Draft, answer: Answer) -> Summary | None:
    recap = drafted.recap.text if drafted.recap else answer.text
    extract = drafted.extract
    text = cut_to(recap, drafted.room) if recap and drafted.room else ""
    if text:
        return Summary(text, tokens.count(text), drafted.upto, "model")
    text = extract.text(drafted.room) if extract else ""
    if extract is None or not text:
        return None
    size = tokens.count(text)
    return Summary(text, size, drafted.upto, "extractive", extract.basis, extract.read, answer.reason)


def _to_keep(drafted: Draft, answer: Answer) -> Mapping[str, Any]:
    fresh: dict[str, Any] = {}
    if drafted.extract is not None:
        fresh["extracts"] = _with(drafted.kept.get("extracts", ()), drafted.extract.kept())
    if answer.text and drafted.chat_model:
        # As much as is ever shown: a model that goes on beyond what it was allowed would be given all of it again.
        recap = Recap(drafted.upto, cut_to(answer.text, LARGEST_SUMMARY), drafted.chat_model)
        fresh["recaps"] = _with(drafted.kept.get("recaps", ()), asdict(recap))
    return {**drafted.kept, "form": FORM, **fresh} if fresh else drafted.kept


def _with(known: Iterable[Mapping[str, Any]], one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what is known with one more, the latest last; the oldest leaves when they are too many."""
    others = [each for each in known if (each["upto"], each.get("model")) != (one["upto"], one.get("model"))]
    return [*others, one][-SUMMARIES_KEPT:]
