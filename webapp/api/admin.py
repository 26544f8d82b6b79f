"""`/v1/admin`: what admins may start and see; counts and states, never anyone's content."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify
from pydantic import Field

from memory.embedding import queue
from memory.journal import record
from memory.telemetry import telemetry as numbers
from tasks.embedding import nudge, sweep
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import Strict
from webapp.context import credential, session, utc_now
from webapp.guards import needs

bp = api_blueprint("admin", "Backfills and telemetry", "/v1/admin")


class BackfillBody(Strict):
    """Whether rows in error get another try; only the caller's own."""

    retry_failed: bool = Field(False)


@bp.post("/backfill", summary="Start a backfill of vectors and enrichment")
@needs("admin")
def backfill(body: BackfillBody) -> Response:
    """Queue a sweep over all users; in the background rows embed, and then what waits is read for names and tags."""
    retried = queue.retry_failed(session(), credential().user_id, utc_now()) if body.retry_failed else 0
    record(session(), credential().user_id, "backfill.started", actor=credential().actor, now=utc_now())
    session().commit()
    sweep()
    nudge()
    return jsonify({"started": True, "retried": retried, **_backlog()})


@bp.get("/backfill", summary="How far the backfill is")
@needs("admin")
def progress() -> Response:
    """Answer how many rows wait for a vector or to be read, how old the oldest is, and how many failed."""
    return jsonify(_backlog())


@bp.get("/telemetry", summary="Counts over all users")
@needs("admin")
def telemetry() -> Response:
    """Answer the numbers behind `/metrics`."""
    return jsonify(numbers(session(), utc_now()))


def _backlog() -> dict[str, Any]:
    found = numbers(session(), utc_now())
    names = ("embedding_backlog", "embedding_backlog_age", "embedding_errors", "enrichment_backlog")
    return {name: found.get(name) for name in names}
