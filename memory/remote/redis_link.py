"""Redis as a place for copies: worth asking when it answers, never worth waiting for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from memory.copies import register
from memory.portions import portions
from memory.remote.breaker import Breaker

logger = logging.getLogger(__name__)

T = TypeVar("T")

TIMEOUT = 0.5  # seconds, for connecting and for each answer
PAUSE = 2.0  # seconds between tries while it is away
MOST_OWED = 100_000
# Redis answers nobody while it deletes: it is to be done well within its time.
_AT_ONCE = 10_000


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
        # Names to be dropped, each with a new mark every time that it is asked for.
        self._owed: dict[str, object] = {}
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
        """Delete keys, later if it cannot be done now, and say of how many that cannot be kept in mind."""
        passed_over = 0
        for portion in portions(names, _AT_ONCE):
            passed_over += self._owe(portion)
            self.ask(lambda _client: None, None)
        if passed_over:
            logger.warning("too much waits for Redis to be dropped: %d copies end with their own life", passed_over)

    def _owe(self, names: Iterable[str]) -> int:
        """Keep in mind what is to be dropped; return how many names there was no room for."""
        passed_over = 0
        with self._lock:
            for name in names:
                if name in self._owed or len(self._owed) < MOST_OWED:
                    self._owed[name] = object()
                else:
                    passed_over += 1
        return passed_over

    def _settle(self) -> None:
        with self._lock:
            due = list(self._owed.items())
        for portion in portions(due, _AT_ONCE):
            self._client.delete(*(name for name, _ in portion))
            with self._lock:
                for name, mark in portion:
                    # A name with another mark was to be dropped once more since, as it may have been written again
                    # after our deletion.
                    if self._owed.get(name) is mark:
                        del self._owed[name]

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()
