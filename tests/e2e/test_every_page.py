"""Every page of the app with data on it: usable by everyone, in both themes, wide and narrow, and light."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from furnished import Furnished, furnish
from playwright.sync_api import Browser, Page, Response
from sights import Sight, sights

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text()
WIDE, NARROW, NARROWEST = 1280, 360, 320
LARGEST_PAGE, LARGEST_SCRIPTS = 60_000, 10_000
# A theme changes nothing but colours: the other rules see the same page in both.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
# A rule that axe leaves out unless it is asked for: what one presses has 24 pixels for itself.
EVERYTHING: dict[str, Any] = {"rules": {"target-size": {"enabled": True}}}
VIEWS = (
    (WIDE, "light", EVERYTHING),
    (WIDE, "dark", COLOURS),
    (NARROW, "dark", EVERYTHING),
    (NARROW, "light", COLOURS),
)
# What a page looks like after a click or with a question differs from it too little for more.
FEW_VIEWS = (VIEWS[0], (NARROW, "dark", COLOURS))


class Walker:
    """A browser with axe in it, which notes everything that is wrong on the pages that it is shown."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.here = Sight("login", "/login")
        self.wrong: list[str] = []
        page.on("console", lambda message: self._note(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("request", lambda request: self._note(f"asks {request.url}") if self._leaves(request.url) else None)
        page.on("response", self._check_response)

    def _note(self, complaint: str) -> None:
        # A browser logs every refusal that a page is meant to answer with.
        if not (self.here.status >= 400 or (self.here.act and "status of 4" in complaint)):
            self.wrong.append(f"{self.here.name} {self.here.path}: {complaint}")

    def _leaves(self, url: str) -> bool:
        return urlsplit(url).scheme in {"http", "https", "ws", "wss"} and not url.startswith(f"{self.address}/")

    def _check_response(self, response: Response) -> None:
        if response.status >= 500:
            self.wrong.append(f"{self.here.name} {response.url}: {response.status}")

    def visit(self, sight: Sight) -> None:
        self.here = sight
        self._resize(WIDE, "light")
        self._open(sight)
        if sight.act is not None:
            sight.act(self.page)
        for width, scheme, rules in VIEWS if sight.act is None and "?" not in sight.path else FEW_VIEWS:
            self._resize(width, scheme)
            self.wrong += [f"{sight.name} at {width} in {scheme}: {said}" for said in _violations(self.page, rules)]
        self._resize(NARROWEST, "light")
        if self.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            self.wrong.append(f"{sight.name}: scrolls sideways at {NARROWEST}")

    def _open(self, sight: Sight) -> None:
        if sight.is_file:
            self.page.goto("about:blank")
            self.page.set_content(self.page.context.request.get(self.address + sight.path).text())
            return
        response = self.page.goto(sight.path)
        assert response is not None
        if response.status != sight.status:
            self.wrong.append(f"{sight.name} {sight.path}: answers {response.status}")
        if (weight := len(response.body())) > LARGEST_PAGE:
            self.wrong.append(f"{sight.name}: {weight} bytes of HTML")

    def _resize(self, width: int, scheme: Any) -> None:
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme)

    def weigh_scripts(self) -> None:
        """Check what the page's own scripts weigh together, without those of others."""
        sources = self.page.evaluate("[...document.scripts].map((each) => each.src)")
        own = [source for source in sources if "/vendor/" not in source]
        weight = sum(len(self.page.context.request.get(source).body()) for source in own)
        if weight > LARGEST_SCRIPTS:
            self.wrong.append(f"{self.here.name}: {weight} bytes of own scripts")


def _violations(page: Page, rules: dict[str, Any]) -> Iterator[str]:
    found = page.evaluate(
        "(rules) => axe.run(document, { preload: false, resultTypes: ['violations'], ...rules })", rules
    )
    for violation in found["violations"]:
        for node in violation["nodes"]:
            yield f"{violation['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"


@pytest.fixture(scope="module")
def robin(new_person: Callable[..., Any]) -> Any:
    return new_person("robin", role="admin")


@pytest.fixture(scope="module")
def furnished(app: Flask, robin: Any) -> Furnished:
    return furnish(app, robin)


def test_every_page_is_for_everyone(
    app: Flask, robin: Any, furnished: Furnished, browser: Browser, address: str
) -> None:
    # Added by the browser itself, so that the policy of the pages stays in force and is walked as well.
    with browser.new_context(base_url=address) as context:
        context.add_init_script(AXE)
        page = context.new_page()
        page.set_default_timeout(60_000)
        walker = Walker(page, address)
        walker.visit(Sight("login", "/login"))
        page.get_by_label("E-mail address").fill(robin.email)
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        walker.weigh_scripts()
        for sight in sights(app, furnished):
            walker.visit(sight)
    assert not walker.wrong, "\n".join(walker.wrong)
