"""The switch that keeps things from being stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event

from memory.clock import utc_now
from memory.errors import InvalidError
from memory.models import IncognitoSession
from memory.spaces import incognito
from memory.spaces.spaces import create_space, get_space, update_space


@pytest.fixture
def is_on(book):
    def _is_on(key="tab", space="default"):
        with book.session() as session:
            switch = incognito.switch_of(session, book.user_id, key)
            return incognito.is_on(switch, get_space(session, book.user_id, space))

    return _is_on


@pytest.fixture
def refuse(book):
    def _refuse(writes, key="tab"):
        with book.session() as session:
            incognito.count_refusals(session, book.user_id, key, writes, utc_now())

    return _refuse


@pytest.fixture
def private_space(book, second_space):
    with book.session() as session:
        update_space(session, book.user_id, second_space, {"incognito_default": True}, now=utc_now(), actor="t")
    return second_space


def test_incognito_is_off_by_default(is_on):
    assert not is_on()


def test_incognito_is_on_between_start_and_end(book, is_on):
    book.do(incognito.start, "tab")
    assert is_on()
    book.do(incognito.end, "tab")
    assert not is_on()


def test_incognito_is_on_for_one_session_only(book, is_on):
    book.do(incognito.start, "tab")
    assert not is_on("another tab")


def test_incognito_is_on_for_one_user_only(book, bobs_book, is_on):
    bobs_book.do(incognito.start, "tab")
    assert not is_on()


def test_a_space_may_be_incognito_by_default(is_on, private_space):
    assert is_on(space=private_space)


def test_the_sessions_own_switch_outweighs_the_space(book, is_on, private_space):
    book.do(incognito.end, "tab")
    assert not is_on(space=private_space)


def test_an_end_does_not_outweigh_a_default_that_is_set_later(book, is_on, second_space):
    book.do(incognito.end, "tab")
    book.do(update_space, second_space, {"incognito_default": True}, actor="t")
    assert (is_on(), is_on(space=second_space)) == (False, True)
    book.do(incognito.end, "tab")
    assert not is_on(space=second_space)


def test_an_end_does_not_outweigh_the_default_of_a_new_space(book, is_on):
    book.do(incognito.end, "tab")
    book.do(create_space, "diary", soft_cap=200, actor="t", incognito_default=True)
    assert is_on(space="diary")


def test_other_settings_leave_an_end_as_it_is(book, is_on, private_space):
    book.do(incognito.end, "tab")
    book.do(update_space, private_space, {"incognito_default": True, "name": "Quiet"}, actor="t")
    assert not is_on(space=private_space)


def test_a_start_outlasts_every_default(book, is_on, private_space):
    book.do(incognito.start, "tab")
    book.do(update_space, private_space, {"incognito_default": False}, actor="t")
    book.do(update_space, private_space, {"incognito_default": True}, actor="t")
    assert is_on()


def test_the_end_tells_how_many_writes_were_refused(book, refuse):
    book.do(incognito.start, "tab")
    refuse(3)
    refuse(2)
    assert book.do(incognito.end, "tab") == 5


def test_the_audit_tells_it_too(book, refuse):
    book.do(incognito.start, "tab")
    refuse(3)
    book.do(incognito.end, "tab")
    assert book.all("SELECT action FROM audit_events ORDER BY id")[-2:] == ["incognito.started", "incognito.ended"]
    assert book.one("SELECT details FROM audit_events ORDER BY id DESC LIMIT 1") == {"refused_writes": 3}


def test_a_second_start_goes_on_counting(book, refuse):
    book.do(incognito.start, "tab")
    refuse(3)
    book.do(incognito.start, "tab")
    refuse(2)
    assert book.do(incognito.end, "tab") == 5
    assert book.one("SELECT count(*) FROM audit_events WHERE action = 'incognito.started'") == 1


def test_refusals_are_told_once(book, refuse):
    book.do(incognito.start, "tab")
    refuse(3)
    book.do(incognito.end, "tab")
    assert book.do(incognito.end, "tab") == 0


def test_a_start_keeps_what_a_default_refused_before(book, refuse, private_space):
    refuse(2)
    book.do(incognito.start, "tab")
    assert book.do(incognito.end, "tab") == 2


def test_what_one_spaces_default_refused_leaves_the_other_spaces_alone(is_on, refuse, private_space):
    refuse(1)
    assert (is_on(), is_on(space=private_space)) == (False, True)


def test_refusals_by_a_spaces_default_are_counted(book, refuse, private_space):
    refuse(1)
    refuse(1)
    assert book.do(incognito.end, "tab") == 2


@pytest.mark.parametrize("switch", [incognito.start, incognito.end])
@pytest.mark.parametrize("key", ["", "k" * 201])
def test_a_session_needs_a_name_of_reasonable_length(book, key, switch):
    with pytest.raises(InvalidError, match="session"):
        book.do(switch, key)


ROWS = "SELECT count(*) FROM incognito_sessions"


def test_sessions_that_ended_leave_no_row(book, is_on):
    for number in range(3):
        book.do(incognito.start, f"chat {number}")
        book.do(incognito.end, f"chat {number}")
    book.do(incognito.end, "never begun")
    assert (book.one(ROWS), is_on("chat 0")) == (0, False)


def test_an_end_that_a_default_is_outweighed_by_is_kept(book, is_on, private_space):
    book.do(incognito.end, "tab")
    book.do(incognito.end, "another tab")
    assert (book.one(ROWS), is_on(space=private_space)) == (2, False)


def test_an_end_goes_when_a_default_that_is_set_later_outweighs_it(book, is_on, private_space):
    book.do(incognito.end, "tab")
    book.do(create_space, "diary", soft_cap=200, actor="t", incognito_default=True)
    assert (book.one(ROWS), is_on(space="diary"), is_on(space=private_space)) == (0, True, True)


def test_what_is_on_and_what_has_refused_stays_when_another_session_ends(book, is_on, refuse):
    book.do(incognito.start, "tab")
    refuse(2, "another tab")
    book.do(incognito.end, "third tab")
    assert (book.one(ROWS), is_on()) == (2, True)
    assert book.do(incognito.end, "another tab") == 2


def test_an_end_that_another_transaction_is_at_is_not_waited_for(book, private_space):
    for key in ("tab", "another tab"):
        book.do(incognito.end, key)
    book.do(update_space, private_space, {"incognito_default": False}, actor="t")
    with book.session() as session:
        session.get(IncognitoSession, (book.user_id, "tab"), with_for_update=True)
        book.do(incognito.end, "another tab")
        assert book.all("SELECT session_key FROM incognito_sessions") == ["tab"]


def test_writes_that_are_refused_while_a_session_ends_are_counted(book):
    """By the end, or after it."""
    blocked = "SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
    book.do(incognito.start, "tab")
    ends = []
    with ThreadPoolExecutor(1) as pool:

        def end_meanwhile(*_):
            if not ends:
                ends.append(pool.submit(book.do, incognito.end, "tab"))
                while not ends[0].done() and not book.one(f"{blocked} AND datname = current_database()"):
                    pass

        with book.session() as session:
            session.connection()
            event.listen(session.connection(), "after_cursor_execute", end_meanwhile)
            incognito.count_refusals(session, book.user_id, "tab", 2, utc_now())
    assert ends[0].result() + book.do(incognito.end, "tab") == 2


def test_a_first_end_tells_what_is_refused_at_the_same_moment(book, beside):
    """There is no row yet which it could wait for."""
    ended = beside(
        lambda session: incognito.count_refusals(session, book.user_id, "tab", 2, utc_now()),
        lambda: book.do(incognito.end, "tab"),
    )
    assert ended + book.do(incognito.end, "tab") == 2
