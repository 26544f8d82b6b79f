"""What agents and people do, as one call each: the switches are asked, the domain acts, the work is committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from flask import g
from sqlalchemy import or_, select

from memory.drafts.drafts import Draft
from memory.drafts.prepared import prepare
from memory.errors import InvalidError, NotFoundError, RefusedError
from memory.forgetting.forget import Forgetting, forget
from memory.forgetting.restore import Restorable, list_restorable, restore
from memory.models import DEFAULT_SPACE, Conversation, Memory, Space
from memory.reading.browse import Entry, get_entries, get_entry
from memory.record.journal import record
from memory.spaces import incognito
from memory.spaces.scope import read_scope
from memory.spaces.sharing import Shared
from memory.spaces.spaces import get_space, lock_space_of, without_memory
from memory.spaces.themes import delete_theme
from memory.transfer.bringing import bring_in
from memory.writing import edit
from memory.writing.bulk import set_status_many
from memory.writing.remember import remember_many
from memory.writing.trace import Outcome, Trace
from tasks.embedding import nudge
from webapp.context import credential, once, runtime, session, utc_now

NOTHING_STORED = "this session is incognito: nothing is stored"
NOTHING_RECALLED = "this session is incognito: nothing is recalled"


def space_at(space_id: UUID) -> Space:
    """Return the user's space of this id; raises `NotFoundError` where it was removed since this was read."""
    space = session().get(Space, (credential().user_id, space_id))
    if space is None:
        raise NotFoundError("the space that this is in is there no more")
    return space


def implied_space() -> UUID | None:
    """Return the space where a call names none: a confined token's own, or that in which its headers say it is made."""
    own = credential().space_id
    return g.get("made_in") if own is None else own


def conversation_named(name: str, space: str | None = None) -> Conversation:
    """Return the caller's conversation of this id or external id.

    Of several with one external id, that in the space, without one the implied. Raises `InvalidError`.
    """
    who, own = credential(), name.strip()
    mine = [Conversation.user_id == who.user_id]
    if who.space_id is not None:
        mine.append(Conversation.space_id == who.space_id)
    try:
        # An agent's own name for it may have the form of an id as well.
        ours = UUID(own)
    except ValueError:
        ours = None
    wanted = or_(Conversation.external_id == own, Conversation.id == ours)
    found = session().scalars(select(Conversation).where(*mine, wanted)).all()
    if len(found) > 1:
        here = implied_space() if space is None else space_for(space).id
        found = [each for each in found if each.id == ours] or [each for each in found if each.space_id == here]
        if not found:
            raise InvalidError("conversation", "names several: send its id")
    if not found:
        raise InvalidError("conversation", "there is no such conversation")
    return found[0]


def space_for(slug: str | None) -> Space:
    """Return the space of this name, without one the implied or the default; a confined token sees no other."""
    who, implied = credential(), implied_space()
    if who.space_id is None and (slug is not None or implied is None):
        named = DEFAULT_SPACE if slug is None else slug
        return once(f"space {named}", lambda: get_space(session(), who.user_id, named))
    assert implied is not None
    own = space_at(implied)
    if slug not in {None, own.slug}:
        raise InvalidError("space", f"there is no space {slug!r}")
    return own


def space_in_address(slug: str) -> Space:
    """Return the space that an address names; raises `NotFoundError`, as no field is wrong then."""
    try:
        return space_for(slug)
    except InvalidError as error:
        raise NotFoundError(error.message) from None


def scope_for(slug: str | None) -> Space | None:
    """Return the space that a list is of: the one that is named, the implied one, or None for all spaces.

    An empty name is an unknown space and not all of them: a program that has lost a name must not be shown what is in
    the others.
    """
    return space_for(slug) if slug is not None or implied_space() is not None else None


def is_incognito(space: Space | None) -> bool:
    """Tell whether this session is incognito in a space, or at all; `was_incognito` remembers it for the request."""
    on = incognito.is_on(_switch(), space)
    g.incognito = g.get("incognito", False) or on
    return on


def _switch() -> bool | None:
    who = credential()
    return once("switch", lambda: incognito.switch_of(session(), who.user_id, who.session_key))


def was_incognito(slug: Any) -> bool:
    """Tell whether this request met an incognito session; asks for the space of this name if nothing has asked yet."""
    if "incognito" in g:
        return bool(g.incognito)
    try:
        return is_incognito(space_for(slug if isinstance(slug, str) else None))
    except (InvalidError, NotFoundError):
        return is_incognito(None)


def closed_by_default() -> Sequence[Space]:
    """Return the spaces that are incognito by their default in this session.

    This leaves `was_incognito` alone, as what is done beside these spaces is not done in incognito.
    """
    return once("closed", lambda: incognito.closed_by_default(session(), credential().user_id, _switch()))


def incognito_spaces() -> frozenset[str]:
    """Return the names of the spaces that are incognito by their default in this session."""
    return frozenset(space.slug for space in closed_by_default())


def silent_spaces() -> frozenset[str]:
    """Return the names of the spaces in which nothing is recalled: those of `incognito_spaces`, or with memory off."""
    return incognito_spaces().union(without_memory(session(), credential().user_id))


def skipped(space: Space | None) -> str | None:
    """Name the switch that keeps recall off in a space, or in all: `incognito` or `memory_off`; None when it is on."""
    if is_incognito(space):
        return "incognito"
    return None if space is None or space.memory_enabled else "memory_off"


def store(drafts: Sequence[Draft], space: str | None) -> list[Outcome]:
    """Remember drafts in one transaction, then nudge the embedder."""
    who, now = credential(), utc_now()
    target = space_for(space)
    if is_incognito(target):
        _count_refusals(target, len(drafts))
        return [_refused_by_incognito(draft) for draft in drafts]
    outcomes = remember_many(
        session(),
        who.user_id,
        target.slug,
        drafts,
        keys=runtime().keys,
        now=now,
        actor=who.actor,
        token_id=who.token_id,
    )
    session().commit()
    if any(outcome.outcome == "created" for outcome in outcomes):
        nudge()
    return [as_told(outcome) for outcome in outcomes]


def bring(drafts: Sequence[Draft], space: str | None, *, whole: Collection[str] = ()) -> Counter[str]:
    """Bring in notes from elsewhere, as `memory.transfer.bringing.bring_in` does, then nudge the embedder.

    Raises `RefusedError` in incognito.
    """
    who, target = credential(), space_for(space)
    refuse_in_incognito(target.id, len(drafts))
    counts = bring_in(
        session(),
        who.user_id,
        target.slug,
        drafts,
        soft_cap=None,
        keys=runtime().keys,
        now=utc_now(),
        actor=who.actor,
        whole=whole,
    )
    session().commit()
    if counts["created"] or counts["corrected"]:
        nudge()
    return counts


def as_told(outcome: Outcome) -> Outcome:
    """Return the outcome as a caller is told it: without a vector to come where nothing is set up that makes any."""
    return replace(outcome, embedding=told_vector(outcome.embedding))


def told_vector(state: str) -> str:
    """Return the state of a vector as a caller is told it: "none" for "pending" where nothing makes vectors."""
    return state if state != "pending" or embeds() else "none"


def embeds() -> bool:
    """Tell whether anything is set up that makes vectors for the caller."""
    # Asked once, however many memories a request has.
    if "embeds" not in g:
        g.embeds = runtime().providers.embeds(session(), credential().user_id)
    return bool(g.embeds)


def _count_refusals(space: Space, writes: int) -> None:
    """Count writes that incognito refused, for the end of the session to tell.

    Where it was a space's default that refused them, the session has no such end, and the record tells at once.
    """
    who, now = credential(), utc_now()
    if is_incognito(None):
        incognito.count_refusals(session(), who.user_id, who.session_key, writes, now)
    else:
        details = {"space": space.slug}
        record(session(), who.user_id, "incognito.refused", actor=who.actor, now=now, count=writes, details=details)
    session().commit()


def _refused_by_incognito(draft: Draft) -> Outcome:
    item = prepare(draft)
    trace = Trace(item.normalised, f"{item.simhash:016x}", NOTHING_STORED)
    return Outcome(None, "refused", "none", trace, "incognito")


def visible_entry(memory_id: UUID) -> Entry:
    """Return one memory as it is shown; raises `NotFoundError` for what this caller may not see."""
    return _one(visible_entries([memory_id]))


def _one(entries: Mapping[UUID, Entry]) -> Entry:
    for entry in entries.values():
        return entry
    raise NotFoundError("there is no such memory")


def visible_entries(ids: Collection[UUID]) -> Mapping[UUID, Entry]:
    """Return memories by their ids, as they are shown; what this caller may not see is not in it."""
    who = credential()
    found = get_entries(session(), who.user_id, ids, now=utc_now())
    return {each: as_seen(entry) for each, entry in found.items() if who.space_id in {None, entry.memory.space_id}}


def readable_entry(memory_id: UUID) -> Entry:
    """Return one memory that may be read now; raises `RefusedError` in an incognito session."""
    entry = visible_entry(memory_id)
    if is_incognito(space_for(entry.space)):
        raise RefusedError("incognito", NOTHING_RECALLED)
    return entry


def found_entry(memory_id: UUID) -> tuple[Entry, Space]:
    """Return one memory, and the space whose switches hold for reading it; raises `NotFoundError` as `visible_entry`.

    A confined token reads in its own space what is shared with it, too.
    """
    who = credential()
    entry = _one(found_entries([memory_id]))
    return entry, space_at(entry.memory.space_id if who.space_id is None else who.space_id)


def found_entries(ids: Collection[UUID]) -> Mapping[UUID, Entry]:
    """Return what `visible_entries` does, and to a confined token what a search in its space may find of others."""
    who, visible = credential(), visible_entries(ids)
    left = [each for each in ids if each not in visible]
    if who.space_id is None or not left:
        return visible
    shared = read_scope(session(), who.user_id, who.session_key, space_id=who.space_id).shared
    found = get_entries(session(), who.user_id, left, now=utc_now())
    return {**visible, **{each: as_seen(entry) for each, entry in found.items() if _is_shared(entry.memory, shared)}}


def _is_shared(memory: Memory, shared: Sequence[Shared]) -> bool:
    tagged = any(each.space_id == memory.space_id and each.tag in memory.tags for each in shared)
    return tagged and memory.status == "active"


def as_seen(entry: Entry) -> Entry:
    """Return the entry as this caller may see it.

    A confined token learns of no conversation of another space, and of other tokens the ids alone.
    """
    who, source, token = credential(), entry.source, entry.token
    if who.space_id is None:
        return entry
    if source is not None and source.space_id != who.space_id:
        source = None
    return replace(entry, source=source, token=token if token is not None and token.id == who.token_id else None)


def refuse_in_incognito(space_id: UUID, writes: int = 1) -> None:
    """Raise `RefusedError`, and keep count, when this session stores nothing in the space."""
    space = space_at(space_id)
    if is_incognito(space):
        _count_refusals(space, writes)
        raise RefusedError("incognito", NOTHING_STORED)


def refuse_to_join(slug: str) -> None:
    """Raise `RefusedError` where a space that another is to join is incognito by default in this session."""
    if slug != DEFAULT_SPACE and slug in incognito_spaces():
        raise RefusedError("incognito", f"the space {slug!r} is incognito in this session: nothing can join it")


def refuse_notes_in_incognito() -> None:
    """Raise `RefusedError` where this session is incognito, for what is in no space: notes of a notebook."""
    if is_incognito(None):
        raise RefusedError("incognito", NOTHING_STORED)


def held_entry(memory_id: UUID) -> Entry:
    """Return a memory, locked until the transaction ends and read anew."""
    lock_space_of(session(), visible_entry(memory_id).memory)
    return visible_entry(memory_id)


def change(memory_id: UUID, changes: Mapping[str, Any]) -> Entry:
    """Change fields of a memory; a new text is embedded again."""
    who = credential()
    entry = visible_entry(memory_id)
    refuse_in_incognito(entry.memory.space_id)
    edit.update(session(), who.user_id, memory_id, changes, keys=runtime().keys, now=utc_now(), actor=who.actor)
    session().commit()
    if "text" in changes:
        nudge()
    return visible_entry(memory_id)


def restore_version(memory_id: UUID, number: int) -> Entry:
    """Make a memory say again what one of its versions said; embedded again where the text is another."""
    who = credential()
    entry = visible_entry(memory_id)
    refuse_in_incognito(entry.memory.space_id)
    keys, now = runtime().keys, utc_now()
    edit.bring_back(session(), who.user_id, memory_id, number, keys=keys, now=now, actor=who.actor)
    session().commit()
    nudge()
    return visible_entry(memory_id)


def make_active(memory_id: UUID) -> bool:
    """Make an archived memory active, or one that nothing replaces any more; tells whether it is active now."""
    who, entry = credential(), visible_entry(memory_id)
    refuse_in_incognito(entry.memory.space_id)
    keys, now = runtime().keys, utc_now()
    set_status_many(session(), who.user_id, [memory_id], "active", keys=keys, now=now, actor=who.actor)
    session().commit()
    return visible_entry(memory_id).memory.status == "active"


def set_pin(memory_id: UUID, *, pinned: bool) -> Entry:
    """Pin or unpin a memory."""
    entry = visible_entry(memory_id)
    refuse_in_incognito(entry.memory.space_id)
    edit.pin(session(), credential().user_id, memory_id, pinned=pinned, now=utc_now(), actor=credential().actor)
    session().commit()
    return visible_entry(memory_id)


def remove(memory_id: UUID, undo: timedelta | None) -> Forgetting:
    """Forget a memory, for good unless an undo window is asked for.

    With one, a memory that is forgotten already keeps the window that it has: a caller who lost the answer and asks
    again is told until when it can be brought back. A confined token is told of no summary in another space that went
    with it.
    """
    who = credential()
    if undo is not None and (before := restorables([memory_id])):
        return Forgetting(memory_id, before[0].undo_until)
    visible_entry(memory_id)
    try:
        forgotten = forget(
            session(), who.user_id, memory_id, keys=runtime().keys, now=utc_now(), actor=who.actor, undo=undo
        )
    except NotFoundError:
        session().rollback()
        if undo is None or not (before := restorables([memory_id])):
            raise
        # Whoever asked at the same time was first.
        return Forgetting(memory_id, before[0].undo_until)
    session().commit()
    seen = {each: place for each, place in forgotten.summaries.items() if who.space_id in {None, place}}
    return replace(forgotten, summaries=seen)


def drop_theme(slug: str) -> int:
    """Delete a theme; returns how many memories stay without it."""
    who = credential()
    refuse_in_incognito(space_for(None).id)
    held = delete_theme(session(), who.user_id, slug, outside=incognito_spaces(), now=utc_now(), actor=who.actor)
    session().commit()
    return held


def restorables(ids: Collection[UUID] | None = None) -> Sequence[Restorable]:
    """Return what the caller can bring back, of these ids or of all; what was forgotten last comes first."""
    who = credential()
    found = list_restorable(session(), who.user_id, ids, now=utc_now())
    return [each for each in found if who.space_id in {None, each.space_id}]


def told_restorables() -> Sequence[Restorable]:
    """Return all that the caller can bring back, except in spaces that incognito keeps closed."""
    if is_incognito(None):
        return ()
    closed = {space.id for space in closed_by_default()}
    # For `was_incognito`: some of what this request does was done in incognito.
    g.incognito = g.incognito or bool(closed)
    return [each for each in restorables() if each.space_id not in closed]


def bring_back(memory_id: UUID) -> Entry:
    """Undo a forgetting inside its window; a memory that was brought back already is answered as it is."""
    who = credential()
    # Only what the caller may bring back is tried: a conflict in a space that a token does not see would tell what is
    # in it.
    if restorables([memory_id]):
        try:
            restore(session(), who.user_id, memory_id, now=utc_now(), actor=who.actor)
        except NotFoundError:
            session().rollback()  # Whoever asked at the same time was first.
        else:
            session().commit()
            nudge()
            return visible_entry(memory_id)
    entry = get_entry(session(), who.user_id, memory_id, now=utc_now())
    mine = entry is not None and who.space_id in {None, entry.memory.space_id}
    if entry is None or not mine or is_incognito(space_for(entry.space)):
        raise NotFoundError("there is nothing to restore: the undo window has closed")
    return as_seen(entry)
