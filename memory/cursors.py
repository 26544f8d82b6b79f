"""Pages of a list: how long one may be, and where it ends, as a word that a client hands back."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from memory.errors import InvalidError


def check_limit(limit: int, largest: int) -> None:
    """Refuse a page of no rows, or of more than `largest`."""
    if not 1 <= limit <= largest:
        raise InvalidError("limit", f"must be between 1 and {largest}")


def to_cursor(key: datetime | float | UUID, row_id: UUID, order: str | None = None) -> str:
    """Return the cursor of a list that is ordered by a moment, a number or an id, then by id.

    `order` names the order of a list that can have several. A page of a list has the cursor in dozens of links, and a
    model reads it with each answer: it is as short as it can be and needs no escape in an address.
    """
    kind = _KINDS[type(key)]
    return "~".join([kind.mark + kind.told(key), _to_word(row_id), *([order] if order else [])])


def from_cursor(cursor: str, order: str | None = None, kind: type = datetime) -> tuple[Any, UUID]:
    """Return the keys in a cursor, the first of which is of a `kind`.

    Raises `InvalidError` for a word that is none, or one of another order.
    """
    try:
        key, row_id, *rest = cursor.split("~")
        if not key.startswith(_KINDS[kind].mark) or rest != [order] * (order is not None):
            raise unknown_cursor()
        return _KINDS[kind].read(key[1:]), _to_id(row_id)
    except (ValueError, OverflowError):
        raise unknown_cursor() from None


def _to_word(row_id: UUID) -> str:
    return base64.urlsafe_b64encode(row_id.bytes).decode().rstrip("=")


def _to_id(word: str) -> UUID:
    return UUID(bytes=base64.urlsafe_b64decode(f"{word}=="))


def _microseconds(moment: datetime) -> str:
    return str((moment - _EPOCH) // _MICROSECOND)


def _moment(microseconds: str) -> datetime:
    return _EPOCH + int(microseconds) * _MICROSECOND


def _number(said: str) -> int:
    if not 0 <= (number := int(said)) < 1 << 31:
        raise ValueError("no column holds it")
    return number


class _Kind(NamedTuple):
    """How a key of one kind is told in a cursor, behind a letter that no other kind has, and read again."""

    mark: str
    told: Callable[[Any], str]
    read: Callable[[str], Any]


_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_KINDS: dict[type, _Kind] = {
    datetime: _Kind("t", _microseconds, _moment),
    float: _Kind("f", repr, float),
    int: _Kind("n", str, _number),
    UUID: _Kind("u", _to_word, _to_id),
}


def unknown_cursor() -> InvalidError:
    """Return what is to be raised for a word that is no cursor."""
    return InvalidError("cursor", "is not one that this server gave")
