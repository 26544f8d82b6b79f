"""An agent that speaks to the API as a person of the tests."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import described
from flask.testing import FlaskClient
from sqlalchemy import text
from werkzeug.test import TestResponse

from memory.clock import utc_now
from memory.spaces.spaces import create_space

ENTRIES = "/v1/memory/entries"
# Fixed, so that every process that runs these tests collects the same ones.
NOBODYS_ID = "018f2b6e-7d5c-7c1a-9f4e-3a1b5c7d9e0f"


@dataclass(frozen=True)
class Agent:
    """A client with a token, and whatever headers a session adds to it."""

    client: FlaskClient
    headers: dict[str, str]
    more: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        headers = {**self.headers, **self.more, **kwargs.pop("headers", {})}
        response = self.client.open(path, method=method, headers=headers, **kwargs)
        described.check(self.client.application, method, path, response)
        return response

    def get(self, path: str, **query: Any) -> TestResponse:
        return self.ask("GET", path, query_string=query)

    def post(self, path: str, body: Any = None, **kwargs: Any) -> TestResponse:
        return self.ask("POST", path, json=body, **kwargs) if body is not None else self.ask("POST", path, **kwargs)

    def patch(self, path: str, body: Any) -> TestResponse:
        return self.ask("PATCH", path, json=body)

    def delete(self, path: str, **query: Any) -> TestResponse:
        return self.ask("DELETE", path, query_string=query)

    def store(self, text_: str, **fields: Any) -> str:
        """Store a memory and return its id."""
        response = self.post(ENTRIES, {"text": text_, **fields})
        assert response.status_code == 201, response.json
        return str(response.json["id"])

    def entry(self, memory_id: str) -> dict[str, Any]:
        return dict(self.get(f"{ENTRIES}/{memory_id}").json)

    def texts(self, **query: Any) -> list[str]:
        """Return the texts that the list answers."""
        return [entry["text"] for entry in self.get(ENTRIES, **query).json["entries"]]

    def tool(self, name: str, **arguments: Any) -> TestResponse:
        return self.post(f"/v1/tools/{name}", arguments)

    def found(self, query: str, **arguments: Any) -> list[str]:
        """Return the texts that a search finds."""
        answer = self.tool("memory_search", query=query, **arguments).json
        return [hit["content_snippet"] for hit in answer["results"]]

    def in_session(self, name: str) -> Agent:
        return Agent(self.client, self.headers, {"X-Commonplace-Session": name})


def fields(response: TestResponse) -> list[str]:
    """Return the fields that a problem names; it must be one."""
    assert response.mimetype == "application/problem+json", response.text
    return [error["field"] for error in response.json.get("errors", [])]


def rows(person: Any, statement: str, **values: Any) -> Sequence[Any]:
    """Run SQL as the person and return the rows."""
    with person.session() as session:
        return session.execute(text(statement), {"user": person.id, **values}).all()


def memories_of(person: Any) -> int:
    """Return how many memories the person has."""
    return int(rows(person, "SELECT count(*) FROM memories")[0][0])


def add_space(person: Any, slug: str, **settings: Any) -> str:
    """Add a space and return its name."""
    with person.session() as session:
        create_space(session, person.id, slug, soft_cap=200, now=utc_now(), actor="test", **settings)
    return slug


def waited_for(session: Any, many: int = 1) -> bool:
    """Tell whether so many transactions wait for others within a minute."""
    # Not by `pg_stat_activity`, which stays as it was when a transaction first looked at it.
    waiting = text("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted")
    deadline = time.monotonic() + 60
    while session.scalar(waiting) < many and time.monotonic() < deadline:
        time.sleep(0.02)
    return session.scalar(waiting) >= many


def embed(person: Any) -> None:
    """Give the person's waiting items their vectors."""
    person.embed()


def three_memories(agent: Agent, person: Any) -> dict[str, str]:
    """Store three memories with their vectors; return their ids by a word of each."""
    ids = {
        "bees": agent.store(
            "Ada keeps bees on the roof", type="fact", theme="hobbies", tags=["bees"], source_ids=["m-1"]
        ),
        "tea": agent.store("I prefer green tea over coffee", type="preference"),
        "code": agent.store("The build ticket is ZX-81-QUUX", type="note"),
    }
    embed(person)
    return ids


def without_traces(response):
    """Return the answer without what names this very request."""
    return response.status_code, {k: v for k, v in response.json.items() if k not in {"instance", "request_id"}}
