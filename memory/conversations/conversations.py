"""Conversations: opened, resumed, renamed, moved, archived, deleted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from memory.conversations.session_state import drop_states
from memory.drafts.drafts import check_moment, check_not_ahead, check_text
from memory.drafts.payloads import check_json
from memory.embedding.cache import drop_cached
from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.facts.facts import move_extracted
from memory.ids import among, new_id
from memory.keys import Keys
from memory.locks import Purpose, lock_name
from memory.models import Conversation, EntityMention, Episode, Memory, Message, Space
from memory.record.journal import record, redact, release_calls
from memory.redaction.fact_texts import extracted_from
from memory.redaction.telling import begin_to_tell
from memory.spaces.spaces import lock_space_by_id, lock_spaces
from memory.storage.unsynchronised import run_unsynchronised
from memory.texts.needles import Needles

LONGEST_NAME = 256
LONGEST_TITLE = 500
LONGEST_AUTO_TITLE = 80
LARGEST_EXTRA = 64 * 1024
_NO_SUCH = "there is no such conversation"


@dataclass(frozen=True, slots=True)
class Deletion:
    """How many rows went with a conversation, and how many memories stay without their source."""

    messages: int
    episodes: int
    facts: int
    memories_unlinked: int


def get_conversation(session: Session, user_id: UUID, conversation_id: UUID, *, within: UUID | None) -> Conversation:
    """Return the user's conversation; raises `NotFoundError` for anyone else's, or one outside the space `within`."""
    return found_within(session.get(Conversation, (user_id, conversation_id)), within)


def lock_conversation(
    session: Session, user_id: UUID, conversation_id: UUID, *, within: UUID | None = None, to_delete: bool = False
) -> Conversation:
    """Return the conversation, locked until the transaction ends and read anew.

    Writers of one conversation follow one another, and do not wait for those of another one. Spaces are locked before
    it, memories and episodes after (`memory.locks`). With `to_delete` this waits here for everybody who holds the
    conversation, as they may be about to wait for memories. Raises `NotFoundError`.
    """
    key = {"key_share": not to_delete}
    found = session.get(Conversation, (user_id, conversation_id), with_for_update=key, populate_existing=True)
    return found_within(found, within)


def lock_with_space(
    session: Session, user_id: UUID, conversation_id: UUID, *, within: UUID | None = None
) -> tuple[Conversation, Space]:
    """Lock the space that a conversation is in, then the conversation; raises `NotFoundError`."""
    for _ in range(5):
        space_id = get_conversation(session, user_id, conversation_id, within=within).space_id
        attempt = session.begin_nested()
        space = lock_space_by_id(session, user_id, space_id)
        conversation = lock_conversation(session, user_id, conversation_id, within=within)
        if space is not None and conversation.space_id == space_id:
            attempt.commit()
            return conversation, space
        # It was moved while we waited: the locks go with the savepoint, as a second space may not be waited for.
        attempt.rollback()
    raise ConflictError("the conversation is being moved; nothing was stored")


def found_within(conversation: Conversation | None, within: UUID | None) -> Conversation:
    """Return the conversation if there is one, in the space `within`; raises `NotFoundError`."""
    if conversation is None or within not in {None, conversation.space_id}:
        raise NotFoundError(_NO_SUCH)
    return conversation


def open_conversation(
    session: Session,
    user_id: UUID,
    space: Space,
    *,
    external_id: str | None = None,
    title: str | None = None,
    extra: dict[str, Any] | None = None,
    created_at: datetime | None = None,
    within: UUID | None = None,
    now: datetime,
    actor: str,
) -> tuple[Conversation, bool]:
    """Return the user's conversation of this `external_id`, or a new one in the space; the second value tells which.

    It is looked for in the space `within`, or everywhere. An `external_id` is unique in its space; among several
    spaces' the one in `space` comes first, then the latest. Raises `InvalidError`, also for a `created_at` that is
    more than a day ahead.
    """
    values = _checked({"title": title, "extra": extra or {}})
    check_moment("created_at", created_at)
    check_not_ahead(created_at, now)
    if external_id is not None:
        check_name(external_id, "external_id")
        found = _resume(session, user_id, external_id, space.id, within)
        if found is not None:
            return found, False
    conversation = Conversation(user_id=user_id, id=new_id(), space_id=space.id, **values)
    conversation.external_id = external_id or str(conversation.id)
    conversation.title_source = "user" if conversation.title else "auto"
    conversation.created_at = created_at or now
    conversation.updated_at = now
    session.add(conversation)
    session.flush()
    details = {"space": space.slug}
    subject = conversation.id
    record(session, user_id, "conversation.created", actor=actor, now=now, subject_id=subject, details=details)
    return conversation, True


def _resume(
    session: Session, user_id: UUID, external_id: str, space_id: UUID, within: UUID | None
) -> Conversation | None:
    statement = (
        select(Conversation)
        .where(Conversation.user_id == user_id, Conversation.external_id == external_id)
        .order_by(Conversation.space_id != space_id, Conversation.updated_at.desc(), Conversation.id)
        .limit(1)
    )
    if within is not None:
        statement = statement.where(Conversation.space_id == within)
    found = session.scalar(statement)
    if found is None:
        # Two clients that open the same conversation at once follow one another, and the second finds it.
        lock_name(session, f"{user_id}:{external_id}", Purpose.OPENING)
        found = session.scalar(statement)
    return found


def check_name(name: str, field: str) -> None:
    """Refuse a caller's own name for something that is empty, too long or not storable."""
    check_text(name, field)
    if len(name) > LONGEST_NAME:
        raise InvalidError(field, f"must be at most {LONGEST_NAME} characters")


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that these fields are stored in; an empty title is none."""
    columns = dict(values)
    if "title" in columns:
        columns["title"] = " ".join((columns["title"] or "").split())
        if columns["title"]:
            check_text(columns["title"], "title")
        if len(columns["title"]) > LONGEST_TITLE:
            raise InvalidError("title", f"must be at most {LONGEST_TITLE} characters")
    if "extra" in columns:
        check_json(columns["extra"], "metadata", most=LARGEST_EXTRA, for_index=True)
    return columns


def change_conversation(
    session: Session,
    user_id: UUID,
    conversation_id: UUID,
    changes: Mapping[str, Any],
    *,
    within: UUID | None = None,
    now: datetime,
    actor: str,
) -> Conversation:
    """Change `title`, `archived`, `extra` or `space` (a `Space`), all or none.

    An empty title gives the automatic one back. A move takes effect at once, for what was said before too: the scope of
    episodes is looked up when something is searched, and facts that were read out of it go along. What is archived is
    out of every search, the notes of entities included. Raises `InvalidError`, `NotFoundError`, and `ConflictError`
    when the other space has a conversation of this `external_id`.
    """
    values = _checked({name: changes[name] for name in ("title", "extra") if name in changes})
    if "archived" in changes or "space" in changes:
        # All spaces are locked, as any of them may have entities that are named here, or facts that were read out of
        # it. The worker that reads texts for names holds the space it reads for, so it writes none meanwhile.
        lock_spaces(session, user_id)
    conversation = lock_conversation(session, user_id, conversation_id, within=within)
    done: dict[str, dict[str, Any]] = {}
    if "space" in changes and changes["space"].id != conversation.space_id:
        done["moved"] = _move(session, conversation, changes["space"])
    if "title" in values:
        conversation.title = values["title"] or _automatic_title(session, conversation)
        conversation.title_source = "user" if values["title"] else "auto"
        done["renamed"] = {}
    if "archived" in changes and changes["archived"] != (conversation.archived_at is not None):
        conversation.archived_at = now if changes["archived"] else None
        done["archived" if changes["archived"] else "unarchived"] = {}
    if "extra" in values:
        conversation.extra = values["extra"]
        done["changed"] = {"fields": ["metadata"]}
    if done:
        conversation.updated_at = now
    for action, details in done.items():
        name = f"conversation.{action}"
        record(session, user_id, name, actor=actor, now=now, subject_id=conversation_id, details=details)
    session.flush()
    return conversation


def _move(session: Session, conversation: Conversation, space: Space) -> dict[str, Any]:
    taken = select(Conversation.id).where(
        Conversation.user_id == conversation.user_id,
        Conversation.space_id == space.id,
        Conversation.external_id == conversation.external_id,
    )
    if session.scalar(taken) is not None:
        raise ConflictError(f"the space {space.slug!r} has a conversation of the same external_id", "space")
    before = session.get_one(Space, (conversation.user_id, conversation.space_id))
    conversation.space_id = space.id
    facts = move_extracted(session, conversation.user_id, conversation.id, space.id)
    return {"from": before.slug, "to": space.slug, **({"facts": facts} if facts else {})}


def _automatic_title(session: Session, conversation: Conversation) -> str:
    first = select(Message.content).where(
        Message.user_id == conversation.user_id,
        Message.conversation_id == conversation.id,
        Message.role == "user",
        Message.recalled.is_(False),
    )
    return title_of(session.scalar(first.order_by(Message.sequence).limit(1)) or "")


def title_of(text: str) -> str:
    """Return the beginning of a text in one line, at most 80 characters, ending with a whole word where it is cut.

    >>> title_of("  Where do the  bees go in winter?  ")
    'Where do the bees go in winter?'
    """
    line = " ".join(text[: 20 * LONGEST_AUTO_TITLE].split())
    if len(line) <= LONGEST_AUTO_TITLE:
        return line
    cut = line[: LONGEST_AUTO_TITLE - 1]
    whole = cut if line[len(cut)] == " " else cut.rpartition(" ")[0]
    # A first word that is longer than that, or a script without spaces, is cut all the same.
    return f"{(whole or cut).rstrip(' ,;:.-')}…"


def delete_conversation(
    session: Session,
    user_id: UUID,
    conversation_id: UUID,
    *,
    within: UUID | None = None,
    keys: Keys,
    now: datetime,
    actor: str,
) -> Deletion:
    """Delete a conversation with its messages, episodes, mentions and links from calls of tools, for good.

    Facts that were extracted from it go too, with what calls tell of them. Memories that were learned from it stay,
    without their source. Of both kinds only those in the space `within` are counted. Raises `NotFoundError`.
    """
    get_conversation(session, user_id, conversation_id, within=within)
    # Memories of any space may come from here, and a space is locked before its memories are.
    lock_spaces(session, user_id)
    conversation = lock_conversation(session, user_id, conversation_id, within=within, to_delete=True)
    # Memories before episodes, as the embedder locks them, and calls before cached vectors, as whoever purges does.
    unlinked = _unlink_memories(session, conversation, within)
    begin_to_tell(session)
    facts = len(extracted_from(session, [conversation_id], within=within))
    redact(session, (), Needles(()), [conversation_id])
    release_calls(session, [conversation_id])
    episodes = drop_episodes(session, user_id, [conversation_id], keys)
    run_unsynchronised(session, delete(Message).where(*_said_in(conversation)))
    drop_states(session, user_id, [conversation_id])
    done = Deletion(conversation.message_count, episodes, facts, unlinked)
    session.expire(conversation)
    session.delete(conversation)
    record(
        session, user_id, "conversation.deleted", actor=actor, now=now, subject_id=conversation_id, details=asdict(done)
    )
    session.flush()
    return done


def drop_episodes(session: Session, user_id: UUID, conversation_ids: Collection[UUID], keys: Keys) -> int:
    """Delete the episodes of conversations, which the caller holds, with what hangs on them; return how many.

    One statement for each kind: left to the foreign keys, each row would take what hangs on it along one by one.
    """
    mine = (Episode.user_id == user_id, among(Episode.conversation_id, conversation_ids))
    # In the order of their ids, as the embedder locks them.
    locked = select(Episode.id, Episode.searched).where(*mine).order_by(Episode.id).with_for_update()
    texts = [text for _, text in session.execute(locked)]
    drop_cached(session, user_id, texts, keys)
    # Not by a list of them: a statement has room for 65,535 values.
    named = (EntityMention.user_id == user_id, EntityMention.episode_id.in_(select(Episode.id).where(*mine)))
    run_unsynchronised(session, delete(EntityMention).where(*named))
    run_unsynchronised(session, delete(Episode).where(*mine))
    return len(texts)


def _unlink_memories(session: Session, conversation: Conversation, within: UUID | None) -> int:
    """Take their source from the memories that were learned here; return how many there are in the space `within`."""
    said = select(Message.id).where(*_said_in(conversation))
    learned = (Memory.user_id == conversation.user_id, Memory.source_message_id.in_(said))
    held = select(Memory.space_id).where(*learned).order_by(Memory.id).with_for_update()
    places = session.scalars(held).all()
    run_unsynchronised(session, update(Memory).where(*learned).values(source_message_id=None))
    return sum(within in {None, place} for place in places)


def _said_in(conversation: Conversation) -> tuple[ColumnElement[bool], ...]:
    return Message.user_id == conversation.user_id, Message.conversation_id == conversation.id
