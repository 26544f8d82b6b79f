"""Conversations as pages show them: lists, stretches of what was said, and what was learned from it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field
from sqlalchemy import func, select

from memory.conversations.threads import Filters, Thread, ThreadPage, words_of
from memory.conversations.transcript import list_messages
from memory.errors import InvalidError, NotFoundError, RefusedError
from memory.models import Fact, Memory, Message, Space
from webapp.api.schemas import Line, Question
from webapp.context import credential, session, utc_now
from webapp.conversations import find_threads, readable_thread
from webapp.operations import incognito_spaces
from webapp.pages.forms import ShownForm

THREADS = 30
MESSAGES = 40
EPISODES = 30
# Messages that stand before the one that a link leads to.
LEAD = 5
# Characters of a message that stand in its conversation; the rest is a click away.
LONGEST_SHOWN = 6_000
# Characters of a message's payload that stand on its page: a browser takes over a second to lay out a million.
LONGEST_SENT = 500_000

_ARCHIVED = {"false": False, "true": True, "any": None}
# A sequence number of a message.
Place = Annotated[int, Field(ge=0, le=2**31 - 1)]


class ThreadsForm(BaseModel):
    """Which conversations to list."""

    q: Question = Field("", max_length=256)
    space: Line | None = None
    archived: Literal["false", "true", "any"] = "false"
    cursor: Line | None = None

    def to_filters(self) -> Filters:
        """Return the filters of the domain; raises `InvalidError` for too many words."""
        return Filters(archived=_ARCHIVED[self.archived], words=words_of(self.q) if self.q else ())

    def chosen(self) -> dict[str, str]:
        """Return what was chosen, as it stands in a link to the next page."""
        return self.model_dump(exclude_none=True, exclude_defaults=True, exclude={"cursor"})


class ReadingForm(BaseModel):
    """Which stretch to read: around the message `at`, before or after one, or the latest."""

    at: Place | None = None
    before: Place | None = None
    after: Place | None = None


class EpisodesForm(BaseModel):
    """Which episodes to list: those that begin after a message."""

    cursor: Place | None = None


class ThreadForm(ShownForm):
    """What to change of a conversation; what is left out stays."""

    title: Line | None = None
    space: Line | None = None

    def changes(self, thread: Thread) -> dict[str, str]:
        """Return what was changed in the form: saved unchanged, it must not fix the automatic title."""
        now = {"title": thread.conversation.title, "space": thread.space}
        given = self.model_dump(exclude_none=True, exclude={"shown"})
        plain = {name: " ".join(value.split()) for name, value in given.items()}
        return {name: given[name] for name in self.touched(plain, now)}


@dataclass(frozen=True, slots=True)
class ThreadList:
    """A page of conversations. `closed` while incognito; `hidden` names the spaces that incognito keeps closed.

    `any` tells whether the user has a conversation at all, `problem` what is wrong with the words to look for.
    """

    page: ThreadPage
    any: bool = True
    closed: bool = False
    hidden: Sequence[str] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A stretch of a conversation in its order; more stands before `earlier` and after `later`, if they are set.

    `learned` has the memories of each message, `sent` the messages that are kept as they were sent too.
    """

    messages: Sequence[Message]
    earlier: int | None
    later: int | None
    learned: Mapping[UUID, Sequence[Memory]]
    sent: frozenset[UUID]


def thread_list(form: ThreadsForm) -> ThreadList:
    """Return the conversations that the form asks for."""
    try:
        filters = form.to_filters()
    except InvalidError as error:
        return ThreadList(ThreadPage((), None), problem=f"Search for {error.message.removeprefix('must be ')}.")
    page, skipped = find_threads(form.space, filters, limit=THREADS, cursor=form.cursor)
    if skipped:
        return ThreadList(page, closed=True)
    exists = bool(page.threads) or _any_thread()
    return ThreadList(page, any=exists, hidden=() if form.space else sorted(incognito_spaces()))


def _any_thread() -> bool:
    page, _ = find_threads(None, Filters(), limit=1, cursor=None)
    return bool(page.threads)


def read_stretch(thread: Thread, form: ReadingForm) -> Reading:
    """Return the stretch that the form asks for, the latest without one."""
    conversation = thread.conversation
    backwards = form.at is None and form.after is None
    cursor = form.before if backwards else form.after
    if form.at is not None:
        cursor = max(min(form.at, conversation.message_count) - 1 - LEAD, 0)
    page = list_messages(
        session(), conversation.user_id, conversation.id, limit=MESSAGES, cursor=cursor, newest_first=backwards
    )
    messages = list(reversed(page.messages)) if backwards else list(page.messages)
    if not messages:
        return Reading((), form.after, form.before, {}, frozenset())
    first, last = messages[0].sequence, messages[-1].sequence
    earlier, later = first if first > 1 else None, last if last < conversation.message_count else None
    ids = [message.id for message in messages]
    return Reading(messages, earlier, later, _learned(ids), _sent(ids))


@dataclass(frozen=True, slots=True)
class Said:
    """A message that may be read now, in its conversation."""

    thread: Thread
    message: Message


def said_in(message_id: UUID) -> Said | None:
    """Return the message of this id; None where there is none, and in incognito, which keeps it closed."""
    message = session().get(Message, (credential().user_id, message_id))
    if message is None:
        return None
    try:
        return Said(readable_thread(message.conversation_id), message)
    except RefusedError:
        return None


def read_whole(thread: Thread, sequence: int) -> tuple[Reading, str]:
    """Return one message, and how it was sent if that is known; raises `NotFoundError`."""
    conversation = thread.conversation
    page = list_messages(
        session(), conversation.user_id, conversation.id, limit=1, cursor=sequence - 1, with_payload=True
    )
    if not page.messages or page.messages[0].sequence != sequence:
        raise NotFoundError("there is no such message")
    message = page.messages[0]
    return Reading(page.messages, None, None, _learned([message.id]), frozenset()), _written(message.payload)


def _written(payload: Any) -> str:
    """Return a payload as JSON for a reader; half a surrogate pair, which no page can hold, as its escape."""
    if payload is None:
        return ""
    return json.dumps(payload, indent=2, ensure_ascii=False).encode(errors="backslashreplace").decode()


def _learned(ids: Collection[UUID]) -> Mapping[UUID, Sequence[Memory]]:
    """Return the memories that were learned from messages; those that incognito keeps closed stay out."""
    statement = (
        select(Memory)
        .where(Memory.user_id == credential().user_id, Memory.source_message_id.in_(ids))
        .where(Memory.unexpired(utc_now()))
        .order_by(Memory.created_at, Memory.id)
    )
    hidden = incognito_spaces()
    if hidden:
        closed = select(Space.id).where(Space.user_id == credential().user_id, Space.slug.in_(hidden))
        statement = statement.where(Memory.space_id.not_in(closed))
    found: dict[Any, list[Memory]] = defaultdict(list)
    for memory in session().scalars(statement):
        found[memory.source_message_id].append(memory)
    return dict(found)


def _sent(ids: Collection[UUID]) -> frozenset[UUID]:
    kept = select(Message.id).where(Message.user_id == credential().user_id, Message.id.in_(ids))
    return frozenset(session().scalars(kept.where(Message.payload.is_not(None))))


def count_facts(thread: Thread, *, extracted: bool = False) -> int:
    """Return how many facts stand in a conversation, or were `extracted` from it; what is incognito is left out."""
    said = select(Message.id).where(
        Message.user_id == credential().user_id, Message.conversation_id == thread.conversation.id
    )
    mine = (
        select(func.count())
        .select_from(Fact)
        .join(Space, (Space.user_id == Fact.user_id) & (Space.id == Fact.space_id))
    )
    mine = mine.where(Fact.user_id == credential().user_id, Fact.source_message_id.in_(said))
    if extracted:
        mine = mine.where(Fact.extracted)
    return session().scalar(mine.where(Space.slug.not_in(incognito_spaces()))) or 0


def count_learned(thread: Thread) -> int:
    """Return how many memories were learned from a conversation."""
    conversation = thread.conversation
    messages = select(Message.id).where(
        Message.user_id == conversation.user_id, Message.conversation_id == conversation.id
    )
    learned = select(func.count()).select_from(Memory).where(Memory.user_id == conversation.user_id)
    return session().scalar(learned.where(Memory.source_message_id.in_(messages))) or 0
