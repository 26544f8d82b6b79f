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


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="commonplace-gone-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def runs(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_whoever_leaves_a_deleted_folder_ends_its_server(home):
    with subprocess.Popen([sys.executable, "-c", USER, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        assert user.stdin is not None
        assert user.stdout is not None
        postmaster = int(user.stdout.readline())
        ran = runs(postmaster)
        shutil.rmtree(home)
        said, _ = user.communicate(b"\n")
    left = runs(postmaster)
    if left:
        os.kill(postmaster, signal.SIGKILL)
    assert (user.returncode, said, ran, left) == (0, b"True\n", True, False)
