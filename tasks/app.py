"""The queue: the same PostgreSQL as the data, or Redis where `REDIS_URL` names one."""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg
from huey import Huey, PostgresHuey, RedisHuey
from huey.serializer import SignedSerializer
from huey.storage import PostgresStorage
from psycopg import sql
from redis import ConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

import config
from memory.storage.database import CONNECTING, WatchedConnection
from tasks.runtime import Runtime

# Any number will do, as long as nothing else in this database locks it.
TABLES_LOCK = 0x48756579
# Nothing that is asked of the queue takes long.
LONGEST_STATEMENT = 10.0  # seconds

_runtime: list[Runtime] = []


class ForeignTaskError(ValueError):
    """What lies in the queue was not put there by us, or before us: by an earlier version, or with another secret."""


class _Ours(SignedSerializer):  # type: ignore[misc]
    def _unsign(self, signed: bytes) -> Any:
        try:
            return super()._unsign(signed)
        except ValueError as error:
            raise ForeignTaskError("it is not signed with our secret") from error


def configure(runtime: Runtime) -> None:
    """Tell the queue and the tasks of this process what to work with."""
    _runtime[:] = [runtime]
    # Tasks are unpickled, which may run anything: so only what we have signed ourselves is read.
    huey.serializer = _Ours(runtime.keys.password("queue"))


def runtime() -> Runtime:
    """Return what `configure` was given."""
    if not _runtime:
        raise RuntimeError("tasks.configure() was not called in this process")
    return _runtime[0]


def _connect() -> psycopg.Connection[Any]:
    # Watched, as a write waits for its nudge, and the worker's threads for the next task.
    return WatchedConnection.connect(
        runtime().databases.app,
        connect_timeout=CONNECTING,
        application_name="commonplace-queue",
        limit=LONGEST_STATEMENT,
    )


def _make() -> Huey:
    # The one setting that must be known when the tasks are declared; the rest waits for `configure`.
    if url := config.redis_url():
        return RedisHuey("commonplace", connection_pool=_redis_pool(url), results=False)
    return PostgresHuey("commonplace", connection=_connect, create_tables=False, results=False, read_timeout=1)


def _redis_pool(url: str) -> ConnectionPool:
    # A write waits for its nudge, and the driver's own patience is measured in seconds. The consumer's read blocks for
    # one second, so an answer may take a little longer than that.
    return ConnectionPool.from_url(url, socket_connect_timeout=0.5, socket_timeout=2, retry=Retry(NoBackoff(), 1))


huey = _make()


class Depth(NamedTuple):
    """How many tasks wait, and how many do for a time to come."""

    waiting: int
    scheduled: int


def depth() -> Depth | None:
    """Return how deep the queue is, None while it is out of reach."""
    try:
        return Depth(huey.pending_count(), huey.scheduled_count())
    except (psycopg.Error, RedisError, OSError):
        return None


def create_queue_tables(owner_url: str, app_role: str) -> None:
    """Make the queue's tables as the owner and let the application use them.

    Safe to run at once from several processes.
    """
    with psycopg.connect(owner_url) as connection:
        # Tables that two make at once are made by neither, though each asks whether they are there.
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [TABLES_LOCK])
        storage = PostgresStorage("commonplace", dsn=owner_url, create_tables=True)
        storage.close()
        # All rights or none: whoever may use one table, as `wiring.is_migrated` asks, may use them all.
        for table in (storage.table_kv, storage.table_schedule, storage.table_task, storage.table_counter):
            names = {"table": sql.Identifier(table), "role": sql.Identifier(app_role)}
            connection.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}").format(**names))
        role = sql.Identifier(app_role)
        connection.execute(sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}").format(role))
