"""One person whose memories are embedded, for tests of who embeds what, and when."""

from __future__ import annotations

from typing import Any

from memory.clock import utc_now
from memory.embedding import queue
from memory.embedding.backfill import Backfill
from memory.embedding.models import active_model
from memory.embedding.providers import Providers, save_setting

TEXTS = ["Ada keeps bees", "The bridge opens in spring", "Tea grows on the hills", "Our cat sleeps all day"]


def eight(text: str) -> list[float]:
    return [float(len(text)), 1, 2, 3, 4, 5, 6, 7]


def eight_wide(body: dict[str, Any]) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": eight(words)} for i, words in enumerate(body["input"])]}


def settings(provider: Any, **changes: Any) -> dict[str, Any]:
    fields = {"enabled": True, "provider_type": "openai", "endpoint_url": provider.url, "model": "tiny"}
    return {**fields, "api_key": None, "dimensions": None, **changes}


class Clock:
    """Tells the time that it was set to."""

    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> Any:
        return self.now


class OneUser(Backfill):
    """A backfill for one person alone: other tests leave rows behind that are no business of this one."""

    user_id: Any
    flips = True

    def _across_users(self, function: Any) -> list[Any]:
        return [self.user_id]

    def _flip(self, user_id: Any) -> None:
        if self.flips:
            super()._flip(user_id)


class Work:
    """One person, their backfill and its clock."""

    def __init__(self, runtime: Any, book: Any, providers: Providers, clock: Any) -> None:
        self.book, self.providers, self.clock = book, providers, clock
        self.backfill = OneUser(runtime.sessions, providers, clock)
        self.backfill.user_id = book.user_id

    def use(self, provider: Any, **changes: Any) -> None:
        with self.book.session() as session:
            fields = settings(provider, **changes)
            save_setting(session, self.book.user_id, fields, keys=self.book.runtime.keys, now=self.clock())

    def write(self, *texts: str) -> list[Any]:
        return [outcome.id for outcome in self.book.write_many(texts or TEXTS, now=self.clock())]

    def claim(self, most: int = 100) -> list[queue.Job]:
        with self.book.session() as session:
            return queue.claim(session, self.book.user_id, most, self.clock())

    def states(self, model: str = "tiny") -> list[str]:
        return self.book.all(
            "SELECT e.state FROM embeddings e JOIN embedding_models m ON m.id = e.model_id WHERE m.model = :model",
            model=model,
        )

    def waiting(self) -> int:
        return self.book.one("SELECT count(*) FROM memories WHERE needs_embedding")

    def dimensions(self) -> set[int]:
        return set(self.book.all("SELECT vector_dims(vector) FROM embeddings WHERE state = 'ready'"))

    def active(self) -> Any:
        with self.book.session() as session:
            model = active_model(session, self.book.user_id)
            session.expunge_all()
            return model


def picky(body: dict[str, Any]) -> Any:
    """Answer no vectors where one of the texts is bad."""
    return {"no": "vectors"} if any("bad" in words for words in body["input"]) else eight_wide(body)
