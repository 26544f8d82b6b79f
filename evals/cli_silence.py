"""The command `eval silence`."""

from __future__ import annotations

from pathlib import Path

import click

from evals import golden, silence
from evals.cli_eval import eval_group, placed, read
from evals.cli_output import FILE
from evals.cli_support import by_field, progress
from evals.dataset import joined
from evals.datasets import is_held_out
from evals.policies import DEFAULT
from evals.throwaway import throwaway
from memory.clock import utc_now
from retrieval.policy import NAMED, PolicyError, policy_from


def _grid(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> silence.Grid:
    """Return the values of each field of `FIELD=VALUE,…`s."""
    grid = {}
    for field, listed in by_field(given).items():
        try:
            values = tuple(float(value) for value in listed.split(","))
        except ValueError:
            raise click.BadParameter(f"{field}={listed} is not FIELD=VALUE,VALUE with numbers") from None
        try:
            for value in values:
                policy_from({field: value}, NAMED[DEFAULT])
        except PolicyError as error:
            raise click.BadParameter(str(error)) from None
        grid[field] = values
    return grid


@eval_group.command("silence")
@click.argument("files", type=FILE, nargs=-1)
@click.option("--held-out-too", is_flag=True, help="Take files that nothing should be tuned on.")
@click.option("--rules", is_flag=True, help="Fit the rules that decide where nothing is read.")
@click.option(
    "--try",
    "grid",
    multiple=True,
    metavar="FIELD=VALUE,…",
    callback=_grid,
    help="Try these values of a number instead, as worded_reading=0.01,0.02; one alone holds throughout. Repeatable.",
)
def eval_silence(files: tuple[Path, ...], held_out_too: bool, rules: bool, grid: silence.Grid) -> None:
    """Fit on any data sets FILES when a search should find nothing; the defaults stay as they are.

    Without FILES on the golden cases and the near misses.
    """
    files = files or (golden.BUNDLED, golden.NEAR_MISSES)
    if (kept := [each for each in files if is_held_out(each)]) and not held_out_too:
        raise click.ClickException(f"{kept[0]} is held out: what is tuned on it can no longer be measured on it")
    data = joined([read(each) for each in files])
    if rules and grid:
        raise click.UsageError("--rules has its own numbers: leave out --try")
    grid, now = grid or (silence.RULES if rules else silence.READING), utc_now()
    with throwaway(now=now) as (runtime, user_id):
        examiner = placed(runtime, user_id, data, now)
        with progress(len(silence.asked(data)), "questions") as advance:
            found = silence.fit(examiner, data, grid, advance)
    click.echo(silence.to_text(found))
