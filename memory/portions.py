"""Taking many things some at a time, as `itertools.batched` does, which Python has from 3.12 on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def portions(items: Iterable[T], most: int) -> Iterator[list[T]]:
    """Yield the items in their order, in lists of `most`, the last one of what is left.

    >>> list(portions("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(items)
    while portion := list(islice(rest, most)):
        yield portion
