"""`/v1/admin`: what admins may start and see; counts and states, never anyone's content."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask import Response, jsonify
from pydantic import BaseModel, Field

from memory.accounts.roles import Role
from memory.operators.jobs import STUCK_AFTER, count_building, list_stuck
from memory.operators.operators import Account, list_accounts, retry_failed_of_all
from memory.record.journal import record
from tasks.embedding import fill, nudge
from webapp.api.account_answers import (
    AccessAnswer,
    BacklogAnswer,
    JobsAnswer,
    RetriedAnswer,
    RoleAnswer,
    StartedAnswer,
    TelemetryAnswer,
    UsersAnswer,
)
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import Cursor, Line, Omittable, Query, Strict, moment
from webapp.context import credential, runtime, session, utc_now
from webapp.guards import needs
from webapp.owner import as_owner, change_role, let_in, retry_one

bp = api_blueprint("admin", "Backfills and telemetry", "/v1/admin")


class BackfillBody(Omittable):
    """Whether rows in error get another try, those of all users."""

    retry_failed: bool = Field(False)


class UsersQuery(Query):
    """Users by a part of their address."""

    q: Line = ""
    limit: int = Field(100, ge=1, le=1000)
    cursor: Cursor | None = None


class UserPath(BaseModel):
    """The id of a user."""

    user_id: UUID


class RoleBody(Strict):
    """What a user is to be."""

    role: Role


class AccessBody(Strict):
    """Whether a user is kept out."""

    disabled: bool


class JobsQuery(Query):
    """How many jobs to list, and after which."""

    limit: int = Field(50, ge=1, le=1000)
    cursor: Cursor | None = None


class JobPath(UserPath):
    """A job: what kind of item it makes a vector of, whose, and which."""

    kind: str
    item_id: UUID


@bp.get("/users", summary="Accounts, with counts", responses={"200": UsersAnswer})
@needs("admin")
def users(query: UsersQuery) -> Response:
    """Answer accounts by address: role, since when, and how much of each kind they have; never what.

    `next_cursor` is null at the end.
    """
    with as_owner() as owner:
        page = list_accounts(owner, limit=query.limit, cursor=query.cursor, named=query.q)
    return jsonify({"users": [_account_json(each) for each in page.accounts], "next_cursor": page.next_cursor})


def _account_json(account: Account) -> dict[str, Any]:
    counts = ("memories", "conversations", "tokens", "failed")
    return {
        "id": str(account.id),
        "email": account.email,
        "role": account.role,
        "created_at": moment(account.created_at),
        "disabled_at": moment(account.disabled_at),
        **{name: getattr(account, name) for name in counts},
    }


@bp.put("/users/<uuid:user_id>/role", summary="Make a user an admin, or a plain user", responses={"200": RoleAnswer})
@needs("admin")
def set_role(path: UserPath, body: RoleBody) -> Response:
    """Change a role; 409 for the last admin. A plain user keeps no token with the scope admin or service."""
    changed = change_role(path.user_id, body.role)
    return jsonify({"id": str(path.user_id), "role": body.role, "changed": changed})


@bp.put("/users/<uuid:user_id>/access", summary="Keep a user out, or let one in", responses={"200": AccessAnswer})
@needs("admin")
def access(path: UserPath, body: AccessBody) -> Response:
    """Refuse every browser and token of a user, or none any more; 409 for your own account. Nothing is deleted."""
    changed = let_in(path.user_id, disabled=body.disabled)
    return jsonify({"id": str(path.user_id), "disabled": body.disabled, "changed": changed})


@bp.get("/jobs", summary="Vectors that failed or are stuck", responses={"200": JobsAnswer})
@needs("admin")
def jobs(query: JobsQuery) -> Response:
    """Answer single jobs of all users, the oldest first: whose, of which item, since when; never of what text.

    `next_cursor` is null at the end.
    """
    with as_owner() as owner:
        page = list_stuck(owner, now=utc_now(), limit=query.limit, cursor=query.cursor)
    names = ("kind", "email", "state", "attempts")
    shown = [
        {
            "user_id": str(job.user_id),
            "item_id": str(job.item_id),
            "since": moment(job.since),
            **{name: getattr(job, name) for name in names},
        }
        for job in page.jobs
    ]
    return jsonify({"jobs": shown, "next_cursor": page.next_cursor, "stuck_after_seconds": STUCK_AFTER.total_seconds()})


@bp.post(
    "/jobs/<kind>/<uuid:user_id>/<uuid:item_id>/retry", summary="Try one job again", responses={"200": RetriedAnswer}
)
@needs("admin")
def retry_job(path: JobPath) -> Response:
    """Let a job that failed or is stuck wait again as if it were new; 404 when there is none such."""
    retry_one(path.user_id, path.kind, path.item_id)
    return jsonify({"retried": True})


@bp.post("/backfill", summary="Start a backfill of vectors and enrichment", responses={"200": StartedAnswer})
@needs("admin")
def backfill(body: BackfillBody) -> Response:
    """Queue a sweep over all users; in the background rows embed, and then what waits is read for names and tags."""
    who, now, retried = credential(), utc_now(), 0
    if body.retry_failed:
        retried = retry_failed_of_all(runtime().sessions, now)
        record(session(), who.user_id, "backfill.retried", actor=who.actor, now=now, count=retried)
    record(session(), who.user_id, "backfill.started", actor=who.actor, now=now)
    session().commit()
    fill()
    nudge()
    return jsonify({"started": True, "retried": retried, **_backlog()})


@bp.get("/backfill", summary="How far the backfill is", responses={"200": BacklogAnswer})
@needs("admin")
def progress() -> Response:
    """Answer how many rows wait for a vector or to be read, how old the oldest is, and how many failed."""
    return jsonify(_backlog())


@bp.get("/telemetry", summary="Counts over all users", responses={"200": TelemetryAnswer})
@needs("admin")
def telemetry() -> Response:
    """Answer the numbers behind `/metrics`."""
    return jsonify(_numbers())


def _numbers() -> dict[str, Any]:
    with as_owner() as owner:
        return {**runtime().telemetry(session(), utc_now()), "embedding_building": count_building(owner)}


def _backlog() -> dict[str, Any]:
    found = _numbers()
    return {name: found.get(name) for name in BacklogAnswer.model_fields}
