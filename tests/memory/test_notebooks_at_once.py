"""Notebooks, and marks of right answers, while something else is written: real threads, real connections."""

from __future__ import annotations

from memory.embedding.backfill import utc_now
from memory.errors import NotFoundError
from memory.forget import forget
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
