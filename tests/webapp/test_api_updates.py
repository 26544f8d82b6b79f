"""`/v1/memory/updates`: what waits for a decision, and what comes of one."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from api_agent import Agent, add_space, rows

from memory.clock import utc_now

UPDATES = "/v1/memory/updates"
KEY = "The spare key is under the flowerpot number {}"


@pytest.fixture
def pair(agent):
    """The ids of two memories that differ in a number, the older first."""
    return [agent.store(KEY.format(number)) for number in (3, 4)]


def pairs(agent, **query):
    answer = agent.get(UPDATES, **query).json
    return [(each["newer"]["id"], each["older"]["id"]) for each in answer["updates"]]


def decide(agent, one, other, keep):
    return agent.post(f"{UPDATES}/{one}/{other}", {"keep": keep})


def test_a_pair_is_told_with_both_texts_and_what_differs(agent, pair):
    (found,) = agent.get(UPDATES).json["updates"]
    assert [(found[which]["id"], found[which]["text"]) for which in ("older", "newer")] == [
        (pair[0], KEY.format(3)),
        (pair[1], KEY.format(4)),
    ]
    assert (found["space"], found["differs_in"]) == ("default", "number")


def test_what_is_of_an_earlier_day_is_the_older_one_even_if_it_was_stored_later(agent):
    first = agent.store(KEY.format(3))
    second = agent.store(KEY.format(4), created_at=(utc_now() - timedelta(days=30)).isoformat())
    assert pairs(agent) == [(first, second)]


@pytest.mark.parametrize(("keep", "winner"), [("this", 0), ("other", 1)])
def test_what_holds_replaces_the_other_and_nothing_is_left_to_decide(agent, pair, keep, winner):
    answer = decide(agent, *pair, keep)
    assert (answer.status_code, answer.json) == (200, {"keep": keep, "replaced": pair[1 - winner]})
    read = [agent.get(f"/v1/memory/entries/{each}").json for each in pair]
    assert [each["status"] for each in read][1 - winner] == "superseded"
    assert read[winner]["supersedes"] == pair[1 - winner]
    assert pairs(agent) == []


def test_both_may_hold(agent, pair):
    assert decide(agent, *pair, "both").json == {"keep": "both", "replaced": None}
    assert pairs(agent) == []
    assert decide(agent, *pair, "this").status_code == 404


def test_a_word_that_is_no_choice_is_refused_by_its_field(agent, pair):
    answer = decide(agent, *pair, "neither")
    assert (answer.status_code, [each["field"] for each in answer.json["errors"]]) == (422, ["keep"])
    assert pairs(agent) == [(pair[1], pair[0])]


@pytest.mark.parametrize(
    "gone",
    [
        lambda agent, pair: agent.patch(f"/v1/memory/entries/{pair[0]}", {"status": "archived"}),
        lambda agent, pair: agent.delete(f"/v1/memory/entries/{pair[1]}"),
    ],
    ids=["archived", "forgotten"],
)
def test_a_pair_of_which_one_is_out_of_search_waits_for_nobody(agent, pair, gone):
    assert gone(agent, pair).status_code == 200
    assert pairs(agent) == []


def test_a_pair_of_which_one_has_expired_waits_for_nobody(agent, ada, pair):
    rows(ada, "UPDATE memories SET expires_at = now() - interval '1 minute' WHERE id = :id RETURNING id", id=pair[0])
    assert pairs(agent) == []


def test_pages_have_every_pair_once_and_in_order(agent):
    stored = [agent.store(f"Bus {number} leaves from the station at noon") for number in range(5)]
    whole = pairs(agent)
    assert [newer for newer, _ in whole] == sorted((newer for newer, _ in whole), reverse=True)
    assert {each for pair in whole for each in pair} == set(stored)
    seen, cursor = [], None
    while True:
        page = agent.get(UPDATES, limit=3, **({"cursor": cursor} if cursor else {})).json
        seen += [(each["newer"]["id"], each["older"]["id"]) for each in page["updates"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == whole
    assert len(whole) > 3


@pytest.mark.parametrize("query", [{"cursor": "x"}, {"limit": 0}, {"limit": 101}, {"space": "nowhere"}])
def test_a_page_that_cannot_be_is_refused_by_its_field(agent, query):
    answer = agent.get(UPDATES, **query)
    assert (answer.status_code, [each["field"] for each in answer.json["errors"]]) == (422, [*query])


def test_a_space_has_its_own_and_a_confined_token_sees_no_other(client, agent, ada, pair):
    add_space(ada, "studio")
    there = [agent.store(f"Locker {number} has the tripod", space="studio") for number in (7, 8)]
    confined = Agent(client, ada.new_token("read", "write", space="studio"))
    assert pairs(agent, space="studio") == pairs(confined) == [(there[1], there[0])]
    assert pairs(agent, space="default") == [(pair[1], pair[0])]
    assert len(pairs(agent)) == 2
    assert decide(confined, *pair, "both").status_code == 404
    assert len(pairs(agent)) == 2


def test_another_user_sees_and_decides_nothing(client, bob, agent, pair):
    stranger = Agent(client, bob.new_token("read", "write"))
    assert pairs(stranger) == []
    assert decide(stranger, *pair, "this").status_code == 404
    assert decide(agent, pair[0], uuid4(), "this").status_code == 404
    assert len(pairs(agent)) == 1


def test_a_space_that_is_incognito_by_default_is_closed(agent, ada, pair):
    add_space(ada, "studio")
    for number in (7, 8):
        agent.store(f"Locker {number} has the tripod", space="studio")
    agent.patch("/v1/spaces/studio", {"incognito_default": True})
    assert pairs(agent) == [(pair[1], pair[0])]
    assert agent.get(UPDATES, space="studio").json == {"updates": [], "next_cursor": None, "skipped": "incognito"}
