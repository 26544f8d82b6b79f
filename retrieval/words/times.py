"""Whether a question asks for a time, and whether a text says one, or that something is no longer as it was."""

from __future__ import annotations

import re

_ASKS = re.compile(
    r"\bwhen\b|\bhow long\b|\bsince when\b|\b(?:what|which)\s+(?:date|day|week|month|season|year|time)\b", re.IGNORECASE
)
_ASKS_WHEN_DONE = re.compile(
    r"\b(?:when|how\s+long\s+ago|(?:what|which)\s+(?:date|day|week|month|season|year))\s+(?:did|was|were|have|has|had)\b",
    re.IGNORECASE,
)
# The past of verbs that say what was done, where it has another stem than the verb itself.
_PAST: dict[str, str] = dict(
    re.findall(
        r"(\w+)-(\w+)",
        """
        bite-bit break-broke build-built buy-bought catch-caught choose-chose dig-dug draw-drew drink-drank drive-drove
        eat-ate fall-fell feed-fed fight-fought fly-flew forget-forgot freeze-froze grow-grew hang-hung hold-held
        leave-left lend-lent light-lit lose-lost meet-met pay-paid ride-rode run-ran sell-sold send-sent shoot-shot
        sing-sang sleep-slept spend-spent steal-stole sweep-swept swim-swam teach-taught throw-threw wear-wore win-won
        write-wrote
        """,
    )
)
_WORD = re.compile(r"[^\W\d_]+")
_SAYS = re.compile(
    r"""\b(?:
        (?:yester|to)day|tomorrow|tonight|ago|since|recently|lately
      | (?:last|next|this|past|every)\s\w+
      | (?:day|week|weekend|month|year|morning|afternoon|evening|night|summer|winter|spring|autumn)s?
      | (?:mon|tues|wednes|thurs|fri|satur|sun)days?
      | (?:january|february|march|april|may|june|july|august|september|october|november|december)
      | (?:19|20)\d\d | \d{1,2}(?:st|nd|rd|th) | \d{1,2}(?::\d\d)?\s?[ap]m
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)

_CHANGED = re.compile(
    r"""\b(?:
        now | since | no\ longer | any\ ?more | instead | from\ now\ on | ha(?:s|ve)\ a\ new
      | (?:switch|mov|chang|replac|rais|lower|clos|extend|postpon)ed | extension
      | took\ over | gave\ up | given\ up | put\ (?:back|off)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def asks_when(question: str) -> bool:
    """Tell whether the question wants a date, a time or a duration.

    >>> asks_when("When did Ada move?"), asks_when("What did Ada say?")
    (True, False)
    """
    return _ASKS.search(question) is not None


def asks_when_done(question: str) -> bool:
    """Tell whether the question asks on which day something was done.

    >>> asks_when_done("When did Ada move?"), asks_when_done("When does Ada move?")
    (True, False)
    """
    return _ASKS_WHEN_DONE.search(question) is not None


def says_done(question: str, text: str) -> bool:
    """Tell whether the text says in another word that what the question asks of was done: "bought", asked for "buy".

    >>> says_done("When did I buy it?", "Bought it"), says_done("When did I buy it?", "Sold it")
    (True, False)
    """
    asked, said = ({each.lower() for each in _WORD.findall(told)} for told in (question, text))
    return any(_PAST.get(each) in said for each in asked - said)


def says_when(text: str) -> bool:
    """Tell whether the text names a time, absolute or relative.

    >>> says_when("We moved last week"), says_when("We moved")
    (True, False)
    """
    return _SAYS.search(text) is not None


def says_change(text: str) -> bool:
    """Tell whether the text says that something is no longer as it was.

    >>> says_change("The office has moved to Graz"), says_change("The office is in Graz")
    (True, False)
    """
    return _CHANGED.search(text) is not None
