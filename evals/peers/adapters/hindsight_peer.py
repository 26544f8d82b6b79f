"""Hindsight without a language model: a bank for each user, a document for each memory, stored as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

from hindsight_api import MemoryEngine
from hindsight_api.config import get_config
from hindsight_api.engine.task_backend import SyncTaskBackend
from hindsight_api.models import RequestContext

T = TypeVar("T")
BATCH = 100


class Peer:
    """Which arms of its search run is said by the environment."""

    packages = ("hindsight-api-slim", "onnxruntime", "asyncpg")

    def open(self, options: dict[str, Any]) -> str:
        """Migrate the database and load the model."""
        self._loop = asyncio.new_event_loop()
        self._engine = MemoryEngine(db_url=options["postgres"], task_backend=SyncTaskBackend())
        self._context = RequestContext()
        self._wait(self._engine.initialize())
        config = get_config()
        return f"provider none, {config.embeddings_provider} embeddings, reranker {config.reranker_provider}"

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def store(self, user: str, memories: list[dict[str, Any]]) -> None:
        """Retain in batches; what is left for the background is done at once."""
        for start in range(0, len(memories), BATCH):
            contents = [self._content(each) for each in memories[start : start + BATCH]]
            self._wait(self._engine.retain_batch_async(user, contents, request_context=self._context))

    @staticmethod
    def _content(memory: dict[str, Any]) -> dict[str, Any]:
        dated = {"event_date": datetime.fromisoformat(memory["date"])} if memory["date"] else {}
        return {"content": memory["text"], "document_id": memory["id"], "metadata": {"key": memory["id"]}, **dated}

    def search(self, user: str, text: str, limit: int) -> list[tuple[str, float | None]]:
        """Recall; it counts tokens, not hits, so the first ones are taken.

        Without a reranker its final score is of ranks, which tell nothing of a cutoff: that of meaning is told.
        """
        found = self._wait(self._engine.recall_async(user, text, request_context=self._context))
        return [(each.document_id, each.scores.semantic or 0.0) for each in found.results][:limit]

    def close(self) -> None:
        """Close the pools."""
        self._wait(self._engine.close())
