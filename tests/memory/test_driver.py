"""Statements that run past SQLAlchemy's cursor, and connections that the server has closed."""

from __future__ import annotations

import errno
import math
import os
import signal
import socket
import tempfile
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID, uuid4

import psutil
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import errors as pg
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm import Session

import memory.storage.database
from memory.storage.database import make_engine, time_limit
from memory.storage.driver import Floats, Ids, fetch


@pytest.fixture(scope="module")
def engine(runtime):
    made = make_engine(runtime.databases.app, pool_size=1, binary=True)
    yield made
    made.dispose()


@pytest.fixture
def session(engine):
    with Session(engine) as opened:
        yield opened


@pytest.fixture(scope="module")
def owner(database_url):
    made = make_engine(database_url, pool_size=1)
    yield made
    made.dispose()


def serving(engine):
    """Return the process id of the server's side of the only connection."""
    with engine.connect() as connection:
        return connection.scalar(text("SELECT pg_backend_pid()"))


def close(owner, pid):
    """End the server's side of a connection, and wait until it is gone."""
    with owner.begin() as connection:
        assert connection.scalar(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": pid})


def test_rows_come_as_plain_tuples(session):
    assert fetch(session, "SELECT n, 'x' FROM generate_series(1, %(most)s::int) n", {"most": 2}) == [(1, "x"), (2, "x")]


def test_a_statement_that_answers_nothing_has_no_rows(session):
    assert fetch(session, "SET LOCAL jit = off", {}) == []


def test_a_statement_runs_in_the_transaction_of_the_session(session):
    session.execute(text("SELECT set_config('app.user_id', 'somebody', true)"))
    assert fetch(session, "SELECT current_setting('app.user_id')", {}) == [("somebody",)]
    session.rollback()
    assert fetch(session, "SELECT current_setting('app.user_id')", {}) == [("",)]


def test_errors_are_those_of_the_session_and_quote_no_parameter(session, ada):
    statement = "INSERT INTO tool_calls (user_id, id, tool) VALUES (%(user_id)s, %(id)s, %(tool)s)"
    values = {"user_id": ada.id, "id": uuid4(), "tool": None}
    session.execute(text("SELECT set_config('app.user_id', :id, true)"), {"id": str(ada.id)})
    with pytest.raises(IntegrityError) as caught:
        fetch(session, statement, values)
    assert not caught.value.connection_invalidated
    assert "parameters hidden" in str(caught.value) or caught.value.params is None
    with pytest.raises(DBAPIError):
        fetch(session, "SELECT 1", {})
    session.rollback()
    assert fetch(session, "SELECT 1", {}) == [(1,)]


def test_a_connection_that_is_lost_in_mid_transaction_is_given_up(session, engine, owner):
    pid = fetch(session, "SELECT pg_backend_pid()", {})[0][0]
    close(owner, pid)
    with pytest.raises(OperationalError) as caught:
        fetch(session, "SELECT 1", {})
    assert caught.value.connection_invalidated
    session.rollback()
    assert fetch(session, "SELECT pg_backend_pid()", {})[0][0] != pid


@given(ids=st.lists(st.uuids(), max_size=30))
@settings(max_examples=40)
def test_ids_arrive_as_they_are(engine, ids):
    with Session(engine) as session:
        assert fetch(session, "SELECT %(ids)b::uuid[]", {"ids": Ids(ids)}) == [(ids,)]


@given(numbers=st.lists(st.floats(allow_nan=False), max_size=30))
@settings(max_examples=40)
def test_numbers_arrive_as_they_are(engine, numbers):
    with Session(engine) as session:
        assert fetch(session, "SELECT %(numbers)b::float8[]", {"numbers": Floats(numbers)}) == [(numbers,)]


def test_what_is_no_number_arrives_as_that(session):
    ((found,),) = fetch(session, "SELECT %(numbers)b::float8[]", {"numbers": Floats([math.nan])})
    assert math.isnan(found[0])


def test_what_is_no_id_is_refused_before_it_is_sent(session):
    with pytest.raises(AttributeError):
        fetch(session, "SELECT %(ids)b::uuid[]", {"ids": Ids(["no id"])})
    assert fetch(session, "SELECT %(ids)b::uuid[]", {"ids": Ids([UUID(int=1)])}) == [([UUID(int=1)],)]


def test_a_connection_that_was_closed_while_it_rested_is_not_handed_out(engine, owner):
    pid = serving(engine)
    assert serving(engine) == pid
    close(owner, pid)
    assert serving(engine) not in {pid, None}


def test_a_connection_that_has_rested_for_long_is_asked_first(engine, monkeypatch):
    asked = []
    ping = engine.dialect.do_ping
    monkeypatch.setattr(engine.dialect, "do_ping", lambda connection: asked.append(1) or ping(connection))
    pid = serving(engine)
    asked.clear()
    assert (serving(engine), asked) == (pid, [])
    monkeypatch.setattr(memory.storage.database, "TRUSTED", 0.0)
    assert (serving(engine), asked) == (pid, [1])


class Freezing:
    """A way to the server that can be frozen: from then on it takes whoever comes, and passes nothing on."""

    def __init__(self, folder, server):
        self.frozen = threading.Event()
        self._server, self._open = str(server), []
        self._listening = self._kept(socket.socket(socket.AF_UNIX))
        self._listening.bind(str(folder / server.name))
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _kept(self, one):
        self._open.append(one)
        return one

    def _serve(self):
        with suppress(OSError):
            while True:
                ends = [self._kept(self._listening.accept()[0]), self._kept(socket.socket(socket.AF_UNIX))]
                ends[1].connect(self._server)
                for pair in (ends, ends[::-1]):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source, target):
        with suppress(OSError):
            while (said := source.recv(65536)) and not self.frozen.is_set():
                target.sendall(said)

    def close(self):
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.fixture
def way(runtime, monkeypatch):
    """A frozen way, an engine that goes it, and waits that are soon looked into."""
    monkeypatch.setattr(memory.storage.database, "SILENT", 0.1)
    url = make_url(runtime.databases.app)
    # A path of a socket has no room for the folders of tests.
    with tempfile.TemporaryDirectory() as folder:
        made = Freezing(Path(folder), Path(url.query["host"]) / ".s.PGSQL.5432")
        engine = make_engine(url.update_query_dict({"host": folder}).render_as_string(hide_password=False), pool_size=1)
        yield made, engine
        made.close()
        engine.dispose()


def test_a_server_that_freezes_is_not_waited_for(way, monkeypatch):
    frozen, engine = way
    with engine.connect() as connection:
        # A statement that takes long is one to be waited for, whether it runs or waits for a lock.
        assert connection.scalar(text("SELECT length(pg_sleep(0.25)::text)")) == 0
        monkeypatch.setattr(memory.storage.database, "CONNECTING", 2)
        frozen.frozen.set()
        with pytest.raises(OperationalError, match="has not answered for long"):
            connection.execute(text("SELECT 1"))
        assert connection.invalidated


@pytest.mark.parametrize(("code", "waited"), [(errno.EHOSTUNREACH, False), (errno.ECONNREFUSED, True)])
def test_a_server_that_no_packet_reaches_is_not_waited_for(way, monkeypatch, code, waited):
    def refuse(*_given, **_named):
        raise pg.OperationalError(f"connection to server failed: {os.strerror(code)}")

    _, engine = way
    with engine.connect() as connection:
        monkeypatch.setattr(psycopg.Connection, "connect", refuse)
        if waited:
            assert connection.scalar(text("SELECT length(pg_sleep(0.25)::text)")) == 0
        else:
            with pytest.raises(OperationalError, match="has not answered for long"):
                connection.execute(text("SELECT pg_sleep(5)"))


@contextmanager
def stopping(pid, after=0.0):
    """Stop a process of the server, or soon, and let it go on at the end."""
    timer = threading.Timer(after, os.kill, (pid, signal.SIGSTOP))
    timer.start()
    if not after:
        # A signal takes its time.
        while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
            time.sleep(0.01)
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        os.kill(pid, signal.SIGCONT)


def test_a_process_that_was_asked_and_rests_is_not_waited_for(engine, monkeypatch):
    monkeypatch.setattr(memory.storage.database, "SILENT", 0.5)
    pid = serving(engine)
    with engine.connect() as connection, stopping(pid):
        with pytest.raises(OperationalError, match="has not answered for long"):
            connection.execute(text("SELECT 1"))
        assert connection.invalidated
        assert serving(engine) != pid


def test_a_process_that_stops_at_work_is_waited_for_until_its_limit_has_passed(engine, monkeypatch):
    monkeypatch.setattr(memory.storage.database, "SILENT", 0.2)
    pid = serving(engine)
    with Session(engine) as session, time_limit(session, 1.0):
        # A machine that stops it late would find it ended by its limit.
        session.execute(text("SET LOCAL statement_timeout = 0"))
        began = time.monotonic()
        with stopping(pid, after=0.3), pytest.raises(OperationalError, match="has not answered for long"):
            session.execute(text("SELECT pg_sleep(30)"))
        assert 1.0 < time.monotonic() - began < 25


def test_a_limit_ends_with_its_transaction(engine, monkeypatch):
    monkeypatch.setattr(memory.storage.database, "SILENT", 0.1)
    with Session(engine) as session:
        # The server ends what it has not done by then, and a busy one has not done the least.
        with time_limit(session, 0.35):
            session.execute(text("SELECT 1"))
        session.rollback()
        assert session.scalar(text("SELECT length(pg_sleep(0.5)::text)")) == 0


SECRET = "the heron code is 4711"
REFUSED = {
    "23514": "INSERT INTO notes VALUES ({secret})",
    "23505": "INSERT INTO names VALUES ({secret}), ({secret})",
    "22P02": "SELECT CAST(CAST({secret} AS text) AS integer)",
}


def by_session(session, statement):
    session.execute(text(statement.format(secret=":secret")), {"secret": SECRET})


def by_driver(session, statement):
    fetch(session, statement.format(secret="%(secret)s"), {"secret": SECRET})


@pytest.mark.parametrize("run", [by_session, by_driver])
@pytest.mark.parametrize(("code", "statement"), REFUSED.items())
def test_what_the_server_refuses_is_not_quoted(engine, code, statement, run):
    with Session(engine) as session:
        session.execute(text("CREATE TEMPORARY TABLE notes (said text CHECK (length(said) < 9))"))
        session.execute(text("CREATE TEMPORARY TABLE names (word text PRIMARY KEY)"))
        with pytest.raises(DBAPIError) as failed:
            run(session, statement)
    told = "".join(traceback.format_exception(failed.value))
    assert "heron" not in told
    assert code in told
