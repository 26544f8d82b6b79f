"""`commonplace preferences`, run as a user would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue

import pytest

from memory.clock import utc_now
from memory.preferences.preferences import current, save

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "webapp.cli", "preferences"]
DOCUMENT = '---\ndate_format: "YYYY-MM-DD"\ntheme: dark\n---\n\nI use the PARA method.\n'
BAD = "---\ndate_format: 5\n---\n"


@pytest.fixture
def environment(runtime, home, database_url) -> dict[str, str]:
    secret = runtime.settings.secret_key.decode()
    ours = {"COMMONPLACE_HOME": str(home), "DATABASE_URL": database_url, "COMMONPLACE_SECRET_KEY": secret}
    return {**os.environ, **ours}


@pytest.fixture
def run(command_line, environment) -> Callable[..., subprocess.CompletedProcess[str]]:
    return lambda *arguments: command_line(["preferences", *arguments], environment)


@pytest.fixture
def file(tmp_path) -> Path:
    folder = tmp_path / "_jasque"
    folder.mkdir()
    path = folder / "preferences.md"
    path.write_bytes(DOCUMENT.encode())
    return path


class Watch:
    """A running `import --watch`, whose lines come one by one."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "import", *arguments, "--watch"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def line(self) -> str:
        return self._lines.get(timeout=120)

    def until(self, part: str) -> str:
        """Return the next line with these words in it."""
        while part not in (line := self.line()):
            pass
        return line

    def is_silent(self, seconds: float) -> bool:
        try:
            self._lines.get(timeout=seconds)
        except Empty:
            return True
        return False

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


@pytest.fixture
def watch(environment, ada, file) -> Iterator[Watch]:
    watch = Watch(environment, str(file), "--email", ada.email)
    yield watch
    watch.process.kill()
    watch.process.wait()


def in_force(person) -> tuple[int, str] | None:
    with person.session() as session:
        row = current(session, person.id)
        return (row.version, row.document) if row else None


def test_a_file_is_taken_as_it_is(run, ada, file):
    done = run("import", str(file), "--email", ada.email)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Version 1 is in force.\nline 3: theme: not known here, but kept\n"
    assert in_force(ada) == (1, DOCUMENT)


def test_taking_it_again_adds_nothing(run, ada, file):
    run("import", str(file), "--email", ada.email)
    assert run("import", str(file), "--email", ada.email).stdout.startswith("Version 1 is in force already.")


def test_a_bad_file_is_refused_by_line_and_field(run, ada, file):
    file.write_text(BAD)
    done = run("import", str(file), "--email", ada.email)
    assert (done.returncode, done.stdout) == (1, "")
    assert "line 2: date_format: must be text" in done.stderr
    assert in_force(ada) is None


def test_a_file_that_is_not_utf8_is_refused_by_line(run, ada, file):
    file.write_bytes(b"fine\nna\xefve\n")
    assert "line 2: document: is not UTF-8" in run("import", str(file), "--email", ada.email).stderr


def test_a_file_that_is_too_large_is_refused(run, ada, file):
    file.write_bytes(b"x" * 65_537)
    assert "must be at most 65536 bytes" in run("import", str(file), "--email", ada.email).stderr


def test_a_file_that_is_not_there_is_an_error_of_one_line(run, ada, tmp_path):
    done = run("import", str(tmp_path / "none.md"), "--email", ada.email)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No such file" in done.stderr


def test_importing_for_nobody_fails(run, file):
    done = run("import", str(file), "--email", "nobody@example.org")
    assert (done.returncode, done.stderr) == (1, "Error: there is no user nobody@example.org\n")


def test_what_is_in_force_is_shown(run, ada):
    with ada.session() as session:
        for document in ("Be brief.\n", DOCUMENT):
            save(session, ada.id, document, source="test", now=utc_now(), actor="test")
    assert run("show", "--email", ada.email).stdout == DOCUMENT
    assert run("show", "--email", ada.email, "--version", "1").stdout == "Be brief.\n"
    assert run("show", "--email", ada.email, "--prompt").stdout.startswith("How this user likes things done:")
    assert run("show", "--email", ada.email, "--version", "3").returncode == 1


def test_showing_nothing_says_so(run, ada):
    assert "has no preferences yet" in run("show", "--email", ada.email).stderr


def test_a_watched_file_is_followed(watch, ada, file):
    watch.until("Version 1 is in force.")
    file.write_text("Be brief.")
    watch.until("Version 2 is in force.")
    draft = file.with_suffix(".tmp")
    draft.write_text("Be thorough.")
    draft.replace(file)
    watch.until("Version 3 is in force.")
    assert in_force(ada) == (3, "Be thorough.")


def test_a_bad_change_of_a_watched_file_leaves_the_last_version_in_force(watch, ada, file):
    watch.until("Version 1 is in force.")
    file.write_text(BAD)
    assert watch.until("date_format") == "  line 2: date_format: must be text; put it in quotes"
    assert in_force(ada) == (1, DOCUMENT)
    file.write_text("Be brief.")
    watch.until("Version 2 is in force.")


def test_a_watched_file_may_go_away_and_come_back(watch, ada, file):
    watch.until("Version 1 is in force.")
    file.unlink()
    watch.until("There is no file")
    assert in_force(ada) == (1, DOCUMENT)
    file.write_text("Be brief.")
    watch.until("Version 2 is in force.")


def test_a_watched_file_that_stays_as_it_is_costs_no_word(watch):
    watch.until("theme: not known here")
    assert watch.is_silent(1.5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_watching_cleanly(watch, number):
    watch.until("Version 1 is in force.")
    assert watch.end(number) == 0
    assert watch.until("Stopped.") == "Stopped."
