"""One form of a text for all its cases and spellings, to find it in others.

By itself, so that who makes an account does not load what compares memories.
"""

from __future__ import annotations

from memory.texts.scripts import as_indexed, normal

_PUNCTUATION = ".,;:!?\u2026 "


def caseless(text: str) -> str:
    """Return the text in NFKC, without any case, white space folded to one space.

    Texts that are alike when `folded` (`memory.texts.fingerprints`) are alike in this form. Unlike there, a text that
    stands in another stands in it in this form as well, whatever is around it: no path of an address keeps its case.
    """
    return " ".join(normal("NFKC", text).casefold().split())


def bare(text: str) -> str:
    """Return the form in which what was forgotten is found: texts that are alike when `caseless` are alike in it.

    So are those that people take for one: without vowels that hardly anybody writes, in other digits, in letters that
    are written for each other.
    """
    return " ".join(without_case(text).split())


def without_case(text: str) -> str:
    """Return the text as `bare` does; white space stays."""
    return as_indexed(normal("NFKC", text)).casefold().replace("\u0131", "i")


def trimmed(text: str) -> str:
    """Return a text without the punctuation at its end, which whoever says it again may leave out or add."""
    return text.rstrip(_PUNCTUATION) or text
