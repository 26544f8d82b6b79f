"""Whether an English text says that something is not as it was: it may be news of an earlier memory."""

from __future__ import annotations

import re

_DAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
# More words than `retrieval.words.times` ranks by: a word too many costs an answer there, while here a memory must also
# be near, and its owner decides. A space stands for any blanks.
_ANYWHERE = (
    "cancell?ed|changed|closed|decreased|discontinued|dropped|extended|extension|increased|lowered|moved|postponed|quit",
    "raised|rearranged|reduced|renamed|replaced|rescheduled|retired|rose|shifted|stopped|superseded|supersedes|swapped",
    "switched|upgraded",
    r"now(?! and\b)|no longer|no more|any more|anymore|from (?:now|here) on|these days|once more|has a new|have a new",
    r"instead(?! of \w+ing\b)|in its place|the place of|is off|done with|told to stop",
    "gave up|given up|gave notice|given notice|take over|took over|taken over|takes over|took back|taken back",
    "(?:goes|go|went|gone|put|cut|set|sold|pushed|handed|stepped|called) (?:back|off|over|down|up)",
    "fell through|fallen through|slips? to|has left|have left|had left",
    "changes to|changes from|changing to|changing from|moves to|moves out|moving to|moving out",
    rf"since (?:then|last|this|the \d|\d|{_DAY}|{_MONTH})",
)
_AT_THE_START = (
    "new|since|changed my mind",
    rf"(?:from|as of|starting) (?:next|20\d\d|{_DAY}|{_MONTH})",
)
# "The new landlord from May: Ms Osei".
_HEADING = r"\bnew (?:\w+ ){0,3}?\w+:"
_CHANGED = re.compile(
    rf"\b(?:{'|'.join(_ANYWHERE)})\b|^\W*(?:{'|'.join(_AT_THE_START)})\b|{_HEADING}".replace(" ", r"\s+"), re.IGNORECASE
)


def says_change(text: str) -> bool:
    """Tell whether the text says that something is not as it was.

    >>> says_change("New dentist: Dr. Costa"), says_change("The rent goes up to 910"), says_change("The rent is 910")
    (True, True, False)
    """
    return _CHANGED.search(text) is not None
