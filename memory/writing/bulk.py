"""One thing done to many memories, in one transaction; what cannot be done to one of them leaves that one alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Select, delete, or_, select
from sqlalchemy.orm import Session, aliased

from memory.drafts.drafts import MAX_TAGS, tag_key
from memory.embedding.cache import drop_cached
from memory.errors import InvalidError, RefusedError
from memory.forgetting.forget import find_twins, forget_locked
from memory.forgetting.restore import hold_forgotten, restore_held
from memory.ids import among
from memory.keys import Keys
from memory.lineage.summing_up import places_of_both, sources_of, summaries_of
from memory.models import EntityMention, Memory, PossibleUpdate, Revision, Space
from memory.record.journal import record
from memory.redaction.tombstones import Graveyard, graveyard
from memory.spaces.capacity import expired_in, make_room
from memory.spaces.spaces import get_space, lock_space, lock_spaces_of, lock_tied
from memory.storage.unsynchronised import run_unsynchronised, set_of_all
from memory.writing import edit

MOST = 500


# A memory and its space, both locked.
Locked = tuple[Memory, Space]


def lock_memories(
    session: Session, user_id: UUID, ids: Sequence[UUID], *others: UUID, summaries: bool = False
) -> list[Locked]:
    """Return those of the memories that are the user's, in the order of their ids, locked as `lock_tied` does.

    Their spaces and the spaces `others` are locked before; with `summaries` what sums them up is locked as they are.
    Raises `InvalidError` for more than 500 at once.
    """
    _check_number(ids)
    return _locked(session, user_id, ids, *others, summaries=summaries)


def _check_number(ids: Sequence[UUID]) -> None:
    if len(ids) > MOST:
        raise InvalidError("id", f"must be at most {MOST} memories at once")


def _locked(
    session: Session, user_id: UUID, ids: Sequence[UUID], *others: UUID, summaries: bool = False
) -> list[Locked]:
    places = places_of_both(user_id, ids) if summaries else _places(user_id, ids)
    held, wanted = lock_spaces_of(session, user_id, places, *others), set(ids)
    spaces = {space.id: space for space in held}
    along = summaries_of(session, user_id, wanted) if summaries else ()
    tied = lock_tied(session, user_id, {*wanted, *along}, held)
    # One that was brought back meanwhile, and its space not locked, is as good as gone.
    return [(memory, spaces[memory.space_id]) for memory in tied if memory.id in wanted and memory.space_id in spaces]


def _places(user_id: UUID, ids: Sequence[UUID]) -> Select[UUID]:
    return select(Memory.space_id).where(Memory.user_id == user_id, Memory.id.in_(list(ids))).distinct()


def pin_many(
    session: Session, user_id: UUID, ids: Sequence[UUID], *, pinned: bool, now: datetime, actor: str
) -> list[UUID]:
    """Pin or unpin memories; returns those that were not so before."""
    due = [(memory, space) for memory, space in lock_memories(session, user_id, ids) if memory.pinned != pinned]
    edit.pin_all(session, user_id, due, pinned=pinned, now=now, actor=actor)
    return [memory.id for memory, _ in due]


def tag_many(
    session: Session, user_id: UUID, ids: Sequence[UUID], tag: str, *, on: bool, now: datetime, actor: str
) -> list[UUID]:
    """Add a tag to memories or take it off; returns those that changed. Raises `InvalidError` for a bad tag.

    A tag in another case is the same: a memory that has it so gets no second one, and loses it. `taken_off` tells how
    it was written.
    """

    tagged = []
    for memory, space in lock_memories(session, user_id, ids):
        same = written(tag, memory.tags)
        if not space.memory_enabled or bool(same) == on or (on and len(memory.tags) >= MAX_TAGS):
            continue
        tagged.append((memory, [*memory.tags, tag] if on else [each for each in memory.tags if each not in same]))
    edit.retag(session, user_id, tagged, now=now, actor=actor)
    return [memory.id for memory, _ in tagged]


def written(tag: str, tags: Sequence[str]) -> list[str]:
    """Return how a tag is written among others: as those that are the same."""
    return [each for each in tags if tag_key(each) == tag_key(tag)]


def taken_off(session: Session, user_id: UUID, ids: Sequence[UUID], tag: str, at: datetime) -> dict[UUID, str]:
    """Return how memories had the tag written that was taken off them at a moment."""
    kept = select(Revision.memory_id, Revision.tags).where(
        Revision.user_id == user_id, among(Revision.memory_id, ids), Revision.replaced_at == at
    )
    found = {memory_id: written(tag, tags) for memory_id, tags in session.execute(kept)}
    return {memory_id: same[0] for memory_id, same in found.items() if same}


def set_status_many(
    session: Session, user_id: UUID, ids: Sequence[UUID], status: str, *, keys: Keys, now: datetime, actor: str
) -> list[UUID]:
    """Give active memories a status that takes them out of search, or make others active; returns which changed.

    A memory that another one supersedes is not made active; one whose newer memory is gone is, as nothing else would
    bring it back.
    """
    wakes = status == "active"
    memories = lock_memories(session, user_id, ids)
    due = [(memory, space) for memory, space in memories if (memory.status == "active") != wakes]
    if wakes:
        due = _wakeable(session, user_id, due, keys, now)
    for memory, _ in due:
        # What takes that back is to leave it so again, and not archived.
        was = {"from": memory.status} if memory.status == "superseded" else {}
        details = {"fields": ["status"], **was}
        record(session, user_id, "memory.updated", actor=actor, now=now, subject_id=memory.id, details=details)
    set_of_all(session, user_id, [memory for memory, _ in due], status=status, updated_at=now)
    changed = [memory.id for memory, _ in due]
    if wakes:
        make_room(session, {space.id: space for _, space in memories}.values(), changed, now=now, actor=actor)
    return changed


def _wakeable(session: Session, user_id: UUID, memories: Sequence[Locked], keys: Keys, now: datetime) -> list[Locked]:
    """Return those of the memories, none of them active, that nothing keeps from being so where they are."""
    replaced = [memory.id for memory, _ in memories if memory.status == "superseded"]
    newer = select(Memory.supersedes).where(Memory.user_id == user_id, among(Memory.supersedes, replaced))
    stays = set(session.scalars(newer))
    free = [(memory, space) for memory, space in memories if memory.id not in stays]
    doors = {
        space.id: _door(session, space, [memory for memory, place in free if place is space], keys, now)
        for space in {space.id: space for _, space in free}.values()
    }
    return [(memory, space) for memory, space in free if doors[space.id].lets_in([memory], as_active=True)]


@dataclass(slots=True)
class _Door:
    """What keeps texts out of a locked space: active memories that have them, and tombstones."""

    said: set[bytes]
    stones: Graveyard

    def lets_in(self, memories: Sequence[Memory], *, as_active: bool = False) -> bool:
        """Tell whether all of the memories may come in; if so they are counted among what is there."""
        active = {memory.text_digest for memory in memories if as_active or memory.status == "active"}
        if active & self.said or any(self.stones.bars(memory.text, memory.simhash) for memory in memories):
            return False
        self.said |= active
        return True


def _door(session: Session, space: Space, coming: Sequence[Memory], keys: Keys, now: datetime) -> _Door:
    digests = {memory.text_digest for memory in coming}
    said = set(find_twins(session, space.user_id, space.id, digests, now))
    return _Door(said, graveyard(session, space.user_id, space.id, keys, now))


def forget_many(
    session: Session, user_id: UUID, ids: Sequence[UUID], *, keys: Keys, now: datetime, actor: str, undo: timedelta
) -> list[UUID]:
    """Forget memories, each with an undo, and summaries of them as `forget` does; returns those that were there."""
    memories = [memory for memory, _ in lock_memories(session, user_id, ids, summaries=True)]
    forgotten, texts = forget_locked(session, user_id, memories, keys=keys, now=now, actor=actor, undo=undo)
    drop_cached(session, user_id, texts, keys)
    return [each.id for each in forgotten]


def restore_many(session: Session, user_id: UUID, ids: Sequence[UUID], *, now: datetime, actor: str) -> list[UUID]:
    """Bring forgotten memories back; returns those that could be, and the summaries that came along.

    Raises `RefusedError` when memory is off in the space of any of them; the caller rolls back and may ask again.
    """
    spaces = hold_forgotten(session, user_id, ids)
    done = restore_held(session, user_id, ids, spaces, now=now, actor=actor)
    for refusal in done.refused.values():
        if isinstance(refusal, RefusedError):
            raise refusal
    make_room(session, spaces, done.back, now=now, actor=actor)
    return list(done.back)


def move_many(
    session: Session, user_id: UUID, ids: Sequence[UUID], space: str, *, keys: Keys, now: datetime, actor: str
) -> Mapping[str, list[UUID]]:
    """Move memories into a space; returns those that moved, by the name of the space that they came from.

    Memories that they replaced move along, and so do summaries that sum up nothing else, which would go on telling of
    them; neither are returned. Memories that are tied to each other otherwise move together, or all stay: where one of
    them is not among `ids`, where the space has the text of one, and where that was just forgotten there. Raises
    `InvalidError` for an unknown space, `RefusedError` when the space stores nothing or has not room for all of them.
    """
    _check_number(ids)
    target_id = get_space(session, user_id, space).id
    summaries = _summing_up(session, user_id, ids, target_id)
    replaced = _replaced_by(session, user_id, [*ids, *summaries])
    along = {each: {"with": str(by)} for each, by in summaries.items()}
    along |= {each: {"replaced_by": str(by)} for each, by in replaced.items()}
    locked = _locked(session, user_id, [*ids, *along], target_id)
    # Read once more, as somebody may have removed the space while we waited for its lock.
    target = lock_space(session, user_id, space)
    memories = [(memory, origin) for memory, origin in locked if origin.id != target.id]
    if not target.memory_enabled:
        raise RefusedError("memory_off", f"memory is off in the space {space!r}")
    room, coming = target.soft_cap - target.documents, sum(memory.status == "active" for memory, _ in memories)
    if coming > room:
        room = max(room + expired_in(session, target, now), 0)
    if coming > room:
        raise RefusedError("soft_cap", f"the space {space!r} has room for {room} more memories")
    door = _door(session, target, [memory for memory, _ in memories], keys, now)
    moved: dict[str, list[UUID]] = defaultdict(list)
    gone: list[Memory] = []
    for group in _tied_groups(session, user_id, memories):
        if not door.lets_in([memory for memory, _ in group]):
            continue
        for memory, origin in group:
            details = {"from": origin.slug, "to": target.slug}
            if memory.id in along:
                details |= along[memory.id]
            else:
                moved[origin.slug].append(memory.id)
            gone.append(memory)
            record(session, user_id, "memory.moved", actor=actor, now=now, subject_id=memory.id, details=details)
    _move(session, user_id, gone, target, now)
    return dict(moved)


def _replaced_by(session: Session, user_id: UUID, ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Return the memories that these replaced, however indirectly, each with the one that replaced it.

    Only as far as they are superseded, and so out of search.
    """
    found: dict[UUID, UUID] = {}
    newer, older = aliased(Memory), aliased(Memory)
    tied = (older.user_id == newer.user_id) & (older.id == newer.supersedes) & (older.status == "superseded")
    pairs = select(older.id, newer.id).join(newer, tied).where(older.user_id == user_id)
    new = set(ids)
    while new:
        rows = session.execute(pairs.where(among(newer.id, new))).all()
        new = {each for each, _ in rows} - found.keys() - set(ids)
        found.update((each, by) for each, by in rows if each in new)
    return found


def _summing_up(session: Session, user_id: UUID, ids: Sequence[UUID], target_id: UUID) -> dict[UUID, UUID]:
    """Return the summaries of memories that sum up nothing else outside the space `target_id`, each with one of these.

    As far as they are in the space of that memory: one that is elsewhere was brought there.
    """
    naming = among(Memory.id, summaries_of(session, user_id, ids, held=True))
    summaries = session.scalars(select(Memory).where(Memory.user_id == user_id, naming)).all()
    named = {summary: [*sources_of(summary)] for summary in summaries}
    known = among(Memory.id, [each for sources in named.values() for each in sources])
    places = session.execute(select(Memory.id, Memory.space_id).where(Memory.user_id == user_id, known)).all()
    place, moving = {row.id: row.space_id for row in places}, set(ids)
    found: dict[UUID, UUID] = {}
    for summary, sources in named.items():
        near = [each for each in sources if each in moving and place.get(each) == summary.space_id]
        if near and all(each in moving or place.get(each, target_id) == target_id for each in sources):
            found[summary.id] = near[0]
    return found


def left_so(session: Session, user_id: UUID, ids: Sequence[UUID], act: str, value: str) -> set[UUID]:
    """Return those of the memories that still are as an act other than forgetting has left them.

    `value` is the tag or the space that the act was done with.
    """
    mine = (Memory.user_id == user_id, Memory.id.in_(list(ids)))
    if act in {"tag", "untag"}:
        tagged = session.execute(select(Memory.id, Memory.tags).where(*mine))
        return {memory_id for memory_id, tags in tagged if bool(written(value, tags)) == (act == "tag")}
    left = {
        "pin": Memory.pinned,
        "unpin": ~Memory.pinned,
        "archive": Memory.status != "active",
        "activate": Memory.status == "active",
        "move": Space.slug == value,
    }
    joined = (Space.user_id == Memory.user_id) & (Space.id == Memory.space_id)
    return set(session.scalars(select(Memory.id).join(Space, joined).where(*mine, left[act])))


def _move(session: Session, user_id: UUID, memories: Sequence[Memory], target: Space, now: datetime) -> None:
    """Move memories, without their mentions: entities belong to a space, and the default one has none."""
    mine = (EntityMention.user_id == user_id, among(EntityMention.memory_id, [memory.id for memory in memories]))
    run_unsynchronised(session, delete(EntityMention).where(*mine))
    read = [memory for memory in memories if memory.enriched_version is not None]
    new = [memory for memory in memories if memory.enriched_version is None]
    set_of_all(session, user_id, read, space_id=target.id, updated_at=now, enriched_version=0)
    set_of_all(session, user_id, new, space_id=target.id, updated_at=now)


def _tied_groups(session: Session, user_id: UUID, memories: Sequence[Locked]) -> Sequence[Sequence[Locked]]:
    """Return the memories in groups of those that are tied; a group with a member outside of them is left out."""
    locked = {memory.id: (memory, space) for memory, space in memories}
    ids, older, newer = list(locked), PossibleUpdate.older_id, PossibleUpdate.memory_id
    updates = select(newer, older).where(PossibleUpdate.user_id == user_id, or_(newer.in_(ids), older.in_(ids)))
    replacing = or_(Memory.id.in_(ids), Memory.supersedes.in_(ids))
    replaced = select(Memory.id, Memory.supersedes).where(Memory.user_id == user_id, replacing)
    ties: dict[UUID, set[UUID]] = defaultdict(set)
    for one, other in [*session.execute(updates), *session.execute(replaced)]:
        if other is not None:
            ties[one].add(other)
            ties[other].add(one)
    groups, seen = [], set[UUID]()
    for memory_id in locked:
        group, new = set[UUID](), {memory_id} - seen
        while new:
            group |= new
            new = set[UUID]().union(*(ties[each] for each in new)) - group
        seen |= group
        if group and group <= locked.keys():
            groups.append([locked[each] for each in sorted(group)])
    return groups
