"""Changing a memory that exists: pin, patch, supersede, archive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from memory.drafts.drafts import Draft, check_status
from memory.drafts.prepared import Prepared, prepare
from memory.embedding.cache import drop_cached
from memory.embedding.queue import enqueue
from memory.errors import ConflictError, InvalidError, RefusedError
from memory.forgetting.forget import UNDO_WINDOW, find_twin
from memory.ids import among
from memory.keys import Keys
from memory.lineage.revisions import VERSIONED, content_of, get_revision, keep, to_bring_back
from memory.lineage.succession import reaches
from memory.models import AuditEvent, Memory, Space
from memory.reading.browse import get_memory
from memory.record.journal import record
from memory.redaction.tombstones import graveyard, refusal
from memory.spaces.capacity import make_room
from memory.spaces.spaces import check_slug, lock_space_of, lock_spaces_of
from memory.spaces.themes import ensure_themes
from memory.storage.unsynchronised import set_each
from memory.texts.fingerprints import from_signed, normalise, text_digest, to_signed
from memory.writing.remember import apply_pinning_policy

# Checked as a draft's fields are; the rest have rules of their own below.
_DRAFT_FIELDS = ("text", "type", "tags", "source_ids", "theme", "importance", "expires_at", "manually_saved")
_OTHER_FIELDS = ("status", "pinned", "supersedes")
_CLEARABLE = frozenset({"theme", "expires_at", "supersedes"})


@dataclass(frozen=True, slots=True)
class _Freed:
    """A memory that nothing supersedes any more, and the status that it has again: the one from before."""

    memory: Memory
    status: str


@dataclass(frozen=True, slots=True)
class _Plan:
    """A change that nothing refuses, before any of it is done.

    `draft` has the fields that were checked; `rewritten` is the new text with its fingerprints, None if it stays.
    `status` is what the memory will have, `older` what it will supersede, and `freed` what it will supersede no longer.
    """

    changes: Mapping[str, Any]
    draft: Draft
    rewritten: Prepared | None
    status: str
    older: Memory | None
    freed: _Freed | None


def pin(
    session: Session,
    user_id: UUID,
    memory_id: UUID,
    *,
    pinned: bool,
    now: datetime,
    actor: str,
) -> Memory:
    """Pin or unpin a memory; pinning is an explicit wish to keep it, so it counts as saved by hand.

    Unpinned within ten minutes, it is as if it had not been pinned. Where memory is off, the importance stays.
    """
    memory = get_memory(session, user_id, memory_id)
    space = lock_space_of(session, memory)
    if memory.pinned != pinned:
        pin_all(session, user_id, [(memory, space)], pinned=pinned, now=now, actor=actor)
    return memory


def pin_all(
    session: Session,
    user_id: UUID,
    memories: Sequence[tuple[Memory, Space]],
    *,
    pinned: bool,
    now: datetime,
    actor: str,
) -> None:
    """Pin or unpin memories that are not so, each as `pin` does, in a few statements.

    The caller has locked them, with their spaces.
    """
    saved = {} if pinned else _saved_since(session, user_id, [memory.id for memory, _ in memories], now)
    planned = [(memory, _pinning(space, memory, pinned, {}, saved.get(memory.id, ()))) for memory, space in memories]
    set_each(session, user_id, [(memory, values) for memory, (values, _) in planned], updated_at=now)
    for memory, (_, details) in planned:
        _record_pinning(session, memory, details, now=now, actor=actor)


def _record_pinning(session: Session, memory: Memory, details: dict[str, Any], *, now: datetime, actor: str) -> None:
    action = "memory.pinned" if memory.pinned else "memory.unpinned"
    record(session, memory.user_id, action, actor=actor, now=now, subject_id=memory.id, details=details)


# The name of an event and its details.
_Told = tuple[str, Mapping[str, Any]]


def _pinning(
    space: Space, memory: Memory, pinned: bool, asked: Mapping[str, Any], told: Sequence[_Told]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values that a memory has once it is pinned or unpinned, and what the record is to tell of it.

    `told` is what the record tells already of its being saved, the last first.
    """
    before, saved = memory.importance, memory.manually_saved
    values = {"pinned": pinned, "manually_saved": saved, "importance": before}
    if pinned and not saved:
        # Where memory is off, what is there stays as it is.
        became = min(1.0, before + 0.5) if space.memory_enabled else before
        gained = {
            "importance_before": asked.get("importance", before),
            "importance_after": asked.get("importance", became),
        }
        details = {"saved": True, **gained, "repeats": memory.repeat_count}
        return {**values, "manually_saved": True, "importance": became}, details
    if not pinned and "manually_saved" not in asked and (pin := _pin_that_saved(memory, told)) is not None:
        was, became = pin["importance_before"], pin["importance_after"]
        back = max(0.0, before - (became - was)) if before != became else was
        importance = back if space.memory_enabled else before
        return {**values, "manually_saved": False, "importance": importance}, {"saved": False}
    return values, {}


def _pin_that_saved(memory: Memory, told: Sequence[_Told]) -> Mapping[str, Any] | None:
    """Return the pin of the last ten minutes that saved a memory by hand; None if it was repeated or saved since."""
    for action, details in told:
        if action == "memory.updated" and "manually_saved" in details["fields"]:
            return None
        if action == "memory.pinned":
            return details if details.get("saved") and details["repeats"] == memory.repeat_count else None
    return None


def _saved_since(
    session: Session, user_id: UUID, ids: Sequence[UUID], now: datetime
) -> Mapping[UUID | None, Sequence[_Told]]:
    """Return what the record tells of memories being saved in the last ten minutes, of each the last first."""
    since = (
        select(AuditEvent.subject_id, AuditEvent.action, AuditEvent.details)
        .where(
            AuditEvent.user_id == user_id,
            AuditEvent.created_at >= now - UNDO_WINDOW,
            among(AuditEvent.subject_id, ids),
            AuditEvent.action.in_(("memory.pinned", "memory.updated")),
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    )
    found: dict[UUID | None, list[_Told]] = defaultdict(list)
    for memory_id, action, details in session.execute(since):
        found[memory_id].append((action, details))
    return found


def update(
    session: Session,
    user_id: UUID,
    memory_id: UUID,
    changes: Mapping[str, Any],
    *,
    keys: Keys,
    now: datetime,
    actor: str,
    restored: int | None = None,
) -> Memory:
    """Change the given fields of a memory, all or none; what it said before is kept as a version of it.

    A new text is fingerprinted and embedded again. None for `supersedes` gives the superseded memory the status back
    that it had before, unless another memory supersedes it too. `restored` is the number of the version that this
    change brings back, if it does.

    Raises `InvalidError` for a bad field; `ConflictError` when another memory of the space has this text, or the text
    of what is superseded no longer; `RefusedError` when what is to be active was forgotten, or when memory is off in
    the space and the change would store another version there.
    """
    memory = get_memory(session, user_id, memory_id)
    draft = _checked(memory, changes)
    older_id = changes.get("supersedes")
    others = () if older_id is None else (older_id,)
    space = lock_space_of(session, memory, *others, says=text_digest(draft.text))
    if not space.memory_enabled and not changes.keys().isdisjoint(VERSIONED):
        raise RefusedError("memory_off", f"memory is off in the space {space.slug!r}: what it holds stays as it is")
    plan = _planned(session, space, memory, draft, changes, keys, now)
    woken = _woken(memory, plan)
    before, were, was = content_of(session, memory), _values(memory, changes), memory.status
    told = _carry_out(session, space, memory, plan, keys, now=now, actor=actor)
    keep(session, user_id, [(memory, before)], now=now, actor=actor, restored=restored)
    details = {"fields": _differing(memory, were), **told, **({"restored": restored} if restored is not None else {})}
    if was == "superseded" != memory.status:
        # Recorded, so that an undo leaves the memory superseded again, and not archived.
        details["from"] = was
    record(session, user_id, "memory.updated", actor=actor, now=now, subject_id=memory_id, details=details)
    make_room(session, [space], woken, now=now, actor=actor)
    return memory


def retag(
    session: Session, user_id: UUID, tagged: Sequence[tuple[Memory, Sequence[str]]], *, now: datetime, actor: str
) -> None:
    """Give memories other tags, as `update` does; raises `InvalidError` for bad ones.

    The caller has locked them, with their spaces, in which memory is on.
    """
    checked = [(memory, list(_checked(memory, {"tags": tags}).tags)) for memory, tags in tagged]
    before = [(memory, content_of(session, memory)) for memory, _ in checked]
    set_each(session, user_id, [(memory, {"tags": tags}) for memory, tags in checked], updated_at=now)
    keep(session, user_id, before, now=now, actor=actor)
    for memory, _ in checked:
        details = {"fields": ["tags"]}
        record(session, user_id, "memory.updated", actor=actor, now=now, subject_id=memory.id, details=details)


def _planned(
    session: Session, space: Space, memory: Memory, draft: Draft, changes: Mapping[str, Any], keys: Keys, now: datetime
) -> _Plan:
    """Return what a change will do, or refuse it: a caller that goes on must not store half of one."""
    older_id = changes.get("supersedes")
    older = _superseded(session, memory, older_id, now) if older_id else None
    freed = _freed(session, memory) if "supersedes" in changes and older is None else None
    rewritten = _fingerprinted(session, space, memory, draft, keys, now) if "text" in changes else None
    status = changes.get("status") or memory.status
    if rewritten is not None or status != memory.status:
        _refuse_twin(session, memory, rewritten, status, now, field="text" if rewritten else "status")
    if freed is not None:
        _refuse_twin(session, freed.memory, None, freed.status, now, field="supersedes")
        if freed.status == "active":
            _refuse_forgotten(session, space, freed.memory.text, freed.memory.simhash, keys, now)
    if rewritten is None and changes.get("status") == "active" != memory.status:
        _refuse_forgotten(session, space, memory.text, memory.simhash, keys, now)
    return _Plan(changes, draft, rewritten, status, older, freed)


def _carry_out(
    session: Session, space: Space, memory: Memory, plan: _Plan, keys: Keys, *, now: datetime, actor: str
) -> dict[str, Any]:
    """Change a memory as it was planned; returns what the record is to tell beside the fields."""
    gained = _gained_by_saving(session, space, memory, plan.changes)
    linked = _link(memory, plan, now) if "supersedes" in plan.changes else {}
    memory.importance = max(0.0, memory.importance + gained.get("gained", 0.0))
    _apply(session, space, memory, plan, now, actor)
    memory.updated_at = now
    if plan.rewritten is not None:
        # The old text must not be found in any cache.
        drop_cached(session, memory.user_id, [memory.text], keys)
        _rewrite(session, memory, plan.rewritten, now)
    session.flush()
    return {**linked, **gained}


def _differing(memory: Memory, were: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that a change has changed, in order; `were` are the values before it."""
    fields = {name for name, value in _values(memory, were).items() if value != were[name]}
    # `manually_saved` is named even where it had that value: by it, an unpinning knows that the pin alone did not save
    # it.
    return sorted(fields | ({"manually_saved"} & were.keys()))


def _woken(memory: Memory, plan: _Plan) -> list[UUID]:
    """Return what a change makes active: the memory, or what it no longer supersedes."""
    became = [(memory, plan.status), *([(plan.freed.memory, plan.freed.status)] if plan.freed else [])]
    return [each.id for each, new in became if new == "active" != each.status]


def _gained_by_saving(session: Session, space: Space, memory: Memory, changes: Mapping[str, Any]) -> dict[str, float]:
    """Return the importance that a change gains by saving the memory by hand, as its record is to tell it.

    A change that takes such a saving back loses as much. Nothing is gained where the change sets an importance itself,
    or where memory is off.
    """
    saved = changes.get("manually_saved", memory.manually_saved)
    if saved == memory.manually_saved or "importance" in changes or not space.memory_enabled:
        return {}
    if saved:
        return {"gained": min(1.0, memory.importance + 0.5) - memory.importance}
    had = _last_update(session, memory, AuditEvent.details.has_key("gained")).get("gained", 0.0)
    return {"gained": -had} if had > 0 else {}


def _last_update(session: Session, memory: Memory, telling: ColumnElement[bool]) -> Mapping[str, Any]:
    """Return the details of the last change of a memory among those whose record is `telling`; none without one."""
    mine = (AuditEvent.user_id == memory.user_id, AuditEvent.subject_id == memory.id)
    told = select(AuditEvent.details).where(*mine, AuditEvent.action == "memory.updated", telling)
    return session.scalar(told.order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc()).limit(1)) or {}


def _values(memory: Memory, names: Iterable[str]) -> dict[str, Any]:
    """Return what a memory has in the fields of these names."""
    return {name: getattr(memory, "theme_id" if name == "theme" else name) for name in names}


def bring_back(
    session: Session, user_id: UUID, memory_id: UUID, number: int, *, keys: Keys, now: datetime, actor: str
) -> Memory:
    """Make a memory say what its version of this number said; that is a change like any other.

    Raises what `update` raises, and `NotFoundError` when the memory or the version is not there.
    """
    # Only the space is locked here; `update` locks the memory, together with what else it changes.
    place = select(Memory.space_id).where(Memory.user_id == user_id, Memory.id == memory_id)
    lock_spaces_of(session, user_id, place)
    changes = to_bring_back(session, get_revision(session, user_id, memory_id, number))
    return update(session, user_id, memory_id, changes, keys=keys, now=now, actor=actor, restored=number)


def _checked(memory: Memory, changes: Mapping[str, Any]) -> Draft:
    for name, value in changes.items():
        if name not in {*_DRAFT_FIELDS, *_OTHER_FIELDS}:
            raise InvalidError(name, "cannot be changed")
        if value is None and name not in _CLEARABLE:
            raise InvalidError(name, "must not be null")
    if "status" in changes:
        check_status(changes["status"])
    if changes.get("theme"):
        check_slug(changes["theme"], "theme")
    given = {name: changes[name] for name in _DRAFT_FIELDS if name in changes}
    for name in ("tags", "source_ids"):
        if name in given:
            given[name] = tuple(given[name])
    # `stored` is also true of a text that is given and unchanged, as a form sends all of its fields.
    return Draft(**{"text": memory.text, **given, "stored": given.get("text", memory.text) == memory.text})


def _fingerprinted(
    session: Session, space: Space, memory: Memory, draft: Draft, keys: Keys, now: datetime
) -> Prepared | None:
    """Return the new text with its fingerprints, None if it is the old one; refuses what was forgotten."""
    if draft.text == memory.text:
        return None
    item = prepare(draft)
    _refuse_forgotten(session, space, draft.text, to_signed(item.simhash), keys, now)
    return item


def _refuse_forgotten(session: Session, space: Space, text: str, simhash: int, keys: Keys, now: datetime) -> None:
    """Refuse a text that was forgotten in the space less than a day ago; `simhash` is signed, as a row has it."""
    stone = graveyard(session, space.user_id, space.id, keys, now).blocks(text, normalise(text), from_signed(simhash))
    if stone is not None:
        raise RefusedError("tombstone", f"this text was {refusal(session, stone, now)}")


def _rewrite(session: Session, memory: Memory, item: Prepared, now: datetime) -> None:
    memory.text = item.draft.text
    for name, value in item.columns.items():
        setattr(memory, name, value)
    memory.version += 1
    # They were found in what it said before.
    memory.derived_tags = []
    memory.needs_embedding = True
    session.flush()
    enqueue(session, memory.user_id, [memory.id], now)


def _apply(session: Session, space: Space, memory: Memory, plan: _Plan, now: datetime, actor: str) -> None:
    draft, changes = plan.draft, plan.changes
    # Forms and restored versions give the type even where it stays; only another type may pin a memory that was
    # unpinned.
    wished = "manually_saved" in changes or changes.get("type", memory.type) != memory.type
    for name in ("type", "expires_at", "manually_saved"):
        if name in changes:
            setattr(memory, name, getattr(draft, name))
    for name in ("tags", "source_ids"):
        if name in changes:
            setattr(memory, name, list(dict.fromkeys(getattr(draft, name))))
    if "theme" in changes:
        themes = ensure_themes(session, memory.user_id, {draft.theme} if draft.theme else set(), now)
        memory.theme_id = themes.get(draft.theme or "")
    if "status" in changes:
        memory.status = changes["status"]
    if wished:
        apply_pinning_policy(memory)
    if changes.get("pinned", memory.pinned) != memory.pinned:
        _set_pinned(session, space, memory, changes, now=now, actor=actor)
    if draft.importance is not None:
        memory.importance = draft.importance


def _set_pinned(
    session: Session, space: Space, memory: Memory, asked: Mapping[str, Any], *, now: datetime, actor: str
) -> None:
    """Pin or unpin a memory as it is `asked`, and record it with what else is asked for in the same change."""
    saved = {} if asked["pinned"] else _saved_since(session, memory.user_id, [memory.id], now)
    values, details = _pinning(space, memory, asked["pinned"], asked, saved.get(memory.id, ()))
    for name, value in values.items():
        setattr(memory, name, value)
    _record_pinning(session, memory, details, now=now, actor=actor)


def _superseded(session: Session, memory: Memory, older_id: UUID, now: datetime) -> Memory:
    """Return the memory that is to be superseded, which must not supersede this one, however indirectly."""
    older = session.get(Memory, (memory.user_id, older_id))
    if older is None or older.has_expired(now) or older.space_id != memory.space_id:
        raise InvalidError("supersedes", "there is no such memory in this space")
    if reaches(session, memory.user_id, older.id, memory.id):
        raise InvalidError("supersedes", "must be another memory, and none that this one was superseded by")
    return older


def _freed(session: Session, memory: Memory) -> _Freed | None:
    """Return what no memory but this one supersedes; None where there is none."""
    # No lock is needed here: `lock_tied` has locked it together with the memory.
    older = session.get(Memory, (memory.user_id, memory.supersedes)) if memory.supersedes is not None else None
    if older is None or older.status != "superseded":
        return None
    others = select(Memory.id).where(
        Memory.user_id == memory.user_id, Memory.supersedes == older.id, Memory.id != memory.id
    )
    if session.scalar(others.limit(1)) is not None:
        return None
    was = _last_update(session, memory, AuditEvent.details["older"].astext == str(older.id)).get("was")
    return _Freed(older, "archived" if was == "archived" else "active")


def _link(memory: Memory, plan: _Plan, now: datetime) -> dict[str, Any]:
    """Let a memory supersede another one or none; returns what the record is to tell of it."""
    memory.supersedes = plan.older.id if plan.older is not None else None
    if plan.older is not None:
        other, status = plan.older, "superseded"
    elif plan.freed is not None:
        other, status = plan.freed.memory, plan.freed.status
    else:
        return {}
    was, other.status, other.updated_at = other.status, status, now
    return {"older": str(other.id), "was": was, "became": status} if was != status else {}


def _refuse_twin(
    session: Session, memory: Memory, rewritten: Prepared | None, status: str, now: datetime, *, field: str
) -> None:
    """Refuse to make a second active memory of one text in a space, as the change of `field` would."""
    if status != "active":
        return
    digest = rewritten.digest if rewritten else memory.text_digest
    twin = find_twin(session, memory, memory.space_id, digest, now)
    if twin is not None:
        raise ConflictError(f"another memory of this space has this text: {twin}", field)
