"""MemPalace: a wing for each user, a room for each session, a drawer for each memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mempalace.mcp_server import tool_add_drawer, tool_search


class Peer:
    """Option `candidates`: `vector`, the default, or `union`, which adds those of the keyword search."""

    packages = ("mempalace", "chromadb", "onnxruntime")

    def open(self, options: dict[str, Any]) -> str:
        """Begin a palace."""
        self._candidates = options["options"].get("candidates", "vector")
        self._keys: dict[str, str] = {}
        Path(options["home"], "palace").mkdir()
        return f"chroma, its own minilm by onnxruntime, candidates {self._candidates}"

    def store(self, user: str, memories: list[dict[str, Any]]) -> None:
        """File one by one; a text that is there already keeps its drawer."""
        for each in memories:
            room = re.sub(r"\W+", "-", f"session-{each['session'] or 'none'}")
            # Each memory is given a source of its own: of two without one, MemPalace takes the keyword candidates for
            # the same.
            source = f"{user}/{room}/{each['id']}"
            told = tool_add_drawer(wing=user, room=room, content=each["text"], source_file=source)
            if not told.get("success"):
                raise RuntimeError(str(told))
            self._keys.setdefault(told["drawer_id"], each["id"])

    def search(self, user: str, text: str, limit: int) -> list[tuple[str, float | None]]:
        """Search the user's wing."""
        told = tool_search(text, limit=limit, wing=user, candidate_strategy=self._candidates)
        if "error" in told:
            raise RuntimeError(str(told["error"]))
        return [(self._keys[each["drawer_id"]], each["similarity"] or 0.0) for each in told["results"]]

    def close(self) -> None:
        """There is nothing to close."""
