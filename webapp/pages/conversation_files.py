"""Bring in chats that were exported elsewhere, from files."""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from pathlib import PurePath

from flask import Response, flash, make_response, render_template, request, url_for
from werkzeug.exceptions import RequestEntityTooLarge

from memory.errors import InvalidError, RefusedError
from memory.transfer.bringing_chats import latest_first
from memory.transfer.chat_files import Chat, chats_in
from webapp.context import session, utc_now
from webapp.conversations import bring_chats
from webapp.htmx import see_other
from webapp.pages.forms import LARGEST_CHATS
from webapp.pages.queries import offered_spaces
from webapp.pages.visitor import guarded
from webapp.pages.words import counted
from webapp.plain import in_one_sentence

bp = guarded("conversation_files")

# Bytes that the archives of a form may have when they are unpacked: texts take a fifth of their size in it.
LARGEST_UNPACKED = 4 * LARGEST_CHATS


@bp.get("/conversations/files")
def index() -> Response:
    """Show the form."""
    return _page(request.args.get("space"))


@bp.post("/conversations/files")
def save() -> Response:
    """Store the chats that the files have, each whole, as many as there is time for."""
    space = request.form.get("space") or None
    try:
        chats = _chats()
        spoken = latest_first(chats)
        counts = bring_chats(spoken, space)
    except InvalidError as error:
        session().rollback()
        return _page(space, HTTPStatus.UNPROCESSABLE_ENTITY, wrong=in_one_sentence(error))
    except RefusedError:
        return _page(space, HTTPStatus.UNPROCESSABLE_ENTITY, wrong="Nothing is stored while this session is incognito")
    flash(_said(counts, len(chats) - len(spoken)))
    if counts["left"]:
        left = counted(counts["left"], "older chat is", "older chats are")
        flash(f"{left} left. Bring in the same file again: it goes on with what is left.", "refused")
        return see_other(url_for("conversation_files.index", space=space))
    return see_other(url_for("conversations.index", space=space))


@bp.errorhandler(RequestEntityTooLarge)
def refuse_large(_error: RequestEntityTooLarge) -> Response:
    """Say what else there is to do: the archive of ChatGPT has each picture in it."""
    wrong = "The files are too large: unpack the archive, and choose the conversations.json in it"
    return _page(None, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, wrong=wrong)


def _chats() -> list[Chat]:
    """Return the chats of the files of the form; raises `InvalidError`."""
    now = utc_now()
    # Some browsers send the path of the file, too.
    files = [(PurePath(each.filename or "").name, each.stream) for each in request.files.getlist("files")]
    # All that are chosen share it, as they are in memory together.
    most = LARGEST_UNPACKED // max(len(files), 1)
    chats = [chat for name, stream in files if name for chat in chats_in(stream, name, now, most=most)]
    if not chats:
        raise InvalidError("files", "have no chat in them: choose the archive, or the conversations.json in it")
    return chats


def _said(counts: Counter[str], silent: int) -> str:
    """Return what became of the chats, in words."""
    more = {
        "continued": "went on since",
        "there": "there already",
        "refused": "not taken, as their space is incognito by default",
    }
    told = [f"{counts[name]:,} {words}" for name, words in more.items() if counts[name]]
    if silent:
        told.append(f"{silent:,} left out, as nothing is said in them or they are not to be remembered")
    return ", ".join([f"{counted(counts['chats'], 'conversation', 'conversations')} brought in", *told]) + "."


def _page(space: str | None, status: int = HTTPStatus.OK, *, wrong: str = "") -> Response:
    page = render_template(
        "conversations/files.html",
        space=space,
        spaces=offered_spaces(space),
        largest=LARGEST_CHATS // 2**20,
        wrong=wrong,
    )
    return make_response(page, status)
