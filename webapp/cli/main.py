"""The root of the command line and the commands on accounts and data."""

from __future__ import annotations

import sys
from typing import Any

import click
from tqdm import tqdm

import config
from config import ConfigError
from evals.cli import bench_group, eval_group, import_group
from memory.accounts import SCOPES, create_token, create_user, find_user
from memory.database import make_engine, user_session
from memory.embedding.backfill import utc_now
from memory.embedding.indexes import maintain_indexes
from memory.enrichment.enrich import Enricher
from memory.errors import DomainError
from memory.roles import ROLES, set_role
from memory.server import ServerError
from memory.telemetry import telemetry
from retrieval.candidates import EXACT_SCAN_LIMIT
from tasks.runtime import Runtime, build
from webapp.cli.account import erase_report, export_
from webapp.cli.audit import audit
from webapp.cli.doctor import doctor
from webapp.cli.preferences import preferences
from webapp.cli.serve import up, web, worker
from webapp.cli.wiring import migrate as migrate_schema
from webapp.cli.wiring import migrated_runtime, owner_session
from webapp.observe import set_up_logging


class Commands(click.Group):
    """Turns what our own code refuses into one line on standard error instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (ConfigError, DomainError, ServerError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands)
@click.version_option(package_name="commonplace")
def main() -> None:
    """Long-term memory for AI agents that its owner can read, question, correct and make forget."""
    set_up_logging("WARNING")


@main.command()
def migrate() -> None:
    """Bring the database's schema up to date."""
    migrate_schema(build(config.load()))
    click.echo("The schema is up to date.")


@main.group()
def user() -> None:
    """Accounts."""


@user.command("create")
@click.option("--email", required=True)
@click.option("--password", required=True, help="At least 10 characters; - reads it from standard input.")
@click.option("--admin", is_flag=True, help="May run backfills and see telemetry.")
def create_user_(email: str, password: str, admin: bool) -> None:
    """Add a user."""
    runtime = migrated_runtime()
    secret = sys.stdin.readline().rstrip("\n") if password in {"-"} else password
    with owner_session(runtime) as session:
        created = create_user(
            session,
            email,
            secret,
            soft_cap=runtime.settings.soft_cap,
            now=utc_now(),
            role="admin" if admin else "user",
        )
        address = created.email
    click.echo(f"Created {address}.")


@user.command("role")
@click.option("--email", required=True)
@click.option("--role", type=click.Choice(ROLES), required=True)
def role_(email: str, role: str) -> None:
    """Make a user an admin, or a plain user; the last admin stays one."""
    runtime = migrated_runtime()
    with runtime.sessions() as session:
        user_id = find_user(session, email)
    if user_id is None:
        raise click.ClickException(f"there is no user {email}")
    with owner_session(runtime) as session:
        changed = set_role(session, user_id, role, now=utc_now(), actor="system")
    click.echo(f"{email} is {'now' if changed else 'already'} {'an admin' if role == 'admin' else 'a plain user'}.")


@main.group()
def token() -> None:
    """Agents' credentials."""


@token.command("create")
@click.option("--email", required=True)
@click.option("--name", required=True, help="What the token is for.")
@click.option("--scopes", default="read,write", show_default=True, help=f"Some of {', '.join(SCOPES)}.")
@click.option("--space", help="Confine the token to this space.")
def create_token_(email: str, name: str, scopes: str, space: str | None) -> None:
    """Add a token and print it, this once."""
    runtime = migrated_runtime()
    with runtime.sessions() as session:
        user_id = find_user(session, email)
    if user_id is None:
        raise click.ClickException(f"there is no user {email}")
    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    with user_session(runtime.sessions, user_id) as session:
        secret = create_token(session, user_id, name, wanted, now=utc_now(), space=space)
    click.echo(secret)


@main.command()
@click.option("--index/--no-index", default=True, help="Also build the vector indexes that grown spaces need.")
@click.option("--enrich/--no-enrich", default=True, help="Also read what waits for names and tags, where that is on.")
def backfill(index: bool, enrich: bool) -> None:
    """Embed everything that waits, and read it for names and tags, with progress bars."""
    runtime = migrated_runtime()
    done = _embed(runtime)
    read = 0
    if enrich and runtime.settings.enrichment:
        read = _enrich(runtime)
        # The entities that were found want vectors.
        done += _embed(runtime) if read else 0
    if index:
        owner = make_engine(runtime.databases.owner, pool_size=1)
        maintain_indexes(owner, EXACT_SCAN_LIMIT)
        owner.dispose()
    click.echo(f"{done} embedded, {_waiting(runtime, 'embedding_backlog')} waiting.")
    click.echo(f"{read} read for names and tags, {_waiting(runtime, 'enrichment_backlog')} waiting.")


def _embed(runtime: Runtime) -> int:
    runtime.backfill.sweep()
    with tqdm(total=_waiting(runtime, "embedding_backlog"), unit="memory", desc="embedding", disable=None) as bar:

        def advance(rows: int) -> None:
            bar.update(rows)

        return runtime.backfill.run(advance)


def _enrich(runtime: Runtime) -> int:
    enricher, total = Enricher(runtime.sessions, utc_now, runtime.chat_model), 0
    with tqdm(total=_waiting(runtime, "enrichment_backlog"), unit="text", desc="reading", disable=None) as bar:
        while done := enricher.step():
            total += done
            bar.update(done)
    return total


def _waiting(runtime: Runtime, backlog: str) -> int:
    with runtime.sessions() as session:
        return int(telemetry(session, utc_now())[backlog])


main.add_command(up)
main.add_command(web)
main.add_command(worker)
main.add_command(doctor)
main.add_command(audit)
main.add_command(export_)
main.add_command(erase_report)
main.add_command(preferences)
main.add_command(import_group, "import")
main.add_command(eval_group, "eval")
main.add_command(bench_group, "bench")
