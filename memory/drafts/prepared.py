"""A draft with its fingerprints, by which its repeats and what it may update are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory.drafts.drafts import Draft
from memory.texts.fingerprints import folded_digest, normalise, simhash64, text_digest, to_signed
from memory.texts.template import template


@dataclass(frozen=True, slots=True)
class Prepared:
    """A draft with everything that can be worked out without the database."""

    draft: Draft
    normalised: str
    simhash: int
    digest: bytes
    template: bytes | None

    @property
    def columns(self) -> dict[str, Any]:
        """Return the columns of a memory by which its repeats are found."""
        return {"text_digest": self.digest, "template_digest": self.template, "simhash": to_signed(self.simhash)}


def prepare(draft: Draft) -> Prepared:
    """Normalise and fingerprint a draft."""
    normalised = normalise(draft.text)
    return Prepared(draft, normalised, simhash64(normalised), text_digest(draft.text), _template_digest(draft.text))


def _template_digest(text: str) -> bytes | None:
    words = template(text)
    return None if words is None else folded_digest(words)
