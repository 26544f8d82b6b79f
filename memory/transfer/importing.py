"""Bring in what `memory.transfer.export` wrote: all of it or nothing, into an account that has nothing yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import errors
from sqlalchemy import (
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

from memory.embedding.queue import enqueue_missing
from memory.errors import ConflictError, InvalidError
from memory.facts.facts import end_contradicted
from memory.models import Base, Conversation, Entity, EntityMention, Memory, Message, Space, Tombstone
from memory.portions import portions
from memory.preferences.preferences import lock_versions
from memory.record.journal import record
from memory.spaces.spaces import EDITABLE, create_space, lock_spaces, update_space
from memory.transfer.export import columns_of, sections
from memory.transfer.export_file import Document, Row, place_of
from memory.transfer.import_rows import Check, checks, prepared

# What stays behind: tokens, whose secrets are not in the document, as the keys of providers are not; the models of the
# server it comes from; and a chain of events that only that server's own record can vouch for.
LEFT_BEHIND = frozenset({"audit_events", "audit_links", "embedding_models", "provider_settings", "tokens"})
# An account that has a row of these has more than its settings, and the notebook that a first visit makes.
_CONTENT = ("memories", "facts", "conversations", "themes", "preferences")
# Columns that name a space of the document.
_OF_SPACES = frozenset({"space_id", "found_in"})
_AT_ONCE = 500


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
    by_section = {**checks(), "cells": check_cell}
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
        for batch in portions(spaces.placed(table.name, rows, by_section.get(table.name)), _AT_ONCE):
            _insert(session, table, user_id, batch, counts[table.name] + 1)
            counts[table.name] += len(batch)
            on_rows(len(batch))
    for space_id in spaces.ids():
        end_contradicted(session, user_id, space_id)
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
    # A stronger lock than the one that writers of a space take, as a conversation is begun without theirs.
    session.execute(select(Space.id).where(Space.user_id == user_id).order_by(Space.id).with_for_update())


def _check_empty(session: Session, user_id: UUID, now: datetime) -> None:
    for name in _CONTENT:
        table = Base.metadata.tables[name]
        if session.execute(select(table.c.user_id).where(table.c.user_id == user_id).limit(1)).first() is not None:
            raise ConflictError(
                f"this account has {name} already: an export is brought into one that has nothing yet. Of its memories "
                "“commonplace import memories” brings those of a space beside what is here"
            )
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
                raise InvalidError(place_of("spaces", number, error.field), error.message) from None
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
            for name in _OF_SPACES & row.keys():
                if row[name] not in self._ids:
                    raise InvalidError(place_of(section, number, name), "there is no such space in the document")
                row[name] = self._ids[row[name]]
            try:
                yield prepared(section, row, check, self._now)
            except InvalidError as error:
                raise InvalidError(place_of(section, number, error.field), error.message) from None


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
            raise InvalidError(place_of(table.name, first, field), said) from None
        # The database does not say which row it refused, so each half is tried by itself.
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
    for batch in portions(({"replacing": one, "replaced": other} for one, other in replaced.items()), _AT_ONCE):
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
    # Memories from which an end is reached. Each link is followed once, however long the chain is.
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
