"""Key phrases by YAKE, which needs no training: of one or two words, nouns or names at the end.

Campos et al., "YAKE! Keyword extraction from single documents using multiple local features", 2020.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from memory.enrichment.findings import Tag
from memory.enrichment.lexicon import GENERIC, NO_NAMES
from memory.enrichment.pipeline import words

MOST_PHRASES = 5
LONGEST_READ = 16_000
# YAKE's score is small for a good phrase. A good one of a short text has 0.02, one word of many has 0.4.
WORST_SCORE = 0.2
_STEEPNESS = 5.0
_ENDINGS = ("", "s", "es", "d", "ed", "ing")


def key_phrases(text: str, names: Iterable[str]) -> tuple[Tag, ...]:
    """Return at most `MOST_PHRASES` phrases in lower case, the best first, that are not among the `names`.

    The confidence falls from 1 at YAKE's best score, 0, to 0.5 at the worst that is taken.
    """
    taken = {word for name in names for word in name.casefold().split()}
    tags: list[Tag] = []
    # YAKE joins lines, even over an empty one, but takes no phrase from both sides of a sign. Wrapping seldom parts two
    # words that belong together.
    lines = text[:LONGEST_READ].replace("\n", " |\n")
    for phrase, score in _extractor().extract_keywords(lines):
        parts = phrase.casefold().split()
        if score > WORST_SCORE or len(tags) == MOST_PHRASES:
            break
        if not taken & set(parts) and _is_a_phrase(parts):
            tags.append(Tag(" ".join(parts), 1.0 / (1.0 + _STEEPNESS * max(0.0, float(score)))))
            taken |= set(parts)
    return tuple(tags)


@cache
def _extractor() -> Any:
    return import_module("yake").KeywordExtractor(lan="en", n=2, dedup_lim=0.7, top=4 * MOST_PHRASES)


def _is_a_phrase(parts: list[str]) -> bool:
    if any(part in NO_NAMES | GENERIC or len(part) < 3 or not part[0].isalpha() for part in parts):
        return False
    # "search" is a verb too; only beside another word is it known to be none here.
    nouns = words().nouns
    is_noun = parts[-1] in nouns or parts[-1].removesuffix("s") in nouns
    return not _is_plain(parts[-1]) or (len(parts) > 1 and is_noun)


def _is_plain(word: str) -> bool:
    """Tell whether a word is a form of one that may be a verb, an adjective or an adverb."""
    lists = words()
    stems = {word.removesuffix(end) for end in _ENDINGS if word.endswith(end)}
    return any(stem in lists.plain or f"{stem}e" in lists.plain for stem in stems)
