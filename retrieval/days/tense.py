"""Whether a question asks who did what, or what happened: "Who called on Tuesday?"."""

from __future__ import annotations

import re

# Of verbs that do not end in "ed".
_IRREGULAR = """
agreed ate became began bit bought broke brought built came caught chose cost cut drank drew drove fell felt flew forgot
fought found gave got grew heard held kept knew learnt led left lent lost made meant met owed paid ran rang read rode
rose said sang sat saw sent set slept sold sank spent spoke stole stood swam taught thought threw told took
went woke won wore wrote
""".split()  # noqa: SIM905  # A list of quoted words cannot be read.
# "What bed", "which shed" and "what speed" are asked for themselves.
VERB = rf"(?:(?!shed\b|sled\b|hundred\b|embed\b)[a-z]{{2,}}(?<!e)ed|{'|'.join(_IRREGULAR)})"
_DID = re.compile(rf"\A\W*(?:who|what|(?:which|how\s+many)\s+\w+)\s+{VERB}\b", re.IGNORECASE)
_STILL = re.compile(r"\b(?:is|are|am|be|been|do|does|has|have|will|can|get|gets|getting|needs?)\b", re.IGNORECASE)


def asks_what_was_done(question: str) -> bool:
    """Tell whether a question asks, without "was", "did" or "had", for what has been done.

    >>> [asks_what_was_done(each) for each in ("Who called on Tuesday?", "Which bins are emptied on Tuesday?")]
    [True, False]
    """
    return _DID.search(question) is not None and _STILL.search(question) is None
