"""Addresses in a text: where they stand, and the form in which two of them are compared."""

from __future__ import annotations

import re
import unicodedata

# Quotes and Markdown around an address, which say nothing.
_AROUND = "`*_~\"'\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a"
# Never in an address: quotes, and the punctuation of scripts that put no space behind it.
_OUTSIDE = '`"\u2018\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u3001\u3002\u300a-\u3011'
# Brackets end an address, so that "[text](https://example.org)" loses its target only; another address does too.
ADDRESS = re.compile(
    rf"[{_AROUND}]{{0,4}}(?:https?://|www\.)(?:\([^\s()]*\)|(?!https?://)[^\s()\[\]<>{_OUTSIDE}])+[{_AROUND}]{{0,4}}",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"(?P<scheme>https?://)?(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<query>[^#]*)(?P<fragment>.*)", re.I | re.S
)
# What counts visits, and leads nowhere else.
_COUNTING = "utm_"


def addresses(text: str) -> frozenset[str]:
    """Return the addresses in a text, each in the form in which it is compared.

    NFKC, without scheme and `www.`, the host in lower case, path and query as they are, without what counts visits,
    and without what surrounds or ends it. The place on the page counts: two of them are two addresses.
    """
    return frozenset(_all(text, places=True))


def pages(text: str) -> frozenset[str]:
    """Return the addresses in a text as `addresses` does, without their places on a page."""
    return frozenset(_all(text, places=False))


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
    found = ADDRESS.findall(unicodedata.normalize("NFKC", text))
    return {_canonical(address, places=places) for address in found} - {"", "www"}


def _canonical(address: str, *, places: bool) -> str:
    visible = "".join(sign for sign in address if unicodedata.category(sign) != "Cf")
    parts = _parts(_without_end(visible.lstrip(_AROUND)))
    kept = [pair for pair in parts["query"][1:].split("&") if pair and not pair.lower().startswith(_COUNTING)]
    page = parts["host"].lower().removeprefix("www.") + parts["path"]
    page = f"{page}?{'&'.join(kept)}" if kept else _without_end(page)
    return page + parts["fragment"] if places and len(parts["fragment"]) > 1 else page


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
