"""Identifiers: UUIDv7, so that keys sort by creation."""

from __future__ import annotations

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a fresh UUIDv7 (RFC 9562)."""
    return UUID(int=uuid7().int)
