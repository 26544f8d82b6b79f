"""Messages over HTTP: appended one or many, idempotent, counted, read a page at a time."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from api_agent import NOBODYS_ID, add_space, fields, rows
from api_talk import CONVERSATIONS, Talk

from memory.clock import utc_now
from retrieval.words.tokens import count

AHEAD = "9999-05-01T10:00:00Z"


@pytest.fixture
def talk(agent):
    return Talk(agent)


def user(content, **more):
    return {"role": "user", "content": content, **more}


# --- appended ---------------------------------------------------------------------------------------------------------


def test_a_message_is_kept_with_all_that_was_given(talk):
    given = {
        "role": "assistant",
        "content": "Under  the mat.\n",
        "client_id": "m-1",
        "model": "gpt-x",
        "payload": {"usage": {"tokens": 3}, "odd": "\u0000\ud800", "n": 1.5},
        "created_at": "2024-05-01T10:00:00+02:00",
    }
    response = talk.agent.post(f"{talk.path}/messages", {"message": given}, headers={"X-Request-Id": "request-one"})
    shown = talk.agent.get(f"{talk.path}/messages/{response.json['results'][0]['id']}").json
    assert {name: shown[name] for name in given} == {**given, "created_at": "2024-05-01T08:00:00+00:00"}
    assert (shown["sequence"], shown["partial"], shown["recalled"]) == (1, False, False)
    assert shown["correlation_id"] == "request-one"


def test_the_answer_tells_what_is_there_now(talk):
    answer = talk.post({"messages": [user("Hello"), {"role": "assistant", "content": "Hello yourself"}]}).json
    assert answer["counts"] == {"stored": 2, "duplicate": 0, "completed": 0}
    assert [result["sequence"] for result in answer["results"]] == [1, 2]
    head = answer["conversation"]
    assert (head["message_count"], head["title"], head["episodes"]) == (2, "Hello", 1)
    assert head == talk.head()


def test_tokens_are_counted(talk):
    texts = ["How many tokens is this, do you think?", "Nine or ten.", "日本語のテキスト"]
    for text in texts:
        talk.say(text)
    assert [m["token_count"] for m in talk.messages()] == [count(text) for text in texts]
    assert talk.head()["total_tokens"] == sum(count(text) for text in texts)


def test_a_thousand_come_in_one_request_in_order(talk):
    texts = [f"Number {n}" for n in range(1000)]
    assert talk.post({"messages": [user(text) for text in texts]}).status_code == 201
    shown = talk.messages(limit=1000)
    assert [m["content"] for m in shown] == texts
    assert [m["sequence"] for m in shown] == list(range(1, 1001))


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool_call", "tool_result"])
def test_every_role_is_kept(talk, role):
    talk.say("Something", role=role)
    assert [m["role"] for m in talk.messages()] == [role]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param({}, "body", id="nothing"),
        pytest.param({"message": user("a"), "messages": [user("b")]}, "body", id="two kinds"),
        pytest.param({"messages": []}, "messages", id="none"),
        pytest.param({"messages": [user("x")] * 1001}, "messages", id="too many"),
        pytest.param({"message": {"content": "a"}}, "message.role", id="no role"),
        pytest.param({"message": {"role": "robot", "content": "a"}}, "message.role", id="another role"),
        pytest.param({"message": user(" ")}, "message.content", id="blank"),
        pytest.param({"message": user("a\x00b")}, "message.content", id="NUL"),
        pytest.param({"message": user("x" * (1024 * 1024 + 1))}, "message.content", id="too long"),
        pytest.param({"message": user("a", client_id="")}, "message.client_id", id="empty id"),
        pytest.param({"message": user("a", client_id="x" * 257)}, "message.client_id", id="long id"),
        pytest.param({"message": user("a", client_id="x\x00")}, "message.client_id", id="NUL in the id"),
        pytest.param({"message": user("a", model="x\x00")}, "message.model", id="NUL in the model"),
        pytest.param({"message": user("a", created_at="yesterday")}, "message.created_at", id="no moment"),
        pytest.param({"message": user("a", created_at=AHEAD)}, "message.created_at", id="still to come"),
        pytest.param({"messages": [user("a"), user("b", created_at=AHEAD)]}, "messages.1.created_at", id="one of them"),
        pytest.param({"message": user("a", sequence=7)}, "message.sequence", id="unknown"),
        pytest.param({"message": user("a", partial=True)}, "message.partial", id="partial"),
        pytest.param({"messages": [user("fine"), user("")]}, "messages.1.content", id="the second"),
        pytest.param({"format": "openai"}, "history", id="no history"),
        pytest.param({"history": [user("a")]}, "format", id="no format"),
        pytest.param({"format": "latin", "history": [user("a")]}, "format", id="another format"),
        pytest.param({"format": "openai", "history": [user("a")], "client_ids": []}, "client_ids", id="ids too few"),
        pytest.param({"message": user("a"), "client_ids": ["x"]}, "client_ids", id="ids of no history"),
        pytest.param({"message": user("a", model=" ")}, "message.model", id="blank model"),
    ],
)
def test_a_bad_field_stores_nothing(talk, body, field):
    response = talk.post(body)
    assert (response.status_code, fields(response)) == (422, [field])
    assert (talk.messages(), talk.head()["message_count"]) == ([], 0)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "1e999"])
def test_a_number_that_json_has_not_is_refused_in_a_payload(talk, word):
    body = f'{{"message": {{"role": "user", "content": "a", "payload": {{"n": [{word}]}}}}}}'
    response = talk.agent.post(f"{talk.path}/messages", data=body, content_type="application/json")
    assert (response.status_code, fields(response)) == (422, ["message.payload"])


@pytest.mark.parametrize("depth", [101, 400])
def test_a_payload_nested_too_deeply_is_refused(talk, depth):
    body = f'{{"message": {{"role": "user", "content": "a", "payload": {"[" * depth}{"]" * depth}}}}}'
    response = talk.agent.post(f"{talk.path}/messages", data=body, content_type="application/json")
    assert (response.status_code, fields(response)) == (422, ["message.payload"])


def test_a_payload_alone_is_a_message(talk):
    talk.say("", payload={"image": "…"})
    assert talk.messages(payload="true")[0]["payload"] == {"image": "…"}


def test_a_text_of_a_mebibyte_fits(talk):
    text = "word " * (1024 * 1024 // 5)
    talk.turn(text, text)
    assert talk.said()[0] == text
    assert talk.head()["episodes"] == 1


# --- idempotent -------------------------------------------------------------------------------------------------------


def test_the_same_message_again_is_a_duplicate(talk):
    first = talk.say("Hello", client_id="m-1")
    response = talk.post({"message": user("Hello", client_id="m-1")})
    assert response.status_code == 200
    again = response.json["results"][0]
    assert (again["outcome"], again["id"], again["sequence"]) == ("duplicate", first["id"], 1)
    assert (talk.said(), talk.head()["total_tokens"]) == (["Hello"], count("Hello"))


@pytest.mark.parametrize(
    "other", [user("Goodbye"), {"role": "assistant", "content": "Hello"}, user("Hello", payload={"a": 1})]
)
def test_another_message_of_the_same_id_is_refused_with_all_that_came_with_it(talk, other):
    talk.say("Hello", client_id="m-1")
    response = talk.post({"messages": [user("New"), {**other, "client_id": "m-1"}]})
    assert (response.status_code, response.mimetype) == (409, "application/problem+json")
    said = "'m-1' names a message with other content already"
    assert response.json["errors"] == [{"field": "messages.1.client_id", "message": said}]
    assert talk.said() == ["Hello"]


def test_a_conflict_names_the_field_of_the_request_that_was_made(talk):
    talk.say("Hello", client_id="m-1")
    history = [{"role": "user", "content": "New"}, {"role": "user", "content": "Other"}]
    asked = [
        talk.post({"message": user("Other", client_id="m-1")}),
        talk.post({"format": "openai", "history": history, "client_ids": ["m-2", "m-1"]}),
        # What is here already is no part of what is appended, and counts as it was sent.
        talk.agent.post(
            f"{talk.path}/merge",
            {"messages": [user("Hello"), user("A", client_id="m-3"), user("B", client_id="m-3")]},
        ),
    ]
    fields = [[error["field"] for error in response.json["errors"]] for response in asked]
    assert [response.status_code for response in asked] == [409, 409, 409]
    assert fields == [["message.client_id"], ["history.1.client_id"], ["messages.2.client_id"]]


def test_a_batch_sent_again_adds_what_is_new_without_a_gap(talk):
    batch = [user(f"Number {n}", client_id=f"m-{n}") for n in range(3)]
    talk.post({"messages": batch[:2]})
    results = talk.post({"messages": [batch[0], user("Between"), batch[1], batch[2]]}).json["results"]
    assert [result["outcome"] for result in results] == ["duplicate", "stored", "duplicate", "stored"]
    assert [(m["sequence"], m["content"]) for m in talk.messages()] == [
        (1, "Number 0"),
        (2, "Number 1"),
        (3, "Between"),
        (4, "Number 2"),
    ]


def test_twice_in_one_batch_is_once(talk):
    results = talk.post({"messages": [user("Hello", client_id="m-1")] * 2}).json["results"]
    assert [result["outcome"] for result in results] == ["stored", "duplicate"]
    assert talk.said() == ["Hello"]


def test_without_an_id_the_same_words_are_said_twice(talk):
    talk.say("Yes")
    talk.say("Yes")
    assert talk.said() == ["Yes", "Yes"]


def test_ids_are_of_their_conversation(agent, talk):
    talk.say("Hello", client_id="m-1")
    assert Talk(agent).say("Something else", client_id="m-1")["outcome"] == "stored"


# --- read -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ten(talk):
    talk.post({"messages": [user(str(n)) for n in range(1, 11)]})
    return talk


@pytest.mark.parametrize(("order", "expected"), [("asc", range(1, 11)), ("desc", range(10, 0, -1))])
def test_pages_follow_the_sequence(ten, order, expected):
    seen, cursor = [], None
    for _ in range(4):
        query = {"limit": 3, "order": order, **({"cursor": cursor} if cursor is not None else {})}
        page = ten.agent.get(f"{ten.path}/messages", **query).json
        seen += [m["sequence"] for m in page["messages"]]
        cursor = page["next_cursor"]
    assert (seen, cursor) == (list(expected), None)


def test_a_page_begins_after_a_place(ten):
    assert ten.said(cursor=7) == ["8", "9", "10"]


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 1001}, {"cursor": -1}, {"order": "up"}, {"format": "latin"}, {"x": 1}]
)
def test_a_bad_query_names_its_field(ten, query):
    response = ten.agent.get(f"{ten.path}/messages", **query)
    assert (response.status_code, fields(response)) == (422, list(query))


def test_a_message_is_read_in_its_own_conversation_only(agent, ten):
    other, message = Talk(agent), ten.messages()[0]
    assert agent.get(f"{ten.path}/messages/{message['id']}").json["content"] == "1"
    assert agent.get(f"{other.path}/messages/{message['id']}").status_code == 404
    assert agent.get(f"{ten.path}/messages/{uuid4()}").status_code == 404


@pytest.mark.parametrize(
    ("method", "more"), [("GET", ""), ("POST", ""), ("POST", "/stream"), ("GET", f"/{NOBODYS_ID}")]
)
def test_in_no_conversation_there_are_no_messages(agent, method, more):
    body = {"message": user("Hello")} if method == "POST" and not more else None
    response = agent.ask(method, f"{CONVERSATIONS}/{uuid4()}/messages{more}", json=body)
    assert response.status_code == 404


# --- switches ---------------------------------------------------------------------------------------------------------


def test_an_incognito_session_stores_and_shows_nothing(agent, talk):
    talk.say("Before")
    private = agent.in_session("private")
    private.post("/v1/memory/incognito/start")
    hidden = [
        private.post(CONVERSATIONS, {}),
        private.post(f"{talk.path}/messages", {"messages": [user("a"), user("b")]}),
        private.post(f"{talk.path}/messages/stream", data=b'{"role": "user"}\n{"delta": "a"}\n{"done": true}\n'),
        private.post(f"{talk.path}/merge", {"messages": [user("a")]}),
        private.patch(talk.path, {"title": "x"}),
        private.get(talk.path),
        private.get(f"{talk.path}/messages"),
        private.get(f"{talk.path}/messages/{talk.messages()[0]['id']}"),
    ]
    assert [(r.status_code, r.json.get("reason")) for r in hidden] == [(409, "incognito")] * 8
    assert private.get(CONVERSATIONS).json == {"conversations": [], "next_cursor": None, "skipped": "incognito"}
    assert talk.said() == ["Before"]
    assert private.post("/v1/memory/incognito/end").json["refused_writes"] == 6


def test_with_memory_off_messages_are_kept_and_none_is_remembered(agent, ada):
    talk = Talk(agent, space=add_space(ada, "quiet", memory_enabled=False))
    result = talk.say("I am allergic to walnuts", remember=True)
    assert (result["outcome"], result["memory"]["outcome"], result["memory"]["reason"]) == (
        "stored",
        "refused",
        "memory_off",
    )
    assert (talk.said(), rows(ada, "SELECT 1 FROM memories")) == (["I am allergic to walnuts"], [])


def test_a_space_that_is_incognito_by_default_keeps_no_messages(agent, ada):
    dark = add_space(ada, "dark", incognito_default=True)
    assert agent.post(CONVERSATIONS, {"space": dark}).status_code == 409
    talk = Talk(agent)
    assert talk.change(space=dark).status_code == 409
    assert talk.head()["space"] == "default"


def test_what_incognito_closes_takes_no_room_in_the_list(agent, ada):
    open_one = Talk(agent)
    dark = add_space(ada, "dark")
    for _ in range(2):
        Talk(agent, space=dark)
    agent.ask("PATCH", f"/v1/spaces/{dark}", json={"incognito_default": True})
    listed = agent.get(CONVERSATIONS, limit=1).json
    assert [each["id"] for each in listed["conversations"]] == [open_one.id]
    assert listed["next_cursor"] is None


@pytest.mark.parametrize("remember", [False, True])
def test_no_message_is_from_the_days_to_come(talk, remember):
    ahead = [(utc_now() + timedelta(days=days)).isoformat() for days in (0.5, 2)]
    bodies = [{"role": "user", "content": "Soon", "created_at": at, "remember": remember} for at in ahead]
    refused = talk.post({"messages": bodies})
    assert (refused.status_code, fields(refused), talk.said()) == (422, ["messages.1.created_at"], [])
    assert talk.post({"message": bodies[0]}).status_code == 201
