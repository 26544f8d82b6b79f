"""The cells of a notebook on its page, and how a person makes one."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect


def cells_of(page: Page, kind: str) -> Locator:
    return page.locator(f".cell-{kind}")


def new_cell(page: Page, kind: str) -> Locator:
    """Make a new notebook with one cell of a kind."""
    page.goto("/notebooks")
    page.get_by_label("Title of a new notebook").fill("Desk")
    page.get_by_role("button", name="New notebook").click()
    # Loaded with its scripts: before that a button does what it does without them.
    page.wait_for_url(re.compile(r"/notebooks/[\w-]+$"))
    page.get_by_role("form", name="Add a cell").get_by_role("button", name=kind).click()
    cell = cells_of(page, kind.lower())
    expect(cell).to_be_visible()
    return cell


def run_through(page: Page) -> None:
    """Wait until "Run all", which was pressed, is done and has the focus again: for a moment it does while it runs."""
    button = page.get_by_role("button", name="Run all")
    expect(button).to_be_enabled()
    expect(button).to_be_focused()
