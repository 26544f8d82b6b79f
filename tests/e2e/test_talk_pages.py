"""What a person does with conversations and spaces, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from memory.clock import utc_now
from memory.conversations.conversations import change_conversation, open_conversation
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.spaces.spaces import create_space, get_space, update_space
from memory.storage.database import user_session
from webapp.pages.reading import THREADS

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LogIn = Callable[..., Page]
BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
LENGTH = 120


@pytest.fixture
def talker(new_person: Callable[..., Any]) -> Any:
    """A user with a long conversation in the default space and an empty space beside it."""
    person, now = new_person("talker"), utc_now()
    with user_session(person.runtime.sessions, person.id) as session:
        create_space(session, person.id, "kitchen", soft_cap=200, now=now, actor="test", name="Kitchen")
        space = get_space(session, person.id, "default")
        talk, _ = open_conversation(session, person.id, space, title="Shelves", now=now, actor="test")
        drafts = [_draft(number) for number in range(1, LENGTH + 1)]
        append(session, person.id, talk.id, drafts, Scribe(person.runtime.keys, len, now, "test", "test"))
    return person


def _draft(number: int) -> MessageDraft:
    if number == 20:
        return MessageDraft(role="tool_call", content="look_up " + "shelf " * 60)
    return MessageDraft(role="user" if number % 2 else "assistant", content=f"Turn {number} is about box {number * 7}.")


def _open(page: Page) -> None:
    page.get_by_role("link", name="Conversations", exact=True).click()
    page.get_by_role("link", name="Shelves").click()
    expect(page.get_by_role("heading", name="Shelves")).to_be_visible()


@BOTH
def test_words_lead_to_the_message_that_holds_them(log_in: LogIn, talker: Any, scripts: bool) -> None:
    page = log_in(talker, java_script_enabled=scripts)
    page.get_by_role("link", name="Conversations", exact=True).click()
    box = page.get_by_label("Words in a title or in what was said")
    box.press_sequentially("box 210", delay=10)
    if not scripts:
        page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="Turn 30 is about box 210.").click()
    expect(page.locator("#m-30")).to_be_in_viewport()
    expect(page.locator("#conversations-message-30")).to_have_attribute("aria-current", "true")


def test_searching_as_one_types_keeps_the_words_in_the_address(log_in: LogIn, talker: Any) -> None:
    page = log_in(talker, at="/conversations")
    box = page.get_by_label("Words in a title or in what was said")
    box.press_sequentially("zebra", delay=10)
    expect(page.get_by_text("No conversation holds all of")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/conversations\?q=zebra"))
    expect(box).to_be_focused()


def test_more_is_loaded_by_one_click_after_words_were_typed(log_in: LogIn, talker: Any) -> None:
    with user_session(talker.runtime.sessions, talker.id) as session:
        space = get_space(session, talker.id, "default")
        for number in range(THREADS + 5):
            open_conversation(session, talker.id, space, title=f"Walk {number}", now=utc_now(), actor="test")
    page = log_in(talker, at="/conversations")
    page.get_by_label("Words in a title or in what was said").press_sequentially("walk", delay=10)
    expect(page).to_have_url(re.compile(r"q=walk$"))
    rows = page.locator("#conversations-list article")
    expect(rows).to_have_count(THREADS)
    # Leaving the field must not ask for the same words once more: the list would come anew, and the click be lost.
    page.get_by_role("link", name="Load more").click()
    expect(rows).to_have_count(THREADS + 5)
    page.wait_for_load_state("networkidle")
    expect(rows).to_have_count(THREADS + 5)


@BOTH
def test_reading_back_goes_on_where_it_was(log_in: LogIn, talker: Any, scripts: bool) -> None:
    page = log_in(talker, java_script_enabled=scripts)
    _open(page)
    expect(page.locator(".turn")).to_have_count(40)
    page.get_by_role("link", name="Earlier messages").click()
    expect(page.locator("#m-41")).to_be_attached()
    expect(page.locator(".turn")).to_have_count(80 if scripts else 40)
    expect(page.locator("#m-80")).to_be_in_viewport()


@BOTH
def test_a_call_of_a_tool_is_unfolded(log_in: LogIn, talker: Any, scripts: bool) -> None:
    page = log_in(talker, java_script_enabled=scripts)
    _open(page)
    page.get_by_role("link", name="from the beginning").click()
    call = page.locator("#m-20")
    expect(call.locator("pre")).to_be_hidden()
    call.locator("summary").click()
    expect(call.locator("pre")).to_be_visible()


@BOTH
def test_a_conversation_is_renamed_and_moved(log_in: LogIn, talker: Any, scripts: bool) -> None:
    page = log_in(talker, java_script_enabled=scripts)
    _open(page)
    page.get_by_text("Rename or move").click()
    page.get_by_label("Title").fill("Boxes")
    page.get_by_label("Space").select_option("kitchen")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Boxes")).to_be_visible()
    expect(page).to_have_title("Boxes · Commonplace")
    if scripts:
        expect(page.locator("summary", has_text="Rename or move")).to_be_focused()
        page.keyboard.press("Enter")
        page.get_by_label("Title").evaluate("(field) => { field.maxLength = 9999; field.value = 'x'.repeat(501) }")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("must be at most 500 characters")
        expect(page.get_by_label("Title")).to_be_focused()
    page.goto("/conversations?space=kitchen")
    expect(page.get_by_role("link", name="Boxes")).to_be_visible()


def test_back_shows_what_was_changed_elsewhere_meanwhile(log_in: LogIn, talker: Any) -> None:
    page = log_in(talker, at="/spaces/kitchen")
    _open(page)
    talk = UUID(page.url.rpartition("/")[2])
    page.goto("/memories")
    now, by = utc_now(), "test"
    with user_session(talker.runtime.sessions, talker.id) as session:
        kitchen = get_space(session, talker.id, "kitchen")
        change_conversation(session, talker.id, talk, {"space": kitchen}, now=now, actor=by)
        changes = {"memory_enabled": False, "policy": {"fusion": "rrf"}}
        update_space(session, talker.id, "kitchen", changes, now=now, actor=by)
    page.go_back()
    expect(page.locator("#conversations-head").get_by_label("Space")).to_have_value("kitchen")
    page.go_back()
    page.go_back()
    expect(page.get_by_label("memory is on")).not_to_be_checked()
    expect(page.get_by_label("Fusion", exact=True)).to_have_value("rrf")


@BOTH
def test_a_conversation_is_archived_and_deleted(log_in: LogIn, talker: Any, scripts: bool) -> None:
    page = log_in(talker, java_script_enabled=scripts)
    _open(page)
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("kept to read, out of search")).to_be_visible()
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_text(f"{LENGTH} messages and")).to_be_visible()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.locator("#flash")).to_contain_text(f"Deleted, with {LENGTH} messages")


@BOTH
def test_a_space_is_added_set_and_removed(log_in: LogIn, talker: Any, scripts: bool) -> None:
    page = log_in(talker, java_script_enabled=scripts)
    page.get_by_role("link", name="Spaces", exact=True).click()
    page.get_by_label("Name of a new space").fill("Summer house")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Soft cap").fill("50")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Soft cap")).to_have_value("50")
    page.get_by_role("link", name="Remove this space").click()
    page.get_by_role("button", name="Remove the space").click()
    expect(page.locator("#flash")).to_contain_text("The space Summer house is removed")


def test_a_name_that_cannot_be_kept_while_incognito_says_so(log_in: LogIn, talker: Any) -> None:
    page = log_in(talker, at="/spaces/default")
    page.context.request.post("/incognito/start")
    name = page.get_by_label("Name", exact=True)
    name.fill("Galley")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_have_text("It cannot be kept while this session is incognito.")
    expect(name).to_have_value("Galley")


@BOTH
def test_a_space_with_something_in_it_asks_what_becomes_of_it(log_in: LogIn, talker: Any, scripts: bool) -> None:
    page = log_in(talker, java_script_enabled=scripts)
    _open(page)
    page.get_by_text("Rename or move").click()
    page.get_by_label("Space").select_option("kitchen")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="Kitchen", exact=True)).to_be_visible()
    page.goto("/spaces/kitchen/delete")
    page.get_by_role("button", name="Remove the space").click()
    expect(page).to_have_url(re.compile("/spaces/kitchen/delete"))
    page.get_by_label("Archive").check()
    page.get_by_role("button", name="Remove the space").click()
    expect(page.locator("#flash")).to_contain_text("1 conversation moved to the default space and archived")


@BOTH
def test_what_is_shown_for_the_space_that_is_chosen_is_what_is_done(log_in: LogIn, talker: Any, scripts: bool) -> None:
    page = log_in(talker, at="/spaces", java_script_enabled=scripts)
    for name in ("Garage", "Loft"):
        page.get_by_label("Name of a new space").fill(name)
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_text(f"The space {name} is there.")).to_be_visible()
        page.goto("/spaces")
    _open(page)
    page.get_by_text("Rename or move").click()
    page.get_by_label("Space").select_option("garage")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="Garage", exact=True)).to_be_visible()
    page.goto("/spaces/garage/delete")
    page.get_by_label("Into the space").select_option("loft")
    if not scripts:
        page.get_by_role("button", name="Count anew").click()
    expect(page.get_by_text("1 conversation moved to Loft", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("into=loft"))
    page.get_by_label("Move", exact=False).first.check()
    page.get_by_role("button", name="Remove the space").click()
    expect(page.locator("#flash")).to_contain_text("1 conversation moved to Loft")


ADDRESSES = ("/conversations", "/spaces", "/spaces/kitchen", "/spaces/kitchen/delete")


def test_no_page_scrolls_sideways(log_in: LogIn, talker: Any, scrolls_sideways: Callable[..., Any]) -> None:
    page = log_in(talker)
    _open(page)
    here = page.url
    addresses = (*ADDRESSES, here, f"{here}?at=20", f"{here}/messages/20", f"{here}/delete")
    assert scrolls_sideways(page, addresses, (320, 768, 1280, 3840)) == []


def test_every_control_has_a_name(log_in: LogIn, talker: Any, nameless: Callable[..., Any]) -> None:
    page = log_in(talker)
    _open(page)
    here = page.url
    assert nameless(page, (*ADDRESSES, here, f"{here}/delete")) == []
