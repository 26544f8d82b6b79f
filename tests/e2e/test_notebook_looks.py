"""What is seen of a notebook, and how it is called, in a real browser: charts, menus, tools, on any screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import cells_of, new_cell
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LogIn = Callable[..., Page]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_is_drawn_in_the_colours_of_the_theme(log_in: LogIn, library: Any, scheme: str) -> None:
    page = log_in(library, at=None, color_scheme=scheme)
    cell = new_cell(page, "Chart")
    cell.get_by_role("button", name="Run").click()
    expect(cell.locator(".plot canvas")).to_be_visible()
    expect(cell.locator("table td").first).to_have_text("33")
    ink = cell.locator("canvas").evaluate(
        """(canvas) => new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data).size"""
    )
    assert ink > 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_is_seen_in_the_colours_of_the_system(
    log_in: LogIn, library: Any, scheme: str, contrast: Callable[[str, str], float]
) -> None:
    page = log_in(library, at=None, color_scheme=scheme, forced_colors="active")
    cell = new_cell(page, "Chart")
    cell.get_by_role("button", name="Run").click()
    expect(cell.locator(".plot canvas")).to_be_visible()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    # The chart is drawn in the colours that its legend has.
    drawn = cell.locator(".swatch").evaluate_all("(all) => all.map((each) => getComputedStyle(each).backgroundColor)")
    assert [colour for colour in drawn if contrast(colour, paper) < 3] == []


@pytest.mark.parametrize("width", [320, 390, 560, 1280])
def test_the_menu_of_a_notebook_is_seen_as_a_whole(log_in: LogIn, library: Any, width: int) -> None:
    page = log_in(library, viewport={"width": width, "height": 800})
    page.locator(".menu summary").click()
    place = page.locator(".menu-list").bounding_box()
    assert place["x"] >= 0
    assert place["x"] + place["width"] <= width


def test_the_tools_of_a_cell_stand_in_one_line_on_a_phone(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None, viewport={"width": 360, "height": 800})
    tools = new_cell(page, "Remember").locator(".cell-tools button")
    assert len({round(button.bounding_box()["y"]) for button in tools.all()}) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_handle_of_a_cell_is_seen(
    log_in: LogIn, library: Any, scheme: str, contrast: Callable[[str, str], float]
) -> None:
    page = log_in(library, at=None, color_scheme=scheme)
    handle = new_cell(page, "Note").locator(".drag").evaluate("(each) => getComputedStyle(each).color")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert contrast(handle, paper) >= 4.5


def test_a_table_in_a_note_has_columns_and_code_in_it_is_seen_whole(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    note = new_cell(page, "Note")
    table, code = "| hive | honey |\n|---|---|\n| north | 12 |", "```\n" + "hum " * 200 + "\n```"
    note.get_by_label("Markdown").fill(f"{table}\n\n{code}\n\n##### Bees")
    note.get_by_role("button", name="Save").click()
    expect(note.locator("h6")).to_have_css("font-size", re.compile("^1[7-9]"))
    expect(note.locator("td").first).to_have_css("padding-right", re.compile("[1-9]"))
    assert note.locator("pre").evaluate("(each) => each.scrollWidth <= each.clientWidth")


LABELS = """() => {
    window.drawn = new Set();
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        window.drawn.add(String(text));
        return write.call(this, text, ...rest);
    };
}"""


def test_a_chart_is_labelled_with_the_days_of_its_table(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None, timezone_id="America/New_York", locale="en-US")
    cell = new_cell(page, "Chart")
    page.evaluate(LABELS)
    cell.get_by_role("button", name="Run").click()
    expect(cell.locator(".plot canvas")).to_be_visible()
    day = cell.locator("tbody th").first.inner_text()
    # It is drawn in the next frame.
    page.wait_for_function("(day) => window.drawn.has(day)", arg=day)
    assert not [each for each in page.evaluate("[...window.drawn]") if re.search(r"[ap]m$|/", each)]
    # What it took to keep the choice says nothing of the chart, which is drawn anew whenever it is looked at.
    expect(cell.locator(".took")).to_have_count(0)
    # The lines behind it are those of its table: as dark as what is drawn, they would be taken for it.
    page.emulate_media(contrast="more")
    style = cell.locator("table").evaluate(
        "(each) => [getComputedStyle(each)].map((of) => [of.color, of.borderTopColor])"
    )
    assert len({*style[0]}) == 2
    # On paper nothing scrolls.
    page.emulate_media(media="print")
    expect(cell.locator(".scroll")).to_have_css("max-height", "none")


def test_a_chart_without_scripts_is_its_table(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None, java_script_enabled=False)
    cell = new_cell(page, "Chart")
    cell.get_by_label("Chart", exact=True).select_option("backlog")
    cell.get_by_role("button", name="Run").click()
    expect(cell.locator("table")).to_contain_text("ready")


@pytest.mark.parametrize("width", [320, 768, 1280, 3840])
def test_a_notebook_never_scrolls_sideways(log_in: LogIn, reader: Any, width: int) -> None:
    page = log_in(reader, viewport={"width": width, "height": 800})
    page.get_by_role("button", name="Run all").click()
    expect(cells_of(page, "context").locator(".took")).to_be_visible()
    page.get_by_role("form", name="Add a cell").get_by_role("button", name="Chart").click()
    cells_of(page, "chart").get_by_role("button", name="Run").click()
    expect(page.locator(".plot canvas")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_control_of_a_notebook_has_a_name(log_in: LogIn, reader: Any, nameless: Callable[..., Any]) -> None:
    page = log_in(reader)
    # Letters and words as far apart as readers may set them: no name goes beneath what it names.
    apart = "(each) => (each.style.cssText = 'letter-spacing: 0.12em; word-spacing: 0.16em')"
    page.locator(".sliders").first.evaluate(apart)
    covered = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.innerText)"
    assert page.locator(".slider label").evaluate_all(covered) == []
    page.get_by_role("button", name="Run all").click()
    expect(cells_of(page, "context").locator(".took")).to_be_visible()
    assert nameless(page) == []
