"""A database that is there, and cannot do what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from api_agent import Agent
from sqlalchemy import text

from memory.database import make_engine

CONVERSATIONS = "/v1/conversations"
TITLE = "more than the database can do"


@pytest.fixture
def unable(runtime) -> Iterator[Callable[[str], None]]:
    """Return what makes the database fail with an error of this code where a conversation of the title comes in."""
    engine = make_engine(runtime.databases.owner, pool_size=1)

    def fail(code: str) -> None:
        with engine.begin() as connection:
            connection.execute(
                text(
                    "CREATE FUNCTION fail_now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                    f" RAISE EXCEPTION 'cannot' USING ERRCODE = '{code}'; END $$"
                )
            )
            connection.execute(
                text(
                    "CREATE TRIGGER conversations_unable BEFORE INSERT ON conversations FOR EACH ROW"
                    f" WHEN (NEW.title = '{TITLE}') EXECUTE FUNCTION fail_now()"
                )
            )

    yield fail
    with engine.begin() as connection:
        connection.execute(text("DROP FUNCTION fail_now() CASCADE"))
    engine.dispose()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("disk_full", "the disk of the database is full; nothing was stored"),
        ("deadlock_detected", "another request changed the same thing at the same moment; nothing was stored"),
        ("serialization_failure", "another request changed the same thing at the same moment; nothing was stored"),
        ("lock_not_available", "another request holds the same thing; nothing was stored"),
        ("cannot_connect_now", "the database does not answer; nothing was stored"),
    ],
)
def test_what_the_database_cannot_do_is_said_as_what_it_is(client, ada, unable, code, said) -> None:
    unable(code)
    answer = Agent(client, ada.headers).post(CONVERSATIONS, {"title": TITLE})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert answer.json["detail"] == said
