"""What tests of several files begin with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from api_agent import Agent, embed
from flask import Flask, Response, request, request_finished
from flask.testing import FlaskClient
from notebook_desk import Desk
from pages_browser import at_browser

from memory.embedding.providers import NO_LOCAL_MODEL
from tasks.runtime import Runtime
from webapp.pages import tries

TEMPLATES = Path(__file__).parents[2] / "templates"
# What htmx sends does not leave the page; without scripts the same form answers with one.
SENT_BY_HTMX = {
    name if "." in name else f"cells.{name}"
    for path in TEMPLATES.rglob("*.html")
    for given in re.findall(r'hx-post="{{ (.*?) }}"', path.read_text(encoding="utf-8"))
    for name in re.findall(r"'([a-z_.]+)'", given)
}
# The report is kept nowhere, and nobody is left who could ask for it.
ANSWERED_ONCE = {"account.erase"}


@pytest.fixture(autouse=True)
def a_form_answers_with_no_page(app: Flask) -> Iterator[None]:
    """Whoever comes back to a page that answered a form, or loads it again, would be asked to send the form again."""
    answered: set[str | None] = set()

    def note(_app: Flask, response: Response, **_: Any) -> None:
        done = request.method == "POST" and response.status_code == 200 and response.mimetype == "text/html"
        if done and "HX-Request" not in request.headers:
            answered.add(request.endpoint)

    with request_finished.connected_to(note, app):
        yield
    assert answered <= SENT_BY_HTMX | ANSWERED_ONCE


@pytest.fixture
def lasting_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no window in which tries to log in are counted end during the test."""
    monkeypatch.setattr(tries, "WINDOW", timedelta(days=365 * 100))


@pytest.fixture
def nothing_embeds(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Let the server embed nothing until the patch is undone."""
    none = replace(runtime.providers.system, local_model=NO_LOCAL_MODEL, llamacpp_url=None)
    with monkeypatch.context() as patch:
        patch.setattr(runtime.providers, "system", none)
        yield patch


@pytest.fixture
def agent(client: FlaskClient, ada) -> Agent:
    """Ada's agent."""
    return Agent(client, ada.headers)


@pytest.fixture
def reader(app: Flask, ada) -> FlaskClient:
    """Ada at a browser."""
    return at_browser(app, ada)


@pytest.fixture
def stranger(client: FlaskClient, bob) -> Agent:
    """Another user's agent."""
    return Agent(client, bob.headers)


@pytest.fixture
def desk(app: Flask, ada) -> Desk:
    """Ada at a notebook."""
    return Desk(app, ada)


@pytest.fixture
def memory_id(agent) -> str:
    """One memory of Ada's."""
    return agent.store("Ada keeps bees on the roof", type="fact", tags=["bees"])


@pytest.fixture
def notes(agent, ada) -> dict[str, str]:
    """Three memories of Ada's, two of them of the bakery."""
    ids = {
        "hours": agent.store("The bakery on Mill Lane closes on Mondays"),
        "bread": agent.store("The bakery sells rye bread"),
        "nuts": agent.store("Ada is allergic to hazelnuts"),
    }
    embed(ada)
    return ids
