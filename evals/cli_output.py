"""What every evaluating command does with its run: compare, print, keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import click

import config
from evals import mlflow_log, runs, timing
from evals.cli_support import hand_over, written_option
from evals.dataset import DataSet
from evals.examine import Examiner
from evals.extra import needs
from evals.means import compare
from evals.report import measures_to_text
from evals.runs import Run
from memory.clock import utc_now
from memory.embedding.models import active_model
from memory.storage.database import user_session
from retrieval.policy import Policy
from retrieval.query import DEFAULT_TOKEN_BUDGET

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
together_option = click.option("--together", "as_one", is_flag=True, help="Put the memories of all persons into one.")


@dataclass(frozen=True, slots=True)
class Output:
    """Where a run is written besides the screen; `against` is another run that it is compared with."""

    path: Path | None
    against: Run | None
    save: bool
    mlflow: bool

    def check(self, data: DataSet) -> None:
        """Look, before anything is measured, whether the other run is one of these data.

        Raises `click.UsageError` where it has none of the questions. Where it is of data of another kind or name, or of
        other lines where these name the questions, a line on stderr says so: questions are paired by their ids.
        """
        if self.against is None:
            return
        if not self.against.counted.keys() & {each.id for each in data.questions if not each.apart}:
            raise click.UsageError(f"{self.against.name} has none of the questions of {data.name} to compare with")
        mine = (data.kind, data.name)
        if any(theirs and theirs != each for each, theirs in zip(mine, self.against.data, strict=True)):
            here, there = " ".join(mine), " ".join(self.against.data)
            click.echo(f"Warning: {self.against.name} is of {there}, not of {here}; only ids are compared", err=True)
        elif data.lines and self.against.lines and data.lines != self.against.lines:
            told = f"{self.against.name} is of another {data.name}, or of one that has changed since"
            click.echo(f"Warning: {told}; questions without an id are paired by their lines", err=True)

    def finish(self, command: str, text: str, values: Mapping[str, Any], *, started: datetime) -> Path | None:
        """Compare, keep and print a run; return the file that it is kept in, None where it is not."""
        now = utc_now()
        record = {
            "command": command,
            "at": started.isoformat(timespec="seconds"),
            "seconds": round((now - started).total_seconds(), 1),
            "version": version("commonplace"),
            **values,
        }
        if self.against is not None:
            mine, theirs = Run("", record).counted, self.against.counted
            differences = compare(mine, theirs)
            record["against"] = {name: asdict(each) for name, each in differences.items()}
            shared = f"{len(mine.keys() & theirs.keys())} of {len(mine)} questions are among the {len(theirs)} of"
            text = f"{shared} {self.against.name}\n{measures_to_text(differences, 'difference')}\n\n{text}"
        keep = partial(runs.save, config.load().home, record, now=started) if self.save else None
        kept = hand_over(keep, record, self.path, text)
        if self.mlflow:
            _log(record)
        return kept


def _log(record: Mapping[str, Any]) -> None:
    """Log a run to MLflow, or say on stderr why not: what is still to come of a run does not depend on it."""
    try:
        mlflow_log.log(config.load().home, record)
    except Exception as error:  # MLflow lets through what its database, its files and its server raise.
        lines = str(error).splitlines() or [""]
        click.echo(f"Warning: the run was not logged to MLflow: {type(error).__name__}: {lines[0]}", err=True)


def _run_in(_context: click.Context, _option: click.Parameter, path: Path | None) -> Run | None:
    if path is None:
        return None
    try:
        run = runs.read(path)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not run.cases:
        raise click.BadParameter(f"{path} has no scores of questions")
    return run


def _installed(_context: click.Context, _option: click.Parameter, wanted: bool) -> bool:
    if wanted:
        needs("mlflow")
    return wanted


def output_options(command: F) -> F:
    """Add the options of `Output` to a command; it gets them as the keyword arguments of that class."""
    for option in (
        click.option(
            "--mlflow", is_flag=True, callback=_installed, help="Also log the run for `eval ui`; needs the extra eval."
        ),
        click.option("--save/--no-save", default=True, help="Keep the run in the data folder, or not."),
        click.option(
            "--against",
            type=FILE,
            callback=_run_in,
            help="Compare, question by question, with the JSON of another run.",
        ),
        written_option("--json", "path", says="Also write the measures and every question's scores here."),
    ):
        command = option(command)
    return command


def circumstances(examiner: Examiner, policies: Mapping[str, Policy]) -> dict[str, Any]:
    """Return what a reader of a run must know: settings, model and machine."""
    sessions = examiner.runtime.sessions
    owner = next(iter(examiner.placed.places.values())).user_id
    with user_session(sessions, owner) as session:
        model = active_model(session, owner)
        settings = {
            "limit": examiner.limit,
            "token_budget": DEFAULT_TOKEN_BUDGET,
            "embedding_model": model.model if model else None,
            "policies": {name: asdict(each) for name, each in policies.items()},
        }
    return {"settings": settings, "machine": timing.machine(sessions)}
