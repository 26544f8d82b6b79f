"""What admins look after: accounts, backfills, the queue, and whether users see each other; counts, never content."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask import Response, flash, request, url_for
from sqlalchemy.orm import Session

from memory.accounts.roles import only_admin
from memory.operators.jobs import count_building, list_stuck
from memory.operators.operators import list_accounts, retry_failed_of_all, try_to_cross
from memory.record.journal import record
from memory.record.telemetry import COUNTED
from tasks.app import depth
from tasks.embedding import fill, nudge
from webapp.context import credential, runtime, session, utc_now
from webapp.disk import alerts_of_disk
from webapp.htmx import render, see_other
from webapp.owner import as_owner, change_role, let_in, retry_one
from webapp.pages.visitor import guarded
from webapp.pages.words import ago, counted
from webapp.providers import reader_failure

bp = guarded("admin", admins_only=True)

# A page of them stays light.
PAGE = 50
# From here on a number is worth looking at: seconds, memories, a share of all calls, and texts.
OLD_BACKLOG = 300
DEEP_BACKLOG = 10_000
MANY_FAILURES = 0.05
# A worker reads as many in a few seconds, or in half an hour where a language model does.
MANY_UNREAD = 1000


@bp.get("/admin")
def index() -> Response:
    """Show accounts, the state of the system, and the outcome of the self-test."""
    found = try_to_cross(session(), credential().user_id)
    # One connection for all: opening it takes longer than any of them.
    with as_owner() as owner:
        shown = {**_users(owner), **_jobs(owner), **_state(owner)}
    return render(
        "admin/index.html",
        "admin/_state.html",
        **shown,
        isolation=found,
    )


@bp.get("/admin/users")
def users() -> Response:
    """Show a further page of accounts."""
    with as_owner() as owner:
        shown = _users(owner, _asked("cursor"))
    return render("admin/users.html", "admin/_users.html", **shown)


@bp.get("/admin/jobs")
def jobs() -> Response:
    """Show a further page of what failed or is stuck."""
    with as_owner() as owner:
        shown = _jobs(owner, _asked("cursor"))
    return render("admin/jobs.html", "admin/_jobs.html", **shown)


@bp.get("/admin/state")
def state() -> Response:
    """Answer how the work goes; the fragment asks again by itself while something waits.

    `told` is how many alarms the page has already: only where there are more by now are they announced.
    """
    with as_owner() as owner:
        shown = _state(owner)
    return render("admin/state.html", "admin/_state.html", **shown)


@bp.post("/admin/backfill")
def backfill() -> Response:
    """Look for everything that waits, of all users, and have it embedded."""
    record(session(), credential().user_id, "backfill.started", actor=credential().actor, now=utc_now())
    session().commit()
    fill()
    nudge()
    return _back("Started. The numbers below follow.")


@bp.post("/admin/retry")
def retry() -> Response:
    """Try again at once what has failed, of all users."""
    now = utc_now()
    retried = retry_failed_of_all(runtime().sessions, now)
    record(session(), credential().user_id, "backfill.retried", actor=credential().actor, now=now, count=retried)
    session().commit()
    nudge()
    return _back(f"Trying {counted(retried, 'vector')} again." if retried else "Nothing has failed.")


@bp.post("/admin/users/<uuid:user_id>/role")
def role(user_id: UUID) -> Response:
    """Make a user an admin, or a plain user; the list comes back as it was narrowed, to who still is an admin."""
    wanted = request.form.get("role", "")
    said = f"Now {'an admin' if wanted == 'admin' else 'a plain user'}."
    changed = change_role(user_id, wanted)
    if changed and user_id == credential().user_id and wanted != "admin":
        # Without the admin role the page is closed, so a user who has just given it up is led elsewhere.
        flash(said)
        return see_other(url_for("account.index"))
    return _listed(user_id, said if changed else "Nothing changed.")


@bp.post("/admin/users/<uuid:user_id>/<any(disable, enable):act>")
def access(user_id: UUID, act: str) -> Response:
    """Let a user in no more, or again."""
    changed = let_in(user_id, disabled=act == "disable")
    said = "No browser and no token of theirs is let in any more." if act == "disable" else "Let in again."
    return _listed(user_id, said if changed else "Nothing changed.")


@bp.post("/admin/jobs/<kind>/<uuid:user_id>/<uuid:item_id>/retry")
def retry_job(kind: str, user_id: UUID, item_id: UUID) -> Response:
    """Have one job that failed or is stuck tried again."""
    retry_one(user_id, kind, item_id)
    return _back("Trying it again.")


def _back(said: str) -> Response:
    flash(said)
    return see_other(url_for("admin.index"))


def _listed(user_id: UUID, said: str) -> Response:
    """Show that page of accounts, narrowed as it was, on which the user is."""
    flash(said)
    given: dict[str, Any] = {name: each for name in ("q", "cursor") if (each := request.form.get(name))}
    page = "admin.users" if "cursor" in given else "admin.index"
    return see_other(url_for(page, **given, _anchor=f"user-{user_id}"))


def _asked(name: str) -> str:
    # No address holds a NUL, and no parameter may.
    return request.args.get(name, "").replace("\x00", "").strip()


def _users(owner: Session, cursor: str = "") -> dict[str, Any]:
    named = _asked("q")
    page = list_accounts(owner, limit=PAGE, cursor=cursor or None, named=named)
    return {"users": page, "named": named, "users_after": cursor, "only_admin": only_admin(owner)}


def _jobs(owner: Session, cursor: str = "") -> dict[str, Any]:
    return {"stuck": list_stuck(owner, now=utc_now(), limit=PAGE, cursor=cursor or None), "jobs_after": cursor}


def _state(owner: Session) -> dict[str, Any]:
    numbers = {**runtime().telemetry(session(), utc_now()), "embedding_building": count_building(owner)}
    told = request.args.get("told", 0, type=int)
    known = {"told": told, "counted": COUNTED.values(), "queue": depth(), "provider": _provider()}
    embeds, reads = runtime().providers.embeds_for_all, runtime().settings.enrichment
    alerts = [*alerts_of(numbers, embeds=embeds, reads=reads), *_of_reader(), *_of_disk()]
    return {"numbers": numbers, "alerts": alerts, **known}


def _of_reader() -> list[str]:
    failure = reader_failure()
    if failure is None:
        return []
    when = ago(failure.failed_at, utc_now())
    return [
        f"Asked {when}, the language model failed: {failure.error}. Rules and extracts stand in for it. "
        "The command “commonplace doctor” asks it again."
    ]


def _of_disk() -> list[str]:
    # A database elsewhere has another disk.
    return alerts_of_disk(runtime().settings.home) if runtime().server else []


def alerts_of(numbers: dict[str, Any], *, embeds: bool = True, reads: bool = True) -> list[str]:
    """Return what of the numbers an admin should look at, in words.

    `embeds` tells whether the server itself makes vectors, and `reads` whether workers read for names. Where only
    endpoints of users embed, what waits may wait for one that is away, and what is stuck is listed by itself.
    """
    age, waiting = numbers.get("embedding_backlog_age") or 0, numbers.get("embedding_backlog") or 0
    failures, failing = numbers.get("tool_failures") or 0, numbers.get("embedding_failure_rate") or 0
    calls, errors = numbers.get("tool_calls") or 0, numbers.get("embedding_errors") or 0
    found = []
    if embeds and (age > OLD_BACKLOG or waiting >= DEEP_BACKLOG):
        wait, minutes = counted(waiting, "text waits", "texts wait"), counted(int(age // 60), "minute")
        found.append(f"{wait} for a vector, the oldest for {minutes}: does a worker run?")
    if errors:
        given_up = counted(errors, "vector was", "vectors were")
        lately = f", {failing:.0%} of those of the last hour" if failing >= MANY_FAILURES else ""
        found.append(f"{given_up} given up on{lately}: look at the provider, then try again.")
    if reads and (unread := numbers.get("enrichment_backlog") or 0) >= MANY_UNREAD:
        found.append(f"{unread:,} texts wait to be read for names and tags: does a worker run, and is memory on?")
    if calls and failures / calls > MANY_FAILURES:
        found.append(f"{failures / calls:.0%} of all tool calls failed.")
    if full := numbers.get("full_spaces") or 0:
        # A soft cap never takes what is held on to: what it takes instead is the newest of the rest.
        found.append(
            f"{counted(full, 'space is', 'spaces are')} full of what is pinned or saved by hand: nothing of that is "
            "trimmed, and whatever else comes is. Raise the cap, or let something go."
        )
    return found


def _provider() -> str | None:
    if not runtime().providers.embeds_for_all:
        return None
    system = runtime().providers.system
    if system.llamacpp_url is None:
        return f"the local model ({system.local_model})"
    return f"{system.llamacpp_url}, {'which answers' if runtime().providers.system_healthy() else 'which is away'}"
