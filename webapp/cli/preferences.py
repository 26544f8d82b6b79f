"""`preferences`: take the user's document from a file, follow that file, show what is in force."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import click
from sqlalchemy.exc import SQLAlchemyError

from memory.clock import utc_now
from memory.drafts.drafts import MAX_TEXT_BYTES
from memory.drafts.front_matter import Complaint, PreferencesError
from memory.preferences import preferences as domain
from memory.preferences.document import parse_kept
from memory.storage.database import user_session
from tasks.store import Store
from webapp.cli.wiring import migrated_store, user_named

LOOK_SECONDS = 0.3

# A file as it was last seen: when it was changed, its size, and which file it is; None where there is none.
Stamp = tuple[int, int, int] | None


@click.group()
def preferences() -> None:
    """How a user likes things done."""


@preferences.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--email", required=True, help="Whose preferences they are.")
@click.option("--watch", is_flag=True, help="Go on, and take the file again whenever it changes, until Ctrl-C.")
def import_(file: Path, email: str, watch: bool) -> None:
    """Put the Markdown document FILE in force. What cannot be used is refused with line and field."""
    desk = _desk_of(email)
    if watch:
        _watch(desk, file)
        return
    try:
        click.echo(desk.take(file))
    except PreferencesError as error:
        raise click.ClickException(_complaints(file, error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None


@preferences.command("show")
@click.option("--email", required=True, help="Whose preferences they are.")
@click.option("--version", type=click.IntRange(1, 2**31 - 1), help="An older version instead of the one in force.")
@click.option("--prompt", is_flag=True, help="In natural language, as it goes into a system prompt.")
def show(email: str, version: int | None, prompt: bool) -> None:
    """Print the document in force."""
    document = _desk_of(email).document(version)
    if document is None:
        raise click.ClickException(f"{email} has no preferences yet")
    text = domain.prompt_block(parse_kept(document)) if prompt else document
    click.echo(text, nl=not text.endswith("\n"))


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where one user's document is taken in and handed out."""

    store: Store
    user_id: UUID

    def take(self, file: Path) -> str:
        """Put the file's document in force and return what to say; raises `PreferencesError` and `OSError`."""
        document = _read(file)
        with user_session(self.store.sessions, self.user_id) as session:
            saved = domain.save(session, self.user_id, document, source="file", now=utc_now(), actor="cli")
        lines = [f"Version {saved.version} is in force{'' if saved.new else ' already'}."]
        lines += [f"line {place.line}: {place.field}: not known here, but kept" for place in saved.parsed.unknown]
        return "\n".join(lines)

    def document(self, version: int | None = None) -> str | None:
        """Return a version's document, the one in force without `version`; raises `NotFoundError`."""
        with user_session(self.store.sessions, self.user_id) as session:
            if version is not None:
                return domain.get_version(session, self.user_id, version).document
            row = domain.current(session, self.user_id)
            return row.document if row is not None else None


def _desk_of(email: str) -> _Desk:
    store = migrated_store()
    return _Desk(store, user_named(store, email))


def _read(file: Path) -> str:
    """Return the file's text, or refuse it by the line that is no UTF-8."""
    with file.open("rb") as opened:
        # One byte more than allowed is read, which is enough to refuse the file.
        content = opened.read(MAX_TEXT_BYTES + 1)
    if len(content) > MAX_TEXT_BYTES:
        raise PreferencesError([Complaint("document", None, f"must be at most {MAX_TEXT_BYTES} bytes of UTF-8")])
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PreferencesError([Complaint("document", line, "is not UTF-8")]) from None


def _complaints(file: Path, error: PreferencesError) -> str:
    said = "\n".join(f"  {complaint}" for complaint in error.complaints)
    return f"{file} is refused, and the last valid version stays in force:\n{said}"


def _watch(desk: _Desk, file: Path) -> None:
    """Take the file whenever it changes.

    Editors empty, write and replace a file in several steps: it counts once it stood still from one look to the next.
    """
    # A service manager ends it as Ctrl-C does: the embedded database sees its user leave. A shell without job control
    # starts what runs in the background with Ctrl-C switched off.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    click.echo(f"Watching {file}. Ctrl-C stops it.")
    taken: Stamp | str = "nothing yet"
    said, seen = "", _stamp(file)
    try:
        while True:
            stamp = _stamp(file)
            if stamp == seen and stamp != taken:
                done, message = _attempt(desk, file)
                taken = stamp if done else taken
                if done or message != said:
                    click.echo(message)
                said = message
            seen = stamp
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        click.echo("Stopped.")


def _attempt(desk: _Desk, file: Path) -> tuple[bool, str]:
    """Take the file; return whether that settles it until it changes again, and what to say."""
    try:
        return True, desk.take(file)
    except PreferencesError as error:
        return True, _complaints(file, error)
    except FileNotFoundError:
        return True, f"There is no file {file}: the last valid version stays in force."
    except OSError as error:
        return False, f"Cannot read {file}: {error.strerror}."
    except SQLAlchemyError:
        return False, "The database does not answer; trying again."


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
