"""The importance a memory starts with, and what a repeat adds, with the reasons.

Deltas follow the memory upgrade specification: +0.5 explicit save, +0.3 lasting preference, commitment or
goal, +0.2 confident metadata, -0.1 small talk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CONFIDENT = 0.6  # metadata below this confidence earns nothing
METADATA = 0.2  # what it earns from there on
# What is meant to hold always, whatever its words.
LASTING_TYPES = frozenset({"preference", "instruction"})

_LASTING = re.compile(
    r"""\b(?:
      prefer(?:s|red|ences?)? | always | never | favou?rites? | must | promis(?:es?|ed) | deadlines?
    | birthdays? | anniversary | allerg(?:ic|y|ies) | intoleran(?:t|ce) | decided | decision | goals?
    | committed | commitments? | policy | from\snow\son | remember\s(?:that|to|this) | call\sme
    | (?:do\snot|don['\u2019]?t)\sforget | (?:i|we)\s(?:want|plan|intend|need|hope|aim)\sto
    | (?:wants|plans|intends|aims)\sto | (?:i|we)\s(?:will|shall) | (?:i|we)['\u2019]ll
    | (?:is|are)\smy | my\sname\sis | (?:love|hate|dislike|can['\u2019]?t\sstand)s? | due\s(?:on|by)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SMALL_TALK = re.compile(
    r"""(?:\b(?:
      hi | hello | hey | yo | good\s(?:morning|afternoon|evening|night|day) | how\sare\syou | welcome
    | how(?:['\u2019]?s|\sis)\sit\sgoing | how\sdo\syou\sdo | what['\u2019]?s\sup | you['\u2019]re\swelcome
    | thanks? | thank\syou | thx | ty | cheers | no\s(?:problem|worries) | lol | lmao | haha(?:ha)* | hehe
    | ok(?:ay)? | k | kk | yes | no | yeah | yep | yup | nope | sure | cool | nice | great | awesome | perfect
    | wow | hm+ | um+ | uh+ | oh | ah | got\sit | i\ssee | makes\ssense | sounds\sgood | bye | goodbye
    | see\syou | later | please | sorry | right | fine
    )\b[\W_]*
    (?:\b(?:so|very|much|a|lot|for|the|your|help|all|there|then|just|again|everyone|today|now|you|that|it
       |i['\u2019]m)\b[\W_]*){0,4})+""",
    re.IGNORECASE | re.VERBOSE,
)
_SMALL_TALK_LENGTH = 60  # characters; also keeps the pattern above cheap on any input


@dataclass(frozen=True, slots=True)
class Term:
    """One reason that moved the importance by `delta`."""

    name: str
    delta: float
    reason: str


@dataclass(frozen=True, slots=True)
class Importance:
    """A value in [0, 1] and the terms that add up to it before clamping."""

    value: float
    terms: tuple[Term, ...]


def assess(
    text: str, type_: str, *, explicit: bool, metadata_confidence: float | None, has_metadata: bool
) -> Importance:
    """Return the base importance of a text: the sum of the terms that apply, clamped to [0, 1].

    What lasts is told by the type that it was given, or else by its words.

    `metadata_confidence` in [0, 1] counts only if `has_metadata` says that entities or tags were found.
    """
    terms: list[Term] = []
    if explicit:
        terms.append(Term("explicit", 0.5, "saved or pinned on request"))
    if lasting := _lasting(text, type_):
        terms.append(Term("persistent", 0.3, f"a lasting preference, commitment or goal: {lasting}"))
    if has_metadata and metadata_confidence is not None and metadata_confidence >= CONFIDENT:
        terms.append(Term("metadata", METADATA, f"metadata found with confidence {metadata_confidence:.2f}"))
    if not lasting and _is_small_talk(text):
        terms.append(Term("ephemeral", -0.1, "small talk"))
    total = sum(term.delta for term in terms)
    return Importance(round(min(1.0, max(0.0, total)), 6), tuple(terms))


def repeat_boost(repeat_count: int) -> float:
    """Return what a repeat adds to importance: 0.1 / repeat_count, so repeats add up like a harmonic series.

    Raises `ValueError` for a count below 1.
    """
    if repeat_count < 1:
        raise ValueError(f"repeat_count must be at least 1, not {repeat_count}")
    return 0.1 / repeat_count


def _lasting(text: str, type_: str) -> str | None:
    """Return what tells that a memory is to last; None where nothing does."""
    if type_ in LASTING_TYPES:
        return f"its type is {type_}"
    found = _LASTING.search(text)
    return " ".join(found.group().lower().split()) if found else None


def _is_small_talk(text: str) -> bool:
    words = text.strip()
    if len(words) > _SMALL_TALK_LENGTH:
        return False
    return not any(char.isalnum() for char in words) or _SMALL_TALK.fullmatch(words) is not None
