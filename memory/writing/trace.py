"""The whole decision of one write, in values that an interface can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from memory.drafts.importance import Term

Verdict = Literal["created", "merged", "refused"]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory of the same space at Hamming distance at most 3, or of the same template, and how it differs."""

    id: UUID
    distance: int
    exact: bool
    differs_in: str | None


@dataclass(frozen=True, slots=True)
class Trace:
    """Why a write ended as it did. `simhash` is 16 hex digits of the unsigned 64-bit fingerprint."""

    normalised: str
    simhash: str
    reason: str
    neighbours: tuple[Neighbour, ...] = ()
    importance: float | None = None
    terms: tuple[Term, ...] = ()
    repeat_count: int = 0
    pinned: bool = False
    trimmed: tuple[UUID, ...] = ()
    possible_update_of: tuple[UUID, ...] = ()
    # What kinds of credentials the text seems to hold.
    credentials: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a write did. `id` is the new or the canonical row, None when it was refused."""

    id: UUID | None
    outcome: Verdict
    embedding: str
    trace: Trace
    refusal: str | None = None

    @property
    def kept(self) -> UUID | None:
        """The row that is there now: None also where a full space did not keep it."""
        return None if self.id in self.trace.trimmed else self.id
