"""The privacy switches: in reach on every page, with a banner that says what they do."""

from __future__ import annotations

import pytest
from pages_browser import at_browser, flashes

PAGES = ["/memories", "/remember", "/spaces", "/conversations", "/account", "/tokens", "/providers", "/playground"]


@pytest.fixture
def browser(app, ada):
    return at_browser(app, ada)


@pytest.mark.parametrize("path", PAGES)
def test_the_switches_of_memory_and_incognito_are_on_every_page(browser, path):
    page = browser.get(path).text
    assert 'action="/memory/off"' in page
    assert 'action="/incognito/start"' in page


@pytest.mark.parametrize("path", PAGES)
def test_a_banner_with_an_end_button_is_on_every_page(browser, path):
    browser.post("/memory/off")
    browser.post("/incognito/start")
    page = browser.get(path).text
    assert 'action="/memory/on"' in page
    assert 'action="/incognito/end"' in page
    assert 'action="/memory/off"' not in page


def test_memory_off_stores_nothing_until_it_is_on(browser):
    browser.post("/memory/off")
    assert browser.post("/remember", data={"text": "Ada likes tea"}).status_code == 422
    browser.post("/memory/on")
    assert browser.post("/remember", data={"text": "Ada likes tea"}).status_code == 201


def test_the_switch_leads_back_to_the_page_and_says_what_it_did(browser):
    response = browser.post("/memory/off", data={"next": "/spaces"})
    assert (response.status_code, response.location) == (303, "/spaces")
    assert "Memory is off in the shared pool" in flashes(browser.get("/spaces"))


def test_another_user_goes_on(app, browser, bob):
    browser.post("/memory/off")
    assert "Memory is off." not in at_browser(app, bob).get("/memories").text


@pytest.mark.parametrize("path", ["/memory/off", "/memory/on"])
def test_another_site_cannot_turn_the_switch(browser, path):
    assert browser.post(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert browser.get(path).status_code == 405


@pytest.mark.parametrize("path", ["/memory/off", "/memory/on"])
def test_a_stranger_cannot_turn_the_switch(client, path):
    assert client.post(path).location.startswith("/login")
