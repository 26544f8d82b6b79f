"""The notebook: its pages, its cells, and what they keep."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor, wait
from html import unescape
from typing import Any

import pytest
from api_agent import waited_for
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, stored
from pages_markup import problems_of
from sqlalchemy import inspect
from sqlalchemy import text as sql

from memory.database import make_engine, user_session
from memory.embedding.backfill import utc_now
from memory.forget import UNDO_WINDOW, purge
from webapp.pages.notebook_stored import check_cell

NUTS = "Ada is allergic to hazelnuts."


class Desk:
    """A reader at a new notebook, without scripts."""

    def __init__(self, app: Flask, person: Any) -> None:
        self.person = person
        self.client = at_browser(app, person)
        made = self.client.post("/notebooks", data={"title": "Desk"})
        self.path: str = made.location

    def add(self, kind: str) -> str:
        """Add a cell and return its address."""
        response = self.client.post(f"{self.path}/cells", data={"kind": kind}, headers=HTMX)
        found = re.search(r'id="notebook-cell-([0-9a-f-]{36})"', response.text)
        assert found is not None, response.text
        return f"{self.path}/cells/{found.group(1)}"

    def run(self, kind: str, **form: Any) -> tuple[str, Any]:
        """Add a cell, run it as htmx does, and return its address and the answer."""
        cell = self.add(kind)
        return cell, self.client.post(f"{cell}/run", data=form, headers=HTMX)

    def page(self) -> str:
        return self.client.get(self.path).text

    def one(self, statement: str) -> Any:
        with user_session(self.person.runtime.sessions, self.person.id) as session:
            return session.scalar(sql(statement))


@pytest.fixture
def desk(app: Flask, ada) -> Desk:
    return Desk(app, ada)


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


def test_a_recall_shows_why(desk: Desk) -> None:
    stored(desk.person, NUTS, tags=("health",))
    stored(desk.person, "Ada buys hazelnuts for the squirrels.")
    stored(desk.person, "The bakery on Mill Lane closes on Mondays.")
    _, answer = desk.run("recall", q="hazelnuts")
    for part in (
        "<mark>hazelnuts</mark>",
        "Relevance",
        "1st by words",
        "Before the next by",
        "#notebook-output",
        "took",
    ):
        assert part in answer.text


def test_of_a_long_note_a_recall_shows_the_part_that_speaks_of_the_question(desk: Desk) -> None:
    boxes = "A box of letters stands on the shelf. " * 50
    stored(desk.person, f"{boxes}Benedita gave the samovar away. {boxes}")
    _, answer = desk.run("recall", q="samovar")
    shown, _, rest = answer.text.partition("Show all of it")
    assert "…" in shown
    assert shown.count("box of letters") < 50
    assert "gave the <mark>samovar</mark> away" in shown
    assert rest.count("box of letters") == 100
    assert problems_of(desk.page()) == []


@pytest.mark.parametrize("kind", ["recall", "remember", "note", "context", "chart", "command"])
def test_a_new_cell_is_sound_and_so_is_its_page(desk: Desk, kind: str) -> None:
    cell = desk.add(kind)
    assert problems_of(desk.page()) == []
    form = {"q": "hazelnuts", "text": "# Plan\n\n* eat", "chart": "growth"}
    assert desk.client.post(f"{cell}/run", data=form, headers=HTMX).status_code == 200
    assert problems_of(desk.page()) == []


# --- recall ---


def test_a_slider_changes_the_order(desk: Desk) -> None:
    stored(desk.person, "Tea is served at four.", importance=0.1)
    stored(
        desk.person,
        "Served with milk, the tea of the ceremony is a strong one, says the guide to all the houses.",
        importance=1.0,
    )
    cell = desk.add("recall")

    def first(**weights: str) -> str:
        answer = desk.client.post(f"{cell}/run", data={"q": "tea served", **weights}, headers=HTMX).text
        return re.sub(r"<.*?>", "", answer.split('class="verbatim">')[1].partition("</p>")[0])

    assert "four" in first()
    assert "ceremony" in first(alpha="0", gamma="3")


def test_the_weights_of_a_recall_are_kept_and_reset(desk: Desk) -> None:
    cell, _ = desk.run("recall", q="tea", alpha="2.5", rrf_k="7")
    assert 'value="2.5"' in desk.page()
    answer = desk.client.post(f"{cell}/run?reset=1", data={"q": "tea", "alpha": "2.5"}, headers=HTMX)
    assert 'value="2.5"' not in answer.text
    assert desk.one("SELECT input FROM cells") == {"q": "tea"}


def test_cells_name_spaces_without_sizes(desk: Desk) -> None:
    desk.add("recall")
    desk.run("remember", text=NUTS)
    # Only the one that ran is loaded anew: any other would still say how many there were before.
    page = desk.page()
    assert re.search(r">\s*Default\s*</option>", page)
    assert "Default (" not in page


def test_a_vector_is_pending_only_as_far_as_the_page_knows(desk: Desk) -> None:
    cell, answer = desk.run("remember", text=NUTS)
    assert "pending when this was shown" in answer.text
    desk.person.embed()
    shown = desk.client.get(cell, headers=HTMX).text
    assert "pending" not in shown
    assert "ready" in shown


def test_weights_are_saved_for_the_space(desk: Desk) -> None:
    cell, _ = desk.run("recall", q="tea")
    answer = desk.client.post(f"{cell}/weights", data={"q": "tea", "alpha": "0.5", "fusion": "rrf"}, headers=HTMX)
    assert "now those of the space" in answer.text
    assert desk.one("SELECT policy FROM spaces") == {"alpha": 0.5, "fusion": "rrf"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"alpha": "0", "beta": "0", "gamma": "0"}, "The alpha must be above 0 where beta and gamma are not."),
        ({"mmr_lambda": "7"}, "must be a number between 0 and 1"),
        ({"space": "gone"}, ">There is no space"),
        ({"limit": "99"}, "must be at most 50"),
    ],
)
def test_weights_that_no_search_can_use_are_refused_in_the_cell(desk: Desk, given: dict[str, str], said: str) -> None:
    cell, _ = desk.run("recall", q="tea")
    answer = desk.client.post(f"{cell}/weights", data={"q": "tea", **given}, headers=HTMX)
    assert (answer.status_code, problems_of(answer.text)) == (422, [])
    assert 'class="cell cell-recall"' in answer.text
    assert said in answer.text
    assert desk.one("SELECT policy FROM spaces") == {}
    # Every search of the space and every page with a cell goes on.
    assert desk.client.get(desk.path).status_code == 200
    assert desk.client.get("/search", query_string={"q": "tea"}).status_code == 200


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


def test_a_hit_is_pinned_marked_forgotten_and_brought_back(desk: Desk) -> None:
    memory = stored(desk.person, NUTS)
    cell, _ = desk.run("recall", q="hazelnuts")

    def act(name: str) -> str:
        return desk.client.post(f"{cell}/hits/{memory}", data={"act": name}, headers=HTMX).text

    assert "Pinned" in act("pin")
    assert "Pinned" not in act("unpin")
    assert 'aria-pressed="true"' in act("mark")
    assert desk.one("SELECT question FROM recall_marks") == "hazelnuts"
    assert desk.one("SELECT count(*) FROM recall_marks") == 1
    act("unmark")
    assert desk.one("SELECT count(*) FROM recall_marks") == 0
    forgotten = act("forget")
    assert "allergic" not in forgotten
    assert re.search(r"Forgotten\. It is gone for good <time[^>]*>in (?:9|10) minutes</time>", forgotten)
    assert "allergic" not in desk.page()
    assert "Undo" in desk.page()
    assert "allergic" in act("undo")


@pytest.mark.parametrize("act", ["pin", "forget", "mark"])
def test_a_memory_that_the_cell_does_not_show_is_not_there(desk: Desk, act: str) -> None:
    cell, _ = desk.run("recall", q="hazelnuts")
    other = stored(desk.person, NUTS)
    assert desk.client.post(f"{cell}/hits/{other}", data={"act": act}, headers=HTMX).status_code == 404


def test_an_output_holds_no_text_of_a_memory(desk: Desk) -> None:
    stored(desk.person, NUTS)
    desk.run("recall", q="Ada")
    desk.run("context", q="Ada")
    desk.run("remember", text="Bert is allergic to hazelnuts as well.")
    assert desk.one("SELECT string_agg(input::text || output::text, ' ') FROM cells").count("hazelnuts") == 0


def test_what_is_forgotten_is_in_no_column_when_the_undo_has_passed(desk: Desk, database_url: str) -> None:
    secret = "Ada hides the spare key beneath the third beehive"
    desk.run("remember", text=secret, tags="beehives")
    memory = desk.one("SELECT id FROM memories")
    for kind in ("recall", "context"):
        desk.run(kind, q=secret)
    desk.run("note", text=f"> {secret.upper()}")
    desk.run("chart", chart="tags")
    cell, _ = desk.run("recall", q=f"{secret}?")
    desk.client.post(f"{cell}/hits/{memory}", data={"act": "mark"}, headers=HTMX)
    desk.client.post(f"{desk.path}/rename", data={"title": f"On: {secret}"})
    desk.run("command", text=f"what do you remember about {secret}?")
    desk.run("command", text="forget that")
    assert desk.one("SELECT count(*) FROM memories") == 0
    runtime, later = desk.person.runtime, utc_now() + UNDO_WINDOW
    with user_session(runtime.sessions, desk.person.id) as session:
        purge(session, desk.person.id, keys=runtime.keys, now=later)
    owner = make_engine(database_url, pool_size=1)
    with owner.connect() as connection:
        tables = [name for name in inspect(connection).get_table_names() if not name.startswith("huey_")]
        rows = [connection.scalars(sql(f"SELECT to_json(t)::text FROM {table} t")).all() for table in tables]
    owner.dispose()
    assert "beehive" not in "".join(row for table in rows for row in table).lower()


# --- the other kinds ---


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


def test_a_context_fits_its_budget(desk: Desk) -> None:
    for number in range(10):
        stored(desk.person, f"Ada owns {number} hazelnut trees in the garden behind the house number {number * 7}.")
    # One memory takes about 150 tokens with the frame around it, more or less by what its random ids are cut into.
    _, answer = desk.run("context", q="hazelnut trees", budget="250")
    found = re.search(r"(\d+) of 250 tokens, (\d) memor", " ".join(answer.text.split()))
    assert found is not None, answer.text
    assert 100 < int(found.group(1)) <= 250
    assert "&lt;recalled-memories" in answer.text


@pytest.mark.parametrize("chart", ["growth", "ages", "tags", "repeats", "backlog", "latency"])
def test_a_chart_has_its_numbers_beneath(desk: Desk, chart: str) -> None:
    stored(desk.person, NUTS, tags=("health",))
    desk.client.get("/v1/tools", headers=desk.person.headers)
    call = {"query": "hazelnuts"}
    assert desk.client.post("/v1/tools/memory_search", json=call, headers=desk.person.headers).status_code == 200
    _, answer = desk.run("chart", chart=chart)
    assert f'data-chart="{"names" if chart in {"tags", "backlog"} else "number" if chart == "ages" else "time"}"' in (
        answer.text
    )
    assert re.search(r"<td>[\d.]+</td>", answer.text)


def test_a_chart_without_numbers_says_so(desk: Desk) -> None:
    assert "nothing to draw yet" in desk.run("chart", chart="tags")[1].text


def test_a_command_after_a_recall_that_found_nothing_means_nothing(desk: Desk) -> None:
    desk.run("remember", text=NUTS)
    desk.run("recall", q="zeppelins over Friedrichshafen")
    assert "There is no such memory here" in desk.run("command", text="forget that")[1].text
    assert desk.one("SELECT count(*) FROM memories") == 1


def test_a_command_means_what_was_recalled_last_and_offers_an_undo(desk: Desk) -> None:
    stored(desk.person, NUTS)
    desk.run("recall", q="hazelnuts")
    cell, answer = desk.run("command", text="forget that")
    assert desk.one("SELECT count(*) FROM memories") == 0
    slip = re.search(r'name="slip" value="([^"]+)"', answer.text)
    assert slip is not None
    assert slip.group(1) in desk.page()
    answer = desk.client.post(f"{cell}/run", data={"slip": slip.group(1)}, headers=HTMX)
    assert answer.status_code == 200
    assert desk.one("SELECT count(*) FROM memories") == 1


def test_a_command_that_asks_back_has_not_given_up_on_a_later_look(desk: Desk) -> None:
    stored(desk.person, NUTS)
    stored(desk.person, "Ada buys hazelnuts for the squirrels.")
    desk.run("command", text="forget everything about hazelnuts")
    page = desk.page()
    assert 'name="slip"' in page
    assert ("Nothing is changed yet." in page, "Nothing was changed." in page) == (True, False)
    assert desk.one("SELECT count(*) FROM memories") == 2


def test_a_command_shows_what_it_finds(desk: Desk) -> None:
    stored(desk.person, NUTS)
    _, answer = desk.run("command", text="what do you remember about hazelnuts?")
    assert NUTS in answer.text
    assert NUTS in desk.page()
    assert "hazelnuts" not in desk.one("SELECT output::text FROM cells")


def test_what_a_command_stores_is_the_memorys_own(desk: Desk) -> None:
    _, answer = desk.run("command", text="remember that I drink my tea without sugar")
    assert "I will remember that" in answer.text
    assert desk.one("SELECT count(*) FROM memories") == 1
    assert "sugar" not in desk.one("SELECT input::text || output::text FROM cells")


@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "plain"])
def test_a_command_that_starts_incognito_leaves_nothing_and_shows_the_banner(desk: Desk, headers: Any) -> None:
    cell = desk.add("command")
    answer = desk.client.post(f"{cell}/run", data={"text": "start incognito for this chat"}, headers=headers)
    assert answer.headers.get("HX-Refresh") == "true" or answer.status_code == 303
    assert 'aria-label="Incognito"' in desk.page()
    assert desk.one("SELECT input::text || coalesce(output::text, '') FROM cells") == "{}"


def test_a_sentence_that_is_no_command_does_nothing(desk: Desk) -> None:
    _, answer = desk.run("command", text="the weather is nice")
    assert "no command" in answer.text


@pytest.mark.parametrize("form", [{}, {"text": " "}, {"slip": "made up"}])
def test_a_command_that_says_nothing_is_refused(desk: Desk, form: Any) -> None:
    assert desk.run("command", **form)[1].status_code == 422


# --- the notebook ---


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


def _filled(desk: Desk) -> None:
    stored(desk.person, NUTS)
    desk.run("note", text="# Nuts\n\nA *note*.")
    desk.run("recall", q="hazelnuts")
    desk.run("remember", text="I always drink my tea black.")
    desk.run("context", q="hazelnuts")
    desk.run("chart", chart="growth")


SILENT = "Does the mill own zeppelins, yachts or submarines?"
MILL = "The bakery on Mill Lane closes on Mondays."


@pytest.mark.parametrize("kind", ["recall", "context"])
@pytest.mark.parametrize(("number", "said"), [(1, "1 comes near it"), (2, "2 come near it")])
def test_a_silent_cell_says_what_it_kept_back_and_offers_it(desk: Desk, kind: str, number: int, said: str) -> None:
    for text in (NUTS, "Bob reads at night.", "Cara skis.", MILL, "We ate lunch at the mill.")[: 3 + number]:
        stored(desk.person, text)
    _, answer = desk.run(kind, q=SILENT)
    for page in (answer.text, desk.page()):
        assert f"{said}, but none is clearly about it." in page
        assert problems_of(page) == []
    link = re.search(r'href="(/search[^"]*nearest=true[^"]*)"', answer.text)
    assert link is not None
    assert "limit=5" in link.group(1) if kind == "recall" else "limit" not in link.group(1)
    shown = re.sub("<.*?>", "", desk.client.get(unescape(link.group(1))).text)
    assert MILL in shown


@pytest.mark.parametrize("kind", ["recall", "context"])
def test_an_export_says_what_was_kept_back(desk: Desk, kind: str) -> None:
    for text in (NUTS, MILL):
        stored(desk.person, text)
    desk.run(kind, q=SILENT)
    for name in ("export.md", "export.html"):
        assert "1 comes near it, but none is clearly about it." in desk.client.get(f"{desk.path}/{name}").text


def test_an_answer_of_an_earlier_version_kept_nothing_back(desk: Desk) -> None:
    for text in (NUTS, MILL):
        stored(desk.person, text)
    desk.run("recall", q=SILENT)
    assert "1 comes near it" in desk.page()
    with user_session(desk.person.runtime.sessions, desk.person.id) as session:
        session.execute(sql("UPDATE cells SET output = output - 'withheld' WHERE output ? 'hits'"))
    assert "No memory matches." in desk.page()


TIME_ASKED = "You ask for a time and nothing else, so this is what was kept then"


@pytest.mark.parametrize("kind", ["recall", "context"])
def test_a_cell_says_which_time_its_answer_is_of(desk: Desk, kind: str) -> None:
    stored(desk.person, NUTS)
    desk.run(kind, q="What did I note this year?")
    page = desk.page()
    assert f"{TIME_ASKED} ({utc_now():%Y}-01-01 to {utc_now():%Y}-12-31, in UTC)." in page
    assert "no vector yet" not in page
    with user_session(desk.person.runtime.sessions, desk.person.id) as session:
        rows = [dict(row) for row in session.execute(sql("SELECT * FROM cells WHERE output ? 'period'")).mappings()]
        session.execute(sql("UPDATE cells SET output = output - 'period' WHERE output ? 'period'"))
    for row in rows:
        check_cell(row)
    assert TIME_ASKED not in desk.page()


SPOILT = [
    ("recall", "output", "output - 'policy'"),
    ("recall", "output", "jsonb_set(output, '{policy,alpha}', '\"much\"')"),
    ("recall", "output", "jsonb_set(output, '{hits,0,id}', '7')"),
    ("recall", "output", "jsonb_set(output, '{hits,0,score}', '{}')"),
    (
        "recall",
        "output",
        'output || \'{"period": {"start": "2025-05-07T00:00Z", "end": "2025-05-07T00:00Z"}}\'',
    ),
    (
        "recall",
        "output",
        'output || \'{"period": {"start": "0001-01-01T00+14:00", "end": "0001-01-01T00-14:00"}}\'',
    ),
    ("recall", "output", 'output || \'{"period": {"start": "2025-05-07", "end": "soon"}}\''),
    ("recall", "input", 'input || \'{"limit": "many"}\''),
    ("context", "output", "jsonb_set(output, '{timings}', '3')"),
    ("context", "input", 'input || \'{"budget": "much"}\''),
    ("remember", "output", 'output || \'{"memory_id": "here"}\''),
    ("remember", "output", "output || '{\"terms\": [{}]}'"),
    ("remember", "input", '\'{"memory_id": "here"}\''),
    ("command", "output", '\'{"offers": [{"until": "soon"}]}\''),
    ("chart", "input", '\'{"chart": "dreams"}\''),
]


@pytest.mark.parametrize(("kind", "column", "spoilt"), SPOILT)
def test_what_cannot_be_read_of_a_cell_is_said_in_its_place(desk: Desk, kind: str, column: str, spoilt: str) -> None:
    _filled(desk)
    desk.run("command", text="What do you remember about hazelnuts?")
    with user_session(desk.person.runtime.sessions, desk.person.id) as session:
        session.execute(sql(f"UPDATE cells SET {column} = {spoilt} WHERE kind = '{kind}'"))
        cell_id = session.scalar(sql(f"SELECT id FROM cells WHERE kind = '{kind}' ORDER BY place DESC LIMIT 1"))
    cell = desk.client.get(f"{desk.path}/cells/{cell_id}", headers=HTMX)
    page = desk.client.get(f"{desk.path}?at={cell_id}")
    for answer in (cell, page):
        assert answer.status_code == 200
        assert "What is stored of this cell cannot be read." in answer.text
        assert problems_of(answer.text) == []
    for name in ("export.md", "export.html"):
        assert "cannot be read" in desk.client.get(f"{desk.path}/{name}").text
    form = {"q": "hazelnuts", "text": "Ada likes tea.", "chart": "growth"}
    again = desk.client.post(f"{desk.path}/cells/{cell_id}/run", data=form, headers=HTMX)
    assert "cannot be read" not in again.text


def test_what_cells_keep_is_what_an_import_takes(desk: Desk) -> None:
    _filled(desk)
    desk.run("command", text="What do you remember about hazelnuts?")
    desk.run("command", text="Forget hazelnuts")
    desk.run("remember", text="I always drink my tea black.")
    with user_session(desk.person.runtime.sessions, desk.person.id) as session:
        rows = [dict(row) for row in session.execute(sql("SELECT * FROM cells")).mappings()]
    assert {row["kind"] for row in rows} == {"note", "recall", "remember", "context", "chart", "command"}
    for row in rows:
        check_cell(row)


def test_a_notebook_is_exported_as_markdown(desk: Desk) -> None:
    _filled(desk)
    answer = desk.client.get(f"{desk.path}/export.md")
    assert answer.mimetype == "text/markdown"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    for part in ("# Desk", "A *note*.", "## Recall: hazelnuts", f"1. {NUTS}", "> I always drink", "```", "| From |"):
        assert part in answer.text


def test_a_notebook_is_exported_as_one_file_of_html(desk: Desk) -> None:
    _filled(desk)
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


# --- incognito ---


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


def closed_space(desk: Desk) -> None:
    """Have cells tell of a memory in a space, then let that be incognito."""
    desk.client.post("/spaces", data={"name": "Diary", "slug": "diary"})
    stored(desk.person, "Ada hides hazelnuts in the blue cupboard.", space="diary", tags=("squirrel",))
    desk.run("recall", q="hazelnuts cupboard", space="diary")
    desk.run("remember", text="The cupboard's key is under the bed.", space="diary")
    desk.one("UPDATE spaces SET incognito_default = true WHERE slug = 'diary' RETURNING true")


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


# --- guards ---


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


def test_an_export_leaves_nothing_for_later(desk: Desk) -> None:
    for number in range(20):
        desk.run("note", text=f"Note number {number}. " + "Many words. " * 200)
    assert "Note number 19" not in desk.page()
    assert "Note number 19" in desk.client.get(f"{desk.path}/export.md").text
