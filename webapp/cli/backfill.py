"""`backfill`: everything that waits, done now and here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from sqlalchemy.orm import Session
from tqdm import tqdm

from memory.clock import utc_now
from memory.embedding.indexes import maintain_indexes
from memory.enrichment.enrich import Enricher
from memory.extraction.extract import Extractor
from memory.operators.jobs import count_building
from memory.operators.operators import retry_failed_of_all
from memory.remote.llm import ChatModel
from retrieval.lookup.candidates import EXACT_SCAN_LIMIT
from tasks.runtime import Runtime, patient
from webapp.cli.running import migrated_runtime


@click.command()
@click.option("--index/--no-index", default=True, help="Also build the vector indexes that grown spaces need.")
@click.option("--retry-failed", is_flag=True, help="Also try again what could not be embedded before.")
@click.option("--enrich/--no-enrich", default=True, help="Also read what waits for names and tags, where that is on.")
@click.option("--extract/--no-extract", default=True, help="Also read conversations for facts, where a space wants it.")
def backfill(index: bool, retry_failed: bool, enrich: bool, extract: bool) -> None:
    """Embed everything that waits, and read it for names, tags and facts, with progress bars.

    Each user's model stays what it is: it is a server, set to another one, that moves them there.

    Exits with 1 if something could not be embedded.
    """
    runtime = migrated_runtime(serves=False)
    runtime.backfill.keep_models()
    if retry_failed:
        retry_failed_of_all(runtime.sessions, utc_now())
    done = _embed(runtime)
    read = 0
    if enrich and runtime.settings.enrichment:
        read = _enrich(runtime)
        # Once more, as the entities that were found want vectors too.
        done += _embed(runtime) if read else 0
    heard = _extract(runtime, runtime.chat_model) if extract and runtime.chat_model else 0
    if index:
        with runtime.databases.as_owner() as owner:
            maintain_indexes(owner, EXACT_SCAN_LIMIT)
    numbers = _numbers(runtime)
    waiting, failed = _waiting(runtime), numbers["embedding_errors"]
    click.echo(f"{done} embedded, {waiting} waiting, {failed} failed.")
    click.echo(f"{read} read for names and tags, {numbers['enrichment_backlog']} waiting.")
    if heard or numbers["extraction_backlog"]:
        click.echo(
            f"{heard} message{'' if heard == 1 else 's'} read for facts, {numbers['extraction_backlog']} waiting."
        )
    if runtime.backfill.given_back:
        raise SystemExit(1)


def _embed(runtime: Runtime) -> int:
    """Embed what waits, and return how many vectors that made."""
    runtime.backfill.sweep()
    # Whoever asks for it by hand has mended what kept a model from answering, or wants to know.
    runtime.backfill.wake()
    failed_before = runtime.backfill.given_back
    with tqdm(total=_waiting(runtime), unit="text", desc="embedding", disable=None) as bar:
        settled = runtime.backfill.run(bar.update)
    return settled - (runtime.backfill.given_back - failed_before)


def _enrich(runtime: Runtime) -> int:
    enricher = Enricher(runtime.sessions, utc_now, runtime.chat_model)
    return _through(enricher.step, _numbers(runtime)["enrichment_backlog"], "text", "reading")


def _extract(runtime: Runtime, chat_model: ChatModel) -> int:
    extractor = Extractor(runtime.sessions, runtime.keys, utc_now, patient(chat_model))
    return _through(extractor.step, _numbers(runtime)["extraction_backlog"], "message", "facts")


def _through(step: Callable[[], int], waiting: int, unit: str, name: str) -> int:
    """Take step after step, with a progress bar, until one settles nothing; returns how many all settled."""
    total = 0
    with tqdm(total=waiting, unit=unit, desc=name, disable=None) as bar:
        while done := step():
            total += done
            bar.update(done)
    return total


def _waiting(runtime: Runtime) -> int:
    """Return how many vectors wait, those of a model that is to take over as well."""
    with runtime.databases.as_owner() as engine, Session(engine) as owner:
        return int(_numbers(runtime)["embedding_backlog"]) + count_building(owner)


def _numbers(runtime: Runtime) -> dict[str, Any]:
    with runtime.sessions() as session:
        return runtime.telemetry(session, utc_now())
