"""Whether a text can be the kind of answer that a question wants: an amount, or a time."""

from __future__ import annotations

import re

from retrieval import times

_ASKS_AMOUNT = re.compile(
    r"\bhow\s+(?:many|much|old|big|tall|far|long|heavy|high|wide|large|deep|fast|often)\b", re.IGNORECASE
)
_SAYS_AMOUNT = re.compile(
    r"""\d | \b(?:
        one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve
      | (?:thir|four|fif|six|seven|eigh|nine)teen | (?:twen|thir|for|fif|six|seven|eigh|nine)ty
      | hundred|thousand|million|half|dozen|pair|couple|twins|triplets|single|double|both|none|no
      | once|twice|every|each|daily|weekly|monthly|yearly
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
# Not any "when": "what do I take along when I travel?"
_ASKS_TIME = re.compile(
    r"""^\W*(?:and\s|so\s)?(?:since\s)?when(?:['\u2019]s|\s(?:
        is|are|was|were|do|does|did|will|would|shall|should|can|could|must|may|has|have|had))\b
      | \b(?:what|which)\s(?:time|day|date|month|year)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_DIGIT = re.compile(r"\d")


def wants_a_kind(question: str) -> bool:
    """Tell whether only texts of some kind can answer a question.

    >>> wants_a_kind("How old is Ada?"), wants_a_kind("When does Ada come?"), wants_a_kind("Who is Ada?")
    (True, True, False)
    """
    return _ASKS_AMOUNT.search(question) is not None or _ASKS_TIME.search(question) is not None


def fits(question: str, text: str) -> bool:
    """Tell whether a text says what the question wants: a number for an amount, a number or a time for a time.

    >>> fits("How old is Ada?", "Ada keeps bees"), fits("How old is Ada?", "Ada is seven")
    (False, True)
    >>> fits("When does Ada come?", "Ada comes on Mondays"), fits("Who is Ada?", "Ada keeps bees")
    (True, True)
    """
    if _ASKS_AMOUNT.search(question):
        return _SAYS_AMOUNT.search(text) is not None
    return _ASKS_TIME.search(question) is None or times.says_when(text) or _DIGIT.search(text) is not None
