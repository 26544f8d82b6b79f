"""Memories are locked in the order of their ids, as who embeds or records them locks them, who holds no space."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.forgetting.forget import forget, set_aside_expired
from memory.writing.bulk import move_many, restore_many, set_status_many
from memory.writing.edit import bring_back

_TAKEN = text("SELECT id FROM memories WHERE user_id = :user_id AND id = :id FOR NO KEY UPDATE SKIP LOCKED")
_WAITS = text(
    "SELECT pg_stat_clear_snapshot(), EXISTS (SELECT FROM pg_stat_activity a "
    "WHERE pg_backend_pid() = ANY(pg_blocking_pids(a.pid))) AS waits"
)


@pytest.fixture
def lapse(book, owner):
    """Let memories have expired that the worker has not set aside yet."""

    def _lapse(memory_id):
        with owner.begin() as connection:
            past = text("UPDATE memories SET expires_at = now() - interval '1 minute' WHERE id = :id")
            connection.execute(past, {"id": memory_id})

    return _lapse


@pytest.fixture
def say_both(book, lapse):
    lapsed, kept = book.write("The lamp is lit").id, book.write("The bell is loud").id
    lapse(lapsed)
    drafts = [Draft("The bell is loud"), Draft("The lamp is lit")]
    return lapsed, kept, lambda: book.write_many(drafts)


@pytest.fixture
def say_again_around_a_refusal(book):
    first, last, gone = (book.write(words).id for words in ("The lamp is lit", "The bell is loud", "Tea is at four"))
    book.do(forget, gone)
    drafts = [Draft(words) for words in ("The bell is loud", "Tea is at four", "The lamp is lit")]
    return first, last, lambda: book.write_many(drafts)


@pytest.fixture
def rewrite(book, lapse, change):
    lapsed, kept = book.write("The lamp is lit").id, book.write("The bell is loud").id
    lapse(lapsed)
    return lapsed, kept, lambda: change(kept, text="The lamp is lit")


@pytest.fixture
def bring_a_version_back(book, lapse, change):
    other, kept = book.write("The bell is loud").id, book.write("The lamp is lit").id
    change(kept, text="The lamp is out")
    change(other, text="The lamp is lit")
    lapse(other)
    return other, kept, lambda: book.do(bring_back, kept, 1)


@pytest.fixture
def free_what_was_replaced(book, change):
    older, newer = book.write("The lamp is lit").id, book.write("The lamp is out").id
    change(newer, supersedes=older)
    return older, newer, lambda: change(newer, supersedes=None)


@pytest.fixture
def forget_what_is_replaced(book, change):
    newer, older = book.write("The lamp is lit").id, book.write("The lamp is out").id
    change(newer, supersedes=older)
    return newer, older, lambda: book.do(forget, older)


@pytest.fixture
def set_aside_what_is_replaced(book, change, lapse):
    newer, older = book.write("The lamp is lit").id, book.write("The lamp is out").id
    change(newer, supersedes=older)
    lapse(older)
    return newer, older, lambda: book.do(lambda session, user_id, *, now, actor: aside(session, user_id, now))


def aside(session, user_id, now):
    assert set_aside_expired(session, user_id, now=now) == 1


@pytest.fixture
def make_many_active(book, change, lapse):
    one = book.write("The lamp is lit").id
    change(one, status="archived")
    lapsed, other = book.write("The lamp is lit").id, book.write("The bell is loud").id
    change(other, status="archived")
    lapse(lapsed)
    return (
        lapsed,
        other,
        lambda: book.do(set_status_many, [one, other], "active"),
    )


@pytest.fixture
def move_to_what_has_expired(book, lapse, second_space):
    one, lapsed = book.write("The lamp is lit").id, book.write("The lamp is lit", space=second_space).id
    other = book.write("The bell is loud").id
    lapse(lapsed)
    return lapsed, other, lambda: book.do(move_many, [one, other], second_space)


@pytest.fixture
def bring_many_back(book, change):
    """The first of them is tied to the last of those that stayed."""
    gone = [book.write(words).id for words in ("The lamp is lit", "The bell is loud")]
    first, last = (book.write(words).id for words in ("The bell is silent", "The lamp is out"))
    for newer, older in zip((last, first), gone, strict=True):
        change(newer, supersedes=older)
    for memory_id in gone:
        book.do(forget, memory_id, undo=timedelta(minutes=10))
    return first, last, lambda: book.do(restore_many, gone)


@pytest.mark.parametrize(
    "case",
    [
        "say_both",
        "say_again_around_a_refusal",
        "rewrite",
        "bring_a_version_back",
        "free_what_was_replaced",
        "forget_what_is_replaced",
        "set_aside_what_is_replaced",
        "make_many_active",
        "move_to_what_has_expired",
        "bring_many_back",
    ],
)
def test_who_waits_for_a_memory_holds_none_that_comes_after_it(book, owner, request, case):
    first, last, act = request.getfixturevalue(case)
    assert first < last
    failed = []

    def run():
        try:
            act()
        except Exception as error:
            failed.append(error)

    before = utc_now()
    thread = threading.Thread(target=run)
    with owner.begin() as holding:
        assert holding.scalar(_TAKEN, {"user_id": book.user_id, "id": first}) == first
        thread.start()
        while thread.is_alive() and not holding.execute(_WAITS).one().waits:
            thread.join(0.01)
        waited = thread.is_alive()
        with owner.begin() as other:
            free = other.scalar(_TAKEN, {"user_id": book.user_id, "id": last})
    thread.join(60)
    changed = "SELECT count(*) FROM audit_events WHERE created_at >= :before AND action <> 'memory.created'"
    assert (waited, free, failed) == (True, last, [])
    assert book.one(changed, before=before) > 0 or case == "set_aside_what_is_replaced"
