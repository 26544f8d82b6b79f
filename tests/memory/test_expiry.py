"""What expires."""

from __future__ import annotations

from datetime import timedelta

import pytest
from forgetting import SECRET

from memory.clock import utc_now
from memory.errors import InvalidError, NotFoundError
from memory.forgetting.forget import UNDO_WINDOW, set_aside_expired
from memory.forgetting.purge import purge
from memory.forgetting.restore import list_restorable, restore
from memory.writing.bulk import move_many
from memory.writing.edit import update


def purge_expired(session, book, now):
    set_aside_expired(session, book.user_id, now=now)
    purge(session, book.user_id, keys=book.runtime.keys, now=now)


def test_an_expired_memory_is_purged(book):
    memory_id = book.write(SECRET, expires_at=utc_now() + timedelta(minutes=1)).id
    with book.session() as session:
        purge_expired(session, book, now=utc_now() + timedelta(minutes=2))
    assert book.load(memory_id) is None


def test_an_expiry_leaves_no_tombstone(book):
    book.write(SECRET, expires_at=utc_now() + timedelta(minutes=1))
    with book.session() as session:
        purge_expired(session, book, now=utc_now() + timedelta(minutes=2))
    assert book.write(SECRET).outcome == "created"


def test_what_is_said_again_does_not_expire_with_what_was_said_before(book):
    memory_id = book.write(SECRET, expires_at=utc_now() + timedelta(minutes=1)).id
    book.write(SECRET)
    with book.session() as session:
        purge_expired(session, book, now=utc_now() + timedelta(minutes=2))
    assert book.load(memory_id) is not None


@pytest.fixture
def lapsed(book):
    """Store what has expired, and still waits for the worker."""

    def _lapsed(said, space="default", before=None):
        then = utc_now() - timedelta(hours=1)
        fields = {"now": then, "expires_at": utc_now() - timedelta(minutes=1)}
        memory_id = book.write(before or said, space, **fields).id
        if before is not None:
            book.do(update, memory_id, {"text": said, "pinned": True}, now=then)
        return memory_id

    return _lapsed


def test_an_undo_ends_with_what_it_would_bring_back(book, drop):
    now = utc_now()
    expires_at = now + timedelta(minutes=2)
    gone = drop(book.write(SECRET, expires_at=expires_at).id, UNDO_WINDOW, now=now)
    (told,) = list_restorable_of(book, now)
    assert (gone.undo_until, told.undo_until, told.forgotten_at) == (expires_at, expires_at, now)
    assert f"until {expires_at:%H:%M} UTC" in book.write(SECRET, now=now).trace.reason
    assert list_restorable_of(book, expires_at) == []
    with pytest.raises(NotFoundError):
        book.do(restore, gone.id, now=expires_at)


def list_restorable_of(book, now):
    with book.session() as session:
        return list_restorable(session, book.user_id, now=now)


def test_what_has_expired_keeps_no_text_away(book, drop, change, lapsed, second_space):
    edited, shelved = book.write("The door is green").id, book.write("The gate is open").id
    gone, moving = book.write("The lamp is lit").id, book.write("The bell is loud").id
    change(shelved, status="archived")
    drop(gone, UNDO_WINDOW)
    for said in ("The door is blue", "The gate is open", "The lamp is lit"):
        lapsed(said)
    lapsed("The bell is loud", second_space)
    change(edited, text="The door is blue")
    change(shelved, status="active")
    book.do(restore, gone)
    assert book.do(move_many, [moving], second_space) == {"default": [moving]}
    assert set(book.all("SELECT id FROM memories")) == {edited, shelved, gone, moving}


def test_what_has_expired_leaves_no_former_text_free(book, drop, change, lapsed):
    memory_id = book.write("The door is blue").id
    change(memory_id, text="The door is green")
    lapsed("The door is blue")
    drop(memory_id)
    assert book.write("The door is blue").refusal == "tombstone"


def test_what_has_expired_is_not_superseded(book, change, lapsed):
    old, new = lapsed("The door is blue"), book.write("The house has two floors").id
    with pytest.raises(InvalidError):
        change(new, supersedes=old, text="The door is blue")


def test_what_has_expired_does_not_come_back_with_what_is_said_again(book, lapsed):
    old = lapsed("The door code is 4321", before="The door code is 1234")
    said = book.write("The door code is 4321")
    assert (said.outcome, book.load(old), book.load(said.id).pinned) == ("created", None, False)
    assert book.all("SELECT text FROM revisions") == []
