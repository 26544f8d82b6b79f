"""The self-test of isolation: it must see nothing of others where rows are confined, and must see it where not."""

from __future__ import annotations

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.orm import Session

from memory.clock import utc_now
from memory.models import Base, User
from memory.operators.operators import retry_failed_of_all, try_to_cross
from memory.storage.database import user_session

RESTING = """
INSERT INTO embedding_models (user_id, id, provider_type, model, state, created_at, rests_until)
VALUES (:user_id, :user_id, 'local', 'test-model', 'active', now(), now() + interval '1 hour')
"""


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


def test_who_has_nothing_that_failed_is_not_asked(runtime, ada, bob, others):
    with user_session(runtime.sessions, ada.id) as session:
        session.execute(text(RESTING), {"user_id": ada.id})
    asked = []
    note = lambda _connection, _cursor, _statement, values, *_: asked.append(values)  # noqa: E731 - to be taken away
    engine = runtime.sessions.kw["bind"]
    event.listen(engine, "before_cursor_execute", note)
    retry_failed_of_all(runtime.sessions, utc_now())
    event.remove(engine, "before_cursor_execute", note)
    of = {person.id: sum(str(person.id) in str(values) for values in asked) for person in (ada, bob, *others)}
    assert of.pop(ada.id) > 0
    assert set(of.values()) == {0}
    with user_session(runtime.sessions, ada.id) as session:
        assert session.scalar(text("SELECT rests_until FROM embedding_models")) is None
