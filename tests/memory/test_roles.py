"""Who is an admin, and what that brings along; who is let in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from memory.accounts.accounts import authenticate, check_password, create_token, find_user, set_password
from memory.accounts.erase import erase_user
from memory.accounts.roles import set_disabled, set_role
from memory.clock import utc_now
from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.ids import new_id
from memory.record.audit import verify
from memory.record.journal import record

LINKED = """
SELECT to_jsonb(e) FROM audit_events e JOIN audit_links l ON l.user_id = e.user_id AND l.event_id = e.id
WHERE e.subject_id = :id ORDER BY l.sequence
"""


def assign(owner, user_id, role, by=None):
    with Session(owner) as session, session.begin():
        return set_role(session, user_id, role, now=utc_now(), actor="system", by=by)


def let_in(owner, user_id, disabled, by=None):
    with Session(owner) as session, session.begin():
        return set_disabled(session, user_id, disabled=disabled, now=utc_now(), actor="system", by=by)


@pytest.fixture
def two_admins(owner, ada, bob):
    """Ada and Bob, both admins."""
    for person in (ada, bob):
        assign(owner, person.id, "admin")
    return ada, bob


def test_a_user_becomes_an_admin_and_a_plain_user_again(owner, book, two_admins):
    assert book.one("SELECT role FROM users") == "admin"
    assert assign(owner, book.user_id, "user")
    assert book.one("SELECT role FROM users") == "user"


def test_the_same_role_again_changes_nothing(owner, book, two_admins):
    before = book.one("SELECT count(*) FROM audit_events")
    assert not assign(owner, book.user_id, "admin")
    assert book.one("SELECT count(*) FROM audit_events") == before


def test_the_records_of_both_users_tell_of_a_role_and_their_chains_hold(owner, book, bobs_book, two_admins):
    assign(owner, bobs_book.user_id, "user", by=book.user_id)
    for each in (book, bobs_book):
        last = each.all(LINKED, id=bobs_book.user_id)[-1]
        assert (last["action"], last["details"]) == ("user.role_changed", {"role": "user"})
        with each.session() as session:
            assert verify(session, each.user_id).ok


def test_tokens_that_only_admins_hold_go_with_the_role(owner, book, two_admins):
    with book.session() as session:
        secrets = {
            scope: create_token(session, book.user_id, scope, ["read", scope], now=utc_now())
            for scope in ("write", "admin", "service")
        }
    assign(owner, book.user_id, "user")
    with book.runtime.sessions() as session:
        open_ = {scope for scope, secret in secrets.items() if authenticate(session, secret, utc_now()) is not None}
    assert open_ == {"write"}
    assert book.one("SELECT count(*) FROM audit_events WHERE action = 'token.revoked'") == 2


def test_a_token_that_is_made_while_the_role_goes_does_not_stay(owner, book, two_admins):
    going = []

    def go(*_):
        # The role is looked at, and nothing is written yet.
        going.append(pool.submit(assign, owner, book.user_id, "user"))
        wait(going, timeout=0.5)

    with ThreadPoolExecutor(1) as pool:
        with book.session() as session:
            event.listen(session, "before_flush", go, once=True)
            secret = create_token(session, book.user_id, "admin", ["read", "admin"], now=utc_now())
        assert going[0].result()
    with book.runtime.sessions() as session:
        assert authenticate(session, secret, utc_now()) is None


def test_who_writes_with_a_token_is_waited_for(owner, book, two_admins):
    with book.session() as session:
        create_token(session, book.user_id, "admin", ["write", "admin"], now=utc_now())
    with ThreadPoolExecutor(1) as pool:
        with book.session() as session:
            session.execute(text("UPDATE tokens SET last_used_at = now()"))
            going = pool.submit(assign, owner, book.user_id, "user")
            assert not wait([going], timeout=0.5).done
            # As every row that is written, the event names the user.
            record(session, book.user_id, "memory.created", actor="test", now=utc_now())
            session.flush()
        assert going.result()


@pytest.mark.parametrize("other", ["none", "disabled"])
def test_the_last_admin_stays_one(owner, two_admins, other):
    ada, bob = two_admins
    with Session(owner) as session:
        session.execute(text("UPDATE users SET role = 'user' WHERE id NOT IN (:a, :b)"), {"a": ada.id, "b": bob.id})
        change = "role = 'user'" if other == "none" else "disabled_at = now()"
        session.execute(text(f"UPDATE users SET {change} WHERE id = :b"), {"b": bob.id})
        with pytest.raises(ConflictError):
            set_role(session, ada.id, "user", now=utc_now(), actor="system")
        session.rollback()


def test_nobody_is_given_another_role(owner, ada):
    with pytest.raises(NotFoundError):
        assign(owner, new_id(), "admin")
    with pytest.raises(InvalidError):
        assign(owner, ada.id, "king")


def test_who_is_disabled_is_let_in_by_nothing_and_finds_all_as_it_was_later(owner, book, two_admins):
    with book.session() as session:
        secret = create_token(session, book.user_id, "agent", ["read"], now=utc_now())
        set_password(session, book.user_id, "correct horse battery", now=utc_now(), actor="system")
        email = session.scalar(text("SELECT email FROM users"))
    ways = (
        lambda session: authenticate(session, secret, utc_now()),
        lambda session: check_password(session, email, "correct horse battery"),
        lambda session: find_user(session, email),
    )
    for disabled in (True, False):
        assert [let_in(owner, book.user_id, disabled) for _ in range(2)] == [True, False]
        for way in ways:
            with book.runtime.sessions() as session:
                assert (way(session) is None) is disabled


def test_the_last_admin_who_is_let_in_stays(owner, two_admins):
    ada, bob = two_admins
    owner_only = text("UPDATE users SET disabled_at = now() WHERE role = 'admin' AND id NOT IN (:ada, :bob)")
    with owner.begin() as connection:
        connection.execute(owner_only, {"ada": ada.id, "bob": bob.id})
    assert let_in(owner, bob.id, disabled=True)
    for change in (lambda: let_in(owner, ada.id, disabled=True), lambda: assign(owner, ada.id, "user")):
        with pytest.raises(ConflictError, match="the last admin"):
            change()
    # One who is kept out already is none to keep.
    assert assign(owner, bob.id, "user")


def erase(session, person):
    return erase_user(session, person.id, keys=person.runtime.keys, now=utc_now())


@pytest.fixture
def last_two(owner, two_admins):
    """Ada and Bob, who alone are admins."""
    ids = {"a": two_admins[0].id, "b": two_admins[1].id}
    with owner.begin() as connection:
        connection.execute(text("UPDATE users SET role = 'user' WHERE id NOT IN (:a, :b)"), ids)
    return two_admins


@pytest.mark.parametrize("other", ["none", "disabled"])
def test_the_last_admin_is_not_erased(owner, last_two, other):
    ada, bob = last_two
    if other == "none":
        assign(owner, bob.id, "user")
    else:
        let_in(owner, bob.id, disabled=True)
    with Session(owner) as session, pytest.raises(ConflictError, match="the last admin"):
        erase(session, ada)
    with Session(owner) as session, session.begin():
        assert erase(session, bob)["left"] == 0


@pytest.mark.parametrize("way", ["erased", "disabled", "a plain user"])
def test_of_two_admins_who_go_at_the_same_moment_one_stays(owner, last_two, way):
    ada, bob = last_two

    def go():
        if way == "erased":
            with Session(owner) as session, session.begin():
                erase(session, bob)
        elif way == "disabled":
            let_in(owner, bob.id, disabled=True)
        else:
            assign(owner, bob.id, "user")

    with ThreadPoolExecutor(1) as pool:
        with Session(owner) as session, session.begin():
            erase(session, ada)
            going = pool.submit(go)
            assert not wait([going], timeout=0.5).done
        with pytest.raises(ConflictError, match="the last admin"):
            going.result()


def test_who_alone_has_an_account_is_erased(owner, ada):
    assign(owner, ada.id, "admin")
    with Session(owner) as session:
        session.execute(text("DELETE FROM users WHERE id <> :id"), {"id": ada.id})
        assert erase(session, ada)["left"] == 0
        session.rollback()


def test_while_an_account_is_erased_the_other_admins_go_on(owner, bobs_book, two_admins):
    with Session(owner) as session, session.begin():
        erase(session, two_admins[0])
        with bobs_book.session() as theirs:
            theirs.execute(text("SET LOCAL lock_timeout = '2s'"))
            record(theirs, bobs_book.user_id, "memory.created", actor="test", now=utc_now())


def test_the_records_of_both_users_tell_who_was_kept_out(owner, book, bobs_book, two_admins):
    let_in(owner, bobs_book.user_id, disabled=True, by=book.user_id)
    for each in (book, bobs_book):
        assert each.all(LINKED, id=bobs_book.user_id)[-1]["action"] == "user.disabled"
        with each.session() as session:
            assert verify(session, each.user_id).ok


def test_nobody_is_neither_kept_out_nor_let_in(owner):
    with pytest.raises(NotFoundError):
        let_in(owner, new_id(), disabled=True)


@pytest.mark.parametrize("change", ["disabled", "a plain user"])
def test_who_writes_and_then_changes_their_account_is_waited_for(owner, book, beside, two_admins, change):
    """Whatever is written names the user, and what is changed of the account needs a stronger lock of that row."""

    def go():
        if change == "disabled":
            return let_in(owner, book.user_id, disabled=True)
        return assign(owner, book.user_id, "user")

    done = beside(
        lambda session: record(session, book.user_id, "memory.created", actor="test", now=utc_now()),
        go,
        lambda session: set_password(session, book.user_id, "a longer password", now=utc_now(), actor="test"),
    )
    assert done is True
