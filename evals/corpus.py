"""Texts to measure with: made-up dialogue with a natural distribution of words, turns of a LoCoMo file, or notes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice, product

from evals.blocks import read_blocks
from evals.errors import MeasureError
from evals.locomo import Conversation, memory_text
from memory.texts.fingerprints import folded

VOCABULARY = 8_000
TOPICS = 64
# How many words belong to one topic only: they are what makes one memory answer a question better than another.
TOPIC_WORDS = 40
# How many random pairs of turns are drawn for each memory wanted, before all pairs are gone through in order.
DRAWS = 10
NAMES = ("Ada", "Ben", "Chiara", "David", "Elif", "Femi", "Greta", "Hugo")

_COMMON = (
    "the I to and a you of that it was in is my for we have so with on just at this but be me really not about "
    "like what are they do your had from all been out she he can one how it's time when up there would her"
)
_ONSETS = ("b", "br", "c", "cl", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "v")
_NUCLEI = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "", "n", "r", "l", "s", "t", "nd", "ck", "m")


class WordModel:
    """Sentences of a topic over a vocabulary whose frequencies follow Zipf's law; the same seed, the same texts."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        rare = list(islice(self._invented(), VOCABULARY))
        self._words = [*_COMMON.split(), *rare]
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))
        self.topics = [self._random.sample(rare, TOPIC_WORDS) for _ in range(TOPICS)]

    def texts(self, count: int) -> list[str]:
        """Return `count` different memories of about 20 words, "Name: what was said"."""
        made: dict[str, None] = {}
        while len(made) < count:
            name = self._random.choice(NAMES)
            made[f"{name}: {self._sentence(self._random.choice(self.topics), 20).capitalize()}."] = None
        return list(made)

    def questions(self, count: int) -> list[str]:
        """Return `count` different questions of about 9 words."""
        made: dict[str, None] = {}
        while len(made) < count:
            name = self._random.choice(NAMES)
            made[f"What did {name} say about {self._sentence(self._random.choice(self.topics), 5)}?"] = None
        return list(made)

    def _sentence(self, topic: Sequence[str], mean: int) -> str:
        length = max(3, round(self._random.gauss(mean, mean / 3)))
        said = self._random.choices(self._words, cum_weights=self._weights, k=length)
        own = self._random.sample(topic, max(1, length // 6))
        words = [*said[len(own) :], *own]
        self._random.shuffle(words)
        return " ".join(words)

    def _invented(self) -> Iterator[str]:
        seen: set[str] = set()
        while True:
            syllables = self._random.choice((1, 2, 2, 3))
            word = "".join(self._syllable() for _ in range(syllables))
            if word not in seen and len(word) > 2:
                seen.add(word)
                yield word

    def _syllable(self) -> str:
        return "".join(self._random.choice(part) for part in (_ONSETS, _NUCLEI, _CODAS))


class Notes:
    """Notes of many persons as those of one, and questions about them; the same seed, the same texts."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._blocks = read_blocks()

    def texts(self, count: int) -> list[str]:
        """Return `count` different notes; raises `MeasureError` where there are fewer."""
        notes = list({folded(text): text for block in self._blocks for text in block.notes.values()}.values())
        if len(notes) < count:
            raise MeasureError(f"there are no more than {len(notes)} notes")
        return notes[:count]

    def questions(self, count: int) -> list[str]:
        """Return `count` different questions about any of the persons, of which some have no answer."""
        asked = list(dict.fromkeys(text for block in self._blocks for text, _ in block.questions))
        return self._random.sample(asked, count)


def recombined(conversations: Sequence[Conversation], count: int) -> list[str]:
    """Return `count` different memories: the turns as they are, then halves of two turns put together.

    Raises `MeasureError` where there are fewer.
    """
    chance = random.Random(0)
    turns = [memory_text(turn) for each in conversations for turn in each.turns if turn.text.strip()]
    # Of texts that differ only in case or white space, a space keeps one.
    made = {folded(turn): turn for turn in turns}
    drawn = ((chance.choice(turns), chance.choice(turns)) for _ in range(DRAWS * count if turns else 0))
    # With few turns, random draws soon repeat themselves, so the pairs that they missed follow in order.
    for first, second in chain(drawn, product(turns, repeat=2)):
        if len(made) >= count:
            break
        text = _halves(first.split(), second.split())
        made.setdefault(folded(text), text)
    if len(made) < count:
        raise MeasureError(f"the turns make no more than {len(made)} different memories")
    return list(made.values())[:count]


def _halves(first: Sequence[str], second: Sequence[str]) -> str:
    return " ".join([*first[: len(first) // 2 + 1], *second[len(second) // 2 :]])
