"""A memory's own page, and what can be done with it wherever it is shown."""

from __future__ import annotations

from uuid import UUID

from flask import Response, flash, request, url_for

from memory.forget import UNDO_WINDOW
from webapp.htmx import render, swap_or_go, wants_fragment
from webapp.operations import bring_back, is_incognito, remove, set_pin, space_for
from webapp.pages.queries import opened
from webapp.pages.record import used_in
from webapp.pages.visitor import guarded, local_path

bp = guarded("memory")


@bp.get("/memories/<uuid:memory_id>")
def show(memory_id: UUID) -> Response:
    """Show everything that is known of a memory."""
    found = opened(memory_id)
    if is_incognito(space_for(found.entry.space)):
        return render("memories/closed.html", "memories/_closed.html")
    return render("memories/memory.html", "memories/_memory.html", opened=found, used=used_in(memory_id))


@bp.post("/memories/<uuid:memory_id>/pin")
def pin(memory_id: UUID) -> Response:
    """Keep a memory whatever the soft cap says."""
    return _pinned(memory_id, pinned=True)


@bp.post("/memories/<uuid:memory_id>/unpin")
def unpin(memory_id: UUID) -> Response:
    """Let the soft cap decide again."""
    return _pinned(memory_id, pinned=False)


@bp.post("/memories/<uuid:memory_id>/forget")
def forget(memory_id: UUID) -> Response:
    """Take a memory out of every read path, with ten minutes to change one's mind."""
    forgotten = remove(memory_id, UNDO_WINDOW)
    if not wants_fragment():
        flash(str(memory_id), "forgotten")
    return swap_or_go("memories/_forgotten.html", _back(url_for("browse.index")), forgotten=forgotten)


@bp.post("/memories/<uuid:memory_id>/restore")
def restore(memory_id: UUID) -> Response:
    """Undo a forgetting."""
    entry = bring_back(memory_id)
    return swap_or_go("memories/_row.html", url_for("memory.show", memory_id=memory_id), entry=entry)


def _pinned(memory_id: UUID, *, pinned: bool) -> Response:
    entry = set_pin(memory_id, pinned=pinned)
    back = _back(url_for("memory.show", memory_id=memory_id))
    return swap_or_go("memories/_actions.html", back, id=entry.memory.id, pinned=entry.memory.pinned, back=back)


def _back(default: str) -> str:
    return local_path(request.form.get("next"), default)
