"""`/v1/memory`: the summary, the switches, themes, the prompt block and assembled context."""

from __future__ import annotations

import secrets
from typing import Any

from flask import Response, g, jsonify, make_response

from memory.errors import InvalidError
from memory.facts.facts import FactFilters
from memory.models import Theme
from memory.reading.summary import summarise
from memory.redaction.fact_texts import sentence
from memory.spaces import incognito
from memory.spaces.spaces import update_space
from memory.spaces.themes import create_theme, describe_theme, get_theme, list_themes, page_themes
from retrieval.query import MAX_QUERY
from retrieval.shown.budget import Fitted
from retrieval.shown.context import Known, assemble
from retrieval.words.tokens import count
from webapp.api.answers import (
    ContextAnswer,
    DeletedThemeAnswer,
    IncognitoAnswer,
    PromptAnswer,
    SpaceAnswer,
    SummaryAnswer,
    ThemeAnswer,
    ThemesAnswer,
)
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import (
    ContextBody,
    IncognitoBody,
    SettingsBody,
    SpaceQuery,
    ThemeBody,
    ThemePatch,
    ThemePath,
    ThemesQuery,
    space_json,
)
from webapp.context import credential, runtime, session, utc_now, zone
from webapp.facts import recall_facts
from webapp.guards import in_session, needs, placed, recorded, refuse_confined, require_scope
from webapp.operations import (
    drop_theme,
    embeds,
    incognito_spaces,
    is_incognito,
    refuse_in_incognito,
    scope_for,
    skipped,
    space_for,
)
from webapp.prompt import prompt_block
from webapp.recall import find
from webapp.recording import Recording, hits_of, recalled
from webapp.tools.shown import named, places_of, remarks

MOST_FACTS = 20

bp = api_blueprint("memory", "Switches, themes and what goes into a prompt", "/v1/memory")


@bp.get("/summary", summary="What is remembered, in words and numbers", responses={"200": SummaryAnswer})
@needs("read")
@placed
def summary(query: SpaceQuery) -> Response:
    """Answer a human-readable summary of a space; empty while recall is off."""
    space = space_for(query.space)
    if why := skipped(space):
        return jsonify({"space": space.slug, "summary": "", "skipped": why})
    told = summarise(session(), space, now=utc_now())
    return jsonify(told if embeds() else {**told, "waiting_for_embedding": 0})


@bp.post(
    "/settings",
    summary="Turn memory or the incognito default on or off in a space",
    responses={"200": SpaceAnswer},
)
@needs("write")
@placed
def settings(body: SettingsBody) -> Response:
    """Change what was sent, and answer the space."""
    changes = body.model_dump(exclude_unset=True, exclude={"space"})
    if not changes:
        raise InvalidError("body", "must set memory_enabled or incognito_default to true or false")
    space = space_for(body.space)
    changed = update_space(
        session(), credential().user_id, space.slug, changes, now=utc_now(), actor=credential().actor
    )
    # Before the commit: somebody may remove it right after.
    answer = space_json(changed)
    session().commit()
    return jsonify(answer)


@bp.get("/settings", summary="The switches of a space", responses={"200": SpaceAnswer})
@needs("read")
@placed
def read_settings(query: SpaceQuery) -> Response:
    """Answer the space with its settings."""
    return jsonify(space_json(space_for(query.space)))


@bp.post("/incognito/start", summary="Store and recall nothing in this session", responses={"200": IncognitoAnswer})
@needs("write")
def start_incognito(body: IncognitoBody) -> Response:
    """Turn incognito on for a session; each request that is to be incognito must name it in `X-Commonplace-Session`.

    A name in the body alone is not enough: a request without the header is in the token's own session, which is the
    one that is switched where neither body nor header names another. A token that is confined to one space shares
    sessions with tokens of that space alone.
    """
    _choose_session(body)
    who = credential()
    incognito.start(session(), who.user_id, who.session_key, now=utc_now(), actor=who.actor)
    session().commit()
    return jsonify({"incognito": True, "session": who.session_key})


@bp.post("/incognito/end", summary="Remember again in this session", responses={"200": IncognitoAnswer})
@needs("write")
def end_incognito(body: IncognitoBody) -> Response:
    """Turn incognito off, and answer how many writes it refused."""
    _choose_session(body)
    who = credential()
    refused = incognito.end(session(), who.user_id, who.session_key, now=utc_now(), actor=who.actor)
    session().commit()
    return jsonify({"incognito": False, "session": who.session_key, "refused_writes": refused})


def _choose_session(body: IncognitoBody) -> None:
    if body.session:
        g.credential = in_session(credential(), body.session)


@bp.get("/themes", summary="List themes", responses={"200": ThemesAnswer})
@needs("read")
@placed
def themes(query: ThemesQuery) -> Response:
    """Answer a page of themes with the number of their memories, the fullest first; of one space, where one is named.

    `next_cursor` is null at the end.

    A token that is confined to one space is told the slugs alone, the names as they follow from them: what the owner
    calls and writes of a theme is said for all spaces.
    """
    scope = scope_for(query.space)
    if is_incognito(scope):
        return jsonify({"themes": [], "next_cursor": None, "skipped": "incognito"})
    only, outside = (scope.id, ()) if scope else (None, incognito_spaces())
    user_id = credential().user_id
    page = page_themes(session(), user_id, space_id=only, outside=outside, limit=query.limit, cursor=query.cursor)
    shown = [{**_theme_json(theme), "memories": total} for theme, total in page.themes]
    return jsonify({"themes": shown, "next_cursor": page.next_cursor})


@bp.post("/themes", summary="Add a theme", responses={"201": ThemeAnswer})
@needs("write")
def add_theme(body: ThemeBody) -> Response:
    """Answer the new theme."""
    who = credential()
    # Whether a name is taken would tell what the other spaces hold.
    refuse_confined("add themes by themselves")
    refuse_in_incognito(space_for(None).id)
    theme = create_theme(session(), who.user_id, now=utc_now(), actor=who.actor, **body.model_dump())
    # Before the commit: somebody may delete it right after.
    answer = _theme_json(theme)
    session().commit()
    return make_response(jsonify(answer), 201)


@bp.patch("/themes/<string:slug>", summary="Rename or describe a theme", responses={"200": ThemeAnswer})
@needs("write")
def change_theme(path: ThemePath, body: ThemePatch) -> Response:
    """Change what was sent, and answer the theme, for which a token needs the scope `read` too."""
    changes, who = body.changes(), credential()
    require_scope("read")
    refuse_confined("change themes")
    refuse_in_incognito(space_for(None).id)
    theme = get_theme(session(), who.user_id, path.slug, outside=incognito_spaces(), held=True)
    said = {"display_name": theme.display_name, "description": theme.description, **changes}
    describe_theme(session(), who.user_id, path.slug, now=utc_now(), actor=who.actor, **said)
    # Before the commit: somebody may delete it right after.
    answer = _theme_json(theme)
    session().commit()
    return jsonify(answer)


@bp.delete("/themes/<string:slug>", summary="Delete a theme", responses={"200": DeletedThemeAnswer})
@needs("forget")
def remove_theme(path: ThemePath) -> Response:
    """Delete it for good. Its memories stay, without a theme."""
    refuse_confined("delete themes")
    return jsonify({"slug": path.slug, "deleted": True, "memories": drop_theme(path.slug)})


def _theme_json(theme: Theme) -> dict[str, str]:
    name, description = named(theme)
    return {"slug": theme.slug, "display_name": name, "description": description}


@bp.get("/prompt", summary="The block to put into an agent's system prompt", responses={"200": PromptAnswer})
@needs("read")
@placed
def prompt(query: SpaceQuery) -> Response:
    """Answer one or two lines and at most ten themes, never a memory's text; empty while recall is off."""
    return jsonify(told_in_prompt(query.space))


def told_in_prompt(slug: str | None) -> dict[str, Any]:
    """Return the block of a space, its length, and why there is none where recall is off."""
    space = space_for(slug)
    if why := skipped(space):
        return {"prompt": "", "token_count": 0, "skipped": why}
    rows = list_themes(session(), credential().user_id, space_id=space.id)
    block = prompt_block({theme.slug: named(theme)[0] for theme, total in rows if total})
    return {"prompt": block, "token_count": count(block)}


def _facts_of(question: str, space: str | None) -> list[Known]:
    """Return what is true now of whom and what a question names, in the space that it is asked in."""
    filters = FactFilters(naming=question[:MAX_QUERY], at=utc_now())
    found = recall_facts(space_for(space).slug, filters, most=MOST_FACTS)
    return [Known(fact.id, sentence(fact), fact.valid_from, extracted=fact.extracted) for fact, _ in found.facts]


@bp.post("/context", summary="Recalled memories as one marked block for a prompt", responses={"200": ContextAnswer})
@needs("read")
@recorded
def context(body: ContextBody) -> Response:
    """Answer a block that fits the token budget, delimiters included, which take about 150 tokens with one memory.

    Where not even one fits beside them the block is empty, and `truncated` is true.
    """
    recording = Recording("memory_context", "search")
    budget = body.token_budget or runtime().settings.token_budget
    result = find(
        body.query,
        space=body.space,
        limit=body.limit,
        theme=body.theme,
        types=body.types,
        tags=body.tags,
        token_budget=budget,
        policy=body.policy,
    )
    session().commit()
    items = tuple((hit.ranked, hit.snippet) for hit in result.hits)
    fitted = Fitted(items, result.token_count, result.truncated)
    # A search that failed is answered without facts, as nobody expects them alone.
    facts = _facts_of(body.query, body.space) if body.facts and not result.error else []
    block = assemble(
        fitted, budget=budget, fence=secrets.token_hex(8), zone=zone(), facts=facts, places=places_of(result.hits)
    )
    # Recorded are the hits in the block, and not all that were found: its delimiters take room too, and whoever asks
    # later what the caller received means that.
    told = recalled(result.hits[: block.items])
    known = [str(fact.id) for fact in facts[: block.facts]]
    asked = body.model_dump(mode="json", exclude_none=True)
    recording.done(
        asked,
        question=body.query,
        result={**told, "facts": known} if body.facts else told,
        affected=[*told["ids"], *known],
        hits=hits_of(result, block.items + block.facts),
        success=not result.error,
    )
    return jsonify(
        {
            "context": block.text,
            "token_count": count(block.text),
            "count": block.items,
            "facts": block.facts,
            "truncated": block.truncated,
            "degraded": list(result.degraded),
            **remarks(result),
            "error": result.error,
        }
    )
