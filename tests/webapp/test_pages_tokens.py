"""The page of tokens: made with what they may do, shown once, closed for good."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from api_agent import ENTRIES, Agent, add_space, rows
from pages_browser import at_browser, follow

from memory.clock import utc_now

INTEGRATIONS = Path(__file__).parents[2] / "integrations"


@pytest.fixture
def browser(app, ada):
    return at_browser(app, ada)


def made(browser, **form):
    return browser.post("/tokens", data={"name": "my loom", "scopes": ["read"], **form})


def secret_of(response):
    return re.search(r"cp_[\w-]{43}", response.text).group()


def test_a_token_that_was_made_opens_what_it_may(app, browser):
    agent = Agent(app.test_client(), {"Authorization": f"Bearer {secret_of(made(browser))}"})
    assert agent.get(ENTRIES).status_code == 200
    assert agent.post(ENTRIES, {"text": "Ada likes tea"}).status_code == 403


def test_the_secret_is_shown_once(browser):
    secret = secret_of(made(browser))
    page = browser.get("/tokens").text
    assert secret not in page
    assert secret[:11] in page


def test_a_client_of_mcp_is_set_as_the_readme_has_it(browser):
    page = made(browser)
    shown = json.loads(unescape(re.search(r'aria-label="What the client is set to">(.+?)</pre>', page.text, re.S)[1]))
    readme = re.search(r"```json\n(.*?)```", (INTEGRATIONS / "README.md").read_text(), re.S)[1]
    readme = readme.replace("cp_...", secret_of(page)).replace("http://127.0.0.1:8765", "http://localhost")
    assert shown == json.loads(readme)


def test_a_client_of_mcp_is_let_in_by_what_the_page_shows(app, browser):
    page = made(browser)
    shown = json.loads(unescape(re.search(r'aria-label="What the client is set to">(.+?)</pre>', page.text, re.S)[1]))
    server = shown["mcpServers"]["memory"]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = app.test_client().post(server["url"], json=asked, headers=server["headers"])
    assert "memory_search" in [tool["name"] for tool in answer.json["result"]["tools"]]
    command = unescape(re.search(r'aria-label="A command for Claude Code">(.+?)</pre>', page.text, re.S)[1])
    readme = re.search(r"^claude mcp add .*$", (INTEGRATIONS / "README.md").read_text(), re.M)[0]
    readme = readme.replace("cp_...", secret_of(page)).replace("http://127.0.0.1:8765", "http://localhost")
    assert command.strip() == readme


@pytest.mark.parametrize(("days", "expires"), [("30", True), ("", False)])
def test_a_token_lasts_as_long_as_was_said(browser, ada, days, expires):
    made(browser, days=days)
    [token] = rows(ada, "SELECT expires_at FROM tokens WHERE name = 'my loom'")
    assert (token.expires_at is not None) == expires
    if expires:
        assert timedelta(days=29) < token.expires_at - utc_now() <= timedelta(days=30)


def test_a_token_can_be_confined_to_a_space(app, browser, ada):
    add_space(ada, "work")
    secret = secret_of(made(browser, scopes=["read", "write"], space="work"))
    agent = Agent(app.test_client(), {"Authorization": f"Bearer {secret}"})
    agent.store("Ada has a desk by the window")
    assert rows(ada, "SELECT s.slug FROM memories m JOIN spaces s ON s.id = m.space_id")[0].slug == "work"


def test_a_revoked_token_opens_nothing(app, browser, ada):
    secret = secret_of(made(browser))
    token_id = rows(ada, "SELECT id FROM tokens WHERE name = 'my loom'")[0].id
    assert browser.post(f"/tokens/{token_id}/revoke").status_code == 303
    agent = Agent(app.test_client(), {"Authorization": f"Bearer {secret}"})
    assert agent.get(ENTRIES).status_code == 401
    assert "revoked" in browser.get("/tokens").text


def test_a_token_says_how_much_it_wrote_and_leads_there(app, browser, ada, bob):
    agent = Agent(app.test_client(), ada.headers)
    kept, archived, _ = (agent.store(f"Of the {what}") for what in ("loom", "yarn", "wool"))
    agent.patch(f"{ENTRIES}/{archived}", {"status": "archived"})
    token_id = agent.entry(kept)["token"]["id"]
    page = browser.get("/tokens").text
    listed = follow(browser, page, "3 memories")
    assert (f"/memories/{kept}" in listed, f"/memories/{archived}" in listed) == (True, True)
    agent.patch("/v1/spaces/default", {"incognito_default": True})
    assert ">3 memories<" not in browser.get("/tokens").text
    stranger = at_browser(app, bob)
    assert "memories</a>" not in stranger.get("/tokens").text
    Agent(app.test_client(), bob.headers).store("Of Bob")
    told = stranger.get("/memories", query_string={"status": "any", "token": token_id}).text
    assert "No memory fits these filters." in " ".join(told.split())
    assert ada.token[:11] not in told


def test_a_token_is_still_named_when_its_space_is_gone(app, browser, ada):
    agent, there = Agent(app.test_client(), ada.headers), {"space": add_space(ada, "work")}
    Agent(app.test_client(), ada.new_token("read", "write", **there)).store("Of the loom")
    expect = agent.get("/v1/spaces/work/contents").json["expect"]
    assert agent.delete("/v1/spaces/work", contents="move", expect=expect).status_code == 200
    assert "another</a>" in follow(browser, browser.get("/tokens").text, "1 memory")


def test_what_a_service_wrote_is_led_to_without_its_name(app, browser, ada, root):
    Agent(app.test_client(), {**root.headers, "X-Commonplace-User": str(ada.id)}).store("Of the loom")
    page = browser.get("/tokens").text
    assert "A token of another account" in page
    listed = follow(browser, page, "1 memory")
    assert "Of the loom" in listed
    assert listed.count("a token of another account") == 2
    assert root.token[:11] not in page + listed


def test_another_users_token_is_not_there(app, browser, ada, bob):
    made(browser)
    token_id = rows(ada, "SELECT id FROM tokens WHERE name = 'my loom'")[0].id
    stranger = at_browser(app, bob)
    assert stranger.post(f"/tokens/{token_id}/revoke").status_code == 404
    assert "my loom" not in stranger.get("/tokens").text


@pytest.mark.parametrize(
    "form",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"scopes": []},
        {"scopes": ["everything"]},
        {"scopes": ["admin"]},
        {"space": "nowhere"},
        {"days": "0"},
        {"days": "soon"},
        {"name": "a\x00b"},
    ],
)
def test_what_does_not_fit_is_said_and_makes_nothing(browser, ada, form):
    response = made(browser, **form)
    assert (response.status_code, 'role="alert"' in response.text) == (422, True)
    assert len(rows(ada, "SELECT FROM tokens")) == 1


def test_only_an_admin_is_offered_the_scopes_of_admins(app, browser, root):
    assert 'value="service"' not in browser.get("/tokens").text
    assert 'value="service"' in at_browser(app, root).get("/tokens").text


def test_the_last_use_is_shown(app, browser):
    agent = Agent(app.test_client(), {"Authorization": f"Bearer {secret_of(made(browser))}"})
    before = browser.get("/tokens").text.count("never")
    agent.get(ENTRIES)
    assert browser.get("/tokens").text.count("never") == before - 1
