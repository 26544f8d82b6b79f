"""Spoken commands, for tests of the interface that takes them."""

from __future__ import annotations

COMMAND = "/v1/command"


def say(agent, text, **more):
    """Say a sentence and return what it answers."""
    response = agent.post(COMMAND, {"text": text, **more})
    assert response.status_code == 200, response.json
    return response.json


def listed(answer):
    """Return the ids of the memories that an answer lists."""
    return {memory["id"] for memory in answer["memories"]}
