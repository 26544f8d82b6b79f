"""Where the database is, and engines and sessions for it."""

from __future__ import annotations

import errno
import math
import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, cast
from uuid import UUID

from pgvector.psycopg import register_vector
from psycopg import Connection as PsycopgConnection
from psycopg import Cursor
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.orm import Session, SessionTransaction, sessionmaker
from sqlalchemy.pool import ConnectionPoolEntry

from memory.keys import Keys
from memory.storage.driver import drop_values, fetch_by

# How many rows an HNSW index keeps in view: twice what a search asks for. Large spaces ask for more.
EF_SEARCH = 64
# A connection is believed to stand for so long; what lies between may have dropped an idle one without a word.
TRUSTED = 30.0  # seconds
_RESTED = "rested_since"
# A server that has said nothing for so long is asked over another connection whether it is there, and at work.
SILENT = 10.0  # seconds
CONNECTING = 5  # seconds
# Over a network a lost link is found out by the kernel, within a minute; where it has not been set otherwise. A Unix
# socket has none of these, and ignores them. No `tcp_user_timeout`: it ends the link to a server that takes no more of
# what is sent for so long, as while it waits for a lock with much behind.
_LINK = {"keepalives_idle": 20, "keepalives_interval": 10, "keepalives_count": 3}
# What the kernel says by itself where no packet reaches a server.
_NO_WAY = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN)
# A process that rests since before it was asked anything has hung: else it would be at work, or have answered.
_RESTS = """
SELECT FROM pg_stat_activity
WHERE pid = %s AND state LIKE 'idle%%' AND state_change < clock_timestamp() - make_interval(secs => %s)"""
_SET_USER = "SELECT set_config('app.user_id', %(user)s, true)"
_LIMIT = "time_limit"
_SET_LIMIT = "SELECT set_config('statement_timeout', %(limit)s, true)"


@dataclass(frozen=True, slots=True)
class Databases:
    """Two plain libpq URLs of one database: `owner` migrates, `app` does all the rest under row-level security."""

    owner: str
    app: str

    @property
    def app_role(self) -> str:
        """Return the name of the role that the application connects as."""
        role = make_url(self.app).username
        assert role is not None
        return role

    @contextmanager
    def as_owner(self, *, limit: float = math.inf) -> Iterator[Engine]:
        """Open an engine of one connection as the owner of the tables, whom row-level security does not bind.

        For `limit` see `WatchedConnection.connect`.
        """
        engine = make_engine(self.owner, pool_size=1, limit=limit)
        try:
            yield engine
        finally:
            engine.dispose()


def from_owner_url(owner: str, keys: Keys) -> Databases:
    """Derive the application's URL: a role named after the database, with a password from the secret."""
    url = make_url(owner).set(drivername="postgresql")
    role = f"{url.database}_app"
    app = url.set(username=role, password=keys.password(role))
    return Databases(_written(url), _written(app))


def _written(url: URL) -> str:
    """Return a URL as the driver reads it: SQLAlchemy writes a space as it is, or as a plus, which is none to libpq."""
    place, mark, query = url.render_as_string(hide_password=False).partition("?")
    return place.replace(" ", "%20") + mark + query.replace("+", "%20")


def make_engine(url: str, *, pool_size: int = 10, binary: bool = False, limit: float = math.inf) -> Engine:
    """Return an engine for a libpq URL; connections are checked before use and know the vector types."""
    options = engine_options(pool_size, binary=binary, limit=limit)
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), **options)
    listen(engine)
    return engine


class WatchedConnection(PsycopgConnection[Any]):
    """Waits for as long as the server is there, and closes the connection to one that has hung or is out of reach.

    A statement may take as long as it needs, or wait for a lock. While it does, another connection asks the server
    whether it is there and at work; if not, the wait raises `OperationalError`.
    """

    hurried = False  # Whether what is asked now is nothing that takes long.
    limit = usual_limit = math.inf  # After so many seconds the server ends a statement by itself.

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Connect as `psycopg.Connection.connect` does, over a link that the kernel looks after.

        `limit` is the seconds that a statement may run, or wait for a lock, unless a `time_limit` says otherwise.
        """
        limit = options.pop("limit", math.inf)
        given = {**_LINK, **conninfo_to_dict(conninfo), **options}
        if limit < math.inf:
            given["options"] = f"{given.get('options', '')} -c statement_timeout={_milliseconds(limit)}"
        connection = super().connect(**given)
        connection.limit = connection.usual_limit = limit
        return connection

    def wait(self, gen: Any, *options: Any, **named: Any) -> Any:
        """Run a generator of psycopg's to its end; see `psycopg.Connection.wait`."""
        return super().wait(cast(Any, _Watched(gen, self)), *options, **named)

    def look(self, waited: float) -> None:
        """Raise `OperationalError` where the server is gone, or a statement lasts far beyond its limit.

        The connection has been silent for a while by now; the statement has lasted for `waited` seconds.
        """
        if self.hurried or waited > self.limit + SILENT or not self._is_served():
            self.close()
            raise pg.OperationalError("the server has not answered for long")

    def _is_served(self) -> bool:
        """Tell whether the server answers others, and its process for this connection is at work."""
        try:
            password = self.info.password or None
            other = WatchedConnection.connect(self.info.dsn, password=password, connect_timeout=CONNECTING)
        except pg.ConnectionTimeout:
            return False
        except pg.OperationalError as error:
            # A refusal is an answer, as of a server that has no room for another, or takes nobody in any more.
            return not any(os.strerror(each) in str(error) for each in _NO_WAY)
        other.hurried = True
        try:
            with other:
                return other.execute(_RESTS, [self.info.backend_pid, SILENT]).rowcount == 0
        except pg.OperationalError:
            return False


class _Watched:
    """Wraps a generator of psycopg, and has its connection looked at while the server is silent.

    A class and not a generator: psycopg goes on with one that was interrupted, which would have ended a generator.
    """

    def __init__(self, gen: Any, connection: WatchedConnection) -> None:
        self._gen = gen
        self._connection = connection
        self._began = self._heard = time.monotonic()

    def __next__(self) -> Any:
        return next(self._gen)

    def send(self, ready: int) -> Any:
        """Go on with what the socket is ready for: with nothing where an interval of waiting has passed."""
        if ready:
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard >= SILENT:
            self._connection.look(time.monotonic() - self._began)
            self._heard = time.monotonic()
        return self._gen.send(ready)


class BinaryCursor(Cursor[Any]):
    """Asks for results in their binary form: a search reads hundreds of ids, moments and numbers, and parsing their
    text takes as long as finding them."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> BinaryCursor:
        """Run one statement; see `psycopg.Cursor.execute`."""
        super().execute(query, params, **{"binary": True, **options})
        return self


def engine_options(pool_size: int = 10, *, binary: bool = False, limit: float = math.inf) -> dict[str, Any]:
    """Return the keyword arguments that every engine of ours shares.

    `binary` is for the application's statements: the catalog has types that come as text alone. For `limit` see
    `WatchedConnection.connect`.
    """
    # JIT compiles for longer than these statements run; idle transactions would hold up purges and trims.
    options = "-c jit=off -c idle_in_transaction_session_timeout=120000 -c timezone=UTC"
    # An index scan goes on where a filter leaves too few rows, and gives what it missed before: whoever asks sorts.
    options += f" -c hnsw.ef_search={EF_SEARCH} -c hnsw.iterative_scan=relaxed_order"
    return {
        # An error of the database must not write memories into the log.
        "hide_parameters": True,
        "pool_size": pool_size,
        "max_overflow": 10,
        "pool_timeout": 10,
        "connect_args": {
            "options": options,
            "limit": limit,
            "connect_timeout": CONNECTING,
            "application_name": "commonplace",
            "cursor_factory": BinaryCursor if binary else Cursor,
        },
    }


def listen(engine: Engine) -> None:
    """Watch each new connection, teach it the vector types, and check it each time that it is taken again."""
    _watch(engine)
    _teach_vectors(engine)
    _check_on_checkout(engine)
    _drop_values(engine)


def _watch(engine: Engine) -> None:
    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: object, _record: object, args: list[Any], options: dict[str, Any]) -> WatchedConnection:
        return WatchedConnection.connect(*args, **options)


def _drop_values(engine: Engine) -> None:
    """Let no error of an engine quote a row: `hide_parameters` hides what was sent, and the server quotes it too."""

    @event.listens_for(engine, "handle_error")
    def _drop(context: ExceptionContext) -> None:
        if isinstance(error := context.original_exception, pg.Error):
            drop_values(error)
            if isinstance(wrapped := context.sqlalchemy_exception, DBAPIError):
                wrapped.args = (f"({type(error).__module__}.{type(error).__qualname__}) {error}",)


def _check_on_checkout(engine: Engine) -> None:
    """Leave out connections that the server has closed, and ask it when one has rested for long.

    SQLAlchemy's own check asks the server each time, which every search would wait for.
    """

    @event.listens_for(engine, "checkin")
    def _rest(connection: WatchedConnection | None, record: ConnectionPoolEntry) -> None:
        record.info[_RESTED] = time.monotonic()
        if connection is not None:
            connection.limit = connection.usual_limit

    @event.listens_for(engine, "checkout")
    def _check(connection: WatchedConnection, record: ConnectionPoolEntry, _proxy: object) -> None:
        since = record.info.get(_RESTED)
        if since is None or (time.monotonic() - since < TRUSTED and _is_quiet(connection)):
            return
        connection.hurried = True
        try:
            engine.dialect.do_ping(cast(Any, connection))
        except pg.Error:
            # All that rest in the pool are as old or older.
            raise InvalidatePoolError from None
        finally:
            connection.hurried = False


def _is_quiet(connection: PsycopgConnection[Any]) -> bool:
    """Tell whether the server has said nothing: a server that goes says so, and closes its end."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


def _teach_vectors(engine: Engine) -> None:
    """Teach each new connection the `halfvec` type, once the extension exists."""

    @event.listens_for(engine, "connect")
    def _register(connection: PsycopgConnection[Any], _record: object) -> None:
        try:
            register_vector(connection)
        except pg.ProgrammingError:
            # Before the first migration there is no such type, and nothing that needs it.
            connection.rollback()
        else:
            connection.rollback()


def act_as(session: Session, user_id: UUID | None) -> None:
    """Confine the session to one user's rows, in this transaction and every later one of this session."""
    session.info["user_id"] = user_id
    if session.in_transaction():
        _set_user(session.connection(), user_id)


def _set_user(connection: Connection, user_id: UUID | None) -> None:
    # By the driver: every transaction begins so, and SQLAlchemy's own way takes twice as long.
    fetch_by(connection, _SET_USER, {"user": str(user_id or "")})


@event.listens_for(Session, "after_begin")
def _confine(session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    if transaction.nested:
        return
    user_id = session.info.get("user_id")
    if user_id is not None:
        _set_user(connection, user_id)
    limit = session.info.get(_LIMIT)
    if limit is not None:
        _set_limit(connection, limit)


@contextmanager
def time_limit(session: Session, seconds: float) -> Iterator[None]:
    """Let no statement in here run, or wait for a lock, for longer; the database ends it with `QueryCanceled`.

    What follows in the transaction is limited too, until that ends.
    """
    session.info[_LIMIT] = seconds
    try:
        if session.in_transaction():
            _set_limit(session.connection(), seconds)
        yield
    finally:
        session.info.pop(_LIMIT, None)


def _set_limit(connection: Connection, seconds: float) -> None:
    fetch_by(connection, _SET_LIMIT, {"limit": _milliseconds(seconds)})
    cast(WatchedConnection, connection.connection.driver_connection).limit = seconds


def _milliseconds(seconds: float) -> str:
    # To the server 0 is no limit.
    return f"{max(1, round(seconds * 1000))}ms"


@contextmanager
def at_one_moment(sessions: sessionmaker[Session], user_id: UUID) -> Iterator[Session]:
    """Open a session confined to one user, in which all is read as it is at one moment."""
    with sessions() as session:
        act_as(session, user_id)
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        yield session


@contextmanager
def user_session(sessions: sessionmaker[Session], user_id: UUID) -> Iterator[Session]:
    """Open a transaction confined to one user; commit at the end, roll back on an error."""
    with sessions() as session:
        act_as(session, user_id)
        with session.begin():
            yield session
