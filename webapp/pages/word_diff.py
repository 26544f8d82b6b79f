"""The words in which two texts differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest

from webapp.pages.line_diff import Kind

# Words on each side of a change that are shown with it.
CONTEXT = 10
# Comparing takes up to the square of the words that differ; longer parts count as replaced in one piece.
MOST_COMPARED = 800

# A word takes the space behind it along, so that the pieces together are the text.
_WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words of a comparison; `skipped` stands for words that are left out."""

    kind: Kind
    text: str = ""


def compare_words(older: str, newer: str, *, most: int = 2000) -> list[Piece]:
    """Return what becomes of the older text's words in the newer one, in order; empty if nothing does.

    Words that stay are left out where they are far from a change, and what would go beyond `most` characters is.
    """
    before, after = _WORDS.findall(older), _WORDS.findall(newer)
    runs = [run for run in _runs(before, after) if run[1]]
    if all(kind == "same" for kind, _ in runs):
        return []
    pieces: list[Piece] = []
    for number, (kind, words) in enumerate(runs):
        if kind == "same":
            pieces += _near(words, first=number == 0, last=number == len(runs) - 1)
        else:
            pieces.append(Piece(kind, "".join(words)))
    return list(_within(list(_apart(pieces)), most))


def set_apart(older: str, newer: str, *, most: int = 2000) -> list[Piece]:
    """Return all of the older text as gone and, on a line of its own, the newer one as new, up to `most` characters."""
    return list(_within([Piece("gone", f"{older}\n"), Piece("new", newer)], most))


def _runs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Kind, Sequence[str]]]:
    old, new = [word.rstrip() for word in before], [word.rstrip() for word in after]
    head = _shared(old, new)
    tail = min(_shared(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    yield "same", after[:head]
    for tag, first, behind, new_first, new_behind in _changes(old[head : len(old) - tail], new[head : len(new) - tail]):
        if tag == "equal":
            yield "same", after[head + new_first : head + new_behind]
        else:
            yield "gone", before[head + first : head + behind]
            yield "new", after[head + new_first : head + new_behind]
    yield "same", after[len(after) - tail :]


def _shared(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many words are the same from the beginning."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((number for number, (old, new) in pairs if old != new), min(len(before), len(after)))


def _changes(before: Sequence[str], after: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if max(len(before), len(after)) > MOST_COMPARED:
        return [("replace", 0, len(before), 0, len(after))]
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def _near(words: Sequence[str], *, first: bool, last: bool) -> list[Piece]:
    """Return unchanged words without those that are far from what changed before and behind them."""
    ahead = 0 if first else CONTEXT
    back = 0 if last else CONTEXT
    # To say that two words are left out takes as much room as the words.
    if len(words) <= ahead + back + 2:
        return [Piece("same", "".join(words))]
    parts = (
        Piece("same", "".join(words[:ahead])),
        Piece("skipped"),
        Piece("same", "".join(words[len(words) - back :])),
    )
    return [part for part in parts if part.kind == "skipped" or part.text]


def _apart(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Let no word run into the next one: the last one of a text has no space behind it."""
    for number, piece in enumerate(pieces):
        ends = number == len(pieces) - 1 or not piece.text or piece.text[-1].isspace()
        yield piece if ends else replace(piece, text=f"{piece.text} ")


def _within(pieces: Sequence[Piece], most: int) -> Iterator[Piece]:
    for piece, following in zip_longest(pieces, pieces[1:]):
        # However much was taken out, some of what came in its place is shown.
        is_replaced = piece.kind == "gone" and following is not None and following.kind == "new"
        kept = min(len(following.text), most // 2) if is_replaced else 0
        if len(piece.text) > most - kept:
            yield replace(piece, text=piece.text[: most - kept])
            yield Piece("skipped")
            if not kept:
                return
            most = kept
        else:
            most -= len(piece.text)
            yield piece
