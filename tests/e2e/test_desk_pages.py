"""Account, tokens, providers and playground in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from embedding_endpoint import Endpoint, running
from flask import Flask
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running() as server:
        yield server


def test_a_token_is_made_and_revoked(log_in: Callable[..., Page], reader: Any) -> None:
    page = log_in(reader)
    page.get_by_role("link", name="Account").click()
    page.get_by_role("navigation", name="Account").get_by_role("link", name="Tokens").click()
    page.get_by_label("What it is for").fill("my loom")
    page.get_by_label("write").check()
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_label("The token", exact=True)).to_have_text(re.compile(r"^cp_[\w-]{43}$"))
    page.goto("/tokens")
    expect(page.get_by_label("The token", exact=True)).to_have_count(0)
    sure = page.get_by_role("button", name="Revoke my loom for good")
    expect(sure).to_be_hidden()
    page.get_by_label("Revoke my loom…").click()
    sure.click()
    expect(page.get_by_role("status").filter(has_text="Revoked.")).to_be_visible()
    expect(page.get_by_label("Revoke my loom…")).to_have_count(0)


def test_loading_the_page_again_makes_no_second_token(log_in: Callable[..., Page], reader: Any) -> None:
    page = log_in(reader, at="/tokens")
    page.get_by_label("What it is for").fill("my kiln")
    page.get_by_label("read").uncheck()
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_role("alert")).to_have_text("What it may do must be at least one of these.")
    expect(page.get_by_label("What it is for")).to_have_value("my kiln")
    page.get_by_label("read").check()
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_label("The token", exact=True)).to_be_focused()
    page.reload()
    expect(page.get_by_label("The token", exact=True)).to_have_count(0)
    expect(page.get_by_role("heading", name="my kiln")).to_have_count(1)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_times_are_shown_in_the_zone_that_is_chosen(
    app: Flask, log_in: Callable[..., Page], new_person: Callable[..., Any], script: bool
) -> None:
    person = new_person("traveller")
    app.test_client().post("/v1/memory/entries", json={"text": "The ferry leaves at noon"}, headers=person.headers)
    # The clock of the browser is another one, and goes before UTC alone.
    page = log_in(person, at="/memories", java_script_enabled=script, timezone_id="Asia/Tokyo")
    shown = page.locator("main time").first
    expect(shown).to_have_attribute("title", re.compile("GMT\\+9|Japan" if script else r" UTC$"))
    page.get_by_role("link", name="Account").click()
    page.get_by_label("Name, such as Europe/Berlin").fill("Mars/Olympus")
    page.get_by_role("button", name="Set it").click()
    expect(page.get_by_role("alert")).to_contain_text("It is not a time zone")
    page.get_by_label("Name, such as Europe/Berlin").fill("Pacific/Kiritimati")
    page.get_by_role("button", name="Set it").click()
    expect(page.get_by_role("status").filter(has_text="The time zone is Pacific/Kiritimati.")).to_be_visible()
    page.get_by_role("link", name="Memories").click()
    expect(shown).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\+14$"))
    page.get_by_role("link", name="Record").click()
    expect(page.get_by_label("From day (Kiritimati)")).to_be_attached()


def test_the_password_is_changed(log_in: Callable[..., Page], reader: Any) -> None:
    page = log_in(reader, at="/account")
    page.get_by_label("Present password").fill("correct horse battery")
    page.get_by_label("New password").fill("another horse battery")
    page.get_by_label("Once more").fill("another horse battery")
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("The password is changed.")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("E-mail address").fill(reader.email)
    page.get_by_label("Password").fill("another horse battery")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_a_tool_is_called(log_in: Callable[..., Page], library: Any, script: bool) -> None:
    page = log_in(library, at="/playground/memory_search", java_script_enabled=script)
    page.get_by_label("query, required").fill("hazelnuts")
    page.get_by_role("button", name="Call memory_search").click()
    expect(page.get_by_label("The answer")).to_contain_text("allergic to hazelnuts")
    expect(page.get_by_label("The call as a command")).to_contain_text('{"query": "hazelnuts"}')


@pytest.mark.parametrize("width", [1200, 390])
def test_the_answer_of_a_tool_is_seen_where_it_was_called(
    log_in: Callable[..., Page], library: Any, width: int
) -> None:
    page = log_in(library, at="/playground/memory_search")
    page.set_viewport_size({"width": width, "height": 700})
    page.get_by_label("query, required").fill("hazelnuts")
    page.get_by_role("button", name="Call memory_search").click()
    expect(page.get_by_role("heading", name="Answer: 200")).to_be_in_viewport(ratio=1)


def test_the_model_is_switched_and_the_page_follows(
    log_in: Callable[..., Page], reader: Any, endpoint: Endpoint
) -> None:
    page = log_in(reader, at="/providers")
    page.get_by_label("Address", exact=True).fill(endpoint.url)
    page.get_by_label("Model", exact=True).fill("loom-5")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_text("It works: 5 dimensions")).to_be_visible()
    page.get_by_role("button", name="Save and re-embed").click()
    models = page.get_by_role("region", name="Models")
    expect(models).to_contain_text("is being filled")
    expect(models).to_contain_text("0 of 8 vectors")
    reader.runtime.backfill.run()
    # Without a click: the fragment asks by itself.
    expect(models).not_to_contain_text("is being filled")
    expect(models).to_contain_text("8 of 8 vectors")
    endpoint.status = 401
    page.reload()
    # Without a click, too: what serves is asked as the page is opened.
    expect(page.get_by_role("status").filter(has_text="gives no vector")).to_contain_text("it wants another key")


def test_memory_is_turned_off_and_on_from_any_page(log_in: Callable[..., Page], reader: Any) -> None:
    page = log_in(reader, at="/tokens")
    page.get_by_role("button", name="Memory off").click()
    banner = page.get_by_role("region", name="Memory is off")
    expect(banner).to_be_visible()
    banner.get_by_role("button", name="Turn memory on").click()
    expect(banner).to_have_count(0)


def test_an_admin_changes_a_role_on_a_phone(
    log_in: Callable[..., Page], new_person: Callable[..., Any], reader: Any
) -> None:
    root = new_person("root", role="admin")
    page = log_in(root, at=f"/admin?q={reader.email}", viewport={"width": 375, "height": 800})
    users = page.get_by_role("region", name="Users")
    users.scroll_into_view_if_needed()
    button, room = page.get_by_text("Make an admin…").bounding_box(), users.bounding_box()
    assert button["x"] + button["width"] <= room["x"] + room["width"]
    # What does not fit is announced by a shadow at the edge that it lies behind; above the table is nothing else.
    edge = {"x": room["x"] + room["width"] - 12, "y": room["y"], "width": 12, "height": 10}
    before = page.screenshot(clip=edge)
    users.evaluate("(region) => { region.scrollLeft = region.scrollWidth }")
    assert page.screenshot(clip=edge) != before


def test_a_user_who_is_looked_for_is_shown_where_it_was_asked(
    log_in: Callable[..., Page], new_person: Callable[..., Any], reader: Any
) -> None:
    root = new_person("root", role="admin")
    page = log_in(root, at="/admin", viewport={"width": 1200, "height": 500})
    page.get_by_label("Part of an address").fill(reader.email)
    page.get_by_role("button", name="Find").click()
    expect(page).to_have_url(re.compile("q="))
    expect(page.get_by_role("row", name=reader.email)).to_be_in_viewport(ratio=1)
    page.get_by_label("Part of an address").fill("nobody@nowhere")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("Nobody has this in their address.")).to_be_in_viewport(ratio=1)
    page.get_by_role("link", name="Show all of them").click()
    expect(page.get_by_label("Part of an address")).to_have_value("")
    expect(page.get_by_label("Part of an address")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_what_was_done_to_a_user_is_said_where_the_user_is_in_the_list(
    log_in: Callable[..., Page], new_person: Callable[..., Any], reader: Any, scripts: bool
) -> None:
    root = new_person("root", role="admin")
    phone = {"viewport": {"width": 375, "height": 500}, "java_script_enabled": scripts}
    page = log_in(root, at=f"/admin?q={reader.email}", **phone)
    page.get_by_text("Disable…").click()
    page.get_by_role("button", name=f"Disable: {reader.email}").click()
    row, told = page.get_by_role("row", name=reader.email), page.get_by_text("is let in any more.")
    expect(row).to_contain_text("disabled")
    expect(told).to_be_in_viewport(ratio=1)
    beneath, above = row.bounding_box(), told.bounding_box()
    assert above["y"] + above["height"] <= beneath["y"] < 500


def test_everything_is_erased(log_in: Callable[..., Page], reader: Any) -> None:
    page = log_in(reader, at="/account")
    page.get_by_role("textbox", name="Password", exact=True).fill("correct horse battery")
    page.get_by_label("Type “erase everything”").fill("erase everything")
    page.get_by_role("button", name="Erase everything").click()
    expect(page.get_by_role("heading", name="Everything is erased")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the report").click()
    assert '"signature"' in download.value.path().read_text()
    page.goto("/memories")
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def test_a_key_that_was_typed_is_still_there_after_a_test(
    app: Flask, log_in: Callable[..., Page], new_person: Callable[..., Any], endpoint: Endpoint
) -> None:
    person = new_person("locksmith")
    page = log_in(person, at="/providers")
    page.get_by_label("Address", exact=True).fill(endpoint.url)
    page.get_by_label("Model", exact=True).fill("loom-5")
    page.get_by_label("Key", exact=True).fill("k3y-of-the-loom")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_role("status").filter(has_text="It works")).to_be_visible()
    expect(page.get_by_label("Key", exact=True)).to_have_value("k3y-of-the-loom")
    page.get_by_role("button", name="Save and re-embed").click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    state = app.test_client().get("/v1/providers", headers=person.headers).json
    assert state["setting"]["has_api_key"]


def test_a_double_click_erases_once_and_shows_the_report(log_in: Callable[..., Page], reader: Any) -> None:
    page = log_in(reader, at="/account")
    page.get_by_role("textbox", name="Password", exact=True).fill("correct horse battery")
    page.get_by_label("Type “erase everything”").fill("erase everything")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_role("button", name="Erase everything").click(no_wait_after=True)
    # As fast as people are: the first is under way and not answered.
    page.wait_for_timeout(30)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    expect(page.get_by_role("heading", name="Everything is erased")).to_be_visible()
    assert len(sent) == 1
