"""How a user likes things done: versions of one document, and what of it goes into a prompt."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from memory.errors import ConflictError, NotFoundError
from memory.locks import Purpose, lock_name
from memory.models import AuditEvent, Preferences
from memory.preferences.document import (
    DefaultFolders,
    Parsed,
    ResponseStyle,
    Structured,
    parse,
    parse_kept,
    with_time_zone,
)
from memory.record.journal import record

logger = logging.getLogger(__name__)

_DELETED = "preferences.deleted"
_FOLDERS = (("meeting_notes", "meeting notes"), ("daily_notes", "daily notes"), ("projects", "project notes"))


@dataclass(frozen=True, slots=True)
class Saved:
    """The version in force after a save; `new` is false when it already was the one in force.

    `replaced` is the version that was in force before, 0 for none.
    """

    version: int
    new: bool
    replaced: int
    parsed: Parsed


@dataclass(frozen=True, slots=True)
class Version:
    """One version without its document; `size` is in bytes of UTF-8."""

    version: int
    source: str
    size: int
    created_at: datetime


def current(session: Session, user_id: UUID) -> Preferences | None:
    """Return the version in force, None before the first."""
    statement = select(Preferences).where(Preferences.user_id == user_id).order_by(Preferences.version.desc())
    return session.scalar(statement.limit(1))


def get_version(session: Session, user_id: UUID, version: int) -> Preferences:
    """Return one version; raises `NotFoundError`."""
    found = session.get(Preferences, (user_id, version))
    if found is None:
        raise NotFoundError("there is no such version of the preferences")
    return found


def list_versions(
    session: Session, user_id: UUID, *, limit: int = 50, before: int | None = None
) -> tuple[list[Version], int | None]:
    """Return versions, the newest first, and the version to ask for next as `before`; None at the end."""
    columns = (Preferences.version, Preferences.source, func.octet_length(Preferences.document), Preferences.created_at)
    statement = select(*columns).where(Preferences.user_id == user_id).order_by(Preferences.version.desc())
    if before is not None:
        statement = statement.where(Preferences.version < before)
    rows = session.execute(statement.limit(limit + 1)).all()
    versions = [Version(*row) for row in rows[:limit]]
    return versions, versions[-1].version if len(rows) > limit else None


def save(session: Session, user_id: UUID, document: str, *, source: str, now: datetime, actor: str) -> Saved:
    """Put a document in force as a new version, unless it is in force already; the caller commits.

    Raises `PreferencesError` for a document that cannot be used; the last valid version stays in force.
    """
    saved = _put_in_force(session, user_id, document, source, now)
    if saved.new:
        details = {"version": saved.version, "bytes": len(document.encode())}
        record(session, user_id, "preferences.saved", actor=actor, now=now, details=details)
    return saved


def set_time_zone(session: Session, user_id: UUID, name: str, *, source: str, now: datetime, actor: str) -> Saved:
    """Name a time zone in the document in force, all else as it is; raises `PreferencesError` for an unknown name."""
    lock_versions(session, user_id)
    row = current(session, user_id)
    document = with_time_zone(row.document if row is not None else "", name)
    return save(session, user_id, document, source=source, now=now, actor=actor)


def restore(session: Session, user_id: UUID, version: int, *, now: datetime, actor: str) -> Saved:
    """Put an older document in force again, as a new version unless it is in force; raises `NotFoundError`."""
    older = get_version(session, user_id, version)
    saved = _put_in_force(session, user_id, older.document, f"restore:{version}", now)
    if saved.new:
        details = {"version": saved.version, "of": version}
        record(session, user_id, "preferences.restored", actor=actor, now=now, details=details)
    return saved


def delete_versions(session: Session, user_id: UUID, version: int | None, *, now: datetime, actor: str) -> int:
    """Delete one version for good, with None every one but that in force; returns how many; the caller commits.

    That in force goes last: raises `ConflictError` while there are others. Raises `NotFoundError` where it is none.
    """
    lock_versions(session, user_id)
    latest = current(session, user_id)
    older = (Preferences.user_id == user_id, Preferences.version < (latest.version if latest is not None else 0))
    if version is not None:
        row = get_version(session, user_id, version)
        if row is latest and session.scalar(select(Preferences.version).where(*older).limit(1)) is not None:
            raise ConflictError(
                "this version is in force: put another in its place, or delete the older ones first", "version"
            )
        older = (Preferences.user_id == user_id, Preferences.version == version)
    gone = session.scalars(delete(Preferences).where(*older).returning(Preferences.version)).all()
    if gone:
        details = {"versions": sorted(gone)}
        record(session, user_id, _DELETED, actor=actor, now=now, count=len(gone), details=details)
    return len(gone)


def _put_in_force(session: Session, user_id: UUID, document: str, source: str, now: datetime) -> Saved:
    parsed = parse(document)
    lock_versions(session, user_id)
    latest = current(session, user_id)
    if latest is not None and latest.document == document:
        return Saved(latest.version, False, latest.version, parsed)
    replaced = latest.version if latest is not None else 0
    version = (replaced or _last_deleted(session, user_id)) + 1
    row = Preferences(user_id=user_id, version=version, document=document, source=source, created_at=now)
    row.structured = parsed.given
    session.add(row)
    session.flush()
    return Saved(version, True, replaced, parsed)


def _last_deleted(session: Session, user_id: UUID) -> int:
    """Return the number of the version that was deleted last, 0 for none: it must not be given to another one."""
    mine = (AuditEvent.user_id == user_id, AuditEvent.action == _DELETED)
    newest = select(AuditEvent.details).where(*mine).order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    details = session.scalar(newest.limit(1))
    return max(details["versions"]) if details is not None else 0


def lock_versions(session: Session, user_id: UUID) -> None:
    """Wait for other writers of preferences, and keep them waiting until the end: versions follow one another."""
    lock_name(session, str(user_id), Purpose.PREFERENCES)


def prompt(session: Session, user_id: UUID) -> tuple[str, int | None]:
    """Return the block for a system prompt and the version that it comes from.

    Without preferences the block is empty, which the log says: an agent works as well without them.
    """
    row = current(session, user_id)
    if row is None:
        logger.warning("user %s has no preferences: the prompt goes without", user_id)
        return "", None
    return prompt_block(parse_kept(row.document)), row.version


def prompt_block(parsed: Parsed) -> str:
    """Return the document in natural language: what its front matter says, then its body.

    Only what the user wrote is said: a default is no wish of theirs.
    """
    structured = parsed.structured
    wishes = [
        *_formats(structured),
        *_folders(structured.default_folders),
        *_style(structured.response_style),
    ]
    parts = []
    if wishes:
        parts.append("\n".join(["How this user likes things done:", *(f"- {wish}" for wish in wishes)]))
    if parsed.body:
        parts.append(f"In the user's own words:\n\n{parsed.body}")
    return "\n\n".join(parts)


def _formats(structured: Structured) -> Iterator[str]:
    if date := _said(structured.date_format, "date_format", structured.model_fields_set):
        yield f"Write dates as {date}."
    if time := _said(structured.time_format, "time_format", structured.model_fields_set):
        yield f"Write times as {time}."
    if zone := _said(structured.time_zone, "time_zone", structured.model_fields_set):
        yield f"Give times in the time zone {zone}."


def _folders(folders: DefaultFolders) -> Iterator[str]:
    for name, spoken in _FOLDERS:
        if folder := _said(getattr(folders, name), name, folders.model_fields_set):
            yield f"Put {spoken} into the folder {folder} unless they say otherwise."


def _style(style: ResponseStyle) -> Iterator[str]:
    said = style.model_fields_set
    if "verbosity" in said:
        yield "Keep answers concise." if style.verbosity == "concise" else "Answer in detail."
    if "use_bullet_points" in said:
        yield "Use bullet points." if style.use_bullet_points else "Write prose rather than bullet points."
    if "include_timestamps" in said:
        yield "Include timestamps in answers." if style.include_timestamps else "Leave timestamps out of answers."


def _said(value: str | None, name: str, said: set[str]) -> str:
    """Return a value in one line, empty where the document does not give it."""
    return " ".join((value or "").split()) if name in said else ""
