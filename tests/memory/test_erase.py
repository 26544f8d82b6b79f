"""Erasing a user: nothing is left, nobody else loses anything, and the report can be checked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from at_once import waits
from sqlalchemy import inspect, text
from sqlalchemy.orm import Session

from memory.accounts.accounts import create_token
from memory.accounts.erase import erase_for_good, erase_user, is_genuine
from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.errors import NotFoundError
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.ids import new_id
from memory.keys import Keys
from memory.record.journal import hold, hold_place, record, record_tool_call
from memory.spaces.spaces import get_space


@pytest.fixture
def filled(book):
    """A user with a little of everything, some of it on its way out."""
    ids = [book.write(f"Ada keeps the brass {thing} in the attic").id for thing in ("lamp", "bell", "key")]
    book.do(forget, ids[0], undo=UNDO_WINDOW)
    with book.session() as session:
        record_tool_call(
            session,
            book.user_id,
            correlation_id="c",
            tool="memory_search",
            arguments={"query": "brass"},
            affected_ids=[ids[1]],
            duration_ms=1.0,
            success=True,
            created_at=utc_now(),
        )
    return book


def erase(book, owner):
    with Session(owner) as session, session.begin():
        return erase_user(session, book.user_id, keys=book.runtime.keys, now=utc_now())


def rows_of(owner, user_id):
    """Return every row in the database that names the user."""
    with owner.connect() as connection:
        tables = [name for name in inspect(connection).get_table_names() if not name.startswith("huey_")]
        found = [
            connection.scalars(
                text(f"SELECT to_json(t)::text FROM {table} t WHERE to_json(t)::text LIKE :user"),
                {"user": f"%{user_id}%"},
            ).all()
            for table in tables
        ]
    return [row for rows in found for row in rows]


def test_nothing_of_the_user_is_left_in_any_table(filled, owner):
    assert rows_of(owner, filled.user_id)
    erase(filled, owner)
    assert rows_of(owner, filled.user_id) == []


HELD = {
    "a token that is used": "UPDATE tokens SET last_used_at = now()",
    "a space that is written to": "SELECT id FROM spaces FOR NO KEY UPDATE",
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_who_is_writing_is_waited_for(filled, owner, held):
    with filled.session() as session:
        create_token(session, filled.user_id, "laptop", ["write"], now=utc_now())
    with ThreadPoolExecutor(1) as pool:
        with filled.session() as session:
            session.execute(text(held))
            erased = pool.submit(erase, filled, owner)
            assert not wait([erased], timeout=0.5).done
            # As every row that is written, the event names the user.
            record(session, filled.user_id, "memory.created", actor="test", now=utc_now())
            session.flush()
        assert erased.result()["left"] == 0
    assert rows_of(owner, filled.user_id) == []


SCORE = text("""
INSERT INTO last_scores SELECT user_id, id, 0, 0, 0, 0, now() FROM memories
ON CONFLICT (user_id, memory_id) DO UPDATE SET computed_at = excluded.computed_at
""")


def test_a_search_that_keeps_its_scores_is_waited_for(filled, owner):
    with filled.session() as session:
        session.execute(SCORE)
    with ThreadPoolExecutor(1) as pool:
        with filled.session() as session:
            # As a search does before it writes them.
            session.execute(text("SELECT id FROM memories ORDER BY id FOR KEY SHARE"))
            erased = pool.submit(erase, filled, owner)
            assert not wait([erased], timeout=0.5).done
            session.execute(SCORE)
        assert erased.result()["left"] == 0
    assert rows_of(owner, filled.user_id) == []


def test_a_call_that_is_recorded_in_a_conversation_is_waited_for(filled, owner):
    """It holds the conversation, and comes to the memories then."""
    with filled.session() as session:
        space = get_space(session, filled.user_id, "default")
        talk, _ = open_conversation(session, filled.user_id, space, now=utc_now(), actor="test")
        talk_id, ids = talk.id, session.scalars(text("SELECT id FROM memories")).all()
    with ThreadPoolExecutor(1) as pool:
        with filled.session() as session:
            hold_place(session, filled.user_id, talk_id)
            erased = pool.submit(erase, filled, owner)
            assert waits(owner)
            assert hold(session, filled.user_id, ids)
        assert erased.result()["left"] == 0


def test_a_vector_that_is_being_stored_is_waited_for(filled, owner):
    """Whoever embeds holds the model, and comes to the memories then."""
    filled.runtime.backfill.adopt(filled.user_id)
    with ThreadPoolExecutor(1) as pool:
        with filled.session() as session:
            session.execute(text("UPDATE embedding_models SET failures = 0"))
            erased = pool.submit(erase, filled, owner)
            assert waits(owner)
            session.execute(text("SELECT id FROM memories ORDER BY id FOR NO KEY UPDATE"))
        assert erased.result()["left"] == 0
    assert rows_of(owner, filled.user_id) == []


def test_who_waits_for_what_is_being_erased_goes_first(filled, owner):
    with ThreadPoolExecutor(1) as pool:
        with owner.begin() as other:
            # It is the erasing that the database ends when each waits for the other.
            other.execute(text("SET LOCAL deadlock_timeout = '1min'"))
            other.execute(text("SELECT FROM users WHERE id = :id FOR UPDATE"), {"id": filled.user_id})
            now = utc_now()
            erased = pool.submit(erase_for_good, owner, filled.user_id, keys=filled.runtime.keys, now=now)
            assert waits(owner)
            other.execute(text("SELECT FROM memories WHERE user_id = :id FOR UPDATE"), {"id": filled.user_id})
        assert erased.result()["left"] == 0
    assert rows_of(owner, filled.user_id) == []


def test_other_users_keep_what_they_have(filled, bobs_book, owner):
    bobs_book.write("Bob keeps the brass lamp in the cellar")
    erase(filled, owner)
    assert bobs_book.one("SELECT count(*) FROM memories") == 1


def test_the_report_counts_each_kind(filled, owner):
    report = erase(filled, owner)
    kinds = report["deleted"]
    assert (kinds["memories"], kinds["forgotten"], kinds["tool_calls"], kinds["users"]) == (2, 1, 1, 1)
    assert report["left"] == 0


def test_the_report_tells_no_text(filled, owner):
    assert "brass" not in str(erase(filled, owner))


def test_a_report_is_genuine_until_a_word_is_changed(filled, owner):
    report, keys = erase(filled, owner), filled.runtime.keys
    assert is_genuine(report, keys)
    assert not is_genuine({**report, "deleted": {**report["deleted"], "memories": 0}}, keys)
    assert not is_genuine({**report, "email": "mallory@example.org"}, keys)
    assert not is_genuine({**report, "note": "more"}, keys)
    assert not is_genuine({name: value for name, value in report.items() if name != "signature"}, keys)
    assert not is_genuine(report, Keys(b"another installation"))


def test_a_user_who_is_not_there_cannot_be_erased(runtime, owner):
    with Session(owner) as session, pytest.raises(NotFoundError):
        erase_user(session, new_id(), keys=runtime.keys, now=utc_now())


def test_the_applications_role_cannot_erase(filled):
    from sqlalchemy.exc import ProgrammingError

    with pytest.raises(ProgrammingError), filled.session() as session:
        erase_user(session, filled.user_id, keys=filled.runtime.keys, now=utc_now())
    assert filled.one("SELECT count(*) FROM memories") == 2
