"""Roll-ups of what a space keeps no longer: put together, summed up, and put away."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import tzinfo
from uuid import UUID

from memory.clock import utc_now
from memory.embedding.likeness import unrelated_cosine
from memory.embedding.models import active_model
from memory.models import Space
from memory.remote.llm import ChatModelError
from memory.storage.database import user_session
from memory.time_zones import user_zone
from memory.writing.retention import BATCH, Aging, aging, put_away, still_aging
from memory.writing.roll_ups import roll_up_of, say_anew
from retrieval.history.recap import cut_to
from retrieval.history.rollup import INSTRUCTION, ROOM, Group, grouped
from retrieval.lookup.vectors import unit_vectors
from tasks.app import runtime
from tasks.embedding import nudge

logger = logging.getLogger(__name__)

# Tokens of a model, which may count otherwise than we do.
MOST_SAID = 2 * ROOM


def roll_up(user_id: UUID, space_id: UUID, deadline: float) -> int | None:
    """Sum up and archive what a space keeps no longer; returns how many memories. None where it does not want that.

    Group by group, each in a transaction of its own, and no further than the deadline: the rest goes on the next time.
    """
    with user_session(runtime().sessions, user_id) as session:
        old = aging(session, user_id, space_id, now=utc_now())
        if not old:
            return None if old is None else 0
        model, zone = active_model(session, user_id), user_zone(session, user_id)
        vectors = unit_vectors(session, user_id, [each.id for each in old], model) if model else {}
        groups, rest = grouped(old, vectors, unrelated_cosine(model) if model else 0.0)
    total = 0
    for group in groups:
        if time.monotonic() >= deadline:
            return total
        total += _put_away(user_id, space_id, group, zone)
        # What was made of it wants a vector.
        nudge()
    for start in range(0, len(rest), BATCH):
        with user_session(runtime().sessions, user_id) as session:
            some: Sequence[Aging] = rest[start : start + BATCH]
            total += len(put_away(session, user_id, space_id, some, keys=runtime().keys, now=utc_now()))
    return total


def roll_up_again(user_id: UUID, memory_id: UUID) -> bool:
    """Make a roll-up anew of what its sources say by now, under the head that it has; tells whether it changed."""
    # As of now: what is corrected from here on is looked for again.
    now = utc_now()
    with user_session(runtime().sessions, user_id) as session:
        made, zone = roll_up_of(session, user_id, memory_id), user_zone(session, user_id)
    if made is None:
        return False
    head, *_ = made.text.splitlines()
    # Outside of any transaction: a language model takes its time.
    said = f"{head}\n{_said(Group(made.sources, None, None), zone, is_private=made.is_private)}"
    with user_session(runtime().sessions, user_id) as session:
        changed = say_anew(session, user_id, made, said, keys=runtime().keys, now=now)
    if changed:
        nudge()
    return changed


def _put_away(user_id: UUID, space_id: UUID, group: Group[Aging], zone: tzinfo) -> int:
    # What was forgotten since it was read, or is not to be summed up any more, is sent to no language model.
    with user_session(runtime().sessions, user_id) as session:
        space = session.get(Space, (user_id, space_id))
        if space is None or len(still_aging(session, space, group.memories, now=utc_now())) < len(group.memories):
            return 0
        is_private = space.incognito_default
    # Outside of any transaction: a language model takes its time.
    summary = group.draft(_said(group, zone, is_private=is_private), zone)
    with user_session(runtime().sessions, user_id) as session:
        done = put_away(session, user_id, space_id, group.memories, summary, keys=runtime().keys, now=utc_now())
    return len(done)


def _said(group: Group[Aging], zone: tzinfo, *, is_private: bool) -> str:
    """Return what a group comes to: by the language model where one is set and answers, else by an extract.

    What is private, as in a space that is incognito by default, is sent to no model.
    """
    model = runtime().chat_model
    if model is not None and not is_private:
        try:
            said = model.complete(INSTRUCTION, group.material(zone), max_tokens=MOST_SAID)
            # A model that goes on beyond what it was allowed says more than a memory holds.
            return cut_to(said, MOST_SAID)
        except ChatModelError as error:
            logger.warning("a roll-up is an extract: %s", error)
    return group.extract()
