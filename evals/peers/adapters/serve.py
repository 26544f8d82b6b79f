"""Speak for a peer: requests and answers are JSON, one a line, on standard input and output.

Started as `python serve.py MODULE`, with a module of this folder that has a class `Peer`. It is run by the interpreter
of the peer's environment, and so imports the standard library only. The requests:

- `open`: `home` (an empty folder), `model` (a folder in the format of sentence-transformers), `onnx` (the same model as
  ONNX), `dimensions`, `postgres` (an address), `options`. The answer has `versions` and `settings`.
- `store`: `user`, and `memories` with `id`, `text`, `speaker`, `date`, `session`; the last three may be null. The
  answer has `seconds`.
- `search`: `user`, `text`, `limit`. The answer has `ids`, best first, each once, `best`, the highest score of
  these in the peer's own units, null where it tells none, and `milliseconds`.
- `close`. The answer has `strangers`: the other hosts that the peer tried to reach, all of which were refused.

What fails is answered with `error`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import time
import traceback
from typing import Any, Protocol

LOCAL = ("127.", "::1", "localhost", "0.0.0.0")  # noqa: S104 - a name to compare with, nothing listens


class Peer(Protocol):
    """What a module of this folder has to offer. `packages` are those whose versions matter."""

    packages: tuple[str, ...]

    def open(self, options: dict[str, Any]) -> str:
        """Start with nothing stored; return the settings, in words."""
        ...

    def store(self, user: str, memories: list[dict[str, Any]]) -> None:
        """Store all of a user's memories, and make them ready to be searched."""
        ...

    def search(self, user: str, text: str, limit: int) -> list[tuple[str, float | None]]:
        """Return the ids of what is found among the user's memories, best first, each with its score if it has one."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Border:
    """Lets nothing out of this host, and keeps who was asked for."""

    def __init__(self) -> None:
        self.strangers: list[str] = []
        sys.addaudithook(self._watch)

    def _watch(self, event: str, args: tuple[Any, ...]) -> None:
        if event in {"socket.connect", "socket.sendto", "socket.sendmsg"} and isinstance(args[1], tuple):
            self._check(args[1][0])
        elif event in {"socket.getaddrinfo", "socket.gethostbyname"} and args[0] is not None:
            self._check(args[0])

    def _check(self, host: Any) -> None:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if not name.startswith(LOCAL):
            self.strangers.append(name)
            raise PermissionError(f"no network while measuring: {name}")


def answer(peer: Peer, border: Border, request: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for."""
    action = request["do"]
    start = time.perf_counter()
    if action == "open":
        settings = peer.open(request)
        return {"settings": settings, "versions": {name: importlib.metadata.version(name) for name in peer.packages}}
    if action == "store":
        peer.store(request["user"], request["memories"])
        return {"seconds": time.perf_counter() - start}
    if action == "search":
        hits = peer.search(request["user"], request["text"], request["limit"])
        milliseconds = (time.perf_counter() - start) * 1000
        best = max((score for _id, score in hits if score is not None), default=None)
        return {"ids": list(dict.fromkeys(one for one, _score in hits)), "best": best, "milliseconds": milliseconds}
    if action == "close":
        peer.close()
        return {"strangers": sorted(set(border.strangers))}
    raise ValueError(f"unknown request {action!r}")


def main(module: str) -> None:
    """Answer until `close`, or until nobody asks any more."""
    # The answers go to a copy of standard output, so that nothing the peer prints gets between them.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    border = Border()
    peer: Peer = importlib.import_module(module).Peer()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            said = answer(peer, border, request)
        except Exception as error:
            traceback.print_exc()
            said = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(said) + "\n")
        answers.flush()
        if request["do"] == "close":
            break
    # Threads of the peer that never end must not keep this process from ending.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
