"""Forgetting for good at once, for who does not want the ten minutes."""

from __future__ import annotations

from uuid import UUID

from flask import Response, flash, request, url_for

from memory.forgetting.letting_go import let_go
from memory.reading.browse import Source
from webapp.context import credential, runtime, session, utc_now
from webapp.htmx import swap_or_go, wants_fragment
from webapp.pages.beside import beside_list
from webapp.pages.place import place_before, way_back
from webapp.pages.visitor import guarded, local_path

bp = guarded("letting_go")


@bp.post("/memories/<uuid:memory_id>/let-go")
def now(memory_id: UUID) -> Response:
    """Purge a memory that was forgotten."""
    source = purge_now(memory_id)
    place = _address(source) if source is not None else ""
    if not wants_fragment():
        flash(place, "gone")
    back = local_path(request.form.get("next"), way_back(place_before()).url)
    return swap_or_go("letting_go/_gone.html", back, memory_id=memory_id, place=place, **beside_list())


def purge_now(memory_id: UUID) -> Source | None:
    """Purge a memory that was forgotten, in a transaction of its own; raises `NotFoundError`.

    Returns the message that it was said in: that stays.
    """
    who = credential()
    source = let_go(session(), who.user_id, memory_id, keys=runtime().keys, now=utc_now(), actor=who.actor)
    session().commit()
    return source


def _address(source: Source) -> str:
    anchor = f"m-{source.sequence}"
    return url_for("conversations.show", conversation_id=source.conversation_id, at=source.sequence, _anchor=anchor)
