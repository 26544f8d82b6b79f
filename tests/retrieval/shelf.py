"""Memories whose vectors are chosen, and questions as near to them as one likes."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from sqlalchemy import text

from evals.stock import model_of, stock
from memory.embedding.base import EmbeddingError
from memory.storage.database import act_as, user_session
from retrieval.policy import NAMED, policy_from
from retrieval.query import Dense, Query
from retrieval.search import search

NOW = datetime(2025, 6, 1, tzinfo=UTC)
DIMENSIONS = 384


class Embedder:
    """Gives the question one vector and what is left of it without its names another, or fails at that."""

    def __init__(self, vector, rest):
        self.vector, self.rest, self.asked = vector, rest, []

    def embed_one(self, text):
        self.asked += [text] * (text not in self.asked)
        if text == self.asked[0]:
            return self.vector, True
        if self.rest is None:
            raise EmbeddingError("the model is away", permanent=False)
        return self.rest, True


def pointing(near, cosine):
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[near], vector[-1] = cosine, np.sqrt(1 - cosine**2)
    return vector


# What is not read in time is judged by the rules, and a machine that runs other tests is slow.
PATIENCE_MS = 60_000.0


class Shelf:
    """Memories of one person with vectors at right angles to each other, and questions as near as one likes."""

    def __init__(self, runtime, person, texts, vectors=None):
        self.runtime, self.user_id, self.size = runtime, person.id, len(texts)
        self.vectors = np.eye(DIMENSIONS, dtype=np.float32)[: self.size] if vectors is None else vectors
        self.space_id = stock(runtime, person.id, texts, now=NOW, vectors=self.vectors, at_rest=False)
        with self.session() as session:
            self.model_id = model_of(session, self.user_id).id

    def session(self):
        return user_session(self.runtime.sessions, self.user_id)

    def ask(self, question, *, near=0, cosine=0.0, rest=0.0, policy=None, reader=lambda: None, now=NOW, **fields):
        query = Query(self.user_id, self.space_id, question, scope_size=self.size, **fields)
        chosen = policy_from({"reading_ms": PATIENCE_MS, **(policy or {})}, NAMED["balanced"])
        self.embedder = Embedder(pointing(near, cosine), None if rest is None else pointing(near, rest))
        # As a request does, so that a search may begin anew.
        with self.runtime.sessions() as session:
            act_as(session, self.user_id)
            dense = Dense(self.model_id, DIMENSIONS, self.embedder)
            result = search(session, query, chosen, dense=dense, now=now, reader=reader)
            session.commit()
            return result

    def found(self, question, **fields):
        return [hit.snippet for hit in self.ask(question, **fields).hits]

    def keep_at(self, moment):
        """Let all have been kept at a moment."""
        with self.session() as session:
            kept = text("UPDATE memories SET created_at = :moment WHERE user_id = :user_id")
            session.execute(kept, {"moment": moment, "user_id": self.user_id})

    def lose(self, which):
        """Let a slice of the memories wait for their vectors again."""
        mine = {"user_id": self.user_id, "space_id": self.space_id}
        with self.session() as session:
            ids = text("SELECT id FROM memories WHERE user_id = :user_id AND space_id = :space_id ORDER BY id")
            chosen = list(session.scalars(ids, mine))[which]
            waiting = text("""UPDATE embeddings SET state = 'pending', vector = NULL, due_at = 'infinity'
                WHERE user_id = :user_id AND memory_id = ANY(:ids)""")
            session.execute(waiting, {**mine, "ids": chosen})
