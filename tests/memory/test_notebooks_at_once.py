"""Notebooks, and marks of right answers, while something else is written: real threads, real connections."""

from __future__ import annotations

import pytest

from memory.clock import utc_now
from memory.errors import ConflictError, NotFoundError
from memory.forgetting.forget import forget
from memory.notebooks import cells, notebooks
from memory.notebooks.checks import MOST_NOTEBOOKS
from memory.notebooks.marks import mark_right


def test_an_answer_is_marked_right_while_it_is_forgotten(book, beside):
    memory_id, now = book.write("The meeting is in room seven").id, utc_now()

    def mark():
        with book.session() as session:
            mark_right(session, book.user_id, "Which room?", memory_id, now=now)

    done = beside(
        lambda session: forget(session, book.user_id, memory_id, keys=book.runtime.keys, now=now, actor="test"), mark
    )
    assert isinstance(done, NotFoundError)


@pytest.mark.parametrize("gone", ["UPDATE cells SET removed_at = now()", "DELETE FROM cells"])
def test_a_cell_is_folded_while_it_goes(book, gone):
    """The page has read the cell, and folds it when it is out of sight or purged."""
    page = book.do(notebooks.create_notebook, "Plans").id
    with book.session() as session:
        cell_id = cells.add_cell(session, book.user_id, page, "note", {}, now=utc_now()).id
    with book.session() as session:
        read = cells.get_cell(session, book.user_id, page, cell_id)
        book.one(f"{gone} RETURNING 1")
        with pytest.raises(NotFoundError):
            cells.collapse_cell(session, book.user_id, page, cell_id, collapsed=not read.collapsed)


def test_a_cell_is_folded_while_its_notebook_goes(book, beside):
    page = book.do(notebooks.create_notebook, "Plans").id
    with book.session() as session:
        cell_id = cells.add_cell(session, book.user_id, page, "note", {}, now=utc_now()).id

    def fold():
        with book.session() as session:
            cells.collapse_cell(session, book.user_id, page, cell_id, collapsed=True)

    done = beside(
        lambda session: notebooks.remove_notebook(session, book.user_id, page, now=utc_now(), actor="test"), fold
    )
    assert isinstance(done, NotFoundError)


@pytest.mark.parametrize("action", [notebooks.create_notebook, notebooks.restore_notebook])
def test_the_last_room_for_a_notebook_is_taken_once(book, beside, action):
    gone = book.do(notebooks.create_notebook, "Gone").id
    book.do(notebooks.remove_notebook, gone)
    made = "gen_random_uuid(), 'One of many', now(), now() FROM generate_series(2, :most)"
    filled = f"INSERT INTO notebooks (user_id, id, title, created_at, updated_at) SELECT :user_id, {made} RETURNING id"
    book.one(filled, user_id=book.user_id, most=MOST_NOTEBOOKS)
    done = beside(
        lambda session: notebooks.create_notebook(session, book.user_id, "Last", now=utc_now(), actor="test"),
        lambda: book.do(action, gone if action is notebooks.restore_notebook else "Another"),
    )
    assert isinstance(done, ConflictError)
    assert book.one("SELECT count(*) FROM notebooks WHERE removed_at IS NULL") == MOST_NOTEBOOKS
