"""Commands in plain words, over the API: what they do, what they ask back, and what they never do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from api_agent import ENTRIES, Agent, add_space, embed, memories_of, rows, waited_for
from spoken import COMMAND, listed, say
from sqlalchemy import text

from memory.clock import utc_now
from memory.commands import slips
from memory.commands.parse import SURE, parse
from memory.spaces.spaces import lock_space
from webapp.command_answers import KNOWN


def test_a_question_lists_what_is_remembered(agent, notes):
    answer = say(agent, "What do you remember about hazelnuts?")
    assert (answer["intent"], answer["done"], answer["memories"][0]["id"]) == ("recall", True, notes["nuts"])


@pytest.mark.parametrize(
    ("stored", "asked", "other"),
    [("我的猫叫小花", "小花", "小狗"), ("मुझे दिन पसंद है", "दिन", "दान"), ("قلمي ٤٥ في الدرج", "قلمي 45", "قلمي 46")],
)
def test_what_was_told_in_another_script_is_forgotten_by_its_words_alone(agent, stored, asked, other):
    agent.store(stored)
    assert not say(agent, f"forget what I said about {other}")["done"]
    assert agent.texts() == [stored]
    assert say(agent, f"forget what I said about {asked}")["done"]
    assert agent.texts() == []


@pytest.mark.parametrize("said", ["What do you remember about me?", "what do you remember", "list all my memories"])
def test_who_asks_for_all_is_told_how_much_there_is_and_what_matters_most(agent, said):
    assert say(agent, said)["answer"] == "I remember nothing here yet."
    colours = ("green", "black", "white", "iced", "smoky")
    stored = {agent.store(f"The {kind} oolong is from Taipei") for kind in colours}
    answer = say(agent, said)
    assert (answer["intent"], answer["answer"]) == ("recall", "I remember 5 memories.")
    assert {memory["id"] for memory in answer["memories"]} == stored
    pinned = agent.store("Ada takes no sugar", type="preference")
    answer = say(agent, said)
    assert answer["answer"] == "I remember 6 memories. These matter most."
    assert (len(answer["memories"]), answer["memories"][0]["id"]) == (5, pinned)


@pytest.mark.parametrize("settings", [{"memory_enabled": False}, {"incognito_default": True}])
def test_nothing_is_told_of_all_where_recall_is_off(agent, notes, settings):
    agent.patch("/v1/spaces/default", settings)
    answer = say(agent, "what do you remember about me?")
    assert (answer["done"], answer["memories"]) == (False, [])


@pytest.mark.parametrize(("number", "told"), [(5, False), (6, True)])
def test_who_asks_is_told_that_there_is_more_than_is_listed(agent, ada, number, told):
    for kind in ("green", "black", "white", "iced", "smoky", "bitter")[:number]:
        agent.store(f"The {kind} oolong is from Taipei")
    embed(ada)
    answer = say(agent, "what do you remember about oolong?")
    assert answer["answer"].startswith("I remember 5 memories about “oolong”.")
    assert (len(answer["memories"]), "of more" in answer["answer"]) == (5, told)


def test_what_speaks_of_it_is_counted_and_listed_before_what_comes_near(agent, ada, notes):
    day = agent.store("For its owner's birthday the bakery was closed, and then for months as the oven was repaired")
    embed(ada)
    answer = say(agent, "what do you remember about the bakery's birthday?")
    assert answer["answer"].startswith("I remember one memory about “the bakery's birthday”, and ")
    assert (answer["memories"][0]["id"], answer["near"]) == (day, len(answer["memories"]) - 1)
    assert answer["near"]
    answer = say(agent, "what do you remember about the bakery?")
    assert (answer["answer"], answer["near"]) == ("I remember 3 memories about “the bakery”.", 0)


def test_what_only_comes_near_is_not_said_to_be_about_it(agent, notes):
    answer = say(agent, "what do you remember about hazelnut allergic reactions?")
    assert answer["answer"] == "I remember one memory that comes near “hazelnut allergic reactions”."


def test_what_is_no_command_does_nothing_and_is_not_kept(agent, ada, notes):
    answer = say(agent, "I forgot my umbrella on the train")
    assert (answer["intent"], answer["done"], answer["confidence"]) == ("none", False, 0)
    assert "umbrella" not in str(rows(ada, "SELECT * FROM tool_calls"))


def test_a_command_is_recorded_without_a_memorys_text(agent, ada, notes):
    say(agent, "what do you remember about hazelnuts?")
    call = rows(ada, "SELECT operation, result, affected_ids, hits FROM tool_calls WHERE tool = 'command'")[0]
    assert (call.operation, call.result["intent"], call.hits) == ("search", "recall", len(call.affected_ids))
    assert "allergic" not in str(call)


def test_the_word_that_means_what_was_recalled_last(agent, ada, notes):
    say(agent, "what do you know about hazelnut allergic Ada?")
    answer = say(agent, "forget the first one")
    assert (answer["done"], answer["undo"]["ids"]) == (True, [notes["nuts"]])
    assert agent.get(f"/v1/memory/entries/{notes['nuts']}").status_code == 404


@pytest.mark.parametrize(("minutes", "sooner"), [(5, True), (60, False)])
def test_what_expires_sooner_is_not_said_to_come_back_for_ten_minutes(agent, minutes, sooner):
    expires = utc_now() + timedelta(minutes=minutes)
    agent.store("The gate code is 4417", expires_at=expires.isoformat())
    say(agent, "list my memories")
    answer = say(agent, "forget that")["answer"]
    assert ("for ten minutes, or until it expires, and then is gone" in answer) == sooner
    assert ("for ten minutes, and then is gone for good" in answer) != sooner


def test_a_list_keeps_its_numbers_when_one_of_it_is_forgotten(agent, ada):
    for room in ("hall", "attic", "cellar"):
        agent.store(f"The carpet of the {room} is worn")
    embed(ada)
    told = [memory["id"] for memory in say(agent, "what do you remember about the carpet?")["memories"]]
    assert say(agent, "forget the first one")["undo"]["ids"] == told[:1]
    # Sent once more, as the answer was lost.
    assert say(agent, "forget the first one")["done"] is False
    assert say(agent, "forget the second one")["undo"]["ids"] == told[1:2]
    left = say(agent, "forget that")
    assert (left["done"], left["confirm"]["ids"]) == (False, told[2:])


@pytest.mark.parametrize("question", [False, True])
def test_a_list_of_which_one_is_gone_for_good_does_not_give_way_to_the_list_before(agent, ada, question):
    for thing in ("kettle", "carpet"):
        for room in ("hall", "attic", "cellar"):
            agent.store(f"The {thing} of the {room} is worn")
    embed(ada)
    before, last = (
        say(agent, f"forget everything about the {thing}" if question else f"what do you remember about the {thing}?")
        for thing in ("kettle", "carpet")
    )
    assert (len(before["memories"]) >= 2, last["done"]) == (True, not question)
    assert agent.delete(f"/v1/memory/entries/{last['memories'][0]['id']}").status_code == 200
    for said in ("yes", "forget the second one", "forget that"):
        assert say(agent, said)["undo"] is None, said
    assert memories_of(ada) == 5


def test_the_word_that_means_what_was_stored_last(agent, ada, notes):
    stored = say(agent, "remember that Ada rides a red bicycle")["memories"][0]["id"]
    assert say(agent, "forget that")["undo"]["ids"] == [stored]


def test_the_word_that_means_what_a_tool_stored_or_found(agent, ada, notes):
    stored = agent.tool("memory_add", type="fact", content="Ada owns a canoe").json["id"]
    assert say(agent, "pin that")["memories"][0]["id"] == stored


def test_two_slips_at_once_are_refused_and_both_stay_good(agent, notes):
    slips_given = {
        "undo": say(agent, f"forget {notes['nuts']}")["undo"]["slip"],
        "confirm": say(agent, "forget what I told you about the bakery")["confirm"]["slip"],
    }
    refused = agent.post(COMMAND, {"text": "yes", **slips_given})
    assert (refused.status_code, refused.json["errors"][0]["field"]) == (422, "confirm")
    for name, slip in slips_given.items():
        assert say(agent, "yes", **{name: slip})["done"]


def test_a_forgotten_memory_comes_back_by_its_slip(agent, notes):
    undo = say(agent, f"forget {notes['nuts']}")["undo"]["slip"]
    answer = say(agent, "undo", undo=undo)
    assert (answer["intent"], listed(answer)) == ("undo", {notes["nuts"]})


def test_what_comes_back_leaves_a_space_within_its_cap(agent, ada, notes):
    undo = say(agent, f"forget {notes['nuts']}")["undo"]["slip"]
    agent.patch("/v1/spaces/default", {"soft_cap": memories_of(ada)})
    assert listed(say(agent, "undo", undo=undo)) == {notes["nuts"]}
    assert (memories_of(ada), agent.get(f"{ENTRIES}/{notes['nuts']}").status_code) == (len(notes) - 1, 200)


def said_twice_at_once(app, ada, text, **more):
    agents = [Agent(app.test_client(), ada.headers) for _ in range(2)]
    with ThreadPoolExecutor(len(agents)) as pool, ada.session() as session:
        lock_space(session, ada.id, "default")
        answers = [pool.submit(say, each, text, **more) for each in agents]
        assert waited_for(session, len(agents))
        session.rollback()
        return [each.result() for each in answers]


def test_a_slip_that_is_given_twice_at_once_is_answered_twice(app, ada, agent, notes):
    undo = say(agent, f"forget {notes['nuts']}")["undo"]["slip"]
    assert [listed(each) for each in said_twice_at_once(app, ada, "undo", undo=undo)] == [{notes["nuts"]}] * 2


def test_a_yes_that_is_given_twice_at_once_is_answered_twice(app, ada, agent, notes):
    slip = say(agent, "forget what I told you about the bakery")["confirm"]["slip"]
    answers = said_twice_at_once(app, ada, "yes", confirm=slip)
    assert [set(each["undo"]["ids"]) for each in answers] == [{notes["hours"], notes["bread"]}] * 2


@pytest.mark.parametrize("act", ["forget", "pin"])
def test_who_waits_for_one_of_several_memories_holds_none_that_comes_after_it(app, ada, agent, notes, act):
    """Who embeds or records them locks them in the order of their ids, and would wait for that one."""
    asked = say(agent, f"{act} what I told you about the bakery")["confirm"]
    assert asked["ids"] == [notes["bread"], notes["hours"]]
    assert notes["hours"] < notes["bread"]
    taken = text("SELECT id::text FROM memories WHERE id = :id FOR NO KEY UPDATE SKIP LOCKED")
    with ThreadPoolExecutor(1) as pool, ada.session() as holding:
        assert holding.scalar(taken, {"id": notes["hours"]}) == notes["hours"]
        answer = pool.submit(say, Agent(app.test_client(), ada.headers), "yes", confirm=asked["slip"])
        assert waited_for(holding)
        with ada.session() as other:
            free = other.scalar(taken, {"id": notes["bread"]})
        holding.rollback()
        assert (free, answer.result()["done"]) == (notes["bread"], True)


def test_a_forgotten_memory_comes_back_by_a_word_and_only_once(agent, notes):
    say(agent, f"forget {notes['nuts']}")
    assert listed(say(agent, "undo that")) == {notes["nuts"]}
    assert say(agent, "undo")["done"] is False


def test_a_summary_and_what_it_sums_up_come_back_by_a_word(agent):
    note = agent.store("The kiln in the shed reaches cone ten by noon")
    made = agent.store("The kiln takes a morning", type="summary", source_ids=[note])
    ids = {note, made}
    say(agent, "forget everything about the kiln")
    assert set(say(agent, "yes")["undo"]["ids"]) == ids
    assert listed(say(agent, "undo that")) == ids


def test_who_wants_something_back_loses_nothing_that_came_since(agent, ada, notes):
    say(agent, f"forget {notes['nuts']}")
    say(agent, "remember that my aunt lives in Graz")
    back = say(agent, "restore what you just forgot")
    assert (back["answer"], listed(back)) == ("I remember again “Ada is allergic to hazelnuts”.", {notes["nuts"]})
    again = say(agent, "bring it back")
    assert (again["done"], again["answer"]) == (False, "There is nothing to bring back from the last ten minutes.")
    assert memories_of(ada) == 4


def test_the_undo_ends_after_ten_minutes(agent, ada, notes):
    until = say(agent, f"forget {notes['nuts']}")["undo"]["until"]
    assert timedelta(minutes=9) < datetime.fromisoformat(until) - utc_now() <= timedelta(minutes=10)
    late = slips.Slip(ada.id, "restore", utc_now() - timedelta(seconds=1), (UUID(notes["nuts"]),))
    answer = agent.post(COMMAND, {"text": "undo", "undo": slips.seal(ada.runtime.keys, late)})
    assert (answer.status_code, memories_of(ada)) == (409, 2)


def test_the_one_memory_that_speaks_of_it_is_forgotten(agent, ada, notes):
    answer = say(agent, "Forget what I said about hazelnuts")
    assert (answer["done"], answer["undo"]["ids"]) == (True, [notes["nuts"]])
    assert memories_of(ada) == 2


def test_several_memories_are_asked_about_and_none_is_gone(agent, ada, notes):
    answer = say(agent, "forget what I told you about the bakery")
    assert (answer["done"], answer["undo"], listed(answer)) == (False, None, {notes["hours"], notes["bread"]})
    assert memories_of(ada) == 3


@pytest.mark.parametrize("said", ["what do you remember about the zeppelin?", "remember that the safe is open"])
@pytest.mark.parametrize("asked", ["forget that", "pin this"])
def test_what_came_before_a_command_without_a_memory_is_not_meant(agent, ada, said, asked):
    agent.delete(f"/v1/memory/entries/{agent.store('The safe is open')}")
    agent.store("Ada is allergic to hazelnuts")
    before = say(agent, said)
    answer = say(agent, asked)
    assert (before["memories"], answer["memories"], answer["done"]) == ([], [], False)
    assert (memories_of(ada), agent.get("/v1/memory/entries", pinned="true").json["entries"]) == (1, [])
    say(agent, "remember that the ferry leaves at noon")
    assert say(agent, asked)["done"] is True


def test_undo_tells_of_what_was_forgotten_elsewhere(client, agent, bob, ada, notes):
    for memory in (notes["nuts"], notes["bread"]):
        agent.delete(f"/v1/memory/entries/{memory}", undo=True)
    answer = say(agent, "undo")
    assert (answer["done"], answer["undo"], memories_of(ada)) == (False, None, 1)
    assert "None of my commands" in answer["answer"]
    assert "2 memories were forgotten elsewhere" in answer["answer"]
    add_space(ada, "work")
    others = [
        Agent(client, bob.headers),
        Agent(client, ada.new_token("read", "write", "forget", space="work")),
        Agent(client, ada.new_token("read", "write")),
    ]
    assert ["elsewhere" in say(other, "undo")["answer"] for other in others] == [False] * 3
    agent.post("/v1/memory/incognito/start", {})
    assert "elsewhere" not in say(agent, "undo")["answer"]


@pytest.mark.parametrize("change", ["said again", "changed", "pinned"])
def test_the_undo_of_remembering_destroys_nothing_that_came_since(agent, ada, change):
    stored = say(agent, "Remember that the boiler code is 4711")["memories"][0]["id"]
    path = f"/v1/memory/entries/{stored}"
    if change == "said again":
        assert agent.tool("memory_add", content="the boiler code is 4711").json["id"] == stored
    elif change == "changed":
        agent.patch(path, {"text": "The boiler code is 4711, and the cellar key hangs beside it"})
    else:
        agent.post(f"{path}/pin")
    text = agent.entry(stored)["text"]
    response = agent.post(COMMAND, {"text": "undo"})
    assert (response.status_code, "changed since" in response.json["detail"]) == (409, True)
    assert (agent.entry(stored)["text"], memories_of(ada)) == (text, 1)


@pytest.mark.parametrize("between", ["forget that", "pin that"])
def test_what_was_taken_back_since_is_no_change_to_what_was_remembered(agent, ada, between):
    stored = say(agent, "Remember that the boiler code is 4711")["memories"][0]["id"]
    assert say(agent, between)["done"]
    assert listed(say(agent, "undo")) == {stored}
    assert say(agent, "undo")["answer"] == "I no longer remember “the boiler code is 4711”."
    assert memories_of(ada) == 0


def test_many_are_undone_together(agent, ada, notes):
    asked = say(agent, "forget what I told you about the bakery")
    say(agent, "yes", confirm=asked["confirm"]["slip"])
    say(agent, "undo")
    assert memories_of(ada) == 3


def test_a_memory_is_pinned_and_unpinned(agent, notes):
    say(agent, "what do you know about hazelnuts")
    assert say(agent, f"pin {notes['nuts']}")["memories"][0]["pinned"] is True
    assert say(agent, "unpin this")["memories"][0]["pinned"] is False
    assert say(agent, "undo")["memories"][0]["pinned"] is True


def test_pinning_what_is_pinned_offers_no_undo(agent, notes):
    say(agent, f"pin {notes['nuts']}")
    assert say(agent, f"pin {notes['nuts']}")["undo"] is None


def test_a_remembered_memory_can_be_taken_back_and_said_again(agent, ada):
    say(agent, "remember that the spare key is with Grace")
    say(agent, "undo")
    assert memories_of(ada) == 0
    assert say(agent, "remember that the spare key is with Grace")["done"] is True


def test_what_was_known_already_offers_no_undo(agent, notes):
    answer = say(agent, "remember that Ada is allergic to hazelnuts")
    assert (answer["done"], answer["undo"], listed(answer)) == (True, None, {notes["nuts"]})


def test_what_was_forgotten_is_not_stored_nor_written_down(agent, ada, notes):
    say(agent, f"forget {notes['nuts']}")
    answer = say(agent, "remember that Ada is allergic to hazelnuts")
    assert (answer["done"], answer["reason"]) == (False, "tombstone")
    assert answer["answer"].startswith("This was forgotten less than 24 hours ago, and is refused until 20")
    assert "hazelnuts" not in str(rows(ada, "SELECT arguments FROM tool_calls"))


def test_memory_is_turned_off_and_on(agent, notes):
    say(agent, "turn memory off")
    assert agent.get("/v1/memory/settings").json["memory_enabled"] is False
    assert say(agent, "what do you know about hazelnuts?")["reason"] == "memory_off"
    assert say(agent, "undo")["intent"] == "undo"
    assert agent.get("/v1/memory/settings").json["memory_enabled"] is True


def test_memory_is_turned_off_in_the_space_of_the_conversation(agent, ada):
    add_space(ada, "work")
    agent.post("/v1/conversations", {"external_id": "chat-1", "space": "work"})
    assert "work" in say(agent, "turn memory off", conversation="chat-1")["answer"]
    assert agent.get("/v1/memory/settings", space="work").json["memory_enabled"] is False
    assert agent.get("/v1/memory/settings").json["memory_enabled"] is True


def test_incognito_stores_recalls_and_records_nothing(agent, ada, notes):
    chat = agent.in_session("chat")
    assert say(chat, "start incognito for this chat")["undo"] is not None
    assert say(chat, "remember that Ada bought a pearl ring")["reason"] == "incognito"
    assert say(chat, "what do you know about hazelnuts?")["memories"] == []
    assert say(chat, "end incognito")["answer"].endswith("1.")
    assert memories_of(ada) == 3
    assert "pearl" not in str(rows(ada, "SELECT * FROM tool_calls"))


def test_incognito_of_a_chat_that_is_not_named_is_said_to_be_that_of_the_token(agent):
    answers = [say(who, "start incognito for this chat")["answer"] for who in (agent.in_session("chat-7"), agent)]
    assert [("this session" in answer, "any chat with this token" in answer) for answer in answers] == [
        (True, False),
        (False, True),
    ]


def test_incognito_of_one_session_is_not_that_of_another(agent, notes):
    say(agent.in_session("one"), "go off the record")
    assert say(agent.in_session("two"), "what do you know about hazelnuts?")["memories"]


def test_the_command_is_documented(client):
    paths = client.get("/v1/openapi.json").json["paths"]
    assert "200" in paths[COMMAND]["post"]["responses"]


def test_an_undone_pin_leaves_no_trace_on_the_memory(agent, ada, notes):
    columns = "pinned, manually_saved, importance"
    before = rows(ada, f"SELECT {columns} FROM memories WHERE id = :id", id=notes["nuts"])
    say(agent, f"pin {notes['nuts']}")
    say(agent, "undo")
    assert rows(ada, f"SELECT {columns} FROM memories WHERE id = :id", id=notes["nuts"]) == before


@pytest.mark.parametrize(
    ("scopes", "told"), [(("read", "write"), "“The garage code is 5521”"), (("write",), "one memory")]
)
def test_who_tells_what_may_be_news_is_told_of_what(client, ada, agent, scopes, told):
    agent.store("The garage code is 5521")
    answer = say(Agent(client, ada.new_token(*scopes)), "remember that the garage code is 6621")["answer"]
    assert answer == f"I will remember that, and keep {told} beside it until you decide which holds."


@pytest.mark.parametrize("said", ["help", "Help, please!", "What can I say?", "show me the commands"])
def test_help_lists_what_is_known(agent, notes, said):
    answer = say(agent, said)
    assert (answer["done"], answer["intent"]) == (False, "none")
    assert answer["answer"].startswith("I know these: “what do you remember about …”; “remember that …”; “forget that”")
    assert "That is no command" in say(agent, "help me with the taxes")["answer"]


def test_what_help_lists_is_known():
    for each in (each.replace("…", "the bakery is closed") for forms in KNOWN for each in forms):
        assert parse(each).confidence >= SURE, each
