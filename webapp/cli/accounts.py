"""`user` and `token`: who may come in."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click

from memory.accounts import SCOPES, create_token, create_user
from memory.database import user_session
from memory.roles import ROLES, set_role
from webapp.cli.wiring import migrated_store, owner_session, user_named


@click.group()
def user() -> None:
    """Accounts."""


@user.command("create")
@click.option("--email", required=True)
@click.option("--password", required=True, help="At least 10 characters; - reads it from standard input.")
@click.option("--admin", is_flag=True, help="May run backfills and see telemetry.")
def create_user_(email: str, password: str, admin: bool) -> None:
    """Add a user."""
    store = migrated_store()
    secret = sys.stdin.readline().rstrip("\n") if password in {"-"} else password
    with owner_session(store) as session:
        created = create_user(
            session,
            email,
            secret,
            soft_cap=store.settings.soft_cap,
            now=datetime.now(UTC),
            role="admin" if admin else "user",
        )
        address = created.email
    click.echo(f"Created {address}.")


@user.command("role")
@click.option("--email", required=True)
@click.option("--role", type=click.Choice(ROLES), required=True)
def role_(email: str, role: str) -> None:
    """Make a user an admin, or a plain user; the last admin stays one."""
    store = migrated_store()
    user_id = user_named(store, email)
    with owner_session(store) as session:
        changed = set_role(session, user_id, role, now=datetime.now(UTC), actor="system")
    click.echo(f"{email} is {'now' if changed else 'already'} {'an admin' if role == 'admin' else 'a plain user'}.")


@click.group()
def token() -> None:
    """Agents' credentials."""


@token.command("create")
@click.option("--email", required=True)
@click.option("--name", required=True, help="What the token is for.")
@click.option("--scopes", default="read,write", show_default=True, help=f"Some of {', '.join(SCOPES)}.")
@click.option("--space", help="Confine the token to this space.")
def create_token_(email: str, name: str, scopes: str, space: str | None) -> None:
    """Add a token and print it, this once."""
    store = migrated_store()
    user_id = user_named(store, email)
    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    with user_session(store.sessions, user_id) as session:
        secret = create_token(session, user_id, name, wanted, now=datetime.now(UTC), space=space)
    click.echo(secret)
