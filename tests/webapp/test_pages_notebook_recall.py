"""Cells of a notebook that recall: why something was found, its weights, and what is done with a hit."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import pytest
from api_agent import waited_for
from notebook_desk import MILL, NUTS, SILENT, Desk, filled
from pages_browser import HTMX, stored
from pages_markup import problems_of, words_of
from sqlalchemy import inspect
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.purge import purge
from memory.storage.database import make_engine, user_session
from webapp.pages.notebook_stored import check_cell


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


def test_a_cell_is_told_with_its_buttons_and_a_slider_once(desk: Desk) -> None:
    desk.run("recall", q="peanuts")
    page = " ".join(desk.page().split())
    assert '<header class="cell-head" role="group" aria-label="Recall cell">' in page
    assert len(re.findall(r"<output [^>]*aria-live=\"off\"", page)) == page.count("<output ") > 0


def test_of_a_long_note_a_recall_shows_the_part_that_speaks_of_the_question(desk: Desk) -> None:
    boxes = "A box of letters stands on the shelf. " * 50
    stored(desk.person, f"{boxes}Benedita gave the samovar away. {boxes}")
    _, answer = desk.run("recall", q="samovar")
    shown, _, rest = answer.text.partition("Show all of it")
    assert "…" in shown
    assert shown.count("box of letters") < 50
    assert "gave the <mark>samovar</mark> away" in shown
    assert words_of(rest).count("box of letters") == 100
    assert problems_of(desk.page()) == []


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


def test_a_question_that_is_forgotten_while_a_hit_is_marked_for_it_marks_none(desk: Desk) -> None:
    """The cell was read when it still asked that."""
    asked = "Ada hides the hazelnuts beneath the third beehive"
    memory, gone = stored(desk.person, NUTS), stored(desk.person, asked)
    cell, _ = desk.run("recall", q=asked)
    with ThreadPoolExecutor(1) as pool:
        with desk.person.session() as session:
            forget(session, desk.person.id, gone, keys=desk.person.runtime.keys, now=utc_now(), actor="test")
            marking = pool.submit(desk.client.post, f"{cell}/hits/{memory}", data={"act": "mark"}, headers=HTMX)
            assert waited_for(session)
        assert marking.result(60).status_code == 404
    assert desk.one("SELECT count(*) FROM recall_marks") == 0


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


def test_an_answer_of_an_earlier_version_kept_nothing_back(desk: Desk) -> None:
    for text in (NUTS, MILL):
        stored(desk.person, text)
    desk.run("recall", q=SILENT)
    assert "1 comes near it" in desk.page()
    with user_session(desk.person.runtime.sessions, desk.person.id) as session:
        session.execute(sql("UPDATE cells SET output = output - 'withheld' WHERE output ? 'hits'"))
    assert "No memory matches." in desk.page()


TIME_ASKED = "You ask for a time and nothing else, so this is what was kept then or speaks of it"


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
    filled(desk)
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
