"""A peer's process: asked by lines of JSON, waited for no longer than it is given, and ended for sure."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

LAST_LINES = 3
CLOSE_SECONDS = 20.0


class PeerError(RuntimeError):
    """A peer failed, fell silent or ended; the message is fit for the report."""


class Child:
    """A process that answers one line of JSON to each, in a group of its own; what it prints goes to the file `log`.

    Leaving the block ends it and all that it started.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environment),
                cwd=log.parent,
                start_new_session=True,
            )
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="peer", daemon=True)
        self._reader.start()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self.end()

    def ask(self, do: str, timeout: float, **more: Any) -> dict[str, Any]:
        """Return the answer to a request; raises `PeerError` for an error, for silence and for the end."""
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            # The pipe is broken, or closed.
            raise PeerError(f"ended before `{do}`: {self._last_words()}") from None
        try:
            line = self._answers.get(timeout=timeout)
        except queue.Empty:
            raise PeerError(f"`{do}` took longer than {timeout:g} s") from None
        if line is None:
            raise PeerError(f"ended during `{do}`: {self._last_words()}")
        return _read_answer(do, line)

    def end(self) -> None:
        """Let it end by itself for a moment, then kill its whole group."""
        process = self._process
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        deadline = time.monotonic() + CLOSE_SECONDS
        while self._reader.is_alive() and time.monotonic() < deadline:
            self._reader.join(0.1)
        with contextlib.suppress(ProcessLookupError):
            # Killed before it is waited for: until then its process id cannot belong to another process.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._reader.join(CLOSE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _last_words(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return " / ".join(lines[-LAST_LINES:]) or "without a word"


def _read_answer(do: str, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise PeerError(f"`{do}` was answered by what is no JSON object")
    if "error" in found:
        raise PeerError(f"`{do}` failed: {found['error']}")
    return found
