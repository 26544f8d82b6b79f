"""The rows that wait: who embeds them, and what a sweep finds."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from embedding_work import OneUser, Work, eight_wide
from memory_book import Book
from sqlalchemy import event, text

from memory.embedding import backfill, queue
from memory.embedding.backfill import Backfill
from memory.embedding.passages import passages
from memory.embedding.providers import Providers, System
from memory.forgetting.forget import forget
from memory.writing.edit import update


def test_every_row_gets_its_vector(local):
    local.write()
    local.backfill.run()
    assert (local.waiting(), local.states("all-MiniLM-L6-v2")) == (0, ["ready"] * 4)


def test_a_long_text_gets_a_vector_for_each_of_its_passages_too(local):
    long = " ".join(f"In year {year} the bridge was painted anew." for year in range(1900, 1960))
    memory_id, _ = local.write(long, "A short text beside it")
    local.backfill.run()
    expected = local.providers.embedder(local.active()).embedder.embed(passages(long))
    with local.book.session() as session:
        stored = dict(session.execute(text("SELECT memory_id, passages FROM embeddings")).all())
    found = stored.pop(memory_id)
    assert len(found) == len(expected) > 3
    assert np.abs(np.stack([each.to_numpy() for each in found]) - expected).max() < 1e-3
    assert list(stored.values()) == [None]
    local.book.do(update, memory_id, {"text": "Short now"}, now=local.clock())
    assert local.book.all("SELECT passages FROM embeddings WHERE state = 'pending'") == [None]
    local.backfill.run()
    assert local.book.all("SELECT passages FROM embeddings") == [None, None]


def test_long_texts_are_stored_before_more_are_embedded(work, provider, monkeypatch):
    monkeypatch.setattr("memory.embedding.backfill.PORTION", 1000)
    stored = []

    def note(body):
        stored.append(work.states().count("ready"))
        return eight_wide(body)

    provider.answer = note
    work.write(*(f"{number} " + "words of a long text. " * 40 for number in range(3)), "short", "shorter")
    work.backfill.run()
    assert (stored, work.states()) == ([0, 1, 2], ["ready"] * 5)


def test_a_run_ends_with_its_process_and_gives_back_what_it_has_not_embedded(work, provider, monkeypatch):
    monkeypatch.setattr("memory.embedding.backfill.PORTION", 1000)
    ending = threading.Event()
    work.backfill.end_with(ending)

    def last(body):
        ending.set()
        return eight_wide(body)

    provider.answer = last
    work.write(*(f"{number} " + "words of a long text. " * 40 for number in range(3)))
    work.backfill.run()
    assert (sorted(work.states()), len(work.claim())) == (["pending", "pending", "ready"], 2)
    assert work.book.all("SELECT attempts FROM embeddings ORDER BY attempts") == [1, 1, 1]


class TakenAway(Providers):
    """Whose model computes by threads that are gone once the process ends."""

    def __init__(self, ending: threading.Event, *given: Any) -> None:
        super().__init__(*given)
        self.ending = ending

    def embed_texts(self, *_: Any) -> Any:
        self.ending.set()
        raise RuntimeError("cannot schedule new futures after shutdown")


def test_a_model_that_fails_as_its_process_ends_fails_no_text(work, runtime):
    ending = threading.Event()
    backfill = OneUser(runtime.sessions, TakenAway(ending, System("none"), runtime.keys), work.clock)
    backfill.user_id = work.book.user_id
    backfill.end_with(ending)
    work.write()
    backfill.run()
    assert (work.states(), len(work.claim())) == (["pending"] * 4, 4)
    assert work.book.all("SELECT failures FROM embedding_models") == [0]


def test_what_is_forgotten_or_changed_while_others_are_embedded_is_not_sent(work, provider, monkeypatch):
    monkeypatch.setattr("memory.embedding.backfill.PORTION", 10)
    ids = work.write("The first of all", "The second secret", "The third as it was")

    def meanwhile(body: dict[str, Any]) -> dict[str, Any]:
        provider.answer = eight_wide
        sent = ids.index(work.book.one("SELECT id FROM memories WHERE text = :text", text=body["input"][0]))
        gone, changed = (each for number, each in enumerate(ids) if number != sent)
        keys, now = work.book.runtime.keys, work.clock()
        work.book.do(forget, gone, keys=keys, now=now)
        work.book.do(update, changed, {"text": "Another text"}, keys=keys, now=now)
        return eight_wide(body)

    provider.answer = meanwhile
    work.backfill.step()
    assert [len(body["input"]) for *_, body in provider.requests] == [1]
    work.backfill.run()
    assert provider.requests[-1][3]["input"] == ["Another text"]


def test_a_run_counts_what_it_settled(work):
    work.write()
    assert work.backfill.run() == 4


def test_progress_is_told_per_batch(work):
    work.write()
    told: list[int] = []
    work.backfill.run(told.append)
    assert told == [4]


def test_a_large_import_of_one_does_not_make_another_wait(local, runtime, new_person, monkeypatch):
    monkeypatch.setattr(backfill, "BATCH", 8)
    monkeypatch.setattr(backfill, "LEAST_SHARE", 2)
    local.write(*(f"Box {number} is full" for number in range(20)))
    local.clock.now += timedelta(seconds=1)
    other = Work(runtime, Book(runtime, new_person("late")), local.providers, local.clock)
    other.write("One new memory")
    users = [local.book.user_id, other.book.user_id]
    monkeypatch.setattr(OneUser, "_across_users", lambda *_: users)
    for user_id in users:
        local.backfill.adopt(user_id)
    assert local.backfill.step() == 8, "what one does not need, another has"
    assert (other.waiting(), local.waiting()) == (0, 13)


def test_one_new_memory_comes_before_what_a_large_import_takes(work, runtime, provider, new_person, monkeypatch):
    other = Work(runtime, Book(runtime, new_person("late")), work.providers, work.clock)
    other.use(provider, api_key="another")
    work.write()
    other.write("One new memory")
    users = [work.book.user_id, other.book.user_id]
    monkeypatch.setattr(OneUser, "_across_users", lambda *_: users)
    work.backfill.step()
    assert [key for _, _, key, _ in provider.requests] == ["Bearer another", None]


def test_a_lost_nudge_is_found_by_the_sweep(work):
    work.write()
    assert work.states() == []
    work.backfill.sweep()
    assert work.states() == ["pending"] * 4


def test_what_a_clock_that_was_ahead_put_off_is_embedded_once_it_is_right(work, provider):
    right = work.clock.now
    work.clock.now += timedelta(hours=9)
    provider.status = 503
    work.write()
    work.backfill.sweep()
    work.backfill.run()
    assert work.book.one("SELECT min(due_at) FROM embeddings") > right + timedelta(hours=8)
    work.clock.now, provider.status = right, 200
    work.backfill.sweep()
    work.backfill.run()
    assert work.states() == ["ready"] * 4


@pytest.fixture
def settled(local):
    """A person whose memories all have their vectors, and a backfill for everybody that has swept once."""
    local.write()
    local.backfill.run()
    everyone = Backfill(local.book.runtime.sessions, local.providers, local.clock)
    everyone.sweep()
    return local, everyone


def test_a_sweep_costs_no_more_for_those_who_lack_nothing(settled, new_person, runtime):
    _, everyone = settled
    engine = runtime.sessions.kw["bind"]
    asked: list[str] = []

    def note(_connection, _cursor, asked_for, *_rest):
        asked.append(asked_for)

    event.listen(engine, "before_cursor_execute", note)
    try:
        everyone.sweep()
        before = len(asked)
        for name in ("one", "two", "three"):
            new_person(name)
        asked.clear()
        everyone.sweep()
        assert len(asked) == before
    finally:
        event.remove(engine, "before_cursor_execute", note)


def test_who_has_no_model_is_looked_at_once_a_sweep(runtime, book, no_model, clock, provider):
    work = Work(runtime, book, no_model, clock)
    work.write()
    work.backfill.run()
    provider.answer = eight_wide
    work.use(provider)
    work.backfill.run()
    assert work.waiting() == 4
    work.backfill.sweep()
    work.backfill.run()
    assert work.waiting() == 0


def test_a_setting_that_nobody_followed_is_followed_within_the_hour(settled, provider):
    work, everyone = settled
    provider.answer = eight_wide
    work.use(provider)
    everyone.sweep()
    assert work.states("tiny") == []
    work.clock.now += timedelta(hours=1)
    everyone.sweep()
    assert work.states("tiny") == ["pending"] * 4


def test_the_systems_endpoint_is_followed_when_it_comes(settled, provider):
    work, everyone = settled
    everyone._providers = Providers(System("bundled", provider.url, "system"), work.book.runtime.keys)
    everyone.sweep()
    assert work.states("system") == ["pending"] * 4


def test_a_row_that_a_switch_missed_is_found_by_the_sweep(settled, provider):
    work, everyone = settled
    provider.answer = eight_wide
    work.use(provider)
    everyone.adopt(work.book.user_id)
    lost = work.book.one("SELECT min(memory_id::text)::uuid FROM embeddings WHERE state = 'pending'")
    work.book.do(
        lambda session, _user, **_: session.execute(
            text("DELETE FROM embeddings WHERE memory_id = :id AND state = 'pending'"), {"id": lost}
        )
    )
    everyone.sweep()
    assert work.states("tiny") == ["pending"] * 4


@pytest.fixture
def drop_connections(work, owner):
    statement = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :role")

    def _drop_connections():
        with owner.begin() as connection:
            connection.execute(statement, {"role": work.book.runtime.databases.app_role})

    return _drop_connections


def test_a_database_that_drops_its_connections_costs_no_row(work, provider, drop_connections):
    work.write()

    def answer_and_drop(body: dict[str, Any]) -> dict[str, Any]:
        provider.answer = eight_wide
        drop_connections()
        return eight_wide(body)

    provider.answer = answer_and_drop
    work.backfill.run()
    assert work.states() == ["ready"] * 4


def test_a_database_is_waited_for_however_long_the_provider_took(work, provider, drop_connections, monkeypatch):
    work.write()
    monkeypatch.setattr(backfill, "PATIENCE", 0.2)

    def fail_late(body: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.3)
        provider.answer, provider.status = eight_wide, 503
        drop_connections()
        return eight_wide(body)

    provider.answer = fail_late
    work.backfill.run()
    provider.status = 200
    work.clock.now += queue.LEASE
    work.backfill.run()
    assert work.states() == ["ready"] * 4
