"""Where two lists say the same in the same order, in a time that hardly depends on how often they repeat themselves."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple


class Stretch(NamedTuple):
    """So many items that are the same in both, from these places on."""

    ours: int
    theirs: int
    size: int


class _Gap(NamedTuple):
    """What is still to be compared: from a place of each list up to another, and how much can be the same at most."""

    our_start: int
    our_end: int
    their_start: int
    their_end: int
    most: int


def stretches(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> list[Stretch]:
    """Return what is the same in both, in their order.

    The longest stretch of all is taken, of several the one that begins first in ours, and of those the one that begins
    first in theirs; then the same before it and behind it (Ratcliff and Metzener 1988, "Pattern matching: the gestalt
    approach"). Takes n log n steps for each length that a stretch has, and of those there are at most the root of 2 n.
    """
    windows = _Windows(ours, theirs)
    found: list[Stretch] = []
    gaps = [_Gap(0, len(ours), 0, len(theirs), min(len(ours), len(theirs)))]
    while gaps:
        gap = gaps.pop()
        size = _longest(windows, gap)
        if size == 0:
            continue
        our_start, their_start = gap.our_start, gap.their_start
        # All stretches of this length are taken here, so what is left between them has shorter ones alone.
        for stretch in _of_size(windows, gap, size):
            gaps.append(_Gap(our_start, stretch.ours, their_start, stretch.theirs, size - 1))
            found.append(stretch)
            our_start, their_start = stretch.ours + size, stretch.theirs + size
        gaps.append(_Gap(our_start, gap.our_end, their_start, gap.their_end, size - 1))
    return sorted(found)


class _Windows:
    """Stretches of both lists by number: those that are the same have the same.

    Those of twice the length are numbered by their halves (Karp, Miller and Rosenberg 1972, "Rapid identification of
    repeated patterns in strings, trees and arrays"), and one of any length is known by its first and its last part.
    """

    def __init__(self, ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> None:
        numbers: dict[Hashable, int] = {}
        self._theirs = len(ours)
        # Windows that reach from our list into theirs are numbered too, but never asked for.
        self._by_power = [[numbers.setdefault(item, len(numbers)) for item in (*ours, *theirs)]]

    def ours(self, gap: _Gap, size: int) -> Iterator[tuple[int, int]]:
        """Yield what stands for each stretch of this size in our part of a gap."""
        return self._between(gap.our_start, gap.our_end, size)

    def theirs(self, gap: _Gap, size: int) -> Iterator[tuple[int, int]]:
        """Yield what stands for each stretch of this size in their part of a gap."""
        return self._between(self._theirs + gap.their_start, self._theirs + gap.their_end, size)

    def _between(self, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
        power = size.bit_length() - 1
        while len(self._by_power) <= power:
            self._double()
        numbers, rest = self._by_power[power], size - (1 << power)
        return zip(numbers[start : end - size + 1], numbers[start + rest : end - size + 1 + rest], strict=True)

    def _double(self) -> None:
        last, half = self._by_power[-1], 1 << (len(self._by_power) - 1)
        numbers: dict[tuple[int, int], int] = {}
        self._by_power.append([numbers.setdefault(pair, len(numbers)) for pair in zip(last, last[half:], strict=False)])


def _longest(windows: _Windows, gap: _Gap) -> int:
    """Return how long the longest stretch in a gap is, 0 where nothing is the same."""
    least, most = 0, min(gap.most, gap.our_end - gap.our_start, gap.their_end - gap.their_start)
    while least < most:
        size = (least + most + 1) // 2
        if set(windows.theirs(gap, size)).isdisjoint(windows.ours(gap, size)):
            most = size - 1
        else:
            least = size
    return least


def _of_size(windows: _Windows, gap: _Gap, size: int) -> Iterator[Stretch]:
    """Yield stretches of this size, each the first in ours and then in theirs that comes behind the one before."""
    places: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place, window in enumerate(windows.theirs(gap, size), gap.their_start):
        places[window].append(place)
    our_end, their_end = gap.our_start, gap.their_start
    for place, window in enumerate(windows.ours(gap, size), gap.our_start):
        if place < our_end or window not in places:
            continue
        there = places[window]
        first = bisect_left(there, their_end)
        if first < len(there):
            yield Stretch(place, there[first], size)
            our_end, their_end = place + size, there[first] + size
