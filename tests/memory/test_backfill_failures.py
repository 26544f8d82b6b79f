"""Providers that fail or are away, and texts that they refuse: what is tried again, when, and what is given up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from embedding_work import TEXTS, OneUser, Work, eight_wide, picky
from memory_book import Book
from sqlalchemy import text

from memory.embedding import backfill, queue
from memory.embedding.providers import Providers, System
from memory.operators.jobs import STUCK_AFTER, retry_job


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
