"""Conversations in a list, the latest first, and those in which given words were said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Select,
    Uuid,
    and_,
    any_,
    cast,
    collate,
    func,
    literal,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from memory.conversations.conversations import found_within
from memory.cursors import check_limit, from_cursor, to_cursor
from memory.errors import InvalidError
from memory.models import Conversation, Message, Space
from memory.texts.scripts import normal

LARGEST_PAGE = 200
MOST_WORDS = 8
LONGEST_SNIPPET = 200
# Characters of a snippet that stand before the first of the words.
LEAD = 60


@dataclass(frozen=True, slots=True)
class Filters:
    """Which conversations to list; None means any. `words` must all occur, in the title or in messages.

    `outside` are the slugs of spaces of which none is listed.
    """

    space_id: UUID | None = None
    outside: frozenset[str] = frozenset()
    archived: bool | None = None
    external_id: str | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where words were found: a message, and the part of it that shows them."""

    message_id: UUID
    sequence: int
    snippet: str


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation with the slug of its space; `place` is set where words were found in a message of it."""

    conversation: Conversation
    space: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Some conversations, the latest first, and the cursor of the next page (None at the end)."""

    threads: Sequence[Thread]
    next_cursor: str | None


def get_thread(session: Session, user_id: UUID, conversation_id: UUID, *, within: UUID | None) -> Thread:
    """Return a conversation with its space; raises `NotFoundError`."""
    row = session.execute(_threads(user_id).where(Conversation.id == conversation_id)).one_or_none()
    conversation, slug = row if row is not None else (None, "")
    return Thread(found_within(conversation, within), slug)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words to look for, each once in one of its cases; raises `InvalidError` for none or too many."""
    found: dict[str, str] = {}
    for word in text.split():
        found.setdefault(word.casefold(), word)
    words = tuple(found.values())
    if not 1 <= len(words) <= MOST_WORDS:
        raise InvalidError("q", f"must be 1 to {MOST_WORDS} words")
    return words


def list_conversations(
    session: Session, user_id: UUID, filters: Filters, *, limit: int, cursor: str | None
) -> ThreadPage:
    """Return a page of conversations by (updated_at, id), the latest first; raises `InvalidError`."""
    check_limit(limit, LARGEST_PAGE)
    statement = _filtered(_threads(user_id), filters)
    if filters.words:
        # As one value: a statement has room for 65,535 of them.
        holding = cast(_holding(session, user_id, filters.words), ARRAY(Uuid))
        statement = statement.where(Conversation.id == any_(holding))
    if cursor is not None:
        statement = statement.where(tuple_(Conversation.updated_at, Conversation.id) < from_cursor(cursor))
    statement = statement.order_by(Conversation.updated_at.desc(), Conversation.id.desc()).limit(limit + 1)
    rows = session.execute(statement).all()
    last = rows[limit - 1][0] if len(rows) > limit else None
    places = _places(session, user_id, [row[0].id for row in rows[:limit]], filters.words)
    threads = [Thread(conversation, slug, places.get(conversation.id)) for conversation, slug in rows[:limit]]
    return ThreadPage(threads, to_cursor(last.updated_at, last.id) if last is not None else None)


def _threads(user_id: UUID) -> Select[Conversation, str]:
    joined = (Space.user_id == Conversation.user_id) & (Space.id == Conversation.space_id)
    return select(Conversation, Space.slug).join(Space, joined).where(Conversation.user_id == user_id)


def _filtered(statement: Select[Conversation, str], filters: Filters) -> Select[Conversation, str]:
    if filters.space_id is not None:
        statement = statement.where(Conversation.space_id == filters.space_id)
    if filters.outside:
        statement = statement.where(Space.slug.not_in(filters.outside))
    if filters.archived is not None:
        statement = statement.where(Conversation.archived_at.is_not(None) == filters.archived)
    if filters.external_id is not None:
        statement = statement.where(Conversation.external_id == filters.external_id)
    return statement


def _folded(text: ColumnElement[str] | InstrumentedAttribute[str]) -> ColumnElement[str]:
    """Return a text in one case, the same for a word and for what it stands in, whatever the database's collation.

    Folding alone would make two characters of a capital I with a dot, and of no other I.
    """
    return func.casefold(collate(func.lower(collate(text, "pg_c_utf8")), "pg_unicode_fast"))


def _holds(folded: ColumnElement[str], words: Sequence[str]) -> list[ColumnElement[bool]]:
    return [or_(*(func.strpos(folded, _folded(literal(form))) > 0 for form in _forms(word))) for word in words]


def _forms(word: str) -> Sequence[str]:
    """Return a word as it is, with each accent as one character with its letter, and as a character of its own.

    To bring all that was said into one form takes twenty times as long as to look through it.
    """
    return sorted({word, normal("NFC", word), normal("NFD", word)})


def _holding(session: Session, user_id: UUID, words: Sequence[str]) -> list[UUID]:
    """Return the conversations in which every word occurs somewhere.

    One pass over the user's messages and one over the titles, whatever the planner knows of them: asked of each
    conversation in turn, it might read all messages for each.
    """
    # The offset keeps the planner from folding the case of a message once for each word and clause.
    messages = select(Message.conversation_id, _folded(Message.content).label("folded"))
    folded = messages.where(Message.user_id == user_id).offset(0).subquery()
    said, titled = _holds(folded.c.folded, words), _holds(_folded(Conversation.title), words)
    in_messages = (
        select(folded.c.conversation_id, *(func.bool_or(held) for held in said))
        .where(or_(*said))
        .group_by(folded.c.conversation_id)
    )
    in_titles = select(Conversation.id, *titled).where(Conversation.user_id == user_id, or_(*titled))
    found: dict[UUID, list[bool]] = {}
    for statement in (in_messages, in_titles):
        for conversation_id, *held in session.execute(statement):
            before = found.get(conversation_id, [False] * len(words))
            found[conversation_id] = [one or other for one, other in zip(before, held, strict=True)]
    return [conversation_id for conversation_id, held in found.items() if all(held)]


def _places(session: Session, user_id: UUID, ids: Sequence[UUID], words: Sequence[str]) -> dict[UUID, Place]:
    """Return for each conversation the latest message with all of the words, else with any of them."""
    places: dict[UUID, Place] = {}
    for joined in (and_, or_):
        left = [conversation_id for conversation_id in ids if conversation_id not in places]
        if words and left:
            places |= _latest(session, user_id, left, words, joined(*_holds(_folded(Message.content), words)))
    return places


def _latest(
    session: Session, user_id: UUID, ids: Sequence[UUID], words: Sequence[str], held: ColumnElement[bool]
) -> dict[UUID, Place]:
    asked = func.unnest(cast(ids, ARRAY(Uuid))).column_valued("asked")
    # Read from the end of each conversation by the index of sequence numbers, which stops at the first that fits.
    message = (
        select(Message.id, Message.sequence, Message.content)
        .where(Message.user_id == user_id, Message.conversation_id == asked, held)
        .order_by(Message.sequence.desc())
        .limit(1)
        .lateral()
    )
    found = session.execute(select(asked, message.c.id, message.c.sequence, message.c.content).join(message, true()))
    return {
        conversation_id: Place(message_id, sequence, snippet_of(content, words))
        for conversation_id, message_id, sequence, content in found
    }


def snippet_of(text: str, words: Sequence[str]) -> str:
    """Return the part of a text around the first of the words, at most 200 characters and two ellipses."""
    forms = (re.escape(form) for word in words for form in _forms(word))
    found = re.search("|".join(forms), text, re.IGNORECASE)
    start = max(0, (found.start() if found else 0) - LEAD)
    if start and (cut := re.match(r"\S*\s+", text[start : start + LEAD])):
        # From the beginning of a word, where one begins before the find.
        start += cut.end()
    part = text[start : start + LONGEST_SNIPPET]
    before, after = "…" if start else "", "…" if start + LONGEST_SNIPPET < len(text) else ""
    return f"{before}{' '.join(part.split())}{after}"
