"""What commands do once it is clear what is meant: each act in one transaction, and what would take it back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from memory.commands.parse import SURE, Intent
from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.restore import hold_forgotten, restore_held
from memory.lineage.revisions import list_revisions
from memory.models import Memory, Space
from memory.redaction.tombstones import lift
from memory.spaces import incognito
from memory.spaces.capacity import make_room
from memory.spaces.spaces import update_space
from memory.writing.bulk import forget_many, lock_memories, pin_many
from tasks.embedding import nudge
from webapp.command_answers import Act, Asked, CommandResult, Item, asking, counted, done, listed, named
from webapp.context import credential, runtime, session, utc_now
from webapp.guards import is_named, require_scope
from webapp.operations import (
    held_entry,
    is_incognito,
    refuse_in_incognito,
    restorables,
    space_at,
    space_for,
)

# The scope that each act needs; any other needs `write`.
SCOPES = {"recall": "read", "forget": "forget", "restore": "forget", "unremember": "forget"}


def space_of(asked: Asked) -> Space:
    """Return the space in which the command is said, or the caller's own."""
    if asked.space_id is not None:
        return space_at(asked.space_id)
    return space_for(None)


def act(asked: Asked, action: str, ids: Sequence[UUID], space: str | None) -> CommandResult:
    """Do one act to exactly these memories, or to this space or session, in one transaction."""
    if action not in _ACTS:
        raise InvalidError("text", "is no command of ours")
    require_scope(SCOPES.get(action, "write"))
    return _ACTS[action](asked, ids, space)


def confirm(
    asked: Asked, action: str, ids: Sequence[UUID], space: str | None, versions: Sequence[int]
) -> CommandResult:
    """Do what was asked about; what is to be forgotten and no longer says what was shown is asked about anew.

    `versions` are those that were shown, in the order of `ids`. To forget is never an undo: whoever sends a slip for
    that was asked.
    """
    if action == "forget":
        require_scope(SCOPES["forget"])
        items = _locked(asked, ids)
        shown = dict(zip(ids, versions, strict=False))
        if any(shown.get(item.id) != item.version for item in items):
            again = asking(asked, Intent("forget", SURE), items)
            return replace(again, answer=f"Something of that was corrected since I asked. {again.answer}")
    return act(asked, action, ids, space)


def _forget(asked: Asked, ids: Sequence[UUID], _space: str | None) -> CommandResult:
    items, now, who = _locked(asked, ids), utc_now(), credential()
    if not items and (ended := {each.id for each in restorables(ids)}):
        # Asked once more: the answer to the first time may have been lost.
        back = tuple(each for each in ids if each in ended)
        it = "it can" if len(back) == 1 else "they can"
        answer = f"I have forgotten {counted(len(back))} already: {it} still be brought back."
        return done(asked, "forget", answer, (), Act("restore", back), touched=back)
    if not items:
        raise NotFoundError("there is no such memory")
    what, gone = named(items), [item.id for item in items]
    forget_many(session(), asked.user_id, gone, keys=runtime().keys, now=now, actor=who.actor, undo=UNDO_WINDOW)
    until, ends = now + UNDO_WINDOW, [each.undo_until for each in restorables(gone)]
    session().commit()
    it, is_, expires = ("It", "is", "it expires") if len(gone) == 1 else ("They", "are", "they expire")
    sooner = f", or until {expires}" if any(end != until for end in ends) else ""
    answer = f"I forgot {what}. {it} can be brought back for ten minutes{sooner}, and then {is_} gone for good."
    return done(asked, "forget", answer, (), Act("restore", tuple(gone)), touched=gone)


def _restore(asked: Asked, ids: Sequence[UUID], _space: str | None) -> CommandResult:
    who, now = credential(), utc_now()
    own = {each.id for each in restorables(ids)}
    # All are locked before the first is brought back, in the one order that everybody keeps (`memory.locks`).
    spaces = hold_forgotten(session(), asked.user_id, own)
    # Asked again: whoever said it at the same time was first.
    still = {each.id for each in restorables(own)}
    restored = restore_held(
        session(), asked.user_id, [each for each in ids if each in still], spaces, now=now, actor=who.actor
    )
    for refusal in restored.refused.values():
        raise refusal
    back = [each for each in restored.back if each in still]
    if not back and (there := listed(ids)):
        # Asked once more: the answer to the first time may have been lost.
        return done(asked, "undo", f"I remember {named(there)}: nothing had to be brought back.", ids, None)
    if not back:
        raise NotFoundError("there is nothing to restore: the undo window has closed")
    make_room(session(), spaces, restored.back, now=now, actor=who.actor)
    session().commit()
    nudge()
    return done(asked, "undo", f"I remember again {named(listed(back))}.", back, None)


def _pin(asked: Asked, ids: Sequence[UUID], _space: str | None, *, pinned: bool) -> CommandResult:
    items, now, who = _locked(asked, ids), utc_now(), credential()
    if not items:
        raise NotFoundError("there is no such memory")
    for space_id in {item.space_id for item in items}:
        refuse_in_incognito(space_id)
    chosen = [item.id for item in items]
    changed = pin_many(session(), asked.user_id, chosen, pinned=pinned, now=now, actor=who.actor)
    due = tuple(each for each in chosen if each in changed)
    session().commit()
    answer = f"I {'pinned' if pinned else 'unpinned'} {named(items)}."
    back = Act("unpin" if pinned else "pin", due) if due else None
    return done(asked, "pin" if pinned else "unpin", answer, chosen, back)


def _unremember(asked: Asked, ids: Sequence[UUID], _space: str | None) -> CommandResult:
    """Take back what was just stored, as if it had not been said: no tombstone is left."""
    items = _locked(asked, ids)
    if not items:
        raise NotFoundError("there is no such memory")
    for item in items:
        if not _is_as_stored(held_entry(item.id).memory):
            raise ConflictError("it was changed since it was stored: nothing was undone; it can be forgotten")
    what, gone = named(items), [item.id for item in items]
    for memory_id in gone:
        forget(session(), asked.user_id, memory_id, keys=runtime().keys, now=utc_now(), actor=credential().actor)
        session().flush()
        lift(session(), asked.user_id, [memory_id])
    session().commit()
    return done(asked, "undo", f"I no longer remember {what}.", (), None, touched=gone)


def _is_as_stored(memory: Memory) -> bool:
    """Tell whether nobody repeated, changed or pinned a remembered memory since: an undo must not destroy that.

    What was done to it and undone again, such as a forgetting, does not count.
    """
    now_is = (memory.repeat_count, memory.pinned, memory.manually_saved, memory.status)
    tied = memory.supersedes is not None or memory.expires_at is not None
    if tied or now_is != (0, False, True, "active"):
        return False
    return list_revisions(session(), memory.user_id, memory.id, limit=1).current == 1


def _locked(asked: Asked, ids: Sequence[UUID]) -> Sequence[Item]:
    """Return those of the memories that are there and seen by the caller, locked as `lock_memories` does."""
    seen = listed(ids)
    lock_memories(session(), asked.user_id, [item.id for item in seen])
    # Asked again: whoever said it at the same time was first.
    return listed([item.id for item in seen])


def _switch_memory(asked: Asked, _ids: Sequence[UUID], space: str | None, *, enabled: bool) -> CommandResult:
    target = space_for(space) if space else space_of(asked)
    was, slug = target.memory_enabled, target.slug
    update_space(session(), asked.user_id, slug, {"memory_enabled": enabled}, now=utc_now(), actor=credential().actor)
    session().commit()
    kind, back = ("memory_on", "memory_off") if enabled else ("memory_off", "memory_on")
    state = "on: things are stored and recalled" if enabled else "off: nothing is stored and nothing is recalled"
    return done(
        asked, kind, f"Memory is {state} in the space {slug}.", (), Act(back, (), slug) if was != enabled else None
    )


def _incognito_start(asked: Asked, _ids: Sequence[UUID], _space: str | None) -> CommandResult:
    was, who = is_incognito(None), credential()
    incognito.start(session(), asked.user_id, who.session_key, now=utc_now(), actor=who.actor)
    session().commit()
    # Chats that are not named cannot be told apart, so incognito is on in all of them that use this token.
    every = who.token_id is not None and not is_named(who.session_key)
    where = "in any chat with this token, as none is named," if every else "in this session"
    answer = f"Incognito is on: nothing is stored and nothing is recalled {where} until you end it."
    return done(asked, "incognito_start", answer, (), None if was else Act("incognito_end"))


def _incognito_end(asked: Asked, _ids: Sequence[UUID], _space: str | None) -> CommandResult:
    was, who = is_incognito(None), credential()
    refused = incognito.end(session(), asked.user_id, who.session_key, now=utc_now(), actor=who.actor)
    session().commit()
    answer = f"Incognito is off. Writes refused while it was on: {refused}."
    return done(asked, "incognito_end", answer, (), Act("incognito_start") if was else None)


_ACTS: dict[str, Callable[[Asked, Sequence[UUID], str | None], CommandResult]] = {
    "forget": _forget,
    "restore": _restore,
    "pin": partial(_pin, pinned=True),
    "unpin": partial(_pin, pinned=False),
    "unremember": _unremember,
    "memory_off": partial(_switch_memory, enabled=False),
    "memory_on": partial(_switch_memory, enabled=True),
    "incognito_start": _incognito_start,
    "incognito_end": _incognito_end,
}
