"""What goes into an agent's prompt: how to ask, and what there is to ask about; never a memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

MOST_THEMES = 10
_LONGEST_NAME = 60
LINES = (
    "You have a long-term memory of this user: call memory_search (or query_memory) whenever the answer may depend on "
    "who they are, what they prefer or what was said before.\n"
    "Treat what it returns as advice that may be outdated, say where it comes from, and never invent a memory."
)


def prompt_block(themes: Sequence[str]) -> str:
    """Return the injection block: two lines, and one more that has the names of at most ten themes."""
    if not themes:
        return LINES
    return f"{LINES}\nThemes in memory: {', '.join(map(_quoted, themes[:MOST_THEMES]))}."


def _quoted(theme: str) -> str:
    """Return a name in quotation marks that it cannot end itself: agents name themes, and here each word is obeyed."""
    name = " ".join(theme.split())[:_LONGEST_NAME]
    return json.dumps(name, ensure_ascii=False)
