"""A memory system of the tests, which runs in a process of its own: it ranks by the words that texts share."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def refused(reach: Callable[..., object], *arguments: object) -> str:
    try:
        reach(*arguments)
    except OSError as error:
        return type(error).__name__
    return "reached"


class Peer:
    packages: tuple[str, ...] = ()

    def open(self, options: dict[str, Any]) -> str:
        self.mood, self.home = options["options"].get("mood", ""), options["home"]
        self.word = options["options"].get("word", "")
        self.kept: dict[str, list[dict[str, Any]]] = {}
        sys.stdout.write("this line is for people\n")
        sys.stdout.flush()
        if self.mood == "curious":
            return (
                f"{refused(socket.create_connection, ('192.0.2.1', 80), 1)} {refused(socket.gethostbyname, 'a.test')}"
            )
        return "shared words"

    def store(self, user: str, memories: list[dict[str, Any]]) -> None:
        if self.mood == "forgetful":
            raise LookupError("the shelf is gone")
        if self.mood == "dying":
            sys.stderr.write("out of memory\n")
            sys.stderr.flush()
            os._exit(3)
        self.kept[user] = memories

    def search(self, user: str, text: str, limit: int) -> list[tuple[str, float | None]]:
        if self.mood == "silent":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", self.word])
            time.sleep(600)
        if self.mood == "inventive":
            return [("no-such-id", 1.0)]
        shared = {each["id"]: len(words(text) & words(each["text"])) for each in self.kept[user]}
        found = sorted((each for each in shared if shared[each]), key=lambda each: -shared[each])
        # Twice the same, as a system that cuts texts into pieces would bring it.
        score = None if self.mood == "unscored" else float
        return [(each, score and score(shared[each])) for each in (*found[:1], *found[:limit])]

    def close(self) -> None:
        pass
