"""Pictures of every page into docs/screens: wide in light and dark, and narrow. `make screenshots` runs this.

It is no test, and so has no name that pytest collects by itself; it is run like one for the server, the database and
the browser that tests have.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from furnished import furnish
from PIL import Image
from playwright.sync_api import Browser, Page
from secrets_of_tests import PASSWORD
from sights import Sight, sights

FOLDER = Path(os.environ.get("SCREENS", Path(__file__).resolve().parents[2] / "docs" / "screens"))
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
VIEWS = (("light", WIDE, "light"), ("dark", WIDE, "dark"), ("narrow", NARROW, "light"))
# Of what comes further down a page there is more of the same, but for a notebook with a cell of every kind.
TALLEST, WHOLE = 1400, {"notebook-show": 4000}
# Paper, ink and a few accents with their soft edges: no more is needed, and the files are a third of the size.
COLOURS = 96
# Parts of other pages by their own addresses, and pages that look like another.
ALIKE = {"cells-show", "providers-progress", "providers-serving", "admin-state", "playground-index", "error-not-a-head"}
# With a question they show what they are for; with any other they are empty, or the same once more.
BETTER_ASKED = {"search-index-2", "record-audit-2"}


@pytest.fixture
def kept_runs(home: Path) -> None:
    """Evaluate two sets of cases, so that the page of runs has figures; invented ones would be taken for ours."""
    environment = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    environment["COMMONPLACE_HOME"] = str(home)
    golden = Path(__file__).resolve().parents[2] / "evals"
    for name in ("near_misses.json", "golden.json"):
        command = [sys.executable, "-m", "evals", "golden", str(golden / name)]
        # What it finds out is not asked here: a run that fails its thresholds is a run.
        subprocess.run(command, env=environment, check=False, capture_output=True)


@pytest.mark.usefixtures("kept_runs")
def test_take_pictures(app: Flask, new_person: Callable[..., Any], browser: Browser, address: str) -> None:
    """Log in as the owner of the demo's memories and take a picture of every page."""
    robin = new_person("Robin", role="admin", email="robin@example.com")
    for name in ("Inês", "Jonas", "Mireia"):
        # The last admin could not be erased, which is one of the pictures.
        role = "admin" if name == "Mireia" else "user"
        new_person(name, role=role, email=f"{name.lower().replace('ê', 'e')}@example.com")
    found = furnish(app, robin)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with browser.new_context(base_url=address, timezone_id="Europe/Lisbon", locale="en-GB") as context:
        page = context.new_page()
        page.goto("/login")
        _take(page, "auth-login")
        page.get_by_label("E-mail address").fill(robin.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        for sight in sights(app, found):
            _show(page, sight, address)
            if _is_pictured(sight):
                _take(page, sight.name)


def _is_pictured(sight: Sight) -> bool:
    if sight.path == "/login" or sight.name in ALIKE:
        return False
    return sight.act is not None or "?" not in sight.path or sight.name in BETTER_ASKED


def _show(page: Page, sight: Sight, address: str) -> None:
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    if sight.is_file:
        page.goto("about:blank")
        page.set_content(page.context.request.get(address + sight.path).text())
    else:
        page.goto(sight.path)
    if sight.act is not None:
        sight.act(page)


def _take(page: Page, name: str) -> None:
    for view, size, scheme in VIEWS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        # Cells that wait until one comes to them.
        for _ in range(page.locator(".cell-later").count()):
            # Each is replaced as soon as it is seen, so nothing must hold on to it.
            page.evaluate("() => { document.querySelector('.cell-later')?.scrollIntoView() }")
            page.wait_for_timeout(200)
        page.evaluate("() => { document.activeElement?.blur(); scrollTo(0, 0); return document.fonts.ready }")
        # A chart is drawn again a moment after the last change of its width.
        page.wait_for_timeout(250)
        height = min(page.evaluate("document.documentElement.scrollHeight"), WHOLE.get(name, TALLEST))
        area = {"x": 0, "y": 0, "width": size["width"], "height": height}
        picture = Image.open(BytesIO(page.screenshot(full_page=True, clip=area))).convert("RGB")
        small = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        small.save(FOLDER / f"{name}.{view}.png", optimize=True)
