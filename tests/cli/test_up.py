"""What `up` starts before it knows whether it may."""

from __future__ import annotations

import gc
import importlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import psutil
import pytest
from secrets_of_tests import SECRET

from memory.server.embedded import LARGEST_LOG
from webapp.cli import children
from webapp.cli.lazy import uncollected

pytestmark = pytest.mark.slow


@pytest.fixture
def port():
    """A port that nobody has, not even the tests of another checkout."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


@pytest.fixture
def environment(own_home):
    kept = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
    return {**kept, "COMMONPLACE_HOME": str(own_home), "COMMONPLACE_SECRET_KEY": SECRET}


@pytest.fixture
def begun(environment, begun_home):
    """What starts quickly: there is a database already, no model to load, and one process that serves."""
    return {**environment, "COMMONPLACE_EMBEDDING_MODEL": "none", "COMMONPLACE_WEB_WORKERS": "1"}


@contextmanager
def started(environment, *arguments, stdout=subprocess.PIPE):
    command = [sys.executable, "-m", "webapp.cli", *arguments]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            yield process
        finally:
            process.terminate()


def held(environment):
    """Return the processes that are held with this data folder."""
    found, home = [], environment["COMMONPLACE_HOME"]
    for process in psutil.process_iter():
        try:
            if "--held" in process.cmdline() and process.environ()["COMMONPLACE_HOME"] == home:
                found.append(process)
        except (psutil.Error, KeyError):
            continue
    return found


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def test_who_is_held_does_nothing_and_ends_in_silence_with_who_holds_it(environment, own_home, port):
    before = sorted(own_home.rglob("*"))
    with started(environment, "web", "--port", port, "--held") as process:
        assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 0
    assert sorted(own_home.rglob("*")) == before


@pytest.mark.parametrize("name", ["up", "worker"])
def test_who_runs_keeps_the_log_of_the_database_small(begun, own_home, port, name):
    log = own_home / "postgres" / "log"
    arguments = ["up", "--no-demo", "--port", port] if name == "up" else ["worker"]
    with started(begun, *arguments):
        wait_until(lambda: log.exists() and "ready to accept" in log.read_text())
        with log.open("a") as file:
            # In one piece, before anybody looks.
            file.write(" " * LARGEST_LOG + "what it said last\n")
        wait_until(lambda: log.stat().st_size < LARGEST_LOG)
    assert "what it said last" in log.with_suffix(".before").read_text()


def test_who_is_held_goes_on_when_let_go(environment, monkeypatch, port):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # It goes on to where it refuses.
    child = children.start(["web", "--host", "nohost.invalid", "--port", port])
    children.let_go(child)
    assert child.wait(60) == 1


def test_who_was_held_and_has_ended_can_be_let_go(environment, monkeypatch, port):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    child = children.start(["web", "--port", port])
    child.kill()
    child.wait(60)
    children.let_go(child)
    children.stop({"web": child})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_start_that_was_interrupted(environment, port, number):
    with started(environment, "up", "--port", port) as process:
        wait_until(lambda: held(environment))
        process.send_signal(number)
        process.communicate(timeout=60)
    wait_until(lambda: not held(environment))


def test_without_a_demo_it_says_how_an_account_is_made_until_there_is_one(environment, command_line, port):
    quick = {**environment, "COMMONPLACE_EMBEDDING_MODEL": "none", "COMMONPLACE_WEB_WORKERS": "1"}

    def said():
        with started(quick, "up", "--no-demo", "--port", port) as process:
            lines = [process.stdout.readline().decode().strip()]
            assert answers(port)
            lines += iter(lambda: process.stdout.readline().decode().strip(), "Ctrl-C stops it.")
            process.terminate()
            process.communicate(timeout=60)
        return lines

    address, first = said()
    assert address == f"Commonplace is at http://127.0.0.1:{port}/"
    (command,) = re.findall("`commonplace (.+?)`", first)
    made = command_line([*shlex.split(command), "--password", "a long password"], environment)
    assert made.stdout == "Created you@example.com.\n"
    assert said() == [address]


@pytest.mark.parametrize(("ignored", "ends"), [(False, True), (True, False)], ids=["closed", "nohup"])
def test_a_terminal_that_is_closed_ends_it_all_unless_it_shall_go_on(begun, own_home, port, ignored, ends):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        with started(begun, "up", "--no-demo", "--port", port) as process:
            wait_until(lambda: len(children_of(process)) == len(("web", "worker")))
            running = children_of(process)
            process.send_signal(signal.SIGHUP)
            if not ends:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(1)
                process.terminate()
            process.wait(60)
            left = psutil.wait_procs(running, timeout=60)[1]
            for each in left:
                each.kill()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (process.returncode, left) == (0, [])
    assert not (own_home / "postgres" / "postmaster.pid").exists()


def test_what_serves_ends_with_an_up_that_is_killed(begun, port):
    with started(begun, "up", "--no-demo", "--port", port) as process:
        wait_until(lambda: len(children_of(process)) == len(("web", "worker")))
        wait_until(lambda: answers(port))
        running = psutil.Process(process.pid).children(recursive=True)
        serving = [each for each in running if "webapp.cli" in each.cmdline()]
        process.kill()
        process.wait(60)
        left = psutil.wait_procs(serving, timeout=60)[1]
        for each in left:
            each.kill()
    assert left == []


def answers(port):
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def children_of(process):
    found = []
    for each in psutil.Process(process.pid).children():
        with suppress(psutil.Error):
            found += [each] if {"web", "worker"} & set(each.cmdline()) else []
    return found


def test_a_terminal_is_told_first_of_all_that_it_starts(environment, port):
    terminal, inside = os.openpty()
    with started(environment, "up", "--port", port, stdout=inside):
        os.close(inside)
        assert os.read(terminal, 100) == b"Commonplace is starting.\r\n"
    os.close(terminal)


def test_nothing_is_left_of_a_start_that_was_refused(environment, port):
    wrong = {**environment, "COMMONPLACE_SOFT_CAP": "none"}
    with started(wrong, "up", "--port", port) as process:
        told, said = process.communicate(timeout=60)
    assert (process.returncode, told) == (1, b"")
    assert said.startswith(b"Error: COMMONPLACE_SOFT_CAP")
    assert said.count(b"\n") == 1
    assert not held(environment)


def test_what_is_made_to_stay_is_not_looked_through():
    before = gc.get_freeze_count()
    with uncollected():
        assert not gc.isenabled()
        made = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(made)


def test_what_could_not_be_made_ends_it_too():
    with pytest.raises(ModuleNotFoundError), uncollected():
        importlib.import_module("webapp.no_such_module")
    assert gc.isenabled()
