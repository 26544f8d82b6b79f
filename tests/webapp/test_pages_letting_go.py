"""Forgetting for good at once: nothing of the memory is left, in any column of any table."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import UUID

import pytest
from api_agent import Agent, rows
from api_talk import Talk
from pages_browser import HTMX, at_browser, flashes, stored

from memory.clock import utc_now

TEXT = "Ada hides the zephyrine in the attic."


@pytest.fixture
def browser(app, ada):
    return at_browser(app, ada)


@pytest.fixture
def memory(ada, browser):
    """A memory that was just forgotten."""
    memory_id = stored(ada, TEXT)
    browser.post(f"/memories/{memory_id}/forget")
    return memory_id


def told(person) -> list[str]:
    """Return the tables that still hold the secret word."""
    tables = rows(person, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    readable = [name for (name,) in tables if rows(person, f"SELECT has_table_privilege('{name}', 'SELECT')")[0][0]]
    return [name for name in readable if rows(person, f"SELECT 1 FROM \"{name}\" t WHERE t::text ~* 'zephyrine'")]


def test_what_is_forgotten_can_still_be_brought_back(ada, memory):
    assert "forgotten" in told(ada)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["without scripts", "with scripts"])
def test_who_forgets_again_what_is_forgotten_has_the_undo(ada, browser, memory, headers):
    # What is said of the first time is said once.
    assert "Forgotten. " in browser.get("/memories").text
    page = browser.post(f"/memories/{memory}/forget", headers=headers, follow_redirects=not headers)
    assert page.status_code == 200
    assert re.search(rf"Forgotten\. .*/memories/{memory}/restore", page.text, re.DOTALL)
    assert "Restore" in browser.get(f"/memories/{memory}/edit").text
    assert browser.post(f"/memories/{memory}/restore").status_code == 303
    assert TEXT in browser.get("/memories").text


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["without scripts", "with scripts"])
def test_what_expires_sooner_is_said_to_be_gone_sooner(ada, browser, headers):
    memory_id = stored(ada, TEXT, expires_at=utc_now() + timedelta(minutes=3))
    page = browser.post(f"/memories/{memory_id}/forget", headers=headers, follow_redirects=not headers).text
    assert re.search(r"Forgotten\. It is gone for good (<time [^>]*>)?in [23] minutes", page)


def test_letting_go_leaves_nothing(ada, browser, memory):
    page = browser.post(f"/memories/{memory}/let-go", follow_redirects=True)
    assert "Gone for good." in flashes(page)
    assert told(ada) == []
    assert browser.post(f"/memories/{memory}/restore").status_code == 404


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_of_what_came_from_a_conversation_the_message_stays_and_is_led_to(ada, client, browser, headers):
    talk = Talk(Agent(client, ada.headers))
    message = talk.say(TEXT)
    memory_id = stored(ada, TEXT, source_message_id=UUID(message["id"]))
    browser.post(f"/memories/{memory_id}/forget")
    page = browser.post(f"/memories/{memory_id}/let-go", headers=headers, follow_redirects=not headers)
    assert "Nothing of it is left" not in page.text
    assert f'<a href="/conversations/{talk.id}?at=1#m-1">message that it came from</a> stays' in page.text
    assert "messages" in told(ada)
    assert "only the messages that it came from are in it" in " ".join(browser.get("/account").text.split())


def test_the_audit_says_who_did_it(ada, browser, memory):
    browser.post(f"/memories/{memory}/let-go")
    found = rows(ada, f"SELECT actor FROM audit_events WHERE action = 'memory.let_go' AND subject_id = '{memory}'")
    assert found == [("user",)]


def test_htmx_gets_the_fragment_alone(browser, memory):
    answer = browser.post(f"/memories/{memory}/let-go", headers=HTMX)
    assert answer.text.startswith(f'<div class="entry notice" id="letting_go-gone-{memory}"')


def test_the_flash_offers_both_ways(browser, ada):
    memory_id = stored(ada, TEXT)
    page = browser.post(f"/memories/{memory_id}/forget", follow_redirects=True)
    assert f'action="/memories/{memory_id}/restore"' in flashes(page)
    assert f'formaction="/memories/{memory_id}/let-go"' in flashes(page)


def test_what_was_not_forgotten_cannot_be_let_go(ada, browser):
    memory_id = stored(ada, TEXT)
    assert browser.post(f"/memories/{memory_id}/let-go").status_code == 404
    assert "memories" in told(ada)


def test_a_stranger_cannot_let_it_go(app, ada, bob, memory):
    assert at_browser(app, bob).post(f"/memories/{memory}/let-go").status_code == 404
    assert "forgotten" in told(ada)


def test_a_cell_lets_go_of_what_it_shows(ada, browser):
    home = browser.get("/").text
    cell = re.search(r'class="cell cell-remember"[^>]*data-move="(\S+)/move"', home).group(1)
    browser.post(f"{cell}/run", data={"text": TEXT})
    memory_id = rows(ada, "SELECT id FROM memories")[0][0]
    for act in ("forget", "let_go"):
        assert browser.post(f"{cell}/hits/{memory_id}", data={"act": act}).status_code == 303
    assert told(ada) == []
    assert browser.get("/").status_code == 200
