"""Redis as a place for copies: worth asking when it answers, never worth waiting for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from typing import TypeVar

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from memory.breaker import Breaker
from memory.copies import register

logger = logging.getLogger(__name__)

T = TypeVar("T")

TIMEOUT = 0.5  # seconds, for connecting and for each answer
PAUSE = 2.0  # seconds between tries while it is away
MOST_OWED = 100_000


class RedisLink:
    """A client that goes on without Redis while it is away, says so once, and comes back by itself. Thread-safe.

    It connects when it is first asked. Copies that could not be dropped during an outage are dropped before the next
    question is put; if the process ends first, they end with their own life.
    """

    def __init__(self, url: str, *, timeout: float = TIMEOUT, pause: float = PAUSE) -> None:
        # One more try at once, as a connection that idled through a restart is found dead only when it is used.
        self._client = Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 1),
            client_name="commonplace",
        )
        self._breaker = Breaker(pause)
        self._owed: set[str] = set()
        self._lock = threading.Lock()
        register(self)

    def ask(self, command: Callable[[Redis], T], default: T) -> T:
        """Return what `command` returns, `default` while Redis is away."""
        if not self._breaker.allows():
            return default
        try:
            self._settle()
            answer = command(self._client)
        except (RedisError, OSError) as error:
            if self._breaker.failed():
                logger.warning("Redis is away (%s): going on without it, only slower", type(error).__name__)
            return default
        if self._breaker.worked():
            logger.info("Redis answers again")
        return answer

    def drop(self, names: Collection[str]) -> None:
        """Delete keys, later if it cannot be done now."""
        with self._lock:
            if len(self._owed) + len(names) <= MOST_OWED:
                self._owed.update(names)
        self.ask(lambda _client: None, None)

    def _settle(self) -> None:
        if not self._owed:
            return
        with self._lock:
            names = list(self._owed)
        self._client.delete(*names)
        with self._lock:
            self._owed.difference_update(names)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()
