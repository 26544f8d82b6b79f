"""The root of the command line: which commands there are, and where."""

from __future__ import annotations

from typing import Any

import click

from config import ConfigError
from memory.ending import end_at_sigterm
from memory.errors import BackupError, DomainError, SchemaError, ServerError, first_line
from webapp.cli.lazy import Lazy, LazyGroup
from webapp.logs import set_up_logging

COMMANDS = {
    "audit": Lazy("webapp.cli.audit:audit", "What was done."),
    "backfill": Lazy(
        "webapp.cli.backfill:backfill",
        "Embed everything that waits, and read it for names, tags and facts, with progress bars.",
    ),
    "backup": Lazy("webapp.cli.backup:backup", "Copy the data folder to FOLDER while the server runs."),
    "bench": Lazy(
        "evals.cli:bench_group", "Measure how fast this machine searches and embeds, in a database of its own."
    ),
    "doctor": Lazy(
        "webapp.cli.doctor:doctor", "Look at the settings, the data folder, the database, the queue and the model."
    ),
    "erase-report": Lazy("webapp.cli.erasure:erase_report", "Reports of accounts that were erased."),
    "eval": Lazy("evals.cli:eval_group", "Measure how well the search finds what was said."),
    "export": Lazy("webapp.cli.export:export_", "Write everything that is kept of a user as one JSON document."),
    "import": Lazy(
        "webapp.cli.imports:import_group", "Bring in an export, or memories and conversations from elsewhere."
    ),
    "migrate": Lazy("webapp.cli.migrate:migrate", "Bring the database's schema up to date."),
    "preferences": Lazy("webapp.cli.preferences:preferences", "How a user likes things done."),
    "token": Lazy("webapp.cli.tokens:token", "Agents' credentials."),
    "up": Lazy("webapp.cli.up:up", "Start everything: database, web and worker."),
    "user": Lazy("webapp.cli.accounts:user", "Accounts."),
    "web": Lazy("webapp.cli.web:web", "Serve pages and interface with gunicorn."),
    "worker": Lazy("webapp.cli.worker:worker", "Embed, purge and maintain in the background."),
}


class Commands(LazyGroup):
    """Turns what our own code refuses, and a database that goes away, into one line on standard error."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (BackupError, ConfigError, DomainError, SchemaError, ServerError) as error:
            raise click.ClickException(str(error)) from error
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            # What was given is not quoted: it may be a password, and only who gave it knows.
            said = f"what was given is not UTF-8 ({error.reason})"
            if isinstance(error, UnicodeEncodeError) and error.encoding != "utf-8":
                said = f"what there is to say cannot be written in {error.encoding}: set PYTHONIOENCODING to utf-8"
            raise click.ClickException(said) from None
        except Exception as error:
            if (ended := _ended_by(error)) is not None:
                # The signal came in the middle of a query, and what the driver says of that is not why this ends.
                raise ended from None
            if (reason := _failure(error)) is None:
                raise
            raise click.ClickException(f"the database failed before this was done: {reason}") from error


def _failure(error: Exception) -> str | None:
    """Return why the database failed, in a line; None where it is not that which did."""
    # Imported here, as most commands need no driver.
    import psycopg  # noqa: PLC0415
    from sqlalchemy.exc import OperationalError  # noqa: PLC0415

    cause = (error.orig or error) if isinstance(error, OperationalError) else error
    if not isinstance(cause, (OperationalError, psycopg.OperationalError)):
        return None
    # A full disk has a line of its own in what the driver says.
    full = "its disk is full, " if isinstance(cause, psycopg.errors.DiskFull) else ""
    return full + first_line(cause)


def _ended_by(error: BaseException | None) -> BaseException | None:
    """Return what was ending the command when an error came of that: Ctrl-C, or an exit; None where neither was."""
    while error is not None:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return error
        error = error.__cause__ or error.__context__
    return None


@click.group(cls=Commands, lazy=COMMANDS)
@click.version_option(package_name="commonplace")
def main() -> None:
    """Long-term memory for AI agents that its owner can read, question, correct and make forget."""
    # Before a database is started: the last process on a data folder stops it as it ends.
    end_at_sigterm()
    set_up_logging("WARNING")
