"""What is recorded of a call whose memory is forgotten at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import pytest
from api_agent import add_space, rows, waited_for
from sqlalchemy import text

from memory.clock import utc_now
from memory.forgetting.forget import forget
from memory.record.journal import hold, hold_place, release_calls, still_there
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
    assert (kept["tool"], kept["arguments"], "is 8842" in str(kept)) == ("memory_update", {"redacted": True}, False)
    assert kept["affected_ids"] == [memory_id]


def test_a_memory_is_not_forgotten_before_what_was_written_is_recorded(agent, ada):
    memory_id = agent.store("The alarm code of the house is on a card")
    with ThreadPoolExecutor(1) as pool:
        with ada.session() as session:
            assert hold(session, ada.id, [UUID(memory_id)])
            forgetting = pool.submit(forgotten, ada, UUID(memory_id))
            with pytest.raises(TimeoutError):
                forgetting.result(0.5)
        forgetting.result(60)
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
        assert forgetting.result(60).status_code in {200, 204}
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
        assert found.result(60) == [BEES]
    assert rows(ada, ASKED) == [({"query": "where are the bees?"}, False)]


# --- in a conversation that goes ---


def removed(agent):
    expect = agent.get("/v1/spaces/shed/contents").json["expect"]
    return agent.delete("/v1/spaces/shed", contents="forget", expect=expect)


def looks(agent):
    return agent.tool("memory_search", query="the alarm code of the house", space="shed")


def writes(agent):
    return agent.tool("memory_add", type="fact", content=CODE, space="shed")


@pytest.mark.parametrize(("check", "calls"), [("was_incognito", looks), ("still_there", looks), ("hold", writes)])
def test_a_call_and_the_removal_of_its_conversation_never_wait_for_each_other(agent, ada, monkeypatch, check, calls):
    add_space(ada, "shed")
    agent.store(CODE, space="shed")
    talk = agent.post("/v1/conversations", {"space": "shed"}).json["id"]
    checked = getattr(recording, check)
    with ThreadPoolExecutor(1) as pool:
        removing = []

        def meanwhile(*given):
            found = checked(*given)
            if not removing:
                removing.append(pool.submit(removed, agent))
                assert waited_for(recording.session())
            return found

        monkeypatch.setattr(recording, check, meanwhile)
        assert calls(replace(agent, more={"X-Commonplace-Conversation": talk})).status_code == 200
        assert removing[0].result(60).status_code == 200
    assert rows(ada, "SELECT conversation_id, arguments FROM tool_calls WHERE tool LIKE 'memory%'") == [
        (None, {"redacted": True})
    ]


def test_a_call_that_wrote_waits_for_its_conversation_to_go_and_holds_nothing_of_it(agent, ada, monkeypatch):
    """Whoever deletes it holds what was learned in it, and waits for another call of it."""
    talk = agent.post("/v1/conversations", {}).json["id"]
    said = agent.post(f"/v1/conversations/{talk}/messages", {"messages": [{"role": "user", "content": BEES}]}).json
    agent.store(CODE, source_message_id=said["results"][0]["id"])
    talking = replace(agent, more={"X-Commonplace-Conversation": talk})
    talking.found("where are the bees?")
    deleting = []
    with ThreadPoolExecutor(2) as pool, ada.session() as other:
        release_calls(other, [UUID(talk)])

        def meanwhile(session, *given):
            deleting.append(pool.submit(agent.delete, f"/v1/conversations/{talk}"))
            assert waited_for(session)
            return hold_place(session, *given)

        monkeypatch.setattr(recording, "hold_place", meanwhile)
        writing = pool.submit(talking.tool, "memory_add", type="fact", content=CODE)
        assert waited_for(other, 2)
        other.rollback()
        assert writing.result(60).status_code == 200
        assert deleting[0].result(60).status_code == 200
    last = "SELECT conversation_id, arguments FROM tool_calls ORDER BY created_at DESC LIMIT 1"
    assert rows(ada, last) == [(None, {"type": "fact", "content": CODE})]
