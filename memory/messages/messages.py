"""Messages: appended in one gapless order, idempotent by the caller's own ids."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.conversations.conversations import lock_conversation, lock_with_space, title_of
from memory.conversations.episodes import rewrite_episode, write_episodes
from memory.drafts.drafts import MAX_TEXT_BYTES, Draft, check_not_ahead, is_unseen
from memory.drafts.recalled import Stripped, strip_all_recalled
from memory.errors import ConflictError
from memory.ids import new_id
from memory.keys import Keys
from memory.messages.drafts import MessageDraft
from memory.messages.told_calls import Teller, record_told
from memory.models import Conversation, Memory, Message
from memory.texts.fingerprints import text_digest
from memory.texts.markers import without_marked
from memory.writing.remember import refused_as_forgotten, remember_many
from memory.writing.trace import Outcome

# The least that a conversation changes by.
TICK = timedelta(microseconds=1)
Kept = Literal["stored", "duplicate", "completed"]


@dataclass(frozen=True, slots=True)
class Scribe:
    """What is the same for all messages of one call: who writes, when, with which keys and counter of tokens.

    `within` confines the writer to the conversations of one space. `teller` is whose calls of tools a history tells of,
    and by whose token a memory is written.
    """

    keys: Keys
    count: Callable[[str], int]
    now: datetime
    actor: str
    correlation_id: str
    within: UUID | None = None
    teller: Teller = field(default_factory=Teller)


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one draft. `completed` is a partial message that is whole now.

    `memory` is the outcome of remembering it; `not_remembered` says why there was nothing to remember: `recalled`,
    `blank`, `partial`, `duplicate` or `too_long`. Of a duplicate `memory_id` is the memory that there is of it.
    """

    message: Message
    outcome: Kept
    memory: Outcome | None = None
    not_remembered: str | None = None
    memory_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """The conversation as it is now, what became of each draft, and the ids of episodes that changed."""

    conversation: Conversation
    stored: tuple[Stored, ...]
    episodes: tuple[UUID, ...]


def append(
    session: Session, user_id: UUID, conversation_id: UUID, drafts: Sequence[MessageDraft], scribe: Scribe
) -> Appended:
    """Append drafts in order, all or none.

    A `client_id` that is known with the same content is a duplicate; with other content it raises `ConflictError`,
    unless the stored message is partial: then it is replaced. A `created_at` over a day ahead raises `InvalidError`.
    Locks the conversation until the transaction ends, and before it its space if anything is to be remembered. The
    caller commits, then nudges the embedder.
    """
    if not any(draft.remember for draft in drafts):
        conversation = lock_conversation(session, user_id, conversation_id, within=scribe.within)
        return append_locked(session, conversation, drafts, scribe)
    conversation, space = lock_with_space(session, user_id, conversation_id, within=scribe.within)
    return append_locked(session, conversation, drafts, scribe, space.slug)


def append_locked(
    session: Session,
    conversation: Conversation,
    drafts: Sequence[MessageDraft],
    scribe: Scribe,
    space: str | None = None,
) -> Appended:
    """As `append`, to a conversation that is locked; `space` is the slug of its locked space, if any is to remember."""
    for draft in drafts:
        check_not_ahead(draft.created_at, scribe.now)
    writer = _Writer(session, conversation, scribe)
    stored = writer.keep(drafts)
    fresh = [item.message for item in stored if item.outcome != "duplicate"]
    record_told(session, fresh, scribe.teller, scribe.keys, scribe.now)
    # Memories before episodes, as the embedder locks them.
    if space is not None:
        stored = writer.remember(drafts, stored, space)
    episodes = writer.finish(stored)
    return Appended(conversation, tuple(stored), tuple(episodes))


class _Writer:
    """One locked conversation, and what one call adds to it."""

    def __init__(self, session: Session, conversation: Conversation, scribe: Scribe) -> None:
        self.session = session
        self.conversation = conversation
        self.scribe = scribe
        self._before = conversation.message_count
        self._tokens = 0
        self._stripped: dict[str, Stripped] = {}

    def keep(self, drafts: Sequence[MessageDraft]) -> list[Stored]:
        """Store what is new, complete what was partial, recognise what is known."""
        known = self._known({draft.client_id for draft in drafts if draft.client_id is not None})
        self._strip([each.content for each in drafts if (old := known.get(each.client_id)) is None or old.partial])
        stored: list[Stored] = []
        for draft in drafts:
            old = known.get(draft.client_id)
            if old is None:
                item = Stored(self._new(draft), "stored")
                known.update({draft.client_id: item.message} if draft.client_id is not None else {})
            elif _is_repeat(old, draft):
                item = Stored(old, "duplicate")
            elif old.partial and old.role == draft.role:
                item = Stored(self._completed(old, draft), "completed")
            else:
                named = f"{draft.where}.client_id" if draft.where else "client_id"
                raise ConflictError(f"{draft.client_id!r} names a message with other content already", named)
            stored.append(item)
        return self._numbered(stored)

    def _known(self, client_ids: Collection[str]) -> dict[str | None, Message]:
        if not client_ids:
            return {}
        statement = select(Message).where(
            Message.user_id == self.conversation.user_id,
            Message.conversation_id == self.conversation.id,
            Message.client_id.in_(client_ids),
        )
        return {message.client_id: message for message in self.session.scalars(statement)}

    def _new(self, draft: MessageDraft) -> Message:
        message = Message(
            user_id=self.conversation.user_id,
            id=new_id(),
            conversation_id=self.conversation.id,
            role=draft.role,
            client_id=draft.client_id,
            created_at=draft.created_at or self.scribe.now,
        )
        return self._written(message, draft)

    def _completed(self, message: Message, draft: MessageDraft) -> Message:
        self._tokens -= message.token_count
        return self._written(message, draft)

    def _written(self, message: Message, draft: MessageDraft) -> Message:
        """Put the words of a draft into a message."""
        message.content = draft.content
        message.model, message.partial = draft.model, draft.partial
        message.recalled = self._stripped[draft.content].recalled
        message.payload, message.payload_format = draft.payload, draft.payload_format
        message.token_count = self.scribe.count(message.content)
        message.correlation_id = self.scribe.correlation_id
        self._tokens += message.token_count
        return message

    def _numbered(self, stored: list[Stored]) -> list[Stored]:
        """Give new messages their places, without a gap where a duplicate stood between them."""
        added = [item.message for item in stored if item.outcome == "stored"]
        for place, message in enumerate(added, self._before + 1):
            message.sequence = place
        self.session.add_all(added)
        self.conversation.message_count = self._before + len(added)
        self.conversation.total_tokens += self._tokens
        if any(item.outcome != "duplicate" for item in stored):
            # Later than before in any case, even if the clock was set back: copies of the conversation compare this
            # moment.
            self.conversation.updated_at = max(self.scribe.now, self.conversation.updated_at + TICK)
        self._entitle(added)
        self.session.flush()
        return stored

    def _entitle(self, added: Sequence[Message]) -> None:
        if self.conversation.title:
            return
        titles = (title_of(self._own(message)) for message in added if message.role == "user")
        self.conversation.title = next((title for title in titles if title), "")

    def _own(self, message: Message) -> str:
        """Return what of a message its author said."""
        if not message.recalled:
            return message.content
        if message.content not in self._stripped:
            self._strip([message.content])
        return self._stripped[message.content].text

    def _strip(self, contents: Sequence[str]) -> None:
        """Find out what is recalled in contents, all at once: for each by itself it takes longer than to store it."""
        scribe, user_id = self.scribe, self.conversation.user_id
        stripped = strip_all_recalled(self.session, user_id, contents, now=scribe.now, within=scribe.within)
        self._stripped |= zip(contents, stripped, strict=True)

    def finish(self, stored: Sequence[Stored]) -> list[UUID]:
        """Write the episodes that come of it; return their ids."""
        added = [item.message for item in stored if item.outcome == "stored"]
        changed: list[UUID] = []
        for item in stored:
            if item.outcome == "completed":
                changed += rewrite_episode(self.session, item.message, self._own, self.scribe.now)
        changed += write_episodes(self.session, self.conversation, self._before, added, self._own, self.scribe.now)
        return list(dict.fromkeys(changed))

    def remember(self, drafts: Sequence[MessageDraft], stored: Sequence[Stored], space: str) -> list[Stored]:
        """Make memories of the messages that ask for it, as far as they say anything new."""
        result = list(stored)
        wanted: list[int] = []
        for number, (draft, item) in enumerate(zip(drafts, stored, strict=True)):
            if not draft.remember:
                continue
            why_not = self._why_not(item)
            result[number] = Stored(item.message, item.outcome, not_remembered=why_not)
            if why_not is None:
                wanted.append(number)
        if wanted:
            memories = [self._draft(stored[number].message) for number in wanted]
            outcomes = remember_many(
                self.session,
                self.conversation.user_id,
                space,
                memories,
                keys=self.scribe.keys,
                now=self.scribe.now,
                actor=self.scribe.actor,
                token_id=self.scribe.teller.token_id,
            )
            for number, outcome in zip(wanted, outcomes, strict=True):
                result[number] = Stored(stored[number].message, stored[number].outcome, outcome)
        result = self._as_forgotten(result, space)
        # After all others, as a message may repeat what this very call made a memory of.
        return self._with_known_memories(result)

    def _as_forgotten(self, stored: list[Stored], space: str) -> list[Stored]:
        """Say of what was recalled from a conversation, and forgotten as a memory, that it was forgotten."""
        said = {
            number: without_marked(item.message.content)
            for number, item in enumerate(stored)
            if item.not_remembered == "recalled" and len(item.message.content.encode()) <= MAX_TEXT_BYTES
        }
        drafts = {number: Draft(text) for number, text in said.items() if not is_unseen(text)}
        if not drafts:
            return stored
        refused = refused_as_forgotten(
            self.session,
            self.conversation.user_id,
            space,
            [*drafts.values()],
            keys=self.scribe.keys,
            now=self.scribe.now,
            actor=self.scribe.actor,
        )
        for number, outcome in zip(drafts, refused, strict=True):
            if outcome is not None:
                stored[number] = replace(stored[number], memory=outcome, not_remembered=None)
        return stored

    def _with_known_memories(self, stored: list[Stored]) -> list[Stored]:
        """Give duplicates the ids of their memories: who lost the first answer learns them by no other way."""
        repeats = {item.message.id: item.message for item in stored if item.not_remembered == "duplicate"}
        if not repeats:
            return stored
        found = self._memories_of(repeats.values())
        return [
            replace(item, memory_id=found.get(item.message.id)) if item.not_remembered == "duplicate" else item
            for item in stored
        ]

    def _memories_of(self, messages: Collection[Message]) -> dict[UUID, UUID]:
        """Return the memory of each message: the first that leads back to it, else one of the same words."""
        digests = {message.id: text_digest(self._own(message)) for message in messages}
        here = (Memory.space_id == self.conversation.space_id) & (Memory.status == "active")
        statement = select(Memory.id, Memory.source_message_id, Memory.text_digest).where(
            Memory.user_id == self.conversation.user_id,
            Memory.source_message_id.in_(digests) | (here & Memory.text_digest.in_(digests.values())),
            Memory.unexpired(self.scribe.now),
        )
        if self.scribe.within is not None:
            statement = statement.where(Memory.space_id == self.scribe.within)
        rows = self.session.execute(statement.order_by(Memory.id)).all()
        by_message = {row.source_message_id: row.id for row in reversed(rows)}
        by_words = {row.text_digest: row.id for row in reversed(rows)}
        known = {of: by_message.get(of, by_words.get(digest)) for of, digest in digests.items()}
        return {message_id: memory_id for message_id, memory_id in known.items() if memory_id is not None}

    def _why_not(self, item: Stored) -> str | None:
        if item.outcome == "duplicate":
            return "duplicate"
        if item.message.partial:
            return "partial"
        own = self._own(item.message)
        if is_unseen(own):
            return "recalled" if item.message.recalled else "blank"
        return "too_long" if len(own.encode()) > MAX_TEXT_BYTES else None

    def _draft(self, message: Message) -> Draft:
        own = self._own(message)
        return Draft(own, role=message.role, created_at=message.created_at, source_message_id=message.id)


def _is_repeat(old: Message, draft: MessageDraft) -> bool:
    """Tell whether a draft says nothing that the stored message does not."""
    if old.role != draft.role:
        return False
    if draft.partial:
        # A message that is sent again may be cut earlier than the first time, or may have arrived whole then.
        return old.content.startswith(draft.content)
    return not old.partial and (old.content, old.payload) == (draft.content, draft.payload)
