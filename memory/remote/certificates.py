"""Which certificates other servers may show: read once for a process, which takes 0.8 MiB and tens of milliseconds."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def trusted() -> ssl.SSLContext:
    """Return what all endpoints are checked by; nobody changes it."""
    return httpx.create_ssl_context()
