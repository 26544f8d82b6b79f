"""The playground: each tool's schema as a form, the call as a command, the answer, and the record of it."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape

import pytest
from api_agent import Agent, memories_of, rows
from pages_browser import HTMX, at_browser, stored

from webapp.pages.playground import fields_of
from webapp.tools import TOOLS


@pytest.fixture
def browser(app, ada):
    return at_browser(app, ada)


def block(response, label):
    return unescape(re.search(rf'aria-label="{label}">(.*?)</pre>', response.text, re.S).group(1))


def answer(response):
    return json.loads(block(response, "The answer"))


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_tool_has_a_form_with_all_its_arguments(browser, name):
    page = browser.get(f"/playground/{name}").text
    for argument in TOOLS[name].arguments.model_json_schema().get("properties", {}):
        assert f'name="{argument}"' in page


def test_a_search_finds_what_an_agent_would_find(client, ada, browser):
    stored(ada, "Ada keeps bees on the roof")
    found = answer(browser.post("/playground/memory_search", data={"query": "bees", "limit": "5"}))
    told = Agent(client, ada.headers).tool("memory_search", query="bees", limit=5).json
    assert [hit["id"] for hit in found["results"]] == [hit["id"] for hit in told["results"]]


def test_a_call_is_recorded_like_an_agents(ada, browser):
    browser.post("/playground/memory_add", data={"type": "fact", "content": "Ada owns a canoe", "tags": "boat\nlake"})
    [call] = rows(ada, "SELECT tool, operation, arguments, token_id, success FROM tool_calls")
    assert (call.tool, call.operation, call.token_id, call.success) == ("memory_add", "create", None, True)
    assert call.arguments == {"type": "fact", "content": "Ada owns a canoe", "tags": ["boat", "lake"]}


def test_the_command_is_the_same_call(client, ada, browser):
    response = browser.post("/playground/memory_add", data={"type": "fact", "content": 'Ada\'s "red" canoe'})
    words = shlex.split(block(response, "The call as a command"))
    body = json.loads(words[words.index("-d") + 1])
    assert words[3].endswith("/v1/tools/memory_add")
    assert body == {"type": "fact", "content": 'Ada\'s "red" canoe'}


@pytest.mark.parametrize(
    ("tool", "form", "status"),
    [
        ("memory_search", {"query": "tea", "limit": "many"}, 422),
        ("memory_search", {"query": "tea", "policy": "{not json"}, 422),
        ("memory_search", {}, 422),
        ("memory_get", {"item_id": "018f2b6e-7d5c-7c1a-9f4e-3a1b5c7d9e0f"}, 404),
        ("memory_search", {"query": "tea", "space": "nowhere"}, 422),
    ],
)
def test_a_refusal_is_shown_as_an_agent_gets_it(browser, tool, form, status):
    response = browser.post(f"/playground/{tool}", data=form)
    assert (response.status_code, answer(response)["status"]) == (200, status)


def test_a_refused_call_is_recorded_and_changes_nothing(ada, browser):
    browser.post("/playground/memory_add", data={"type": "poem", "content": "Ada owns a canoe"})
    assert (memories_of(ada), [row.success for row in rows(ada, "SELECT success FROM tool_calls")]) == (0, [False])


def test_htmx_gets_the_tool_alone(browser):
    fragment = browser.post("/playground/memory_list_themes", headers=HTMX).text
    assert fragment.lstrip().startswith('<section id="playground-tool"')


def test_what_was_typed_stays_in_the_form(browser):
    page = browser.post("/playground/memory_search", data={"query": "rye bread", "types": ["fact", "note"]}).text
    assert 'value="rye bread"' in page
    assert page.count("checked") == 2


def test_another_users_memory_is_not_there(app, ada, bob):
    secret = stored(ada, "Ada keeps the spare key under the third stone.")
    response = at_browser(app, bob).post("/playground/memory_get", data={"item_id": str(secret)})
    assert answer(response)["status"] == 404
    assert "third stone" not in response.text


def test_incognito_calls_find_nothing(ada, browser):
    stored(ada, "Ada keeps bees on the roof")
    browser.post("/incognito/start")
    assert answer(browser.post("/playground/memory_search", data={"query": "bees"}))["results"] == []


def test_a_tool_that_is_not_there_is_a_404(browser):
    assert browser.get("/playground/memory_burn").status_code == 404


def test_a_field_knows_its_control():
    kinds = {field.name: field.kind for field in fields_of(TOOLS["memory_search"])}
    assert (kinds["query"], kinds["limit"], kinds["types"], kinds["policy"]) == ("text", "number", "ticks", "json")
    assert {field.name for field in fields_of(TOOLS["memory_add"]) if field.required} == {"type", "content"}


DEEP = ["[" * 50_000 + "]" * 50_000, '{"a": ' * 50_000 + "1" + "}" * 50_000]


@pytest.mark.parametrize("policy", ["{bad", '{"alpha": 1,}', "[1", '{"alpha": "\\ud800"}', *DEEP])
def test_what_is_no_json_is_said_of_its_field_and_not_sent(ada, browser, policy):
    response = browser.post("/playground/memory_search", data={"query": "tea", "policy": policy})
    said = answer(response)
    assert (said["status"], [each["field"] for each in said["errors"]]) == (422, ["policy"])
    assert said["errors"][0]["message"].startswith("is not valid JSON")
    assert "The same from a shell" not in response.text
    assert rows(ada, "SELECT FROM tool_calls") == []


@pytest.mark.parametrize("policy", ["specified", '{"alpha": 1}'])
def test_a_name_or_an_object_is_a_policy(browser, policy):
    assert "results" in answer(browser.post("/playground/memory_search", data={"query": "tea", "policy": policy}))
