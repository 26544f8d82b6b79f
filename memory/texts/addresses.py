"""Addresses in a text: where they stand, and the form in which two of them are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from urllib.parse import quote

from memory.texts.scripts import normal

# Quotes and Markdown around an address, which say nothing.
_AROUND = "`*_~\"'\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a"
# Never in an address: quotes, and the punctuation of scripts that put no space behind it.
_OUTSIDE = '`"\u2018\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u3001\u3002\u300a-\u3011'
# Brackets end an address, so that "[text](https://example.org)" loses its target only; another address does too.
_INSIDE = rf"(?:\([^\s()]*\)|(?!https?://)[^\s()\[\]<>{_OUTSIDE}])"
ADDRESS = re.compile(rf"[{_AROUND}]{{0,4}}(?:https?://|www\.){_INSIDE}+[{_AROUND}]{{0,4}}", re.IGNORECASE)
# A host as people write it, with what follows it; not the end of a path, of another name or of a mail address.
_BARE = (
    r"(?<![\w@/\\.:%~+-])(?P<host>(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+(?P<top>[^\W\d_]{2,24}))(?![\w@-])"
    rf"(?::\d{{1,5}})?(?P<path>/{_INSIDE}+)?"
)
_WRITTEN = re.compile(rf"{ADDRESS.pattern}|{_BARE}", re.IGNORECASE)
# Ends of hosts that end no file name, member of a program or English word: "setup.py/", "self.id/2", "Safari.app/".
_TOPS = "com org net edu gov mil io ai dev eu de uk fr nl ch es se dk fi cz hu ru ua gr tr jp kr cn tw au nz ca za"
_COMMON = frozenset(_TOPS.split())
_PARTS = re.compile(
    r"(?P<scheme>https?://)?(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<query>[^#]*)(?P<fragment>.*)", re.I | re.S
)
# What counts visits, and leads nowhere else.
_COUNTING = "utm_"
_PORTS = {"http://": {"", "80"}, "https://": {"", "443"}, "": {"", "80", "443"}}
_ESCAPE = re.compile(r"%([0-9a-f]{2})", re.IGNORECASE)
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_ASCII = "".join(map(chr, range(128)))


def addresses(text: str) -> frozenset[str]:
    """Return the addresses in a text, each in the form in which it is compared.

    NFKC, without scheme, `www.` and the scheme's own port, the host in lower case, path and query as RFC 3986 (6.2.2)
    compares them, without what counts visits, and without what surrounds or ends it. The place on the page counts: two
    of them are two addresses.
    """
    return frozenset(_all(text, places=True))


def pages(text: str) -> frozenset[str]:
    """Return the addresses in a text as `addresses` does, without their places on a page."""
    return frozenset(_all(text, places=False))


def spelled(text: str, known: Callable[[str], bool]) -> str:
    """Return the text with `https://` before each address that people write without.

    One that has a path, and a host of a common kind; any other that `known` knows in the form in which it is compared.
    """
    plain = normal("NFKC", text)
    whole = _WRITTEN.sub(lambda match: f"https://{match[0]}" if _is_bare(match, known) else match[0], plain)
    return text if whole == plain else whole


def _is_bare(match: re.Match[str], known: Callable[[str], bool]) -> bool:
    if match["host"] is None:
        return False
    # In capitals it is rather a product: "ASP.NET/C#".
    return bool(match["path"] and match["top"] in _COMMON) or known(_canonical(match[0], places=False))


def fold_case(text: str) -> str:
    """Return the text without case, but for what follows the host of an address: that leads elsewhere in another."""
    pieces, done = [], 0
    for match in ADDRESS.finditer(text):
        bare = match.group().lstrip(_AROUND)
        parts = _parts(bare)
        path = match.end() - len(bare) + len(parts["scheme"] + parts["host"])
        pieces += [text[done:path].casefold(), text[path : match.end()]]
        done = match.end()
    return "".join([*pieces, text[done:].casefold()])


def _all(text: str, *, places: bool) -> set[str]:
    found = ADDRESS.findall(normal("NFKC", text))
    return {_canonical(address, places=places) for address in found} - {"", "www"}


def _canonical(address: str, *, places: bool) -> str:
    visible = "".join(sign for sign in address if unicodedata.category(sign) != "Cf")
    parts = _parts(_without_end(_unescaped(visible).lstrip(_AROUND)))
    kept = [pair for pair in parts["query"][1:].split("&") if pair and not pair.lower().startswith(_COUNTING)]
    path = _without_dots(parts["path"])
    page = _host(parts) + (path if path != "/" else "")
    page = f"{page}?{'&'.join(kept)}" if kept else _without_end(page)
    page += parts["fragment"] if places and len(parts["fragment"]) > 1 else ""
    return quote(page, safe=_ASCII, errors="surrogatepass")


def _unescaped(address: str) -> str:
    """Return an address with only those signs escaped that may mean something else when they are not."""

    def plain(match: re.Match[str]) -> str:
        sign = chr(int(match[1], 16))
        return sign if _UNRESERVED.match(sign) else match[0].upper()

    return _ESCAPE.sub(plain, address)


def _host(parts: dict[str, str]) -> str:
    """Return the host, with the name of who asks it and with its port if these tell it from another."""
    user, at, host = parts["host"].rpartition("@")
    name, _, port = host.lower().removeprefix("www.").partition(":")
    return f"{user}{at}{name}" + ("" if port in _PORTS[parts["scheme"].lower()] else f":{port}")


def _without_dots(path: str) -> str:
    """Return a path without its steps to the same place and back, as RFC 3986 (5.2.4) removes them."""
    steps: list[str] = []
    for step in path.split("/")[1:]:
        if step == "..":
            steps[-1:] = []
        elif step != ".":
            steps.append(step)
    return "".join(f"/{step}" for step in steps)


def _parts(address: str) -> dict[str, str]:
    match = _PARTS.match(address)
    assert match is not None  # Each part may be empty.
    return match.groupdict(default="")


def _without_end(address: str) -> str:
    """Return an address without the punctuation and the Markdown behind it; "-" and brackets may be its own."""
    end = len(address)
    while end and (address[end - 1] in _AROUND + "|" or unicodedata.category(address[end - 1]) in {"Po", "Pf", "Pi"}):
        end -= 1
    return address[:end]
