"""Conversations: found, read, renamed, moved, archived, deleted."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import Response, flash, make_response, render_template, request, url_for

from memory.conversations.threads import Thread
from memory.conversations.transcript import list_episodes
from memory.errors import ConflictError, InvalidError
from webapp.context import credential, session
from webapp.conversations import change_thread, delete_thread, visible_thread
from webapp.htmx import at_address, render, see_other, swap_or_go
from webapp.operations import is_incognito, space_for
from webapp.pages.closed import closed_page
from webapp.pages.forms import narrowed_by, parse
from webapp.pages.queries import offered_spaces
from webapp.pages.reading import (
    EPISODES,
    LONGEST_SENT,
    LONGEST_SHOWN,
    EpisodesForm,
    ReadingForm,
    ThreadForm,
    ThreadsForm,
    count_facts,
    count_learned,
    read_stretch,
    read_whole,
    thread_list,
)
from webapp.pages.visitor import guarded
from webapp.pages.words import counted

bp = guarded("conversations")


@bp.get("/conversations")
def index() -> Response:
    """List conversations, or find those in which words occur; with a cursor, htmx gets the further page alone.

    While incognito nothing asks for words, and what is typed into an older page does not come into its address.
    """
    form = narrowed_by(ThreadsForm)
    listing = thread_list(form)
    page = "memories/closed.html" if listing.closed else "conversations/index.html"
    fragment = "conversations/_page.html" if form.cursor else "conversations/_list.html"
    shown = render(page, fragment, form=form, listing=listing, spaces=offered_spaces(form.space))
    if listing.closed or form.cursor:
        return shown
    given: dict[str, Any] = {**form.chosen()}
    return at_address(shown, url_for("conversations.index", **given), typed=True)


@bp.get("/conversations/<uuid:conversation_id>")
def show(conversation_id: UUID) -> Response:
    """Read a stretch of a conversation; htmx gets the messages alone."""
    thread = visible_thread(conversation_id)
    if _closed(thread):
        return closed_page()
    return _page("conversations/_messages.html", thread, parse(ReadingForm, request.args))


@bp.get("/conversations/<uuid:conversation_id>/messages/<int(max=2147483647):sequence>")
def message(conversation_id: UUID, sequence: int) -> Response:
    """Read one message whole, and as it was sent."""
    thread = visible_thread(conversation_id)
    if _closed(thread):
        return closed_page()
    reading, payload = read_whole(thread, sequence)
    return render(
        "conversations/message.html",
        "conversations/_message.html",
        thread=thread,
        form=ReadingForm(),
        reading=reading,
        message=reading.messages[0],
        payload=payload,
        longest_sent=LONGEST_SENT,
        whole=True,
    )


@bp.get("/conversations/<uuid:conversation_id>/episodes")
def episodes(conversation_id: UUID) -> Response:
    """List what a search for turns finds here; with a cursor, htmx gets the further page alone."""
    thread = visible_thread(conversation_id)
    if _closed(thread):
        return closed_page()
    form = parse(EpisodesForm, request.args)
    listing = list_episodes(session(), credential().user_id, conversation_id, limit=EPISODES, cursor=form.cursor)
    return render("conversations/episodes.html", "conversations/_episodes.html", thread=thread, listing=listing)


@bp.post("/conversations/<uuid:conversation_id>")
def change(conversation_id: UUID) -> Response:
    """Rename or move a conversation; the form comes back where that cannot be."""
    thread = visible_thread(conversation_id)
    form = ThreadForm.model_validate(request.form.to_dict())
    try:
        return _changed(conversation_id, form.changes(thread))
    except InvalidError as error:
        problem = {error.field: error.message}
    except ConflictError as error:
        problem = {"space": str(error)}
    session().rollback()
    thread, status = visible_thread(conversation_id), HTTPStatus.UNPROCESSABLE_ENTITY
    return _page("conversations/_head.html", thread, ReadingForm(), status, given=form, problem=problem)


@bp.post("/conversations/<uuid:conversation_id>/archive")
def archive(conversation_id: UUID) -> Response:
    """Take a conversation out of search and out of the list."""
    return _changed(conversation_id, {"archived": True})


@bp.post("/conversations/<uuid:conversation_id>/unarchive")
def unarchive(conversation_id: UUID) -> Response:
    """Take it back."""
    return _changed(conversation_id, {"archived": False})


@bp.get("/conversations/<uuid:conversation_id>/delete")
def ask(conversation_id: UUID) -> Response:
    """Say what a deletion takes along, and what stays, before it is done."""
    thread = visible_thread(conversation_id)
    if _closed(thread):
        return closed_page()
    facts = count_facts(thread, extracted=True)
    page = render_template("conversations/delete.html", thread=thread, memories=count_learned(thread), facts=facts)
    return make_response(page)


@bp.post("/conversations/<uuid:conversation_id>/delete")
def delete(conversation_id: UUID) -> Response:
    """Delete a conversation for good."""
    done = delete_thread(conversation_id)
    stay = f" {counted(done.memories_unlinked, 'memory', 'memories')} learned from it stayed."
    gone = f"Deleted, with {counted(done.messages, 'message')} and {counted(done.episodes, 'episode')}."
    read = f" {counted(done.facts, 'fact')} that a model had read out of it went, too."
    flash(gone + (read if done.facts else "") + (stay if done.memories_unlinked else ""))
    return see_other(url_for("conversations.index"))


def _closed(thread: Thread) -> bool:
    return is_incognito(space_for(thread.space))


def _changed(conversation_id: UUID, changes: dict[str, Any]) -> Response:
    thread = change_thread(conversation_id, changes) if changes else visible_thread(conversation_id)
    here = url_for("conversations.show", conversation_id=conversation_id)
    title = thread.conversation.title or "Untitled" if "title" in changes else ""
    told: dict[str, Any] = {"thread": thread, "spaces": offered_spaces(thread.space), "given": None, "problem": {}}
    told["facts"] = count_facts(thread)
    return swap_or_go("conversations/_head.html", here, title=title, **told)


def _page(fragment: str, thread: Thread, form: ReadingForm, status: int = HTTPStatus.OK, **more: Any) -> Response:
    return render(
        "conversations/conversation.html",
        fragment,
        status,
        thread=thread,
        form=form,
        reading=read_stretch(thread, form),
        longest=LONGEST_SHOWN,
        spaces=offered_spaces(thread.space),
        facts=count_facts(thread),
        **{"given": None, "problem": {}, **more},
    )
