"""`user`: who may come in."""

from __future__ import annotations

import json
import sys
import warnings
from datetime import datetime
from getpass import GetPassWarning

import click
from sqlalchemy.orm import Session

from memory.accounts.accounts import create_user, set_password
from memory.accounts.roles import ROLES, set_disabled, set_role
from memory.clock import utc_now
from memory.errors import ConflictError
from memory.storage.database import user_session
from webapp.cli.wiring import migrated_store, owner_session, user_named
from webapp.demo_login import EMAIL, known_admin

LISTED_AT_ONCE = 1000

_password_option = click.option(
    "--password", help="At least 10 characters; - reads it from standard input. Without it you are asked."
)


@click.group()
def user() -> None:
    """Accounts."""


@user.command("create")
@click.option("--email", required=True)
@_password_option
@click.option("--admin", is_flag=True, help="May run backfills and see telemetry.")
def create_user_(email: str, password: str | None, admin: bool) -> None:
    """Add a user."""
    store = migrated_store()
    secret = _secret(password)
    with owner_session(store) as session:
        created = create_user(
            session,
            email,
            secret,
            soft_cap=store.settings.soft_cap,
            now=utc_now(),
            role="admin" if admin else "user",
        )
        address = created.email
        said = leave_demo_no_admin(session, now=utc_now())
    click.echo(f"Created {address}.")
    if said:
        click.echo(said, err=True)


def leave_demo_no_admin(session: Session, *, now: datetime) -> str:
    """Make the demo a plain user where everybody knows its password, and return what to say of that, if anything.

    The only admin it stays, as there must be one.
    """
    demo = known_admin(session)
    if demo is None:
        return ""
    try:
        set_role(session, demo, "user", now=now, actor="system")
    except ConflictError:
        return (
            f"{EMAIL} is the only admin, and everybody on this machine knows its password: who has that may read all "
            f"that is kept here. Make an admin with --admin, or set another password: user password --email {EMAIL}"
        )
    return f"{EMAIL} is an admin no more: everybody knows its password."


@user.command("list")
@click.option("--named", default="", help="Only addresses that have this in them.")
def list_(named: str) -> None:
    """Show each account in a line: who it is, and how much it has; never what."""
    # Imported here, as it brings what embeds along, which the other commands need not wait for.
    from memory.operators.operators import list_accounts  # noqa: PLC0415

    with owner_session(migrated_store()) as session:
        page = list_accounts(session, limit=LISTED_AT_ONCE, named=named)
        found = [*page.accounts]
        while page.next_cursor is not None:
            page = list_accounts(session, limit=LISTED_AT_ONCE, cursor=page.next_cursor, named=named)
            found += page.accounts
    widest = max((len(each.email) for each in found), default=0)
    for each in found:
        out = f", disabled since {each.disabled_at:%Y-%m-%d}" if each.disabled_at is not None else ""
        has = f"memories {each.memories}, conversations {each.conversations}, tokens {each.tokens}"
        click.echo(f"{each.email:{widest}}  {each.role:5}  since {each.created_at:%Y-%m-%d}  {has}{out}")
    if not found:
        click.echo("There is no such account." if named else "There is no account yet.", err=True)


@user.command("password")
@click.option("--email", required=True)
@_password_option
def password_(email: str, password: str | None) -> None:
    """Set another password, where the old one is lost; every browser of the user is logged out."""
    store = migrated_store()
    user_id = user_named(store, email)
    secret = _secret(password)
    with user_session(store.sessions, user_id) as session:
        set_password(session, user_id, secret, now=utc_now(), actor="system")
    click.echo(f"The password of {email} is changed. Every browser is logged out.")


def _secret(given: str | None) -> str:
    if given is None:
        return _asked()
    # What Windows ends its lines with is no part of a password: nobody could type it.
    return sys.stdin.readline().rstrip("\r\n") if given == "-" else given


def _asked() -> str:
    with warnings.catch_warnings():
        # Without a terminal it would be asked for where it is seen.
        warnings.simplefilter("error", GetPassWarning)
        try:
            return str(click.prompt("Password", hide_input=True, confirmation_prompt="Once more", err=True))
        except GetPassWarning as error:
            advice = "--password - reads it from standard input"
            raise click.ClickException(f"there is no terminal to ask for the password on: {advice}") from error


@user.command("role")
@click.option("--email", required=True)
@click.option("--role", type=click.Choice(ROLES), required=True)
def role_(email: str, role: str) -> None:
    """Make a user an admin, or a plain user; the last admin stays one."""
    store = migrated_store()
    user_id = user_named(store, email)
    with owner_session(store) as session:
        changed = set_role(session, user_id, role, now=utc_now(), actor="system")
    click.echo(f"{email} is {'now' if changed else 'already'} {'an admin' if role == 'admin' else 'a plain user'}.")


@user.command("disable")
@click.option("--email", required=True)
def disable_(email: str) -> None:
    """Refuse every browser and token of a user from now on; nothing is deleted, and the last admin stays in."""
    _let_in(email, disabled=True)


@user.command("enable")
@click.option("--email", required=True)
def enable_(email: str) -> None:
    """Let a user in again who was disabled, with the same password and tokens."""
    _let_in(email, disabled=False)


def _let_in(email: str, *, disabled: bool) -> None:
    store = migrated_store()
    user_id = user_named(store, email)
    with owner_session(store) as session:
        changed = set_disabled(session, user_id, disabled=disabled, now=utc_now(), actor="system")
    click.echo(f"{email} is {'now' if changed else 'already'} {'disabled' if disabled else 'enabled'}.")


@user.command("erase")
@click.option("--email", required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase_(email: str, yes: bool) -> None:
    """Erase a user with all that is kept of them, and print the signed report, which is kept nowhere.

    The last admin stays as long as there is anybody else.
    """
    # Imported here, as they bring what embeds along. With Redis, the runtime is what drops the copies there.
    from memory.accounts.erase import erase_for_good  # noqa: PLC0415
    from webapp.cli.running import migrated_runtime  # noqa: PLC0415

    runtime = migrated_runtime(serves=False)
    user_id = user_named(runtime, email)
    if not yes:
        click.confirm(f"Erase {email} with all that is kept of them? There is no undo", abort=True, err=True)
    with runtime.databases.as_owner() as owner:
        report = erase_for_good(owner, user_id, keys=runtime.keys, now=utc_now())
    click.echo(json.dumps(report, indent=2))
