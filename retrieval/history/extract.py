"""An extract of a conversation: those of its own sentences that say most of what was said.

A word weighs by in how few messages it is said, and a little by how often; a sentence weighs what its words weigh on
average (after Radev, Jing, Styś and Tam, "Centroid-based summarization of multiple documents", 2004). When
a sentence is taken its words lose much of their weight, so that the next one says something else (Nenkova and
Vanderwende, "The impact of frequency on summarization", 2005); and where there are vectors, so does what is near to it
(maximal marginal relevance: Carbonell and Goldstein, 1998).

Nearness to the mean vector of a conversation was tried as a weight, and left out: it favours what is said all the time.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from memory.texts.scripts import UNSPACED, words
from retrieval.ranking.types import Vector

FEWEST_WORDS = 4
LONGEST = 320  # characters of a sentence
# The numbers below were found on LoCoMo: with them about 65 in 100 chosen sentences stand in a turn that some question
# needs, where 25 in 100 turns are such.
SPENT = 0.6  # of a word's weight is left when it has been said
REPEATED = 0.3  # of a word's weight is added each time that it is said e times as often
NEAR = 0.3  # of its weight is lost by what has the same vector as a sentence that was taken
NAMING = 1.2  # for a sentence with a name or a number
ASKING = 0.7  # for a question
# A few words say little, however much each of them weighs.
_SMOOTHING = 10
# People say what they want and who they are; replies go over it at length.
_ROLE_WEIGHT = {"user": 1.0, "assistant": 0.9}

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_END = re.compile(
    r"(?<=[.!?…])[\"')\]”’]*+\s++(?![a-z])|(?<=[。！？؟۔।॥።။។։])"  # noqa: RUF001 - they are what is meant
    # From the first space alone: a megabyte of them would be gone through from each.
    r"|(?<!\s)[^\S\n]*+\n\s*+"
)
_WORD = re.compile(r"[^\W_]{2,}")
_NAMED = re.compile(r"(?<=[\w,;:] )[A-Z][a-z]+|\b[A-Z]{2,}\b|\d")
_COMMON = frozenset(
    """
    about after again all also am an and any are as at awesome be because been before being both but by can could did
    do does doing don down during each else ever every few for from get gets getting go goes going gonna good got
    great had has have having he hello her here hers hey hi him his how however if in into is it its itself just know
    let like ll lot made make makes many may me might more most much must my myself nice no nor not now of off oh ok
    okay on once one only or other our ours out over own please pretty quite re really right said same say see she
    should so some something still such sure take than thank thanks that the their theirs them then there these they
    thing things think this those though through to too try up us use very want was way we well were what when where
    which while who whom why will with would wow yeah yep yes yet you your yours
    """.split()  # noqa: SIM905 - a list of so many words is easier to read so
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Characters `start` to `end` of the message with this sequence number."""

    sequence: int
    role: str
    start: int
    end: int
    text: str


def sentences(sequence: int, role: str, content: str) -> Iterator[Sentence]:
    """Yield the sentences of a message that can stand alone: of four words or more, without code, cut when long.

    A message that has none of four words is one sentence, if it has any word.
    """
    # Blanks keep the places of what follows.
    prose = _CODE.sub(lambda found: " " * len(found[0]), content)
    spans = list(_spans(prose))
    long_enough = [span for span in spans if _count(prose[slice(*span)]) >= FEWEST_WORDS]
    for start, end in long_enough or spans[:1]:
        yield Sentence(sequence, role, start, end, tidy(content[start:end]))


def _count(piece: str) -> int:
    """Return about how many words a sentence has: where no blanks part them, two characters are one."""
    return len(piece.split()) + len(UNSPACED.findall(piece)) // 2


def _spans(prose: str) -> Iterator[tuple[int, int]]:
    at = 0
    for stop in [*(found.end() for found in _END.finditer(prose)), len(prose)]:
        piece = prose[at:stop]
        start = at + len(piece) - len(piece.lstrip())
        at = stop
        if _WORD.search(piece):
            yield start, start + _shortened(piece.strip())


def _shortened(piece: str) -> int:
    """Return how many characters of a sentence are kept: all, or as many whole words as are not too long."""
    if len(piece) <= LONGEST:
        return len(piece)
    space = piece.rfind(" ", LONGEST // 2, LONGEST)
    return space if space > 0 else LONGEST


def tidy(text: str) -> str:
    """Return the text in one line."""
    return " ".join(text.split())


def rank(
    candidates: Sequence[Sentence],
    most: int,
    vectors: Mapping[int, Vector] | None = None,
    unrelated: float = 0.0,
) -> list[Sentence]:
    """Return at most `most` of the sentences, each the best one after those before it.

    `vectors` are unit vectors by the sequence number of the message, of as many as there are; `unrelated` is the cosine
    of those that have nothing to do with each other.
    """
    field = _Field(candidates, vectors or {}, unrelated)
    # Scores only ever fall, so a score that is still the highest when it is worked out anew is the highest of all.
    heap = [(-field.score(number), number) for number in range(len(candidates))]
    heapq.heapify(heap)
    ranked: list[Sentence] = []
    while heap and len(ranked) < most:
        number = heap[0][1]
        now = -field.score(number)
        if now > min(heap[1:3], default=(0.0, 0))[0]:
            heapq.heapreplace(heap, (now, number))
            continue
        heapq.heappop(heap)
        field.take(number)
        ranked.append(candidates[number])
    return ranked


class _Field:
    """What is left to say while sentences are taken one after the other."""

    def __init__(self, candidates: Sequence[Sentence], vectors: Mapping[int, Vector], unrelated: float) -> None:
        self._words = [_words(each.text) for each in candidates]
        self._weights = _weights(candidates, self._words)
        self._factors = [_factor(each) for each in candidates]
        known = list(vectors)
        places = {sequence: place for place, sequence in enumerate(known)}
        self._places = [places.get(each.sequence) for each in candidates]
        self._vectors = np.stack([vectors[sequence] for sequence in known]) if known else np.empty((0, 0), np.float32)
        self._unrelated = unrelated
        # For each sentence, how near the nearest one is that was taken.
        self._taken = np.zeros(len(known), np.float32)

    def score(self, number: int) -> float:
        words, place = self._words[number], self._places[number]
        value = self._factors[number] * sum(self._weights[word] for word in words) / (len(words) + _SMOOTHING)
        return value if place is None else value * (1 - NEAR * float(self._taken[place]))

    def take(self, number: int) -> None:
        for word in self._words[number]:
            self._weights[word] *= SPENT
        if (place := self._places[number]) is not None:
            near = (self._vectors @ self._vectors[place] - self._unrelated) / (1 - self._unrelated)
            np.maximum(self._taken, near, out=self._taken)


def _factor(each: Sentence) -> float:
    factor = _ROLE_WEIGHT.get(each.role, 0.5)
    if _NAMED.search(each.text):
        factor *= NAMING
    return factor * ASKING if each.text.endswith(("?", "\uff1f")) else factor


def _words(text: str) -> frozenset[str]:
    found = _WORD.findall(text.lower())
    # What has no blanks would be one word for each sentence, and say nothing that another one does.
    return frozenset(found if text.isascii() else (piece for word in found for _, piece in words(word))) - _COMMON


def _weights(candidates: Sequence[Sentence], words: Sequence[frozenset[str]]) -> dict[str, float]:
    said: Counter[str] = Counter()
    messages: dict[str, set[int]] = {}
    for each, found in zip(candidates, words, strict=True):
        said.update(found)
        for word in found:
            messages.setdefault(word, set()).add(each.sequence)
    total = len({each.sequence for each in candidates})
    return {word: (1 + REPEATED * log(times)) * log((total + 1) / len(messages[word])) for word, times in said.items()}


def compose(ranked: Iterable[Sentence], room: int, count: Callable[[str], int]) -> str:
    """Return as many of the best sentences as fit into `room` tokens, in the order in which they were said.

    `count` counts tokens. The text is "" when not one of them fits.
    """
    chosen: list[Sentence] = []
    used = 0
    for each in ranked:
        size = count(_line(each)) + 1
        if used + size <= room:
            chosen.append(each)
            used += size
    text = _joined(chosen)
    while chosen and count(text) > room:
        # Lines can cost a token more together than each alone.
        chosen.pop()
        text = _joined(chosen)
    return text


def _joined(chosen: Iterable[Sentence]) -> str:
    return "\n".join(_line(each) for each in sorted(chosen, key=lambda each: (each.sequence, each.start)))


def _line(each: Sentence) -> str:
    return f"{each.role}: {each.text}"
