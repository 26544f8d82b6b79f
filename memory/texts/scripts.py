"""How words are written: in one form, and in scripts that have no blanks between them or whose endings are written on.

Where a word ends in those, Thai to Khmer, Chinese, Japanese and Korean, nobody can tell without a dictionary. So the
database keeps the pairs of characters in such a run as its words, and a Han character also by itself (`in_words`, in
the migration that adds it).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = re.compile(
    f"[{HAN}\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\uac00-\ud7a3]"
)
_RUN = re.compile(f"{UNSPACED.pattern}+")
_ALONE = re.compile(f"(?<![{HAN}])[{HAN}](?![{HAN}])")


# Signs above and below letters are part of a word here, as "\w" does not know.
WORD = re.compile(rf"(?:\w|{UNSPACED.pattern})+")

# Signs, letters and digits as wide as a Han character, and half as wide kana, whose voice marks stand by themselves.
_WIDTHS: dict[int, str] = {
    **{wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)},
    **{half: unicodedata.normalize("NFKC", chr(half)) for half in range(0xFF61, 0xFFA0)},
    0x3000: " ",
}
# What may be one with the character before it, beside marks: the vowels and ends of Korean syllables, and voice marks.
_JOINING = re.compile("[\u1161-\u1175\u11a8-\u11c2\uff9e\uff9f]")


def one_form(text: str) -> str:
    """Return a text with each letter as one character where there is one, and of the common width.

    The index has words so (`one_form` in SQL, in the migration that adds it); what people wrote stays as it is.

    >>> one_form("cafe\u0301 \uff21\uff12 \uff76\uff9e x²")
    'café A2 ガ x²'
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text.translate(_WIDTHS))


def in_one_form(text: str) -> tuple[str, list[int]]:
    """Return a text in one form, and of each place in it, and of its end, the place in the text that it comes from."""
    pieces, places, begin = [], [], 0
    while begin < len(text):
        end = end_of_letter(text, begin)
        pieces.append(one_form(text[begin:end]))
        places += [begin] * len(pieces[-1])
        begin = end
    return "".join(pieces), [*places, len(text)]


def end_of_letter(text: str, place: int) -> int:
    """Return where the character at a place ends with the marks that belong to it.

    >>> end_of_letter("cafe\u0301", 3), end_of_letter("cafe\u0301", 2)
    (5, 3)
    """
    place += 1
    while place < len(text) and (unicodedata.category(text[place])[0] == "M" or _JOINING.match(text[place])):
        place += 1
    return place


def words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a text with their places; of scripts without blanks each pair of characters.

    With them comes what stands alone: one character of a run, or a Han character between others.

    >>> list(words("a harbour"))
    [(0, 'a'), (2, 'harbour')]
    >>> list(words("東京駅 iPhoneを猫")), list(words("猫"))
    ([(0, '東京'), (1, '京駅'), (4, 'iPhone'), (10, 'を猫'), (11, '猫')], [(0, '猫')])
    """
    for word in WORD.finditer(text):
        end = word.start()
        for run in _RUN.finditer(text, word.start(), word.end()):
            if run.start() > end:
                yield end, text[end : run.start()]
            yield from _pieces(text, run.start(), run.end())
            end = run.end()
        if word.end() > end:
            yield end, text[end : word.end()]


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for place in range(start, end):
        if _ALONE.match(text, place) or end - start == 1:
            yield place, text[place]
        if place + 1 < end:
            yield place, text[place : place + 2]
