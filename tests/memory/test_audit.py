"""The chain of audit events: it holds, and every change by hand shows."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from memory.clock import utc_now
from memory.errors import InvalidError
from memory.forgetting.forget import forget
from memory.ids import new_id
from memory.models import AuditEvent
from memory.record.audit import EventFilters, Head, list_events, to_head, verify
from memory.record.journal import record
from memory.storage.database import user_session

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def note(book):
    """Write events, each in a transaction of its own."""

    def _note(*actions, **fields):
        for minute, action in enumerate(actions):
            with book.session() as session:
                moment = START + timedelta(minutes=minute)
                record(session, book.user_id, action, **{"actor": "test", "now": moment, **fields})

    return _note


@pytest.fixture
def check(book):
    def _check(expected=None):
        with book.session() as session:
            return verify(session, book.user_id, expected)

    return _check


@pytest.fixture
def by_hand(owner, book):
    """Do something as the owner of the tables; `:u` is the user, `:n` the id of the n-th event."""

    def _by_hand(statement, event=0, **values):
        with owner.begin() as connection:
            ids = "SELECT event_id FROM audit_links WHERE user_id = :u ORDER BY sequence"
            found = connection.scalars(text(ids), {"u": book.user_id}).all()
            values = {"u": book.user_id, "n": found[event], **values}
            named = {name: value for name, value in values.items() if f":{name}" in statement}
            assert connection.execute(text(statement), named).rowcount > 0
        return found[event]

    yield _by_hand
    # Nobody else is to stumble over the broken chain.
    with owner.begin() as connection:
        connection.execute(text("DELETE FROM users WHERE id = :u"), {"u": book.user_id})


@pytest.fixture
def chain(note, check):
    """Ten events behind the first one, which is that of the default space."""
    note(*[f"test.event{n}" for n in range(10)], details={"words": ["b", "a"], "share": 0.10}, subject_id=new_id())
    return check().head


def test_the_chain_of_what_was_written_holds(chain, check):
    found = check()
    assert (found.ok, found.events, found.head.sequence, found.reason) == (True, 11, 11, None)


def test_a_chain_of_nothing_holds(bobs_book, owner):
    with owner.begin() as connection:
        for table in ("audit_links", "audit_events"):
            connection.execute(text(f"DELETE FROM {table} WHERE user_id = :u"), {"u": bobs_book.user_id})
    with bobs_book.session() as session:
        found = verify(session, bobs_book.user_id)
    assert (found.ok, found.events, found.head) == (True, 0, None)


CHANGES = {
    "action": "'test.event5 '",
    "actor": "'Test'",
    "subject_id": "NULL",
    "count": "count + 1",
    "details": """details || '{"share": 0.10}'""",
    "created_at": "created_at + interval '1 microsecond'",
}


def test_every_column_of_an_event_is_covered():
    assert {column.key for column in AuditEvent.__table__.columns} == {*CHANGES, "user_id", "id"}


@pytest.mark.parametrize("column", CHANGES)
@pytest.mark.parametrize("event", [0, 5, 10])
def test_a_change_of_one_value_is_found(chain, check, by_hand, column, event):
    changed = by_hand(f"UPDATE audit_events SET {column} = {CHANGES[column]} WHERE id = :n", event)
    found = check()
    assert (found.ok, found.sequence, found.event_id) == (False, event + 1, changed)
    assert found.reason == "the event or its link was changed"


@pytest.mark.parametrize(
    "value", ["'infinity'", "'-infinity'", "created_at - interval '4051 years'", "'0044-03-15 12:00:00+00 BC'"]
)
def test_a_moment_that_no_calendar_of_ours_holds_is_found(chain, check, by_hand, value):
    by_hand(f"UPDATE audit_events SET created_at = {value} WHERE id = :n", 4)
    assert check().sequence == 5


def test_one_byte_of_a_link_is_found(chain, check, by_hand):
    by_hand("UPDATE audit_links SET hash = set_byte(hash, 31, get_byte(hash, 31) # 1) WHERE event_id = :n", 3)
    assert check().sequence == 4


def test_a_removed_event_is_found(chain, check, by_hand):
    by_hand("DELETE FROM audit_events WHERE id = :n", 6)
    found = check()
    assert (found.sequence, found.reason) == (7, "the event of this link is missing")


def test_an_event_under_another_id_is_found(chain, check, by_hand):
    by_hand("UPDATE audit_events SET id = uuidv7() WHERE id = :n", 6)
    assert check().sequence == 7


def test_an_event_that_was_given_to_another_user_is_found_with_both(chain, check, by_hand, bobs_book):
    moved = by_hand("UPDATE audit_events SET user_id = :bob WHERE id = :n", 6, bob=bobs_book.user_id)
    with bobs_book.session() as session:
        found = verify(session, bobs_book.user_id)
    assert (check().sequence, found.reason, found.event_id) == (7, "an event is not in the chain", moved)


@pytest.mark.parametrize("place", [0, 4])
def test_a_removed_link_is_found(chain, check, by_hand, place):
    by_hand("DELETE FROM audit_links WHERE event_id = :n", place)
    found = check()
    assert (found.sequence, found.reason) == (place + 1, "the links do not follow one another")


def test_a_removed_last_link_leaves_an_event_outside(chain, check, by_hand):
    removed = by_hand("DELETE FROM audit_links WHERE event_id = :n", -1)
    found = check()
    assert (found.ok, found.event_id, found.reason) == (False, removed, "an event is not in the chain")


def test_an_event_and_its_link_removed_together_are_found(chain, check, by_hand):
    by_hand("DELETE FROM audit_events WHERE id = :n", 5)
    by_hand("DELETE FROM audit_links WHERE event_id = :n", 5)
    by_hand("UPDATE audit_links SET sequence = -sequence WHERE user_id = :u AND sequence > 6")
    by_hand("UPDATE audit_links SET sequence = -sequence - 1 WHERE user_id = :u AND sequence < 0", -1)
    assert check().sequence == 6


def test_links_that_changed_places_are_found(chain, check, by_hand):
    # Each time the ids are counted in the order that the links have by then.
    for sequence, event in ((100, 3), (4, 3), (5, -1)):
        by_hand(f"UPDATE audit_links SET sequence = {sequence} WHERE event_id = :n", event)
    assert check().sequence == 4


def test_an_event_put_in_past_the_chain_is_found(chain, check, owner, book):
    with owner.begin() as connection:
        connection.execute(text("ALTER TABLE audit_events DISABLE TRIGGER audit_events_chained"))
        connection.execute(
            text(
                "INSERT INTO audit_events (user_id, id, action, actor, created_at)"
                " VALUES (:u, uuidv7(), 'x', 'x', now())"
            ),
            {"u": book.user_id},
        )
        connection.execute(text("ALTER TABLE audit_events ENABLE TRIGGER audit_events_chained"))
    assert check().reason == "an event is not in the chain"


@pytest.fixture
def cut(by_hand):
    """Take the last events away with their links."""

    def _cut(events):
        for _ in range(events):
            by_hand("DELETE FROM audit_events WHERE id = :n", -1)
            by_hand("DELETE FROM audit_links WHERE event_id = :n", -1)

    return _cut


@pytest.mark.parametrize("events", [1, 4])
def test_a_cut_end_is_found_against_the_head_that_was_noted(chain, check, cut, events):
    cut(events)
    assert check().ok
    found = check(chain)
    assert (found.ok, found.reason) == (False, "the chain is shorter than was noted")


def test_an_end_that_was_written_anew_is_found_against_the_head_that_was_noted(chain, check, cut, note):
    cut(2)
    note("test.other", "test.another")
    assert check().ok
    assert check(chain).reason == "the chain was written anew"


def test_a_noted_head_is_found_in_the_middle_of_a_longer_chain(chain, check, note):
    note("test.later")
    assert check(chain).ok


def test_a_head_reads_as_it_is_written(chain):
    assert to_head(str(chain)) == chain


@pytest.mark.parametrize("value", ["", "1", "0:" + "0" * 64, "1:" + "0" * 63, "1:" + "g" * 64, "-1:" + "0" * 64])
def test_what_is_no_head_is_refused(value):
    with pytest.raises(InvalidError, match="expect"):
        to_head(value)


def test_the_chain_of_another_user_is_another_chain(chain, bobs_book, by_hand):
    by_hand("DELETE FROM audit_events WHERE id = :n", 6)
    with bobs_book.session() as session:
        found = verify(session, bobs_book.user_id)
    assert (found.ok, found.events) == (True, 1)


def test_a_transaction_that_fails_leaves_no_link(book, check):
    with book.session() as session:
        record(session, book.user_id, "test.lost", actor="test", now=START)
        session.flush()
        session.rollback()
    assert (check().ok, check().events) == (True, 1)


SETTINGS = {
    "TimeZone": "Pacific/Kiritimati",
    "DateStyle": "SQL, DMY",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "lc_numeric": "C",
    "search_path": "pg_catalog, public",
}


@pytest.mark.parametrize("writer", [True, False])
def test_no_setting_of_a_session_changes_the_chain(book, check, writer):
    details = {"share": 0.1 + 0.2, "big": 1e30, "ä": "“ü”\\\n"}
    with book.session() as session:
        if writer:
            for name, value in SETTINGS.items():
                session.execute(select(func.set_config(name, value, True)))
        record(session, book.user_id, "test.odd", actor="tést", now=utc_now(), details=details)
    with book.session() as session:
        if not writer:
            for name, value in SETTINGS.items():
                session.execute(select(func.set_config(name, value, True)))
        assert verify(session, book.user_id).ok
    assert check().events == 2


# --- written once -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["audit_events", "audit_links"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET user_id = user_id", "DELETE FROM {}", "TRUNCATE {}"])
def test_the_application_can_only_append(book, table, statement):
    with pytest.raises(ProgrammingError, match="permission denied"), book.session() as session:
        session.execute(text(statement.format(table)))


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE audit_events DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "CREATE OR REPLACE FUNCTION audit_text(e audit_events) RETURNS text LANGUAGE sql STABLE RETURN ''",
        "DROP TRIGGER audit_events_chained ON audit_events",
    ],
)
def test_the_application_cannot_step_past_the_chain(book, statement):
    with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"), book.session() as session:
        session.execute(text(statement))


def test_the_application_cannot_write_a_link(book):
    with pytest.raises(ProgrammingError, match="permission denied"), book.session() as session:
        session.execute(text("INSERT INTO audit_links VALUES (:u, 99, uuidv7(), '')"), {"u": book.user_id})


# --- many at once -----------------------------------------------------------------------------------------------------


def write_many(runtime, user_id, rounds, errors):
    try:
        for n in range(rounds):
            with user_session(runtime.sessions, user_id) as session:
                for part in range(2):
                    record(session, user_id, f"test.{n}.{part}", actor="test", now=utc_now(), count=n + 1)
    except Exception as error:
        errors.append(error)


def test_writers_of_one_user_and_of_several_make_one_chain_each(runtime, book, bobs_book):
    errors = []
    users = [book.user_id] * 8 + [bobs_book.user_id] * 4
    threads = [threading.Thread(target=write_many, args=(runtime, user_id, 15, errors)) for user_id in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    for owner_, expected in ((book, 8 * 15 * 2 + 1), (bobs_book, 4 * 15 * 2 + 1)):
        with owner_.session() as session:
            found = verify(session, owner_.user_id)
        assert (found.ok, found.events) == (True, expected)


def test_a_check_beside_writers_sees_a_whole_chain(runtime, book):
    errors = []
    threads = [threading.Thread(target=write_many, args=(runtime, book.user_id, 15, errors)) for _ in range(4)]
    for thread in threads:
        thread.start()
    seen = []
    while any(thread.is_alive() for thread in threads):
        with book.session() as session:
            seen.append(verify(session, book.user_id))
    assert errors == []
    assert seen
    assert [found for found in seen if not found.ok] == []


# --- what is in it ----------------------------------------------------------------------------------------------------


def test_the_chain_holds_after_a_forget(book, check):
    memory_id = book.write("The flowerpot is where the key is").id
    book.do(forget, memory_id)
    assert check().ok


@pytest.fixture
def listed(book, chain):
    def _listed(limit=50, cursor=None, **filters):
        with book.session() as session:
            page = list_events(session, book.user_id, EventFilters(**filters), limit=limit, cursor=cursor)
            return [each.event.action for each in page.events], page.next_cursor

    return _listed


def test_events_are_listed_page_by_page(listed):
    names, cursor = [], None
    while True:
        page, cursor = listed(limit=4, cursor=cursor, action="test.")
        names += page
        if cursor is None:
            break
    assert names == [f"test.event{n}" for n in reversed(range(10))]


def test_events_carry_their_links(book, chain):
    with book.session() as session:
        page = list_events(session, book.user_id, EventFilters(action="test.event9"))
    assert (page.events[0].sequence, page.events[0].hash) == (chain.sequence, chain.hash)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"action": "test.event3"}, 1),
        ({"action": "test.event_"}, 0),
        ({"action": "test%"}, 0),
        ({"actor": "test", "action": "test."}, 10),
        ({"actor": "nobody"}, 0),
        ({"since": START + timedelta(minutes=7), "action": "test."}, 3),
        ({"until": START + timedelta(minutes=7)}, 7),
        ({"subject_id": new_id()}, 0),
    ],
)
def test_events_are_filtered(listed, filters, expected):
    assert len(listed(**filters)[0]) == expected


def test_events_are_found_by_their_subject(listed, book, note):
    subject = new_id()
    note("test.about", subject_id=subject)
    assert listed(subject_id=subject)[0] == ["test.about"]


@pytest.mark.parametrize("limit", [0, 201])
def test_a_page_of_too_much_or_nothing_is_refused(listed, limit):
    with pytest.raises(InvalidError, match="limit"):
        listed(limit=limit)


@pytest.mark.parametrize("cursor", ["x", "", "WzEsMl0="])
def test_a_cursor_of_nobodys_is_refused(listed, cursor):
    with pytest.raises(InvalidError, match="cursor"):
        listed(cursor=cursor)


def test_a_head_is_shown_by_number_and_hash():
    assert str(Head(7, b"\x01" * 32)) == "7:" + "01" * 32


def test_events_that_were_there_before_the_chain_are_its_first_links(owner, book, check):
    """As the migration does: every link is taken away, and the events are chained anew."""
    from importlib import import_module

    guards = import_module("memory.migrations.versions.0004_conversation_guards")
    with Session(owner) as session, session.begin():
        session.execute(text("DELETE FROM audit_links"))
        session.execute(text(guards.CHAIN_OLD))
    assert check().ok
