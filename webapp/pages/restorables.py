"""What was forgotten and can still be brought back, as the list of memories offers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.commands.slips import Slip, seal
from memory.forgetting.restore import Restorable
from memory.spaces.spaces import space_names
from memory.writing import bulk
from webapp.context import credential, runtime, session
from webapp.operations import told_restorables

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Restorables:
    """How many there are, the latest of them with their spaces, and the slip that brings several back at once.

    The slip names the latest `at_once`, if there are more.
    """

    number: int
    shown: Sequence[tuple[Restorable, str]]
    slip: str
    at_once: int = 0

    @property
    def is_all(self) -> bool:
        """Tell whether the slip brings all of them back."""
        return self.number <= self.at_once


def restorables() -> Restorables:
    """Return what the visitor can bring back, without a word of it."""
    found = told_restorables()
    if not found:
        return Restorables(0, (), "")
    names = space_names(session(), credential().user_id, {each.space_id for each in found[:SHOWN]})
    shown = [(each, names.get(each.space_id, "a space that is gone")) for each in found[:SHOWN]]
    return Restorables(len(found), shown, _slip(found) if len(found) > 1 else "", bulk.MOST)


def _slip(found: Sequence[Restorable]) -> str:
    ids: tuple[UUID, ...] = tuple(each.id for each in found[: bulk.MOST])
    until = max(each.undo_until for each in found)
    return seal(runtime().keys, Slip(credential().user_id, "restore", until, ids))
