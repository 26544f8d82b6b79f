"""The memories that a search may find as Markdown, one document each, as an editor of notes takes them."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any
from uuid import UUID

import yaml
from sqlalchemy import select
from sqlalchemy.orm import Session, sessionmaker

from memory.models import Memory, Space, Theme
from memory.storage.database import at_one_moment
from memory.texts.scripts import normal
from memory.time_zones import user_zone

_AT_ONCE = 500
# Characters of a document's name behind its day: of up to four bytes, and a name has 255 at most.
LONGEST_TITLE = 50
# What some system keeps from the names of files, and what links of notes are written with.
_UNFIT = re.compile(r'[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069<>:"/\\|?*#^\[\]%]+')


@dataclass(frozen=True, slots=True)
class Note:
    """A document; `path` is that in the folder of all, `default/2026-05-01 The spare key.md`."""

    path: str
    content: str


def notes_at_once(sessions: sessionmaker[Session], user_id: UUID, *, now: datetime) -> Generator[Note]:
    """Yield a document for each active memory that has not expired, all as they are at one moment.

    Each is in the folder of its space, named by the day that it is of and by how it begins. `import memories` reads it
    as one memory again, and corrects that where the text was changed.
    """
    with at_one_moment(sessions, user_id) as session:
        zone = user_zone(session, user_id)
        statement = (
            select(Memory, Space.slug, Theme.display_name)
            .join(Space, (Space.user_id == Memory.user_id) & (Space.id == Memory.space_id))
            .outerjoin(Theme, (Theme.user_id == Memory.user_id) & (Theme.id == Memory.theme_id))
            .where(Memory.user_id == user_id, Memory.status == "active", Memory.unexpired(now))
            .order_by(Space.slug, Memory.created_at, Memory.id)
        )
        taken: dict[str, int] = {}
        for memory, slug, theme in session.execute(statement.execution_options(yield_per=_AT_ONCE)):
            yield Note(_path_of(memory, slug, zone, taken), _content_of(memory, theme))


def _content_of(memory: Memory, theme: str | None) -> str:
    about: dict[str, Any] = {
        "memory": str(memory.id),
        "version": memory.version,
        "created_at": memory.created_at.isoformat(),
        "type": memory.type,
        "tags": list(memory.tags),
        "theme": theme,
        "saved": memory.manually_saved,
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
    }
    told = {name: value for name, value in about.items() if value}
    return f"---\n{yaml.safe_dump(told, sort_keys=False, allow_unicode=True)}---\n\n{memory.text}\n"


def _path_of(memory: Memory, slug: str, zone: tzinfo, taken: dict[str, int]) -> str:
    """Return a path that no other document has, in whatever case: many systems take both for one.

    `taken` has the paths of the others, each with the number of the last one that began so.
    """
    # To some systems a letter with its accent is another name than the two of them.
    line = normal("NFC", " ".join(_UNFIT.sub(" ", memory.text).split()))
    title = line[:LONGEST_TITLE]
    if len(line) > LONGEST_TITLE and line[LONGEST_TITLE] != " ":
        title = title.rpartition(" ")[0] or title
    base = f"{slug}/{_day_of(memory.created_at, zone)} {title}".rstrip(" .")
    path, number = base, taken.get(base.casefold(), 0)
    while path.casefold() in taken:
        number += 1
        path = f"{base} {number}"
    taken[path.casefold()] = 1
    taken[base.casefold()] = max(number, 1)
    return f"{path}.md"


def _day_of(moment: datetime, zone: tzinfo) -> str:
    """Return the day of a moment where clocks of a zone show it, of UTC where that is beyond the calendar."""
    try:
        moment = moment.astimezone(zone)
    except OverflowError:
        moment = moment.astimezone(UTC)
    return moment.date().isoformat()
