"""Questions that ask for several things: each of them is a question by itself."""

from __future__ import annotations

import re

from retrieval.words.answers import QUOTED, what_asks
from retrieval.words.lexemes import TOKEN, bare

_ASKS = r"(?:who|whom|whose|what|which|when|where|why|how)(?:['\u2019](?:s|re|d|ll))?"
_HELPS = "is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must"
# Behind "and" a verb that only helps begins a question where somebody follows: "and is Rex ill", not "and have a walk".
_SUBJECT = r"(?:i|we|you|the|my|our|your|any|anyone|anybody|[A-Z]\w*)"
_BEGINS = re.compile(rf"(?:(?:and|but|so|also)\s+)?(?:{_ASKS}|{_HELPS})\s", re.IGNORECASE)
_AND = re.compile(rf",?\s+and\s+(?:also\s+)?(?=(?:(?i:{_ASKS})|(?:{_HELPS})\s+{_SUBJECT})\s)")
_SENTENCE_END = re.compile(r"(?<=\?)\s+")
# What points at something else that was said is no question by itself.
_POINTS = frozenset(
    """
    he she it they him her hers them his its their theirs that this those these there one ones then so instead
    """.split()  # noqa: SIM905  # A list of twenty quoted words cannot be read.
)
# Words that ask nothing by themselves: a question of these and what asks alone is none.
_EMPTY = frozenset(
    """
    a an the i me my mine we us our ours you your yours for of in on at by with to from about and or not no much many
    long often else
    """.split()  # noqa: SIM905  # As above.
)
_ASKING = re.compile(rf"{_ASKS}|{_HELPS}", re.IGNORECASE)


def parts_of(question: str, most: int) -> tuple[str, ...]:
    """Return the questions that one consists of, if each can be asked by itself; none where it is one, or over `most`.

    What is told beside them is in none.

    >>> parts_of("Who is Inês and where does my mother live?", 3)
    ('Who is Inês?', 'where does my mother live?')
    >>> parts_of("Is Rex ill? What is the password?", 3), parts_of("Which car did I choose, and why?", 3)
    (('Is Rex ill?', 'What is the password?'), ())
    >>> parts_of("Who is Inês and where does she live?", 3), parts_of("When and where is the choir?", 3)
    ((), ())
    """
    # Within quotes nothing is asked.
    if QUOTED.search(question):
        return ()
    sentences = [what_asks(each) for each in _SENTENCE_END.split(question) if "?" in each] or [question.strip()]
    split = [_AND.split(sentence) for sentence in sentences]
    if any(_ends_between(part) for each in split for part in each[:-1]):
        return ()
    parts = [part for each in split for part in each]
    if not 1 < len(parts) <= most or not all(map(_stands_alone, parts)):
        return ()
    asked = tuple(dict.fromkeys(f"{part.rstrip(' ,?')}?" for part in parts))
    return asked if len(asked) > 1 else ()


def _ends_between(part: str) -> bool:
    """Tell whether the "and" behind a part is that of its "between": "between what I have and what I need"."""
    words = part.lower().split()
    return "between" in words and "and" not in words[len(words) - words[::-1].index("between") :]


def _stands_alone(part: str) -> bool:
    """Tell whether a part begins as a question does and names something itself."""
    if _BEGINS.match(part) is None:
        return False
    words = [bare(each) for each in TOKEN.findall(part)]
    named = [each for each in words if each not in _EMPTY and not _ASKING.fullmatch(each)]
    return bool(named) and _POINTS.isdisjoint(words)
