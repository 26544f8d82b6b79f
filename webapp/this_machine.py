"""Whether a request comes from the machine that it is answered on."""

from __future__ import annotations

import ipaddress

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
