"""The Model Context Protocol over HTTP, message by message: what each of its rules asks of a server."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from datetime import timedelta

import pytest
from api_agent import NOBODYS_ID, Agent, add_space, embed, rows
from recorded_calls import CONVERSATION, SPACE, converse
from sqlalchemy import text

from retrieval.words.tokens import count
from tasks.app import configure
from webapp import ratelimit
from webapp.context import session
from webapp.factory import create_app
from webapp.tools import TOOLS
from webapp.tools.brief import brief

NEWEST, HANDSHAKE = "2026-07-28", "2025-11-25"
BEES = "Ada keeps bees on the roof"
NO_MEMORY = "there is no such memory; it may be forgotten, or the id of something else: search for it"
META = "io.modelcontextprotocol/"
NOT_JSON, NO_MESSAGE, NO_METHOD, BAD_PARAMS, OTHER_HEADER, NOT_SPOKEN = -32700, -32600, -32601, -32602, -32020, -32022


def message(method, params=None, **more):
    return {"jsonrpc": "2.0", "id": 7, "method": method, **({} if params is None else {"params": params}), **more}


def send(client, who, body, **headers):
    """Post a body as it is, a dictionary as JSON; headers are named with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post("/mcp", data=data, content_type="application/json", headers={**who, **named})


def stateless(client, who, method, params=None, *, version=NEWEST, **headers):
    """Send a message as clients of the newest revision do; a header that is None is left out."""
    meta = {f"{META}protocolVersion": version, f"{META}clientCapabilities": {}}
    sent = {"MCP_Protocol_Version": version, "Mcp_Method": method, "Mcp_Name": (params or {}).get("name"), **headers}
    kept = {name: value for name, value in sent.items() if value is not None}
    return send(client, who, message(method, {"_meta": meta, **(params or {})}), **kept)


def result(response):
    assert response.status_code == 200, response.text
    assert (response.mimetype, response.json["jsonrpc"], response.json["id"]) == ("application/json", "2.0", 7)
    return response.json["result"]


def refusal(response):
    """Return the status, the code of the error and the id of the request that it answers."""
    assert response.mimetype == "application/json", response.text
    assert set(response.json) == {"jsonrpc", "id", "error"}
    return response.status_code, response.json["error"]["code"], response.json["id"]


def call(client, who, tool, headers=None, **arguments):
    """Return whether the answer of a tool is an error, and the text that a model is given."""
    told = result(send(client, who, message("tools/call", {"name": tool, "arguments": arguments}), **(headers or {})))
    assert set(told) == {"content", "isError"}
    [part] = told["content"]
    assert part["type"] == "text"
    return told["isError"], part["text"]


def texts(answer):
    return [hit["content_snippet"] for hit in json.loads(answer[1])["results"]]


# --- the beginning --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "told"),
    [(each, each) for each in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")]
    + [("1999-01-01", HANDSHAKE), (NEWEST, HANDSHAKE), (None, HANDSHAKE), ([], HANDSHAKE)],
)
def test_a_client_agrees_on_a_revision(client, ada, asked, told):
    params = {"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}, "protocolVersion": asked}
    begun = result(send(client, ada.headers, message("initialize", params)))
    assert (begun["protocolVersion"], begun["capabilities"]) == (told, {"tools": {}})
    described = client.get("/v1/openapi.json").json["info"]["version"]
    assert begun["serverInfo"] == {"name": "commonplace", "title": "Commonplace", "version": described}


def test_a_client_is_told_when_to_use_the_tools_and_how_the_user_likes_things_done(client, ada):
    client.put("/v1/preferences", json={"document": "Call me Ada."}, headers=ada.headers)
    prompts = [client.get(f"/v1/{of}/prompt", headers=ada.headers).json["prompt"] for of in ("memory", "preferences")]
    begun = result(send(client, ada.headers, message("initialize", {})))
    assert begun["instructions"] == "\n\n".join(prompts)
    assert result(stateless(client, ada.headers, "server/discover"))["instructions"] == begun["instructions"]


def test_a_token_that_may_not_read_is_given_no_instructions(client, ada):
    writer = ada.new_token("write")
    assert "instructions" not in result(send(client, writer, message("initialize", {})))
    assert "instructions" not in result(stateless(client, writer, "server/discover"))


def test_the_instructions_are_of_the_space_that_a_header_names(client, ada):
    Agent(client, ada.headers).store("We bake on Mondays", space=add_space(ada, "home"), theme="bread")
    begun = [
        result(send(client, {**ada.headers, **headers}, message("initialize", {})))["instructions"]
        for headers in ({SPACE: "home"}, {})
    ]
    assert ["bread" in each for each in begun] == [True, False]


def test_a_space_that_is_not_there_is_told_at_once(client, ada):
    response = send(client, {**ada.headers, SPACE: "work"}, message("initialize", {}))
    assert refusal(response) == (200, BAD_PARAMS, 7)
    assert response.json["error"]["message"].endswith("there is no space 'work'; there are default")


def test_in_incognito_a_client_is_told_nothing_of_what_is_remembered(client, ada):
    Agent(client, ada.headers).store("We bake on Mondays", theme="bread")
    quiet = {**ada.headers, "X-Commonplace-Session": "quiet"}
    client.post("/v1/memory/incognito/start", json={"session": "quiet"}, headers=ada.headers)
    assert "instructions" not in result(send(client, quiet, message("initialize", {})))
    assert "bread" in result(send(client, ada.headers, message("initialize", {})))["instructions"]


def test_a_client_of_the_newest_revision_begins_without_a_handshake(client, ada):
    found = result(stateless(client, ada.headers, "server/discover"))
    assert found["supportedVersions"] == [NEWEST, HANDSHAKE, "2025-06-18", "2025-03-26", "2024-11-05"]
    assert (found["resultType"], found["capabilities"]) == ("complete", {"tools": {}})
    # The instructions follow what is remembered, and are one user's.
    assert (found["ttlMs"], found["cacheScope"]) == (0, "private")
    assert found["_meta"][f"{META}serverInfo"]["name"] == "commonplace"


def test_a_notification_has_no_answer(client, ada):
    for headers in ({}, {"MCP_Protocol_Version": HANDSHAKE}, {"MCP_Protocol_Version": NEWEST}):
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        response = send(client, ada.headers, note, **headers)
        assert (response.status_code, response.data, response.content_type) == (202, b"", None)


def test_a_notification_calls_no_tool(client, ada):
    note = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "memory_add", "arguments": {"content": BEES}}}
    assert send(client, ada.headers, note).status_code == 202
    assert Agent(client, ada.headers).texts() == []


def test_a_client_asks_whether_the_server_is_alive(client, ada):
    assert result(send(client, ada.headers, message("ping"))) == {}


def test_no_session_is_begun_and_a_foreign_one_is_nothing(client, ada):
    response = send(client, ada.headers, message("ping"), Mcp_Session_Id="of another server")
    assert result(response) == {}
    assert "Mcp-Session-Id" not in response.headers


@pytest.mark.parametrize("id_", [0, -1, "", "a", 2**53])
def test_an_answer_has_the_id_of_its_request(client, ada, id_):
    assert send(client, ada.headers, message("ping", id=id_)).json == {"jsonrpc": "2.0", "id": id_, "result": {}}


# --- tools ----------------------------------------------------------------------------------------------------------


def test_the_tools_are_those_that_the_token_may_call(client, ada):
    for headers in (ada.headers, ada.new_token("read"), ada.new_token("forget")):
        told = client.get("/v1/tools?format=mcp", headers=headers).json
        assert result(send(client, headers, message("tools/list"))) == told
        found = result(stateless(client, headers, "tools/list"))
        assert (found["tools"], found["cacheScope"], found["resultType"]) == (told["tools"], "private", "complete")


def test_there_is_one_page_of_tools(client, ada):
    assert refusal(send(client, ada.headers, message("tools/list", {"cursor": "x"}))) == (200, BAD_PARAMS, 7)
    assert "nextCursor" not in result(send(client, ada.headers, message("tools/list", {})))


def test_a_model_remembers_and_finds(client, ada):
    assert call(client, ada.headers, "memory_add", type="fact", content=BEES)[0] is False
    assert texts(call(client, ada.headers, "memory_search", query="bees")) == [BEES]


def test_a_model_is_given_in_short_what_a_tool_answers_by_its_own_address(client, ada):
    agent = Agent(client, ada.headers)
    memory_id = agent.store("Ada keeps bees in Åsa", tags=["bees"])
    own = agent.tool("memory_get", item_id=memory_id).json
    failed, text = call(client, ada.headers, "memory_get", item_id=memory_id)
    told = json.loads(text)
    assert (failed, "Åsa" in text, told["content"]) == (False, True, own["content"])
    assert {name for name in told if told[name] != own[name]} == {"created_at", "updated_at"}
    assert own.keys() - told.keys() >= {"text", "simhash", "last_scores", "source_message_id", "possible_updates"}


def test_most_of_what_a_model_reads_of_a_search_is_memories(client, ada):
    agent = Agent(client, ada.headers)
    kept = [f"The hive number {number} stands on the roof and has honey for the {number}th week" for number in range(9)]
    for each in kept:
        agent.store(each)
    _, text = call(client, ada.headers, "memory_search", query="hive on the roof", min_score=0, token_budget=1000)
    assert count(text) < 5 * sum(count(each) for each in texts((False, text)))
    assert len(texts((False, text))) == 9


def test_that_nothing_was_found_is_said(client, ada):
    assert call(client, ada.headers, "memory_list_themes") == (False, '{"themes":[]}')
    assert call(client, ada.headers, "fact_search") == (False, '{"facts":[],"more":false}')


def test_another_users_memories_stay_theirs(client, ada, bob):
    memory_id = Agent(client, ada.headers).store(BEES)
    assert texts(call(client, bob.headers, "memory_search", query=BEES)) == []
    failed, text = call(client, bob.headers, "memory_get", item_id=memory_id)
    assert (failed, text) == (True, NO_MEMORY)


def test_what_is_forgotten_is_not_found(client, ada):
    memory_id = Agent(client, ada.headers).store(BEES)
    assert call(client, ada.headers, "memory_delete", item_id=memory_id)[0] is False
    assert texts(call(client, ada.headers, "memory_search", query="bees")) == []


def test_a_tool_that_there_is_not_is_an_error_of_the_protocol(client, ada):
    sent = {"name": "memory_shred", "arguments": {}}
    response = send(client, ada.headers, message("tools/call", sent))
    assert refusal(response) == (200, BAD_PARAMS, 7)
    assert "there is no such tool; there are memory_search" in response.json["error"]["message"]
    assert refusal(stateless(client, ada.headers, "tools/call", sent)) == (400, BAD_PARAMS, 7)


@pytest.mark.parametrize(
    "params",
    [None, {}, {"name": 7}, {"name": None}, {"name": "memory_search", "arguments": ["bees"]}],
)
def test_a_call_that_is_none_is_an_error_of_the_protocol(client, ada, params):
    assert refusal(send(client, ada.headers, message("tools/call", params))) == (200, BAD_PARAMS, 7)
    assert rows(ada, "SELECT tool FROM tool_calls") == []


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": {}}])
def test_arguments_may_be_left_out(client, ada, arguments):
    answer = send(client, ada.headers, message("tools/call", {"name": "memory_list_themes", **arguments}))
    assert result(answer)["isError"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "said"),
    [
        ("memory_search", {"question": "bees?"}, 422, "query: Field required: What to look for, in plain words"),
        ("memory_get", {"item_id": NOBODYS_ID}, 404, "memory"),
        ("memory_search", {"query": "bees", "space": "work"}, 422, "there is no space 'work'; there are default"),
    ],
)
def test_what_a_model_can_mend_is_told_it_as_by_the_tools_own_address(client, ada, tool, arguments, status, said):
    failed, text = call(client, ada.headers, tool, **arguments)
    own = Agent(client, ada.headers).tool(tool, **arguments)
    assert (failed, own.status_code, said in text) == (True, status, True)
    assert text == own.json["detail"]


def test_what_a_token_may_not_do_is_told_the_model_and_recorded(client, ada):
    failed, text = call(client, ada.new_token("read"), "memory_add", type="fact", content=BEES)
    said = "the token lacks the scope write, it has read; one with it is made on the page Tokens or by "
    assert (failed, text) == (True, f"{said}commonplace token create")
    assert rows(ada, "SELECT tool, success, arguments FROM tool_calls") == [("memory_add", False, {})]
    assert Agent(client, ada.headers).texts() == []


def test_a_failure_of_ours_is_told_the_model_without_its_words(app, client, ada, monkeypatch):
    def broken(_arguments):
        raise RuntimeError("the secret of the house")

    monkeypatch.setitem(TOOLS, "memory_search", replace(TOOLS["memory_search"], run=broken))
    failed, text = call(client, ada.headers, "memory_search", query="bees")
    assert (failed, "secret" in text) == (True, False)
    assert re.fullmatch(r"something went wrong on our side; the log has the request id \(request [0-9a-f-]{36}\)", text)


def test_a_tool_that_loses_the_database_answers_as_by_its_own_address(client, ada, monkeypatch):
    def lost(_arguments):
        session().execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    for tool in ("memory_search", "memory_get"):
        monkeypatch.setitem(TOOLS, tool, replace(TOOLS[tool], run=lost))
    failed, told = call(client, ada.headers, "memory_search", query="bees")
    own = Agent(client, ada.headers).tool("memory_search", query="bees").json
    assert (failed, json.loads(told)) == (False, brief(own))
    assert (own["error"], own["degraded"]) == (True, ["database"])
    failed, told = call(client, ada.headers, "memory_get", item_id=NOBODYS_ID)
    assert (failed, told.split("; ")[0], " (request " in told) == (True, "the database does not answer", True)


def test_a_call_is_recorded_as_any_other(client, ada):
    talk, _ = converse(ada, add_space(ada, "work"))
    call(client, {**ada.headers, CONVERSATION: talk}, "memory_add", type="fact", content=BEES)
    Agent(client, ada.headers).tool("memory_search", query="bees")
    kept = rows(ada, "SELECT tool, operation, success, conversation_id::text FROM tool_calls ORDER BY created_at")
    assert kept == [("memory_add", "create", True, talk), ("memory_search", "search", True, None)]
    assert Agent(client, ada.headers).texts(space="work") == [BEES]


def test_a_call_is_of_the_space_that_a_header_names(client, ada):
    add_space(ada, "work")
    call(client, {**ada.headers, SPACE: "work"}, "memory_add", type="fact", content=BEES)
    for headers, found in (({SPACE: "work"}, [BEES]), ({}, [])):
        assert texts(call(client, {**ada.headers, **headers}, "memory_search", query="bees")) == found
    failed, text = call(client, {**ada.headers, SPACE: "play"}, "memory_search", query="bees")
    assert (failed, "there is no space 'play'" in text) == (True, True)


def test_incognito_stores_and_recalls_nothing(client, ada):
    Agent(client, ada.headers).store(BEES)
    quiet = {**ada.headers, "X-Commonplace-Session": "quiet"}
    client.post("/v1/memory/incognito/start", json={"session": "quiet"}, headers=ada.headers)
    assert texts(call(client, quiet, "memory_search", query="bees")) == []
    failed, text = call(client, quiet, "memory_add", type="fact", content="Ada rows on Sundays")
    assert (failed, "incognito" in text) == (True, True)
    assert Agent(client, ada.headers).texts() == [BEES]


def test_a_confined_token_sees_its_space_alone(client, ada):
    add_space(ada, "work")
    Agent(client, ada.headers).store(BEES)
    confined = ada.new_token("read", space="work")
    assert texts(call(client, confined, "memory_search", query="bees")) == []


def test_searches_of_all_ways_are_counted_together(runtime, ada, monkeypatch):
    monkeypatch.setattr(ratelimit, "WINDOW", timedelta(days=365 * 100))
    client = create_app(replace(runtime, settings=replace(runtime.settings, searches_per_minute=2))).test_client()
    configure(runtime)
    agent = Agent(client, ada.headers)
    agent.store(BEES)
    embed(ada)
    agent.tool("memory_search", query="honey")
    asked = message("tools/call", {"name": "memory_search", "arguments": {"query": "bees"}})
    first, second = (send(client, ada.headers, asked) for _ in range(2))
    degraded = [json.loads(result(each)["content"][0]["text"]).get("degraded") for each in (first, second)]
    assert degraded == [None, ["rate_limited"]]
    assert ["Retry-After" in each.headers for each in (first, second)] == [False, True]


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("credential", [None, "Bearer cp_x", "Basic eDp5"])
def test_without_a_valid_token_nothing_is_answered(client, credential):
    response = send(client, {"Authorization": credential} if credential else {}, message("initialize", {}))
    assert refusal(response) == (401, NO_MESSAGE, None)
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_what_is_refused_unread_is_an_error_that_clients_tell(client):
    # The clients in Python tell nothing of an answer that is no JSON-RPC: "Server returned an error response".
    response = send(client, {"Authorization": "Bearer cp_x"}, message("initialize", {}))
    error = response.json["error"]
    assert error["message"].startswith("a valid bearer token is needed, as in Authorization: Bearer cp_...")
    told = client.get("/v1/tools", headers={"Authorization": "Bearer cp_x"}).json
    assert error["data"] == {**told, "instance": "/mcp", "request_id": response.headers["X-Request-ID"]}


def test_a_client_that_looks_for_another_way_to_log_in_finds_none(client):
    for path in ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server"):
        response = client.get(f"/.well-known/{path}", headers={"Accept": "application/json"})
        assert response.status_code == 404


def test_a_client_that_would_log_in_by_oauth_is_told_what_to_do_instead(client):
    # As Claude Code, Codex, OpenCode and mcp-remote ask where they have no token, or one that is not valid.
    wanted = {
        "client_name": "Claude Code (memory)",
        "redirect_uris": ["http://localhost:3118/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    response = client.post("/register", json=wanted, headers={"Accept": "*/*"})
    assert (response.status_code, response.mimetype) == (404, "application/problem+json")
    # Clients show all of the answer, or what RFC 7591 calls the description of the error.
    assert response.json["error_description"] == response.json["detail"]
    assert "made on the page Tokens" in response.json["detail"]
    assert response.json["error"] == "access_denied"


@pytest.mark.parametrize("address", ["/mcp", "/mcp/"])
def test_who_asks_what_is_taken_is_told_of_nothing_that_is_refused(client, ada, address):
    response = client.options(address, headers=ada.headers)
    assert (response.status_code, response.headers["Allow"], response.text) == (200, "OPTIONS, POST", "")
    assert client.options(address).status_code == 401


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_nothing_is_streamed_and_there_is_no_session_to_end(client, ada, method):
    headers = {**ada.headers, "Accept": "text/event-stream"}
    response = client.open("/mcp", method=method, headers=headers)
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")
    assert response.mimetype == "application/problem+json"


def test_a_client_that_asks_for_a_stream_is_told_first_that_its_token_is_not_valid(client):
    # OpenCode, where its first message is refused, asks for a stream, and tells its user that second status alone.
    response = client.get("/mcp", headers={"Authorization": "Bearer cp_x", "Accept": "text/event-stream"})
    assert (response.status_code, response.mimetype) == (401, "application/problem+json")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://localhost"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        # As Node's fetch asks.
        ({"Sec-Fetch-Mode": "cors"}, 200),
    ],
)
def test_another_sites_page_is_refused(client, ada, headers, status):
    assert send(client, {**ada.headers, **headers}, message("ping")).status_code == status


@pytest.mark.parametrize(
    ("host", "more", "status"),
    [
        ("evil.example", {}, 403),
        ("localhost.evil.example:8765", {}, 403),
        ("127.0.0.1:8765", {}, 200),
        ("[::1]:8765", {}, 200),
        # From elsewhere, or by a proxy: a name that was set up for this server.
        ("memory.example", {"X-Forwarded-For": "192.0.2.7"}, 200),
    ],
)
def test_a_page_whose_name_leads_here_is_refused(client, ada, host, more, status):
    """DNS rebinding: for the browser the page and the server are one site."""
    headers = {**ada.headers, "Host": host, "Sec-Fetch-Site": "same-origin", **more}
    assert send(client, {**headers, "Origin": f"http://{host}"}, message("ping")).status_code == status
    # What is no browser may come by any name.
    assert send(client, {**ada.headers, "Host": host, **more}, message("ping")).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc": "2.0"'])
def test_what_is_no_json_is_told_so(client, ada, body):
    assert refusal(send(client, ada.headers, body)) == (400, NOT_JSON, None)


@pytest.mark.parametrize(
    "body",
    [
        {},
        7,
        "ping",
        None,
        {"method": "ping", "id": 1},
        {"jsonrpc": "1.0", "method": "ping", "id": 1},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 7},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]},
        # An answer, where nothing was asked.
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
def test_what_is_no_message_is_told_so(client, ada, body):
    assert refusal(send(client, ada.headers, body)) == (400, NO_MESSAGE, None)


def test_what_is_said_twice_is_refused(client, ada):
    twice = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "method": "tools/list"}'
    assert refusal(send(client, ada.headers, twice)) == (400, NO_MESSAGE, None)


@pytest.mark.parametrize("batch", [[], [message("ping")]])
def test_a_batch_is_refused(client, ada, batch):
    response = send(client, ada.headers, batch)
    assert refusal(response) == (400, NO_MESSAGE, None)
    assert "batches are not taken" in response.json["error"]["message"]


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "server/discover", "tools", ""])
def test_a_method_that_there_is_not_is_told_so(client, ada, method):
    response = send(client, ada.headers, message(method))
    assert refusal(response) == (200, NO_METHOD, 7)
    assert response.json["error"]["message"] == (
        "there is no such method; there are initialize, ping, tools/list, tools/call"
    )


def test_the_newest_revision_answers_404_for_it(client, ada):
    assert refusal(stateless(client, ada.headers, "ping")) == (404, NO_METHOD, 7)


def test_a_revision_that_is_not_spoken_is_refused(client, ada):
    told = send(client, ada.headers, message("ping"), MCP_Protocol_Version="1999-01-01")
    assert refusal(told) == (400, NOT_SPOKEN, 7)
    response = stateless(client, ada.headers, "tools/list", version="2099-01-01")
    assert refusal(response) == (400, NOT_SPOKEN, 7)
    assert response.json["error"]["data"]["requested"] == "2099-01-01"
    assert {NEWEST, HANDSHAKE} <= set(response.json["error"]["data"]["supported"])
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    assert refusal(send(client, ada.headers, note, MCP_Protocol_Version="1999-01-01")) == (400, NOT_SPOKEN, None)


@pytest.mark.parametrize("version", [None, HANDSHAKE, "2025-03-26"])
def test_an_older_client_may_say_its_revision_or_not(client, ada, version):
    headers = {} if version is None else {"MCP_Protocol_Version": version}
    assert result(send(client, ada.headers, message("ping"), **headers)) == {}


SEARCH = {"name": "memory_search", "arguments": {"query": "bees"}}


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP_Protocol_Version": None},
        {"MCP_Protocol_Version": HANDSHAKE},
        {"Mcp_Method": None},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Name": None},
        {"Mcp_Name": "memory_delete"},
        {"Mcp_Name": "=?base64?!?="},
    ],
)
def test_headers_that_say_another_thing_than_the_body_are_refused(client, ada, headers):
    assert refusal(stateless(client, ada.headers, "tools/call", SEARCH, **headers)) == (400, OTHER_HEADER, 7)
    assert rows(ada, "SELECT tool FROM tool_calls") == []


def test_a_message_of_the_newest_revision_says_what_its_client_can_do(client, ada):
    meta = {"_meta": {f"{META}protocolVersion": NEWEST}}
    headers = {"MCP_Protocol_Version": NEWEST, "Mcp_Method": "tools/list"}
    assert refusal(send(client, ada.headers, message("tools/list", meta), **headers)) == (400, BAD_PARAMS, 7)
    # By the header alone it is not taken for one of an older revision.
    assert refusal(send(client, ada.headers, message("tools/list"), **headers)) == (400, OTHER_HEADER, 7)


def test_a_name_may_come_in_base64(client, ada):
    name = f"=?base64?{b64encode(b'memory_search').decode()}?="
    assert result(stateless(client, ada.headers, "tools/call", SEARCH, Mcp_Name=name))["isError"] is False


def test_a_body_is_declared_as_json(client, ada):
    response = client.post("/mcp", data=json.dumps(message("ping")), headers=ada.headers, content_type="text/plain")
    assert response.status_code == 415


@pytest.mark.parametrize(
    ("accepted", "status"),
    [
        ("application/json, text/event-stream", 200),
        ("application/json", 200),
        ("*/*", 200),
        (None, 200),
        ("text/event-stream", 406),
    ],
)
def test_a_client_takes_json(client, ada, accepted, status):
    headers = {} if accepted is None else {"Accept": accepted}
    assert send(client, ada.headers, message("ping"), **headers).status_code == status


def test_a_body_that_is_too_large_is_refused(client, ada):
    body = json.dumps(message("tools/call", {"name": "memory_add", "arguments": {"content": "b" * 4 * 1024 * 1024}}))
    assert send(client, ada.headers, body.encode()).status_code == 413


def test_a_large_body_is_taken(client, ada):
    failed, text = call(client, ada.headers, "memory_add", type="note", content="b" * 70_000)
    assert (failed, text) == (True, "content: must be at most 65536 bytes of UTF-8, not 70000")


def test_a_query_is_not_taken(client, ada):
    response = client.post("/mcp?space=work", json=message("ping"), headers=ada.headers)
    assert (response.status_code, response.json["error"]["data"]["errors"][0]["field"]) == (422, "space")


def test_the_address_may_end_in_a_slash(client, ada):
    assert result(client.post("/mcp/", json=message("ping"), headers=ada.headers)) == {}


@pytest.mark.parametrize(
    "body",
    [
        message("initialize", {}),
        message("tools/list"),
        message("ping"),
        {"jsonrpc": "2.0", "method": "notifications/x"},
    ],
)
def test_the_use_of_a_token_is_noted(client, ada, body):
    assert send(client, ada.new_token("read"), body).status_code < 300
    assert rows(ada, "SELECT count(*) FROM tokens WHERE last_used_at IS NOT NULL") == [(1,)]


def test_the_use_of_a_token_by_the_newest_revision_is_noted(client, ada):
    result(stateless(client, ada.new_token("read"), "server/discover"))
    assert rows(ada, "SELECT count(*) FROM tokens WHERE last_used_at IS NOT NULL") == [(1,)]


def test_no_cache_keeps_an_answer(client, ada):
    assert send(client, ada.headers, message("tools/list")).headers["Cache-Control"] == "no-store"
