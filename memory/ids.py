"""Identifiers: UUIDv7, so that keys sort by creation."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Uuid, any_, cast
from sqlalchemy.types import TypeEngine
from uuid_utils.compat import uuid7

from memory.errors import InvalidError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WRITTEN = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def new_id() -> UUID:
    """Return a fresh UUIDv7 (RFC 9562)."""
    return UUID(int=uuid7().int)


def first_id(moment: datetime) -> UUID:
    """Return the least of the ids that `new_id` makes from this moment on, to the millisecond.

    >>> first_id(datetime(2026, 1, 1, tzinfo=UTC))
    UUID('019b76da-a800-7000-8000-000000000000')
    """
    milliseconds = (moment - _EPOCH) // timedelta(milliseconds=1)
    return UUID(int=max(milliseconds, 0) << 80 | 0x7 << 76 | 0x2 << 62)


def in_one_case(word: str) -> str:
    """Return an id in small letters, as the database writes it; any other word as it is.

    Some libraries write ids in capitals, which mean the same (RFC 9562).

    >>> in_one_case("019B76DA-A800-7000-8000-000000000000"), in_one_case("Mail-7")
    ('019b76da-a800-7000-8000-000000000000', 'Mail-7')
    """
    return word.lower() if _WRITTEN.fullmatch(word) else word


def among(column: Any, values: Iterable[Any], of: type[TypeEngine[Any]] = Uuid) -> ColumnElement[bool]:
    """Return the condition that a column holds one of any number of ids, or of other values `of` a type.

    In one parameter: `in_` takes one for each, and the protocol has room for 65,535 of them.
    """
    condition: ColumnElement[bool] = column == any_(cast(list(values), ARRAY(of)))
    return condition


def pack(ids: Iterable[UUID]) -> str:
    """Return ids as an address holds them best: 22 characters or fewer for each.

    >>> unpack(pack([UUID(int=1), UUID(int=2)])) == [UUID(int=1), UUID(int=2)]
    True
    """
    return urlsafe_b64encode(b"".join(each.bytes for each in ids)).decode().rstrip("=")


def unpack(packed: str) -> list[UUID]:
    """Return the ids of which `pack` made this; raises `InvalidError` for anything else."""
    try:
        whole = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        return [UUID(bytes=whole[start : start + 16]) for start in range(0, len(whole), 16)]
    except ValueError:
        raise InvalidError("ids", "are not what was chosen here") from None
