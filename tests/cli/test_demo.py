"""The demo user that the first start makes."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy import delete, func, select, text

from memory.accounts.accounts import check_password, create_user, find_user, set_password
from memory.clock import utc_now
from memory.models import Fact, Memory, User
from memory.storage.database import user_session
from tasks.app import configure
from webapp.cli import demo
from webapp.cli.wiring import owner_session

pytestmark = pytest.mark.slow


@pytest.fixture
def nobody(runtime):
    configure(runtime)
    with owner_session(runtime) as session:
        session.execute(delete(User).where(User.email == demo.EMAIL))
    return runtime


@pytest.fixture
def made(runtime):
    """There is a demo, which may be that of the test before: for tests that change nothing of it."""
    configure(runtime)
    demo.ensure_demo(runtime)


def memories(runtime):
    with runtime.sessions() as session:
        user_id = find_user(session, demo.EMAIL)
    with user_session(runtime.sessions, user_id) as session:
        return session.scalar(select(func.count()).select_from(Memory).where(Memory.user_id == user_id))


def test_a_start_that_is_ended_while_it_makes_the_demo_leaves_none_to_the_next(nobody, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(demo, "DATA", demo.DATA.with_name("none.json"))
        with pytest.raises(FileNotFoundError):
            demo.ensure_demo(nobody)
    said = demo.ensure_demo(nobody)
    assert said == f"Log in as {demo.EMAIL} with the password {demo.PASSWORD}"
    assert memories(nobody) > 10


def test_the_demo_has_facts_of_which_one_has_ended(nobody):
    demo.ensure_demo(nobody)
    with nobody.sessions() as session:
        user_id = find_user(session, demo.EMAIL)
    with user_session(nobody.sessions, user_id) as session:
        lived = select(Fact.object).where(Fact.predicate == "lives in", Fact.valid_until.is_not(None))
        assert session.scalars(lived).all() == ["Porto"]


def test_of_two_first_starts_at_once_one_makes_the_demo(nobody):
    said = []
    with owner_session(nobody) as session:
        create_user(session, demo.EMAIL, demo.PASSWORD, soft_cap=200, now=utc_now())
        other = threading.Thread(target=lambda: said.append(demo.ensure_demo(nobody)))
        other.start()
        waiting, deadline = text("SELECT count(*) FROM pg_locks WHERE NOT granted"), time.monotonic() + 60
        while not session.scalar(waiting) and time.monotonic() < deadline:
            time.sleep(0.02)
    other.join(60)
    assert [each.endswith("unless it was changed") for each in said] == [True]
    assert memories(nobody) == 0


def test_the_login_of_a_demo_that_was_there_is_not_promised(nobody):
    demo.ensure_demo(nobody)
    before = memories(nobody)
    assert demo.ensure_demo(nobody).endswith("unless it was changed")
    assert memories(nobody) == before
    with nobody.sessions() as session:
        assert check_password(session, demo.EMAIL, demo.PASSWORD) is not None


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8765", 303),
        ("localhost:8765", 303),
        ("[::1]:8765", 303),
        ("book.localhost", 303),
        ("evil.example:8765", 403),
        ("127.0.0.1.evil.example", 403),
        ("192.168.1.4:8765", 403),
    ],
)
def test_the_password_that_everybody_knows_opens_on_this_machine_alone(made, client, host, status):
    """The name of another site may lead to this machine, and its pages ask by that name."""
    fields = {"email": f" {demo.EMAIL.upper()}", "password": demo.PASSWORD}
    answer = client.post("/login", data=fields, headers={"Host": host})
    assert answer.status_code == status
    assert ("Everybody knows this password" in answer.text) == (status == 403)


@pytest.mark.parametrize(
    "whence", [{"REMOTE_ADDR": "192.0.2.7"}, {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "192.0.2.7"}]
)
# As it is, and as keyboards for Chinese and Japanese type it.
@pytest.mark.parametrize("password", [demo.PASSWORD, demo.PASSWORD.replace("-", "\uff0d")])
def test_nobody_opens_it_over_a_network_by_calling_the_server_localhost(made, client, whence, password):
    fields = {"email": demo.EMAIL, "password": password}
    answer = client.post("/login", data=fields, headers={"Host": "localhost:8765"}, environ_overrides=whence)
    assert answer.status_code == 403


def test_with_a_password_of_ones_own_the_demo_opens_anywhere(nobody, client):
    demo.ensure_demo(nobody)
    with nobody.sessions() as session:
        user_id = find_user(session, demo.EMAIL)
    with user_session(nobody.sessions, user_id) as session:
        set_password(session, user_id, "a password of my own", now=utc_now(), actor="test")
    fields = {"email": demo.EMAIL, "password": "a password of my own"}
    assert client.post("/login", data=fields, headers={"Host": "book.example"}).status_code == 303
