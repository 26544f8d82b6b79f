"""The command `eval reader`."""

from __future__ import annotations

from pathlib import Path

import click

from evals.cli_eval import eval_group
from evals.cli_support import progress


@eval_group.command("reader")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Another file to write than the one that is used."
)
@click.option("--epochs", type=click.IntRange(min=1), help="Rounds over the data.  [default: 2]")
def eval_reader(out: Path | None, epochs: int | None) -> None:
    """Train what reads questions and notes together, on evals/reading: some forty minutes."""
    # Here, as torch takes seconds to load that no other command should wait for.
    from evals import reader  # noqa: PLC0415
    from retrieval.reading import WEIGHTS  # noqa: PLC0415

    blocks = reader.read_blocks()
    rounds = epochs or reader.EPOCHS
    with progress(None, "steps") as advance:
        learner = reader.learn(blocks, epochs=rounds, on_step=lambda _done, _of, _loss: advance(1))
    reader.save(learner, blocks, file := out or WEIGHTS)
    click.echo(f"{file}: {sum(len(each.questions) for each in blocks)} questions about {len(blocks)} persons")
