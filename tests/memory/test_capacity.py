"""The soft cap, and the counters and postings that must always equal a recount."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.errors import DomainError
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.restore import restore
from memory.spaces.spaces import update_space
from memory.writing.bulk import forget_many, move_many, restore_many, set_status_many
from memory.writing.edit import update
from memory.writing.remember import remember_many
from retrieval.policy import NAMED
from retrieval.query import Query
from retrieval.search import search

WORDS = ["apples", "bridges", "candles", "deserts", "engines", "forests", "gardens", "harbours"]


@pytest.fixture
def cap(book):
    def _cap(soft_cap):
        with book.session() as session:
            update_space(session, book.user_id, "default", {"soft_cap": soft_cap}, now=utc_now(), actor="t")

    return _cap


def score(book, memory_id, total, age=timedelta(0)):
    with book.session() as session:
        session.execute(
            text(
                "INSERT INTO last_scores SELECT user_id, id, :total, 0, 0, :total, :at FROM memories WHERE id = :id"
                " ON CONFLICT (user_id, memory_id) DO UPDATE"
                " SET total = excluded.total, computed_at = excluded.computed_at"
            ),
            {"id": memory_id, "total": total, "at": utc_now() - age},
        )


def texts(book):
    return set(book.all("SELECT text FROM memories"))


def test_below_the_cap_nothing_is_trimmed(book, cap):
    cap(3)
    assert [book.write(words).trace.trimmed for words in WORDS[:3]] == [()] * 3


@pytest.mark.parametrize("how", ["one", "many"])
def test_what_is_made_active_again_leaves_the_space_within_its_cap(book, cap, how):
    cap(3)
    ids = [book.write(words).id for words in WORDS[:3]]
    as_they_are = {"keys": book.runtime.keys, "now": utc_now(), "actor": "t"}
    with book.session() as session:
        update(session, book.user_id, ids[0], {"status": "archived"}, **as_they_are)
    fourth = book.write(WORDS[3])
    for memory_id, total in zip((*ids, fourth.id), (0, 3, 1, 2), strict=True):
        score(book, memory_id, total)
    with book.session() as session:
        if how == "one":
            update(session, book.user_id, ids[0], {"status": "active"}, **as_they_are)
        else:
            set_status_many(session, book.user_id, ids, "active", **as_they_are)
    # It is the one that is wanted, whatever its score.
    assert texts(book) == {WORDS[0], WORDS[1], WORDS[3]}


@pytest.mark.parametrize("many", [False, True])
def test_what_is_brought_back_leaves_the_space_within_its_cap(book, cap, many):
    cap(3)
    ids = [book.write(words).id for words in WORDS[:3]]
    book.do(forget_many, ids[:2], undo=UNDO_WINDOW)
    later = [book.write(words).id for words in WORDS[3:5]]
    for memory_id, total in zip((ids[2], *later), (3, 2, 1), strict=True):
        score(book, memory_id, total)
    if many:
        assert book.do(restore_many, ids[:2]) == ids[:2]
    else:
        book.do(restore, ids[0])
    # Old as it is, what comes back stays.
    assert texts(book) == ({*WORDS[:3]} if many else {WORDS[0], WORDS[2], WORDS[3]})


def test_what_is_archived_takes_no_room_where_it_is_moved(book, cap, second_space):
    cap(1)
    book.write(WORDS[0])
    moved = book.write(WORDS[1], space=second_space).id
    as_it_is = {"keys": book.runtime.keys, "now": utc_now(), "actor": "t"}
    with book.session() as session:
        update(session, book.user_id, moved, {"status": "archived"}, **as_it_is)
    assert book.do(move_many, [moved], "default") == {second_space: [moved]}


def test_with_memory_off_nothing_is_trimmed_for_what_is_made_active(book, cap):
    cap(1)
    first = book.write(WORDS[0]).id
    as_they_are = {"keys": book.runtime.keys, "now": utc_now(), "actor": "t"}
    with book.session() as session:
        update(session, book.user_id, first, {"status": "archived"}, **as_they_are)
    book.write(WORDS[1])
    with book.session() as session:
        update_space(session, book.user_id, "default", {"memory_enabled": False}, now=utc_now(), actor="t")
        update(session, book.user_id, first, {"status": "active"}, **as_they_are)
    assert texts(book) == set(WORDS[:2])


def test_the_lowest_totals_go(book, cap):
    ids = [book.write(words).id for words in WORDS[:4]]
    for memory_id, total in zip(ids, (3, 1, 2, 1.5), strict=True):
        score(book, memory_id, total)
    cap(3)
    book.write("something new", importance=0.9)
    assert texts(book) == {"apples", "candles", "something new"}


def test_a_preference_by_type_outlasts_a_remark(book, cap):
    cap(1)
    book.write("Dark mode in every editor", type="preference")
    remark = book.write("The bus was late on Monday")
    assert texts(book) == {"Dark mode in every editor"}
    # And whoever made it is told.
    assert (remark.trace.trimmed, remark.embedding) == ((remark.id,), "none")
    assert "not kept, as the space is full" in remark.trace.reason


def test_the_answer_names_what_was_trimmed(book, cap):
    first = book.write("apples").id
    score(book, first, 0)
    cap(1)
    assert book.write("bridges").trace.trimmed == (first,)


def test_the_audit_names_what_was_trimmed(book, cap):
    first = book.write("apples").id
    score(book, first, 0)
    cap(1)
    book.write("bridges")
    assert book.one("SELECT details -> 'ids' FROM audit_events WHERE action = 'memory.trimmed'") == [str(first)]


def test_what_has_expired_takes_nothing_else_along(book, cap):
    now = utc_now()
    cap(3)
    for words in WORDS[:2]:
        book.write(words, importance=1.0, expires_at=now + timedelta(hours=1))
    book.write("candles", importance=0.1)
    later = now + timedelta(hours=2)
    assert book.write("deserts", now=later).trace.trimmed == ()
    assert book.write("engines", now=later).trace.trimmed == ()
    assert len(book.write("forests", now=later).trace.trimmed) == 1
    assert book.one("SELECT count(*) FROM memories WHERE expires_at IS NOT NULL") == 2


def test_what_has_expired_keeps_nothing_out(book, cap, second_space):
    cap(1)
    book.write("apples", expires_at=utc_now() - timedelta(minutes=1))
    moved = book.write("bridges", space=second_space).id
    assert book.do(move_many, [moved], "default") == {second_space: [moved]}


@pytest.mark.parametrize("held", [{"manually_saved": True}, {"type": "preference", "manually_saved": True}])
def test_what_the_user_holds_on_to_is_never_trimmed(book, cap, held):
    kept = book.write("apples", created_at=utc_now() - timedelta(days=900), **held).id
    score(book, kept, -5)
    cap(1)
    book.write("bridges")
    book.write("candles")
    assert book.load(kept) is not None


def test_a_pinned_memory_is_never_trimmed(book, cap):
    kept = book.write("apples", created_at=utc_now() - timedelta(days=900)).id
    book.do(update, kept, {"pinned": True})
    cap(1)
    book.write("bridges")
    assert book.load(kept) is not None


def test_a_space_full_of_kept_memories_says_so(book, cap):
    cap(1)
    for words in WORDS[:3]:
        book.write(words, manually_saved=True)
    blocked = "SELECT details ->> 'over_cap' FROM audit_events WHERE action = 'memory.trim_blocked' ORDER BY id"
    assert book.all(blocked) == ["1", "2"]


def test_what_somebody_holds_is_trimmed_by_a_later_write(book, cap, owner):
    """Whoever waited for it here would hold what was said again beside it, and the embedder may wait for that."""
    first = book.write("apples").id
    book.write("bridges")
    score(book, first, 0)
    cap(2)
    drafts = [Draft("bridges"), Draft("candles")]
    with owner.begin() as holding, book.session() as session:
        holding.execute(text("SELECT FROM memories WHERE id = :id FOR NO KEY UPDATE"), {"id": first})
        session.execute(text("SET LOCAL lock_timeout = '2s'"))
        named = {"keys": book.runtime.keys, "now": utc_now(), "actor": "test"}
        outcomes = remember_many(session, book.user_id, "default", drafts, **named)
    assert [(outcome.outcome, outcome.trace.trimmed) for outcome in outcomes] == [("merged", ()), ("created", ())]
    assert book.all("SELECT action FROM audit_events WHERE action LIKE 'memory.trim%'") == []
    assert set(book.write("deserts", importance=1.0).trace.trimmed) > {first}
    assert len(texts(book)) == 2


def test_missing_scores_are_computed_without_relevance(book, cap):
    old = book.write("apples", created_at=utc_now() - timedelta(days=7), importance=0.6).id
    book.write("bridges", importance=0.9)
    cap(2)
    book.write("candles", importance=0.9, created_at=utc_now() - timedelta(days=60))
    relevance, recency, total = (
        book.one(f"SELECT {part} FROM last_scores WHERE memory_id = :id", id=old)
        for part in ("relevance", "recency", "total")
    )
    assert relevance == 0
    assert (recency, total) == pytest.approx((0.3679, 0.9679), abs=1e-3)


def test_the_oldest_and_least_important_goes_first(book, cap):
    book.write("apples", created_at=utc_now() - timedelta(days=60), importance=0.1)
    book.write("bridges", created_at=utc_now() - timedelta(days=60), importance=0.9)
    cap(2)
    book.write("candles")
    assert texts(book) == {"bridges", "candles"}


def test_a_memory_of_long_ago_or_of_the_future_can_be_scored(book, cap):
    cap(2)
    book.write("apples", created_at=utc_now() - timedelta(days=300_000))
    # Nobody can write one of the future, but a clock may have been wrong, and an import brings what there was.
    book.write("bridges", now=utc_now() + timedelta(days=300_000))
    book.write("candles")
    assert texts(book) == {"bridges", "candles"}


def test_stale_scores_are_computed_again(book, cap):
    old = book.write("apples", created_at=utc_now() - timedelta(days=60), importance=0.1).id
    score(book, old, 99, age=timedelta(hours=25))
    cap(1)
    book.write("bridges")
    assert texts(book) == {"bridges"}


def test_fresh_scores_are_used_as_they_are(book, cap):
    old = book.write("apples", created_at=utc_now() - timedelta(days=60), importance=0.1).id
    score(book, old, 99, age=timedelta(hours=23))
    cap(1)
    book.write("bridges")
    assert texts(book) == {"apples"}


def test_nothing_goes_by_an_importance_that_it_has_no_more(book, cap):
    cap(3)
    ids = [book.write(words, importance=n / 10).id for n, words in enumerate(WORDS[:4], 1)]
    with book.session() as session:
        update(session, book.user_id, ids[1], {"importance": 1.0}, keys=book.runtime.keys, now=utc_now(), actor="t")
    book.write("elderflowers", importance=0.5)
    assert texts(book) == {WORDS[1], WORDS[3], "elderflowers"}
    importance, total = (
        book.one(f"SELECT {part} FROM last_scores WHERE memory_id = :id", id=ids[1]) for part in ("importance", "total")
    )
    assert (importance, total) == (1.0, pytest.approx(2.0, abs=1e-3))


def test_what_is_said_again_outlasts_what_was_said_once(book, cap):
    cap(2)
    for words in WORDS[:3]:
        book.write(words, importance=0.5)
    for _ in range(3):
        book.write(WORDS[1])
    book.write("elderflowers", importance=0.6)
    assert texts(book) == {WORDS[1], "elderflowers"}


def test_what_a_search_found_is_worth_more_than_what_none_has_looked_at(book, cap):
    goal = book.write("My goal is the thesis about bridges", importance=0.9).id
    with book.session() as session:
        query = Query(user_id=book.user_id, space_id=book.one("SELECT id FROM spaces"), text="the thesis", limit=5)
        # Its policy weighs recency and importance with a twentieth.
        found = search(session, query, NAMED["balanced"], dense=None, now=utc_now())
    assert [hit.ranked.scored.candidate.id for hit in found.hits] == [goal]
    cap(2)
    book.write("haha, apples")
    book.write("cool, candles")
    assert goal in book.all("SELECT id FROM memories")


def test_another_space_is_not_trimmed(book, cap, second_space):
    book.write("apples", space=second_space)
    cap(1)
    for words in WORDS[1:4]:
        book.write(words)
    assert "apples" in texts(book)


# --- counters and postings ---

RECOUNT = """
    SELECT coalesce(jsonb_agg(to_jsonb(x)), '[]') FROM (
        (SELECT user_id, space_id, lexeme, memory_id, tf::int, length::int FROM postings
         EXCEPT SELECT m.user_id, m.space_id, t.lexeme, m.id, cardinality(t.positions)::int,
                sum(cardinality(t.positions)) OVER (PARTITION BY m.id)::int
         FROM memories m, unnest(m.tsv) t WHERE m.status = 'active')
        UNION ALL
        (SELECT m.user_id, m.space_id, t.lexeme, m.id, cardinality(t.positions)::int,
                sum(cardinality(t.positions)) OVER (PARTITION BY m.id)::int
         FROM memories m, unnest(m.tsv) t WHERE m.status = 'active'
         EXCEPT SELECT user_id, space_id, lexeme, memory_id, tf::int, length::int FROM postings)
    ) x
"""
COUNTERS = """
    SELECT jsonb_agg(to_jsonb(x)) FROM (
        SELECT s.slug, s.documents, s.tokens,
               (SELECT count(*) FROM memories m WHERE m.space_id = s.id AND m.status = 'active') AS really,
               (SELECT coalesce(sum(p.tf), 0) FROM postings p WHERE p.space_id = s.id) AS tokens_really
        FROM spaces s) x WHERE (documents, tokens) <> (really, tokens_really)
"""


def random_step(book, dice, known):
    """Do something at random to the memories; refusals are part of life."""
    words = " ".join(dice.choices(WORDS, k=dice.randint(1, 3)))
    space = dice.choice(["default", "second"])
    which = dice.choice(known) if known else None
    steps = {
        "write": lambda: known.append(book.write(words, space=space).id),
        "batch": lambda: known.extend(batch(book, space, [f"{words} {n}" for n in range(4)])),
        "edit": lambda: book.do(update, which, {"text": words, "tags": [words[:5]]}),
        "archive": lambda: book.do(update, which, {"status": "archived"}),
        "revive": lambda: book.do(update, which, {"status": "active"}),
        "forget": lambda: book.do(forget, which, undo=UNDO_WINDOW),
        "restore": lambda: book.do(restore, which),
        "supersede": lambda: book.do(update, which, {"supersedes": dice.choice(known)}),
    }
    with suppress(DomainError):
        steps[dice.choice(list(steps) if which else ["write"])]()


def batch(book, space, words):
    return [outcome.id for outcome in book.write_many(words, space) if outcome.id]


@pytest.mark.parametrize("seed", range(4))
def test_counters_and_postings_always_equal_a_recount(book, cap, second_space, seed):
    dice, known = random.Random(seed), []
    cap(12)
    for _ in range(60):
        random_step(book, dice, known)
    assert book.one(RECOUNT) == []
    assert book.one(COUNTERS) is None


def test_an_empty_space_counts_nothing(book):
    memory_id = book.write("apples and bridges").id
    book.do(forget, memory_id)
    assert book.one("SELECT documents + tokens FROM spaces") == 0
