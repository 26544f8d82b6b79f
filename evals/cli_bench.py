"""The commands `bench`: how fast, beside a limit that is measured in the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import click

import config
from evals import (
    bench_conversations,
    bench_dedupe,
    bench_growth,
    bench_http,
    bench_ingest,
    bench_pages,
    bench_record,
    bench_search,
    timing,
)
from evals.bench_furnish import furnish
from evals.cli_plainly import Plainly
from evals.cli_support import (
    hand_over,
    invented_vectors,
    progress,
    read_conversations,
    topic_vectors,
    written_option,
)
from evals.corpus import Notes, WordModel, recombined
from evals.errors import MeasureError
from evals.extra import needs
from evals.local_server import serving
from evals.stock import SPACE, stock
from evals.throwaway import EMAIL, PASSWORD, throwaway
from memory.accounts.accounts import create_token
from memory.clock import utc_now
from memory.conversations.session_state import drop_states
from memory.storage.database import user_session
from tasks.runtime import Runtime

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
# A measurement searches more often than a person is allowed to.
UNLIMITED = {"COMMONPLACE_SEARCHES_PER_MINUTE": "0", "COMMONPLACE_PAGE_SEARCHES_PER_MINUTE": "0"}


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a measurement is written besides the screen, and whether it is compared with the last one."""

    path: Path | None
    save: bool
    check: bool

    def finish(
        self,
        command: str,
        parameters: Mapping[str, Any],
        text: str,
        ratios: Mapping[str, float],
        values: Mapping[str, Any],
    ) -> None:
        """Keep and print a measurement; end with an error where it is worse than the last one.

        No later measurement is compared with one that was worse: otherwise, measuring a second time would pass.
        """
        home = config.load().home
        before = bench_record.last_ratios(home, command, parameters) if self.check else None
        slower = bench_record.worse(ratios, before) if before is not None else []
        values = {**values, bench_record.WORSE: slower}
        record = {"command": command, "parameters": dict(parameters), "ratios": dict(ratios), **values}
        keep = partial(bench_record.keep, home, command, parameters, ratios, values) if self.save else None
        hand_over(keep, record, self.path, text)
        if self.check and before is None:
            click.echo("\nThere is no earlier run with these parameters to compare with.")
        if before is not None:
            click.echo(f"\n{bench_record.to_text(ratios, before)}")
        if slower:
            again = "without --check, the next one is what later ones are compared with"
            raise click.ClickException(f"worse than the last run: {', '.join(slower)} ({again})")


def kept_options(command: F) -> F:
    """Add the options of `Kept` to a command; it gets them as the keyword arguments of that class."""
    for option in (
        click.option(
            "--check",
            is_flag=True,
            help="Fail where a ratio is a quarter worse than in the last kept run that has not failed so.",
        ),
        click.option("--save/--no-save", default=True, help="Keep the measurements in the data folder, or not."),
        written_option("--json", "path", says="Also write the measurements to this file."),
    ):
        command = option(command)
    return command


@click.group("bench", cls=Plainly)
def bench_group() -> None:
    """Measure how fast this machine searches and embeds, in a database of its own."""


@bench_group.command("search")
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(100))
@click.option("--queries", default=200, show_default=True, type=click.IntRange(20))
@click.option("--fast", is_flag=True, help="Make vectors up instead of embedding every memory.")
@click.option("--locomo", type=FILE, help="Recombine the turns of this LoCoMo file instead of inventing texts.")
@kept_options
def search_command(memories: int, queries: int, fast: bool, locomo: Path | None, **kept: Any) -> None:
    """Search among many memories, stage by stage, beside the bare exact scan of the same vectors."""
    words = WordModel()
    if locomo:
        texts, questions = _of_locomo(locomo, memories, queries)
    else:
        texts, questions = words.texts(memories), words.questions(queries)
    now = utc_now()
    with throwaway(now=now) as (runtime, user_id), progress(memories * (1 if fast else 2), "rows") as advance:
        vectors = invented_vectors(runtime, user_id, words, memories) if fast else None
        space_id = stock(runtime, user_id, texts, now=now, vectors=vectors, on_progress=advance)
        found = bench_search.bench_search(runtime, user_id, space_id, questions, memories=memories, now=now)
        facts = timing.machine(runtime.sessions)
    parameters = {"memories": memories, "queries": queries, "fast": fast, "locomo": locomo is not None}
    Kept(**kept).finish(
        "bench search",
        parameters,
        f"{bench_search.to_text(found)}\n\n{timing.to_text(facts)}",
        {"ranking and SQL / bare scan": found.ratio},
        {"machine": facts, "search": bench_search.to_dict(found)},
    )


def _of_locomo(file: Path, memories: int, queries: int) -> tuple[list[str], list[str]]:
    conversations = read_conversations(file)
    questions = [each.text for one in conversations for each in one.questions]
    if len(questions) < queries:
        raise MeasureError(f"{file} has no more than {len(questions)} questions")
    return recombined(conversations, memories), questions[:queries]


def _each_once(_context: click.Context, _option: click.Parameter, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Refuse a size that is given twice, as ratios are kept by size."""
    if twice := [size for size, count in Counter(sizes).items() if count > 1]:
        raise click.BadParameter(f"{twice[0]} is there twice")
    return sizes


@bench_group.command("growth")
@click.option(
    "--memories",
    "sizes",
    multiple=True,
    default=SIZES,
    show_default=True,
    type=click.IntRange(100),
    callback=_each_once,
    help="Repeatable.",
)
@click.option("--queries", default=100, show_default=True, type=click.IntRange(20))
@written_option("--plot", says="Draw cost against size into this SVG file; needs the extra eval.")
@kept_options
def growth_command(sizes: tuple[int, ...], queries: int, plot: Path | None, **kept: Any) -> None:
    """Search among more and more memories of one user, with made-up vectors."""
    if plot is not None:
        needs("matplotlib")
    words, now = WordModel(), utc_now()
    with throwaway(now=now) as (runtime, user_id), progress(sum(sizes), "rows") as advance:
        centres = topic_vectors(runtime, user_id, words)
        points = bench_growth.growth(
            runtime, sizes, centres, questions=words.questions(queries), now=now, on_progress=advance
        )
        facts = timing.machine(runtime.sessions)
    parameters = {"sizes": sorted(sizes), "queries": queries}
    try:
        Kept(**kept).finish(
            "bench growth",
            parameters,
            f"{bench_growth.to_text(points)}\n\n{timing.to_text(facts)}",
            bench_growth.ratios(points),
            {"machine": facts, "growth": bench_growth.to_dict(points)},
        )
    finally:
        # Plotted before the command fails, so that the plot also shows what has become worse.
        if plot is not None:
            bench_growth.draw(points, plot)


@bench_group.command("crowd")
@click.option("--users", default=1_000, show_default=True, type=click.IntRange(bench_growth.FEW_USERS + 1))
@click.option("--memories", default=1_000, show_default=True, type=click.IntRange(100), help="Of each user.")
@click.option("--queries", default=100, show_default=True, type=click.IntRange(20))
@kept_options
def crowd_command(users: int, memories: int, queries: int, **kept: Any) -> None:
    """Search as one of ten users, then as one of many, with made-up vectors."""
    words, now = WordModel(), utc_now()
    with throwaway(now=now) as (runtime, user_id), progress(users * memories, "rows") as advance:
        centres = topic_vectors(runtime, user_id, words)
        points = bench_growth.crowd(
            runtime, users, memories, centres, questions=words.questions(queries), now=now, on_progress=advance
        )
        facts = timing.machine(runtime.sessions)
    grown = bench_growth.grown(points)
    verdict = f"among all / among the first: {grown:.2f} (at most {bench_growth.LARGEST_GROWTH:g})"
    Kept(**kept).finish(
        "bench crowd",
        {"users": users, "memories": memories, "queries": queries},
        f"{bench_growth.to_text(points)}\n\n{verdict}\n\n{timing.to_text(facts)}",
        {**bench_growth.ratios(points), "among all / among the first": grown},
        {"machine": facts, "crowd": bench_growth.to_dict(points)},
    )


@bench_group.command("ingest")
@click.option("--texts", "count", default=2_000, show_default=True, type=click.IntRange(100))
@kept_options
def ingest_command(count: int, **kept: Any) -> None:
    """Remember and embed many texts, beside the bare model."""
    texts = WordModel().texts(count)
    now = utc_now()
    with throwaway(now=now) as (runtime, user_id), progress(count, "texts") as advance:
        found = bench_ingest.bench_ingest(runtime, user_id, texts, now=now, on_progress=advance)
        facts = timing.machine(runtime.sessions)
    Kept(**kept).finish(
        "bench ingest",
        {"texts": count},
        f"{bench_ingest.to_text(found)}\n\n{timing.to_text(facts)}",
        {name: round(1 / rate, 3) for name, rate in found.ratios.items()},
        {"machine": facts, "ingest": bench_ingest.to_dict(found)},
    )


@bench_group.command("dedupe")
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(100))
@click.option("--writes", default=200, show_default=True, type=click.IntRange(20), help="Of each kind.")
@kept_options
def dedupe_command(memories: int, writes: int, **kept: Any) -> None:
    """Write new texts and repeats among many memories, beside a bare insert."""
    if writes > memories:
        raise click.UsageError(f"--writes must be at most --memories: each repeats one of the {memories}")
    texts = bench_dedupe.numbered(WordModel().texts(memories + writes))
    now = utc_now()
    with throwaway(now=now) as (runtime, user_id), progress(memories + writes, "rows") as advance:
        runtime.backfill.adopt(user_id)
        vectors = invented_vectors(runtime, user_id, WordModel(), memories)
        stock(runtime, user_id, texts[:memories], now=now, vectors=vectors, room=5 * writes, on_progress=advance)
        found = bench_dedupe.bench_dedupe(
            runtime, user_id, texts[:memories], texts[memories:], now=now, on_progress=advance
        )
        facts = timing.machine(runtime.sessions)
    Kept(**kept).finish(
        "bench dedupe",
        {"memories": memories, "writes": writes},
        f"{bench_dedupe.to_text(found)}\n\n{timing.to_text(facts)}",
        {"a new memory / bare insert": found.ratio},
        {"machine": facts, "dedupe": bench_dedupe.to_dict(found)},
    )


@bench_group.command("conversations")
@click.option("--messages", default=2_000, show_default=True, type=click.IntRange(20, 20_000))
@click.option("--worker", is_flag=True, help="Let a worker embed what is appended, at the same time.")
@kept_options
def conversations_command(messages: int, worker: bool, **kept: Any) -> None:
    """Append to a long conversation over HTTP, assemble its context, list; each beside its goal."""
    texts = WordModel().texts(messages)
    now = utc_now()
    with throwaway(now=now) as (runtime, user_id):
        runtime.backfill.adopt(user_id)
        token = _token(runtime, user_id, "read", "write")

        def forget(conversation_id: UUID) -> None:
            with user_session(runtime.sessions, user_id) as session:
                drop_states(session, user_id, [conversation_id])

        with serving(runtime, worker=worker) as url, progress(bench_conversations.requests(messages), "requests") as on:
            found = bench_conversations.bench_conversations(
                url, token, texts, embed=runtime.backfill.run, forget=forget, on_progress=on
            )
        facts = timing.machine(runtime.sessions)
    Kept(**kept).finish(
        "bench conversations",
        {"messages": messages, "worker": worker},
        f"{bench_conversations.to_text(found)}\n\n{timing.to_text(facts)}",
        found.ratios,
        {"machine": facts, "conversations": bench_conversations.to_dict(found), "worker": worker},
    )


def _address(_context: click.Context, _argument: click.Parameter, base_url: str | None) -> str | None:
    if base_url is not None:
        try:
            bench_http.address_of(base_url)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return base_url


@bench_group.command("http")
@click.argument("base_url", required=False, callback=_address)
@click.option("--token", envvar="COMMONPLACE_TOKEN", help="A token with the scope read, for a server of your own.")
@click.option("--space", default="default", show_default=True, help="Of a server of your own.")
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(100), help="Without BASE_URL.")
@click.option("--fast", is_flag=True, help="Make vectors up instead of embedding every memory.")
@click.option("--queries", default=200, show_default=True, type=click.IntRange(20))
@click.option("--clients", multiple=True, default=(4, 16), show_default=True, type=click.IntRange(1, 64))
@click.option("--notes", is_flag=True, help="Take notes, which are read with a question, instead of turns of a talk.")
@kept_options
def http_command(
    base_url: str | None,
    token: str | None,
    space: str,
    memories: int,
    fast: bool,
    queries: int,
    clients: tuple[int, ...],
    notes: bool,
    **kept: Any,
) -> None:
    """Search over HTTP as clients do, on a server of its own or on the one at BASE_URL."""
    if notes and fast:
        raise click.UsageError("notes are embedded: --notes and --fast do not go together")
    words = Notes() if notes else WordModel()
    questions = words.questions(queries + bench_http.WARM_UP)
    facts: dict[str, str] = {}
    try:
        if base_url:
            if not token:
                raise click.UsageError("a server of your own needs --token")
            found = bench_http.bench_http(base_url, token, space, questions, clients=clients)
        else:
            with (
                _stocked(words, memories, fast=fast) as (runtime, user_id),
                serving(runtime, settings=UNLIMITED) as url,
            ):
                token = _token(runtime, user_id, "read")
                found = bench_http.bench_http(url, token, SPACE, questions, clients=clients)
                facts = timing.machine(runtime.sessions)
    except (bench_http.RefusedError, OSError) as error:
        raise click.ClickException(str(error)) from None
    Kept(**kept).finish(
        "bench http",
        {
            "base_url": base_url,
            "memories": None if base_url else memories,
            "fast": fast,
            "queries": queries,
            # Only named where they were chosen, so that older runs, which do not have this key, can still be compared
            # with.
            **({"notes": True} if notes else {}),
            **({"space": space} if base_url else {}),
        },
        f"{bench_http.to_text(found)}\n\n{timing.to_text(facts)}",
        found.ratios,
        {"machine": facts, "http": bench_http.to_dict(found)},
    )


@bench_group.command("pages")
@click.option("--memories", default=10_000, show_default=True, type=click.IntRange(100))
@kept_options
def pages_command(memories: int, **kept: Any) -> None:
    """Follow every link of the browser's pages as an admin with many memories, and time each page."""
    words = WordModel()
    with (
        _stocked(words, memories, fast=True, role="admin") as (runtime, user_id),
        serving(runtime, settings=UNLIMITED) as url,
        progress(None, "pages") as advance,
    ):
        furnish(url, _token(runtime, user_id, "read", "write"), words)
        found = bench_pages.bench_pages(url, EMAIL, PASSWORD, on_progress=advance)
        facts = timing.machine(runtime.sessions)
    Kept(**kept).finish(
        "bench pages",
        {"memories": memories},
        f"{bench_pages.to_text(found)}\n\n{timing.to_text(facts)}",
        found.ratios,
        {"machine": facts, "pages": bench_pages.to_dict(found)},
    )


@contextmanager
def _stocked(
    words: WordModel | Notes, memories: int, *, fast: bool = False, role: str = "user"
) -> Iterator[tuple[Runtime, UUID]]:
    """Give a throwaway runtime whose user has so many memories in the space `SPACE`; notes are never `fast`."""
    now = utc_now()
    with throwaway(now=now, role=role) as (runtime, user_id):
        with progress(memories * (1 if fast else 2), "rows") as advance:
            vectors = None
            if fast and isinstance(words, WordModel):
                vectors = invented_vectors(runtime, user_id, words, memories)
            stock(runtime, user_id, words.texts(memories), now=now, vectors=vectors, on_progress=advance)
        yield runtime, user_id


def _token(runtime: Runtime, user_id: UUID, *scopes: str) -> str:
    with user_session(runtime.sessions, user_id) as session:
        return create_token(session, user_id, "bench", scopes, now=utc_now())
