"""The clients that the README names, and the server's own address for the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import tomllib
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from webapp.tools import TOOLS

pytestmark = pytest.mark.slow

README = (Path(__file__).parents[2] / "integrations" / "README.md").read_text()
SECTION = README.partition("\n## Clients of the Model Context Protocol\n")[2].partition("\n## ")[0]
SHOWN = "http://127.0.0.1:8765"
PREFERENCE = "I prefer uv over pip for Python projects"
NEWEST = "2026-07-28"
T = TypeVar("T")


def alone(coroutine: Callable[[], Awaitable[T]]) -> T:
    """Run it in a thread of its own: the browser tests' driver keeps an event loop running in this one."""

    async def _run() -> T:
        return await coroutine()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(_run())).result()


def connected(base_url: str, headers: dict[str, str], mode: str, use: Callable[[Any], Awaitable[T]]) -> T:
    """Use what the real client gets: `legacy` is its handshake, `auto` asks for the newest revision first."""

    async def _use() -> T:
        # Here, as every process of the tests reads this file, and one of them runs it.
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{base_url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                return await use(client)

    return alone(_use)


ALL = pytest.mark.parametrize("mode", ["legacy", "auto", NEWEST])


@ALL
def test_a_client_is_told_the_tools_and_when_to_use_them(base_url, client, ada, mode):
    async def _told(session: Any) -> tuple[list[dict[str, Any]], str | None]:
        tools = (await session.list_tools()).tools
        return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in tools], session.instructions

    tools, instructions = connected(base_url, ada.headers, mode, _told)
    assert tools == client.get("/v1/tools?format=mcp", headers=ada.headers).json["tools"]
    # Whoever begins at once in a revision without a handshake asks for nothing but the tools.
    told = client.get("/v1/memory/prompt", headers=ada.headers).json["prompt"]
    assert instructions == (None if mode == NEWEST else told)


@pytest.mark.parametrize(("mode", "spoken"), [("legacy", "2025-11-25"), ("auto", NEWEST)])
def test_a_client_speaks_the_newest_that_both_know(base_url, ada, mode, spoken):
    async def _spoken(session: Any) -> str:
        return str(session.protocol_version)

    assert connected(base_url, ada.headers, mode, _spoken) == spoken


@ALL
def test_a_model_remembers_and_finds(base_url, ada, mode):
    async def _used(session: Any) -> tuple[bool, str]:
        await session.call_tool("memory_add", {"type": "preference", "content": PREFERENCE})
        answer = await session.call_tool("memory_search", {"query": "uv or pip for Python projects"})
        return answer.is_error, answer.content[0].text

    failed, text = connected(base_url, ada.headers, mode, _used)
    assert failed is False
    assert [hit["content_snippet"] for hit in json.loads(text)["results"]] == [PREFERENCE]


@ALL
def test_what_the_server_refuses_is_told_the_model_as_an_error(base_url, ada, mode):
    async def _refused(session: Any) -> tuple[bool, str]:
        answer = await session.call_tool("memory_search", {"question": "uv?"})
        return answer.is_error, answer.content[0].text

    failed, text = connected(base_url, ada.headers, mode, _refused)
    assert (failed, "query: Field required" in text) == (True, True)


@ALL
def test_a_tool_that_there_is_not_is_an_error_of_the_protocol(base_url, ada, mode):
    async def _shredded(session: Any) -> str:
        from mcp import MCPError

        with pytest.raises(MCPError) as raised:
            await session.call_tool("memory_shred", {})
        return str(raised.value)

    assert "there is no such tool; there are memory_search" in connected(base_url, ada.headers, mode, _shredded)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_without_a_token_is_not_let_in_and_says_why(base_url, mode):
    from mcp import MCPError

    async def _never(_session: Any) -> None:
        raise AssertionError

    with pytest.raises(BaseExceptionGroup) as raised:
        connected(base_url, {}, mode, _never)
    assert not raised.group_contains(AssertionError)
    assert raised.group_contains(MCPError, match="^a valid bearer token is needed, as in Authorization: Bearer cp_")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)


def test_an_agent_of_the_agents_sdk_has_the_tools(base_url, ada):
    [block] = [each for each in blocks("python") if "MCPServerStreamableHttp(" in each]
    [written] = re.findall(r"^params = .*$", block, re.MULTILINE)

    async def _used() -> tuple[list[str], Any]:
        from agents.mcp import MCPServerStreamableHttp

        shown: dict[str, Any] = {"os": os}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TOKEN", ada.token)
            exec(written, shown)
        params = shown["params"]
        async with MCPServerStreamableHttp({**params, "url": params["url"].replace(SHOWN, base_url)}) as server:
            tools = [each.name for each in await server.list_tools()]
            answer = await server.call_tool("memory_add", {"type": "preference", "content": PREFERENCE})
            return tools, answer

    tools, answer = alone(_used)
    assert tools == list(TOOLS)
    assert json.loads(answer.content[0].text)["status"]["outcome"] == "created"


def test_every_client_of_the_readme_is_set_to_the_address():
    # Those in JSON, for OpenCode, Cursor, VS Code and a project; the rest start the program.
    shown = [next(iter(json.loads(each).values()))["memory"] for each in blocks("json")]
    [codex] = [tomllib.loads(each)["mcp_servers"]["memory"] for each in blocks("toml")]
    by_address = [each for each in shown if "command" not in each]
    assert [each["url"] for each in (*by_address, codex)] == [f"{SHOWN}/mcp"] * 5
    assert all(each["headers"]["Authorization"].startswith("Bearer ") for each in by_address)
    assert codex["http_headers"]["Authorization"].startswith("Bearer ")
    commands = [line for block in blocks("sh") for line in block.splitlines() if " memory " in line]
    assert [f"{SHOWN}/mcp" in each for each in commands] == [True] * 5
    assert [f"{SHOWN}/mcp" in each for each in (*blocks("python"), *blocks("yaml"))] == [True] * 3


def test_what_tells_what_is_wrong_does_so(base_url, ada):
    [command] = [block for block in blocks("sh") if block.startswith("curl ")]
    for token, said in ((ada.token, '"name":"commonplace"'), ("cp_x", "a valid bearer token is needed")):
        done = subprocess.run(
            command.replace(SHOWN, base_url).replace("cp_...", token),
            shell=True,
            capture_output=True,
            check=True,
            text=True,
        )
        assert said in done.stdout
