"""The commands `eval`, `bench` and `import`, mounted by the main command line."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from evals import (
    bench_conversations,
    bench_http,
    bench_ingest,
    bench_search,
    golden,
    golden_report,
    report,
    run_golden,
    timing,
)
from evals.cli_support import (
    bring_in,
    deliver,
    embed_all,
    invented_vectors,
    own_data_of,
    progress,
    read_conversations,
)
from evals.corpus import WordModel, recombined
from evals.local_server import serving
from evals.run_locomo import evaluate, scored, variants
from evals.stock import stock
from evals.throwaway import throwaway
from memory.accounts import create_token
from memory.database import user_session

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
JSON = click.Path(dir_okay=False, writable=True, path_type=Path)


@click.group("eval")
def eval_group() -> None:
    """Measure how well the search finds what was said."""


@click.group("bench")
def bench_group() -> None:
    """Measure how fast this machine searches and embeds, in a database of its own."""


@click.group("import")
def import_group() -> None:
    """Bring conversations in from elsewhere."""


@eval_group.command("locomo")
@click.argument("file", type=FILE)
@click.option("--json", "path", type=JSON, help="Also write the measures to this file.")
@click.option(
    "--own-data/--throwaway", default=False, help="Import into your own data, or into a database that is removed."
)
@click.option("--email", help="Whose memory to import into; needed with --own-data.")
@click.option("--only-default", is_flag=True, help="Measure the default policy alone.")
def eval_locomo(file: Path, path: Path | None, own_data: bool, email: str | None, only_default: bool) -> None:
    """Ask the questions of a LoCoMo FILE; exits with 1 when the default policy is not good enough."""
    conversations = read_conversations(file)
    policies = variants()
    if only_default:
        policies = {report.DEFAULT: policies[report.DEFAULT]}
    now = datetime.now(UTC)
    with own_data_of(email) if own_data else throwaway(now=now) as (runtime, user_id):
        bring_in(runtime, user_id, conversations, now)
        embed_all(runtime)
        total = len(policies) * sum(len(scored(each)) for each in conversations)
        with progress(total, "questions") as advance:
            found = evaluate(runtime, user_id, conversations, policies, now=now, on_progress=advance)
    deliver(report.to_text(found), report.to_dict(found), path)
    reasons = report.passes(found)
    for reason in reasons:
        click.echo(f"FAILED {reason}", err=True)
    sys.exit(1 if reasons else 0)


@eval_group.command("golden")
@click.argument("file", type=FILE, default=golden.BUNDLED)
@click.option("--json", "path", type=JSON, help="Also write the measures and every case's scores to this file.")
@click.option("--against", type=FILE, help="Compare, case by case, with the JSON of another run.")
def eval_golden(file: Path, path: Path | None, against: Path | None) -> None:
    """Ask the golden cases of FILE, by default those of this repository; exits with 1 on FAIL."""
    try:
        cases = golden.read(file)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    now = datetime.now(UTC)
    with throwaway(now=now) as (runtime, user_id), progress(len(cases), "cases") as advance:
        outcomes = run_golden.run(runtime, user_id, cases, now=now, on_progress=advance)
    verdict = golden_report.judge(outcomes)
    values = golden_report.to_dict(outcomes, verdict)
    text = golden_report.to_text(verdict)
    if against is not None:
        differences = golden_report.compare(values["cases"], json.loads(against.read_text(encoding="utf-8"))["cases"])
        text = f"{golden_report.differences_to_text(differences)}\n\n{text}"
    deliver(text, values, path)
    sys.exit(0 if verdict.passed else 1)


@import_group.command("locomo")
@click.argument("file", type=FILE)
@click.option("--email", required=True, help="Whose memory to import into.")
def import_locomo(file: Path, email: str) -> None:
    """Import the conversations of a LoCoMo FILE, a space for each; safe to repeat."""
    conversations = read_conversations(file)
    with own_data_of(email) as (runtime, user_id):
        bring_in(runtime, user_id, conversations, datetime.now(UTC))
        embed_all(runtime)


@bench_group.command("search")
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(100))
@click.option("--queries", default=200, show_default=True, type=click.IntRange(20))
@click.option("--fast", is_flag=True, help="Make vectors up instead of embedding every memory.")
@click.option("--locomo", type=FILE, help="Recombine the turns of this LoCoMo file instead of inventing texts.")
@click.option("--json", "path", type=JSON, help="Also write the measurements to this file.")
def search_command(memories: int, queries: int, fast: bool, locomo: Path | None, path: Path | None) -> None:
    """Search among many memories, stage by stage, beside the bare exact scan of the same vectors."""
    words = WordModel()
    conversations = read_conversations(locomo) if locomo else []
    texts = recombined(conversations, memories) if locomo else words.texts(memories)
    questions = words.questions(queries)
    if locomo:
        questions = [each.text for one in conversations for each in one.questions][:queries]
    now = datetime.now(UTC)
    with throwaway(now=now) as (runtime, user_id), progress(memories * (1 if fast else 2), "rows") as advance:
        vectors = invented_vectors(runtime, user_id, words, memories) if fast else None
        space_id = stock(runtime, user_id, texts, now=now, vectors=vectors, on_progress=advance)
        found = bench_search.bench_search(runtime, user_id, space_id, questions, memories=memories, now=now)
        facts = timing.machine(runtime.sessions)
    text = f"{bench_search.to_text(found)}\n\n{timing.to_text(facts)}"
    deliver(text, {"machine": facts, "search": bench_search.to_dict(found)}, path)


@bench_group.command("ingest")
@click.option("--texts", "count", default=2_000, show_default=True, type=click.IntRange(100))
@click.option("--json", "path", type=JSON, help="Also write the measurements to this file.")
def ingest_command(count: int, path: Path | None) -> None:
    """Remember and embed many texts, beside the bare model."""
    texts = WordModel().texts(count)
    now = datetime.now(UTC)
    with throwaway(now=now) as (runtime, user_id), progress(count, "texts") as advance:
        found = bench_ingest.bench_ingest(runtime, user_id, texts, now=now, on_progress=advance)
        facts = timing.machine(runtime.sessions)
    text = f"{bench_ingest.to_text(found)}\n\n{timing.to_text(facts)}"
    deliver(text, {"machine": facts, "ingest": bench_ingest.to_dict(found)}, path)


@bench_group.command("conversations")
@click.option("--messages", default=2_000, show_default=True, type=click.IntRange(20, 20_000))
@click.option("--worker", is_flag=True, help="Let a worker embed what is appended, at the same time.")
@click.option("--json", "path", type=JSON, help="Also write the measurements to this file.")
def conversations_command(messages: int, worker: bool, path: Path | None) -> None:
    """Append to a long conversation over HTTP, assemble its context, list; each beside its goal."""
    texts = WordModel().texts(messages)
    now = datetime.now(UTC)
    with throwaway(now=now) as (runtime, user_id):
        runtime.backfill.adopt(user_id)
        with user_session(runtime.sessions, user_id) as session:
            token = create_token(session, user_id, "bench", ["read", "write"], now=now)
        with serving(runtime, worker=worker) as url, progress(bench_conversations.requests(messages), "requests") as on:
            found = bench_conversations.bench_conversations(
                url, token, texts, embed=runtime.backfill.run, on_progress=on
            )
        facts = timing.machine(runtime.sessions)
    text = f"{bench_conversations.to_text(found)}\n\n{timing.to_text(facts)}"
    deliver(text, {"machine": facts, "conversations": bench_conversations.to_dict(found), "worker": worker}, path)


@bench_group.command("http")
@click.argument("base_url")
@click.option("--token", required=True, envvar="COMMONPLACE_TOKEN", help="A token with the scope read.")
@click.option("--space", default="default", show_default=True)
@click.option("--queries", default=200, show_default=True, type=click.IntRange(20))
def http_command(base_url: str, token: str, space: str, queries: int) -> None:
    """Search over HTTP, as a client does, with questions that the server has seen before."""
    found = bench_http.bench_http(base_url, token, space, WordModel().questions(queries))
    click.echo(f"p50 {found.p50:.1f} ms, p95 {found.p95:.1f} ms over {found.count} searches")
