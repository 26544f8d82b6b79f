"""The seven tools, as agents see them and call them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from api_agent import Agent, add_space, fields, memories_of, rows, three_memories

from memory.clock import utc_now
from memory.embedding.providers import NO_LOCAL_MODEL
from retrieval.words.tokens import count
from webapp.tools import TOOLS

NAMES = {
    "memory_search",
    "memory_add",
    "memory_get",
    "memory_update",
    "memory_delete",
    "memory_list_themes",
    "query_memory",
}
REQUIRED = {
    "memory_search": {"query"},
    "memory_add": {"type", "content"},
    "memory_get": {"item_id"},
    "memory_update": {"item_id"},
    "memory_delete": {"item_id"},
    "memory_list_themes": set(),
    "query_memory": {"query"},
}


@pytest.fixture(scope="module")
def reader(app, new_person):
    """One agent for all the tests that store nothing."""
    return Agent(app.test_client(), new_person("reader").headers)


SET = [
    (tool, field)
    for tool in TOOLS.values()
    for field in ("limit", "token_budget")
    if field in tool.arguments.model_fields
]


@pytest.mark.parametrize(("tool", "field"), SET, ids=lambda each: getattr(each, "name", each))
def test_what_a_server_may_be_set_to_is_not_described_as_fixed(tool, field):
    assert "what the server is set to" in tool.arguments.model_fields[field].description


@pytest.fixture
def told(agent, ada):
    """Three memories with their vectors, by name."""
    return three_memories(agent, ada)


def calls(person):
    """Return the journal, the latest call first."""
    columns = "tool, arguments, result, affected_ids, hits, duration_ms, success, error, correlation_id"
    return rows(person, f"SELECT {columns} FROM tool_calls ORDER BY created_at DESC, id DESC")


# --- descriptions ---------------------------------------------------------------------------------------------------


def described(reader, format_, **query):
    """Return name, description and schema of each tool in a format."""
    answer = reader.get("/v1/tools", format=format_, **query).json
    if format_ == "openai":
        return {tool["function"]["name"]: tool["function"]["parameters"] for tool in answer}
    key = {"anthropic": "input_schema", "mcp": "inputSchema", "plain": "parameters"}[format_]
    return {tool["name"]: tool[key] for tool in (answer if format_ == "anthropic" else answer["tools"])}


FORMATS = ["plain", "openai", "anthropic", "mcp"]
JSON_TYPES = {"string", "integer", "number", "boolean", "array", "object", "null"}


def broken(schema, path="$"):
    """Yield what is no plain JSON schema: unknown types, references, arrays that do not say of what."""
    if "$ref" in schema or "$defs" in schema:
        yield f"{path} refers elsewhere"
    if "anyOf" not in schema and schema.get("type") not in JSON_TYPES:
        yield f"{path} has no type"
    if schema.get("type") == "array" and "items" not in schema:
        yield f"{path} does not say what it is a list of"
    parts = dict(schema.get("properties", {}))
    parts |= {f"anyOf{n}": option for n, option in enumerate(schema.get("anyOf", []))}
    parts |= {"items": schema["items"]} if "items" in schema else {}
    for name, part in parts.items():
        yield from broken(part, f"{path}.{name}")


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_names_the_tools_of_the_specification(reader, format_):
    assert set(described(reader, format_)) >= NAMES


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("scopes", [("read",), ("write",), ("read", "forget")], ids=" ".join)
def test_a_token_is_told_the_tools_that_it_may_call(client, ada, format_, scopes):
    agent = Agent(client, ada.new_token(*scopes))
    told = set(described(agent, format_))
    assert told == {name for name in TOOLS if agent.tool(name).status_code != 403}
    assert 0 < len(told) < len(TOOLS)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_token_is_told_all_tools_where_it_asks_for_them(client, ada, format_):
    agent = Agent(client, ada.new_token("read"))
    assert list(described(agent, format_, all="true")) == list(TOOLS)


def test_a_service_token_is_told_the_tools_that_it_may_call_for_a_user(client, ada, root):
    service = Agent(client, root.new_token("service", "read"), {"X-Commonplace-User": ada.email})
    assert set(described(service, "plain")) == {tool.name for tool in TOOLS.values() if tool.scope == "read"}


@pytest.mark.parametrize("format_", FORMATS)
def test_every_schema_stands_by_itself(reader, format_):
    schemas = described(reader, format_)
    assert [problem for name, schema in schemas.items() for problem in broken(schema, name)] == []


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_required_fields_are_those_of_the_specification(reader, name):
    schema = described(reader, "mcp")[name]
    assert (schema["type"], set(schema.get("required", []))) == ("object", REQUIRED[name])


@pytest.mark.parametrize(
    ("name", "field"),
    [("memory_search", f) for f in ("query", "limit", "theme", "types", "recency_days", "space", "policy")]
    + [("memory_add", f) for f in ("type", "content", "theme", "tags")]
    + [("query_memory", f) for f in ("query", "types")],
)
def test_the_fields_are_those_of_the_specification(reader, name, field):
    assert field in described(reader, "plain")[name]["properties"]


def test_query_memory_takes_the_four_types(reader):
    types = described(reader, "plain")["query_memory"]["properties"]["types"]["anyOf"][0]["items"]["enum"]
    assert set(types) == {"fact", "preference", "decision", "note"}


def test_openai_tools_are_functions(reader):
    assert {tool["type"] for tool in reader.get("/v1/tools", format="openai").json} == {"function"}


def test_an_unknown_format_is_named(reader):
    assert fields(reader.get("/v1/tools", format="xml")) == ["format"]


# --- searches that write first ----------------------------------------------------------------------------------------


def test_what_has_no_vector_yet_is_found_by_its_words(agent):
    agent.store("The parrot is called Long John")
    assert agent.found("parrot") == ["The parrot is called Long John"]


def test_recency_narrows(agent):
    agent.store("Bees from long ago", created_at=(utc_now() - timedelta(days=40)).isoformat())
    agent.store("Bees of this week")
    assert agent.found("bees", recency_days=7) == ["Bees of this week"]


@pytest.fixture
def long_memories(agent):
    for n in range(6):
        agent.store(f"Bee diary {n}: " + " ".join(f"hive{n}x{k} buzzed" for k in range(60)))


@pytest.mark.parametrize("budget", [1, 7, 100, 333, 1000])
def test_the_token_budget_is_kept_to_the_token(agent, long_memories, budget):
    answer = agent.tool("memory_search", query="bee diary", token_budget=budget).json
    shown = sum(count(hit["content_snippet"]) for hit in answer["results"])
    assert shown == answer["token_count"] <= budget
    assert answer["truncated"]


def test_the_budget_is_1000_by_default(agent, long_memories):
    assert 0 < agent.tool("memory_search", query="bee diary").json["token_count"] <= 1000


def test_a_long_memory_counts_as_much_as_is_shown(agent):
    agent.store("bees " * 6000)
    answer = agent.tool("memory_search", query="bees", token_budget=3000).json
    assert count(answer["results"][0]["content_snippet"]) == answer["token_count"]
    assert 2900 < answer["token_count"] <= 3000


def test_a_search_stays_in_its_space(agent, ada, told):
    add_space(ada, "work")
    assert agent.found("bees on the roof", space="work") == []


# --- the other tools ------------------------------------------------------------------------------------------------


def test_memory_add_answers_its_id_and_that_the_vector_waits(agent):
    response = agent.tool("memory_add", type="fact", content="Ada keeps bees", theme="hobbies", tags=["bees"])
    assert (response.status_code, response.json["status"]["embedding"]) == (201, "pending")
    assert agent.entry(response.json["id"])["theme"] == "hobbies"


def test_no_vector_is_promised_where_nothing_embeds(agent, ada, monkeypatch):
    providers = ada.runtime.providers
    monkeypatch.setattr(providers, "system", replace(providers.system, local_model=NO_LOCAL_MODEL, llamacpp_url=None))
    assert agent.tool("memory_add", type="note", content="Ada keeps bees").json["status"] == {
        "outcome": "created",
        "embedding": "none",
    }
    assert agent.post("/v1/memory/entries", {"text": "Ada keeps bees"}).json["embedding"] == "none"
    conversation = agent.post("/v1/conversations", {}).json["id"]
    said = {"role": "user", "content": "I keep ducks, too", "remember": True}
    kept = agent.post(f"/v1/conversations/{conversation}/messages", {"message": said}).json["results"][0]
    assert kept["memory"]["embedding"] == "none"
    own = {"provider_type": "custom_http", "endpoint_url": "http://127.0.0.1:9/embed", "model": "tiny"}
    assert agent.ask("PUT", "/v1/providers", json=own).status_code == 200
    assert agent.tool("memory_add", type="note", content="Ada sells honey").json["status"]["embedding"] == "pending"


def test_a_memory_is_added_for_a_time_and_the_time_changed(agent):
    until = [(utc_now() + timedelta(days=days)).isoformat(timespec="seconds") for days in (1, 2)]
    added = agent.tool("memory_add", content="The sitter is Clara", expires_at=until[0]).json["id"]
    assert datetime.fromisoformat(agent.entry(added)["expires_at"]) == datetime.fromisoformat(until[0])
    agent.tool("memory_update", item_id=added, expires_at=until[1])
    assert datetime.fromisoformat(agent.entry(added)["expires_at"]) == datetime.fromisoformat(until[1])


def test_memory_add_without_a_type_is_a_note(agent):
    assert agent.entry(agent.tool("memory_add", content="Ada keeps bees").json["id"])["type"] == "note"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": "a\x00"}, "content"),
        ({"content": "a", "importance": 2}, "importance"),
        ({"content": "a", "type": "x"}, "type"),
        ({"content": "a", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({}, "content"),
    ],
)
def test_memory_add_refuses_what_entries_refuse(agent, ada, arguments, field):
    assert fields(agent.tool("memory_add", **arguments)) == [field]
    assert memories_of(ada) == 0


def test_memory_get_answers_every_field(agent, told):
    item = agent.tool("memory_get", item_id=told["bees"]).json
    assert {k: item[k] for k in agent.entry(told["bees"]) if k != "possible_updates"} == {
        k: v for k, v in agent.entry(told["bees"]).items() if k != "possible_updates"
    }
    assert (item["content"], item["embedding"]["state"]) == ("Ada keeps bees on the roof", "ready")


def test_memory_update_changes(agent, told):
    answer = agent.tool("memory_update", item_id=told["bees"], content="Ada keeps goats", tags=["goats"]).json
    assert (answer["content"], answer["tags"]) == ("Ada keeps goats", ["goats"])


@pytest.mark.parametrize("content", ["", "a\x00", "\ud800"])
def test_memory_update_names_what_it_refuses_as_it_was_sent(agent, told, content):
    assert fields(agent.tool("memory_update", item_id=told["bees"], content=content)) == ["content"]
    assert agent.entry(told["bees"])["text"] == "Ada keeps bees on the roof"


def test_memory_update_needs_something_to_change(agent, told):
    assert fields(agent.tool("memory_update", item_id=told["bees"])) == ["body"]


def test_memory_delete_forgets(agent, told):
    assert agent.tool("memory_delete", item_id=told["bees"]).json == {"id": told["bees"], "deleted": True}
    assert agent.found("bees on the roof") == []


@pytest.mark.parametrize("name", ["memory_get", "memory_update", "memory_delete"])
def test_an_unknown_memory_answers_404(reader, name):
    more = {"content": "x"} if name == "memory_update" else {}
    assert reader.tool(name, item_id=str(uuid4()), **more).status_code == 404


@pytest.mark.parametrize("item_id", ["x", "", None, 5, "\x00"])
def test_what_is_no_id_is_named(reader, item_id):
    assert fields(reader.tool("memory_get", item_id=item_id)) == ["item_id"]


def test_memory_list_themes_answers_slugs_and_names(agent, told):
    themes = agent.tool("memory_list_themes").json["themes"]
    assert themes == [{"slug": "hobbies", "display_name": "Hobbies", "memories": 1}]


def test_a_tool_without_arguments_needs_no_body(reader):
    assert reader.post("/v1/tools/memory_list_themes").status_code == 200


def test_an_unknown_tool_answers_404(reader):
    response = reader.tool("memory_dance")
    assert (response.status_code, response.mimetype) == (404, "application/problem+json")


@pytest.mark.parametrize("data", ["{", "[]", '"x"', "{" * 50_000])
def test_a_tool_needs_an_object(reader, data):
    response = reader.post("/v1/tools/memory_search", data=data, content_type="application/json")
    assert response.status_code in {400, 422}


# --- the journal ----------------------------------------------------------------------------------------------------


def test_a_call_is_recorded(agent, ada, told):
    response = agent.tool("memory_search", query="bees on the roof", limit=3)
    call = calls(ada)[0]
    assert (call.tool, call.arguments, call.success) == (
        "memory_search",
        {"query": "bees on the roof", "limit": 3},
        True,
    )
    assert (call.hits, call.error, call.correlation_id) == (1, None, response.headers["X-Request-Id"])


def test_a_recorded_search_says_what_it_found_but_not_its_text(agent, ada, told):
    agent.tool("memory_search", query="bees on the roof")
    call = calls(ada)[0]
    assert (call.result["ids"], [str(i) for i in call.affected_ids]) == ([told["bees"]], [told["bees"]])
    assert call.duration_ms > 0


def test_wrong_arguments_are_recorded_as_a_failure(agent, ada):
    agent.tool("memory_search", query="a", limit=99)
    call = calls(ada)[0]
    assert (call.success, call.result) == (False, None)
    assert "limit" in call.error


def test_a_bad_policy_is_recorded_as_a_failure(agent, ada):
    agent.tool("memory_search", query="a", policy={"alpha": -1})
    assert (calls(ada)[0].success, calls(ada)[0].error) == (
        False,
        "PolicyError: alpha: must be a number between 0 and 10",
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "memory_get",
            {"item_id": str(UUID(int=7))},
            "NotFoundError: there is no such memory; it may be forgotten, or the id of something else: search for it",
        ),
        (
            "memory_search",
            {"query": "bees", "space": "attic"},
            "InvalidError: space: there is no space 'attic'; there are default",
        ),
        ("memory_add", {"content": " "}, "InvalidError: content: must not be empty"),
    ],
)
def test_a_failure_is_recorded_with_what_the_caller_was_told(agent, ada, tool, arguments, said):
    detail = agent.tool(tool, **arguments).json["detail"]
    assert (calls(ada)[0].success, calls(ada)[0].error) == (False, said)
    assert said.endswith(detail)


@pytest.mark.parametrize(
    ("tool", "arguments"), [("memory_search", {"query": "bees"}), ("memory_add", {"content": "Bees", "type": "note"})]
)
def test_who_names_a_space_as_people_do_is_told_its_name_here(agent, ada, tool, arguments):
    add_space(ada, "the-cafe")
    assert agent.tool(tool, space="The Café", **arguments).json["detail"].endswith("; do you mean 'the-cafe'?")
    assert (
        agent.tool(tool, space="The Cafés", **arguments)
        .json["detail"]
        .endswith("there is no space 'The Cafés'; there are default, the-cafe")
    )


def test_a_failure_in_incognito_is_recorded_by_its_kind_alone(agent, ada):
    hidden = Agent(agent.client, agent.headers, {"X-Commonplace-Session": "hidden"})
    hidden.post("/v1/memory/incognito/start")
    assert "attic" in hidden.tool("memory_search", query="bees", space="attic").json["detail"]
    assert (calls(ada)[0].success, calls(ada)[0].error) == (False, "InvalidError")


def test_a_failure_that_names_what_was_forgotten_is_redacted(agent, ada, told):
    agent.tool("memory_search", query="bees", space="Ada keeps bees on the roof")
    assert "roof" in calls(ada)[0].error
    agent.tool("memory_delete", item_id=told["bees"])
    assert "roof" not in str(calls(ada))


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "very secret words", "type": "rumour"},
        {"content": "very secret words\x00"},
        {"content": "very secret words", "theme": "Not a slug!"},
        {"content": "very secret words" * 5000},
        {"text": "very secret words"},
        {"content": "very secret words", "space": "nowhere"},
    ],
)
def test_a_refused_text_is_not_in_the_journal(agent, ada, arguments):
    assert agent.tool("memory_add", **arguments).status_code == 422
    assert "secret" not in str(calls(ada))


def test_a_forgotten_text_does_not_come_back_by_the_journal(agent, ada, told):
    agent.tool("memory_delete", item_id=told["bees"])
    agent.tool("memory_add", content="Ada keeps bees on the roof")
    agent.tool("memory_update", item_id=told["tea"], content="Ada keeps bees on the roof")
    assert [call.success for call in calls(ada)] == [False, True, True]
    assert "roof" not in str(calls(ada))


@pytest.mark.parametrize(
    "policy",
    [{"alpha": float("nan")}, {"x": [[[[[[[[1]]]]]]]]}, {"\ud800\x00": "\ud800\x00"}, {str(n): n for n in range(5000)}],
)
def test_odd_arguments_can_be_recorded(agent, ada, policy):
    assert agent.tool("memory_search", query="a", policy=policy).status_code == 422
    assert calls(ada)[0].error.startswith("PolicyError: ")
    assert len(calls(ada)[0].error) <= 500


def test_a_model_is_given_letters_as_they_are(agent):
    agent.tool("memory_add", content="Ada hält Bienen 🐝 在屋顶上")
    for tool in ("memory_search", "query_memory"):
        assert "Ada hält Bienen 🐝 在屋顶上" in agent.tool(tool, query="Bienen").get_data(as_text=True)
