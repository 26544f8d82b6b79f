"""Notes from elsewhere, as files that a browser sends."""

from __future__ import annotations

import io
import re

import pytest
from api_agent import memories_of, rows
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import at_browser, plain
from werkzeug.test import TestResponse

from webapp.pages import remember_files
from webapp.pages.forms import LARGEST_FORM

KEYS = ("keys.md", "# Keys\n\n- The spare key is at Bob's.\n- The shed has none.\n")
MEM0 = ("mem0.json", '{"results": [{"memory": "Loves hiking", "created_at": "2024-07-01T10:00:00Z"}]}')


def send(reader: FlaskClient, *files: tuple[str, str], **fields: str) -> TestResponse:
    sent = [(io.BytesIO(content.encode()), name) for name, content in files]
    return reader.post("/remember/files", data={"files": sent, **fields}, content_type="multipart/form-data")


def test_the_page_is_found_from_remember(reader: FlaskClient) -> None:
    assert 'href="/remember/files"' in reader.get("/remember").text
    assert 'type="file"' in reader.get("/remember/files").text


def test_files_come_in_and_are_looked_at(reader: FlaskClient, ada) -> None:
    answer = send(reader, KEYS, MEM0)
    assert (answer.status_code, answer.location) == (303, "/memories?order=changed")
    shown = plain(reader.get(answer.location))
    assert "3 memories brought in." in shown
    assert ("Loves hiking" in shown, "shed has none" in shown) == (True, True)
    kept = rows(ada, "SELECT text, tags, created_at::date::text FROM memories ORDER BY created_at, id")
    assert [each[0] for each in kept] == ["Loves hiking", "The spare key is at Bob's.", "The shed has none."]
    assert (kept[0][2], kept[1][1]) == ("2024-07-01", ["keys"])


def test_what_came_of_one_file_is_listed_alone(reader: FlaskClient) -> None:
    send(reader, MEM0)
    answer = send(reader, KEYS)
    assert answer.location == "/memories?source=keys.md"
    shown = plain(reader.get(answer.location))
    assert "2 memories, newest first" in shown
    assert ("shed has none" in shown, "Loves hiking" in shown) == (True, False)


def test_the_same_comes_in_once(reader: FlaskClient, ada) -> None:
    send(reader, KEYS)
    reader.get("/memories")
    assert "0 memories brought in, 2 there already." in plain(reader.get(send(reader, KEYS).location))
    assert memories_of(ada) == 2


def statuses(ada) -> dict[str, str]:
    return dict(rows(ada, "SELECT text, status FROM memories"))


def test_what_a_file_has_no_more_is_archived_if_asked_for(reader: FlaskClient, ada) -> None:
    send(reader, KEYS, ("doors.md", "The red door sticks.\n"))
    changed = (KEYS[0], KEYS[1].replace("has none", "has two of them"))
    send(reader, changed)
    assert set(statuses(ada).values()) == {"active"}
    reader.get("/memories")
    answer = send(reader, changed, archive_gone="true")
    assert "2 there already, 1 archived, as no longer in any of them." in plain(reader.get(answer.location))
    assert {text for text, status in statuses(ada).items() if status == "archived"} == {"The shed has none."}


def test_nothing_is_archived_where_what_the_files_have_is_refused(reader: FlaskClient, ada) -> None:
    send(reader, KEYS)
    answer = send(reader, ("keys.md", "Another.\n"), ("b.jsonl", "{"), archive_gone="true")
    assert (answer.status_code, 'name="archive_gone" value="true" checked' in " ".join(answer.text.split())) == (
        422,
        True,
    )
    assert set(statuses(ada).values()) == {"active"}


def test_of_an_export_of_an_account_what_is_active_comes_beside_what_is_there(
    app: Flask, reader: FlaskClient, ada, bob
) -> None:
    send(reader, KEYS)
    send(reader, ("keys.md", "- The spare key is at Bob's.\n"), archive_gone="true")
    export = ("commonplace.json", reader.get("/account/export").text)
    assert send(reader, export).status_code == 303
    assert statuses(ada) == {"The shed has none.": "archived", "The spare key is at Bob's.": "active"}
    other = at_browser(app, bob)
    send(other, ("own.txt", "I keep bees."))
    assert send(other, export).status_code == 303
    assert statuses(bob) == {"I keep bees.": "active", "The spare key is at Bob's.": "active"}


def test_of_an_export_of_an_account_another_space_is_asked_for(reader: FlaskClient, ada) -> None:
    send(reader, KEYS)
    export = ("commonplace.json", reader.get("/account/export").text)
    assert reader.post("/spaces", data={"name": "Work"}).status_code == 303
    answer = send(reader, export, space="work")
    assert answer.status_code == 422
    assert "The file commonplace.json: has nothing of the space “work”, and would come into that" in plain(answer)


def test_files_that_are_too_large_bring_the_form_back_and_say_what_to_do(reader: FlaskClient, ada) -> None:
    answer = send(reader, KEYS, ("all.md", "a line\n\n" * (LARGEST_FORM // 8)), archive_gone="true")
    assert (answer.status_code, memories_of(ada)) == (413, 0)
    told = plain(answer)
    assert "The files are larger than 1 MB together: choose fewer or smaller ones" in told
    assert 'type="file"' in answer.text
    assert re.search(r'<input id="files"[^>]*aria-invalid="true" aria-describedby="files-error"', answer.text)


def test_what_is_merged_or_was_forgotten_is_told(reader: FlaskClient, ada) -> None:
    send(reader, ("a.txt", "The spare key hangs behind the blue door of the shed."), KEYS)
    ((memory_id,),) = rows(ada, "SELECT id FROM memories WHERE text = 'The shed has none.'")
    reader.post(f"/memories/{memory_id}/forget")
    reader.get("/memories")
    send(reader, ("b.txt", "the spare key hangs behind the blue door of the shed"), KEYS)
    told = "0 memories brought in, 1 merged into what says the same, 1 there already, 1 not taken, as forgotten"
    assert told in plain(reader.get("/memories"))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([KEYS, ("a.jsonl", '{"text": "one"}\n{')], "The file a.jsonl, line 2: is no JSON"),
        ([KEYS, ("picture.png", "x")], "The file picture.png: is none of"),
        ([("empty.md", "# Only a heading")], "The files have nothing that could be a memory"),
        ([("", "")], "choose at least one"),
    ],
)
def test_what_cannot_be_a_memory_keeps_all_out(reader: FlaskClient, ada, files, said: str) -> None:
    answer = send(reader, *files)
    assert (answer.status_code, said in plain(answer)) == (422, True)
    assert 'aria-describedby="files-error"' in answer.text
    assert memories_of(ada) == 0


def test_what_a_space_cannot_keep_stays_out(reader: FlaskClient, ada) -> None:
    answer = send(reader, ("many.txt", "\n\n".join(f"Shelf {number} holds {number * 7} jars" for number in range(201))))
    assert "The soft cap is too low: the space 'default' keeps 200 and would have 201" in plain(answer).replace(
        "&#39;", "'"
    )
    assert (answer.status_code, memories_of(ada)) == (422, 0)


def test_more_than_a_form_takes_stays_out(reader: FlaskClient, ada, monkeypatch) -> None:
    monkeypatch.setattr(remember_files, "MOST", 1)
    answer = send(reader, KEYS)
    assert (answer.status_code, "would be 2 memories, and 1 are taken at once" in plain(answer)) == (422, True)
    assert memories_of(ada) == 0


def test_in_incognito_nothing_comes_in(reader: FlaskClient, ada) -> None:
    reader.post("/incognito/start")
    answer = send(reader, KEYS)
    assert (answer.status_code, "Nothing is stored while this session is incognito" in plain(answer)) == (422, True)
    assert memories_of(ada) == 0


def test_notes_come_into_the_space_that_is_chosen(reader: FlaskClient, ada) -> None:
    reader.post("/spaces", data={"name": "Attic", "slug": "attic"})
    send(reader, KEYS, space="attic")
    found = rows(ada, "SELECT DISTINCT s.slug FROM memories m JOIN spaces s ON s.id = m.space_id")
    assert [slug for (slug,) in found] == ["attic"]


def test_a_name_with_a_folder_in_it_is_its_last_part(reader: FlaskClient, ada) -> None:
    send(reader, ("../../etc/x.md", "two"))
    assert rows(ada, "SELECT source_ids[1] FROM memories")[0][0] == "x.md"
