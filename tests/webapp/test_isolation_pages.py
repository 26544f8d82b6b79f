"""Two users side by side: every page of the app, asked for with the other user's ids."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from api_agent import Agent, add_space, rows
from pages_browser import HTMX, at_browser
from werkzeug.routing import AnyConverter, IntegerConverter, UUIDConverter

SECRET = "zephyrine"
# Asked for by name, and so said again where there is none of that name.
ROOM = "attic-room"
# Pages whose arguments name nothing that a user owns.
_OPEN = {"filename", "name", "exhibit", "kind"}


@pytest.fixture(scope="module")
def owner(new_person):
    return new_person("ada")


@pytest.fixture(scope="module")
def ids(app, owner) -> dict[str, list[str]]:
    """Everything that the owner has, each with the secret word in it, by table."""
    client = app.test_client()
    agent = Agent(client, owner.headers)
    add_space(owner, ROOM, name=SECRET)
    memory = agent.store(f"Ada hides the {SECRET} in the attic", tags=[SECRET], theme=SECRET)
    agent.patch(f"/v1/memory/entries/{memory}", {"text": f"Ada hides the {SECRET} in the cellar"})
    agent.delete(f"/v1/memory/entries/{agent.store(f'Ada sold another {SECRET}')}", undo=True)
    talk = agent.post("/v1/conversations", {"external_id": SECRET, "title": f"About the {SECRET}"}).json["id"]
    agent.post(
        f"/v1/conversations/{talk}/messages", {"messages": [{"role": "user", "content": f"Where is the {SECRET}?"}]}
    )
    agent.tool("memory_search", query=SECRET)
    agent.ask("PUT", "/v1/preferences", json={"document": f"---\nlanguage: en\n---\n{SECRET}\n"})
    browser = at_browser(app, owner)
    browser.post("/tokens", data={"name": SECRET, "scopes": ["read"]})
    browser.get("/")
    tables = rows(
        owner,
        """SELECT c.table_name FROM information_schema.columns c JOIN information_schema.columns u
           USING (table_schema, table_name)
           WHERE c.table_schema = 'public' AND c.column_name = 'id' AND u.column_name = 'user_id'""",
    )
    found = {table: [str(row[0]) for row in rows(owner, f"SELECT id FROM {table}")] for (table,) in tables}
    return {table: values[:3] for table, values in found.items() if values}


def addresses(app, ids) -> Iterator[tuple[str, str]]:
    """Yield every page that a GET reaches and that takes an argument, with each id of the owner in its place."""
    for rule in app.url_map.iter_rules():
        if "GET" not in rule.methods or rule.rule.startswith("/v1/") or rule.arguments <= _OPEN:
            continue
        names = sorted(rule.arguments)
        for values in product(*(_values(rule, name, ids) for name in names)):
            built = rule.build(dict(zip(names, values, strict=True)))
            if built is not None:
                yield rule.endpoint, built[1]


def _values(rule, name, ids) -> list[str]:
    kind = rule._converters[name]
    if isinstance(kind, AnyConverter):
        return sorted(kind.items)
    if isinstance(kind, IntegerConverter):
        return ["1"]
    if not isinstance(kind, UUIDConverter):
        return [ROOM]
    # Where a page takes several, one of each kind has to do.
    alone = sum(isinstance(each, UUIDConverter) for each in rule._converters.values()) == 1
    return [each for values in ids.values() for each in (values if alone else values[:1])]


def plain(app) -> list[str]:
    """Return every page that a GET reaches and that takes no argument."""
    skipped = {"/account/export", "/account/export/markdown", "/metrics", "/healthz", "/readyz"}
    return sorted(
        rule.rule
        for rule in app.url_map.iter_rules()
        if "GET" in rule.methods
        and not rule.arguments
        and not rule.rule.startswith("/v1/")
        and rule.rule not in skipped
    )


def test_the_owner_has_something_of_every_kind(ids):
    kinds = {"memories", "forgotten", "conversations", "messages", "tokens", "tool_calls", "audit_events", "spaces"}
    assert kinds <= set(ids)


def test_the_owner_sees_the_secret(app, owner, ids):
    browser = at_browser(app, owner)
    assert SECRET in browser.get(f"/memories/{ids['memories'][0]}").text
    assert SECRET in browser.get(f"/spaces/{ROOM}").text


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_no_page_opens_with_the_ids_of_another_user(app, ids, bob, headers):
    browser = at_browser(app, bob)
    opened, told = [], []
    visited = set()
    for endpoint, path in addresses(app, ids):
        response = browser.get(path, headers=headers)
        visited.add(endpoint)
        if response.status_code not in {302, 303, 308, 404}:
            opened.append((path, response.status_code))
        # The address itself may be said again, in the way back to it.
        if SECRET in response.text.replace(path, ""):
            told.append(path)
    assert (opened, told) == ([], [])
    assert {"memory.show", "conversations.show", "spaces.show"} <= visited


def test_no_list_of_another_user_has_the_secret(app, ids, bob):
    browser = at_browser(app, bob)
    told = [path for path in plain(app) if SECRET in browser.get(path).text]
    assert told == []


@pytest.mark.parametrize("name", ["space", "theme", "tag", "q", "conversation", "cursor", "what", "token"])
def test_no_filter_reaches_into_another_user(app, ids, bob, name):
    browser = at_browser(app, bob)
    given = [SECRET, *(values[0] for values in ids.values())]
    for path in ("/memories", "/search", "/conversations", "/entities", "/record", "/record/audit", "/remember"):
        for value in given:
            text = browser.get(path, query_string={name: value}).text
            assert f"the {SECRET}" not in text
            assert "cellar" not in text


def test_a_stranger_is_sent_to_the_login_from_every_page(app, ids):
    client = app.test_client()
    for path in [path for _, path in addresses(app, ids)]:
        response = client.get(path)
        assert response.status_code in {302, 303, 308, 404}
        assert SECRET not in response.text.replace(path, "")
