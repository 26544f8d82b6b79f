"""Facts that a model has read out of conversations, and those that are told in the block for a prompt."""

from __future__ import annotations

import re
from time import monotonic
from uuid import UUID

import pytest
from api_agent import NOBODYS_ID, Agent, add_space, rows
from api_facts import FACTS, SPRING, stated, told
from api_talk import Talk

from memory.clock import utc_now
from memory.facts.facts import Statement, state
from memory.spaces.spaces import get_space
from webapp.api.memory import MOST_FACTS

# In the block for a prompt


def recall(agent, query, **more):
    return agent.post("/v1/memory/context", {"query": query, **more}).json


def test_facts_of_what_a_question_names_stand_in_the_block_that_asks_for_them(agent):
    agent.store("Robin keeps bees behind the house")
    fact = stated(agent, "Bern", valid_from=SPRING)["id"]
    stated(agent, "Faro", subject="Ada")
    plain = recall(agent, "Where does Robin keep bees?")
    assert ("Bern" in plain["context"], plain["facts"], plain["count"]) == (False, 0, 1)
    both = recall(agent, "Where does Robin keep bees?", facts=True)
    assert ("Robin lives in Bern" in both["context"], "Faro" in both["context"]) == (True, False)
    assert (both["facts"], both["count"], fact in both["context"]) == (1, 1, True)


def test_of_many_facts_of_one_those_that_the_question_asks_for_come_first(agent):
    stated(agent, "Bern", subject="user", valid_from=SPRING)
    for number in range(MOST_FACTS):
        stated(agent, f"number {number}", subject="user", predicate="has", single=False)
    told = recall(agent, "In which town do I live?", facts=True, token_budget=900)["context"]
    assert re.findall("user .*", told)[:2] == ["user lives in Bern", f"user has number {MOST_FACTS - 1}"]
    found = agent.tool("fact_search", query="In which town do I live?", limit=2).json
    assert [each["object"] for each in found["facts"]] == ["Bern", f"number {MOST_FACTS - 1}"]
    assert found["more"] is True


@pytest.mark.parametrize("sign", ["~/", "a_", "<!-- "])
def test_facts_are_soon_found_by_a_question_that_is_no_sentence(agent, sign):
    stated(agent, sign * 20, predicate="says")
    began = monotonic()
    both = recall(agent, f"Robin {sign * 15_000}", facts=True)
    assert (both["facts"], both["error"]) == (1, False)
    assert monotonic() - began < 4


def test_facts_of_another_space_stand_in_no_block(agent, ada):
    add_space(ada, "work")
    stated(agent, "Bern", space="work")
    assert recall(agent, "Where does Robin live?", facts=True)["context"] == ""
    assert "Bern" in recall(agent, "Where does Robin live?", facts=True, space="work")["context"]


def test_facts_are_kept_back_where_memory_is_off_and_while_incognito(agent):
    stated(agent, "Bern")
    agent.post("/v1/memory/settings", {"memory_enabled": False})
    assert recall(agent, "Where does Robin live?", facts=True)["context"] == ""
    agent.post("/v1/memory/settings", {"memory_enabled": True})
    agent.post("/v1/memory/incognito/start", {})
    assert recall(agent, "Where does Robin live?", facts=True)["context"] == ""


def test_a_call_that_told_a_fact_goes_blank_with_it(agent, ada):
    fact = stated(agent, "Bern")["id"]
    recall(agent, "Where does Robin live?", facts=True)
    (affected,) = rows(ada, "SELECT affected_ids FROM tool_calls WHERE tool = 'memory_context'")
    assert [str(each) for each in affected[0]] == [fact]
    agent.delete(f"{FACTS}/{fact}")
    assert rows(ada, "SELECT arguments FROM tool_calls WHERE tool = 'memory_context'") == [({"redacted": True},)]


# What a model has read


@pytest.fixture
def talk(agent):
    talk = Talk(agent)
    talk.turn("I live in Bern now", "Good to know.")
    return talk


def read_out(ada, talk, object_="Bern", **more):
    """Keep a fact as a worker does that had it read out of the first message; returns its id."""
    said = Statement("user", "lives in", object_, source_message_id=UUID(talk.messages()[0]["id"]), **more)
    with ada.session() as session:
        space = get_space(session, ada.id, "default")
        now, keys = utc_now(), ada.runtime.keys
        kept = state(session, ada.id, space.id, said, keys=keys, now=now, actor="test", extracted=True)
        return str(kept.fact.id)


def test_the_block_says_what_nobody_has_looked_at(agent, ada, talk):
    fact = read_out(ada, talk)
    assert ' extracted="true">' in recall(agent, "Where do I live?", facts=True)["context"]
    agent.patch(f"{FACTS}/{fact}", {"extracted": False})
    assert "extracted" not in recall(agent, "Where do I live?", facts=True)["context"]


def test_what_a_model_has_read_is_told_apart(agent, ada, talk):
    read_out(ada, talk)
    stated(agent, "Lisbon", subject="Robin")
    assert {fact["object"]: fact["extracted"] for fact in agent.get(FACTS).json["facts"]} == {
        "Bern": True,
        "Lisbon": False,
    }
    assert (told(agent, extracted=True), told(agent, extracted=False)) == (["Bern"], ["Lisbon"])


def test_the_facts_of_a_conversation_can_be_asked_for(agent, ada, talk, bob, client):
    read_out(ada, talk)
    stated(agent, "Lisbon", subject="Robin")
    assert (told(agent, conversation=talk.id), told(agent, conversation=NOBODYS_ID)) == (["Bern"], [])
    assert told(Agent(client, bob.headers), conversation=talk.id) == []


@pytest.mark.parametrize(
    ("change", "status"), [({"extracted": False}, 200), ({"confidence": 0.9}, 200), ({"extracted": True}, 422)]
)
def test_whoever_looks_at_it_says_so(agent, ada, talk, change, status):
    fact = read_out(ada, talk, confidence=0.7)
    assert agent.patch(f"{FACTS}/{fact}", change).status_code == status
    assert agent.get(f"{FACTS}/{fact}").json["extracted"] is (status == 422)


def test_a_fact_that_was_read_goes_with_its_conversation_and_what_calls_said_of_it(agent, ada, talk):
    fact = read_out(ada, talk)
    agent.post("/v1/tools/fact_search", {"query": "Where do I live?"})
    answer = agent.delete(talk.path).json
    assert (answer["facts"], agent.get(f"{FACTS}/{fact}").status_code) == (1, 404)
    assert rows(ada, "SELECT arguments FROM tool_calls WHERE tool = 'fact_search'") == [({"redacted": True},)]
