"""The tools of a Commonplace server for clients of the Model Context Protocol, over standard input and output.

TOKEN=cp_… python mcp_server.py http://127.0.0.1:8765

With SPACE, the name (slug) of one, the tools recall from that space and store there; with CONVERSATION, the id of one,
from and in the space of that conversation.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, NoReturn

import httpx
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SECONDS = 30.0


class Tools:
    """The tools as the server describes them, so that a client sees those of its version."""

    def __init__(self, server: httpx.AsyncClient, space: str | None) -> None:
        self._server = server
        self._of_space = {} if space is None else {"space": space}

    async def instructions(self) -> str:
        """Return when to use the tools, and how the user likes things done; nothing for a token that may not read.

        Raises `httpx.HTTPError`, also without a database.
        """
        told = [await self._told("memory/prompt", **self._of_space), await self._told("preferences/prompt")]
        return "\n\n".join(filter(None, told))

    async def _told(self, path: str, **query: str) -> str:
        response = await self._server.get(path, params=query)
        if response.status_code == httpx.codes.FORBIDDEN:
            # What lacks the scope `read` may still write. Whatever else is wrong with token or space is told here, too.
            _answer(await self._server.get("tools"))
            return ""
        answer = _answer(response)
        if answer.get("error"):
            # A client keeps the instructions that it is given now, so it would go on without memory even once the
            # database is back.
            raise httpx.HTTPError("its database does not answer")
        return str(answer["prompt"])

    async def listed(self, _context: Any, _page: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Return the tools that the token may call; raises `httpx.HTTPError`, of which the client is told the words."""
        answer = await self._server.get("tools", params={"format": "mcp"})
        return types.ListToolsResult.model_validate(_answer(answer))

    async def called(self, _context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        """Return what a tool answers; what it refuses, and a server that is away, is told the model as an error."""
        params = {"name": call.name, "arguments": call.arguments or {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        try:
            answer = (await self._server.post("../mcp", json=message)).json()
            if "result" in answer:
                return types.CallToolResult.model_validate(answer["result"])
            # What the protocol takes for an error of the program is one that a model can mend, as the name of a tool.
            return _result(answer["error"]["message"], is_error=True)
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            # Only the error's name: its text may quote the address or the question.
            return _result(f"Memory is out of reach ({type(error).__name__}): go on without it.", is_error=True)


def _answer(response: httpx.Response) -> dict[str, Any]:
    """Return what the server answers; raises `httpx.HTTPError` with its own words where it refuses.

    Raises `ValueError`, `LookupError` or `TypeError` where something else answers.
    """
    if not response.is_client_error:
        response.raise_for_status()
    answer = response.json()
    if not isinstance(answer, dict):
        raise ValueError("not an object")
    if response.is_client_error:
        # That a token is not valid, which scope it lacks, or that there is no such space.
        said = [error["message"] for error in answer.get("errors", ())] or [answer["detail"]]
        raise httpx.HTTPError(f"{response.status_code}, {said[0]}")
    return answer


def _result(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


async def serve(base_url: str, token: str, conversation: str | None = None, space: str | None = None) -> None:
    """Serve until standard input ends; raises `httpx.HTTPError` where the server is away, or refuses token or space."""
    headers = {"Authorization": f"Bearer {token}"}
    if conversation:
        headers["X-Commonplace-Conversation"] = conversation
    if space is not None:
        headers["X-Commonplace-Space"] = space
    async with httpx.AsyncClient(base_url=f"{base_url.rstrip('/')}/v1/", headers=headers, timeout=SECONDS) as client:
        tools = Tools(client, space)
        told = await tools.instructions()
        server = Server("commonplace", instructions=told, on_list_tools=tools.listed, on_call_tool=tools.called)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serve the address that is the one argument, with the token, the conversation and the space of the environment."""
    token = os.environ.get("TOKEN")
    if len(sys.argv) != 2 or not token:
        _end("usage: TOKEN=cp_… python mcp_server.py http://127.0.0.1:8765")
    try:
        asyncio.run(serve(sys.argv[1], token, os.environ.get("CONVERSATION"), os.environ.get("SPACE")))
    except (LookupError, TypeError, ValueError):
        _end(f"no memory at {sys.argv[1]}: something else answers there")
    except httpx.ConnectError as error:
        _end(f"no memory at {sys.argv[1]}: {error}; start the server there, then connect again")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        _end(f"no memory at {sys.argv[1]}: {str(error).partition(chr(10))[0]}")


def _end(why: str) -> NoReturn:
    """Say why there is no memory on standard error, and to a client, which shows its user nothing of that."""
    sys.stderr.write(f"{why}\n")
    sys.stderr.flush()
    if not sys.stdin.isatty():
        # Until the client ends it: what it asks first may be a revision that it does without.
        for line in sys.stdin.buffer:
            try:
                asked = json.loads(line)["id"]
                told = {"jsonrpc": "2.0", "id": asked, "error": {"code": types.INTERNAL_ERROR, "message": why}}
                sys.stdout.write(f"{json.dumps(told)}\n")
                sys.stdout.flush()
            except (ValueError, LookupError, TypeError):
                # A notification, which waits for no answer, or no message at all.
                continue
            except OSError:
                break
    sys.exit(1)


if __name__ == "__main__":
    main()
