"""Notebooks that leave: as Markdown, as one file of HTML, and with an account."""

from __future__ import annotations

import re

import pytest
from notebook_desk import MILL, NUTS, SILENT, Desk, closed_space, filled
from pages_browser import stored
from pages_markup import problems_of
from sqlalchemy import text as sql

from memory.storage.database import user_session
from webapp.pages.notebook_stored import check_cell


@pytest.mark.parametrize("kind", ["recall", "context"])
def test_an_export_says_what_was_kept_back(desk: Desk, kind: str) -> None:
    for text in (NUTS, MILL):
        stored(desk.person, text)
    desk.run(kind, q=SILENT)
    for name in ("export.md", "export.html"):
        assert "1 comes near it, but none is clearly about it." in desk.client.get(f"{desk.path}/{name}").text


def test_what_cells_keep_is_what_an_import_takes(desk: Desk) -> None:
    filled(desk)
    desk.run("command", text="What do you remember about hazelnuts?")
    desk.run("command", text="Forget hazelnuts")
    desk.run("remember", text="I always drink my tea black.")
    with user_session(desk.person.runtime.sessions, desk.person.id) as session:
        rows = [dict(row) for row in session.execute(sql("SELECT * FROM cells")).mappings()]
    assert {row["kind"] for row in rows} == {"note", "recall", "remember", "context", "chart", "command"}
    for row in rows:
        check_cell(row)


def test_a_notebook_is_exported_as_markdown(desk: Desk) -> None:
    filled(desk)
    answer = desk.client.get(f"{desk.path}/export.md")
    assert answer.mimetype == "text/markdown"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    for part in ("# Desk", "A *note*.", "## Recall: hazelnuts", f"1. {NUTS}", "> I always drink", "```", "| From |"):
        assert part in answer.text


def test_a_notebook_is_exported_as_one_file_of_html(desk: Desk) -> None:
    filled(desk)
    text = desk.client.get(f"{desk.path}/export.html").text
    for part in ("<style>", "<em>note</em>", "<mark>hazelnuts</mark>", "I always drink my tea black.", "<table>"):
        assert part in text
    assert not re.search(r"\b(?:src|href)=|url\(|@import", text)
    assert problems_of(text) == []


def test_an_export_shows_folded_cells_and_no_forgotten_memory(desk: Desk) -> None:
    memory = stored(desk.person, NUTS)
    desk.run("recall", q="who eats what")
    other, _ = desk.run("recall", q="allergic")
    desk.client.post(f"{other}/fold")
    assert "hazelnuts" in desk.client.get(f"{desk.path}/export.md").text
    desk.client.post(f"/memories/{memory}/forget")
    assert "hazelnuts" not in desk.client.get(f"{desk.path}/export.md").text
    assert "hazelnuts" not in desk.client.get(f"{desk.path}/export.html").text


def test_a_tag_stays_in_its_row_of_an_exported_table(desk: Desk) -> None:
    stored(desk.person, NUTS, tags=("a|b", "c\\|d", "e\nf"))
    desk.run("chart", chart="tags")
    written = desk.client.get(f"{desk.path}/export.md").text
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    assert rows[1:] == [r"| a\|b | 1 |", r"| c\\\|d | 1 |", "| e f | 1 |"]


@pytest.mark.parametrize("form", ["md", "html"])
def test_an_export_does_not_call_forgotten_what_incognito_hides(desk: Desk, form: str) -> None:
    closed_space(desk)
    written = desk.client.get(f"{desk.path}/export.{form}").text
    assert written.count("not shown: incognito is on in its space") == 2
    assert "forgotten" not in written
    assert "blue cupboard" not in written


def test_an_export_leaves_nothing_for_later(desk: Desk) -> None:
    for number in range(20):
        desk.run("note", text=f"Note number {number}. " + "Many words. " * 200)
    assert "Note number 19" not in desk.page()
    assert "Note number 19" in desk.client.get(f"{desk.path}/export.md").text
