"""The time zone that preferences name: days of questions, of blocks for agents, and of the pages are days of it."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from api_agent import Agent, rows
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import at_browser, stored

from memory.embedding.backfill import utc_now
from memory.preferences import set_time_zone

# Its day begins at ten o'clock of the day before in UTC.
FAR_EAST = "Pacific/Kiritimati"


@pytest.fixture
def agent(client: FlaskClient, ada) -> Agent:
    return Agent(client, ada.headers)


@pytest.fixture
def reader(app: Flask, ada) -> FlaskClient:
    return at_browser(app, ada)


def choose(person, name: str) -> None:
    with person.session() as session:
        set_time_zone(session, person.id, name, source="test", now=utc_now(), actor="test")


def at(zone: str, hour: float, days: int) -> datetime:
    """Return an hour of a day before today in a zone."""
    today = datetime.now(ZoneInfo(zone)).date()
    return datetime.combine(today - timedelta(days=days), time(), ZoneInfo(zone)) + timedelta(hours=hour)


def kept(person, text: str, moment: datetime) -> str:
    memory_id = stored(person, text)
    rows_of = "UPDATE memories SET created_at = :at WHERE id = :id RETURNING id"
    assert rows(person, rows_of, at=moment, id=memory_id)
    return str(memory_id)


@pytest.fixture
def yesterday(ada) -> None:
    """Three notes of the far east: the last of a day, the first and the last of the next one, which is yesterday."""
    choose(ada, FAR_EAST)
    kept(ada, "The kettle whistled late", at(FAR_EAST, 23.5, days=2))
    kept(ada, "The baker opened early", at(FAR_EAST, 0.5, days=1))
    kept(ada, "Stars over the harbour", at(FAR_EAST, 23.5, days=1))


# --- questions --------------------------------------------------------------------------------------------------------


def test_yesterday_is_the_day_before_today_in_the_zone(agent, yesterday):
    assert agent.found("What did I note yesterday?") == ["Stars over the harbour", "The baker opened early"]
    assert agent.tool("query_memory", query="yesterday").json["metadata"]["count"] == 2


def test_without_a_zone_it_is_the_day_before_today_in_utc(agent, ada):
    kept(ada, "The kettle whistled late", at("UTC", 23.5, days=2))
    kept(ada, "The baker opened early", at("UTC", 0.5, days=1))
    kept(ada, "Stars over the harbour", at("UTC", 23.5, days=1))
    assert agent.found("What did I note yesterday?") == ["Stars over the harbour", "The baker opened early"]


def test_the_search_page_says_of_which_zone_the_days_are(reader, yesterday):
    text = reader.get("/search?q=yesterday").text
    assert f"({at(FAR_EAST, 0, days=1):%Y-%m-%d}, in {FAR_EAST})" in text
    assert ("baker" in text, "kettle" in text) == (True, False)


def test_an_agent_is_told_the_day_in_the_zone(agent, ada):
    kept(ada, "Bees on the roof", datetime(2025, 5, 7, 22, tzinfo=UTC))
    choose(ada, FAR_EAST)
    assert 'date="2025-05-08"' in agent.post("/v1/memory/context", {"query": "bees"}).json["context"]
    [found] = agent.tool("query_memory", query="bees on the roof").json["memories"]
    assert found["context"] == "user, 2025-05-08"


def test_moments_for_programs_stay_in_utc(agent, ada):
    memory_id = kept(ada, "Bees on the roof", datetime(2025, 5, 7, 22, tzinfo=UTC))
    choose(ada, FAR_EAST)
    assert agent.entry(memory_id)["created_at"] == "2025-05-07T22:00:00+00:00"
    [hit] = agent.tool("memory_search", query="bees").json["results"]
    assert hit["created_at"] == "2025-05-07T22:00:00+00:00"
