"""What the measuring commands share: whose data, what is imported, progress and files that are written."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import click
from sqlalchemy.exc import SQLAlchemyError
from tqdm import tqdm

import config
from evals.corpus import WordModel
from evals.locomo import Conversation, read
from evals.locomo_import import import_conversations
from evals.stock import Vectors, around, model_of
from evals.throwaway import close
from memory.accounts.accounts import find_user
from memory.storage.database import user_session
from memory.storage.schema_revision import current_revision, head_revision
from tasks.runtime import Runtime, build

F = TypeVar("F", bound=Callable[..., Any])


class Between(click.FloatRange):
    """A number in a range; what is no number is in none, though it is no less and no more than any."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fails for what is none or outside."""
        found = float(super().convert(value, param, ctx))
        if isnan(found):
            self.fail(f"{value!r} is no number.", param, ctx)
        return found


_WRITTEN = click.Path(dir_okay=False, writable=True, path_type=Path)


def _in_a_folder(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    if path is None:
        return None
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}")
    if not path.exists() and not os.access(path.parent, os.W_OK | os.X_OK):
        raise click.BadParameter(f"nothing can be written into {path.parent}")
    return path


def written_option(*names: str, says: str) -> Callable[[F], F]:
    """Return an option for a file to write, with `says` as its help.

    One that cannot be written, or whose folder is missing, is refused before anything is measured.
    """
    return click.option(*names, type=_WRITTEN, callback=_in_a_folder, help=says)


@contextmanager
def own_data_of(email: str | None) -> Iterator[tuple[Runtime, UUID]]:
    """Give the runtime of the user's own data, and who that is; without them, or their tables, the command ends."""
    if not email:
        raise click.UsageError("name the user with --email")
    runtime = build(config.load())
    try:
        if not _is_migrated(runtime):
            raise click.ClickException(
                "the database has not the tables of this version, or does not answer: run `commonplace migrate` first"
            )
        with runtime.sessions() as session:
            user_id = find_user(session, email)
        if user_id is None:
            raise click.ClickException(f"there is no user {email}")
        yield runtime, user_id
    finally:
        close(runtime)


def _is_migrated(runtime: Runtime) -> bool:
    try:
        with runtime.sessions() as session:
            return current_revision(session.connection()) == head_revision()
    except SQLAlchemyError:
        return False


def read_conversations(file: Path) -> list[Conversation]:
    """Return the conversations of a LoCoMo file; a malformed one ends the command."""
    try:
        return read(file)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def bring_in(runtime: Runtime, user_id: UUID, conversations: list[Conversation], now: datetime) -> None:
    """Import conversations and say on stderr what became of the turns."""
    with progress(sum(len(each.turns) for each in conversations), "turns") as advance:
        counts = import_conversations(
            runtime.sessions, user_id, conversations, keys=runtime.keys, now=now, on_progress=advance
        )
    click.echo(
        f"{counts.created} new, {counts.merged} merged, {counts.skipped} skipped, {counts.refused} refused", err=True
    )


def embed_all(runtime: Runtime) -> None:
    """Embed everything that waits."""
    with progress(None, "embedded") as advance:
        runtime.backfill.run(advance)


def invented_vectors(runtime: Runtime, user_id: UUID, words: WordModel, count: int) -> Vectors:
    """Return random vectors near those of the topics, so that a question finds some texts and not others."""
    return around(topic_vectors(runtime, user_id, words), count)


def topic_vectors(runtime: Runtime, user_id: UUID, words: WordModel) -> Vectors:
    """Return the vectors of the topics, shape (topics, dimensions), by the user's model."""
    runtime.backfill.adopt(user_id)
    with user_session(runtime.sessions, user_id) as session:
        embedder = runtime.providers.embedder(model_of(session, user_id)).embedder
    return embedder.embed([" ".join(topic) for topic in words.topics])


@contextmanager
def progress(total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr, and give the function that moves it on."""
    with tqdm(total=total, unit=f" {unit}", file=sys.stderr) as bar:

        def advance(done: int) -> None:
            bar.update(done)

        yield advance


def by_field(given: Iterable[str]) -> dict[str, str]:
    """Return the values of `FIELD=VALUE`s by field, empty for one without `=`.

    Raises `click.BadParameter` for a field that is given twice: only one of its values could be meant.
    """
    found: dict[str, str] = {}
    for each in given:
        field, _, value = each.partition("=")
        if field in found:
            raise click.BadParameter(f"{field} is there twice")
        found[field] = value
    return found


def hand_over(keep: Callable[[], Path] | None, record: Mapping[str, Any], path: Path | None, text: str) -> Path | None:
    """Keep a record by `keep`, write it as JSON where a path is given, and print its text; return where it is kept.

    Each is done though another fails, so that nothing takes along what was measured for hours. What cannot be kept or
    written ends the command afterwards.
    """
    kept = None
    try:
        try:
            kept = keep() if keep else None
        except OSError as error:
            raise click.ClickException(f"the run could not be kept: {error}") from error
        finally:
            write_json(record, path)
    finally:
        # Whoever read the output may have closed the pipe by now.
        click.echo(text)
        if kept is not None:
            click.echo(f"kept as {kept}", err=True)
    return kept


def write_json(values: Mapping[str, Any], path: Path | None) -> None:
    """Write the values as JSON where a path is given; a file that cannot be written ends the command."""
    if path is None:
        return
    try:
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{path} could not be written: {error.strerror}") from error
