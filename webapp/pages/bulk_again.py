"""What was done to many last: who loads the answer to it again sends the form again, and is to have its undo still.

The cookie keeps it as places among the ids of that form, of which five hundred take a hundred and fifty characters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from flask import request
from flask import session as cookie

# What would take something back: an act, the memories that changed, and what it is done with.
Changed = list[tuple[str, Sequence[UUID], str | None]]


def touched(changed: Changed) -> set[UUID]:
    """Return all that was changed."""
    return {memory_id for _, each, _ in changed for memory_id in each}


def keep(changed: Changed, ids: Sequence[UUID], until: datetime) -> None:
    """Keep until when what the form of this request changed of these ids can be taken back."""
    places = [[act, _to_places(each, ids), about] for act, each, about in changed]
    cookie["bulk"] = {"form": _form(), "until": until, "changed": places}


def kept(ids: Sequence[UUID], now: datetime) -> tuple[Changed, datetime] | None:
    """Return what this very form changed the last time, and until when that can be taken back; None where it cannot."""
    last = cookie.get("bulk")
    if last is None or last["form"] != _form() or last["until"] <= now:
        return None
    return [(act, _from_places(each, ids), about) for act, each, about in last["changed"]], last["until"]


def _form() -> str:
    return hashlib.blake2b(repr(sorted(request.form.items(multi=True))).encode(), digest_size=12).hexdigest()


def _to_places(some: Sequence[UUID], ids: Sequence[UUID]) -> str:
    """Return which of the ids are among some, as a number in hexadecimal.

    >>> one, two, three = (UUID(int=each) for each in (1, 2, 3))
    >>> _to_places([three, one], [one, two, three]), _from_places("5", [one, two, three]) == [one, three]
    ('5', True)
    """
    chosen = set(some)
    return f"{sum(1 << place for place, each in enumerate(ids) if each in chosen):x}"


def _from_places(places: str, ids: Sequence[UUID]) -> list[UUID]:
    return [each for place, each in enumerate(ids) if int(places, 16) >> place & 1]
