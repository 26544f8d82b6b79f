"""Months that a question names, told from people who are called the same: "Where does June work?"."""

from __future__ import annotations

import re

from retrieval.days.months import AMBIGUOUS, NAMED

# Behind one of these stands somebody: "What did June say?"
_AUXILIARY = re.compile(r"\b(?:do|does|did|can|could|will|would|shall|should|must|is|was|has|had)\s+\Z", re.IGNORECASE)
# Months that are names of people, too, and what stands beside such a name.
_NAMES = frozenset({"jan", "april", "may", "june", "august"})
_TO_SOMEBODY = re.compile(
    r"""\b(?:about | with | than | tell | ask | calls? | meet | met | knows? | visit | visited | invite | invited
      | married | marry | (?:say | said | talk | talked | speak | spoke | write | wrote | gave | give | listen)\s+to
    )\s+\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_DOES = re.compile(
    r"""\s+(?:works | lives | likes | loves | says | said | wants | eats | drinks | owns | plays | thinks | knows
      | needs | moved | married | told | gave | calls | called)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WHOSE = {
    "of": re.compile(
        r"""\b(?:birthday | phone | number | address | name | wife | husband | sister | brother | daughter | son
          | mother | father | photo | picture | friend)\s+\Z""",
        re.IGNORECASE | re.VERBOSE,
    ),
    "by": re.compile(
        r"\b(?:written|painted|made|sent|given|told|recommended|cooked|baked|knitted|said)\s+\Z", re.IGNORECASE
    ),
}
# "How late may people sit outside?" and "When is the next march?" ask for no month.
_NO_MONTH = re.compile(r"\b(?:how\s+(?:early|late)|the\s+(?:last|next|coming))\s+\Z", re.IGNORECASE)
# Characters that are looked at before a month.
_NEAR = 16


def named_month(question: str) -> re.Match[str] | None:
    """Return where a question names a month first, with what stands beside it that is of the date."""
    for found in NAMED.finditer(question):
        lead, dated = found["lead"], any(found[part] for part in ("before", "after", "year"))
        if not dated and found["month"] in AMBIGUOUS and _NO_MONTH.search(question, 0, found.start("month")):
            continue
        if dated or (lead and not _is_of_somebody(question, found)):
            return found
        if lead:
            continue
        if found["month"].lower() not in AMBIGUOUS and not _is_somebody(question, found):
            return found
    return None


def _is_somebody(question: str, month: re.Match[str]) -> bool:
    """Tell whether a month without a day is a name, by what stands before and behind it."""
    before, behind = question[max(0, month.start() - _NEAR) : month.start()], question[month.end() :]
    if _AUXILIARY.search(before) or behind[:2] in {"'s", "\u2019s"}:
        return True
    return month["month"].lower() in _NAMES and bool(_TO_SOMEBODY.search(before) or _DOES.match(behind))


def _is_of_somebody(question: str, month: re.Match[str]) -> bool:
    """Tell whether "of June" and "by June" say whose something is: "the birthday of June", "painted by June"."""
    before = question[max(0, month.start() - _NEAR) : month.start()]
    whose = _WHOSE.get(month["lead"].lower()) if month["month"].lower() in _NAMES else None
    return whose is not None and whose.search(before) is not None
