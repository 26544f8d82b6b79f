"""Logging in and out."""

from __future__ import annotations

import secrets
from datetime import timedelta
from uuid import uuid4

import pytest
from api_agent import rows
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import at_browser, new_address

from memory.clock import utc_now
from webapp.pages.tries import COOKIE, PER_ACCOUNT, PER_ADDRESS, too_many
from webapp.pages.visitor import LONGEST_SESSION, local_path


@pytest.fixture
def door(client: FlaskClient, lasting_window: None) -> FlaskClient:
    """A client that no limit knows yet."""
    client.environ_base["REMOTE_ADDR"] = new_address()
    return client


def _log_in(door: FlaskClient, email: str, password: str = "correct horse battery", **more: str):
    return door.post("/login", data={"email": email, "password": password, **more})


def test_the_right_password_opens_the_pages(door: FlaskClient, ada) -> None:
    assert _log_in(door, ada.email).location == "/"
    assert door.get("/").status_code == 200


def test_the_record_tells_who_came_and_went(door: FlaskClient, ada) -> None:
    _log_in(door, ada.email, "wrong")
    _log_in(door, ada.email)
    for _ in range(2):
        door.post("/logout")
    told = "SELECT action FROM audit_events WHERE action LIKE 'user.logged%' ORDER BY id"
    assert [row.action for row in rows(ada, told)] == ["user.logged_in", "user.logged_out"]


@pytest.mark.parametrize("leave", ["/logout", "/login"])
def test_no_copy_of_a_cookie_opens_anything_after_the_log_out(door: FlaskClient, app: Flask, ada, bob, leave) -> None:
    elsewhere = at_browser(app, ada)
    _log_in(door, ada.email)
    copied = door.get_cookie("commonplace")
    assert copied is not None
    # So where somebody logs in in place of who was there.
    assert door.post(leave, data={"email": bob.email, "password": "correct horse battery"}).status_code == 303
    door.set_cookie("commonplace", copied.value)
    assert door.get("/memories").location == "/login?next=/memories"
    door.set_cookie("commonplace", copied.value)
    assert door.post("/spaces", data={"slug": "in", "name": "In"}).location.startswith("/login")
    assert elsewhere.get("/memories").status_code == 200


def test_the_address_may_be_written_in_capitals(door: FlaskClient, ada) -> None:
    assert _log_in(door, f" {ada.email.upper()} ").status_code == 303


@pytest.mark.parametrize("spelled", [str, str.upper])
def test_the_address_may_have_letters_that_browsers_take_for_no_address(door, new_person, spelled) -> None:
    # A field of the type `email` refuses them before the server is asked.
    assert 'type="email"' not in door.get("/login").text
    joerg = new_person("jörg", email=f"jörg.müller-{uuid4().hex[:8]}@example.org")
    assert _log_in(door, spelled(joerg.email)).status_code == 303


def test_a_wrong_password_says_what_to_do_and_keeps_the_address(door: FlaskClient, ada, caplog) -> None:
    response = _log_in(door, ada.email, "wrong")
    # Whoever looks after the server sees where guesses come from.
    assert f"a login was refused with 422, from {door.environ_base['REMOTE_ADDR']}" in caplog.messages
    assert response.status_code == 422
    assert "Check both and try again" in response.text
    assert f'value="{ada.email}"' in response.text


def test_the_door_says_who_can_set_another_password(door: FlaskClient) -> None:
    assert "Whoever runs this server can set a new one." in door.get("/login").text


def test_an_unknown_address_gets_the_same_answer(door: FlaskClient, ada) -> None:
    known = _log_in(door, ada.email, "wrong").text.replace(ada.email, "")
    unknown = _log_in(door, "nobody@example.org", "wrong").text.replace("nobody@example.org", "")
    assert known == unknown


@pytest.mark.parametrize("email", ["", "\x00", "a" * 5000, "ü@ü"])
def test_an_odd_address_is_refused_like_any_other(door: FlaskClient, email: str) -> None:
    assert _log_in(door, email).status_code == 422


def test_too_many_tries_at_one_account_are_stopped(door: FlaskClient, ada) -> None:
    for _ in range(PER_ACCOUNT):
        _log_in(door, ada.email, "wrong")
    door.environ_base["REMOTE_ADDR"] = new_address()
    response = _log_in(door, ada.email)
    assert response.status_code == 429
    assert "Wait five minutes" in response.text
    assert int(response.headers["Retry-After"]) == 300


def test_who_guesses_elsewhere_does_not_keep_a_browser_out_that_has_logged_in(app: Flask, door, ada, bob) -> None:
    _log_in(door, ada.email)
    known, of_another = (each.get_cookie(COOKIE).value for each in (door, at_browser(app, bob)))
    now, shared = utc_now(), new_address()
    with app.app_context():
        said = ["", of_another] * PER_ACCOUNT
        guesses = [too_many(ada.email, new_address(), now, each) for each in said[: PER_ACCOUNT + 1]]
        here = [too_many(f"nobody-{number}@example.org", shared, now) for number in range(PER_ADDRESS + 1)]
    assert (guesses, here[-1]) == ([False] * PER_ACCOUNT + [True], True)
    door.environ_base["REMOTE_ADDR"] = shared
    assert _log_in(door, ada.email).status_code == 303
    assert door.post("/account/password", data={"old": "wrong"}).status_code == 422
    with app.app_context():
        # It may guess no more often than others; the one of the page counts.
        guesses = [too_many(ada.email, new_address(), now, known) for _ in range(PER_ACCOUNT)]
    assert guesses == [False] * (PER_ACCOUNT - 1) + [True]


@pytest.mark.parametrize("spelling", [str.upper, str.title, " {} ".format])
def test_another_spelling_is_the_same_account(door: FlaskClient, ada, spelling) -> None:
    for _ in range(PER_ACCOUNT):
        _log_in(door, ada.email, "wrong")
    assert _log_in(door, spelling(ada.email)).status_code == 429


def test_too_many_tries_from_one_address_are_stopped(app: Flask) -> None:
    address, now = new_address(), utc_now()
    with app.app_context():
        told = [too_many(f"nobody-{number}@example.org", address, now) for number in range(PER_ADDRESS + 1)]
    assert told == [False] * PER_ADDRESS + [True]


def test_all_addresses_that_one_client_has_count_together(app: Flask) -> None:
    network, now = secrets.token_hex(2), utc_now()
    with app.app_context():
        told = [
            too_many(f"nobody-{number}@example.org", f"2001:db8:{network}::{number:x}", now)
            for number in range(PER_ADDRESS + 1)
        ]
        assert told == [False] * PER_ADDRESS + [True]
        assert not too_many("nobody@example.org", f"2001:db8:{network}:1::1", now)


def test_an_address_counts_the_same_however_it_is_written(app: Flask) -> None:
    address, now = new_address(), utc_now()
    with app.app_context():
        for number in range(PER_ADDRESS):
            too_many(f"nobody-{number}@example.org", address, now)
        assert too_many("nobody@example.org", f"::ffff:{address}", now)


def test_who_knows_the_password_may_log_in_often(door: FlaskClient, ada) -> None:
    assert {_log_in(door, ada.email).status_code for _ in range(PER_ACCOUNT + 2)} == {303}


def test_a_session_lasts_longer_than_the_browser(door: FlaskClient, ada) -> None:
    cookie = _log_in(door, ada.email).headers["Set-Cookie"]
    assert "Expires=" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_no_session_lasts_for_ever_by_being_used(door: FlaskClient, ada) -> None:
    _log_in(door, ada.email)
    for longer, status in ((timedelta(minutes=-1), 200), (timedelta(minutes=1), 303)):
        with door.session_transaction() as cookie:
            cookie["begun"] = (utc_now() - LONGEST_SESSION - longer).timestamp()
        assert door.get("/account").status_code == status


def test_each_login_is_a_new_session(door: FlaskClient, ada) -> None:
    keys = set()
    for _ in range(2):
        _log_in(door, ada.email)
        with door.session_transaction() as cookie:
            keys.add(cookie["key"])
    assert len(keys) == 2


def test_what_the_cookie_held_before_a_login_is_gone(door: FlaskClient, ada) -> None:
    with door.session_transaction() as cookie:
        cookie["planted"] = "yes"
    _log_in(door, ada.email)
    with door.session_transaction() as cookie:
        assert "planted" not in cookie


def test_logging_out_closes_the_pages(app: Flask, ada) -> None:
    client = at_browser(app, ada)
    assert client.post("/logout").location == "/login"
    assert client.get("/").location.startswith("/login")


def test_a_login_goes_on_to_where_the_visitor_was_going(door: FlaskClient, ada) -> None:
    assert _log_in(door, ada.email, next="/memories?type=fact").location == "/memories?type=fact"


ELSEWHERE = [
    "https://elsewhere.example/",
    "//elsewhere.example",
    "/\\elsewhere.example",
    "/\t/elsewhere.example",
    "/\n/elsewhere.example",
    "javascript:alert(1)",
    "memories",
    "",
]


@pytest.mark.parametrize("target", ELSEWHERE)
def test_a_login_never_leads_to_another_site(door: FlaskClient, ada, target: str) -> None:
    assert _log_in(door, ada.email, next=target).location == "/"


@pytest.mark.parametrize("target", ELSEWHERE)
def test_a_path_of_another_site_is_not_local(target: str) -> None:
    assert local_path(target, "/") == "/"


def test_the_colours_are_kept(client: FlaskClient) -> None:
    client.post("/appearance", data={"appearance": "dark", "next": "/login"})
    assert 'data-appearance="dark"' in client.get("/login").text


def test_unknown_colours_are_refused(client: FlaskClient) -> None:
    assert client.post("/appearance", data={"appearance": '"><script>'}).status_code == 422
