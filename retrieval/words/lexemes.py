"""Lexemes that many questions have, and what a lexeme is of a word."""

from __future__ import annotations

import re

# Lexemes, as the database stems them: what is frequent in questions about anything. Chosen as a list of English, not by
# what any case needs; what the database stops ("who", "have", "only") never arrives here.
GENERIC = frozenset(
    """
    say get make go know take see come think look want give use find tell ask seem feel tri call need becom put mean
    keep let begin help talk start show hear like believ bring happen includ continu set understand speak turn got done
    gone made remind list summar summaris sum detail suggest recommend decid agre discuss mention
    thing way kind sort type name part place case point fact lot bit number time person peopl user someon somebodi anyon
    anybodi everyon everybodi noth someth anyth everyth
    good new first last long great littl old right big differ next import best better well current present usual
    favourit favorit main general certain actual real
    mani much still also ever never alway often now yet alreadi quit rather realli mayb pleas one two three day us may
    might could would shall must without within upon per
    """.split()  # noqa: SIM905  # A list of a hundred quoted words cannot be read.
)
# Lexemes, and months as they are written.
DATED = re.compile(
    r"""(?:19|20)\d\d | \d{1,2}(?:st|nd|rd|th)?
    | jan(?:uar[iy])? | feb(?:ruar[iy])? | mar(?:ch)? | apr(?:il)? | may | june? | jul[iy]? | aug(?:ust)?
    | sept?(?:emb(?:er)?)? | oct(?:ob(?:er)?)? | nov(?:emb(?:er)?)? | dec(?:emb(?:er)?)?
    | (?:mon|tues|wednes|thurs|fri|satur|sun)day
    | spring | summer | autumn | winter | season | year | month | week | weekend | day | morn | even | night
    | yesterday | today | tomorrow | date | time | ago | recent | late | earli""",
    re.VERBOSE,
)
# What a question for a time has, whichever it is.
OF_ANY_TIME = frozenset("season year month week weekend day date time ago recent late earli".split())  # noqa: SIM905
TOKEN = re.compile(r"[#\w][\w'\u2019.#/-]*")
YEAR = re.compile(r"(?:19|20)\d\d")


def bare(token: str) -> str:
    """Return a token in lower case, without what ends a sentence and without the 's of a name."""
    return token.replace("\u2019", "'").rstrip(".'/-").removesuffix("'s").lower()


def is_of(lexeme: str, name: str) -> bool:
    """Tell whether a lexeme is the stem of a name: stems lose an ending, and end in i instead of y."""
    return name.startswith(lexeme[:-1] or lexeme) and len(name) - len(lexeme) <= 3
