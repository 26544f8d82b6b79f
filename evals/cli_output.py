"""What every evaluating command does with its run: compare, print, keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import click

import config
from evals import mlflow_log, runs, timing
from evals.cli_support import write_json, written_option
from evals.examine import Examiner
from evals.extra import needs
from evals.means import compare, counted
from evals.report import measures_to_text
from memory.database import user_session
from memory.embedding.models import active_model
from retrieval.policy import Policy
from retrieval.query import DEFAULT_TOKEN_BUDGET

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
together_option = click.option("--together", "as_one", is_flag=True, help="Put the memories of all persons into one.")


@dataclass(frozen=True, slots=True)
class Output:
    """Where a run goes besides the screen; `against` are the scores of each question in another run."""

    path: Path | None
    against: Mapping[str, Mapping[str, float]] | None
    save: bool
    mlflow: bool

    def finish(self, command: str, text: str, values: Mapping[str, Any], *, started: datetime) -> Path | None:
        """Print, compare and keep a run; return the file that it is kept in, None where it is not."""
        now = datetime.now(UTC)
        record = {
            "command": command,
            "at": started.isoformat(timespec="seconds"),
            "seconds": round((now - started).total_seconds(), 1),
            "version": version("commonplace"),
            **values,
        }
        if self.against is not None:
            differences = compare(counted(record.get("cases", {}), record.get("apart", ())), self.against)
            record["against"] = {name: asdict(each) for name, each in differences.items()}
            text = f"{measures_to_text(differences, 'difference')}\n\n{text}"
        click.echo(text)
        # First of all, so that nothing that fails after hours of measuring takes them along.
        kept = runs.save(config.load().home, record, now=started) if self.save else None
        if kept is not None:
            click.echo(f"kept as {kept}", err=True)
        write_json(record, self.path)
        if self.mlflow:
            mlflow_log.log(config.load().home, record)
        return kept


def _scores_of(_context: click.Context, _option: click.Parameter, path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["cases"])
    except (ValueError, KeyError, TypeError) as error:
        raise click.BadParameter(f"{path} is not the JSON of a run ({type(error).__name__})") from None


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
            callback=_scores_of,
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
