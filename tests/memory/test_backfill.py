"""The rows that wait, who embeds them, and the switch from one model to the next."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from local_provider import openai_shape
from memory_book import Book
from sqlalchemy import event, text
from sqlalchemy.orm import sessionmaker

from memory.database import make_engine, user_session
from memory.drafts import Draft
from memory.edit import update
from memory.embedding import backfill, queue
from memory.embedding.backfill import Backfill, Claims, utc_now
from memory.embedding.models import active_model, flip_if_complete, reconcile
from memory.embedding.passages import passages
from memory.embedding.providers import Providers, System, clear_setting, save_setting
from memory.forget import forget
from memory.jobs import STUCK_AFTER, retry_job
from memory.remember import remember_many

TEXTS = ["Ada keeps bees", "The bridge opens in spring", "Tea grows on the hills", "Our cat sleeps all day"]


def eight(text: str) -> list[float]:
    return [float(len(text)), 1, 2, 3, 4, 5, 6, 7]


def eight_wide(body: dict[str, Any]) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": eight(words)} for i, words in enumerate(body["input"])]}


def settings(provider: Any, **changes: Any) -> dict[str, Any]:
    fields = {"enabled": True, "provider_type": "openai", "endpoint_url": provider.url, "model": "tiny"}
    return {**fields, "api_key": None, "dimensions": None, **changes}


class Clock:
    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> Any:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class OneUser(Backfill):
    """A backfill for one person alone: other tests leave rows behind that are no business of this one."""

    user_id: Any
    flips = True

    def _across_users(self, function: Any) -> list[Any]:
        return [self.user_id]

    def _flip(self, user_id: Any) -> None:
        if self.flips:
            super()._flip(user_id)


class Work:
    """One person, their backfill and its clock."""

    def __init__(self, runtime: Any, book: Any, providers: Providers, clock: Any) -> None:
        self.book, self.providers, self.clock = book, providers, clock
        self.backfill = OneUser(runtime.sessions, providers, clock)
        self.backfill.user_id = book.user_id

    def use(self, provider: Any, **changes: Any) -> None:
        with self.book.session() as session:
            fields = settings(provider, **changes)
            save_setting(session, self.book.user_id, fields, keys=self.book.runtime.keys, now=self.clock())

    def write(self, *texts: str) -> list[Any]:
        drafts = [Draft(words) for words in texts or TEXTS]
        with self.book.session() as session:
            outcomes = remember_many(
                session,
                self.book.user_id,
                "default",
                drafts,
                keys=self.book.runtime.keys,
                now=self.clock(),
                actor="test",
            )
        return [outcome.id for outcome in outcomes]

    def claim(self, most: int = 100) -> list[queue.Job]:
        with self.book.session() as session:
            return queue.claim(session, self.book.user_id, most, self.clock())

    def states(self, model: str = "tiny") -> list[str]:
        return self.book.all(
            "SELECT e.state FROM embeddings e JOIN embedding_models m ON m.id = e.model_id WHERE m.model = :model",
            model=model,
        )

    def waiting(self) -> int:
        return self.book.one("SELECT count(*) FROM memories WHERE needs_embedding")

    def dimensions(self) -> set[int]:
        return set(self.book.all("SELECT vector_dims(vector) FROM embeddings WHERE state = 'ready'"))

    def active(self) -> Any:
        with self.book.session() as session:
            model = active_model(session, self.book.user_id)
            session.expunge_all()
            return model


@pytest.fixture
def work(runtime: Any, book: Any, no_model: Providers, clock: Clock, provider: Any) -> Work:
    """Work by a remote provider of eight dimensions."""
    provider.answer = eight_wide
    made = Work(runtime, book, no_model, clock)
    made.use(provider)
    return made


@pytest.fixture
def local(runtime: Any, book: Any, clock: Clock) -> Work:
    """Work by the bundled model."""
    return Work(runtime, book, runtime.providers, clock)


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
    local.book.do(update, memory_id, {"text": "Short now"}, keys=local.book.runtime.keys, now=local.clock())
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


def test_a_failing_provider_is_tried_again_later(work, provider):
    work.write()
    provider.status = 503
    work.backfill.run()
    assert (work.states(), work.claim()) == (["pending"] * 4, [])


def test_what_failed_once_succeeds_after_the_pause(work, provider):
    work.write()
    provider.status = 503
    work.backfill.run()
    provider.status = 200
    work.clock.now += timedelta(minutes=1)
    work.backfill.run()
    assert work.states() == ["ready"] * 4


def test_pauses_grow_and_spread():
    first = {queue.backoff(1) for _ in range(20)}
    assert len(first) > 1
    assert max(first) <= timedelta(seconds=3) < timedelta(seconds=16) <= min(queue.backoff(5) for _ in range(20)) * 1.01


def test_pauses_have_a_limit():
    assert queue.backoff(60) <= 1.5 * queue.LONGEST_BACKOFF


def pass_an_outage(work: Work, hours: int) -> None:
    """Run as the worker does, whenever something falls due, until so many hours have gone by."""
    end = work.clock.now + timedelta(hours=hours)
    while work.clock.now < end:
        work.backfill.run()
        with work.book.session() as session:
            (until,) = session.scalars(text("SELECT rests_until FROM embedding_models")).all()
        work.clock.now = max(until, work.clock.now + timedelta(seconds=1))


# Two hours ask four times as often as a text has attempts.
@pytest.mark.parametrize(("status", "hours"), [(503, 24), (500, 2), (429, 2), (404, 2), (401, 2)])
def test_what_is_stored_while_a_provider_is_away_is_embedded_in_the_end(work, provider, status, hours):
    work.write()
    provider.status = status
    pass_an_outage(work, hours)
    assert work.states() == ["pending"] * 4
    assert len(provider.requests) < 2 * (hours * 12 + 10), "at most one text and one probe in five minutes"
    provider.status = 200
    work.backfill.run()
    assert work.states() == ["ready"] * 4


def test_a_provider_that_is_away_costs_no_attempts(work, provider):
    work.write()
    provider.status = 503
    pass_an_outage(work, hours=2)
    assert set(work.book.all("SELECT attempts FROM embeddings")) == {0}


def test_a_provider_that_nobody_listens_for_is_away(work):
    work.use(type("Gone", (), {"url": "http://127.0.0.1:9"}))
    work.write()
    work.backfill.run()
    assert (work.states(), work.claim()) == (["pending"] * 4, [])
    assert "ConnectError" in work.book.one("SELECT error FROM embedding_models")


def test_a_provider_that_is_away_is_asked_once_a_run(work, runtime, provider, new_person, monkeypatch):
    monkeypatch.setattr(backfill, "BATCH", 8)
    work.write(*(f"Box {number} is full" for number in range(20)))
    other = Work(runtime, Book(runtime, new_person("other")), work.providers, work.clock)
    other.use(provider)
    other.write("One new memory")
    users = [work.book.user_id, other.book.user_id]
    monkeypatch.setattr(OneUser, "_across_users", lambda *_: users)
    provider.status = 503
    work.backfill.run()
    assert len(provider.requests) == 1
    assert (work.states(), other.states()) == (["pending"] * 20, ["pending"])
    assert (work.claim(), other.claim()) == ([], [])


def test_a_provider_that_was_away_is_asked_again_in_a_run_that_takes_long(work, provider):
    work.write()
    provider.status = 503

    def go_on(_done):
        if provider.status != 200:
            work.clock.now += timedelta(minutes=30)
        provider.status = 200

    work.backfill.run(go_on)
    assert (work.states(), work.book.one("SELECT failures FROM embedding_models")) == (["ready"] * 4, 0)


def test_who_asks_with_another_key_is_asked_for_too(work, runtime, provider, new_person, monkeypatch):
    """One key may be over its limit while another is not."""
    other = Work(runtime, Book(runtime, new_person("keyed")), work.providers, work.clock)
    other.use(provider, api_key="another")
    for each in (work, other):
        each.write(*TEXTS[:2])
    users = [work.book.user_id, other.book.user_id]
    monkeypatch.setattr(OneUser, "_across_users", lambda *_: users)
    provider.status = 429
    work.backfill.run()
    assert sorted(key or "" for _, _, key, _ in provider.requests) == ["", "Bearer another"]


def test_a_provider_is_left_alone_for_as_long_as_it_asks(work, provider):
    work.write()
    provider.status, provider.headers = 429, {"Retry-After": "1800"}
    work.backfill.run()
    assert work.book.one("SELECT rests_until FROM embedding_models") == work.clock.now + timedelta(minutes=30)


def test_the_worker_comes_back_when_a_model_has_rested(work, provider):
    work.write()
    provider.status, provider.headers = 503, {"Retry-After": "1800"}
    work.backfill.run()
    with work.book.session() as session:
        due = session.scalar(text("SELECT min(greatest(now(), rests_until)) FROM embedding_models"))
        others = session.scalar(text("SELECT next_due_embedding()"))
        users = session.scalars(text("SELECT users_with_due_embeddings(:now, 1000)"), {"now": work.clock.now}).all()
        later = session.scalars(text("SELECT users_with_due_embeddings(:now, 1000)"), {"now": due}).all()
    assert others <= due
    assert (work.book.user_id in users, work.book.user_id in later) == (False, True)


def test_a_provider_that_comes_back_is_asked_for_a_little_first(work, provider):
    work.write(*(f"Box {number} is full" for number in range(200)))
    provider.status = 503
    pass_an_outage(work, hours=3)
    provider.status = 200
    provider.requests.clear()
    work.backfill.run()
    sizes = [len(body["input"]) for *_, body in provider.requests]
    assert (sizes[0], max(sizes), sum(sizes)) == (1, 64, 200)
    assert sizes.index(2) < sizes.index(4) < sizes.index(8) < sizes.index(16)


def test_what_takes_a_provider_too_long_at_once_is_embedded_bit_by_bit(work, provider):
    def slow(body: dict[str, Any]) -> dict[str, Any]:
        provider.status = 504 if len(body["input"]) > 8 else 200
        return eight_wide(body)

    provider.answer = slow
    work.write(*(f"Box {number} is full" for number in range(50)))
    work.backfill.run()
    assert work.states() == ["ready"] * 50


def test_what_waits_for_its_next_try_is_tried_at_once_on_request(work, provider):
    work.write()
    provider.status = 503
    work.backfill.run()
    assert "HTTP 503" in work.book.one("SELECT error FROM embedding_models")
    provider.status = 200
    with work.book.session() as session:
        assert queue.retry_failed(session, work.book.user_id, work.clock()) == 4
    work.backfill.run()
    assert work.states() == ["ready"] * 4
    assert work.book.one("SELECT error FROM embedding_models") is None


def test_a_single_job_is_tried_again_at_once_though_its_model_rests(work, provider):
    ids = work.write()
    provider.status, provider.headers = 503, {"Retry-After": "1800"}
    work.backfill.run()
    provider.status = 200
    work.clock.now += STUCK_AFTER
    assert work.backfill.run() == 0
    with work.book.session() as session:
        retry_job(session, work.book.user_id, "memory", ids[0], now=work.clock())
    work.backfill.run()
    assert work.states() == ["ready"] * 4


def test_the_last_attempt_leaves_an_error_with_its_reason(work, provider):
    def crashes(body: dict[str, Any]) -> dict[str, Any]:
        provider.status = 500 if any("bad" in words for words in body["input"]) else 200
        return eight_wide(body)

    provider.answer = crashes
    work.write("A bad text", *TEXTS)
    for _ in range(queue.MAX_ATTEMPTS):
        work.backfill.run()
        assert sorted(work.states())[1:] == ["ready"] * 4, "the others do not wait for it"
        work.clock.now += timedelta(minutes=30)
    assert sorted(work.states()) == ["error"] + ["ready"] * 4
    assert "HTTP 500" in work.book.one("SELECT error FROM embeddings WHERE state = 'error'")


def test_a_large_batch_with_one_bad_text_takes_few_requests(work, provider):
    provider.answer = picky
    work.write(*(f"Box {number} is full" for number in range(63)), "A bad text")
    work.backfill.run()
    assert sorted(work.states()) == ["error"] + ["ready"] * 63
    assert len(provider.requests) <= 1 + 6 * 2 + 7, "halves, and a probe for each that failed"


def test_an_error_gets_another_chance_on_request(work, provider):
    provider.answer = picky
    work.write(TEXTS[0], "A bad text")
    work.backfill.run()
    provider.answer = eight_wide
    with work.book.session() as session:
        assert queue.retry_failed(session, work.book.user_id, work.clock()) == 1
    work.backfill.run()
    assert work.states() == ["ready"] * 2


def test_a_new_key_is_tried_at_once(work, provider):
    work.write(TEXTS[0])
    provider.status = 401
    work.backfill.run()
    assert work.claim() == []
    provider.status = 200
    work.use(provider, api_key="the right one")
    work.backfill.sweep()
    work.backfill.run()
    assert work.states() == ["ready"]


def picky(body: dict[str, Any]) -> Any:
    return {"no": "vectors"} if any("bad" in words for words in body["input"]) else eight_wide(body)


def test_one_text_that_the_provider_refuses_fails_alone(work, provider):
    provider.answer = picky
    bad = work.write(*TEXTS, "A bad text")[-1]
    work.backfill.run()
    assert sorted(work.states()) == ["error"] + ["ready"] * 4
    assert work.book.one("SELECT memory_id FROM embeddings WHERE state = 'error'") == bad


class Broken:
    provider, model = "local", "broken"

    def embed(self, texts: Any) -> Any:
        if any("bad" in words for words in texts):
            raise RuntimeError("segments of strangers")
        return np.tile(np.float32([1, 0]), (len(texts), 1))


class BrokenProviders(Providers):
    """An installation whose model raises what no protocol foresees."""

    def _make(self, model: Any, **_options: Any) -> Any:
        return Broken()


def test_a_text_that_breaks_the_model_fails_alone(work):
    work.backfill._providers = BrokenProviders(System("none"), work.book.runtime.keys)
    work.write(*TEXTS, "A bad text")
    work.backfill.run()
    assert sorted(work.states()) == ["error"] + ["ready"] * 4


def test_a_text_that_changes_while_it_is_embedded_keeps_waiting(work, provider):
    (memory_id,) = work.write("The first text of all")

    def edit_meanwhile(body: dict[str, Any]) -> dict[str, Any]:
        provider.answer = eight_wide
        work.book.do(
            update, memory_id, {"text": "Another text entirely"}, keys=work.book.runtime.keys, now=work.clock()
        )
        return eight_wide(body)

    provider.answer = edit_meanwhile
    work.backfill.step()
    assert (work.states(), work.waiting()) == (["pending"], 1)


def test_a_text_that_changed_meanwhile_gets_its_own_vector(work, provider):
    (memory_id,) = work.write("The first text of all")
    jobs = (work.backfill.sweep(), work.claim())[1]
    work.book.do(update, memory_id, {"text": "A new text"}, keys=work.book.runtime.keys, now=work.clock())
    with work.book.session() as session:
        queue.store(session, jobs, [queue.Made(np.ones(8), np.empty((0, 8)))], work.clock())
    work.backfill.run()
    last = provider.requests[-1][3]["input"]
    assert (last, work.states()) == (["A new text"], ["ready"])


def test_a_claim_never_pairs_an_old_text_with_a_new_version(work):
    (memory_id,) = work.write("The first text of all")
    work.backfill.sweep()
    with work.book.session() as session:
        # As if the edit had committed in the middle of the claim: the embeddings row is newer than the memory read.
        session.execute(text("UPDATE embeddings SET version = 2 WHERE memory_id = :id"), {"id": memory_id})
    jobs = work.claim()
    with work.book.session() as session:
        queue.store(session, jobs, [queue.Made(np.ones(8), np.empty((0, 8)))], work.clock())
    assert work.states() == ["pending"]


def test_two_workers_never_claim_the_same_row(work):
    work.write(*(f"Memory of the day number {n}" for n in range(120)))
    work.backfill.sweep()
    found: list[Any] = []
    barrier = threading.Barrier(6)

    def take() -> None:
        barrier.wait()
        found.extend(job.item_id for _ in range(4) for job in work.claim(5))

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == 120


def test_rows_that_another_transaction_holds_are_skipped(work):
    first, second = work.write(*TEXTS[:2])
    work.backfill.sweep()
    with work.book.session() as session:
        session.execute(text("SELECT 1 FROM embeddings WHERE memory_id = :id FOR UPDATE"), {"id": first})
        assert [job.item_id for job in work.claim()] == [second]


def test_a_claim_lapses_when_its_worker_is_gone(work):
    work.write(TEXTS[0])
    work.backfill.sweep()
    work.claim()
    work.clock.now += queue.LEASE
    assert len(work.claim()) == 1


def test_a_worker_that_lives_keeps_its_claims(work, runtime):
    work.write(TEXTS[0])
    work.backfill.sweep()
    jobs = work.claim()
    work.clock.now += queue.LEASE * 0.9
    Claims(runtime.sessions, jobs, work.clock).renew()
    work.clock.now += queue.LEASE * 0.5
    assert work.claim() == []


def test_what_is_settled_is_renewed_no_more(work, runtime):
    work.write(TEXTS[0])
    work.backfill.sweep()
    jobs = work.claim()
    claims = Claims(runtime.sessions, jobs, work.clock)
    claims.settle(jobs)
    work.clock.now += queue.LEASE
    claims.renew()
    assert len(work.claim()) == 1


def test_claims_that_are_not_renewed_are_told_in_a_line(work, monkeypatch, caplog):
    work.write(TEXTS[0])
    work.backfill.sweep()
    jobs = work.claim()
    monkeypatch.setattr(queue, "LEASE", timedelta(milliseconds=30))
    away = make_engine("postgresql://nobody@127.0.0.1:9/nothing_test")
    deadline = time.monotonic() + 30
    with Claims(sessionmaker(away), jobs, work.clock):
        while not caplog.records and time.monotonic() < deadline:
            time.sleep(0.01)
    said = caplog.records[0]
    assert said.getMessage().startswith("claims were not renewed: (psycopg.OperationalError) connection")
    assert said.exc_info is None
    assert "\n" not in said.getMessage()


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


def test_an_embedder_and_an_editor_do_not_wait_for_each_other(work):
    """The editor holds a memory and wants its vector's row, while the embedder stores that vector."""
    (memory_id,) = work.write(TEXTS[0])
    work.backfill.sweep()
    jobs = work.claim()
    done = threading.Event()

    def store() -> None:
        with work.book.session() as session:
            queue.store(session, jobs, [queue.Made(np.ones(8), np.empty((0, 8)))], work.clock())
        done.set()

    with work.book.session() as session:
        session.execute(text("UPDATE memories SET version = version + 1 WHERE id = :id"), {"id": memory_id})
        thread = threading.Thread(target=store)
        thread.start()
        done.wait(0.3)
        queue.enqueue(session, work.book.user_id, [memory_id], work.clock())
    thread.join()
    assert (done.is_set(), work.states()) == (True, ["pending"])


def test_a_database_that_drops_its_connections_costs_no_row(work, provider, owner):
    work.write()

    def drop_connections(body: dict[str, Any]) -> dict[str, Any]:
        provider.answer = eight_wide
        with owner.begin() as connection:
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :role"),
                {"role": work.book.runtime.databases.app_role},
            )
        return eight_wide(body)

    provider.answer = drop_connections
    work.backfill.run()
    assert work.states() == ["ready"] * 4


# --- the switch ---


@pytest.fixture
def switching(local, provider):
    """Four memories by the local model, and a remote one of eight dimensions that is to follow."""
    local.write()
    local.backfill.run()
    provider.answer = eight_wide
    local.use(provider)
    return local


def test_old_vectors_serve_until_the_new_ones_are_complete(switching, provider):
    provider.status = 503
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().provider_type, switching.waiting(), switching.dimensions()) == ("local", 0, {384})


def test_the_new_model_takes_over_once_it_is_complete(switching):
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().model, switching.active().dimensions) == ("tiny", 8)
    assert (switching.dimensions(), switching.waiting()) == ({8}, 0)


def test_what_is_written_during_a_switch_gets_both_vectors(switching):
    switching.backfill.sweep()
    (memory_id,) = switching.write("Written in the middle of it")
    assert switching.book.one("SELECT count(*) FROM embeddings WHERE memory_id = :id", id=memory_id) == 2


def test_a_memory_that_nobody_queued_holds_up_the_flip(switching):
    switching.backfill.sweep()
    switching.book.do(
        lambda session, _user, **_: session.execute(text("DELETE FROM embeddings WHERE state = 'pending'"))
    )
    with switching.book.session() as session:
        assert not flip_if_complete(session, switching.book.user_id, now=switching.clock())


def test_a_model_that_fails_at_everything_never_takes_over(switching, provider):
    provider.status = 404
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().provider_type, switching.states()) == ("local", ["pending"] * 4)


def test_a_model_that_fails_at_most_texts_never_takes_over(switching, provider):
    provider.answer = picky
    switching.write("A bad text", "Another bad text", "The third bad text")
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().provider_type, switching.states().count("error")) == ("local", 3)


def test_a_few_odd_texts_do_not_hold_up_the_flip(switching, provider):
    provider.answer = picky
    bad = switching.write("A bad text", "And one more good text")[0]
    switching.backfill.sweep()
    switching.backfill.run()
    assert switching.active().model == "tiny"
    assert switching.book.all("SELECT id FROM memories WHERE needs_embedding") == [bad]


def test_going_back_before_the_flip_keeps_the_old_vectors(switching, provider):
    provider.status = 503
    switching.backfill.sweep()
    with switching.book.session() as session:
        clear_setting(session, switching.book.user_id)
    switching.backfill.sweep()
    assert (switching.active().provider_type, switching.states()) == ("local", [])


def test_going_back_after_the_flip_embeds_locally_again(switching):
    switching.backfill.sweep()
    switching.backfill.run()
    with switching.book.session() as session:
        clear_setting(session, switching.book.user_id)
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().provider_type, switching.dimensions()) == ("local", {384})


def test_two_workers_flip_once(switching):
    switching.backfill.sweep()
    switching.backfill.flips = False
    switching.backfill.run()
    switching.backfill.flips = True
    threads = [threading.Thread(target=switching.backfill.sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flips = "SELECT count(*) FROM audit_events WHERE action = 'embedding.model_flipped'"
    assert (switching.book.one(flips), switching.active().model) == (1, "tiny")


def test_writers_go_on_during_a_switch(switching):
    """Writers hold a space and want a model; the flip holds models and wants the spaces."""
    switching.backfill.sweep()
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for n in range(6):
                switching.write(f"Written by {number} as the note {n} of many")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    switching.backfill.run()
    for thread in threads:
        thread.join()
    switching.backfill.sweep()
    switching.backfill.run()
    assert (failures, switching.waiting(), switching.active().model) == ([], 0, "tiny")


def test_a_changed_number_of_dimensions_is_never_stored(work, provider):
    work.write(*TEXTS[:2])
    work.backfill.run()
    provider.answer = openai_shape
    work.write(TEXTS[2])
    work.backfill.run()
    assert (work.dimensions(), sorted(work.states())) == ({8}, ["pending", "ready", "ready"])
    assert "dimensions" in work.book.one("SELECT error FROM embedding_models")


def test_vectors_too_long_to_be_kept_end_no_run(work, provider):
    provider.answer = lambda body: {"data": [{"embedding": [1.0] * 16_001} for _ in body["input"]]}
    work.write(TEXTS[0])
    work.backfill.run()
    assert work.states() == ["pending"]
    assert "16001 dimensions, more than" in work.book.one("SELECT error FROM embedding_models")


def test_other_dimensions_of_the_same_model_are_another_model(work, provider):
    work.write()
    work.backfill.run()
    provider.answer = openai_shape
    work.use(provider, dimensions=3)
    work.backfill.sweep()
    work.backfill.run()
    assert (work.dimensions(), work.active().dimensions) == ({3}, 3)


# --- precedence ---


def target_of(work: Work, system: System) -> Any:
    providers = Providers(system, work.book.runtime.keys)
    with user_session(work.book.runtime.sessions, work.book.user_id) as session:
        return providers.target(session, work.book.user_id)


def test_a_healthy_system_endpoint_comes_first(work, provider):
    assert target_of(work, System("bundled", provider.url)).provider_type == "llamacpp"


def test_the_users_endpoint_comes_before_the_local_model(work):
    assert target_of(work, System("bundled", "http://127.0.0.1:9")).provider_type == "openai"


def test_a_disabled_endpoint_leaves_the_local_model(work, provider):
    work.use(provider, enabled=False)
    assert target_of(work, System("bundled")).provider_type == "local"


def test_without_anything_there_is_no_model(local):
    assert target_of(local, System("none")) is None


def test_without_a_model_rows_wait_and_nothing_fails(runtime, book, no_model, clock):
    work = Work(runtime, book, no_model, clock)
    work.write()
    assert (work.backfill.run(), work.waiting()) == (0, 4)


def test_an_outage_of_the_system_endpoint_re_embeds_nothing(local, provider):
    provider.answer = eight_wide
    system = System("bundled", provider.url)
    local.providers = Providers(system, local.book.runtime.keys)
    local.backfill._providers = local.providers
    local.write()
    local.backfill.run()
    gone = Providers(System("bundled", provider.url), local.book.runtime.keys)
    provider.status = 503
    local.backfill._providers = gone
    local.backfill.sweep()
    assert (local.active().provider_type, local.dimensions()) == ("llamacpp", {8})


def test_an_outage_does_not_undo_a_move_to_the_system_endpoint(local, provider):
    local.write()
    local.backfill.run()
    provider.answer = eight_wide
    local.backfill._providers = Providers(System("bundled", provider.url), local.book.runtime.keys)
    local.backfill.sweep()
    provider.status = 503
    local.backfill._providers = Providers(System("bundled", provider.url), local.book.runtime.keys)
    local.backfill.sweep()
    assert local.states("default") == ["pending"] * 4


def test_reconciling_twice_changes_nothing(work):
    with work.book.session() as session:
        target = work.providers.target(session, work.book.user_id)
        assert reconcile(session, work.book.user_id, target, now=work.clock())
        assert not reconcile(session, work.book.user_id, target, now=work.clock())
