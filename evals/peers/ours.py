"""Our own search, asked as a peer is: by one call for each question, which is made a vector each time."""

from __future__ import annotations

import time
from contextlib import ExitStack
from importlib.metadata import version

from evals.dataset import DataSet
from evals.errors import MeasureError
from evals.examine import LIMIT, patient
from evals.peers.measure import Answer, Contender, Progress, Ready
from evals.places import Place, put
from evals.throwaway import throwaway
from memory.clock import utc_now
from memory.spaces.scope import read_scope
from memory.storage.database import user_session
from retrieval.policy import NAMED
from retrieval.query import Dense, Query, Result
from retrieval.search import search
from tasks.runtime import Runtime

NAME = "commonplace"
POLICY = "balanced"


def our_contender() -> Contender:
    """Return this system as one that can be measured."""
    return Contender(NAME, "this repository", _start)


def _start(stack: ExitStack, data: DataSet, on_progress: Progress) -> Ready:
    """Store the data set in a database of its own."""
    now = utc_now()
    runtime, user_id = stack.enter_context(throwaway(now=now))
    start = time.perf_counter()
    places = put(runtime, user_id, data, now=now, alone=False, on_progress=on_progress).places
    seconds = time.perf_counter() - start

    def ask(collection: str, text: str) -> Answer:
        place = places[collection]
        result, milliseconds = _ask(runtime, place, text)
        if result.error or result.degraded:
            raise MeasureError(f"our own search went without {', '.join(result.degraded) or 'an answer'}")
        return Answer([place.held[hit.ranked.scored.candidate.id] for hit in result.hits], milliseconds)

    settings = f"policy {POLICY}, embedded PostgreSQL, compiled model"
    return Ready(settings, {NAME: version("commonplace")}, seconds, ask)


def _ask(runtime: Runtime, place: Place, text: str) -> tuple[Result, float]:
    """Search as a request does, from opening the transaction to its end; returns the milliseconds too."""
    start, now = time.perf_counter(), utc_now()
    with user_session(runtime.sessions, place.user_id) as session:
        model = read_scope(session, place.user_id, "", space_id=place.space_id).model
        if model is None:
            raise MeasureError("there is no embedding model, or nothing was embedded yet")
        dense = Dense.by(model, runtime.providers.query_embedder(model, session, now))
        query = Query(place.user_id, place.space_id, text, limit=LIMIT, token_budget=None, scope_size=place.size)
        result = search(session, query, patient(NAMED[POLICY]), dense=dense, now=now, reader=runtime.reader)
    return result, (time.perf_counter() - start) * 1000
