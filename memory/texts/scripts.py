"""How words are written: in one form, and in scripts that have no blanks between them or whose endings are written on.

Where a word ends in those, Thai to Khmer, Chinese, Japanese and Korean, nobody can tell without a dictionary. So the
database keeps the pairs of characters in such a run as its words, and a Han character also by itself (`in_words`, in
the migration that adds it).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = re.compile(
    f"[{HAN}\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\uac00-\ud7a3]"
)
# Where a word may begin and end, to Python and to PostgreSQL: anywhere beside such a script.
BEGINS = rf"(?:(?<!\w)|(?={UNSPACED.pattern})|(?<={UNSPACED.pattern}))"
ENDS = rf"(?:(?!\w)|(?={UNSPACED.pattern})|(?<={UNSPACED.pattern}))"
_RUN = re.compile(f"{UNSPACED.pattern}+")
_ALONE = re.compile(f"(?<![{HAN}])[{HAN}](?![{HAN}])")

# Signs above, below and beside letters, in which many scripts write their vowels and tones: parts of a word that "\w"
# does not know. Between those of one script there may be letters.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u0816-\u082d\u0859-\u085b\u0898-\u08e1\u08e3-\u0963"
    "\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83\u0cbc-\u0d4d"
    "\u0d57-\u0d63\u0d81-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f84"
    "\u0f86-\u0fbc\u0fc6\u102b-\u103e\u1056-\u109d\u135d-\u135f\u1712-\u1734\u1752-\u17d3\u17dd\u180f-\u193b"
    "\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1dff"
    "\u2cef-\u2cf1\u2d7f-\u2dff\u302a-\u302f\u3099-\u309a\ua66f-\ua672\ua674-\ua67d\ua69e-\ua6f1\ua802-\ua827"
    "\ua82c\ua880-\ua8c5\ua8e0-\ua8f1\ua8ff-\ua92d\ua947-\ua953\ua980-\ua9c0\ua9e5-\uaa4d\uaa7b-\uaac1\uaaeb-\uaaef"
    "\uaaf5-\uaaf6\uabe3-\uabea\uabec-\uabed\ufb1e\ufe20-\ufe2f"
)
WORD = re.compile(rf"\w+(?:[{MARKS}]+\w*)*")
# Marks that Unicode puts in an order of its own behind their letter.
_ORDERED = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07eb-\u07f3\u07fd\u0816-\u0819"
    "\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0897-\u089f\u08ca-\u08e1\u08e3-\u08ff\u093c\u094d"
    "\u0951-\u0954\u09bc\u09cd\u09fe\u0a3c\u0a4d\u0abc\u0acd\u0b3c\u0b4d\u0bcd\u0c3c\u0c4d\u0c55-\u0c56\u0cbc\u0ccd"
    "\u0d3b-\u0d3c\u0d4d\u0dca\u0e38-\u0e3a\u0e48-\u0e4b\u0eb8-\u0eba\u0ec8-\u0ecb\u0f18-\u0f19\u0f35\u0f37\u0f39"
    "\u0f71-\u0f84\u0f86-\u0f87\u0fc6\u1037-\u103a\u108d\u135d-\u135f\u1714-\u1715\u1734\u17d2\u17dd\u18a9"
    "\u1939-\u193b\u1a17-\u1a18\u1a60-\u1a7c\u1a7f\u1ab0-\u1ace\u1b34-\u1b44\u1b6b-\u1b73\u1baa-\u1bab\u1be6-\u1bf3"
    "\u1c37\u1cd0-\u1cd2\u1cd4-\u1ce8\u1ced\u1cf4\u1cf8-\u1cf9\u1dc0-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2d7f"
    "\u2de0-\u2dff\u302a-\u302f\u3099-\u309a\ua66f\ua674-\ua67d\ua69e-\ua69f\ua6f0-\ua6f1\ua806\ua82c\ua8c4"
    "\ua8e0-\ua8f1\ua92b-\ua92d\ua953\ua9b3-\ua9c0\uaab0\uaab2-\uaab4\uaab7-\uaab8\uaabe-\uaabf\uaac1\uaaf6\uabed"
    "\ufb1e\ufe20-\ufe2f\uff9e-\uff9f\U000101fd\U000102e0\U00010376-\U0001037a\U00010a0d-\U00010a0f"
    "\U00010a38-\U00010a3a\U00010a3f\U00010ae5-\U00010ae6\U00010d24-\U00010d27\U00010d69-\U00010d6d"
    "\U00010eab-\U00010eac\U00010efd-\U00010eff\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011046\U00011070"
    "\U0001107f\U000110b9-\U000110ba\U00011100-\U00011102\U00011133-\U00011134\U00011173\U000111c0\U000111ca"
    "\U00011235-\U00011236\U000112e9-\U000112ea\U0001133b-\U0001133c\U0001134d\U00011366-\U0001136c"
    "\U00011370-\U00011374\U000113ce-\U000113d0\U00011442-\U00011446\U0001145e\U000114c2-\U000114c3"
    "\U000115bf-\U000115c0\U0001163f\U000116b6-\U000116b7\U0001172b\U00011839-\U0001183a\U0001193d-\U0001193e"
    "\U00011943\U000119e0\U00011a34\U00011a47\U00011a99\U00011c3f\U00011d42-\U00011d45\U00011d97\U00011f41-\U00011f42"
    "\U0001612f\U00016af0-\U00016af4\U00016b30-\U00016b36\U00016ff0-\U00016ff1\U0001bc9e\U0001d165-\U0001d169"
    "\U0001d16d-\U0001d172\U0001d17b-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244"
    "\U0001e000-\U0001e006\U0001e008-\U0001e018\U0001e01b-\U0001e021\U0001e023-\U0001e024\U0001e026-\U0001e02a"
    "\U0001e08f\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef\U0001e4ec-\U0001e4ef\U0001e5ee-\U0001e5ef"
    "\U0001e8d0-\U0001e8d6\U0001e944-\U0001e94a"
)
# Nobody reads more of them on one letter. To bring them in order takes the square of their number: of a megabyte a
# quarter of an hour, in which Python does nothing else, and PostgreSQL heeds no time limit.
MOST_MARKS = 30
PILE = re.compile(f"([{_ORDERED}]{{{MOST_MARKS}}})[{_ORDERED}]+")
_MARK = re.compile(f"[{_ORDERED}]")

# Signs, letters and digits as wide as a Han character, and half as wide kana, whose voice marks stand by themselves.
_WIDTHS: dict[int, str] = {
    **{wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)},
    **{half: unicodedata.normalize("NFKC", chr(half)) for half in range(0xFF61, 0xFFA0)},
    0x3000: " ",
}
# Letters in another shape: ligatures, those of Arabic and Hebrew as old documents have them, of mathematics, Roman
# numerals; and figures below the line. Not those above it, which are often of a note: "Basel\u00b9".
_SHAPED = re.compile(
    "[\u2080-\u2089\u2102\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212c\u212d\u212f-\u2131\u2133\u2134\u2160-\u217f"
    "\ufb00-\ufb06\ufb13-\ufb17\ufb20-\ufb28\ufb4f-\ufbb1\ufbd3-\ufc5d\ufc64-\ufd3d\ufd50-\ufdfb\ufe80-\ufefc"
    "\U0001d400-\U0001d7ff]"
)
# What is not seen between letters: soft hyphens, joiners but for that of emoji, marks of direction.
_UNSEEN = (
    "\u00ad\u034f\u061c\u200b\u200c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067"
    "\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
)
_JOINER = re.compile("\u200d(?![\u2190-\u2bff\U0001f000-\U0001faff])")
# The zeros of digits, with a sign of their own for each of the ten; and what divides numbers of Arabic ones.
_ZEROS = (
    "\u0660\u06f0\u07c0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0de6"
    "\u0e50\u0ed0\u0f20\u1040\u1090\u17e0\u1810"
)
_SAME: dict[int, str | None] = {
    **dict.fromkeys(map(ord, _UNSEEN)),
    **{ord(zero) + digit: str(digit) for zero in _ZEROS for digit in range(10)},
    0x066B: ".",
    0x066C: ",",
    # In small letters it is an i, and two characters to most programs.
    0x0130: "I",
}
# Vowels and signs for reading, which hardly anybody writes: of Hebrew, of Arabic, and the stroke that makes it longer.
_POINTS = dict.fromkeys(
    [
        *range(0x0591, 0x05BE), 0x05BF, 0x05C1, 0x05C2, 0x05C4, 0x05C5, 0x05C7,
        *range(0x0610, 0x061B), 0x0640, *range(0x064B, 0x0660), 0x0670, *range(0x06D6, 0x06DD), *range(0x06DF, 0x06E5),
        0x06E7, 0x06E8, *range(0x06EA, 0x06EE), *range(0xFC5E, 0xFC64), *range(0xFE70, 0xFE80),
    ]
)  # fmt: skip
# Letters that people write for each other: of Arabic and Persian by the keyboard, of Russian without its two dots, of
# Hindi without its dot below; and of Greek without accents and with one sigma, as capitals are written.
_EXCHANGED = str.maketrans(
    "\u0622\u0623\u0625\u0671\u0649\u06cc\u06a9\u0629\u06c0\u06c1\u06d5\u0401\u0451\u03c2"
    "\u0386\u0388\u0389\u038a\u038c\u038e\u038f\u03aa\u03ab\u03ac\u03ad\u03ae\u03af\u03cc\u03cd\u03ce\u03ca\u03cb\u0390\u03b0",
    "\u0627\u0627\u0627\u0627\u064a\u064a\u0643\u0647\u0647\u0647\u0647\u0415\u0435\u03c3"
    "\u0391\u0395\u0397\u0399\u039f\u03a5\u03a9\u0399\u03a5\u03b1\u03b5\u03b7\u03b9\u03bf\u03c5\u03c9\u03b9\u03c5\u03b9\u03c5",
    "\u093c",
)
# What may be one with the character before it, beside marks: the vowels and ends of Korean syllables, and voice marks.
_JOINING = re.compile("[\u1161-\u1175\u11a8-\u11c2\uff9e\uff9f]")


def normal(form: Form, text: str) -> str:
    """Return a text in a normal form of Unicode, without the marks on a letter that are beyond `MOST_MARKS`.

    By the library alone, a text of marks would take more time than anybody has. They are left out once all are in
    order: what is one text to Unicode, however it is written, is one here.
    """
    if text.isascii():
        return text
    ordered = PILE.sub(lambda pile: _in_order(form, pile[0]), text) if _may_be_piled(text) else text
    return _without_piles(unicodedata.normalize(form, ordered))


def _in_order(form: Form, marks: str) -> str:
    """Return marks in the order that a normal form has them in, each as those that it is made of."""
    alone: Form = "NFKD" if "K" in form else "NFD"
    parts = "".join(unicodedata.normalize(alone, mark) for mark in marks)
    # What has no class, zero, keeps its place between the others.
    runs = groupby(parts, key=lambda mark: unicodedata.combining(mark) > 0)
    return "".join("".join(sorted(run, key=unicodedata.combining)) for _, run in runs)


def _without_piles(text: str) -> str:
    return PILE.sub(r"\1", text) if _may_be_piled(text) else text


def _may_be_piled(text: str) -> bool:
    # So many signs apart, each pile has one of them; to look at all takes ten times as long as to normalise a text.
    return _MARK.search(text[:: MOST_MARKS + 1]) is not None


def compatible(text: str) -> str:
    """Return a text in NFKC, without what is not seen between letters, its digits as ASCII has them."""
    return text if text.isascii() else _same(normal("NFKC", text))


def one_form(text: str) -> str:
    """Return a text with each letter as one character where there is one, of the common width and shape.

    Without what is not seen between letters, and without the vowels of Arabic and Hebrew.

    >>> one_form("cafe\u0301 \uff21\uff12 \uff76\uff9e x² \u0663 soft\u00adly \ufb01ne")
    'café A2 ガ x² 3 softly fine'
    """
    if text.isascii():
        return text
    plain = _SHAPED.sub(lambda sign: unicodedata.normalize("NFKC", sign[0]), text).translate(_WIDTHS)
    # Left out before they are in order, as the database, which has no way to tell it, must do it.
    return _same(unicodedata.normalize("NFC", _without_piles(plain))).translate(_POINTS)


def as_indexed(text: str) -> str:
    """Return a text in one form, with one letter for those that people write for each other.

    The index has words so (`one_form` in SQL, in the migration that changes it); what people wrote stays as it is.
    """
    return text if text.isascii() else one_form(text).translate(_EXCHANGED)


def _same(text: str) -> str:
    return _JOINER.sub("", text.translate(_SAME)).replace("i\u0307", "i")


def places_indexed(text: str) -> tuple[str, list[int]]:
    """Return a text `as_indexed`, and of each place in it, and of its end, the place in the text that it comes from."""
    pieces, places, begin = [], [], 0
    while begin < len(text):
        end = end_of_letter(text, begin)
        pieces.append(as_indexed(text[begin:end]))
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
