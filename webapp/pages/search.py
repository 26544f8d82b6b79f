"""The search page: every hit with its reasons."""

from __future__ import annotations

import hashlib
from typing import Any

from flask import Response, request, url_for
from flask import session as cookie

from memory.errors import ConflictError
from memory.models import DEFAULT_SPACE, TYPES
from retrieval.policy import NAMED, PolicyError
from retrieval.query import LARGEST_LIMIT, Result
from webapp.context import runtime, session
from webapp.htmx import at_address, render, wants_fragment
from webapp.operations import is_incognito, was_incognito
from webapp.pages.explain import Answer, explain
from webapp.pages.forms import LONGEST_QUESTION, SearchForm, narrowed_by
from webapp.pages.queries import Choices, archived, choices, elsewhere, in_conversations
from webapp.pages.visitor import guarded
from webapp.ratelimit import LIMITED
from webapp.recall import find
from webapp.recording import Recording, recalled

bp = guarded("search")

# With fewer hits than these it is worth a look whether another space or a conversation has words of the question.
FEW = 3


@bp.get("/search")
def index() -> Response:
    """Answer a question, or invite one."""
    form = narrowed_by(SearchForm)
    answer = _ask(form) if form.q else None
    offered = choices(form.space)
    little = answer is not None and not answer.closed and len(answer.hits) < FEW
    page = render(
        "search/index.html",
        "search/_results.html",
        title=form.q or "Search",
        form=form,
        longest=LONGEST_QUESTION,
        full=_is_full(request.args.get("q", "")),
        answer=answer,
        choices=offered,
        searched=offered.name_of(form.space),
        elsewhere=elsewhere(form) if little and offered.number > 1 else (),
        conversations=in_conversations(form) if little else None,
        archived=_archived(form, offered, little=little),
        types=TYPES,
        policies=tuple(NAMED),
        usual=runtime().settings.max_results,
        most=LARGEST_LIMIT,
    )
    # Who empties the field is about to ask something else; what is asked while incognito is kept nowhere.
    if not form.q or was_incognito(form.space):
        return page
    return at_address(page, url_for("search.index", **form.chosen()))


def _archived(form: SearchForm, offered: Choices, *, little: bool) -> dict[str, str] | None:
    """Return where archived memories are listed: of the space where little is found, of all where nothing is active."""
    if little:
        return archived(form.space or DEFAULT_SPACE)
    return archived() if not form.q and not offered.memories and not is_incognito(None) else None


def _is_full(question: str) -> bool:
    """Tell whether a question is as long as its field takes, counted as browsers do: what came after is lost."""
    return len(question.encode("utf-16-le", "surrogatepass")) // 2 >= LONGEST_QUESTION


def _ask(form: SearchForm) -> Answer:
    recording = Recording("memory_search", "search")
    policy: dict[str, Any] = {"name": form.policy} if form.policy else {}
    if form.nearest:
        policy["sure_cosine"] = 0.0
    try:
        result = find(
            form.q,
            space=form.space,
            limit=form.limit,
            types=form.types or None,
            tags=[form.tag] if form.tag else None,
            policy=policy or None,
        )
    except PolicyError as error:
        # Raised for the weights of the space, which an earlier version has kept: nobody typed them here.
        name, wrong = choices(form.space).name_of(form.space), f"{error.field} {error.message}"
        said = f"the space {name} cannot be searched with its weights: {wrong}. Set others on the page of the space"
        raise ConflictError(said) from None
    session().commit()
    answer = explain(result, form.q)
    # A search over the limit counts too, so that "that" does not mean the search before it.
    if not answer.closed or LIMITED in result.degraded:
        _note(recording, form, result)
    return answer


def _note(recording: Recording, form: SearchForm, result: Result) -> None:
    """Record what was recalled: "that" in a command means it. The same answer to the same question is nothing new."""
    told = "\0".join([*recalled(result.hits)["ids"], form.q])
    shown = hashlib.blake2b(told.encode(), digest_size=12).hexdigest()
    if wants_fragment() and cookie.get("shown") == shown:
        return
    cookie["shown"] = shown
    recording.searched({"query": form.q, **({"space": form.space} if form.space else {})}, form.q, result)
