"""The pages of conversations, closed: to other users, to other sites, and while incognito."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from api_agent import NOBODYS_ID, Agent, add_space
from api_talk import Talk
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser
from werkzeug.test import TestResponse

SAID = "Which tiles did we choose for the wall behind the stove?"
ADDRESSES = ["", "?at=1", "/messages/1", "/delete"]
WRITES = ["", "/archive", "/unarchive", "/delete"]


@pytest.fixture
def talk(agent: Agent) -> Talk:
    opened = Talk(agent, external_id="tiles")
    opened.say(SAID)
    return opened


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_another_users_conversation_is_not_there(
    app: Flask, bob, talk: Talk, address: str, headers: dict[str, str]
) -> None:
    stranger = at_browser(app, bob)
    theirs = stranger.get(f"{talk.page}{address}", headers=headers)
    nobodys = stranger.get(f"/conversations/{uuid4()}{address}", headers=headers)
    assert (theirs.status_code, nobodys.status_code) == (404, 404)
    assert _without_request(theirs) == _without_request(nobodys)


def _without_request(response: TestResponse) -> str:
    """Return what a page says, without the names of this one request."""
    return re.sub(r"<code>.*?</code>|value=\"/conversations[^\"]*\"", "", response.text)


@pytest.mark.parametrize("write", WRITES)
def test_another_users_conversation_cannot_be_changed(app: Flask, bob, talk: Talk, write: str) -> None:
    before = talk.head()
    assert at_browser(app, bob).post(f"{talk.page}{write}", data={"title": "Mine"}).status_code == 404
    assert talk.head() == before


def test_another_users_conversations_are_not_found(app: Flask, bob, talk: Talk) -> None:
    stranger = at_browser(app, bob)
    assert SAID not in stranger.get("/conversations").text
    assert talk.page not in stranger.get("/conversations?q=tiles&archived=any").text


@pytest.mark.parametrize("address", ["/conversations", f"/conversations/{NOBODYS_ID}"])
def test_a_stranger_is_sent_to_the_login(client: FlaskClient, address: str) -> None:
    assert client.get(address).location.startswith("/login")


@pytest.mark.parametrize("write", WRITES)
def test_another_site_cannot_change_a_conversation(reader: FlaskClient, talk: Talk, write: str) -> None:
    headers = {"Origin": "https://elsewhere.example"}
    assert reader.post(f"{talk.page}{write}", data={"title": "Theirs"}, headers=headers).status_code == 403


@pytest.mark.parametrize("write", ["/archive", "/unarchive"])
def test_a_link_cannot_change_a_conversation(reader: FlaskClient, talk: Talk, write: str) -> None:
    assert reader.get(f"{talk.page}{write}").status_code == 405


@pytest.mark.parametrize("address", ["/conversations", "/conversations?q=tiles"])
def test_conversations_are_closed_while_incognito(reader: FlaskClient, talk: Talk, address: str) -> None:
    reader.post("/incognito/start")
    for path in (address, talk.page, f"{talk.page}/messages/1", f"{talk.page}/delete"):
        text = reader.get(path).text
        assert SAID not in text
        assert "Closed while incognito" in text


def test_words_are_asked_for_and_kept_in_the_address_only_while_it_is_open(reader: FlaskClient, talk: Talk) -> None:
    asked = "/conversations?q=zebra&space=&archived=false"
    assert reader.get(asked, headers=HTMX).headers["HX-Push-Url"] == "/conversations?q=zebra"
    assert 'role="search"' in reader.get("/conversations").text
    reader.post("/incognito/start")
    typed = reader.get(asked, headers=HTMX)
    assert typed.text.startswith('<section id="conversations-list"')
    assert {"HX-Push-Url", "HX-Replace-Url"}.isdisjoint(typed.headers.keys())
    assert 'role="search"' not in reader.get("/conversations").text


def test_nothing_is_changed_while_incognito(reader: FlaskClient, talk: Talk) -> None:
    reader.post("/incognito/start")
    assert reader.post(talk.page, data={"title": "Secret"}).status_code == 409
    reader.post("/incognito/end")
    assert talk.head()["title"] == SAID


def test_a_space_that_is_incognito_by_default_stays_closed(reader: FlaskClient, agent: Agent, talk: Talk, ada) -> None:
    add_space(ada, "vault")
    hidden = Talk(agent, space="vault", title="The vault's code")
    agent.patch("/v1/spaces/vault", {"incognito_default": True})
    listed = reader.get("/conversations").text
    assert "vault&#39;s code" not in listed
    assert "Left out, because they are incognito by default: vault" in listed
    assert "Closed while incognito" in reader.get(hidden.page).text
    assert SAID in listed


def test_a_memory_of_a_closed_space_is_not_shown_beside_its_message(
    reader: FlaskClient, agent: Agent, talk: Talk, ada
) -> None:
    add_space(ada, "vault")
    message = talk.messages()[0]["id"]
    agent.store("The code of the vault is 4711.", space="vault", source_message_id=message)
    assert "is 4711" in reader.get(talk.page).text
    agent.patch("/v1/spaces/vault", {"incognito_default": True})
    assert "is 4711" not in reader.get(talk.page).text
