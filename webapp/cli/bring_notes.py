"""`commonplace import memories`: bringing in what was kept elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from tqdm import tqdm

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.spaces.spaces import DEFAULT_SPACE
from memory.storage.database import user_session
from memory.transfer.bringing import bring_in
from memory.transfer.notes_files import drafts_of, files_in
from webapp.cli.wiring import migrated_store, user_named

PATH = click.Path(exists=True, path_type=Path)
# The most characters that are shown of a text before it is stored.
_SHOWN = 100
# What came of the notes, in words, by the names that `bring_in` counts by.
_CAME_OF = {
    "created": "brought in",
    "merged": "merged into one that says the same",
    "there": "there already",
    "refused": "not taken, as it was forgotten before or is nothing but what was recalled here",
}


@click.command("memories")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
@click.option("--email", required=True, help="Whose memories they become.")
@click.option("--space", default=DEFAULT_SPACE, show_default=True, help="The space that they come into.")
@click.option("--soft-cap", type=click.IntRange(min=1), help="Let the space keep so many first, if it keeps fewer.")
@click.option("--dry-run", is_flag=True, help="Only show what would be memories.")
def import_memories(paths: tuple[Path, ...], email: str, space: str, soft_cap: int | None, dry_run: bool) -> None:
    """Bring in notes from elsewhere: files, or folders of them. All of it or nothing; safe to repeat.

    Of Markdown and plain text each paragraph and each item of a list becomes a memory, with the headings above it as
    tags; front matter may tell tags, type and date. Of JSON, as mem0 exports it, and of JSON lines each object becomes
    one, with its text, created_at and tags.
    """
    now = utc_now()
    drafts = [
        draft
        for path in paths
        for file in files_in(path)
        for draft in drafts_of(file, str(file.relative_to(path.parent)), now)
    ]
    if not drafts:
        raise click.ClickException("there is nothing in it that could be a memory")
    if dry_run:
        _show(drafts)
        return
    store = migrated_store()
    user_id = user_named(store, email)
    with (
        tqdm(total=len(drafts), unit="memory", disable=None) as bar,
        user_session(store.sessions, user_id) as session,
    ):
        counts = bring_in(
            session,
            user_id,
            space,
            drafts,
            soft_cap=soft_cap,
            keys=store.keys,
            now=now,
            actor="import",
            on_stored=bar.update,
        )
    click.echo(
        "; ".join(f"{counts[name]:,} {word}" for name, word in _CAME_OF.items() if counts[name] or name == "created")
    )
    if counts["created"]:
        click.echo("A running server makes their vectors, and so does `commonplace backfill`.")


def _show(drafts: Sequence[Draft]) -> None:
    for draft in drafts:
        line = " ".join(draft.text.split())
        click.echo(line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}\u2026")
    click.echo(f"{len(drafts):,} in all. Nothing was stored.")
