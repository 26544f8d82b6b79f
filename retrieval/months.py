"""How months, years and days of them are written."""

from __future__ import annotations

import re

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
NAMED = re.compile(
    rf"""\b(?:(?P<lead>in|during|since|until|till|by|before|after|around|of|last|early|late|mid|between
       |from(?=\s+{MONTH}\s+(?:to|until|till|through)\s)|(?:planned|scheduled|due)\s+for)[\s-]+)?
    (?:(?<![\w:.])(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?
    \b(?P<month>{MONTH})\.?
    (?:\s+(?:the\s+)?(?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:))?
    (?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
# Two days of a month that is named once: "19 to 26 December", "December 24 and 25".
_NUMBER = r"\d{1,2}(?:st|nd|rd|th)?"
_WITH = r"\s*(?:[\u2013/&-]|to|till|until|through|and|or)\s*(?:the\s+)?"
_SHARED = re.compile(
    rf"\b(?:(?P<first>(?<![.,:/-]){_NUMBER})(?={_WITH}{_NUMBER}\s+(?:of\s+)?(?P<of>{MONTH}))"
    rf"|(?P<month>{MONTH})(?P<day>\.?\s+(?:the\s+)?{_NUMBER}{_WITH})"
    rf"(?={_NUMBER}(?!\w|[.,:]\d|\s?[ap]m\b|\s+(?:of\s+)?{MONTH})))",
    re.IGNORECASE,
)


def with_months(text: str) -> str:
    """Return a text in which each day has its month, where two share one.

    >>> with_months("from 19 to 26 December, and on May 3rd and 4th")
    'from 19 December to 26 December, and on May 3rd and May 4th'
    """
    return _SHARED.sub(
        lambda found: f"{found['first']} {found['of']}" if found["of"] else f"{found[0]}{found['month']} ", text
    )
