"""The part of a long text that speaks of a question."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from memory.texts.scripts import as_indexed, end_of_letter, normal, places_indexed, words
from retrieval.words import tokens
from retrieval.words.about import says_little
from retrieval.words.answers import signed, unsigned

_ENDINGS = ("ingly", "edly", "ings", "ing", "ies", "ied", "es", "ed", "ly", "s", "e", "y")
_SHORTEST_STEM = 3
# Words that say nothing about what a text is about; the keyword leg leaves them out as well.
EMPTY = frozenset(
    re.findall(
        r"\w+",
        """a about all also am an and any are as at be because been but by can could did do does for from had has have
        he her him his how i if in into is it its itself just know me more my no not of on or our s she should so t tell
        than that the their them then there these they this to us was we were what when where which who whom whose why
        will with would you your""",
    )
)
# What an apostrophe joins to fewer letters is no name: "What's", "she'd".
_CHAIN = re.compile(r"(?<![^\W\d_])[^\W\d_]+(?:[-.\u2010\u2011][^\W\d_]+|['\u2019][^\W\d_]{3,})+")
# This share of a passage stands before the first of the words that it was chosen for.
_BEFORE = 0.25
ELLIPSIS = "…"


def without_marks(word: str) -> str:
    """Return a word without its accents; one of nothing else as it is."""
    return "".join(each for each in normal("NFKD", word) if not unicodedata.combining(each)) or word


def stem(word: str) -> str:
    """Return a word without accents and its commonest English endings: near enough to show why a text was found."""
    word = word.casefold()
    if not word.isascii():
        word = without_marks(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > _SHORTEST_STEM and word[-1] == word[-2] else word


def stems(question: str) -> frozenset[str]:
    """Return the stems of the words of a question that say what it is about.

    >>> sorted(stems("Where are the spare keys?"))
    ['key', 'spar']
    """
    told = [word for _, word in words(question) if word.casefold() not in EMPTY]
    return frozenset(map(stem, [word for word in told if not says_little(word)] or told))


def found_in(text: str, question: str) -> list[tuple[int, int, str]]:
    """Return where a text has what a question is about: start, end and stem of each word, in their order.

    A name with signs, as "C#" or "AT&T", is one word: what has only its letters has none of it. What one writes joined
    and the other with signs between is the same, and a letter and its accent may be two characters.

    >>> found_in("Keys: two in C#, one in C", "Is the key in C#?")
    [(0, 4, 'key'), (13, 15, 'c#')]
    >>> found_in("Node.js and an airfryer", "nodejs or air-fryer?")
    [(0, 7, 'nodej'), (15, 23, 'airfryer')]
    >>> found_in("The cafe\u0301, I said", "Which café?")
    [(4, 9, 'caf')]
    """
    plain, places = (text, range(len(text) + 1)) if as_indexed(text) == text else places_indexed(text)
    found = _found_in(plain, as_indexed(question))
    spans, begin, behind = [], 0, 0
    for start, end, root in found:
        # One letter may have many marks, several of which may end a word.
        if not begin <= (last := places[end - 1]) < behind:
            begin, behind = last, end_of_letter(text, last)
        spans.append((places[start], behind, root))
    return spans


def _found_in(text: str, question: str) -> list[tuple[int, int, str]]:
    names = signed(question)
    whole = [
        (each.start(), each.end(), name)
        for name, pattern in names.items()
        for each in re.finditer(pattern, text, re.IGNORECASE)
    ]
    told = stems(unsigned(question, names))
    whole += [each for each in _joined(text) if each[2] in told]
    wanted = told.union(root for _, _, root in _joined(question))
    found = [(place, place + len(word), root) for place, word in words(text) if (root := stem(word)) in wanted]
    if not whole:
        return found
    taken = {place for start, end, _ in whole for place in range(start, end)}
    return sorted([*whole, *(each for each in found if taken.isdisjoint(range(*each[:2])))])


def _joined(text: str) -> Iterator[tuple[int, int, str]]:
    """Give start, end and stem of what has signs between its letters, as if it had none: "Node.js" and "follow-up"."""
    for each in _CHAIN.finditer(text):
        yield each.start(), each.end(), stem("".join(filter(str.isalpha, each[0])))


def passage(text: str, question: str, most: int) -> str:
    """Return the part of a text, of at most `most` tokens, that has most of a question's words; else its beginning.

    A word counts the less the more often the text has it. Dots stand where something was left out.
    """
    found = [(start, root) for start, _, root in found_in(text, question)]
    room = most - 2 * tokens.count(ELLIPSIS)
    if not found or room <= 0:
        return tokens.cut(text, most)
    length = room * len(text) // max(1, tokens.count(text))
    best = _best(found, length)
    start = max(0, best - int(_BEFORE * length))
    # At the beginning of a word, where blanks tell that.
    if start > 0 and (blank := text.find(" ", start, best)) >= 0:
        start = blank + 1
    # What stands beside the dots may take a token more with them than without.
    while tokens.count(part := _between(text, start, room)) > most:
        room -= 1
    return part


def _between(text: str, start: int, most: int) -> str:
    """Return at most so many tokens of a text from a place on, with dots where something was left out."""
    part = tokens.cut(text[start:], most).rstrip()
    return f"{ELLIPSIS if start else ''}{part}{ELLIPSIS if start + len(part) < len(text.rstrip()) else ''}"


def _best(found: Sequence[tuple[int, str]], length: int) -> int:
    """Return the first place from which the next `length` characters have the words that tell most."""
    often = Counter(root for _, root in found)
    reach = int((1 - _BEFORE) * length)
    best, place = 0.0, found[0][0]
    inside: Counter[str] = Counter()
    end, told = 0, 0.0
    for first, root in found:
        while end < len(found) and found[end][0] < first + reach:
            following = found[end][1]
            told += 1 / often[following] if inside[following] == 0 else 0.0
            inside[following] += 1
            end += 1
        if told > best + 1e-9:
            best, place = told, first
        inside[root] -= 1
        told -= 1 / often[root] if inside[root] == 0 else 0.0
    return place
