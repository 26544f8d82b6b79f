"""HTTP to public addresses alone, for endpoints that were named by people who may not look around in this network."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx

from memory.remote.certificates import trusted

# The rest is this network's, or nobody's yet: RFC 4291, and "site-local" of old.
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# Of a network without IPv4: an address of it is the last 32 bits (RFC 6052).
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")

REFUSED = "is at an address that is not public, and this server asks no such address for its users"


class NotPublicError(httpx.ConnectError):
    """The host has an address that only this machine or its network reaches."""


def transport_to(url: str) -> httpx.BaseTransport:
    """Return what carries requests to a URL: the proxy that the environment names for it, else `PublicTransport`.

    Through a proxy nothing is looked up here, and what it lets through is for it to decide.
    """
    asked = httpx.URL(url)
    named = getproxies()
    proxy = named.get(asked.scheme) or named.get("all")
    if not proxy or proxy_bypass(asked.host):
        return PublicTransport(verify=trusted())
    return httpx.HTTPTransport(proxy=proxy if "://" in proxy else f"http://{proxy}", verify=trusted())


class PublicTransport(httpx.HTTPTransport):
    """Connects to the very addresses that it looked at: a name asked for twice may stand for another the second time.

    `allowed` tells whether an IP address may be asked; `options` are those of `httpx.HTTPTransport`. Raises
    `NotPublicError` for a host with any address that may not, `httpx.ConnectError` for one that has none.
    """

    def __init__(self, allowed: Callable[[str], bool] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._allowed = allowed or is_public

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the first address of its host that lets itself be connected to."""
        host = request.url.raw_host.decode("ascii")
        # The certificate must be the host's, whichever address shows it.
        request.extensions = {**request.extensions, "sni_hostname": host}
        *others, last = addresses_of(host, self._allowed)
        for address in others:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return self._sent_to(address, request)
        return self._sent_to(last, request)

    def _sent_to(self, address: str, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(host=address)
        return super().handle_request(request)


def addresses_of(host: str, allowed: Callable[[str], bool]) -> list[str]:
    """Return the addresses of a host, each once and at least one; raises as `PublicTransport` does."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpx.ConnectError(str(error)) from error
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if not all(map(allowed, addresses)):
        raise NotPublicError(REFUSED)
    return addresses


def is_public(address: str) -> bool:
    """Tell whether the whole internet would reach an IP address."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        ip = _inside(ip) or ip
    known = isinstance(ip, ipaddress.IPv4Address) or ip in _GLOBAL_UNICAST
    return known and ip.is_global and not ip.is_multicast


def _inside(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the address of IPv4 that a router on the way, or this machine, would take out of one of IPv6."""
    if ip in _TRANSLATED:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour
