"""A worker that is killed in mid-batch loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from memory_book import Book
from sqlalchemy import make_url
from sqlalchemy.orm import Session

import config
from memory.accounts.accounts import create_user
from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.storage.database import make_engine
from memory.writing.remember import remember_many
from tasks.runtime import build
from webapp.cli.wiring import migrate

ROOT = Path(__file__).parents[2]
ROWS = 600
SECRET = "only-for-tests-" + "0123456789abcdef" * 2


@pytest.fixture
def environment(home, database_url):
    """The settings of an installation with a database of its own: the worker would embed what other tests left."""
    name = "commonplace_kill_test"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
    url = make_url(database_url).set(database=name).render_as_string(hide_password=False)
    yield {"COMMONPLACE_HOME": str(home), "DATABASE_URL": url, "COMMONPLACE_SECRET_KEY": SECRET}
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def book(environment):
    """Several hundred rows that wait, in that database."""
    runtime = build(config.load(environment))
    migrate(runtime)
    engine = make_engine(runtime.databases.owner, pool_size=1)
    with Session(engine) as session, session.begin():
        user = create_user(session, "ada@example.org", "correct horse battery", soft_cap=10_000, now=utc_now())
        ada = Book(runtime, user)
    engine.dispose()
    drafts = [Draft(f"Memory {n}: " + "the gardens by the river bloom in spring " * 3) for n in range(ROWS)]
    with ada.session() as session:
        remember_many(session, ada.user_id, "default", drafts, keys=runtime.keys, now=utc_now(), actor="t")
    yield ada
    runtime.close()


@pytest.fixture
def start_worker(environment):
    """Start a real worker on that database; each is killed at the end at the latest."""
    started = []

    def start():
        worker = subprocess.Popen(
            [sys.executable, "-m", "webapp.cli", "worker"],
            cwd=ROOT,
            env={**os.environ, **environment},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(worker)
        return worker

    yield start
    for worker in started:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.mark.slow
def test_a_killed_worker_loses_no_row(book, start_worker):
    ready = "SELECT count(*) FROM embeddings WHERE state = 'ready'"
    worker = start_worker()
    wait_for(lambda: book.one(ready) > 0, 120)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    assert 0 < book.one(ready) < ROWS
    start_worker()
    wait_for(lambda: book.one("SELECT count(*) FROM memories WHERE needs_embedding") == 0, 120)
    assert book.one("SELECT count(*) FROM embeddings WHERE state = 'ready' AND error IS NULL") == ROWS
