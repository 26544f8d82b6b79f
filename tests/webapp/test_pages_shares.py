"""Sharing in the browser: said on a space's page, seen where it acts, stopped by a click."""

from __future__ import annotations

import pytest
from api_agent import embed
from pages_browser import HTMX, at_browser
from pages_markup import problems_of, words_of

SHARES = "/spaces/kitchen/shares"


@pytest.fixture
def oven(agent, ada):
    """A memory of a space of two that has a tag; beside it one that has none."""
    for slug in ("kitchen", "studio"):
        agent.post("/v1/spaces", {"slug": slug, "name": slug.title()})
    agent.store("The key hangs behind the door", space="kitchen")
    memory_id = agent.store("The oven runs ten degrees too hot", space="kitchen", tags=["heat"])
    embed(ada)
    return memory_id


def shared(reader, tag="heat", found_in="studio", **kwargs):
    return reader.post(SHARES, data={"tag": tag, "found_in": found_in}, **kwargs)


def test_a_share_is_made_and_told_on_both_pages(reader, agent, oven):
    assert shared(reader).location == "/spaces/kitchen"
    assert "1 memory tagged “heat” is found in Studio as well." in words_of(reader.get("/spaces/kitchen").text)
    assert "1 memory of Kitchen , tagged “heat”, is found here as well." in words_of(reader.get("/spaces/studio").text)
    assert agent.found("How hot is the oven?", space="studio") == ["The oven runs ten degrees too hot"]


def test_htmx_gets_the_part_of_the_page(reader, oven):
    response = shared(reader, headers=HTMX)
    assert (response.status_code, problems_of(response.text)) == (200, [])
    assert 'role="status">Saved.' in response.text
    assert "<html" not in response.text


def test_it_is_told_where_it_is_found_and_on_its_own_page(reader, oven):
    shared(reader)
    found = words_of(reader.get("/search?q=How+hot+is+the+oven%3F&space=studio").text)
    assert "shared from Kitchen by its tag “heat”" in found
    assert "found in Studio as well, by its tag “heat”" in words_of(reader.get(f"/memories/{oven}").text)
    assert "shared from" not in words_of(reader.get("/search?q=How+hot+is+the+oven%3F&space=kitchen").text)


def test_a_notebook_tells_from_where_it_is(reader, desk, oven):
    shared(reader)
    _, answer = desk.run("recall", q="How hot is the oven?", space="studio")
    assert "shared from Kitchen" in words_of(answer.text)
    assert "by its tag" not in desk.page()
    _, answer = desk.run("recall", q="How hot is the oven?", space="kitchen")
    assert "shared from" not in words_of(answer.text)


def test_the_block_that_a_notebook_shows_tells_it_too(reader, desk, oven):
    shared(reader)
    told = [desk.run("context", q="How hot is the oven?", space=each)[1].text for each in ("studio", "kitchen")]
    assert ["The oven runs" in each for each in told] == [True, True]
    assert ["space=&#34;kitchen&#34;" in each for each in told] == [True, False]


def test_what_is_archived_is_found_nowhere_and_its_page_does_not_say_so(reader, agent, oven):
    shared(reader)
    agent.patch(f"/v1/memory/entries/{oven}", {"status": "archived"})
    assert "as well, by its tag" not in words_of(reader.get(f"/memories/{oven}").text)
    assert "0 memories tagged “heat” are found in Studio" in words_of(reader.get("/spaces/kitchen").text)


def test_a_share_is_stopped_and_may_be_stopped_twice(reader, agent, oven):
    shared(reader)
    for _ in range(2):
        assert reader.post(f"{SHARES}/stop", data={"tag": "heat", "found_in": "studio"}).location == "/spaces/kitchen"
    assert "tagged “heat”" not in words_of(reader.get("/spaces/kitchen").text)
    assert agent.found("How hot is the oven?", space="studio") == []


@pytest.mark.parametrize(
    ("tag", "found_in", "field", "said"),
    [
        ("", "studio", "tag", "It must not be empty."),
        ("x" * 65, "studio", "tag", "It must be at most 64 characters."),
        ("heat", "kitchen", "found_in", "It must be another space than the one that is shared from."),
        ("heat", "nowhere", "found_in", "It must be a space: there is no space 'nowhere'."),
    ],
)
def test_a_share_that_cannot_be_comes_back_with_its_reason(reader, agent, oven, tag, found_in, field, said):
    response = shared(reader, tag, found_in)
    assert (response.status_code, problems_of(response.text)) == (422, [])
    assert f'id="problem-{field}"' in response.text
    assert said in words_of(response.text)
    assert agent.get("/v1/spaces/kitchen/shares").json == {"shares": []}


def test_nothing_is_shared_while_incognito(reader, agent, oven):
    reader.post("/incognito/start")
    response = shared(reader)
    assert response.status_code == 422
    assert "cannot be kept while this session is incognito" in words_of(response.text)
    assert agent.get("/v1/spaces/kitchen/shares").json == {"shares": []}


def test_whoever_has_one_space_alone_is_told_so(reader):
    page = reader.get("/spaces/default")
    assert "There is no other space yet." in words_of(page.text)
    assert 'name="found_in"' not in page.text


def test_somebody_elses_share_is_not_stopped(app, reader, bob, agent, oven):
    shared(reader)
    answer = at_browser(app, bob).post(f"{SHARES}/stop", data={"tag": "heat", "found_in": "studio"})
    assert answer.status_code == 404
    assert len(agent.get("/v1/spaces/kitchen/shares").json["shares"]) == 1
