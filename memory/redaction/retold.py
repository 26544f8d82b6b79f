"""Calls that are told of after what they say was forgotten: the record keeps that they were made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from memory.drafts.drafts import MAX_TEXT_BYTES
from memory.keys import Keys
from memory.redaction.redaction import REDACTED, UNNAMED
from memory.redaction.telling import begin_to_tell
from memory.redaction.tombstones import final_graveyard
from memory.texts.fingerprints import normalise, simhash64
from memory.texts.needles import SHORTEST_WITHIN

# Names have no blanks between their words.
_PARTS = re.compile(r"[^\W_]+")


def without_forgotten(
    session: Session, user_id: UUID, rows: Sequence[dict[str, Any]], keys: Keys, now: datetime
) -> list[dict[str, Any]]:
    """Return rows of the record of calls, blank where a value or a path is a text that was forgotten for good.

    A text that can still be brought back is left to the purge: until then such a call is shown redacted. Whoever purges
    waits from now on until this transaction ends, so the caller has locked whatever else it needs.
    """
    begin_to_tell(session)
    stones = final_graveyard(session, user_id, keys, now)
    if not stones.stones:
        return list(rows)

    @cache
    def is_forgotten(text: str) -> bool:
        # No memory is as long, and a hash of so much takes its time.
        if len(text) > MAX_TEXT_BYTES:
            return False
        normalised = normalise(text)
        return stones.blocks(text, normalised, simhash64(normalised)) is not None

    # All calls of one request get the same new id, as they are told together.
    names = {"tool": UNNAMED, "operation": UNNAMED, "correlation_id": uuid4().hex}

    def is_named(name: str | None) -> bool:
        # As few mean a short text as mean it elsewhere by a part of what they say.
        words = " ".join(_PARTS.findall(name or ""))
        return len(words) >= SHORTEST_WITHIN and is_forgotten(words)

    def told(row: dict[str, Any]) -> dict[str, Any]:
        row = {**row, **{name: instead for name, instead in names.items() if is_named(row.get(name))}}
        said = [row["arguments"], row["result"], row["error"], row["affected_paths"]]
        if not any(is_forgotten(text) for text in _texts(said)):
            return row
        paths = [path for path in row["affected_paths"] if not is_forgotten(path)]
        return {**row, "arguments": REDACTED, "result": REDACTED, "error": None, "affected_paths": paths}

    return [told(row) for row in rows]


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, also of JSON that stands in a text of it."""
    if isinstance(value, str):
        yield value
        if value.lstrip().startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                yield from _texts(json.loads(value))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
