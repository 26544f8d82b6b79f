"""A forgotten memory as the JSON of one row: its columns, what tied it to others, and all that it ever said."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Text, cast, func, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, JSONPATH
from sqlalchemy.inspection import inspect
from sqlalchemy.orm import Session, aliased

from memory.ids import among
from memory.lineage.revisions import packed_by_memory
from memory.lineage.wordings import wordings
from memory.models import Forgotten, Memory, PossibleUpdate, RecallMark

# Beside the columns: what points at the memory or comes from it, and goes with it. That are the ids of the memories
# that supersede it, its possible updates, the questions that it was marked as right for, the versions that it had, and
# the other words that it was said in. A summary that went with what it sums up has the id of that.
LINKS = "_links"
ALONG = "went_with"
NEWER, UPDATES, MARKS = "superseded_by", "possible_updates", "recall_marks"
VERSIONS, WORDINGS = "versions", "wordings"

Row = dict[str, Any]


def forgotten_rows(session: Session, user_id: UUID, memories: Sequence[Memory]) -> dict[UUID, Row]:
    """Return the rows of memories, with all that ties them to others."""
    rows = untied_rows(session, user_id, memories)
    newer, older = aliased(Memory), aliased(Memory)
    replaced = (newer.user_id == older.user_id) & (newer.supersedes == older.id)
    pairs = select(older.id, newer.id).join(newer, replaced).where(older.user_id == user_id, among(older.id, rows))
    for memory_id, newer_id in session.execute(pairs):
        rows[memory_id][LINKS][NEWER].append(str(newer_id))
    ends = or_(among(PossibleUpdate.memory_id, rows), among(PossibleUpdate.older_id, rows))
    for link in session.scalars(select(PossibleUpdate).where(PossibleUpdate.user_id == user_id, ends)):
        # Of two that go together one has it: each that comes back hands what ties it to others that are still gone.
        holder = link.memory_id if link.memory_id in rows else link.older_id
        tie = [str(link.memory_id), str(link.older_id), link.differs_in, link.created_at.isoformat()]
        rows[holder][LINKS][UPDATES].append(tie)
    marks = select(RecallMark).where(RecallMark.user_id == user_id, among(RecallMark.memory_id, rows))
    for mark in session.scalars(marks.order_by(RecallMark.created_at, RecallMark.question_digest)):
        kept = [_to_json(mark.question_digest), mark.question, _to_json(mark.created_at)]
        rows[mark.memory_id][LINKS][MARKS].append(kept)
    return rows


def untied_rows(session: Session, user_id: UUID, memories: Sequence[Memory]) -> dict[UUID, Row]:
    """Return the rows of memories that nobody brings back: with what they said, and without what tied them."""
    ids = [memory.id for memory in memories]
    versions, merged = packed_by_memory(session, user_id, ids), wordings(session, user_id, ids)
    rows: dict[UUID, Row] = {}
    for memory in memories:
        before = {VERSIONS: versions.get(memory.id, []), WORDINGS: merged.get(memory.id, [])}
        rows[memory.id] = {**_to_row(memory), LINKS: {NEWER: [], UPDATES: [], MARKS: [], **before}}
    return rows


def went_with(memory_ids: Collection[UUID]) -> ColumnElement[bool]:
    """Return what is true of the forgotten rows of summaries that went with a memory, and sum up one of these."""
    words = [str(each) for each in memory_ids]
    along: ColumnElement[str] = Forgotten.row[(LINKS, ALONG)].astext
    sums_up: ColumnElement[bool] = Forgotten.row["source_ids"].has_any(cast(words, ARRAY(Text)))
    return along.in_(words) | (along.is_not(None) & sums_up)


def brought_by(row: Row) -> Collection[str]:
    """Return the memories of which `went_with` finds this row; none where it is of no summary that went with one."""
    along = row[LINKS].get(ALONG)
    return () if along is None else {along, *row["source_ids"]}


def texts_in(row: Mapping[str, Any]) -> list[str]:
    """Return every text that a forgotten row holds: what the memory said, what it said before, and what it merged."""
    links = row.get(LINKS, {})
    return [row["text"], *(version["text"] for version in links.get(VERSIONS, ())), *links.get(WORDINGS, ())]


def texts_read(row: Any) -> ColumnElement[Any]:
    """Return what reads `texts_in` of a column of forgotten rows: all else that they hold takes longer to read."""
    paths = ("$.text", f"$.{LINKS}.{VERSIONS}[*].text", f"$.{LINKS}.{WORDINGS}[*]")
    last, before, merged = (func.jsonb_path_query_array(row, cast(path, JSONPATH), type_=JSONB) for path in paths)
    return last.op("||", return_type=JSONB())(before).op("||", return_type=JSONB())(merged)


def _columns() -> list[str]:
    # Generated columns are worked out again, the rest is kept as it was.
    return [column.key for column in inspect(Memory).columns if column.computed is None]


def _to_row(memory: Memory) -> Row:
    return {name: _to_json(getattr(memory, name)) for name in _columns()}


def _to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def to_memory(row: Row) -> Memory:
    """Return the memory of a row, which has nothing but its columns."""
    columns = inspect(Memory).columns
    return Memory(**{name: from_json(value, columns[name].type.python_type) for name, value in row.items()})


def from_json(value: Any, kind: type) -> Any:
    """Return what a row has for a value of this type."""
    if value is None:
        return None
    if kind is bytes:
        return base64.b64decode(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    return UUID(value) if kind is UUID else value
