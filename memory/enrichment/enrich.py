"""Enrichment: what waits is read outside of any transaction, and what was found is written where it still fits."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from memory.clock import Clock
from memory.drafts.drafts import MAX_TAG_LENGTH
from memory.drafts.importance import CONFIDENT, METADATA, assess, repeat_boost
from memory.enrichment.detectors import PERSON
from memory.enrichment.findings import Findings, Name, derived_tags
from memory.enrichment.mentions import Origin, mention
from memory.enrichment.propose import LARGEST_SCAN, propose_tags, propose_updates
from memory.enrichment.read import read_texts
from memory.enrichment.waiting import Item, waiting_items
from memory.models import DEFAULT_SPACE, Conversation, Episode, Memory, Space
from memory.remote.llm import ChatModel
from memory.spaces.spaces import lock_spaces
from memory.storage.database import user_session

logger = logging.getLogger(__name__)

# So many texts are read in about a tenth of a second: a new memory waits no longer than that for its vector.
BATCH = 32
# A language model takes a second or more for each.
MODEL_BATCH = 8
MOST_DERIVED_TAGS = 12
Reader = Callable[[Sequence[str], ChatModel | None], Sequence[Findings | None]]


class Enricher:
    """The worker's loop over texts that wait to be read. One instance per process; sessions are opened per step."""

    def __init__(
        self,
        sessions: sessionmaker[Session],
        clock: Clock,
        chat_model: ChatModel | None = None,
        reader: Reader = read_texts,
    ) -> None:
        self._sessions = sessions
        self._clock = clock
        self._chat_model = chat_model
        self._reader = reader
        self._last: UUID | None = None

    def step(self) -> int:
        """Read one batch, in turn of all users who have something waiting; returns how many texts were settled.

        0 says that nothing is left to be read by now.
        """
        with self._sessions() as session:
            users = sorted(session.scalars(select(func.users_with_unenriched_items(self._clock()))))
        batch = BATCH if self._chat_model is None else MODEL_BATCH
        share = max(1, batch // max(1, len(users)))
        # Begins behind the user who was last: others are kept waiting neither by anybody's backlog nor by texts that
        # must wait themselves.
        turns = deque(sorted(users, key=lambda user: (self._last is not None and user <= self._last, user)))
        total = 0
        while turns and total < batch:
            self._last = turns.popleft()
            settled = self.enrich_user(self._last, share)
            total += settled
            if settled >= share:
                turns.append(self._last)
        return total

    def enrich_user(self, user_id: UUID, most: int = BATCH) -> int:
        """Read at most so many of one user's texts; returns how many were settled, well or badly."""
        items = self._waiting(user_id, most)
        if self._chat_model is None:
            return self._read(user_id, items, None)
        # A language model takes its time for each: what was forgotten meanwhile, or is off by now, is not sent to it.
        due = (item for item in items if item in self._waiting(user_id, BATCH))
        return sum(self._read(user_id, [item], self._model_for(user_id, item)) for item in due)

    def _model_for(self, user_id: UUID, item: Item) -> ChatModel | None:
        """Return the language model, to which nothing is sent of a space that is incognito by default."""
        with user_session(self._sessions, user_id) as session:
            space = session.get(Space, (user_id, item.space_id))
            return None if space is None or space.incognito_default else self._chat_model

    def _waiting(self, user_id: UUID, most: int) -> list[Item]:
        with user_session(self._sessions, user_id) as session:
            return waiting_items(session, user_id, most, now=self._clock())

    def _read(self, user_id: UUID, items: Sequence[Item], model: ChatModel | None) -> int:
        if not items:
            return 0
        readable = [item for item in items if item.text]
        found = dict(
            zip(
                [item.id for item in readable],
                self._reader([item.text for item in readable], model),
                strict=True,
            )
        )
        return self._settle(user_id, items, found)

    def _settle(self, user_id: UUID, items: Sequence[Item], found: Mapping[UUID, Findings | None]) -> int:
        """Write what was found; what cannot be written is done without, and takes no other text along."""
        try:
            with user_session(self._sessions, user_id) as session:
                return _Writer(session, user_id, self._clock()).settle(items, found)
        except OperationalError:
            raise  # The database is away, or two waited for each other: nothing is wrong with the texts.
        except Exception as error:
            # The kind alone is logged, as the message of the error may quote the text.
            logger.error("what was found in %d texts was not written: %s", len(items), type(error).__name__)
            if len(items) == 1:
                return self._settle(user_id, items, {}) if found else 0
        return sum(self._settle(user_id, [item], found) for item in items)


@dataclass(frozen=True, slots=True)
class _Told:
    """A text whose names are to be written: its space at this moment, and where it stands."""

    space_id: UUID
    origin: Origin
    names: tuple[Name, ...]


class _Writer:
    """One transaction: spaces are locked before memories and episodes, and those in the order of their ids."""

    def __init__(self, session: Session, user_id: UUID, now: datetime) -> None:
        self.session = session
        self.user_id = user_id
        self.now = now

    def settle(self, items: Sequence[Item], found: Mapping[UUID, Findings | None]) -> int:
        """Write what was found; rows that another writer holds, or that changed meanwhile, keep waiting."""
        spaces = {space.id: space for space in lock_spaces(self.session, self.user_id, {i.space_id for i in items})}
        versions = {item.id: item.version for item in items}
        off = {space.id for space in spaces.values() if not space.memory_enabled}
        unchanged = self._unchanged(Memory, [item.id for item in items if not item.is_episode], versions)
        # Where memory is off, memories wait and are not changed, and nothing is learned from what is said meanwhile. A
        # memory that was moved since it was read is read again, as it has to name entities of its new space.
        memories = [memory for memory in unchanged if memory.space_id in spaces and memory.space_id not in off]
        episodes = self._unchanged(Episode, [item.id for item in items if item.is_episode], versions)
        told = [*self._memories(memories, spaces, found), *self._episodes(episodes, spaces, found)]
        self.session.flush()
        self._mention([text for text in told if text.space_id not in off], spaces)
        return len(memories) + len(episodes)

    def _unchanged(self, model: Any, ids: Sequence[UUID], versions: Mapping[UUID, int]) -> list[Any]:
        if not ids:
            return []
        rows = select(model).where(model.user_id == self.user_id, model.id.in_(ids)).order_by(model.id)
        locked = rows.with_for_update(key_share=True, skip_locked=True)
        found = self.session.scalars(locked.execution_options(populate_existing=True))
        return [row for row in found if row.version == versions[row.id] and _waits(row)]

    def _memories(
        self, memories: Sequence[Memory], spaces: Mapping[UUID, Space], found: Mapping[UUID, Findings | None]
    ) -> Iterable[_Told]:
        proposed = self._proposals(memories, spaces)
        # What was moved or brought back says nothing new, and who talks goes on about the same thing.
        new = [each for each in memories if each.enriched_version != 0 and not _is_a_turn(each, found.get(each.id))]
        self._look_for_older(new, spaces)
        for memory in memories:
            if findings := found.get(memory.id):
                findings = replace(findings, tags=(*findings.tags, *proposed.get(memory.id, ())))
                _enrich(memory, findings)
                yield _Told(memory.space_id, Origin(memory_id=memory.id), findings.names)
            memory.enriched_version = memory.version

    def _proposals(self, memories: Sequence[Memory], spaces: Mapping[UUID, Space]) -> dict[UUID, Any]:
        proposed: dict[UUID, Any] = {}
        for space_id, its in _by_small_space(memories, spaces):
            proposed |= propose_tags(self.session, self.user_id, space_id, [memory.id for memory in its])
        return proposed

    def _look_for_older(self, memories: Sequence[Memory], spaces: Mapping[UUID, Space]) -> None:
        for space_id, its in _by_small_space(memories, spaces):
            propose_updates(self.session, self.user_id, space_id, its, now=self.now)

    def _episodes(
        self, episodes: Sequence[Episode], spaces: Mapping[UUID, Space], found: Mapping[UUID, Findings | None]
    ) -> Iterable[_Told]:
        ids = {episode.conversation_id for episode in episodes}
        mine = select(Conversation.id, Conversation.space_id).where(
            Conversation.user_id == self.user_id, Conversation.id.in_(ids)
        )
        now_in = {row.id: row.space_id for row in self.session.execute(mine)} if ids else {}
        for episode in episodes:
            space_id = now_in.get(episode.conversation_id)
            if space_id is None or space_id not in spaces:
                continue  # It was moved since it was read, and is read again.
            if findings := found.get(episode.id):
                yield _Told(space_id, Origin(episode_id=episode.id), findings.names)
            episode.needs_enrichment = False

    def _mention(self, told: Iterable[_Told], spaces: Mapping[UUID, Space]) -> None:
        by_space: dict[UUID, list[tuple[Origin, tuple[Name, ...]]]] = defaultdict(list)
        for text in told:
            if text.space_id in spaces and spaces[text.space_id].slug != DEFAULT_SPACE:
                by_space[text.space_id].append((text.origin, text.names))
        for space_id in sorted(by_space):
            mention(self.session, self.user_id, space_id, by_space[space_id], now=self.now)


def _by_small_space(
    memories: Iterable[Memory], spaces: Mapping[UUID, Space]
) -> Iterable[tuple[UUID, Sequence[Memory]]]:
    """Give memories by their spaces, of those that are small enough for all their vectors to be gone through."""
    found: dict[UUID, list[Memory]] = defaultdict(list)
    for memory in memories:
        found[memory.space_id].append(memory)
    return [(each, its) for each, its in found.items() if each in spaces and spaces[each].documents <= LARGEST_SCAN]


def _waits(row: Memory | Episode) -> bool:
    return row.enriched_version != row.version if isinstance(row, Memory) else row.needs_enrichment


def _is_a_turn(memory: Memory, findings: Findings | None) -> bool:
    """Tell whether a memory is a turn of a talk: it begins with the name of who speaks."""
    persons = (name.name for name in findings.names if name.type == PERSON) if findings else ()
    return memory.text.startswith(tuple(f"{each}:" for each in persons))


def _enrich(memory: Memory, findings: Findings) -> None:
    """Write what was found in a memory's text; a confidence that the caller gave stands until the text changes."""
    if _earns_importance(memory, findings):
        memory.importance = min(1.0, memory.importance + METADATA)
    if memory.metadata_confidence is None or memory.enriched_version is not None:
        memory.metadata_confidence = findings.confidence
    memory.derived_tags = derived_tags(findings, memory.tags, MOST_DERIVED_TAGS, MAX_TAG_LENGTH)


def _earns_importance(memory: Memory, findings: Findings) -> bool:
    """Tell whether names and tags add to the importance: once, when they first come and it was not set by hand."""
    if memory.enriched_version is not None or (findings.confidence or 0.0) < CONFIDENT:
        return False
    had_it = bool(memory.tags) and (memory.metadata_confidence or 0.0) >= CONFIDENT
    return not had_it and _is_by_rule(memory)


def _is_by_rule(memory: Memory) -> bool:
    """Tell whether the importance is what the rules of the write path make it, so that nobody has set it."""
    repeats = sum(repeat_boost(count) for count in range(1, min(memory.repeat_count, 1000) + 1))
    saved = 0.5 if memory.manually_saved else 0.0
    expected = []
    # A memory that got its type later has the importance of a note of these words.
    for type_ in (memory.type, "note"):
        base = {
            explicit: assess(memory.text, type_, explicit=explicit, metadata_confidence=None, has_metadata=False).value
            for explicit in (True, False)
        }
        # With what saving by hand adds, whether that was at first or later.
        expected += [base[bool(saved)] + repeats, base[False] + saved + repeats]
    return any(abs(min(1.0, value) - memory.importance) < 1e-4 for value in expected)
