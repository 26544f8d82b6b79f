"""Which model serves a user, and the online switch from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from memory.embedding import queue
from memory.ids import new_id
from memory.locks import Purpose, lock_name
from memory.models import EmbeddingModel
from memory.record.journal import record
from memory.spaces.spaces import lock_spaces
from memory.storage.shelves import SHELVES

# Texts that failed, for each vector that was made: with more of them the old model goes on serving.
MOST_FAILED = 0.25
# From this many failures in a row on a model's rest grows no longer, and its provider is first asked for one vector
# alone.
MOST_FAILURES = 10


@dataclass(frozen=True, slots=True)
class Target:
    """The model that a user should have by the rules of precedence. `api_key` is encrypted."""

    provider_type: str
    model: str
    endpoint_url: str | None = None
    api_key: str | None = None
    dimensions: int | None = None

    def same_vectors(self, model: EmbeddingModel) -> bool:
        """Tell whether vectors of `model` are vectors of this target."""
        if None not in (self.dimensions, model.dimensions) and self.dimensions != model.dimensions:
            return False
        return (self.provider_type, self.model, self.endpoint_url) == (
            model.provider_type,
            model.model,
            model.endpoint_url,
        )


def user_models(session: Session, user_id: UUID) -> Sequence[EmbeddingModel]:
    """Return the user's models, the active one first."""
    statement = select(EmbeddingModel).where(EmbeddingModel.user_id == user_id).order_by(EmbeddingModel.state)
    return session.scalars(statement.execution_options(populate_existing=True)).all()


def active_model(session: Session, user_id: UUID) -> EmbeddingModel | None:
    """Return the model whose vectors serve the user's searches."""
    return next((model for model in user_models(session, user_id) if model.state == "active"), None)


def reconcile(session: Session, user_id: UUID, target: Target | None, *, now: datetime) -> bool:
    """Move the user towards `target`; returns whether anything changed.

    A first model is active at once. Later a new model is filled as `building` while the old one serves, and
    `flip_if_complete` swaps them. Without a target nothing is taken away: old vectors go on serving.
    """
    if target is None:
        return False
    _lock_models(session, user_id)
    models = {model.state: model for model in user_models(session, user_id)}
    active, building = models.get("active"), models.get("building")
    if active is not None and target.same_vectors(active):
        _refresh(session, active, target, now)
        if building is not None:
            session.delete(building)
        return building is not None
    if building is not None and target.same_vectors(building):
        _refresh(session, building, target, now)
        return False
    if building is not None:
        session.delete(building)
        session.flush()
    _add(session, user_id, target, "building" if active else "active", now)
    return True


def _lock_models(session: Session, user_id: UUID) -> None:
    """Let one at a time change a user's models, or two workers would add or swap the same ones twice."""
    lock_name(session, str(user_id), Purpose.MODELS)


def _refresh(session: Session, model: EmbeddingModel, target: Target, now: datetime) -> None:
    """Take over what does not change the vectors; with another key, what failed gets another chance."""
    if model.dimensions is None:
        model.dimensions = target.dimensions
    if model.api_key != target.api_key:
        model.api_key = target.api_key
        queue.retry_failed(session, model.user_id, now)


def _add(session: Session, user_id: UUID, target: Target, state: str, now: datetime) -> None:
    model = EmbeddingModel(
        user_id=user_id,
        id=new_id(),
        provider_type=target.provider_type,
        endpoint_url=target.endpoint_url,
        model=target.model,
        api_key=target.api_key,
        dimensions=target.dimensions,
        state=state,
        created_at=now,
    )
    session.add(model)
    session.flush()
    queue.enqueue_missing(session, user_id, now)
    details = {"model": target.model, "provider": target.provider_type, "state": state}
    record(
        session,
        user_id,
        "embedding.model_added",
        actor="system",
        now=now,
        subject_id=model.id,
        details=details,
    )


def note_success(session: Session, user_id: UUID, model_id: UUID, dimensions: int) -> int | None:
    """Note that a model made vectors; the first fix its dimensions. Returns these, None when the model is gone."""
    statement = (
        update(EmbeddingModel)
        .where(EmbeddingModel.user_id == user_id, EmbeddingModel.id == model_id)
        .values(
            dimensions=func.coalesce(EmbeddingModel.dimensions, dimensions),
            failures=func.greatest(EmbeddingModel.failures - 1, 0),
            error=None,
            rests_until=None,
        )
        .returning(EmbeddingModel.dimensions)
    )
    return session.scalar(statement)


def rest(session: Session, user_id: UUID, model_id: UUID, error: str, *, pause: timedelta, now: datetime) -> None:
    """Leave a model alone that failed at everything: twice as long each time, and no shorter than `pause`."""
    model = session.get(EmbeddingModel, (user_id, model_id), with_for_update={"key_share": True})
    if model is not None:
        model.failures = min(model.failures + 1, MOST_FAILURES)
        model.error = error[:500]
        model.rests_until = now + max(pause, queue.backoff(model.failures))


def flip_if_complete(session: Session, user_id: UUID, *, now: datetime) -> bool:
    """Make the building model active once all that is searched has its vector; returns whether it did.

    Old and new change places in one transaction, so a query sees all of one or all of the other. The transaction
    must have changed nothing before, as this waits for the writers of every space.
    """
    if not _may_flip(session, user_id):
        return False
    # Asked again under the locks: another worker may have flipped, or a writer added a memory.
    _lock_models(session, user_id)
    lock_spaces(session, user_id)
    if not _may_flip(session, user_id):
        return False
    active, building = user_models(session, user_id)
    details = {"from": active.model, "to": building.model}
    session.execute(delete(EmbeddingModel).where(EmbeddingModel.user_id == user_id, EmbeddingModel.id == active.id))
    building.state = "active"
    session.flush()
    _recount(session, user_id, building.id)
    record(
        session,
        user_id,
        "embedding.model_flipped",
        actor="system",
        now=now,
        subject_id=building.id,
        details=details,
    )
    return True


def _may_flip(session: Session, user_id: UUID) -> bool:
    models = {model.state: model for model in user_models(session, user_id)}
    return len(models) == 2 and not _waiting(session, models["building"]) and not _failing(session, models["building"])


# Rows in error do not hold up the flip.
_MISSING = """
SELECT 1 FROM {items} m WHERE m.user_id = :user_id AND {live} AND NOT EXISTS (
    SELECT 1 FROM {vectors} x WHERE x.user_id = m.user_id AND x.{item} = m.id AND x.model_id = :model_id
      AND x.state IN ('ready', 'error')
) LIMIT 1
"""

_SETTLED = """
SELECT count(*) FILTER (WHERE x.state = 'ready') AS ready, count(*) FILTER (WHERE x.state = 'error') AS failed
FROM {vectors} x WHERE x.user_id = :user_id AND x.model_id = :model_id AND x.live
"""

_RECOUNT = """
UPDATE {items} m SET needs_embedding = NOT m.needs_embedding
WHERE m.user_id = :user_id AND m.needs_embedding = EXISTS (
    SELECT 1 FROM {vectors} x WHERE x.user_id = m.user_id AND x.{item} = m.id AND x.model_id = :model_id
      AND x.state = 'ready')
"""


def _waiting(session: Session, model: EmbeddingModel) -> bool:
    """Tell whether something that is searched still lacks the model's vector."""
    mine = {"user_id": model.user_id, "model_id": model.id}
    return any(session.scalar(queue.statement(_MISSING, shelf), mine) is not None for shelf in SHELVES)


def _failing(session: Session, model: EmbeddingModel) -> bool:
    """Tell whether so many rows are in error that the model must be failing, not a few odd texts."""
    mine = {"user_id": model.user_id, "model_id": model.id}
    settled = [session.execute(queue.statement(_SETTLED, shelf), mine).one() for shelf in SHELVES]
    return bool(sum(row.failed for row in settled) > sum(row.ready for row in settled) * MOST_FAILED)


def _recount(session: Session, user_id: UUID, model_id: UUID) -> None:
    """Set `needs_embedding` by the vectors of the model that serves now."""
    for shelf in SHELVES:
        session.execute(queue.statement(_RECOUNT, shelf), {"user_id": user_id, "model_id": model_id})
