"""What a number or a letter tells from others of its name: "ICE 579", "house 9", "flat B", "Ubuntu 24.04"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise

from retrieval.words.codes import UNIT
from retrieval.words.lexemes import DATED, GENERIC, TOKEN, YEAR, bare, is_of

# Names in lower case, each with a number.
Pairs = Sequence[tuple[str, str]]

# What stands before the three digits of a train, a flight or a model with but a blank between them ("ICE 579"): fewer
# digits may be anything, and more are an identifier by themselves. What stands before an amount is none.
_INITIALS, _THREE = re.compile(r"[A-Z]{2,4}"), re.compile(r"\d{3}")
NO_INITIALS = frozenset(
    """
    AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP GEL GHS HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN
    MYR NGN NOK NZD PEN PHP PKR PLN RON RSD RUB SEK SGD THB TND TRY TWD TZS UAH UGX USD VND XAF XOF ZAR
    AM CA EU GB KB KG KM MAX MB MIN MM NO PM TB TOP UK US
    """.split()  # noqa: SIM905  # A list of quoted words cannot be read.
)
# One word and its number, or a letter instead: "flat B". What has the word alone may be about it: "the BMW".
_LETTER = r"(?<![^\W_])(?-i:[A-HJ-Z])(?![#+]|[.&]?\w|['\u2019](?!s\b)\w)"
_DOTTED = rf"\d+(?:\.\d+)*|{_LETTER}"
_NUMBER = rf"\d{{1,3}}(?:\.\d{{1,3}}){{0,3}}|{_LETTER}"
_NUMBERED = re.compile(r"\W*([^\W\d_]{2,})[ -]#?(\d{1,3})\W*")
# The same within more words: no day, time, share or number of more digits.
_PAIRED = re.compile(rf"(?<![\w-])([^\W\d_]{{2,}})[ -]#?({_NUMBER})(?![\w%/-]|[:.,]\d)")
# Between two numbers or letters that mean those between them as well, and before one that has no other end.
_TO = "to|till|until|through|bis"
_OPEN = re.compile(r"\b(?:since|until|till|up\s+to|after|before|seit|bis)\s+\Z", re.IGNORECASE)
_LONGEST_OPEN = 10
# A word and the numbers behind it: "ICE-579", "Sprint 41 and 42", "Ubuntu 24.04".
_BEHIND = re.compile(
    rf"""(?<![^\W_])([^\W\d_]+)[\s#-]{{0,3}}
    ((?:{_DOTTED})(?:\s*(?:[,/&+\u2013-]|(?:and|or|{_TO}|und|oder|et|ou)\b)\s*(?:\#|\1\s)?(?:{_DOTTED}))*)""",
    re.IGNORECASE | re.VERBOSE,
)
# Of these numbers, those between which others are meant.
_THROUGH = re.compile(
    rf"(\d{{1,4}}|(?-i:[A-Z]))\s*(?:[\u2013-]|(?:{_TO})\b)\s*(?:[^\W\d_]+\s)?(\d{{1,4}}|(?-i:[A-Z]))(?!\.?\d)",
    re.IGNORECASE,
)
# Behind a number that tells no thing from another of its name: "12 May", "7:30"; and "2 rooms".
_DAY_OR_TIME = re.compile(
    r"""(?:st|nd|rd|th)?[ -](?:of\s+)?(?:
        jan | feb | mar | apr | may | june? | july? | aug | sept? | oct | nov | dec
      | (?:jan|febr)uary | march | april | august | (?:sept|nov|dec)ember | october
    )(?![^\W_]) | :\d""",
    re.IGNORECASE | re.VERBOSE,
)
_MANY = re.compile(r"[ ](?:[^\W\d_]{2,}s|people|an?[ ](?:night|day|week|month|year))(?![^\W_])(?![ ]\d)", re.IGNORECASE)
# Not "one", which stands for anything.
_SMALL = {
    each: str(number)
    for number, each in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)  # noqa: SIM905
}
_SPELLED = re.compile(rf"\b(?:{'|'.join(_SMALL)})\b", re.IGNORECASE)
# Digits of any script, and letters of the width of Chinese ones.
_WIDE = re.compile(r"\d|[\uff21-\uff3a\uff41-\uff5a]")
# Signs in a row beyond so many name and count nothing, and to bring marks in order takes the square of their number.
_SIGNS = re.compile(r"([^\w\s\x00-\x7f]{30})[^\w\s\x00-\x7f]+")
# So many are looked at, and so many numbers lie between two.
_MOST_PAIRS, _LONGEST_SPAN = 8, 100
# Whoever writes more words than these with capitals alone means nothing by them.
_SHOUTED = 4


def numbered_in(text: str) -> Iterator[tuple[str, str]]:
    """Give each "ICE 579" in two, and "sprint 42" where nothing else is said.

    The number tells it from another: what has it says little of it for that.
    """
    if (alone := _NUMBERED.fullmatch(text)) and not (DATED.fullmatch(low := alone[1].lower()) or low in GENERIC):
        yield low, alone[2]
        return
    if text.isupper() and len(text.split()) > _SHOUTED:
        return
    for one, other in pairwise(TOKEN.finditer(text)):
        head, number, between = one[0], bare(other[0]), text[one.end() : other.start()]
        initials = _INITIALS.fullmatch(head) and head not in NO_INITIALS
        if initials and between.isspace() and _THREE.fullmatch(number) and not UNIT.match(text, other.end()):
            yield head.lower(), number


def paired_in(text: str, content: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give each "house 9" of a question, where the word is one of the `content` (lexemes), with its number."""
    pairs = list(islice(_PAIRED.finditer(text), _MOST_PAIRS))
    behind = _numbers_behind(text) if pairs else {}
    for found in pairs:
        name, end = found[1].lower(), found.end()
        counts = found[2][0].isdigit() and is_counted(text, end)
        # "House 7 and 9": each of them may be meant, but nobody counts up so many.
        numbers = {found[2], *behind.get(name, ())}
        if not counts and len(numbers) <= _MOST_PAIRS and any(is_of(each, name) for each in content):
            yield from ((name, each) for each in sorted(numbers))


def names_another(text: str, numbers: Pairs, paired: Pairs) -> bool:
    """Tell whether a text has other numbers alone behind the names of all these pairs, which are in one form."""
    if not numbers and not paired:
        return False
    if not text.isascii():
        text = unicodedata.normalize("NFC", _WIDE.sub(_narrow, _SIGNS.sub(r"\1", text)))
    behind = _numbers_behind(text)
    # Of "firmware 1.42 is fine, 1.43 is not" the second number is of the same name.
    held = frozenset(_numbers_in(text)) if paired else frozenset()
    for pairs, also in ((numbers, frozenset[str]()), (paired, held)):
        found = [(number, behind[name]) for name, number in pairs if name in behind]
        if found:
            told = {number for number, _ in found}
            return not any(_is_among(each, also) for each in told) and not any(
                _is_among(number, others) for number, others in found
            )
    return False


def _narrow(found: re.Match[str]) -> str:
    sign = found[0]
    return str(int(sign)) if sign.isdecimal() else unicodedata.normalize("NFKC", sign)


def _is_amount(text: str, end: int) -> bool:
    """Tell whether a number that ends there is an amount, a day or a time."""
    return UNIT.match(text, end) is not None or _DAY_OR_TIME.match(text, end) is not None


def is_counted(text: str, end: int) -> bool:
    """Tell whether a number that ends there says how much, how many or when."""
    return _is_amount(text, end) or _MANY.match(text, end) is not None


def _numbers_behind(text: str) -> dict[str, set[str]]:
    """Return the numbers behind each word of a text, in lower case, with those that are listed after the first.

    Of "week 3-5" it has what lies between.
    """
    found: dict[str, set[str]] = {}
    for each in _BEHIND.finditer(text):
        if _is_amount(text, each.end()):
            continue
        told = [number for number in re.findall(_DOTTED, each[2]) if not YEAR.fullmatch(number)]
        if not told:
            continue  # "The Golf 2015" is of that year, and may be a Golf 7.
        if len(told) == 1 and _OPEN.search(text, max(0, each.start() - _LONGEST_OPEN), each.start()):
            continue
        numbers = found.setdefault(each[1].lower(), set())
        numbers.update(told)
        for first, last in set(_THROUGH.findall(each[2])):
            numbers.update(_between(first, last))
    return found


def _between(first: str, last: str) -> Iterator[str]:
    """Give the numbers, or letters, from the first to the one before the last, unless they are many."""
    if first.isdigit() and last.isdigit() and 0 < int(last) - int(first) < _LONGEST_SPAN:
        yield from map(str, range(int(first), int(last)))
    elif first.isalpha() and last.isalpha():
        yield from map(chr, range(ord(first), ord(last)))


def _numbers_in(text: str) -> Iterator[str]:
    """Give all numbers and single letters of a text, also the small numbers that are written as words: "phase two"."""
    yield from re.findall(_DOTTED, text)
    yield from (_SMALL[each.lower()] for each in _SPELLED.findall(text))


def _is_among(number: str, others: Collection[str]) -> bool:
    """Tell whether a number or version is one of others, or what one begins with: 24.04.1 is a 24.04, and a 24."""
    if number in others:
        return True
    return any(each.startswith(f"{number}.") or number.startswith(f"{each}.") for each in others)
