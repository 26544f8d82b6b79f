"""What is recorded of a call whose memory is forgotten at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from memory.embedding.backfill import utc_now
from memory.forget import forget
from memory.journal import hold
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
