"""The audit trail over HTTP: what was done, and the proof that nobody has rewritten it."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from api_agent import ENTRIES, Agent, add_space, fields, rows
from sqlalchemy import text

from memory.clock import utc_now
from memory.storage.database import make_engine

AUDIT = "/v1/audit"
VERIFY = "/v1/audit/verify"


@pytest.fixture
def owner(database_url, runtime):
    engine = make_engine(database_url, pool_size=1)
    yield engine
    engine.dispose()


@pytest.fixture
def by_hand(owner, ada):
    """Run SQL as the owner of the tables; `:u` is Ada."""

    def _by_hand(statement, **values):
        with owner.begin() as connection:
            assert connection.execute(text(statement), {"u": ada.id, **values}).rowcount == 1

    yield _by_hand
    # Nobody else is to stumble over the broken chain.
    with owner.begin() as connection:
        connection.execute(text("DELETE FROM users WHERE id = :u"), {"u": ada.id})


@pytest.fixture
def lived(agent):
    """A day with a memory: stored, repeated, changed, pinned, and one forgotten. Returns the one that is left."""
    memory_id = agent.store("Ada keeps bees on the roof")
    agent.post(ENTRIES, {"text": "Ada keeps bees on the roof"})
    agent.patch(f"{ENTRIES}/{memory_id}", {"importance": 0.7})
    agent.post(f"{ENTRIES}/{memory_id}/pin")
    agent.delete(f"{ENTRIES}/{agent.store('The flowerpot hides the key')}")
    return memory_id


def actions(agent, **query):
    answer = agent.get(AUDIT, **query)
    assert answer.status_code == 200, answer.text
    return [event["action"] for event in answer.json["events"]]


def test_all_that_was_done_is_listed_newest_first(agent, lived):
    assert actions(agent)[:6] == [
        "memory.forgotten",
        "memory.created",
        "memory.pinned",
        "memory.updated",
        "memory.merged",
        "memory.created",
    ]


def test_an_event_says_who_did_what_to_which(agent, ada, lived):
    event = agent.get(AUDIT, action="memory.pinned").json["events"][0]
    prefix = ada.token[:11]
    assert (event["actor"], event["subject_id"], event["count"]) == (f"token:{prefix}", lived, 1)
    assert set(event["details"]) == {"saved", "importance_before", "importance_after", "repeats"}
    assert event["sequence"] == rows(ada, "SELECT sequence FROM audit_links WHERE event_id = :e", e=event["id"])[0][0]
    assert len(event["hash"]) == 64


def test_events_of_one_memory_are_found(agent, lived):
    assert sorted(actions(agent, subject=lived)) == [
        "memory.created",
        "memory.merged",
        "memory.pinned",
        "memory.updated",
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"action": "memory.forgotten"}, 1),
        ({"action": "memory."}, 6),
        ({"action": "memory"}, 6),
        ({"action": "emory"}, 0),
        ({"action": "memory_"}, 0),
        ({"actor": "system"}, 1),
        ({"actor": "nobody"}, 0),
        ({"subject": str(uuid4())}, 0),
        ({"since": "2020-01-01T00:00:00Z", "action": "memory."}, 6),
        ({"until": "2020-01-01T00:00:00Z"}, 0),
    ],
)
def test_events_are_filtered(agent, lived, query, expected):
    assert len(actions(agent, **query)) == expected


def test_events_of_the_last_hour_are_found(agent, lived):
    now = utc_now()
    assert len(actions(agent, since=(now - timedelta(hours=1)).isoformat(), until=now.isoformat())) == 8


def test_events_come_page_by_page(agent, lived):
    found, cursor = [], {}
    while True:
        page = agent.get(AUDIT, limit=3, **cursor).json
        found += [event["id"] for event in page["events"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len(found) == len(set(found)) == 8


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"subject": "x"}, "subject"),
        ({"since": "today"}, "since"),
        ({"limit": 201}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"action": "\x00"}, "action"),
        ({"who": "me"}, "who"),
    ],
)
def test_a_bad_filter_is_named(agent, query, field):
    assert fields(agent.get(AUDIT, **query)) == [field]


def test_anothers_events_are_nobodys(stranger, lived):
    assert actions(stranger, action="memory.") == []
    assert actions(stranger, subject=lived) == []


@pytest.mark.parametrize("path", [AUDIT, VERIFY])
def test_the_trail_needs_the_scope_read(client, ada, path):
    assert Agent(client, ada.new_token("write")).get(path).status_code == 403


def test_a_confined_token_sees_what_it_did_itself(client, ada, agent, lived):
    confined = Agent(client, ada.new_token("read", "write", space=add_space(ada, "work")))
    confined.store("The meeting is on Monday")
    assert actions(confined) == ["memory.created"]
    assert actions(confined, actor=f"token:{ada.token[:11]}") == []
    assert actions(confined, subject=lived) == []


def test_a_confined_token_cannot_check_what_others_did(client, ada, lived):
    assert Agent(client, ada.new_token("read", space=add_space(ada, "work"))).get(VERIFY).status_code == 403


# --- the proof --------------------------------------------------------------------------------------------------------


def test_the_chain_holds_and_survives_a_forget(agent, lived):
    found = agent.get(VERIFY).json
    assert (found["ok"], found["events"], found["reason"], found["sequence"]) == (True, 8, None, None)
    assert found["head"].startswith("8:")


def test_one_byte_changed_by_hand_is_found(agent, by_hand, lived):
    event = agent.get(AUDIT, action="memory.pinned").json["events"][0]
    by_hand("UPDATE audit_events SET action = 'memory.pinneD' WHERE user_id = :u AND id = :e", e=event["id"])
    found = agent.get(VERIFY).json
    assert (found["ok"], found["sequence"], found["event_id"]) == (False, event["sequence"], event["id"])
    assert found["reason"] == "the event or its link was changed"


def test_a_removed_event_is_found(agent, by_hand, lived):
    event = agent.get(AUDIT, action="memory.forgotten").json["events"][0]
    by_hand("DELETE FROM audit_events WHERE user_id = :u AND id = :e", e=event["id"])
    assert agent.get(VERIFY).json["sequence"] == event["sequence"]


def test_the_chain_of_another_user_still_holds(agent, stranger, by_hand, lived):
    by_hand("DELETE FROM audit_events WHERE user_id = :u AND action = 'memory.pinned'")
    assert (agent.get(VERIFY).json["ok"], stranger.get(VERIFY).json["ok"]) == (False, True)


def test_a_cut_end_is_found_against_the_head_that_was_noted(agent, by_hand, lived):
    head = agent.get(VERIFY).json["head"]
    assert agent.get(VERIFY, expect=head).json["ok"]
    last = "SELECT event_id FROM audit_links WHERE user_id = :u ORDER BY sequence DESC LIMIT 1"
    by_hand(f"DELETE FROM audit_events WHERE user_id = :u AND id = ({last})")
    by_hand(f"DELETE FROM audit_links WHERE user_id = :u AND event_id = ({last})")
    assert agent.get(VERIFY).json["ok"]
    assert agent.get(VERIFY, expect=head).json["reason"] == "the chain is shorter than was noted"


@pytest.mark.parametrize("head", ["", "x", "1:00", "\x00"])
def test_a_head_that_is_none_is_refused(agent, head):
    assert fields(agent.get(VERIFY, expect=head)) == ["expect"]
