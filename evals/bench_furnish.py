"""What a user has besides memories: a conversation, spaces, preferences, and a record of searches and writes."""

from __future__ import annotations

from typing import Any

import httpx

from evals.corpus import WordModel
from evals.stock import SPACE

MESSAGES, SEARCHES, WRITES, SPACES = 200, 100, 50, 5
PREFERENCES = """---
answers:
  language: en
---
I like short answers, and examples where there are any.
"""


def furnish(base_url: str, token: str, words: WordModel) -> None:
    """Add everything over the HTTP interface; raises `httpx.HTTPStatusError` where the server refuses."""
    with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        thread = _post(client, "/v1/conversations", {"title": "A long talk"})["id"]
        texts = words.texts(MESSAGES + WRITES)
        messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts[:MESSAGES])]
        _post(client, f"/v1/conversations/{thread}/messages", {"messages": messages})
        for number in range(SPACES):
            _post(client, "/v1/spaces", {"slug": f"project-{number}"})
        for question in words.questions(SEARCHES):
            _post(client, "/v1/tools/memory_search", {"query": question, "space": SPACE})
        for number, text in enumerate(texts[MESSAGES:]):
            entry = {"content": text, "tags": [f"tag-{number % 7}"], "theme": f"theme-{number % 5}"}
            _post(client, "/v1/tools/memory_add", entry)
        client.put("/v1/preferences", json={"document": PREFERENCES}).raise_for_status()


def _post(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = client.post(path, json=body)
    response.raise_for_status()
    return dict(response.json())
