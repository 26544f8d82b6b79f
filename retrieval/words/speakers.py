"""Who speaks in a text: what stands before its colon, if it is a name and no label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

# Characters of a line that may be a name and its colon.
_HEAD = 41
# The most words of a name, and what programs call those who speak.
_LONGEST_NAME = 4
_ROLES = frozenset({"user", "assistant", "system", "human", "ai", "agent", "me", "you"})


def speaker_of(head: str | None) -> str | None:
    """Return the name before a colon that a text begins with, at most 40 characters in one line; None without one.

    >>> speaker_of("Ada: I moved to Rome"), speaker_of("Ada moved to Rome")
    ('Ada', None)
    """
    name, colon, _ = (head or "").partition(":")
    return name if colon and name.strip() and "\n" not in name else None


def speakers_of(heads: Iterable[str | None]) -> frozenset[str]:
    """Return who speaks in texts that begin so: two or more names, each of which comes about twice.

    A label stands before a colon too: "Ferry: 9:15", "memo: buy nails".

    >>> sorted(speakers_of(["Ada: Is it far?", "Ben: No.", "Ada: Good."]))
    ['Ada', 'Ben']
    >>> sorted(speakers_of(["Ferry: 9:15", "Garage: Monday", "Vet: 14 May", "Bank: closed", "Roof: leaks"]))
    []
    >>> sorted(speakers_of(["memo: buy nails", "memo: call Ben"]))
    []
    """
    said = Counter(filter(None, map(speaker_of, heads)))
    names = frozenset(filter(_is_name, said))
    return names if 1 < len(names) <= sum(said[name] for name in names) / 2 + 1 else frozenset()


def _is_name(text: str) -> bool:
    words = text.split()
    written = all(not each[0].islower() and not any(map(str.isdigit, each)) for each in words)
    return (written and len(words) <= _LONGEST_NAME) or text.casefold() in _ROLES


def is_talk(text: str) -> bool:
    r"""Tell whether a text is a talk: most of its lines begin with a name and a colon, and somebody speaks again.

    >>> is_talk("Ada: Is it far?\nBen: No.\nAda: Good."), is_talk("Vet: Monday\nDentist: Tuesday\nFerry: 9:15")
    (True, False)
    """
    lines = [each for each in text.splitlines() if each.strip()]
    speakers = [name for each in lines if (name := speaker_of(each[:_HEAD])) is not None]
    return 2 * len(speakers) > len(lines) and len(set(speakers)) < len(speakers)
