"""A person with notes who is searched for by their names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evals.examine import Vectors
from evals.stock import model_of, stock
from memory.storage.database import user_session
from retrieval.policy import NAMED, policy_from
from retrieval.query import Dense, Query
from retrieval.reading.reading import shared_reader
from retrieval.search import search

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def asking(runtime, new_person):
    """Return what makes a person with notes, and asks for their names."""

    def of(name, named, others=()):
        person, notes = new_person(name), [*named, *others]
        space_id = stock(runtime, person.id, notes, now=NOW, vectors=None)
        with user_session(runtime.sessions, person.id) as session:
            model = model_of(session, person.id)
            session.expunge(model)
        dense = Dense.by(model, Vectors(runtime.providers.embedder(model, asked=True)))

        def asked(question, policy=None):
            query = Query(person.id, space_id, question, scope_size=len(notes))
            chosen = policy_from(policy or {}, NAMED["balanced"])
            with user_session(runtime.sessions, person.id) as session:
                found = search(session, query, chosen, dense=dense, now=NOW, reader=shared_reader)
            assert not found.error
            return [named.get(hit.snippet, "other") for hit in found.hits]

        return asked

    return of
