"""The command `eval sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evals import sweep_report
from evals.cli_eval import eval_group, placed, read
from evals.cli_output import FILE, Output, circumstances, output_options, together_option
from evals.cli_support import progress, written_option
from evals.datasets import is_held_out
from evals.extra import needs
from evals.sweep import sweep
from evals.throwaway import throwaway
from memory.clock import utc_now


@eval_group.command("sweep")
@click.argument("file", type=FILE)
@together_option
@click.option("--trials", default=40, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--questions", "most", type=click.IntRange(1), help="Ask at most so many, evenly spread; all by default.")
@written_option("--svg", "picture", says="Draw to this file; by default beside the kept run.")
@click.option("--held-out-too", is_flag=True, help="Take a file that nothing should be tuned on.")
@output_options
def eval_sweep(
    file: Path,
    as_one: bool,
    trials: int,
    most: int | None,
    picture: Path | None,
    held_out_too: bool,
    **output: Any,
) -> None:
    """Try other numbers of the ranking on the questions of any data set FILE; the defaults stay as they are."""
    if is_held_out(file) and not held_out_too:
        raise click.ClickException(f"{file} is held out: what is tuned on it can no longer be measured on it")
    needs("optuna", "matplotlib")
    data, now, goes = read(file, as_one=as_one), utc_now(), Output(**output)
    goes.check(data)
    with throwaway(now=now) as (runtime, user_id):
        examiner = placed(runtime, user_id, data, now)
        with progress(trials, "trials") as advance:
            found = sweep(examiner, data, trials=trials, most=most, on_progress=advance)
        policies = {"chosen": found.chosen.policy, "default": found.default.policy}
        values = {**sweep_report.to_values(found), **circumstances(examiner, policies)}
    kept = goes.finish("sweep", sweep_report.to_text(found), values, started=now)
    target = picture or (kept.with_suffix(".svg") if kept else None)
    if target is not None:
        sweep_report.draw(found, target)
        click.echo(f"drawn in {target}", err=True)
