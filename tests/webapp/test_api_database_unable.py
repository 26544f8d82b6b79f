"""A database that is there, and cannot do what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from api_agent import Agent
from sqlalchemy import text

from memory.storage.database import make_engine, time_limit
from webapp import facts, recall
from webapp.api import ops

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


@pytest.fixture
def locked(runtime) -> Iterator[Callable[[str], None]]:
    """Return what lets nobody else near a table until the test ends, as `VACUUM FULL` does, or for 20 seconds."""
    engine = make_engine(runtime.databases.owner, pool_size=1)
    with engine.connect() as connection:
        # A search that waits without end shall fail its test, not hold all of them.
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = '20s'"))
        yield lambda table: connection.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
        connection.invalidate()
    engine.dispose()


def test_an_agent_does_not_wait_without_end_for_a_database_that_is_busy(client, ada, locked, monkeypatch) -> None:
    agent = Agent(client, ada.headers)
    agent.store("Ada keeps bees behind the house")
    monkeypatch.setattr(recall, "LONGEST_STATEMENT", 0.2)
    locked("memories")
    searched, asked = agent.tool("memory_search", query="bees"), agent.tool("query_memory", query="bees")
    assert (searched.json["results"], searched.json["degraded"], searched.json["error"]) == ([], ["database"], True)
    assert (asked.json["memories"], asked.json["degraded"], asked.json["error"]) == ([], ["database"], True)


def test_a_search_that_the_database_does_not_answer_is_logged_in_a_line(
    client, ada, locked, monkeypatch, caplog
) -> None:
    agent = Agent(client, ada.headers)
    agent.store("Ada keeps bees behind the house")
    monkeypatch.setattr(recall, "LONGEST_STATEMENT", 0.2)
    locked("memories")
    agent.tool("memory_search", query="bees")
    assert "search failed" in caplog.text
    assert "QueryCanceled" in caplog.text
    assert "Traceback" not in caplog.text


def test_the_metrics_do_not_wait_without_end_and_say_so_to_programs(client, ada, locked, monkeypatch) -> None:
    monkeypatch.setattr(ops, "LONGEST_STATEMENT", 0.2)
    locked("memories")
    answer = client.get("/metrics", environ_overrides={"REMOTE_ADDR": "127.0.0.1"})
    assert (answer.status_code, answer.mimetype) == (503, "application/problem+json")
    assert answer.json["detail"] == "this takes the database too long; nothing was stored"


def test_an_agent_that_asks_for_facts_does_not_wait_without_end_either(client, ada, locked, monkeypatch) -> None:
    agent = Agent(client, ada.headers)
    agent.post("/v1/facts", {"subject": "Ada", "predicate": "keeps", "object": "bees"})
    monkeypatch.setattr(facts, "LONGEST_STATEMENT", 0.2)
    locked("facts")
    searched = agent.tool("fact_search", query="Ada").json
    assert searched == {"facts": [], "more": False, "degraded": ["database"], "error": True}
    block = agent.post("/v1/memory/context", {"query": "What does Ada keep?", "facts": True}).json
    assert (block["context"], block["degraded"], block["error"]) == ("", ["database"], True)


def test_a_limit_of_time_holds_in_later_transactions_and_ends_with_the_search(runtime) -> None:
    with runtime.sessions() as session:
        with time_limit(session, 1.5):
            limits = [session.scalar(text("SHOW statement_timeout"))]
            session.commit()
            limits.append(session.scalar(text("SHOW statement_timeout")))
        session.commit()
        limits.append(session.scalar(text("SHOW statement_timeout")))
        with time_limit(session, 2):
            limits.append(session.scalar(text("SHOW statement_timeout")))
    assert limits == ["1500ms", "1500ms", "0", "2s"]
