"""What a command and `doctor` say of a data folder that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from secrets_of_tests import SECRET

from memory.server.embedded import server_account
from webapp.cli.doctor import examine


@pytest.fixture
def run(command_line):
    """Run a command on a data folder with the embedded database."""
    ours = {"DATABASE_URL", "REDIS_URL", "COMMONPLACE_SECRET_KEY", "COMMONPLACE_SECRET_KEY_FILE"}
    environment = {key: value for key, value in os.environ.items() if key not in ours}

    def _run(command, home, **more):
        done = command_line([command], {**environment, "COMMONPLACE_HOME": str(home), **more})
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    return _run


@pytest.fixture
def unwritable(tmp_path):
    # Not even root may make a file there.
    return Path("/proc/sys"), "/proc/sys cannot be written to"


@pytest.fixture
def folder_for_key(tmp_path):
    path = tmp_path / "secret.key"
    path.mkdir()
    return tmp_path, f"the secret key {path} cannot be read"


@pytest.fixture
def short_key(tmp_path):
    path = tmp_path / "secret.key"
    path.write_text("short")
    return tmp_path, f"the secret key {path} has fewer than 32 characters"


@pytest.fixture
def file_for_database(tmp_path):
    path = tmp_path / "postgres"
    path.write_text("")
    return tmp_path, f"{path} must be the folder of the database and is a file"


@pytest.fixture
def junk_for_database(tmp_path):
    path = tmp_path / "postgres"
    path.mkdir()
    (path / "junk").write_text("")
    return tmp_path, f"{path} has files in it and no database"


@pytest.fixture
def database_of_another(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("nobody else can make the file of another")
    path = tmp_path / "postgres"
    path.mkdir()
    (path / "PG_VERSION").write_text("18\n")
    yield tmp_path, f"{path} belongs to root, and its server would run as embedded_postgres: run this as its owner, or"
    assert path.stat().st_uid == 0


SPOILED = (
    "unwritable",
    "folder_for_key",
    "short_key",
    "file_for_database",
    "junk_for_database",
    "database_of_another",
)


@pytest.fixture(params=SPOILED)
def spoiled(request):
    return request.getfixturevalue(request.param)


def test_a_command_says_in_one_line_what_is_wrong_with_the_data_folder(run, spoiled):
    home, said = spoiled
    status, out, (line,) = run("migrate", home)
    assert (status, out) == (1, [])
    assert line.startswith(f"Error: {said}")


def test_doctor_says_what_is_wrong_with_the_data_folder(run, spoiled):
    home, said = spoiled
    status, out, err = run("doctor", home)
    assert (status, err) == (1, [])
    # What to do is in the line itself.
    assert out[-1].startswith("BAD  ")
    assert said in out[-1]
    assert [line for line in out if line.startswith("BAD")] == out[-1:]


def test_a_database_that_cannot_be_made_is_told_in_one_line(run):
    status, out, (line,) = run("migrate", "/proc/sys", COMMONPLACE_SECRET_KEY=SECRET)
    assert (status, out) == (1, [])
    assert line.startswith("Error: /proc/sys/postgres cannot be made (")
    _, out, _ = run("doctor", "/proc/sys", COMMONPLACE_SECRET_KEY=SECRET)
    assert any(line.startswith("     -> It cannot be written to: ") for line in out)
    assert out[-1].startswith("BAD  database: /proc/sys/postgres cannot be made (")


@pytest.fixture
def read_only(own_home):
    """Run `doctor` where the data folder's file system is mounted read-only, as it is with a disk that fails."""
    (own_home / "postgres").mkdir(mode=0o700)
    version = own_home / "postgres" / "PG_VERSION"
    version.write_text("18\n")
    for path in (version, version.parent):
        os.chown(path, server_account(), -1)
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"'
    if subprocess.run(["unshare", "-m", "sh", "-c", mount, own_home], capture_output=True, check=False).returncode:
        pytest.skip("nobody may mount anything here")
    doctor = f'{mount} && exec "$1" -m webapp.cli doctor'
    environment = {key: value for key, value in os.environ.items() if key != "DATABASE_URL"}
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", doctor, own_home, sys.executable],
        env={**environment, "COMMONPLACE_HOME": str(own_home), "COMMONPLACE_SECRET_KEY": SECRET},
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()


def test_doctor_tells_a_read_only_file_system_from_a_folder_of_another_owner(read_only, own_home):
    bad = [position for position, line in enumerate(read_only) if line.startswith("BAD ")]
    folder, database = (read_only[position : position + 2] for position in bad)
    assert folder[1].startswith("     -> It cannot be written to: its file system is mounted read-only")
    said = (
        f"PostgreSQL did not start in {own_home}/postgres: {own_home}/postgres/.handle_pids.json: Read-only file system"
    )
    assert database == [f"BAD  database: {said}", folder[1]]


@pytest.mark.parametrize(("least", "advice"), [(2**63, "Make room on the disk"), (0, "Read the log that is named.")])
def test_doctor_advises_to_make_room_where_a_database_does_not_start_on_a_full_disk(
    own_home, monkeypatch, least, advice
):
    (own_home / "postgres").mkdir(mode=0o700)
    version = own_home / "postgres" / "PG_VERSION"
    version.write_text("9\n")
    os.chown(version, server_account(), -1)
    monkeypatch.setenv("COMMONPLACE_HOME", str(own_home))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr("webapp.cli.doctor.LEAST_FREE", least)
    *_, database = examine()
    assert (database.name, database.well) == ("database", False)
    assert database.advice.startswith(advice)
