"""`/v1/memory/updates`: pairs of memories that say nearly the same, and which of the two holds."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask import Response, jsonify
from pydantic import BaseModel, Field

from memory.models import Memory
from memory.reading.undecided import LARGEST_PAGE, list_undecided
from memory.writing.settle import Keep
from webapp.api.answers import SettledAnswer, UndecidedAnswer
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import Cursor, SpaceQuery, Strict, moment
from webapp.context import credential, session, utc_now
from webapp.guards import needs, placed
from webapp.operations import incognito_spaces, is_incognito, scope_for
from webapp.settling import settle

bp = api_blueprint("updates", "Memories that may be an update of another", "/v1/memory/updates")


class UpdatesQuery(SpaceQuery):
    """Of which space, how many pairs to list, and after which."""

    limit: int = Field(50, ge=1, le=LARGEST_PAGE)
    cursor: Cursor | None = None


class PairPath(BaseModel):
    """The ids of two memories that may be an update of one another, in any order."""

    memory_id: UUID
    other_id: UUID


class SettleBody(Strict):
    """Which of them holds: the first in the address, the other one, or both."""

    keep: Keep


@bp.get("", summary="List what may be an update of another", responses={"200": UndecidedAnswer})
@needs("read")
@placed
def list_(query: UpdatesQuery) -> Response:
    """Answer the pairs of active memories that nobody has decided between, what was stored last first."""
    scope = scope_for(query.space)
    if is_incognito(scope):
        return jsonify({"updates": [], "next_cursor": None, "skipped": "incognito"})
    page = list_undecided(
        session(),
        credential().user_id,
        space_id=scope.id if scope else None,
        outside=() if scope else incognito_spaces(),
        limit=query.limit,
        cursor=query.cursor,
        now=utc_now(),
    )
    updates = [
        {
            "newer": _memory_json(pair.newer),
            "older": _memory_json(pair.older),
            "space": pair.space,
            "differs_in": pair.differs_in,
        }
        for pair in page.pairs
    ]
    return jsonify({"updates": updates, "next_cursor": page.next_cursor})


@bp.post("/<uuid:memory_id>/<uuid:other_id>", summary="Decide between two memories", responses={"200": SettledAnswer})
@needs("write")
def decide(path: PairPath, body: SettleBody) -> Response:
    """Let one replace the other, which is out of search then, or let both hold; 404 where nothing is to be decided."""
    settle(path.memory_id, path.other_id, body.keep)
    replaced = {"this": path.other_id, "other": path.memory_id}.get(body.keep)
    return jsonify({"keep": body.keep, "replaced": str(replaced) if replaced else None})


def _memory_json(memory: Memory) -> dict[str, Any]:
    return {
        "id": str(memory.id),
        "text": memory.text,
        "type": memory.type,
        "pinned": memory.pinned,
        "created_at": moment(memory.created_at),
        "version": memory.version,
    }
