"""`backfill`: everything that waits, done now and here."""

from __future__ import annotations

import click
from tqdm import tqdm

from memory.database import make_engine
from memory.embedding.backfill import utc_now
from memory.embedding.indexes import maintain_indexes
from memory.enrichment.enrich import Enricher
from memory.telemetry import telemetry
from retrieval.candidates import EXACT_SCAN_LIMIT
from tasks.runtime import Runtime
from webapp.cli.running import migrated_runtime


@click.command()
@click.option("--index/--no-index", default=True, help="Also build the vector indexes that grown spaces need.")
@click.option("--enrich/--no-enrich", default=True, help="Also read what waits for names and tags, where that is on.")
def backfill(index: bool, enrich: bool) -> None:
    """Embed everything that waits, and read it for names and tags, with progress bars."""
    runtime = migrated_runtime()
    done = _embed(runtime)
    read = 0
    if enrich and runtime.settings.enrichment:
        read = _enrich(runtime)
        # The entities that were found want vectors.
        done += _embed(runtime) if read else 0
    if index:
        owner = make_engine(runtime.databases.owner, pool_size=1)
        maintain_indexes(owner, EXACT_SCAN_LIMIT)
        owner.dispose()
    click.echo(f"{done} embedded, {_waiting(runtime, 'embedding_backlog')} waiting.")
    click.echo(f"{read} read for names and tags, {_waiting(runtime, 'enrichment_backlog')} waiting.")


def _embed(runtime: Runtime) -> int:
    runtime.backfill.sweep()
    with tqdm(total=_waiting(runtime, "embedding_backlog"), unit="memory", desc="embedding", disable=None) as bar:

        def advance(rows: int) -> None:
            bar.update(rows)

        return runtime.backfill.run(advance)


def _enrich(runtime: Runtime) -> int:
    enricher, total = Enricher(runtime.sessions, utc_now, runtime.chat_model), 0
    with tqdm(total=_waiting(runtime, "enrichment_backlog"), unit="text", desc="reading", disable=None) as bar:
        while done := enricher.step():
            total += done
            bar.update(done)
    return total


def _waiting(runtime: Runtime, backlog: str) -> int:
    with runtime.sessions() as session:
        return int(telemetry(session, utc_now())[backlog])
