"""An agent of the real OpenAI Agents SDK, a model endpoint that plays its part, and a real server."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.writing.remember import remember_many
from retrieval.words.tokens import count

pytestmark = pytest.mark.slow

QUESTION = "Which package manager should I use for Python?"
PREFERENCE = "I prefer uv over pip for Python projects"
# As a model would ask its memory; close in words, as nothing here waits for vectors.
LOOKED_FOR = "uv or pip for Python projects"


class Model(ThreadingHTTPServer):
    """Plays a model that always asks its memory first and then answers with what the first memory says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Turn)
        self.requests: list[dict[str, Any]] = []
        self.arguments: dict[str, Any] = {"query": LOOKED_FOR, "types": None}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        last = request["messages"][-1]
        if last["role"] != "tool":
            function = {"name": "query_memory", "arguments": json.dumps(self.arguments)}
            call = {"id": f"call_{len(self.requests)}", "type": "function", "function": function}
            return {"content": None, "tool_calls": [call]}
        memories = json.loads(last["content"])["memories"]
        said = f"You told me: {memories[0]['content']} ({memories[0]['context']})." if memories else "I would use pip."
        return {"content": said}


class _Turn(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", **self.server.reply(request)}
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "stub",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def model() -> Iterator[Model]:
    server = Model()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@dataclass
class Run:
    """What became of one run: the agent's last words, and what the tool told the model."""

    final: str
    told: dict[str, Any]
    seconds: float


@pytest.fixture
def ask(model) -> Callable[..., Run]:
    """Let an agent with this tool answer the question."""

    def _ask(base_url: str, token: str, **more: Any) -> Run:
        # In a thread of its own: the browser tests' driver keeps an event loop running in this one.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(_run(base_url, token, more))).result()

    async def _run(base_url: str, token: str, more: dict[str, Any]) -> Run:
        # Here, as every process of the tests reads this file, and one of them runs it.
        from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner
        from openai import AsyncOpenAI

        from integrations.openai_agents import GUIDANCE, query_memory_tool

        async with AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0) as client:
            agent = Agent(
                name="Assistant",
                instructions=GUIDANCE,
                # Most of these are not about time, and a busy machine may take longer than an agent likes to wait.
                tools=[query_memory_tool(base_url, token, **{"timeout": 30.0, **more})],
                model=OpenAIChatCompletionsModel("stub", client),
            )
            started = time.perf_counter()
            result = await Runner.run(agent, QUESTION, run_config=RunConfig(tracing_disabled=True))
            seconds = time.perf_counter() - started
        tool_message = model.requests[-1]["messages"][-1]
        return Run(result.final_output, json.loads(tool_message["content"]), seconds)

    return _ask


def remember(person: Any, *drafts: Draft, space: str = "default") -> None:
    with person.session() as session:
        remember_many(session, person.id, space, drafts, keys=person.runtime.keys, now=utc_now(), actor="test")


@contextmanager
def answering(status: int, body: bytes, delay: float = 0.0) -> Iterator[str]:
    """Serve one answer for everything, after a delay."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            time.sleep(delay)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_agent_calls_the_tool_and_cites_what_it_gets(ask, base_url, ada):
    remember(ada, Draft(PREFERENCE, type="preference"), Draft("The kiln reaches cone ten by noon"))
    run = ask(base_url, ada.token)
    assert run.final == f"You told me: {PREFERENCE} (user, {utc_now():%Y-%m-%d})."
    assert run.told["metadata"] == {"count": 1, "truncated": False}
    assert 0 < run.told["memories"][0]["relevance"] <= 1


def test_the_model_sees_the_guidance_and_a_strict_tool(ask, base_url, ada, model):
    from integrations.openai_agents import GUIDANCE

    ask(base_url, ada.token)
    first = model.requests[0]
    function = first["tools"][0]["function"]
    assert first["messages"][0]["content"] == GUIDANCE
    assert (function["name"], function["strict"]) == ("query_memory", True)
    assert set(function["parameters"]["properties"]) == {"query", "types"}


def test_the_memories_stay_within_the_token_budget(ask, base_url, ada):
    lines = [f"Python projects with uv and pip, part {n}: " + f"topic{n} detail " * 120 for n in range(10)]
    remember(ada, *(Draft(line) for line in lines))
    told = ask(base_url, ada.token).told
    budget = ada.runtime.settings.token_budget
    assert told["metadata"]["truncated"] is True
    assert budget / 2 < sum(count(memory["content"]) for memory in told["memories"]) <= budget


def test_types_narrow_what_is_found(ask, base_url, ada, model):
    remember(ada, Draft(PREFERENCE, type="preference"), Draft("We use pip in Python projects", type="decision"))
    model.arguments = {"query": LOOKED_FOR, "types": ["decision"]}
    assert [memory["type"] for memory in ask(base_url, ada.token).told["memories"]] == ["decision"]


def test_another_users_memories_stay_theirs(ask, base_url, ada, bob):
    remember(ada, Draft(PREFERENCE))
    assert ask(base_url, bob.token).told["memories"] == []


def test_a_service_token_acts_for_the_named_user(ask, base_url, ada, root):
    remember(ada, Draft(PREFERENCE))
    assert ask(base_url, root.token, user=ada.email).told["memories"][0]["content"] == PREFERENCE


def test_in_a_conversation_of_a_space_the_agent_recalls_that_space(ask, base_url, ada, client):
    remember(ada, Draft(PREFERENCE))
    client.post("/v1/spaces", json={"slug": "work"}, headers=ada.headers)
    talk = client.post("/v1/conversations", json={"external_id": "t", "space": "work"}, headers=ada.headers).json["id"]
    told = ask(base_url, ada.token, conversation=talk).told
    assert (told["memories"], told.get("error")) == ([], None)


def test_for_a_space_the_agent_recalls_that_space(ask, base_url, ada, client):
    client.post("/v1/spaces", json={"slug": "work"}, headers=ada.headers)
    remember(ada, Draft(PREFERENCE))
    assert ask(base_url, ada.token, space="work").told["memories"] == []
    remember(ada, Draft("We use pip in Python projects"), space="work")
    assert [each["content"] for each in ask(base_url, ada.token, space="work").told["memories"]] == [
        "We use pip in Python projects"
    ]


def test_a_space_that_is_not_there_is_an_error_and_no_crash(ask, base_url, ada):
    remember(ada, Draft(PREFERENCE))
    told = ask(base_url, ada.token, space="work").told
    assert (told["memories"], told["error"]) == ([], True)


@pytest.mark.parametrize("name", ["private", "séance", "日本"])
def test_an_incognito_session_recalls_nothing(ask, base_url, ada, client, name):
    remember(ada, Draft(PREFERENCE))
    client.post("/v1/memory/incognito/start", json={"session": name}, headers=ada.headers)
    told = ask(base_url, ada.token, session=name).told
    assert (told["memories"], told.get("degraded")) == ([], ["incognito"])


def test_the_agent_goes_on_when_the_server_is_down(ask, ada):
    run = ask(f"http://127.0.0.1:{free_port()}", ada.token)
    assert run.told == {"memories": [], "metadata": {"count": 0, "truncated": False}, "error": True}
    assert run.final == "I would use pip."


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"{}"),
        (502, b"<html>"),
        (302, b""),
        (200, b"not JSON"),
        (200, b"[]"),
        (200, b'{"memories": null}'),
        (200, b"\xff"),
    ],
)
def test_the_agent_goes_on_when_the_server_answers_no_memories(ask, ada, status, body):
    with answering(status, body) as url:
        run = ask(url, ada.token)
    assert (run.told["error"], run.final) == (True, "I would use pip.")


def test_the_agent_goes_on_when_the_server_says_error(ask, ada):
    with answering(200, b'{"memories": [], "metadata": {"count": 0, "truncated": false}, "error": true}') as url:
        assert ask(url, ada.token).told["error"] is True


def test_the_agent_goes_on_when_the_server_is_too_slow(ask, ada):
    with answering(200, b'{"memories": []}', delay=60) as url:
        run = ask(url, ada.token, timeout=0.2)
    assert (run.told["error"], run.final) == (True, "I would use pip.")
    assert run.seconds < 30


def test_a_token_that_opens_nothing_is_an_error_and_no_crash(ask, base_url):
    assert ask(base_url, "cp_wrong").told["error"] is True


def test_a_question_that_the_server_refuses_is_an_error_and_no_crash(ask, base_url, ada, model):
    model.arguments = {"query": "  ", "types": None}
    assert ask(base_url, ada.token).told["error"] is True


def test_the_log_of_a_failure_tells_no_secret(ask, ada, caplog):
    with caplog.at_level(logging.WARNING, "integrations.openai_agents"):
        ask(f"http://127.0.0.1:{free_port()}", ada.token)
    logged = [record.getMessage() for record in caplog.records if record.name == "integrations.openai_agents"]
    assert logged == ["memory is out of reach, the agent goes on without it: ConnectError"]


def test_the_log_tells_a_token_that_is_refused_from_a_server_that_is_away(ask, base_url, ada, caplog):
    writer = ada.new_token("write")["Authorization"].removeprefix("Bearer ")
    for token in ("cp_wrong", writer):
        ask(base_url, token)
    logged = [record.getMessage()[-19:] for record in caplog.records if record.name == "integrations.openai_agents"]
    assert logged == ["HTTPStatusError 401", "HTTPStatusError 403"]


def test_the_module_stands_alone():
    code = (
        "import integrations.openai_agents, sys;"
        "sys.exit(any(name.partition('.')[0] in {'memory', 'retrieval', 'tasks', 'webapp', 'evals', 'config'}"
        " for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_example_of_the_readme_carries_a_conversation_on(monkeypatch, base_url, ada, model):
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    from integrations.openai_agents import query_memory_tool

    set_tracing_disabled(True)
    readme = (Path(__file__).parents[2] / "integrations" / "README.md").read_text()
    (example,) = re.findall(r"```python\n(import httpx\n.*?)```", readme, re.DOTALL)
    assert "http://127.0.0.1:8765" in example
    monkeypatch.setenv("TOKEN", ada.token)
    remember(ada, Draft(PREFERENCE, type="preference"))

    def run() -> list[dict[str, Any]]:
        client = AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0)
        tools = [query_memory_tool(base_url, ada.token)]
        agent = Agent(name="Assistant", tools=tools, model=OpenAIChatCompletionsModel("stub", client))
        names: dict[str, Any] = {"os": os, "Runner": Runner, "agent": agent}
        exec(example.replace("http://127.0.0.1:8765", base_url), names)
        answer = names["server"].get(f"conversations/{names['thread']}/messages", params={"format": "openai"})
        return list(answer.json()["history"])

    # In a thread of its own, as above.
    with ThreadPoolExecutor(1) as thread:
        first, second = thread.submit(run).result(), thread.submit(run).result()
    kinds = [item.get("type") or item["role"] for item in first]
    assert kinds == ["user", "function_call", "function_call_output", "message"]
    assert second[:4] == first
    assert len(second) == 8
    # What the model was sent at last has the first turn, its call and what that gave.
    roles = [each["role"] for each in model.requests[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]


# --- sessions ---------------------------------------------------------------------------------------------------------

T = TypeVar("T")


@pytest.fixture
def in_session(base_url) -> Callable[..., Any]:
    """Use a session of this name, in a thread of its own as above."""

    def _in_session(token: str, use: Callable[[Any], Coroutine[Any, Any, T]], name: str = "thread", **more: Any) -> T:
        from integrations.openai_agents import ConversationSession

        session = ConversationSession(more.pop("url", base_url), token, name, **{"timeout": 30.0, **more})
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(use(session))).result()

    return _in_session


def item(n: int) -> dict[str, Any]:
    """Return an item as the SDK keeps it: of every four one is a call of a tool, and the next what that gave."""
    call = {"call_id": f"c{n // 2}"}
    return [
        {"role": "user", "content": f"Question {n}"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": f"Answer {n}"}],
            "id": f"m{n}",
        },
        {"type": "function_call", "name": "look_up", "arguments": "{}", **call},
        {"type": "function_call_output", "output": f"Result {n}", **call},
    ][n % 4]


async def used(session: Any) -> list[Any]:
    """Do what the SDK does with a session, and return what it saw."""
    seen = [await session.pop_item(), await session.get_items()]
    await session.add_items([])
    await session.add_items([item(n) for n in range(230)])
    seen += [await session.get_items(limit) for limit in (None, 1, 3, 120, 1000)]
    seen += [await session.pop_item() for _ in range(3)]
    seen += [await session.get_items(2)]
    await session.add_items([item(300)])
    seen += [await session.get_items(4), await session.pop_item(), await session.pop_item(), await session.get_items()]
    await session.clear_session()
    seen += [await session.get_items(), await session.pop_item()]
    await session.add_items([item(1)])
    return [*seen, await session.get_items()]


def test_a_session_does_what_the_one_of_the_sdk_does(in_session, ada):
    from agents import Session, SQLiteSession

    async def _compared(session: Any) -> tuple[list[Any], list[Any]]:
        own = SQLiteSession("thread")
        try:
            assert isinstance(session, Session)
            return await used(session), await used(own)
        finally:
            own.close()

    ours, theirs = in_session(ada.token, _compared)
    assert ours == theirs


def test_the_session_of_the_readme_carries_an_agent_on(monkeypatch, base_url, ada, model, client):
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    from integrations.openai_agents import query_memory_tool

    set_tracing_disabled(True)
    readme = (Path(__file__).parents[2] / "integrations" / "README.md").read_text()
    (example,) = re.findall(
        r"```python\n(from integrations.openai_agents import ConversationSession\n.*?)```", readme, re.DOTALL
    )
    assert "http://127.0.0.1:8765" in example
    monkeypatch.setenv("TOKEN", ada.token)
    remember(ada, Draft(PREFERENCE, type="preference"))

    def run() -> None:
        endpoint = AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0)
        tools = [query_memory_tool(base_url, ada.token, timeout=30.0)]
        agent = Agent(name="Assistant", tools=tools, model=OpenAIChatCompletionsModel("stub", endpoint))
        exec(example.replace("http://127.0.0.1:8765", base_url), {"os": os, "Runner": Runner, "agent": agent})

    # In a thread of its own, as above.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: (run(), run())).result()
    roles = [each["role"] for each in model.requests[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    (talk,) = client.get("/v1/conversations", headers=ada.headers).json["conversations"]
    assert (talk["external_id"], talk["message_count"]) == ("thread-1", 8)


def test_what_a_session_takes_out_stays_in_the_conversation(in_session, ada, client):
    async def _popped(session: Any) -> Any:
        await session.add_items([item(0), item(1)])
        return await session.pop_item()

    async def _items(session: Any) -> Any:
        return await session.get_items()

    assert in_session(ada.token, _popped) == item(1)
    assert in_session(ada.token, _items) == [item(0)]
    (talk,) = client.get("/v1/conversations", headers=ada.headers).json["conversations"]
    messages = client.get(f"/v1/conversations/{talk['id']}/messages", headers=ada.headers).json["messages"]
    assert [message["content"] for message in messages] == ["Question 0", "Answer 1"]
    assert talk["metadata"] == {"left_out": [2]}


def test_what_a_conversation_is_noted_with_stays_when_an_item_is_taken_out(in_session, ada, client):
    client.post("/v1/conversations", json={"external_id": "thread", "metadata": {"a": 1}}, headers=ada.headers)

    async def _popped(session: Any) -> None:
        await session.add_items([item(0)])
        await session.pop_item()

    in_session(ada.token, _popped)
    (talk,) = client.get("/v1/conversations", headers=ada.headers).json["conversations"]
    assert talk["metadata"] == {"a": 1, "left_out": [1]}


def test_a_session_has_as_many_items_as_it_is_set_to(in_session, ada):
    from agents.memory import SessionSettings

    async def _items(session: Any) -> Any:
        await session.add_items([item(n) for n in range(4)])
        session.session_settings = SessionSettings(limit=2)
        return await session.get_items(), await session.get_items(3)

    assert in_session(ada.token, _items) == ([item(2), item(3)], [item(1), item(2), item(3)])


def test_a_token_that_may_not_forget_clears_nothing(in_session, ada, client):
    import httpx

    writer = ada.new_token("read", "write")["Authorization"].removeprefix("Bearer ")

    async def _cleared(session: Any) -> None:
        await session.add_items([item(0)])
        await session.clear_session()

    with pytest.raises(httpx.HTTPStatusError, match="403"):
        in_session(writer, _cleared)
    assert client.get("/v1/conversations", headers=ada.headers).json["conversations"][0]["message_count"] == 1


@pytest.mark.parametrize("session", [None, "séance"])
def test_an_incognito_session_keeps_nothing_and_goes_on(in_session, ada, client, session):
    import httpx

    async def _items(session: Any) -> Any:
        await session.add_items([item(0)])
        return await session.get_items(), await session.pop_item()

    kept = in_session(ada.token, _items, session=session)
    client.post("/v1/memory/incognito/start", json={"session": session} if session else {}, headers=ada.headers)
    hidden = in_session(ada.token, _items, session=session)
    assert (kept, hidden) == (([item(0)], item(0)), ([], None))

    async def _cleared(session: Any) -> None:
        await session.clear_session()

    with pytest.raises(httpx.HTTPError, match="incognito"):
        in_session(ada.token, _cleared, session=session)
    client.post("/v1/memory/incognito/end", json={"session": session} if session else {}, headers=ada.headers)
    (talk,) = client.get("/v1/conversations", headers=ada.headers).json["conversations"]
    assert talk["message_count"] == 1


def test_a_session_is_in_its_space_and_its_users(in_session, ada, bob, client):
    client.post("/v1/spaces", json={"slug": "work"}, headers=ada.headers)

    async def _added(session: Any) -> Any:
        await session.add_items([item(0)])

    async def _items(session: Any) -> Any:
        return await session.get_items()

    in_session(ada.token, _added, space="work")
    (talk,) = client.get("/v1/conversations", headers=ada.headers).json["conversations"]
    assert (talk["space"], talk["external_id"]) == ("work", "thread")
    assert [in_session(ada.token, _items, space=space) for space in ("work", "default")] == [[item(0)], []]
    assert in_session(bob.token, _items) == []


def test_a_session_without_its_server_is_no_empty_one(in_session, ada):
    import httpx

    async def _items(session: Any) -> Any:
        return await session.get_items()

    with pytest.raises(httpx.ConnectError):
        in_session(ada.token, _items, url=f"http://127.0.0.1:{free_port()}")


def test_the_example_of_the_readme_makes_an_agent_of_what_it_names(monkeypatch):
    readme = (Path(__file__).parents[2] / "integrations" / "README.md").read_text()
    readme = readme.partition("\n## OpenAI Agents SDK\n")[2]
    (shell,) = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    (example,) = re.findall(r"```python\n(.*?)^print", readme, re.DOTALL | re.MULTILINE)
    exported = re.search(r"^export (\w+)=\$\(\.venv/bin/commonplace token create ", shell, re.MULTILINE)
    monkeypatch.setenv(exported[1], "cp_example")
    names: dict[str, Any] = {}
    exec(example, names)
    assert [tool.name for tool in names["agent"].tools] == ["query_memory"]
