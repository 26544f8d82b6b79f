"""Histories that fit and states of conversations, over HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from api_agent import Agent, add_space, embed, fields, rows
from api_talk import CONVERSATIONS, Talk
from chat_endpoint import chat_endpoint

from memory.clock import utc_now
from memory.remote.llm import ChatModel
from retrieval.words.tokens import count

STRATEGIES = ["truncate", "window", "summarise", "hybrid"]
TOPICS = ["bees", "the garden wall", "a trip to Lisbon", "the tax return", "learning the cello"]


@pytest.fixture
def talk(agent):
    """Thirty turns about five things, of about 30 tokens a message."""
    talk = Talk(agent)
    said = []
    for number in range(30):
        topic = TOPICS[number // 6]
        said.append({"role": "user", "content": f"Turn {number}: what did Maria decide about {topic} on day {number}?"})
        reply = f"She decided on {topic} number {number}. It costs {100 + number} euros, and Tom agreed at once."
        said.append({"role": "assistant", "content": reply})
    append(talk, *said)
    return talk


def append(talk, *messages):
    assert talk.post({"messages": list(messages)}).status_code == 201


def ask(talk, **query):
    response = talk.agent.get(f"{talk.path}/context", **query)
    assert response.status_code == 200, response.json
    return response.json


def contents(answer):
    return [message["content"] for message in answer["messages"]]


# --- what fits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", [1, 40, 200, 700, 100_000])
def test_a_history_is_never_over_its_budget_and_says_exactly_what_it_counts(talk, strategy, budget):
    answer = ask(talk, strategy=strategy, token_budget=budget)
    texts = contents(answer) + ([answer["summary"]["text"]] if answer["summary"] else [])
    assert answer["token_count"] == sum(map(count, texts)) <= budget


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_messages_are_the_newest_in_order_and_the_rest_is_counted(talk, strategy):
    answer = ask(talk, strategy=strategy, token_budget=400)
    shown = [message["sequence"] for message in answer["messages"]]
    assert shown == list(range(60 - len(shown) + 1, 61))
    assert answer["left_out"] == 60 - len(shown)


def test_truncate_keeps_the_last_messages(talk):
    assert len(ask(talk, strategy="truncate", max_messages=7)["messages"]) == 7
    assert len(ask(talk, strategy="truncate")["messages"]) == 50


def test_window_keeps_as_many_whole_messages_as_fit(talk):
    answer = ask(talk, strategy="window", token_budget=300)
    older = talk.messages(limit=200)[60 - len(answer["messages"]) - 1]
    assert answer["summary"] is None
    assert answer["token_count"] <= 300 < answer["token_count"] + older["token_count"]


def test_summarise_keeps_the_newest_exchange_and_sums_up_the_rest(talk):
    answer = ask(talk, strategy="summarise", token_budget=400)
    assert [message["role"] for message in answer["messages"]] == ["user", "assistant"]
    assert answer["summary"]["covers"] == {"from_sequence": 1, "to_sequence": 58, "messages": 58}


def test_hybrid_puts_a_summary_before_the_newest_messages(talk):
    answer = ask(talk, strategy="hybrid", token_budget=500)
    summary = answer["summary"]
    assert summary["covers"]["to_sequence"] == answer["messages"][0]["sequence"] - 1 == answer["left_out"]
    assert (summary["method"], summary["reason"], summary["messages_read"]) == ("extractive", None, answer["left_out"])
    assert summary["token_count"] == count(summary["text"])


def test_an_extract_holds_sentences_as_they_were_said(talk):
    said = "\n".join(message["content"] for message in talk.messages(limit=200))
    lines = ask(talk, strategy="hybrid", token_budget=500)["summary"]["text"].splitlines()
    assert len(lines) > 3
    assert all(line.partition(": ")[2] in said for line in lines)


def test_what_fits_whole_needs_no_summary(talk):
    answer = ask(talk, strategy="hybrid", token_budget=100_000)
    assert (answer["summary"], answer["left_out"], len(answer["messages"])) == (None, 0, 60)


def test_an_empty_conversation_has_an_empty_history(agent):
    for strategy in STRATEGIES:
        answer = ask(Talk(agent), strategy=strategy)
        assert answer == {"strategy": strategy, "messages": [], "summary": None, "token_count": 0, "left_out": 0}


def test_a_message_longer_than_the_budget_is_left_out_whole(agent):
    talk = Talk(agent)
    append(talk, {"role": "user", "content": "word " * 500})
    answer = ask(talk, strategy="window", token_budget=100)
    assert (answer["messages"], answer["left_out"]) == ([], 1)


# --- tools ------------------------------------------------------------------------------------------------------------


def test_a_call_stays_with_its_result(agent):
    talk = Talk(agent)
    append(
        talk,
        {"role": "user", "content": "How warm is it?"},
        {"role": "tool_call", "content": "[tool call] weather {}"},
        {"role": "tool_result", "content": "[tool result] 21 degrees"},
        {"role": "assistant", "content": "It is 21 degrees."},
    )
    for most in (1, 2, 3, 4):
        roles = [message["role"] for message in ask(talk, strategy="truncate", max_messages=most)["messages"]]
        assert roles == ["user", "tool_call", "tool_result", "assistant"][{1: 3, 2: 3, 3: 1, 4: 0}[most] :]


def test_calls_and_results_of_another_library_stay_together_by_their_ids(agent):
    talk = Talk(agent)
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "How warm is it?"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "21"},
        {"role": "assistant", "content": "It is 21 degrees."},
    ]
    assert agent.post(f"{talk.path}/messages", {"format": "openai", "history": history}).status_code == 201
    kept = [len(ask(talk, strategy="truncate", max_messages=most)["messages"]) for most in (1, 2, 3, 4)]
    assert kept == [1, 1, 3, 4]


# --- summaries that grow ----------------------------------------------------------------------------------------------


def kept_summary(talk, person):
    found = rows(person, "SELECT state -> 'summary' FROM session_states WHERE conversation_id = :id", id=talk.id)
    return found[0][0] if found else None


def test_the_next_summary_only_extends_the_last_one(talk, ada):
    first = ask(talk, strategy="hybrid", token_budget=500)
    before = kept_summary(talk, ada)["extracts"][-1]
    assert before["upto"] == first["left_out"]
    talk.turn("And what of Lisbon in November?", "The flight to Lisbon leaves on 4 November from Basel.")
    second = ask(talk, strategy="hybrid", token_budget=500)
    after = kept_summary(talk, ada)["extracts"][-1]
    assert after["upto"] == second["left_out"] > before["upto"]
    # What was read before was not read again.
    assert after["read"] - before["read"] == after["upto"] - before["upto"]


def test_a_summary_keeps_places_and_no_texts(talk, ada):
    ask(talk, strategy="hybrid", token_budget=500)
    assert "Maria" not in json.dumps(kept_summary(talk, ada))


def test_strategies_and_budgets_do_not_take_each_others_summaries_away(talk, ada):
    ask(talk, strategy="summarise", token_budget=400)
    answer = ask(talk, strategy="hybrid", token_budget=900)
    assert answer["summary"]["covers"]["to_sequence"] == answer["left_out"] < 58
    assert [each["upto"] for each in kept_summary(talk, ada)["extracts"]] == [58, answer["left_out"]]


def test_vectors_that_are_there_have_a_say(talk, ada):
    embed(ada)
    assert ask(talk, strategy="hybrid", token_budget=500)["summary"]["basis"] == "vectors"


def test_without_vectors_words_decide(talk):
    assert ask(talk, strategy="hybrid", token_budget=500)["summary"]["basis"] == "words"


def test_what_was_recalled_and_what_tools_said_is_in_no_extract(agent, ada):
    talk = Talk(agent)
    append(
        talk,
        {"role": "tool_call", "content": "[tool call] secretive tool number one was called with 17 things"},
        {"role": "tool_result", "content": "[tool result] secretive result number two of 18 things"},
        {"role": "user", "content": "The plain sentence about gardens in Basel is said by me."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "The newest word of all."},
    )
    answer = ask(talk, strategy="summarise", token_budget=300)
    assert "gardens in Basel" in answer["summary"]["text"]
    assert "secretive" not in answer["summary"]["text"]


def test_a_long_conversation_is_read_in_part_and_says_so(agent):
    talk = Talk(agent)
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"Sentence number {n} is about topic {n % 13} and no other."}
        for n in range(600)
    ]
    append(talk, *said)
    summary = ask(talk, strategy="summarise", token_budget=500)["summary"]
    assert summary["covers"]["messages"] == 598
    assert summary["messages_read"] == 96


# --- by a language model ----------------------------------------------------------------------------------------------


@pytest.fixture
def with_model(app, runtime):
    with chat_endpoint() as endpoint:
        app.extensions["commonplace"] = replace(runtime, chat_model=ChatModel(endpoint.url, "tiny", "s3cret", 10.0))
        yield endpoint
        app.extensions["commonplace"] = runtime


def test_a_model_writes_the_summary_where_there_is_one(talk, with_model):
    answer = ask(talk, strategy="hybrid", token_budget=500)
    assert (answer["summary"]["text"], answer["summary"]["method"]) == ("Notes of the model.", "model")
    assert answer["token_count"] == sum(map(count, contents(answer))) + count("Notes of the model.")
    (request,) = with_model.requests
    assert "Turn 0" in request["messages"][1]["content"]


def test_the_model_is_not_asked_twice_for_the_same(talk, with_model):
    first = ask(talk, strategy="hybrid", token_budget=500)
    assert ask(talk, strategy="hybrid", token_budget=500) == first
    assert len(with_model.requests) == 1


def test_the_model_extends_its_own_notes_and_only_now_and_then(talk, with_model):
    ask(talk, strategy="hybrid", token_budget=500)
    for number in range(12):
        talk.turn(f"More about Basel, part {number}?", f"Part {number} of Basel is by the river, as Tom said before.")
        answer = ask(talk, strategy="hybrid", token_budget=500)
        assert answer["token_count"] <= 500
        assert answer["summary"]["covers"]["to_sequence"] == answer["messages"][0]["sequence"] - 1
    assert 2 <= len(with_model.requests) <= 5
    asked = with_model.requests[-1]["messages"][1]["content"]
    assert asked.startswith("Notes so far:\nNotes of the model.")
    assert "Turn 0:" not in asked


def test_a_model_that_fails_leaves_the_extract_and_the_reason(talk, with_model, caplog):
    with_model.status = 503
    summary = ask(talk, strategy="hybrid", token_budget=500)["summary"]
    assert (summary["method"], summary["reason"]) == ("extractive", "the model endpoint answered HTTP 503")
    assert "a summary is an extract" in caplog.text
    assert "Maria" not in caplog.text


def test_a_model_that_takes_its_time_holds_few_of_those_who_answer_everybody(talk, with_model):
    summaries = []

    def ask_another():
        if len(with_model.requests) <= 10:
            budget = 400 + 100 * len(with_model.requests)
            summaries.append(ask(talk, strategy="summarise", token_budget=budget)["summary"])

    with_model.meanwhile = ask_another
    summaries.append(ask(talk, strategy="summarise", token_budget=400)["summary"])
    assert len(with_model.requests) == 4
    assert [each["method"] for each in summaries] == ["extractive", *["model"] * 4]
    assert summaries[0]["reason"] == "as many wait for the language model as may at once"


def test_a_model_that_says_too_much_is_cut_to_the_budget(talk, with_model):
    with_model.said = "A long sentence of many words that goes on. " * 300
    answer = ask(talk, strategy="hybrid", token_budget=300)
    assert answer["summary"]["method"] == "model"
    assert answer["summary"]["text"].endswith(".")
    assert answer["token_count"] <= 300


def test_a_conversation_deleted_while_the_model_thinks_leaves_nothing(talk, with_model, ada):
    with_model.meanwhile = lambda: talk.agent.delete(talk.path)
    ask(talk, strategy="hybrid", token_budget=500)
    assert kept_summary(talk, ada) is None
    assert talk.agent.get(f"{talk.path}/context").status_code == 404


# --- state ------------------------------------------------------------------------------------------------------------


def state_of(talk, **query):
    return talk.agent.get(f"{talk.path}/state", **query).json


def put_goal(talk, goal):
    return talk.agent.ask("PUT", f"{talk.path}/state", json={"goal": goal})


def test_a_state_has_the_last_messages_and_no_goal_at_first(talk):
    state = state_of(talk)
    assert state["goal"] is None
    assert [message["sequence"] for message in state["messages"]] == list(range(41, 61))


def test_a_state_goes_no_further_back_than_enough_words(talk):
    assert state_of(talk)["left_out"] == 40
    for number in range(3):
        talk.say(f"Report {number}: " + "the bees are well and so is the honey. " * 900)
    state = state_of(talk)
    assert [message["sequence"] for message in state["messages"]] == [62, 63]
    assert state["left_out"] == 61
    assert state_of(talk, max_messages=1)["left_out"] == 62


def test_the_newest_message_of_a_state_is_there_however_long_it_is(talk):
    talk.say("the bees are well and so is the honey. " * 4000)
    assert [message["sequence"] for message in state_of(talk)["messages"]] == [61]


def test_messages_of_a_state_are_those_of_now(talk):
    state_of(talk)
    talk.turn("The very last question?", "The very last reply.")
    assert [message["content"] for message in state_of(talk, max_messages=2)["messages"]] == [
        "The very last question?",
        "The very last reply.",
    ]


def test_a_goal_is_kept_changed_and_cleared(talk):
    assert put_goal(talk, "  Plan the trip ").json["goal"] == "Plan the trip"
    put_goal(talk, "Book the trip")
    assert state_of(talk)["goal"] == "Book the trip"
    assert put_goal(talk, None).json["goal"] is None
    assert state_of(talk)["goal"] is None


def test_a_goal_ends_after_a_day(talk, ada, runtime):
    put_goal(talk, "Plan the trip")
    expiry = rows(ada, "SELECT expires_at FROM session_states")[0][0]
    assert timedelta(hours=23, minutes=59) < expiry - utc_now() <= timedelta(hours=24)
    rows(ada, "UPDATE session_states SET expires_at = now() RETURNING 1")
    assert state_of(talk)["goal"] is None


def test_the_context_of_a_conversation_leaves_its_goal_alone(talk):
    put_goal(talk, "Plan the trip")
    ask(talk, strategy="hybrid", token_budget=300)
    assert state_of(talk)["goal"] == "Plan the trip"


def test_deleting_a_conversation_leaves_no_state(talk, ada):
    put_goal(talk, "Plan the trip")
    talk.agent.delete(talk.path)
    assert rows(ada, "SELECT 1 FROM session_states") == []


# --- who may, and what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"token_budget": 0}, "token_budget"),
        ({"token_budget": "many"}, "token_budget"),
        ({"strategy": "guess"}, "strategy"),
        ({"max_messages": 0}, "max_messages"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_query_is_refused_by_its_field(talk, query, field):
    response = talk.agent.get(f"{talk.path}/context", **query)
    assert (response.status_code, fields(response)) == (422, [field])


@pytest.mark.parametrize("body", [{}, {"goal": ""}, {"goal": "x" * 2001}, {"goal": "a\x00b"}, {"goal": 7}])
def test_a_bad_goal_is_refused_and_changes_nothing(talk, body):
    put_goal(talk, "Plan the trip")
    response = talk.agent.ask("PUT", f"{talk.path}/state", json=body)
    assert (response.status_code, fields(response)) == (422, ["goal"])
    assert state_of(talk)["goal"] == "Plan the trip"


@pytest.mark.parametrize("what", ["context", "state"])
def test_anothers_conversation_is_not_there(talk, client, bob, what):
    stranger = Agent(client, bob.headers)
    answers = [stranger.get(f"{CONVERSATIONS}/{each}/{what}") for each in (talk.id, uuid4())]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json["detail"] == answers[1].json["detail"]


@pytest.mark.parametrize("what", ["context", "state"])
def test_a_token_of_another_space_does_not_see_it(talk, client, ada, what):
    other = add_space(ada, "other")
    confined = Agent(client, ada.new_token("read", "write", space=other))
    assert confined.get(f"{talk.path}/{what}").status_code == 404
    assert confined.ask("PUT", f"{talk.path}/state", json={"goal": "Look in"}).status_code == 404


@pytest.mark.parametrize("what", ["context", "state"])
def test_reading_needs_the_scope(talk, client, ada, what):
    writer = Agent(client, ada.new_token("write"))
    assert writer.get(f"{talk.path}/{what}").status_code == 403


def test_setting_a_goal_needs_the_scope(talk, client, ada):
    reader = Agent(client, ada.new_token("read"))
    assert reader.ask("PUT", f"{talk.path}/state", json={"goal": "Plan"}).status_code == 403


def test_an_incognito_session_reads_and_leaves_nothing(talk, ada):
    hidden = talk.agent.in_session("hidden")
    hidden.post("/v1/memory/incognito/start", {})
    answers = [
        hidden.get(f"{talk.path}/context"),
        hidden.get(f"{talk.path}/state"),
        hidden.ask("PUT", f"{talk.path}/state", json={"goal": "Plan"}),
    ]
    assert [(answer.status_code, answer.json["reason"]) for answer in answers] == [(409, "incognito")] * 3
    assert rows(ada, "SELECT 1 FROM session_states") == []
    assert hidden.post("/v1/memory/incognito/end", {}).json["refused_writes"] == 1
