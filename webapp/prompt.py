"""What goes into an agent's prompt: how to ask, and what there is to ask about; never a memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice

from memory.spaces.themes import spoken

MOST_THEMES = 10
_LONGEST_NAME = 60
LINES = (
    "You have a long-term memory of this user: call memory_search (or query_memory) whenever the answer may depend on "
    "who they are, what they prefer or what was said before; what was stated as a fact is found by fact_search alone, "
    "earlier conversations by episode_search.\n"
    "Treat what they return as advice that may be outdated, say where it comes from, and never invent a memory."
)


def prompt_block(themes: Mapping[str, str]) -> str:
    """Return the injection block: two lines, and one more that has at most ten themes, given as slugs with their names.

    Tools narrow a search by the slug, so that comes first; a name that says no more than it is left out.
    """
    if not themes:
        return LINES
    told = ", ".join(_told(slug, name) for slug, name in islice(themes.items(), MOST_THEMES))
    return f"{LINES}\nThemes in memory, by the slug that tools take: {told}."


def _told(slug: str, name: str) -> str:
    return slug if name == spoken(slug) else f"{slug} ({_quoted(name)})"


def _quoted(theme: str) -> str:
    """Return a name in quotation marks that it cannot end itself: agents name themes, and here each word is obeyed."""
    name = " ".join(theme.split())[:_LONGEST_NAME]
    return json.dumps(name, ensure_ascii=False)
