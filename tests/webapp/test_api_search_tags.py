"""A question asked of the memories alone that have some tags."""

from __future__ import annotations

import pytest
from api_agent import add_space, embed, fields
from pages_browser import HTMX, at_browser
from pages_markup import words_of

OVEN, KETTLE, BOILER = "The oven runs too hot", "The kettle leaks", "The boiler runs too hot"
QUESTION = "The oven, the boiler and the kettle"
ALL = {"policy": {"min_score": 0, "sure_cosine": 0}}


@pytest.fixture
def house(agent, ada):
    agent.store(OVEN, tags=["Kitchen", "Heat"])
    agent.store(KETTLE, tags=["kitchen"])
    agent.store(BOILER, tags=["Heat"])
    embed(ada)


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (["kitchen"], {OVEN, KETTLE}),
        (["KITCHEN", " heat "], {OVEN}),
        (["kitchen", "cellar"], set()),
        (["kit"], set()),
        ([], {OVEN, KETTLE, BOILER}),
    ],
)
@pytest.mark.parametrize("legs", [["keyword"], ["semantic"], ["keyword", "semantic"]])
def test_tags_narrow_whatever_their_case(agent, house, tags, found, legs):
    assert set(agent.found(QUESTION, tags=tags, policy={**ALL["policy"], "legs": legs})) == found


def test_a_context_is_narrowed_as_well(agent, house):
    told = agent.post("/v1/memory/context", {"query": QUESTION, **ALL, "tags": ["heat", "kitchen"]}).json
    assert (told["count"], OVEN in told["context"]) == (1, True)
    agent.store("The oven was a gift", type="fact", theme="gifts")
    for narrowed in ({"types": ["fact"]}, {"theme": "gifts"}):
        told = agent.post("/v1/memory/context", {"query": "The oven", **ALL, **narrowed}).json
        assert (told["count"], "a gift" in told["context"]) == (1, True)


def test_what_is_shared_is_narrowed_as_well(agent, ada, house):
    add_space(ada, "work")
    agent.post("/v1/spaces/default/shares", {"tag": "Heat", "found_in": "work"})
    assert set(agent.found(QUESTION, space="work", **ALL)) == {OVEN, BOILER}
    assert agent.found(QUESTION, space="work", tags=["kitchen"], **ALL) == [OVEN]


def test_what_is_no_list_of_tags_is_refused_by_its_field(agent, house):
    assert fields(agent.tool("memory_search", query=QUESTION, tags={"tag": 1})) == ["tags"]


def test_the_page_narrows_by_a_tag_and_keeps_it_in_its_address(app, ada, house):
    reader, asked = at_browser(app, ada), "/search?q=What+runs+too+hot%3F&tag=kitchen"
    page = reader.get(asked)
    found = words_of(page.text)
    assert (OVEN in found, BOILER in found, 'value="kitchen"' in page.text) == (True, False, True)
    assert "tag=kitchen" in reader.get(asked, headers=HTMX).headers["HX-Push-Url"]
