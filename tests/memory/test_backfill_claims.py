"""Rows that are claimed for a worker: never twice, never with an older text, and free again once it is gone."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import numpy as np
from embedding_work import TEXTS, eight_wide
from sqlalchemy import text
from sqlalchemy.orm import sessionmaker

from memory.embedding import queue
from memory.embedding.claims import Claims
from memory.storage.database import make_engine
from memory.writing.edit import update


def test_a_text_that_changes_while_it_is_embedded_keeps_waiting(work, provider):
    (memory_id,) = work.write("The first text of all")

    def edit_meanwhile(body: dict[str, Any]) -> dict[str, Any]:
        provider.answer = eight_wide
        work.book.do(update, memory_id, {"text": "Another text entirely"}, now=work.clock())
        return eight_wide(body)

    provider.answer = edit_meanwhile
    work.backfill.step()
    assert (work.states(), work.waiting()) == (["pending"], 1)


def test_what_is_wrong_with_a_text_that_changes_meanwhile_is_not_said_of_the_new_one(work, provider):
    (memory_id,) = work.write("A bad text")

    def refuse_late(_body: dict[str, Any]) -> dict[str, Any]:
        provider.answer = eight_wide
        work.book.do(update, memory_id, {"text": "A good one"}, now=work.clock())
        return {"no": "vectors"}

    provider.answer = refuse_late
    work.backfill.step()
    assert work.book.all("SELECT (state, error)::text FROM embeddings") == ["(pending,)"]


def test_a_text_that_changed_meanwhile_gets_its_own_vector(work, provider):
    (memory_id,) = work.write("The first text of all")
    jobs = (work.backfill.sweep(), work.claim())[1]
    work.book.do(update, memory_id, {"text": "A new text"}, now=work.clock())
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
