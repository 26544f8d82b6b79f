"""Vectors of texts that were embedded before: people and agents repeat themselves, and a text's vector never changes.

Two levels: the latest ones in the memory of the process, and all of the last seven days in Redis or in the database.
Both know a text by a keyed digest of it and its owner: neither tells what was asked, and what one user asks is not
faster because another asked it before.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from redis import Redis
from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory import copies
from memory.embedding.base import Embedder
from memory.keys import Keys
from memory.remote.redis_link import RedisLink
from memory.storage.driver import fetch

Vector = NDArray[np.float32]

LIFE = timedelta(days=7)
# In the memory of a process, where nobody can take a vector away from outside: with the shared level behind it, a
# short life costs little, and what was forgotten elsewhere is gone from here as soon.
RECENT_SECONDS = 600.0
_PREFIX = "embedding_cache:"

_FETCH = """
SELECT digest, vector FROM cached_embeddings
WHERE user_id = %(user_id)s AND model = %(model)s AND digest = ANY(%(digests)s) AND expires_at > %(now)s
"""

_KEEP = """
INSERT INTO cached_embeddings (user_id, model, digest, vector, expires_at)
VALUES (%(user_id)s, %(model)s, %(digest)s, %(vector)s, %(expires_at)s)
ON CONFLICT (user_id, model, digest) DO UPDATE SET vector = excluded.vector, expires_at = excluded.expires_at
"""

# Locked in the order in which they are written.
_DROP = sql("""
WITH found AS (
    SELECT model, digest FROM cached_embeddings
    WHERE user_id = :user_id AND digest = ANY(:digests) ORDER BY model, digest FOR UPDATE
)
DELETE FROM cached_embeddings c USING found f
WHERE c.user_id = :user_id AND c.model = f.model AND c.digest = f.digest
""")


@dataclass(frozen=True, slots=True)
class Drawer:
    """Whose vectors, and of which model: `model` names the vector space, whichever row of it serves just now."""

    user_id: UUID | None
    model: str


class Recent:
    """The most recently used vectors of a process, by the name of the text; safe to share between threads."""

    def __init__(
        self, size: int = 4096, life: float = RECENT_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._size = size
        self._life = life
        self._clock = clock
        self._kept: OrderedDict[str, dict[str, tuple[Vector, float]]] = OrderedDict()
        self._lock = threading.Lock()
        copies.register(self)

    def get(self, name: str, model: str) -> Vector | None:
        """Return the vector that the model made of the text, None if it is not here or too old."""
        with self._lock:
            vector, until = self._kept.get(name, {}).get(model, (None, 0.0))
            if vector is None or self._clock() >= until:
                return None
            self._kept.move_to_end(name)
            return vector

    def put(self, name: str, model: str, vector: Vector) -> None:
        """Keep a vector, from now on read-only; the least recently used text makes room for it."""
        vector.setflags(write=False)
        with self._lock:
            self._kept.setdefault(name, {})[model] = (vector, self._clock() + self._life)
            self._kept.move_to_end(name)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def drop(self, names: Collection[str]) -> None:
        """Drop texts, whatever model embedded them."""
        with self._lock:
            for name in names:
                self._kept.pop(name, None)


class CachedEmbedder:
    """An embedder with a memory; safe to share between threads.

    Without `recent` it has one of its own for `size` texts, and the text alone is the name.
    """

    def __init__(
        self,
        embedder: Embedder,
        size: int = 4096,
        *,
        recent: Recent | None = None,
        model: str = "",
        name: Callable[[str], str] = str,
    ) -> None:
        self.embedder = embedder
        self._recent = recent or Recent(size)
        self._model = model
        self._name = name

    def recall(self, text: str) -> Vector | None:
        """Return the vector of a text that was embedded lately, None if it must be made."""
        return self._recent.get(self._name(text), self._model)

    def remember(self, text: str, vector: Vector) -> None:
        """Keep the vector of a text."""
        self._recent.put(self._name(text), self._model, vector)

    def embed_one(self, text: str) -> tuple[Vector, bool]:
        """Return (vector of shape (dim,), read-only and of length 1; whether it came from the cache).

        Raises `EmbeddingError` as the wrapped embedder does; a failure is not kept.
        """
        kept = self.recall(text)
        if kept is not None:
            return kept, True
        # Outside any lock, so that a slow provider does not hold up cached queries.
        vector: Vector = self.embedder.embed([text])[0]
        self.remember(text, vector)
        return vector, False


class SharedVectors:
    """The second level: in Redis where there is one, else in the table `cached_embeddings`, for seven days.

    Vectors are kept in half precision, as all stored vectors are. While Redis is away nothing is found or kept.
    """

    def __init__(self, keys: Keys, redis: RedisLink | None = None) -> None:
        self._keys = keys
        self._redis = redis

    @property
    def in_redis(self) -> bool:
        """Tell whether the vectors are in Redis, not in the database."""
        return self._redis is not None

    def name(self, user_id: UUID | None, text: str) -> str:
        """Return the name under which a user's text is known: a Redis key."""
        return _name(_digest(self._keys, user_id, text))

    def fetch(self, session: Session, drawer: Drawer, texts: Sequence[str], now: datetime) -> dict[str, Vector]:
        """Return the vectors that are kept, by text; the session's user must be the drawer's."""
        if not texts:
            return {}
        digests = {_digest(self._keys, drawer.user_id, text): text for text in texts}
        if self._redis is not None:
            nothing: dict[bytes, Vector] = {}
            found = self._redis.ask(lambda client: _from_redis(client, drawer, list(digests)), nothing)
        else:
            values = {"user_id": drawer.user_id, "model": drawer.model, "digests": list(digests), "now": now}
            rows = fetch(session, _FETCH, values)
            found = {bytes(digest): vector.to_numpy().astype(np.float32) for digest, vector in rows}
        return {digests[digest]: vector for digest, vector in found.items()}

    def keep(self, session: Session, drawer: Drawer, vectors: Mapping[str, Vector], now: datetime) -> None:
        """Keep vectors by text. The caller commits."""
        if not vectors:
            return
        named = {_digest(self._keys, drawer.user_id, text): vector for text, vector in vectors.items()}
        if self._redis is not None:
            self._redis.ask(lambda client: _to_redis(client, drawer, named), None)
            return
        # In one order for everyone, so that two writers of the same texts do not wait for each other.
        rows = [
            {
                "user_id": drawer.user_id,
                "model": drawer.model,
                "digest": digest,
                "vector": HalfVector(vector),
                "expires_at": now + LIFE,
            }
            for digest, vector in sorted(named.items(), key=itemgetter(0))
        ]
        session.connection().exec_driver_sql(_KEEP, rows)


def drop_cached(session: Session, user_id: UUID, texts: Iterable[str], keys: Keys) -> None:
    """Drop the cached vectors of a user's texts: from the database now, from Redis and this process at commit.

    Other processes keep theirs for ten minutes at most, where only the whole text leads to them.
    """
    digests = [_digest(keys, user_id, text) for text in texts]
    if digests:
        session.execute(_DROP, {"user_id": user_id, "digests": digests})
        copies.drop_after_commit(session, map(_name, digests))


def _digest(keys: Keys, user_id: UUID | None, text: str) -> bytes:
    # As embedders do with what UTF-8 cannot carry.
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return keys.digest("embedding cache", f"{user_id}:{clean}")


def _name(digest: bytes) -> str:
    return f"{_PREFIX}{digest.hex()}"


def _from_redis(client: Redis, drawer: Drawer, digests: Sequence[bytes]) -> dict[bytes, Vector]:
    pipeline: Any = client.pipeline(transaction=False)
    for digest in digests:
        pipeline.hget(_name(digest), drawer.model)
    packed = {digest: data for digest, data in zip(digests, pipeline.execute(), strict=True) if data}
    # A vector of another length was not written by this model: it is left out, and made anew.
    return {
        digest: np.frombuffer(data, dtype="<f2").astype(np.float32)
        for digest, data in packed.items()
        if len(data) % 2 == 0
    }


def _to_redis(client: Redis, drawer: Drawer, vectors: Mapping[bytes, Vector]) -> None:
    pipeline: Any = client.pipeline(transaction=True)
    for digest, vector in vectors.items():
        pipeline.hset(_name(digest), drawer.model, vector.astype("<f2").tobytes())
        pipeline.expire(_name(digest), LIFE)
    pipeline.execute()
