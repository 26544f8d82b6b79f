"""How months, years and days of them are written."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator

from retrieval.days.closely import finds, lowered
from retrieval.days.weekdays import DAYS
from retrieval.days.weekdays import NAME as NAME_OF_DAY

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Also everyday words: they name a month only beside a preposition, a day or a year.
AMBIGUOUS = {"may", "mar", "march"}
YEAR_TEXT = r"(?:19|20)\d\d"
ISO = re.compile(rf"\b({YEAR_TEXT})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?(?!\d|-\d)")
# Not a year: an amount ("$2000"), a decimal ("1.2023", "2000.5") or a longer number ("2,000,000").
YEAR = re.compile(rf"(?<![\w$€£.,:/-])({YEAR_TEXT})(?![\w%]|[.,:]\d)")
MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)
# "This may be" names no month.
_THIS = r"this(?!\s+(?-i:may|mar(?:ch)?)\b)"
NAMED = re.compile(
    rf"""\b(?:(?P<lead>in|during|since|until|till|by|before|after|around|of|early|late|mid|between
       |last|next|coming|{_THIS}
       |from(?=\s+{MONTH}\s+(?:to|until|till|through)\s)|(?:planned|scheduled|due)\s+for)[\s-]+)?
    (?:(?<![\w:.])(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?
    \b(?P<month>{MONTH})\.?
    (?:\s+(?:the\s+)?(?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:))?
    (?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
# The same for texts in lower case, and the parts of each find.
NAMED_LOW, PLACES = re.compile(NAMED.pattern.replace(_THIS, "this"), re.VERBOSE), re.compile(MONTH)
# A day in digits, with its year or without: "3.12.", "3/12". Which of the two is the month the sign tells.
IN_DIGITS = re.compile(
    rf"""(?<![\w./-])(?P<one>\d\d?)(?P<sign>[./])(?P<other>\d\d?)
    (?:(?P=sign)(?:\s?(?P<year>{YEAR_TEXT})(?:(?=T\d)|(?![\w-])) | (?<=\.)(?![\w.])(?!\s?\d))
      | (?:(?<=/\d)|(?<=/\d\d))(?P<bare>)(?![\w/%-]|[.,]\d)
        (?!\s+(?:of|cups?|inch(?:es)?|hours?|pints?|litres?|people)\b))""",
    re.VERBOSE,
)
_NUMBERS = re.compile(r"\d[./]\d")
# Without its year it is one only behind such a word: "16.3." may be a version.
_DAY_LEAD = re.compile(
    r"(?:\A\W*|\b(?:on|for|by|from|to|until|till|and|or|between|the|am|den|der|bis|ab|vom|zum|seit)\s+|[\u2013-]\s?)\Z",
    re.IGNORECASE,
)
# "3/12" is half of something, or hours, behind most others.
_SLASH_LEAD = re.compile(
    r"""(?:\b(?:on|by|from|until|till|before|due|between)\s+ | \d/\d\d?\s?[\u2013-]\s?
      | \b(?:from|between)\s+(?:\d\d?/\d\d?\s+)?(?:to|till|until|through|and)\s+)\Z""",
    re.IGNORECASE | re.VERBOSE,
)
# By month: what it is called in German, French and Spanish.
ABROAD = (
    ("januar", "jänner", "janvier", "enero"),
    ("februar", "feber", "février", "febrero"),
    ("märz", "mars", "marzo"),
    ("april", "avril", "abril"),
    ("mai", "mayo"),
    ("juni", "juin", "junio"),
    ("juli", "juillet", "julio"),
    ("august", "août", "agosto"),
    ("september", "septembre", "septiembre"),
    ("oktober", "octobre", "octubre"),
    ("november", "novembre", "noviembre"),
    ("dezember", "décembre", "diciembre"),
)
_SHORT = ("jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sept", "okt", "nov", "dez")
# With a day, or behind a word that leads to a month: "mars" and "mai" may be no month.
_NAMES_ABROAD = "|".join(sorted({each for those in ABROAD for each in those} | {*_SHORT}, key=len, reverse=True))
PLACES_ABROAD = re.compile(rf"(?:{_NAMES_ABROAD})\b")
NAMED_ABROAD_LOW = re.compile(
    rf"""(?:(?<![\w:.,-])(?P<day>\d\d?)(?:\.|er|º)?\s+(?:de\s+)?|\b(?:im|en|ende|anfang|mitte|bis|ab|seit|fin|de)\s+)
    (?P<month>{_NAMES_ABROAD})\b\.?
    (?:\s+(?:de\s+|del\s+)?(?P<year>{YEAR_TEXT})\b)?""",
    re.VERBOSE,
)
# What may stand before a day: "to Wed 10 June", "until the 7th".
BEFORE_DAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?[.,]?\s+)?(?:the\s+)?"
# Two days of a month that is named once: "19 to 26 December", "December 24 and 25".
_NUMBER = r"\d{1,2}(?:st|nd|rd|th)?"
_WITH = rf"\s*(?:[\u2013/&-]|to|till|until|through|and|or)\s*{BEFORE_DAY}"
_SHARED_LOW = re.compile(
    rf"\b(?:(?P<first>(?<![.,:/-]){_NUMBER})(?={_WITH}{_NUMBER}\s+(?:of\s+)?(?P<of>{MONTH}))"
    rf"|(?P<month>{MONTH})(?P<day>\.?\s+(?:the\s+)?{_NUMBER}{_WITH})"
    rf"(?={_NUMBER}(?!\w|[.,:]\d|\s?[ap]m\b|\s+(?:of\s+)?{MONTH})))"
)
# What stands before a month and says which part of it is meant: the thirds of it, its halves and weeks.
_COUNTS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "1st": 0, "2nd": 1, "3rd": 2, "4th": 3}
# So many days, or weeks, of which the first are meant.
_MANY = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_PART = re.compile(
    rf"""\b(?:the\s+)?(?:
        (?P<third>early|mid|late) | (?:very\s+)?(?P<third_of>beginning|start|middle|end)\s+of
      | (?P<count>{"|".join(_COUNTS)}|last)\s+(?P<unit>week|half|{NAME_OF_DAY})\s+(?:of|in)
      | first\s+(?P<many>\d\d?|{"|".join(_MANY)})\s+(?P<units>day|week)s\s+(?:of|in)
    )[\s-]+(?:the\s+month\s+of\s+)?\Z""",
    re.IGNORECASE | re.VERBOSE,
)
# What stands before a day and says that its week, or its weekend, is meant.
_UNIT = re.compile(
    r"""\b(?:(?:(?:on|at|over)\s+)?(?:the\s+)?(?P<weekend>weekend) | (?:the\s+)?(?P<week>week)
      | (?:the\s+)?(?P<from>week\s+(?:beginning|commencing|starting) | w/[bc]))\s*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_LONGEST_MONTH = 31
_THIRDS = {"early": (1, 10), "beginning": (1, 10), "start": (1, 10), "mid": (11, 20), "middle": (11, 20)}
# So many characters before a month say it.
_LONGEST_PART = 40
_NEAR = 24
# Shorter names have no ending that a stem loses.
_ENDS_WHOLE = 6


def part_before(text: str, place: int) -> tuple[int, int, int | None, int] | None:
    """Return the part of a month that is meant by what stands before its name, at a place of a text.

    That is the first day and the last, both below 0 where they count from the end of the month, the day of the week
    (0 is Monday) among these that is meant alone, and where it begins in the text.

    >>> part_before("in the last week of May", 20), part_before("the first Monday in May", 20), part_before("of May", 3)
    ((-7, -1, None, 3), (1, 7, 0, 0), None)
    """
    begin = max(0, place - _LONGEST_PART)
    if (found := _PART.search(text[begin:place])) is None:
        return None
    start = begin + found.start()
    if third := found["third"] or found["third_of"]:
        return (*_THIRDS.get(third.lower(), (21, 31)), None, start)
    if many := found["many"]:
        days = (int(many) if many.isdigit() else _MANY[many.lower()]) * (7 if found["units"].lower() == "week" else 1)
        return (1, days, None, start) if 1 <= days <= _LONGEST_MONTH else None
    count, unit = found["count"].lower(), found["unit"].lower()
    if unit == "half":
        return (1, 15, None, start) if count == "first" else (16, 31, None, start)
    weekday = None if unit == "week" else next(at for at, each in enumerate(DAYS) if each == unit)
    if count == "last":
        return -7, -1, weekday, start
    first = 1 + 7 * _COUNTS[count]
    return first, first + 6, weekday, start


def unit_before(text: str, place: int, lead: str) -> tuple[str, int] | None:
    """Return whether the "week" or the "weekend" of a day is meant, whose date is at a place of a text, and from where.

    A `lead` belongs to the date: without its "of" a week is meant only as the "week beginning 8 June".

    >>> [unit_before(f"{each} 8 June", len(each) + 1, "") for each in ("w/c", "week starting", "a week")]
    [('week', 0), ('week', 0), None]
    """
    begin = max(0, place - _LONGEST_PART)
    found = _UNIT.search(text[begin:place])
    if found is None or (found["week"] and lead.lower() != "of"):
        return None
    return "weekend" if found["weekend"] else "week", begin + found.start()


def in_digits(text: str, *, either: bool) -> Iterator[tuple[re.Match[str], int, int]]:
    """Give the days that a text has in digits, each with its month and its day.

    Where both numbers may be the month, as with slashes, the day is taken to be first; `either` gives both readings.

    >>> [found for _, *found in in_digits("on 3.12. and 03/12/2026, 12/31/2026, at 16.3.", either=False)]
    [[12, 3], [12, 3], [12, 31]]
    """
    for found in finds(IN_DIGITS, text, _NUMBERS):
        lead = _DAY_LEAD if found["bare"] is None else _SLASH_LEAD
        if not found["year"] and not lead.search(text, max(0, found.start() - _NEAR), found.start()):
            continue
        one, other = int(found["one"]), int(found["other"])
        orders = [(other, one)] + [(one, other)] * (found["sign"] == "/")
        possible = [each for each in orders if 1 <= each[0] <= len(MONTHS) and 1 <= each[1] <= 31]
        for month, day in possible if either else possible[:1]:
            yield found, month, day


def month_abroad(name: str) -> int:
    """Return the month (1-12) of a name in another language, or its short form."""
    low = name.lower()
    return next((at for at, each in enumerate(ABROAD, 1) if low in each), 0) or _SHORT.index(low) + 1


def lexemes_abroad(month: int) -> list[str]:
    """Return the lexemes by which a text may name a month in another language; a star is for how one begins.

    >>> lexemes_abroad(12)
    ['deze*', 'déce*', 'dici*', 'dez']
    """
    names = [each if len(each) < _ENDS_WHOLE else f"{each[:4]}*" for each in ABROAD[month - 1]]
    return [*names, _SHORT[month - 1]]


def days_of_part(first: int, last: int, month: int) -> range:
    """Return the days of a part of a month in whatever year: of February the 29th is one."""
    length = monthrange(2024, month)[1]
    return range(first, last + 1) if first > 0 else range(length + first + 1, length + last + 2)


def with_months(text: str) -> str:
    """Return a text in which each day has its month, where two share one.

    >>> with_months("from 19 to 26 December, and on May 3rd and 4th")
    'from 19 December to 26 December, and on May 3rd and May 4th'
    """
    parts, end = list[str](), 0
    for found in finds(_SHARED_LOW, lowered(text), PLACES):
        month = text[slice(*found.span("of" if found["of"] else "month"))]
        parts += [text[end : found.end()], f" {month}" if found["of"] else f"{month} "]
        end = found.end()
    return "".join([*parts, text[end:]])
