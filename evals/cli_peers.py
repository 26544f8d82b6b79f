"""The commands `eval peers` and `eval peers-install`."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import click

import config
from evals.cli_eval import eval_group, read
from evals.cli_output import together_option
from evals.cli_support import progress, write_json, written_option
from evals.peers.catalog import ENVIRONMENTS, FOLDER, NAMES, PEERS
from evals.peers.compare import Comparison, to_text, to_values
from evals.peers.install import install
from evals.peers.measure import measure_all, part_of, peer_contender
from evals.peers.models import make_models
from evals.peers.ours import our_contender
from memory.clock import utc_now
from memory.ending import ending_at_sigterm

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
PLACE = click.Path(file_okay=False, path_type=Path)
WHERE = click.option("--environments", type=PLACE, help="Folder of the environments; by default in the data folder.")


@eval_group.command("peers-install")
@click.option("--peer", "names", multiple=True, type=click.Choice(ENVIRONMENTS), help="Only this one; repeatable.")
@WHERE
def eval_peers_install(names: tuple[str, ...], environments: Path | None) -> None:
    """Install the memory systems that `eval peers` compares with, each in an environment of its own."""
    folder = _folder(environments)
    click.echo("the embedding model", err=True)
    make_models(folder)
    for name in names or ENVIRONMENTS:
        click.echo(f"{name}: {folder / name}", err=True)
        install(name, folder)


@eval_group.command("peers")
@click.argument("file", type=FILE)
@click.option("--peer", "names", multiple=True, type=click.Choice(NAMES), help="Only this one; repeatable.")
@click.option("--questions", type=click.IntRange(1), help="Ask at most so many, evenly spread; all by default.")
@click.option("--conversations", type=click.IntRange(1), help="Only the first so many, or users; all by default.")
@together_option
@written_option("--json", "path", says="Also write every figure and each question's scores here.")
@WHERE
def eval_peers(
    file: Path,
    names: tuple[str, ...],
    questions: int | None,
    conversations: int | None,
    as_one: bool,
    path: Path | None,
    environments: Path | None,
) -> None:
    """Ask the questions of any data set FILE of this and of other memory systems, with the same embedding model."""
    data = part_of(read(file, as_one=as_one), collections=conversations, questions=questions)
    if not data.questions:
        raise click.ClickException(f"{file}: there is no question to compare by")
    started, folder = utc_now(), _folder(environments)
    chosen = [peer_contender(each, folder) for each in PEERS if each.name in (names or NAMES)]
    with ending_at_sigterm(), progress((1 + len(chosen)) * (data.size + len(data.questions)), "steps") as advance:
        ours, *others = measure_all([our_contender(), *chosen], data, advance)
    found = Comparison(data, ours, tuple(others))
    record = {
        "command": "peers",
        "at": started.isoformat(timespec="seconds"),
        "seconds": round((utc_now() - started).total_seconds(), 1),
        "version": version("commonplace"),
        "machine": {"platform": platform.platform(), "cpus": os.cpu_count(), "python": platform.python_version()},
        **to_values(found),
    }
    try:
        write_json(record, path)
    finally:
        # Whoever read the output may have closed the pipe by now.
        click.echo(to_text(found))
    if not found.differences:
        # A caller that looks at the exit code alone would take this for a comparison that was won.
        raise click.ClickException("no peer could be measured")


def _folder(environments: Path | None) -> Path:
    return environments or config.load().home / FOLDER
