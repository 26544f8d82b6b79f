"""Identifiers: UUIDv7, so that keys sort by creation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Uuid, any_, cast
from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a fresh UUIDv7 (RFC 9562)."""
    return UUID(int=uuid7().int)


def among(column: Any, ids: Iterable[UUID]) -> ColumnElement[bool]:
    """Return the condition that a column holds one of any number of ids.

    In one parameter: `in_` takes one for each, and the protocol has room for 65,535 of them.
    """
    condition: ColumnElement[bool] = column == any_(cast(list(ids), ARRAY(Uuid)))
    return condition
