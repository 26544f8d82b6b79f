"""Servers in folders of their own, used by other processes, and what the tests do to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from memory.server.embedded import EmbeddedServer

# Says which process the server is, and ends as any command does once it is told to.
USER = """
import sys
from pathlib import Path
from memory.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
print(int((server.folder / "postmaster.pid").read_text().splitlines()[0]), flush=True)
sys.stdin.readline()
print(server.gone(), flush=True)
"""


# Ends with what it is told of a server that cannot be used, in place of a trace.
TOLD = """
import sys
from pathlib import Path
from memory.errors import ServerError
from memory.server.embedded import EmbeddedServer
try:
    EmbeddedServer(Path(sys.argv[1]))
except ServerError as error:
    print(error)
"""


TELL = [sys.executable, "-c", TOLD]


def complaint_of(home: Path) -> str:
    """Return what another process is told of a server that cannot be used."""
    return subprocess.run([*TELL, str(home)], capture_output=True, text=True, timeout=120, check=True).stdout


def new_home() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="commonplace-gone-"))
    folder.chmod(0o711)
    return folder


def use(home: Path, *, first: str = "", then: str = "") -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    before, line, after = USER.partition("sys.stdin.readline()")
    return subprocess.Popen([sys.executable, "-c", first + before + then + line + after, home], **pipes)


def postmaster_of(user: subprocess.Popen[bytes]) -> int:
    assert user.stdout is not None
    return int(user.stdout.readline())


def runs(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def kill_and_wait(server: EmbeddedServer) -> None:
    """Kill the server of this process."""
    pid = server._server.get_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while server.alive():
        assert time.monotonic() < deadline
        time.sleep(0.01)
