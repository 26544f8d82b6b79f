"""The notebook: its pages, its cells, and what they keep."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor, wait
from html import unescape
from typing import Any

import pytest
from flask import Flask
from notebook_desk import NUTS, Desk
from pages_browser import HTMX, at_browser, stored
from pages_markup import problems_of
from sqlalchemy import text as sql

from memory.storage.database import make_engine


def test_a_first_visit_finds_three_steps_that_run(app: Flask, bob) -> None:
    client = at_browser(app, bob)
    page = client.get("/").text
    assert "First steps" in page
    run = re.search(r'action="(/notebooks/[^"]+/run)"', page)
    assert run is not None
    assert client.post(run.group(1)).status_code == 303
    page = client.get("/").text
    assert "always <mark>drink</mark> my <mark>tea</mark> without <mark>sugar</mark>." in page
    assert "recalled-memories" in page


def test_pages_that_are_opened_at_once_on_a_first_visit_make_one_sample(app: Flask, bob, database_url: str) -> None:
    clients = [at_browser(app, bob) for _ in range(2)]
    engine = make_engine(database_url, pool_size=1)
    with ThreadPoolExecutor(len(clients)) as pool:
        with engine.begin() as owner:
            # Whoever writes a row of Bob's waits: all have looked before one has written.
            owner.execute(sql("SELECT id FROM users WHERE id = :id FOR UPDATE"), {"id": bob.id})
            opened = [pool.submit(client.get, "/") for client in clients]
            wait(opened, timeout=1)
        pages = [each.result().text for each in opened]
    engine.dispose()
    assert all("First steps" in page for page in pages)
    assert clients[0].get("/notebooks").text.count("First steps") == 1


@pytest.mark.parametrize(("notes", "said"), [(1, "1 cell ran."), (2, "2 cells ran.")])
def test_all_cells_are_run_without_scripts_and_counted(desk: Desk, notes: int, said: str) -> None:
    for _ in range(notes):
        desk.add("note")
    desk.client.post(f"{desk.path}/run")
    assert said in desk.page()


def test_the_home_page_is_the_notebook_that_was_worked_in_last(app: Flask, desk: Desk) -> None:
    desk.client.post("/notebooks", data={"title": "Another"})
    assert 'value="Another"' in desk.client.get("/").text
    desk.add("note")
    assert 'value="Desk"' in desk.client.get("/").text


def test_notebooks_are_listed_in_pages(desk: Desk, ada) -> None:
    many = (
        "INSERT INTO notebooks SELECT user_id, gen_random_uuid(), 'N' || n, created_at, updated_at - n * interval '1 s'"
    )
    with ada.session() as session:
        session.execute(sql(f"{many} FROM notebooks, generate_series(1, 60) n"))
        session.commit()
    first = desk.client.get("/notebooks").text
    further = unescape(re.findall(r'hx-get="(/notebooks\?cursor=[^"]+)"', first)[0])
    rest = desk.client.get(further, headers=HTMX).text
    shown = [re.findall(r">(Desk|N\d+)</a>", each) for each in (first, rest)]
    assert [len(each) for each in shown] == [50, 11]
    assert shown[0] + shown[1] == ["Desk", *(f"N{number}" for number in range(1, 61))]
    assert [desk.client.get(f"/notebooks?cursor={each}").status_code for each in ("none", "")] == [422, 200]
    # As the last of them are removed in another tab.
    with ada.session() as session:
        session.execute(sql("DELETE FROM notebooks WHERE title ~ '^N[56]'"))
        session.commit()
    assert "No more notebooks." in desk.client.get(further, headers=HTMX).text


@pytest.mark.parametrize("kind", ["recall", "remember", "note", "context", "chart", "command"])
def test_a_new_cell_is_sound_and_so_is_its_page(desk: Desk, kind: str) -> None:
    cell = desk.add(kind)
    assert problems_of(desk.page()) == []
    form = {"q": "hazelnuts", "text": "# Plan\n\n* eat", "chart": "growth"}
    assert desk.client.post(f"{cell}/run", data=form, headers=HTMX).status_code == 200
    assert problems_of(desk.page()) == []


@pytest.mark.parametrize(
    "form", [{"q": "tea", "alpha": "11"}, {"q": "tea", "limit": "0"}, {"q": "tea", "fusion": "magic"}, {"q": ""}]
)
@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "plain"])
def test_a_field_that_does_not_fit_is_refused_and_changes_nothing(desk: Desk, form: Any, headers: Any) -> None:
    cell, _ = desk.run("recall", q="before")
    answer = desk.client.post(f"{cell}/run", data=form, headers=headers)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert desk.one("SELECT input FROM cells") == {"q": "before"}


def test_cells_are_moved_copied_folded_and_removed(desk: Desk) -> None:
    one, two = desk.add("note"), desk.add("recall")

    def order() -> list[str]:
        return re.findall(r'id="notebook-cell-([0-9a-f-]+)"', desk.page())

    ids = [one[-36:], two[-36:]]
    assert desk.client.post(f"{two}/move?by=-1", headers=HTMX).status_code == 204
    assert order() == ids[::-1]
    desk.client.post(f"{one}/move", data={"before": ids[1]})
    assert order() == ids
    desk.client.post(f"{one}/duplicate")
    assert len(order()) == 3
    assert "Cell removed" in desk.client.post(f"{two}/remove", headers=HTMX).text
    assert len(order()) == 2
    assert "Undo" in desk.page()
    desk.client.post(f"{two}/restore")
    assert order()[-1] == ids[1]


@pytest.mark.parametrize(
    ("kind", "typed", "answered"),
    [
        ("recall", {"q": "hazelnuts", "space": "default", "alpha": "1"}, True),
        ("recall", {"q": "squirrels", "space": "default"}, False),
        ("recall", {"q": "hazelnuts", "types": "decision"}, False),
        ("context", {"q": "hazelnuts", "budget": "400"}, True),
        ("context", {"q": "squirrels", "budget": "400"}, False),
        ("context", {"q": "hazelnuts", "budget": "4000"}, False),
    ],
)
def test_what_is_typed_and_folded_has_no_answer_to_another_question(
    desk: Desk, kind: str, typed: dict[str, str], answered: bool
) -> None:
    stored(desk.person, NUTS)
    cell, _ = desk.run(kind, q="hazelnuts")
    desk.client.post(f"{cell}/fold", data={"draft": "1", **typed}, headers=HTMX)
    opened = desk.client.post(f"{cell}/fold", headers=HTMX).text
    assert f'value="{typed["q"]}"' in opened
    assert ("allergic" in opened) == answered
    assert ("allergic" in desk.client.get(f"{desk.path}/export.md").text) == answered


def test_a_folded_cell_keeps_what_was_typed(desk: Desk) -> None:
    cell = desk.add("note")
    folded = desk.client.post(f"{cell}/fold", data={"draft": "1", "text": "half a thought"}, headers=HTMX).text
    assert "half a thought" in folded
    assert "<textarea" not in folded
    assert "<textarea" in desk.client.post(f"{cell}/fold", headers=HTMX).text
    desk.client.post(f"{cell}/remove", data={"draft": "1", "text": "the other half"}, headers=HTMX)
    assert ">the other half</textarea>" in desk.client.post(f"{cell}/restore", headers=HTMX).text


def test_a_notebook_is_renamed_copied_deleted_and_brought_back(desk: Desk) -> None:
    desk.add("note")
    desk.client.post(f"{desk.path}/rename", data={"title": "Other"})
    assert 'value="Other"' in desk.page()
    assert 'value="Copy of Other"' in desk.client.get(desk.client.post(f"{desk.path}/duplicate").location).text
    desk.client.post(f"{desk.path}/delete")
    assert desk.client.get(desk.path).status_code == 404
    assert "“Other” is deleted" in desk.client.get("/notebooks").text
    desk.client.post(f"{desk.path}/restore")
    assert 'value="Other"' in desk.page()


def test_an_empty_title_changes_nothing(desk: Desk) -> None:
    desk.client.post(f"{desk.path}/rename", data={"title": "  "})
    assert 'value="Desk"' in desk.page()


def test_the_same_title_is_no_new_one(desk: Desk) -> None:
    for title in ("Desk", "Other", "Other"):
        desk.client.post(f"{desk.path}/rename", data={"title": title}, headers=HTMX)
    assert desk.one("SELECT count(*) FROM audit_events WHERE action = 'notebook.renamed'") == 1


def test_htmx_gets_the_field_of_the_title_where_another_is_kept(desk: Desk) -> None:
    answer = desk.client.post(f"{desk.path}/rename", data={"title": "Other"}, headers=HTMX).text
    assert "<title>Other · Commonplace</title>" in answer
    assert "<input" not in answer
    answer = desk.client.post(f"{desk.path}/rename", data={"title": " Two  blanks "}, headers=HTMX).text
    assert 'value="Two blanks"' in answer


def test_who_has_deleted_everything_is_not_given_the_sample_again(desk: Desk) -> None:
    desk.client.post(f"{desk.path}/delete")
    assert desk.client.get("/").location == "/notebooks"


def test_running_all_says_nothing_twice(desk: Desk) -> None:
    desk.run("remember", text="I always drink my tea black.")
    desk.run("recall", q="tea")
    desk.client.post(f"{desk.path}/run")
    desk.client.post(f"{desk.path}/run")
    assert desk.one("SELECT repeat_count FROM memories") == 0


def test_what_a_full_space_did_not_keep_is_not_said_to_be_forgotten(desk: Desk) -> None:
    settings = {"name": "Default", "soft_cap": "1", "retention_days": "180", "memory_enabled": "true"}
    desk.client.post("/spaces/default", data=settings)
    desk.run("remember", text="I always drink my tea black.", saved="true")
    answer = desk.run("remember", text="The bus was late.")[1].text
    assert "not kept, as the space is full" in answer
    assert "orgotten" not in answer
    assert "weaker memory went" not in answer


@pytest.mark.parametrize("form", [{"kind": "poem"}, {}, {"kind": "note", "after": "x"}])
def test_a_cell_that_does_not_exist_is_not_added(desk: Desk, form: Any) -> None:
    assert desk.client.post(f"{desk.path}/cells", data=form).status_code in {404, 422}
    assert desk.one("SELECT count(*) FROM cells") == 0


@pytest.mark.parametrize("text", ["a\x00b", "x" * 100_000])
def test_what_cannot_be_kept_is_refused(desk: Desk, text: str) -> None:
    _, answer = desk.run("note", text=text)
    assert answer.status_code == 422
    assert desk.one("SELECT input FROM cells") == {}


def test_a_page_of_many_cells_stays_light_and_loads_the_rest_when_asked(desk: Desk) -> None:
    for number in range(8):
        stored(desk.person, f"Ada owns {number} hazelnut trees near the house number {number * 7}.")
    cells = [desk.run("recall", q=f"hazelnut trees {number}")[0] for number in range(8)]
    page = desk.page()
    assert len(page.encode()) < 60_000
    assert problems_of(page) == []
    assert f'hx-get="{cells[-1]}"' in page
    assert "hazelnut trees 7" not in page
    assert "hazelnut trees 7" in desk.client.get(cells[-1], headers=HTMX).text
    assert "hazelnut trees 7" in desk.client.get(cells[-1], follow_redirects=True).text
