"""The commands of `eval`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import click

import config
from evals import golden, marks, mlflow_log, outages, persons, report
from evals.cli_output import FILE, Output, circumstances, output_options, together_option
from evals.cli_plainly import Plainly
from evals.cli_support import Between, by_field, own_data_of, progress
from evals.dataset import DataSet, joined
from evals.datasets import is_held_out, load
from evals.examine import Examiner
from evals.extra import needs
from evals.long_notes import in_notes
from evals.pairs import in_pairs
from evals.places import put
from evals.policies import default_only, overridden, variants
from evals.rolled_up import summed_up
from evals.throwaway import throwaway
from evals.together import together
from memory.clock import utc_now
from memory.embedding.prompt import PATIENCE
from memory.storage.database import user_session
from retrieval.policy import Policy, PolicyError
from tasks.runtime import Runtime

F = TypeVar("F", bound=Callable[..., Any])

# How many of a file's unknown fields are named at most.
MOST_NAMED = 10


def _numbers(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """Return the policy fields of `FIELD=VALUE`s; a value that is not JSON is taken as a string."""
    found: dict[str, Any] = {}
    for field, value in by_field(given).items():
        try:
            found[field] = json.loads(value)
        except ValueError:
            found[field] = value
    try:
        overridden(found)
    except PolicyError as error:
        raise click.BadParameter(str(error)) from None
    return found


numbers_option = click.option(
    "--set",
    "numbers",
    multiple=True,
    metavar="FIELD=VALUE",
    callback=_numbers,
    help="Also measure the default policy with another number, as semantic_weight=0.3; repeatable.",
)


notes_option = click.option(
    "--notes",
    type=click.IntRange(min=2),
    metavar="NUMBER",
    help="Put so many turns, or memories, together into one long note.",
)


def policies_options(command: F) -> F:
    """Add the options that say which policies to measure beside the default."""
    every = click.option("--all-policies", is_flag=True, help="Also measure the other policies, and each leg alone.")
    return every(numbers_option(command))


def _policies(every: bool, numbers: Mapping[str, Any]) -> dict[str, Policy]:
    return {**(variants() if every else default_only()), **overridden(numbers)}


@click.group("eval", cls=Plainly)
def eval_group() -> None:
    """Measure how well the search finds what was said."""


@eval_group.command("locomo")
@click.argument("file", type=FILE)
@click.option(
    "--own-data/--throwaway", default=False, help="Import into your own data, or into a database that is removed."
)
@click.option("--email", help="Whose memory to import into; needed with --own-data.")
@click.option("--only-default", is_flag=True, help="Measure the default policy alone.")
@notes_option
@numbers_option
@output_options
def eval_locomo(
    file: Path,
    own_data: bool,
    email: str | None,
    only_default: bool,
    notes: int | None,
    numbers: Mapping[str, Any],
    **output: Any,
) -> None:
    """Ask the questions of a LoCoMo FILE; exits with 1 when the default policy is not good enough."""
    if email is not None and not own_data:
        raise click.UsageError("--email is for --own-data, and would do nothing without")
    data = read(file, "locomo")
    if notes is not None:
        if own_data:
            raise click.UsageError("--notes needs a database that is removed: leave out --own-data")
        data = in_notes(data, notes)
    policies, goes = _policies(not only_default, numbers), Output(**output)
    goes.check(data)
    now = utc_now()
    with own_data_of(email) if own_data else throwaway(now=now) as (runtime, user_id):
        _evaluate(runtime, user_id, data, policies, goes, now, alone=not own_data)


@eval_group.command("golden")
@click.argument("file", type=FILE, default=golden.BUNDLED)
@click.option("--pairs", is_flag=True, help="Ask two questions of a person in one.")
@click.option("--rolled-up", is_flag=True, help="Archive all memories first, summed up by extracts.")
@together_option
@notes_option
@policies_options
@output_options
def eval_golden(
    file: Path,
    pairs: bool,
    rolled_up: bool,
    as_one: bool,
    notes: int | None,
    all_policies: bool,
    numbers: Mapping[str, Any],
    **output: Any,
) -> None:
    """Ask the golden cases of FILE, by default those of this repository; exits with 1 on FAIL."""
    data = read(file, "golden", as_one=as_one)
    data = in_pairs(data) if pairs else data
    data = in_notes(data, notes) if notes is not None else data
    data = summed_up(data, utc_now()) if rolled_up else data
    _evaluate_apart(data, _policies(all_policies, numbers), Output(**output))


@eval_group.command("jsonl")
@click.argument("file", type=FILE)
@policies_options
@output_options
def eval_jsonl(file: Path, all_policies: bool, numbers: Mapping[str, Any], **output: Any) -> None:
    """Ask the questions of a JSONL FILE, whose format docs/evaluation.md describes; exits with 1 on FAIL."""
    _evaluate_apart(read(file, "jsonl"), _policies(all_policies, numbers), Output(**output))


@eval_group.command("persons")
@click.argument("files", type=FILE, nargs=-1)
@policies_options
@output_options
def eval_persons(files: tuple[Path, ...], all_policies: bool, numbers: Mapping[str, Any], **output: Any) -> None:
    """Ask about the persons of FILES, as in evals/reading; by default those that no reader has learned from.

    Files that are held out are taken by their names alone.
    """
    files = files or tuple(each for each in sorted(persons.UNSEEN.glob("*.txt")) if not is_held_out(each))
    data = joined([read(each, "persons") for each in files])
    _evaluate_apart(data, _policies(all_policies, numbers), Output(**output))


@eval_group.command("marks")
@click.option("--email", required=True, help="Whose marks, and whose memories.")
@output_options
def eval_marks(email: str, **output: Any) -> None:
    """Ask again what a user has marked right answers to, among their own memories; nothing there changes."""
    now, goes = utc_now(), Output(**output)
    with own_data_of(email) as (runtime, user_id):
        with user_session(runtime.sessions, user_id) as session:
            data, places = marks.read(session, user_id, keys=runtime.keys, now=now)
        if few := marks.in_words(data):
            click.echo(few, err=True)
        if data.questions:
            goes.check(data)
            _ask(Examiner(runtime, places, now), data, default_only(), goes)


@eval_group.command("outages")
@click.argument("file", type=FILE, default=golden.BUNDLED)
@click.option(
    "--timeout",
    default=PATIENCE,
    show_default=True,
    type=Between(0.1, 60),
    help="Seconds that a silent provider is waited for; by default as the server does.",
)
@output_options
def eval_outages(file: Path, timeout: float, **output: Any) -> None:
    """Ask the questions of any data set FILE while the vector leg, its provider or half of the vectors are away."""
    data, now, goes = read(file), utc_now(), Output(**output)
    goes.check(data)
    with throwaway(now=now) as (runtime, user_id):
        examiner = placed(runtime, user_id, data, now)
        with progress(outages.requests(data), "questions") as advance:
            found = outages.measure(examiner, data, timeout=timeout, on_progress=advance)
        values = {**outages.to_values(found), **circumstances(examiner, default_only())}
    goes.finish("outages", outages.to_text(found), values, started=now)


@eval_group.command("ui")
@click.option("--port", default=5000, show_default=True, type=click.IntRange(1, 65_535))
def eval_ui(port: int) -> None:
    """Show the runs that were logged with --mlflow, on this host, until Ctrl-C."""
    needs("mlflow")
    home = config.load().home
    click.echo(f"http://127.0.0.1:{port}")
    sys.exit(subprocess.call(mlflow_log.serve_command(home, port), env={**os.environ, **mlflow_log.QUIET}))  # noqa: S603


def read(file: Path, kind: str | None = None, *, as_one: bool = False) -> DataSet:
    """Return the data set of a file; one that is malformed, or of another kind than `kind`, ends the command.

    So does one without a question that counts in the means: nothing could be said of it. A line on stderr names the
    fields that mean nothing here.
    With `as_one` all memories are of one person; see `together`.
    """
    try:
        data = load(file)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    if kind not in {None, data.kind}:
        raise click.ClickException(f"{file} is a data set for `eval {data.kind}`")
    if data.ignored:
        named, more = data.ignored[:MOST_NAMED], len(data.ignored) - MOST_NAMED
        others = f" and {more} more" if more > 0 else ""
        click.echo(f"Warning: {file}: nothing is done with {', '.join(named)}{others}", err=True)
    data = together(data) if as_one else data
    if not data.questions:
        raise click.ClickException(f"{file}: there is no question with evidence")
    if all(each.apart for each in data.questions):
        raise click.ClickException(f"{file}: all questions stand apart, so there is none to judge by")
    return data


def _evaluate_apart(data: DataSet, policies: Mapping[str, Policy], output: Output) -> None:
    output.check(data)
    now = utc_now()
    with throwaway(now=now) as (runtime, user_id):
        _evaluate(runtime, user_id, data, policies, output, now, alone=True)


def _evaluate(
    runtime: Runtime,
    user_id: UUID,
    data: DataSet,
    policies: Mapping[str, Policy],
    output: Output,
    now: datetime,
    *,
    alone: bool,
) -> None:
    """Put the data set in, and ask."""
    _ask(placed(runtime, user_id, data, now, alone=alone), data, policies, output)


def _ask(examiner: Examiner, data: DataSet, policies: Mapping[str, Policy], output: Output) -> None:
    """Ask, report, and exit with the verdict."""
    with progress(len(policies) * len(data.questions), "questions") as advance:
        found = report.run(examiner, data, policies, advance)
    values = {**report.to_dict(found), **circumstances(examiner, policies)}
    output.finish(data.kind, report.to_text(found), values, started=examiner.now)
    sys.exit(1 if values["reasons"] else 0)


def placed(runtime: Runtime, user_id: UUID, data: DataSet, now: datetime, *, alone: bool = True) -> Examiner:
    """Store and embed a data set, with a bar, and return who asks about it."""
    with progress(data.size, "memories") as advance:
        return Examiner(runtime, put(runtime, user_id, data, now=now, alone=alone, on_progress=advance), now)
