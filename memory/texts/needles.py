"""Finding texts where they stand in others: in other case, quoted, in JSON, in addresses, with other signs between."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from memory.texts.caseless import bare, trimmed, without_case
from memory.texts.patterns import pattern
from memory.texts.scripts import HAN, MARKS

# A shorter text stands in so many innocent sentences that searching for it would blank the whole record: it counts
# only where it is the whole of what was said.
SHORTEST_WITHIN = 8
# Signs that stand for a syllable or a word each: two letters or more in other scripts.
_DENSE = re.compile(rf"[{HAN}\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3]")
# So many texts, or words of them, are looked for one by one; more texts by what sets each apart, once for all.
MOST_ASKED = 16

_WORD = re.compile(rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*")
_ASCII_WORD = re.compile(r"[^\W_]+")
# Signs as HTML and addresses write them, which have letters and digits and are no words.
_CODED = re.compile(
    r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,3}|#x[0-9a-f]{2});|%(?:0[9ad]|2[0-9a-f]|3[a-f]|40|5[b-f]|60|7[b-e])",
    re.IGNORECASE,
)
# Those of JSON, and the one more of programs that write a text in single quotes; whole words are of nothing else. The
# first is written out: where a pattern begins with a group, it is tried at each sign of a text.
_ESCAPE = r"""\\(?:u[0-9a-fA-F]{4}|["'/\\bfnrt])"""
_ESCAPES = re.compile(rf"{_ESCAPE}(?:{_ESCAPE})*")
LONGEST_SIGN = len(r"\ud83d\ude00")
# No letter of a word stands as it is in an address, beyond ASCII, or in one that is a part of another.
_IN_ADDRESS = "%(?:25[0-9a-fA-F]|[89a-fA-F])[0-9a-fA-F]"
_HAS_ADDRESS = re.compile(_IN_ADDRESS)
# Nor where a sign is written by its number in JSON which is a text within JSON.
_BY_NUMBER = rf"\\\\u[0-9a-fA-F]{{4}}|{_IN_ADDRESS}"
_HAS_BY_NUMBER = re.compile(_BY_NUMBER)
# JSON may stand as text in JSON that does so itself, and an address in another.
DEEPEST_QUOTED = 4


class Needles:
    """Texts to be found in other texts and in JSON, whatever their case, Unicode form and the signs between words."""

    def __init__(self, texts: Iterable[str]) -> None:
        forms = {bare(text) for text in texts}
        self._whole = {rest for rest in map(trimmed, forms) if _is_short(rest)}
        words = {text: _wording(text) for text in forms if not _is_short(text)}
        self._within = {said for said in words.values() if len(said) >= SHORTEST_WITHIN}
        # Texts that are hardly anything but signs are looked for with their signs, as are those of few but dense ones.
        self._signed = {_without_end(text) for text, said in words.items() if len(said) < SHORTEST_WITHIN}
        many = self._within if len(self._within) > MOST_ASKED else ()
        self._inner = _by_inner_word(many)
        self._rare_parts = _rare_parts(set(many).difference(*self._inner.values()))
        # With many words, one of them is in almost every call, so asking the database for them spares nothing. What one
        # memory said in all of its versions has few.
        longest = {_longest_word(text) for text in self._whole | self._within | self._signed}
        self._words = longest if len(longest) <= MOST_ASKED else {""}

    def in_text(self, text: str) -> bool:
        """Tell whether one of the texts stands in this one, or is this one if it is short."""
        return self._is_said_by(bare(text)) or self._is_quoted_in(text)

    def __bool__(self) -> bool:
        """Tell whether there is any text to be found."""
        return bool(self._whole or self._within or self._signed)

    def _is_quoted_in(self, text: str) -> bool:
        """Tell whether one of the texts is said in JSON that a text is, as arguments of calls often are, or coded."""
        if text.lstrip().startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                return self.in_value(json.loads(text))
        return any(self._is_said_by(bare(said)) for said in decoded(text))

    def _is_said_by(self, form: str) -> bool:
        return trimmed(form) in self._whole or self._stands_in(form)

    def _stands_in(self, text: str) -> bool:
        if any(needle in text for needle in self._signed):
            return True
        if self._inner or self._rare_parts:
            return self._by_inner_words(text) or self._by_rare_parts(text)
        said = _wording(text)
        return any(needle in said for needle in self._within)

    def _by_inner_words(self, text: str) -> bool:
        inner = self._inner
        words = _words(text) if inner else ()
        met = inner.keys() & words
        said = " ".join(words) if met else ""
        return any(needle in said for word in met for needle in inner[word])

    def _by_rare_parts(self, text: str) -> bool:
        parts = self._rare_parts
        if not parts:
            return False
        text = _wording(text)
        for place in range(len(text) - SHORTEST_WITHIN + 1):
            for offset, needle in parts.get(text[place : place + SHORTEST_WITHIN], ()):
                if place >= offset and text.startswith(needle, place - offset):
                    return True
        return False

    def in_value(self, value: Any) -> bool:
        """Tell whether one of the texts stands anywhere in a JSON value."""
        if isinstance(value, str):
            return self.in_text(value)
        if isinstance(value, dict):
            return any(self.in_name(key) or self.in_value(inner) for key, inner in value.items())
        return isinstance(value, list) and any(self.in_value(inner) for inner in value)

    def in_name(self, name: str) -> bool:
        """Tell whether one of the texts stands in the name of something, which no short one is meant by."""
        return self._stands_in(bare(name)) or self._is_quoted_in(name)

    def pattern(self) -> str | None:
        """Return what fits every JSON that `may_be_in_json` may find one of the texts in; None for too many texts."""
        fitting = pattern(self._words)
        return f"{fitting}|{_BY_NUMBER}" if fitting is not None else None

    def may_be_in_json(self, written: str) -> bool:
        """Tell whether one of the texts may stand in a value that is written as JSON; if not, it stands nowhere in it.

        A small part of the work of `in_value`, as the value is not taken apart.
        """
        # JSON writes letters and digits as they are, so a word can be looked for before anything is taken apart.
        plain = without_case(written)
        if not any(word in plain for word in self._words) and not _HAS_BY_NUMBER.search(written):
            return False
        if "\\\\" in written or _HAS_ADDRESS.search(written):
            # JSON or an address may be coded in a value, which shows only when it is taken apart. Each line has one
            # value.
            return any(self.in_value(json.loads(value)) for value in written.split("\n"))
        form = bare(_unescaped(written))
        # A short text counts only as a whole string: between the quote and the text there is nothing but white space.
        whole = any(f'"{text}' in form or f'" {text}' in form for text in self._whole)
        return whole or self._stands_in(form)


def _wording(text: str) -> str:
    """Return the words of a text, one space between them: how it is quoted, or where it pauses, is no part of it."""
    return " ".join(_words(text))


def _words(text: str) -> list[str]:
    read = _CODED.sub(" ", text) if "&" in text or "%" in text else text
    # The one finds the same as the other, and takes two thirds of its time.
    return (_ASCII_WORD if read.isascii() else _WORD).findall(read)


def _without_end(text: str) -> str:
    """Return a text without the punctuation at its end, unless it would then be too short to be looked for within."""
    rest = trimmed(text)
    return text if _is_short(rest) else rest


def _is_short(text: str) -> bool:
    return len(text) + len(_DENSE.findall(text)) < SHORTEST_WITHIN


def decoded(text: str) -> Iterator[str]:
    """Yield a text with what JSON or an address codes in it as it is meant; nothing where there is no such thing."""
    for _ in range(DEEPEST_QUOTED):
        is_address = _HAS_ADDRESS.search(text)
        if "\\" not in text and not is_address:
            return
        text = _unescaped(unquote(text) if is_address else text)
        yield text


def _unescaped(text: str) -> str:
    return _ESCAPES.sub(lambda escapes: _meant(escapes[0]), text)


def _longest_word(text: str) -> str:
    return max(_words(text), key=len, default="")


def _by_inner_word(texts: Collection[str]) -> dict[str, list[str]]:
    """Return texts by a word that few others share and that ends inside of them: it is a word wherever they stand.

    Words are found many times faster than parts of them. Texts without such a word are left out.
    """
    words = {text: set(_inner_words(text)) for text in texts}
    shared = Counter(word for each in words.values() for word in each)
    inner: dict[str, list[str]] = defaultdict(list)
    for text, each in words.items():
        word = min(each, key=lambda word: (shared[word], word), default=None)
        if word is not None and shared[word] <= MOST_ASKED:
            inner[word].append(text)
    return inner


def _inner_words(text: str) -> list[str]:
    """Return the words of a wording but those that it begins and ends with."""
    return _words(text)[1:-1]


def _rare_parts(texts: Collection[str]) -> dict[str, list[tuple[int, str]]]:
    """Return each text, and at what offset, by a part of it which few others share: many begin alike."""
    rare: dict[str, list[tuple[int, str]]] = defaultdict(list)
    # At first only some parts of each text are counted, which set most texts apart; all parts, which take seconds, only
    # of those left.
    for step in (SHORTEST_WITHIN * 2, 1):
        places = {text: range(0, len(text) - SHORTEST_WITHIN + 1, step) for text in texts}
        parts = {text: [text[n : n + SHORTEST_WITHIN] for n in each] for text, each in places.items()}
        shared = Counter(part for each in parts.values() for part in set(each))
        texts = []
        for text, each in parts.items():
            rarest = min(each, key=shared.__getitem__)
            if step > 1 and shared[rarest] > MOST_ASKED:
                texts.append(text)
            else:
                rare[rarest].append((step * each.index(rarest), text))
    return rare


def _meant(escapes: str) -> str:
    # A longer run may be what somebody said, and must not stay in the memory of the process.
    return _sign(escapes) if len(escapes) <= LONGEST_SIGN else _read_as(escapes)


def _read_as(escapes: str) -> str:
    without = escapes.replace(r"\'", "'")
    return str(json.loads(f'"{without}"'))


_sign = lru_cache(maxsize=1024)(_read_as)
