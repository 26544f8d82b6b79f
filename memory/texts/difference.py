"""What keeps two near-duplicate texts apart: a number, a date, a polarity word, a proper name or a sign.

SimHash sees words, not meaning: "meet at 3pm" and "meet at 4pm" are neighbours, yet one updates the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memory.texts.addresses import addresses
from memory.texts.distinguishing_marks import Marks, begins_sentence, marks_and_tokens, plain
from memory.texts.signs import exchanged, signs

MOST_EXTRA_WORDS = 2
# Words that may be exchanged, or come and go, without another meaning: emphasis, articles, and what verbs need.
_FILLER_WORDS = """
    really very just also quite actually that this with have then a an the is am are be it its so as do does has too
"""
FILLERS = frozenset(_FILLER_WORDS.split())
# What puts a verb into another time: who was married need not be.
_TENSES = frozenset(("was", "were", "been", "had", "did", "will", "would"))
# Words of English and of hardly another language: an English text has one among so many words, as a rule several.
_ENGLISH_WORDS = """
    the and with that this from they their there your would which when where who why because should about every it
    been his she you never only after before always
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_ENGLISH_EVERY = 12
# What a title has in small letters.
_LITTLE = _ENGLISH | frozenset(["a", "an", "as", "at", "by", "for", "in", "is", "of", "on", "or", "to"])


@dataclass(frozen=True, slots=True)
class Reading:
    """What a comparison needs of a text: its marks, its other words in lower case, its addresses and signs.

    `english` is how many of the words tell that it is English.
    """

    marks: Marks
    words: list[str]
    addresses: frozenset[str]
    signs: tuple[str, ...]
    english: int


def read(text: str) -> Reading:
    """Return a text's reading, for texts that are compared with many."""
    marks, tokens = marks_and_tokens(text)
    words = [token.group().lower() for token in tokens]
    return Reading(marks, words, addresses(text), signs(plain(text)), _english(tokens))


def differs(stored: str, new: str) -> str | None:
    """Return the first kind of mark in which a new text differs from a stored one, or None if they may be one memory.

    One of "date", "number", "negation", "name", "sign", "order" and "wording"; "order" means the same words in another
    ("uv over pip", "pip over uv"). A name counts as the same when the other text has it in lower case. An address that
    only the new text has is a difference, as a name: merged, it would be lost. One that it lacks is none.
    """
    return compare(read(stored), read(new))


def compare(stored: Reading, new: Reading) -> str | None:
    """Return what `differs` returns, for two texts that were read before."""
    marks, words, other_words = stored.marks, stored.words, new.words
    if marks.dates != new.marks.dates:
        return "date"
    if marks.numbers != new.marks.numbers:
        return "number"
    if marks.negations != new.marks.negations:
        return "negation"
    named = {*marks.names, *new.marks.names}
    if [word for word in words if word in named] != [word for word in other_words if word in named]:
        return "name"
    if new.addresses - stored.addresses:
        return "name"
    if exchanged(stored.signs, new.signs):
        return "sign"
    if words != other_words and sorted(words) == sorted(other_words):
        return "order"
    # Only in English a word may be added without another meaning: in another language it may be that one's "not".
    is_english = _ENGLISH_EVERY * (stored.english + new.english) >= len(words) + len(other_words)
    return "wording" if _reworded(words, other_words, MOST_EXTRA_WORDS if is_english else 0) else None


def _reworded(words: list[str], other_words: list[str], most: int) -> bool:
    """Tell whether one text says something that the other lacks, beside `most` words more.

    In a long text one word or one sentence more moves few bits: "vegetarian" for "vegan" among 160 words stays
    within distance 3 most of the time. So a word exchanged for another keeps texts apart, however short it is ("cat"
    and "dog", "he" and "she"), and so do more words added than emphasis needs.
    """
    if [word for word in words if word in _TENSES] != [word for word in other_words if word in _TENSES]:
        return True
    ours = Counter(word for word in words if word not in FILLERS)
    theirs = Counter(word for word in other_words if word not in FILLERS)
    lost, added = (ours - theirs).total(), (theirs - ours).total()
    return (lost > 0 and added > 0) or max(lost, added) > most


def _english(tokens: Sequence[re.Match[str]]) -> int:
    """Return how many words tell that a text is English: those of a title stand in texts of any language.

    A title is what begins with a capital and goes on with capitals and little words: "The Crown", "Game of Thrones".
    """
    titles = [_is_capitalised(token.group()) for token in tokens]
    behind = _beside_title(tokens, titles)
    before = _beside_title(tokens[::-1], titles[::-1])[::-1]

    def is_of_title(place: int) -> bool:
        if not titles[place]:
            return behind[place] and before[place]
        return before[place] or not begins_sentence(tokens[place])

    return sum(token.group().lower() in _ENGLISH and not is_of_title(place) for place, token in enumerate(tokens))


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() and (len(word) == 1 or not word.isupper())


def _beside_title(tokens: Sequence[re.Match[str]], titles: Sequence[bool]) -> list[bool]:
    """Tell of each word whether the one before it has a capital, past little words."""
    beside, is_beside = [], False
    for token, is_title in zip(tokens, titles, strict=True):
        beside.append(is_beside)
        is_beside = is_title or (is_beside and token.group().lower() in _LITTLE)
    return beside
