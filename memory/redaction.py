"""Taking what a forgotten memory said out of the record of tool calls."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Subquery, any_, cast, collate, func, literal, or_, select
from sqlalchemy import Text as SqlText
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session
from sqlalchemy.types import Uuid

from memory.models import Forgotten, Memory, ToolCall
from memory.revisions import texts_in, texts_of

# A shorter text stands in so many innocent sentences that searching for it would blank the whole record: it counts
# only where it is the whole of what was said.
SHORTEST_WITHIN = 8
# So many texts are looked for in the database; for more of them every call is read, once for all.
MOST_ASKED = 16
REDACTED: dict[str, Any] = {"redacted": True}

_COLUMNS = (
    ToolCall.id,
    ToolCall.arguments,
    ToolCall.result,
    ToolCall.error,
    ToolCall.affected_ids,
    ToolCall.affected_paths,
)
_MINE = ToolCall.user_id == func.app_user()
_AT_ONCE = 1000


class Needles:
    """Texts to be found in other texts and in JSON, whatever their case."""

    def __init__(self, texts: Iterable[str]) -> None:
        lowered = {text.strip().lower() for text in texts}
        self._whole = {text for text in lowered if len(text) < SHORTEST_WITHIN}
        self._within = lowered - self._whole
        self._signs = _signs(self._within) if len(self._within) > MOST_ASKED else {}

    def in_text(self, text: str) -> bool:
        """Tell whether one of the texts stands in this one, or is this one if it is short."""
        lowered = text.lower()
        return lowered in self._whole or self._stands_in(lowered)

    def _stands_in(self, text: str) -> bool:
        return self._by_signs(text) if self._signs else any(needle in text for needle in self._within)

    def _by_signs(self, text: str) -> bool:
        signs = self._signs
        for place in range(len(text) - SHORTEST_WITHIN + 1):
            for offset, needle in signs.get(text[place : place + SHORTEST_WITHIN], ()):
                if place >= offset and text.startswith(needle, place - offset):
                    return True
        return False

    def in_value(self, value: Any) -> bool:
        """Tell whether one of the texts stands anywhere in a JSON value."""
        if isinstance(value, str):
            return self.in_text(value)
        if isinstance(value, dict):
            return any(self._stands_in(key.lower()) or self.in_value(inner) for key, inner in value.items())
        return isinstance(value, list) and any(self.in_value(inner) for inner in value)


def _signs(texts: Collection[str]) -> dict[str, list[tuple[int, str]]]:
    """Return each text, and at what offset, by that part of it which the fewest others share: many begin alike."""
    parts = {text: [text[n : n + SHORTEST_WITHIN] for n in range(len(text) - SHORTEST_WITHIN + 1)] for text in texts}
    shared = Counter(part for each in parts.values() for part in set(each))
    signs: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for text, each in parts.items():
        sign = min(each, key=lambda part: shared[part])
        signs[sign].append((each.index(sign), text))
    return signs


@dataclass(frozen=True, slots=True)
class Secrets:
    """Memories that are to be told of no more, and what they say."""

    ids: frozenset[UUID]
    needles: Needles

    def told_by(self, call: Any) -> bool:
        """Tell whether a call names one of the memories or says what one of them says."""
        return not self.ids.isdisjoint(call.affected_ids) or self.said_by(call)

    def said_by(self, call: Any) -> bool:
        """Tell whether a call itself carries one of the texts."""
        return self.needles.in_value([call.arguments, call.result, call.error, call.affected_paths])


def redact(session: Session, memory_ids: Sequence[UUID], texts: Sequence[str]) -> int:
    """Blank every tool call of the user that names one of the memories or carries one of the texts.

    Returns how many calls were blanked. Works with the user whom the transaction is confined to; the caller commits.
    """
    if not memory_ids and not texts:
        return 0
    session.flush()
    secrets = Secrets(frozenset(memory_ids), Needles(texts))
    found = _Found()
    candidates = (
        _few(session, memory_ids, texts)
        if max(len(texts), len(memory_ids)) <= MOST_ASKED
        else _many(session, memory_ids, texts)
    )
    for start in range(0, len(candidates), _AT_ONCE):
        some = select(*_COLUMNS).where(_MINE, ToolCall.id.in_(candidates[start : start + _AT_ONCE]))
        for call in session.execute(some):
            found.look_at(call, secrets)
    if not found.calls:
        return 0
    return session.scalar(select(func.redact_tool_calls(found.calls, found.saying, sorted(found.paths)))) or 0


@dataclass
class _Found:
    """Calls to blank; those that say a text themselves; the paths that do."""

    calls: list[UUID] = field(default_factory=list)
    saying: list[UUID] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)

    def look_at(self, call: Any, secrets: Secrets) -> None:
        if not secrets.told_by(call) or _is_blank(call, secrets):
            return
        self.calls.append(call.id)
        if secrets.said_by(call):
            self.saying.append(call.id)
        self.paths.update(path for path in call.affected_paths if secrets.needles.in_text(path))


def _is_blank(call: Any, secrets: Secrets) -> bool:
    return is_redacted(call) and not secrets.needles.in_value(call.affected_paths)


def is_redacted(call: Any) -> bool:
    """Tell whether what a call said was taken out of the record."""
    return bool((call.arguments, call.result, call.error) == (REDACTED, REDACTED, None))


def _few(session: Session, memory_ids: Sequence[UUID], texts: Sequence[str]) -> Sequence[UUID]:
    """Return the calls that may have to be blanked, asking the database for every text."""
    calls = _written_calls(ToolCall.affected_ids.bool_op("&&")(_array(memory_ids)))
    said = [func.strpos(calls.c.said, _lowered(literal(form))) > 0 for form in _in_json(texts)]
    return session.scalars(select(calls.c.id).where(or_(calls.c.named, *said))).all()


def _many(session: Session, memory_ids: Sequence[UUID], texts: Sequence[str]) -> Sequence[UUID]:
    """Return the calls that may have to be blanked, reading all of them once."""
    affected = func.unnest(ToolCall.affected_ids).column_valued("affected")
    # Looked up by hash, one by one: overlap would compare each with each.
    calls = _written_calls(select(affected).where(affected == any_(_array(memory_ids))).exists())
    forms = [form.lower() for form in _in_json(texts)]
    short = [form for form in forms if len(form) < SHORTEST_WITHIN]
    long = Needles(form for form in forms if len(form) >= SHORTEST_WITHIN)
    rows = session.execute(select(calls.c.id, calls.c.named, calls.c.said).execution_options(yield_per=_AT_ONCE))
    return [
        call_id for call_id, named, said in rows if named or any(form in said for form in short) or long.in_text(said)
    ]


def _array(ids: Sequence[UUID]) -> ColumnElement[Any]:
    return cast(list(ids), ARRAY(Uuid))


def _written_calls(named: ColumnElement[bool]) -> Subquery[Any]:
    """Return each call's id, whether it is `named`, and all that it says as JSON in lower case."""
    paths = func.to_jsonb(ToolCall.affected_paths)
    parts = (ToolCall.arguments, ToolCall.result, func.to_jsonb(ToolCall.error), paths)
    said = _lowered(func.concat_ws("\n", *(cast(part, SqlText) for part in parts)))
    # In a query of its own, so that it is put together once for a call and not once for each text.
    return select(ToolCall.id, named.label("named"), said.label("said")).where(_MINE).offset(0).subquery()


def _in_json(texts: Iterable[str]) -> list[str]:
    """Return texts as JSONB writes them, a short one with its quotes: it must be the whole of a string."""
    written = {json.dumps(text.strip(), ensure_ascii=False) for text in texts}
    return sorted(form if len(form) - 2 < SHORTEST_WITHIN else form[1:-1] for form in written)


def _lowered(text: ColumnElement[str]) -> ColumnElement[str]:
    # The database's own locale may know the alphabet of English alone.
    return func.lower(collate(text, "pg_c_utf8"))


def secrets_of(session: Session, user_id: UUID, now: datetime) -> Secrets | None:
    """Return what is out of every read path, but not gone for good yet; None when there is nothing of the kind."""
    forgotten = session.execute(select(Forgotten.id, Forgotten.row).where(Forgotten.user_id == user_id)).all()
    mine = (Memory.user_id == user_id, Memory.expires_at <= now)
    expired = session.execute(select(Memory.id, Memory.text).where(*mine)).all()
    if not forgotten and not expired:
        return None
    texts = [text for _, row in forgotten for text in texts_in(row)] + [text for _, text in expired]
    if expired:
        texts += texts_of(session, user_id, [memory_id for memory_id, _ in expired])
    return Secrets(frozenset(memory_id for memory_id, _ in (*forgotten, *expired)), Needles(texts))
