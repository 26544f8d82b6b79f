"""Of two notes of the same that both answer the newer one comes first, or the older one where what was is asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from retrieval_builders import NOW, scored
from shelf import DIMENSIONS, Shelf
from sqlalchemy import text

from retrieval.policy import Policy
from retrieval.reading.reading import shared_reader
from retrieval.reading.versions import asked_for_first

PLAIN = Policy(beta=0.0, gamma=0.0)
ASKED = "What is the hourly rate?"
HERE, BESIDE, FAR = [1.0, 0.0], [0.6, 0.8], [0.4, 0.9165]


def later(number, total=0.3, *, days=1.0, vector=BESIDE, **fields):
    return scored(number, total, created_at=NOW + timedelta(days=days), vector=vector, **{"sureness": 0.6, **fields})


BEST = later(1, 0.5, days=0, vector=HERE)


def order(*others, question=ASKED, policy=PLAIN, best=BEST):
    found = asked_for_first([best, *others], policy, question=question, unrelated=0.0)
    return [each.candidate.id.int for each in found]


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (later(2), [2, 1]),
        (later(2, days=-1), [1, 2]),
        (later(2, days=1 / 50), [1, 2]),
        (later(2, vector=FAR), [1, 2]),
        (later(2, type="summary"), [1, 2]),
        (later(2, vector=None), [1, 2]),
        (later(2, vector=[1.0, 0.0, 0.0]), [1, 2]),
        (later(2, sureness=None), [1, 2]),
        (later(2, sureness=0.4), [1, 2]),
        (later(2, sureness=0.4, text="It was raised"), [2, 1]),
        (later(2, sureness=0.2, text="It was raised"), [1, 2]),
    ],
)
def test_what_is_newer_of_the_same_and_answers_comes_first(other, found):
    assert order(other) == found


AS_RANKED = [3, 4, 2, 1, 5]
NEWEST = [4, 3, 2, 1, 5]
JUST_BEFORE = [2, 1, 3, 4, 5]
OLDEST = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How old is Rex?", NEWEST),
        ("What did I take before breakfast?", NEWEST),
        ("What did I do before Monday?", NEWEST),
        ("What happened the year before?", NEWEST),
        ("What did I use to open it?", NEWEST),
        ("What was my old rate?", JUST_BEFORE),
        ("What did I charge before?", JUST_BEFORE),
        ("Who was my manager before Petr?", JUST_BEFORE),
        ("Who led the choir previously?", JUST_BEFORE),
        ("Where did we use to live?", JUST_BEFORE),
        ("What did Ada do before?", JUST_BEFORE),
        ("Who is our former GP?", JUST_BEFORE),
        ("Who had it originally?", OLDEST),
        ("What was the original plan?", OLDEST),
        ("When was the first lesson?", AS_RANKED),
        ("Where is the old printer?", AS_RANKED),
        ("Has she won before?", AS_RANKED),
        ("Who is it now, and who was it before?", AS_RANKED),
    ],
)
def test_the_version_that_a_question_asks_for_comes_first(question, found):
    best = later(3, 0.5, days=0, vector=HERE)
    others = [later(4, 0.4, days=1), later(2, 0.3, days=-1), later(1, 0.2, days=-2), later(5, 0.1, vector=FAR)]
    assert order(*others, question=question, best=best) == found


@pytest.mark.parametrize(
    ("best", "other", "found"),
    [
        ({}, {}, [2, 1]),
        ({}, {"sureness": 0.3}, [2, 1]),
        ({}, {"sureness": 0.2}, [1, 2]),
        ({}, {"sureness": None}, [1, 2]),
        ({}, {"vector": FAR}, [1, 2]),
        ({}, {"days": -1 / 50}, [1, 2]),
        ({}, {"said_again": NOW + timedelta(days=1)}, [1, 2]),
        ({"type": "summary"}, {}, [1, 2]),
        ({"text": "It was 60 until May"}, {}, [1, 2]),
    ],
    ids=["", "likely", "not likely", "unread", "another", "at once", "said again", "summed up", "tells the past"],
)
def test_what_was_comes_first_where_it_is_asked_for(best, other, found):
    other = later(2, **{"days": -1, **other})
    assert (
        order(other, question="What was my old rate?", best=later(1, 0.5, days=0, **{"vector": HERE, **best})) == found
    )


def test_what_is_of_the_time_that_is_asked_for_stays_first():
    assert order(later(2), best=replace(BEST, date_match=1.0)) == [1, 2]
    assert order(replace(later(2), date_match=1.0), best=replace(BEST, date_match=1.0)) == [2, 1]


def test_what_was_said_again_since_stays_first():
    assert order(later(2), best=later(1, 0.5, days=0, vector=HERE, said_again=NOW + timedelta(days=2))) == [1, 2]
    assert order(later(2), best=later(1, 0.5, days=0, vector=HERE, said_again=NOW + timedelta(hours=2))) == [2, 1]


def test_the_newest_comes_first_and_the_rest_in_their_order():
    assert order(later(2, 0.4, vector=FAR), later(3, 0.3), later(4, 0.2, days=3), later(5, 0.1)) == [4, 3, 5, 1, 2]


@pytest.mark.parametrize("total", [0.5, 1.08])
def test_the_score_of_a_version_says_what_it_gained(total):
    """Also where importance and pins gave the other more than any relevance is."""
    best = later(1, total, days=0, vector=HERE)
    first, second = asked_for_first([best, later(2)], PLAIN, question=ASKED, unrelated=0.0)
    assert first.score.total == pytest.approx(min(total, 1.0), abs=0.001)
    assert first.score.relevance == pytest.approx(first.score.total)
    assert first.update_boost == pytest.approx(first.score.total - 0.3)
    assert first.standing > second.standing == total
    assert second.update_boost == 0


def test_without_a_weight_of_relevance_nothing_moves():
    assert order(later(2), policy=replace(PLAIN, alpha=0.0, beta=1.0)) == [1, 2]


RATES = ("The hourly rate is 60 euros", "Now the hourly rate is 75 euros", "Ada likes the hourly rate")


@pytest.fixture
def shelf(runtime, ada):
    """The first is nearest to each question and the oldest, the others are as near to it, and newer by days."""
    vectors = np.zeros((len(RATES), DIMENSIONS), dtype=np.float32)
    vectors[:, 0] = 1.0, 0.8, 0.8
    vectors[1, 1] = vectors[2, 2] = 0.6
    made = Shelf(runtime, ada, RATES, vectors)
    stored(made, *RATES)
    return made


def stored(shelf, *texts):
    """Say that texts were stored one after the other, a day apart."""
    moved = text("UPDATE memories SET created_at = :at WHERE user_id = :user AND text = :text")
    with shelf.session() as session:
        for days, each in enumerate(texts):
            session.execute(moved, {"at": NOW + timedelta(days=days), "user": shelf.user_id, "text": each})


def test_what_may_have_changed_is_read_though_the_best_was_enough(shelf):
    hits = shelf.ask(ASKED, cosine=0.9, reader=shared_reader).hits
    assert [hit.snippet for hit in hits] == [RATES[1], RATES[0], RATES[2]]
    read = {hit.snippet: hit.ranked.scored.candidate.sureness for hit in hits}
    assert read[RATES[0]] >= 0.5 <= read[RATES[1]]
    assert read[RATES[2]] is None, "what does not answer loses nothing by being read for that"


@pytest.mark.parametrize(
    ("what", "first"), [("repeat_count = 1", RATES[0]), ("version = 2", RATES[0]), ("pinned = true", RATES[1])]
)
def test_the_database_tells_whether_it_was_said_again(shelf, what, first):
    with shelf.session() as session:
        said = text(f"UPDATE memories SET {what}, updated_at = :at WHERE user_id = :user AND text = :text")
        session.execute(said, {"at": NOW + timedelta(days=9), "user": shelf.user_id, "text": RATES[0]})
    assert shelf.found(ASKED, cosine=0.9, reader=shared_reader)[0] == first


def test_what_was_is_read_as_it_was_asked_then(shelf):
    """No note that was written while it was so tells that it was before."""
    stored(shelf, RATES[1], RATES[2], RATES[0])
    asked = "What was the hourly rate before?"
    read = {hit.snippet: hit.ranked.scored.candidate.sureness for hit in shelf.ask(asked, reader=shared_reader).hits}
    assert [*read][:2] == [RATES[1], RATES[0]]
    assert read[RATES[1]] > 0.9
    assert read[RATES[0]] < 0.5
