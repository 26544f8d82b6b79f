"""Spaces in the browser: listed, added, set, and removed with a word on what becomes of what is in them."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from api_agent import Agent, rows
from api_talk import Talk
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, flashes, plain
from pages_markup import problems_of
from sqlalchemy import update
from werkzeug.test import TestResponse

from memory.models import DEFAULT_SPACE, Space
from memory.remote.llm import ChatModel
from memory.spaces.spaces import slug_of
from tasks.runtime import Runtime
from webapp.pages.space_forms import fates

SETTINGS = {"name": "Kitchen", "soft_cap": "200", "retention_days": "180", "memory_enabled": "true"}


# For tests that leave everything as it was: all of them see the same user with the same kitchen.
only_looks = pytest.mark.usefixtures("lasting")


@pytest.fixture(scope="module")
def lasting(app: Flask, new_person):
    person = new_person("ada")
    _furnish(Agent(app.test_client(), person.headers))
    return person


@pytest.fixture
def ada(request: pytest.FixtureRequest, new_person):
    return request.getfixturevalue("lasting") if "lasting" in request.fixturenames else new_person("ada")


@pytest.fixture
def kitchen(request: pytest.FixtureRequest, agent: Agent) -> str:
    """A space with two memories, one of which the default space has as well, and a conversation."""
    if "lasting" not in request.fixturenames:
        _furnish(agent)
    return "kitchen"


def _furnish(agent: Agent) -> None:
    agent.post("/v1/spaces", {"slug": "kitchen", "name": "Kitchen"})
    agent.store("The tiles are sage green.", space="kitchen")
    agent.store("Ben has the key of the flat.", space="kitchen")
    agent.store("Ben has the key of the flat.")
    Talk(agent, space="kitchen", title="Tiles").turn("Which tiles?", "The sage green ones.")


def _expected(page: TestResponse) -> str:
    found = re.search(r'name="expect" value="([^"]+)"', page.text)
    assert found is not None
    return found.group(1)


def _shown(page: TestResponse, form: int = 0) -> str:
    """Return what a form of a space says that it was shown: that of its settings, or with 1 that of its ranking."""
    found = re.findall(r'name="shown"\s+value="([^"]+)"', page.text)
    return unescape(found[form]) if len(found) > form else "{}"


def _remove(reader: FlaskClient, choice: str) -> TestResponse:
    """Look at what is in the kitchen, then remove it."""
    expect = _expected(reader.get("/spaces/kitchen/delete"))
    return reader.post("/spaces/kitchen/delete", data={"contents": choice, "expect": expect}, follow_redirects=True)


# Listed and added


def test_no_name_is_stored_while_incognito(reader: FlaskClient, ada) -> None:
    reader.post("/incognito/start")
    added = reader.post("/spaces", data={"name": "Quixotic plan"})
    settings = {"soft_cap": "77", "retention_days": "30", "memory_enabled": "true"}
    renamed = reader.post("/spaces/default", data={"name": "Quixotic plan", **settings})
    assert [answer.status_code for answer in (added, renamed)] == [422, 422]
    assert "The name: cannot be kept while this session is incognito." in added.text
    assert "It cannot be kept while this session is incognito." in renamed.text
    assert reader.post("/spaces/default", data={"name": "Default", **settings}).status_code == 303
    assert [tuple(row) for row in rows(ada, "SELECT name, soft_cap FROM spaces")] == [("Default", 77)]


@only_looks
def test_the_list_counts_what_is_in_each_space(reader: FlaskClient, kitchen: str) -> None:
    text = plain(reader.get("/spaces"))
    assert "Default default 1 memory 0 conversations" in text
    assert "Kitchen kitchen 2 memories 1 conversation" in text


def test_the_list_tells_the_switches(reader: FlaskClient, agent: Agent) -> None:
    agent.post("/v1/spaces", {"slug": "vault", "memory_enabled": False, "incognito_default": True})
    assert "vault vault memory off incognito by default" in plain(reader.get("/spaces"))


@pytest.mark.parametrize("path", ["/spaces", "/spaces/kitchen"])
@pytest.mark.parametrize(("cap", "is_full"), [(2, True), (3, False)])
def test_a_space_that_is_full_says_so(
    reader: FlaskClient, agent: Agent, kitchen: str, path: str, cap: int, is_full: bool
) -> None:
    assert agent.patch("/v1/spaces/kitchen", {"soft_cap": cap}).status_code == 200
    assert ('<span class="flag">full</span>' in reader.get(path).text) == is_full


def test_a_space_is_added_under_the_name_it_is_given(reader: FlaskClient, agent: Agent) -> None:
    response = reader.post("/spaces", data={"name": "The Kitchen, 2026!", "slug": ""})
    assert (response.status_code, response.location) == (303, "/spaces/the-kitchen-2026")
    assert agent.get("/v1/spaces/the-kitchen-2026").json["name"] == "The Kitchen, 2026!"
    assert "The Kitchen, 2026!" in flashes(reader.get(response.location))


def test_a_space_is_added_under_its_name_for_agents(reader: FlaskClient, agent: Agent) -> None:
    reader.post("/spaces", data={"slug": "kitchen"})
    assert agent.get("/v1/spaces/kitchen").json["name"] == "kitchen"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"slug": "Kitchen!"}, "The name for agents: must be 1 to 64 lower-case letters"),
        ({"slug": "default"}, "The name for agents: there is a space 'default' already"),
        ({"slug": "policies"}, "The name for agents: 'policies' is the address of something else"),
        ({"name": "!!!"}, "The name for agents: cannot be made from this name: give it one"),
        ({"name": "x" * 201}, "The name: must be at most 200 characters"),
        ({"name": "nul\x00"}, "The name: must not contain NUL bytes"),
        ({}, "The name: must not be empty"),
    ],
)
def test_a_space_that_cannot_be_comes_back_with_its_reason(
    reader: FlaskClient, ada, data: dict[str, str], said: str
) -> None:
    response = reader.post("/spaces", data=data)
    assert response.status_code == 422
    assert said in plain(response)
    assert problems_of(response.text) == []
    assert rows(ada, "SELECT count(*) FROM spaces")[0][0] == 1


def test_what_was_filled_in_stays(reader: FlaskClient) -> None:
    text = reader.post("/spaces", data={"name": "Great <b> kitchen", "slug": "No!"}).text
    assert 'value="Great &lt;b&gt; kitchen"' in text
    assert 'value="No!"' in text


@pytest.mark.parametrize(
    ("name", "slug"), [("Ελιά", ""), ("Küche & Bad", "kuche-bad"), ("  a  ", "a"), ("...", ""), ("a" * 70, "a" * 64)]
)
def test_an_address_follows_from_a_name(name: str, slug: str) -> None:
    assert slug_of(name) == slug


# Set


@only_looks
def test_the_settings_are_shown_as_they_are(reader: FlaskClient, kitchen: str) -> None:
    text = reader.get("/spaces/kitchen").text
    assert re.search(r'id="soft_cap"[^>]*value="200"', text)
    assert re.search(r'id="retention_days"[^>]*value="180"', text)
    assert re.search(r'name="memory_enabled"\s+value="true"\s+checked', text)
    assert not re.search(r'name="incognito_default"\s+value="true"\s+checked', text)


def test_all_settings_are_saved(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    data = {"name": "Galley", "soft_cap": "50", "retention_days": "30", "incognito_default": "true"}
    response = reader.post("/spaces/kitchen", data=data)
    assert (response.status_code, response.location) == (303, "/spaces/kitchen")
    saved = agent.get("/v1/spaces/kitchen").json
    wanted = {
        "name": "Galley",
        "soft_cap": 50,
        "retention_days": 30,
        "memory_enabled": False,
        "incognito_default": True,
    }
    assert {name: saved[name] for name in wanted} == wanted


def test_an_older_tab_saves_what_was_changed_in_it_alone(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    older = {**SETTINGS, "shown": _shown(reader.get("/spaces/kitchen"))}
    agent.patch("/v1/spaces/kitchen", {"incognito_default": True, "soft_cap": 5000, "name": "Galley"})
    refused = reader.post("/spaces/kitchen", data={**older, "retention_days": "many"})
    assert _shown(refused) == older["shown"]
    reader.post("/spaces/kitchen", data={**older, "retention_days": "30"})
    saved = agent.get("/v1/spaces/kitchen").json
    found = [saved[name] for name in ("incognito_default", "soft_cap", "name", "retention_days")]
    assert found == [True, 5000, "Galley", 30]


def test_a_soft_cap_that_lets_memories_go_is_saved_when_it_is_sent_again(
    reader: FlaskClient, agent: Agent, kitchen: str
) -> None:
    for text in ("The kettle is new.", "The oven is gas."):
        agent.store(text, space="kitchen", manually_saved=True)
    data = {**SETTINGS, "soft_cap": "1"}
    asked = reader.post("/spaces/kitchen", data=data)
    assert (asked.status_code, "It lets 2 memories go for good as soon as" in asked.text) == (422, True)
    assert agent.get("/v1/spaces/kitchen").json["soft_cap"] == 200
    (agreed,) = re.findall(r'name="agreed" value="(.*?)"', asked.text)
    again = reader.post("/spaces/kitchen", data={**data, "soft_cap": "3", "agreed": agreed})
    assert (again.status_code, "It lets 1 memory go" in again.text) == (422, True)
    assert reader.post("/spaces/kitchen", data={**data, "agreed": agreed}).status_code == 303
    assert agent.get("/v1/spaces/kitchen").json["soft_cap"] == 1


def test_htmx_gets_the_saved_space_alone(reader: FlaskClient, kitchen: str) -> None:
    response = reader.post("/spaces/kitchen", data={**SETTINGS, "name": "Galley"}, headers=HTMX)
    assert response.text.startswith('<title>Galley · Commonplace</title>\n<section id="spaces-space"')
    assert "<h1>Galley</h1>" in response.text
    assert "Saved." in response.text


@only_looks
def test_saving_an_unchanged_form_leaves_no_trace(reader: FlaskClient, ada, kitchen: str) -> None:
    reader.post("/spaces/kitchen", data=SETTINGS)
    assert rows(ada, "SELECT count(*) FROM audit_events WHERE action = 'space.changed'")[0][0] == 0


@only_looks
@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("soft_cap", "0", "It must be at least 1."),
        ("soft_cap", "many", "It must be a whole number."),
        ("soft_cap", "10000001", "It must be at most 10,000,000."),
        ("retention_days", "-1", "It must be at least 0."),
        ("retention_days", "36501", "It must be at most 36,500."),
        ("retention_days", "", "It must not be empty."),
        ("name", "", "It must not be empty."),
        ("name", "x" * 201, "It must be at most 200 characters."),
    ],
)
def test_a_setting_that_cannot_be_comes_back_with_its_reason(
    reader: FlaskClient, agent: Agent, kitchen: str, headers: dict[str, str], field: str, value: str, said: str
) -> None:
    before = agent.get("/v1/spaces/kitchen").json
    response = reader.post("/spaces/kitchen", data={**SETTINGS, field: value}, headers=headers)
    assert response.status_code == 422
    assert said in response.text
    assert re.search(rf'id="{field}"[^>]*aria-invalid="true"', response.text)
    assert problems_of(response.text) == []
    assert agent.get("/v1/spaces/kitchen").json == before


@only_looks
def test_a_spaces_fragment_is_the_part_of_its_page(reader: FlaskClient, kitchen: str) -> None:
    assert reader.get("/spaces/kitchen", headers=HTMX).text in reader.get("/spaces/kitchen").text


# Ranking

WEIGHTS = {"fusion": "convex", "alpha": "1", "beta": "0.05", "gamma": "0.05", "tau_days": "7", "mmr_lambda": "0.975"}
WEIGHTS |= {"rrf_k": "60"}


def _weights(agent: Agent) -> dict[str, object]:
    found: dict[str, object] = agent.get("/v1/spaces/kitchen").json["policy"]
    return found


def test_a_spaces_ranking_is_shown_as_it_is(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    agent.patch("/v1/spaces/kitchen", {"policy": {"alpha": 1.2345678, "fusion": "rrf", "min_score": 0.2}})
    page = reader.get("/spaces/kitchen").text
    assert re.search(r'id="alpha"[^>]*value="1.2345678"', page)
    assert re.search(r'id="beta"[^>]*value="0.05"', page)
    assert re.search(r'value="rrf"\s+selected', page)
    assert "left as it is: min_score 0.2." in unescape(re.sub(r"\s+", " ", page))


def test_a_ranking_is_saved_as_far_as_it_differs(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    agent.patch("/v1/spaces/kitchen", {"policy": {"alpha": 2, "min_score": 0.2}})
    response = reader.post("/spaces/kitchen/weights", data={**WEIGHTS, "beta": "0.5", "fusion": "rrf"})
    assert (response.status_code, response.location) == (303, "/spaces/kitchen")
    assert _weights(agent) == {"min_score": 0.2, "beta": 0.5, "fusion": "rrf"}


def test_an_older_tab_ranks_by_what_was_changed_in_it_alone(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    older = {**WEIGHTS, "shown": _shown(reader.get("/spaces/kitchen"), 1)}
    agent.patch("/v1/spaces/kitchen", {"policy": {"alpha": 2, "fusion": "rrf", "min_score": 0.2}})
    refused = reader.post("/spaces/kitchen/weights", data={**older, "beta": "11"})
    assert _shown(refused, 1) == older["shown"]
    reader.post("/spaces/kitchen/weights", data={**older, "beta": "0.5"})
    assert _weights(agent) == {"alpha": 2, "fusion": "rrf", "min_score": 0.2, "beta": 0.5}


def test_a_space_can_rank_as_spaces_begin(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    agent.patch("/v1/spaces/kitchen", {"policy": {"name": "specified", "alpha": 2}})
    page = reader.post("/spaces/kitchen/weights", data={**WEIGHTS, "reset": "true"}, headers=HTMX)
    assert page.text.startswith('<section id="spaces-space"')
    assert re.search(r'id="alpha"[^>]*value="1"', page.text)
    assert _weights(agent) == {}


@only_looks
def test_saving_an_unchanged_ranking_leaves_no_trace(reader: FlaskClient, ada, kitchen: str) -> None:
    reader.post("/spaces/kitchen/weights", data=WEIGHTS)
    assert rows(ada, "SELECT count(*) FROM audit_events WHERE action = 'space.changed'")[0][0] == 0


@only_looks
@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("alpha", "11", "It must be a number between 0 and 10."),
        ("beta", "nan", "It must be a number between 0 and 10."),
        ("tau_days", "0", "It must be a number between 0.01 and 36500."),
        ("mmr_lambda", "", "It must not be empty."),
        ("rrf_k", "1.5", "It must be a whole number."),
        ("fusion", "loud", "It must be one of convex, minmax, rrf, cosine."),
    ],
)
def test_a_weight_that_cannot_be_comes_back_with_its_reason(
    reader: FlaskClient, agent: Agent, kitchen: str, headers: dict[str, str], field: str, value: str, said: str
) -> None:
    response = reader.post("/spaces/kitchen/weights", data={**WEIGHTS, field: value}, headers=headers)
    assert response.status_code == 422
    assert said in response.text
    assert problems_of(response.text) == []
    assert _weights(agent) == {}


@pytest.mark.parametrize("slug", ["default", "kitchen"])
def test_weights_of_old_that_no_search_can_use_are_mended_on_the_page(
    reader: FlaskClient, agent: Agent, ada, kitchen: str, slug: str
) -> None:
    with ada.session() as session:
        kept = {"alpha": 0, "beta": 0, "gamma": 0, "min_score": 0.2}
        session.execute(update(Space).where(Space.slug == slug).values(policy=kept))
        session.commit()
    assert reader.get("/").status_code == 200
    chart = reader.post(f"{reader.post('/notebooks').location}/cells", data={"kind": "chart"}).location
    path = f"{chart.partition('?')[0]}/cells/{chart.rpartition('#notebook-cell-')[2]}"
    answer = reader.post(f"{path}/run", data={"chart": "ages", "space": slug}, headers=HTMX)
    assert "recency, τ = 7 days" in answer.text
    refused = reader.get("/search", query_string={"q": "tea", "space": slug})
    assert refused.status_code == 409
    assert "alpha must be above 0 where beta and gamma are not. Set others on the page of the space" in refused.text
    page = reader.get(f"/spaces/{slug}").text
    assert re.search(r'id="alpha"[^>]*value="1"', page)
    assert reader.post(f"/spaces/{slug}/weights", data=WEIGHTS).status_code == 303
    assert agent.get(f"/v1/spaces/{slug}").json["policy"] == {"min_score": 0.2}
    assert reader.get("/search", query_string={"q": "tea", "space": slug}).status_code == 200


# Removed


@only_looks
def test_a_removal_says_first_what_it_touches(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    text = plain(reader.get("/spaces/kitchen/delete"))
    assert "In it: 2 active memories, 1 conversation, 2 messages, 1 episode." in text
    assert "1 memory moved to the default space 1 memory merged with the same one there" in text
    assert "2 memories archived, out of search" in text
    assert "2 memories forgotten for good, without an undo 1 conversation deleted for good" in text
    assert agent.get("/v1/spaces/kitchen").json["memories"] == 2


def test_what_is_in_it_can_be_moved(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    page = _remove(reader, "move")
    assert "The space Kitchen is removed: 1 memory moved to the default space" in flashes(page)
    assert sorted(agent.texts(space="default")) == ["Ben has the key of the flat.", "The tiles are sage green."]
    assert "Tiles" in reader.get("/conversations?space=default").text


def test_nothing_is_moved_out_of_a_space_while_incognito(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    before, expect = agent.texts(), _expected(reader.get("/spaces/kitchen/delete"))
    reader.post("/incognito/start")
    page = reader.post("/spaces/kitchen/delete", data={"contents": "move", "expect": expect})
    assert (page.status_code, "This session is incognito: nothing is stored." in plain(page)) == (409, True)
    assert agent.texts() == before
    assert agent.get("/v1/spaces/kitchen").status_code == 200


@pytest.mark.parametrize("default", [True, False], ids=["by default", "in this session"])
def test_nothing_is_offered_in_incognito_that_is_refused(
    reader: FlaskClient, agent: Agent, kitchen: str, default: bool
) -> None:
    agent.post("/v1/spaces", {"slug": "flat", "name": "The flat"})
    agent.post("/v1/spaces", {"slug": "empty", "incognito_default": default})
    why = "Incognito is on here: nothing of it can be moved or archived until you end that."
    page = reader.get("/spaces/kitchen/delete")
    assert (_offered(page), why in plain(page), "Into the space" in plain(page)) == (
        ["move", "archive", "forget"],
        False,
        True,
    )
    if default:
        agent.patch("/v1/spaces/kitchen", {"incognito_default": True})
    else:
        reader.post("/incognito/start")
    page = reader.get("/spaces/kitchen/delete")
    assert (_offered(page), why in plain(page), "Into the space" in plain(page)) == (["forget"], True, False)
    assert "Kitchen is removed: 2 memories forgotten for good" in plain(_remove(reader, "forget"))
    page = reader.get("/spaces/empty/delete")
    data = {"contents": _offered(page)[0], "expect": _expected(page)}
    gone = reader.post("/spaces/empty/delete", data=data, follow_redirects=True)
    assert (gone.status_code, "empty is removed: nothing was in it." in plain(gone)) == (200, True)


def _offered(page: TestResponse) -> list[str]:
    return re.findall(r'name="contents" value="(\w+)"', page.text)


def test_what_is_in_it_can_be_moved_to_another_space_than_the_default(
    reader: FlaskClient, agent: Agent, kitchen: str
) -> None:
    assert "Into the space" not in reader.get("/spaces/kitchen/delete").text
    agent.post("/v1/spaces", {"slug": "flat", "name": "The flat"})
    agent.post("/v1/spaces", {"slug": "diary", "name": "Diary", "incognito_default": True})
    page = reader.get("/spaces/kitchen/delete").text
    offered = re.search(r'<select id="into".*?</select>', page, re.S)
    assert re.findall('value="([^"]*)"', offered.group() if offered else "") == ["default", "flat"]
    page = reader.get("/spaces/kitchen/delete?into=flat")
    assert "Everything goes on in The flat. 2 memories moved to The flat" in plain(page)
    data = {"contents": "move", "into": "flat", "expect": _expected(page)}
    done = reader.post("/spaces/kitchen/delete", data=data, follow_redirects=True)
    assert "The space Kitchen is removed: 2 memories moved to The flat" in flashes(done)
    assert sorted(agent.texts(space="flat")) == ["Ben has the key of the flat.", "The tiles are sage green."]
    assert "Tiles" in reader.get("/conversations?space=flat").text
    assert reader.get("/spaces/flat/delete?into=diary").status_code == 409


def test_what_is_in_it_can_be_archived(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    _remove(reader, "archive")
    assert agent.texts(space="default") == ["Ben has the key of the flat."]
    assert "sage green" in reader.get("/memories?status=archived").text
    assert "Tiles" in reader.get("/conversations?archived=true").text


def test_what_is_in_it_can_be_forgotten(reader: FlaskClient, ada, kitchen: str) -> None:
    page = _remove(reader, "forget")
    assert "2 memories forgotten for good" in flashes(page)
    assert rows(ada, "SELECT text FROM memories")[0] == ("Ben has the key of the flat.",)
    assert rows(ada, "SELECT count(*) FROM messages")[0][0] == 0


@pytest.mark.parametrize("choice", ["move", "archive", "forget"])
def test_a_removed_space_is_gone(reader: FlaskClient, kitchen: str, choice: str) -> None:
    assert "/spaces/kitchen" not in _remove(reader, choice).text
    assert reader.get("/spaces/kitchen").status_code == 404


@pytest.mark.parametrize("choice", ["move", "archive", "forget"])
def test_a_space_that_changed_since_it_was_looked_at_stays(
    reader: FlaskClient, agent: Agent, kitchen: str, choice: str
) -> None:
    expect = _expected(reader.get("/spaces/kitchen/delete"))
    agent.store("The stove is sixty centimetres wide.", space="kitchen")
    response = reader.post("/spaces/kitchen/delete", data={"contents": choice, "expect": expect})
    assert response.status_code == 409
    assert "has changed since it was looked at; nothing was removed." in response.text
    assert "In it: 3 active memories" in response.text
    assert len(agent.texts(space="kitchen")) == 3


@pytest.mark.parametrize("choice", ["move", "archive"])
def test_where_the_default_space_stores_nothing_it_is_said_and_nothing_removed(
    reader: FlaskClient, agent: Agent, kitchen: str, choice: str
) -> None:
    reader.post("/memory/off")
    response = _remove(reader, choice)
    assert response.status_code == 409
    said = "Memory is off in the space 'default': nothing can be brought into it."
    assert said in plain(response)
    assert "In it: 2 active memories" in response.text
    assert _remove(reader, "forget").status_code == 200


def test_the_refusal_offers_the_removal_anew(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    refused = reader.post("/spaces/kitchen/delete", data={"contents": "move", "expect": "another"})
    data = {"contents": "move", "expect": _expected(refused)}
    assert reader.post("/spaces/kitchen/delete", data=data).status_code == 303
    assert agent.get("/v1/spaces/kitchen").status_code == 404


@only_looks
@pytest.mark.parametrize("data", [{}, {"contents": "burn"}])
def test_without_a_choice_nothing_is_removed(
    reader: FlaskClient, agent: Agent, kitchen: str, data: dict[str, str]
) -> None:
    expect = _expected(reader.get("/spaces/kitchen/delete"))
    response = reader.post("/spaces/kitchen/delete", data={**data, "expect": expect})
    assert response.status_code == 422
    assert "Choose what becomes of what is in it." in response.text
    assert len(agent.texts(space="kitchen")) == 2


def test_an_empty_space_is_removed_without_a_choice(reader: FlaskClient, agent: Agent) -> None:
    agent.post("/v1/spaces", {"slug": "kitchen", "name": "Kitchen"})
    page = reader.get("/spaces/kitchen/delete")
    assert "Nothing is in it." in page.text
    assert 'type="radio"' not in page.text
    assert 'name="contents" value="move"' in page.text
    assert "The space Kitchen is removed: nothing was in it." in flashes(_remove(reader, "move"))


@pytest.mark.parametrize("method", ["get", "post"])
def test_the_default_space_stays(reader: FlaskClient, method: str) -> None:
    response = getattr(reader, method)("/spaces/default/delete", data={"contents": "move", "expect": "x"})
    assert response.status_code == 409
    assert "default space cannot be removed" in response.text
    assert "/spaces/default/delete" not in reader.get("/spaces/default").text


def test_a_plan_leaves_out_what_there_is_none_of() -> None:
    assert fates({"memories_moved": 0, "tokens_revoked": 2}) == ["2 tokens revoked"]


@only_looks
def test_every_part_of_a_plan_has_its_words(agent: Agent, kitchen: str) -> None:
    plans = agent.get("/v1/spaces/kitchen/contents").json["plans"]
    assert plans
    for plan in plans.values():
        said = fates(dict.fromkeys(plan, 2))
        assert len(said) == len(plan)
        assert not any(each.startswith("2 of ") for each in said)


# Who may


PAGES = ["/spaces/kitchen", "/spaces/kitchen/delete"]


@only_looks
@pytest.mark.parametrize("path", PAGES)
def test_another_users_space_is_not_there(app: Flask, bob, kitchen: str, path: str) -> None:
    stranger = at_browser(app, bob)
    theirs, nobodys = stranger.get(path), stranger.get(path.replace("kitchen", "nothing"))
    assert (theirs.status_code, nobodys.status_code) == (404, 404)
    assert stranger.post(path, data={**SETTINGS, "contents": "forget", "expect": "x"}).status_code == 404


@only_looks
def test_another_users_spaces_are_not_listed(app: Flask, bob, kitchen: str) -> None:
    assert "Kitchen" not in at_browser(app, bob).get("/spaces").text


@pytest.mark.parametrize("path", ["/spaces", *PAGES])
def test_a_stranger_is_sent_to_the_login(client: FlaskClient, path: str) -> None:
    assert client.get(path).location.startswith("/login")
    assert client.post(path).location.startswith("/login")


@only_looks
@pytest.mark.parametrize("path", ["/spaces", *PAGES])
def test_another_site_cannot_change_a_space(reader: FlaskClient, kitchen: str, path: str) -> None:
    assert reader.post(path, data=SETTINGS, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


# Markup


@only_looks
@pytest.mark.parametrize("path", ["/spaces", "/spaces/default", *PAGES])
def test_every_page_is_well_formed(reader: FlaskClient, kitchen: str, path: str) -> None:
    response = reader.get(path)
    assert response.status_code == 200
    assert problems_of(response.text) == []


# Facts out of conversations


@only_looks
def test_without_a_language_model_nothing_offers_to_have_facts_read(reader: FlaskClient, kitchen: str) -> None:
    assert 'name="extract_facts"' not in reader.get("/spaces/kitchen").text


def test_whoever_has_facts_read_is_told_what_is_sent_and_how_far_it_is(
    app: Flask, runtime: Runtime, reader: FlaskClient, agent: Agent, kitchen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Talk(agent, space="kitchen").turn("The kettle is new", "Good to know.")
    model = ChatModel("http://key@127.0.0.1:9", "small")
    monkeypatch.setitem(app.extensions, "commonplace", replace(runtime, chat_model=model))
    # Two of them were said there before.
    offered = reader.get("/spaces/kitchen").text
    assert "4 messages would be sent to small at 127.0.0.1, with the facts that they speak of." in offered
    assert "once a month, by small at 127.0.0.1; the summaries stay" in offered
    page = reader.post("/spaces/kitchen", data={**SETTINGS, "extract_facts": "true"}, follow_redirects=True).text
    assert "0 of 4 messages are read, by small at 127.0.0.1." in " ".join(page.split())
    for switch, said in (({"memory_enabled": False}, "memory is off"), ({"incognito_default": True}, "incognito is")):
        agent.patch("/v1/spaces/kitchen", switch)
        assert f"Nothing is sent or read while {said}" in reader.get("/spaces/kitchen").text
    assert agent.patch("/v1/spaces/kitchen", {"name": "Kitchen"}).json["extract_facts"] is True
    agent.patch("/v1/spaces/kitchen", {"extract_facts": False})


@pytest.mark.parametrize("name", ["extract_facts", "roll_up"])
def test_it_is_switched_by_the_interface(agent: Agent, kitchen: str, name: str) -> None:
    assert agent.get("/v1/spaces/kitchen").json[name] is False
    for wanted in (True, False):
        assert agent.patch("/v1/spaces/kitchen", {name: wanted}).json[name] is wanted
    assert agent.post("/v1/spaces", {"slug": "attic", name: True}).json[name] is True


def test_what_is_archived_is_summed_up_where_the_page_says_so(reader: FlaskClient, agent: Agent, kitchen: str) -> None:
    reader.post("/spaces/kitchen", data={**SETTINGS, "roll_up": "true"})
    assert agent.get("/v1/spaces/kitchen").json["roll_up"] is True
    assert re.search(r'name="roll_up"\s+value="true"\s+checked', reader.get("/spaces/kitchen").text)


def test_every_page_calls_a_space_by_its_name(app: Flask, ada, agent: Agent) -> None:
    agent.post("/v1/spaces", {"slug": "k2", "name": "The kitchen"})
    memory_id = agent.store("The tiles are sage green.", space="k2")
    stated = agent.post("/v1/facts", {"subject": "Ben", "predicate": "has", "object": "the key", "space": "k2"})
    talk = Talk(agent, external_id="thread-1", space="k2")
    reader = at_browser(app, ada)
    question = f"/memories/bulk/ask?every=true&act=move&about=k2&space={DEFAULT_SPACE}"
    agent.store("Ben sings.")
    for address, said in (
        ("/memories", "<dd>The kitchen</dd>"),
        (f"/memories/{memory_id}", "<dd>The kitchen</dd>"),
        ("/memories/bulk/ask?every=true&act=pin&space=k2", "<span>The kitchen</span>"),
        (question, "Move 1 memory to The kitchen?"),
        ("/facts", "in The kitchen,"),
        (f"/facts/{stated.json['id']}", "In The kitchen."),
        ("/conversations", ">The kitchen</a>"),
        (talk.page, ">The kitchen</a>"),
    ):
        page = re.sub(r"\s*([<>])\s*", r"\1", reader.get(address).text)
        assert said in page
        # It stands in addresses and in what forms send alone.
        assert not re.search(r">[^<]*\bk2\b", page)
    assert "Spaces</a>/ The kitchen" in re.sub(r"\s*([<>])\s*", r"\1", reader.get("/spaces/k2").text)
