"""Everything that is kept of a user, as one JSON document that is never whole in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Column, Select, Table, select
from sqlalchemy.orm import Session, sessionmaker

from memory.models import Base, Cell, Entity, EntityMention, Fact, Memory, Notebook, RecallMark, ToolCall, User
from memory.redaction.blanking import BLANK_CELL, UNTITLED
from memory.redaction.fact_texts import sentence, with_facts
from memory.redaction.redaction import REDACTED, UNNAMED, Secrets, secrets_of
from memory.storage.database import at_one_moment

FORMAT = "commonplace-export"
VERSION = 1

# What is worked out from the rest, what is on its way out, and what lasts for a day.
_LEFT_OUT = frozenset(
    {
        "cached_embeddings",
        "embeddings",
        "entity_embeddings",
        "entity_postings",
        "episode_embeddings",
        "episode_postings",
        "forgotten",
        "incognito_sessions",
        "postings",
        "session_states",
        "tombstones",
    }
)
# Secrets, fingerprints, and the user's own id in every row.
_NO_COLUMNS = frozenset(
    {"user_id", "api_key", "simhash", "text_digest", "template_digest", "subject_key", "predicate_key", "object_key"}
)
_FIRST = ("spaces", "themes", "memories", "conversations", "messages", "entities", "preferences")
# Tables whose rows are deleted with a forgotten memory when they say the same, and what each row says.
_SAYING: dict[Any, Callable[[Any], str]] = {
    RecallMark.__table__: lambda row: str(row.question),
    Fact.__table__: sentence,
}
_AT_ONCE = 500


def sections() -> list[str]:
    """Return the names of the document's lists, in order: each is a table."""
    owned = [table.name for table in Base.metadata.sorted_tables if "user_id" in table.columns]
    rest = [name for name in owned if name not in _LEFT_OUT and name not in _FIRST]
    return [*_FIRST, *sorted(rest)]


def export_at_once(sessions: sessionmaker[Session], user_id: UUID, *, now: datetime) -> Generator[str]:
    """Yield what `export` does, all of it as it is at one moment: what is written meanwhile is in no section.

    Otherwise a section could tell of what an earlier one has not, and nobody could bring the document in.
    """
    with at_one_moment(sessions, user_id) as session:
        yield from export(session, user_id, now=now)


def export(session: Session, user_id: UUID, *, now: datetime) -> Iterator[str]:
    """Yield a JSON object, piece by piece: who, when, and one list of rows for each section.

    What was forgotten or has expired is in no section, no call tells of it, and no cell, title or mark says it, as if
    it were purged. Messages are written as they stand. Passwords, the secrets of tokens and keys of providers are left
    out. The session must be confined to the user.
    """
    user = session.get_one(User, user_id)
    who = {name: getattr(user, name) for name in ("id", "email", "display_name", "role", "created_at")}
    head = {"format": FORMAT, "version": VERSION, "exported_at": now, "user": who}
    yield _json(head)[:-1]
    secrets = with_facts(session, secrets_of(session, user_id, now))
    for name in sections():
        yield f',\n"{name}": ['
        for number, row in enumerate(_rows(session, Base.metadata.tables[name], user_id, secrets, now)):
            yield (",\n" if number else "\n") + _json(row)
        yield "]"
    yield "}\n"


def _rows(
    session: Session, table: Table, user_id: UUID, secrets: Secrets | None, now: datetime
) -> Iterator[dict[str, Any]]:
    statement = select(*columns_of(table)).where(table.c.user_id == user_id).order_by(*table.primary_key.columns)
    expired = select(Memory.id).where(Memory.user_id == user_id, Memory.expires_at <= now)
    if table is Memory.__table__:
        statement = statement.where(Memory.id.not_in(expired))
        gone = frozenset(session.scalars(expired))
    else:
        # What tells of an expired memory goes with it, though it is not purged yet.
        for column in _pointing_at_memories(table):
            statement = statement.where(column.is_(None) | column.not_in(expired))
        gone = frozenset()
        if table is Entity.__table__:
            statement = statement.where(Entity.id.in_(_named(user_id, expired)))
    for row in session.execute(statement.execution_options(yield_per=_AT_ONCE)):
        if secrets is not None and table in _SAYING and secrets.needles.in_text(_SAYING[table](row)):
            continue
        values = dict(row._mapping) | (_blanked(table, row, secrets) if secrets is not None else {})
        if values.get("supersedes") in gone:
            values["supersedes"] = None
        yield values


def _named(user_id: UUID, expired: Select[UUID]) -> Select[UUID]:
    """Return the entities that something names which has not expired: a purge takes the others along."""
    mentions = Base.metadata.tables[EntityMention.__tablename__]
    still = [column.is_(None) | column.not_in(expired) for column in _pointing_at_memories(mentions)]
    return select(mentions.c.entity_id).where(mentions.c.user_id == user_id, *still)


def _blanked(table: Table, row: Any, secrets: Secrets) -> dict[str, Any]:
    """Return what is written in place of what a row tells of a secret, by column."""
    if table is ToolCall.__table__:
        return _blanked_call(row, secrets)
    if table is Cell.__table__ and secrets.needles.in_value([row.input, row.output]):
        return BLANK_CELL
    if table is Notebook.__table__ and secrets.needles.in_text(row.title):
        return {"title": UNTITLED}
    return {}


def _blanked_call(row: Any, secrets: Secrets) -> dict[str, Any]:
    named = secrets.named_by(row)
    names = ("tool", "operation", "correlation_id")
    blanked: dict[str, Any] = {name: UNNAMED for name in names if getattr(row, name) in named}
    if secrets.told_by(row):
        asked = None if secrets.said_by(row) else row.query_hash
        blanked |= {"arguments": REDACTED, "result": REDACTED, "error": None, "affected_paths": [], "query_hash": asked}
    return blanked


def _pointing_at_memories(table: Table) -> list[Column[Any]]:
    keys = [key for key in table.foreign_key_constraints if key.referred_table is Memory.__table__]
    return [element.parent for key in keys for element in key.elements if element.parent.name != "user_id"]


def columns_of(table: Table) -> list[Column[Any]]:
    """Return the columns of a section that are written."""
    secret = {"hash"} if table.name == "tokens" else set()
    return [column for column in table.columns if column.computed is None and column.name not in _NO_COLUMNS | secret]


def _json(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, default=_plain)
    try:
        written.encode()
    except UnicodeEncodeError:
        # A payload may hold half a surrogate pair, which JSON can say and UTF-8 cannot.
        return json.dumps(value, default=_plain)
    return written


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)
