"""Notes from elsewhere come in whole or not at all, and once."""

from __future__ import annotations

import pytest
from sqlalchemy import select, text

from memory.drafts.drafts import Draft
from memory.errors import InvalidError
from memory.forgetting.forget import forget
from memory.models import Memory, Space
from memory.spaces.spaces import update_space
from memory.transfer.bringing import bring_in


@pytest.fixture
def brought(book):
    def _brought(*texts, space="default", soft_cap=None, **more):
        drafts = [each if isinstance(each, Draft) else Draft(each) for each in texts]
        return dict(book.do(bring_in, space, drafts, soft_cap=soft_cap, **more))

    return _brought


@pytest.fixture
def texts(book):
    def _texts():
        with book.session() as session:
            return sorted(session.scalars(select(Memory.text)))

    return _texts


def test_what_is_new_comes_in(brought, texts):
    assert brought("Rent is 900", "The key is at Bob's", "Rent is 900") == {"created": 2, "there": 1}
    assert texts() == ["Rent is 900", "The key is at Bob's"]


def test_to_bring_in_the_same_again_changes_nothing(brought, book):
    brought("Rent is 900", "The key is at Bob's")
    state = "SELECT id, repeat_count, importance, updated_at FROM memories ORDER BY id"
    with book.session() as session:
        before = session.execute(text(state)).all()
    assert brought("Rent is 900", "The key is at Bob's") == {"there": 2}
    with book.session() as session:
        assert session.execute(text(state)).all() == before


def test_what_says_the_same_in_other_words_is_merged(brought, texts):
    brought("The spare key hangs behind the blue door of the shed.")
    assert brought("the spare key hangs behind the blue door of the shed") == {"there": 0, "merged": 1}
    assert len(texts()) == 1


def test_more_than_a_statement_has_room_for_is_looked_for(brought):
    with pytest.raises(InvalidError, match="would have 66,000") as error:
        brought(*(f"number {at}" for at in range(66_000)))
    assert error.value.field == "soft_cap"


def test_more_than_a_space_keeps_is_refused_whole(brought, book, texts):
    book.do(update_space, "default", {"soft_cap": 3})
    brought("one apple", "two pears")
    with pytest.raises(InvalidError, match="keeps 3 and would have 4, of which the weakest 1 would go") as error:
        brought("three plums", "four figs")
    assert (error.value.field, texts()) == ("soft_cap", ["one apple", "two pears"])


def test_a_space_keeps_more_where_that_is_asked_for_and_never_less(brought, book, texts):
    book.do(update_space, "default", {"soft_cap": 3})
    brought("one apple", "two pears", "three plums", "four figs", soft_cap=4)
    assert brought("one apple", soft_cap=1) == {"there": 1}
    with book.session() as session:
        assert (session.scalar(select(Space.soft_cap)), len(texts())) == (4, 4)


def test_what_was_forgotten_stays_so(brought, book, texts):
    brought("The safe opens with 4711")
    with book.session() as session:
        (memory_id,) = session.scalars(select(Memory.id))
    book.do(forget, memory_id)
    assert brought("The safe opens with 4711", "Rent is 900") == {"there": 0, "refused": 1, "created": 1}
    assert texts() == ["Rent is 900"]


@pytest.mark.parametrize("switch", [{"memory_enabled": False}, {"incognito_default": True}])
def test_a_space_that_stores_nothing_takes_nothing(brought, book, texts, switch):
    book.do(update_space, "default", switch)
    with pytest.raises(InvalidError, match="'default' stores nothing"):
        brought("Rent is 900")
    assert texts() == []


def test_many_come_in_as_one_and_progress_is_told(brought, texts):
    told = []
    assert brought(*(f"Shelf {n} holds {n * 7} jars" for n in range(1100)), soft_cap=2000, on_stored=told.append) == {
        "there": 0,
        "created": 1100,
    }
    assert (told, len(texts())) == ([500, 500, 100], 1100)


def test_what_another_space_has_is_not_there(brought, second_space):
    brought("Rent is 900", space=second_space)
    assert brought("Rent is 900") == {"there": 0, "created": 1}


def test_what_others_have_is_not_there(brought, bobs_book, texts):
    bobs_book.write("Rent is 900")
    assert brought("Rent is 900") == {"there": 0, "created": 1}
    assert texts() == ["Rent is 900"]


def test_what_others_and_other_spaces_have_of_the_same_files_is_not_archived(brought, book, bobs_book, second_space):
    mine = Draft("The shed has no key", source_ids=("notes/home.md",))
    bobs_book.do(bring_in, "default", [mine], soft_cap=None)
    brought(mine, space=second_space)
    brought(mine)
    assert brought("The shed has two keys", whole=["notes/"]) == {"there": 0, "archived": 1, "created": 1}
    left = "SELECT count(*) FROM memories WHERE text = 'The shed has no key' AND status = 'active'"
    assert (book.one(left), bobs_book.one(left)) == (1, 1)
