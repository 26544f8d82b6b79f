"""Words that a question has and no memory, and how many slips one word is from another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import OSA

from memory.embedding.bundled import MINILM
from retrieval.words.about import GERMAN
from retrieval.words.codes import TOKEN
from retrieval.words.passage import EMPTY, without_marks

# A word with the signs within it: "node.js", an address, a path.
CHUNK = re.compile(r"[^\W_](?:[\w.@+/:-]*[^\W_])?")
# The shortest word that may be misspelled.
LEAST_WORD = 4
# A stem is at most so much shorter than its word.
_ENDING = 3
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "\u0131": "i"}
)
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


def unknown_words(question: str, known: Sequence[str], *, least: int = LEAST_WORD) -> Iterator[re.Match[str]]:
    """Give the words of a question whose stem is not among the lexemes `known`, of at least `least` letters.

    A word with a capital may have one letter less. Words of every question are left out, in German too: among notes in
    English "nicht" is no slip of "night".
    """
    heard, stems = frozenset(known), stems_of(known)
    wholes = [each.span() for each in CHUNK.finditer(question) if not each[0].isalpha() and each[0].lower() in heard]
    for found in TOKEN.finditer(question):
        word, low = found[0], found[0].lower()
        if any(start <= found.start() < end for start, end in wholes):
            continue  # Part of what is there as a whole: "node" of "node.js".
        if not word.isalpha() or len(word) < least - word[0].isupper() or low in EMPTY or low in GERMAN:
            continue
        if not has_stem(low, stems):
            yield found


def stems_of(lexemes: Iterable[str]) -> frozenset[tuple[str, int]]:
    """Return for each lexeme its length and its beginning, without the last letter, which may differ in a word."""
    return frozenset((each[:-1] or each, len(each)) for each in lexemes)


def has_stem(word: str, stems: AbstractSet[tuple[str, int]]) -> bool:
    """Tell whether a word has one of the stems that `stems_of` gives, with at most three letters behind it."""
    # A long question has as many lexemes as words: to compare each with each took a third of a second.
    low = word.lower()
    shortest = max(1, len(low) - _ENDING)
    return (len(low) <= _ENDING + 1 and (low[:1], 1) in stems) or any(
        (low[: length - 1], length) in stems for length in range(max(2, shortest), len(low) + 2)
    )


def beginnings(word: str) -> Iterator[str]:
    """Give what a word begins with in small letters, the shortest first, the whole last."""
    low = word.lower()
    return (low[:end] for end in range(1, len(low) + 1))


def is_unusual(word: str) -> bool:
    """Tell whether a word has a capital, has a letter that is not English, or is unknown to English texts."""
    return word[0].isupper() or not word.isascii() or word.lower() not in english()


@cache
def english() -> frozenset[str]:
    """Return the words of English texts, among them names: the words in the bundled model's vocabulary."""
    lines = (Path(MINILM) / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(each for each in lines if each.isalpha())


def slips_between(folded: frozenset[str], words: Sequence[str], most: int) -> list[int | None]:
    """Return for each of `words` how many slips it is from the nearest form in `folded`; None for more than `most`.

    Accents are no slips. A word with another first letter is another word.
    """
    forms = [(form, place) for place, word in enumerate(words) for form in folded_forms(word)]
    found: list[int | None] = [None] * len(words)
    for one in folded:
        # All at once: they are hundreds, and each call from here takes longer than the rest.
        near = process.extract(one, [form for form, _ in forms], scorer=OSA.distance, score_cutoff=most, limit=None)
        for form, off, number in near:
            place = forms[number][1]
            before = found[place]
            if form[:1] == one[:1] and (before is None or off < before):
                found[place] = off
    return found


def folded_forms(word: str) -> frozenset[str]:
    """Return the ways to write a word without accents: "ö" as "o" or as "oe"."""
    if word.isascii():
        return frozenset({word})
    plain = word.translate(_LETTERS)
    return frozenset(without_marks(each.translate(_LETTERS)) for each in (plain, word.translate(_WRITTEN_OUT)))
