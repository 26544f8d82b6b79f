"""A client of the real MCP library, the program that it starts, and a real server."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest
from api_server import served
from sqlalchemy import update

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.models import Token
from memory.writing.remember import remember_many
from webapp.tools import TOOLS

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "integrations"
PREFERENCE = "I prefer uv over pip for Python projects"
T = TypeVar("T")


def connected(base_url: str, token: str, use: Callable[[Any], Awaitable[T]], **more: str) -> T:
    """Start the program as the README has clients start it, with `more` in its environment, and use what it serves."""
    section = (FOLDER / "README.md").read_text().partition("\n## Hooks of Claude Code\n")[0]
    blocks = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    [shown] = [json.loads(block)["mcpServers"]["memory"] for block in blocks if '"command"' in block]
    program, address = shown["args"]
    assert (Path(program).name, address, list(shown["env"])) == ("mcp_server.py", "http://127.0.0.1:8765", ["TOKEN"])

    async def _use() -> T:
        # Here, as every process of the tests reads this file, and one of them runs it.
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        args = [str(FOLDER / Path(program).name), base_url]
        started = StdioServerParameters(command=sys.executable, args=args, env={"TOKEN": token, **more})
        async with stdio_client(started) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await use(session)

    # In a thread of its own: the browser tests' driver keeps an event loop running in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(_use())).result()


def call(base_url: str, token: str, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Return whether the tool's answer is an error, and the text of it."""

    async def _called(session: Any) -> tuple[bool, str]:
        result = await session.call_tool(tool, arguments)
        return result.is_error, result.content[0].text

    return connected(base_url, token, _called)


def test_a_client_is_told_the_tools_and_when_to_use_them(base_url, client, ada):
    async def _told(session: Any) -> tuple[list[dict[str, Any]], str]:
        tools = (await session.list_tools()).tools
        return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in tools], session.instructions

    tools, instructions = connected(base_url, ada.token, _told)
    assert tools == client.get("/v1/tools?format=mcp", headers=ada.headers).json["tools"]
    assert instructions == client.get("/v1/memory/prompt", headers=ada.headers).json["prompt"]


def test_a_client_is_told_the_tools_that_its_token_may_call(base_url, client, ada):
    async def _told(session: Any) -> list[str]:
        return [tool.name for tool in (await session.list_tools()).tools]

    told = connected(base_url, ada.new_token("read")["Authorization"].removeprefix("Bearer "), _told)
    assert told == [tool.name for tool in TOOLS.values() if tool.scope == "read"]
    # As the README has it.
    assert (len(told), len(TOOLS)) == (7, 13)


def test_a_client_is_told_how_the_user_likes_things_done(base_url, client, ada):
    document = "---\nresponse_style: {verbosity: concise}\n---\nCall me Ada."
    client.put("/v1/preferences", json={"document": document}, headers=ada.headers)
    prompts = [client.get(f"/v1/{of}/prompt", headers=ada.headers).json["prompt"] for of in ("memory", "preferences")]

    async def _told(session: Any) -> str:
        return session.instructions

    instructions = connected(base_url, ada.token, _told)
    assert instructions == "\n\n".join(prompts)
    assert instructions.endswith("Call me Ada.")


def test_a_model_remembers_and_finds(base_url, ada):
    assert call(base_url, ada.token, "memory_add", type="preference", content=PREFERENCE)[0] is False
    failed, text = call(base_url, ada.token, "memory_search", query="uv or pip for Python projects")
    assert failed is False
    assert [hit["content_snippet"] for hit in json.loads(text)["results"]] == [PREFERENCE]


def test_another_users_memories_stay_theirs(base_url, ada, bob):
    with ada.session() as session:
        remember_many(session, ada.id, "default", [Draft(PREFERENCE)], keys=ada.runtime.keys, now=utc_now(), actor="t")
    assert json.loads(call(base_url, bob.token, "memory_search", query=PREFERENCE)[1])["results"] == []


def test_what_is_stored_in_a_conversation_is_in_its_space(base_url, client, ada):
    client.post("/v1/spaces", json={"slug": "work"}, headers=ada.headers)
    talk = client.post("/v1/conversations", json={"space": "work"}, headers=ada.headers).json["id"]

    async def _stored(session: Any) -> Any:
        return await session.call_tool("memory_add", {"type": "preference", "content": PREFERENCE})

    assert connected(base_url, ada.token, _stored, CONVERSATION=talk).is_error is False
    kept = client.get("/v1/memory/entries", headers=ada.headers).json["entries"]
    assert [(each["text"], each["space"]) for each in kept] == [(PREFERENCE, "work")]


def test_a_project_has_its_space(base_url, client, ada):
    for slug in ("work", "home"):
        client.post("/v1/spaces", json={"slug": slug}, headers=ada.headers)
    baking = {"type": "note", "content": "We bake on Mondays", "theme": "bread", "space": "home"}
    client.post("/v1/tools/memory_add", json=baking, headers=ada.headers)

    async def _used(session: Any) -> tuple[str, list[str]]:
        await session.call_tool("memory_add", {"type": "preference", "content": PREFERENCE})
        answer = await session.call_tool("memory_search", {"query": "We bake on Mondays"})
        return session.instructions, [hit["content_snippet"] for hit in json.loads(answer.content[0].text)["results"]]

    home, work = (connected(base_url, ada.token, _used, SPACE=slug) for slug in ("home", "work"))
    assert ("bread" in home[0].casefold(), home[1]) == (True, ["We bake on Mondays"])
    assert ("bread" in work[0].casefold(), work[1]) == (False, [])
    kept = client.get("/v1/memory/entries?space=work", headers=ada.headers).json["entries"]
    assert [each["text"] for each in kept] == [PREFERENCE]


@pytest.mark.parametrize(
    ("space", "said"),
    [("work", "there is no space 'work'; there are default"), ("", "there is no space ''; there are default")],
)
def test_a_space_that_is_not_there_ends_it_and_says_so(base_url, ada, space, said):
    command = [sys.executable, FOLDER / "mcp_server.py", base_url]
    environment = {"TOKEN": ada.token, "SPACE": space}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (1, f"no memory at {base_url}: 422, {said}\n")


def test_what_the_server_refuses_is_told_the_model_as_an_error(base_url, ada):
    no_such = "there is no such tool; there are memory_search"
    refused = [
        ("memory_search", {"question": "uv?"}, "query: Field required"),
        ("memory_shred", {}, no_such),
        ("../providers/test", {}, no_such),
    ]

    async def _called(session: Any) -> list[Any]:
        return [await session.call_tool(tool, arguments) for tool, arguments, _ in refused]

    for result, (tool, _, said) in zip(connected(base_url, ada.token, _called), refused, strict=True):
        assert result.is_error is True, tool
        assert said in result.content[0].text


def test_what_a_token_may_not_do_is_told_the_model_as_an_error(base_url, ada):
    reader = ada.new_token("read")["Authorization"].removeprefix("Bearer ")
    failed, text = call(base_url, reader, "memory_add", type="preference", content=PREFERENCE)
    assert failed is True
    assert text.startswith("the token lacks the scope write, it has read")


def test_a_server_that_goes_away_is_told_the_model_as_an_error(app, ada):
    server = served(app)
    base_url = server.__enter__()

    async def _called(session: Any) -> Any:
        server.__exit__(None, None, None)
        return await session.call_tool("memory_search", {"query": PREFERENCE})

    result = connected(base_url, ada.token, _called)
    assert (result.is_error, result.content[0].text) == (
        True,
        "Memory is out of reach (ConnectError): go on without it.",
    )


def test_a_token_that_is_revoked_meanwhile_is_told_as_such(base_url, ada):
    from mcp import MCPError

    token = ada.new_token("read")["Authorization"].removeprefix("Bearer ")

    async def _listed(session: Any) -> None:
        with ada.session() as own:
            own.execute(update(Token).where(Token.prefix == token[:11]).values(revoked_at=utc_now()))
        await session.list_tools()

    with pytest.raises(BaseExceptionGroup) as raised:
        connected(base_url, token, _listed)
    assert raised.group_contains(MCPError, match="^401, a valid bearer token is needed")


@pytest.mark.parametrize(
    ("args", "token", "said"),
    [
        ([], "cp_x", "usage: TOKEN="),
        (["http://127.0.0.1:1"], "", "usage: TOKEN="),
        (["http://127.0.0.1:1"], "cp_x", "no memory at http://127.0.0.1:1: All connection attempts failed"),
        (["gopher:"], "cp_x", "no memory at gopher:: Request URL has an unsupported protocol"),
    ],
)
def test_what_cannot_be_served_ends_and_says_why(args, token, said):
    command = [sys.executable, FOLDER / "mcp_server.py", *args]
    done = subprocess.run(command, env={"TOKEN": token}, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 1
    assert said in done.stderr.decode()
    assert done.stdout == b""


def test_a_token_that_cannot_be_used_ends_it_and_says_why(base_url, ada):
    writer = ada.new_token("write")["Authorization"].removeprefix("Bearer ")
    for environment, why in (
        ({"TOKEN": writer, "SPACE": "work"}, "422, there is no space 'work'"),
        (
            {"TOKEN": "cp_x"},
            "401, a valid bearer token is needed, as in Authorization: Bearer cp_...; one that was revoked or has "
            "expired is not",
        ),
    ):
        command = [sys.executable, FOLDER / "mcp_server.py", base_url]
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert (done.returncode, done.stderr.decode().strip()) == (1, f"no memory at {base_url}: {why}")


def test_a_token_that_may_not_read_stores_without_instructions(base_url, client, ada):
    client.put("/v1/preferences", json={"document": "Call me Ada."}, headers=ada.headers)
    writer = ada.new_token("write")["Authorization"].removeprefix("Bearer ")

    async def _used(session: Any) -> tuple[str | None, bool]:
        stored = await session.call_tool("memory_add", {"type": "preference", "content": PREFERENCE})
        return session.instructions, stored.is_error

    instructions, failed = connected(base_url, writer, _used)
    assert (instructions or "", failed) == ("", False)
    kept = client.get("/v1/memory/entries", headers=ada.headers).json["entries"]
    assert [each["text"] for each in kept] == [PREFERENCE]


def test_a_client_is_told_why_there_is_no_memory(base_url):
    # As Claude Code asks: whether the newest revision is spoken, which it does without, and then the handshake. Of
    # standard error neither it nor Codex shows anything: "Connection closed".
    asked = [
        {"method": "server/discover", "jsonrpc": "2.0", "id": "server-discover-probe-1", "params": {}},
        {"method": "initialize", "jsonrpc": "2.0", "id": 0, "params": {"protocolVersion": "2025-11-25"}},
        {"method": "notifications/initialized", "jsonrpc": "2.0"},
    ]
    sent = "".join(f"{json.dumps(each)}\n" for each in asked)
    for address, said in (
        (base_url, f"no memory at {base_url}: 401, a valid bearer token is needed"),
        ("http://127.0.0.1:1", "no memory at http://127.0.0.1:1: All connection attempts failed; start the server"),
    ):
        command = [sys.executable, FOLDER / "mcp_server.py", address]
        done = subprocess.run(
            command, env={"TOKEN": "cp_x"}, input=sent, capture_output=True, text=True, check=False, timeout=60
        )
        told = [json.loads(line) for line in done.stdout.splitlines()]
        assert [each["id"] for each in told] == ["server-discover-probe-1", 0]
        assert all(each["error"]["message"].startswith(said) for each in told)
        assert (done.returncode, done.stderr.startswith(said)) == (1, True)


def test_a_client_of_the_library_says_why_there_is_no_memory(base_url):
    from mcp import MCPError

    async def _never(_session: Any) -> None:
        raise AssertionError

    with pytest.raises(BaseExceptionGroup) as raised:
        connected(base_url, "cp_x", _never)
    assert raised.group_contains(MCPError, match="401, a valid bearer token is needed")


@pytest.fixture
def status() -> int:
    """Return the status with which another service answers."""
    return 200


@pytest.fixture
def another_service(told: bytes, status: int) -> Iterator[str]:
    """Return the address of something that answers whatever it is asked with these bytes."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(told)

        def do_POST(self) -> None:
            self.do_GET()

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("told", "status", "said"),
    [
        pytest.param(b"<p>Log in first</p>", 200, "something else answers there", id="a proxy"),
        pytest.param(b"[]", 200, "something else answers there", id="another service"),
        pytest.param(b"[]", 404, "something else answers there", id="another service refuses with a list"),
        pytest.param(b'{"errors": ["Not found"]}', 404, "something else answers there", id="another service refuses"),
        pytest.param(b'{"prompt": "", "error": true}', 200, "its database does not answer", id="a server alone"),
    ],
)
def test_what_is_no_memory_ends_it(another_service, said):
    command = [sys.executable, FOLDER / "mcp_server.py", another_service]
    done = subprocess.run(command, env={"TOKEN": "cp_x"}, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.stderr.decode() == f"no memory at {another_service}: {said}\n"


def test_a_token_that_opens_nothing_ends_it(base_url):
    command = [sys.executable, FOLDER / "mcp_server.py", base_url]
    done = subprocess.run(command, env={"TOKEN": "cp_no"}, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, b"401" in done.stderr, b"cp_no" in done.stderr) == (1, True, False)


@pytest.mark.parametrize("told", [b'{"prompt": "There is a memory."}'])
def test_what_is_no_answer_of_a_tool_is_told_the_model_as_an_error(another_service):
    assert call(another_service, "cp_x", "memory_search", query=PREFERENCE) == (
        True,
        "Memory is out of reach (KeyError): go on without it.",
    )
