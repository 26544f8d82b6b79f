"""Signs in a text that are neither words nor punctuation: "<", "!=", an emoji. A word's meaning may hang on one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_RUN = re.compile(r"[^\w\s]+")
_OPENING, _CLOSING = "([{\"'*_\u201c\u2018\u00ab", ")]}\"'*_.,;:!?\u2026\u201d\u2019\u00bb"
# Mathematics, currencies and pictures; what modifies a letter, such as a back quote, says nothing.
_KINDS = frozenset({"Sm", "Sc", "So"})
# The minus of "O-", which is no hyphen.
_GRADE = re.compile(r"(?<=\w)-(?![\w-])")
# What was only added does change what is said here: "A" and "A+", "3.10" and "< 3.10".
_TELLING = frozenset("+\u2212<>=\u2260\u2264\u2265\u2190\u2192\u2194\u21d0\u21d2\u21d4")
# Signs as keyboards have them, arrows of any length, and as one character. Editors make one dash of two hyphens.
_DASHES = "[-\u2013\u2014]"
_TYPED = {
    f"<{_DASHES}+>": "\u2194",
    f"(?<!{_DASHES}){_DASHES}+>": "\u2192",
    f"<{_DASHES}+": "\u2190",
    "<=+>": "\u21d4",
    "(?<!=)=+>": "\u21d2",
    "<={2,}": "\u21d0",
    "!=": "\u2260",
    ">=": "\u2265",
    "<=": "\u2264",
}
_AS_TYPED = re.compile("|".join(f"({typed})" for typed in _TYPED))
_SINGLE = tuple(_TYPED.values())
# Long arrows, and those of dingbats and pictures, as the plain ones.
_PLAIN = str.maketrans(
    "\u27f5\u27f6\u27f7\u27f8\u27f9\u27fa\u2794\u279c\u279d\u279e\u27a1\u2b05",
    "\u2190\u2192\u2194\u21d0\u21d2\u21d4\u2192\u2192\u2192\u2192\u2192\u2190",
)
# Asks for a picture in colour, or for one in black and white.
_VARIANTS = str.maketrans("", "", "\ufe0e\ufe0f")


def signs(text: str) -> tuple[str, ...]:
    """Return the signs of a text in their order, each run of them as one, without the punctuation around it.

    One that is typed with several characters, such as "->" and "-->", is the single one that is meant.
    """
    written = _AS_TYPED.sub(lambda match: _SINGLE[(match.lastindex or 0) - 1], text.translate(_PLAIN))
    found = _RUN.findall(_GRADE.sub("\u2212", written))
    runs = (run.translate(_VARIANTS).lstrip(_OPENING + ".,;:?").rstrip(_CLOSING) for run in found)
    return tuple(run for run in runs if any(unicodedata.category(sign) in _KINDS for sign in run))


def exchanged(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell whether each text has a sign that the other lacks, or both have the same in another order.

    One that is only added or left out does not change what is said, unless it compares or grades.
    """
    ours, theirs = Counter(one), Counter(other)
    if ours == theirs:
        return one != other
    lost, gained = ours - theirs, theirs - ours
    return bool(lost and gained) or any(_TELLING.intersection(run) for run in [*lost, *gained])
