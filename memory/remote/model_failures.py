"""Whether the server's language model answers, as whoever asked it last found out. Workers ask it, and pages tell."""

from __future__ import annotations

import logging

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from memory.clock import Clock
from memory.keys import Keys
from memory.models import ModelFailure
from memory.remote.llm import ChatModel, ChatModelError

logger = logging.getLogger(__name__)


def note_answer(
    sessions: sessionmaker[Session],
    keys: Keys,
    clock: Clock,
    model: ChatModel,
    error: ChatModelError | None,
) -> None:
    """Keep what a model failed by, or with None that it answered, in a transaction of its own.

    A database that is away is no reason to do without an answer: that is logged.
    """
    key, values = _key(keys, model), {"error": str(error), "failed_at": clock()}
    failed = insert(ModelFailure).values(model=key, **values)
    failed = failed.on_conflict_do_update(index_elements=[ModelFailure.model], set_=values)
    answered = delete(ModelFailure).where(ModelFailure.model == key)
    try:
        with sessions.begin() as session:
            session.execute(answered if error is None else failed)
    except SQLAlchemyError as problem:
        logger.warning("whether the language model answers was not noted: %s", type(problem).__name__)


def failure_of(session: Session, keys: Keys, model: ChatModel) -> ModelFailure | None:
    """Return what a model failed by when it was asked last; None where it answered, or was never asked."""
    return session.get(ModelFailure, _key(keys, model))


def _key(keys: Keys, model: ChatModel) -> bytes:
    return keys.digest("language model", f"{model.url} {model.model}")
