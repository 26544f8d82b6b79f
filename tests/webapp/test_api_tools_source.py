"""The tool `memory_add` keeps the message that a memory was learned from."""

from __future__ import annotations

from uuid import uuid4

import pytest
from api_agent import Agent, add_space, fields, memories_of
from api_talk import Talk


@pytest.fixture
def said(agent):
    """A message of Ada's, in the pool."""
    return Talk(agent).say("I have moved to Lisbon")


def add(agent, message_id, **more):
    return agent.tool("memory_add", type="fact", content="Ada lives in Lisbon", source_message_id=message_id, **more)


def test_a_source_links_the_memory_to_the_message(agent, said):
    answer = add(agent, said["id"])
    assert answer.status_code == 201
    entry = agent.entry(answer.json["id"])
    assert (entry["source_message_id"], entry["source"]["message_id"]) == (said["id"], said["id"])


def test_no_message_need_be_named(agent):
    answer = agent.tool("memory_add", type="fact", content="Ada lives in Lisbon")
    assert agent.entry(answer.json["id"])["source_message_id"] is None


def test_a_message_that_is_not_there_is_refused_and_nothing_stored(agent, ada):
    answer = add(agent, str(uuid4()))
    assert (answer.status_code, fields(answer)) == (422, ["source_message_id"])
    assert memories_of(ada) == 0


def test_what_is_no_id_is_refused(agent, ada):
    answer = add(agent, "the last one")
    assert (answer.status_code, fields(answer)) == (422, ["source_message_id"])
    assert memories_of(ada) == 0


def test_anothers_message_answers_as_none(client, bob, agent, said):
    stranger = Agent(client, bob.headers)
    theirs, none = add(stranger, said["id"]), add(stranger, str(uuid4()))
    assert (theirs.status_code, theirs.json["errors"]) == (422, none.json["errors"])
    assert memories_of(bob) == 0


def test_a_confined_token_names_no_message_of_another_space(client, ada, said):
    add_space(ada, "work")
    confined = Agent(client, ada.new_token("read", "write", space="work"))
    assert (add(confined, said["id"]).status_code, memories_of(ada)) == (422, 0)


@pytest.mark.parametrize("ecosystem", ["openai", "anthropic", "mcp"])
def test_agents_are_told_of_it(agent, ecosystem):
    assert "source_message_id" in agent.get("/v1/tools", format=ecosystem).text


def told(agent, **more):
    """Return what `query_memory` says of where the memories come from."""
    return [each["context"] for each in agent.tool("query_memory", query="Lisbon", **more).json["memories"]]


def test_who_recalls_it_is_told_the_conversation_as_long_as_that_is_in_its_space(agent, ada):
    talk = Talk(agent, title="Moving  house")
    add(agent, talk.say("I have moved to Lisbon")["id"])
    [context] = told(agent)
    assert context.startswith("user, ")
    assert context.endswith("; in “Moving house”")
    talk.change(space=add_space(ada, "work"))
    assert told(agent) == [context.partition(";")[0]]


def test_who_recalls_it_is_told_the_callers_own_name_of_the_message(agent):
    agent.store("Ada lives in Lisbon", type="fact", source_ids=["s-1"], source_message="mail 7")
    assert [each.partition("; ")[2] for each in told(agent)] == ["source s-1, mail 7"]
