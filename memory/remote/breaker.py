"""Whether something that failed is worth another try: an outage costs one wait, not one for each call."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Breaker:
    """Closed while all is well; open for `pause` seconds after a failure, then one caller may try. Thread-safe."""

    def __init__(self, pause: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._away = False
        self._until = 0.0

    def allows(self) -> bool:
        """Tell whether a call is worth making now."""
        with self._lock:
            if not self._away:
                return True
            now = self._clock()
            if now < self._until:
                return False
            # This caller tries; the others go on without until it has found out.
            self._until = now + self._pause
            return True

    def failed(self, pause: float = 0.0) -> bool:
        """Note a failure; returns whether it is the first of an outage.

        With `pause` in seconds it is left alone for longer, where that is longer than usual.
        """
        with self._lock:
            first, self._away = not self._away, True
            self._until = self._clock() + max(pause, self._pause)
            return first

    def worked(self) -> bool:
        """Note a success; returns whether it ends an outage."""
        with self._lock:
            ended, self._away = self._away, False
            return ended
