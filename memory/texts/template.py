"""The template of a text: what it says beside its numbers, dates and names. Texts that share one may be updates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from memory.texts.difference import FILLERS
from memory.texts.distinguishing_marks import COMMON, MASK, NAME_MASK, TOKEN, is_name, is_perhaps_name, masked

# Characters; a longer text has no template.
_LONGEST_TEMPLATE = 500
_LONGEST_SHORT = 3
_FEWEST_TEMPLATE_WORDS = 2
# What a verb loses behind one of these, which come only with "not" and in questions.
_ENDING = re.compile(r"(?:(?<=ss|zz|ch|sh)es|(?<=[xo])es|(?<![su])s)$")
_AUXILIARIES = frozenset(("do", "does", "did"))
_LONGEST_DIES = 4


def template(text: str) -> str | None:
    """Return the words of a text with each number, date and name masked by its kind; None when too few are left.

    Texts with one template may be updates of one another: "The dentist is at 3pm" and "The dentist is at 4pm".
    Polarity words are left out, so that "is allergic" and "is not allergic" share a template too, and the endings of
    verbs: "drinks" and "does not drink". Of a label and a value, as "Rent 700", one word is enough. A long text has
    none: there, SimHash finds what differs in little.
    """
    if len(text) > _LONGEST_TEMPLATE:
        return None
    found = list(TOKEN.finditer(masked(text)))
    if (note := _label_and_value([token.group() for token in found])) is not None:
        return note
    # A capital that only begins a sentence may be anything's, so it is a name where nothing else is a mark: "Rent is
    # 700" tells of the rent, "Ada drinks tea" of Ada.
    sure = any(token.group().startswith(MASK) or (is_name(token) and not is_perhaps_name(token)) for token in found)
    tokens = [_word_or_mask(token, perhaps=not sure) for token in found]
    words = [_stem(word) for word in tokens if not word.startswith(MASK)]
    if len(words) < _FEWEST_TEMPLATE_WORDS or not any(map(_is_content, words)):
        return None
    # "3 May 2024" and "Ada Lovelace" are one mark each, as are "May" and "Ada".
    stems = (word if word.startswith(MASK) else _stem(word) for word in tokens if word not in _AUXILIARIES)
    return " ".join(word for word, _ in groupby(stems))


def _label_and_value(tokens: Sequence[str]) -> str | None:
    """Return the template of a word and the numbers or dates behind it; None for any other text."""
    label, *values = tokens or [""]
    if not values or label.startswith(MASK) or not all(value.startswith(MASK) for value in values):
        return None
    return f"{label.lower()} {' '.join(kind for kind, _ in groupby(values))}" if _is_content(label.lower()) else None


def _word_or_mask(token: re.Match[str], *, perhaps: bool) -> str:
    word = token.group()
    if word.startswith(MASK):
        return word
    return NAME_MASK if is_name(token) and (perhaps or not is_perhaps_name(token)) else word.lower()


def _stem(word: str) -> str:
    """Return a verb as it stands behind "does not": "drinks" and "drink" are one word of a template."""
    if len(word) > _LONGEST_DIES and word.endswith("ies"):
        return f"{word[:-3]}y"
    return _ENDING.sub("", word) if len(word) > _LONGEST_SHORT else word


def _is_content(word: str) -> bool:
    known = FILLERS if len(word) > _LONGEST_SHORT else FILLERS | COMMON
    return len(word) >= _LONGEST_SHORT and word not in known
