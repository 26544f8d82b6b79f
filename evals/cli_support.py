"""What the measuring commands share: whose data, what is imported, progress and output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import click
from tqdm import tqdm

import config
from evals.corpus import WordModel
from evals.locomo import Conversation, read
from evals.locomo_import import import_conversations
from evals.stock import Vectors, around, model_of
from evals.throwaway import close
from memory.accounts import find_user
from memory.database import user_session
from tasks.runtime import Runtime, build


@contextmanager
def own_data_of(email: str | None) -> Iterator[tuple[Runtime, UUID]]:
    """Give the runtime of the user's own data, and who that is."""
    if not email:
        raise click.UsageError("name the user with --email")
    runtime = build(config.load())
    try:
        with runtime.sessions() as session:
            user_id = find_user(session, email)
        if user_id is None:
            raise click.ClickException(f"there is no user {email}")
        yield runtime, user_id
    finally:
        close(runtime)


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
    """Return vectors near those of the topics, so that questions find some of them and not others."""
    return around(topic_vectors(runtime, user_id, words), count)


def topic_vectors(runtime: Runtime, user_id: UUID, words: WordModel) -> Vectors:
    """Return the vectors of the topics, shape (topics, dimensions), by the user's model."""
    runtime.backfill.adopt(user_id)
    with user_session(runtime.sessions, user_id) as session:
        embedder = runtime.providers.embedder(model_of(session, user_id)).embedder
    return embedder.embed([" ".join(topic) for topic in words.topics])


@contextmanager
def progress(total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr, and give what moves it on."""
    with tqdm(total=total, unit=f" {unit}", file=sys.stderr) as bar:

        def advance(done: int) -> None:
            bar.update(done)

        yield advance


def deliver(text: str, values: dict[str, Any], path: Path | None) -> None:
    """Print the text, and write the values as JSON where a path is given."""
    click.echo(text)
    if path is not None:
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
