"""The worker reads what was embedded, reads on its own, and keeps out of the way of vectors."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

import config
from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.enrichment import enrich as enriching
from memory.storage.database import user_session
from memory.writing.remember import remember
from tasks import embedding, enrichment
from tasks.app import configure, huey
from tasks.embedding import nudge
from tasks.enrichment import enrich, enrich_waiting

pytestmark = pytest.mark.usefixtures("empty_queue")


@pytest.fixture
def worker(runtime, ada):
    """A worker with enrichment on, which finds nobody's texts waiting but Ada's."""
    with runtime.sessions.begin() as session:
        others = session.scalars(text("SELECT * FROM users_with_unenriched_items(now())")).all()
    for user_id in others:
        with user_session(runtime.sessions, user_id) as session:
            session.execute(text("UPDATE memories SET enriched_version = version"))
            session.execute(text("UPDATE episodes SET needs_enrichment = false"))
    configure(replace(runtime, settings=replace(runtime.settings, enrichment=True)))
    yield
    configure(runtime)


@pytest.fixture
def write(runtime, ada):
    def _write(words="My sister Beatrice keeps bees behind the house", ago=timedelta()):
        with user_session(runtime.sessions, ada.id) as session:
            now = utc_now() - ago
            return remember(session, ada.id, "default", Draft(words), keys=runtime.keys, now=now, actor="t").id

    return _write


TAGS = "SELECT derived_tags FROM memories"


def test_what_was_embedded_is_read(worker, write, ask):
    write()
    nudge()
    huey.execute(huey.dequeue())
    assert ask("SELECT needs_embedding FROM memories") is False
    assert "beatrice" in ask(TAGS)


def test_every_minute_finds_what_was_missed(worker, write, ask):
    write()
    assert enrich_waiting.call_local() == 1
    assert "beatrice" in ask(TAGS)


def test_vectors_that_are_due_come_first(worker, write, ask, runtime, ada):
    runtime.backfill.adopt(ada.id)
    write()
    enrich()
    assert ask("SELECT needs_embedding FROM memories") is False


def test_vectors_that_others_are_making_are_left_to_them(worker, write, ask, runtime, ada):
    runtime.backfill.adopt(ada.id)
    write()
    with embedding._embedding, embedding._embedding:
        assert enrich() == 0
    assert ask("SELECT needs_embedding FROM memories") is True


@pytest.fixture
def stuck(worker, write, runtime, ada):
    """Both threads that may embed are at it, and what waits for them has waited for two minutes."""
    runtime.backfill.adopt(ada.id)
    for person in ("Beatrice", "Charlotte"):
        write(f"My sister {person} keeps bees behind the house", ago=timedelta(minutes=2))
    with embedding._embedding, embedding._embedding:
        yield


def test_a_batch_is_read_while_others_embed_for_hours(stuck, monkeypatch):
    monkeypatch.setattr(enriching, "BATCH", 1)
    assert (enrich(), enrich(), enrich()) == (1, 1, 0)


def test_who_embeds_for_long_keeps_nobody_from_reading(worker, write, runtime, ada, monkeypatch):
    """A thread that comes to read embeds first, and is at it for hours where a provider is slow."""
    runtime.backfill.adopt(ada.id)
    write(ago=timedelta(minutes=2))
    begun, over = threading.Event(), threading.Event()

    def embed_for_hours():
        begun.set()
        over.wait(30)

    monkeypatch.setattr(runtime.backfill, "run", embed_for_hours)
    thread = threading.Thread(target=enrich)
    thread.start()
    assert begun.wait(10)
    try:
        with embedding._embedding:
            assert enrich() == 1
    finally:
        over.set()
        thread.join()


def test_switched_off_it_reads_nothing(runtime, write, ask):
    write()
    assert enrich_waiting.call_local() == 0
    assert ask("SELECT enriched_version FROM memories") is None


def test_one_thread_reads_at_a_time(worker, write):
    write()
    with enrichment._reading:
        assert enrich() == 0
    assert enrich() == 1


def test_no_time_is_no_reading(worker, write):
    write()
    assert enrich(longest=0.0) == 0


def test_what_was_found_asks_for_vectors(worker, write):
    write()
    enrich()
    assert huey.pending_count() == 1


def test_nothing_found_asks_for_nothing(worker):
    enrich()
    assert huey.pending_count() == 0


def test_the_write_itself_reads_nothing(worker, write, ask):
    write()
    assert ask("SELECT enriched_version FROM memories") is None


@pytest.mark.parametrize(("value", "on"), [("", True), ("on", True), ("off", False), ("OFF", False)])
def test_the_setting_is_a_switch(tmp_path, value, on):
    environment = {"COMMONPLACE_HOME": str(tmp_path), "COMMONPLACE_ENRICHMENT": value}
    assert config.load(environment).enrichment is on


def test_another_value_of_the_setting_is_refused(tmp_path):
    with pytest.raises(config.ConfigError, match="COMMONPLACE_ENRICHMENT"):
        config.load({"COMMONPLACE_HOME": str(tmp_path), "COMMONPLACE_ENRICHMENT": "maybe"})
