"""Costly patterns, tried only where a text has what each of their finds has."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Characters beside such a place that may belong to a find, or decide about it.
_BEFORE, _BEHIND = 32, 48
# To go through so few characters takes no longer than to look at places of them.
_FEW = 256


def lowered(text: str) -> str:
    """Return a text in lower case with each character in its place: patterns that tell no cases are twice as fast."""
    return text.replace("\u0130", "I").lower()


def finds(pattern: re.Pattern[str], text: str, places: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Give what a pattern finds in a text, where each find has one of some places within, which are in lower case.

    These are found fast if their pattern has no flags and begins with letters.

    >>> day = re.compile(r"(?:(?:on|at)\\s+)?\\d+\\s+(?:May|June)", re.IGNORECASE)
    >>> [found[0] for found in finds(day, "Left on 3 May, back 5 JUNE", re.compile("may|june"))]
    ['on 3 May', '5 JUNE']
    """
    low = lowered(text)
    if len(low) <= _FEW:
        yield from pattern.finditer(text) if places.search(low) else ()
        return
    end = 0
    for place in places.finditer(low):
        if place.start() < end:
            continue
        for found in pattern.finditer(text, max(end, place.start() - _BEFORE), place.end() + _BEHIND):
            if found.start() > place.start():
                break
            end = found.end()
            yield found
            if end > place.start():
                break
