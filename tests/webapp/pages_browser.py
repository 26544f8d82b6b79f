"""A person at a browser without JavaScript: what the tests of the pages share."""

from __future__ import annotations

import html
import re
from itertools import count
from typing import Any
from uuid import UUID

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.storage.database import user_session
from memory.writing.remember import remember

HTMX = {"HX-Request": "true"}
_addresses = count(1)


def at_browser(app: Flask, person: Any, password: str = "correct horse battery") -> FlaskClient:
    """Return a client that has logged in; each from an address of its own, so that no limit on logins is met."""
    client = app.test_client()
    client.environ_base["REMOTE_ADDR"] = new_address()
    response = client.post("/login", data={"email": person.email, "password": password})
    assert response.status_code == 303, response.text
    return client


def new_address() -> str:
    """Return an address that no other test has."""
    number = next(_addresses)
    return f"10.9.{number // 250}.{number % 250 + 1}"


def stored(person: Any, text: str, *, space: str = "default", **fields: Any) -> UUID:
    """Remember a text and return its id."""
    with user_session(person.runtime.sessions, person.id) as session:
        draft = Draft(text=text, **fields)
        outcome = remember(session, person.id, space, draft, keys=person.runtime.keys, now=utc_now(), actor="test")
    assert outcome.id is not None
    return outcome.id


def plain(response: TestResponse) -> str:
    """Return the words of a page, with one blank between any two."""
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", response.text).split()))


def flashes(response: TestResponse) -> str:
    """Return the flash region of a page."""
    found = re.search(r'<div id="flash".*?(?=<h1|<section|<p class="trail"|<form class="ask")', response.text, re.S)
    return found.group() if found else ""


def follow(reader: FlaskClient, text: str, label: str, **kwargs: Any) -> str:
    """Follow the link of this label; return what it leads to."""
    found = re.search(rf'href="([^"]*)"[^>]*>{re.escape(label)}<', text)
    assert found is not None, label
    return reader.get(html.unescape(found.group(1)), **kwargs).text
