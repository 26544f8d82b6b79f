"""How much of a ranking fits into a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval import tokens
from retrieval.passage import passage
from retrieval.types import Candidate, Ranked

# Above this length a summary, where there is one, stands in for the text, else a passage where the whole does not fit.
LONG_TEXT_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Fitted:
    """Hits with the text to show for each; `token_count` is the sum over these texts.

    `truncated` says that something was cut or left out.
    """

    items: tuple[tuple[Ranked, str], ...]
    token_count: int
    truncated: bool


def fit(ranked: Sequence[Ranked], budget: int, question: str = "") -> Fitted:
    """The first hits whose texts together have at most `budget` tokens, the last one cut to what remains.

    Of a long text that does not fit, the passage that speaks of the question is shown, of at most half of what remains
    where hits follow, which have the rest. A budget of 0 or less holds nothing.
    """
    items: list[tuple[Ranked, str]] = []
    used, truncated = 0, False
    for place, hit in enumerate(ranked, 1):
        text, size = _shown(hit.scored.candidate)
        left = budget - used
        if size <= left:
            items.append((hit, text))
            used += size
            continue
        truncated = True
        is_long = size > LONG_TEXT_TOKENS
        share = max(LONG_TEXT_TOKENS, left // 2) if is_long and place < len(ranked) else left
        most = min(left, share)
        part = (passage(text, question, most) if is_long else tokens.cut(text, most)) if left > 0 else ""
        if part.strip():
            items.append((hit, part))
            used += tokens.count(part)
        if not is_long or left <= LONG_TEXT_TOKENS:
            break
    return Fitted(tuple(items), used, truncated)


def _shown(candidate: Candidate) -> tuple[str, int]:
    size = tokens.count(candidate.text)
    if candidate.summary and size > LONG_TEXT_TOKENS:
        return candidate.summary, tokens.count(candidate.summary)
    return candidate.text, size
