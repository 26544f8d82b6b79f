"""Rows by their fingerprints: of texts made by one pattern, as receipts are, each may have thousands near it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import chain
from operator import attrgetter

from memory.models import Memory
from memory.texts.fingerprints import NEAR, bands, from_signed, hamming
from memory.texts.prefilter import Frame, frame


class Alike:
    """Rows of a space, added in the order of their ids, and those among them that are near a text.

    Of a text that is nothing but links, whose fingerprint is 0, no row is near.
    """

    def __init__(self) -> None:
        self._by_hash: dict[int, _Rows] = {}
        # Thousands of rows have few fingerprints.
        self._by_band: dict[tuple[int, int], list[int]] = defaultdict(list)

    def add(self, memory: Memory) -> None:
        """Add a row, which is the newest of all."""
        simhash = from_signed(memory.simhash)
        if simhash not in self._by_hash:
            self._by_hash[simhash] = _Rows()
            for band in enumerate(bands(simhash)):
                self._by_band[band].append(simhash)
        self._by_hash[simhash].add(memory)

    def newest(self, simhash: int, most: int) -> list[Memory]:
        """Return the newest rows near a fingerprint, the newest first."""
        last = (memory for _, rows in self._near(simhash) for memory in rows.all[-most:])
        return nlargest(most, last, key=attrgetter("id"))

    def of_one_frame(self, text: str, simhash: int) -> Iterator[Memory]:
        """Yield the rows near a text that their frames do not tell from it, the nearest first and then the oldest."""
        near = self._near(simhash)
        if not near:
            return
        said = frame(text)
        for distance in sorted({distance for distance, _ in near}):
            fitting = (memory for away, rows in near if away == distance for memory in rows.fitting(said))
            yield from sorted(fitting, key=attrgetter("id"))

    def _near(self, simhash: int) -> Sequence[tuple[int, _Rows]]:
        if simhash == 0:
            return ()
        hashes = {each for band in enumerate(bands(simhash)) for each in self._by_band.get(band, ())}
        distances = ((hamming(each, simhash), each) for each in hashes)
        return [(distance, self._by_hash[each]) for distance, each in distances if distance <= NEAR]


class _Rows:
    """Rows of one fingerprint, by their frames once one of them was asked for."""

    def __init__(self) -> None:
        self.all: list[Memory] = []
        self._by_frame: dict[str, dict[tuple[str, ...], list[Memory]]] = {}
        self._sorted = 0

    def add(self, memory: Memory) -> None:
        self.all.append(memory)

    def fitting(self, said: Frame) -> Iterator[Memory]:
        """Yield the rows that may be one with what has this frame: where only slots differ, two are not one."""
        for memory in self.all[self._sorted :]:
            text, slots = frame(memory.text)
            self._by_frame.setdefault(text, {}).setdefault(slots, []).append(memory)
        self._sorted = len(self.all)
        yield from self._by_frame.get(said.text, {}).get(said.slots, ())
        for text, by_slots in self._by_frame.items():
            if text != said.text:
                yield from chain.from_iterable(by_slots.values())
