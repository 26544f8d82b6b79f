"""The embedded PostgreSQL of a data folder that is deleted under it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

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


# Another account may own the process.
DENIED = """
import psutil
def refuse(process, number):
    raise psutil.AccessDenied(process.pid)
psutil.Process.send_signal = refuse
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


def use(home: Path, *, first: str = "") -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", first + USER, home], **pipes)


def postmaster_of(user: subprocess.Popen[bytes]) -> int:
    assert user.stdout is not None
    return int(user.stdout.readline())


def runs(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_whoever_leaves_a_deleted_folder_ends_its_server(home):
    with use(home) as user:
        postmaster = postmaster_of(user)
        ran = runs(postmaster)
        shutil.rmtree(home)
        said, _ = user.communicate(b"\n")
    left = runs(postmaster)
    if left:
        os.kill(postmaster, signal.SIGKILL)
    assert (user.returncode, said, ran, left) == (0, b"True\n", True, False)


def test_a_server_of_another_folder_is_left_alone_though_a_stale_file_names_it(home, other_home):
    with use(other_home) as other:
        foreign = postmaster_of(other)
        folder = home / "postgres"
        folder.mkdir()
        # What is left of a server whose number the other has been given.
        for name in ("PG_VERSION", "postmaster.pid"):
            shutil.copy(other_home / "postgres" / name, folder / name)
        with use(home) as user:
            named = postmaster_of(user)
            shutil.rmtree(home)
            said, complaint = user.communicate(b"\n")
        left = runs(foreign)
        other.communicate(b"\n")
    assert (named, said, complaint, left) == (foreign, b"True\n", b"", True)


def test_whoever_may_not_end_the_server_leaves_without_a_word(home):
    with use(home, first=DENIED) as user:
        postmaster = postmaster_of(user)
        shutil.rmtree(home)
        said, complaint = user.communicate(b"\n")
    left = runs(postmaster)
    os.kill(postmaster, signal.SIGKILL)
    assert (said, complaint, left) == (b"True\n", b"", True)
