"""How a question for what there is of a time is asked plainly: "What should I not forget?" is "What have I to do?"."""

from __future__ import annotations

import re
from datetime import datetime

from retrieval.days.closely import lowered
from retrieval.days.months import MONTH, MONTHS
from retrieval.days.weekdays import with_names

# What is asked in other words, with what each of these has, in lower case, one of which is looked for first.
_OTHERWISE = [
    (tuple(having.split("|")), re.compile(pattern, re.IGNORECASE), plainly)
    for having, pattern, plainly in (
        # Without its year a quarter is none of a game, or of an hour, where a time alone is asked for.
        *(
            (f"{name} quarter", rf"\bthe\s+{name}\s+quarter\b(?!\s+of\b)", f"Q{place}")
            for place, name in enumerate(("first", "second", "third", "fourth"), 1)
        ),
        ("end of", r"\b(?:by|until|before)\s+(?:the\s+)?end\s+of\s+(?=Q[1-4]\b)", "by "),
        ("need|ought|supposed|should", r"\b(?:need|needs|ought|supposed)\s+to\b|\bshould\b", "have to"),
        ("finish|complete|done|left", r"\bto\s+(?:finish|complete|get\s+done)\b|\bleft\s+to\s+do\b", "to do"),
        ("forget|miss", r"\bnot\s+(?:to\s+)?(?:forget|miss)\b", "do"),
        ("remind", r"\A\W*remind\s+me\b", "tell me"),
        ("look", r"\blooks?\s+like\b", "look"),
        ("my", r"\bmy\s+(week|weekend|month)\b(?!['\u2019]s)", r"this \1"),
        # When on a day, or that it is the end of it, makes no difference to what is of the day.
        (
            "eod|cob|end of",
            r"\b(?:EOD|COB|(?:the\s+)?end\s+of\s+(?:the\s+)?(?:day|business))\s+(?:on\s+)?(?=\w)",
            "",
        ),
        ("ing of|noon of|night of", r"\b(?:on|in)\s+the\s+(?:morning|afternoon|evening|night)\s+of\b", "on"),
        ("in the", r"\s+in\s+the\s+(?:morning|afternoon|evening)(?=\W*\Z)", ""),
        (
            " at ",
            r"\s+at\s+(?:\d\d?(?:[:.]\d\d)?(?:\s?[ap]m)?|noon|midnight)\b(?=\W*\Z|\s+(?:on|tomorrow)\b)",
            "",
        ),
        ("latest|still", r"\bat\s+the\s+latest\b|\bstill\b", ""),
        ("free|busy|available", r"\A\W*(?:am\s+I|are\s+we)\s+(?:free|busy|available)\b", "what is there"),
        ("weekend", r"\b(until|by|before|after)\s+the\s+weekend\b", r"\1 this weekend"),
    )
]
_REST_OF = re.compile(rf"\b(?:the\s+)?(?:rest|remainder)\s+of\s+(?P<month>{MONTH})", re.IGNORECASE)


def said_plainly(question: str, now: datetime) -> str:
    """Return a question in words that say no more than what is asked of a time; one for more than a time asks no other.

    >>> said_plainly("What should I not forget by Fri at the latest?", datetime(2026, 6, 4))
    'What have to I do by Friday ?'
    """
    low = lowered(question)
    for having, pattern, plainly in _OTHERWISE:
        if any(each in low for each in having):
            question = pattern.sub(plainly, question)
    question = with_names(question)
    if (found := _REST_OF.search(question)) is None:
        return question
    # What is left of this month, and all of another.
    this = MONTHS.index(found["month"][:3].lower()) + 1 == now.month
    return f"{question[: found.start()]}{'the rest of this month' if this else found['month']}{question[found.end() :]}"
