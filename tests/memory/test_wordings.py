"""In which other words a memory was said is kept with it, the latest hundred of them."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.lineage.wordings import MOST_KEPT, Merged, keep_wordings, wordings

SAID = "The key of the garden shed is under the third pot to the left of the kitchen door, where nobody looks for it"
OTHER = SAID.replace("garden", "old garden")


@pytest.fixture
def memory_id(book) -> UUID:
    return book.write(SAID).id


def merged_into(book, memory_id):
    with book.session() as session:
        return wordings(session, book.user_id, [memory_id]).get(memory_id, [])


def test_only_what_is_said_in_other_words_is_kept_and_once(book, memory_id):
    for said in (SAID.upper(), OTHER, SAID, OTHER.replace(" ", "  ")):
        assert book.write(said).id == memory_id
    assert merged_into(book, memory_id) == [OTHER.replace(" ", "  ")]


def test_the_oldest_wordings_go_when_there_are_too_many(book, memory_id):
    with book.session() as session:
        many = [Merged(memory_id, bytes([n]), f"old {n}", utc_now()) for n in range(MOST_KEPT)]
        keep_wordings(session, book.user_id, many)
        session.execute(sql("UPDATE wordings SET said_at = said_at - interval '1 day' WHERE text = 'old 7'"))
    book.write(OTHER)
    kept = merged_into(book, memory_id)
    assert (len(kept), kept[0], "old 7" in kept) == (MOST_KEPT, OTHER, False)
