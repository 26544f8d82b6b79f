"""Cells of a notebook that are written into: notes, what is remembered, and what becomes of it when it is forgotten."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from api_agent import waited_for
from flask import Flask
from notebook_desk import NUTS, Desk
from pages_browser import HTMX, at_browser, stored
from pages_markup import problems_of
from sqlalchemy import text as sql

from memory.storage.database import user_session


def test_a_remember_cell_shows_the_trace_and_keeps_the_id_alone(desk: Desk) -> None:
    cell, answer = desk.run("remember", text="I always drink my tea black.", type="preference", saved="true")
    for part in ("I always drink my tea black.", "+0.50", "Fingerprint", "Say it again"):
        assert part in answer.text
    assert desk.one("SELECT count(*) FROM cells WHERE input ? 'text'") == 0
    again = desk.client.post(f"{cell}/run", data={}, headers=HTMX).text
    assert "Merged with what was known" in again
    assert desk.one("SELECT count(*) FROM memories") == 1


def test_a_forgotten_memory_leaves_its_remember_cell(desk: Desk) -> None:
    cell, _ = desk.run("remember", text="I always drink my tea black.")
    memory = desk.one("SELECT id FROM memories")
    assert "tea black" not in desk.client.post(f"{cell}/hits/{memory}", data={"act": "forget"}, headers=HTMX).text
    assert "tea black" not in desk.page()
    assert "tea black" in desk.client.post(f"{cell}/hits/{memory}", data={"act": "undo"}, headers=HTMX).text


def test_what_is_refused_is_not_kept(desk: Desk) -> None:
    memory = stored(desk.person, NUTS)
    desk.client.post(f"/memories/{memory}/forget")
    _, answer = desk.run("remember", text=NUTS)
    assert "Not stored" in answer.text
    assert (
        desk.one("SELECT count(*) FROM cells WHERE input::text || coalesce(output::text, '') ILIKE '%hazelnuts%'") == 0
    )


def test_what_is_said_again_is_merged_where_it_was_moved_to(desk: Desk) -> None:
    desk.client.post("/spaces", data={"name": "Work", "slug": "work"})
    cell, answer = desk.run("remember", text="The shed's key lies under the third pot.")
    found = re.search(r"/memories/([0-9a-f-]{36})", answer.text)
    assert found is not None
    desk.client.post("/memories/bulk/do", data={"id": found.group(1), "act": "move", "target": "work"})
    again = desk.client.post(f"{cell}/run", data={"space": "default"}, headers=HTMX).text
    assert "Merged with what was known" in again
    assert desk.one("SELECT count(*) FROM memories") == 1


def test_what_is_said_again_has_the_tags_that_it_had(desk: Desk) -> None:
    cell, _ = desk.run("remember", text="Paint the fence.", tags="red")
    desk.one("UPDATE memories SET tags = '{red\\, white}' RETURNING true")
    desk.client.post(f"{cell}/run", headers=HTMX)
    assert desk.one("SELECT tags FROM memories") == ["red, white"]


def test_a_note_that_tells_of_what_is_being_forgotten_is_blank_at_once(desk: Desk) -> None:
    memory = stored(desk.person, NUTS)
    desk.run("note", text=f"Remember: {NUTS}")
    desk.client.post(f"/memories/{memory}/forget")
    assert "hazelnuts" not in desk.page()
    assert "told of a memory that was forgotten" in desk.page()
    desk.client.post(f"/memories/{memory}/restore")
    assert "hazelnuts" in desk.page()


@pytest.mark.parametrize("place", ["", "/export.md", "/export.html", "list", "removed"])
def test_a_title_that_tells_of_what_is_being_forgotten_is_shown_nowhere(desk: Desk, place: str) -> None:
    memory = stored(desk.person, NUTS)
    desk.client.post(f"{desk.path}/rename", data={"title": f"Why {NUTS}"})
    if place == "removed":
        desk.client.post(f"{desk.path}/delete")
    address = "/notebooks" if place in {"list", "removed"} else f"{desk.path}{place}"
    assert "hazelnuts" in desk.client.get(address).text
    desk.client.post(f"/memories/{memory}/forget")
    page = desk.client.get(address).text
    assert "hazelnuts" not in page
    assert "Untitled" in page
    desk.client.post(f"/memories/{memory}/restore")
    assert "hazelnuts" in desk.client.get(address).text


@pytest.mark.parametrize("title", ["   ", "x" * 201, "a\x00b"])
def test_a_title_that_is_refused_is_said_to_be_at_once(desk: Desk, title: str) -> None:
    answer = desk.client.post(f"{desk.path}/rename", data={"title": title}, headers=HTMX).text
    assert "It stays as it was." in answer.partition('id="flash"')[2]
    assert 'value="Desk"' in answer
    assert "It stays as it was." not in desk.client.get("/search").text


def test_the_word_for_a_title_that_is_not_shown_is_not_taken_for_a_new_one(desk: Desk) -> None:
    memory = stored(desk.person, NUTS)
    desk.client.post(f"{desk.path}/rename", data={"title": NUTS})
    desk.client.post(f"/memories/{memory}/forget")
    answer = desk.client.post(f"{desk.path}/rename", data={"title": "Untitled"}, headers=HTMX).text
    assert "hazelnuts" not in answer
    desk.client.post(f"/memories/{memory}/restore")
    assert "hazelnuts" in desk.page()


@pytest.mark.parametrize("act", ["run", "fold"])
@pytest.mark.parametrize(("kind", "field"), [("note", "text"), ("recall", "q"), ("context", "q")])
def test_a_blank_cell_that_is_run_or_folded_comes_back_with_the_undo(
    desk: Desk, kind: str, field: str, act: str
) -> None:
    memory = stored(desk.person, NUTS)
    cell, _ = desk.run(kind, **{field: f"{NUTS} So buy almonds."})
    desk.client.post(f"/memories/{memory}/forget")
    # As "Run all" sends it, and folding.
    for _ in range(2 if act == "fold" else 1):
        answer = desk.client.post(f"{cell}/{act}", data={"draft": "1", field: ""}, headers=HTMX)
        assert answer.status_code == 200
    assert "told of a memory that was forgotten" in answer.text
    desk.client.post(f"/memories/{memory}/restore")
    assert "almonds" in desk.page()


def based_on(page: str) -> str:
    found = re.search(r'name="based_on" value="(\w+)"', page)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize("act", ["run", "fold", "remove"])
@pytest.mark.parametrize("headers", [HTMX, {}], ids=["with scripts", "without scripts"])
def test_a_note_that_was_changed_elsewhere_is_not_overwritten_unseen(desk: Desk, act: str, headers: Any) -> None:
    cell, shown = desk.run("note", text="one")
    old = {"draft": "1", "based_on": based_on(shown.text)}
    assert desk.client.post(f"{cell}/run", data={**old, "text": "two, and more"}, headers=HTMX).status_code == 200
    late = desk.client.post(f"{cell}/{act}", data={**old, "text": "one and a half"}, headers=headers)
    assert (late.status_code, problems_of(late.text)) == (422, [])
    assert "this note was changed while you wrote" in late.text
    assert "one and a half" in late.text
    assert "two, and more" in late.text.partition('class="note"')[2]
    again = {"draft": "1", "based_on": based_on(late.text), "text": "one and a half"}
    assert desk.client.post(f"{cell}/run", data=again, headers=HTMX).status_code == 200
    assert "two, and more" not in desk.page()


@pytest.mark.parametrize("act", ["run", "fold"])
def test_of_two_who_write_a_note_at_once_the_second_is_told(app: Flask, desk: Desk, act: str) -> None:
    cell, shown = desk.run("note", text="one")
    old = {"draft": "1", "based_on": based_on(shown.text)}
    tabs = [at_browser(app, desk.person) for _ in range(2)]
    person = desk.person
    with ThreadPoolExecutor(len(tabs)) as pool, user_session(person.runtime.sessions, person.id) as session:
        session.execute(sql("SELECT FROM notebooks FOR UPDATE"))
        writing = [
            pool.submit(tab.post, f"{cell}/{act}", data={**old, "text": f"two, by {number}"}, headers=HTMX)
            for number, tab in enumerate(tabs)
        ]
        assert waited_for(session, len(tabs))
        session.rollback()
        answers = [each.result() for each in writing]
    assert sorted(each.status_code for each in answers) == [200, 422]
    first = next(number for number, each in enumerate(answers) if each.status_code == 200)
    assert desk.one("SELECT input->>'text' FROM cells") == f"two, by {first}"


@pytest.mark.parametrize("act", ["run", "fold"])
def test_a_note_that_nobody_touched_overwrites_nothing(desk: Desk, act: str) -> None:
    cell, shown = desk.run("note", text="one")
    old = {"draft": "1", "based_on": based_on(shown.text), "text": "one"}
    desk.client.post(f"{cell}/run", data={**old, "text": "two, and more"}, headers=HTMX)
    # As "Run all" sends it from a page that was open all the time.
    answer = desk.client.post(f"{cell}/{act}", data=old, headers=HTMX)
    assert (answer.status_code, "two, and more" in answer.text) == (200, True)
    assert "two, and more" in desk.page()


def test_a_blank_note_takes_what_is_written_into_it(desk: Desk) -> None:
    memory = stored(desk.person, NUTS)
    cell, _ = desk.run("note", text=NUTS)
    desk.client.post(f"/memories/{memory}/forget")
    desk.client.post(f"{cell}/run", data={"draft": "1", "text": "Buy almonds."}, headers=HTMX)
    assert "almonds" in desk.page()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bold**", "<strong>bold</strong>"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "<td>1</td>"),
        ("<script>alert(1)</script>", "&lt;script&gt;"),
        ('<img src="https://elsewhere.example/x.png">', "&lt;img"),
    ],
)
def test_a_note_is_markdown_without_harm(desk: Desk, text: str, html: str) -> None:
    _, answer = desk.run("note", text=text)
    assert html in answer.text.partition('class="note"')[2]


@pytest.mark.parametrize("text", ["![x](https://elsewhere.example/x.png)", "[x](javascript:alert(1))"])
def test_a_note_loads_nothing_and_runs_nothing(desk: Desk, text: str) -> None:
    _, answer = desk.run("note", text=text)
    shown = answer.text.partition('class="note"')[2]
    assert "<img" not in shown
    assert 'href="javascript' not in shown


def test_headings_of_a_note_are_beneath_that_of_its_notebook(desk: Desk) -> None:
    desk.run("note", text="# Trip\n\n## Day 1\n\nSintra\n===\n\n###### Tram")
    page = desk.page()
    assert re.findall(r"<h(\d)>(.+?)</h\d>", page) == [("2", "Trip"), ("3", "Day 1"), ("2", "Sintra"), ("6", "Tram")]
    assert page.count("<h1") == 1
