"""Forgetting for good at once, for who does not want the ten minutes."""

from __future__ import annotations

from uuid import UUID

from flask import Response, flash, request, url_for

from memory.letting_go import let_go
from webapp.context import credential, runtime, session, utc_now
from webapp.htmx import swap_or_go, wants_fragment
from webapp.pages.beside import beside_list
from webapp.pages.visitor import guarded, local_path

bp = guarded("letting_go")

SAID = "Gone for good. Nothing of it is left."


@bp.post("/memories/<uuid:memory_id>/let-go")
def now(memory_id: UUID) -> Response:
    """Purge a memory that was forgotten."""
    purge_now(memory_id)
    if not wants_fragment():
        flash(SAID)
    back = local_path(request.form.get("next"), url_for("browse.index"))
    return swap_or_go("letting_go/_gone.html", back, memory_id=memory_id, said=SAID, **beside_list())


def purge_now(memory_id: UUID) -> None:
    """Purge a memory that was forgotten, in a transaction of its own; raises `NotFoundError`."""
    who = credential()
    let_go(session(), who.user_id, memory_id, keys=runtime().keys, now=utc_now(), actor=who.actor)
    session().commit()
