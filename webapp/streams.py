"""A message that arrives line by line: JSON objects, the head first, then pieces of its text, then the word `done`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from gunicorn.http.errors import ParseException
from werkzeug.exceptions import ClientDisconnected

from memory.drafts.payloads import LARGEST_PAYLOAD
from memory.errors import InvalidError
from memory.messages.drafts import MAX_CONTENT_BYTES
from webapp.given_once import read_json

BLOCK = 16 * 1024
# A sender that says nothing for so long is gone: it holds a thread of the server. Models that think before they speak
# need less, and who needs more sends blank lines meanwhile.
PATIENCE_SECONDS = 300.0
# What a server raises when the connection ends inside a body.
CUT = (OSError, ClientDisconnected, ParseException)


@dataclass(frozen=True, slots=True)
class Streamed:
    """What has come: the head, the text so far, and the payload of the last line. `whole` tells whether it came."""

    head: dict[str, Any]
    text: str
    whole: bool
    payload: Any = None


def read_stream(stream: IO[bytes]) -> Streamed:
    """Read a message to its end, or to where it was cut.

    Raises `InvalidError` for lines that are none of ours, and for a text of over 1 MiB.
    """
    head: dict[str, Any] | None = None
    pieces: list[str] = []
    size = 0
    for number, line in enumerate(_lines(stream), 1):
        item = _parsed(line, number)
        if head is None:
            head = item
        elif "done" in item:
            return _finished(head, _joined(pieces), item, number)
        else:
            pieces.append(_delta(item, number))
            size += len(pieces[-1])
            if size > MAX_CONTENT_BYTES:
                raise InvalidError("content", f"must be at most {MAX_CONTENT_BYTES} bytes of UTF-8")
    if head is None:
        raise InvalidError("line 1", "must be the head of the message, a JSON object")
    text = _joined(pieces)
    # Half a surrogate pair at the end was cut in two between pieces: what comes before it is whole.
    return Streamed(head, text[:-1] if "\ud800" <= text[-1:] <= "\udbff" else text, whole=False)


def _joined(pieces: list[str]) -> str:
    """Return the text. Who counts in UTF-16, as JavaScript does, may have cut a character in two between pieces."""
    text = "".join(pieces)
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _finished(head: dict[str, Any], text: str, item: dict[str, Any], number: int) -> Streamed:
    if item["done"] is not True or set(item) - {"done", "payload"}:
        raise InvalidError(f"line {number}", 'must be {"done": true}, with a "payload" or without')
    return Streamed(head, text, whole=True, payload=item.get("payload"))


def _parsed(line: bytes, number: int) -> dict[str, Any]:
    try:
        item = read_json(line)
    except InvalidError as error:
        raise InvalidError(f"line {number}", f"{error.field} {error.message}") from None
    except (ValueError, RecursionError):
        item = None
    if not isinstance(item, dict):
        raise InvalidError(f"line {number}", "must be a JSON object")
    return item


def _delta(item: dict[str, Any], number: int) -> str:
    if set(item) != {"delta"} or not isinstance(item["delta"], str):
        raise InvalidError(f"line {number}", 'must be {"delta": "..."}, the next piece of the text')
    return str(item["delta"])


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield lines that are not blank, as far as they came; a last line that is no JSON was cut and is left out."""
    # Pieces of the line that has no end yet: put together once, as one of many megabytes comes in a thousand blocks.
    rest: list[bytes] = []
    size = 0
    while True:
        block, more = _block(stream)
        first, *others = block.split(b"\n")
        rest.append(first)
        size += len(first)
        if others:
            lines = [b"".join(rest), *others[:-1]]
            yield from (line for line in lines if line.strip())
            rest, size = [others[-1]], len(others[-1])
        if not more:
            break
        if size > LARGEST_PAYLOAD:
            raise InvalidError("line", f"must be at most {LARGEST_PAYLOAD} bytes")
    last = b"".join(rest)
    if last.strip() and _is_whole(last):
        yield last


def _block(stream: IO[bytes]) -> tuple[bytes, bool]:
    """Return what comes next, and whether more may follow."""
    try:
        block = stream.read(BLOCK)
    except CUT:
        return _held_back(stream), False
    return block, bool(block)


def _held_back(stream: IO[bytes]) -> bytes:
    """Return what had come before the cut: the server waits for a whole block, and keeps what it has of one."""
    try:
        return stream.read(BLOCK)
    except CUT:
        return b""


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


@contextmanager
def patience(environ: dict[str, Any], seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Give up on a connection from which nothing has come for so long, where the server lends us its socket."""
    socket = environ.get("gunicorn.socket")
    if socket is None:
        yield
        return
    before = socket.gettimeout()
    socket.settimeout(seconds)
    try:
        yield
    finally:
        socket.settimeout(before)
