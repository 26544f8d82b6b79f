"""With no database behind it, the interface says so, and agents go on without memory."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import replace

import pytest
from sqlalchemy import make_url

from memory.storage.database import Databases
from tasks.app import configure
from webapp.factory import create_app
from webapp.tools.brief import brief


def elsewhere(url, port):
    return make_url(url).set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def down(runtime):
    """A client of an app whose database URL leads to a port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    nowhere = Databases(elsewhere(runtime.databases.owner, port), elsewhere(runtime.databases.app, port))
    application = create_app(replace(runtime, databases=nowhere))
    configure(runtime)
    return application.test_client()


HEADERS = {"Authorization": "Bearer cp_anything"}


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        ("memory_search", {"results": [], "count": 0, "truncated": False, "token_count": 0, "timings": {}}),
        ("query_memory", {"memories": [], "metadata": {"count": 0, "truncated": False}}),
    ],
)
def test_a_search_finds_nothing_and_says_why(down, tool, found):
    response = down.post(f"/v1/tools/{tool}", json={"query": "bees"}, headers=HEADERS)
    assert response.status_code == 200
    assert response.json == {**found, "error": True, "degraded": ["database"]}


@pytest.mark.parametrize(
    ("path", "body", "nothing"),
    [
        (
            "/v1/memory/context",
            {"query": "bees"},
            {"context": "", "token_count": 0, "count": 0, "facts": 0, "truncated": False},
        ),
        ("/v1/tools/memory_list_themes", {}, {"themes": []}),
        ("/v1/tools/memory_list_themes/", {}, {"themes": []}),
    ],
)
def test_what_goes_into_a_prompt_is_nothing_and_says_why(down, path, body, nothing):
    response = down.post(path, json=body, headers=HEADERS)
    assert (response.status_code, response.json) == (200, {**nothing, "error": True, "degraded": ["database"]})


@pytest.mark.parametrize(("path", "more"), [("/v1/memory/prompt", {}), ("/v1/preferences/prompt", {"version": None})])
def test_the_block_of_a_system_prompt_is_empty_and_says_why(down, path, more):
    response = down.get(path, headers=HEADERS)
    told = {"prompt": "", "token_count": 0, **more, "error": True, "degraded": ["database"]}
    assert (response.status_code, response.json) == (200, told)


def test_one_memory_is_not_said_to_be_gone(down):
    asked = {"item_id": "00000000-0000-7000-8000-000000000000"}
    assert down.post("/v1/tools/memory_get", json=asked, headers=HEADERS).status_code == 503


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/memory/entries", {"text": "a"}),
        ("/v1/memory/entries/batch", {"entries": [{"text": "a"}]}),
        ("/v1/tools/memory_add", {"type": "note", "content": "a"}),
    ],
)
def test_a_write_says_that_nothing_was_stored(down, path, body):
    response = down.post(path, json=body, headers=HEADERS)
    assert (response.status_code, response.mimetype) == (503, "application/problem+json")
    assert "nothing was stored" in response.json["detail"]


@pytest.mark.parametrize("path", ["/v1/memory/entries", "/v1/memory/summary", "/v1/spaces", "/v1/tools"])
def test_a_read_answers_503_and_when_to_come_again(down, path):
    response = down.get(path, headers=HEADERS)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "2")


def test_the_process_lives(down):
    assert down.get("/healthz").status_code == 200


def test_the_process_is_not_ready(down):
    assert down.get("/readyz").status_code == 503


def test_metrics_are_out_of_reach(down):
    assert down.get("/metrics", environ_overrides={"REMOTE_ADDR": "127.0.0.1"}).status_code == 503


def test_no_answer_says_where_the_database_is(down):
    answers = [down.get("/readyz"), down.get("/v1/spaces", headers=HEADERS)]
    assert not any(word in answer.text for answer in answers for word in ("127.0.0.1", "psycopg", "commonplace_test"))


def called(down, tool, **arguments):
    """Return what a client of MCP is answered."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    response = down.post("/mcp", json=call, headers=HEADERS)
    assert (response.status_code, response.json["id"]) == (200, 1)
    return response.json["result"]


def test_a_search_by_mcp_finds_nothing_and_says_why(down):
    told = called(down, "memory_search", query="bees")
    own = down.post("/v1/tools/memory_search", json={"query": "bees"}, headers=HEADERS).json
    assert (told["isError"], json.loads(told["content"][0]["text"])) == (False, brief(own))


def test_a_write_by_mcp_says_that_nothing_was_stored(down):
    told = called(down, "memory_add", type="fact", content="Ada keeps bees")
    assert told["isError"]
    said = r"the database does not answer; nothing was stored \(request [0-9a-f-]{36}\)"
    assert re.fullmatch(said, told["content"][0]["text"])


def test_no_client_of_mcp_begins(down):
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    for body in ({"json": begin}, {"data": "{", "content_type": "application/json"}):
        response = down.post("/mcp", headers=HEADERS, **body)
        assert (response.status_code, "Retry-After" in response.headers) == (503, True)
        assert response.json["error"]["message"] == "the database does not answer; nothing was stored"


def test_a_large_call_by_mcp_is_not_read_for_nobody(down):
    call = {"name": "memory_search", "arguments": {"query": "b" * 20_000}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    response = down.post("/mcp", json=asked, headers=HEADERS)
    assert (response.status_code, response.json["id"], response.json["error"]["code"]) == (503, None, -32603)
