"""A memory's last day: set, seen, moved and taken away on the pages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from api_agent import rows
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import at_browser, stored

from memory.clock import utc_now

TEXT = "The parking permit is under the bowl."


@pytest.fixture
def browser(app: Flask, ada: Any) -> FlaskClient:
    client = at_browser(app, ada)
    assert client.post("/account/time-zone", data={"time_zone": "Pacific/Auckland"}).status_code == 303
    return client


def _expiry(person: Any) -> datetime | None:
    [row] = rows(person, "SELECT expires_at FROM memories")
    return row.expires_at


def test_a_memory_stays_until_the_end_of_its_last_day(ada: Any, browser: FlaskClient) -> None:
    page = browser.post("/remember", data={"text": TEXT, "last_day": "2099-06-30", "tags": "parking"})
    assert page.status_code == 201
    # The next memory begins with what is likely to be so again, and that is no last day.
    assert re.search(r'name="tags"\s+value="parking"', page.text)
    assert "2099-06" not in page.text
    # Midnight in Auckland, twelve hours before it is so in UTC.
    assert _expiry(ada) == datetime(2099, 6, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "expiry"),
    [
        ("", None),
        ("2099-07-01", datetime(2099, 7, 1, 12, tzinfo=UTC)),
        # An hour within the day, as an agent says it, is not the page's to change.
        ("2099-06-30", datetime(2099, 6, 30, 3, tzinfo=UTC)),
        (None, datetime(2099, 6, 30, 3, tzinfo=UTC)),
    ],
)
def test_the_last_day_is_corrected(ada: Any, browser: FlaskClient, typed: str | None, expiry: datetime | None) -> None:
    memory_id = stored(ada, TEXT, expires_at=datetime(2099, 6, 30, 3, tzinfo=UTC))
    page = browser.get(f"/memories/{memory_id}/edit").text
    assert re.search(r'name="last_day"\s+type="date"\s+value="2099-06-30"', page)
    [shown] = re.findall(r'name="based_on" value="([^"]+)"', page)
    form = {"text": TEXT, "type": "note", "based_on": shown} | ({} if typed is None else {"last_day": typed})
    assert browser.post(f"/memories/{memory_id}/edit", data=form).status_code == 303
    assert _expiry(ada) == expiry


def test_a_last_day_that_has_passed_is_refused(ada: Any, browser: FlaskClient) -> None:
    memory_id = stored(ada, TEXT)
    for path in ("/remember", f"/memories/{memory_id}/edit"):
        refused = browser.post(path, data={"text": TEXT, "type": "note", "last_day": "2020-01-01"})
        assert refused.status_code == 422
        assert re.search(r'value="2020-01-01"\s+aria-invalid="true"', refused.text)
        assert "must not have passed" in refused.text
    assert _expiry(ada) is None


def test_another_expiry_is_not_written_over_unseen(ada: Any, browser: FlaskClient) -> None:
    memory_id = stored(ada, TEXT, expires_at=utc_now() + timedelta(days=3))
    [shown] = re.findall(r'name="based_on" value="([^"]+)"', browser.get(f"/memories/{memory_id}/edit").text)
    form = {"text": TEXT, "type": "note", "based_on": shown, "last_day": "2099-06-30"}
    assert browser.post(f"/memories/{memory_id}/edit", data=form).status_code == 303
    refused = browser.post(f"/memories/{memory_id}/edit", data={**form, "last_day": ""})
    assert (refused.status_code, "while you wrote" in refused.text) == (422, True)
    assert _expiry(ada) == datetime(2099, 6, 30, 12, tzinfo=UTC)


def test_the_list_tells_what_expires(ada: Any, browser: FlaskClient) -> None:
    stored(ada, TEXT, expires_at=utc_now() + timedelta(days=3, minutes=5))
    stored(ada, "The bakery on Mill Lane closes on Mondays.")
    assert re.findall(r"<dt>Expires</dt>\s*<dd>\s*<time[^>]*>in 3 days</time>", browser.get("/memories").text)
    assert browser.get("/memories").text.count("<dt>Expires</dt>") == 1
