"""`PATCH /v1/spaces/{slug}` with a soft cap that would let memories go."""

from __future__ import annotations

import pytest
from api_agent import ENTRIES, Agent, fields

SPACE = "/v1/spaces/default"


@pytest.fixture
def four(agent):
    """An agent that has four memories, one of them pinned."""
    ids = [agent.store(f"Shelf {number} holds {number * 7} jars of honey") for number in range(4)]
    agent.post(f"{ENTRIES}/{ids[0]}/pin")
    return agent


def cap_of(agent):
    return next(each["soft_cap"] for each in agent.get("/v1/spaces").json["spaces"] if each["slug"] == "default")


@pytest.mark.parametrize(("cap", "lost"), [(1, 3), (3, 1)])
def test_a_cap_that_lets_memories_go_is_refused_and_says_how_many(four, cap, lost):
    before = cap_of(four)
    answer = four.patch(SPACE, {"soft_cap": cap})
    assert (answer.status_code, fields(answer)) == (422, ["soft_cap"])
    assert f"lets {lost} of its memories go for good" in answer.text
    assert f"send lets_go {lost}" in answer.text
    assert cap_of(four) == before


def test_what_is_agreed_to_goes_with_the_next_that_is_stored(four):
    assert four.patch(SPACE, {"soft_cap": 3, "lets_go": 1}).json["soft_cap"] == 3
    assert len(four.texts()) == 4
    four.store("The ladder is in the shed")
    assert len(four.texts()) == 3


def test_more_than_was_agreed_to_does_not_go(four):
    assert fields(four.patch(SPACE, {"soft_cap": 1, "lets_go": 2})) == ["soft_cap"]
    assert cap_of(four) > 4


def test_who_may_not_forget_lets_nothing_go(four, client, ada):
    writer = Agent(client, ada.new_token("read", "write"))
    assert writer.patch(SPACE, {"soft_cap": 3, "lets_go": 1}).status_code == 403
    assert writer.patch(SPACE, {"soft_cap": 4}).json["soft_cap"] == 4


def test_a_cap_above_what_is_there_needs_no_word(four):
    assert four.patch(SPACE, {"soft_cap": 4}).json["soft_cap"] == 4
    assert four.patch(SPACE, {"soft_cap": 5, "lets_go": 7}).json["soft_cap"] == 5


def test_a_word_alone_changes_nothing(four):
    assert fields(four.patch(SPACE, {"lets_go": 2})) == ["body"]
