"""How much of a ranking fits into a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval import tokens
from retrieval.types import Candidate, Ranked

# Above this length a summary, where there is one, stands in for the text.
LONG_TEXT_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Fitted:
    """Hits with the text to show for each; `token_count` is the sum over these texts.

    `truncated` says that something was cut or left out.
    """

    items: tuple[tuple[Ranked, str], ...]
    token_count: int
    truncated: bool


def fit(ranked: Sequence[Ranked], budget: int) -> Fitted:
    """The first hits whose texts together have at most `budget` tokens, the last one cut to what remains.

    A budget of 0 or less holds nothing.
    """
    items: list[tuple[Ranked, str]] = []
    used = 0
    for hit in ranked:
        text, size = _shown(hit.scored.candidate)
        if used + size > budget:
            partial = tokens.cut(text, budget - used) if used < budget else ""
            if partial.strip():
                items.append((hit, partial))
                used += tokens.count(partial)
            return Fitted(tuple(items), used, truncated=True)
        items.append((hit, text))
        used += size
    return Fitted(tuple(items), used, truncated=False)


def _shown(candidate: Candidate) -> tuple[str, int]:
    size = tokens.count(candidate.text)
    if candidate.summary and size > LONG_TEXT_TOKENS:
        return candidate.summary, tokens.count(candidate.summary)
    return candidate.text, size
