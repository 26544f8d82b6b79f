from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from evals.throwaway import throwaway
from memory.spaces.spaces import get_space
from memory.storage.database import user_session

pytestmark = pytest.mark.slow

NOW = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.usefixtures("bare_databases")
def test_a_throwaway_database_is_ready_for_use_and_gone_afterwards() -> None:
    at_sigterm = signal.getsignal(signal.SIGTERM)
    with throwaway(now=NOW) as (runtime, user_id):
        home = runtime.settings.home
        with user_session(runtime.sessions, user_id) as session:
            assert get_space(session, user_id, "default").documents == 0
    assert not home.exists()
    assert runtime.server is not None
    assert not runtime.server.alive()
    assert signal.getsignal(signal.SIGTERM) is at_sigterm


def test_the_real_database_is_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    with throwaway(now=NOW) as (runtime, _):
        assert runtime.settings.database_url is None


def test_a_failure_cleans_up_as_well() -> None:
    homes = []
    with pytest.raises(RuntimeError, match="measured too much"), throwaway(now=NOW) as (runtime, _):  # noqa: PT012
        homes.append(runtime.settings.home)
        raise RuntimeError("measured too much")
    assert not homes[0].exists()


# Waits for its end as a long measurement would, having said what must not outlive it.
MEASURE = """
import threading
from datetime import UTC, datetime
from evals.throwaway import throwaway
with throwaway(now=datetime.now(UTC)) as (runtime, _):
    print(runtime.settings.home, runtime.server._server.get_pid(), flush=True)
    threading.Event().wait(100)
"""


def test_a_measurement_that_is_told_to_end_takes_its_server_along() -> None:
    with subprocess.Popen([sys.executable, "-c", MEASURE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        home, number = process.stdout.readline().split()
        postmaster = psutil.Process(int(number))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert not Path(home).exists()
    # It has taken its files away before it is gone itself.
    assert psutil.wait_procs([postmaster], timeout=60)[1] == []


def test_a_measurement_that_is_killed_while_its_database_is_made_leaves_nothing(tmp_path: Path) -> None:
    (folder := tmp_path / "home" / "postgres").mkdir(parents=True)
    # As `initdb` writes it; no process of any machine has this number.
    (folder / "postmaster.pid").write_text(f"-{2**22 + 1}\n{folder}\n")
    command = [sys.executable, "-m", "evals.guard", str(folder.parent)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (ended.returncode, folder.parent.exists()) == (0, False), ended.stderr


# The same, with a web server that is asked something.
SERVE = """
import threading
from datetime import UTC, datetime
import psutil
from evals.local_server import serving
from evals.throwaway import throwaway
with throwaway(now=datetime.now(UTC)) as (runtime, _), serving(runtime):
    print(runtime.settings.home, *(each.pid for each in psutil.Process().children(recursive=True)), flush=True)
    threading.Event().wait(100)
"""


def test_what_a_measurement_has_started_ends_although_it_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        home, *numbers = process.stdout.readline().split()
        postmaster = (Path(home) / "postgres" / "postmaster.pid").read_text().split()[0]
        started = [psutil.Process(int(number)) for number in {*numbers, postmaster}]
        process.kill()
    assert psutil.wait_procs(started, timeout=60)[1] == []
    assert not Path(home).exists()
