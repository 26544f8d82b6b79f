"""The database goes away in the middle of a commit: nobody can tell what became of it, and the answer says so."""

from __future__ import annotations

import pytest
from api_agent import Agent
from api_talk import CONVERSATIONS
from sqlalchemy import text

from memory.database import make_engine

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
