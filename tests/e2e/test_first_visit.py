"""A first visit: with a pointer, by keyboard alone, and without JavaScript, until the memory is gone for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from notebook_page import cells_of
from playwright.sync_api import Locator, Page, expect

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LogIn = Callable[..., Page]
BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])


@pytest.fixture
def novice(new_person: Callable[..., Any]) -> Any:
    """A user who has nothing yet."""
    return new_person("novice")


def _tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until the control has the focus, as somebody without a pointer has to."""
    for _ in range(60):
        if wanted.count() and wanted.first.evaluate("(each) => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not lead to {wanted}")


@BOTH
def test_the_three_steps_with_a_pointer(log_in_by_hand: LogIn, novice: Any, scripts: bool) -> None:
    page = log_in_by_hand(novice, java_script_enabled=scripts)
    cells_of(page, "remember").get_by_role("button", name="Remember").click()
    expect(cells_of(page, "remember")).to_contain_text("Why it weighs so much")
    recall = cells_of(page, "recall")
    recall.get_by_role("button", name="Run", exact=True).click()
    expect(recall.locator(".entry mark", has_text="sugar")).to_be_visible()
    expect(recall.locator(".entry-why")).to_contain_text("1st by words")
    recall.get_by_role("button", name="Forget").click()
    recall.get_by_role("button", name="For good, now").click()
    expect(page.get_by_text("without sugar")).to_have_count(0)
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    page.goto("/memories")
    expect(page.get_by_text("Nothing is remembered yet.")).to_be_visible()


@BOTH
def test_an_address_with_an_umlaut_opens_the_pages(
    log_in_by_hand: LogIn, new_person: Callable[..., Any], scripts: bool
) -> None:
    joerg = new_person("jörg", email=f"jörg.müßig-{uuid4().hex[:8]}@example.org")
    page = log_in_by_hand(joerg, java_script_enabled=scripts)
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


def test_the_three_steps_by_keyboard(log_in_by_hand: LogIn, novice: Any) -> None:
    page = log_in_by_hand(novice)
    _tab_to(page, cells_of(page, "remember").get_by_label("One self-contained statement"))
    page.keyboard.press("Control+Enter")
    # The text field is gone, and the focus has not gone with it.
    expect(cells_of(page, "remember").get_by_role("button", name="Say it again")).to_be_focused()
    recall = cells_of(page, "recall")
    _tab_to(page, recall.get_by_label("Ask your memory"))
    page.keyboard.press("Enter")
    expect(recall.locator(".entry mark", has_text="sugar")).to_be_visible()
    _tab_to(page, recall.get_by_label("Recency"))
    page.keyboard.press("ArrowRight")
    expect(recall.locator(".bar", has_text="Recency")).to_contain_text("0.1")
    _tab_to(page, recall.get_by_role("button", name="Forget"))
    page.keyboard.press("Enter")
    expect(recall.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_forgetting_in_a_list_keeps_the_focus(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/memories")
    first = page.locator("article.entry").first
    first.get_by_role("button", name="Forget").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Gone for good.")).to_be_visible()
