"""Themes in the browser: listed, added, described."""

from __future__ import annotations

import re
from html import unescape

import pytest
from api_agent import Agent, add_space, rows
from flask.testing import FlaskClient
from pages_browser import flashes, plain
from pages_markup import problems_of

from webapp.pages import themes


def _known(agent: Agent) -> list[dict[str, object]]:
    found: list[dict[str, object]] = agent.get("/v1/memory/themes").json["themes"]
    return found


def _done(ada) -> list[object]:
    return [row[0] for row in rows(ada, "SELECT action FROM audit_events WHERE action LIKE 'theme%' ORDER BY id")]


def test_the_fullest_theme_comes_first_with_a_way_to_its_memories(reader: FlaskClient, agent: Agent) -> None:
    agent.store("The ferry leaves at nine", theme="trips")
    agent.store("The tiles are sage green", theme="house")
    agent.store("The boiler is in the attic", theme="house")
    page = reader.get("/themes")
    assert re.findall(r"<h2>\s*<a href=\"([^\"]+)\">([^<]+)", page.text) == [
        ("/memories?theme=house", "House"),
        ("/memories?theme=trips", "Trips"),
    ]
    assert "house Change 2 active memories" in plain(page)
    assert problems_of(page.text) == []
    assert "/themes" in reader.get("/memories").text


def test_without_any_the_page_says_where_themes_come_from(reader: FlaskClient) -> None:
    assert "There is none yet." in plain(reader.get("/themes"))


def test_a_theme_is_added_under_the_name_it_is_given(reader: FlaskClient, agent: Agent, ada) -> None:
    data = {"display_name": "The Garden, 2026", "description": "Beds & trees", "slug": ""}
    page = reader.post("/themes", data=data, follow_redirects=True)
    assert "The theme The Garden, 2026 is there. Nothing is in it yet." in flashes(page)
    wanted = {"slug": "the-garden-2026", "display_name": "The Garden, 2026", "description": "Beds & trees"}
    assert _known(agent) == [{**wanted, "memories": 0}]
    assert _done(ada) == ["theme.created"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"display_name": "House", "slug": "No!"}, "The name for agents: must be 1 to 64 lower-case letters"),
        ({"display_name": "Known"}, "The name for agents: there is a theme 'known' already"),
        ({"display_name": "!!!"}, "The name for agents: cannot be made from this name"),
        ({"display_name": "x" * 201}, "The name: must be at most 200 characters"),
        ({"display_name": "House", "description": "x" * 2001}, "The description: must be at most 2,000 characters"),
        ({"display_name": "nul\x00"}, "The name: must not contain NUL bytes"),
        ({}, "The name: must not be empty"),
    ],
)
def test_a_theme_that_cannot_be_comes_back_with_its_reason(
    reader: FlaskClient, agent: Agent, data: dict[str, str], said: str
) -> None:
    agent.post("/v1/memory/themes", {"slug": "known"})
    response = reader.post("/themes", data=data)
    assert response.status_code == 422
    assert said in plain(response)
    assert problems_of(response.text) == []
    assert len(_known(agent)) == 1


def test_a_theme_is_described_anew(reader: FlaskClient, agent: Agent, ada) -> None:
    agent.post("/v1/memory/themes", {"slug": "house", "description": "Rooms"})
    page = reader.get("/themes?change=house").text
    assert re.search(r'id="display_name"[^>]*value="House"', page)
    assert re.search(r'id="description"[^>]*value="Rooms"', page)
    assert problems_of(page) == []
    reader.post("/themes/house", data={"display_name": "Home", "description": ""})
    assert _known(agent) == [{"slug": "house", "display_name": "Home", "description": "", "memories": 0}]
    assert "Themes in memory" not in agent.get("/v1/memory/prompt").json["prompt"]
    reader.post("/themes/house", data={"display_name": "Home", "description": ""})
    assert _done(ada) == ["theme.created", "theme.changed"]


def test_an_older_tab_says_of_a_theme_what_was_changed_in_it_alone(reader: FlaskClient, agent: Agent) -> None:
    agent.store("The tiles are sage green", theme="house")
    shown = re.search(r'name="shown"\s+value="([^"]+)"', reader.get("/themes?change=house").text)
    older = {"display_name": "House", "shown": unescape(shown.group(1)) if shown else "{}"}
    reader.post("/themes/house", data={"display_name": "Home", "description": "Tiles and taps"})
    refused = reader.post("/themes/house", data={**older, "description": "x" * 2001})
    assert older["shown"] in unescape(refused.text)
    reader.post("/themes/house", data=older)
    reader.post("/themes/house", data={**older, "description": "Walls"})
    assert [(each["display_name"], each["description"]) for each in _known(agent)] == [("Home", "Walls")]


def test_a_description_in_lines_stays_so_where_the_name_alone_is_changed(reader: FlaskClient, agent: Agent) -> None:
    agent.post("/v1/memory/themes", {"slug": "house", "description": "Rooms\nand tiles "})
    shown = re.search(r'name="shown"\s+value="([^"]+)"', reader.get("/themes?change=house").text)
    form = {"shown": unescape(shown.group(1)) if shown else "{}", "description": "Roomsand tiles "}
    reader.post("/themes/house", data={**form, "display_name": "Home"})
    assert [(each["display_name"], each["description"]) for each in _known(agent)] == [("Home", "Rooms\nand tiles ")]


def test_a_description_that_cannot_be_comes_back_with_its_reason(reader: FlaskClient, agent: Agent) -> None:
    agent.post("/v1/memory/themes", {"slug": "house"})
    response = reader.post("/themes/house", data={"display_name": "Home", "description": "x" * 2001})
    assert (response.status_code, problems_of(response.text)) == (422, [])
    assert "The description: must be at most 2,000 characters" in plain(response)
    assert _known(agent)[0]["display_name"] == "House"


def test_a_theme_is_deleted_and_its_memories_stay(reader: FlaskClient, agent: Agent, ada) -> None:
    kept = agent.store("The tiles are sage green", theme="house")
    agent.store("The ferry leaves at nine", theme="trips")
    action = re.findall(r'action="(/themes/house/delete)"', reader.get("/themes?change=house").text)[0]
    page = reader.post(action, follow_redirects=True)
    assert "The theme is gone. 1 memory stayed without it." in flashes(page)
    assert ([theme["slug"] for theme in _known(agent)], _done(ada)) == (["trips"], ["theme.deleted"])
    assert agent.get(f"/v1/memory/entries/{kept}").json["theme"] is None
    assert reader.post(action).status_code == 404


def test_a_theme_of_what_was_forgotten_is_deleted_by_the_interface(agent: Agent, client: FlaskClient, ada) -> None:
    agent.delete(f"/v1/memory/entries/{agent.store('We are getting a divorce', theme='divorce')}", undo="false")
    add_space(ada, "work")
    for headers in (ada.new_token("read", "write"), ada.new_token("read", "forget", space="work")):
        assert Agent(client, headers).delete("/v1/memory/themes/divorce").status_code == 403
    answer = agent.delete("/v1/memory/themes/divorce")
    assert (answer.status_code, answer.json) == (200, {"slug": "divorce", "deleted": True, "memories": 0})
    assert (_known(agent), rows(ada, "SELECT 1 FROM themes")) == ([], [])
    # Nor do the events, which stay.
    assert rows(ada, "SELECT 1 FROM audit_events WHERE details::text LIKE '%divorce%'") == []
    assert agent.delete("/v1/memory/themes/divorce").status_code == 404


def test_a_memory_comes_back_without_its_theme_where_that_was_deleted(agent: Agent) -> None:
    memory_id = agent.store("The tiles are sage green", theme="house")
    agent.delete(f"/v1/memory/entries/{memory_id}", undo="true")
    agent.delete("/v1/memory/themes/house")
    answer = agent.post(f"/v1/memory/entries/{memory_id}/restore")
    assert (answer.status_code, answer.json["theme"]) == (200, None)


def test_a_theme_of_somebody_else_is_not_there(reader: FlaskClient, client: FlaskClient, bob) -> None:
    Agent(client, bob.headers).post("/v1/memory/themes", {"slug": "secret"})
    assert "secret" not in reader.get("/themes").text
    assert reader.get("/themes?change=secret").status_code == 404
    assert reader.post("/themes/secret", data={"display_name": "Mine"}).status_code == 404
    assert reader.post("/themes/secret/delete").status_code == 404
    assert [theme["slug"] for theme in _known(Agent(client, bob.headers))] == ["secret"]


def test_of_many_the_fullest_are_shown_and_the_others_found(
    reader: FlaskClient, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(themes, "MOST", 2)
    for slug in ("aa", "bb", "cc_1", "ccx1"):
        agent.post("/v1/memory/themes", {"slug": slug})
    page = plain(reader.get("/themes"))
    assert ("bb Change" in page, "cc_1 Change" in page, "The 2 fullest." in page) == (True, False, True)
    page = plain(reader.get("/themes?q=C_1"))
    assert ("cc_1 Change" in page, "ccx1 Change" in page) == (True, False)
    assert "No theme is called so." in plain(reader.get("/themes?q=zz\x00"))


def test_incognito_reads_and_stores_no_theme(reader: FlaskClient, agent: Agent) -> None:
    agent.post("/v1/memory/themes", {"slug": "house"})
    reader.post("/incognito/start")
    for page in ("/themes", "/memories", "/search", "/remember"):
        assert "house" not in reader.get(page).text
    for address in ("/themes", "/themes/house"):
        page = reader.post(address, data={"display_name": "Secret", "description": "Long thought about"})
        assert (page.status_code, "House" in page.text, f'action="{address}"' in page.text) == (409, False, True)
        # What was written is there to be sent again.
        assert all(f'value="{each}"' in page.text for each in ("Secret", "Long thought about"))
        assert "The name: cannot be kept while this session is incognito." in plain(page)
    agent.post("/v1/memory/incognito/start", {})
    assert agent.ask("POST", "/v1/memory/themes", json={"slug": "secret"}).status_code == 409
    assert agent.delete("/v1/memory/themes/house").status_code == 409
    agent.post("/v1/memory/incognito/end", {})
    assert [theme["display_name"] for theme in _known(agent)] == ["House"]


def test_a_theme_of_a_space_that_is_incognito_by_default_is_not_there(reader: FlaskClient, agent: Agent, ada) -> None:
    add_space(ada, "diary")
    agent.store("The ring is in the drawer", theme="wedding", space="diary")
    agent.post("/v1/memory/settings", {"space": "diary", "incognito_default": True})
    for page in ("/themes", "/themes?q=edd", "/memories", "/search"):
        answer = reader.get(page)
        assert (answer.status_code, "Wedding" in answer.text) == (200, False)
    assert [reader.get(f"/memories?theme={theme}").status_code for theme in ("wedding", "unheard")] == [422, 422]
    assert reader.get("/themes?change=wedding").status_code == 404
    assert reader.post("/themes/wedding", data={"display_name": "Mine"}).status_code == 404
    reader.post("/incognito/end")
    assert "Wedding" in reader.get("/themes").text


def test_a_theme_may_be_called_what_no_space_may(agent: Agent) -> None:
    assert agent.store("Insurance papers are in the blue folder", theme="policies")
    assert [theme["slug"] for theme in _known(agent)] == ["policies"]


def test_what_was_emptied_stays_so_where_another_field_is_refused(reader: FlaskClient) -> None:
    reader.post("/themes", data={"display_name": "Garden", "description": "Beds & trees"})
    page = reader.post("/themes/garden", data={"display_name": "x" * 201, "description": ""})
    assert page.status_code == 422
    assert "Beds" not in page.text
    assert "Beds" in unescape(reader.get("/themes?change=garden").text)


def test_every_page_calls_a_theme_by_its_name(reader: FlaskClient, agent: Agent) -> None:
    agent.post("/v1/memory/themes", {"slug": "heron", "display_name": "HERON-42"})
    memory_id = agent.store("The beta goes to the wardens", theme="heron")
    agent.patch(f"/v1/memory/entries/{memory_id}", {"text": "The beta goes to the keepers"})
    own, link = f"/memories/{memory_id}", '<a href="/memories?theme=heron">HERON-42</a>'
    assert all(link in reader.get(path).text for path in ("/memories", own, "/search?q=keepers"))
    # What corrects it takes a slug, and offers each by its name.
    assert '<option value="heron" >HERON-42</option>' in reader.get(f"{own}/edit").text
    agent.patch(f"/v1/memory/entries/{memory_id}", {"theme": None})
    assert "HERON-42" in plain(reader.get(own))
    assert "<span>HERON-42</span>" in reader.get(f"{own}/revisions/1").text
