"""The real application behind a real port, and a real Chromium in front of it."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright
from secrets_of_tests import PASSWORD
from werkzeug.serving import make_server

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.storage.database import user_session
from memory.writing.remember import remember_many

# The headless shell is the same browser without windows of its own, each of which costs more than most pages.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMELESS = """() => [...document.querySelectorAll("button, select, textarea, a, summary, input")]
    .filter((each) => each.type !== "hidden" && !each.hidden)
    .filter((each) => !(each.labels?.length || each.textContent.trim() || each.ariaLabel))
    .map((each) => each.outerHTML)"""
# A machine that is busy shows a page late, and `expect` alone would give up after five seconds.
PATIENCE = 30_000
expect.set_options(timeout=PATIENCE)
TEXTS = (
    "Ada is allergic to hazelnuts and carries an adrenaline pen.",
    "The bakery on Mill Lane closes on Mondays.",
    "Ada prefers aisle seats on night trains.",
    *(f"Shelf {number} of the archive holds box {number * 7}." for number in range(30)),
)


@pytest.fixture(scope="session")
def address(app: Flask) -> Iterator[str]:
    """Serve the application on a free port of this host."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def reader(new_person: Callable[..., Any]) -> Any:
    """A user with a few notes, for tests that change them."""
    return _filled(new_person("reader"), TEXTS[:8])


@pytest.fixture(scope="module")
def library(new_person: Callable[..., Any]) -> Any:
    """A user with a filled notebook that tests only read."""
    return _filled(new_person("library"), TEXTS)


def _filled(person: Any, texts: Sequence[str]) -> Any:
    with user_session(person.runtime.sessions, person.id) as session:
        drafts = [Draft(text=text) for text in texts]
        remember_many(session, person.id, "default", drafts, keys=person.runtime.keys, now=utc_now(), actor="test")
    person.embed()
    return person


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Open pages of this host that must neither log an error nor ask another host for anything."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def watch(page: Page) -> None:
        page.on("console", lambda message: complaints.append(message.text) if _complains(message) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if _leaves(request.url) else None)

    def _complains(message: ConsoleMessage) -> bool:
        # A browser logs every form that is refused.
        return message.type == "error" and "status of 422" not in message.text

    def _leaves(url: str) -> bool:
        return urlsplit(url).scheme in {"http", "https", "ws", "wss"} and not url.startswith(f"{address}/")

    def start(**options: Any) -> Page:
        context = browser.new_context(base_url=address, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        watch(page)
        return page

    yield start
    for page in [page for context in contexts for page in context.pages]:
        page.evaluate("0")  # after which all that it said until now is heard
    said = list(complaints)
    # What is still on its way is given up then, which htmx calls an error.
    for context in contexts:
        context.close()
    assert said == []


@pytest.fixture
def log_in(open_page: Callable[..., Page]) -> Callable[..., Page]:
    """Open a page of somebody who has logged in; with `at=None` nothing is on it yet."""

    def start(person: Any, *, at: str | None = "/", **options: Any) -> Page:
        page = open_page(**options)
        form = {"email": person.email, "password": PASSWORD}
        answer = page.context.request.post("/login", form=form, max_redirects=0)
        assert answer.status == 303, answer.text()
        if at is not None:
            page.goto(at)
        return page

    return start


@pytest.fixture
def scrolls_sideways() -> Callable[..., list[tuple[str, int]]]:
    """Return at which addresses and widths a page is wider than its window."""

    def find(page: Page, addresses: Sequence[str], widths: Sequence[int], prepare: str = "") -> list[tuple[str, int]]:
        found = []
        for address in addresses:
            page.goto(address)
            if prepare:
                page.evaluate(prepare)
            for width in widths:
                page.set_viewport_size({"width": width, "height": 800})
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    found.append((address, width))
        return found

    return find


@pytest.fixture
def contrast() -> Callable[[str, str], float]:
    """Return how well one colour is seen on another, both as `rgb(r, g, b)`: from 1 to 21, as WCAG reckons it."""

    def luminance(colour: str) -> float:
        parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def find(one: str, other: str) -> float:
        lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
        return (lighter + 0.05) / (darker + 0.05)

    return find


@pytest.fixture
def nameless() -> Callable[..., list[tuple[str, str]]]:
    """Return the controls that have no name, of the page as it is or at each of the addresses."""

    def find(page: Page, addresses: Sequence[str] = ()) -> list[tuple[str, str]]:
        if not addresses:
            return [(page.url, control) for control in page.evaluate(NAMELESS)]
        found = []
        for address in addresses:
            page.goto(address)
            found += find(page)
        return found

    return find


@pytest.fixture
def log_in_by_hand(open_page: Callable[..., Page]) -> Callable[..., Page]:
    """Open a page and go through the login."""

    def start(person: Any, **options: Any) -> Page:
        page = open_page(**options)
        page.goto("/")
        page.get_by_label("E-mail address").fill(person.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        return page

    return start
