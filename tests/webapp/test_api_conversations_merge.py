"""A client's history and ours become one: ours first, nothing twice, and it is told what came from where."""

from __future__ import annotations

from uuid import uuid4

import pytest
from api_agent import Agent, fields, rows
from api_talk import Talk


@pytest.fixture
def talk(client, ada):
    return Talk(Agent(client, ada.headers))


def as_messages(*texts):
    """Messages that the user and the assistant say by turns."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def merge(talk, messages, **more):
    response = talk.agent.post(f"{talk.path}/merge", {"messages": messages, **more})
    assert response.status_code == 200, response.json
    return response.json


def added(answer):
    return [item["position"] for item in answer["client"]["added"]]


def known(answer):
    return [(item["position"], item["by"]) for item in answer["client"]["known"]]


@pytest.fixture
def filled(talk):
    talk.post({"messages": as_messages("One", "Uno", "Two", "Dos")})
    return talk


def test_into_nothing_all_is_new(talk):
    answer = merge(talk, as_messages("One", "Uno"))
    assert (added(answer), known(answer)) == ([0, 1], [])
    assert answer["server"] == {"kept": 0, "only_here": []}
    assert talk.said() == ["One", "Uno"]


def test_what_comes_after_is_appended(filled):
    answer = merge(filled, as_messages("One", "Uno", "Two", "Dos", "Three", "Tres"))
    assert (added(answer), known(answer)) == ([4, 5], [(n, "text") for n in range(4)])
    assert (answer["server"], answer["client"]["sent"]) == ({"kept": 4, "only_here": []}, 6)
    assert filled.said() == ["One", "Uno", "Two", "Dos", "Three", "Tres"]


def test_the_same_again_changes_nothing(filled):
    before = filled.head()
    answer = merge(filled, as_messages("One", "Uno", "Two", "Dos"))
    assert added(answer) == []
    assert filled.head() == before


def test_a_client_that_kept_the_end_alone_is_understood(filled):
    assert added(merge(filled, as_messages("Two", "Dos", "Three"))) == [2]
    assert filled.said() == ["One", "Uno", "Two", "Dos", "Three"]


def test_ours_stays_first_where_the_client_missed_something(filled):
    ids = [m["id"] for m in filled.messages()]
    answer = merge(filled, as_messages("One", "Uno", "Three", "Tres"))
    assert (added(answer), answer["server"]["only_here"]) == ([2, 3], ids[2:])
    assert filled.said() == ["One", "Uno", "Two", "Dos", "Three", "Tres"]


def test_the_same_words_at_another_place_are_said_again(talk):
    talk.post({"messages": as_messages("Yes", "Really?")})
    assert added(merge(talk, as_messages("Yes", "Really?", "Yes", "Really?"))) == [2, 3]
    assert talk.said() == ["Yes", "Really?"] * 2


def test_the_same_words_of_another_role_are_others(filled):
    answer = merge(filled, [{"role": "assistant", "content": "One"}])
    assert added(answer) == [0]


def test_our_ids_are_recognised_whatever_their_place(filled):
    messages = filled.messages()
    theirs = [{"id": m["id"], "role": m["role"], "content": m["content"]} for m in reversed(messages)]
    answer = merge(filled, [*theirs, {"role": "user", "content": "Three"}])
    assert (added(answer), known(answer)) == ([4], [(n, "id") for n in range(4)])


def test_their_own_ids_are_recognised(talk):
    talk.say("One", client_id="a")
    talk.say("One")
    answer = merge(talk, [{"role": "user", "content": "One", "client_id": name} for name in ("b", "a")])
    assert known(answer) == [(1, "client_id")]
    assert (added(answer), talk.said()) == ([0], ["One", "One", "One"])


def test_a_message_that_was_stored_without_an_id_is_recognised_by_its_words(talk):
    talk.say("One")
    answer = merge(talk, [{"role": "user", "content": "One", "client_id": "a"}])
    assert (known(answer), added(answer)) == ([(0, "text")], [])


def test_under_one_id_ours_stays_and_it_is_told_that_theirs_differs(talk):
    talk.say("One", client_id="a")
    answer = merge(talk, [{"role": "user", "content": "Changed", "client_id": "a"}])
    assert answer["client"]["known"][0]["differs"] is True
    assert talk.said() == ["One"]


def test_an_unknown_id_is_judged_by_its_words(filled):
    theirs = [{"id": str(uuid4()), **m} for m in as_messages("One", "Uno", "Two", "Dos", "Three")]
    assert added(merge(filled, theirs)) == [4]


def test_a_partial_message_of_ours_is_completed_by_theirs(talk):
    talk.say("Where is the key?")
    talk.agent.post(
        f"{talk.path}/messages/stream", data=b'{"role": "assistant", "client_id": "r"}\n{"delta": "Under"}\n'
    )
    whole = {"role": "assistant", "content": "Under the mat.", "client_id": "r"}
    answer = merge(talk, [{"role": "user", "content": "Where is the key?"}, whole])
    assert (added(answer), answer["client"]["added"][0]["outcome"]) == ([1], "completed")
    assert [(m["content"], m["partial"]) for m in talk.messages()][1] == ("Under the mat.", False)


def test_a_history_of_a_library_is_merged(talk):
    history = as_messages("One", "Uno", "Two")
    talk.post({"format": "openai", "history": history[:2]})
    response = talk.agent.post(f"{talk.path}/merge", {"format": "openai", "history": history})
    assert (added(response.json), talk.history("openai")) == ([2], history)


def test_what_is_new_may_be_remembered(filled):
    known, new = as_messages("One"), {"role": "user", "content": "I am allergic to walnuts"}
    answer = merge(filled, [{**known[0], "remember": True}, {**new, "remember": True}])
    assert [item["memory"]["outcome"] for item in answer["client"]["added"]] == ["created"]
    assert filled.agent.texts() == ["I am allergic to walnuts"]


def test_what_was_merged_makes_episodes(filled, ada):
    merge(filled, as_messages("One", "Uno", "Two", "Dos", "Three", "Tres"))
    texts = [row.text for row in rows(ada, "SELECT text FROM episodes ORDER BY id")]
    assert texts[2:] == ["user: Three\nassistant: Tres"]


def test_a_merge_is_written_into_the_audit_trail_without_its_words(filled, ada):
    merge(filled, as_messages("One", "Uno", "Two", "Dos", "Three"))
    found = rows(ada, "SELECT details FROM audit_events WHERE action = 'conversation.merged'")
    assert [row.details for row in found] == [{"kept": 4, "matched": 4, "added": 1}]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": "a", "id": "7"}]}, "messages.0.id"),
        ({"message": {"role": "user", "content": "a"}}, "message"),
        ({"format": "openai", "history": [{"role": "robot"}]}, "history.0"),
    ],
)
def test_a_bad_field_merges_nothing(filled, body, field):
    response = filled.agent.post(f"{filled.path}/merge", body)
    assert response.status_code == 422
    assert field in fields(response)
    assert len(filled.messages()) == 4


def test_two_thousand_of_ours_meet_a_thousand_of_theirs(talk):
    texts = ["ok" if n % 3 else f"Number {n}" for n in range(2000)]
    ours = as_messages(*texts)
    talk.post({"messages": ours[:1000]})
    talk.post({"messages": ours[1000:]})
    theirs = [*ours[-999:], {"role": "user", "content": "New"}]
    assert added(merge(talk, theirs)) == [999]
    assert talk.head()["message_count"] == 2001
