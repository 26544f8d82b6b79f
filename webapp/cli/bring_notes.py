"""`commonplace import memories`: bringing in what was kept elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import click
from tqdm import tqdm

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.models import DEFAULT_SPACE
from memory.storage.database import user_session
from memory.transfer.bringing import COMMAND, bring_in, gone
from memory.transfer.notes_files import drafts_of, files_in
from webapp.cli.wiring import migrated_store, user_named

PATH = click.Path(exists=True, path_type=Path)
# The most characters that are shown of a text before it is stored.
_SHOWN = 100
# What came of the notes, in words, by the names that `bring_in` counts by.
_CAME_OF = {
    "created": "brought in",
    "corrected": "corrected, as their documents have another text",
    "changed": "left as they are, as they were changed here since they were exported",
    "elsewhere": "left as they are, as they are in another space",
    "merged": "merged into one that says the same",
    "there": "there already",
    "refused": "not taken, as forgotten before or nothing but what was recalled here",
    "archived": "archived, as no longer in any of them",
}


@click.command("memories")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
@click.option("--email", required=True, help="Whose memories they become.")
@click.option("--space", default=DEFAULT_SPACE, show_default=True, help="The space that they come into.")
@click.option("--soft-cap", type=click.IntRange(min=1), help="Let the space keep so many first, if it keeps fewer.")
@click.option("--archive-gone", is_flag=True, help="Archive what came from them before and is in them no more.")
@click.option("--dry-run", is_flag=True, help="Only show what would be memories, and what would be archived.")
def import_memories(
    paths: tuple[Path, ...], email: str, space: str, soft_cap: int | None, archive_gone: bool, dry_run: bool
) -> None:
    """Bring in notes from elsewhere: files, or folders of them. All of it or nothing; safe to repeat.

    Of Markdown and plain text each paragraph and each item of a list becomes a memory, with the headings above it as
    tags; front matter may tell tags, type and date. Of JSON, as mem0 exports it, and of JSON lines each object becomes
    one, with its text, created_at and tags. Of a document of `commonplace export` what is active in the space of the
    same name comes, with its date, type and tags.

    With --archive-gone, what came from these files before, or from files that have left these folders, and is in none
    of them any more, is archived: no search finds it, and it can be made active again. What you have changed, pinned
    or saved by hand since, or what came from another file too, stays.
    """
    now = utc_now()
    drafts = [
        draft
        for path in paths
        for file in files_in(path)
        for draft in drafts_of(file, str(file.relative_to(path.parent)), now, space)
    ]
    whole = [f"{path.name}/" if path.is_dir() else path.name for path in paths] if archive_gone else []
    if {"/", "../"} & set(whole):
        raise click.ClickException("--archive-gone tells what came from a folder by its name: give that, not . or ..")
    # Also where some came from it before: a folder that is empty may be one that is not mounted.
    if not drafts:
        raise click.ClickException("there is nothing in it that could be a memory")
    if dry_run and not archive_gone:
        _show(drafts)
        return
    store = migrated_store()
    user_id = user_named(store, email)
    if dry_run:
        with user_session(store.sessions, user_id) as session:
            _show(drafts, gone(session, user_id, space, drafts, whole).values())
        return
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
            actor=COMMAND,
            whole=whole,
            on_stored=bar.update,
        )
    click.echo(
        "; ".join(f"{counts[name]:,} {word}" for name, word in _CAME_OF.items() if counts[name] or name == "created")
    )
    if counts["created"] or counts["corrected"]:
        click.echo("A running server makes their vectors, and so does `commonplace backfill`.")


def _show(drafts: Sequence[Draft], left: Collection[str] = ()) -> None:
    for draft in drafts:
        click.echo(_in_one_line(draft.text))
    for text in left:
        click.echo(f"To be archived: {_in_one_line(text)}")
    archived = f", and {len(left):,} to be archived" if left else ""
    click.echo(f"{len(drafts):,} in all{archived}. Nothing was stored.")


def _in_one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}\u2026"
