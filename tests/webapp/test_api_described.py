"""Every operation answers in the shape that its description gives: `Agent.ask` checks each answer."""

from __future__ import annotations

import dataclasses
import re
from typing import ClassVar

import described
import pytest
from api_agent import ENTRIES, Agent, add_space, embed, rows
from api_talk import CONVERSATIONS, Talk
from embedding_endpoint import running

from memory.clock import utc_now
from memory.enrichment.enrich import Enricher
from retrieval.policy import NAMED, Policy

# One document of everything: docs and the tests of exports tell what is in it.
WITHOUT_A_SHAPE = {"GET /v1/export"}
LINES = '{"role": "user", "client_id": "s1"}\n{"delta": "Under the flowerpot."}\n{"done": true}\n'


class Walker(Agent):
    """An agent that notes which operations it was answered."""

    walked: ClassVar[set[str]] = set()

    def ask(self, method, path, **kwargs):
        response = super().ask(method, path, **kwargs)
        assert response.status_code < 300, (method, path, response.text)
        self.walked.add(f"{method} {described.template(self.client.application, method, path)}")
        return response


@pytest.fixture
def agent(client, root):
    Walker.walked.clear()
    return Walker(client, root.new_token("read", "write", "forget", "admin"))


def operations(app):
    paths = app.test_client().get("/v1/openapi.json").json["paths"]
    return {f"{method.upper()} {path}": operation for path, item in paths.items() for method, operation in item.items()}


def test_every_operation_describes_the_shape_of_its_answer(app):
    shapeless = {
        name
        for name, operation in operations(app).items()
        for status, answer in operation["responses"].items()
        if status.startswith("2") and "$ref" not in answer["content"]["application/json"]["schema"]
    }
    assert shapeless == WITHOUT_A_SHAPE


def test_a_body_that_may_be_left_out_is_described_so(app, agent):
    bodies = {name: operation.get("requestBody", {}) for name, operation in operations(app).items()}
    optional = {name for name, body in bodies.items() if body and not body["required"]}
    assert optional == {
        "POST /v1/conversations",
        "POST /v1/memory/incognito/start",
        "POST /v1/memory/incognito/end",
        "POST /v1/admin/backfill",
        "POST /v1/tools/{name}",
    }
    for path in ("/v1/conversations", "/v1/memory/incognito/start", "/v1/memory/incognito/end", "/v1/admin/backfill"):
        agent.post(path)


def part_of(app, schema, field):
    """Return how a field of a body is described, without the null that it may be."""
    part = app.test_client().get("/v1/openapi.json").json["components"]["schemas"][schema]["properties"][field]
    kinds = [kind for kind in part.get("anyOf", (part,)) if kind != {"type": "null"}]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ("EntryBody", "text"),
        ("EntryPatch", "text"),
        ("ContextBody", "query"),
        ("CommandBody", "text"),
        ("PreferencesBody", "document"),
        ("IncognitoBody", "session"),
        ("StateBody", "goal"),
        ("ConversationBody", "external_id"),
        ("SpacePatch", "name"),
    ],
)
def test_a_text_that_must_say_something_is_described_so(app, schema, field):
    part = part_of(app, schema, field)
    assert part["minLength"] == 1
    assert [re.search(part["pattern"], text) is None for text in (" \n", " x ")] == [True, False]


@pytest.mark.parametrize(
    ("schema", "field", "right", "wrong"),
    [
        ("SpaceBody", "slug", ["work", "a", "a" * 64, "a.b-c_d"], ["", "Work", "a" * 65, "-a", "a b", "a\n"]),
        ("ThemeBody", "slug", ["work"], ["", "Work"]),
        ("EntryBody", "theme", ["", "work"], ["Work", "a" * 65]),
        *(
            (body, "space", ["work"], ["", "Work"])
            for body in ("EntryBody", "FactBody", "ConversationPatch", "RetagBody")
        ),
        ("ProviderBody", "endpoint_url", ["http://x", "HTTPS://x"], ["x", "ftp://x"]),
        ("ProviderBody", "api_key", ["", "sk-1 2"], ["clé"]),
    ],
)
def test_a_name_is_described_by_what_it_may_be(app, schema, field, right, wrong):
    pattern = part_of(app, schema, field)["pattern"].replace("$", r"\Z")
    assert [name for name in (*right, *wrong) if re.search(pattern, name)] == right


@pytest.mark.parametrize("schema", ["EntryBody", "EntryPatch"])
def test_how_many_words_there_may_be_is_described(agent, app, schema):
    for field, most, longest in (("tags", 32, 64), ("source_ids", 64, 256)):
        part = part_of(app, schema, field)
        assert (part["maxItems"], part["items"]["minLength"], part["items"]["maxLength"]) == (most, 1, longest)
        words = [f"{number}-{field}".ljust(longest, "x") for number in range(most)]
        agent.post(ENTRIES, {"text": f"{schema} of {field}", field: words})


def test_a_change_of_nothing_is_described_as_none(app):
    schemas = app.test_client().get("/v1/openapi.json").json["components"]["schemas"]
    changes = ("EntryPatch", "SpacePatch", "ConversationPatch", "SettingsBody", "ThemePatch")
    assert [schemas[name]["minProperties"] for name in changes] == [1] * 5


@pytest.mark.parametrize("schema", ["ContextBody", "SpaceBody", "SpacePatch"])
def test_a_policy_is_described_as_a_name_or_its_fields(agent, app, schema):
    named, fields = part_of(app, schema, "policy")["anyOf"]
    assert (named["enum"], fields["additionalProperties"]) == (sorted(NAMED), False)
    assert fields["properties"].keys() == {field.name for field in dataclasses.fields(Policy)}
    for name in named["enum"]:
        agent.post("/v1/memory/context", {"query": "bees", "policy": name})


def test_a_field_of_a_policy_is_described_by_what_it_may_be(client, ada, app):
    agent, tried = Agent(client, ada.headers), 0
    for name, field in part_of(app, "ContextBody", "policy")["anyOf"][1]["properties"].items():
        if "minimum" in field:
            right = [field["minimum"], field["maximum"]]
            wrong = [field["maximum"] + 1, *([1.5] if field["type"] == "integer" else [])]
            for value in (*right, *wrong):
                answer = agent.post("/v1/memory/context", {"query": "bees", "policy": {"beta": 1, name: value}})
                assert (answer.status_code == 200) == (value in right), (name, value)
                tried += 1
    assert tried > 100


def test_a_model_does_not_read_all_fields_of_a_policy(agent):
    tools = {tool["name"]: tool for tool in agent.get("/v1/tools").json["tools"]}
    assert [word in str(tools["memory_search"]) for word in ("policy", "alpha")] == [True, False]


def test_a_cursor_is_described_as_a_word(app):
    queries = [part for operation in operations(app).values() for part in operation.get("parameters", ())]
    cursors = [str(part["schema"]) for part in queries if part.get("name") == "cursor"]
    words = [cursor for cursor in cursors if "integer" not in cursor]
    assert ["'minLength': 1" in word for word in words] == [True] * 13


@pytest.mark.parametrize(
    ("schema", "ways"),
    [
        ("AppendBody", [["message"], ["messages"], ["format", "history"]]),
        ("MergeBody", [["messages"], ["format", "history"]]),
    ],
)
def test_messages_are_described_as_sent_in_one_way(app, schema, ways):
    described = app.test_client().get("/v1/openapi.json").json["components"]["schemas"][schema]
    assert [way["required"] for way in described["oneOf"]] == ways
    # Null for a way that is not taken is as good as leaving it out.
    assert [way["properties"][way["required"][-1]]["type"] for way in described["oneOf"]] == [
        "object" if way == ["message"] else "array" for way in ways
    ]
    # A format and names of the elements without a history are refused.
    assert [way["properties"].get("format") for way in described["oneOf"]] == [
        None if "history" in way else {"type": "null"} for way in ways
    ]


@pytest.mark.parametrize("schema", ["AppendBody", "MergeBody"])
def test_names_of_elements_are_described(app, schema):
    part = part_of(app, schema, "client_ids")
    assert (part["maxItems"], part["items"]["anyOf"][0]["maxLength"]) == (1000, 256)


@pytest.mark.parametrize("schema", ["MessageBody", "KeptMessage"])
def test_a_message_is_described_as_saying_something(app, schema):
    described = app.test_client().get("/v1/openapi.json").json["components"]["schemas"][schema]
    assert [way["required"] for way in described["anyOf"]] == [["content"], ["payload"]]
    assert described["properties"]["content"]["maxLength"] == 1024 * 1024


def test_the_two_countings_of_a_memory_are_told_apart(agent, app):
    memory = f"{ENTRIES}/{agent.store('Ada keeps bees')}"
    changed = [agent.patch(memory, change).json["version"] for change in ({"tags": ["a"]}, {"text": "Ada keeps hens"})]
    assert (changed, agent.get(f"{memory}/revisions").json["current"]) == ([1, 2], 3)
    for schema in ("EntryAnswer", "WholeEntryAnswer", "UnreadEntryAnswer"):
        assert "revisions count every change" in part_of(app, schema, "version")["description"]


def test_headers_that_take_ids_are_described_so(app):
    headers = app.test_client().get("/v1/openapi.json").json["components"]["parameters"]
    assert {name for name, told in headers.items() if told["schema"].get("format") == "uuid"} == {
        "X-Commonplace-Conversation",
        "X-Commonplace-Message",
    }


def test_every_operation_answers_as_it_is_described(app, agent, root):
    remember(agent)
    talk_with(agent, root)
    keep_house(agent, root)
    administer(agent, root)
    agent.get("/v1/export")
    assert set(operations(app)) - agent.walked == set()


def remember(agent):
    """Do all that can be done with memories, by the interface and by the tools."""
    bees = agent.store("Ada keeps bees on the roof", type="fact", theme="hobbies", tags=["bees"])
    ticket = agent.store("The build ticket is ZX-81-QUUX")
    agent.store("The build ticket is ZX-82-QUUX")
    agent.post(ENTRIES, {"text": "The build ticket is ZX-81-QUUX"})
    (pair,) = agent.get("/v1/memory/updates").json["updates"]
    agent.post(f"/v1/memory/updates/{pair['newer']['id']}/{pair['older']['id']}", {"keep": "both"})
    agent.post(f"{ENTRIES}/batch", {"entries": [{"text": "Tea"}, {"text": "Coffee"}]})
    agent.get(ENTRIES)
    agent.patch(f"{ENTRIES}/{bees}", {"text": "Ada keeps bees in the garden"})
    agent.post(f"{ENTRIES}/{bees}/pin")
    agent.delete(f"{ENTRIES}/{bees}/pin")
    agent.post(f"{ENTRIES}/{bees}/revisions/1/restore")
    agent.get(f"{ENTRIES}/{bees}/revisions")
    agent.entry(ticket)
    for name in ("memory_search", "query_memory"):
        assert agent.tool(name, query="build ticket ZX-81-QUUX").json
    agent.post("/v1/memory/context", {"query": "build ticket ZX-81-QUUX"})
    assert agent.get(f"{ENTRIES}/{ticket}/uses").json["uses"]
    added = agent.tool("memory_add", type="note", content="The ferry leaves at seven").json["id"]
    agent.tool("memory_get", item_id=added)
    agent.tool("memory_update", item_id=added, content="The ferry leaves at eight")
    agent.tool("memory_delete", item_id=added)
    agent.tool("memory_list_themes")
    for format_ in ("plain", "openai", "anthropic", "mcp"):
        agent.get("/v1/tools", format=format_)
    agent.delete(f"{ENTRIES}/{bees}", undo="true")
    agent.post(f"{ENTRIES}/{bees}/restore")
    for said in ("what do you remember about the ticket", "forget everything about the ticket"):
        agent.post("/v1/command", {"text": said})


def talk_with(agent, person):
    """Do all that can be done with conversations, and with those whom they name."""
    add_space(person, "trip")
    add_space(person, "work")
    talk = Talk(agent, space="trip")
    Talk(agent, space="trip", external_id=talk.opened.json["external_id"])
    talk.turn("My sister Beatrice called about the ferry.", "How is she?")
    talk.say("The spare key is under the third flowerpot", client_id="m1", remember=True)
    talk.say("The spare key is under the third flowerpot", client_id="m1", remember=True)
    agent.ask("POST", f"{talk.path}/messages/stream", data=LINES)
    offered = [{"role": "user", "content": "Where is the key?"}, {"role": "user", "content": "Ah", "client_id": "m1x"}]
    agent.post(f"{talk.path}/merge", {"messages": offered})
    assert talk.history("openai")
    agent.get(f"{talk.path}/messages/{talk.messages(payload='true')[0]['id']}")
    agent.get(f"{talk.path}/episodes")
    talk.change(title="The ferry")
    talk.head()
    assert agent.get(CONVERSATIONS, q="ferry").json["conversations"][0]["match"]
    for strategy in ("truncate", "window", "summarise", "hybrid"):
        agent.get(f"{talk.path}/context", strategy=strategy, token_budget=40)
    agent.ask("PUT", f"{talk.path}/state", json={"goal": "Catch the ferry"})
    agent.get(f"{talk.path}/state")
    embed(person)
    while Enricher(person.runtime.sessions, utc_now).enrich_user(person.id):
        pass
    assert agent.tool("episode_search", query="ferry", space="trip").json["results"]
    assert agent.tool("entity_search", query="Beatrice", space="trip").json["results"]
    entity = agent.get("/v1/entities", space="trip").json["entities"][0]["id"]
    assert agent.get(f"/v1/entities/{entity}").json["mentioned_in"]
    entity = agent.post(f"/v1/entities/{entity}/space", {"space": "work"}).json["id"]
    agent.delete(f"/v1/entities/{entity}")
    assert agent.get("/v1/spaces/trip/contents").json["plans"]
    agent.delete(talk.path)


def state_facts(agent):
    """Do all that can be done with facts."""
    for place in ("Bern", "Lisbon", "Lisbon"):
        fact = agent.post("/v1/facts", {"subject": "Ada", "predicate": "lives in", "object": place}).json["id"]
    assert agent.get("/v1/facts").json["facts"]
    agent.get(f"/v1/facts/{fact}")
    agent.patch(f"/v1/facts/{fact}", {"confidence": 0.5})
    agent.tool("fact_add", subject="Ada", predicate="knows", object="Bob")
    found = agent.tool("fact_search", query="Ada").json["facts"]
    agent.tool("fact_update", fact_id=found[0]["id"], confidence=0.5)
    agent.tool("fact_delete", fact_id=found[0]["id"])
    agent.delete(f"/v1/facts/{fact}")


def keep_house(agent, person):
    """Do all that can be done with spaces, switches, preferences, providers and the record."""
    agent.post("/v1/spaces", {"slug": "attic"})
    for path in ("", "/attic", "/policies"):
        agent.get(f"/v1/spaces{path}")
    agent.patch("/v1/spaces/attic", {"name": "Attic"})
    agent.get("/v1/spaces/attic/shares")
    agent.post("/v1/spaces/attic/shares", {"tag": "tools", "found_in": "default"})
    agent.delete("/v1/spaces/attic/shares", tag="tools", found_in="default")
    expected = agent.get("/v1/spaces/attic/contents").json["expect"]
    agent.delete("/v1/spaces/attic", contents="move", expect=expected)
    for slug in ("house", "shed"):
        agent.post("/v1/memory/themes", {"slug": slug})
    agent.patch("/v1/memory/themes/shed", {"description": "Tools and pots"})
    agent.delete("/v1/memory/themes/shed")
    agent.post("/v1/memory/settings", {"incognito_default": False})
    for path in ("summary", "settings", "themes", "prompt"):
        agent.get(f"/v1/memory/{path}")
    hidden = Walker(agent.client, agent.headers, {"X-Commonplace-Session": "hidden"})
    hidden.post("/v1/memory/incognito/start")
    for path in ("/v1/memory/summary", "/v1/memory/themes", "/v1/memory/prompt", ENTRIES, CONVERSATIONS):
        assert hidden.get(path).json["skipped"] == "incognito"
    for path in ("/v1/entities", "/v1/facts", "/v1/tool-calls", "/v1/tool-calls/paths", "/v1/preferences/prompt"):
        assert hidden.get(path).json["skipped"] == "incognito"
    hidden.tool("memory_list_themes")
    hidden.post("/v1/memory/incognito/end")
    state_facts(agent)
    for document in ("---\ndate_format: DD.MM.YYYY\nmood: calm\n---\nBe brief.", "Be brief."):
        agent.ask("PUT", "/v1/preferences", json={"document": document})
    agent.post("/v1/preferences/versions/1/restore")
    for path in ("", "/versions", "/versions/1", "/prompt"):
        agent.get(f"/v1/preferences{path}")
    agent.delete("/v1/preferences/versions/1")
    agent.delete("/v1/preferences/versions")
    reported = {"tool": "notes", "affected_paths": ["a.md"], "client_id": "c1"}
    for _ in range(2):
        agent.post("/v1/tool-calls", {"calls": [reported]})
    for path in ("/v1/tool-calls", "/v1/tool-calls/paths", "/v1/audit", "/v1/audit/verify"):
        agent.get(path)
    with running() as server:
        endpoint = {"provider_type": "openai", "endpoint_url": server.url, "model": "loom-5"}
        agent.post("/v1/providers/test", endpoint)
        agent.ask("PUT", "/v1/providers", json=endpoint)
    agent.post("/v1/providers/test", endpoint)
    agent.get("/v1/providers")
    agent.delete("/v1/providers")


def administer(agent, person):
    """Do all that admins may."""
    agent.get("/v1/admin/users")
    agent.ask("PUT", f"/v1/admin/users/{person.id}/role", json={"role": "admin"})
    agent.ask("PUT", f"/v1/admin/users/{person.id}/access", json={"disabled": False})
    given_up = agent.store("A vector of this is never made")
    rows(
        person,
        "UPDATE embeddings SET state = 'error', attempts = 6 WHERE user_id = :user AND memory_id = :id RETURNING 1",
        id=given_up,
    )
    assert agent.get("/v1/admin/jobs", limit=1000).json["jobs"]
    agent.post(f"/v1/admin/jobs/memory/{person.id}/{given_up}/retry")
    agent.post("/v1/admin/backfill")
    agent.post("/v1/admin/backfill", {"retry_failed": True})
    agent.get("/v1/admin/backfill")
    agent.get("/v1/admin/telemetry")


def test_the_key_of_a_session_is_described_as_no_name(app):
    assert "no name to send" in part_of(app, "IncognitoAnswer", "session")["description"]
