"""What agents recalled and hand back is neither stored again nor learned from."""

from __future__ import annotations

import json

import pytest
from api_agent import ENTRIES, add_space, memories_of, rows
from api_talk import Talk

from memory.clock import utc_now
from memory.enrichment.enrich import Enricher

TEA = "Ada drinks green tea in the morning"
QUESTION = "Does Ada drink green tea in the morning, and does my sister Beatrice take the ferry to Lisbon?"
FERRY = "My sister Beatrice takes the ferry to Lisbon every Friday afternoon"


@pytest.fixture
def told(agent):
    """Two memories, found by a search and assembled into a block."""
    agent.store(TEA)
    agent.store(FERRY)
    hits = agent.found(QUESTION)
    assert sorted(hits) == sorted([TEA, FERRY])
    return hits


@pytest.fixture
def block(agent, told):
    return agent.post("/v1/memory/context", {"query": QUESTION}).json["context"]


def quoted(text):
    return "\n".join(f"> {line}" for line in text.splitlines())


def counts(person):
    """Return how many memories there are, and how often any was said again."""
    return rows(person, "SELECT count(*), coalesce(sum(repeat_count), 0) FROM memories")[0]


def test_a_conversation_of_pasted_memories_grows_none(agent, ada, told, block):
    talk = Talk(agent)
    answer = json.dumps(agent.tool("memory_search", query=QUESTION).json, indent=2)
    forms = [block, quoted(block), f"- {TEA}\n- {FERRY}", TEA, answer, f"> {FERRY[:50]}..."]
    for n in range(100):
        kept = talk.say(forms[n % len(forms)], remember=True)
        assert kept["memory"] == {"id": None, "outcome": "none", "reason": "recalled"}
    assert tuple(counts(ada)) == (2, 0)
    assert len(talk.messages(limit=200)) == 100


def test_what_is_said_beside_it_is_remembered_alone(agent, ada, block):
    Talk(agent).say(f"{quoted(block)}\n\nI switched to coffee in January", remember=True)
    texts = [row.text for row in rows(ada, "SELECT text FROM memories")]
    assert "I switched to coffee in January" in texts
    assert len(texts) == 3


def test_the_message_itself_stays_as_it_was_said(agent, block):
    talk = Talk(agent)
    talk.say(block)
    assert talk.said() == [block]
    assert talk.messages()[0]["recalled"] is True


def test_words_of_ones_own_are_remembered(agent, ada, told):
    kept = Talk(agent).say("In the morning I drink a green tea", remember=True)
    assert kept["memory"]["outcome"] in {"created", "merged"}


def test_what_was_not_recalled_counts_as_said_again(agent, ada):
    agent.store(TEA)
    Talk(agent).say(TEA, remember=True)
    assert tuple(counts(ada)) == (1, 1)


def test_a_block_is_no_memory(agent, ada, block):
    response = agent.post(ENTRIES, {"text": block})
    assert (response.status_code, response.json["outcome"], response.json["reason"]) == (409, "refused", "recalled")
    assert memories_of(ada) == 2


def test_a_block_is_no_memory_for_the_tool(agent, ada, block):
    response = agent.tool("memory_add", content=quoted(block), type="note")
    assert (response.status_code, response.json["reason"]) == (409, "recalled")
    assert memories_of(ada) == 2


def test_a_block_in_a_batch_stops_nothing_else(agent, block):
    answer = agent.post(f"{ENTRIES}/batch", {"entries": [{"text": block}, {"text": "I play the oboe"}]}).json
    assert [result["outcome"] for result in answer["results"]] == ["refused", "created"]


def test_a_plain_repeat_by_the_tool_is_a_repeat(agent, ada, told):
    assert agent.tool("memory_add", content=TEA, type="note").json["status"]["outcome"] == "merged"


def test_of_recalled_text_nothing_is_learned(agent, ada, told, block):
    add_space(ada, "trip")
    talk = Talk(agent, space="trip")
    talk.turn(f"{block}\n\nMy colleague Rosalind drives.", FERRY)
    enricher = Enricher(ada.runtime.sessions, utc_now)
    while enricher.enrich_user(ada.id):
        pass
    assert [entity["name"] for entity in agent.get("/v1/entities").json["entities"]] == ["Rosalind"]
