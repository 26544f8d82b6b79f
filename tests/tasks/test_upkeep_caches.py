"""Caches that are past their time are emptied with everything else."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import text

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.conversations.session_state import SessionStates
from memory.embedding.cache import LIFE, Drawer, SharedVectors
from memory.spaces.spaces import get_space
from memory.storage.database import user_session
from tasks.upkeep import count_on, purge_due

COUNTS = text("SELECT (SELECT count(*) FROM cached_embeddings), (SELECT count(*) FROM session_states)")


@pytest.mark.parametrize(("age", "left"), [(timedelta(0), (1, 1)), (timedelta(days=2), (1, 0)), (LIFE, (0, 0))])
def test_a_purge_takes_what_is_too_old(runtime, ada, age, left):
    then = utc_now() - age
    with user_session(runtime.sessions, ada.id) as session:
        SharedVectors(runtime.keys).keep(session, Drawer(ada.id, "tiny"), {"bees": np.float32([1, 0])}, then)
        space = get_space(session, ada.id, "default")
        conversation, _ = open_conversation(session, ada.id, space, now=then, actor="t")
        SessionStates().set_goal(session, conversation, "Find the bees", now=then, actor="t")
    purge_due.call_local()
    with user_session(runtime.sessions, ada.id) as session:
        assert tuple(session.execute(COUNTS).one()) == left


def test_totals_are_brought_forward(runtime):
    count_on.call_local()
    with runtime.sessions() as session:
        (until,) = session.scalars(text("SELECT DISTINCT counted_until FROM totals")).all()
    assert timedelta(hours=1) <= utc_now() - until < timedelta(hours=1, minutes=1)
