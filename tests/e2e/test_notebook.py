"""What a person does in a notebook, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebook_page import cells_of, new_cell, run_through
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.models import Cell, Space
from memory.notebooks.notebooks import create_notebook
from memory.spaces.spaces import update_space
from memory.storage.database import user_session
from memory.writing.remember import remember
from retrieval.policy import Policy, policy_from
from webapp.pages.notebook_forms import SLIDERS

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LogIn = Callable[..., Page]
TIMES = "\N{MULTIPLICATION SIGN}"
BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])


def _ask(cell: Locator, question: str) -> None:
    cell.get_by_label("Ask your memory").fill(question)
    cell.get_by_role("button", name="Run", exact=True).click()
    expect(cell.locator(".took")).to_be_visible()


def _slide(cell: Locator, name: str, value: str) -> None:
    cell.get_by_label(name).fill(value)


@BOTH
def test_a_first_visit_runs_all_three_steps(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, java_script_enabled=scripts)
    page.get_by_role("button", name="Run all").click()
    expect(cells_of(page, "remember")).to_contain_text("Why it weighs so much")
    expect(cells_of(page, "recall").locator(".entry mark", has_text="sugar")).to_be_visible()
    expect(cells_of(page, "context").locator(".sample")).to_contain_text("recalled-memories")
    expect(cells_of(page, "context").locator(".took")).to_contain_text("ms")
    # On paper, whatever the colours, each answer stands beneath what it answers.
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-appearance", "dark")
    page.emulate_media(media="print")
    expect(page.locator("body")).to_have_css("background-color", "rgb(248, 244, 234)")
    expect(cells_of(page, "recall").get_by_label("Ask your memory")).to_be_visible()
    expect(cells_of(page, "remember").locator("form .entry-text")).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)


def test_a_cell_is_run_once_the_one_before_is_answered(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with user_session(reader.runtime.sessions, reader.id) as session:
        # Who stores waits for the space.
        session.execute(select(Space).with_for_update())
        page.get_by_role("button", name="Run all").click()
        expect(cells_of(page, "remember").locator(".busy")).to_have_class("busy htmx-request")
        page.wait_for_timeout(500)
        recall = cells_of(page, "recall").get_attribute("data-cell")
        assert not [each for each in asked if f"/{recall}/" in each]
    expect(cells_of(page, "recall").locator(".entry mark", has_text="sugar")).to_be_visible()


@BOTH
def test_all_cells_are_run_folded_ones_too(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, at=None, java_script_enabled=scripts)
    recall = new_cell(page, "Recall")
    _ask(recall, "hazelnuts")
    recall.get_by_role("button", name="Fold the cell").click()
    expect(recall.locator(".folded")).to_have_text("hazelnuts")
    with user_session(reader.runtime.sessions, reader.id) as session:
        cell = session.scalars(select(Cell).where(Cell.input["q"].astext == "hazelnuts")).one()
        cell.output, cell.ran_at = None, None
        session.commit()
    page.get_by_role("button", name="Run all").click()
    expect(page.get_by_role("button", name="Run all")).to_be_enabled()
    # What was shown anew is not wired yet.
    page.reload()
    recall.get_by_role("button", name="Open the cell").click()
    expect(recall.locator(".took")).to_be_visible()
    expect(recall.locator(".entry mark", has_text="hazelnuts").first).to_be_visible()


def test_a_number_that_does_not_fit_ends_the_run_of_all(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Context")
    budget, button = cell.get_by_label("Token budget"), page.get_by_role("button", name="Run all")
    cell.get_by_label("What the agent is asked").fill("hazelnuts")
    budget.fill("0")
    button.click()
    expect(budget).to_be_focused()
    expect(button).to_be_enabled()
    budget.fill("400")
    button.click()
    expect(cell.locator(".took")).to_be_visible()
    expect(button).to_be_focused()


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("Recall", "Ask your memory"),
        ("Remember", "One self-contained statement"),
        ("Command", "Say it in plain words"),
        ("Note", "Markdown"),
        ("Context", "What the agent is asked"),
    ],
)
def test_a_new_cell_is_ready_to_be_written_in(log_in: LogIn, library: Any, kind: str, label: str) -> None:
    page = log_in(library, at=None)
    expect(new_cell(page, kind).get_by_label(label)).to_be_focused()
    # It has the focus because it is new, not whenever its page is opened.
    page.reload()
    expect(page.get_by_label(label)).not_to_be_focused()


@BOTH
def test_remember_recall_forget_and_undo(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, at=None, java_script_enabled=scripts)
    cell = new_cell(page, "Remember")
    cell.get_by_label("One self-contained statement").fill("The spare key hangs behind the clock.")
    cell.get_by_role("button", name="Remember").click()
    expect(cell).to_contain_text("No other memory in this space has nearly the same words")
    page.get_by_role("form", name="Add a cell").get_by_role("button", name="Recall").click()
    recall = cells_of(page, "recall")
    _ask(recall, "spare key clock")
    first = recall.locator(".entry").first
    expect(first).to_contain_text("hangs behind the")
    first.get_by_role("button", name="Forget").click()
    expect(recall.locator(".entry-gone")).to_contain_text("Forgotten")
    page.reload()
    expect(page.get_by_text("hangs behind the")).to_have_count(0)
    recall.get_by_role("button", name="Undo").click()
    expect(recall.locator(".entry").first).to_contain_text("hangs behind the")


def test_a_slider_ranks_anew_at_once(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at=None)
    cell = new_cell(page, "Recall")
    _ask(cell, "hazelnuts bakery Ada trains")
    first = cell.locator(".entry").first
    expect(first.locator(".bar", has_text="Importance")).to_contain_text(f"{TIMES} 0.05")
    relevant = first.locator(".entry-text").inner_text()
    _slide(cell, "Relevance", "0")
    _slide(cell, "Importance", "3")
    _slide(cell, "Recency", "0")
    expect(first.locator(".bar", has_text="Importance")).to_contain_text(f"{TIMES} 3")
    # All answers are there: a page that is left while one is on its way says so in the console.
    expect(first.locator(".bar", has_text="Recency").locator(".bar-weight")).to_have_text(f"{TIMES} 0")
    expect(cell.locator(".slider", has_text="Importance").locator("output")).to_have_text("3")
    totals = [float(each) for each in cell.locator(".bar:has-text('Total') .bar-value").all_inner_texts()]
    assert totals == sorted(totals, reverse=True)
    assert relevant
    page.reload()
    expect(cell.get_by_label("Importance")).to_have_value("3")


def test_where_and_how_a_recall_asks_is_shown_where_somebody_chose(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at=None)
    cell = new_cell(page, "Recall")
    _ask(cell, "hazelnuts")
    page.reload()
    fusion = cell.get_by_label("Fusion", exact=True)
    expect(fusion).to_be_hidden()
    cell.get_by_text("Where and how").click()
    with page.expect_response(re.compile("/run")):
        fusion.select_option("minmax")
    page.reload()
    expect(fusion).to_have_value("minmax")
    expect(fusion).to_be_visible()


# What a space may have saved: between the steps of its slider, beyond its ends, and with many digits.
ODD = {"alpha": 3.2, "beta": 0.1234567, "gamma": 0.33333333333333, "tau_days": 0.02, "mmr_lambda": 0.973, "rrf_k": 777}


@BOTH
@pytest.mark.parametrize("saved", [{}, {"name": "specified"}, ODD], ids=["balanced", "specified", "odd"])
def test_a_slider_that_nobody_touched_changes_no_number(
    log_in: LogIn, reader: Any, saved: dict[str, Any], scripts: bool
) -> None:
    with user_session(reader.runtime.sessions, reader.id) as session:
        update_space(session, reader.id, "default", {"policy": saved}, now=utc_now(), actor="test")
    page = log_in(reader, at=None, java_script_enabled=scripts)
    cell = new_cell(page, "Recall")
    _ask(cell, "hazelnuts")
    expected = policy_from(saved, Policy())
    with user_session(reader.runtime.sessions, reader.id) as session:
        [kept] = session.scalars(select(Cell.input).where(Cell.user_id == reader.id, Cell.kind == "recall")).all()
    assert {name: kept[name] for name in SLIDERS} == {name: getattr(expected, name) for name in SLIDERS}
    for name, (_, said, *_) in SLIDERS.items():
        shown = cell.locator(".slider", has_text=said).locator("output")
        assert float(shown.inner_text()) == getattr(expected, name)


def test_a_slider_can_change_what_comes_first(log_in: LogIn, reader: Any) -> None:
    with user_session(reader.runtime.sessions, reader.id) as session:
        weighty = Draft(text="Of all that the bakery sells, Ada buys bread for long rides on trains.", importance=1.0)
        remember(session, reader.id, "default", weighty, keys=reader.runtime.keys, now=utc_now(), actor="test")
    page = log_in(reader, at=None)
    cell = new_cell(page, "Recall")
    _ask(cell, "Ada trains seats")
    order = cell.locator(".entry-text").all_inner_texts()
    assert len(order) > 1
    for name in ("Relevance", "Recency"):
        _slide(cell, name, "0")
    _slide(cell, "Importance", "3")
    expect(cell.locator(".entry").first.locator(".bar", has_text="Importance")).to_contain_text(f"{TIMES} 3")
    assert cell.locator(".entry-text").all_inner_texts() != order


@BOTH
def test_a_command_forgets_what_was_recalled_and_takes_it_back(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, at=None, java_script_enabled=scripts)
    cell = new_cell(page, "Command")
    cell.get_by_label("Say it in plain words").fill("what do you remember about hazelnuts?")
    cell.get_by_role("button", name="Do it").click()
    expect(cell).to_contain_text("Ada is allergic to hazelnuts")
    cell.get_by_label("Say it in plain words").fill("forget that")
    cell.get_by_role("button", name="Do it").click()
    # The answer says once what it was, and is not kept.
    expect(cell.get_by_role("status")).to_contain_text("I forgot “Ada is allergic to hazelnuts")
    expect(cell.locator(".entry-text")).to_have_count(0)
    page.goto("/")
    expect(page.get_by_text("Ada is allergic")).to_have_count(0)
    cell.get_by_role("button", name="Undo").click()
    expect(cell).to_contain_text("Ada is allergic to hazelnuts")


def test_all_cells_run_though_one_is_removed_meanwhile(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at=None)
    cell = new_cell(page, "Note")
    cell.get_by_label("Markdown").fill("Something to note.")
    page.get_by_role("form", name="Add a cell").get_by_role("button", name="Chart").click()
    expect(cells_of(page, "chart")).to_be_visible()
    page.get_by_role("button", name="Run all").evaluate(
        "(button) => { button.click(); document.querySelector('.cell-chart').remove(); }"
    )
    expect(cell.locator(".note")).to_contain_text("Something to note.")
    expect(page.get_by_role("button", name="Run all")).to_be_enabled()


# Twice before the answer, as Enter does it, and a double click that is slower than the answer.
AT_ONCE = "(button) => { button.click(); button.click(); }"


def test_what_is_asked_twice_is_remembered_once(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at=None)
    cell = new_cell(page, "Remember")
    cell.get_by_label("One self-contained statement").fill("The spare key hangs behind the clock.")
    runs = _runs(page)
    cell.get_by_role("button", name="Remember").evaluate(AT_ONCE)
    expect(cell).to_contain_text("No other memory in this space has nearly the same words")
    assert len(runs) == 1


@pytest.mark.parametrize("slow", [False, True], ids=["at once", "slowly"])
def test_what_is_asked_twice_is_forgotten_once(log_in: LogIn, reader: Any, slow: bool) -> None:
    page = log_in(reader, at=None)
    cell = new_cell(page, "Command")
    said, do = cell.get_by_label("Say it in plain words"), cell.get_by_role("button", name="Do it")
    said.fill("what do you remember about hazelnuts?")
    do.click()
    expect(cell).to_contain_text("Ada is allergic to hazelnuts")
    said.fill("forget that")
    runs = _runs(page)
    if slow:
        do.click()
        expect(cell.get_by_role("status")).to_contain_text("I forgot")
        page.mouse.down(click_count=2)
        page.mouse.up(click_count=2)
    else:
        do.evaluate(AT_ONCE)
    expect(cell.get_by_role("status")).to_contain_text("I forgot “Ada is allergic to hazelnuts")
    expect(cell.get_by_role("button", name="Undo")).to_be_visible()
    assert len(runs) == 1


def test_a_double_click_on_a_tool_is_one_but_for_two_moves(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    note = new_cell(page, "Note")
    note.get_by_role("button", name="Copy the cell").dblclick()
    expect(cells_of(page, "note")).to_have_count(2)
    page.get_by_role("form", name="Add a cell").get_by_role("button", name="Chart").click()
    chart = cells_of(page, "chart")
    chart.get_by_role("button", name="Fold the cell").dblclick()
    expect(chart.get_by_role("button", name="Open the cell")).to_be_visible()
    chart.get_by_role("button", name="Move up").dblclick()
    expect(page.locator(".cell").first).to_have_class(re.compile("cell-chart"))
    page.reload()
    expect(page.locator(".cell").first).to_have_class(re.compile("cell-chart"))
    expect(page.locator(".cell")).to_have_count(3)


@pytest.mark.parametrize("slow", [False, True], ids=["at once", "slowly"])
def test_what_is_asked_twice_is_added_once(log_in: LogIn, library: Any, slow: bool) -> None:
    page = log_in(library, at=None)
    new_cell(page, "Note")
    button = page.get_by_role("form", name="Add a cell").get_by_role("button", name="Chart")
    if slow:
        button.click()
        expect(cells_of(page, "chart").first).to_be_visible()
        button.hover()
        page.mouse.down(click_count=2)
        page.mouse.up(click_count=2)
    else:
        button.evaluate(AT_ONCE)
        expect(cells_of(page, "chart").first).to_be_visible()
    page.get_by_role("form", name="Add a cell").get_by_role("button", name="Context").click()
    expect(cells_of(page, "context")).to_be_visible()
    expect(page.locator(".cell-kind")).to_have_text(["note", "chart", "context"])


def _runs(page: Page) -> list[str]:
    """Return the list of runs that the page asks for from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/run") else None)
    return asked


def all_heard(page: Page) -> None:
    """Wait until all cells have heard what was done in one: who is changed anew meanwhile says so in the log."""
    expect(page.locator(".htmx-request")).to_have_count(0)


def test_what_is_forgotten_in_one_cell_is_gone_from_all(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader)
    run_all = page.get_by_role("button", name="Run all")
    run_all.click()
    # A cell that is still being run takes the place of what is clicked in it.
    run_through(page)
    expect(cells_of(page, "context").locator(".sample")).to_contain_text("without sugar")
    cells_of(page, "recall").locator(".entry").first.get_by_role("button", name="Forget").click()
    expect(cells_of(page, "remember").locator(".entry-gone")).to_contain_text("Forgotten. It is gone for good")
    expect(page.get_by_text("without sugar")).to_have_count(0)
    all_heard(page)
    cells_of(page, "remember").get_by_role("button", name="Undo").click()
    expect(cells_of(page, "recall").locator(".entry").first).to_contain_text("without")
    expect(cells_of(page, "context").locator(".sample")).to_contain_text("without sugar")
    all_heard(page)
    cell = cells_of(page, "remember")
    # What is typed stays where something else comes back.
    cells_of(page, "recall").locator(".entry").first.get_by_role("button", name="Forget").click()
    expect(cell.locator(".entry-gone")).to_be_visible()
    all_heard(page)
    cell.get_by_label("One self-contained statement").fill("I drink no tea at all.")
    cells_of(page, "recall").get_by_role("button", name="Undo").click()
    expect(cell).to_contain_text("Why it weighs so much")
    expect(cell.get_by_label("One self-contained statement")).to_have_value("I drink no tea at all.")
    all_heard(page)
    cell.get_by_label("One self-contained statement").fill("")
    cell.get_by_role("button", name="Forget").press("Enter")
    expect(cell.get_by_role("button", name="Undo")).to_be_focused()
    all_heard(page)
    # What was remembered once is not asked for again, and nobody has written anything else.
    run_all.click()
    run_through(page)
    expect(page.get_by_role("alert")).to_have_count(0)
    cell.get_by_label("One self-contained statement").fill("I drink no tea at all.")
    run_all.click()
    expect(cell.get_by_role("button", name="Say it again")).to_be_visible()
    run_through(page)
    all_heard(page)


def test_pin_and_mark_in_place(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at=None)
    cell = new_cell(page, "Recall")
    _ask(cell, "bakery")
    entry = cell.locator(".entry").first
    entry.get_by_role("button", name="Pin").click()
    expect(entry.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
    expect(entry.get_by_role("button", name="Pinned")).to_be_focused()
    entry.get_by_role("button", name="This was the right one").click()
    expect(entry.get_by_role("button", name="The right one")).to_have_attribute("aria-pressed", "true")


def test_a_field_that_was_made_larger_is_no_complaint(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Note")
    cell.get_by_label("Markdown").fill("a thought")
    # As the browser notes it when its corner is dragged; to copy that, as htmx would, is inline style.
    cell.get_by_label("Markdown").evaluate("(area) => { area.style.height = '300px' }")
    cell.get_by_role("button", name="Save").click()
    expect(cell.locator(".note")).to_have_text("a thought")
    expect(cell.locator(".htmx-settling, .htmx-added")).to_have_count(0)


def test_the_keyboard_runs_a_cell(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Note")
    cell.get_by_label("Markdown").fill("# A *plan*")
    page.keyboard.press("Control+Enter")
    expect(cell.locator(".note em")).to_have_text("plan")


@pytest.mark.parametrize("key", ["Control+Enter", "Enter"])
def test_a_saved_note_is_edited_anew_from_where_one_is(log_in: LogIn, library: Any, key: str) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Note")
    cell.get_by_label("Markdown").fill("a thought")
    pressed = cell.get_by_label("Markdown") if key == "Control+Enter" else cell.get_by_role("button", name="Save")
    pressed.press(key)
    expect(cell.locator(".note")).to_have_text("a thought")
    expect(cell.locator("summary", has_text="Edit")).to_be_focused()


def test_cells_are_moved_and_keep_what_is_typed(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    new_cell(page, "Note").get_by_label("Markdown").fill("half a thought")
    page.get_by_role("form", name="Add a cell").get_by_role("button", name="Context").click()
    kinds = page.locator(".cell-kind")
    expect(kinds).to_have_text(["note", "context"])
    cells_of(page, "note").get_by_role("button", name="Move down").click()
    expect(kinds).to_have_text(["context", "note"])
    expect(cells_of(page, "note").get_by_role("button", name="Move down")).to_be_focused()
    expect(page.get_by_label("Markdown")).to_have_value("half a thought")
    page.reload()
    expect(kinds).to_have_text(["context", "note"])


def test_cells_are_dragged(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    new_cell(page, "Note")
    page.get_by_role("form", name="Add a cell").get_by_role("button", name="Context").click()
    kinds = page.locator(".cell-kind")
    expect(kinds).to_have_text(["note", "context"])
    with page.expect_response(re.compile("/move")):
        cells_of(page, "context").locator(".drag").drag_to(cells_of(page, "note"), target_position={"x": 50, "y": 5})
    expect(kinds).to_have_text(["context", "note"])
    page.reload()
    expect(kinds).to_have_text(["context", "note"])


@BOTH
def test_a_cell_is_removed_and_comes_back(log_in: LogIn, library: Any, scripts: bool) -> None:
    page = log_in(library, at=None, java_script_enabled=scripts)
    cell = new_cell(page, "Chart")
    cell.get_by_role("button", name="Remove the cell").click()
    expect(page.locator(".cell-removed")).to_contain_text("Cell removed")
    expect(cell).to_have_count(0)
    page.locator(".cell-removed").get_by_role("button", name="Undo").click()
    expect(cell).to_be_visible()


def test_who_takes_back_the_removal_of_a_note_goes_on_from_it(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Note")
    cell.get_by_label("Markdown").fill("a thought")
    page.keyboard.press("Control+Enter")
    expect(cell.locator(".note")).to_have_text("a thought")
    cell.get_by_role("button", name="Remove the cell").press("Enter")
    page.locator(".cell-removed").get_by_role("button", name="Undo").press("Enter")
    expect(cell).to_be_visible()
    expect(cell.locator("summary", has_text="Edit")).to_be_focused()


def test_a_new_title_takes_no_click_and_no_focus(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader)
    title, more = page.get_by_label("Title of the notebook"), page.locator(".menu summary")
    title.fill("Bees")
    more.hover()
    with page.expect_response(re.compile("/rename")):
        page.mouse.down()
    # Not at once, as a hand does it: the title is kept by then.
    expect(page).to_have_title("Bees · Commonplace")
    page.mouse.up()
    expect(page.get_by_role("link", name="All notebooks")).to_be_visible()
    title.fill("Hives")
    page.keyboard.press("Tab")
    expect(page).to_have_title("Hives · Commonplace")
    expect(page.get_by_role("button", name="Run all")).to_be_focused()
    expect(page.get_by_role("heading", name="Hives")).to_be_attached()
    title.fill("  Two   hives ")
    page.keyboard.press("Enter")
    expect(title).to_have_value("Two hives")
    expect(title).to_be_focused()
    # What is said of a title that was refused is said until another is taken.
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/rename") else None)
    page.locator("#flash").evaluate("(each) => (each.className = 'same')")
    title.fill("   ")
    page.keyboard.press("Enter")
    # Into the region that is there: what one comes with, not every screen reader tells.
    expect(page.locator("#flash.same")).to_contain_text("It stays as it was.")
    page.wait_for_load_state("networkidle")
    assert len(sent) == 1, "a second one would send the title that is there, and take back what was said"
    title.fill("Nests")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Nests · Commonplace")
    expect(page.locator("#flash")).to_have_text("")


@BOTH
def test_a_notebook_is_exported(log_in: LogIn, library: Any, scripts: bool) -> None:
    page = log_in(library, at=None, java_script_enabled=scripts)
    _ask(new_cell(page, "Recall"), "hazelnuts")
    page.locator(".menu summary").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Export as HTML").click()
    text = Path(waiting.value.path()).read_text()
    assert "Ada is allergic to <mark>hazelnuts</mark>" in text
    assert "<style>" in text


@BOTH
def test_incognito_keeps_nothing_of_a_cell(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, at=None, java_script_enabled=scripts)
    cell = new_cell(page, "Recall")
    page.get_by_role("button", name="Go incognito").click()
    cell.get_by_label("Ask your memory").fill("hazelnuts")
    cell.get_by_role("button", name="Run", exact=True).click()
    expect(cell.locator(".output")).to_contain_text("nothing of this cell is kept")
    page.get_by_role("button", name="End incognito").first.click()
    expect(cell.get_by_label("Ask your memory")).to_have_value("")


@BOTH
def test_a_long_notebook_loads_its_cells_as_one_comes_to_them(log_in: LogIn, library: Any, scripts: bool) -> None:
    steps = [("note", {"text": f"Note number {number}. " + "Many words. " * 900}) for number in range(5)]
    with user_session(library.runtime.sessions, library.id) as session:
        made = create_notebook(session, library.id, "Long", now=utc_now(), actor="test", steps=steps)
        address = f"/notebooks/{made.id}"
    page = log_in(library, java_script_enabled=scripts)
    page.goto(address)
    expect(page.locator(".cell-later").last).to_be_attached()
    if scripts:
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.resource_type))
        page.get_by_role("button", name="Run all").click()
        run_through(page)
        assert "document" not in sent
    else:
        page.get_by_role("link", name="Show this cell").last.click()
    expect(cells_of(page, "note").last.locator("textarea")).to_have_value(re.compile("Note number 4"))
