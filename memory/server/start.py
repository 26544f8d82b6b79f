"""Starting the server of a folder by the library's commands, in any folder, and saying in a line why it does not."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import psutil

from memory.server.folder import HALF_MADE, VERSION_FILE, move_up, remove_half_made, remove_left, told_in_a_line
from memory.server.library import (
    POSTGRES_BIN_PATH,
    PostgresServer,
    PostmasterInfo,
    ensure_prefix_permissions,
    find_suitable_socket_dir,
)
from memory.server.log import last_words, size
from memory.server.processes import end_postmaster, is_postgres, pid_in

PID_FILE = "postmaster.pid"
# How long one try to start a server may take.
STARTING_SECONDS = 10.0


class RecoveringError(RuntimeError):
    """The server runs, and is not ready yet."""


class AnyFolderServer(PostgresServer):
    """The library's own, except that it starts in any folder, and says in a line why it does not.

    The library takes a folder with a space in its name for two, and logs all that the server has ever logged.
    """

    def ensure_pgdata_inited(self) -> None:
        """Fill the folder unless it holds a database.

        That takes seconds, and the library believes a folder with a version in it to be whole. What is made in a folder
        of its own is moved up with the version last: where all is killed meanwhile, the next start begins anew.
        """
        whole = self.pgdata
        # The library has noted it as made, which it is at the end alone.
        self._instances.pop(whole, None)
        if not (whole / VERSION_FILE).exists():
            # The server of a folder that was deleted may still run, and would take the new one's files for its own.
            for process in psutil.process_iter():
                if is_postgres(process.pid):
                    end_postmaster(process, whole)
            remove_half_made(whole)
            self.pgdata = Path(tempfile.mkdtemp(prefix=HALF_MADE, dir=whole))
            try:
                with told_in_a_line():
                    super().ensure_pgdata_inited()
                move_up(self.pgdata, whole)
            finally:
                self.pgdata = whole
            # As `initdb` leaves it, and the server wants it.
            whole.chmod(0o700)
        remove_left(whole)
        super().ensure_pgdata_inited()

    def ensure_postgres_running(self) -> None:
        """Start the server unless it runs.

        Raises `RecoveringError` where it is not ready soon, `RuntimeError` where it ends, and `AssertionError` where
        one runs that is ending.
        """
        found = postmaster_info(self.pgdata)
        if found is None or not found.is_running():
            begins = size(self.log)
            try:
                complaint = start(self)
            except subprocess.TimeoutExpired:
                if is_postgres(pid_in(self.pgdata / PID_FILE)):
                    # It may even have become ready at this moment.
                    raise RecoveringError from None
                raise
            found = postmaster_info(self.pgdata)
            if complaint or found is None:
                raise RuntimeError(last_words(self.log, begins) or complaint or "it does not say why")
        if is_starting(self.pgdata):
            raise RecoveringError
        assert found.is_running()
        assert found.status == "ready"
        self._postmaster_info = found
        self._instances[self.pgdata] = self


def start(server: PostgresServer) -> str:
    """Start a server by its own command, and return what that complains of first, where it fails, and is known to.

    Its status may be lost, and read as success. Raises `subprocess.TimeoutExpired`; the server may go on starting then.
    """
    sockets = _socket_folder(server)
    if server.system_user is not None and sockets != server.pgdata:
        # It was made by root, and is used by the account of the server.
        ensure_prefix_permissions(sockets)
        shutil.chown(sockets, server.system_user)
    # The command puts what it is told into a line of the shell, the folder and the log between quotes that a name may
    # end: these are named from within the folder, and the folder in full once more, as the server shows it.
    folder, place = shlex.quote(str(server.pgdata)), shlex.quote(str(sockets))
    options = ["-D", ".", "-w", "-o", f'-D {folder} -h "" -k {place}', "-l", server.log.name, "start"]
    # Not into pipes, which the server would keep open.
    with tempfile.TemporaryFile() as said:
        status = subprocess.run(  # noqa: S603 - the library's own command
            [str(POSTGRES_BIN_PATH / "pg_ctl"), *options],
            cwd=server.pgdata,
            user=server.system_user,
            stdout=subprocess.DEVNULL,
            stderr=said,
            timeout=STARTING_SECONDS,
            check=False,
        ).returncode
        said.seek(0)
        first = said.readline().decode(errors="replace").strip()
    return (first or f"pg_ctl ended with {status}") if status else ""


def _socket_folder(server: PostgresServer) -> Path:
    """Return where the socket of a server goes: into its own folder, unless that has a name which a socket's cannot."""
    if "," not in str(server.pgdata):
        return find_suitable_socket_dir(server.pgdata, server.runtime_path)
    # Both sides read a comma as the end of a name.
    place: Path = server.runtime_path / hashlib.sha256(str(server.pgdata).encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    return place


def is_starting(folder: Path) -> bool:
    """Tell whether the server of a folder is on its way."""
    found = postmaster_info(folder)
    return found is not None and found.status == "starting" and is_postgres(found.pid)


def postmaster_info(folder: Path) -> PostmasterInfo | None:
    """Return what a folder's pid file says of its server; None where it is gone, or half of it is written."""
    try:
        return PostmasterInfo.read_from_pgdata(folder)
    except (AssertionError, ValueError, OSError):
        return None
