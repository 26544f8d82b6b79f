"""Where the search page looks, and where else it offers to look."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import pytest
from api_agent import Agent, add_space, rows
from api_talk import Talk
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, follow, stored
from sqlalchemy import text, update

from memory.models import Memory, Space


@pytest.fixture
def reader(app: Flask, ada) -> FlaskClient:
    stored(ada, "Ada is allergic to hazelnuts.", type="fact")
    return at_browser(app, ada)


# --- one space at a time, and the others ---

RENT = "The rent of the studio is 820 euros a month."
OFFER = "Studio has words of it"


@pytest.fixture
def studio(reader: FlaskClient, ada) -> FlaskClient:
    """A browser of somebody whose answer is in another space."""
    add_space(ada, "studio", name="Studio")
    stored(ada, RENT, space="studio", type="fact")
    return reader


def asked(reader: FlaskClient, **query) -> str:
    return " ".join(reader.get("/search", query_string={"q": "how much is the rent", **query}).text.split())


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({}, "Default"),
        ({"space": "studio"}, "Studio"),
        ({"q": "hazelnuts"}, "Default"),
        ({"nearest": "true"}, "Default"),
    ],
)
def test_the_page_says_which_space_was_searched(studio: FlaskClient, query, named) -> None:
    assert f"Searched in {named}" in asked(studio, **query)


def test_who_has_all_of_it_archived_or_elsewhere_is_not_told_that_nothing_is_remembered(studio, ada) -> None:
    def told(**query) -> str:
        return " ".join(studio.get("/search", query_string=query).text.split())

    assert "now in Default." in told()
    with ada.session() as session:
        session.execute(text("UPDATE memories SET status = 'archived' WHERE type = 'fact' AND text LIKE 'Ada%'"))
    assert "1 memory in 2 spaces." in told()
    assert "now in Default, where nothing is active." in told()
    assert "now in Studio." in told(space="studio")
    with ada.session() as session:
        session.execute(text("UPDATE memories SET status = 'archived'"))
    assert ("Nothing is active." in told(), "remembered yet" in told()) == (True, False)
    assert "hazelnuts" in follow(studio, told(), "read it")
    studio.post("/incognito/start")
    assert "Nothing is active." not in told()


def test_who_has_one_space_is_told_it_too_and_chooses_none(reader: FlaskClient) -> None:
    page = asked(reader)
    assert "Searched in Default" in page
    assert 'name="space"' not in page


def test_the_space_is_chosen_beside_the_question(studio: FlaskClient) -> None:
    head, _, rest = asked(studio, space="studio").partition('class="ask-more"')
    assert '<option value="studio" selected>' in head
    assert 'name="space"' not in rest


def test_another_space_that_has_words_of_the_question_is_offered_with_the_same_search(studio: FlaskClient) -> None:
    page = asked(studio, types="fact", limit=5)
    link = re.search(rf'<a href="([^"]+)">{OFFER}</a>', page)
    assert link is not None
    assert RENT.partition(" is")[2] in studio.get(html.unescape(link[1])).text
    assert all(part in link[1] for part in ("q=how+much+is+the+rent", "space=studio", "types=fact", "limit=5"))


def test_the_default_space_is_offered_from_another(studio: FlaskClient) -> None:
    assert 'href="/search?q=hazelnuts">Default has words of it</a>' in asked(studio, q="hazelnuts", space="studio")


@pytest.mark.parametrize("query", [{"q": "zeppelins"}, {"types": "decision"}, {"space": "studio"}, {"q": "who is it"}])
def test_a_space_without_words_of_the_question_is_not_offered(studio: FlaskClient, query) -> None:
    assert "has words of it" not in asked(studio, **query)


def test_one_word_of_many_is_not_enough_to_offer_a_space(studio: FlaskClient) -> None:
    assert OFFER not in asked(studio, q="which month did Grandmother, Hugo and Lena sail around Iceland together")


def test_where_enough_was_found_no_other_space_is_offered(studio: FlaskClient, ada) -> None:
    for floor in ("first", "second", "third"):
        stored(ada, f"The rent of the {floor} floor goes to the landlady in spring.")
    assert OFFER not in asked(studio, q="rent of the floor")


@pytest.mark.parametrize("switch", [{"memory_enabled": False}, {"incognito_default": True}])
def test_a_space_that_recalls_nothing_is_not_looked_into(studio: FlaskClient, ada, switch) -> None:
    assert OFFER in asked(studio)
    with ada.session() as session:
        session.execute(update(Space).where(Space.user_id == ada.id, Space.slug == "studio").values(**switch))
    assert OFFER not in asked(studio)


def test_nothing_is_offered_while_the_space_itself_recalls_nothing(studio: FlaskClient, ada) -> None:
    with ada.session() as session:
        session.execute(update(Space).where(Space.slug == "default").values(memory_enabled=False))
    assert "has words of it" not in asked(studio)


def test_nothing_is_offered_in_incognito(studio: FlaskClient) -> None:
    studio.post("/incognito/start")
    assert "has words of it" not in asked(studio)


def test_what_is_forgotten_or_has_expired_offers_no_space(studio: FlaskClient, ada) -> None:
    with ada.session() as session:
        session.execute(update(Memory).where(Memory.text == RENT).values(expires_at=datetime(2024, 1, 1, tzinfo=UTC)))
    assert OFFER not in asked(studio)


def test_no_space_of_another_user_is_offered(app: Flask, studio: FlaskClient, bob) -> None:
    add_space(bob, "attic", name="Attic")
    assert "has words of it" not in asked(at_browser(app, bob))


def test_an_offer_recalls_and_writes_nothing(studio: FlaskClient, ada) -> None:
    assert OFFER in asked(studio)
    calls = rows(ada, "SELECT arguments, hits, affected_ids FROM tool_calls")
    assert [(call.hits, call.affected_ids) for call in calls] == [(0, [])]
    scored = "SELECT FROM last_scores s JOIN memories m ON m.id = s.memory_id WHERE m.text LIKE 'The rent%'"
    assert rows(ada, scored) == []


# --- conversations, which are not searched here ---

SAID = "Conversations in Default have words of it"


@pytest.fixture
def talker(client: FlaskClient, app: Flask, reader: FlaskClient, ada) -> FlaskClient:
    """The reader, who has talked of tiles."""
    talk = Talk(Agent(client, ada.headers))
    talk.turn("Which tiles did we choose for the wall behind the stove?", "Sage green, from the shop on Mill Lane.")
    return reader


def offered(reader: FlaskClient, question: str, **query) -> str | None:
    """Return the address of the search of conversations that the page offers."""
    page = reader.get("/search", query_string={"q": question, **query}).text
    link = re.search(rf'<a href="([^"]+)">{SAID}</a>', page)
    return html.unescape(link[1]) if link else None


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What tiles are behind the stove?", "tiles+behind+stove"),
        ("Which tile did you choose?", "tile+choose"),
        ("Who has the greenest walls?", "wall"),
        ("Were TILES bought by Benedita?", "tiles"),
    ],
)
def test_conversations_that_have_words_of_the_question_are_offered(talker, question: str, words: str) -> None:
    address = offered(talker, question)
    assert address == f"/conversations?q={words}&space=default"
    assert "/conversations/" in talker.get(address, headers=HTMX).text


@pytest.mark.parametrize(
    "question", ["zeppelins", "what was it", "which month did Grandmother, Hugo and Lena tile the bath in Iceland"]
)
def test_conversations_without_words_of_the_question_are_not_offered(talker, question: str) -> None:
    assert offered(talker, question) is None


def test_conversations_of_another_space_are_not_offered(talker, ada) -> None:
    add_space(ada, "studio")
    assert offered(talker, "tiles", space="studio") is None


def test_conversations_of_somebody_else_are_not_offered(app: Flask, talker, bob) -> None:
    assert offered(at_browser(app, bob), "tiles") is None


def test_an_archived_conversation_is_not_offered(talker, ada) -> None:
    with ada.session() as session:
        session.execute(text("UPDATE conversations SET archived_at = now()"))
    assert offered(talker, "tiles") is None


def test_where_enough_was_found_conversations_are_not_offered(talker, ada) -> None:
    for wall in ("north", "south", "east"):
        stored(ada, f"The tiles of the {wall} wall are white.")
    assert offered(talker, "tiles of the wall") is None


def test_conversations_are_not_offered_in_incognito(talker) -> None:
    talker.post("/incognito/start")
    assert offered(talker, "tiles") is None


def test_the_search_page_says_where_conversations_are_searched(reader: FlaskClient) -> None:
    page = reader.get("/search").text
    assert 'What was said in <a href="/conversations">conversations</a> is searched there.' in page


# --- what is out of search ---


@pytest.mark.parametrize(("space", "told"), [({}, False), ({"space": "studio"}, True)])
def test_where_little_is_found_archived_memories_are_told_of(studio: FlaskClient, ada, space, told) -> None:
    label = "Archived memories of Studio are not searched"
    assert label not in asked(studio, q="harbour", **space)
    with ada.session() as session:
        session.execute(update(Memory).where(Memory.text == RENT).values(status="archived"))
    page = asked(studio, q="harbour", **space)
    assert (label in page, "Archived memories of" in page) == (told, told)
    if told:
        assert RENT in follow(studio, page, label)
    studio.post("/incognito/start")
    assert "Archived memories of" not in asked(studio, q="harbour", **space)
