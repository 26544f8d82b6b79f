"""The self-test of isolation: it must see nothing of others where rows are confined, and must see it where not."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.database import user_session
from memory.models import Base, User
from memory.operators import try_to_cross


def test_one_user_sees_nothing_of_another(runtime, ada, bob):
    with user_session(runtime.sessions, ada.id) as session:
        found = try_to_cross(session, ada.id)
    assert found.leaking == []
    owned = [table.name for table in Base.metadata.sorted_tables if "user_id" in table.columns]
    assert found.tables == len(owned) + 1


@pytest.mark.usefixtures("ada", "bob")
def test_whom_nothing_confines_sees_others_whether_they_came_before_or_after(owner):
    with Session(owner) as session:
        # Of the first there are only greater ones, of the last only smaller.
        everybody = session.scalars(select(User.id).order_by(User.id)).all()
        for user_id in (everybody[0], everybody[-1]):
            assert {"spaces", "users"} <= set(try_to_cross(session, user_id).leaking)
