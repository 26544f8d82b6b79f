"""`GET /v1/spaces` and the page of spaces, some at a time."""

from __future__ import annotations

import re

import pytest
from api_agent import Agent, fields
from pages_browser import HTMX, at_browser
from sqlalchemy import insert

from memory.clock import utc_now
from memory.ids import new_id
from memory.models import Space

# Some stand before the default by their names.
NAMES = [f"{letter}{number:02}" for letter in "ax" for number in range(30)]


@pytest.fixture(scope="module")
def owner(new_person):
    person, now = new_person("settler"), utc_now()
    same = {"soft_cap": 10, "created_at": now, "updated_at": now, "user_id": person.id}
    with person.session() as session:
        session.execute(insert(Space), [{**same, "id": new_id(), "slug": name, "name": name} for name in NAMES])
    return person


@pytest.fixture
def settler(client, owner):
    return Agent(client, owner.headers)


def _slugs(answer):
    return [space["slug"] for space in answer.json["spaces"]]


def test_all_are_listed_to_who_asks_for_no_page(settler):
    answer = settler.get("/v1/spaces")
    assert (_slugs(answer), answer.json["next_cursor"]) == (["default", *NAMES], None)


@pytest.mark.parametrize("limit", [1, 7, 60, 61])
def test_pages_have_each_space_once(settler, limit):
    answer = settler.get("/v1/spaces", limit=limit)
    found = _slugs(answer)
    while (cursor := answer.json["next_cursor"]) is not None and len(found) <= len(NAMES):
        assert len(_slugs(answer)) == limit
        answer = settler.get("/v1/spaces", limit=limit, cursor=cursor)
        found += _slugs(answer)
    assert found == ["default", *NAMES]


@pytest.mark.parametrize(
    ("query", "field"), [({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"page": 2}, "page")]
)
def test_what_is_no_page_is_refused(settler, query, field):
    assert fields(settler.get("/v1/spaces", **query)) == [field]


def test_a_confined_token_is_told_of_its_own_space_alone(client, owner):
    confined = Agent(client, owner.new_token("read", space="x07")).get("/v1/spaces", limit=1)
    assert (_slugs(confined), confined.json["next_cursor"]) == (["x07"], None)


def test_the_page_lists_fifty_and_leads_to_the_others(app, owner):
    browser = at_browser(app, owner)
    first = browser.get("/spaces").text
    (further,) = re.findall(r'hx-get="(/spaces\?cursor=[^"]+)"', first)
    rest, whole = browser.get(further, headers=HTMX).text, browser.get(further).text
    listed = re.findall(r"<code>([^<]+)</code>", first + rest)
    assert (listed, "Load more" in rest, rest in whole) == (["default", *NAMES], False, True)
