"""Hooks as Claude Code runs them, each a process of its own, and a real server."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.writing.remember import remember_many

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "integrations"
PROGRAM = FOLDER / "claude_code.py"
PREFERENCE = "I prefer uv over pip for Python projects"
SESSION = "5f0c2b9e-1d36-4c1e-9a63-0f2b6f2f8f0e"


@dataclass
class Hook:
    """Runs hooks with a token, as Claude Code does; `transcript` is what it writes of the session."""

    base_url: str
    token: str
    folder: Path

    @property
    def transcript(self) -> Path:
        return self.folder / f"{SESSION}.jsonl"

    def run(self, *args: str, told: Any = None, **environment: str) -> subprocess.CompletedProcess[str]:
        common = {"session_id": SESSION, "transcript_path": str(self.transcript), "cwd": "/", "permission_mode": "plan"}
        given = told if isinstance(told, str) else json.dumps({**common, **(told or {})})
        known = {"PATH": os.environ["PATH"], "TOKEN": self.token, "HOME": str(self.folder), "XDG_STATE_HOME": ""}
        command = [sys.executable, str(PROGRAM), *args]
        # Most of these are not about time, and a busy machine may take longer than a user likes to wait.
        if "--seconds" not in args:
            command += ["--seconds", "60"]
        env = {**known, **environment}
        return subprocess.run(command, input=given, env=env, capture_output=True, encoding="utf-8", check=False)

    def recall(self, prompt: Any, *args: str, **environment: str) -> str:
        """Return what the hook adds to a prompt; nothing may be wrong with it."""
        told = {"hook_event_name": "UserPromptSubmit", "prompt": prompt}
        done = self.run("recall", self.base_url, "--verbose", *args, told=told, **environment)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def keep(self, *args: str, **environment: str) -> str:
        """Let an answer end; return what the hook says of what is wrong."""
        told = {"hook_event_name": "Stop", "stop_hook_active": False}
        done = self.run("keep", self.base_url, "--verbose", *args, told=told, **environment)
        assert (done.returncode, done.stdout) == (0, "")
        return done.stderr

    def write(self, *entries: Any) -> None:
        with self.transcript.open("a") as file:
            file.writelines(entry if isinstance(entry, str) else f"{json.dumps(entry)}\n" for entry in entries)


@pytest.fixture
def hook(base_url, ada, tmp_path) -> Hook:
    return Hook(base_url, ada.token, tmp_path)


def remember(person: Any, *texts: str, space: str = "default") -> None:
    drafts = [Draft(text) for text in texts]
    with person.session() as session:
        remember_many(session, person.id, space, drafts, keys=person.runtime.keys, now=utc_now(), actor="test")


def said(role: str, content: Any, uuid: str, **more: Any) -> dict[str, Any]:
    """Return an entry of a transcript."""
    entry = {"type": role, "uuid": uuid, "sessionId": SESSION, "timestamp": "2026-03-01T09:30:00.125Z"}
    return {**entry, "isSidechain": False, "message": {"role": role, "content": content}, **more}


def texts(*contents: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": content} for content in contents]


def kept(client: Any, person: Any, **query: str) -> list[tuple[str, str]]:
    """Return role and content of what is kept of the session."""
    found = client.get("/v1/conversations", query_string={"external_id": SESSION, **query}, headers=person.headers)
    messages: list[tuple[str, str]] = []
    for each in found.json["conversations"]:
        page = client.get(f"/v1/conversations/{each['id']}/messages", headers=person.headers).json["messages"]
        messages += [(message["role"], message["content"]) for message in page]
    return messages


# --- recall -----------------------------------------------------------------------------------------------------------


def test_what_is_remembered_goes_into_the_prompt(hook, ada):
    remember(ada, PREFERENCE, "The kiln reaches cone ten by noon")
    block = hook.recall("uv or pip for Python projects?")
    assert block.startswith("<recalled-memories ")
    assert (PREFERENCE in block, "kiln" in block) == (True, False)


@pytest.mark.parametrize("prompt", ["uv or pip for Python projects?", "", "  ", None, 7, "/clear"])
def test_where_nothing_is_remembered_nothing_is_added(hook, prompt):
    assert hook.recall(prompt) == ""


def test_a_long_prompt_is_looked_for_by_its_beginning(hook, ada):
    remember(ada, PREFERENCE)
    assert PREFERENCE in hook.recall("uv or pip for Python projects? \ud800\x00" + "\nE: broken pipe" * 20_000)


def test_a_memory_in_any_script_goes_into_the_prompt_on_any_terminal(hook, ada):
    remember(ada, "お茶は緑茶が好き")
    assert "お茶は緑茶が好き" in hook.recall("お茶は緑茶", PYTHONIOENCODING="ascii", LC_ALL="C")


def test_a_project_recalls_from_its_space(hook, ada, client):
    for slug in ("work", "home"):
        client.post("/v1/spaces", json={"slug": slug}, headers=ada.headers)
    remember(ada, PREFERENCE, space="work")
    found = [PREFERENCE in hook.recall("uv or pip for Python projects?", SPACE=slug) for slug in ("work", "home")]
    assert found == [True, False]


@pytest.mark.parametrize("name", ["", "chat", "séance"])
def test_an_incognito_session_recalls_nothing(hook, ada, client, name):
    remember(ada, PREFERENCE)
    client.post("/v1/memory/incognito/start", json={"session": name} if name else {}, headers=ada.headers)
    told = {"prompt": "uv or pip for Python projects?"}
    done = hook.run("recall", hook.base_url, "--verbose", told=told, SESSION=name)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "commonplace: nothing was recalled: incognito\n"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


WRONG: dict[str, tuple[list[str], Any, dict[str, str], str]] = {
    "away": (["http://127.0.0.1:{port}"], {"prompt": "uv?"}, {}, "URLError"),
    "token": (["{url}"], {"prompt": "uv?"}, {"TOKEN": "cp_no"}, "the server answers 401"),
    "no token": (["{url}"], {"prompt": "uv?"}, {"TOKEN": ""}, "TOKEN is not set"),
    "bad token": (["{url}"], {"prompt": "uv?"}, {"TOKEN": "cp\n_x"}, "ValueError"),
    "space": (["{url}"], {"prompt": "uv?"}, {"SPACE": "work"}, "the server answers 422 X-Commonplace-Space"),
    "address": (["file:///etc/passwd"], {"prompt": "uv?"}, {}, "the address of the server begins with"),
    "no JSON": (["{url}"], "prompt", {}, "JSONDecodeError"),
    "no object": (["{url}"], "[]", {}, "AttributeError"),
    "nothing": (["{url}"], "", {}, "JSONDecodeError"),
}


@pytest.mark.parametrize(("args", "told", "environment", "why"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("verbose", [False, True], ids=["silent", "verbose"])
def test_whatever_is_wrong_the_user_goes_on(hook, args, told, environment, why, verbose):
    args = [arg.format(url=hook.base_url, port=free_port()) for arg in args]
    done = hook.run("recall", *args, *(["--verbose"] if verbose else []), told=told, **environment)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"commonplace: {why}") if verbose else done.stderr == ""
    assert done.stderr.count("\n") == verbose


def test_a_server_that_does_not_answer_keeps_nobody_waiting(hook):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, str(PROGRAM), "recall", address, "--verbose"]
        started = time.perf_counter()
        # Standard input stays open, as a hook of an editor may leave it.
        with subprocess.Popen(command, env={"TOKEN": "cp_x"}, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as waiting:
            assert waiting.wait(30) == 0
            assert waiting.stderr.read() == b"commonplace: too slow\n"
        assert 0.8 <= time.perf_counter() - started < 10
        done = hook.run("recall", address, "--seconds", "0.3", told={"prompt": "uv?"})
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("args", [[], ["recal", "http://127.0.0.1:1"], ["recall"], ["recall", "http://x", "--loud"]])
def test_a_wrong_command_takes_no_prompt_away(args):
    # Status 2 of this hook erases what the user has typed.
    done = subprocess.run([sys.executable, str(PROGRAM), *args], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr[:6]) == (1, "", "usage:")


def test_no_token_goes_where_a_server_leads(hook, ada):
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("127.0.0.1", 0)) as leading:
        command = [sys.executable, str(PROGRAM), "recall", f"http://127.0.0.1:{leading.getsockname()[1]}", "--verbose"]
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([*command, "--seconds", "60"], env={"TOKEN": ada.token}, **pipes) as asking:
            asking.stdin.write(b'{"prompt": "uv?"}')
            asking.stdin.close()
            connection, _ = leading.accept()
            with connection:
                connection.recv(65_536)
                where = f"Location: http://127.0.0.1:{other.getsockname()[1]}/\r\nContent-Length: 0\r\n\r\n"
                connection.sendall(f"HTTP/1.1 302 Found\r\n{where}".encode())
                assert asking.stderr.read() == b"commonplace: the server answers 302\n"
        other.settimeout(0.2)
        with pytest.raises(TimeoutError):
            other.accept()


# --- keep -------------------------------------------------------------------------------------------------------------

TURN = [said("user", "Which oven do we use?", "u1"), said("assistant", texts("The deck oven."), "a1")]
TURN_KEPT = [("user", "Which oven do we use?"), ("assistant", "The deck oven.")]


def test_nothing_is_kept_unasked(hook, ada, client):
    hook.write(*TURN)
    assert hook.keep() == "commonplace: nothing is kept without --keep\n"
    assert hook.keep(KEEP="0") == "commonplace: nothing is kept without --keep\n"
    assert kept(client, ada) == []


@pytest.mark.parametrize(("args", "environment"), [(["--keep"], {}), ([], {"KEEP": "1"})])
def test_what_was_said_is_kept_once_and_is_no_memory(hook, ada, client, args, environment):
    hook.write(*TURN)
    assert [hook.keep(*args, **environment) for _ in range(2)] == ["", ""]
    assert kept(client, ada) == TURN_KEPT
    hook.write(said("user", "And the timer?", "u2"), said("assistant", texts("Ninety minutes."), "a2"))
    assert hook.keep(*args, **environment) == ""
    assert kept(client, ada) == [*TURN_KEPT, ("user", "And the timer?"), ("assistant", "Ninety minutes.")]
    assert client.get("/v1/memory/entries", headers=ada.headers).json["entries"] == []


def test_what_was_kept_is_known_where_the_mark_is_lost(hook, ada, client):
    hook.write(*TURN)
    hook.keep("--keep")
    for mark in (hook.folder / ".local").rglob("*.json"):
        mark.unlink()
    assert hook.keep("--keep") == ""
    assert kept(client, ada) == TURN_KEPT


def test_a_message_has_the_time_at_which_it_was_said(hook, ada, client):
    hook.write(*TURN, said("user", "And the timer?", "u2", timestamp="soon"))
    assert hook.keep("--keep") == ""
    talk = client.get("/v1/conversations", headers=ada.headers).json["conversations"][0]["id"]
    page = client.get(f"/v1/conversations/{talk}/messages", headers=ada.headers).json["messages"]
    assert [message["created_at"][:4] for message in page][:2] == ["2026", "2026"]
    assert page[0]["created_at"].startswith("2026-03-01T09:30:00.125")
    assert [message["client_id"] for message in page] == ["u1", "a1", "u2"]


# What a transcript has beside what two people say to one another; none of it is kept.
USE = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat SECRET"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "SECRET"}
UNSAID: list[Any] = [
    {"type": "summary", "summary": "SECRET", "leafUuid": "x"},
    {"type": "system", "content": "SECRET", "uuid": "x"},
    {"type": "file-history-snapshot", "snapshot": {"SECRET": 1}},
    said("assistant", [{"type": "thinking", "thinking": "SECRET"}, USE], "x1"),
    said("user", [RESULT], "x2", toolUseResult={"stdout": "SECRET"}),
    said("user", [RESULT, *texts("SECRET")], "x3"),
    said("user", "SECRET", "x4", isMeta=True),
    said("user", "SECRET", "x5", isSidechain=True),
    said("assistant", texts("SECRET"), "x6", isSidechain=True),
    said("user", "SECRET", "x7", isCompactSummary=True),
    said("user", "SECRET", "x8", forkedFrom={"sessionId": "another", "messageUuid": "x"}),
    said("user", "SECRET", "x9", sessionId="another"),
    said("user", "SECRET", "x10", origin={"kind": "task-notification"}),
    said("assistant", texts("SECRET"), "x11", isApiErrorMessage=True),
    said("user", "<command-name>/model</command-name><command-args>SECRET</command-args>", "x12"),
    said("user", "<local-command-stdout>SECRET</local-command-stdout>", "x13"),
    said("user", "<bash-stdout>SECRET</bash-stdout>", "x14"),
    said("user", texts("[Request interrupted by user] SECRET"), "x15"),
    said("user", [{"type": "image", "source": {"data": "SECRET"}}], "x16"),
    {"type": "attachment", "uuid": "x17", "attachment": {"type": "hook_additional_context", "content": ["SECRET"]}},
    {
        "type": "attachment",
        "uuid": "x18",
        "attachment": {"type": "queued_command", "commandMode": "task", "prompt": "SECRET"},
    },
    {"type": "queue-operation", "operation": "enqueue", "content": "SECRET"},
    {"type": "user", "message": "SECRET"},
    {"type": "attachment", "attachment": "SECRET"},
    ["SECRET"],
    "SECRET\n",
    "{\n",
]


def test_nothing_is_kept_but_what_the_two_said(hook, ada, client):
    queued = {
        "type": "queued_command",
        "commandMode": "prompt",
        "prompt": "And the timer?",
        "origin": {"kind": "human"},
    }
    reminded = "Which oven do we use?<system-reminder>\nSECRET\n</system-reminder>"
    hook.write(
        *UNSAID,
        said("user", texts("Look here.", reminded), "u1"),
        *UNSAID,
        said("assistant", [*texts("The deck oven."), USE], "a1"),
        {"type": "attachment", "uuid": "q1", "attachment": queued},
        said("assistant", texts("Ninety\x00 minutes \ud800."), "a2"),
        '{"type": "user", "message": {"content": "half a li',
    )
    assert hook.keep("--keep") == ""
    assert kept(client, ada) == [
        ("user", "Look here.\nWhich oven do we use?"),
        ("assistant", "The deck oven."),
        ("user", "And the timer?"),
        ("assistant", "Ninety minutes ?."),
    ]
    hook.write('ne"}, "uuid": "u3"}\n')
    assert hook.keep("--keep") == ""
    assert kept(client, ada)[-1] == ("user", "half a line")


def test_a_long_session_is_kept_whole(hook, ada, client):
    turns = [said("user" if n % 2 else "assistant", f"Part {n}", f"m{n}") for n in range(1, 121)]
    hook.write(*turns, said("user", "x" * 2_000_000, "long"))
    assert hook.keep("--keep") == ""
    messages = kept(client, ada)
    # A page has fifty.
    assert messages == [(turn["type"], turn["message"]["content"]) for turn in turns][:50]
    (talk,) = client.get("/v1/conversations", headers=ada.headers).json["conversations"]
    assert talk["message_count"] == 121


def test_a_project_keeps_in_its_space(hook, ada, client):
    client.post("/v1/spaces", json={"slug": "work"}, headers=ada.headers)
    hook.write(*TURN)
    assert hook.keep("--keep", SPACE="work") == ""
    assert (kept(client, ada, space="work"), kept(client, ada, space="default")) == (TURN_KEPT, [])


@pytest.fixture
def switch(client, ada) -> Callable[[str], None]:
    """Turn incognito on or off in the token's own session."""

    def _switch(to: str) -> None:
        assert client.post(f"/v1/memory/incognito/{to}", headers=ada.headers).status_code == 200

    return _switch


def test_what_was_said_in_incognito_is_never_kept(hook, ada, client, switch):
    hook.write(*TURN)
    hook.keep("--keep")
    switch("start")
    hook.write(said("user", "My diagnosis is private", "u2"), said("assistant", texts("I see."), "a2"))
    assert hook.keep("--keep") == ""
    switch("end")
    # The program may write the end of an answer after it has called its hooks.
    hook.write(said("assistant", texts("Your diagnosis, then."), "a3"), said("user", [RESULT], "x"))
    hook.keep("--keep")
    hook.write(said("assistant", texts("One more word of it."), "a4"))
    hook.write(said("user", "Back to bread.", "u5"), said("assistant", texts("Gladly."), "a5"))
    hook.keep("--keep")
    assert kept(client, ada) == [*TURN_KEPT, ("user", "Back to bread."), ("assistant", "Gladly.")]


def test_where_it_cannot_be_noted_what_was_refused_nothing_is_kept(hook, ada, client):
    (hook.folder / ".local").symlink_to("nowhere")
    hook.write(*TURN)
    assert hook.keep("--keep") == "commonplace: FileExistsError\n"
    assert kept(client, ada) == []


def test_what_is_not_kept_while_the_server_is_away_is_kept_later(hook, ada, client):
    hook.write(*TURN)
    away = hook.run("keep", f"http://127.0.0.1:{free_port()}", "--keep")
    assert (away.returncode, away.stdout, away.stderr) == (0, "", "")
    assert hook.keep("--keep") == ""
    assert kept(client, ada) == TURN_KEPT


def test_what_was_deleted_does_not_come_back(hook, ada, client):
    hook.write(*TURN)
    hook.keep("--keep")
    talk = client.get("/v1/conversations", headers=ada.headers).json["conversations"][0]["id"]
    client.delete(f"/v1/conversations/{talk}", headers=ada.headers)
    hook.write(said("user", "Back to bread.", "u2"))
    hook.keep("--keep")
    assert kept(client, ada) == [("user", "Back to bread.")]


# --- history ----------------------------------------------------------------------------------------------------------


def told_of(hook: Hook, *args: str, **environment: str) -> tuple[int, str, str]:
    done = hook.run("history", hook.base_url, *args, **environment)
    return done.returncode, done.stdout, done.stderr


def project(hook: Hook) -> Path:
    """Return the folder of a project, with this session in it."""
    folder = hook.folder / ".claude" / "projects" / "-home-me-bakery"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_what_was_said_before_there_were_hooks_is_kept_once(hook, ada, client):
    lines = [json.dumps(each) for each in TURN]
    (project(hook) / f"{SESSION}.jsonl").write_text("\n".join([*lines, ""]))
    (project(hook) / "other.jsonl").write_text(f"{json.dumps(said('user', 'Another', 'o1', sessionId='other'))}\n")
    work = project(hook) / SESSION / "subagents"
    work.mkdir(parents=True)
    (work / "agent-a1.jsonl").write_text(f"{json.dumps(said('assistant', 'SECRET', 's1', isSidechain=True))}\n")
    assert told_of(hook) == (
        0,
        "Messages kept: 3, sessions: 2. What was kept before is left as it is.\n",
        "",
    )
    assert kept(client, ada) == TURN_KEPT
    assert told_of(hook)[1].startswith("Messages kept: 0, sessions: 0.")
    names = [each["external_id"] for each in client.get("/v1/conversations", headers=ada.headers).json["conversations"]]
    assert sorted(names) == [SESSION, "other"]


def test_the_history_and_the_hook_keep_nothing_twice(hook, ada, client):
    hook.write(*TURN)
    hook.keep("--keep")
    assert told_of(hook, str(hook.folder))[1].startswith("Messages kept: 0,")
    hook.write(said("user", "And the timer?", "u2"))
    assert told_of(hook, str(hook.folder))[1].startswith("Messages kept: 1, sessions: 1.")
    assert hook.keep("--keep") == ""
    assert kept(client, ada) == [*TURN_KEPT, ("user", "And the timer?")]


def test_a_session_that_is_refused_keeps_no_other_out(hook, ada, client):
    project(hook)
    wrong = "a" * 300
    (hook.folder / f"{wrong[:240]}.jsonl").write_text(
        f"{json.dumps(said('user', 'x' * 10, 'u' * 300, sessionId=wrong[:240]))}\n"
    )
    hook.write(*TURN)
    status, _, told = told_of(hook, str(hook.folder))
    assert (status, told.splitlines()[0][:36]) == (1, "commonplace: Messages kept: 2, sessi")
    assert told.splitlines()[1].startswith(f"Not kept: {wrong[:240]}: the server answers 422")
    assert kept(client, ada) == TURN_KEPT


def test_in_incognito_the_history_waits(hook, ada, client, switch):
    hook.write(*TURN)
    switch("start")
    assert told_of(hook, str(hook.folder)) == (1, "", "commonplace: this session is incognito\n")
    switch("end")
    assert told_of(hook, str(hook.folder))[0] == 0
    assert kept(client, ada) == TURN_KEPT


def test_what_is_wrong_with_the_history_is_said(hook):
    assert told_of(hook) == (1, "", "commonplace: there is no transcript in ~/.claude/projects\n")
    hook.write(*TURN)
    status, _, said_of_it = told_of(hook, str(hook.folder), TOKEN="")
    assert (status, said_of_it) == (1, "commonplace: TOKEN is not set\n")
    assert told_of(hook, str(hook.folder), TOKEN="cp\n_x") == (1, "", "commonplace: ValueError\n")
    done = hook.run("history", f"http://127.0.0.1:{free_port()}", str(hook.folder))
    assert (done.returncode, "refused" in done.stderr, "Traceback" in done.stderr) == (1, True, False)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    ],
)
def test_of_another_server_the_history_says_that_it_is_one(hook, answer):
    hook.write(*TURN)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"http://127.0.0.1:{other.getsockname()[1]}"
        environment = {"TOKEN": hook.token, "XDG_STATE_HOME": str(hook.folder)}
        command = [sys.executable, str(PROGRAM), "history", address, str(hook.folder)]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as asking:
            connection, _ = other.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)
            assert asking.stderr.read() == b"commonplace: something else answers there\n"


def test_a_line_that_no_program_can_read_holds_nothing_up(hook, ada, client):
    hook.write(f"{'[' * 200_000}\n", *TURN)
    assert hook.keep("--keep") == ""
    assert kept(client, ada) == TURN_KEPT


# --- the file and its README ------------------------------------------------------------------------------------------


def test_the_program_needs_nothing_but_python():
    tree = ast.parse(PROGRAM.read_text(), feature_version=(3, 9))
    names = [each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
    names += [alias.name for each in ast.walk(tree) if isinstance(each, ast.Import) for alias in each.names]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_the_settings_of_the_readme_are_those_of_the_hooks(hook, ada):
    section = (FOLDER / "README.md").read_text().partition("\n## Hooks of Claude Code\n")[2].partition("\n## ")[0]
    (shown, project) = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", section, re.DOTALL))
    commands = {event: hooks[0]["hooks"][0] for event, hooks in shown["hooks"].items()}
    assert list(commands) == ["UserPromptSubmit", "Stop", "SessionEnd"]
    assert list(project["env"]) == ["SPACE"]
    remember(ada, PREFERENCE)
    hook.write(*TURN)
    for event, each in commands.items():
        assert each["type"] == "command"
        line = each["command"].replace("cp_...", ada.token).replace("/home/me/claude_code.py", str(PROGRAM))
        line = line.replace("http://127.0.0.1:8765", f"{hook.base_url} --seconds 60 --verbose")
        told = {
            "session_id": SESSION,
            "transcript_path": str(hook.transcript),
            "prompt": "uv or pip for Python projects?",
        }
        environment = {"PATH": os.environ["PATH"], "HOME": str(hook.folder)}
        given = json.dumps(told)
        done = subprocess.run(
            line, shell=True, input=given, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), event
        assert (PREFERENCE in done.stdout) == (event == "UserPromptSubmit")
