"""The process of the database that serves a request works without end, or stops at work."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from api_agent import Agent
from flask import Flask
from sqlalchemy import Engine, text

import memory.storage.database
from memory.storage.database import make_engine, time_limit
from webapp import factory
from webapp.extensions import db

CONVERSATIONS = "/v1/conversations"
TITLE = "takes the database longer than anybody waits"
# A test that waits for so long has failed.
TOO_LONG = 20  # seconds
WORKING = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'PgSleep'"


@pytest.fixture
def owner(runtime) -> Iterator[Engine]:
    engine = make_engine(runtime.databases.owner, pool_size=1)
    yield engine
    engine.dispose()


@pytest.fixture
def app(runtime, owner, monkeypatch) -> Iterator[Flask]:
    """An application that waits for three seconds, and a database that takes longer for a conversation of the title."""
    with owner.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " PERFORM pg_sleep(60); RETURN NEW; END $$"
            )
        )
        connection.execute(
            text(
                "CREATE TRIGGER conversations_long BEFORE INSERT ON conversations FOR EACH ROW"
                f" WHEN (NEW.title = '{TITLE}') EXECUTE FUNCTION take_long()"
            )
        )
    monkeypatch.setattr(factory, "LONGEST_STATEMENT", 3.0)
    application = factory.create_app(runtime)
    yield application
    with application.app_context():
        db.engine.dispose()
    with owner.begin() as connection:
        connection.execute(text("DROP FUNCTION take_long() CASCADE"))


def _stop(owner: Engine, ended: threading.Event) -> None:
    """Stop the process that works, once it does, and let it go on when the test has ended, or waits for too long."""
    while not ended.wait(0.05):
        with owner.begin() as connection:
            working = connection.scalars(text(WORKING)).first()
        if working is not None:
            os.kill(working, signal.SIGSTOP)
            ended.wait(TOO_LONG)
            os.kill(working, signal.SIGCONT)
            return


@pytest.fixture
def stopping(owner) -> Iterator[None]:
    """Stop the process of the database in the middle of its work, and let it go on at the end."""
    ended = threading.Event()
    stopper = threading.Thread(target=_stop, args=(owner, ended), daemon=True)
    stopper.start()
    yield
    ended.set()
    stopper.join()


def test_what_takes_the_database_too_long_is_ended(client, ada) -> None:
    agent, began = Agent(client, ada.headers), time.monotonic()
    answer = agent.post(CONVERSATIONS, {"title": TITLE})
    assert answer.status_code == 503
    assert 3 <= int(answer.headers["Retry-After"]) <= time.monotonic() - began
    assert answer.json["detail"] == "this takes the database too long; nothing was stored"
    assert time.monotonic() - began < TOO_LONG


def test_a_process_of_the_database_that_stops_in_a_write_is_not_waited_for_without_end(
    client, ada, stopping, monkeypatch
) -> None:
    monkeypatch.setattr(memory.storage.database, "SILENT", 0.2)
    agent, began = Agent(client, ada.headers), time.monotonic()
    answer = agent.post(CONVERSATIONS, {"title": TITLE})
    assert answer.status_code == 503
    assert 3 <= int(answer.headers["Retry-After"]) <= time.monotonic() - began
    assert answer.json["detail"] == "the database does not answer; nothing was stored"
    assert time.monotonic() - began < TOO_LONG


def _limits() -> tuple[str, float]:
    """Return after what time the server ends a statement now, and after how many seconds this process knows it to."""
    session = db.session()
    return session.scalar(text("SHOW statement_timeout")), session.connection().connection.driver_connection.limit


def test_a_limit_of_its_own_takes_the_place_of_the_usual_one_until_its_transaction_ends(app) -> None:
    with app.app_context():
        with time_limit(db.session(), 5):
            assert _limits() == ("5s", 5)
        db.session.rollback()
        assert _limits() == ("3s", 3)
