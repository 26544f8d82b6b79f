"""Whether a text can be the kind of answer that a question wants, where it wants an amount."""

from __future__ import annotations

import re

from retrieval import times

_ASKS = re.compile(
    r"""\bhow\s+(?:many|old|big|tall|far|long|heavy|high|wide|large|deep|fast|often
      | much(?!\s+(?:do|does|did)\s+\w+\s+(?:like|love|enjoy|care|know|hate|want|trust|remember|understand)))\b""",
    re.IGNORECASE | re.VERBOSE,
)
# Also what stands for an amount: none, all, an only child, a dozen.
_SAYS = re.compile(
    r"""\d | \b(?:
        one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve
      | (?:thir|four|fif|six|seven|eigh|nine)teen | (?:twen|thir|for|fif|six|seven|eigh|nine)ty
      | first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth
      | zero|hundreds?|thousands?|millions?|half|halves|quarters?|thirds?|dozens?|pairs?|couple|twins|triplets
      | single|double|triple|both|none|nothing|no|nobody|all|only|whole|full|few|several|many|much|little|free
      | once|twice|never|always|seldom|rarely|often|sometimes|usually|every|each|per
      | hourly|daily|weekly|fortnightly|monthly|yearly|annual(?:ly)?|minutes?|hours?|ages
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def wants_an_amount(question: str) -> bool:
    """Tell whether only texts that say an amount can answer a question.

    >>> wants_an_amount("How old is Ada?"), wants_an_amount("How much does Ada like tea?")
    (True, False)
    """
    return _ASKS.search(question) is not None


def says_an_amount(text: str) -> bool:
    """Tell whether a text says a number, a word for one or a time, of whatever.

    >>> says_an_amount("Ada keeps bees"), says_an_amount("Ada is seven"), says_an_amount("Ada swims on Mondays")
    (False, True, True)
    """
    return _SAYS.search(text) is not None or times.says_when(text)
