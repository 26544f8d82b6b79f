"""`commonplace audit`: checking the chains of audit events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

import click
from sqlalchemy import func, select
from tqdm import tqdm

from memory.models import User
from memory.record.audit import Head, Verification, to_head, verify
from memory.storage.database import user_session
from tasks.store import Store
from webapp.cli.wiring import migrated_store, user_named


@click.group()
def audit() -> None:
    """What was done."""


@audit.command("verify")
@click.option("--email", help="Check this user's events only.")
@click.option("--expect", help="A head that was noted before, as SEQUENCE:HASH; needs --email.")
def verify_(email: str | None, expect: str | None) -> None:
    """Check that nobody has changed, removed or added an audit event; exit with 1 if somebody has.

    Prints the head of each chain: noted elsewhere and given as --expect, it shows later that the end was not cut off.
    """
    if expect is not None and email is None:
        raise click.UsageError("--expect is the head of one user's chain: it needs --email")
    expected = to_head(expect) if expect is not None else None
    store = migrated_store()
    users = _users(store, email)
    broken = 0
    with tqdm(users, unit="user", disable=None) as bar:
        for address, found in _check(store, bar, expected):
            broken += not found.ok
            bar.write(_line(address, found))
    if broken:
        click.echo(f"{broken} of {len(users)} chains are broken.", err=True)
        raise SystemExit(1)


def _users(store: Store, email: str | None) -> list[UUID]:
    if email is not None:
        return [user_named(store, email)]
    with store.sessions() as session:
        return list(session.scalars(select(func.all_users())))


def _check(store: Store, users: Iterable[UUID], expected: Head | None) -> Iterator[tuple[str, Verification]]:
    for user_id in users:
        with user_session(store.sessions, user_id) as session:
            address = session.scalar(select(User.email).where(User.id == user_id))
            yield address or str(user_id), verify(session, user_id, expected)


def _line(address: str, found: Verification) -> str:
    if found.ok:
        return f"ok   {address}: {found.events} events, head {found.head or '-'}"
    place = f" at {found.sequence}" if found.sequence is not None else ""
    event = f", event {found.event_id}" if found.event_id is not None else ""
    return f"BAD  {address}: {found.reason}{place}{event}; {found.events} sound events before it"
