"""Counting uses in a window."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from memory.accounts.rates import count_use, drop_old_counts

MINUTE = timedelta(minutes=1)
NOON = datetime(2024, 5, 3, 12, tzinfo=UTC)


@pytest.fixture
def use(runtime):
    key = uuid4().hex

    def _use(now=NOON, name=key):
        with runtime.sessions.begin() as session:
            return count_use(session, name, MINUTE, now)

    return _use


def test_uses_are_counted(use):
    assert [use(), use(), use(NOON + timedelta(seconds=59))] == [1, 2, 3]


def test_the_next_window_starts_anew(use):
    use()
    assert use(NOON + MINUTE) == 1


def test_keys_are_counted_apart(use):
    use()
    assert use(name=uuid4().hex) == 1


def test_no_use_at_once_is_lost(use):
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert use() == 9


def test_old_counts_are_dropped(use, runtime):
    use()
    with runtime.sessions.begin() as session:
        drop_old_counts(session, NOON + timedelta(days=2))
    assert use() == 1


def test_recent_counts_are_kept(use, runtime):
    use()
    with runtime.sessions.begin() as session:
        drop_old_counts(session, NOON + timedelta(hours=1))
    assert use() == 2
