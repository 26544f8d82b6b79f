"""`/v1/memory/entries`: list, store, read, change, pin, forget."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from flask import Response, jsonify, make_response

from memory.drafts.drafts import check_batch
from memory.errors import InvalidError, RefusedError
from memory.forgetting.forget import UNDO_WINDOW
from memory.lineage.revisions import list_revisions
from memory.models import Revision
from memory.reading.browse import Filters, list_entries, possible_updates, superseded_by
from memory.record.tool_calls import uses
from memory.spaces.themes import check_theme
from webapp.api.answers import (
    BatchAnswer,
    ChangedEntryAnswer,
    EntriesAnswer,
    ForgottenAnswer,
    OutcomeAnswer,
    RevisionsAnswer,
    WholeEntryAnswer,
)
from webapp.api.blueprint import api_blueprint, refusing
from webapp.api.record_answers import UsesAnswer
from webapp.api.schemas import (
    BatchBody,
    DeleteQuery,
    EntryBody,
    EntryPatch,
    EntryPath,
    EntryQuery,
    RevisionPath,
    RevisionsQuery,
    changed_json,
    entry_json,
    moment,
    outcome_json,
)
from webapp.api.tool_calls import UsesQuery, own_calls_only, use_json
from webapp.context import credential, session, utc_now
from webapp.guards import needs, of_many, placed
from webapp.operations import (
    NOTHING_RECALLED,
    as_seen,
    bring_back,
    change,
    found_entry,
    incognito_spaces,
    is_incognito,
    readable_entry,
    remove,
    restore_version,
    scope_for,
    set_pin,
    space_at,
    store,
)
from webapp.sources import NO_SOURCE, unknown_sources

bp = api_blueprint("entries", "Memories, one by one", "/v1/memory/entries")

STATUS = {"created": 201, "merged": 200, "refused": 409}


@bp.get("", summary="List memories", responses={"200": EntriesAnswer})
@needs("read")
@placed
def list_(query: EntryQuery) -> Response:
    """Answer a page, in the order that is asked for; `next_cursor`, of that order, is null at the end."""
    scope = scope_for(query.space)
    if is_incognito(scope):
        return jsonify({"entries": [], "next_cursor": None, "skipped": "incognito"})
    if query.theme is not None:
        who = credential()
        check_theme(session(), who.user_id, query.theme, space_id=who.space_id, outside=incognito_spaces())
    values: dict[str, Any] = {f.name: getattr(query, f.name) for f in fields(Filters) if hasattr(query, f.name)}
    values["space"] = scope.slug if scope else None
    values["status"] = None if query.status == "any" else query.status
    values["outside"] = None if scope else incognito_spaces() or None
    filters = Filters(**values)
    page = list_entries(
        session(),
        credential().user_id,
        filters,
        limit=query.limit,
        cursor=query.cursor,
        now=utc_now(),
        order=query.order,
    )
    entries = [entry_json(as_seen(e)) for e in page.entries]
    return jsonify({"entries": entries, "next_cursor": page.next_cursor})


@bp.post(
    "", summary="Store a memory", responses={"201": OutcomeAnswer, "200": OutcomeAnswer, "409": refusing(OutcomeAnswer)}
)
@needs("write")
@placed
def create(body: EntryBody) -> Response:
    """Answer 201 when it is new, 200 when it was merged, 409 when it was refused; always with the trace."""
    draft = body.to_draft()
    if unknown_sources([draft]):
        raise InvalidError("source_message_id", NO_SOURCE)
    outcome = store([draft], body.space)[0]
    return make_response(jsonify(outcome_json(outcome)), STATUS[outcome.outcome])


@bp.post("/batch", summary="Store up to 1,000 memories", responses={"200": BatchAnswer})
@needs("write")
@of_many
@placed
def create_batch(body: BatchBody) -> Response:
    """Answer 200 with one outcome per entry, in order. A bad field stores nothing at all."""
    space = _space_of(body)
    drafts = []
    for number, entry in enumerate(body.entries):
        try:
            drafts.append(entry.to_draft())
        except InvalidError as error:
            raise InvalidError(f"entries.{number}.{error.field}", error.message) from error
    check_batch(drafts)
    for number in unknown_sources(drafts):
        raise InvalidError(f"entries.{number}.source_message_id", NO_SOURCE)
    outcomes = store(drafts, space)
    # What the soft cap took is the same for every entry of the batch: it is said once.
    trimmed = [str(memory_id) for memory_id in outcomes[0].trace.trimmed]
    results = [outcome_json(replace(o, trace=replace(o.trace, trimmed=()))) for o in outcomes]
    counts = {name: sum(o.outcome == name for o in outcomes) for name in STATUS}
    return jsonify({"results": results, "counts": counts, "trimmed": trimmed})


def _space_of(body: BatchBody) -> str | None:
    """Return the one space that a batch names, beside its entries or in them."""
    space = body.space
    for number, entry in enumerate(body.entries):
        space = entry.space if space is None else space
        if entry.space not in {None, space}:
            raise InvalidError(f"entries.{number}.space", "a batch goes to one space")
    return space


@bp.get("/<uuid:entry_id>", summary="Read a memory", responses={"200": WholeEntryAnswer})
@needs("read")
def read(path: EntryPath) -> Response:
    """Answer every field, the state of its vector, and what may be an update of it.

    A token of one space reads what is shared with that space, too.
    """
    entry, space = found_entry(path.entry_id)
    if is_incognito(space):
        raise RefusedError("incognito", NOTHING_RECALLED)
    own = entry.memory.space_id == space.id
    about = (session(), credential().user_id, path.entry_id, utc_now())
    links = possible_updates(*about) if own else ()
    updates = [{"id": str(memory.id), "text": memory.text, "differs_in": link.differs_in} for link, memory in links]
    newer = [str(memory.id) for memory in superseded_by(*about)] if own else []
    return jsonify({**entry_json(entry, own=own), "superseded_by": newer, "possible_updates": updates})


@bp.get("/<uuid:entry_id>/uses", summary="Where a memory was used", responses={"200": UsesAnswer})
@needs("read")
def list_uses(path: EntryPath, query: UsesQuery) -> Response:
    """Answer which calls received the memory: when, by which token, in which conversation, at which rank."""
    readable_entry(path.entry_id)
    page = uses(
        session(),
        credential().user_id,
        path.entry_id,
        now=utc_now(),
        token_id=own_calls_only(),
        limit=query.limit,
        cursor=query.cursor,
        outside=incognito_spaces(),
    )
    return jsonify({"uses": [use_json(use) for use in page.uses], "next_cursor": page.next_cursor})


@bp.get("/<uuid:entry_id>/revisions", summary="What a memory said before", responses={"200": RevisionsAnswer})
@needs("read")
def revisions(path: EntryPath, query: RevisionsQuery) -> Response:
    """Answer the versions that were replaced, the newest first: what each said, what changed then, by whom and when."""
    readable_entry(path.entry_id)
    found = list_revisions(session(), credential().user_id, path.entry_id, limit=query.limit, before=query.before)
    shown = [_revision_json(version) for version in found.versions]
    return jsonify({"current": found.current, "revisions": shown, "next_before": found.next_before})


@bp.post(
    "/<uuid:entry_id>/revisions/<int:number>/restore",
    summary="Make a memory say again what it said",
    responses={"200": ChangedEntryAnswer},
)
@needs("write")
def restore_revision(path: RevisionPath) -> Response:
    """Bring a version back as a change like any other: checked, embedded again, and what it replaces is kept."""
    return jsonify(changed_json(restore_version(path.entry_id, path.number)))


def _revision_json(version: Revision) -> dict[str, Any]:
    names = ("text", "type", "tags", "source_ids", "theme", "importance", "actor", "restored")
    return {
        "number": version.number,
        **{name: getattr(version, name) for name in names},
        "changed": version.fields,
        "replaced_at": moment(version.replaced_at),
    }


@bp.patch("/<uuid:entry_id>", summary="Change a memory", responses={"200": ChangedEntryAnswer})
@needs("write")
def patch(path: EntryPath, body: EntryPatch) -> Response:
    """Change the fields that were sent; an empty change is refused.

    With memory off in its space, a memory can still be pinned, archived or let expire, but not say anything else.
    """
    return jsonify(changed_json(change(path.entry_id, body.changes())))


@bp.delete("/<uuid:entry_id>", summary="Forget a memory", responses={"200": ForgottenAnswer})
@needs("forget")
def delete(path: EntryPath, query: DeleteQuery) -> Response:
    """Forget at once; with `undo=true` it can be restored for ten minutes."""
    forgotten = remove(path.entry_id, UNDO_WINDOW if query.undo else None)
    summaries = [str(each) for each in forgotten.summaries]
    told = {"undo_until": moment(forgotten.undo_until), "summaries": summaries}
    return jsonify({"id": str(forgotten.id), "forgotten": True, **told})


@bp.post("/<uuid:entry_id>/restore", summary="Undo a forgetting", responses={"200": ChangedEntryAnswer})
@needs("forget")
def undo(path: EntryPath) -> Response:
    """Bring back what was forgotten with `undo=true` less than ten minutes ago; in incognito its text is not told."""
    entry = bring_back(path.entry_id)
    return jsonify(changed_json(entry, closed=is_incognito(space_at(entry.memory.space_id))))


@bp.post("/<uuid:entry_id>/pin", summary="Pin a memory", responses={"200": ChangedEntryAnswer})
@needs("write")
def pin(path: EntryPath) -> Response:
    """Keep a memory whatever the soft cap says."""
    return jsonify(changed_json(set_pin(path.entry_id, pinned=True)))


@bp.delete("/<uuid:entry_id>/pin", summary="Unpin a memory", responses={"200": ChangedEntryAnswer})
@needs("write")
def unpin(path: EntryPath) -> Response:
    """Let the soft cap decide again, unless the memory was saved by hand."""
    return jsonify(changed_json(set_pin(path.entry_id, pinned=False)))
