"""The demo user that the first start makes."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, func, select

from memory.accounts import check_password, find_user
from memory.database import user_session
from memory.models import Memory, User
from tasks.app import configure
from webapp.cli import demo
from webapp.cli.wiring import owner_session


@pytest.fixture
def nobody(runtime):
    configure(runtime)
    yield runtime
    with owner_session(runtime) as session:
        session.execute(delete(User).where(User.email == demo.EMAIL))


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


def test_the_login_of_a_demo_that_was_there_is_not_promised(nobody):
    demo.ensure_demo(nobody)
    before = memories(nobody)
    assert demo.ensure_demo(nobody).endswith("unless it was changed")
    assert memories(nobody) == before
    with nobody.sessions() as session:
        assert check_password(session, demo.EMAIL, demo.PASSWORD) is not None
