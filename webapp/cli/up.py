"""`up`: everything at once, kept running by a process that serves nothing itself."""

from __future__ import annotations

import sys

import click

from webapp.cli import children
from webapp.cli.lazy import uncollected
from webapp.cli.ports import check_free, host_option, port_option


@click.command()
@host_option
@port_option
@click.option("--no-demo", is_flag=True, help="Make no demo user.")
def up(host: str, port: int, no_demo: bool) -> None:
    """Start everything: database, web and worker. Ctrl-C stops it all."""
    check_free(host, port)
    commands = {
        "web": ["web", "--host", host, "--port", str(port)],
        "worker": ["worker"],
    }
    # The web process starts first: its imports take as long as all that is to be done here before it may serve.
    running = {"web": children.start(commands["web"])}
    try:
        if sys.stdout.isatty():
            click.echo("Commonplace is starting.")
        with uncollected():
            from webapp.cli.supervisor import supervise  # noqa: PLC0415 - what the other process need not wait for

        supervise(host, port, commands, running, with_demo=not no_demo)
    finally:
        children.stop(running)
