"""Removing a space, with what is in it moved to another, archived there or forgotten, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from sqlalchemy import case, delete, func, or_, select, union, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import UpdateBase

from memory.conversations.conversations import drop_episodes
from memory.conversations.session_state import drop_states
from memory.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from memory.facts.entities import move_entities
from memory.facts.facts import move_facts
from memory.forgetting.forget import forget_all, set_aside
from memory.ids import among
from memory.keys import Keys
from memory.lineage.summing_up import summaries_naming_any_of
from memory.models import (
    DEFAULT_SPACE,
    Conversation,
    Entity,
    EntityMention,
    Forgotten,
    Memory,
    Message,
    Space,
    Token,
    Tombstone,
)
from memory.record.journal import record
from memory.redaction.tombstones import Graveyard, graveyard
from memory.space_removal.contents import Inside, barred, count, look, summaries_elsewhere, taker, unpurged
from memory.space_removal.merge import merge_twins
from memory.spaces.capacity import enforce_capacity
from memory.spaces.spaces import get_space, list_spaces, lock_spaces, lock_spaces_of
from memory.storage.unsynchronised import run_unsynchronised

Choice = Literal["move", "archive", "forget"]
CHOICES = get_args(Choice)
_AT_ONCE = 50


def remove_space(
    session: Session,
    user_id: UUID,
    slug: str,
    choice: str,
    *,
    into: str = DEFAULT_SPACE,
    expect: str,
    keys: Keys,
    now: datetime,
    actor: str,
) -> dict[str, int]:
    """Remove a space; returns how many of each thing were touched, as `Contents.plans` foretold but for entities.

    `move` takes memories and conversations to the space `into`, the pool of what follows, merges what is there already
    and archives what was forgotten there less than 24 hours ago, which is counted as `memories_archived`, if there is
    any. Where one of two that say the same has expired, the other takes nothing over from it. `archive` takes all there
    out of sight; `forget` forgets the memories for good, with what sums them up elsewhere, and deletes the
    conversations. Facts move along, are moved and ended, or go with the space. Of more than `PURGED_AT_ONCE` memories
    what they said is out of sight then, and purged by the next sweep, which locks no space. Entities move along, unless
    they would come to the default space, which has none, and the tokens of the space are revoked.

    Raises `InvalidError` for another choice or a space `into` that cannot be, `NotFoundError`, and `ConflictError` for
    the default space and when `expect` is not the digest of what is in it. Raises `RefusedError` when memories would
    come to a space while its memory is off.
    """
    if choice not in CHOICES:
        raise InvalidError("contents", f"must be one of {', '.join(CHOICES)}")
    if slug == DEFAULT_SPACE:
        raise ConflictError("the default space cannot be removed", "slug")
    space, pool = _lock(session, user_id, slug, choice, into)
    inside = _hold(session, space, pool, choice, now)
    stones = graveyard(session, user_id, pool.id, keys, now)
    found = count(session, space, pool, stones, now)
    if found.digest != expect:
        raise ConflictError("what is in the space has changed since it was looked at; nothing was removed", "expect")
    if (inside.memories or found.facts) and choice != "forget" and not pool.memory_enabled:
        reason = f"memory is off in the space {pool.slug!r}: nothing can be brought into it"
        raise RefusedError("memory_off", reason)
    if choice == "forget":
        # What bars it from coming back stands where everything is shared.
        pool = get_space(session, user_id, DEFAULT_SPACE)
    removal = _Removal(session, space, pool, inside, stones, keys, now, actor)
    if pool.slug == DEFAULT_SPACE:
        removal.drop_entities()
    became = {"move": removal.move, "archive": removal.archive, "forget": removal.forget}[choice]()
    counts = {**found.plans[choice], **became}
    removal.finish(choice, counts)
    return counts


def _lock(session: Session, user_id: UUID, slug: str, choice: str, into: str) -> tuple[Space, Space]:
    """Lock the space against writers, with whatever else the choice changes something in, in one order for all.

    That is the space `into`; what is forgotten leaves that alone, takes their source from memories wherever they are,
    and takes along what sums it up elsewhere.
    """
    ids = {space.slug: space.id for space in list_spaces(session, user_id)}
    if slug not in ids:
        raise NotFoundError(f"there is no space {slug!r}")
    target = taker(session, user_id, slug, into).id
    said = (
        select(Message.id)
        .join(Conversation, (Conversation.user_id == Message.user_id) & (Conversation.id == Message.conversation_id))
        .where(Message.user_id == user_id, Conversation.space_id == ids[slug])
    )
    learned = select(Memory.space_id).where(Memory.user_id == user_id, Memory.source_message_id.in_(said)).distinct()
    # Before the space, as those who write with a token of it lock them: two orders would wait for each other.
    confined = select(Token.id).where(Token.user_id == user_id, Token.space_id == ids[slug]).order_by(Token.id)
    session.execute(confined.with_for_update())
    if choice == "forget":
        naming = summaries_naming_any_of(Memory.space_id, user_id, ids[slug])
        locked = lock_spaces_of(session, user_id, select(union(learned, naming).subquery()), ids[slug])
    else:
        locked = lock_spaces(session, user_id, {ids[slug], target})
    space = next((each for each in locked if each.id == ids[slug]), None)
    if space is None:
        raise NotFoundError(f"there is no space {slug!r}")
    # Read anew: it may have been removed while we waited for it.
    return space, taker(session, user_id, slug, into)


def _hold(session: Session, space: Space, pool: Space, choice: str, now: datetime) -> Inside:
    """Return what is in a locked space, locked as well in the usual order, with what was forgotten there.

    The space is locked against everything then.
    """
    session.execute(unpurged(space, now).with_for_update()).all()
    mine = (Conversation.user_id == space.user_id, Conversation.space_id == space.id)
    session.execute(select(Conversation.id).where(*mine).order_by(Conversation.id).with_for_update()).all()
    # Whatever else could come into the space, a conversation, an entity, a token, needs a share of this lock. So does
    # who writes to a conversation of it, which is why those are locked before; one that has come since is not expected.
    whole = select(Space.id).where(Space.user_id == space.user_id, Space.id == space.id)
    session.execute(whole.with_for_update()).all()
    inside = look(session, space, pool, now)
    ids = [row.id for row in inside.memories]
    if choice == "move":
        # The pool's soft cap may take any of its own.
        active = (Memory.user_id == pool.user_id, Memory.space_id == pool.id, Memory.status == "active")
        ids += session.scalars(select(Memory.id).where(*active)).all()
    if choice == "forget":
        said = select(Message.id).where(
            Message.user_id == space.user_id, among(Message.conversation_id, inside.conversations)
        )
        learned = select(Memory.id).where(Memory.user_id == space.user_id, Memory.source_message_id.in_(said))
        ids += session.scalars(union(learned, summaries_elsewhere(space))).all()
    # All at once: whoever embeds them locks them in this order.
    rows = select(Memory.id).where(Memory.user_id == space.user_id, among(Memory.id, ids))
    session.execute(rows.order_by(Memory.id).with_for_update()).all()
    return inside


@dataclass
class _Removal:
    """A removal under way; everything that it touches is locked."""

    session: Session
    space: Space
    pool: Space
    inside: Inside
    stones: Graveyard
    keys: Keys
    now: datetime
    actor: str

    def drop_entities(self) -> None:
        """Drop what the space knows of people, places and things."""
        entities = (Entity.user_id == self.space.user_id, Entity.space_id == self.space.id)
        named = EntityMention.entity_id.in_(select(Entity.id).where(*entities))
        # Mentions first, in one statement: the last one takes its entity along.
        self._run(delete(EntityMention).where(EntityMention.user_id == self.space.user_id, named))
        self._run(delete(Entity).where(*entities))

    def move_entities(self) -> None:
        """Take what the space knows of people, places and things to the pool; one of the same name and type is one."""
        moved = move_entities(self.session, self.space.user_id, self.space.id, self.pool.id, self.now)
        self._record("entity.retagged", moved, self._named("to"))

    def move(self) -> dict[str, int]:
        """Take everything to the pool; what it says already is merged, and its soft cap holds.

        What was forgotten there is archived, so that it does not come back unasked. Returns how many the cap took.
        """
        gone = select(Memory).where(Memory.user_id == self.space.user_id, among(Memory.id, self.inside.lapsed))
        set_aside(self.session, self.space.user_id, self.session.scalars(gone.order_by(Memory.id)).all(), self.now)
        merge_twins(self.session, self.space.user_id, self.inside.twins, self.now)
        kept_away = [row.id for row in barred(self.session, self.space, self.stones)]
        self._change_memories(kept_away, {"status": "archived"})
        self._move_memories("active")
        self._move_forgotten("active", self.stones)
        self._move_conversations({})
        self.move_entities()
        move_facts(self.session, self.space.user_id, self.space.id, self.pool.id)
        stay = {*self.inside.twins, *self.inside.lapsed}
        moved = [row.id for row in self.inside.memories if row.id not in stay]
        self._record("memory.moved", moved, self._named("to"))
        self._record("memory.merged", list(self.inside.twins.values()), {"from": _words(self.inside.twins)})
        self._record("memory.archived", kept_away)
        self._record("conversation.moved", self.inside.conversations, self._named("to"))
        self.session.flush()
        trimmed = enforce_capacity(self.session, self.pool, now=self.now, actor=self.actor)
        return {"memories_trimmed": len(trimmed)}

    def archive(self) -> dict[str, int]:
        """Take everything to the pool, out of sight."""
        self._move_memories("archived")
        self._move_forgotten("archived")
        move_facts(self.session, self.space.user_id, self.space.id, self.pool.id, ended=self.now)
        self._move_conversations({"archived_at": func.coalesce(Conversation.archived_at, self.now)})
        self.move_entities()
        self._record("memory.archived", [row.id for row in self.inside.memories if row.status == "active"])
        self._record("conversation.archived", self.inside.conversations)
        return {}

    def forget(self) -> dict[str, int]:
        """Forget every memory for good, those that could be restored too, and delete conversations and facts."""
        user_id, session = self.space.user_id, self.session
        along = session.scalars(summaries_elsewhere(self.space)).all()
        going = or_(Memory.space_id == self.space.id, among(Memory.id, along))
        memories = session.scalars(select(Memory).where(Memory.user_id == user_id, going).order_by(Memory.id)).all()
        ids = [memory.id for memory in memories]
        forget_all(
            session,
            user_id,
            memories,
            self.inside.forgotten,
            space_id=self.pool.id,
            conversation_ids=self.inside.conversations,
            removed=self.space.id,
            keys=self.keys,
            now=self.now,
        )
        self._delete_conversations(self.inside.conversations)
        self._record("memory.forgotten", ids, {"undo_seconds": 0})
        return {}

    def finish(self, choice: str, counts: dict[str, int]) -> None:
        """Take the space itself away; its tombstones stand in the pool for as long as they would have stood."""
        user_id, session = self.space.user_id, self.session
        session.flush()
        stones = update(Tombstone).where(Tombstone.user_id == user_id, Tombstone.space_id == self.space.id)
        self._run(stones.values(space_id=self.pool.id))
        self._revoke_tokens()
        details = {"slug": self.space.slug, "contents": choice, **self._named("into"), **counts}
        space_id = self.space.id
        self._run(delete(Space).where(Space.user_id == user_id, Space.id == space_id))
        session.expunge(self.space)
        record(session, user_id, "space.removed", actor=self.actor, now=self.now, subject_id=space_id, details=details)
        session.flush()

    def _named(self, key: str) -> dict[str, Any]:
        """Return for the record which space took what was kept, where it was not the pool of all."""
        return {} if self.pool.slug == DEFAULT_SPACE else {key: self.pool.slug}

    def _run(self, statement: UpdateBase) -> None:
        run_unsynchronised(self.session, statement)

    def _move_memories(self, active_as: str) -> None:
        """Take memories to the pool; the active ones are to be `active_as` there."""
        status = case((Memory.status == "active", active_as), else_=Memory.status)
        ids = [row.id for row in self.inside.memories]
        self._change_memories(ids, {"space_id": self.pool.id, "status": status, "updated_at": self.now})

    def _change_memories(self, ids: Sequence[UUID], values: dict[str, Any]) -> None:
        # Some at a time: the trigger that keeps the indexes compares the rows of a statement with each other.
        for start in range(0, len(ids), _AT_ONCE):
            some = (Memory.user_id == self.space.user_id, Memory.id.in_(ids[start : start + _AT_ONCE]))
            self._run(update(Memory).where(*some).values(**values))

    def _move_forgotten(self, active_as: str, stones: Graveyard | None = None) -> None:
        """Let what is restored be where the others are, archived where a tombstone of `stones` keeps its text away."""
        wanted = select(Forgotten).where(
            Forgotten.user_id == self.space.user_id, among(Forgotten.id, self.inside.forgotten)
        )
        for forgotten in self.session.scalars(wanted.with_for_update()):
            row = forgotten.row
            status = active_as if row["status"] == "active" else row["status"]
            if status == "active" and stones is not None and stones.bars(row["text"], row["simhash"]):
                status = "archived"
            forgotten.row = {**row, "space_id": str(self.pool.id), "status": status}

    def _move_conversations(self, changes: dict[str, Any]) -> None:
        # Where the pool has the name already, it goes on meaning the pool's.
        for conversation_id in self.inside.renamed:
            one = (Conversation.user_id == self.space.user_id, Conversation.id == conversation_id)
            self._run(update(Conversation).where(*one).values(external_id=str(conversation_id)))
        mine = (Conversation.user_id == self.space.user_id, Conversation.space_id == self.space.id)
        self._run(update(Conversation).where(*mine).values(space_id=self.pool.id, **changes))

    def _delete_conversations(self, ids: Sequence[UUID]) -> None:
        """Delete conversations with all that hangs on them but calls, one statement for each kind of thing."""
        if not ids:
            return
        user_id = self.space.user_id
        drop_states(self.session, user_id, ids)
        drop_episodes(self.session, user_id, ids, self.keys)
        messages = select(Message.id).where(Message.user_id == user_id, among(Message.conversation_id, ids))
        learned = update(Memory).where(Memory.user_id == user_id, Memory.source_message_id.in_(messages))
        self._run(learned.values(source_message_id=None))
        self._run(delete(Message).where(Message.user_id == user_id, among(Message.conversation_id, ids)))
        self._run(delete(Conversation).where(Conversation.user_id == user_id, among(Conversation.id, ids)))
        self._record("conversation.deleted", ids)

    def _revoke_tokens(self) -> None:
        """Close the tokens of the space for good; they stay on record, and open nothing."""
        user_id = self.space.user_id
        mine = update(Token).where(Token.user_id == user_id, Token.space_id == self.space.id)
        self._run(mine.values(revoked_at=func.coalesce(Token.revoked_at, self.now), space_id=None))
        for token_id in self.inside.tokens:
            record(self.session, user_id, "token.revoked", actor=self.actor, now=self.now, subject_id=token_id)

    def _record(self, action: str, ids: Sequence[UUID], more: dict[str, Any] | None = None) -> None:
        """Write one audit event about many things of a kind, none if there are none."""
        if ids:
            details = {"space": self.space.slug, "ids": _words(ids), **(more or {})}
            record(
                self.session,
                self.space.user_id,
                action,
                actor=self.actor,
                now=self.now,
                subject_id=ids[0] if len(ids) == 1 else None,
                count=len(ids),
                details=details,
            )


def _words(ids: Any) -> list[str]:
    return [str(each) for each in ids]
