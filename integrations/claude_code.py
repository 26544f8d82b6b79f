"""Hooks of Claude Code: what is remembered goes into each prompt, and what was said into a conversation if you want it.

TOKEN=cp_… python3 claude_code.py recall http://127.0.0.1:8765
TOKEN=cp_… python3 claude_code.py keep --keep http://127.0.0.1:8765
TOKEN=cp_… python3 claude_code.py history http://127.0.0.1:8765

`recall` is for UserPromptSubmit, `keep` for Stop and SessionEnd; both read what Claude Code tells a hook on standard
input. `history` is for you: it keeps what was said in all sessions so far, as `keep` would have. With SPACE, the name
(slug) of one, they work in that space; with SESSION, in the session of that name, for which incognito can be switched.
Needs Python 3.9 and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

# Seconds until a hook gives up: who has asked something waits for `recall`.
RECALL_SECONDS, KEEP_SECONDS = 0.8, 10.0
# Characters of a prompt that are looked for, and of a message that are kept: a server takes no more than 1 MiB.
LONGEST_PROMPT, LONGEST_MESSAGE = 4_000, 250_000
# Messages in a request.
BATCH = 50
# Where Claude Code keeps the transcripts of all sessions.
PROJECTS = Path("~/.claude/projects")

# Why a server has not searched, in its words.
_NOT_SEARCHED = frozenset({"incognito", "memory_off", "rate_limited"})
# Entries of a transcript that nobody has said: notes to the model, summaries, the work of others, copies.
_UNSAID = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage", "forkedFrom")
# How the user's part begins where it is the program that speaks.
_PROGRAM = re.compile(
    r"\s*(<(command-|local-command-|bash-|task-notification|user-prompt-submit-hook)"
    r"|\[Request interrupted|Caveat: The messages below)"
)
# What the program adds to what the user has said.
_ADDED = re.compile(r"<(system-reminder|ide_selection|ide_opened_file|ide_diagnostics)>.*?</\1>", re.DOTALL)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


_NOT_OURS = "something else answers there"
# What is sent fits nowhere, is too large, or has a field that is wrong.
_NOT_TAKEN = frozenset({409, 413, 422})


class WrongError(Exception):
    """What is wrong, in words that quote neither the token nor what was said."""


class RefusedError(WrongError):
    """The session is incognito."""


class NotTakenError(WrongError):
    """The server does not take what it was sent, and may take something else."""


class _NoRedirect(HTTPRedirectHandler):
    """Goes nowhere else: the token would go along."""

    def redirect_request(self, *_given: Any) -> None:
        return None


class Server:
    """A server, as the environment says it is to be asked."""

    def __init__(self, base_url: str) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise WrongError("the address of the server begins with http:// or https://")
        if not (token := os.environ.get("TOKEN")):
            raise WrongError("TOKEN is not set")
        self._base = f"{base_url.rstrip('/')}/v1/"
        self._opener = build_opener(_NoRedirect)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.space = os.environ.get("SPACE")
        for header, value in (("Space", self.space), ("Session", os.environ.get("SESSION"))):
            if value is not None:
                # As UTF-8: headers are written as Latin-1.
                self._headers[f"X-Commonplace-{header}"] = value.encode().decode("latin-1")

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return what is answered; raises `RefusedError` in incognito, and other errors for all else."""
        request = Request(self._base + path, json.dumps(body).encode(), self._headers)  # noqa: S310 - checked above
        try:
            with self._opener.open(request, timeout=KEEP_SECONDS) as response:
                content = response.read()
        except HTTPError as error:
            raise _refusal(error) from error
        except HTTPException as error:
            raise WrongError(_NOT_OURS) from error
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise WrongError(_NOT_OURS) from error
        if not isinstance(answer, dict):
            raise WrongError(_NOT_OURS)
        return answer


def _refusal(error: HTTPError) -> WrongError:
    """Return which answer a refusal is, and which fields it names."""
    try:
        told = json.load(error)
        reason = told.get("reason")
        fields = [str(each["field"]) for each in told.get("errors", ())]
    except (ValueError, AttributeError, TypeError, KeyError):
        reason, fields = None, []
    if reason == "incognito":
        return RefusedError("this session is incognito")
    kind = NotTakenError if error.code in _NOT_TAKEN else WrongError
    return kind(" ".join([f"the server answers {error.code}", *fields]))


def recall(server: Server, told: dict[str, Any]) -> str:
    """Return what is remembered of the prompt, as a marked block; nothing where there is nothing, or in incognito."""
    prompt = _clean(told.get("prompt"))[:LONGEST_PROMPT]
    if not prompt.strip():
        return ""
    answer = server.post("memory/context", {"query": prompt})
    if answer.get("error"):
        raise WrongError("the database of the server does not answer")
    if not answer.get("context") and (why := _NOT_SEARCHED.intersection(answer.get("degraded") or ())):
        raise WrongError(f"nothing was recalled: {', '.join(why)}")
    return str(answer.get("context") or "")


def keep(server: Server, told: dict[str, Any]) -> str:
    """Append to the session's conversation what was said since the last time.

    How far a transcript was read is noted in a file of the user's. What was said while the session was incognito
    counts as read: it is not kept later, when incognito is over.
    """
    session, transcript = str(told["session_id"]), Path(str(told["transcript_path"])).expanduser()
    _keep(server, session, transcript, hush=True)
    return ""


def history(server: Server, folder: Path) -> str:
    """Keep all sessions whose transcripts are in a folder, as `keep` does, and say how much that was.

    In incognito it ends instead, and what it has not read can be kept later: nobody has said it in incognito.
    """
    transcripts = sorted(folder.expanduser().rglob("*.jsonl"))
    if not transcripts:
        raise WrongError(f"there is no transcript in {folder}")
    kept, wrong = [], {}
    for transcript in transcripts:
        try:
            kept.append(_keep(server, transcript.stem, transcript, hush=False))
        except NotTakenError as error:
            wrong[transcript.stem] = str(error)
    told = f"Messages kept: {sum(kept):,}, sessions: {sum(map(bool, kept)):,}. What was kept before is left as it is."
    if wrong:
        raise WrongError("\n".join([told, *(f"Not kept: {session}: {why}" for session, why in wrong.items())]))
    return told


def _keep(server: Server, session: str, transcript: Path, *, hush: bool) -> int:
    """Keep what was said in a session since the last time; return how many messages that were.

    In incognito that counts as read if it is to `hush` it; else this raises `RefusedError`.
    """
    mark = _Mark(session)
    entries, end = _read(transcript, mark.read)
    messages = list(_said(entries, session, hushed=mark.refused))
    refused = mark.refused and not any(message["role"] == "user" for message in messages)
    if messages:
        try:
            _append(server, session, messages)
        except RefusedError:
            if not hush:
                raise
            refused, messages = True, []
    mark.write(end, refused=refused)
    return len(messages)


def _append(server: Server, session: str, messages: list[dict[str, Any]]) -> None:
    named = {} if server.space is None else {"space": server.space}
    conversation = server.post("conversations", {"external_id": session, **named})
    if "id" not in conversation:
        raise WrongError(_NOT_OURS)
    path = f"conversations/{quote(str(conversation['id']), safe='')}/messages"
    for start in range(0, len(messages), BATCH):
        server.post(path, {"messages": messages[start : start + BATCH]})


class _Mark:
    """How many bytes of a session's transcript were read, and whether the last of that was said in incognito."""

    def __init__(self, session: str) -> None:
        state = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
        self._path = state / "commonplace" / "claude_code" / f"{quote(session, safe='')}.json"
        try:
            noted = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            noted = {"read": 0, "refused": False}
        self.read, self.refused = int(noted["read"]), bool(noted["refused"])
        # Before anything is sent: where it cannot be noted, what incognito refuses now would be kept later.
        self.write(self.read, refused=self.refused)

    def write(self, read: int, *, refused: bool) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = self._path.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps({"read": read, "refused": refused}), encoding="utf-8")
        # Whole or not at all, whenever this is ended.
        written.replace(self._path)


def _read(transcript: Path, start: int) -> tuple[list[tuple[int, dict[str, Any]]], int]:
    """Return the entries behind `start`, each with where it begins, and where the last whole line ends."""
    with transcript.open("rb") as file:
        # Where it was written anew and is shorter, nobody knows what of it was refused: what is there is left out.
        start = min(start, file.seek(0, os.SEEK_END))
        file.seek(start)
        entries, place = [], start
        for line in file:
            if not line.endswith(b"\n"):
                # Still being written.
                break
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                entry = None
            if isinstance(entry, dict):
                entries.append((place, entry))
            place += len(line)
    return entries, place


def _said(entries: list[tuple[int, dict[str, Any]]], session: str, *, hushed: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages among entries; `hushed`, those alone that come after the user has said something."""
    for place, entry in entries:
        if any(entry.get(sign) for sign in _UNSAID) or entry.get("sessionId", session) != session:
            continue
        role, text = _text_of(entry)
        if not text.strip():
            continue
        hushed = hushed and role != "user"
        if hushed:
            continue
        message = {"role": role, "content": text[:LONGEST_MESSAGE], "client_id": str(entry.get("uuid") or place)}
        if _MOMENT.fullmatch(moment := str(entry.get("timestamp"))):
            message["created_at"] = moment
        yield message


def _text_of(entry: dict[str, Any]) -> tuple[str, str]:
    """Return the role of an entry and what was said in it; nothing for tools, thoughts, and what the program says."""
    kind, message = entry.get("type"), entry.get("message")
    if kind == "attachment":
        # What the user types while the assistant works.
        added = entry.get("attachment")
        typed = (
            isinstance(added, dict) and added.get("type") == "queued_command" and added.get("commandMode") == "prompt"
        )
        return "user", _typed(added.get("prompt"), added.get("origin")) if typed and isinstance(added, dict) else ""
    if kind not in {"user", "assistant"} or not isinstance(message, dict):
        return "", ""
    if kind == "user":
        return "user", _typed(message.get("content"), entry.get("origin"))
    return "assistant", "" if message.get("model") == "<synthetic>" else _clean(message.get("content"))


def _typed(content: Any, origin: Any) -> str:
    """Return what the user has typed: nothing where a tool or the program speaks in the user's place."""
    if isinstance(origin, dict) and origin.get("kind", "human") != "human":
        return ""
    text = _clean(content)
    return "" if _PROGRAM.match(text) else _ADDED.sub("", text).strip()


def _clean(content: Any) -> str:
    """Return the text of a content without what no server keeps; nothing of one that has the result of a tool."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict)]
        if any(block.get("type") == "tool_result" for block in blocks):
            return ""
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        content = "\n".join(text for text in texts if isinstance(text, str))
    return content.replace("\x00", "").encode("utf-8", "replace").decode() if isinstance(content, str) else ""


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with 1: with 2, Claude Code would take the prompt away from whoever typed it."""
        self.exit(1, f"{self.format_usage()}{message}\n")


def _arguments() -> argparse.Namespace:
    parser = _Arguments(description="Hooks of Claude Code.")
    parser.add_argument(
        "hook",
        choices=("recall", "keep", "history"),
        help="recall: for UserPromptSubmit; keep: for Stop, SessionEnd; history: for you, keeps all sessions so far",
    )
    parser.add_argument("server", help="the address of the server, as http://127.0.0.1:8765")
    parser.add_argument("folder", nargs="?", type=Path, default=PROJECTS, help=f"of history: its place ({PROJECTS})")
    parser.add_argument("--keep", action="store_true", help="do keep what is said; or set KEEP=1")
    parser.add_argument("--seconds", type=float, help=f"give up then ({RECALL_SECONDS}, to keep {KEEP_SECONDS:.0f})")
    parser.add_argument("--verbose", action="store_true", help="say on standard error what is wrong")
    return parser.parse_args()


def main() -> None:
    """Do what the hook is for within its time; whatever is wrong, Claude Code goes on as if there were no memory."""
    given = _arguments()
    if given.hook == "history":
        try:
            sys.stdout.write(f"{history(Server(given.server), given.folder)}\n")
        except (WrongError, OSError) as error:
            sys.exit(f"commonplace: {error}")
        except ValueError as error:
            # Its text may quote the token.
            sys.exit(f"commonplace: {type(error).__name__}")
        return
    wanted = given.hook == "recall" or given.keep or os.environ.get("KEEP", "") in {"1", "true", "yes", "on"}
    done: dict[str, str] = {"wrong": "too slow"} if wanted else {"wrong": "nothing is kept without --keep"}

    def work() -> None:
        try:
            told = json.loads(sys.stdin.buffer.read())
            done["block"] = {"recall": recall, "keep": keep}[given.hook](Server(given.server), told)
            done["wrong"] = ""
        except Exception as error:  # Whatever it is: who types goes on.
            # Of other errors only the name: their text may quote the address, the token or the prompt.
            done["wrong"] = str(error) if isinstance(error, WrongError) else type(error).__name__

    if wanted:
        # In a thread, as to find an address or to read may take as long as it likes.
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        seconds = given.seconds or (RECALL_SECONDS if given.hook == "recall" else KEEP_SECONDS)
        thread.join(seconds)
    if given.verbose and done["wrong"]:
        sys.stderr.write(f"commonplace: {done['wrong']}\n")
    if block := done.get("block"):
        sys.stdout.buffer.write(f"{block}\n".encode())
    sys.stdout.flush()
    sys.stderr.flush()
    # At once: a thread that still waits for standard input would hold up the end.
    os._exit(0)


if __name__ == "__main__":
    main()
