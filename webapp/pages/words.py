"""Small matters of language: ordinals, ages, and the words of a question within a text."""

from __future__ import annotations

from datetime import datetime
from unicodedata import bidirectional

from markupsafe import Markup, escape

from retrieval.words.passage import ELLIPSIS, found_in, passage

_UNITS = (
    (31_557_600, "year"),
    (2_629_800, "month"),
    (604_800, "week"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
)
# Embeddings, overrides and isolates, with their ends.
_DIRECTING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th and so on."""
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


# What a status of HTTP means to who reads a page; the sentence below it says why.
_REFUSALS = {
    400: "That could not be read",
    401: "Log in first",
    403: "That is not open to you",
    404: "There is nothing here",
    409: "Something is in the way",
    413: "That is too large",
    422: "That does not fit",
    429: "Too many at once",
    500: "Something went wrong",
    503: "Out of reach for now",
}


def refusal(status: int, *, sent: bool) -> str:
    """Return the heading of a page that refuses; a form that was `sent` names what was there when it was shown.

    >>> refusal(404, sent=True), refusal(418, sent=False)
    ('It is no longer there', 'That did not work')
    """
    return "It is no longer there" if sent and status == 404 else _REFUSALS.get(status, "That did not work")


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 message`, `2,000 messages`; `plural` where an s does not make it.

    >>> counted(2000, "message"), counted(1, "memory", "memories")
    ('2,000 messages', '1 memory')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def in_a_line(name: str) -> str:
    """Return a name as it stands in a sentence, where one that is written from right to left would mix with the rest.

    Without marks that override the direction of letters, which could make it and what follows look like another.

    >>> in_a_line("Heron \u202e42"), len(in_a_line("home \u05d1"))
    ('Heron 42', 8)
    """
    plain = name.translate(_DIRECTING)
    return f"\u2068{plain}\u2069" if any(bidirectional(each) in {"R", "AL"} for each in plain) else plain


def lasting(seconds: float) -> str:
    """Return a time in the unit that people read it in.

    >>> lasting(0.0123), lasting(58.7), lasting(162.5)
    ('12 ms', '58.7 s', '2.7 min')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def ago(moment: datetime, now: datetime) -> str:
    """Return the distance between two moments in its largest unit: `3 days ago`, `in 3 months`, `in a moment`."""
    seconds = (now - moment).total_seconds()
    # Somebody who looks at a term of 90 days sees it a little after it began, and a month is longer than 30.
    slack = 0.05 if seconds < 0 else 0.0
    for size, unit in _UNITS:
        if (count := int(abs(seconds) / size + slack)) > 0:
            spoken = f"{count} {unit}{'s' if count > 1 else ''}"
            return f"{spoken} ago" if seconds > 0 else f"in {spoken}"
    # A second of grace: where clocks differ a little, what is over must not seem to be to come.
    return "just now" if seconds >= -1 else "in a moment"


# Of a longer text a page shows at first the part that speaks of the question, of so many tokens.
LONG, PART = 700, 120


def part(text: str, question: str) -> str:
    """Return what is shown at first of a text that was found: all of it, or the passage that speaks of the question."""
    if len(text) <= LONG:
        return text
    found = passage(text, question, PART)
    # A text that has no word of the question is shown from its beginning, which ends anywhere.
    return f"{found.rstrip()}{ELLIPSIS}" if text.startswith(found) else found


def mark(text: str, question: str) -> Markup:
    """Return the escaped text with each word of the question, in whatever form, in <mark>; names with their signs."""
    spans: list[tuple[int, int]] = []
    for start, end, _ in found_in(text, question):
        # Pairs of characters overlap; what is found as several of them is one.
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    marked, behind = [], 0
    for start, end in spans:
        marked += [escape(text[behind:start]), Markup("<mark>{}</mark>").format(text[start:end])]
        behind = end
    return Markup("").join([*marked, escape(text[behind:])])
