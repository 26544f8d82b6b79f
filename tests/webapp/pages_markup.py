"""What is wrong with the markup of a page, as far as a parser can tell."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Elements that may not hold blocks: a browser would close them early.
_TEXT_ONLY = {"p", "h1", "h2", "h3", "summary", "button", "label"}
_BLOCKS = {"p", "div", "section", "article", "aside", "form", "ul", "ol", "dl", "pre", "details", "header", "h1", "h2"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []
        self.ids: Counter[str] = Counter()
        self.wanted: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS and (holder := next((each for each in self.open if each in _TEXT_ONLY), None)):
            self.problems.append(f"{tag} inside {holder}")
        if tag == "form" and "form" in self.open:
            self.problems.append("a form inside a form")
        if tag not in VOID:
            self.open.append(tag)
        given = dict(attrs)
        if given.get("id"):
            self.ids[str(given["id"])] += 1
        for name in ("for", "aria-describedby", "aria-labelledby"):
            self.wanted.update((given.get(name) or "").split())
        self.problems += [f"{name} twice in {tag}" for name, count in Counter(n for n, _ in attrs).items() if count > 1]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> where it closes nothing")


def problems_of(markup: str) -> list[str]:
    """Return what is wrong with a page or a fragment: tags out of balance, ids given twice or not at all."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    twice = [f"the id {name} twice" for name, count in reader.ids.items() if count > 1]
    missing = [f"no element has the id {name}" for name in sorted(reader.wanted - set(reader.ids))]
    return [*reader.problems, *(f"<{tag}> is never closed" for tag in reader.open), *twice, *missing]


def names_of(page: str, said: str) -> list[str]:
    """Return what the controls that show these words are called to somebody who does not see the page."""
    found = re.findall(rf"<(?:a|button|summary)\b([^>]*)>\s*{re.escape(said)}\s*<", page)
    return [unescape("".join(re.findall(r'aria-label="([^"]*)"', given))) or said for given in found]


def words_of(page: str) -> str:
    """Return the text of a page without markup, folded."""
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", page).split()))
