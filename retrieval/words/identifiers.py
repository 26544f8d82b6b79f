"""Identifiers in a question, each of which names one thing: "HERON-42", "NP 118 402", "E_TILE_RANGE"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from retrieval.words.codes import VERSION
from retrieval.words.lexemes import DATED, TOKEN, YEAR, bare, is_of
from retrieval.words.numbered import NO_INITIALS, is_counted

# A date, a span of years or an amount, which is written with the same signs as an identifier.
_NO_CODE = re.compile(r"(?:19|20)\d\d(?:-(?:19|20)?\d\d){0,2}|\d[\d.,:/]*")
# The number of a file or a case is an identifier all the same: no fraction or date has five digits, or four with a zero
# before them.
_FILED = re.compile(r"(?!1/)\d{1,4}/(?:\d{5,}|0\d{3,})|\d{5,}/\d{2,4}")
_DATE = re.compile(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.\d\d")
_AMOUNT = re.compile(
    r"\d+(?:[.,]\d+)?-[^\W\d_]{3,}(?:-[^\W\d_]+)* | \d{4}s | \d+000 | \d{1,3}(?:\.\d{3})+ | \d\d?-\d\d?-(?:\d\d)?\d\d",
    re.VERBOSE,
)
# So is a number with capitals, and one of five digits and more that is not rounded: these are no amounts.
_NO_AMOUNT = re.compile(r"\d+-[A-ZÄÖÜ]{3,}(?:-[A-ZÄÖÜ]+)*|(?!\d+00-)\d{5,}-[^\W\d_]{3,}")
_LETTERED = re.compile(r"[^\W\d_]{1,5}\d{2,}[^\W\d_]?")
# The sign of a radio station or a car: capitals on both sides of the digits, and no abbreviation ("E2EE", "T1DM").
_CALL_SIGN = re.compile(r"(?![A-Z]\d[A-Z]{2}\Z)[A-ZÄÖÜ]{1,3}\d{1,3}[A-ZÄÖÜ]{2,3}")
# A number plate with what may look like a year ("FR-KM 2078"), or groups of few digits behind capitals ("NP 118 402").
_SPACED = re.compile(
    r"(?<![\w-])(?:[A-ZÄÖÜ]{1,3}-[A-Z]{1,2}\s+(?:19|20)\d\d|([A-ZÄÖÜ]{1,4})(?:\s\d{2,4}){2,4})(?![\w%/-]|[.,:]\d)"
)
# Words that are joined to one name, as programs join them, with no digit.
JOINED = re.compile(r"(?=[^\W\d]+\Z)\w*?[^\W\d_]{2}_[^\W\d_]{2}")


def identifiers_in(text: str) -> list[list[str]]:
    """Return the identifiers with digits, each in the tokens that stand beside one another: "304417 00021" is one."""
    found: list[list[str]] = []
    spaced = {each.start(): each for each in _SPACED.finditer(text) if _is_spaced(text, each)}
    is_loud, end = text.isupper() and len(text.split()) > 1, -1
    for each in TOKEN.finditer(text):
        if whole := spaced.get(each.start()):
            found.append([*map(bare, whole[0].split())])
            end = whole.end()
        if each.start() < end:
            continue
        token, beside = bare(each[0]), bool(found) and not text[end : each.start()].strip()
        # The last group of a long number may be short.
        written = each[0][: len(token)]
        # Capitals mean nothing in a text that is written in nothing else.
        named = _is_code(token, token if is_loud else written) or _CALL_SIGN.fullmatch(written)
        if not named and not (beside and len(found[-1]) > 1 and re.fullmatch(r"\d\d+", token)):
            continue
        if beside:
            found[-1].append(token)
        else:
            found.append([token])
        end = each.end()
    return found


def _is_spaced(text: str, found: re.Match[str]) -> bool:
    """Tell whether groups behind capitals are one identifier: no amount is among them, and no date ("OCT 12 2025")."""
    head = found[1] or ""
    return not (head in NO_INITIALS or DATED.fullmatch(head.lower()) or is_counted(text, found.end()))


def joined_in(text: str, lexemes: dict[int, str]) -> Iterator[tuple[frozenset[int], ...]]:
    """Give the lexemes of each part of each identifier without digits ("E_GLYPH_OVERFLOW"), at most eight of these."""
    tokens = dict.fromkeys(filter(JOINED.match, map(bare, TOKEN.findall(text))))
    for token in islice(tokens, 8):
        parts = (frozenset(place for place, each in lexemes.items() if is_of(each, p)) for p in token.split("_"))
        if found := tuple(filter(None, parts)):
            yield found


def _is_code(token: str, written: str) -> bool:
    """Tell whether a token, in lower case and as it is written, names one thing among many of its kind.

    That is digits joined to something, four digits, or a version; no amount, as "5-star", "1000" or "1990s".
    """
    if _AMOUNT.fullmatch(token):
        return _NO_AMOUNT.fullmatch(written) is not None
    if _LETTERED.fullmatch(token) or _FILED.fullmatch(token):
        return True
    if VERSION.fullmatch(token):
        return _DATE.fullmatch(token) is None
    digits = sum(each.isdigit() for each in token)
    if not digits or (_NO_CODE.fullmatch(token) and (digits < 4 or not token.isdigit() or YEAR.fullmatch(token))):
        return False
    joined = any(sign in token for sign in "-_#") and (token[0] == "#" or not token.replace("-", "").isdigit())
    return joined or digits >= 4


def parts_of(code: str, lexemes: dict[int, str]) -> frozenset[int]:
    """Return the places of all lexemes that an identifier is written of; none where one of its parts has none."""
    if whole := [place for place, each in lexemes.items() if each == code]:
        return frozenset(whole)
    parts = set(filter(None, re.split(r"[^a-z0-9]+", code)))
    found = {place: each.lstrip("-#/") for place, each in lexemes.items() if each.lstrip("-#/") in parts}
    return frozenset(found) if parts.issubset(found.values()) else frozenset()


def lexemes_of(code: str, lexemes: dict[int, str], tokens: Sequence[str]) -> frozenset[int]:
    """Return the places of the lexemes that hold the digits of a token of an identifier: all are needed.

    What looks like a year is one, but among the `tokens` of an identifier of several.
    """
    parts = {code, *re.split(r"[^a-z0-9]+", code)}
    numbered = {each for each in parts if any(map(str.isdigit, each)) and (len(tokens) > 1 or not YEAR.fullmatch(each))}
    found = {place for place, each in lexemes.items() if each in numbered or each.lstrip("-#") in numbered}
    # The lexeme of the whole is left out where its parts are there: it says no more, and another way to write the
    # identifier lacks it.
    return frozenset(place for place in found if lexemes[place] != code) or frozenset(found)
