"""Token counts by `cl100k_base`, offline."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

# Characters tried beyond the token boundary. Each costs a count of the whole prefix, and a run such as "===="
# has tokens of 64 characters: without this limit a hostile 64 KiB text takes over a second.
_REACH = 16


@cache
def tokenizer() -> Any:
    """Load the tokenizer, once.

    The package's public `Encoding` refuses texts of a million characters and has no `count`; the binding below it has
    neither limit. It is loaded without the package around it, which parses three vocabularies into dictionaries when
    it is imported: half a second and 65 MB in every process, for what the binding has in it.
    """
    package = find_spec("bpe_openai")
    binding = PathFinder.find_spec("bpe_openai._bindings", package.submodule_search_locations) if package else None
    if binding is None or binding.loader is None:
        raise ImportError("bpe-openai is not installed, or has no binding of that name")
    module = module_from_spec(binding)
    binding.loader.exec_module(module)
    return module.tokenizer_for_encoding("cl100k_base")


def count(text: str) -> int:
    """Number of tokens. Names of special tokens such as "<|endoftext|>" are ordinary text."""
    return _counted(_Text(_encodable(text)))


class _Text:
    """A text that is about to be counted, known by its digest: a text is not kept for having been counted once."""

    __slots__ = ("digest", "text")

    def __init__(self, text: str) -> None:
        self.text: str | None = text
        self.digest = hashlib.blake2b(text.encode(), digest_size=16).digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Text) and self.digest == other.digest


# The same memories are found again and again, and every search would count them anew.
@lru_cache(maxsize=16_384)
def _counted(text: _Text) -> int:
    assert text.text is not None
    found = int(tokenizer().count(text.text))
    text.text = None
    return found


def cut(text: str, tokens: int) -> str:
    """The largest prefix of at most `tokens` tokens, never ending inside a character.

    "Largest" is exact unless a token of more than 16 characters sits at the cut. Lone surrogates, which no
    encoding accepts, come back as "?".
    """
    text = _encodable(text)
    ids = tokenizer().encode(text)
    if len(ids) <= tokens:
        return text
    # A prefix can have fewer tokens than the same characters have inside the text: the last piece may merge
    # differently once its end is gone. So start a little beyond the boundary and step back to the first fit.
    boundary, beyond = (_length(text, ids, max(0, tokens) + more) for more in (0, 2))
    for end in range(min(beyond, boundary + _REACH), 0, -1):
        if tokenizer().count(text[:end]) <= tokens:
            return text[:end]
    return ""


def _length(text: str, ids: list[int], tokens: int) -> int:
    """Characters covered by the first `tokens` ids, rounded up to whole characters."""
    for end in range(tokens, len(ids)):
        with suppress(ValueError):  # the ids end inside a character: take one more
            return len(tokenizer().decode(ids[:end]))
    return len(text)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
