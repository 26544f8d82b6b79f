"""Notes: Markdown in, harmless HTML out."""

from __future__ import annotations

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markupsafe import Markup

# No pictures: no page of ours asks another host for anything.
_INLINE = {"a", "br", "code", "del", "em", "s", "strong"}
_BLOCKS = {"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
_TABLES = {"table", "tbody", "td", "th", "thead", "tr"}
TAGS = _INLINE | _BLOCKS | _TABLES
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _go_beneath(state: StateCore) -> None:
    """Let the headings of a note stand beneath that of its notebook, the only one of the first level."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + 1, 6)}"


_PARSER.core.ruler.push("beneath", _go_beneath)


def to_html(text: str) -> Markup:
    """Return the note as HTML that can neither run a script nor load anything."""
    return Markup(nh3.clean(_PARSER.render(text), tags=TAGS, attributes={"a": {"href"}}))  # noqa: S704 - cleaned
