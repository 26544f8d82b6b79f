"""How often somebody may try to log in: by account and by address, and only failures count."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta

from sqlalchemy import update

from memory.models import RateCount
from memory.rates import count_use
from webapp.context import runtime, session

WINDOW = timedelta(minutes=5)
PER_ACCOUNT = 10
# An office may share one address.
PER_ADDRESS = 50


def too_many(email: str, address: str | None, now: datetime) -> bool:
    """Count a try and tell whether it is one too many.

    Counted and committed before the password is looked at, so that tries in parallel gain nothing.
    """
    account, place = _keys(email, address)
    tries = count_use(session(), account, WINDOW, now), count_use(session(), place, WINDOW, now)
    session().commit()
    return tries[0] > PER_ACCOUNT or tries[1] > PER_ADDRESS


def give_back(email: str, address: str | None, now: datetime) -> None:
    """Take back the count of a try that succeeded; the caller commits."""
    recent = RateCount.key.in_(_keys(email, address)), RateCount.window_start > now - WINDOW, RateCount.count > 0
    session().execute(update(RateCount).where(*recent).values(count=RateCount.count - 1))


def _keys(email: str, address: str | None) -> tuple[str, str]:
    keys = runtime().keys
    account, place = keys.digest("login", email.strip().lower()), keys.digest("login from", _place(address or ""))
    return f"login:{account.hex()}", f"login-from:{place.hex()}"


def _place(address: str) -> str:
    """Return what tells one client from another: of IPv6 the first half, as one client has all that begin with it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or f"{int(found) >> 64:016x}")
