"""Rows that wait for a vector are changed many at a time in no order, so nobody waits for one that somebody holds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from memory.clock import utc_now
from memory.embedding import queue

LATER = timedelta(days=1)


@pytest.fixture
def waiting(book):
    """Two memories whose vectors failed and wait for tomorrow, as a clock that was ahead has set them."""
    ids = [book.write(words).id for words in ("The lamp is lit", "The bell is loud")]
    book.runtime.backfill.adopt(book.user_id)
    with book.session() as session:
        session.execute(text("UPDATE embeddings SET error = 'away'"))
    return ids


def renew(session, user_id, jobs):
    queue.renew(session, jobs, utc_now() + LATER)


def retry(session, user_id, jobs):
    assert queue.retry_failed(session, user_id, utc_now() + LATER) == 1


def bring_forward(session, user_id, jobs):
    queue.bring_forward(session, user_id, utc_now() - 2 * LATER)


@pytest.mark.parametrize("act", [renew, retry, bring_forward])
def test_nobody_waits_for_a_row_that_is_held(book, owner, waiting, act):
    with book.session() as session:
        jobs = queue.claim(session, book.user_id, 2, utc_now())
    assert len(jobs) == 2
    due = "SELECT due_at FROM embeddings WHERE memory_id = :id"
    before = {each: book.one(due, id=each) for each in waiting}
    with owner.begin() as holding, book.session() as session:
        holding.execute(text("SELECT FROM embeddings WHERE memory_id = :id FOR UPDATE"), {"id": waiting[0]})
        session.execute(text("SET LOCAL lock_timeout = '2s'"))
        try:
            act(session, book.user_id, jobs)
        except OperationalError:
            pytest.fail("it waited")
    assert [book.one(due, id=each) == before[each] for each in waiting] == [True, False]
