"""The record of tool calls: what is kept of a call, what agents report, what can be asked."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from api_agent import ENTRIES, Agent, add_space, embed, fields, rows

from memory.embedding.backfill import utc_now
from memory.ids import new_id
from memory.models import Conversation, Message, Space
from retrieval.search import query_hash
from webapp.tools import TOOLS

# Fixed, so that every process that runs these tests collects the same ones.
NOBODYS_ID = "018f2b6e-7d5c-7c1a-9f4e-3a1b5c7d9e0f"

CALLS = "/v1/tool-calls"
PATHS = "/v1/tool-calls/paths"
CONVERSATION = "X-Commonplace-Conversation"
MESSAGE = "X-Commonplace-Message"
NOTES = "obsidian_manage_notes"


@pytest.fixture
def stranger(client, bob):
    return Agent(client, bob.headers)


def converse(person, space="default", messages=1):
    """Add a conversation with messages; return its id and theirs."""
    now = utc_now()
    with person.session() as session:
        space_id = session.query(Space).filter_by(slug=space).one().id
        conversation = Conversation(user_id=person.id, id=new_id(), space_id=space_id, external_id=str(new_id()))
        conversation.created_at = conversation.updated_at = now
        conversation.message_count = messages
        session.add(conversation)
        session.flush()
        ids = [new_id() for _ in range(messages)]
        for number, message_id in enumerate(ids, 1):
            message = Message(user_id=person.id, id=message_id, conversation_id=conversation.id, sequence=number)
            message.role, message.content, message.token_count = "user", f"Turn {number}", 2
            message.correlation_id, message.created_at = "", now
            session.add(message)
        return str(conversation.id), [str(each) for each in ids]


@pytest.fixture
def talk(ada):
    return converse(ada, messages=2)


def call(**fields):
    """Return a call that an agent of a notes application would report."""
    return {
        "tool": NOTES,
        "operation": "update",
        "affected_paths": ["Projects/alpha.md"],
        "duration_ms": 12.5,
        **fields,
    }


def report(agent, *calls):
    return agent.post(CALLS, {"calls": list(calls)})


def get(agent, address, **query):
    """Ask with a query that may name a path."""
    return agent.ask("GET", address, query_string=query)


def listed(agent, **query):
    answer = get(agent, CALLS, **query)
    assert answer.status_code == 200, answer.text
    return answer.json["calls"]


# --- calls of this server's tools -------------------------------------------------------------------------------------


@pytest.mark.parametrize("character", ["\x00", "\ud800", "\U0001d518"])
def test_a_call_with_a_character_that_no_column_holds_is_recorded(agent, character):
    refused = agent.tool("memory_get", item_id=character)
    assert (refused.status_code, fields(refused)) == (422, ["item_id"])
    (call,) = listed(agent)
    assert (call["tool"], call["success"]) == ("memory_get", False)
    assert call["error"].startswith("invalid arguments: item_id: ")


def test_a_call_that_the_token_may_not_make_is_kept_without_its_arguments(agent, client, ada):
    weak = Agent(client, ada.new_token("read"))
    assert weak.tool("memory_delete", item_id=str(uuid4())).status_code == 403
    (kept,) = listed(agent)
    assert (kept["tool"], kept["operation"], kept["success"], kept["arguments"]) == (
        "memory_delete",
        "delete",
        False,
        {},
    )
    assert kept["error"] == "the token lacks the scope forget"


@pytest.mark.parametrize(
    ("name", "operation"),
    {
        "memory_search": "search",
        "query_memory": "search",
        "memory_add": "create",
        "memory_get": "read",
        "memory_update": "update",
        "memory_delete": "delete",
        "memory_list_themes": "read",
    }.items(),
)
def test_a_tool_says_what_it_does(name, operation):
    assert TOOLS[name].operation == operation


def test_a_call_is_kept_with_all_that_is_known_of_it(agent, ada, talk):
    memory_id = agent.store("Ada keeps bees on the roof")
    embed(ada)
    response = agent.ask(
        "POST",
        "/v1/tools/memory_search",
        json={"query": "bees"},
        headers={CONVERSATION: talk[0], MESSAGE: talk[1][1]},
    )
    kept = listed(agent)[0]
    assert response.status_code == 200
    assert kept.pop("duration_ms") > 0
    assert kept.pop("id")
    assert datetime.fromisoformat(kept.pop("created_at")) < utc_now()
    assert kept["token"].pop("id")
    assert kept["token"].pop("prefix").startswith("cp_")
    assert kept["result"].pop("ids") == [memory_id]
    assert [len(scores) for scores in kept["result"].pop("scores")] == [4]
    assert kept == {
        "tool": "memory_search",
        "operation": "search",
        "token": {"name": "test"},
        "conversation_id": talk[0],
        "message_id": talk[1][1],
        "correlation_id": response.headers["X-Request-Id"],
        "origin": "server",
        "arguments": {"query": "bees"},
        "result": {"truncated": False, "degraded": []},
        "success": True,
        "error": None,
        "hits": 1,
        "affected_ids": [memory_id],
        "affected_paths": [],
        "query_hash": query_hash("bees"),
    }


def test_a_message_alone_names_its_conversation(agent, talk):
    agent.ask("POST", "/v1/tools/memory_list_themes", headers={MESSAGE: talk[1][0]})
    assert (listed(agent)[0]["conversation_id"], listed(agent)[0]["message_id"]) == (talk[0], talk[1][0])


@pytest.mark.parametrize("header", [CONVERSATION, MESSAGE])
@pytest.mark.parametrize("guess", ["unknown", "anothers", "x", ""])
def test_a_header_that_names_nothing_of_the_callers_stops_the_call(agent, bob, header, guess):
    conversation, messages = converse(bob)
    anothers = conversation if header == CONVERSATION else messages[0]
    value = {"unknown": str(uuid4()), "anothers": anothers}.get(guess, guess)
    answer = agent.ask("POST", "/v1/tools/memory_add", json={"type": "note", "content": "a"}, headers={header: value})
    assert (answer.status_code, fields(answer)) == (422, [header])
    assert (agent.texts(), listed(agent)) == ([], [])


def test_a_message_of_another_conversation_stops_the_call(agent, ada, talk):
    _, messages = converse(ada)
    answer = agent.ask("POST", "/v1/tools/memory_list_themes", headers={CONVERSATION: talk[0], MESSAGE: messages[0]})
    assert fields(answer) == [MESSAGE]


def test_a_conversation_of_another_space_is_none_to_a_confined_token(client, ada, talk):
    confined = Agent(client, ada.new_token("read", space=add_space(ada, "work")))
    own, _ = converse(ada, "work")
    answers = [
        confined.ask("POST", "/v1/tools/memory_list_themes", headers={CONVERSATION: each})
        for each in (talk[0], str(uuid4()), own)
    ]
    assert [answer.status_code for answer in answers] == [422, 422, 200]
    assert answers[0].json["errors"] == answers[1].json["errors"]


def test_a_failure_keeps_the_question_by_its_hash(agent, talk):
    agent.tool("memory_search", query="a", policy={"alpha": -1})
    kept = listed(agent, success="false")[0]
    said = "PolicyError: alpha: must be a number between 0 and 10"
    assert (kept["error"], kept["query_hash"], kept["hits"]) == (said, query_hash("a"), None)


def test_a_deleted_conversation_leaves_its_calls(agent, ada, talk):
    agent.ask("POST", "/v1/tools/memory_list_themes", headers={CONVERSATION: talk[0], MESSAGE: talk[1][0]})
    with ada.session() as session:
        session.delete(session.get_one(Conversation, (ada.id, talk[0])))
    kept = listed(agent)[0]
    assert (kept["tool"], kept["conversation_id"], kept["message_id"]) == ("memory_list_themes", None, None)


@pytest.mark.parametrize("name", ["memory_search", "query_memory", "memory_add"])
def test_incognito_leaves_neither_the_question_nor_the_place(agent, talk, name):
    hidden = agent.in_session("private")
    hidden.post("/v1/memory/incognito/start")
    arguments = {"type": "note", "content": "secret"} if name == "memory_add" else {"query": "secret"}
    hidden.ask("POST", f"/v1/tools/{name}", json=arguments, headers={CONVERSATION: talk[0]})
    kept = listed(agent)[0]
    assert (kept["arguments"], kept["query_hash"], kept["conversation_id"]) == ({}, None, None)


def test_a_conversation_that_is_incognito_leaves_no_words(agent, ada):
    conversation, _ = converse(ada, add_space(ada, "diary", incognito_default=True))
    agent.ask("POST", "/v1/tools/memory_search", json={"query": "secret"}, headers={CONVERSATION: conversation})
    kept = listed(agent)[0]
    assert (kept["arguments"], kept["query_hash"], kept["conversation_id"]) == ({}, None, None)


def test_recalled_context_is_kept_as_a_call(agent, ada, talk):
    memory_id = agent.store("Ada keeps bees on the roof")
    embed(ada)
    agent.ask("POST", "/v1/memory/context", json={"query": "bees"}, headers={CONVERSATION: talk[0]})
    kept = listed(agent)[0]
    assert (kept["tool"], kept["operation"], kept["affected_ids"]) == ("memory_context", "search", [memory_id])
    assert (kept["conversation_id"], kept["query_hash"]) == (talk[0], query_hash("bees"))


def test_a_context_records_and_counts_what_is_in_it_alone(agent):
    for number in range(6):
        agent.store(f"Hive {number} of the bees stands on the roof beside the chimney")
    whole = agent.post("/v1/memory/context", {"query": "bees"}).json
    assert (whole["count"], whole["truncated"]) == (6, False)
    told = agent.post("/v1/memory/context", {"query": "bees", "token_budget": whole["token_count"] // 2}).json
    shown = re.findall(r'<memory [^>]*id="([^"]+)"', told["context"])
    assert 0 < len(shown) < 6
    assert (told["count"], told["truncated"]) == (len(shown), True)
    kept = listed(agent)[0]
    assert (sorted(kept["affected_ids"]), kept["hits"]) == (sorted(shown), len(shown))
    nothing = agent.post("/v1/memory/context", {"query": "bees", "token_budget": 30}).json
    assert (nothing["context"], nothing["count"], nothing["truncated"]) == ("", 0, True)
    assert listed(agent)[0]["affected_ids"] == []


# --- what agents report -----------------------------------------------------------------------------------------------


def test_an_agents_own_call_is_kept_as_it_was_given(agent, talk):
    given = call(
        operation="create",
        arguments={"path": "a", "deep": [[[[{"x": None, "ä": "“”\n"}]]]]},
        result={"ok": True, "n": 1.5},
        affected_ids=[str(uuid4())],
        affected_paths=["Projects/alpha.md", "Daily/2026-01-15.md"],
        conversation_id=talk[0],
        message_id=talk[1][0],
        created_at="2026-01-15T10:00:00+01:00",
        error=None,
    )
    answer = report(agent, given)
    kept = listed(agent)[0]
    assert (answer.status_code, answer.json["stored"], answer.json["calls"][0]["status"]) == (201, 1, "stored")
    assert kept["id"] == answer.json["calls"][0]["id"]
    assert (kept.pop("origin"), kept.pop("created_at")) == ("external", "2026-01-15T09:00:00+00:00")
    assert {name: kept[name] for name in given if name != "created_at"} == {
        name: value for name, value in given.items() if name != "created_at"
    }


@pytest.mark.parametrize("result", [None, "text", 5, [1, "two"], {"a": {}}])
def test_a_result_may_be_any_json(agent, result):
    report(agent, call(result=result))
    assert listed(agent)[0]["result"] == result


def test_how_long_a_call_took_is_unknown_where_nobody_says_so(agent):
    report(agent, call(duration_ms=None), {"tool": NOTES}, call(duration_ms=0))
    assert [each["duration_ms"] for each in listed(agent)][::-1] == [None, None, 0]


def test_a_failed_call_says_why(agent):
    report(agent, call(success=False, error="the file is locked"))
    kept = listed(agent, success="false")
    assert [each["error"] for each in kept] == ["the file is locked"]


def test_no_call_is_reported_from_the_days_to_come(agent):
    ahead = [(utc_now() + timedelta(days=days)).isoformat() for days in (0.5, 2)]
    refused = report(agent, call(), call(created_at=ahead[1]))
    assert (refused.status_code, fields(refused), listed(agent)) == (422, ["calls.1.created_at"], [])
    assert report(agent, call(created_at=ahead[0])).status_code == 201


def test_a_hundred_calls_are_one_request(agent, ada):
    assert report(agent, *[call(duration_ms=n) for n in range(100)]).json["stored"] == 100
    assert rows(ada, "SELECT count(*) FROM tool_calls")[0][0] == 100


@pytest.mark.parametrize("calls", [[], [call()] * 101, "x", None])
def test_no_calls_or_too_many_are_refused(agent, calls):
    assert fields(agent.post(CALLS, {"calls": calls})) == ["calls"]


def test_a_call_that_is_reported_again_is_kept_once(agent):
    said = call(client_id="call_abc", arguments={"n": 1e23, "zero": -0.0, "whole": 2.0}, result=[1, None])
    first = report(agent, said, said)
    again = report(agent, said, call(client_id="call_def"))
    assert [each["status"] for each in first.json["calls"] + again.json["calls"]] == [
        "stored",
        "known",
        "known",
        "stored",
    ]
    assert first.json["calls"][0]["id"] == again.json["calls"][0]["id"]
    assert (again.status_code, report(agent, call(client_id="call_def")).status_code) == (201, 200)
    assert len(listed(agent)) == 2


def test_a_call_that_took_no_time_is_known_again_whether_that_was_said_or_not(agent):
    # What was kept as 0 before, the schema keeps as not said.
    report(agent, call(client_id="unsaid", duration_ms=None), call(client_id="said", duration_ms=0))
    again = report(agent, call(client_id="unsaid", duration_ms=0), call(client_id="said", duration_ms=None))
    assert (again.status_code, again.json["stored"]) == (200, 0)


OTHER = {
    "operation": "delete",
    "arguments": {"a": True},
    "result": [1],
    "success": False,
    "affected_paths": [],
    "created_at": "2026-01-15T10:00:00Z",
}


@pytest.mark.parametrize("field", OTHER)
def test_a_call_with_other_content_is_no_repeat(agent, field):
    kept = call(client_id="call_abc", arguments={"a": 1})
    report(agent, kept)
    answer = report(agent, call(), {**kept, field: OTHER[field]})
    assert (answer.status_code, fields(answer)) == (409, ["calls.1.client_id"])
    assert [each["operation"] for each in listed(agent)] == ["update"]


def test_two_calls_of_one_client_id_with_other_content_are_refused_together(agent):
    answer = report(agent, call(client_id="call_abc"), call(client_id="call_abc", operation="delete"))
    assert (answer.status_code, fields(answer), listed(agent)) == (409, ["calls.1.client_id"], [])


def test_a_call_that_was_redacted_is_known_when_it_is_reported_again(agent):
    memory_id = agent.store("Her locker has the number 4711-ABC")
    said = call(client_id="call_abc", arguments={"text": "Her locker has the number 4711-ABC"})
    report(agent, said)
    agent.delete(f"{ENTRIES}/{memory_id}")
    assert report(agent, said).json["calls"][0]["status"] == "known"
    assert report(agent, {**said, "operation": "delete"}).status_code == 409


def test_a_client_id_means_nothing_to_another_token(agent, client, ada, stranger):
    other = Agent(client, ada.new_token("read", "write"))
    answers = [report(each, call(client_id="call_abc")) for each in (agent, other, stranger)]
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    assert len({answer.json["calls"][0]["id"] for answer in answers}) == 3


BAD = {
    "tool": ["", "two words", "x" * 101, None, "tool\n"],
    "operation": ["", "x" * 51, "a b"],
    "arguments": [[], "x", {"a": "\x00"}, {"\x00": 1}, {"a": "\ud800"}, {"a": "x" * 65_536}],
    "result": ["\x00", ["\ud800"], "x" * 65_536],
    "error": ["x" * 2001, "\x00"],
    "duration_ms": [-1, 1e10, "long"],
    "affected_ids": [["x"], [NOBODYS_ID] * 101],
    "affected_paths": [[""], ["x" * 1025], ["a\x00"], ["a"] * 101, "a"],
    "conversation_id": ["x", NOBODYS_ID],
    "message_id": ["x", NOBODYS_ID],
    "client_id": ["", "x" * 201, "\x00"],
    "created_at": ["yesterday", "2026-01-15T10:00:00", "0001-01-01T00:00:00+14:00"],
    "origin": ["server"],
    "user_id": [NOBODYS_ID],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field in BAD for value in BAD[field]])
def test_a_bad_field_is_named_and_nothing_is_kept(agent, field, value):
    answer = report(agent, call(), call(**{field: value}))
    assert answer.status_code == 422
    assert fields(answer)[0].startswith(f"calls.1.{field}")
    assert listed(agent) == []


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
@pytest.mark.parametrize("field", ["arguments", "result"])
def test_numbers_that_are_no_json_are_refused(agent, number, field):
    body = f'{{"calls": [{{"tool": "t", "{field}": {{"n": {number}}}}}]}}'
    assert fields(agent.ask("POST", CALLS, data=body, content_type="application/json")) == [f"calls.0.{field}"]


def test_json_that_is_nested_too_deeply_is_refused(agent):
    deep = {"a": 1}
    for _ in range(40):
        deep = {"a": deep}
    assert fields(report(agent, call(arguments=deep))) == ["calls.0.arguments"]


@pytest.mark.parametrize("field", ["conversation_id", "message_id"])
def test_a_call_cannot_be_hung_on_anothers_conversation(agent, bob, field):
    conversation, messages = converse(bob)
    value = conversation if field == "conversation_id" else messages[0]
    guesses = [report(agent, call(**{field: each})) for each in (value, str(uuid4()))]
    assert guesses[0].json["errors"] == guesses[1].json["errors"]


def test_reporting_needs_the_scope_write(client, ada):
    assert report(Agent(client, ada.new_token("read")), call()).status_code == 403


@pytest.mark.parametrize("path", [CALLS, PATHS])
def test_reading_needs_the_scope_read(client, ada, path):
    assert Agent(client, ada.new_token("write")).get(path).status_code == 403


@pytest.mark.parametrize("default", [False, True])
def test_incognito_keeps_no_report(agent, ada, default):
    conversation, _ = converse(ada, add_space(ada, "diary", incognito_default=True))
    hidden = agent if default else agent.in_session("private")
    if not default:
        hidden.post("/v1/memory/incognito/start")
    answer = report(hidden, call(conversation_id=conversation if default else None))
    assert (answer.status_code, answer.json["reason"]) == (409, "incognito")
    assert listed(agent) == []


@pytest.mark.parametrize(("path", "name"), [(CALLS, "calls"), (PATHS, "paths")])
def test_incognito_is_shown_no_record(agent, path, name):
    report(agent, call())
    hidden = agent.in_session("private")
    hidden.post("/v1/memory/incognito/start")
    assert (hidden.get(path).json[name], hidden.get(path).json["skipped"]) == ([], "incognito")


# --- what can be asked ------------------------------------------------------------------------------------------------

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
        ({"limit": 0}, "limit"),
        ({"unknown": 1}, "unknown"),
    ],
)
@pytest.mark.parametrize("address", [CALLS, PATHS])
def test_a_bad_filter_is_named(agent, address, query, field):
    assert fields(get(agent, address, **query)) == [field]


@pytest.mark.parametrize("cursor", ["x", "WzEsMl0=", "\x00"])
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


# --- where a memory was used ------------------------------------------------------------------------------------------


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


# --- forgetting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("undo", ["true", "false"])
def test_a_forgotten_text_is_in_no_answer_at_once(agent, undo):
    secret = "The flowerpot hides the key"
    memory_id = agent.tool("memory_add", type="fact", content=secret).json["id"]
    agent.tool("memory_search", query=f"where: {secret.upper()}")
    report(
        agent,
        call(arguments={"text": [f"As she said: {secret}."]}),
        call(result=secret),
        call(success=False, error=f"cannot write {secret}"),
        call(affected_paths=[f"Notes/{secret}.md", "Notes/other.md"]),
        call(arguments={"text": "Something else"}),
    )
    agent.delete(f"{ENTRIES}/{memory_id}", undo=undo)
    answer = get(agent, CALLS)
    assert "flowerpot" not in answer.text.lower()
    assert "Something else" in answer.text
    assert len(answer.json["calls"]) == 7
    assert "flowerpot" not in get(agent, PATHS).text
    assert "Notes/other.md" in get(agent, PATHS).text


def test_what_is_restored_is_in_the_record_again(agent):
    memory_id = agent.tool("memory_add", type="fact", content="The flowerpot hides the key").json["id"]
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    agent.post(f"{ENTRIES}/{memory_id}/restore")
    assert "flowerpot" in get(agent, CALLS).text


def test_a_redacted_call_still_says_what_it_was(agent):
    memory_id = agent.tool("memory_add", type="fact", content="The flowerpot hides the key").json["id"]
    agent.delete(f"{ENTRIES}/{memory_id}")
    kept = listed(agent)[0]
    assert (kept["tool"], kept["operation"], kept["affected_ids"]) == ("memory_add", "create", [memory_id])
    assert (kept["arguments"], kept["result"], kept["success"]) == ({"redacted": True}, {"redacted": True}, True)
