"""Slips: what confirms or undoes one action, signed, for exactly the ids that it names, and only for a while."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.errors import ConflictError, InvalidError
from memory.keys import Keys

_PURPOSE = "command slip"
_LONGEST = 60_000


@dataclass(frozen=True, slots=True)
class Slip:
    """An action that its user may still take: on these memories, in this space or with this tag; `until` is aware.

    `versions` are those of the memories' texts that were shown when it was asked about, in the order of `ids`.
    """

    user_id: UUID
    action: str
    until: datetime
    ids: tuple[UUID, ...] = ()
    space: str | None = None
    versions: tuple[int, ...] = ()


def seal(keys: Keys, slip: Slip) -> str:
    """Return the slip as text that nobody else can write."""
    acts = to_values(slip.action, slip.ids, slip.space, slip.versions)
    said = {"user": str(slip.user_id), "until": slip.until.isoformat(), **acts}
    body = urlsafe_b64encode(json.dumps(said, separators=(",", ":")).encode()).decode()
    return f"{body}.{keys.digest(_PURPOSE, body).hex()}"


def unseal(keys: Keys, text: str, user_id: UUID, *, field: str, now: datetime) -> Slip:
    """Return the slip that a text is; raises `InvalidError` on `field` for any other text, `ConflictError` too late."""
    body, _, signature = text.strip().partition(".")
    right = len(text) <= _LONGEST and body.isascii() and signature.isascii()
    if not right or not hmac.compare_digest(keys.digest(_PURPOSE, body).hex(), signature):
        raise InvalidError(field, "is no slip of ours")
    said = json.loads(urlsafe_b64decode(body))
    if said["user"] != str(user_id):
        raise InvalidError(field, "is no slip of ours")
    until = datetime.fromisoformat(said["until"])
    if until <= now:
        raise ConflictError("this came too late: nothing was changed")
    return Slip(user_id, until=until, **from_values(said))


def to_values(action: str, ids: Sequence[UUID], space: str | None, versions: Sequence[int] = ()) -> dict[str, Any]:
    """Return what an action is done to as JSON can hold it: ids, numbers and names, no text."""
    return {"action": action, "ids": [str(each) for each in ids], "space": space, "versions": [*versions]}


def from_values(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a slip that `to_values` made JSON of; what was kept before has no versions."""
    ids, versions = tuple(UUID(each) for each in said["ids"]), tuple(said.get("versions", ()))
    return {"action": said["action"], "ids": ids, "space": said["space"], "versions": versions}
