"""How much of a ranking fits into a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.ranking.types import Candidate, Ranked
from retrieval.words import tokens
from retrieval.words.passage import passage

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
    where hits follow, which have the rest. Where not all fits, what a summary says is shown once: the hits behind the
    first that shows it have the room. A budget of 0 or less holds nothing.
    """
    fitted = _fit(ranked, budget, question)
    once = _told_once(ranked) if fitted.truncated else ranked
    return replace(_fit(once, budget, question), truncated=True) if len(once) < len(ranked) else fitted


def _told_once(ranked: Sequence[Ranked]) -> Sequence[Ranked]:
    """Return the hits, ranked anew, without those that would show a summary that is shown already.

    The summary is a memory itself, which stands in for the memories that it sums up.
    """
    found = [hit.scored.candidate for hit in ranked]
    # The tokens of long texts are counted only where there is a summary, which most have not.
    texts = [_shown(each)[0] if each.summary else each.text for each in found]
    standing_in = {text for each, text in zip(found, texts, strict=True) if text != each.text}
    once = [hit for n, hit in enumerate(ranked) if texts[n] not in standing_in or texts.index(texts[n]) == n]
    return [replace(hit, rank=rank) for rank, hit in enumerate(once, start=1)]


def _fit(ranked: Sequence[Ranked], budget: int, question: str) -> Fitted:
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
