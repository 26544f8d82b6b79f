"""The requests that the README shows, in their order, as they stand there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from api_agent import Agent, embed

README = (Path(__file__).parents[2] / "README.md").read_text()
REQUEST = re.compile(r"http://127\.0\.0\.1:8765(/v1/\S+?)\"? -H .*?-d '(\{.*?\})'", re.DOTALL)


def requests(heading: str) -> list[tuple[str, Any]]:
    """Return the path and the body of each request under a heading that sends one."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [(path, json.loads(body)) for path, body in REQUEST.findall(section)]


@pytest.mark.parametrize("embedded", [False, True], ids=["at once", "embedded"])
def test_the_memory_of_the_first_steps_is_found(client, ada, embedded) -> None:
    agent = Agent(client, ada.headers)
    (store_at, memory), (search_at, question) = requests("Store and recall with curl")
    assert agent.post(store_at, memory).status_code == 201
    if embedded:
        embed(ada)
    found = agent.post(search_at, question).json["results"]
    assert [hit["content_snippet"] for hit in found] == [memory["text"]]


@pytest.mark.parametrize("embedded", [False, True], ids=["at once", "embedded"])
def test_what_was_said_in_the_first_conversation_is_found(client, ada, embedded) -> None:
    agent = Agent(client, ada.headers)
    (start_at, start), (append_at, messages), (search_at, question) = requests("Conversations")
    conversation = agent.post(start_at, start).json["id"]
    assert agent.post(append_at.replace("$CONVERSATION", conversation), messages).json["counts"]["stored"] == 2
    if embedded:
        embed(ada)
    assert messages["messages"][0]["content"] in agent.post(search_at, question).json["results"][0]["content_snippet"]


def test_every_other_request_of_the_readme_is_taken(client, ada) -> None:
    agent = Agent(client, ada.headers)
    asked = [*requests("Facts"), *requests("Sharing between spaces")]
    assert [(path, agent.post(path, body).status_code) for path, body in asked] == [
        ("/v1/facts", 201),
        ("/v1/spaces", 201),
        ("/v1/spaces", 201),
        ("/v1/spaces/home/shares", 201),
    ]
