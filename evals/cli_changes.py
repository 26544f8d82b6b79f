"""The command `eval changes`."""

from __future__ import annotations

from pathlib import Path

import click

from evals import changes, jsonl
from evals.cli_eval import eval_group
from evals.cli_output import FILE
from evals.cli_support import progress
from evals.errors import MeasureError
from evals.throwaway import throwaway
from memory.clock import utc_now


@eval_group.command("changes")
@click.argument("file", type=FILE, default=changes.BUNDLED)
def eval_changes(file: Path) -> None:
    """Compare what is proposed as an update with what does replace an earlier memory, by a JSONL FILE that says so.

    Without FILE by evals/changes.jsonl.
    """
    try:
        data, now = jsonl.read(file, asked=False), utc_now()
        with throwaway(now=now) as (runtime, user_id), progress(data.size, "memories") as advance:
            found = changes.measure(runtime, user_id, data, now=now, on_progress=advance)
    except (ValueError, MeasureError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(changes.to_text(found, data))
