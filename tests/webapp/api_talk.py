"""A conversation as an agent of the tests holds it over HTTP."""

from __future__ import annotations

from typing import Any

from api_agent import Agent
from werkzeug.test import TestResponse

CONVERSATIONS = "/v1/conversations"


class Talk:
    """One conversation, opened when this is made."""

    def __init__(self, agent: Agent, **fields: Any) -> None:
        self.agent = agent
        self.opened = agent.post(CONVERSATIONS, fields)
        assert self.opened.status_code in {200, 201}, self.opened.json
        self.id = str(self.opened.json["id"])
        self.path = f"{CONVERSATIONS}/{self.id}"
        self.page = f"/conversations/{self.id}"

    def post(self, body: dict[str, Any]) -> TestResponse:
        return self.agent.post(f"{self.path}/messages", body)

    def say(self, content: str, role: str = "user", **fields: Any) -> dict[str, Any]:
        """Append one message and return what became of it."""
        response = self.post({"message": {"role": role, "content": content, **fields}})
        assert response.status_code in {200, 201}, response.json
        return dict(response.json["results"][0])

    def turn(self, question: str, reply: str) -> None:
        """Append a question with its reply."""
        messages = [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
        assert self.post({"messages": messages}).status_code == 201

    def head(self) -> dict[str, Any]:
        return dict(self.agent.get(self.path).json)

    def messages(self, **query: Any) -> list[dict[str, Any]]:
        return list(self.agent.get(f"{self.path}/messages", **query).json["messages"])

    def said(self, **query: Any) -> list[str]:
        return [message["content"] for message in self.messages(**query)]

    def history(self, format_: str, **query: Any) -> list[Any]:
        return list(self.agent.get(f"{self.path}/messages", format=format_, **query).json["history"])

    def change(self, **changes: Any) -> TestResponse:
        return self.agent.patch(self.path, changes)


def titles(agent: Agent, **query: Any) -> list[str]:
    """Return the titles that the list answers."""
    return [found["title"] for found in agent.get(CONVERSATIONS, **query).json["conversations"]]
