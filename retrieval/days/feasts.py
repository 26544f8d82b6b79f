"""Feasts by which people name days: those of a date, and those that move with Easter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

from retrieval.days.closely import finds, lowered
from retrieval.days.months import YEAR_TEXT

# Month, first and last day; and days from Easter Sunday on, with the days between them.
_FIXED = {
    "christmas eve": (12, 24, 24),
    "christmas day": (12, 25, 25),
    "christmas": (12, 24, 26),
    "boxing day": (12, 26, 26),
    "new year's eve": (12, 31, 31),
    "new year's day": (1, 1, 1),
    "new year": (1, 1, 1),
    "valentine's day": (2, 14, 14),
    "halloween": (10, 31, 31),
    "bonfire night": (11, 5, 5),
}
_MOVING = {
    "good friday": (-2, -2),
    "easter saturday": (-1, -1),
    "easter sunday": (0, 0),
    "easter monday": (1, 1),
    "easter": (-2, 1),
    "shrove tuesday": (-47, -47),
    "pancake day": (-47, -47),
    "ash wednesday": (-46, -46),
    "palm sunday": (-7, -7),
    "ascension day": (39, 39),
    "whit monday": (50, 50),
}
NAME = (
    r"(?:christmas(?:\s+(?:eve|day))?|boxing\s+day|(?<!a\s)(?<!the\s)(?<!happy\s)new\s+year(?:['\u2019]?s\s+(?:eve|day))?"
    r"|good\s+friday|easter(?:\s+(?:satur|sun|mon)day)?|valentine['\u2019]?s\s+day|halloween|bonfire\s+night"
    r"|shrove\s+tuesday|pancake\s+day|ash\s+wednesday|palm\s+sunday|ascension\s+day|whit\s+monday)"
)
_SAID = re.compile(rf"\b(?P<name>{NAME})(?![\w-])(?:,?\s+(?:of\s+|in\s+)?(?P<year>{YEAR_TEXT})\b)?")
_PLACES = re.compile(
    r"christmas|boxing|new\s|good\s|easter|valentine|halloween|bonfire|shrove|pancake|ash\s|palm\s|ascension|whit\s"
)
# A feast in a question is a time behind one of these, where nothing follows that may be of it, as its dinner.
_AT = re.compile(
    r"""\b(?:over | (?P<which>last|this|next) | at | on | for | during | between | and | or | from | to | till | until
      | through)\s+\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_ENDS = re.compile(r"\s*(?:\Z|[?!.,;:\u2013-]|(?:and|or|to|till|until|through)\b)", re.IGNORECASE)
_NEW_YEAR = re.compile(r"new\s+year(?!['\u2019]?s\b)", re.IGNORECASE)
_NEAR = 16
# The lexemes by which texts name them.
_LEXEMES = {
    "christmas": "christma",
    "boxing day": "box",
    "new year's eve": "eve",
    "easter": "easter",
    "new year": "new",
    "valentine's day": "valentin",
    "halloween": "halloween",
    "bonfire night": "bonfir",
    "shrove tuesday": "shrove",
    "pancake day": "pancak",
    "ash wednesday": "ash",
    "palm sunday": "palm",
    "ascension day": "ascens",
    "whit monday": "whit",
}


@dataclass(frozen=True, slots=True)
class Feast:
    """The days of a feast that a text names from `start` to `end`: of a month, 0 for the one before, or from Easter on.

    `which` is "last", "this", "next" or "".
    """

    start: int
    end: int
    year: int | None
    month: int | None
    first: int
    last: int
    which: str = ""

    def days(self, year: int) -> tuple[date, date]:
        """Return the first day and the last of a year. Raises `OverflowError` or `ValueError` beyond the calendar."""
        if self.month is not None:
            beginning = date(year, self.month, 1)
            return beginning + timedelta(days=self.first - 1), beginning + timedelta(days=self.last - 1)
        sunday = easter(year)
        return sunday + timedelta(days=self.first), sunday + timedelta(days=self.last)


def feasts_in(text: str) -> Iterator[Feast]:
    """Give the feasts that a text names.

    >>> [each.days(2027) for each in feasts_in("Skiing over New Year's Eve, home on Easter Monday")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [(datetime.date(2027, 12, 31), datetime.date(2027, 12, 31)),
     (datetime.date(2027, 3, 29), datetime.date(2027, 3, 29))]
    """
    for found in finds(_SAID, lowered(text), _PLACES):
        year = int(found["year"]) if found["year"] else None
        plain = " ".join(
            found["name"].replace("\u2019", "'").replace("years", "year's").replace("valentines", "valentine's").split()
        )
        month, first, last = _FIXED[plain] if plain in _FIXED else (None, *_MOVING[plain])
        yield Feast(*found.span(), year, month, first, last)


def asked_in(question: str) -> Feast | None:
    """Return the first feast that a question names as a time.

    >>> [asked_in(each) is not None for each in ("Who comes at Easter?", "Who cooks the Easter lunch?")]
    [True, False]
    """
    for each in feasts_in(question):
        lead = _AT.search(question, max(0, each.start - _NEAR), each.start)
        if lead and _ENDS.match(question, each.end):
            over = lead[0].lower().startswith("over")
            start = lead.start() if lead["which"] or over else each.start
            # Over New Year is over the night of it.
            first = 0 if over and _NEW_YEAR.match(question, each.start) else each.first
            return replace(each, start=start, first=first, which=(lead["which"] or "").lower())
    return None


def year_of(feast: Feast, today: date, *, gone: bool) -> int:
    """Return the year of a feast that has none: the next that is not over, or the latest of what is `gone`.

    Raises `OverflowError` or `ValueError` beyond the calendar.
    """
    if feast.which == "this":
        return today.year
    years = {year: feast.days(year) for year in range(today.year - 2, today.year + 3)}
    if gone or feast.which == "last":
        return max(year for year, days in years.items() if days[feast.which == "last"] < today)
    return min(year for year, days in years.items() if days[feast.which != "next"] >= today)


def lexemes_on(first: date, behind: date) -> list[str]:
    """Return lexemes by which a text may name the feasts between two days.

    >>> lexemes_on(date(2026, 12, 20), date(2027, 1, 10)), lexemes_on(date(2026, 6, 1), date(2026, 7, 1))
    (['christma', 'box', 'eve', 'new'], [])
    """
    days = {name: Feast(0, 0, None, *place) for name, place in _FIXED.items()}
    days |= {name: Feast(0, 0, None, None, *place) for name, place in _MOVING.items()}
    return [
        lexeme
        for name, lexeme in _LEXEMES.items()
        if any(start < behind and first <= end for start, end in map(days[name].days, {first.year, behind.year}))
    ]


def easter(year: int) -> date:
    """Return Easter Sunday of a year of the Gregorian calendar, by the algorithm of Meeus, Jones and Butcher.

    >>> [f"{easter(year):%d %B}" for year in (1961, 2024, 2026, 2027, 2285)]
    ['02 April', '31 March', '05 April', '28 March', '22 March']
    """
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    weekday = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * weekday) // 451
    month, day = divmod(h + weekday - 7 * m + 114, 31)
    return date(year, month, day + 1)
