"""Facts as an agent of the tests states and reads them over HTTP."""

from __future__ import annotations

from typing import Any

from api_agent import Agent

FACTS = "/v1/facts"
SPRING, SUMMER, AUTUMN = (f"2024-{month:02}-01T00:00:00+00:00" for month in (3, 6, 9))


def stated(
    agent: Agent, object_: str, subject: str = "Robin", predicate: str = "lives in", **more: Any
) -> dict[str, Any]:
    """State a fact and return the answer."""
    response = agent.post(FACTS, {"subject": subject, "predicate": predicate, "object": object_, **more})
    assert response.status_code in {200, 201}, response.json
    return dict(response.json)


def told(agent: Agent, **query: Any) -> list[str]:
    """Return the objects of the facts in the list."""
    return [fact["object"] for fact in agent.get(FACTS, **query).json["facts"]]
