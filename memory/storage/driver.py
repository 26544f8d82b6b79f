"""Statements written for the driver: what every search and every call of an agent waits for.

They run in the session's own transaction, past SQLAlchemy's cursor: that works out the names and types of the columns
anew each time, which takes as long as reading the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Any, TypeAlias, cast
from uuid import UUID

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

Row = tuple[Any, ...]
Driver: TypeAlias = "psycopg.Connection[Row]"

_KNOWN = "driver_of_transaction"

# The classes "data exception" and "integrity constraint violation" of PostgreSQL's error codes.
_OF_VALUES = {"22", "23"}

_UUID, _FLOAT8 = (psycopg.adapters.types[name] for name in ("uuid", "float8"))
# The binary form of an array: dimensions, whether it has nulls, the type of its items; then the length of its one
# dimension and its first index; then the items, each after its own length in bytes.
_EMPTY = Struct("!iiI")
_HEAD = Struct("!iiIii")
_UUID_LENGTH = (16).to_bytes(4, "big")
_FLOAT8_ITEM = Struct("!id")


def fetch(session: Session, statement: str, values: Mapping[str, Any]) -> list[Row]:
    """Run one statement with `%(name)s` parameters and return its rows, none where it answers nothing.

    Raises `sqlalchemy.exc.DBAPIError` as the session's own methods do, and gives a lost connection up as they do.
    """
    return _fetch(_driver_of(session), session.connection, statement, values)


def fetch_by(connection: Connection, statement: str, values: Mapping[str, Any]) -> list[Row]:
    """Run one statement as `fetch` does, where there is no session yet."""
    driver = cast(Driver, connection.connection.driver_connection)
    return _fetch(driver, lambda: connection, statement, values)


def _fetch(
    driver: Driver, connection_of: Callable[[], Connection], statement: str, values: Mapping[str, Any]
) -> list[Row]:
    try:
        cursor = driver.execute(statement, values)
        return cursor.fetchall() if cursor.rownumber is not None else []
    except psycopg.Error as error:
        drop_values(error)
        lost = driver.closed
        connection = connection_of()
        if lost:
            connection.invalidate(error)
        # The text of a parameter may be a memory: it goes into no message.
        wrapped = DBAPIError.instance(
            statement,
            None,
            error,
            psycopg.Error,
            hide_parameters=True,
            connection_invalidated=lost,
            dialect=connection.dialect,
        )
        raise wrapped from error


def drop_values(error: psycopg.Error) -> None:
    """Take out of a refusal's message what the server quotes of the row or the value that it refuses.

    That may be a memory, and messages are logged. What kind of refusal it is, and by which constraint, stays.
    """
    if (error.sqlstate or "")[:2] in _OF_VALUES:
        error.args = (f"{type(error).__name__} {error.sqlstate}: {error.diag.constraint_name or 'no constraint'}",)


def _driver_of(session: Session) -> Driver:
    """Return the driver's connection of the session's transaction, looked up once: a search asks for it seven times."""
    known: tuple[object, Driver] | None = session.info.get(_KNOWN)
    if known is not None and known[0] is session.get_transaction():
        return known[1]
    driver = cast(Driver, session.connection().connection.driver_connection)
    session.info[_KNOWN] = session.get_transaction(), driver
    return driver


class Ids(tuple[UUID, ...]):
    """A parameter `%(name)b` of the type `uuid[]`, packed at once where the driver packs a list item by item."""

    __slots__ = ()


class Floats(tuple[float, ...]):
    """A parameter `%(name)b` of the type `float8[]`, packed at once."""

    __slots__ = ()


def _packed(item_type: int, items: Iterable[bytes], count: int) -> bytes:
    head = _HEAD.pack(1, 0, item_type, count, 1) if count else _EMPTY.pack(0, 0, item_type)
    return head + b"".join(items)


class _IdsDumper(Dumper):
    format = Format.BINARY
    oid = _UUID.array_oid

    def dump(self, obj: Ids) -> bytes:
        return _packed(_UUID.oid, [_UUID_LENGTH + each.bytes for each in obj], len(obj))


class _FloatsDumper(Dumper):
    format = Format.BINARY
    oid = _FLOAT8.array_oid

    def dump(self, obj: Floats) -> bytes:
        pack = _FLOAT8_ITEM.pack
        return _packed(_FLOAT8.oid, [pack(8, each) for each in obj], len(obj))


# For every connection of the process, as the types are known to every server.
psycopg.adapters.register_dumper(Ids, _IdsDumper)
psycopg.adapters.register_dumper(Floats, _FloatsDumper)
