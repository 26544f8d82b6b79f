"""Numbers, codes and days in a question, and how a text may write them otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

TOKEN = re.compile(r"[^\W_]+")
_SIGNS = re.compile(r"[\s\-/.()_\u2010-\u2013:]{1,3}")
_BETWEEN = r"[\s\-/.()_\u2010-\u2013:]{0,3}"
# Between digits that may be a value: a point, stroke, dash or colon of the question is there, and no further point or
# colon.
_SIGN, _NO_SIGN = r"\s?[\-/.()_\u2010-\u2013:]{1,2}\s?", r"[\s\-/()_\u2010-\u2013]{0,3}"
# So many digits are a number that signs only group.
_GROUPED = 7
# A code has at most so many parts and signs; its letters stand in groups of at most four.
_PARTS, LONGEST = 8, 40
# A version of three parts and more: some write it with a "v".
VERSION = re.compile(r"v?(\d{1,3}(?:\.\d{1,3}){2,3})", re.IGNORECASE)
# A small number or a year: a value as such.
PLAIN = re.compile(r"\d{1,3}|(?:19|20)\d\d")
# Where a code ends, and no number goes on.
_BEFORE, _AFTER = r"(?<![^\W_])(?<!\d[\-/.])", r"(?![^\W_])(?![\-/.]\d)"
_GROUP = re.compile(r"[^\W\d_]{1,4}")
# A number of four digits and more, whose thousands a sign may part: in English a comma, in German a point; the other of
# the two stands before its cents.
_THOUSANDS = re.compile(
    r"(?<![\w.,'\u2019-])(?P<whole>[1-9]\d{0,2}(?:[.,'\u2019\u00a0\u202f]\d{3}){1,4}|[1-9]\d{3,14})"
    r"(?:[.,](?P<rest>\d\d?))?(?![\w'\u2019-]|[.,]\d)"
)
# What stands behind an amount ("CBD 100 mg").
UNIT = re.compile(
    r"""\s*[%€$£¥°] | \s(?:
        mg | mcg | [\u00b5\u03bc]g | g | kg | lbs? | oz | ml | cl | dl | l | mm | cm | m | km | kmh | mph | mi | ft
      | feet | [kmgt]i?b | k?wh? | [km]?hz | volts? | mah | kcal | iu | bpm | rpm | percent | euros? | dollars?
      | pounds? | francs? | cents? | kroner | kronor | crowns? | yen | eur | usd | gbp | chf | kr | nok | sek | dkk
      | (?:mile|met(?:er|re)|lit(?:er|re)|gram|calorie|second|minute|hour|day|week|month|year)s
      | secs? | mins? | hrs? | h
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
# A measure with a decimal, which some write with more zeros: 145.6 MHz, 145.600 MHz. Without its unit it may be a
# version, which has other ones: 3.1, 3.10.
_DECIMAL = re.compile(r"(?<![\w.,])(?P<whole>\d{1,6})(?P<point>[.,])(?P<part>\d{0,5}[1-9])(?P<zeros>0*)(?![\d.,]\d|\d)")
_MOST_ZEROS, _THOUSAND = 4, 3
_BETWEEN_THOUSANDS = r"[.,'\u2019\u00a0\u202f]?"
# Words of up to four letters that stand beside numbers and are no part of them.
_SMALL = frozenset(
    """
    a an and are at be by can car code did do does for from had has have he her his how i in is it its me my no not of
    on or our pin she that the they this to us was we were what when who whom why will with you your
    """.split()  # noqa: SIM905  # A list of fifty quoted words cannot be read.
)
# Letters and one number, which some write with zeros up to so many digits: ORA-942 and ORA-00942.
_LETTERED, _PADDED = re.compile(rf"([^\W\d_]{{1,5}}){_BETWEEN}0*([1-9]\d+)"), 6
# Capitals and a number of so many digits are a model, of which texts may have a kind: HP 305XL.
_MODEL = 3
# Shorter ones stand for a country, or are said of too many things.
_LEAST_NUMBER = 6
_HEAD = 3
_DAY = re.compile(
    r"(?<![\w.])(?:(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)|(?P<first>\d\d?)[./](?P<second>\d\d?)[./](?P<last>\d{4}))(?!\w)"
)
MONTHS = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Thing:
    """Something in a question: `probes` are lexemes of which a text that has it has some, `pattern` finds it there.

    `padded` finds it with more or fewer zeros before its number, or letters behind it, where no text has it otherwise.
    """

    start: int
    asked: str
    probes: Sequence[str]
    pattern: re.Pattern[str]
    padded: re.Pattern[str] | None = None


def amounts_in(question: str) -> Iterator[Thing]:
    """Give the numbers whose thousands may be parted by another sign, or by none."""
    for found in _THOUSANDS.finditer(question):
        digits, rest = "".join(filter(str.isdigit, found["whole"])), found["rest"]
        if found[0] == digits and PLAIN.fullmatch(digits):
            continue  # A year.
        groups = [digits[: len(digits) % 3], *(digits[at : at + 3] for at in range(len(digits) % 3, len(digits), 3))]
        groups = list(filter(None, groups))
        probes = [digits, *groups, ".".join(groups)]
        cents = r"(?:[.,]00)?"
        if rest in {None, "00"}:
            probes += [f"{digits}.00", f"{groups[-1]}.00"]
        else:
            probes += [f"{digits}.{rest}", f"{groups[-1]}.{rest}", rest]
            cents = rf"[.,]{rest}"
        pattern = rf"(?<![\w.,'\u2019-]){_BETWEEN_THOUSANDS.join(groups)}{cents}(?![\w'\u2019-]|[.,]\d)"
        yield Thing(found.start(), found[0], probes, re.compile(pattern))


def measures_in(question: str) -> Iterator[Thing]:
    """Give the measures with decimals, which may have more or fewer zeros behind these.

    Three digits behind what is asked for may be thousands, and so may those behind a comma: 2,500 kg is no 2,5 kg.
    """
    for found in _DECIMAL.finditer(question):
        whole, point, part = found.group("whole", "point", "part")
        unit = UNIT.match(question, found.end())
        if unit is None or len(part + found["zeros"]) == _THOUSAND:
            continue
        parts = [part + "0" * more for more in range(_MOST_ZEROS + 1)]
        if point == ",":
            parts = [each for each in parts if len(each) != _THOUSAND]
        # With a letter more it is another unit: 2.5 m, 2.50 mm.
        measure = re.escape(unit[0].strip()) + (r"(?!\w)" if unit[0][-1].isalpha() else "")
        pattern = rf"(?<![\w.,]){whole}[{point}](?:{'|'.join(parts)})(?=\s*{measure})"
        probes = [*(f"{whole}.{each}" for each in parts), *parts]
        yield Thing(found.start(), found[0], probes, re.compile(pattern, re.IGNORECASE))


def codes_in(question: str) -> Iterator[Thing]:
    """Give what may be a number or code, each with its longest form first."""
    tokens = list(TOKEN.finditer(question))
    for first, token in enumerate(tokens):
        if first and _is_part(tokens[first - 1][0]) and _joined(question, tokens[first - 1], token):
            continue  # The forms that begin before it have it, or nothing does.
        last = first
        while (
            last + 1 < len(tokens) and last + 1 - first < _PARTS and _joined(question, tokens[last], tokens[last + 1])
        ):
            last += 1
        for start in range(first, last + 1):
            for end in range(last, start - 1, -1):
                # Part of a number is another number.
                cut = (start > first and _numbered(tokens[start - 1])) or (end < last and _numbered(tokens[end + 1]))
                if not cut and (thing := _code(question, tokens[start : end + 1])):
                    yield thing


def _joined(question: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Tell whether two tokens may be parts of one code."""
    return _is_part(one[0]) and _is_part(other[0]) and _SIGNS.fullmatch(question[one.end() : other.start()]) is not None


def _numbered(token: re.Match[str]) -> bool:
    return any(map(str.isdigit, token[0]))


def _is_part(token: str) -> bool:
    return any(map(str.isdigit, token)) or (_GROUP.fullmatch(token) is not None and token.lower() not in _SMALL)


def _code(question: str, tokens: Sequence[re.Match[str]]) -> Thing | None:
    start, end = tokens[0].start(), tokens[-1].end()
    key = "".join(each[0] for each in tokens)
    digits = sum(map(str.isdigit, key))
    if digits < 2 or not 3 <= len(key) <= LONGEST or not key.isascii():
        return None
    if len(tokens) == 1 and PLAIN.fullmatch(key):
        return None
    probes = _parts(key.lower())
    if digits < _GROUPED:
        forms = [_as_a_value(question, tokens)]
        if version := VERSION.fullmatch(question[start:end]):
            probes, forms = [*probes, version[1], f"v{version[1]}"], [*forms, f"v?{re.escape(version[1])}"]
        padded = None
        if lettered := _LETTERED.fullmatch(question[start:end]):
            letters, number = lettered[1], lettered[2]
            numbers = [number.zfill(length) for length in range(len(number), _PADDED + 1)]
            probes = [*probes, *(form for each in numbers for form in (each, f"-{each}", f"{letters.lower()}{each}"))]
            loose = [f"{letters}{_BETWEEN}0{{0,{_PADDED}}}{number}"]
            if letters.isupper() and len(number) >= _MODEL:
                probes, loose = [*probes, f"{number}*"], [*loose, rf"{letters}{_BETWEEN}{number}[^\W\d_]{{1,2}}"]
            padded = _pattern(loose)
        return Thing(start, question[start:end], probes, _pattern(forms), padded)
    plus = question[start - 1 : start] == "+"
    if plus:
        start -= 1
    return Thing(start, question[start:end], probes, _pattern(_forms(key, plus=plus)))


def _parts(key: str) -> list[str]:
    """Return the lexemes that a text with a code may have, as the database reads numbers: some with a sign."""
    parts = {key[start:end] for start in range(len(key)) for end in range(start + 1, min(len(key), start + 24) + 1)}
    numbered = {each for each in parts if any(map(str.isdigit, each))} or parts
    # With a slash between them the database keeps all parts as one.
    beginnings = {each[:_HEAD] + "*" for each in (key, key.lstrip("0"), f"0{key[2:]}") if each[:_HEAD].isdigit()}
    return [*numbered, *(f"-{each}" for each in numbered if each.isdigit()), *beginnings]


def _pattern(forms: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"{_BEFORE}\+?(?:{'|'.join(forms)}){_AFTER}", re.IGNORECASE)


def _forms(key: str, *, plus: bool) -> Iterator[str]:
    """Give what matches a code with any signs between its parts; a telephone number with or without its country."""
    yield _spread(key)
    if key.isdigit() and len(key) > _LEAST_NUMBER + 1 and (plus or key.startswith("0")):
        abroad = plus or key.startswith("00")
        bare = key.lstrip("0")
        cores = [bare[cut:] for cut in (1, 2, 3)] if abroad else [bare]
        country = rf"(?:\+|00){_BETWEEN}\d{{1,3}}{_BETWEEN}(?:\(0\){_BETWEEN})?"
        yield from (rf"(?:{country}|0{_BETWEEN}){_spread(core)}" for core in cores if len(core) >= _LEAST_NUMBER)


def _spread(key: str) -> str:
    return _BETWEEN.join(map(re.escape, key))


def _as_a_value(question: str, tokens: Sequence[re.Match[str]]) -> str:
    """Return what matches a short code, whose signs between digits say something: 10.50 is not 1050, nor 12/3 123."""
    told = question[tokens[0].start() : tokens[-1].end()]
    letters = list(re.finditer(r"[^\W_]", told))
    made = re.escape(letters[0][0])
    for one, other in pairwise(letters):
        sign = told[one.end() : other.start()].strip()
        digits = one[0].isdigit() and other[0].isdigit()
        made += (_BETWEEN if not digits else _SIGN if sign else _NO_SIGN) + re.escape(other[0])
    return made


def days_in(question: str) -> Iterator[Thing]:
    """Give the days in digits, each with the ways to write it; those that no calendar has are none."""
    for found in _DAY.finditer(question):
        days = list(_read_days(found))
        if days:
            probes = dict.fromkeys(each for day in days for each in _day_lexemes(day))
            pattern = re.compile("|".join(form for day in days for form in _day_forms(day)), re.IGNORECASE)
            yield Thing(found.start(), found[0], list(probes), pattern)


def _read_days(found: re.Match[str]) -> Iterator[date]:
    """Give the days that are meant: with slashes the month may come first."""
    if found["year"]:
        orders = [(found["year"], found["month"], found["day"])]
    else:
        orders = [(found["last"], found["second"], found["first"]), (found["last"], found["first"], found["second"])]
        orders = orders if "/" in found[0] else orders[:1]
    for each in orders:
        try:
            yield date(*map(int, each))
        except ValueError:
            continue


def _day_lexemes(day: date) -> list[str]:
    return [*month_lexemes(day.month), f"{day.year}", *day_numbers(day), f"-{day.month:02}", *days_in_digits(day)]


def day_numbers(day: date) -> list[str]:
    """Return the lexemes by which a text may have the number that a day has in its month."""
    ordinals = [f"{day.day}{ending}" for ending in ("st", "nd", "rd", "th")]
    return [f"{day.day}", f"{day.day:02}", f"-{day.day:02}", *ordinals]


def month_lexemes(month: int) -> list[str]:
    """Return the lexemes by which a text may name a month.

    >>> month_lexemes(1), month_lexemes(9)
    (['january', 'januari', 'jan'], ['september', 'septemb', 'sep', 'sept'])
    """
    name = MONTHS[month - 1]
    return list(
        dict.fromkeys([name, name.removesuffix("er"), re.sub("y$", "i", name), name[:3], *["sept"] * (month == 9)])
    )


def days_in_digits(day: date) -> list[str]:
    """Return how a day is written in digits alone, with its year."""
    forms = ("{d}.{m}.{y}", "{d:02}.{m:02}.{y}", "{d}/{m}/{y}", "{d:02}/{m:02}/{y}", "{m}/{d}/{y}", "{y}-{m:02}-{d:02}")
    return [form.format(d=day.day, m=day.month, y=day.year) for form in forms]


def day_beginnings(day: date) -> list[str]:
    """Return how lexemes begin by which a text may have a day in digits, of whatever year, each with a star."""
    forms = ("{d}.{m}.", "{d:02}.{m:02}.", "{d}/{m}/", "{d:02}/{m:02}/", "{m}/{d}/", "{m:02}/{d:02}/")
    # To the database "3.12." is a number.
    numbers = [f"{day.day}.{day.month}", f"{day.day:02}.{day.month:02}"]
    pairs = (day.day, day.month), (day.month, day.day)
    numbers += [f"{one:{width}}/{other:{width}}" for one, other in pairs for width in ("", "02")]
    return [*(form.format(d=day.day, m=day.month) + "*" for form in forms), *numbers, f"-{day.month:02}"]


# How lexemes begin by which a text may have whatever day in digits.
NUMBER_BEGINNINGS = tuple(
    dict.fromkeys(f"{day:{width}}{sign}*" for sign in "./" for width in ("", "02") for day in range(1, 32))
)


def _day_forms(day: date) -> list[str]:
    month = MONTHS[day.month - 1]
    named = rf"{month[:3]}(?:{month[3:]})?\.?"
    number = rf"0?{day.day}(?:st|nd|rd|th)?"
    forms = (rf"{number}\s+(?:of\s+)?{named},?\s+{day.year}", rf"{named}\s+{number},?\s+{day.year}")
    return [rf"(?<!\w)(?:{form})(?!\w)" for form in (*forms, *map(re.escape, days_in_digits(day)))]
