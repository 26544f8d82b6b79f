"""`commonplace import chats`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from exported_chats import archive, chatgpt, claude, node

from webapp.cli import bring_chats
from webapp.cli.main import main


@pytest.fixture
def run(monkeypatch, runtime):
    monkeypatch.setattr("webapp.cli.export.migrated_store", lambda: runtime)
    monkeypatch.setattr(bring_chats, "migrated_store", lambda: runtime)
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "export.zip"
    path.write_bytes(archive({"conversations.json": [chatgpt(), claude(), chatgpt(is_do_not_remember=True)]}))
    return path


def kept(run, person) -> dict:
    return json.loads(run("export", "--email", person.email).stdout)


def test_chats_from_elsewhere_come_in_once(run, ada, export):
    first, again = (run("import", "chats", export, "--email", ada.email) for _ in range(2))
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "2 brought in; 1 left out, as nothing is said in them or they are not to be remembered" in first.stdout
    assert "Messages stored: 4.\nA running server makes their vectors" in first.stdout
    assert "0 brought in; 2 there already; 1 left out" in again.stdout
    assert "vectors" not in again.stdout
    assert [each["title"] for each in kept(run, ada)["conversations"]] == ["Pruning roses", "Bus to Sintra"]


def test_chats_are_shown_before_they_come_in(run, ada, export):
    done = run("import", "chats", export, "--email", ada.email, "--dry-run")
    assert done.stdout.splitlines() == [
        "2024-06-01      2  Pruning roses",
        "2024-05-01      2  Bus to Sintra",
        "2 chats with 4 messages in all. Nothing was stored.",
    ]
    assert kept(run, ada)["conversations"] == []


def test_a_chat_without_a_date_or_a_title_is_shown(run, ada, tmp_path):
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chatgpt(node("q", "root", create_time=None), create_time=None, title=None)]))
    done = run("import", "chats", path, "--email", ada.email, "--dry-run")
    assert done.stdout.splitlines()[0] == "no date         1  (no title)"


def test_what_is_no_export_is_refused_before_anything_is_stored(run, ada, export, tmp_path):
    wrong = tmp_path / "notes.json"
    wrong.write_text('[{"memory": "Loves hiking"}]')
    done = run("import", "chats", export, wrong, "--email", ada.email)
    assert (done.exit_code, "notes.json, number 1: is no chat of ChatGPT" in done.stderr) == (1, True)
    assert kept(run, ada)["conversations"] == []


def test_a_space_that_there_is_not_is_refused(run, ada, export):
    done = run("import", "chats", export, "--email", ada.email, "--space", "nowhere")
    assert (done.exit_code, "nowhere" in done.stderr) == (1, True)
