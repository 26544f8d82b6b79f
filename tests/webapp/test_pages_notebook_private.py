"""Notebooks are their owner's alone, and keep nothing of what is incognito."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from notebook_desk import NUTS, Desk, closed_space
from pages_browser import HTMX, at_browser, stored


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("recall", {"q": "hazelnuts"}),
        ("context", {"q": "hazelnuts"}),
        ("remember", {"text": "A secret of hazelnuts."}),
        ("note", {"text": "A secret of hazelnuts."}),
        ("chart", {"chart": "tags"}),
    ],
)
@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "plain"])
def test_incognito_runs_and_keeps_nothing_and_says_so(desk: Desk, kind: str, form: Any, headers: Any) -> None:
    stored(desk.person, NUTS)
    cell = desk.add(kind)
    desk.client.post("/incognito/start")
    answer = desk.client.post(f"{cell}/run", data=form, headers=headers)
    assert answer.status_code == 200
    assert "nothing of this cell is kept" in answer.text
    assert "allergic" not in answer.text
    assert desk.one("SELECT input::text || coalesce(output::text, '') FROM cells") == "{}"
    assert desk.one("SELECT count(*) FROM memories") == 1


def test_incognito_copies_no_notebook_and_no_cell(desk: Desk) -> None:
    cell, _ = desk.run("note", text="The tiles are sage green.")
    desk.client.post("/incognito/start")
    before = desk.one("SELECT count(*) FROM notebooks")
    assert [desk.client.post(f"{path}/duplicate").status_code for path in (desk.path, cell)] == [409, 409]
    assert (desk.one("SELECT count(*) FROM notebooks"), desk.one("SELECT count(*) FROM cells")) == (before, 1)


@pytest.mark.parametrize("space", ["", "diary"])
def test_a_chart_shows_no_tag_of_a_space_that_is_incognito(desk: Desk, space: str) -> None:
    closed_space(desk)
    stored(desk.person, NUTS, tags=("health",))
    _, answer = desk.run("chart", chart="tags", space=space)
    assert "squirrel" not in answer.text
    assert "Without 1 space in which incognito is on." in answer.text
    assert ("health" in answer.text) == (space == "")


def test_incognito_hides_what_was_recalled_before(desk: Desk) -> None:
    stored(desk.person, NUTS)
    desk.run("recall", q="hazelnuts")
    desk.client.post("/incognito/start")
    assert "allergic" not in desk.page()
    assert "allergic" not in desk.client.get(f"{desk.path}/export.md").text
    desk.client.post("/incognito/end")
    assert "allergic" in desk.page()


READS = ["", "/export.md", "/export.html"]

WRITES = ["/rename", "/duplicate", "/delete", "/run", "/cells"]

CELL_WRITES = ["run", "weights", "move", "fold", "duplicate", "remove"]


@pytest.mark.parametrize("path", ["/", "/notebooks"])
def test_a_stranger_is_sent_to_the_login(client: FlaskClient, path: str) -> None:
    assert client.get(path).location.startswith("/login")


def test_a_stranger_reads_and_writes_no_notebook(desk: Desk, client: FlaskClient) -> None:
    cell = desk.add("note")
    for path in READS:
        assert client.get(desk.path + path).location.startswith("/login")
    for path in [*(desk.path + each for each in WRITES), *(f"{cell}/{each}" for each in CELL_WRITES)]:
        assert client.post(path).location.startswith("/login")


@pytest.mark.parametrize("path", READS)
def test_another_users_notebook_cannot_be_read(app: Flask, bob, desk: Desk, path: str) -> None:
    assert at_browser(app, bob).get(desk.path + path).status_code == 404


@pytest.mark.parametrize("path", WRITES)
def test_another_users_notebook_cannot_be_changed(app: Flask, bob, desk: Desk, path: str) -> None:
    form = {"title": "Mine", "kind": "note"}
    assert at_browser(app, bob).post(desk.path + path, data=form).status_code == 404


@pytest.mark.parametrize("path", CELL_WRITES)
def test_another_users_cell_cannot_be_changed(app: Flask, bob, desk: Desk, path: str) -> None:
    cell = desk.add("recall")
    assert at_browser(app, bob).post(f"{cell}/{path}", data={"q": "x"}).status_code == 404


def test_another_users_cell_cannot_be_read(app: Flask, bob, desk: Desk) -> None:
    assert at_browser(app, bob).get(desk.add("recall")).status_code == 404


def test_another_users_hit_cannot_be_touched(app: Flask, bob, desk: Desk) -> None:
    memory = stored(desk.person, NUTS)
    cell, _ = desk.run("recall", q="hazelnuts")
    for act in ("pin", "forget", "undo", "mark"):
        assert at_browser(app, bob).post(f"{cell}/hits/{memory}", data={"act": act}).status_code == 404


def test_a_cell_is_found_in_its_own_notebook_alone(desk: Desk) -> None:
    cell = desk.add("note")
    other = desk.client.post("/notebooks", data={"title": "Other"}).location
    assert desk.client.post(f"{other}/cells/{cell[-36:]}/remove").status_code == 404


def test_another_site_cannot_run_a_cell(desk: Desk) -> None:
    cell = desk.add("note")
    assert desk.client.post(f"{cell}/run", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
