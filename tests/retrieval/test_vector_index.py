"""Above the exact scan: the HNSW index of a model, what it finds and when it goes."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import numpy as np
import pytest
from pgvector import HalfVector
from sqlalchemy import text

from evals.corpus import WordModel
from evals.stock import around, model_of, stock
from memory.embedding.indexes import index_name, maintain_indexes
from memory.models import EmbeddingModel
from memory.storage.database import EF_SEARCH, make_engine, user_session
from memory.storage.shelves import MEMORIES
from retrieval.lookup.candidates import EXACT_SCAN_LIMIT, FILTERED_SCAN_LIMIT, LARGE_SPACE, Source
from retrieval.lookup.statements import approximate_statement
from retrieval.policy import NAMED
from retrieval.query import Dense, Query

NOW = datetime(2025, 6, 1, tzinfo=UTC)
MANY = 3_000
# Far fewer would be so large that the thirty nearest of a kind reach into others, which are all as far: which of
# those the index finds is up to the chance it is built with.
CENTRES = 400
ENOUGH = 100  # that a model with as many vectors gets an index
DIMENSIONS = 384


class Place:
    """A space of many vectors, and the ways to look them up."""

    def __init__(self, runtime, person, owner):
        self.runtime, self.user_id, self.owner = runtime, person.id, owner
        chance = np.random.default_rng(5)
        centres = chance.standard_normal((CENTRES, DIMENSIONS)).astype(np.float32)
        self.centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        self.vectors = around(self.centres, MANY)
        texts = WordModel(seed=11).texts(MANY)
        self.space_id = stock(runtime, person.id, texts, now=NOW, vectors=self.vectors)
        with user_session(runtime.sessions, person.id) as session:
            self.model_id = model_of(session, person.id).id

    def nearest(self, vector, *, scope_size, **fields):
        with user_session(self.runtime.sessions, self.user_id) as session:
            query = Query(self.user_id, self.space_id, "", scope_size=scope_size, **fields)
            if scope_size > EXACT_SCAN_LIMIT:
                # So few rows are cheap to sort, and the planner would.
                session.execute(text("SET LOCAL enable_sort = off"))
            source = Source(session, query, NAMED["balanced"], NOW)
            return list(source.semantic_leg(Dense(self.model_id, DIMENSIONS, None), vector).cosines)

    def plan(self, vector):
        """Return how the database looks for the nearest."""
        values = {"user_id": self.user_id, "space_id": self.space_id, "vector": HalfVector(vector), "depth": 40}
        statement = approximate_statement(MEMORIES, str(self.model_id), DIMENSIONS, 40, filtered=False)
        with user_session(self.runtime.sessions, self.user_id) as session:
            session.execute(text("SET LOCAL enable_sort = off"))
            return "\n".join(session.connection().exec_driver_sql("EXPLAIN " + statement, values).scalars())


@pytest.fixture(scope="module")
def place(runtime, new_person, database_url):
    owner = make_engine(database_url, pool_size=1)
    made = Place(runtime, new_person("ada", soft_cap=MANY), owner)
    # Another user with few vectors: too small for an index.
    stock(runtime, new_person("bob").id, WordModel(seed=12).texts(20), now=NOW, vectors=around(made.centres, 20))
    built = maintain_indexes(owner, MANY - 1)
    assert built == [index_name(made.model_id)]
    yield made
    maintain_indexes(owner, 10 * MANY)
    owner.dispose()


def test_the_index_is_used_and_finds_what_the_exact_scan_finds(place):
    questions = around(place.centres, 50, seed=9)
    found = 0
    for question in questions:
        exact = place.nearest(question, scope_size=MANY)[:10]
        approximate = place.nearest(question, scope_size=EXACT_SCAN_LIMIT + 1)[:10]
        found += len(set(exact) & set(approximate))
    assert found / (10 * len(questions)) >= 0.98
    assert f"Index Scan using {index_name(place.model_id)}" in place.plan(questions[0])


def test_one_alone_builds_at_a_time(place):
    """An index that is being built is not valid yet: another would drop it."""
    with place.owner.connect() as builder:
        builder.execute(text("SELECT pg_advisory_lock(hashtextextended('vector indexes', 3))"))
        other = make_engine(place.owner.url.render_as_string(hide_password=False), pool_size=1)
        assert maintain_indexes(other, 10 * MANY) == []
        builder.execute(text("SELECT pg_advisory_unlock(hashtextextended('vector indexes', 3))"))
        other.dispose()
    assert f"Index Scan using {index_name(place.model_id)}" in place.plan(place.centres[0])
    assert maintain_indexes(place.owner, MANY - 1) == [], "it is there, and was let go of"


@pytest.mark.parametrize(
    ("rows", "fields", "view"),
    [
        (LARGE_SPACE, {}, EF_SEARCH),
        (LARGE_SPACE + 1, {}, 4 * NAMED["balanced"].depth),
        (FILTERED_SCAN_LIMIT + 1, {"types": ("decision",)}, 8 * NAMED["balanced"].depth),
    ],
)
def test_more_is_kept_in_view_where_more_would_be_missed(place, rows, fields, view):
    query = Query(place.user_id, place.space_id, "", scope_size=rows, **fields)
    with user_session(place.runtime.sessions, place.user_id) as session:
        source = Source(session, query, NAMED["balanced"], NOW)
        source.semantic_leg(Dense(place.model_id, DIMENSIONS, None), place.centres[0])
        assert session.scalar(text("SELECT current_setting('hnsw.ef_search')::int")) == view


def test_it_returns_as_many_as_were_asked_for_where_much_is_filtered_out(place, owner_marks_few):
    # Several questions, as the index is built with chance: one of them may miss a little.
    found = 0
    for question in around(place.centres, 10, seed=3):
        exact = place.nearest(question, scope_size=MANY, types=("decision",))
        approximate = place.nearest(question, scope_size=FILTERED_SCAN_LIMIT + 1, types=("decision",))
        assert len(exact) == len(approximate) == NAMED["balanced"].depth
        found += len(set(exact) & set(approximate))
        order = {each: place for place, each in enumerate(exact)}
        places = [order[each] for each in approximate if each in order]
        assert places == sorted(places), "the nearest comes first"
    assert found / (10 * NAMED["balanced"].depth) >= 0.97


@pytest.fixture
def owner_marks_few(place):
    """One memory in sixteen is a decision."""
    with place.owner.begin() as connection:
        few = "UPDATE memories SET type = 'decision' WHERE user_id = :u AND right(id::text, 1) = '3'"
        connection.execute(text(few), {"u": place.user_id})
    yield
    with place.owner.begin() as connection:
        connection.execute(text("UPDATE memories SET type = 'note' WHERE user_id = :u"), {"u": place.user_id})


def test_an_index_is_not_built_twice(place):
    assert maintain_indexes(place.owner, MANY - 1) == []


def test_an_index_goes_with_its_model(place, runtime, new_person):
    carl = new_person("carl")
    stock(runtime, carl.id, WordModel(seed=13).texts(ENOUGH), now=NOW, vectors=around(place.centres, ENOUGH, seed=2))
    with user_session(runtime.sessions, carl.id) as session:
        model_id = model_of(session, carl.id).id
    assert index_name(model_id) in maintain_indexes(place.owner, ENOUGH - 1)
    with user_session(runtime.sessions, carl.id) as session:
        session.delete(session.get_one(EmbeddingModel, (carl.id, model_id)))
    maintain_indexes(place.owner, ENOUGH - 1)
    with place.owner.connect() as connection:
        left = connection.scalars(text("SELECT relname FROM pg_class WHERE relname LIKE 'hnsw%'")).all()
    assert (index_name(place.model_id) in left, index_name(model_id) in left) == (True, False)


def test_changing_every_row_at_once_takes_time_by_the_row_and_not_by_its_square(place):
    took = []
    for several in ("id IN (SELECT id FROM memories WHERE user_id = :u LIMIT 1)", "true"):
        with user_session(place.runtime.sessions, place.user_id) as session:
            change = text(f"UPDATE memories SET needs_embedding = NOT needs_embedding WHERE user_id = :u AND {several}")
            start = time.perf_counter()
            session.execute(change, {"u": place.user_id})
            took.append(time.perf_counter() - start)
            session.rollback()
    # By the square it took minutes; the first plan of the trigger is made for one row and kept.
    assert took[1] < 5
