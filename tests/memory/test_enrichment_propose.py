"""What the nearest neighbours propose: tags that they carry, and what a memory may be news of."""

from __future__ import annotations

from datetime import timedelta

import pytest
from enrichment_desk import Desk, embed_all

from memory.clock import utc_now
from memory.enrichment.propose import propose_tags
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.restore import restore
from memory.spaces.spaces import get_space
from memory.writing.settle import settle_update


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


OLD, NEWS = "The dentist is Dr. Silva on Avenida Central", "New dentist: Dr. Costa, two streets further"


@pytest.fixture
def read(book):
    """Store texts a day after one another, and let the worker read them; return their ids."""
    now = utc_now()

    def _read(*texts, space="default", **fields):
        days = range(len(texts), 0, -1)
        ids = [
            book.write(text, space=space, created_at=now - timedelta(days=day), **fields).id
            for text, day in zip(texts, days, strict=True)
        ]
        embed_all(book)
        Desk(book).read()
        return ids

    return _read


def linked(book):
    rows = book.all("SELECT memory_id || ' ' || older_id || ' ' || differs_in FROM possible_updates ORDER BY 1")
    return [tuple(row.split()) for row in rows]


def test_what_says_a_change_may_be_news_of_the_nearest_before_it(book, read):
    _, old, _, news = read("Training is on Tuesdays", OLD, "The dentist wants to see me in spring", NEWS)
    assert linked(book) == [(str(news), str(old), "change")]


def test_a_summary_and_what_says_no_change_are_no_news(book, read):
    read(OLD, "The dentist is Dr. Costa, two streets further")
    read(NEWS, type="summary")
    assert linked(book) == []


def test_nothing_is_news_of_a_summary(book, read):
    read(OLD, type="summary")
    read(NEWS)
    assert linked(book) == []


def test_what_is_said_in_a_talk_is_no_news(book, read):
    read("Jon: I will not quit dancing", "Gina: That is right, never quit dancing now")
    assert linked(book) == []
    read("My dancing lesson is on Mondays", "The dancing lesson: now on Fridays")
    assert len(linked(book)) == 1


def test_nothing_is_news_of_what_is_of_a_later_day(book, read):
    read(NEWS, OLD)
    assert linked(book) == []


def test_nothing_is_news_of_something_else(book, read):
    read("The bakery on Mill Lane closes on Mondays", NEWS)
    assert linked(book) == []


@pytest.mark.parametrize("why", ["archived", "expired", "elsewhere"])
def test_nothing_is_news_of_what_is_out_of_sight(book, read, change, second_space, why):
    [old] = read(OLD, space=second_space if why == "elsewhere" else "default")
    if why == "archived":
        change(old, status="archived")
    if why == "expired":
        book.all("UPDATE memories SET expires_at = now() - interval '1 hour' WHERE id = :id RETURNING id", id=old)
    read(NEWS)
    assert linked(book) == []


def test_what_replaces_something_already_is_asked_about_no_more(book, read, change):
    first, _ = read("The dentist is Dr. Reis in Rua Augusta", OLD)
    news = book.write(NEWS).id
    change(news, supersedes=first)
    read()
    assert linked(book) == []


def test_a_text_that_says_a_change_later_is_looked_at_then(book, read, change):
    old, later = read(OLD, "Dr. Costa is two streets further than the dentist")
    assert linked(book) == []
    change(later, text=NEWS)
    read()
    assert linked(book) == [(str(later), str(old), "change")]


def test_two_are_asked_about_once(book, read, change):
    old, news = read(OLD, NEWS)
    book.do(settle_update, news, old, "both")
    change(news, text=f"{NEWS}, by the river")
    book.do(forget, old, undo=UNDO_WINDOW)
    book.do(restore, old)
    read()
    assert linked(book) == []
    assert book.one("SELECT count(*) FROM memories WHERE enriched_version = version") == 2


def test_what_comes_back_or_moves_is_no_news(book, read):
    [news] = read(NEWS)
    book.do(forget, news, undo=UNDO_WINDOW)
    book.do(restore, news)
    book.write(OLD, created_at=utc_now() - timedelta(days=9))
    read()
    assert linked(book) == []


def test_the_newer_of_the_two_can_replace_the_older(book, read):
    old, news = read(OLD, NEWS)
    book.do(settle_update, news, old, "this")
    assert (book.load(old).status, book.load(news).supersedes) == ("superseded", old)


def test_two_that_differ_in_a_mark_are_asked_about_for_that(book, read, caplog):
    old, news = read("The rent is now 850 a month", "The rent is now 910 a month")
    assert linked(book) == [(str(news), str(old), "number")]
    assert caplog.messages == []


def test_by_a_model_whose_likenesses_nobody_knows_nothing_is_news(book, read):
    read(OLD)
    news = book.write(NEWS).id
    embed_all(book)
    told = "UPDATE embedding_models SET {} WHERE user_id = :user_id RETURNING id"
    book.all(told.format("provider_type = 'http', model = 'other'"), user_id=book.user_id)
    assert Desk(book).read() == 1
    assert linked(book) == []
    assert book.load(news).enriched_version == 1
