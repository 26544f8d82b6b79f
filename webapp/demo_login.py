"""The demo account's login, which everybody knows."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

EMAIL = "robin@example.com"
PASSWORD = "commonplace-demo"  # noqa: S105 - printed on every start, and accepted on this machine alone


def is_open_at(host: str) -> bool:
    """Tell whether an address, as `localhost:8765`, is one that only this machine itself has.

    The password is public, and a page of another site may have its own name lead to this machine: the server is then
    asked by that name.
    """
    name = urlsplit(f"//{host}").hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def is_demo(email: str, password: str) -> bool:
    """Tell whether somebody logs in by what everybody knows."""
    return (email.strip().lower(), password) == (EMAIL, PASSWORD)
