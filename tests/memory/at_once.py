"""Writers at once, for tests: real threads, real connections."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, text

from memory.errors import DomainError

# Who waits for whom in this database: those that wait for a lock which another transaction holds.
_WAITING = text("""
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
""")


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Run every action in a thread of its own, all from the same moment; return what they returned or raised."""
    barrier = threading.Barrier(len(actions))
    results: list[Any] = [None] * len(actions)

    def run(place: int, action: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            results[place] = action()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def waits(owner: Engine, many: int = 1) -> bool:
    """Tell whether so many transactions wait for others within a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with owner.connect() as connection:
            if connection.scalar(_WAITING) >= many:
                return True
        time.sleep(0.02)
    return False


def unexpected(results: list[Any]) -> list[Any]:
    return [result for result in results if isinstance(result, Exception) and not isinstance(result, DomainError)]
