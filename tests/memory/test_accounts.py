"""Users, passwords and tokens."""

from __future__ import annotations

import unicodedata
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from at_once import at_once
from sqlalchemy import text
from sqlalchemy.orm import Session

from memory.accounts import accounts
from memory.accounts.accounts import (
    authenticate,
    change_password,
    check_password,
    create_token,
    create_user,
    find_user,
    hash_token,
    list_tokens,
    revoke_token,
    set_password,
)
from memory.clock import utc_now
from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.models import User
from memory.storage.database import user_session

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def eve(new_person):
    return new_person("eve")


@pytest.fixture(scope="module")
def boss(new_person):
    return new_person("boss", role="admin")


@pytest.fixture
def token(book):
    def _token(*scopes, **fields):
        with book.session() as session:
            return create_token(session, book.user_id, "agent", scopes or ["read"], now=utc_now(), **fields)

    return _token


@pytest.fixture
def enter(runtime):
    def _enter(secret, now=None):
        with runtime.sessions.begin() as session:
            return authenticate(session, secret, now or utc_now())

    return _enter


def disable(owner, user_id, moment="now()"):
    with owner.begin() as connection:
        connection.execute(text(f"UPDATE users SET disabled_at = {moment} WHERE id = :id"), {"id": user_id})


def knock(runtime, email, password):
    with runtime.sessions() as session:
        return check_password(session, email, password)


def test_the_right_password_opens(runtime, eve):
    assert knock(runtime, f" {eve.email.upper()} ", PASSWORD) == eve.id


@pytest.mark.parametrize("chosen", ["mật khẩu của tôi", "\uff4b\uff45\uff59\uff53　パスワード"])
def test_a_password_opens_whichever_keyboard_types_it(runtime, new_person, chosen):
    linh = new_person("linh")
    with user_session(runtime.sessions, linh.id) as session:
        set_password(session, linh.id, unicodedata.normalize("NFD", chosen), now=utc_now(), actor="test")
    for form in ("NFC", "NFD", "NFKC"):
        assert knock(runtime, linh.email, unicodedata.normalize(form, chosen)) == linh.id


def test_a_password_is_as_long_whichever_keyboard_types_it(runtime, new_person):
    linh = new_person("linh")
    with user_session(runtime.sessions, linh.id) as session, pytest.raises(InvalidError, match="at least 10"):
        set_password(session, linh.id, unicodedata.normalize("NFD", "ế" * 9), now=utc_now(), actor="test")


def test_a_password_that_was_kept_as_it_was_typed_still_opens(runtime, new_person, owner):
    linh = new_person("linh")
    typed = unicodedata.normalize("NFD", "mật khẩu của tôi")
    with owner.begin() as connection:
        values = {"hash": PasswordHasher().hash(typed), "id": linh.id}
        connection.execute(text("UPDATE users SET password_hash = :hash WHERE id = :id"), values)
    assert knock(runtime, linh.email, typed) == linh.id


@pytest.mark.parametrize("password", ["", PASSWORD + " ", PASSWORD.upper()])
def test_a_wrong_password_does_not(runtime, eve, password):
    assert knock(runtime, eve.email, password) is None


def test_an_unknown_address_does_not(runtime):
    assert knock(runtime, "nobody@example.org", PASSWORD) is None


def test_a_disabled_user_is_let_in_no_more(runtime, owner, eve):
    disable(owner, eve.id)
    assert (knock(runtime, eve.email, PASSWORD), find_in(runtime, eve.email)) == (None, None)
    disable(owner, eve.id, "NULL")


def find_in(runtime, name):
    with runtime.sessions() as session:
        return find_user(session, name)


def test_a_user_is_found_by_address_and_by_id(runtime, eve):
    assert find_in(runtime, eve.email) == find_in(runtime, str(eve.id)) == eve.id


def test_only_a_hash_of_the_password_is_kept(owner, usual_hasher, monkeypatch):
    monkeypatch.setattr(accounts, "_hasher", usual_hasher)
    with Session(owner) as session:
        made = create_user(session, "hashed@example.org", PASSWORD, soft_cap=1, now=utc_now())
        kept = session.scalar(text("SELECT password_hash FROM users WHERE id = :id"), {"id": made.id})
    assert kept.startswith("$argon2id$")
    assert not PasswordHasher().check_needs_rehash(kept), "what is kept was cheaper to make than is recommended"


@pytest.mark.parametrize(
    ("email", "password", "field"),
    [
        ("no address", PASSWORD, "email"),
        ("a@" + "b" * 300, PASSWORD, "email"),
        ("new@example.org", "short", "password"),
    ],
)
def test_a_bad_account_is_refused(owner, email, password, field):
    with Session(owner) as session, pytest.raises(InvalidError) as caught:
        create_user(session, email, password, soft_cap=1, now=utc_now())
    assert caught.value.field == field


def test_an_address_is_taken_once(owner, eve):
    with Session(owner) as session, pytest.raises(ConflictError):
        create_user(session, eve.email.upper(), PASSWORD, soft_cap=1, now=utc_now())


def test_of_those_who_take_an_address_at_once_one_gets_it(owner):
    def add():
        with Session(owner) as session, session.begin():
            return create_user(session, "sought@example.org", PASSWORD, soft_cap=1, now=utc_now()).email

    results = at_once(*[add] * 4)
    assert sorted(map(str, results)) == ["sought@example.org", *["there is a user sought@example.org already"] * 3]


def change_own(session, user_id, *given, **named):
    """As a request does, which has read who makes it."""
    _held = session.get(User, user_id)
    change_password(session, user_id, *given, **named)


def test_of_two_who_change_a_password_at_once_one_does(book, beside):
    """The other's old one is none any more."""
    secrets = ["the first to come in", "the second to come in"]
    book.do(set_password, PASSWORD)
    done = beside(
        lambda session: change_password(session, book.user_id, PASSWORD, secrets[0], now=utc_now(), actor="test"),
        lambda: book.do(change_own, PASSWORD, secrets[1]),
    )
    assert getattr(done, "field", None) == "old"


def test_a_token_says_who_holds_it_and_what_for(book, token, enter):
    found = enter(token("write", "read", "read"))
    assert (found.user_id, found.scopes, found.space_id) == (book.user_id, {"read", "write"}, None)


def test_a_token_may_be_confined_to_a_space(book, token, enter, second_space):
    found = enter(token(space=second_space))
    assert found.space_id == book.one("SELECT id FROM spaces WHERE slug = 'second'")


def test_a_token_of_an_unknown_space_is_refused(token):
    with pytest.raises(InvalidError, match="space"):
        token(space="nowhere")


@pytest.mark.parametrize("scopes", [["read", "everything"], ["admin"], ["service", "read"]])
def test_scopes_that_a_user_may_not_hold_are_refused(token, scopes):
    with pytest.raises(InvalidError, match="scopes"):
        token(*scopes)


def test_a_token_without_scopes_is_refused(book):
    with pytest.raises(InvalidError, match="scopes"), book.session() as session:
        create_token(session, book.user_id, "agent", [], now=utc_now())


def test_an_admin_may_hold_them(runtime, boss, enter):
    assert {"admin", "service"} <= enter(boss.token).scopes


def test_only_a_hash_of_the_token_is_kept(book, token):
    secret = token()
    row = book.one("SELECT to_jsonb(t)::text FROM tokens t")
    assert hash_token(secret).hex() in row
    assert secret not in row


def test_an_unknown_token_opens_nothing(enter):
    assert enter("cp_nothing") is None


def test_an_expired_token_opens_nothing(token, enter):
    secret = token(expires_at=utc_now() + timedelta(minutes=1))
    assert enter(secret) is not None
    assert enter(secret, utc_now() + timedelta(minutes=2)) is None


def test_a_token_that_opens_nothing_leaves_the_session_to_nobody(runtime, token):
    now = utc_now()
    secret = token(expires_at=now - timedelta(minutes=1))
    with runtime.sessions() as session:
        # The same moment: a clock that is set back meanwhile would open it.
        assert authenticate(session, secret, now) is None
        assert session.scalar(text("SELECT count(*) FROM tokens")) == 0


def test_a_revoked_token_opens_nothing(book, token, enter):
    secret = token()
    book.do(revoke_token, book.one("SELECT id FROM tokens"))
    assert enter(secret) is None


def test_a_token_is_revoked_once(book, token):
    token()
    for _ in range(2):
        book.do(revoke_token, book.one("SELECT id FROM tokens"))
    assert book.one("SELECT count(*) FROM audit_events WHERE action = 'token.revoked'") == 1


def test_a_disabled_users_token_opens_nothing(book, owner, token, enter):
    secret = token()
    disable(owner, book.user_id)
    assert enter(secret) is None


def test_a_stranger_cannot_revoke(book, bobs_book, token):
    token()
    with pytest.raises(NotFoundError):
        bobs_book.do(revoke_token, book.one("SELECT id FROM tokens"))


def test_the_last_use_is_kept_to_the_minute(book, token, enter):
    secret, now = token(), utc_now()
    enter(secret, now)
    enter(secret, now + timedelta(seconds=30))
    assert book.one("SELECT last_used_at FROM tokens") == now


def test_requests_of_a_token_do_not_wait_for_one_another(runtime, book, token):
    secret, now = token(), utc_now()
    with runtime.sessions.begin() as long, runtime.sessions.begin() as short:
        assert authenticate(long, secret, now) is not None
        short.execute(text("SET LOCAL lock_timeout = '1s'"))
        assert authenticate(short, secret, now + timedelta(seconds=1)) is not None
    assert book.one("SELECT last_used_at FROM tokens") == now


def test_tokens_are_listed_newest_first(book, token):
    token()
    token()
    with book.session() as session:
        created = [each.created_at for each in list_tokens(session, book.user_id)]
    assert created == sorted(created, reverse=True)
