"""The postings of a long text are taken away in time that grows with its words, not with their square."""

from __future__ import annotations

import time
from itertools import count

import pytest
from sqlalchemy import text

from memory.clock import utc_now
from memory.writing.edit import update

FEW, MANY = 400, 3_200
_texts = count()


def forget_statistics(owner):
    """Leave the planner as a new installation has it, whatever autovacuum has found out by now."""
    with owner.begin() as connection:
        connection.execute(text("SELECT pg_clear_relation_stats('public', 'postings')"))
        for column in ("user_id", "space_id", "lexeme", "memory_id"):
            connection.execute(
                text("SELECT pg_clear_attribute_stats('public', 'postings', :column, false)"), {"column": column}
            )


def edit(session, book, memory_id):
    changes = {"text": f"short {next(_texts)}"}
    update(session, book.user_id, memory_id, changes, keys=book.runtime.keys, now=utc_now(), actor="test")


def delete(session, book, memory_id):
    session.execute(text("DELETE FROM memories WHERE id = :id"), {"id": memory_id})


def seconds(book, owner, change, words):
    """Return the least of four times that a change takes of a memory of so many different words."""
    found = []
    for _ in range(4):
        number = next(_texts)
        memory_id = book.write(" ".join(f"word{number}x{word}" for word in range(words))).id
        forget_statistics(owner)
        with book.session() as session:
            started = time.perf_counter()
            change(session, book, memory_id)
            session.flush()
            found.append(time.perf_counter() - started)
            left = session.scalar(text("SELECT count(*) FROM postings WHERE memory_id = :id"), {"id": memory_id})
            assert left == (2 if change is edit else 0)
    return min(found)


@pytest.mark.parametrize("change", [edit, delete])
def test_eight_times_the_words_do_not_take_sixty_four_times_as_long(book, owner, change):
    seconds(book, owner, change, FEW)
    assert seconds(book, owner, change, MANY) < 24 * seconds(book, owner, change, FEW)
