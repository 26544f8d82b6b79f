"""How often somebody may try to log in: by account and by address, and only failures count.

A browser that has logged in to an account is counted by itself: whoever guesses elsewhere would keep its owner out.
"""

from __future__ import annotations

import ipaddress
import secrets
from datetime import datetime, timedelta

from flask import Response, request
from sqlalchemy import update

from memory.accounts.rates import count_use
from memory.models import RateCount
from webapp.context import runtime, session

WINDOW = timedelta(minutes=5)
PER_ACCOUNT = 10
# An office may share one address.
PER_ADDRESS = 50
# The name of a cookie that a browser gets by logging in: it holds a name for the browser, and a digest of that name
# with the account.
COOKIE = "known"
_YEAR = 60 * 60 * 24 * 365


def too_many(email: str, address: str | None, now: datetime, browser: str = "") -> bool:
    """Count a try and tell whether it is one too many; `browser` is what the cookie `COOKIE` says.

    Counted and committed before the password is looked at, so that tries in parallel gain nothing.
    """
    told = [count_use(session(), key, WINDOW, now) > most for key, most in _limits(email, address, browser).items()]
    session().commit()
    return any(told)


def give_back(email: str, address: str | None, now: datetime, browser: str = "") -> None:
    """Take back the count of a try that succeeded; the caller commits."""
    counted = RateCount.key.in_(_limits(email, address, browser))
    recent = RateCount.window_start > now - WINDOW, RateCount.count > 0
    session().execute(update(RateCount).where(counted, *recent).values(count=RateCount.count - 1))


def know_again(response: Response, email: str) -> None:
    """Have the browser that has just logged in known again; what it keeps opens nothing."""
    if _is_known(email, request.cookies.get(COOKIE, "")):
        return
    name = secrets.token_hex(16)
    response.set_cookie(
        COOKIE,
        f"{name}.{_sign(email, name)}",
        max_age=_YEAR,
        path=request.root_path or "/",
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
    )


def _is_known(email: str, browser: str) -> bool:
    name, _, sign = browser.partition(".")
    return secrets.compare_digest(sign.encode(), _sign(email, name).encode())


def _sign(email: str, name: str) -> str:
    return runtime().keys.digest("known browser", f"{name} {email.strip().lower()}").hex()[:32]


def _limits(email: str, address: str | None, browser: str) -> dict[str, int]:
    """Return under which keys a try is counted, and how many there may be of each."""
    keys, whose = runtime().keys, email.strip().lower()
    if _is_known(email, browser):
        # A known browser is not counted by its address either: behind some proxies everybody has the same.
        return {f"login:{keys.digest('login', f'{whose} {browser}').hex()}": PER_ACCOUNT}
    account, place = keys.digest("login", whose), keys.digest("login from", _place(address or ""))
    return {f"login:{account.hex()}": PER_ACCOUNT, f"login-from:{place.hex()}": PER_ADDRESS}


def _place(address: str) -> str:
    """Return what tells one client from another: of IPv6 the first half, as one client has all that begin with it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or f"{int(found) >> 64:016x}")
