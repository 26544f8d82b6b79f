"""Whether a request comes from the machine that it is answered on."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from flask import request

from webapp.context import runtime


def comes_from_here() -> bool:
    """Tell whether the request comes from this machine, and was not passed on by a proxy that runs on it."""
    if "X-Forwarded-For" in request.headers and not runtime().settings.trusted_proxies:
        return False
    try:
        address = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return False
    # A server that listens on [::] sees IPv4 callers so.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def names_this_machine(host: str) -> bool:
    """Tell whether an address, as `localhost:8765`, is one that only this machine itself has.

    A page of another site may have its own name lead to this machine: the server is then asked by that name.
    """
    name = urlsplit(f"//{host}").hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
