"""A user's own marks of right answers as a data set: their questions, asked of their own memories where they are."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from evals.dataset import Collection, DataSet, Question
from evals.places import Place, Placed
from memory.keys import Keys
from memory.models import Memory, RecallMark, Space

# With fewer questions, the confidence interval is as wide as the whole scale.
ENOUGH = 20


def read(session: Session, user_id: UUID, *, keys: Keys, now: datetime) -> tuple[DataSet, Placed]:
    """Return the marked questions, and the user's spaces as their places.

    A question is asked of the space that its marked memories are in, once for each where they are in several. Marks of
    memories that no search looks at any more, being archived or expired, are left out; a question that has no other
    counts as one without evidence. Ids of questions are keyed digests, so that what is kept of a run says nothing.
    """
    searched = (Memory.status == "active") & Memory.unexpired(now)
    rows = session.execute(
        select(RecallMark.question, Memory.space_id, Memory.id, searched)
        .join(Memory, (Memory.user_id == RecallMark.user_id) & (Memory.id == RecallMark.memory_id))
        .where(RecallMark.user_id == user_id)
        .order_by(RecallMark.created_at, RecallMark.memory_id)
    )
    right: dict[tuple[str, UUID], set[str]] = {}
    asked: dict[str, bool] = {}
    for text, space_id, memory_id, is_searched in rows:
        asked[text] = asked.get(text, False) or is_searched
        if is_searched:
            right.setdefault((text, space_id), set()).add(str(memory_id))
    questions = [
        Question(_name(keys, text, space_id), "marked", text, str(space_id), frozenset(ids))
        for (text, space_id), ids in right.items()
    ]
    spaces = dict.fromkeys(space_id for _, space_id in right)
    places = {str(each): _place(session, user_id, each) for each in spaces}
    collections = tuple(Collection(each) for each in places)
    unscored = sum(not scored for scored in asked.values())
    return DataSet("marks", "marks", collections, tuple(questions), unscored=unscored), Placed(places, None)


def _name(keys: Keys, text: str, space_id: UUID) -> str:
    return keys.digest("evaluated question", f"{space_id} {text}").hex()[:24]


def _place(session: Session, user_id: UUID, space_id: UUID) -> Place:
    space = session.scalars(select(Space).where(Space.user_id == user_id, Space.id == space_id)).one()
    ids = session.scalars(select(Memory.id).where(Memory.user_id == user_id, Memory.space_id == space_id))
    held = {each: (str(each),) for each in ids}
    return Place(user_id, space_id, space.documents, held, {str(each): each for each in held}, {})


def in_words(data: DataSet) -> str | None:
    """Return what to say of too few marked questions, None where there are enough."""
    found = len(data.questions)
    if found >= ENOUGH:
        return None
    how = 'Mark answers in a notebook with "This was the right one".'
    if not found:
        return f"There are no marked questions to measure. {how}"
    return f"Only {found} marked questions, fewer than {ENOUGH}: take the figures for hints. {how}"
