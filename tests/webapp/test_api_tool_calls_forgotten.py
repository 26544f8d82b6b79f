"""What is recorded of a call whose memory is forgotten at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import pytest
from api_agent import rows, waited_for
from sqlalchemy import text

from memory.embedding.backfill import utc_now
from memory.forget import forget
from memory.journal import hold, still_there
from webapp import recording

CALLS = "/v1/tool-calls"


def forgotten(person, memory_id):
    with person.session() as session:
        forget(session, person.id, memory_id, keys=person.runtime.keys, now=utc_now(), actor="other")


def test_a_call_that_is_recorded_after_its_memory_was_forgotten_says_nothing_of_it(agent, ada, monkeypatch):
    memory_id = agent.store("The alarm code of the house is on a card")

    def meanwhile(session, user_id, ids):
        forgotten(ada, UUID(memory_id))
        return hold(session, user_id, ids)

    monkeypatch.setattr(recording, "hold", meanwhile)
    told = agent.tool("memory_update", item_id=memory_id, content="The alarm code of the house is 8842")
    assert told.status_code == 200
    kept = agent.get(CALLS).json["calls"][0]
    assert (kept["tool"], kept["arguments"], "8842" in str(kept)) == ("memory_update", {"redacted": True}, False)
    assert kept["affected_ids"] == [memory_id]


def test_a_memory_is_not_forgotten_before_what_was_written_is_recorded(agent, ada):
    memory_id = agent.store("The alarm code of the house is on a card")
    with ThreadPoolExecutor(1) as pool:
        with ada.session() as session:
            assert hold(session, ada.id, [UUID(memory_id)])
            forgetting = pool.submit(forgotten, ada, UUID(memory_id))
            with pytest.raises(TimeoutError):
                forgetting.result(0.5)
        forgetting.result(20)
    with ada.session() as session:
        assert not hold(session, ada.id, [UUID(memory_id)])
        assert hold(session, ada.id, [])


# --- searches ---------------------------------------------------------------------------------------------------------

CODE, BEES = "The alarm code of the house is on a card", "Beatrice keeps bees behind the orchard wall"
ASKED = "SELECT arguments, query_hash IS NULL FROM tool_calls ORDER BY created_at DESC LIMIT 1"


def test_a_search_that_is_recorded_after_its_hit_was_forgotten_keeps_no_question(agent, ada, monkeypatch):
    memory_id = agent.store(CODE)
    with ada.session() as session:
        forget(session, ada.id, UUID(memory_id), keys=ada.runtime.keys, now=utc_now(), actor="other")

        def meanwhile(*given):
            session.commit()
            return still_there(*given)

        monkeypatch.setattr(recording, "still_there", meanwhile)
        assert agent.found("the alarm code of the house") == [CODE]
    assert rows(ada, ASKED) == [({"redacted": True}, True)]


def test_a_search_waits_for_nobody_who_is_forgetting_and_keeps_what_is_asked_of_others(agent, ada):
    memory_id = agent.store(CODE)
    agent.store(BEES)
    with ada.session() as session:
        forget(session, ada.id, UUID(memory_id), keys=ada.runtime.keys, now=utc_now(), actor="other")
        assert agent.found("the alarm code of the house") == [CODE]
        assert rows(ada, ASKED) == [({"redacted": True}, True)]
        assert agent.found("where are the bees?") == [BEES]
        assert rows(ada, ASKED) == [({"query": "where are the bees?"}, False)]


def forget_it(agent):
    memory_id = agent.store(CODE)
    return memory_id, f"/v1/memory/entries/{memory_id}"


def delete_fact(agent):
    fact_id = agent.post("/v1/facts", {"subject": "Ada", "predicate": "lives in", "object": "Bern"}).json["id"]
    return fact_id, f"/v1/facts/{fact_id}"


@pytest.mark.parametrize("kind", [forget_it, delete_fact])
def test_nothing_is_forgotten_before_the_search_that_found_it_is_recorded(agent, ada, kind):
    item, path = kind(agent)
    with ThreadPoolExecutor(1) as pool:
        with ada.session() as session:
            assert still_there(session, ada.id, [UUID(item)])
            forgetting = pool.submit(agent.delete, path)
            with pytest.raises(TimeoutError):
                forgetting.result(0.5)
        assert forgetting.result(20).status_code in {200, 204}
    with ada.session() as session:
        assert not still_there(session, ada.id, [UUID(item)])


def test_a_search_that_waits_for_its_conversation_holds_up_nobody_who_forgets(agent, ada):
    """As one removes the conversation with its space and changes what was found, and another forgets a memory.

    The other ends first: a transaction frees its rows a moment before it frees what who tells asks for.
    """
    agent.store(BEES)
    memory_id, talk = agent.store(CODE), agent.post("/v1/conversations", {}).json["id"]
    asking = replace(agent, more={"X-Commonplace-Conversation": talk})
    with ThreadPoolExecutor(1) as pool, ada.session() as removing:
        removing.execute(text("SELECT FROM conversations FOR UPDATE"))
        removing.execute(text("SELECT FROM memories WHERE text = :bees FOR UPDATE"), {"bees": BEES})
        found = pool.submit(asking.found, "where are the bees?")
        assert waited_for(removing)
        with ada.session() as session:
            session.execute(text("SET LOCAL lock_timeout = '5s'"))
            forget(session, ada.id, UUID(memory_id), keys=ada.runtime.keys, now=utc_now(), actor="other")
            session.commit()
        assert not found.done()
        removing.commit()
        assert found.result(20) == [BEES]
    assert rows(ada, ASKED) == [({"query": "where are the bees?"}, False)]
