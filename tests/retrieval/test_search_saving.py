"""The scores that a search writes: nobody waits for them, and no answer is lost over them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest
from shelf import NOW, Shelf
from sqlalchemy import text

from retrieval.lookup.candidates import NO_SEMANTIC_LEG, Source
from retrieval.policy import NAMED
from retrieval.query import Query
from retrieval.ranking.types import Score, Scored

TEXTS = ("The boat lies in Lund", "The boat was painted in May", "The boat has a red sail")
PATIENCE = 60.0
_WAITS = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
_TOUCH = text("UPDATE last_scores SET total = 0 WHERE memory_id = :id")


@pytest.fixture
def shelf(runtime, ada):
    return Shelf(runtime, ada, TEXTS)


def ids_of(shelf):
    with shelf.session() as session:
        return list(session.scalars(text("SELECT id FROM memories ORDER BY id")))


def scored(shelf, since=NOW):
    with shelf.session() as session:
        rows = session.scalars(text("SELECT memory_id FROM last_scores WHERE computed_at >= :at"), {"at": since})
        return set(rows)


@pytest.mark.parametrize("known", [False, True])
def test_a_search_does_not_wait_for_who_holds_what_it_found(shelf, known):
    ids, later = ids_of(shelf), NOW.replace(hour=1)
    if known:
        shelf.ask("boat")
    with ThreadPoolExecutor(1) as pool, shelf.session() as holder:
        held = holder.scalar(text("SELECT id FROM memories WHERE id = :id FOR UPDATE"), {"id": ids[1]})
        # As forgetting does: its scores go along with it.
        holder.execute(text("DELETE FROM last_scores WHERE memory_id = :id"), {"id": held})
        answer = pool.submit(shelf.ask, "boat", now=later).result(PATIENCE)
        assert (len(answer.hits), answer.error, answer.degraded) == (3, False, ())
    assert scored(shelf, later) == {ids[0], ids[2]}
    shelf.ask("boat", now=later)
    assert scored(shelf, later) == set(ids)


def test_an_answer_is_not_lost_to_who_writes_the_same_scores_in_another_order(shelf, caplog):
    caplog.set_level("INFO")
    shelf.ask("boat")
    first, *_, last = ids_of(shelf)
    with ThreadPoolExecutor(1) as pool, shelf.session() as other:
        other.execute(_TOUCH, {"id": last})
        asking = pool.submit(shelf.ask, "boat")
        # It waits for the last one, and has the first.
        while not asking.done() and not other.scalar(_WAITS):
            sleep(0.01)
        # Who has waited for a second looks whether it waits in a circle, and ends itself: that is to be the search.
        sleep(0.5)
        other.execute(_TOUCH, {"id": first})
        answer = asking.result(PATIENCE)
    assert (len(answer.hits), answer.error, answer.degraded) == (3, False, ())
    assert "scores were not saved: DeadlockDetected" in caplog.text


@pytest.mark.parametrize(
    "change", ["status = 'archived'", "expires_at = '2025-01-01T00:00:00Z'", "space_id = (SELECT id FROM other)"]
)
def test_what_was_put_away_between_the_two_reads_is_not_shown(shelf, change):
    ids = ids_of(shelf)
    query = Query(shelf.user_id, shelf.space_id, "boat", scope_size=3)
    with shelf.session() as session:
        source = Source(session, query, NAMED["balanced"], NOW)
        pool = source.pool(source.keyword_leg("boat"), NO_SEMANTIC_LEG, None)
        scored = [Scored(each, Score(1, 1, 1, 3), evidence=1.0, date_match=0.0) for each in pool]
        other = """WITH other AS (SELECT id FROM spaces WHERE user_id = :user_id AND id <> :space_id)"""
        mine = {"id": ids[0], "user_id": shelf.user_id, "space_id": shelf.space_id}
        session.execute(text(f"{other} UPDATE memories SET {change} WHERE id = :id"), mine)
        shown = source.widen(scored, None, asked=None, saving=False)
    assert {each.candidate.id for each in shown} == {ids[1], ids[2]}
