"""The delimiters around recalled text, and how they are known again when that text comes back.

A block of recalled text has a fence, a nonce of its own, in every delimiter:

    <recalled-memories FENCE>
    <fact FENCE id="...">
    text
    </fact FENCE>
    <group FENCE tag="travel">
    <memory FENCE id="..." type="fact">
    text
    </memory FENCE>
    </recalled-memories FENCE>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = "recalled-memories"
# The first and the last line of a block begin with these, followed by the fence.
MARK = (f"<{BLOCK}", f"</{BLOCK}")
FENCE_GONE = "[...]"

_NONCE = r"[A-Za-z0-9]{8,64}"
# Random nonces have a digit; what people write in brackets after a word that is also a name of ours seldom does.
_FENCE = rf"(?=[A-Za-z]*\d){_NONCE}\b"
# A page, a model or a program may have escaped the brackets of what it repeats.
_LEFT = r"(?:<|&(?:amp;)?lt;|\\u003c)"
_RIGHT = r"(?:>|&(?:amp;)?gt;|\\u003e)"
# A client that wraps lines or quotes them may have put both between two words.
_GAP = rf"(?:[\s|]|{_RIGHT})+"
_BLOCK = rf"recalled-(?:{_GAP})?memories"
_DELIMITER = re.compile(
    rf"""{_LEFT}(?:
      (?P<shut>/)(?P<ending>{_BLOCK}|memory|episode|entity|fact){_GAP}(?P<after>{_FENCE})\s*{_RIGHT}?
    | (?P<block>{_BLOCK}){_GAP}(?P<opened>{_FENCE})
    | (?P<item>memory|episode|entity|fact){_GAP}(?P<named>{_FENCE}){_GAP}id=
    | (?P<group>group){_GAP}(?P<tagged>{_FENCE}){_GAP}tag=[^\n]*
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# What a client puts before the lines that it quotes.
_QUOTING = re.compile(rf"(?:[ \t|*-]|{_RIGHT})*")
_PARAGRAPH = re.compile(r"\n[ \t>|]*\n")
_EMPTY_CODE = re.compile(r"```\w*\s*```")
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_BRACKETS = str.maketrans(
    {
        "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        "\N{FULLWIDTH LESS-THAN SIGN}": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        "\N{SMALL LESS-THAN SIGN}": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
        "\N{FULLWIDTH GREATER-THAN SIGN}": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
        "\N{SMALL GREATER-THAN SIGN}": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    }
)


def check_fence(fence: str) -> None:
    """Raise ValueError for what is no nonce of 8 to 64 letters and digits."""
    if not re.fullmatch(_NONCE, fence):
        raise ValueError("fence must be 8 to 64 letters and digits")


def opening(name: str, fence: str, attributes: str = "") -> str:
    """Return the delimiter that opens `name`; `attributes` are written already, their values harmless."""
    return f"<{name} {fence} {attributes}>" if attributes else f"<{name} {fence}>"


def closing(name: str, fence: str) -> str:
    """Return the delimiter that closes `name`."""
    return f"</{name} {fence}>"


def harmless(text: str, fence: str) -> str:
    """Return text that can neither close nor fake a delimiter: without angle brackets, without the fence."""
    # Ignoring case: a model reading the block may not tell two spellings of a nonce apart.
    return re.sub(fence, FENCE_GONE, text.translate(_BRACKETS), flags=re.IGNORECASE)


def is_marked(text: str) -> bool:
    """Tell whether the text repeats a delimiter of recalled text."""
    return next(_spans(text), None) is not None


def without_marked(text: str) -> str:
    """Return the text without what delimiters of recalled text enclose; the same text where there are none.

    Blocks may be quoted, indented, wrapped anew, escaped or cut at either end. What stands around them stays.
    """
    spans = list(_spans(text))
    if not spans:
        return text
    kept, at = [], 0
    for start, end in spans:
        kept.append(_unquoted(text[at:start]))
        at = end
    return tidied("\n".join([*kept, text[at:]]))


def _unquoted(text: str) -> str:
    """Return the text without a last line of nothing but what quotes the line that was taken out."""
    before, _, last = text.rpartition("\n")
    return before if _QUOTING.fullmatch(last) else text


def tidied(text: str) -> str:
    """Return what was left of a text, without the frames and gaps of what was taken out."""
    rest = _EMPTY_LINES.sub("\n\n", _EMPTY_CODE.sub("", text)).strip()
    return rest if any(char.isalnum() for char in rest) else ""


@dataclass(frozen=True, slots=True)
class _Delimiter:
    """One delimiter of a text; `fence` is in lower case."""

    name: str
    fence: str
    shuts: bool
    start: int
    end: int

    def closes(self, other: _Delimiter) -> bool:
        return self.shuts and (self.name, self.fence) == (other.name, other.fence)


def _delimiters(text: str) -> Iterator[_Delimiter]:
    for found in _DELIMITER.finditer(text):
        parts = {key: value.lower() for key, value in found.groupdict().items() if value}
        word = next(parts[key] for key in ("ending", "block", "item", "group") if key in parts)
        name = BLOCK if word.startswith("recalled") else word
        fence = next(parts[key] for key in ("after", "opened", "named", "tagged") if key in parts)
        yield _Delimiter(name, fence, "shut" in parts, found.start(), found.end())


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where recalled text stands, in order and apart from each other."""
    opened: _Delimiter | None = None
    latest: _Delimiter | None = None
    done = 0
    for delimiter in _delimiters(text):
        if opened is not None:
            latest = delimiter if delimiter.fence == opened.fence else latest
            if delimiter.closes(opened):
                yield opened.start, delimiter.end
                done, opened = delimiter.end, None
        elif not delimiter.shuts and delimiter.name != "group":
            opened = latest = delimiter
        else:
            # A closing whose opening was cut off: what it closes began somewhere in this paragraph.
            yield _paragraph_start(text, done, delimiter.start) if delimiter.shuts else delimiter.start, delimiter.end
            done = delimiter.end
    if opened is not None and latest is not None:
        # Where an entry is cut off, all that follows belongs to it; where the cut is behind an entry, what follows does
        # not.
        yield opened.start, latest.end if latest.shuts else len(text)


def _paragraph_start(text: str, low: int, high: int) -> int:
    breaks = [found.end() for found in _PARAGRAPH.finditer(text, low, high)]
    return breaks[-1] if breaks else low
