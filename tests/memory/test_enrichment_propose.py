"""Tags that the nearest neighbours carry."""

from __future__ import annotations

import pytest
from enrichment_desk import embed_all

from memory.enrichment.propose import propose_tags
from memory.spaces.spaces import get_space


@pytest.fixture
def shelf(book, second_space):
    """Memories about bees with tags, some about trains, and a new one about bees without."""
    for text in ("The bees swarmed in May", "Honey from our bees is dark", "The beehive needs a new queen bee"):
        book.write(text, tags=("Bees", "garden"))
    book.write("The bees died in the frost", tags=("bees",))
    for text in ("The train to Porto leaves at nine", "The railway to Faro is closed"):
        book.write(text, tags=("travel",))
    return book


def proposed(book, memory_id, space="default"):
    embed_all(book)
    with book.session() as session:
        space_id = get_space(session, book.user_id, space).id
        return propose_tags(session, book.user_id, space_id, [memory_id]).get(memory_id, ())


def test_tags_that_most_neighbours_carry_are_proposed(shelf):
    new = shelf.write("Our bees make honey in the garden").id
    assert {"bees"} <= {tag.tag for tag in proposed(shelf, new)} <= {"bees", "garden"}


def test_the_confidence_is_the_likeness_of_those_that_carry_it(shelf):
    new = shelf.write("Our bees make honey in the garden").id
    assert {0.5 <= tag.confidence <= 1 for tag in proposed(shelf, new)} == {True}


def test_neighbours_that_are_not_near_propose_nothing(shelf):
    new = shelf.write("Invoice 4711 was paid by bank transfer").id
    assert proposed(shelf, new) == ()


def test_one_neighbour_is_no_majority(book):
    book.write("The bees swarmed in May", tags=("bees",))
    assert proposed(book, book.write("The bees swarmed early in May this year").id) == ()


def test_another_space_proposes_nothing(shelf):
    new = shelf.write("Our bees make honey in the garden", space="second").id
    assert proposed(shelf, new, "second") == ()


def test_without_vectors_nothing_is_proposed(shelf):
    new = shelf.write("Our bees make honey in the garden").id
    with shelf.session() as session:
        space_id = get_space(session, shelf.user_id, "default").id
        assert propose_tags(session, shelf.user_id, space_id, [new]) == {}
