"""Who and what is named: the list, an entity's own page, moving and deleting."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from api_agent import NOBODYS_ID, Agent, add_space
from api_talk import Talk
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, flashes
from pages_markup import words_of
from sqlalchemy import select
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.enrichment.findings import Name
from memory.enrichment.mentions import Origin, mention
from memory.models import Entity, Episode, Space
from memory.spaces.spaces import update_space
from webapp.pages.entities import PAGE

SENTENCE = "Anna Bergström wants the north room."


@pytest.fixture
def reader(app: Flask, ada) -> FlaskClient:
    add_space(ada, "work")
    add_space(ada, "home")
    return at_browser(app, ada)


def named(person: Any, space: str, origin: Origin, sentence: str, *names: str) -> dict[str, UUID]:
    """Let a text name somebody, as enrichment would find it; return the space's entities by name."""
    with person.session() as session:
        mine = (Space.user_id == person.id, Space.slug == space)
        space_id = session.scalars(select(Space.id).where(*mine)).one()
        found = [Name(name, "person", sentence, 0.9) for name in names]
        mention(session, person.id, space_id, [(origin, found)], now=utc_now())
        session.flush()
        rows = session.execute(select(Entity.name, Entity.id).where(Entity.space_id == space_id))
        return {row.name: row.id for row in rows}


def in_memory(person: Any, agent: Agent, space: str, sentence: str, *names: str) -> dict[str, UUID]:
    memory = agent.store(sentence, space=space)
    return named(person, space, Origin(memory_id=UUID(memory)), sentence, *names)


@pytest.fixture
def anna(reader: FlaskClient, agent: Agent, ada) -> str:
    """Where the page of an entity is."""
    return f"/entities/{in_memory(ada, agent, 'work', SENTENCE, 'Anna Bergström')['Anna Bergström']}"


@pytest.mark.parametrize(
    ("path", "said", "step"),
    [("/entities", "No entities yet", "Make a space"), ("/entities?space=default", "has no entities", "make one")],
)
def test_an_empty_list_says_where_entities_come_from(reader: FlaskClient, path: str, said: str, step: str) -> None:
    text = reader.get(path).text
    assert said in text
    assert f'<a href="/spaces">{step}</a>' in text


def test_the_list_shows_name_type_space_mentions_and_the_newest_note(reader: FlaskClient, anna: str) -> None:
    text = words_of(reader.get("/entities").text)
    assert "1 entity, the most mentioned first" in text
    assert "Anna Bergström Anna Bergström wants the north room." in text
    assert "person in work" in text
    assert "1 mention, the last noticed just now" in text


def test_a_mention_is_as_old_as_what_was_said(reader: FlaskClient, agent: Agent, ada) -> None:
    then = (utc_now() - timedelta(days=21)).isoformat()
    memory = agent.store(SENTENCE, space="work", created_at=then)
    found = named(ada, "work", Origin(memory_id=UUID(memory)), SENTENCE, "Anna Bergström")
    assert "in a memory 3 weeks ago" in words_of(reader.get(f"/entities/{found['Anna Bergström']}").text)


def test_the_pool_says_that_it_has_none(reader: FlaskClient, anna: str) -> None:
    text = reader.get("/entities?space=default").text
    assert "The shared pool has no entities" in text
    assert "north room" not in text


@pytest.mark.parametrize("query", ["space=work", "type=person", "q=bergstr", "q=ANNA", "space=work&type=person&q=anna"])
def test_a_filter_keeps_what_fits(reader: FlaskClient, anna: str, query: str) -> None:
    assert anna in reader.get(f"/entities?{query}").text


@pytest.mark.parametrize("query", ["space=home", "type=place", "q=bert", "q=%25"])
def test_a_filter_takes_out_what_does_not_fit(reader: FlaskClient, anna: str, query: str) -> None:
    text = reader.get(f"/entities?{query}").text
    assert anna not in text
    assert "No entity fits these filters" in text


@pytest.mark.parametrize("query", ["space=nowhere", "cursor=nonsense", "q=%00", f"q={'a' * 201}"])
def test_a_filter_that_does_not_exist_is_refused(reader: FlaskClient, query: str) -> None:
    assert reader.get(f"/entities?{query}").status_code == 422


def test_loading_more_meets_every_entity_once(reader: FlaskClient, agent: Agent, ada) -> None:
    names = [f"Person {number}" for number in range(25)]
    in_memory(ada, agent, "work", "They all came.", *names)
    text = reader.get("/entities?space=work").text
    further = re.search(r'hx-get="([^"]*cursor=[^"]*)"', text)
    assert further is not None
    rest = reader.get(further.group(1).replace("&amp;", "&"), headers=HTMX).text
    seen = re.findall(r'id="entities-row-([^"]*)"', text + rest)
    assert (len(seen), len(set(seen))) == (25, 25)
    assert "<html" not in rest
    assert "Load more" not in rest


def test_without_scripts_the_further_page_is_whole(reader: FlaskClient, agent: Agent, ada) -> None:
    in_memory(ada, agent, "work", "They all came.", *[f"Person {number}" for number in range(25)])
    further = re.search(r'href="([^"]*cursor=[^"]*)"', reader.get("/entities").text)
    assert further is not None
    page = reader.get(further.group(1).replace("&amp;", "&")).text
    assert page.startswith("<!DOCTYPE html>")
    assert len(re.findall(r'id="entities-row-', page)) == 5
    assert "back to the first" in page


@pytest.mark.parametrize("path", ["/entities", "/entities?space=work", "{anna}"])
def test_the_fragment_is_the_part_of_the_page(reader: FlaskClient, anna: str, path: str) -> None:
    path = path.format(anna=anna)
    fragment = reader.get(path, headers=HTMX).text
    assert "<html" not in fragment
    assert fragment in reader.get(path).text


def test_a_note_from_a_memory_leads_to_the_memory(reader: FlaskClient, agent: Agent, ada) -> None:
    memory = agent.store(SENTENCE, space="work")
    entities = named(ada, "work", Origin(memory_id=UUID(memory)), SENTENCE, "Anna")
    text = reader.get(f"/entities/{entities['Anna']}").text
    assert f'href="/memories/{memory}"' in text
    assert "<mark>Anna</mark> Bergström wants" in text


def test_a_note_from_a_conversation_leads_to_the_message(reader: FlaskClient, agent: Agent, ada) -> None:
    talk = Talk(agent, space="work", title="The exhibition")
    talk.turn("Which room?", "The north room.")
    talk.turn(SENTENCE, "Noted.")
    with ada.session() as session:
        episode_id = session.scalars(select(Episode.id).order_by(Episode.id.desc())).first()
    entities = named(ada, "work", Origin(episode_id=episode_id), SENTENCE, "Anna")
    page = reader.get(f"/entities/{entities['Anna']}").text
    assert f'href="/conversations/{talk.id}?at=3#m-3"' in page
    assert "The exhibition, message 3" in page
    assert SENTENCE in reader.get(f"/conversations/{talk.id}?at=3").text


def test_markup_in_names_and_notes_stays_text(reader: FlaskClient, agent: Agent, ada) -> None:
    entities = in_memory(ada, agent, "work", "See <script>evil()</script> there.", "<b>Evil</b>")
    for path in ("/entities", f"/entities/{entities['<b>Evil</b>']}"):
        text = reader.get(path).text
        assert "<script>evil" not in text
        assert "<b>Evil" not in text


def test_more_mentions_are_loaded_in_their_order(reader: FlaskClient, agent: Agent, ada) -> None:
    for number in range(25):
        entities = in_memory(ada, agent, "work", f"Anna has key {number * 37} of the house.", "Anna")
    path = f"/entities/{entities['Anna']}"
    text = reader.get(path).text
    further = re.search(r'hx-get="([^"]*cursor=[^"]*)"', text)
    assert further is not None
    rest = reader.get(further.group(1).replace("&amp;", "&"), headers=HTMX).text
    keys = [int(key) for key in re.findall(r"has key (\d+)", text + rest)]
    assert keys == [number * 37 for number in reversed(range(25))]


def test_moving_is_explicit_and_says_where_it_went(reader: FlaskClient, anna: str) -> None:
    page = reader.post(f"{anna}/space", data={"space": "home"}, follow_redirects=True)
    assert "Anna Bergström belongs to home now" in flashes(page)
    assert anna in reader.get("/entities?space=home").text
    assert anna not in reader.get("/entities?space=work").text


def test_moving_to_where_one_of_the_name_is_merges_the_two(reader: FlaskClient, agent: Agent, ada, anna: str) -> None:
    twin = in_memory(ada, agent, "home", "Anna Bergström came for tea.", "Anna Bergström")["Anna Bergström"]
    response = reader.post(f"{anna}/space", data={"space": "home"})
    assert response.location == f"/entities/{twin}"
    text = words_of(reader.get(response.location).text)
    assert "the two are one now" in text
    assert "2 mentions, newest first" in text
    assert reader.get(anna).status_code == 404


@pytest.mark.parametrize("space", ["default", "nowhere", "", "\x00"])
def test_an_entity_cannot_be_moved_where_there_are_none(reader: FlaskClient, anna: str, space: str) -> None:
    assert reader.post(f"{anna}/space", data={"space": space}).status_code == 422
    assert anna in reader.get("/entities?space=work").text


def test_the_page_offers_every_other_space_but_the_pool(reader: FlaskClient, anna: str) -> None:
    assert re.findall(r'<option value="([^"]*)"', reader.get(anna).text) == ["home"]


def test_deleting_leaves_the_text(reader: FlaskClient, agent: Agent, anna: str) -> None:
    page = reader.post(f"{anna}/delete", follow_redirects=True)
    assert "Anna Bergström is deleted" in flashes(page)
    assert reader.get(anna).status_code == 404
    assert agent.texts(space="work") == [SENTENCE]


@pytest.mark.parametrize(("method", "write"), [("GET", ""), ("POST", "/space"), ("POST", "/delete")])
def test_another_users_entity_is_as_one_that_is_not_there(app: Flask, anna: str, bob, method: str, write: str) -> None:
    add_space(bob, "home")
    stranger = at_browser(app, bob)
    answers = [
        stranger.open(f"{path}{write}", method=method, data={"space": "home"})
        for path in (anna, f"/entities/{uuid4()}")
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert len({words_of(answer.text).partition("request")[0] for answer in answers}) == 1
    assert "Anna" not in stranger.get("/entities").text


def test_another_user_loses_nothing(app: Flask, reader: FlaskClient, anna: str, bob) -> None:
    at_browser(app, bob).post(f"{anna}/delete")
    assert reader.get(anna).status_code == 200


@pytest.mark.parametrize("path", ["/entities", f"/entities/{NOBODYS_ID}"])
def test_a_stranger_is_sent_to_the_login(client: FlaskClient, path: str) -> None:
    assert client.get(path).location.startswith("/login")


@pytest.mark.parametrize("write", ["space", "delete"])
def test_another_site_cannot_write(reader: FlaskClient, anna: str, write: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert reader.post(f"{anna}/{write}", headers=headers).status_code == 403


def test_entities_are_closed_while_incognito(reader: FlaskClient, anna: str) -> None:
    reader.post("/incognito/start")
    for path in ("/entities", anna):
        text = reader.get(path).text
        assert "Anna" not in text
        assert "Closed while incognito" in text
    assert reader.post(f"{anna}/space", data={"space": "home"}).status_code == 409


def test_a_space_that_is_incognito_by_default_is_left_out(reader: FlaskClient, ada, anna: str) -> None:
    with ada.session() as session:
        update_space(session, ada.id, "work", {"incognito_default": True}, now=utc_now(), actor="test")
    text = reader.get("/entities").text
    assert anna not in text
    assert "Left out, because they are incognito by default: work." in text
    assert "Closed while incognito" in reader.get(anna).text


def test_a_space_that_is_left_out_leaves_the_page_to_the_others(
    reader: FlaskClient, agent: Agent, ada, anna: str
) -> None:
    in_memory(ada, agent, "home", "The guests of the summer.", *(f"Guest {number}" for number in range(PAGE + 1)))
    with ada.session() as session:
        update_space(session, ada.id, "home", {"incognito_default": True}, now=utc_now(), actor="test")
    text = reader.get("/entities").text
    assert anna in text
    assert "Load more" not in text


def test_a_mention_tells_questions_from_replies_and_leads_to_each(reader: FlaskClient, agent: Agent, ada) -> None:
    talk = Talk(agent, space="work", title="Rooms")
    talk.turn(SENTENCE, "I asked Anna Bergström to wait.")
    with ada.session() as session:
        origin = Origin(episode_id=session.scalars(select(Episode.id).where(Episode.user_id == ada.id)).one())
        space_id = session.scalars(select(Space.id).where(Space.user_id == ada.id, Space.slug == "work")).one()
        both = [Name("Anna Bergström", "person", each, 0.9) for each in (SENTENCE, "I asked Anna Bergström to wait.")]
        mention(session, ada.id, space_id, [(origin, both)], now=utc_now())
        entity_id = session.scalars(select(Entity.id).where(Entity.user_id == ada.id)).one()
    text = words_of(reader.get(f"/entities/{entity_id}").text)
    assert "to wait. replied in Rooms, message 2" in text
    assert "north room. said in Rooms, message 1" in text


def test_an_expired_memory_is_on_no_page_of_an_entity(reader: FlaskClient, agent: Agent, ada, anna: str) -> None:
    in_memory(ada, agent, "work", "Anna Bergström came for tea.", "Anna Bergström")
    with ada.session() as session:
        expired = "UPDATE memories SET expires_at = now() - interval '1 s' WHERE text LIKE '%north room%'"
        session.execute(sql(expired))
    for path in (anna, "/entities", "/entities?q=Anna"):
        text = words_of(reader.get(path).text)
        assert "for tea" in text
        assert "north room" not in text
