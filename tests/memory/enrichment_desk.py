"""What tests of enrichment share: conversations without HTTP, vectors at once, and a turn of the worker."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import select

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.embedding.models import active_model, note_success
from memory.embedding.queue import Made, claim, store
from memory.enrichment.enrich import Enricher
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Entity
from memory.spaces.spaces import create_space, get_space


class Desk:
    """One person's book, with conversations and a worker that reads for that person alone."""

    def __init__(self, book: Any) -> None:
        self.book = book
        self.user_id = book.user_id
        self.enricher = Enricher(book.runtime.sessions, utc_now)

    def space(self, slug: str, **settings: Any) -> UUID:
        with self.book.session() as session:
            return create_space(session, self.user_id, slug, soft_cap=200, now=utc_now(), actor="test", **settings).id

    def conversation(self, space: str = "default") -> UUID:
        with self.book.session() as session:
            target = get_space(session, self.user_id, space)
            return open_conversation(session, self.user_id, target, now=utc_now(), actor="test")[0].id

    def turn(self, conversation: UUID, said: str, reply: str = "I see.", **fields: Any) -> UUID:
        """Append a question with its reply; returns the id of the episode."""
        return self._append(conversation, [MessageDraft("user", said, **fields), MessageDraft("assistant", reply)])

    def say(self, conversation: UUID, role: str, content: str) -> UUID:
        """Append one message; returns the id of the episode that it changed."""
        return self._append(conversation, [MessageDraft(role, content)])

    def _append(self, conversation: UUID, drafts: list[MessageDraft]) -> UUID:
        scribe = Scribe(self.book.runtime.keys, lambda text: len(text.split()), utc_now(), "test", "-")
        with self.book.session() as session:
            return append(session, self.user_id, conversation, drafts, scribe).episodes[-1]

    def read(self) -> int:
        """Let the worker read all that waits."""
        total = 0
        while done := self.enricher.enrich_user(self.user_id):
            total += done
        return total

    def entities(self, space: str | None = None) -> dict[str, str]:
        """Return the entities by name, each with its type."""
        mine = select(Entity.name, Entity.type).where(Entity.user_id == self.user_id)
        with self.book.session() as session:
            if space is not None:
                mine = mine.where(Entity.space_id == get_space(session, self.user_id, space).id)
            return dict(session.execute(mine).all())


def embed_all(book: Any) -> None:
    """Give the person's waiting memories their vectors, and leave those of other tests alone."""
    book.runtime.backfill.adopt(book.user_id)
    now = utc_now()
    with book.session() as session:
        jobs = claim(session, book.user_id, 2000, now)
        model = active_model(session, book.user_id)
        vectors = book.runtime.providers.embedder(model).embedder.embed([job.text for job in jobs])
        note_success(session, book.user_id, model.id, vectors.shape[1])
        store(session, jobs, [Made(vector, vectors[:0]) for vector in vectors], now)
