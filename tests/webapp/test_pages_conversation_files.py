"""Chats from elsewhere, as files that a browser sends."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from api_agent import rows
from exported_chats import archive, chatgpt, claude
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import at_browser, plain
from werkzeug.test import TestResponse

import webapp.conversations
from webapp.pages import conversation_files
from webapp.pages.forms import LARGEST_CHATS, LARGEST_FORM


def send(reader: FlaskClient, *files: tuple[str, bytes], **fields: str) -> TestResponse:
    sent = [(io.BytesIO(content), name) for name, content in files]
    return reader.post("/conversations/files", data={"files": sent, **fields}, content_type="multipart/form-data")


def written(*chats: dict[str, Any]) -> tuple[str, bytes]:
    return "conversations.json", json.dumps(chats).encode()


def kept(ada) -> int:
    return rows(ada, "SELECT count(*) FROM conversations")[0][0]


def test_the_page_is_found_from_where_one_looks_for_it(reader: FlaskClient) -> None:
    link = 'href="/conversations/files"'
    assert link in reader.get("/conversations").text
    assert link in reader.get("/remember/files").text
    assert 'type="file"' in reader.get("/conversations/files").text
    send(reader, written(chatgpt()))
    assert link in reader.get("/conversations").text


def test_chats_come_in_and_are_read(reader: FlaskClient) -> None:
    answer = send(reader, ("export.zip", archive({"conversations.json": [chatgpt()]})), written(claude()))
    assert (answer.status_code, answer.location) == (303, "/conversations")
    shown = plain(reader.get(answer.location))
    assert "2 conversations brought in." in shown
    assert shown.index("Pruning roses") < shown.index("Bus to Sintra")


def test_the_same_comes_in_once(reader: FlaskClient, ada) -> None:
    send(reader, written(chatgpt()))
    reader.get("/conversations")
    answer = send(reader, written(chatgpt(), chatgpt(conversation_id="quiet", is_do_not_remember=True)))
    said = "0 conversations brought in, 1 there already, 1 left out, as nothing is said in them"
    assert said in plain(reader.get(answer.location))
    assert kept(ada) == 1


def test_what_there_is_no_time_for_comes_in_the_next_time(reader: FlaskClient, ada, monkeypatch) -> None:
    monkeypatch.setattr(webapp.conversations, "BRINGING_SECONDS", -1.0)
    answer = send(reader, written(chatgpt(), claude()))
    assert (answer.status_code, answer.location) == (303, "/conversations/files")
    shown = plain(reader.get(answer.location))
    assert "1 conversation brought in." in shown
    assert "1 older chat is left. Bring in the same file again" in shown
    assert rows(ada, "SELECT external_id FROM conversations") == [("chat-2",)]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "choose the archive, or the conversations.json in it"),
        ([("conversations.json", b"[]")], "choose the archive, or the conversations.json in it"),
        ([("notes.md", b"# Keys")], "notes.md: is cut off, or no JSON"),
        ([("mem0.json", b'[{"memory": "x"}]')], "mem0.json, number 1: is no chat of ChatGPT"),
        ([written(chatgpt()), ("x.zip", b"PK")], "x.zip: is no archive"),
    ],
)
def test_what_is_no_export_keeps_all_out(reader: FlaskClient, ada, files, said: str) -> None:
    answer = send(reader, *files)
    assert (answer.status_code, said in plain(answer)) == (422, True)
    assert 'aria-describedby="files-error"' in answer.text
    assert kept(ada) == 0


def test_an_archive_is_not_unpacked_without_end(reader: FlaskClient, ada, monkeypatch) -> None:
    monkeypatch.setattr(conversation_files, "LARGEST_UNPACKED", 2**20)
    answer = send(reader, ("x.zip", archive({"conversations.json": [chatgpt(title="x" * 2_000_000)]})))
    assert (answer.status_code, "has more than 1 MB of chats" in plain(answer), kept(ada)) == (422, True, 0)


def test_archives_together_are_not_unpacked_without_end(reader: FlaskClient, ada, monkeypatch) -> None:
    monkeypatch.setattr(conversation_files, "LARGEST_UNPACKED", 2**21)
    large = archive({"conversations.json": [chatgpt(title="x" * 1_500_000)]})
    answer = send(reader, ("x.zip", large), ("y.zip", large))
    assert (answer.status_code, "has more than 1 MB of chats" in plain(answer), kept(ada)) == (422, True, 0)
    assert (send(reader, ("x.zip", large)).status_code, kept(ada)) == (303, 1)


def test_more_than_other_forms_hold_is_taken(reader: FlaskClient, ada) -> None:
    answer = send(reader, written(chatgpt(plugin_ids="x" * 2 * LARGEST_FORM)))
    assert (answer.status_code, kept(ada)) == (303, 1)


def test_who_sends_too_much_is_told_what_to_do(reader: FlaskClient, ada) -> None:
    answer = send(reader, written(chatgpt(plugin_ids="x" * LARGEST_CHATS)))
    assert (answer.status_code, "unpack the archive, and choose the conversations.json" in plain(answer)) == (413, True)
    assert kept(ada) == 0


def test_in_incognito_nothing_comes_in(reader: FlaskClient, ada) -> None:
    reader.post("/incognito/start")
    answer = send(reader, written(chatgpt()))
    assert (answer.status_code, "Nothing is stored while this session is incognito" in plain(answer)) == (422, True)
    assert kept(ada) == 0


def test_chats_come_into_the_space_that_is_chosen(reader: FlaskClient, ada) -> None:
    reader.post("/spaces", data={"name": "Attic", "slug": "attic"})
    answer = send(reader, written(chatgpt()), space="attic")
    assert answer.location == "/conversations?space=attic"
    found = rows(ada, "SELECT s.slug FROM conversations c JOIN spaces s ON s.id = c.space_id")
    assert found == [("attic",)]


def test_one_that_is_there_is_told_from_another_persons(reader: FlaskClient, app: Flask, bob, ada) -> None:
    send(reader, written(chatgpt()))
    send(at_browser(app, bob), written(chatgpt()))
    assert (kept(ada), kept(bob)) == (1, 1)
