"""The database goes away in the middle of a commit, or right after: no answer says that nothing was stored."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from api_agent import Agent
from api_talk import CONVERSATIONS
from flask import request_finished
from sqlalchemy import Engine, event, make_url, text
from sqlalchemy.orm import Session

from memory.storage.database import make_engine

LETHAL = "ends its connection as it is committed"


@pytest.fixture
def lethal_commit(database_url):
    """A trigger that ends the connection which commits a conversation of that title."""
    engine = make_engine(database_url, pool_size=1)
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION end_myself() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(5); RETURN NULL; END $$"
            )
        )
        connection.execute(
            text(
                "CREATE CONSTRAINT TRIGGER conversations_lethal AFTER INSERT ON conversations"
                " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
                f" WHEN (NEW.title = '{LETHAL}') EXECUTE FUNCTION end_myself()"
            )
        )
    yield
    with engine.begin() as connection:
        connection.execute(text("DROP TRIGGER conversations_lethal ON conversations"))
        connection.execute(text("DROP FUNCTION end_myself()"))
    engine.dispose()


def test_a_commit_without_an_answer_is_not_said_to_have_stored_nothing(client, ada, lethal_commit):
    agent = Agent(client, ada.headers)
    answer = agent.post(CONVERSATIONS, {"title": LETHAL})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "whether this was stored is not known" in answer.json["detail"]
    assert agent.post(CONVERSATIONS, {"title": "the next one"}).status_code == 201


@pytest.fixture
def lethal_answer(database_url, runtime):
    """The database takes the next commit, ends every connection of the app's, and takes no other for a while."""
    engine = make_engine(database_url, pool_size=1)
    name = make_url(database_url).database
    ends = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :role AND datname = :name")

    def leave(_session: Session) -> None:
        with engine.begin() as connection:
            connection.execute(text(f'ALTER DATABASE "{name}" CONNECTION LIMIT 0'))
            connection.execute(ends, {"role": runtime.databases.app_role, "name": name})

    def come_back() -> None:
        with engine.begin() as connection:
            connection.execute(text(f'ALTER DATABASE "{name}" CONNECTION LIMIT -1'))

    def listen() -> Callable[[], None]:
        event.listen(Session, "after_commit", leave, once=True)
        return come_back

    yield listen
    come_back()
    engine.dispose()


def test_what_was_committed_before_the_answer_failed_is_not_said_to_be_lost(client, ada, lethal_answer):
    agent = Agent(client, ada.headers)
    path = f"{CONVERSATIONS}/{agent.post(CONVERSATIONS, {'title': 'as it was'}).json['id']}"
    come_back = lethal_answer()
    answer = agent.patch(path, {"title": "as it is now"})
    come_back()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "whether this was stored is not known" in answer.json["detail"]
    assert agent.get(path).json["title"] == "as it is now"


def test_what_failed_after_a_savepoint_alone_was_not_stored(client, ada, lethal_answer):
    agent = Agent(client, ada.headers)
    path = f"{CONVERSATIONS}/{agent.post(CONVERSATIONS, {}).json['id']}"
    come_back = lethal_answer()
    # What is remembered has its space locked within a savepoint, whose end the session reports as a commit.
    message = {"role": "user", "content": "Rex is nine", "remember": True}
    answer = agent.post(f"{path}/messages", {"message": message})
    come_back()
    assert answer.status_code == 503
    assert "nothing was stored" in answer.json["detail"]
    assert agent.get(path).json["message_count"] == 0


@pytest.fixture
def hang_up(database_url, runtime):
    """End every connection of the app's, which may take new ones at once."""
    engine = make_engine(database_url, pool_size=1)
    ends = text("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = :role")

    def _hang_up(*_, **__):
        with engine.begin() as connection:
            connection.execute(ends, {"role": runtime.databases.app_role})

    yield _hang_up
    engine.dispose()


def test_an_answer_that_is_made_is_given_though_the_connection_is_lost(app, client, ada, hang_up):
    agent = Agent(client, ada.headers)
    path = f"{CONVERSATIONS}/{agent.post(CONVERSATIONS, {'title': 'as it was'}).json['id']}"
    with request_finished.connected_to(hang_up, app):
        assert agent.patch(path, {"title": "as it is now"}).status_code == 200
    assert agent.get(path).json["title"] == "as it is now"


def test_what_is_not_there_is_not_found_though_the_connection_is_lost(client, ada, hang_up):
    agent = Agent(client, ada.headers)
    agent.get(CONVERSATIONS)

    def leave(_connection, _cursor, statement, *_):
        if "FROM conversations" in statement:
            hang_up()

    event.listen(Engine, "after_cursor_execute", leave)
    try:
        answer = agent.get(f"{CONVERSATIONS}/{uuid4()}")
    finally:
        event.remove(Engine, "after_cursor_execute", leave)
    assert (answer.status_code, answer.json["detail"]) == (404, "there is no such conversation")
    assert agent.get(CONVERSATIONS).status_code == 200
