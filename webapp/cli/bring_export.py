"""`commonplace import export`: bringing in what was taken along."""

from __future__ import annotations

from pathlib import Path

import click
from tqdm import tqdm

from memory.clock import utc_now
from memory.storage.database import user_session
from memory.transfer.export_file import Document
from memory.transfer.importing import import_document
from retrieval.policy import NAMED, kept_policy
from webapp.cli.wiring import migrated_store, user_named
from webapp.pages.notebook_stored import check_cell


@click.command("export")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--email", required=True, help="Whose account it goes into; it must have nothing yet.")
def import_export(file: Path, email: str) -> None:
    """Bring an export FILE into an account that has nothing yet: all of it, or nothing.

    An account that forgot something in the last 24 hours takes none, which might bring it back.

    Tokens and the keys of providers are not in an export. Vectors are made anew, by the server or by `backfill`.
    Whoever writes to the account meanwhile waits until all is in.
    """
    store = migrated_store()
    user_id = user_named(store, email)
    with (
        tqdm(unit="row", disable=None) as bar,
        file.open("rb") as opened,
        user_session(store.sessions, user_id) as session,
    ):
        counts = import_document(
            session,
            user_id,
            Document(opened),
            soft_cap=store.settings.soft_cap,
            check_policy=lambda policy: kept_policy(policy, NAMED["balanced"]),
            check_cell=check_cell,
            now=utc_now(),
            actor="import",
            on_rows=bar.update,
        )
    brought = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in counts.items() if number)
    click.echo(f"Brought in: {brought}. A running server makes their vectors, and so does `commonplace backfill`.")
