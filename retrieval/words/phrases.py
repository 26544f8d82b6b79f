"""Phrases in quotes, which are meant letter by letter."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory.texts.scripts import BEGINS, ENDS, as_indexed
from retrieval.words.answers import COLOURED, QUOTED, unquoted


def quoted(question: str) -> tuple[str, ...]:
    """Return the phrases that a question consists of, if it is nothing but quoted phrases.

    >>> quoted('"lemon tree"'), quoted('Who planted the "lemon tree"?')
    (('lemon tree',), ())
    """
    if re.search(r"\w", unquoted(question)):
        return ()
    found = (_folded("".join(each)) for each in QUOTED.findall(question))
    return tuple(filter(None, found))


def says(text: str, phrases: Iterable[str]) -> bool:
    """Tell whether a text has each of some `quoted` phrases, in whatever case and however wrapped.

    >>> says("The Lemon\\ntree is ill", quoted('"lemon tree"')), says("A tree", quoted('"lemon tree"'))
    (True, False)
    """
    folded = _folded(text)
    return all(re.search(_whole(each), folded) for each in phrases)


def _whole(phrase: str) -> str:
    """Return what matches a phrase that is not part of longer words, where its writing tells one word from the next."""
    before, after = phrase[0].isalnum(), phrase[-1].isalnum()
    return (BEGINS if before else "") + re.escape(phrase) + (ENDS if after else "")


def _folded(text: str) -> str:
    return " ".join(as_indexed(text).replace(COLOURED, "").casefold().split())
