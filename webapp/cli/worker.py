"""`worker`: the process that embeds, purges and maintains in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

import click
from psycopg import OperationalError
from redis.exceptions import RedisError

from memory.errors import first_line
from tasks.app import ForeignTaskError
from tasks.embedding import THREADS
from tasks.registry import configure, huey
from webapp.cli.children import held_option, is_let_go
from webapp.cli.loading import allow_ending, in_order, preload
from webapp.cli.revive import watch
from webapp.cli.running import migrated_runtime, warn_of_unread
from webapp.logs import set_up_logging

# How long the worker's threads may take to end. One that waits for a task looks up every second.
ENDING = 3.0  # seconds
# No task waits for one statement for longer: where the process of the database that runs it has stopped, it never ends.
# The longest purges read the whole record of calls, which takes minutes; indexes are built as their owner, without end.
LONGEST_STATEMENT = 3600.0  # seconds
# How often it is said that the queue is away.
SAYING = 60.0  # seconds


@click.command()
@held_option
def worker(held: bool) -> None:
    """Embed, purge and maintain in the background."""
    if held and not is_let_go():
        return
    allow_ending()
    runtime = migrated_runtime(limit=LONGEST_STATEMENT)
    set_up_logging(runtime.settings.log_level)
    if not held:
        warn_of_unread()
    watch(runtime.server)
    configure(runtime)
    preload(runtime, asked=False)
    away = _Away()
    for reader in ("huey", "huey.consumer.Worker", "huey.consumer.Scheduler"):
        logging.getLogger(reader).addFilter(away)
        logging.getLogger(reader).addFilter(left_out_in_a_line)
    consumer = huey.create_consumer(
        # What reads conversations for facts waits for the language model, and nobody else for a thread.
        workers=THREADS + (runtime.chat_model is not None),
        periodic=True,
        initial_delay=0.1,
        max_delay=1.0,
        scheduler_interval=1,
        # At Ctrl-C, too: a task may take hours.
        shutdown_timeout=ENDING,
    )
    runtime.backfill.end_with(consumer.stop_flag)
    with in_order():
        consumer.run()
    _join([consumer.scheduler, *(thread for _, thread in consumer.worker_threads)])


def left_out_in_a_line(record: logging.LogRecord) -> bool:
    """Log in a line, without a trace, that a task is left out: after an upgrade each one that waits may be."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ForeignTaskError):
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        record.msg = "a queued task is left out, as %s; what it was for is found by the next sweep"
        record.args, record.exc_info, record.exc_text = (str(error),), None, None
    return True


class _Away(logging.Filter):
    """Logs in a line, and only now and then, that the queue is away, which every thread notices each second."""

    def __init__(self) -> None:
        super().__init__()
        self._silent_until = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Leave all else as it is."""
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, (OperationalError, RedisError, OSError)):
            return True
        now = time.monotonic()
        if now < self._silent_until:
            return False
        self._silent_until = now + SAYING
        reason = first_line(error)
        record.msg, record.args = "the queue does not answer, trying again all along: %s", (reason,)
        record.exc_info = record.exc_text = None
        return True


def _join(threads: Iterable[threading.Thread]) -> None:
    """Wait a little for the threads that read the queue: the last process on a data folder stops the database."""
    deadline = time.monotonic() + ENDING
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
