"""What can be asked of the record of tool calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, Uuid, any_, collate, column, func, literal_column, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session, aliased

from memory.cursors import check_limit, from_cursor, to_cursor
from memory.errors import NotFoundError
from memory.models import Conversation, Space, Token, ToolCall
from memory.redaction.redaction import secrets_of
from memory.redaction.shown_calls import ShownCall, as_shown

Origin = Literal["server", "external", "history"]
OPERATIONS = ("search", "read", "create", "update", "delete")
# Operations that hand a memory to whoever asked.
RECEIVING = ("search", "read")
# What the database tells of the calls that name an id.
CHOSEN_BY = (
    "user_id",
    "id",
    "created_at",
    "tool",
    "operation",
    "origin",
    "success",
    "hits",
    "token_id",
    "conversation_id",
    "message_id",
    "affected_paths",
)
LARGEST_PAGE = 200
MOST_PATHS = 1000
# So many calls on a path are looked up one by one to find a page of them, and to count what they affected.
FEW, MOST_CALLS = 1000, 10_000
# The index of paths knows the folders of each down to this depth.
DEEPEST = 16


@dataclass(frozen=True, slots=True)
class CallFilters:
    """Which calls; None or nothing means any. A `path` that ends in a slash is the beginning of paths.

    `token_id` is the one token whose calls may be seen, where not all may.
    """

    tools: Sequence[str] = ()
    operations: Sequence[str] = ()
    path: str | None = None
    affected_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    success: bool | None = None
    origin: Origin | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    correlation_id: str | None = None
    token_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class CallPage:
    """Some calls, newest first, and the cursor of the next page (None at the end)."""

    calls: Sequence[ShownCall]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class PathUse:
    """A path, how many of the calls affected it, and when the last did."""

    path: str
    calls: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Use:
    """One call that handed out a memory, as the `rank`-th of what it answered, counted from 1.

    `correlation_id`, `query_hash` and `question` are those of the call as it is shown: it may tell of something else
    that was forgotten, and can still be brought back.
    """

    call: ToolCall
    rank: int
    token: Token | None
    correlation_id: str
    query_hash: str | None
    question: str | None


@dataclass(frozen=True, slots=True)
class UsePage:
    """Some uses, newest first, and the cursor of the next page (None at the end)."""

    uses: Sequence[Use]
    next_cursor: str | None


def list_calls(
    session: Session,
    user_id: UUID,
    filters: CallFilters,
    *,
    now: datetime,
    limit: int = 50,
    cursor: str | None = None,
    outside: Collection[str] = (),
) -> CallPage:
    """Return a page of calls by (created_at, id), newest first; raises `InvalidError` for a bad limit or cursor.

    Of calls in the spaces with the slugs `outside` no words are shown, and none is found by its paths.
    """
    shown, next_cursor = _page(session, user_id, filters, limit, cursor, outside)
    return CallPage(as_shown(session, user_id, shown, now, outside), next_cursor)


def get_call(session: Session, user_id: UUID, call_id: UUID, *, now: datetime, outside: Collection[str]) -> ShownCall:
    """Return one call as it may be shown, without its words if it was made in one of the spaces `outside`.

    Raises `NotFoundError`.
    """
    call = session.get(ToolCall, (user_id, call_id))
    if call is None:
        raise NotFoundError("there is no such call")
    return as_shown(session, user_id, [call], now, outside)[0]


def affected_paths(
    session: Session,
    user_id: UUID,
    filters: CallFilters,
    *,
    now: datetime,
    limit: int = 200,
    after: str | None = None,
    outside: Collection[str] = (),
) -> Sequence[PathUse]:
    """Return every path that the calls affected, once and in order, from the first one behind `after`.

    Calls in conversations of the spaces with the slugs `outside`, or by tokens of theirs, are left out.
    """
    check_limit(limit, MOST_PATHS)
    calls = _calls_of(filters)
    # Ordered by bytes, whatever the database's locale, as `after` is compared by bytes.
    path = collate(func.unnest(calls.affected_paths, type_=Text()).column_valued("path", joins_implicitly=True), "C")
    statement = select(path.label("path"), func.count(), func.max(calls.created_at)).select_from(calls)
    statement = _filtered(statement, calls, user_id, filters, _few_on_path(session, filters, MOST_CALLS))
    statement = _elsewhere(statement, calls, user_id, outside)
    # Written as the condition of the partial index is: most calls have no paths.
    statement = statement.where(calls.affected_paths != literal_column("'{}'"))
    if filters.path is not None:
        statement = statement.where(
            func.starts_with(path, filters.path) if _is_folder(filters.path) else path == filters.path
        )
    statement = statement.group_by(path).order_by(path).limit(limit)
    secrets, shown, behind = secrets_of(session, user_id, now), list[PathUse](), after
    while True:
        further = statement if behind is None else statement.where(path > behind)
        found = [PathUse(*row) for row in session.execute(further)]
        shown += [each for each in found if secrets is None or not secrets.needles.in_text(each.path)]
        # Another page is read for those that may not be shown: a caller who gets fewer than asked for takes that for
        # the end.
        if len(found) < limit or len(shown) >= limit:
            return shown[:limit]
        behind = found[-1].path


def uses(
    session: Session,
    user_id: UUID,
    memory_id: UUID,
    *,
    now: datetime,
    token_id: UUID | None = None,
    limit: int = 50,
    cursor: str | None = None,
    outside: Collection[str] = (),
) -> UsePage:
    """Return the calls of this server's tools that handed out a memory, newest first; of one token, where one is given.

    Those made in one of the spaces `outside` are without their words. Raises `InvalidError` for a bad limit or cursor.
    """
    filters = CallFilters(operations=RECEIVING, affected_id=memory_id, success=True, origin="server", token_id=token_id)
    shown, next_cursor = _page(session, user_id, filters, limit, cursor)
    calls = as_shown(session, user_id, shown, now, outside)
    page = [
        Use(
            each.call,
            each.call.affected_ids.index(memory_id) + 1,
            each.token,
            each.correlation_id,
            each.query_hash,
            each.question,
        )
        for each in calls
    ]
    return UsePage(page, next_cursor)


def _page(
    session: Session,
    user_id: UUID,
    filters: CallFilters,
    limit: int,
    cursor: str | None,
    outside: Collection[str] = (),
) -> tuple[Sequence[ToolCall], str | None]:
    """Return a page of calls by (created_at, id), newest first, and the cursor of the next."""
    check_limit(limit, LARGEST_PAGE)
    calls = _calls_of(filters)
    # Only the ids of calls that name an id are read at first, as what calls asked and answered is long.
    chosen = calls if filters.affected_id is None else calls.id
    statement = _filtered(select(chosen), calls, user_id, filters, _few_on_path(session, filters, FEW))
    if filters.path is not None:
        # Otherwise whoever guesses a path would learn that there is one.
        statement = _elsewhere(statement, calls, user_id, outside)
    if cursor is not None:
        statement = statement.where(tuple_(calls.created_at, calls.id) < from_cursor(cursor))
    statement = statement.order_by(calls.created_at.desc(), calls.id.desc()).limit(limit + 1)
    found = session.scalars(statement).all()
    shown = found[:limit] if filters.affected_id is None else _in_order(session, user_id, found[:limit])
    return shown, to_cursor(shown[-1].created_at, shown[-1].id) if len(found) > limit else None


def _in_order(session: Session, user_id: UUID, ids: Sequence[UUID]) -> Sequence[ToolCall]:
    mine = select(ToolCall).where(ToolCall.user_id == user_id, ToolCall.id.in_(ids))
    calls = {call.id: call for call in session.scalars(mine)}
    return [calls[call_id] for call_id in ids]


def _calls_of(filters: CallFilters) -> Any:
    """Return where to look: all calls, or those that name an id, which a function of the database finds by an index.

    The application cannot use that index itself: under row-level security its operator counts as one that might tell of
    other users' rows.
    """
    if filters.affected_id is None:
        return ToolCall
    columns = [column(name, ToolCall.__table__.columns[name].type) for name in CHOSEN_BY]
    naming = func.calls_naming(filters.affected_id).table_valued(*columns, name="naming")
    return aliased(ToolCall, naming, adapt_on_names=True)


def _few_on_path(session: Session, filters: CallFilters, most: int) -> ColumnElement[Any] | None:
    """Return the ids of the calls that may be on a path, None where there are more than `most` or no index tells.

    Of more, some are soon met on the way through all.
    """
    path = filters.path
    if path is None or filters.affected_id is not None or (_is_folder(path) and path.count("/") > DEEPEST):
        return None
    found = select(func.calls_on(path, most + 1).column_valued("found")).subquery()
    if (session.scalar(select(func.count()).select_from(found)) or 0) > most:
        return None
    every = select(func.calls_on(path, None).column_valued("every")).scalar_subquery()
    return func.array(every, type_=ARRAY(Uuid))


def _filtered(
    statement: Select[Any], calls: Any, user_id: UUID, filters: CallFilters, few: ColumnElement[Any] | None
) -> Select[Any]:
    """Add the filters; `few` are the ids of all calls that may be on the path, where they are not many."""
    statement = statement.where(calls.user_id == user_id)
    if few is not None:
        statement = statement.where(calls.id == any_(few))
    for wanted, values in ((calls.tool, filters.tools), (calls.operation, filters.operations)):
        if values:
            statement = statement.where(wanted.in_(list(values)))
    for wanted, value in (
        (calls.success, filters.success),
        (calls.origin, filters.origin),
        (calls.conversation_id, filters.conversation_id),
        (calls.message_id, filters.message_id),
        (calls.token_id, filters.token_id),
    ):
        if value is not None:
            statement = statement.where(wanted == value)
    if filters.correlation_id is not None:
        # A subquery by the index of request ids, as the rows that `calls_naming` returns have no request id.
        of_request = select(ToolCall.id).where(
            ToolCall.user_id == user_id, ToolCall.correlation_id == filters.correlation_id
        )
        statement = statement.where(calls.id.in_(of_request))
    if filters.since is not None:
        statement = statement.where(calls.created_at >= filters.since)
    if filters.until is not None:
        statement = statement.where(calls.created_at < filters.until)
    return statement if filters.path is None else statement.where(_on_path(calls, filters.path))


def _elsewhere(statement: Select[Any], calls: Any, user_id: UUID, outside: Collection[str]) -> Select[Any]:
    """Leave out the calls in conversations of the spaces with the slugs `outside`, or by tokens of theirs."""
    if not outside:
        return statement
    spaces = select(Space.id).where(Space.user_id == user_id, Space.slug.in_(outside))
    for place, kind in ((calls.conversation_id, Conversation), (calls.token_id, Token)):
        inside = select(kind.id).where(kind.user_id == user_id, kind.space_id.in_(spaces))
        statement = statement.where(place.is_(None) | place.not_in(inside))
    return statement


def _is_folder(path: str) -> bool:
    return path.endswith("/")


def _on_path(calls: Any, path: str) -> Any:
    if not _is_folder(path):
        return calls.affected_paths.any_() == path
    each = func.unnest(calls.affected_paths).column_valued("each")
    return select(each).where(func.starts_with(each, path)).exists()
