"""Themes are renamed and described by the interface."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from api_agent import Agent, add_space, fields, rows, waited_for

from memory.clock import utc_now
from memory.spaces.themes import describe_theme
from memory.storage.database import user_session

HOUSE = "/v1/memory/themes/house"


@pytest.fixture
def house(agent: Agent) -> Agent:
    """An agent with a theme."""
    agent.post("/v1/memory/themes", {"slug": "house", "description": "Rooms"})
    return agent


def _known(agent: Agent) -> list[tuple[str, str]]:
    return [(each["display_name"], each["description"]) for each in agent.get("/v1/memory/themes").json["themes"]]


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ({"display_name": "Home"}, ("Home", "Rooms")),
        ({"description": "Tiles"}, ("House", "Tiles")),
        ({"display_name": " ", "description": ""}, ("House", "")),
    ],
)
def test_what_is_left_out_stays(house: Agent, said: dict[str, str], known: tuple[str, str]) -> None:
    answer = house.patch(HOUSE, said)
    wanted = {"slug": "house", "display_name": known[0], "description": known[1]}
    assert (answer.status_code, answer.json, _known(house)) == (200, wanted, [known])


def test_two_that_change_different_fields_at_once_both_do(house: Agent, ada: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        with user_session(ada.runtime.sessions, ada.id) as session:
            said = {"display_name": "Home", "description": "Rooms"}
            describe_theme(session, ada.id, "house", **said, now=utc_now(), actor="test")
            session.flush()
            other = pool.submit(house.patch, HOUSE, {"description": "Tiles"})
            assert waited_for(session)
        assert other.result(60).status_code == 200
    assert _known(house) == [("Home", "Tiles")]


def test_a_change_is_in_the_audit_trail(house: Agent, ada: Any) -> None:
    house.patch(HOUSE, {"display_name": "Home"})
    [details] = rows(ada, "SELECT details FROM audit_events WHERE action = 'theme.changed'")[0]
    assert details == {"slug": "house", "fields": ["display_name"]}


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({}, "body"),
        ({"display_name": None}, "display_name"),
        ({"display_name": "x" * 201}, "display_name"),
        ({"description": "nul\x00"}, "description"),
        ({"slug": "home"}, "slug"),
    ],
)
def test_what_does_not_fit_is_named(house: Agent, said: dict[str, Any], field: str) -> None:
    assert (fields(house.patch(HOUSE, said)), _known(house)) == ([field], [("House", "Rooms")])


@pytest.mark.parametrize(
    ("scopes", "space", "status"),
    [
        (("read", "write"), None, 200),
        (("read",), None, 403),
        # The answer says what belongs to the theme.
        (("write",), None, 403),
        (("read", "write"), "work", 403),
    ],
)
def test_who_may_change_a_theme(
    house: Agent, ada: Any, scopes: tuple[str, ...], space: str | None, status: int
) -> None:
    add_space(ada, "work")
    caller = Agent(house.client, ada.new_token(*scopes, space=space))
    assert caller.patch(HOUSE, {"display_name": "Home"}).status_code == status
    assert _known(house) == [("Home" if status == 200 else "House", "Rooms")]


def test_a_theme_of_somebody_else_is_not_there(house: Agent, bob: Any) -> None:
    assert Agent(house.client, bob.headers).patch(HOUSE, {"display_name": "Mine"}).status_code == 404
    assert _known(house) == [("House", "Rooms")]


def test_a_theme_of_a_space_that_is_incognito_by_default_is_not_there(house: Agent, ada: Any) -> None:
    diary = add_space(ada, "diary")
    house.store("Something of love", theme="love", space=diary)
    house.patch(f"/v1/spaces/{diary}", {"incognito_default": True})
    assert house.patch("/v1/memory/themes/love", {"display_name": "Work"}).status_code == 404


def test_incognito_changes_no_theme(house: Agent) -> None:
    house.post("/v1/memory/incognito/start", {})
    assert house.patch(HOUSE, {"display_name": "Secret"}).status_code == 409
    house.post("/v1/memory/incognito/end", {})
    assert _known(house) == [("House", "Rooms")]


@pytest.mark.parametrize("limit", [1, 2, 5, 6])
@pytest.mark.parametrize("space", [None, "default"])
def test_pages_have_each_theme_once_the_fullest_first(agent: Agent, limit: int, space: str | None) -> None:
    held = {"zoo": 2, "art": 1, "boats": 1, "a-2": 1, "garden": 3}
    for slug, number in held.items():
        for each in range(number):
            agent.store(f"Note {each} of the {slug}", theme=slug)
    listed = ["garden", "zoo", "a-2", "art", "boats"]
    where = {"space": space} if space else {}
    answer = agent.get("/v1/memory/themes", limit=limit, **where).json
    found = [each["slug"] for each in answer["themes"]]
    while answer["next_cursor"] is not None and len(found) < len(listed):
        assert len(answer["themes"]) == limit
        answer = agent.get("/v1/memory/themes", limit=limit, cursor=answer["next_cursor"], **where).json
        found += [each["slug"] for each in answer["themes"]]
    assert (found, answer["next_cursor"]) == (listed, None)


@pytest.mark.parametrize(
    ("query", "field"),
    [({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"cursor": "x"}, "cursor"), ({"cursor": "1:A b"}, "cursor")],
)
def test_what_is_no_page_of_themes_is_refused(agent: Agent, query: dict[str, Any], field: str) -> None:
    assert fields(agent.get("/v1/memory/themes", **query)) == [field]
