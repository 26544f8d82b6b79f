"""A copy of the database that is taken while it is written to, by the server's own programs, and checked."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import psutil

from memory.errors import BackupError
from memory.server.embedded import SOCKET_LOCKS, EmbeddedServer, server_account
from memory.server.folder import HALF_MADE
from memory.server.library import POSTGRES_BIN_PATH
from memory.server.processes import ENDING_SECONDS

# What stands beside the database in its folder and belongs to the server that runs there: who uses it, and its logs.
OF_THE_RUNNING = (".handle_pids.json", SOCKET_LOCKS, "log", "log.before", f"{HALF_MADE}*")
_COMPLAINT = re.compile(r"(?:error|FATAL|ERROR): +(.+)")
_SPOILED = re.compile(r'checksum verification failed in file "(.+?)"')


def take(server: EmbeddedServer, folder: Path, held: int) -> None:
    """Write the database of a server to a folder that is not there yet, as it is at the end of this, and check it.

    Of the server's own pages each is checked against its checksum as it is read. The open file `held` stays open in
    the programs that are started: they may outlive this process where that is killed. Nothing is synced.

    Raises `BackupError` where it cannot be done.
    """
    # Spread over minutes, as the server would have it, its checkpoint would be what takes longest.
    options = ["--checkpoint=fast", "--wal-method=stream", "--no-sync", "--no-clean", "-d", server.url]
    said = _run("pg_basebackup", [*options, "-D", str(folder)], held)
    if said is not None:
        raise BackupError(_reason(said))
    for pattern in OF_THE_RUNNING:
        for each in folder.glob(pattern):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    check(folder, held)
    _give_over(folder)


def check(folder: Path, *held: int) -> None:
    """Raise `BackupError` unless each file of a copy is as the server has sent it. For `held` see `take`."""
    try:
        sent = json.loads((folder / "backup_manifest").read_text(encoding="utf-8"))["Files"]
    except (OSError, ValueError) as error:
        raise BackupError(
            f"{folder} has no list of its files that can be read: it is no backup, or a damaged one"
        ) from error
    if not is_untouched(folder):
        raise BackupError(f"a server was started on {folder}: it is a data folder now, and no backup")
    paths = [str(each.get("Path", "")) for each in sent]
    ignored = [f"--ignore={path}" for path in paths if any(fnmatch(path, pattern) for pattern in OF_THE_RUNNING)]
    said = _run("pg_verifybackup", ["--quiet", "--exit-on-error", *ignored, str(folder)], *held)
    if said is not None:
        raise BackupError(f"{folder} is not as it was written: {_first_complaint(said)}")


def is_untouched(folder: Path) -> bool:
    """Tell whether no server has run on a copy yet: what is written then is in no other."""
    return (folder / "backup_label").exists()


def size(server: EmbeddedServer) -> int:
    """Return about how many bytes the copy of a server's database takes."""
    total = 0
    for place, _folders, files in os.walk(server.folder):
        for name in files:
            # Files come and go all the time.
            with contextlib.suppress(FileNotFoundError):
                total += (Path(place) / name).lstat().st_size
    return total


def _give_over(folder: Path) -> None:
    """Let the copy be its server's, which runs as another account where this is root's process."""
    if (account := server_account()) != os.geteuid():
        for place, _folders, files in os.walk(folder):
            for path in (Path(place), *(Path(place) / name for name in files)):
                os.chown(path, account, -1)


def _run(program: str, options: list[str], *held: int) -> str | None:
    """Run a program of the server; return what it says where it fails, else None."""
    command = [str(POSTGRES_BIN_PATH / program), *options]
    with subprocess.Popen(  # noqa: S603 - the library's own program
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=held
    ) as process:
        try:
            said = _heard(process).decode(errors="replace")
        except BaseException:
            _end(process.pid)
            raise
    return said or f"error: it ended with {process.returncode}" if process.returncode else None


def _heard(process: subprocess.Popen[bytes]) -> bytes:
    """Return what a program says until it ends."""
    while True:
        # A signal that comes just before a wait is heeded only after it: no wait may be as long as the copy.
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=1)[1]


def _end(pid: int) -> None:
    """End a program with the one that it has started, which goes on writing for a moment otherwise."""
    with contextlib.suppress(psutil.Error):
        program = psutil.Process(pid)
        ended = [program, *program.children(recursive=True)]
        for each in ended:
            with contextlib.suppress(psutil.Error):
                each.kill()
        psutil.wait_procs(ended, ENDING_SECONDS)


def _reason(said: str) -> str:
    if spoiled := sorted(set(_SPOILED.findall(said))):
        return (
            f"the database is damaged, as by a failing disk: {', '.join(spoiled)} is not what was written. Keep the "
            "backups that there are, and before anything else copy the data folder with the server stopped"
        )
    return f"the database was not copied: {_first_complaint(said)}"


def _first_complaint(said: str) -> str:
    # What else fails for that comes after it.
    found = _COMPLAINT.findall(said)
    return str(found[0] if found else said.strip().splitlines()[0])
