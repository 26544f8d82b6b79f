"""Bring in what `memory.export` wrote: all of it or nothing, into an account that has nothing yet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from types import GenericAlias
from typing import Annotated, Any, BinaryIO
from uuid import UUID

import ijson
import psycopg
from psycopg import errors
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from sqlalchemy import (
    ARRAY,
    Column,
    Index,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from memory.drafts import Draft, check_choice, check_text
from memory.embedding.queue import enqueue_missing
from memory.errors import ConflictError, InvalidError
from memory.export import FORMAT, VERSION, columns_of, sections
from memory.facts import MOST, Statement, settle
from memory.journal import record
from memory.models import TYPES, Base, Conversation, Entity, EntityMention, Memory, Message, Space, Tombstone
from memory.notebooks.checks import check_title
from memory.payloads import check_json
from memory.preference_document import parse_kept
from memory.preferences import lock_versions
from memory.remember import prepare
from memory.spaces import EDITABLE, check_slug, create_space, lock_spaces, update_space
from memory.text import text_digest
from memory.wordings import MOST_KEPT

# What stays behind: tokens, whose secrets are not in the document, as the keys of providers are not; the models of the
# server it comes from; and a chain of events that only that server's own record can vouch for.
LEFT_BEHIND = frozenset({"audit_events", "audit_links", "embedding_models", "provider_settings", "tokens"})
# An account that has a row of these has more than its settings, and the notebook that a first visit makes.
_CONTENT = ("memories", "facts", "conversations", "themes", "preferences")
# Counted anew, mostly by the database itself as rows come in.
_COUNTED = {"conversations": {"message_count": 0, "total_tokens": 0, "episodes": 0, "tokens_indexed": 0}}
# Came to the format later: a document of before is one that has none.
_LATER = frozenset({"facts", "wordings"})
_AT_ONCE = 500
_LARGEST = 10**9
# The parser names each value by all the values that it is in: a file of nothing but brackets would fill the memory of
# the machine. What may be kept is nested far less.
_DEEPEST = 5_000
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
_EXACT = ijson.get_backend("python")
_NO_JSON = (ijson.JSONError, UnicodeDecodeError, RecursionError)

Row = dict[str, Any]
Check = Callable[[Row], object]


class Document:
    """An export in a file that can be read more than once; it is never whole in memory.

    Raises `InvalidError` on `file` for what is no export, is cut off, or was written by a newer version.
    """

    def __init__(self, file: BinaryIO) -> None:
        if not file.seekable():
            raise InvalidError("file", "must be a file that can be read more than once, no pipe")
        self._file = file
        self._parser = _EXACT if _has_half_pairs(file) else ijson
        try:
            head, names, lists = self._outline()
        except _NO_JSON:
            # Integers of more than 64 bits are JSON too, but not to the parser in C.
            self._parser = _EXACT
            try:
                head, names, lists = self._outline()
            except _NO_JSON:
                raise InvalidError("file", "is cut off, or no JSON in UTF-8") from None
        if head.get("format") != FORMAT:
            raise InvalidError("file", "is no export of Commonplace")
        if head.get("version") != VERSION:
            raise InvalidError("file", f"is of version {head.get('version')!r} of the format; {VERSION} is known here")
        if unknown := names - {*head, "exported_at", "user", *sections()}:
            raise InvalidError(min(unknown), "is not known here: a newer version of Commonplace wrote the file")
        for name in sections():
            if name not in lists and (name in names or name not in _LATER):
                raise InvalidError(name, "is no list" if name in names else "is missing")

    def _outline(self) -> tuple[Row, set[str], set[str]]:
        """Return what the document says of itself, its names, and those of its lists."""
        self._file.seek(0)
        head: Row = {}
        names: set[str] = set()
        lists: set[str] = set()
        name, depth = None, 0
        for event, value in self._parser.basic_parse(self._file, use_float=True):
            if event in {"start_map", "start_array"}:
                if depth == 1 and name is not None and event == "start_array":
                    lists.add(name)
                depth += 1
                if depth > _DEEPEST:
                    raise InvalidError("file", "is nested too deeply")
            elif event in {"end_map", "end_array"}:
                depth -= 1
            elif depth == 1 and event == "map_key":
                name = value
                names.add(name)
            elif depth == 1 and name in {"format", "version"}:
                head[name] = value
        return head, names, lists

    def rows(self, section: str) -> Iterator[Row]:
        """Yield the rows of a section as values of its columns; raises `InvalidError` on a field of a row."""
        self._file.seek(0)
        model = _model_of(section)
        for number, row in enumerate(self._parser.items(self._file, f"{section}.item", use_float=True), 1):
            try:
                yield model.model_validate(row).model_dump()
            except ValidationError as error:
                wrong = error.errors(include_input=False, include_url=False)[0]
                place = ".".join(str(each) for each in wrong["loc"])
                raise InvalidError(_place(section, number, place), wrong["msg"].removeprefix("Value error, ")) from None


def _has_half_pairs(file: BinaryIO) -> bool:
    """Tell whether half a surrogate pair may be in a file: the parser in C would read a question mark."""
    file.seek(0)
    before = b""
    while block := file.read(1 << 20):
        if _HALF_PAIR.search(before + block):
            return True
        before = block[-5:]
    return False


def restored_tables() -> list[Table]:
    """Return the tables that an import fills, those that others point at first."""
    wanted = set(sections()) - LEFT_BEHIND
    return [table for table in Base.metadata.sorted_tables if table.name in wanted]


def import_document(
    session: Session,
    user_id: UUID,
    document: Document,
    *,
    soft_cap: int,
    check_policy: Callable[[Mapping[str, Any]], object],
    check_cell: Check,
    now: datetime,
    actor: str,
    on_rows: Callable[[int], object] = lambda _: None,
) -> dict[str, int]:
    """Bring a document into an account, and return how many rows of each kind came; the caller commits.

    Ids stay as they are, but for those of spaces. Vectors are made anew. `soft_cap` is of spaces until their own is
    set; `check_policy` raises `ValueError` for a policy that no search could use, `check_cell` raises `InvalidError`
    for a cell that no page could show; `on_rows` is told how many rows came.
    Raises `ConflictError` for an account that has something, `InvalidError` on what cannot be stored; then nothing
    may be committed.
    """
    _keep_writers_away(session, user_id)
    _check_empty(session, user_id, now)
    spaces = _Spaces(session, user_id, soft_cap, check_policy, now, actor)
    checks = {**_CHECKS, "cells": check_cell, "wordings": _check_wordings()}
    counts: dict[str, int] = {}
    replaced: dict[UUID, UUID] = {}
    for table in restored_tables():
        rows = document.rows(table.name)
        if table.name == "memories":
            rows = _noting(rows, replaced)
        if table.name == "spaces":
            counts[table.name] = spaces.take(rows)
            continue
        counts[table.name] = 0
        for first, batch in _batches(spaces.placed(table.name, rows, checks.get(table.name))):
            _insert(session, table, user_id, batch, first)
            counts[table.name] += len(batch)
            on_rows(len(batch))
    for space_id in spaces.ids():
        settle(session, user_id, space_id)
    _link(session, user_id, replaced)
    _count_messages(session, user_id)
    _drop_unnamed(session, user_id)
    enqueue_missing(session, user_id, now)
    details = {name: number for name, number in counts.items() if number}
    record(session, user_id, "user.imported", actor=actor, now=now, subject_id=user_id, details=details)
    session.flush()
    return counts


def _keep_writers_away(session: Session, user_id: UUID) -> None:
    """Wait for whoever writes to the account, and keep others waiting until this transaction ends."""
    lock_versions(session, user_id)
    # Stronger than the lock that writers of a space take: a conversation is begun without it.
    session.execute(select(Space.id).where(Space.user_id == user_id).order_by(Space.id).with_for_update())


def _check_empty(session: Session, user_id: UUID, now: datetime) -> None:
    for name in _CONTENT:
        table = Base.metadata.tables[name]
        if session.execute(select(table.c.user_id).where(table.c.user_id == user_id).limit(1)).first() is not None:
            raise ConflictError(f"this account has {name} already: an export is brought into one that has nothing yet")
    stones = select(Tombstone.id).where(Tombstone.user_id == user_id, Tombstone.expires_at > now).limit(1)
    if session.scalar(stones) is not None:
        raise ConflictError("something was forgotten in this account less than 24 hours ago: the export may tell of it")


class _Spaces:
    """Which space of the account each space of the document became: an account has a default one from the start."""

    def __init__(
        self,
        session: Session,
        user_id: UUID,
        soft_cap: int,
        check_policy: Callable[[Mapping[str, Any]], object],
        now: datetime,
        actor: str,
    ) -> None:
        self._session, self._user_id, self._soft_cap, self._now, self._actor = session, user_id, soft_cap, now, actor
        self._check_policy = check_policy
        self._known = {space.slug for space in lock_spaces(session, user_id)}
        self._ids: dict[UUID, UUID] = {}
        self._slugs: set[str] = set()

    def take(self, rows: Iterable[Row]) -> int:
        """Make or change spaces as the document has them; return how many."""
        for number, row in enumerate(rows, 1):
            try:
                self._take(row)
            except InvalidError as error:
                raise InvalidError(_place("spaces", number, error.field), error.message) from None
        return len(self._ids)

    def _take(self, row: Row) -> None:
        session, user_id, slug = self._session, self._user_id, row["slug"]
        for name, seen in (("id", self._ids), ("slug", self._slugs)):
            if row[name] in seen:
                raise InvalidError(name, "is there twice")
        self._slugs.add(slug)
        try:
            self._check_policy(row["policy"])
        except ValueError as error:
            raise InvalidError("policy", str(error)) from None
        if slug not in self._known:
            create_space(session, user_id, slug, soft_cap=self._soft_cap, now=self._now, actor=self._actor)
            self._known.add(slug)
        settings = {name: row[name] for name in EDITABLE}
        space = update_space(session, user_id, slug, settings, now=self._now, actor=self._actor)
        space.created_at = row["created_at"]
        session.flush()
        self._ids[row["id"]] = space.id

    def ids(self) -> Iterable[UUID]:
        """Return the spaces of the account that something came into."""
        return self._ids.values()

    def placed(self, section: str, rows: Iterable[Row], check: Check | None) -> Iterator[Row]:
        """Yield checked rows with the ids of the account's own spaces."""
        for number, row in enumerate(rows, 1):
            if "space_id" in row:
                if row["space_id"] not in self._ids:
                    raise InvalidError(_place(section, number, "space_id"), "there is no such space in the document")
                row["space_id"] = self._ids[row["space_id"]]
            try:
                yield _prepared(section, row, check)
            except InvalidError as error:
                raise InvalidError(_place(section, number, error.field), error.message) from None


def _prepared(section: str, row: Row, check: Check | None) -> Row:
    """Return a row with what an export leaves out because it is worked out from the rest."""
    row |= _COUNTED.get(section, {})
    for name, value in row.items():
        if isinstance(value, dict):
            check_json(value, name, most=_LARGEST, for_index=name != "payload")
    if "needs_embedding" in row:
        row["needs_embedding"] = True
    if check is not None:
        check(row)
    if section == "memories":
        # Checks what is stored as the write path does.
        tags, sources = tuple(row["tags"]), tuple(row["source_ids"])
        draft = Draft(row["text"], row["type"], row["role"], tags, source_ids=sources, stored=True)
        row |= {**prepare(draft).columns, "supersedes": None}
    return row


def _check_fact(row: Row) -> None:
    said = Statement(row["subject"], row["predicate"], row["object"], row["confidence"])
    row |= {**{name: getattr(said, name) for name in MOST}, **said.keys}


def _check_pair(row: Row) -> None:
    if row["memory_id"] == row["older_id"]:
        raise InvalidError("older_id", "must be another memory")


def _check_revision(row: Row) -> None:
    _check_said(row)
    check_choice("type", row["type"], TYPES)


def _check_wordings() -> Check:
    """Return what checks the wordings of one document, row by row."""
    counts: Counter[UUID] = Counter()

    def check(row: Row) -> None:
        _check_said(row)
        counts[row["memory_id"]] += 1
        if counts[row["memory_id"]] > MOST_KEPT:
            raise InvalidError("memory_id", f"must be the same in at most {MOST_KEPT} wordings")
        row["text_digest"] = text_digest(row["text"])

    return check


def _check_said(row: Row) -> None:
    # What says it goes blank with its memory: of an empty one, that is every empty text.
    check_text(row["text"])


# What the columns' types leave open, and pages rely on; each raises `InvalidError`.
_CHECKS: dict[str, Check] = {
    "themes": lambda row: check_slug(row["slug"]),
    "revisions": _check_revision,
    "notebooks": lambda row: check_title(row["title"]),
    "preferences": lambda row: parse_kept(row["document"]),
    "facts": _check_fact,
    "possible_updates": _check_pair,
}


def _insert(session: Session, table: Table, user_id: UUID, batch: list[Row], first: int) -> None:
    """Insert rows, the first of which has this number; raises `InvalidError` on the one that cannot be stored."""
    try:
        with session.begin_nested():
            # With RETURNING they go as one statement that is written once: the index of words is kept by statement,
            # and to write another for each batch took half of the time.
            added = insert(table).returning(table.c.user_id)
            session.execute(added, [{**row, "user_id": user_id} for row in batch])
    except DBAPIError as error:
        wrong = _wrong(table, error)
        if wrong is None:
            raise
        if len(batch) == 1:
            field, said = wrong
            raise InvalidError(_place(table.name, first, field), said) from None
        # Which row it is the database does not say: each half is tried by itself.
        middle = len(batch) // 2
        _insert(session, table, user_id, batch[:middle], first)
        _insert(session, table, user_id, batch[middle:], first + middle)


def _wrong(table: Table, error: DBAPIError) -> tuple[str, str] | None:
    """Return the field that cannot be stored, empty if that is not known, and why; None where no row is to blame."""
    refused = error.orig
    if not isinstance(refused, psycopg.Error):
        return None
    name = refused.diag.constraint_name or ""
    if isinstance(refused, errors.CheckViolation):
        return _known(table, [name.removeprefix(f"ck_{table.name}_")]), "has a value that is not possible there"
    if isinstance(refused, errors.ForeignKeyViolation):
        links = {each.name: each.column_keys for each in table.foreign_key_constraints}
        return _known(table, links.get(name, ())), "there is no such row in the document"
    if isinstance(refused, errors.UniqueViolation):
        unique = [each for each in (*table.constraints, *table.indexes) if isinstance(each, _UNIQUE)]
        keys = {each.name: each.columns.keys() for each in unique}
        return _known(table, keys.get(name, ())), "is there twice"
    if isinstance(refused, errors.ProgramLimitExceeded):
        return "", "holds a text that is too long"
    return ("", "holds what cannot be stored") if isinstance(refused, psycopg.DataError) else None


_UNIQUE = (PrimaryKeyConstraint, UniqueConstraint, Index)


def _known(table: Table, names: Iterable[str]) -> str:
    """Return the last of these columns as the document has it: a digest stands for what it is of."""
    written = {column.name for column in columns_of(table)}
    found = [name if name in written else name.removesuffix("_digest") for name in names]
    return next((name for name in reversed(found) if name in written), "")


def _noting(rows: Iterable[Row], replaced: dict[UUID, UUID]) -> Iterator[Row]:
    """Yield memories, and note which of them replaces which: it may come after it."""
    for row in rows:
        if row["supersedes"] is not None:
            replaced[row["id"]] = row["supersedes"]
        yield row


def _link(session: Session, user_id: UUID, replaced: Mapping[UUID, UUID]) -> None:
    """Say which memory replaces which, now that all are there."""
    table = Base.metadata.tables[Memory.__tablename__]
    own = (table.c.user_id == user_id) & (table.c.id == bindparam("replacing"))
    statement = update(table).where(own).values(supersedes=bindparam("replaced"))
    _check_chains(replaced)
    for _, batch in _batches({"replacing": one, "replaced": other} for one, other in replaced.items()):
        try:
            session.execute(statement, batch)
        except IntegrityError:
            raise InvalidError(table.name, "one of them supersedes what is not in the document") from None


def _count_messages(session: Session, user_id: UUID) -> None:
    mine = (Message.user_id == user_id) & (Message.conversation_id == Conversation.id)
    counted = {
        "message_count": select(func.coalesce(func.max(Message.sequence), 0)).where(mine).scalar_subquery(),
        "total_tokens": select(func.coalesce(func.sum(Message.token_count), 0)).where(mine).scalar_subquery(),
    }
    session.execute(update(Conversation).where(Conversation.user_id == user_id).values(counted))


def _drop_unnamed(session: Session, user_id: UUID) -> None:
    """Let entities go that nothing names: what named them had expired."""
    named = select(EntityMention.entity_id).where(EntityMention.user_id == user_id)
    session.execute(delete(Entity).where(Entity.user_id == user_id, Entity.id.not_in(named)))


def _check_chains(replaced: Mapping[UUID, UUID]) -> None:
    """Refuse memories that replace each other in a circle: whoever follows them would never arrive."""
    # Those from which one arrives; each link is followed once, however long the chain.
    arriving: set[UUID] = set()
    for first in replaced:
        chain: set[UUID] = set()
        each: UUID | None = first
        while each is not None and each not in arriving:
            if each in chain:
                raise InvalidError("memories", f"{first} supersedes itself, in the end")
            chain.add(each)
            each = replaced.get(each)
        arriving |= chain


def _batches(rows: Iterable[Row]) -> Iterator[tuple[int, list[Row]]]:
    """Yield lists of rows, each with the number of its first."""
    rows, first = iter(rows), 1
    while batch := list(islice(rows, _AT_ONCE)):
        yield first, batch
        first += len(batch)


def _place(section: str, number: int, field: str) -> str:
    return f"{section}, row {number}" + (f", {field}" if field else "")


@cache
def _model_of(section: str) -> type[BaseModel]:
    """Return the shape of a row: every column that the export writes, and no other."""
    fields: dict[str, Any] = {}
    for column in columns_of(Base.metadata.tables[section]):
        kind = _kind(column)
        fields[column.name] = (kind | None, None) if column.nullable else (kind, ...)
    made: type[BaseModel] = create_model(section, __config__=ConfigDict(extra="forbid"), **fields)
    return made


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL bytes")
    text.encode()  # Half a surrogate pair is a ValueError.
    return text


def _bytes(digits: object) -> bytes:
    if not isinstance(digits, str):
        raise ValueError("must be hexadecimal digits")
    return bytes.fromhex(digits)


def _said(moment: object) -> object:
    if not isinstance(moment, str):
        raise ValueError("must be a date and a time as text")
    return moment


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be between the years 1 and 9999") from None


_KINDS: dict[type, Any] = {
    int: Annotated[int, Field(ge=0, le=_LARGEST)],
    str: Annotated[str, AfterValidator(_storable)],
    datetime: Annotated[AwareDatetime, BeforeValidator(_said), AfterValidator(_in_utc)],
    bytes: Annotated[bytes, BeforeValidator(_bytes)],
    dict: dict[str, Any],
}


def _kind(column: Column[Any]) -> Any:
    if isinstance(column.type, ARRAY):
        item = column.type.item_type.python_type
        return GenericAlias(list, (_KINDS.get(item, item),))
    python_type = column.type.python_type
    return _KINDS.get(python_type, python_type)
