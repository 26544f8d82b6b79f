"""The time zone that preferences name: days of questions, of blocks for agents, and of the pages are days of it."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from api_agent import rows
from api_facts import stated
from pages_browser import stored

from memory.clock import utc_now
from memory.notebooks.figures import growth
from memory.preferences.preferences import set_time_zone
from memory.time_zones import short_name

# Its day begins at ten o'clock of the day before in UTC.
FAR_EAST = "Pacific/Kiritimati"


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


def test_facts_of_yesterday_are_of_the_day_before_today_in_the_zone(agent, ada):
    choose(ada, FAR_EAST)
    for days, hour, where in ((2, 23.5, "Faro"), (1, 0.5, "Bern"), (1, 23.5, "Oslo")):
        span = {"valid_from": at(FAR_EAST, hour, days), "valid_until": at(FAR_EAST, hour + 0.1, days)}
        stated(agent, where, predicate="was in", **{name: moment.isoformat() for name, moment in span.items()})
    found = agent.tool("fact_search", query="Where was Robin yesterday?").json["facts"]
    assert [each["object"] for each in found] == ["Oslo", "Bern"]


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


# --- pages ------------------------------------------------------------------------------------------------------------


def words(text: str) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", text).split()))


def test_a_page_shows_moments_by_the_clocks_of_the_zone(reader, ada):
    memory_id = kept(ada, "Bees on the roof", datetime(2025, 7, 7, 22, tzinfo=UTC))
    assert 'title="2025-07-07 22:00:00 UTC"' in reader.get("/memories").text
    choose(ada, "Europe/Berlin")
    for path in ("/memories", f"/memories/{memory_id}", "/search?q=bees"):
        text = reader.get(path).text
        assert '<time datetime="2025-07-07T22:00:00+00:00" title="2025-07-08 00:00:00 CEST">' in text, path
    rows(ada, "UPDATE memories SET created_at = :at RETURNING id", at=datetime(2025, 1, 7, 22, tzinfo=UTC))
    assert 'title="2025-01-07 23:00:00 CET"' in reader.get("/memories").text


def test_a_zone_without_letters_is_called_by_its_distance():
    moment = datetime(2025, 7, 7, 22, tzinfo=UTC)
    names = ("UTC", "Asia/Kathmandu", "America/Sao_Paulo", "Europe/London")
    assert [short_name(moment.astimezone(ZoneInfo(name))) for name in names] == ["UTC", "UTC+0545", "UTC-03", "BST"]


def test_only_a_chosen_zone_goes_before_the_clock_of_the_browser(reader, ada):
    assert 'class="zoned"' not in reader.get("/memories").text
    choose(ada, "UTC")
    assert re.search(r'<html lang="en"\s+data-appearance="\w+"\s+class="zoned">', reader.get("/memories").text)


def test_a_moment_at_the_end_of_the_calendar_is_shown(reader, ada):
    kept(ada, "Bees on the roof", datetime(1, 1, 1, 1, tzinfo=UTC))
    choose(ada, "America/New_York")
    assert "Bees on the roof" in reader.get("/memories").text
    assert reader.get("/search?q=bees").status_code == 200
    with ada.session() as session:
        [(step, _, _)] = growth(session, ada.id, None, now=datetime.now(ZoneInfo("America/New_York")))
    assert step == datetime(1, 1, 1, tzinfo=UTC)


def test_the_day_of_the_last_rank_is_that_of_the_zone(reader, agent, ada):
    memory_id = kept(ada, "Bees on the roof", utc_now())
    agent.found("bees on the roof")
    rows(ada, "UPDATE last_scores SET computed_at = '2025-05-07 22:00Z' RETURNING memory_id")
    choose(ada, FAR_EAST)
    assert "Last ranked 2025-05-08" in words(reader.get(f"/memories/{memory_id}").text)


@pytest.mark.parametrize(("path", "shown"), [("/record", "record-call-"), ("/record/audit", "preferences.saved")])
def test_the_days_of_the_record_are_those_of_the_zone(reader, agent, ada, path, shown):
    # One of the two has another day than UTC.
    zone = FAR_EAST if utc_now().hour >= 10 else "Pacific/Pago_Pago"
    agent.post("/v1/tool-calls", {"calls": [{"tool": "notes", "operation": "update"}]})
    choose(ada, zone)
    today = str(at(zone, 0, days=0).date())
    text = reader.get(path, query_string={"since": today, "until": today}).text
    city = zone.partition("/")[2].replace("_", " ")
    assert (f"From day ({city})" in text, f"To day ({city})" in text, shown in text) == (True, True, True)
    other = str(utc_now().date())
    assert shown not in reader.get(path, query_string={"since": other, "until": other}).text
    assert f'value="{today}"' in reader.get(f"{path}?since=today").text


@pytest.mark.parametrize("query", ["since=0001-01-01", "until=9999-12-30"])
@pytest.mark.parametrize("zone", [FAR_EAST, "Pacific/Pago_Pago"])
def test_the_first_and_the_last_day_of_the_calendar_are_days_of_every_zone(reader, ada, zone, query):
    choose(ada, zone)
    assert [reader.get(f"{path}?{query}").status_code for path in ("/record", "/record/audit")] == [200, 200]


def test_a_chart_counts_by_days_of_the_zone(reader, ada):
    kept(ada, "Bees on the roof", at(FAR_EAST, 23.5, days=2))
    kept(ada, "Tea in the tin", at(FAR_EAST, 0.5, days=1))
    kept(ada, "Keys in the hall", at(FAR_EAST, 23.5, days=1))
    choose(ada, FAR_EAST)
    with ada.session() as session:
        points = growth(session, ada.id, None, now=datetime.now(ZoneInfo(FAR_EAST)))
    assert points == [(at(FAR_EAST, 0, days=2), 1, 1), (at(FAR_EAST, 0, days=1), 2, 3)]


@pytest.mark.parametrize(("age", "step"), [(400, "2024-10-28"), (800, "2023-09-01"), (735_000, "0013-07-01")])
def test_a_long_chart_counts_by_weeks_and_months_of_the_zone(ada, age, step):
    berlin = ZoneInfo("Europe/Berlin")
    now = datetime(2025, 12, 3, 12, tzinfo=berlin)
    kept(ada, "Bees on the roof", now - timedelta(days=age))
    kept(ada, "Tea in the tin", now)
    with ada.session() as session:
        points = growth(session, ada.id, None, now=now)
    assert points[0] == (datetime.fromisoformat(step).replace(tzinfo=berlin), 1, 1)
    assert points[-1][1:] == (1, 2)


def test_a_notebook_is_exported_and_named_by_the_clocks_of_the_zone(reader, ada):
    zone = FAR_EAST if utc_now().hour >= 10 else "Pacific/Pago_Pago"
    choose(ada, zone)
    address = reader.post("/notebooks").location
    today = at(zone, 0, days=0)
    assert f"Notes of {today:%d %B %Y}" in reader.get(address).text
    told = rf"{today:%Y-%m-%d} \d\d:\d\d(:\d\d)? {re.escape(short_name(today))}"
    for form in ("md", "html"):
        text = reader.get(f"{address.partition('#')[0]}/export.{form}").text
        assert re.search(f"Exported {told} from Commonplace", text)


def test_an_export_is_named_by_the_day_of_the_zone(reader, ada):
    zone = FAR_EAST if utc_now().hour >= 10 else "Pacific/Pago_Pago"
    choose(ada, zone)
    name = reader.get("/account/export").headers["Content-Disposition"]
    assert name == f'attachment; filename="commonplace-{at(zone, 0, days=0):%Y-%m-%d}.json"'
