"""Reading memories in order, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Uuid, any_, func, or_, select, tuple_, union_all
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from memory.cursors import check_limit, from_cursor, to_cursor
from memory.drafts.drafts import without_blanks
from memory.errors import NotFoundError
from memory.ids import among, first_id, in_one_case
from memory.lineage.writers import find_tokens
from memory.models import (
    SCORE_PARTS,
    Conversation,
    Embedding,
    EmbeddingModel,
    LastScore,
    Memory,
    Message,
    PossibleUpdate,
    Space,
    Theme,
    Token,
)
from memory.reading.typed import FEW, typed
from memory.remote.credentials import MARKED, credentials_in
from memory.storage.driver import fetch

LARGEST_PAGE = 200
# How many memories are counted at most: fewer while words are still being typed, as the number is out of date at the
# next letter.
MOST_COUNTED = FEW
MOST_LISTED = 10_000

# A text may have 64 KiB.
_READ_AT_ONCE = 200

Conditions = Sequence[ColumnElement[bool]]
# "changed": what was last edited, repeated or moved comes first; "important": what has the highest importance. No index
# has either order, so a list is sorted when it is asked for, which takes some 0.1 s of 100,000 memories: an index would
# cost every write.
Order = Literal["newest", "oldest", "changed", "important"]
_COLUMNS: dict[Order, InstrumentedAttribute[Any]] = {
    "newest": Memory.created_at,
    "oldest": Memory.created_at,
    "changed": Memory.updated_at,
    "important": Memory.importance,
}


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories to list; None means any. `outside` are the slugs of spaces of which none is listed.

    `token_id` is the token that wrote them first. They were `stored_after` a moment whatever moment they are said to
    be of, which is what `created_after` goes by. `credentials` are those that seem to hold one, or else the rest.
    """

    space: str | None = None
    outside: frozenset[str] | None = None
    theme: str | None = None
    type: str | None = None
    tag: str | None = None
    status: str | None = "active"
    pinned: bool | None = None
    manually_saved: bool | None = None
    source_id: str | None = None
    token_id: UUID | None = None
    embedding: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    stored_after: datetime | None = None
    unrecalled_since: datetime | None = None
    credentials: bool | None = None
    # Words as somebody types them: a memory fits if it has a word that begins with each.
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The place where a memory was said: a message, and the conversation that it is in now."""

    message_id: UUID
    conversation_id: UUID
    sequence: int
    space_id: UUID


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as it is shown: with its space, theme, last score, the state of its vector, and where it was said.

    `token` wrote it first; None also where it was written by a token that cannot be named, as `token_id` tells.
    """

    memory: Memory
    space: str
    theme: str | None
    last_scores: dict[str, Any] | None
    embedding: str
    embedding_error: str | None
    source: Source | None = None
    token: Token | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries in their order, and the cursor of the next page (None at the end)."""

    entries: Sequence[Entry]
    next_cursor: str | None


def list_entries(
    session: Session,
    user_id: UUID,
    filters: Filters,
    *,
    limit: int,
    cursor: str | None,
    now: datetime,
    order: Order = "newest",
) -> Page:
    """Return a page of entries in an order, equals by id; raises `InvalidError` for a cursor of another list."""
    conditions, _ = _conditions(session, user_id, filters)
    conditions = [*conditions, *_having(session, filters, most=_most_looked_up(filters))]
    return _page(session, user_id, conditions, limit=limit, cursor=cursor, now=now, order=order)


def list_counted(
    session: Session,
    user_id: UUID,
    filters: Filters,
    *,
    limit: int,
    cursor: str | None,
    now: datetime,
    order: Order = "newest",
) -> tuple[Page, int, bool]:
    """Return a page of entries, how many there are in all, and whether there are more than were counted.

    Counted are at most `MOST_COUNTED` of those that fit words, and `MOST_LISTED` without any.
    """
    conditions, many = _conditions(session, user_id, filters)
    narrowed = [*conditions, *_having(session, filters, most=_most_looked_up(filters))]
    page = _page(session, user_id, narrowed, limit=limit, cursor=cursor, now=now, order=order)
    if cursor is None and page.next_cursor is None:
        return page, len(page.entries), False
    most = MOST_LISTED if filters.words is None else MOST_COUNTED
    if many and filters == Filters(words=filters.words):
        # With many more than are counted, and no other filter, the number would be this in any case: counting takes
        # longer than listing, and whoever types on soon asks again.
        return page, most, True
    narrowed = [*conditions, *_having(session, filters, most=MOST_LISTED)]
    total = _count(session, user_id, narrowed, now=now, most=most + 1)
    return page, min(total, most), total > most


def _page(
    session: Session,
    user_id: UUID,
    conditions: Conditions,
    *,
    limit: int,
    cursor: str | None,
    now: datetime,
    order: Order,
) -> Page:
    check_limit(limit, LARGEST_PAGE)
    statement = _entries(user_id, now).where(*conditions)
    column, named = _COLUMNS[order], None if order == "newest" else order
    if cursor is not None:
        ended = from_cursor(cursor, named, float if order == "important" else datetime)
        keys = tuple_(column, Memory.id)
        statement = statement.where(keys > ended if order == "oldest" else keys < ended)
    statement = statement.order_by(*_in_order(order)).limit(limit + 1)
    entries = _with_origins(session, user_id, [_to_entry(row) for row in session.execute(statement)])
    more = len(entries) > limit
    last = entries[limit - 1].memory if more else None
    return Page(entries[:limit], to_cursor(getattr(last, column.key), last.id, named) if last else None)


def _in_order(order: Order) -> Sequence[ColumnElement[Any]]:
    keys = (_COLUMNS[order], Memory.id)
    return [key.asc() if order == "oldest" else key.desc() for key in keys]


def list_ids(
    session: Session, user_id: UUID, filters: Filters, *, most: int, now: datetime, order: Order = "newest"
) -> Sequence[UUID]:
    """Return the ids of the memories that the filters leave, the first in an order, at most `most`."""
    conditions, _ = _conditions(session, user_id, filters)
    statement = _ids(user_id, now).where(*conditions, *_having(session, filters, most=MOST_LISTED))
    return session.scalars(statement.order_by(*_in_order(order)).limit(most)).all()


def _count(session: Session, user_id: UUID, conditions: Conditions, *, now: datetime, most: int) -> int:
    counted = _ids(user_id, now).where(*conditions).limit(most).subquery()
    return session.scalar(select(func.count()).select_from(counted)) or 0


def _ids(user_id: UUID, now: datetime) -> Select[Any]:
    statement = select(Memory.id).join(Space, (Space.user_id == Memory.user_id) & (Space.id == Memory.space_id))
    return statement.where(Memory.user_id == user_id, Memory.unexpired(now))


def get_memory(session: Session, user_id: UUID, memory_id: UUID) -> Memory:
    """Return the user's memory; raises `NotFoundError` for anyone else's as for none."""
    memory = session.get(Memory, (user_id, memory_id))
    if memory is None:
        raise NotFoundError("there is no such memory")
    return memory


def get_entry(session: Session, user_id: UUID, memory_id: UUID, *, now: datetime) -> Entry | None:
    """Return one memory with all that is shown of it."""
    return get_entries(session, user_id, [memory_id], now=now).get(memory_id)


def get_entries(session: Session, user_id: UUID, ids: Collection[UUID], *, now: datetime) -> Mapping[UUID, Entry]:
    """Return memories by their ids, with all that is shown of each; those that are not there are not in it."""
    rows = session.execute(_entries(user_id, now).where(among(Memory.id, ids))).all() if ids else ()
    return {each.memory.id: each for each in _with_origins(session, user_id, [_to_entry(row) for row in rows])}


# The title of a conversation is told only where the conversation is in the memory's own space.
_TOLD = """
SELECT m.id, m.source_message, nullif(c.title, '')
FROM memories m
LEFT JOIN messages g ON g.user_id = m.user_id AND g.id = m.source_message_id
LEFT JOIN conversations c ON c.user_id = g.user_id AND c.id = g.conversation_id AND c.space_id = m.space_id
WHERE m.user_id = %(user_id)s AND m.id = ANY(%(ids)s)
"""


def where_said(session: Session, user_id: UUID, ids: Sequence[UUID]) -> dict[UUID, tuple[str | None, str | None]]:
    """Return by id the caller's name for the message of each memory, and the title of the conversation it was said in.

    Either is None where there is none.
    """
    rows = fetch(session, _TOLD, {"user_id": user_id, "ids": list(ids)}) if ids else []
    return {memory_id: (message, conversation) for memory_id, message, conversation in rows}


def find_sources(session: Session, user_id: UUID, message_ids: Collection[UUID | None]) -> Mapping[UUID | None, Source]:
    """Return by their ids where messages are; those that are not there are not in it."""
    if not message_ids:
        return {}
    rows = session.execute(
        select(Message.id, Message.conversation_id, Message.sequence, Conversation.space_id)
        .join(Conversation, (Conversation.user_id == Message.user_id) & (Conversation.id == Message.conversation_id))
        .where(Message.user_id == user_id, Message.id.in_(message_ids))
    )
    return {row.id: Source(*row) for row in rows}


def possible_updates(
    session: Session, user_id: UUID, memory_id: UUID, now: datetime
) -> Sequence[tuple[PossibleUpdate, Memory]]:
    """Return the memories that may be an update of this one, or it of them, for the user to decide.

    As in `list_undecided`, nothing is to be decided of what is replaced, archived or expired.
    """
    this = aliased(Memory)
    statement = (
        select(PossibleUpdate, Memory)
        .join(this, (this.user_id == PossibleUpdate.user_id) & (this.id == memory_id))
        .join(
            Memory,
            (Memory.user_id == PossibleUpdate.user_id)
            & Memory.id.in_((PossibleUpdate.memory_id, PossibleUpdate.older_id))
            & (Memory.id != memory_id),
        )
        .where(
            PossibleUpdate.user_id == user_id,
            (PossibleUpdate.memory_id == memory_id) | (PossibleUpdate.older_id == memory_id),
            *(condition for each in (this, Memory) for condition in (each.status == "active", each.unexpired(now))),
        )
        .order_by(Memory.created_at, Memory.id)
    )
    return [(link, memory) for link, memory in session.execute(statement)]


def superseded_by(session: Session, user_id: UUID, memory_id: UUID, now: datetime) -> Sequence[Memory]:
    """Return the memories that supersede this one, the oldest first."""
    newer = select(Memory).where(Memory.user_id == user_id, Memory.supersedes == memory_id, Memory.unexpired(now))
    return session.scalars(newer.order_by(Memory.created_at, Memory.id)).all()


def _entries(user_id: UUID, now: datetime) -> Select[*tuple[Any, ...]]:
    return (
        select(Memory, Space.slug, Theme.slug, LastScore, Embedding.state, Embedding.error)
        .join(Space, (Space.user_id == Memory.user_id) & (Space.id == Memory.space_id))
        .outerjoin(Theme, (Theme.user_id == Memory.user_id) & (Theme.id == Memory.theme_id))
        .outerjoin(LastScore, (LastScore.user_id == Memory.user_id) & (LastScore.memory_id == Memory.id))
        .outerjoin(EmbeddingModel, (EmbeddingModel.user_id == Memory.user_id) & (EmbeddingModel.state == "active"))
        .outerjoin(
            Embedding,
            (Embedding.user_id == Memory.user_id)
            & (Embedding.memory_id == Memory.id)
            & (Embedding.model_id == EmbeddingModel.id),
        )
        .where(Memory.user_id == user_id, Memory.unexpired(now))
    )


def _embedding_state(state: str) -> ColumnElement[bool]:
    # Only failures of the active model count: whoever searches misses nothing by what another one failed at.
    failed = (
        select(Embedding.memory_id)
        .join(EmbeddingModel, (EmbeddingModel.user_id == Embedding.user_id) & (EmbeddingModel.id == Embedding.model_id))
        .where(Embedding.user_id == Memory.user_id, Embedding.memory_id == Memory.id)
        .where(Embedding.state == "error", EmbeddingModel.state == "active")
        .exists()
    )
    if state == "error":
        return Memory.needs_embedding & failed
    return Memory.needs_embedding & ~failed if state == "pending" else ~Memory.needs_embedding


def _recalled_since(moment: datetime) -> ColumnElement[bool]:
    # Each search writes the scores of what it recalls, so their time is that of the last recall.
    return (
        select(LastScore.memory_id)
        .where(LastScore.user_id == Memory.user_id, LastScore.memory_id == Memory.id, LastScore.computed_at >= moment)
        .correlate(Memory)
        .exists()
    )


_CONDITIONS: dict[str, Callable[[Any], ColumnElement[bool]]] = {
    "space": lambda slug: Space.slug == slug,
    "outside": Space.slug.not_in,
    "type": lambda kind: Memory.type == kind,
    "status": lambda status: Memory.status == status,
    "pinned": lambda pinned: Memory.pinned == pinned,
    "manually_saved": lambda saved: Memory.manually_saved == saved,
    "token_id": lambda token_id: Memory.token_id == token_id,
    "created_after": lambda moment: Memory.created_at >= moment,
    "created_before": lambda moment: Memory.created_at < moment,
    # By their ids, which are in the order of their making.
    "stored_after": lambda moment: Memory.id >= first_id(moment),
    "embedding": _embedding_state,
    "unrecalled_since": lambda moment: ~_recalled_since(moment),
}

# Filters by one word of many, with the column and the function that finds the words by an index.
_WORDS: dict[str, tuple[Any, Callable[[str, int | None], Any]]] = {
    "tag": (Memory.tags, func.memories_tagged),
    "source_id": (Memory.source_ids, func.memories_from),
}


def _most_looked_up(filters: Filters) -> int:
    """Return how many memories with a tag or source are looked up one by one to find one page.

    With no other filter a page is soon found among more of them on the way through all memories; with others it may be
    long in coming.
    """
    alone = replace(filters, tag=None, source_id=None, outside=None) == Filters()
    return FEW if alone else MOST_LISTED


def _having(session: Session, filters: Filters, *, most: int) -> Iterator[ColumnElement[bool]]:
    """Give the conditions that memories have the tag and the source that the filters name.

    Up to `most` memories with the word are found by the index, and looked up one by one; if there are more, each memory
    is asked for the word as it is met. A tag is found as it is commonly written, in whatever case it is asked for.
    """
    for name, (column, having) in _WORDS.items():
        word = getattr(filters, name)
        if word is None:
            continue
        words = _cases(word) if name == "tag" else [in_one_case(word)]
        found = union_all(*(select(having(each, most + 1).column_valued("found")) for each in words)).subquery()
        if (session.scalar(select(func.count()).select_from(found)) or 0) > most:
            yield or_(*(column.any_() == each for each in words))
        else:
            # Given as one array, the ids are looked up one by one: the planner has no other choice.
            every = union_all(*(select(having(each, None).column_valued("every")) for each in words))
            yield Memory.id == any_(func.array(every.scalar_subquery(), type_=ARRAY(Uuid)))


def _cases(tag: str) -> Sequence[str]:
    """Return a tag as it is given and as it is commonly written, as the index tells upper from lower case."""
    plain = without_blanks(tag)
    first = f"{plain[:1].upper()}{plain[1:].lower()}"
    return list(dict.fromkeys([tag, plain, plain.lower(), plain.upper(), first, plain.title()]))


def _conditions(session: Session, user_id: UUID, filters: Filters) -> tuple[Conditions, bool]:
    """Return the conditions of all filters but tag and source, and whether `words` leave more than are counted."""
    given = {name: value for name in _CONDITIONS if (value := getattr(filters, name)) is not None}
    conditions = [_CONDITIONS[name](value) for name, value in given.items()]
    if filters.theme is not None:
        theme = select(Theme.id).where(Theme.user_id == user_id, Theme.slug == filters.theme)
        # Written as an equality, and not with IN: only by that the planner sees that the index of themes will do.
        conditions.append(Memory.theme_id == theme.scalar_subquery())
    if filters.credentials is not None:
        held = among(Memory.id, _with_credentials(session, user_id))
        conditions.append(held if filters.credentials else ~held)
    if filters.words is not None:
        found = typed(session, user_id, filters.words, active_only=filters.status == "active")
        return [*conditions, found.condition], found.many
    return conditions, False


def _with_credentials(session: Session, user_id: UUID) -> Sequence[UUID]:
    """Return the ids of the memories whose text seems to hold a credential.

    The database leaves out nearly all others: what is one it does not know, and it keeps no index of them.
    """
    marked = select(Memory.id, Memory.text).where(Memory.user_id == user_id, Memory.text.regexp_match(MARKED))
    rows = session.execute(marked.execution_options(yield_per=_READ_AT_ONCE))
    return [memory_id for memory_id, text in rows if credentials_in(text)]


def _to_entry(row: Any) -> Entry:
    memory, space, theme, score, state, error = row
    if memory.needs_embedding:
        state = state if state == "error" else "pending"
    return Entry(memory, space, theme, _scores(score), state or "pending", error)


def _with_origins(session: Session, user_id: UUID, entries: list[Entry]) -> list[Entry]:
    """Add where each was said and by which token it was written.

    In statements of their own: most have no source, all of a page have few tokens, and joins would look for each.
    """
    sources = find_sources(session, user_id, {entry.memory.source_message_id for entry in entries} - {None})
    tokens = find_tokens(session, user_id, {entry.memory.token_id for entry in entries})
    if not sources and not tokens:
        return entries
    return [
        replace(entry, source=sources.get(entry.memory.source_message_id), token=tokens.get(entry.memory.token_id))
        for entry in entries
    ]


def _scores(score: LastScore | None) -> dict[str, Any] | None:
    if score is None:
        return None
    parts = {name: getattr(score, name) for name in SCORE_PARTS}
    return {**parts, "computed_at": score.computed_at.isoformat()}
