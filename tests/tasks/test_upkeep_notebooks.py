"""What was removed from the notebooks goes for good, also of who has forgotten nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.clock import utc_now
from memory.notebooks import cells, notebooks
from memory.storage.database import user_session
from tasks.upkeep import purge_due

COUNTS = text("SELECT (SELECT count(*) FROM notebooks), (SELECT count(*) FROM cells)")


@pytest.mark.parametrize(("age", "left"), [(timedelta(minutes=9), (2, 2)), (timedelta(minutes=11), (1, 0))])
def test_a_purge_takes_what_was_removed_ten_minutes_ago(runtime, ada, age, left):
    then = utc_now() - age
    with user_session(runtime.sessions, ada.id) as session:
        kept, gone = (notebooks.create_notebook(session, ada.id, name, now=then, actor="t").id for name in ("a", "b"))
        one, _ = (cells.add_cell(session, ada.id, page, "note", {"text": "x"}, now=then).id for page in (kept, gone))
        cells.remove_cell(session, ada.id, kept, one, now=then)
    purge_due.call_local()
    with user_session(runtime.sessions, ada.id) as session:
        # The cell of the one and the other notebook, each by itself.
        assert tuple(session.execute(COUNTS).one()) == (2, (2, 1)[age > timedelta(minutes=10)])
        notebooks.remove_notebook(session, ada.id, gone, now=then, actor="t")
    purge_due.call_local()
    with user_session(runtime.sessions, ada.id) as session:
        assert tuple(session.execute(COUNTS).one()) == left
