"""A worker that is killed in mid-batch loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from memory.drafts import Draft
from memory.embedding.backfill import utc_now
from memory.remember import remember_many

ROOT = Path(__file__).parents[2]
ROWS = 600
SECRET = "only-for-tests-" + "0123456789abcdef" * 2


@pytest.fixture
def start_worker(home, database_url):
    """Start a real worker on the test database; each is killed at the end at the latest."""
    environment = {**os.environ, "COMMONPLACE_HOME": str(home), "DATABASE_URL": database_url}
    environment |= {"COMMONPLACE_SECRET_KEY": SECRET}
    started = []

    def start():
        worker = subprocess.Popen(
            [sys.executable, "-m", "webapp.cli", "worker"],
            cwd=ROOT,
            env=environment,
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


@pytest.fixture
def waiting_rows(book, owner):
    with owner.begin() as connection:
        # What other tests left waiting is not the worker's business here.
        connection.execute(text("UPDATE embeddings SET due_at = 'infinity' WHERE state = 'pending'"))
        connection.execute(text("UPDATE memories SET needs_embedding = false WHERE user_id <> :u"), {"u": book.user_id})
        connection.execute(text("UPDATE spaces SET soft_cap = 100000 WHERE user_id = :u"), {"u": book.user_id})
    drafts = [Draft(f"Memory {n}: " + "the gardens by the river bloom in spring " * 3) for n in range(ROWS)]
    with book.session() as session:
        remember_many(session, book.user_id, "default", drafts, keys=book.runtime.keys, now=utc_now(), actor="t")


@pytest.mark.slow
def test_a_killed_worker_loses_no_row(book, start_worker, waiting_rows):
    ready = "SELECT count(*) FROM embeddings WHERE state = 'ready'"
    worker = start_worker()
    wait_for(lambda: book.one(ready) > 0, 120)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    assert 0 < book.one(ready) < ROWS
    start_worker()
    wait_for(lambda: book.one("SELECT count(*) FROM memories WHERE needs_embedding") == 0, 120)
    assert book.one("SELECT count(*) FROM embeddings WHERE state = 'ready' AND error IS NULL") == ROWS
