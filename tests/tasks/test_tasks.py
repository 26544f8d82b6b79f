"""The envelopes around the domain: nudge, embed, sweep, purge."""

from __future__ import annotations

import errno
import logging
import os
import pickle
import signal
import threading
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from sqlalchemy import event, text

import memory.storage.database
from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.forgetting.forget import forget
from memory.storage.database import user_session
from memory.writing.remember import remember, remember_many
from memory.writing.retention import BATCH
from tasks import app, embedding
from tasks.app import configure, huey
from tasks.embedding import embed_waiting, fill, nudge, sweep
from tasks.upkeep import _Round, archive_aged, purge_due
from webapp.cli.worker import left_out_in_a_line

pytestmark = pytest.mark.usefixtures("empty_queue")


@pytest.fixture
def memory_id(runtime, ada):
    with user_session(runtime.sessions, ada.id) as session:
        draft = Draft("Ada keeps bees behind the house")
        return remember(session, ada.id, "default", draft, keys=runtime.keys, now=utc_now(), actor="t").id


def test_a_nudge_queues_one_look():
    nudge()
    assert huey.pending_count() == 1


def test_many_nudges_are_one_look():
    for _ in range(3):
        nudge()
    assert huey.pending_count() == 1


def test_a_queued_look_embeds_what_waits(memory_id, ask):
    nudge()
    huey.execute(huey.dequeue())
    assert ask("SELECT needs_embedding FROM memories") is False


class Trap:
    """What makes a folder when it is made into an object again."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def test_nothing_is_made_of_what_others_put_into_the_queue(tmp_path):
    huey.storage.enqueue(pickle.dumps(Trap(str(tmp_path / "trap"))))
    with pytest.raises(ValueError, match="not signed"):
        huey.dequeue()
    assert list(tmp_path.iterdir()) == []
    nudge()
    assert huey.dequeue() is not None


def test_what_an_earlier_version_left_in_the_queue_is_left_out_in_a_line_each(caplog):
    unsigned = pickle.dumps(huey._registry.create_message(embed_waiting.s()))
    huey.storage.enqueue(unsigned)
    huey.storage.add_to_schedule(unsigned, utc_now().replace(tzinfo=None) - timedelta(seconds=1))
    readers = [logging.getLogger(name) for name in ("huey", "huey.consumer.Worker")]
    for each in readers:
        each.addFilter(left_out_in_a_line)
    try:
        consumer = huey.create_consumer(workers=1, periodic=False)
        consumer.worker_threads[0][0].loop()
        assert huey.read_schedule() == []
    finally:
        for each in readers:
            each.removeFilter(left_out_in_a_line)
    said = [record for record in caplog.records if record.name in {"huey", "huey.consumer.Worker"}]
    assert [(record.levelname, record.exc_info) for record in said] == [("WARNING", None)] * 2
    assert all("left out" in record.getMessage() for record in said)
    nudge()
    assert huey.dequeue() is not None


@pytest.fixture
def due_in_a_minute(memory_id, database_url):
    sweep.call_local()
    huey.flush()
    with psycopg.connect(database_url, autocommit=True) as connection:
        later = "UPDATE embeddings SET state = 'pending', vector = NULL, due_at = now() + interval '1 minute'"
        connection.execute(later)


@pytest.mark.usefixtures("due_in_a_minute")
def test_a_look_comes_back_when_the_next_row_falls_due():
    embed_waiting.call_local()
    # A task with a time goes through the queue, where a worker puts it on the schedule.
    wait = huey.dequeue().eta - utc_now().replace(tzinfo=None)
    assert timedelta(seconds=30) < wait <= timedelta(minutes=1)


@pytest.mark.usefixtures("due_in_a_minute")
def test_a_look_that_is_on_the_schedule_is_one():
    embed_waiting.call_local()
    huey.add_schedule(huey.dequeue())
    embed_waiting.call_local()
    assert (huey.pending_count(), huey.scheduled_count()) == (0, 1)


def test_the_sweep_finds_a_row_whose_nudge_was_lost(memory_id, ask):
    sweep.call_local()
    assert ask("SELECT state FROM embeddings") == "ready"


def test_who_asks_by_hand_waits_for_no_model_that_rests(due_in_a_minute, database_url, ask):
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE embeddings SET due_at = now()")
        connection.execute("UPDATE embedding_models SET rests_until = now() + interval '1 minute'")
    sweep.call_local()
    assert ask("SELECT state FROM embeddings") == "pending"
    fill.call_local()
    assert ask("SELECT state FROM embeddings") == "ready"


def test_a_long_backlog_leaves_threads_for_all_else(memory_id, ask):
    with embedding._embedding, embedding._embedding:
        sweep.call_local()
        assert ask("SELECT needs_embedding FROM memories") is True
    # Those who were at it may have looked for the last time already.
    assert huey.pending_count() + huey.scheduled_count() == 1
    assert embed_waiting.call_local() == 1
    assert embedding.THREADS > embedding.EMBEDDING_AT_ONCE


def test_who_is_at_it_looks_again_for_who_was_turned_away(runtime, ada, ask, monkeypatch):
    # Something else is tried again later: no other look is put on the schedule.
    embed_waiting.schedule(delay=600)
    huey.add_schedule(huey.dequeue())
    run = runtime.backfill.run

    def run_and_be_late():
        done = run()
        monkeypatch.setattr(runtime.backfill, "run", run)
        with user_session(runtime.sessions, ada.id) as session:
            draft = Draft("Ada keeps bees behind the house")
            remember(session, ada.id, "default", draft, keys=runtime.keys, now=utc_now(), actor="t")
        with embedding._embedding:
            assert embed_waiting.call_local() == 0
        return done

    monkeypatch.setattr(runtime.backfill, "run", run_and_be_late)
    assert embed_waiting.call_local() == 1
    assert ask("SELECT needs_embedding FROM memories") is False


@pytest.fixture
def queue_down(runtime):
    """A queue whose database does not answer, as the task's process sees it."""
    gone = replace(runtime.databases, app="postgresql://nobody@127.0.0.1:9/nothing_test")
    huey.storage.close()
    configure(replace(runtime, databases=gone))
    yield
    configure(runtime)
    huey.storage.close()


def test_a_queue_that_is_down_fails_no_write(queue_down):
    nudge()


def test_a_nudge_outlives_a_server_that_was_started_again(database_url):
    nudge()
    huey.flush()
    with psycopg.connect(database_url, autocommit=True) as connection:
        ended = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = %s"
        assert (True,) in connection.execute(ended, ["commonplace-queue"]).fetchall()
    nudge()
    assert huey.pending_count() == 1


def test_a_queue_that_is_down_is_logged_once(queue_down, caplog):
    nudge()
    nudge()
    assert caplog.text.count("not nudged") == 1
    assert "port 9 failed" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_queue_whose_server_hangs_is_not_waited_for(monkeypatch):
    def refuse(*_given, **_named):
        raise psycopg.OperationalError(f"connection to server failed: {os.strerror(errno.EHOSTUNREACH)}")

    nudge()
    monkeypatch.setattr(memory.storage.database, "SILENT", 0.1)
    monkeypatch.setattr(psycopg.Connection, "connect", refuse)
    with pytest.raises(psycopg.OperationalError, match="has not answered for long"):
        huey.storage.sql("SELECT pg_sleep(2)")


def test_a_queue_whose_process_stops_at_work_is_not_waited_for(runtime, monkeypatch):
    monkeypatch.setattr(memory.storage.database, "SILENT", 0.2)
    monkeypatch.setattr(app, "LONGEST_STATEMENT", 0.5)
    with app._connect() as connection:
        pid = connection.info.backend_pid
        # A machine that stops it late would find it ended by its limit.
        connection.execute("SET statement_timeout = 0")
        stopping = threading.Timer(0.2, os.kill, (pid, signal.SIGSTOP))
        # Where it is waited for all the same, it answers at last, and the test fails.
        resuming = threading.Timer(30, os.kill, (pid, signal.SIGCONT))
        stopping.start()
        resuming.start()
        try:
            with pytest.raises(psycopg.OperationalError, match="has not answered for long"):
                connection.execute("SELECT pg_sleep(10)")
        finally:
            stopping.join()
            resuming.cancel()
            os.kill(pid, signal.SIGCONT)


def test_the_link_to_the_queue_is_looked_after_as_the_address_says(runtime):
    address = make_conninfo(runtime.databases.app, keepalives_idle=99)
    try:
        configure(replace(runtime, databases=replace(runtime.databases, app=address)))
        with app._connect() as connection:
            found = connection.info.get_parameters()
    finally:
        configure(runtime)
    assert (found["keepalives_idle"], found["keepalives_interval"]) == ("99", "10")


@pytest.fixture
def forgotten(runtime, ada, memory_id):
    with user_session(runtime.sessions, ada.id) as session:
        forget(
            session,
            ada.id,
            memory_id,
            keys=runtime.keys,
            now=utc_now() - timedelta(hours=25),
            actor="t",
            undo=timedelta(minutes=10),
        )


def test_what_is_due_is_purged_for_every_user(forgotten, ask):
    purge_due.call_local()
    assert ask("SELECT (SELECT count(*) FROM forgotten) + (SELECT count(*) FROM tombstones)") == 0


def test_a_purge_counts_rows(forgotten):
    purge_due.call_local()
    assert purge_due.call_local() == 0


def test_what_is_not_due_stays(runtime, ada, memory_id, ask):
    with user_session(runtime.sessions, ada.id) as session:
        forget(session, ada.id, memory_id, keys=runtime.keys, now=utc_now(), actor="t", undo=timedelta(minutes=10))
    purge_due.call_local()
    assert ask("SELECT (SELECT count(*) FROM forgotten) + (SELECT count(*) FROM tombstones)") == 2


def test_what_is_due_is_purged_some_at_a_time(monkeypatch, runtime, ada, bob, ask):
    """Who writes to a space waits for one batch, and not for all that has expired."""
    for person, number in ((ada, 5), (bob, 1)):
        with user_session(runtime.sessions, person.id) as session:
            drafts = [Draft(f"Hive {n} gives honey in month {n}") for n in range(number)]
            remember_many(session, person.id, "default", drafts, keys=runtime.keys, now=utc_now(), actor="t")
            session.execute(text("UPDATE memories SET expires_at = now() - interval '1 minute'"))
    monkeypatch.setattr("tasks.upkeep.SET_ASIDE_AT_ONCE", 2)
    monkeypatch.setattr("tasks.upkeep.PURGED_AT_ONCE", 2)
    assert purge_due.call_local() >= 6
    purged = "SELECT array_agg(count ORDER BY count DESC) FROM audit_events WHERE action = 'memory.purged'"
    assert (ask(purged), ask("SELECT count(*) FROM memories")) == ([2, 2, 1], 0)


AGED = """
UPDATE memories SET id = uuidv7(interval '-200 days'), updated_at = now() - interval '200 days'
WHERE user_id = :user_id
"""


def aged_memory(person):
    """Store something as if it had come long ago: its id tells when."""
    with user_session(person.runtime.sessions, person.id) as session:
        draft = Draft("Ada keeps bees behind the house")
        remember(session, person.id, "default", draft, keys=person.runtime.keys, now=utc_now(), actor="t")
        session.execute(text("DELETE FROM embeddings"))
        session.execute(text(AGED), {"user_id": person.id})


WANTED = """
INSERT INTO last_scores (user_id, memory_id, relevance, recency, importance, total, computed_at)
SELECT user_id, id, 1, 1, 1, 1, now() FROM memories WHERE user_id = :user_id
"""


def test_the_keeper_goes_on_where_its_time_was_over(monkeypatch, ada, bob):
    """What is looked at each time, as it is wanted, keeps nobody else's waiting."""
    first, second = sorted((ada, bob), key=attrgetter("id"))
    for person in (first, second):
        aged_memory(person)
    with user_session(first.runtime.sessions, first.id) as session:
        session.execute(text(WANTED), {"user_id": first.id})
    monkeypatch.setattr("tasks.upkeep.LONGEST_RUN", 0)
    monkeypatch.setattr("tasks.upkeep._aging", _Round((UUID(int=0), UUID(int=0))))
    assert [archive_aged.call_local() for _ in range(3)] == [0, 1, 0]


def test_the_keeper_archives_more_than_a_batch(new_person):
    person = new_person("hoarder", soft_cap=2 * BATCH)
    with user_session(person.runtime.sessions, person.id) as session:
        drafts = [Draft(f"Hive {n} gives honey in month {n}") for n in range(BATCH + 1)]
        remember_many(session, person.id, "default", drafts, keys=person.runtime.keys, now=utc_now(), actor="t")
        # Their ids change.
        for table in ("embeddings", "possible_updates"):
            session.execute(text(f"DELETE FROM {table}"))
        session.execute(text(AGED), {"user_id": person.id})
    assert archive_aged.call_local() == BATCH + 1


def test_the_keeper_asks_nothing_of_who_has_nothing_that_old(runtime, new_person, ada):
    def asked():
        statements = []
        note = lambda *args: statements.append(args[2])  # noqa: E731 - to be taken away again
        engine = runtime.sessions.kw["bind"]
        event.listen(engine, "before_cursor_execute", note)
        archive_aged.call_local()
        event.remove(engine, "before_cursor_execute", note)
        return len(statements)

    before = asked()
    for name in ("carl", "dora", "emil"):
        new_person(name)
    assert asked() == before


def test_the_keeper_archives_what_is_too_old_and_nothing_else(ask, runtime, ada, memory_id):
    with user_session(runtime.sessions, ada.id) as session:
        draft = Draft("The harbour opens in May")
        remember(session, ada.id, "default", draft, keys=runtime.keys, now=utc_now(), actor="t")
        session.execute(text("DELETE FROM embeddings"))
        # As if it had come then: its id tells when.
        aged = "SET id = uuidv7(interval '-200 days'), updated_at = now() - interval '200 days' WHERE id = :id"
        session.execute(text(f"UPDATE memories {aged}"), {"id": memory_id})
    assert archive_aged.call_local() >= 1
    assert ask("SELECT text FROM memories WHERE status = 'archived'") == "Ada keeps bees behind the house"
    assert ask("SELECT text FROM memories WHERE status = 'active'") == "The harbour opens in May"
    assert archive_aged.call_local() == 0
