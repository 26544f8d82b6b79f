"""The commands that train: `eval reader`, `eval lighter-reader`, `eval stops` and `eval query-encoder`."""

from __future__ import annotations

from pathlib import Path

import click

from evals.asked import drawn, of_persons, of_talks
from evals.blocks import read_blocks
from evals.cli_eval import eval_group
from evals.cli_support import Between, progress, written_option

_out = written_option("--out", says="Another file to write than the one that is used.")
_UNSTOPPED = "It reads every note to its end until `commonplace eval stops` has been run."
_epochs = click.option(
    "--epochs", type=click.IntRange(min=1), default=1, show_default=True, help="Rounds over the data."
)
_persons = click.option(
    "--persons", type=click.IntRange(min=10), help="Learn from so many, drawn by lot.  [default: all]"
)


@eval_group.command("reader")
@_out
@_epochs
@_persons
@click.option("--since", metavar="FILE", help="Go on from the reader in use, with the files from this one on, as 39.")
def eval_reader(out: Path | None, epochs: int, persons: int | None, since: str | None) -> None:
    """Train what reads questions and notes together, on evals/reading: hours, with --since one."""
    # Imported here: torch takes seconds to load, which no other command should wait for.
    from evals import reader  # noqa: PLC0415
    from retrieval.reading.model import WEIGHTS  # noqa: PLC0415

    try:
        blocks = read_blocks() if since is None else reader.further(since)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    blocks, start = drawn(blocks, persons), None if since is None else WEIGHTS
    with progress(None, "steps") as advance:
        learner = reader.learn(blocks, epochs=epochs, reader=start, on_step=lambda _done, _of, _loss: advance(1))
    reader.save(learner, blocks, file := out or WEIGHTS)
    click.echo(f"{file}: {sum(len(each.questions) for each in blocks)} questions about {len(blocks)} persons")
    click.echo(_UNSTOPPED)


@eval_group.command("lighter-reader")
@_out
@click.option(
    "--share",
    type=Between(0, 1, min_open=True),
    default=0.72,
    show_default=True,
    help="Of the time that it takes.",
)
@click.option(
    "--persons", type=click.IntRange(min=10), default=450, show_default=True, help="Learn by so many, drawn by lot."
)
def eval_lighter_reader(out: Path | None, share: float, persons: int) -> None:
    """Leave out what the reader in use can do without, and train the rest to read as it did: an hour.

    For the first ten minutes it measures what each layer can do without, before the first step.
    """
    # As above.
    from evals import lighter, reader  # noqa: PLC0415
    from retrieval.reading.model import WEIGHTS  # noqa: PLC0415

    blocks = drawn(read_blocks(), persons)
    with progress(None, "steps") as advance:
        learner = lighter.made_lighter(WEIGHTS, blocks, share=share, on_step=lambda *_step: advance(1))
    reader.save(learner, blocks, file := out or WEIGHTS)
    click.echo(f"{file}: {share:g} of the time, by what {len(blocks)} persons are asked")
    click.echo(_UNSTOPPED)


@eval_group.command("stops")
@_out
@click.option("--persons", type=click.IntRange(min=20), default=250, show_default=True, help="Fit to so many.")
def eval_stops(out: Path | None, persons: int) -> None:
    """Fit where the reader in use may stop reading a note, on evals/reading: some minutes."""
    # Imported here as above; this also imports the code that runs the reader.
    from evals import stops  # noqa: PLC0415
    from retrieval.reading.model import STOPS, save_stops  # noqa: PLC0415

    with progress(None, "pairs") as advance:
        fitted = stops.fit(drawn(read_blocks(), persons), on_pair=lambda _done, _of: advance(1))
    save_stops([each.stop for each in fitted], file := out or STOPS)
    for each in fitted:
        click.echo(f"after {each.stop.layer} layers {each.spares:.3f} of what does not answer is read no further")
    click.echo(f"{file}: of what may answer each stop costs {stops.COST:.3f}, of persons that it was not fitted to")


@eval_group.command("query-encoder")
@_out
@_epochs
@_persons
@click.option("--talks", type=click.IntRange(min=1), help="Learn from so many, drawn by lot.  [default: all]")
def eval_query_encoder(out: Path | None, epochs: int, persons: int | None, talks: int | None) -> None:
    """Train what embeds questions for the bundled model, on evals/reading and evals/talks: some twenty minutes."""
    # As above.
    from evals import query_encoder  # noqa: PLC0415
    from memory.embedding.query_encoder import LEARNED  # noqa: PLC0415

    known = of_persons(drawn(read_blocks(), persons))
    said = drawn(of_talks(), talks)
    with progress(None, "steps") as advance:
        learners = [
            query_encoder.train(
                memories, rounds=epochs * rounds, others=others, on_step=lambda _done, _of, _loss: advance(1)
            )
            for memories, rounds, others in (
                (known, query_encoder.NOTE_ROUNDS, query_encoder.OTHER_NOTES),
                (said, query_encoder.TALK_ROUNDS, query_encoder.OTHER_TURNS),
            )
        ]
    query_encoder.save(learners, file := out or LEARNED)
    asked = sum(len(each.asked) for each in (*known, *said))
    click.echo(f"{file}: {asked} questions about {len(known)} persons and {len(said)} talks")
