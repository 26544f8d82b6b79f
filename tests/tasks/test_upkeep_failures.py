"""What fails for one person, or is held by one, keeps nobody else's from being purged and archived."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import sessionmaker

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.forgetting.forget import forget
from memory.spaces.spaces import lock_spaces
from memory.storage.database import make_engine, user_session
from memory.writing.remember import remember
from tasks.app import configure
from tasks.upkeep import archive_aged, purge_due

AGED = """
UPDATE memories SET id = uuidv7(interval '-200 days'), updated_at = now() - interval '200 days'
WHERE user_id = :user_id
"""
REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a bad row'; END $$;
CREATE TRIGGER refused BEFORE UPDATE ON memories
FOR EACH ROW WHEN (OLD.user_id = '{user}') EXECUTE FUNCTION refuse();
CREATE TRIGGER refused BEFORE DELETE ON forgotten
FOR EACH ROW WHEN (OLD.user_id = '{user}') EXECUTE FUNCTION refuse();
"""
# Enough for both sweeps of two people, several times over.
PATIENCE = 30  # seconds


def note(person):
    with user_session(person.runtime.sessions, person.id) as session:
        draft = Draft("Ada keeps bees behind the house")
        return remember(session, person.id, "default", draft, keys=person.runtime.keys, now=utc_now(), actor="t").id


def grow_old(person):
    note(person)
    with user_session(person.runtime.sessions, person.id) as session:
        session.execute(text("DELETE FROM embeddings"))
        session.execute(text(AGED), {"user_id": person.id})


def forget_long_ago(person):
    memory_id, then = note(person), utc_now() - timedelta(hours=25)
    undo, keys = timedelta(minutes=10), person.runtime.keys
    with user_session(person.runtime.sessions, person.id) as session:
        forget(session, person.id, memory_id, keys=keys, now=then, actor="t", undo=undo)


def ask(person, statement):
    with user_session(person.runtime.sessions, person.id) as session:
        return session.scalar(text(statement))


@pytest.fixture
def spoil(database_url):
    """Let what the upkeep does to a person's rows fail."""

    def run(statement):
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(statement)

    yield lambda person: run(REFUSE.format(user=person.id))
    run("DROP FUNCTION IF EXISTS refuse CASCADE")


def test_rows_that_cannot_be_purged_keep_nobody_elses(spoil, caplog, ada, bob):
    for person in (ada, bob):
        forget_long_ago(person)
    spoil(ada)
    purge_due.call_local()
    assert [ask(person, "SELECT count(*) FROM forgotten") for person in (ada, bob)] == [1, 0]
    (said,) = [record for record in caplog.records if record.name == "tasks.upkeep"]
    assert (str(ada.id) in said.getMessage(), said.levelname, said.exc_info is None) == (True, "ERROR", False)
    assert "bees" not in caplog.text


def test_rows_that_cannot_be_archived_keep_nobody_elses(spoil, caplog, ada, bob):
    for person in (ada, bob):
        grow_old(person)
    spoil(ada)
    archive_aged.call_local()
    assert [ask(person, "SELECT status FROM memories") for person in (ada, bob)] == ["active", "archived"]
    (said,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert str(ada.id) in said.getMessage()
    assert "bees" not in caplog.text


def test_a_space_that_another_transaction_holds_is_left_for_the_next_time(ada, bob):
    for person in (ada, bob):
        grow_old(person)
    keeper = threading.Thread(target=archive_aged.call_local, daemon=True)
    with user_session(ada.runtime.sessions, ada.id) as session:
        lock_spaces(session, ada.id)
        keeper.start()
        keeper.join(PATIENCE)
        assert not keeper.is_alive()
    assert [ask(person, "SELECT status FROM memories") for person in (ada, bob)] == ["active", "archived"]
    archive_aged.call_local()
    assert ask(ada, "SELECT status FROM memories") == "archived"


def test_a_database_that_is_away_is_no_failure_of_one_person(runtime, caplog, ada):
    """It is told once, by whoever runs the task, and not once for each who has something due."""
    forget_long_ago(ada)
    nowhere = make_engine("postgresql://nobody@127.0.0.1:9/nothing_test")
    configure(replace(runtime, sessions=sessionmaker(nowhere)))
    try:
        with pytest.raises(OperationalError):
            purge_due.call_local()
    finally:
        configure(runtime)
        nowhere.dispose()
    assert [record for record in caplog.records if record.name == "tasks.upkeep"] == []
