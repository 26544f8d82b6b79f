"""What can be asked of the record of tool calls: filters, pages, and where a memory was used."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from api_agent import ENTRIES, NOBODYS_ID, Agent, add_space, embed, fields
from recorded_calls import CALLS, CONVERSATION, NOTES, PATHS, call, converse, get, listed, report

from retrieval.search import query_hash


@pytest.fixture
def talk(ada):
    return converse(ada, messages=2)


DAY = datetime(2026, 1, 15, tzinfo=UTC)


@pytest.fixture
def worked(agent, talk):
    """Two days of an agent's work."""
    morning, later = DAY + timedelta(hours=8), DAY + timedelta(hours=9)
    report(
        agent,
        call(
            operation="create", affected_paths=["Projects/alpha.md"], created_at=(DAY - timedelta(hours=3)).isoformat()
        ),
        call(operation="read", affected_paths=["Daily/today.md"], created_at=morning.isoformat()),
        call(affected_paths=["Projects/alpha.md", "Projects/beta.md"], created_at=morning.isoformat()),
        call(operation="delete", affected_paths=["Projects"], created_at=later.isoformat(), conversation_id=talk[0]),
        call(
            tool="obsidian_search", operation="search", affected_paths=["Projects2/x.md"], created_at=later.isoformat()
        ),
        call(success=False, error="locked", affected_paths=["Inbox/100%_a.md"], created_at=later.isoformat()),
    )
    return agent


def test_what_was_done_today_is_one_request(worked):
    today = listed(worked, since=DAY.isoformat(), until=(DAY + timedelta(days=1)).isoformat())
    done = [(each["operation"], each["affected_paths"]) for each in today]
    assert len(done) == 5
    assert ("update", ["Projects/alpha.md", "Projects/beta.md"]) in done[3:]


def test_which_notes_a_tool_modified_is_one_request(worked):
    answer = get(worked, PATHS, tool=NOTES, operation=["create", "update", "delete"], success="true")
    assert [path["path"] for path in answer.json["paths"]] == ["Projects", "Projects/alpha.md", "Projects/beta.md"]
    assert answer.json["paths"][1] == {
        "path": "Projects/alpha.md",
        "calls": 2,
        "last_at": (DAY + timedelta(hours=8)).isoformat(),
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"tool": NOTES}, 5),
        ({"tool": [NOTES, "obsidian_search"]}, 6),
        ({"tool": "obsidian"}, 0),
        ({"operation": "read"}, 1),
        ({"operation": ["read", "delete"]}, 2),
        ({"path": "Projects/alpha.md"}, 2),
        ({"path": "Projects/"}, 2),
        ({"path": "Projects"}, 1),
        ({"path": "Project"}, 0),
        ({"path": "Inbox/100%_a.md"}, 1),
        ({"path": "Inbox/%/"}, 0),
        ({"success": "false"}, 1),
        ({"origin": "external"}, 6),
        ({"origin": "server"}, 0),
        ({"until": DAY.isoformat()}, 1),
        ({"since": (DAY + timedelta(hours=9)).isoformat()}, 3),
        ({"affected_id": NOBODYS_ID}, 0),
        ({"conversation": NOBODYS_ID}, 0),
        ({"message": NOBODYS_ID}, 0),
        ({"correlation_id": NOBODYS_ID}, 0),
    ],
)
def test_calls_are_filtered(worked, query, expected):
    assert len(listed(worked, **query)) == expected


def test_calls_of_a_conversation_are_found(worked, talk):
    assert [each["operation"] for each in listed(worked, conversation=talk[0])] == ["delete"]


def test_calls_are_found_by_what_they_affected(agent):
    wanted = str(uuid4())
    report(agent, call(affected_ids=[str(uuid4()), wanted]), call(affected_ids=[str(uuid4())]), call())
    assert [each["affected_ids"][1] for each in listed(agent, affected_id=wanted)] == [wanted]
    assert len(get(agent, PATHS, affected_id=wanted).json["paths"]) == 1


def test_calls_are_found_by_the_request_that_they_came_in(agent):
    thing = str(uuid4())
    for run, path in (("run-1", "a.md"), ("run-2", "b.md"), ("run-2", "c.md")):
        body = {"calls": [call(affected_ids=[thing], affected_paths=[path])]}
        assert agent.post(CALLS, body, headers={"X-Request-Id": run}).status_code == 201
    assert [each["affected_paths"] for each in listed(agent, correlation_id="run-2")] == [["c.md"], ["b.md"]]
    assert [each["affected_paths"] for each in listed(agent, correlation_id="run-1", affected_id=thing)] == [["a.md"]]
    assert [each["path"] for each in get(agent, PATHS, correlation_id="run-2").json["paths"]] == ["b.md", "c.md"]


def test_paths_are_filtered_by_folder(worked):
    paths = get(worked, PATHS, path="Projects/").json["paths"]
    assert [path["path"] for path in paths] == ["Projects/alpha.md", "Projects/beta.md"]


def test_paths_come_page_by_page(worked):
    names, after = [], {}
    while page := get(worked, PATHS, limit=2, **after).json["paths"]:
        names += [path["path"] for path in page]
        after = {"after": names[-1]}
    assert names == sorted(names)
    assert len(set(names)) == len(names) == 6


def test_calls_come_page_by_page_newest_first(worked):
    moments, cursor = [], {}
    while True:
        page = get(worked, CALLS, limit=2, **cursor).json
        moments += [each["created_at"] for each in page["calls"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert moments == sorted(moments, reverse=True)
    assert len(moments) == 6


def test_a_page_of_calls_by_id_has_a_next_one(agent):
    wanted = str(uuid4())
    report(agent, *[call(affected_ids=[wanted], duration_ms=n) for n in range(5)])
    first = get(agent, CALLS, affected_id=wanted, limit=3).json
    second = get(agent, CALLS, affected_id=wanted, limit=3, cursor=first["next_cursor"]).json
    assert len({each["duration_ms"] for each in first["calls"] + second["calls"]}) == 5
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"since": "today"}, "since"),
        ({"success": "perhaps"}, "success"),
        ({"origin": "elsewhere"}, "origin"),
        ({"affected_id": "x"}, "affected_id"),
        ({"path": ""}, "path"),
        ({"path": "a\x00"}, "path"),
        ({"correlation_id": ""}, "correlation_id"),
        ({"correlation_id": "a" * 65}, "correlation_id"),
        ({"limit": 0}, "limit"),
        ({"unknown": 1}, "unknown"),
    ],
)
@pytest.mark.parametrize("address", [CALLS, PATHS])
def test_a_bad_filter_is_named(agent, address, query, field):
    assert fields(get(agent, address, **query)) == [field]


@pytest.mark.parametrize("cursor", ["x", "t1~x", "\x00"])
def test_a_bad_cursor_is_named(agent, cursor):
    assert fields(get(agent, CALLS, cursor=cursor)) == ["cursor"]


@pytest.mark.parametrize("query", [{}, {"tool": NOTES}, {"path": "Projects/"}, {"affected_id": None}])
def test_anothers_calls_are_nobodys(worked, stranger, query):
    wanted = str(uuid4())
    report(worked, call(affected_ids=[wanted]))
    query = {"affected_id": wanted} if "affected_id" in query else query
    assert listed(stranger, **query) == []
    assert get(stranger, PATHS, **query).json["paths"] == []


@pytest.mark.parametrize("query", [{}, {"tool": NOTES}, {"affected_id": None}])
def test_a_confined_token_sees_its_own_calls_alone(worked, client, ada, query):
    confined = Agent(client, ada.new_token("read", "write", space=add_space(ada, "work")))
    wanted = str(uuid4())
    for each in (worked, confined):
        report(each, call(affected_paths=["Work/plan.md"], affected_ids=[wanted]))
    query = {"affected_id": wanted} if "affected_id" in query else query
    assert [each["affected_paths"] for each in listed(confined, **query)] == [["Work/plan.md"]]
    assert [path["calls"] for path in get(confined, PATHS, **query).json["paths"]] == [1]


@pytest.fixture
def bees(agent, ada):
    ids = [agent.store("Ada keeps bees on the roof"), agent.store("The bees of Ada swarm in May")]
    embed(ada)
    return ids


def uses(agent, memory_id, **query):
    answer = agent.get(f"{ENTRIES}/{memory_id}/uses", **query)
    assert answer.status_code == 200, answer.text
    return answer.json["uses"]


def test_a_memory_tells_who_received_it_where_and_at_which_rank(agent, client, ada, bees, talk):
    other = Agent(client, ada.new_token("read"))
    ranks = [hit["id"] for hit in agent.tool("memory_search", query="bees roof").json["results"]]
    other.ask("POST", "/v1/tools/query_memory", json={"query": "swarm"}, headers={CONVERSATION: talk[0]})
    other.tool("memory_get", item_id=bees[0])
    found = uses(agent, bees[0])
    assert [use["tool"] for use in found if use["tool"] != "query_memory"] == ["memory_get", "memory_search"]
    search, read = found[-1], found[0]
    assert (search["rank"], search["query_hash"]) == (ranks.index(bees[0]) + 1, query_hash("bees roof"))
    assert (search["token"]["name"], read["token"]["name"]) == ("test", "another")
    assert (read["rank"], read["query_hash"], read["conversation_id"]) == (1, None, None)
    asked = uses(agent, bees[1])[0]
    assert (asked["tool"], asked["conversation_id"], asked["rank"]) == ("query_memory", talk[0], 1)


def test_what_did_not_hand_the_memory_out_is_no_use(agent, ada, bees):
    agent.tool("memory_update", item_id=bees[0], importance=0.4)
    agent.tool("memory_add", type="note", content="Ada keeps bees on the roof")
    agent.tool("memory_get", item_id=bees[1])
    agent.tool("memory_search", query="x", limit=99)
    report(agent, call(operation="search", affected_ids=[bees[0]]))
    assert uses(agent, bees[0]) == []


def test_of_a_use_in_a_space_that_is_incognito_by_default_no_hash_of_the_question_is_told(agent, ada):
    den, home = add_space(ada, "den"), add_space(ada, "home")
    memory_id = agent.store("Ada keeps bees on the roof", space=home, tags=["bees"])
    agent.post(f"/v1/spaces/{home}/shares", {"tag": "bees", "found_in": den})
    embed(ada)
    assert agent.found("bees roof", space=den) == ["Ada keeps bees on the roof"]
    assert [use["query_hash"] for use in uses(agent, memory_id)] == [query_hash("bees roof")]
    agent.post("/v1/memory/settings", {"space": den, "incognito_default": True})
    assert [(use["rank"], use["query_hash"]) for use in uses(agent, memory_id)] == [(1, None)]


def test_uses_come_page_by_page(agent, bees):
    for _ in range(3):
        agent.tool("memory_get", item_id=bees[0])
    first = agent.get(f"{ENTRIES}/{bees[0]}/uses", limit=2).json
    second = agent.get(f"{ENTRIES}/{bees[0]}/uses", limit=2, cursor=first["next_cursor"]).json
    ids = [use["id"] for use in first["uses"] + second["uses"]]
    assert (len(set(ids)), second["next_cursor"]) == (3, None)


def test_uses_of_anothers_memory_answer_as_none(stranger, bees):
    answers = [stranger.get(f"{ENTRIES}/{each}/uses") for each in (bees[0], str(uuid4()))]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json["detail"] == answers[1].json["detail"]


def test_a_confined_token_learns_of_its_own_uses(agent, client, ada):
    confined = Agent(client, ada.new_token("read", "write", space=add_space(ada, "work")))
    memory_id = confined.store("The plan is on the wall")
    agent.tool("memory_get", item_id=memory_id)
    assert uses(confined, memory_id) == []
    confined.tool("memory_get", item_id=memory_id)
    assert (len(uses(confined, memory_id)), len(uses(agent, memory_id))) == (1, 2)


def test_uses_of_another_space_are_none_to_a_confined_token(client, ada, bees):
    confined = Agent(client, ada.new_token("read", space=add_space(ada, "work")))
    assert confined.get(f"{ENTRIES}/{bees[0]}/uses").status_code == 404


def test_incognito_learns_of_no_uses(agent, bees):
    hidden = agent.in_session("private")
    hidden.post("/v1/memory/incognito/start")
    assert hidden.get(f"{ENTRIES}/{bees[0]}/uses").json["reason"] == "incognito"
