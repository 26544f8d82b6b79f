"""Entities, preferences and the record, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from playwright.sync_api import Page, expect
from sqlalchemy import select

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.enrichment.findings import Name
from memory.enrichment.mentions import Origin, mention
from memory.models import Space
from memory.spaces.spaces import create_space
from memory.writing.remember import remember_many

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LogIn = Callable[..., Page]
BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
DOCUMENT = "---\nresponse_style:\n  verbosity: concise\n---\nMy notes are in Italian.\n"
LONG = "a/very/long/path/of/folders/that/has/no/place/to/break/in/" + "x" * 120 + ".md"


@pytest.fixture
def keeper(app: Flask, new_person: Callable[..., Any]) -> Any:
    """A user with an entity in each of two spaces, tool calls, preferences and a memory that was used."""
    person = new_person("keeper")
    client = app.test_client()
    with person.session() as session:
        for slug in ("work", "home"):
            create_space(session, person.id, slug, soft_cap=200, now=utc_now(), actor="test")
    for space in ("work", "home"):
        sentence = f"Anna Bergström keeps the key of the {space} in {'x' * 60}."
        body = {"text": sentence, "space": space}
        memory = client.post("/v1/memory/entries", json=body, headers=person.headers).json["id"]
        _name(person, space, UUID(memory), sentence)
    call = {"tool": "notes", "operation": "update", "affected_paths": [LONG], "arguments": {"text": "x" * 3000}}
    client.post("/v1/tool-calls", json={"calls": [call, {"tool": "calendar"}]}, headers=person.headers)
    client.put("/v1/preferences", json={"document": DOCUMENT}, headers=person.headers)
    return person


def _name(person: Any, space: str, memory_id: UUID, sentence: str) -> None:
    with person.session() as session:
        space_id = session.scalars(select(Space.id).where(Space.user_id == person.id, Space.slug == space)).one()
        names = [Name("Anna Bergström", "person", sentence, 0.9)]
        mention(session, person.id, space_id, [(Origin(memory_id=memory_id), names)], now=utc_now())


def test_the_preview_follows_as_one_types_and_leaves_the_text_alone(log_in: LogIn, keeper: Any) -> None:
    page = log_in(keeper, at="/preferences")
    editor, preview = page.get_by_label("Markdown"), page.get_by_label("Preview", exact=True)
    expect(preview).to_contain_text("Keep answers concise.")
    editor.fill("---\ndate_format: 5\n---\n")
    expect(preview.get_by_role("alert")).to_contain_text("Line 2")
    editor.fill("Write short letters.")
    expect(preview).to_contain_text("Write short letters.")
    expect(editor).to_have_value("Write short letters.")
    expect(editor).to_be_focused()


def test_the_focus_goes_on_with_what_is_loaded(app: Flask, log_in: LogIn, keeper: Any) -> None:
    calls = [{"tool": "calendar", "operation": "read"}] * 40
    assert app.test_client().post("/v1/tool-calls", json={"calls": calls}, headers=keeper.headers).status_code == 201
    page = log_in(keeper, at="/record")
    shown = page.locator("#record-calls summary").count()
    page.get_by_role("link", name="Load more").press("Enter")
    expect(page.locator("#record-calls summary").nth(shown)).to_be_focused()
    page.goto("/spaces/work")
    for saved, name in enumerate(("Save", "Save the ranking"), 1):
        button = page.get_by_role("button", name=name, exact=True)
        button.press("Enter")
        expect(page.get_by_text("Saved.")).to_have_count(saved)
        expect(button).to_be_focused()


def test_a_refusal_is_not_said_of_what_can_be_saved(log_in: LogIn, keeper: Any) -> None:
    page = log_in(keeper, at="/preferences")
    refused = page.get_by_text("Nothing was saved.")
    page.get_by_label("Markdown").fill("---\ndate_format: 5\n---\n")
    page.get_by_role("button", name="Save").click()
    expect(refused).to_be_visible()
    expect(page.get_by_label("Markdown")).to_be_focused()
    page.get_by_label("Markdown").fill("Write short letters.")
    expect(page.get_by_label("Preview", exact=True)).to_contain_text("Write short letters.")
    expect(refused).to_be_hidden()


@BOTH
def test_preferences_are_previewed_saved_and_restored(log_in: LogIn, keeper: Any, scripts: bool) -> None:
    page = log_in(keeper, at="/preferences", java_script_enabled=scripts)
    page.get_by_label("Markdown").fill("Write short letters.")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_label("Preview", exact=True)).to_contain_text("Write short letters.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#flash")).to_contain_text("Version 2 is in force")
    page.get_by_role("link", name="Version 1").click()
    expect(page.locator(".diff ins")).to_contain_text("Write short letters.")
    page.get_by_role("button", name="Restore this version").click()
    expect(page.get_by_label("Markdown")).to_have_value(DOCUMENT)


@BOTH
def test_an_entity_is_found_moved_and_deleted(log_in: LogIn, keeper: Any, scripts: bool) -> None:
    page = log_in(keeper, java_script_enabled=scripts)
    page.get_by_role("link", name="Entities", exact=True).click()
    page.get_by_label("Space").select_option("work")
    if not scripts:
        page.get_by_role("button", name="Filter").click()
    expect(page.locator(".entry")).to_have_count(1)
    page.get_by_role("link", name="Anna Bergström").click()
    page.get_by_role("button", name="Move, or merge").click()
    expect(page.locator("#flash")).to_contain_text("the two are one now")
    expect(page.locator(".mention")).to_have_count(2)
    page.get_by_text("Delete Anna Bergström…").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.locator("#flash")).to_contain_text("Anna Bergström is deleted")


@BOTH
def test_a_call_is_found_and_opened(log_in: LogIn, keeper: Any, scripts: bool) -> None:
    page = log_in(keeper, java_script_enabled=scripts)
    page.get_by_role("link", name="Record", exact=True).click()
    expect(page.locator(".call")).to_have_count(2)
    page.get_by_label("update").check()
    if not scripts:
        page.get_by_role("button", name="Filter").click()
    expect(page.locator(".call")).to_have_count(1)
    page.locator(".call summary").press("Enter")
    page.get_by_role("link", name=re.compile("Show all .* characters")).click()
    expect(page.locator(".sample").first).to_contain_text("x" * 3000)


@pytest.mark.parametrize("path", ["/record", "/record/audit"])
def test_a_day_that_does_not_fit_leaves_the_page_as_it_is(log_in: LogIn, keeper: Any, path: str) -> None:
    page = log_in(keeper, at=path)
    # A digit too many, as a browser's own field takes it.
    page.get_by_label("From day").fill("20266-01-01")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("heading", name="That does not fit")).to_be_visible()
    expect(page.get_by_role("banner")).to_have_count(1)
    page.get_by_label("From day").fill("2026-01-01")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("heading", name="That does not fit")).to_have_count(0)
    expect(page.get_by_text("Newest first")).to_be_visible()


@BOTH
def test_the_chain_is_checked(log_in: LogIn, keeper: Any, scripts: bool) -> None:
    page = log_in(keeper, at="/record/audit", java_script_enabled=scripts)
    page.get_by_role("button", name="Check the chain").click()
    expect(page.locator("#record-chain")).to_contain_text(re.compile(r"the chain holds\.\s+\d+ events, head #\d+"))


def test_the_ids_of_what_was_done_to_many_are_folded(log_in: LogIn, keeper: Any) -> None:
    with keeper.session() as session:
        drafts = [Draft(text=f"Shelf {number} holds box {number * 7}.") for number in range(9)]
        outcomes = remember_many(session, keeper.id, "home", drafts, keys=keeper.runtime.keys, now=utc_now(), actor="t")
    page = log_in(keeper, at="/record/audit?action=memory.created&actor=t", viewport={"width": 375, "height": 800})
    [entry] = page.locator(".log > li").all()
    expect(entry).to_contain_text("9 of them")
    assert entry.bounding_box()["height"] < 100
    entry.get_by_text("9 ids").click()
    expect(entry.locator("code", has_text=str(outcomes[0].id))).to_be_visible()


def test_no_page_of_the_record_scrolls_sideways(
    log_in: LogIn, keeper: Any, scrolls_sideways: Callable[..., Any]
) -> None:
    page = log_in(keeper, at="/entities")
    entity = page.get_by_role("link", name="Anna Bergström").first.get_attribute("href")
    assert entity is not None
    paths = ("/entities", entity, "/preferences", "/preferences/versions/1", "/record", "/record/paths")
    unfold = "document.querySelectorAll('details').forEach((each) => (each.open = true))"
    assert scrolls_sideways(page, (*paths, "/record/audit?verify=1"), (320, 768, 1280), unfold) == []


def test_every_control_of_the_record_has_a_name(log_in: LogIn, keeper: Any, nameless: Callable[..., Any]) -> None:
    page = log_in(keeper, at=None)
    assert nameless(page, ("/entities", "/preferences", "/record", "/record/paths", "/record/audit?verify=1")) == []
