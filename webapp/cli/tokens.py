"""`token`: what agents come in with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import click

from memory.accounts.accounts import LONGEST_LIFE, SCOPES, create_token, find_token, list_tokens, revoke_token
from memory.clock import utc_now
from memory.models import Token
from memory.spaces.spaces import list_spaces
from memory.storage.database import user_session
from webapp.cli.wiring import migrated_store, owner_session, user_named


@click.group()
def token() -> None:
    """Agents' credentials."""


@token.command("create")
@click.option("--email", required=True)
@click.option("--name", required=True, help="What the token is for.")
@click.option(
    "--scopes", multiple=True, default=["read,write"], show_default=True, help=f"Some of {', '.join(SCOPES)}."
)
@click.option("--space", help="Confine the token to this space.")
@click.option("--days", type=click.IntRange(1, LONGEST_LIFE.days), help="Let it expire after so many days.")
def create_token_(email: str, name: str, scopes: Sequence[str], space: str | None, days: int | None) -> None:
    """Add a token and print it, this once."""
    store, now = migrated_store(), utc_now()
    user_id = user_named(store, email)
    wanted = [scope.strip() for scope in ",".join(scopes).split(",") if scope.strip()]
    with user_session(store.sessions, user_id) as session:
        expires = now + timedelta(days=days) if days is not None else None
        secret = create_token(session, user_id, name, wanted, now=now, actor="system", space=space, expires_at=expires)
    click.echo(secret)


@token.command("list")
@click.option("--email", required=True)
def list_(email: str) -> None:
    """Show each token of a user in a line: how it begins, what it may do, and whether it still opens anything."""
    store, now = migrated_store(), utc_now()
    user_id = user_named(store, email)
    with user_session(store.sessions, user_id) as session:
        slugs = {space.id: space.slug for space in list_spaces(session, user_id)}
        lines = [_line(each, slugs, now) for each in list_tokens(session, user_id)]
    for line in lines:
        click.echo(line)
    if not lines:
        click.echo(f"{email} has no token.", err=True)


def _line(token: Token, slugs: dict[UUID, str], now: datetime) -> str:
    used = f"last used {token.last_used_at:%Y-%m-%d}" if token.last_used_at else "never used"
    said = [f"{token.prefix}  {','.join(token.scopes)}", f"made {token.created_at:%Y-%m-%d}", used]
    said += [f"only {slugs[token.space_id]}"] if token.space_id else []
    if token.revoked_at is not None:
        said.append(f"revoked {token.revoked_at:%Y-%m-%d}")
    elif token.expires_at is not None:
        said.append(f"{'expires' if token.usable(now) else 'expired'} {token.expires_at:%Y-%m-%d}")
    return f"{', '.join(said)}: {_shown(token.name)}"


def _shown(name: str) -> str:
    """Return what a user wrote as it can do nothing to a terminal: it ends no line, and moves no cursor."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name)


@token.command("revoke")
@click.argument("given", metavar="TOKEN")
def revoke(given: str) -> None:
    """Close TOKEN for good: give it whole, as where it leaked, or how it begins, as `token list` shows it."""
    with owner_session(migrated_store()) as session:
        found = find_token(session, given.strip())
        was_open = found.revoked_at is None
        revoke_token(session, found.user_id, found.id, now=utc_now(), actor="system")
        said = f"{found.prefix} is {'now' if was_open else 'already'} revoked: {_shown(found.name)}"
    click.echo(said)
