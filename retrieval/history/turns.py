"""The messages of a conversation from the newest backwards, in groups that a history must not tear apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Text, case, cast, or_, select
from sqlalchemy.orm import Session

from memory.conversations.transcript import PAYLOAD_BYTES, weighed
from memory.drafts.payloads import LARGEST_PAYLOAD, objects_in
from memory.models import Conversation, Message

SMALLEST_PAGE, LARGEST_PAGE = 16, 512
# After so many messages without its call a result will never meet it, and does not hold back the cut any more.
LONGEST_WAIT = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `calls` and `results` are the ids of the calls of tools that it makes and that it answers.

    `size` is that of what a caller gave beside its words, in bytes.

    A thought stands by itself in histories of OpenAI's Responses, before what it led to.
    """

    id: UUID
    sequence: int
    role: str
    content: str
    token_count: int
    calls: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()
    is_thought: bool = False
    size: int = 0


Group = tuple[Turn, ...]


def read_turns(session: Session, conversation: Conversation, expected: int) -> Iterator[Turn]:
    """Yield the messages of a conversation, the newest first, reading about as many as are `expected` to be taken.

    No more is read at once than one message may have: whoever keeps pictures has hundreds of megabytes of them.
    """
    page = min(max(expected, SMALLEST_PAGE), LARGEST_PAGE)
    before: int | None = None
    while True:
        rows = session.execute(_page(conversation, before, page)).all()
        for row in rows:
            told = (*tool_ids(row.payload), _is_thought(row.payload))
            yield Turn(row.id, row.sequence, row.role, row.content, row.token_count, *told, row.size)
        if not rows or rows[-1].sequence == 1:
            return
        before = rows[-1].sequence


def _page(conversation: Conversation, before: int | None, size: int) -> Any:
    # Of payloads only those travel that may tell of tools, or may be a thought.
    given = cast(Message.payload, Text)
    telling = or_(*(given.contains(word) for word in ("tool", "call", "approval", "reasoning")))
    payload = case((telling, Message.payload)).label("payload")
    conditions = [Message.user_id == conversation.user_id, Message.conversation_id == conversation.id]
    if before is not None:
        conditions.append(Message.sequence < before)
    at_once = weighed(conditions, size, PAYLOAD_BYTES, newest_first=True)
    columns = (Message.id, Message.sequence, Message.role, Message.content, Message.token_count, payload)
    statement = select(*columns, at_once.c.size).join(at_once, Message.id == at_once.c.id)
    statement = statement.where(Message.user_id == conversation.user_id, at_once.c.before < LARGEST_PAYLOAD)
    return statement.order_by(Message.sequence.desc())


def tool_ids(payload: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of calls and of results in a message of OpenAI's, Anthropic's or Pydantic AI's form."""
    if not isinstance(payload, dict):
        return frozenset(), frozenset()
    calls = [call.get("id") for call in objects_in(payload.get("tool_calls"))]
    results: list[Any] = []
    match str(payload.get("type") or ""):
        case "mcp_approval_request":
            calls.append(payload.get("id"))
        case "mcp_approval_response":
            results.append(payload.get("approval_request_id"))
        # The output of a local shell has its call's id for its own; what a search for tools found has one of its own.
        case "local_shell_call_output":
            results.append(payload.get("call_id") or payload.get("id"))
        case kind if kind.endswith("_output"):
            results.append(payload.get("call_id"))
        case _:
            calls.append(payload.get("call_id"))
    for part in (payload, *objects_in(payload.get("content")), *objects_in(payload.get("parts"))):
        kind = str(part.get("part_kind") or part.get("type") or "")
        if kind.endswith("tool_use"):
            calls.append(part.get("id"))
        elif kind.endswith("tool-call"):
            calls.append(part.get("tool_call_id"))
        else:
            results += [part.get("tool_use_id"), part.get("tool_call_id")]
    return _words(calls), _words(results)


def _is_thought(payload: Any) -> bool:
    return isinstance(payload, dict) and payload.get("type") == "reasoning"


def _words(values: Iterable[Any]) -> frozenset[str]:
    return frozenset(value for value in values if isinstance(value, str) and value)


def groups(turns: Iterable[Turn]) -> Iterator[Group]:
    """Yield runs of messages that belong together, given and yielded the newest first, each in the order of saying.

    A call of a tool stays with its result, by the id that both have; where there are none, a result stays with all
    calls and results right before it up to the first call of that run. A thought stays with what comes after it. No run
    without ids, and none of thoughts alone, holds more than `LONGEST_WAIT`.
    """
    pending: list[Turn] = []
    unanswered: dict[str, int] = {}
    for turn in turns:
        unanswered = {call: at for call, at in unanswered.items() if at - turn.sequence <= LONGEST_WAIT}
        if pending and not unanswered and _may_part(turn, pending):
            yield tuple(reversed(pending))
            pending = []
        pending.append(turn)
        unanswered |= dict.fromkeys(turn.results, turn.sequence)
        for call in turn.calls:
            unanswered.pop(call, None)
    if pending:
        yield tuple(reversed(pending))


def _may_part(older: Turn, pending: Sequence[Turn]) -> bool:
    newer = pending[-1]
    # Responses refuse an item without the thought that it came from, and a thought without what it led to.
    if older.is_thought:
        return len(pending) >= LONGEST_WAIT and all(each.is_thought for each in pending[-LONGEST_WAIT:])
    # What has no id is held by nothing but its neighbours, and thousands of these are no group.
    if newer.is_thought or len(pending) >= LONGEST_WAIT:
        return True
    if newer.role == "tool_result":
        return bool(newer.results)
    return newer.role != "tool_call" or bool(newer.calls) or older.role != "tool_call"


def fitting(newest_first: Iterable[Group], budget: int, most: int, largest: int | None = None) -> list[Group]:
    """Return the newest groups of at most `budget` tokens and `most` messages in all, the oldest of them first.

    What was given beside their words has at most `largest` bytes in all, where that is told.
    """
    chosen: list[Group] = []
    size = 0
    for group in newest_first:
        budget -= tokens_of(group)
        most -= len(group)
        size += sum(turn.size for turn in group)
        if budget < 0 or most < 0 or (largest is not None and size > largest):
            break
        chosen.append(group)
    return chosen[::-1]


def tokens_of(group: Iterable[Turn]) -> int:
    """Return how many tokens the messages have together."""
    return sum(turn.token_count for turn in group)
