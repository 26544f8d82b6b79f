"""The write path: normalise, tombstones, near-duplicates, merge or insert, importance, pinning, capacity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.drafts.drafts import (
    DEFAULT_ROLE,
    DEFAULT_TYPE,
    MAX_SOURCE_IDS,
    Draft,
    check_not_ahead,
    later_expiry,
    merged_tags,
    merged_words,
)
from memory.drafts.importance import LASTING_TYPES, Importance, Term, assess, repeat_boost
from memory.drafts.prepared import Prepared, prepare
from memory.embedding.queue import enqueue
from memory.ids import new_id
from memory.keys import Keys
from memory.lineage.wordings import Merged, keep_wordings
from memory.models import Memory, PossibleUpdate, Space
from memory.record.journal import record
from memory.redaction.tombstones import Graveyard, graveyard, refusal
from memory.remote.credentials import credentials_in
from memory.spaces.capacity import enforce_capacity
from memory.spaces.spaces import get_space, lock_space
from memory.spaces.themes import ensure_themes
from memory.texts.markers import is_marked, without_marked
from memory.writing.neighbourhood import Neighbourhood
from memory.writing.trace import Neighbour, Outcome, Trace

# Between two memories of one sitting no more time passes than this.
SITTING = timedelta(minutes=30)


def _own_words(draft: Draft) -> Draft:
    """Return the draft without recalled text that stands marked in it, or as it is if that leaves nothing."""
    rest = without_marked(draft.text)
    return draft if rest in {"", draft.text} else replace(draft, text=rest)


def remember(
    session: Session,
    user_id: UUID,
    space: str,
    draft: Draft,
    *,
    keys: Keys,
    now: datetime,
    actor: str,
    token_id: UUID | None = None,
) -> Outcome:
    """Remember one text; see `remember_many`."""
    return remember_many(session, user_id, space, [draft], keys=keys, now=now, actor=actor, token_id=token_id)[0]


def remember_many(
    session: Session,
    user_id: UUID,
    space: str,
    drafts: Sequence[Draft],
    *,
    keys: Keys,
    now: datetime,
    actor: str,
    token_id: UUID | None = None,
) -> list[Outcome]:
    """Store drafts in order, each as if it came alone, and return an outcome for each.

    Locks the space until the transaction ends; the caller commits, then nudges the embedder. Raises `InvalidError` for
    an unknown space, a bad theme or a `created_at` more than a day ahead of `now`. Near-duplicates merge at Hamming
    distance <= 3 unless they differ in a number, a date, a negation, a name or a link. What differs in that alone is
    kept and linked as a possible update of the newest such memories, three at most. Recalled text that comes back in
    its markers is left out, and a draft that is nothing else is refused. `token_id` is the token that writes, which new
    memories keep; one that is merged into stays with whoever wrote it first.
    """
    for draft in drafts:
        check_not_ahead(draft.created_at, now)
    prepared = [prepare(_own_words(draft)) for draft in drafts]
    locked = lock_space(session, user_id, space)
    if not locked.memory_enabled:
        return [_refused(item, "memory_off", f"memory is off in the space {space!r}") for item in prepared]
    writer = _Writer(session, locked, now, token_id)
    stones = graveyard(session, user_id, locked.id, keys, now)
    refused = [writer.refuse(item, stones) for item in prepared]
    # Refused drafts leave nothing behind, so their themes are not made.
    stored = [item for item, why in zip(prepared, refused, strict=True) if why is None]
    themes = {item.draft.theme for item in stored if item.draft.theme}
    writer.themes = ensure_themes(session, user_id, themes, now)
    writer.load(stored)
    outcomes = [why or writer.write(item) for item, why in zip(prepared, refused, strict=True)]
    session.flush()
    keep_wordings(session, user_id, writer.merged)
    enqueue(session, user_id, [memory.id for memory in writer.created], now)
    trimmed = enforce_capacity(session, locked, now=now, actor=actor)
    _record(session, user_id, locked, outcomes, actor=actor, now=now)
    return [_with_trim(outcome, trimmed) for outcome in outcomes]


def refused_as_forgotten(
    session: Session, user_id: UUID, space: str, drafts: Sequence[Draft], *, keys: Keys, now: datetime, actor: str
) -> list[Outcome | None]:
    """Return the refusal of each draft that says what was forgotten in the space, None for others; stores nothing."""
    here = get_space(session, user_id, space)
    stones = graveyard(session, user_id, here.id, keys, now)
    found = [_as_forgotten(session, prepare(draft), stones, now) for draft in drafts]
    _record(session, user_id, here, [each for each in found if each is not None], actor=actor, now=now)
    return found


def _as_forgotten(session: Session, item: Prepared, stones: Graveyard, now: datetime) -> Outcome | None:
    stone = stones.blocks(item.draft.text, item.normalised, item.simhash)
    return None if stone is None else _refused(item, "tombstone", f"this was {refusal(session, stone, now)}")


class _Writer:
    """Merges and inserts the drafts of a batch in one locked space."""

    def __init__(self, session: Session, space: Space, now: datetime, token_id: UUID | None) -> None:
        self.session = session
        self.space = space
        self.now = now
        self.token_id = token_id
        self.themes: dict[str, UUID] = {}
        self.created: list[Memory] = []
        # Drafts that merged into a memory which says the same in other words.
        self.merged: list[Merged] = []
        self._neighbourhood = Neighbourhood(session, space, now)
        self._last: Memory | None = None

    def load(self, items: Sequence[Prepared]) -> None:
        """Fetch every row that a draft may meet, and the one that was stored last."""
        self._neighbourhood.load(items)
        self._last = self._load_last()

    def _load_last(self) -> Memory | None:
        """Return the row that was stored last in the space: ids are in the order of their making."""
        scope = (Memory.user_id == self.space.user_id, Memory.space_id == self.space.id)
        return self.session.scalar(select(Memory).where(*scope).order_by(Memory.id.desc()).limit(1))

    def refuse(self, item: Prepared, stones: Graveyard) -> Outcome | None:
        """Return why a prepared draft is not stored here, None where it is."""
        if is_marked(item.draft.text):
            return _refused(item, "recalled", "this is nothing but what was recalled from here")
        return _as_forgotten(self.session, item, stones, self.now)

    def write(self, item: Prepared) -> Outcome:
        """Merge or insert one prepared draft."""
        same, neighbours = self._neighbourhood.meet(item)
        return self._insert(item, neighbours) if same is None else self._merge(same, item, neighbours)

    def _previous(self, memory: Memory) -> UUID | None:
        """Return what was stored just before, when it belongs to the same sitting: a turn answers the turn before."""
        last = self._last
        if last is None or abs(memory.created_at - last.created_at) > SITTING:
            return None
        return last.id

    def _merge(self, memory: Memory, item: Prepared, neighbours: list[Neighbour]) -> Outcome:
        draft = item.draft
        left = self._left_alone(memory, draft)
        memory.repeat_count += 1
        boost = repeat_boost(memory.repeat_count)
        terms = [Term("before", memory.importance, "what it weighed before")] if memory.importance else []
        terms.append(Term("repeat", boost, f"said {memory.repeat_count + 1} times"))
        if draft.manually_saved and not memory.manually_saved:
            terms.append(Term("explicit", 0.5, "saved by hand"))
        memory.importance = min(1.0, sum(term.delta for term in terms))
        memory.manually_saved = memory.manually_saved or draft.manually_saved
        memory.tags = merged_tags(memory.tags, draft.tags)
        memory.source_ids = merged_words(memory.source_ids, draft.source_ids, MAX_SOURCE_IDS)
        memory.source_message = memory.source_message or draft.source_message
        memory.source_message_id = memory.source_message_id or draft.source_message_id
        memory.theme_id = memory.theme_id or self.themes.get(draft.theme or "")
        memory.expires_at = later_expiry(memory.expires_at, draft.expires_at)
        memory.updated_at = self.now
        if draft.manually_saved:
            # Only with that wish: a memory that was unpinned stays so when it is merely said again.
            apply_pinning_policy(memory)
        if not neighbours[0].exact:
            self.merged.append(Merged(memory.id, item.digest, draft.text, self.now))
        reason = "an exact repeat" if neighbours[0].exact else "a near-duplicate that differs in nothing that matters"
        if left:
            reason = f"{reason}; left as before: {', '.join(left)}"
        trace = _trace(item, reason, memory, tuple(terms), neighbours)
        return Outcome(memory.id, "merged", "pending" if memory.needs_embedding else "ready", trace)

    def _left_alone(self, memory: Memory, draft: Draft) -> list[str]:
        """Return the fields of a draft that a merge does not take over, though they say something else."""
        theme_id = self.themes.get(draft.theme or "")
        asked_and_kept: dict[str, tuple[Any, Any]] = {
            # A caller who gave the default cannot be told from one who gave nothing.
            "type": (draft.type if draft.type != DEFAULT_TYPE else None, memory.type),
            "role": (draft.role if draft.role != DEFAULT_ROLE else None, memory.role),
            "theme": (theme_id, memory.theme_id or theme_id),
            "importance": (draft.importance, memory.importance),
            "metadata_confidence": (draft.metadata_confidence, memory.metadata_confidence),
            "source_message": (draft.source_message, memory.source_message or draft.source_message),
            "source_message_id": (draft.source_message_id, memory.source_message_id or draft.source_message_id),
            "created_at": (draft.created_at, memory.created_at),
            "expires_at": (draft.expires_at, later_expiry(memory.expires_at, draft.expires_at)),
        }
        return [name for name, (asked, kept) in asked_and_kept.items() if asked is not None and asked != kept]

    def _insert(self, item: Prepared, neighbours: list[Neighbour]) -> Outcome:
        importance = _importance(item.draft)
        memory = self._row(item, importance)
        apply_pinning_policy(memory)
        self.session.add(memory)
        memory.previous_id = self._previous(memory)
        self._last = memory
        self.created.append(memory)
        self._neighbourhood.add(memory)
        for neighbour in neighbours:
            self._link(memory, neighbour)
        reason = "new" if not neighbours else "like an older memory, but it differs: kept as a possible update"
        return Outcome(memory.id, "created", "pending", _trace(item, reason, memory, importance.terms, neighbours))

    def _row(self, item: Prepared, importance: Importance) -> Memory:
        draft = item.draft
        return Memory(
            user_id=self.space.user_id,
            id=new_id(),
            space_id=self.space.id,
            theme_id=self.themes.get(draft.theme or ""),
            type=draft.type,
            role=draft.role,
            text=draft.text,
            **item.columns,
            version=1,
            tags=list(draft.tags),
            source_ids=merged_words([], draft.source_ids, MAX_SOURCE_IDS),
            source_message=draft.source_message,
            source_message_id=draft.source_message_id,
            status="active",
            repeat_count=0,
            importance=importance.value,
            metadata_confidence=draft.metadata_confidence,
            pinned=False,
            manually_saved=draft.manually_saved,
            needs_embedding=True,
            created_at=draft.created_at or self.now,
            updated_at=self.now,
            expires_at=draft.expires_at,
            token_id=self.token_id,
        )

    def _link(self, memory: Memory, neighbour: Neighbour) -> None:
        self.session.add(
            PossibleUpdate(
                user_id=memory.user_id,
                memory_id=memory.id,
                older_id=neighbour.id,
                differs_in=neighbour.differs_in or "",
                created_at=self.now,
            )
        )


def apply_pinning_policy(memory: Memory) -> None:
    """Pin what the user saved by hand and means to hold always: preferences and instructions."""
    if memory.manually_saved and memory.type in LASTING_TYPES:
        memory.pinned = True


def _importance(draft: Draft) -> Importance:
    if draft.importance is not None:
        return Importance(draft.importance, (Term("given", draft.importance, "set by the caller"),))
    return assess(
        draft.text,
        draft.type,
        explicit=draft.manually_saved,
        metadata_confidence=draft.metadata_confidence,
        has_metadata=bool(draft.tags),
    )


def _trace(
    item: Prepared, reason: str, memory: Memory, terms: tuple[Term, ...], neighbours: Sequence[Neighbour]
) -> Trace:
    return Trace(
        normalised=item.normalised,
        simhash=f"{item.simhash:016x}",
        reason=reason,
        neighbours=tuple(neighbours),
        importance=memory.importance,
        terms=terms,
        repeat_count=memory.repeat_count,
        pinned=memory.pinned,
        possible_update_of=tuple(n.id for n in neighbours if n.differs_in is not None),
        credentials=credentials_in(item.draft.text),
    )


def _refused(item: Prepared, by: str, reason: str) -> Outcome:
    trace = Trace(normalised=item.normalised, simhash=f"{item.simhash:016x}", reason=reason)
    return Outcome(None, "refused", "none", trace, by)


def _with_trim(outcome: Outcome, trimmed: tuple[UUID, ...]) -> Outcome:
    if not trimmed:
        return outcome
    told = replace(outcome, trace=replace(outcome.trace, trimmed=trimmed))
    if told.kept is not None or told.id is None:
        return told
    # The trim took the memory that was just stored, so its outcome must not look as if it were kept.
    why = f"{told.trace.reason}; not kept, as the space is full and all else in it weighs more"
    return replace(told, embedding="none", trace=replace(told.trace, reason=why))


def _record(
    session: Session, user_id: UUID, space: Space, outcomes: Sequence[Outcome], *, actor: str, now: datetime
) -> None:
    """Write one audit event for each kind of outcome, however large the batch."""
    for verdict, count in Counter((o.outcome, o.refusal) for o in outcomes).items():
        ids = [str(o.id) for o in outcomes if o.outcome == verdict[0] and o.id is not None]
        action = f"memory.{verdict[0]}" if verdict[1] is None else f"memory.refused_{verdict[1]}"
        subject = UUID(ids[0]) if len(ids) == 1 else None
        details = {"space": space.slug, **({"ids": ids} if len(ids) > 1 else {})}
        record(session, user_id, action, actor=actor, now=now, subject_id=subject, count=count, details=details)
