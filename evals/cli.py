"""The commands `eval`, `bench` and `import locomo`, which the main command line mounts."""

from __future__ import annotations

from pathlib import Path

import click

from evals.cli_bench import bench_group
from evals.cli_changes import eval_changes
from evals.cli_eval import eval_group
from evals.cli_peers import eval_peers, eval_peers_install
from evals.cli_reader import eval_reader
from evals.cli_silence import eval_silence
from evals.cli_support import bring_in, embed_all, own_data_of, read_conversations
from evals.cli_sweep import eval_sweep
from evals.cli_tasks import eval_tasks
from evals.errors import MeasureError
from memory.clock import utc_now

__all__ = [
    "bench_group",
    "eval_changes",
    "eval_group",
    "eval_peers",
    "eval_peers_install",
    "eval_reader",
    "eval_silence",
    "eval_sweep",
    "eval_tasks",
    "import_locomo",
]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("locomo")
@click.argument("file", type=FILE)
@click.option("--email", required=True, help="Whose memory to import into.")
def import_locomo(file: Path, email: str) -> None:
    """Import the conversations of a LoCoMo FILE, a space for each; safe to repeat."""
    conversations = read_conversations(file)
    with own_data_of(email) as (runtime, user_id):
        try:
            bring_in(runtime, user_id, conversations, utc_now())
        except MeasureError as error:
            raise click.ClickException(str(error)) from None
        embed_all(runtime)
