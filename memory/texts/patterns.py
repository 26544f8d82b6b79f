"""What PostgreSQL can look for in place of the form in which forgotten texts are found, which it cannot make."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import chain, groupby

from memory.texts.caseless import without_case

# As much of a word as sets it apart from most others.
_LONGEST = 12
# Whatever lies beyond stands for itself: no letter or digit has a code point there as another form.
_FORMS = (range(0x80, 0xD800), range(0xE000, 0x20000), range(0x2F800, 0x2FA20))
# Vowels and final consonants that become one syllable with what stands before them.
_JAMO = range(0x1160, 0x1200)


def pattern(words: Collection[str]) -> str | None:
    """Return a regular expression of PostgreSQL that fits every text whose form `without_case` has one of the words.

    It fits few others: texts with a sign in them whose form depends on what is beside it, or is not one letter. The
    words are in that form, of letters and digits. None without a word, or where one is empty: that is
    in every text.
    """
    if not words or not all(words):
        return None
    parts = ["".join(_one_of(_forms().get(sign, ()), sign) for sign in word[:_LONGEST]) for word in sorted(words)]
    return "|".join([*parts, f"[{_unsure()}]"])


def _one_of(forms: Iterable[str], sign: str) -> str:
    return f"[{''.join(dict.fromkeys([sign, sign.upper() if sign.isascii() else sign, *forms]))}]"


@cache
def _without_case() -> Mapping[str, str]:
    """Return the form of each sign. All are made at once: one by one they would keep a first forgetting waiting."""
    signs = [chr(point) for point in chain(*_FORMS)]
    return dict(zip(signs, without_case("\n".join(signs)).split("\n"), strict=True))


@cache
def _forms() -> Mapping[str, list[str]]:
    """Return what else each letter or digit is written as, of what is one sign in either form."""
    forms: dict[str, list[str]] = defaultdict(list)
    for sign, form in _without_case().items():
        if len(form) == 1 and form != sign:
            forms[form].append(sign)
    return forms


@cache
def _unsure() -> str:
    """Return the signs that are no one sign in that form, or not always the same, as ranges in brackets."""
    points = [ord(sign) for sign, form in _without_case().items() if _is_unsure(form)]
    runs = [[point for _, point in run] for _, run in groupby(enumerate(points), lambda each: each[1] - each[0])]
    return "".join(chr(run[0]) if len(run) == 1 else f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


def _is_unsure(form: str) -> bool:
    if not form or (len(form) > 1 and any(each.isalnum() for each in form)):
        return True
    return any(unicodedata.combining(each) or ord(each) in _JAMO or each in _seconds() for each in form)


@cache
def _seconds() -> frozenset[str]:
    """Return what becomes one sign with what stands before it."""
    parts = (unicodedata.decomposition(chr(point)).split() for point in chain(*_FORMS))
    return frozenset(chr(int(each[1], 16)) for each in parts if len(each) == 2 and not each[0].startswith("<"))
