"""What is typed is neither lost nor put over what another wrote: beside a slow answer, another form, another tab."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import new_cell
from playwright.sync_api import Page, Route, expect

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LogIn = Callable[..., Page]


@pytest.fixture
def hold() -> Callable[..., Callable[[], None]]:
    """Hold back what a page asks for; what comes back lets it go, once it was asked."""

    def start(page: Page, address: str | re.Pattern[str]) -> Callable[[], None]:
        held: list[Route] = []

        def keep(route: Route) -> None:
            held.append(route)

        page.route(address, keep)

        def let_go() -> None:
            while not held:
                page.wait_for_timeout(10)
            held[0].continue_()
            page.unroute(address)

        return let_go

    return start


@pytest.mark.parametrize("by", ["key", "button"])
def test_what_is_typed_while_a_note_is_saved_stays(log_in: LogIn, library: Any, hold: Any, by: str) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Note")
    writing = cell.get_by_label("Markdown")
    writing.fill("a thought")
    let_go = hold(page, "**/run")
    if by == "key":
        writing.press("Control+Enter")
    else:
        cell.get_by_role("button", name="Save").click()
    writing.press("Home")
    page.keyboard.type("half ")
    let_go()
    expect(cell.locator(".note")).to_have_text("a thought")
    # Where one is in the text is kept, too.
    page.keyboard.type("of ")
    expect(writing).to_have_value("half of a thought")
    writing.press("Control+Enter")
    expect(cell.locator(".note")).to_have_text("half of a thought")
    expect(writing).to_be_hidden()


@pytest.mark.parametrize("by", ["key", "button"])
def test_a_note_that_is_saved_again_while_it_is_saved_is_saved_as_it_is_then(
    log_in: LogIn, library: Any, hold: Any, by: str
) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Note")
    writing, save = cell.get_by_label("Markdown"), cell.get_by_role("button", name="Save")
    press = {"key": lambda: writing.press("Control+Enter"), "button": save.click}[by]
    writing.fill("a thought")
    let_go = hold(page, "**/run")
    press()
    # Whoever is not sure that it was heard asks more than once.
    for more in (" and", " a half"):
        writing.press("End")
        page.keyboard.type(more)
        press()
    with page.expect_response("**/run"), page.expect_response("**/run"):
        let_go()
    expect(cell.locator(".note")).to_have_text("a thought and a half")
    expect(cell.get_by_role("alert")).to_have_count(0)
    expect(writing).to_be_hidden()
    page.reload()
    expect(cell.locator(".note")).to_have_text("a thought and a half")


@pytest.mark.parametrize("tool", ["Fold the cell", "Remove the cell", "Copy the cell", "Move up"])
def test_what_is_clicked_while_a_note_is_saved_is_done(log_in: LogIn, library: Any, hold: Any, tool: str) -> None:
    page = log_in(library, at=None)
    first = new_cell(page, "Chart")
    page.get_by_role("form", name="Add a cell").get_by_role("button", name="Note").click()
    cell = page.locator(".cell-note")
    writing = cell.get_by_label("Markdown")
    writing.fill("a thought")
    let_go, let_go_on = hold(page, "**/run"), hold(page, re.compile("/(fold|remove|duplicate|move)"))
    cell.get_by_role("button", name="Save").click()
    writing.press("End")
    page.keyboard.type(" and a half")
    cell.get_by_role("button", name=tool).click()
    let_go()
    expect(cell.locator(".note")).to_have_text("a thought")
    let_go_on()
    shown = {
        "Fold the cell": cell.get_by_role("button", name="Open the cell"),
        "Remove the cell": page.locator(".cell-removed"),
        "Copy the cell": cell.nth(1),
        "Move up": page.locator(".cell-note + .cell-chart"),
    }[tool]
    expect(shown).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(first).to_be_visible()
    page.reload()
    if tool == "Remove the cell":
        page.get_by_role("button", name="Undo").click()
    expect(shown if tool != "Remove the cell" else cell).to_be_visible()
    if tool in {"Fold the cell", "Remove the cell"}:
        expect(cell).to_contain_text("a thought and a half")


def test_all_that_is_clicked_while_a_note_is_saved_is_done_in_turn(log_in: LogIn, library: Any, hold: Any) -> None:
    page = log_in(library, at=None)
    new_cell(page, "Chart")
    for kind in ("Context", "Note"):
        page.get_by_role("form", name="Add a cell").get_by_role("button", name=kind).click()
    cells, cell = page.locator(".cell"), page.locator(".cell-note").first
    cell.get_by_label("Markdown").fill("a thought")
    let_go = hold(page, "**/run")
    cell.get_by_role("button", name="Save").click()
    # Whoever asks twice to fold wants it folded, but who asks twice to move wants two steps.
    for tool in ("Move up", "Move up", "Copy the cell", "Fold the cell", "Fold the cell"):
        cell.get_by_role("button", name=tool).click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    let_go()
    expect(cell.locator(".folded")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert asked == ["move?by=-1", "move?by=-1", "duplicate", "fold"]
    for _ in range(2):
        kinds = [each.get_attribute("class") for each in cells.all()]
        assert kinds == [f"cell cell-{kind}" for kind in ("note", "note", "chart", "context")]
        expect(cell.locator(".folded")).to_be_visible()
        expect(cells.nth(1)).to_contain_text("a thought")
        page.reload()


def test_a_cell_that_is_asked_twice_to_fold_stays_folded(log_in: LogIn, library: Any, hold: Any) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Chart")
    let_go = hold(page, "**/fold")
    for _ in range(2):
        cell.get_by_role("button", name="Fold the cell").click()
    let_go()
    expect(cell.locator(".folded")).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(cell.locator(".folded")).to_be_visible()


@pytest.mark.parametrize("then", ["Save", "Fold the cell", "Remove the cell"])
def test_what_is_clicked_while_a_note_is_saved_puts_nothing_over_what_another_wrote(
    log_in: LogIn, library: Any, hold: Any, then: str
) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Note")
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("Markdown").fill("theirs")
    other.get_by_role("button", name="Save").click()
    expect(other.locator(".note")).to_have_text("theirs")
    cell.get_by_label("Markdown").fill("mine")
    let_go = hold(page, "**/run")
    cell.get_by_role("button", name="Save").click()
    cell.get_by_label("Markdown").press("End")
    page.keyboard.type(" too")
    cell.get_by_role("button", name=then).click()
    let_go()
    expect(cell.get_by_role("alert")).to_contain_text("changed while you wrote")
    page.wait_for_load_state("networkidle")
    expect(cell.locator(".note")).to_have_text("theirs")
    expect(cell.get_by_label("Markdown")).to_have_value("mine too")
    # Once that is seen, it is for who wrote here to say.
    cell.get_by_role("button", name="Save").click()
    expect(cell.locator(".note")).to_have_text("mine too")


@pytest.mark.parametrize(
    ("kind", "label", "told"),
    [("Context", "What the agent is asked", ".took"), ("Command", "Say it in plain words", ".took")],
)
def test_what_is_typed_while_a_cell_runs_stays(
    log_in: LogIn, library: Any, hold: Any, kind: str, label: str, told: str
) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, kind)
    writing = cell.get_by_label(label)
    writing.fill("what do you remember about hazelnuts")
    let_go = hold(page, "**/run")
    writing.press("Enter")
    page.keyboard.type(" and bread")
    let_go()
    expect(cell.locator(told)).to_be_visible()
    expect(writing).to_have_value("what do you remember about hazelnuts and bread")
    expect(writing).to_be_focused()


def test_what_is_done_to_a_hit_while_its_cell_is_ranked_anew_is_told(log_in: LogIn, reader: Any, hold: Any) -> None:
    page = log_in(reader, at=None)
    cell = new_cell(page, "Recall")
    cell.get_by_label("Ask your memory").fill("hazelnuts bakery Ada trains")
    cell.get_by_role("button", name="Run", exact=True).click()
    cell.get_by_role("button", name="Forget").first.wait_for()
    cell.get_by_role("button", name="Copy the cell").click()
    cell, other = (page.locator(".cell-recall").nth(place) for place in (0, 1))
    other.get_by_role("button", name="Run", exact=True).click()
    other.get_by_role("button", name="Forget").first.wait_for()
    rank, forget = hold(page, "**/run"), hold(page, "**/hits/*")
    entry = cell.locator(".entry").first
    cell.get_by_label("Recency").fill("2")
    entry.get_by_role("button", name="Forget").click()
    with page.expect_response(re.compile("/run")):
        rank()
    forget()
    # What was ranked anew is shown as well, with what was done since.
    expect(cell.locator(".entry-gone").get_by_role("button", name="Undo")).to_be_visible()
    expect(cell.locator(".bar", has_text="Recency").first).to_contain_text("\N{MULTIPLICATION SIGN} 2")
    expect(other.locator(".entry-gone").get_by_role("button", name="Undo")).to_be_visible()


@pytest.mark.parametrize("first", [0, 1])
def test_what_an_undo_came_to_is_told_beside_another_command(log_in: LogIn, reader: Any, first: int) -> None:
    page = log_in(reader, at=None)
    cell = new_cell(page, "Command")
    said, do = cell.get_by_label("Say it in plain words"), cell.get_by_role("button", name="Do it")
    said.fill("remember that the gate is green")
    do.click()
    undo = cell.get_by_role("button", name="Undo")
    undo.wait_for()
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    page.route("**/run", keep)
    said.fill("dance with me")
    do.click()
    undo.click()
    while len(held) < 2:
        page.wait_for_timeout(10)
    for place in (first, 1 - first):
        held[place].continue_()
        expect(cell.get_by_role("status")).to_contain_text(("is no command", "I no longer remember")[place])
        # Nor is what was begun since the first answer lost to the second.
        expect(said).to_have_value("dance with me" if place == first else "and then")
        said.fill("and then")


def test_nothing_is_typed_while_a_cell_remembers(log_in: LogIn, library: Any, hold: Any) -> None:
    """The answer has the memory in the place of what would be typed."""
    page = log_in(library, at=None)
    cell = new_cell(page, "Remember")
    writing = cell.get_by_label("One self-contained statement")
    writing.fill("Ada keeps bees.")
    let_go = hold(page, "**/run")
    writing.press("Control+Enter")
    expect(writing).to_be_disabled()
    page.keyboard.type("and geese")
    let_go()
    expect(cell.locator(".entry-text").first).to_have_text("Ada keeps bees.")
    expect(cell.get_by_role("button", name="Say it again")).to_be_focused()


def test_what_is_typed_while_a_memory_is_stored_stays(log_in: LogIn, reader: Any, hold: Any) -> None:
    page = log_in(reader, at="/remember")
    writing, remember = page.get_by_label("One self-contained statement"), page.get_by_role("button", name="Remember")
    remember.click()
    expect(writing).to_have_attribute("aria-invalid", "true")
    writing.fill("Ada keeps bees.")
    page.get_by_label("Tags").fill("bees")
    let_go = hold(page, "**/remember")
    remember.click()
    writing.fill("Ada sells honey.")
    page.get_by_label("Type").select_option("fact")
    page.get_by_label("Tags").fill("")
    let_go()
    expect(page.locator("#remember-trace")).to_contain_text("ada keeps bees.")
    expect(writing).to_have_value("Ada sells honey.")
    # What was wrong with it was so before.
    assert writing.get_attribute("aria-invalid") is None
    expect(page.get_by_label("Type")).to_have_value("fact")
    expect(page.get_by_label("Tags")).to_have_value("")
    # Not the field that a new memory begins with.
    page.wait_for_timeout(200)
    expect(page.get_by_label("Tags")).to_be_focused()


def test_what_is_ticked_while_a_memory_is_stored_stays(log_in: LogIn, reader: Any, hold: Any) -> None:
    page = log_in(reader, at="/remember")
    keep = page.get_by_label("keep always")
    page.get_by_label("One self-contained statement").fill("Ada keeps bees.")
    keep.uncheck()
    for ticked, told in ((True, "ada keeps bees."), (False, "ada sells honey.")):
        let_go = hold(page, "**/remember")
        page.get_by_role("button", name="Remember").click()
        keep.set_checked(ticked)
        page.get_by_label("One self-contained statement").fill("Ada sells honey.")
        let_go()
        expect(page.locator("#remember-trace")).to_contain_text(told)
        expect(keep).to_be_checked(checked=ticked)


def test_what_is_ticked_while_a_space_is_saved_stays(log_in: LogIn, reader: Any, hold: Any) -> None:
    page = log_in(reader, at="/spaces/default")
    incognito, memory_on = page.get_by_label("incognito by default"), page.get_by_label("memory is on")
    memory_on.uncheck()
    let_go = hold(page, "**/spaces/default")
    page.get_by_role("button", name="Save", exact=True).click()
    incognito.check()
    let_go()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    expect(incognito).to_be_checked()
    expect(memory_on).not_to_be_checked()
    memory_on.check()
    with page.expect_response("**/spaces/default"):
        page.get_by_role("button", name="Save", exact=True).click()
    page.reload()
    expect(incognito).to_be_checked()
    expect(memory_on).to_be_checked()


def test_what_is_not_saved_in_one_form_of_a_space_stays_when_the_other_is(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/spaces/default")
    soft_cap, memory_on = page.get_by_label("Soft cap"), page.get_by_label("memory is on")
    fusion = page.get_by_label("Fusion", exact=True)
    soft_cap.fill("77")
    memory_on.uncheck()
    page.get_by_label("Relevance").fill("2")
    page.get_by_role("button", name="Save the ranking").click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_have_count(1)
    expect(page.get_by_role("button", name="Save the ranking")).to_be_focused()
    expect(soft_cap).to_have_value("77")
    expect(memory_on).not_to_be_checked()
    memory_on.check()
    fusion.select_option("rrf")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_have_count(2)
    expect(fusion).to_have_value("rrf")
    page.get_by_label("Name", exact=True).fill("Galley")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".trail")).to_have_text("Spaces / Galley")
    expect(page).to_have_title("Galley · Commonplace")
    page.reload()
    expect(soft_cap).to_have_value("77")
    expect(page.get_by_label("Relevance")).to_have_value("2")
    expect(fusion).not_to_have_value("rrf")


def _leave_and_come_back(page: Page) -> None:
    page.goto("/search")
    page.go_back()


def test_what_back_brings_is_not_saved_over_what_another_tab_saved(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/memories?q=bakery")
    page.get_by_role("link", name="Edit").click()
    writing = page.get_by_label("What is to be remembered")
    writing.fill("The bakery is open on Mondays.")
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("What is to be remembered").fill("The bakery closes on Tuesdays.")
    other.get_by_role("button", name="Save").click()
    expect(other.locator(".entry-large")).to_have_text("The bakery closes on Tuesdays.")
    _leave_and_come_back(page)
    expect(writing).to_have_value("The bakery is open on Mondays.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("The bakery closes on Tuesdays.")
    expect(writing).to_have_value("The bakery is open on Mondays.")
    # Once that is seen, it is saved; and where nobody was quicker, at once.
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".entry-large")).to_have_text("The bakery is open on Mondays.")
    page.get_by_role("link", name="Edit").click()
    writing.fill("The bakery is gone.")
    _leave_and_come_back(page)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".entry-large")).to_have_text("The bakery is gone.")


def test_what_back_brings_of_a_note_is_not_saved_over_what_another_tab_saved(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    cell = new_cell(page, "Note")
    cell.get_by_label("Markdown").fill("a thought")
    cell.get_by_role("button", name="Save").click()
    expect(cell.locator(".note")).to_have_text("a thought")
    cell.get_by_text("Edit", exact=True).click()
    cell.get_by_label("Markdown").fill("mine")
    other = page.context.new_page()
    other.goto(page.url)
    theirs = other.locator(".cell-note")
    theirs.get_by_text("Edit", exact=True).click()
    theirs.get_by_label("Markdown").fill("theirs")
    theirs.get_by_role("button", name="Save").click()
    expect(theirs.locator(".note")).to_have_text("theirs")
    _leave_and_come_back(page)
    expect(cell.locator(".note")).to_have_text("theirs")
    page.get_by_role("button", name="Run all").click()
    expect(cell.get_by_role("alert")).to_contain_text("changed while you wrote")
    expect(cell.locator(".note")).to_have_text("theirs")
    expect(cell.get_by_label("Markdown")).to_have_value("mine")
