"""Memories are found as one types, and a memory's past is brought back, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from secrets_of_tests import PASSWORD

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.storage.database import user_session
from memory.writing.remember import remember_many

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LogIn = Callable[..., Page]
BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])


def test_the_list_follows_what_is_typed(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories")
    words = page.get_by_label("Words in them")
    words.press_sequentially("hazel", delay=20)
    expect(page.locator(".entry")).to_have_count(1)
    expect(page.locator(".entry")).to_contain_text("hazelnuts")
    expect(words).to_be_focused()
    expect(page).to_have_url(re.compile(r"/memories\?q=hazel$"))


def test_what_is_typed_goes_with_the_filters(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories?q=shelf")
    expect(page.locator(".count")).to_contain_text("30 memories")
    page.get_by_label("Type").select_option("fact")
    expect(page.get_by_text("No active memory has these words.")).to_be_visible()
    expect(page).to_have_url(re.compile(r"q=shelf&type=fact|type=fact&q=shelf"))


def test_what_is_folded_filters_as_it_is_chosen(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories")
    expect(page.get_by_label("Status")).to_be_hidden()
    page.get_by_text("Status, age, vector, tag, source and more").click()
    page.get_by_label("Status").select_option("archived")
    expect(page.get_by_text("No memory fits these filters.")).to_be_visible()
    expect(page.get_by_label("Status")).to_be_visible()
    expect(page).to_have_url(re.compile(r"status=archived"))


@pytest.mark.parametrize("width", [320, 390, 700, 1280])
def test_the_order_of_the_list_is_read_whole(log_in: LogIn, library: Any, width: int) -> None:
    page = log_in(library, at="/memories?order=important")
    page.set_viewport_size({"width": width, "height": 800})
    order = page.get_by_label("Order")
    given, needed = [
        order.evaluate("(each, width) => { each.style.width = width; return each.offsetWidth; }", width)
        for width in ("", "max-content")
    ]
    assert given >= needed


def test_back_leads_to_the_list_before_the_first_letter(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/search")
    page.goto("/memories")
    words = page.get_by_label("Words in them")
    for typed, number in (("ba", "1 memory"), ("kery", "1 memory")):
        words.press_sequentially(typed, delay=20)
        expect(page.locator(".count")).to_contain_text(number)
        expect(page).to_have_url(re.compile(f"q=ba.*{typed[-2:]}" if typed == "kery" else "q=ba$"))
    page.go_back()
    expect(page).to_have_url(re.compile(r"/memories$"))
    expect(page.locator(".count")).to_contain_text("33 memories")


def test_back_leads_to_the_page_that_was_loaded_last(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories")
    page.get_by_role("link", name="Load more").click()
    expect(page.locator("article.entry")).to_have_count(33)
    last = page.locator("article.entry").last
    said = last.locator(".entry-text").inner_text()
    last.get_by_role("link", name="Open").click()
    expect(page).to_have_url(re.compile(r"/memories/[\w-]+(\?|$)"))
    page.go_back()
    expect(page.locator("article.entry", has_text=said)).to_be_in_viewport()
    page.get_by_role("link", name="back to the first").click()
    expect(page.locator("article.entry")).to_have_count(20)


def test_who_loads_more_by_the_keyboard_misses_no_memory(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories")
    page.get_by_role("link", name="Load more").press("Enter")
    expect(page.locator("article.entry")).to_have_count(33)
    expect(page.locator(".desk-pick input").nth(20)).to_be_focused()


def test_a_pause_in_typing_asks_once(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at=None)
    page.clock.install()
    page.goto("/memories")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/memories" in request.url else None)
    words = page.get_by_label("Words in them")
    # The clock of the page stands still meanwhile: on a busy machine there would be a pause between two letters.
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    words.press_sequentially("bakery")
    page.clock.resume()
    expect(page.locator(".entry")).to_have_count(1)
    words.blur()
    expect(page.locator(".entry")).to_have_count(1)
    assert len(asked) == 1


def test_the_button_serves_without_scripts(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories", java_script_enabled=False)
    page.get_by_label("Words in them").fill("bak")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator(".entry")).to_have_count(1)
    expect(page.get_by_label("Words in them")).to_have_value("bak")


def test_the_counts_of_the_list_follow_what_is_forgotten(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/memories")
    expect(page.locator(".count")).to_contain_text("8 memories")
    forgotten = page.locator("#memories-restorables")
    for button, number, told in (("Forget", 7, 1), ("Undo", 8, 0), ("Forget", 7, 1)):
        page.get_by_role("button", name=button, exact=True).first.click()
        expect(page.locator(".count")).to_contain_text(f"{number} memories")
        expect(page.locator("#space option[value=default]")).to_have_text(f"Default ({number})")
        expect(forgotten.get_by_text("1 memory forgotten in the last ten minutes")).to_have_count(told)
    page.get_by_label("Type").select_option("fact")
    expect(page).to_have_url(re.compile(r"type=fact"))
    expect(forgotten.locator("summary")).to_be_visible()


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside another"])
def test_the_focus_stays_where_a_memory_went_for_good(log_in: LogIn, reader: Any, others: int) -> None:
    page = log_in(reader, at="/memories?q=shelf")
    for _ in range(others):
        page.get_by_role("button", name="Forget", exact=True).first.click()
        expect(page.get_by_text("1 memory forgotten in the last ten minutes")).to_be_visible()
    page.goto("/memories?q=bakery")
    page.get_by_role("button", name="Forget", exact=True).press("Enter")
    # It has the focus once it is wired; before that a button does what it does without scripts.
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.get_by_role("button", name="For good, now").press("Enter")
    expect(page.get_by_text("Gone for good.")).to_be_focused()


def test_back_ticks_no_memory_in_the_place_of_another(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/memories?q=ada")
    page.locator(".desk-pick input").nth(1).check()
    ticked = page.locator(".desk-pick input").nth(1).get_attribute("id")
    page.get_by_text("Do something to several at once").click()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", name="Pin 1 memory?")).to_be_visible()
    with user_session(reader.runtime.sessions, reader.id) as session:
        drafts = [Draft(text="Ada plays the viola on Thursdays.")]
        remember_many(session, reader.id, "default", drafts, keys=reader.runtime.keys, now=utc_now(), actor="test")
    page.go_back()
    expect(page.locator(".entry")).to_have_count(3)
    expect(page.locator(".desk-pick input:checked")).to_have_count(1)
    expect(page.locator(".desk-pick input:checked")).to_have_id(ticked or "")


@BOTH
def test_who_leaves_them_has_them_ticked_still(log_in: LogIn, library: Any, scripts: bool) -> None:
    page = log_in(library, at="/memories?q=shelf&order=oldest", java_script_enabled=scripts)
    boxes, ticked = page.locator(".desk-pick input"), page.locator(".desk-pick input:checked")
    names = [boxes.nth(place).get_attribute("id") for place in (0, 7)]
    for place in (0, 7):
        boxes.nth(place).check()
    page.get_by_text("Do something to several at once").click()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("link", name="Leave them").click()
    expect(ticked).to_have_count(2)
    assert [each.get_attribute("id") for each in ticked.all()] == names
    # Nothing that was ticked is lost, and nothing that is ticked no more comes back.
    boxes.nth(0).uncheck()
    boxes.nth(3).check()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", name="Pin 2 memories?")).to_be_visible()
    shown = page.locator("ul.log").inner_text()
    assert ("box 0" in shown, "box 21" in shown, "box 49" in shown) == (False, True, True)


def test_what_is_ticked_stays_so_in_another_order_and_further_down(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories?q=shelf&order=oldest")
    boxes, ticked = page.locator(".desk-pick input"), page.locator(".desk-pick input:checked")
    page.get_by_role("link", name="Load more").click()
    expect(boxes).to_have_count(30)
    names = [boxes.nth(place).get_attribute("id") for place in (14, 22)]
    for place in (14, 22):
        boxes.nth(place).check()
    page.get_by_text("Do something to several at once").click()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("link", name="Leave them").click()
    expect(page.get_by_text("1 more was ticked, and is so again where it is shown.")).to_be_visible()
    page.get_by_label("Order").select_option("newest")
    expect(page.locator(".count")).to_contain_text("newest first")
    page.get_by_role("link", name="Load more").click()
    expect(ticked).to_have_count(2)
    assert sorted(each.get_attribute("id") or "" for each in ticked.all()) == sorted(map(str, names))
    page.get_by_label("Order").select_option("oldest")
    expect(page.locator(".count")).to_contain_text("oldest first")
    expect(ticked).to_have_count(1)
    ticked.uncheck()
    boxes.nth(2).check()
    another = boxes.nth(2).get_attribute("id") or ""
    page.get_by_label("Type").select_option("note")
    expect(page).to_have_url(re.compile("type=note"))
    expect(page.locator(f"#{another}")).to_be_checked()
    expect(page.locator(f"#{names[0]}")).not_to_be_checked()


@BOTH
def test_back_leads_through_what_is_done_to_many(log_in: LogIn, reader: Any, scripts: bool) -> None:
    """No browser shows what answered a form without asking to send it again."""
    page = log_in(reader, at="/memories?q=ada", java_script_enabled=scripts)
    page.locator(".desk-pick input").first.check()
    page.get_by_text("Do something to several at once").click()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Pin 1 memory").click()
    done, undo = page.get_by_role("heading", name="1 memory pinned"), page.get_by_role("button", name="Undo")
    expect(done).to_be_visible()
    page.get_by_role("link", name="Back to the memories").click()
    page.wait_for_url(re.compile(r"/memories\?q=ada"))
    page.go_back()
    expect(done).to_be_visible()
    page.reload()
    expect(undo).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Pin 1 memory?")).to_be_visible()
    page.go_forward()
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Undo").click()
    expect(other.get_by_text("Undone: 1 memory as before.")).to_be_visible()
    expect(other).to_have_url(re.compile("q=ada"))


def test_back_leads_to_the_page_of_a_form_that_was_refused(log_in: LogIn, reader: Any) -> None:
    page = log_in(reader, at="/spaces")
    page.get_by_label("Name of a new space").fill("Default")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.goto("/search")
    page.go_back()
    expect(page.get_by_role("heading", name="Spaces")).to_be_visible()


def test_back_to_a_page_of_somebody_else_belongs_to_who_is_logged_in(log_in: LogIn, reader: Any, library: Any) -> None:
    page = log_in(reader, at="/memories")
    page.get_by_label("Words in them").fill("hazelnuts")
    expect(page).to_have_url(re.compile("q=hazelnuts"))
    page.context.request.post("/login", form={"email": library.email, "password": PASSWORD}, max_redirects=0)
    page.go_back()
    expect(page.get_by_role("button", name="Log out")).to_have_attribute("title", re.compile(library.email))
    page.get_by_label("Words in them").fill("bakery")
    expect(page.locator(".entry")).to_have_count(1)


@BOTH
def test_what_was_forgotten_comes_back_after_a_reload(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, at="/memories?q=bakery", java_script_enabled=scripts)
    page.get_by_role("link", name="Open").click()
    page.wait_for_url(re.compile(r"/memories/[\w-]+(\?|$)"))
    address = page.url.partition("?")[0]
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.goto("/memories")
    page.get_by_text("1 memory forgotten in the last ten minutes").click()
    page.get_by_role("link", name="Forgotten just now").click()
    expect(page).to_have_url(address)
    page.get_by_role("button", name="Restore").click()
    expect(page.locator(".entry-large")).to_have_text("The bakery on Mill Lane closes on Mondays.")


@BOTH
def test_back_offers_no_undo_of_what_was_undone(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, at="/memories?q=bakery", java_script_enabled=scripts)
    page.get_by_text("Do something to several at once").click()
    page.get_by_label("With those that are ticked").select_option("tag")
    page.get_by_label("Tag to add or take off").fill("bread")
    page.get_by_label("all that fit").check()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Tag 1 memory with #bread").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: 1 memory as before.")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="1 memory tagged: bread")).to_be_visible()
    expect(page.get_by_text("Nothing of it is left to undo")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


@BOTH
def test_a_version_is_restored(log_in: LogIn, reader: Any, scripts: bool) -> None:
    page = log_in(reader, at="/memories?q=bakery", java_script_enabled=scripts)
    page.get_by_role("link", name="Open").click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("What is to be remembered").fill("The bakery on Mill Lane closes on Tuesdays.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("del")).to_contain_text("Mondays")
    expect(page.locator("ins")).to_contain_text("Tuesdays")
    page.get_by_role("button", name="Restore version 1").click()
    expect(page.locator(".entry-large")).to_have_text("The bakery on Mill Lane closes on Mondays.")
    expect(page.get_by_text("version 1 was restored")).to_be_visible()


def test_neighbours_come_when_they_come_into_view(log_in: LogIn, library: Any) -> None:
    page = log_in(library, at="/memories?q=Shelf+29")
    page.get_by_role("link", name="Open").click()
    page.get_by_role("heading", name="What comes near it").scroll_into_view_if_needed()
    expect(page.locator("#memories-neighbours .entry-text")).to_have_count(5)
