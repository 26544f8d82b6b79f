"""What a backup holds, refuses and leaves behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
from secrets_of_tests import SECRET

from memory.errors import BackupError
from memory.keys import Keys
from memory.server.embedded import EmbeddedServer, server_account
from memory.storage.database import from_owner_url
from webapp.cli.backup import backup

pytestmark = pytest.mark.slow

OURS = {"DATABASE_URL", "REDIS_URL", "COMMONPLACE_SECRET_KEY", "COMMONPLACE_SECRET_KEY_FILE"}
FORGETTING = "What is forgotten from now on stays in it: delete it once that must be gone everywhere."


def environment_of(home, **more):
    return {
        **{key: value for key, value in os.environ.items() if key not in OURS},
        "COMMONPLACE_HOME": str(home),
        **more,
    }


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """A server with a row in it, and what else a data folder may hold."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-backed-"))
    home.chmod(0o711)
    for name in ("models/proof.npy", "evals/run.json", "evals/mlflow.db", "peers/mem0/python", "notes.txt"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("kept")
    (home / "secret.key").write_text(SECRET)
    (home / "secret.key").chmod(0o600)
    running = EmbeddedServer(home)
    with psycopg.connect(running.url) as connection:
        connection.execute("CREATE TABLE notes AS SELECT repeat('dragon ', 100) AS text FROM generate_series(1, 100)")
    yield running
    running.release()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def home(server) -> Path:
    return server.folder.parent


@pytest.fixture
def place(own_home) -> Path:
    """A folder for backups."""
    return own_home


@pytest.fixture
def back_up(command_line, home):
    def run(*arguments, at=home, **more):
        done = command_line(["backup", *map(str, arguments)], environment_of(at, **more))
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    return run


@contextmanager
def backing_up(home, folder):
    """Back up in a process that may be told to end."""
    command = [sys.executable, "-m", "webapp.cli", "backup", str(folder)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment_of(home), **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def names(folder):
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


def rows_of(home):
    running = EmbeddedServer(home)
    try:
        with psycopg.connect(running.url) as connection:
            return connection.execute("SELECT count(*), min(text) FROM notes").fetchone()
    finally:
        running.release()


def test_a_backup_is_a_data_folder_without_what_belongs_to_the_running_one(back_up, home, place):
    whole = place / "whole"
    status, out, err = back_up(whole)
    assert (status, err) == (0, [])
    assert out[0].startswith(f"Wrote {whole}: ")
    assert out[1:] == ["Left out what no server needs: notes.txt, peers.", FORGETTING]
    assert os.listdir(place) == ["whole"]
    assert {*os.listdir(whole)} == {"evals", "models", "postgres", "secret.key"}
    assert os.listdir(whole / "evals") == ["run.json"]
    assert (whole / "secret.key").read_bytes() == (home / "secret.key").read_bytes()
    database = whole / "postgres"
    of_the_running = {".handle_pids.json", ".s.PGSQL.5432", ".s.PGSQL.5432.lock", "log", "postmaster.pid"}
    assert of_the_running <= {*os.listdir(home / "postgres")}
    assert of_the_running & {*os.listdir(database)} == set()
    assert {stat.S_IMODE(each.stat().st_mode) for each in (whole, database, database / "base")} == {0o700}
    assert {stat.S_IMODE(each.stat().st_mode) for each in (whole / "secret.key", database / "PG_VERSION")} == {0o600}
    assert {each.stat().st_uid for each in database.rglob("*")} == {server_account()}


def test_a_backup_is_checked_later_and_what_it_has_lost_is_told(back_up, place):
    whole = place / "whole"
    back_up(whole)
    as_written = [f"{whole} is as it was written: every file of its database was read."]
    assert back_up(whole, "--check") == (0, as_written, [])
    control = whole / "postgres" / "global" / "pg_control"
    content = control.read_bytes()
    control.write_bytes(content[:-1] + b"x")
    lost = f'Error: {whole}/postgres is not as it was written: checksum mismatch for file "global/pg_control"'
    assert back_up(whole, "--check") == (1, [], [lost])
    control.unlink()
    lost = f'Error: {whole}/postgres is not as it was written: "global/pg_control" is present in the manifest but not '
    assert back_up(whole, "--check")[2][0].startswith(lost)
    (whole / "postgres" / "backup_label").unlink()
    used = f"Error: a server was started on {whole}/postgres: it is a data folder now, and no backup"
    assert back_up(whole, "--check") == (1, [], [used])
    (none,) = back_up(place, "--check")[2]
    assert none.startswith(f"Error: {place}/postgres has no list of its files that can be read")


def test_a_backup_of_what_does_not_run_is_made_of_it_and_it_does_not_run_after(back_up, place):
    back_up(place / "first")
    status, out, err = back_up(place / "second", at=place / "first")
    assert (status, out[-1], err) == (0, FORGETTING, [])
    assert not (place / "first" / "postgres" / "postmaster.pid").exists()
    assert rows_of(place / "second") == (100, "dragon " * 100)


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("{place}", "{place} is there already: name a folder that is not"),
        ("/", "/ is there already"),
        ("{home}/backup", "{home}/backup is within the data folder, with which it would be lost: name one elsewhere"),
        ("{home}", "{home} is within the data folder, with which it would be lost: name one elsewhere"),
        ("{place}/no/whole", "there is no folder {place}/no: make it first, or mount its disk"),
        (f"{{place}}/{'long' * 63}", f"cannot write {{place}}/{'long' * 63}: File name too long"),
        # What the kernel shows there is on no disk.
        ("/proc/sys/whole", "/proc/sys has room for 0 MB, and this takes about "),
    ],
)
def test_a_folder_that_cannot_become_a_backup_is_refused_in_one_line(back_up, home, place, folder, said):
    status, out, (line,) = back_up(folder.format(home=home, place=place))
    assert (status, out) == (1, [])
    assert line.startswith("Error: " + said.format(home=home, place=place))
    assert names(place) == []
    assert not (home / "backup").exists()


def test_a_server_that_has_no_room_to_write_ahead_is_left_alone(home, place, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    for each in OURS:
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setattr("webapp.cli.backup.WRITTEN_AHEAD", 2**63)
    with pytest.raises(BackupError, match=f"^{home / 'postgres'} has room for "):
        backup.callback(place / "whole", None, None, False)
    assert names(place) == []


def test_where_there_is_no_database_none_is_made(back_up, place):
    (place / "empty").mkdir()
    status, out, (line,) = back_up(place / "whole", at=place / "empty")
    assert (status, out) == (1, [])
    assert line.startswith(f"Error: there is no database in {place}/empty yet")
    assert not (place / "empty" / "postgres").exists()


def test_of_a_database_of_its_own_it_says_what_copies_that(back_up, home, place):
    status, out, (line,) = back_up(place / "whole", DATABASE_URL="postgresql://ada:hush@localhost/notes")
    assert (status, out, names(place)) == (1, [], [])
    assert '`pg_dump -Fc "$DATABASE_URL" > FILE`' in line
    assert line.endswith(f"Keep the secret key beside it, which is {home}/secret.key")
    assert "hush" not in line


@pytest.mark.parametrize("arguments", [[], ["one", "--into", "."], ["one", "--keep", "3"], ["--keep", "3"]])
def test_it_wants_to_be_told_one_place(back_up, arguments):
    status, _, err = back_up(*arguments)
    assert (status, err[-1][:33]) == (2, "Error: name either a FOLDER or, w")


@pytest.mark.parametrize("arguments", [["--check"], ["one", "--into", ".", "--check"]])
def test_one_folder_is_checked(back_up, arguments):
    status, _, err = back_up(*arguments)
    assert (status, err[-1]) == (2, "Error: name the FOLDER to --check, and nothing else")


def test_a_database_that_has_lost_a_page_is_told_and_not_copied(back_up, home, place, server):
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        (path,) = connection.execute("SELECT pg_relation_filepath('notes')").fetchone()
    with (server.folder / path).open("r+b") as file:
        file.seek(4000)
        lost = file.read(4)
        file.seek(4000)
        file.write(b"lost")
    try:
        status, out, (line,) = back_up(place / "whole")
    finally:
        with (server.folder / path).open("r+b") as file:
            file.seek(4000)
            file.write(lost)
    assert (status, out, names(place)) == (1, [], [])
    assert line.startswith(f"Error: the database is damaged, as by a failing disk: ./{path} is not what was written.")


def test_a_killed_backup_leaves_nothing_that_looks_whole_and_the_next_one_clears_it_away(back_up, home, place):
    whole, partial = place / "whole", place / "whole.partial"
    for reached in ("postgres/PG_VERSION", "postgres/backup_manifest"):
        with backing_up(home, whole) as process:
            wait_for((partial / reached).exists)
            process.send_signal(signal.SIGSTOP)
            begun = psutil.Process(process.pid).children()
            for each in begun:
                each.suspend()
            process.kill()
            process.wait()
        assert os.listdir(place) == ["whole.partial"]
        # What it had started goes on for a moment, and must not write into the next one.
        assert is_held(partial / "lock") or reached != "postgres/PG_VERSION"
        for each in begun:
            each.resume()
        wait_for(lambda: not is_held(partial / "lock"))
    status, out, err = back_up(whole)
    assert (status, out[0], err) == (0, f"Removed what was left in {partial}: what wrote it was killed.", [])
    assert os.listdir(place) == ["whole"]
    assert back_up(whole, "--check")[0] == 0


def is_held(lock):
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_backup_that_is_told_to_end_leaves_nothing(home, place):
    with backing_up(home, place / "whole") as process:
        wait_for((place / "whole.partial" / "postgres" / "PG_VERSION").exists)
        # Of a large database it would go on for long.
        for each in psutil.Process(process.pid).children():
            each.suspend()
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert names(place) == []


def test_two_backups_do_not_write_the_same_folder(back_up, place):
    partial = place / "whole.partial"
    partial.mkdir()
    (partial / "mine").write_text("")
    with (partial / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        status, out, (line,) = back_up(place / "whole")
    assert (status, out) == (1, [])
    assert line.startswith(f"Error: another backup writes {partial}")
    assert names(partial) == ["lock", "mine"]


def test_of_backups_that_are_named_by_the_time_the_newest_are_kept(back_up, place):
    whole = {name: place / f"commonplace-{name}T000000Z" for name in ("20240102", "20240103", "20240104", "29990101")}
    for each in whole.values():
        (each / "postgres").mkdir(parents=True)
        (each / "postgres" / "backup_label").touch()
    # A server was started on it.
    (whole["20240103"] / "postgres" / "backup_label").unlink()
    (place / "notes").mkdir()
    left = place / "commonplace-20240101T000000Z.partial"
    left.mkdir()
    status, out, err = back_up("--into", place, "--keep", "2")
    assert (status, err) == (0, [])
    assert out[0] == f"Removed what was left in {left}: what wrote it was killed."
    assert out[-2:] == [f"Removed {whole[name]}, as --keep is 2." for name in ("20240102", "20240104")]
    # The clock was ahead once: what was made last is never taken for the oldest.
    started, newest, ahead, other = sorted(os.listdir(place))
    assert (started, ahead, other) == (whole["20240103"].name, whole["29990101"].name, "notes")
    assert back_up(place / newest, "--check")[0] == 0


def test_a_secret_key_that_the_server_does_not_have_is_not_in_the_backup(back_up, home, place, server):
    role = from_owner_url(server.url, Keys(b"")).app_role
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} PASSWORD '{Keys(b'of another time').password(role)}'")
        status, out, err = back_up(place / "whole")
        connection.execute(f"DROP ROLE {role}")
    assert (status, err) == (0, [])
    kept = f"The secret key is not in it: keep the one that the server is given, which is not {home}/secret.key."
    assert kept in out
    assert "secret.key" not in os.listdir(place / "whole")
