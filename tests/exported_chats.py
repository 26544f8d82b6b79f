"""Chats as ChatGPT and Claude export them, for tests."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

BEGAN = 1_714_554_000.0  # 2024-05-01T09:00:00Z


def node(name: str, parent: str | None, role: str = "user", said: Any = None, **message: Any) -> dict[str, Any]:
    """A node of a chat of ChatGPT, whose parts are `said`, or one of them."""
    parts = said if isinstance(said, list) else [said or f"{role} says {name}"]
    written = {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": BEGAN + 60,
        "content": {"content_type": "text", "parts": parts},
        "status": "finished_successfully",
        "recipient": "all",
        "metadata": {},
        **message,
    }
    return {"id": name, "message": written, "parent": parent, "children": []}


def chatgpt(*nodes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A chat of ChatGPT; without nodes one of a question and its answer. The last node is where it stands."""
    root = {"id": "root", "message": None, "parent": None, "children": []}
    told = nodes or (
        node("q1", "root", said="Where is the bus to Sintra?", metadata={"model_slug": "auto"}),
        node("a1", "q1", "assistant", "It leaves from Campo Grande.", metadata={"model_slug": "gpt-4o"}),
    )
    mapping = {each["id"]: each for each in (root, *told)}
    for each in told:
        if each["parent"] in mapping:
            mapping[each["parent"]]["children"].append(each["id"])
    return {
        "title": "Bus to Sintra",
        "create_time": BEGAN,
        "update_time": BEGAN + 90,
        "mapping": mapping,
        "current_node": told[-1]["id"],
        "conversation_id": "chat-1",
        "is_archived": False,
        **fields,
    }


def turn(name: str, sender: str = "human", said: str = "", **fields: Any) -> dict[str, Any]:
    """A message of a chat of Claude."""
    text = said or f"{sender} says {name}"
    return {
        "uuid": name,
        "sender": sender,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "created_at": "2024-06-01T10:00:00.123456Z",
        "updated_at": "2024-06-01T10:00:00.123456Z",
        "attachments": [],
        "files": [],
        **fields,
    }


def claude(*turns: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A chat of Claude; without turns one of a question and its answer."""
    return {
        "uuid": "chat-2",
        "name": "Pruning roses",
        "created_at": "2024-06-01T09:59:00Z",
        "updated_at": "2024-06-01T10:01:00Z",
        "account": {"uuid": "somebody"},
        "chat_messages": list(turns)
        or [turn("t1", said="When are roses pruned?"), turn("t2", "assistant", "In late winter.")],
        **fields,
    }


def archive(files: dict[str, Any]) -> bytes:
    """An archive of files; what is no text is written as JSON."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in files.items():
            writer.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return held.getvalue()
