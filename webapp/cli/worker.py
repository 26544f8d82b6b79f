"""`worker`: the process that embeds, purges and maintains in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

import click

from tasks.registry import configure, huey
from webapp.cli.loading import allow_ending, in_order, preload
from webapp.cli.revive import watch
from webapp.cli.running import migrated_runtime
from webapp.logs import set_up_logging

# How long the worker's threads may take to end. One that waits for a task looks up every second.
ENDING = 3.0  # seconds


@click.command()
def worker() -> None:
    """Embed, purge and maintain in the background."""
    allow_ending()
    runtime = migrated_runtime()
    set_up_logging(runtime.settings.log_level)
    watch(runtime.server)
    configure(runtime)
    preload(runtime, asked=False)
    consumer = huey.create_consumer(workers=2, periodic=True, initial_delay=0.1, max_delay=1.0, scheduler_interval=1)
    with in_order():
        consumer.run()
    _join([consumer.scheduler, *(thread for _, thread in consumer.worker_threads)])


def _join(threads: Iterable[threading.Thread]) -> None:
    """Wait a little for those who read the queue: the last process on a data folder stops the database as it ends."""
    deadline = time.monotonic() + ENDING
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
