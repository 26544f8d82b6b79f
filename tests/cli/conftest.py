"""The command line as a user would run it, each command in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from secrets_of_tests import SECRET

import config
from evals.throwaway import temporary_home
from tasks.store import open_store
from webapp.cli.wiring import migrate

CommandLine = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def own_home() -> Iterator[Path]:
    """Give a data folder that PostgreSQL, which may run as another user, can reach."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-own-"))
    home.chmod(0o711)
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def filled_folder() -> Iterator[Path]:
    """The data folder of a database that is migrated, and has nothing in it yet."""
    with temporary_home() as home:
        store = open_store(config.load({"COMMONPLACE_HOME": str(home), "COMMONPLACE_SECRET_KEY": SECRET}))
        migrate(store)
        store.close()
        assert store.server is not None
        store.server.release()
        for name in ("log", ".handle_pids.json"):
            (home / "postgres" / name).unlink()
        yield home / "postgres"


@pytest.fixture
def begun_home(own_home: Path, filled_folder: Path) -> Path:
    """Give such a data folder in which `commonplace` was started before."""
    subprocess.run(["cp", "-a", str(filled_folder), str(own_home)], check=True)
    return own_home


@pytest.fixture(scope="session")
def cli_parent() -> Iterator[subprocess.Popen[str]]:
    # Its text and not its path, so that it finds the modules of the folder that the tests run in, as `-m` would.
    command = [sys.executable, "-c", Path(__file__).with_name("cli_parent.py").read_text()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


@pytest.fixture
def command_line(cli_parent: subprocess.Popen[str], tmp_path: Path) -> CommandLine:
    """Run `commonplace` with arguments in an environment, and return how it ended and what it said."""
    outputs = [tmp_path / name for name in ("stdout", "stderr")]

    def run(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        assert cli_parent.stdin is not None
        assert cli_parent.stdout is not None
        for path in outputs:
            path.write_bytes(b"")
        job = {"arguments": arguments, "environment": environment}
        job |= {path.name: str(path) for path in outputs}
        print(json.dumps(job), file=cli_parent.stdin, flush=True)
        status = int(cli_parent.stdout.readline())
        return subprocess.CompletedProcess(arguments, status, *(path.read_text() for path in outputs))

    return run
