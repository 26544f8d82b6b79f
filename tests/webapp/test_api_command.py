"""Commands in plain words, over the API: what they do, what they ask back, and what they never do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from api_agent import ENTRIES, Agent, add_space, embed, fields, memories_of, rows, waited_for
from sqlalchemy import text

from memory.commands import slips
from memory.commands.parse import SURE, parse
from memory.edit import update
from memory.embedding.backfill import utc_now
from memory.spaces import lock_space
from webapp.command_answers import KNOWN

COMMAND = "/v1/command"


@pytest.fixture
def notes(agent, ada):
    """Three memories, two of them of the bakery."""
    ids = {
        "hours": agent.store("The bakery on Mill Lane closes on Mondays"),
        "bread": agent.store("The bakery sells rye bread"),
        "nuts": agent.store("Ada is allergic to hazelnuts"),
    }
    embed(ada)
    return ids


def say(agent, text, **more):
    response = agent.post(COMMAND, {"text": text, **more})
    assert response.status_code == 200, response.json
    return response.json


def listed(answer):
    return {memory["id"] for memory in answer["memories"]}


# --- recall ---------------------------------------------------------------------------------------------------------


def test_a_question_lists_what_is_remembered(agent, notes):
    answer = say(agent, "What do you remember about hazelnuts?")
    assert (answer["intent"], answer["done"], answer["memories"][0]["id"]) == ("recall", True, notes["nuts"])


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
    assert (answer["memories"][0]["id"], len(answer["memories"]) > 1) == (day, True)
    answer = say(agent, "what do you remember about the bakery?")
    assert answer["answer"] == "I remember 3 memories about “the bakery”."


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


# --- forget ---------------------------------------------------------------------------------------------------------


def test_that_is_what_was_recalled_last(agent, ada, notes):
    say(agent, "what do you know about hazelnut allergic Ada?")
    answer = say(agent, "forget the first one")
    assert (answer["done"], answer["undo"]["ids"]) == (True, [notes["nuts"]])
    assert agent.get(f"/v1/memory/entries/{notes['nuts']}").status_code == 404


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


def test_that_is_what_was_stored_last(agent, ada, notes):
    stored = say(agent, "remember that Ada rides a red bicycle")["memories"][0]["id"]
    assert say(agent, "forget that")["undo"]["ids"] == [stored]


def test_that_is_what_a_tool_stored_or_found(agent, ada, notes):
    stored = agent.tool("memory_add", type="fact", content="Ada owns a canoe").json["id"]
    assert say(agent, "pin that")["memories"][0]["id"] == stored


def test_a_forgotten_memory_comes_back_by_its_slip(agent, notes):
    undo = say(agent, f"forget {notes['nuts']}")["undo"]["slip"]
    answer = say(agent, "undo", undo=undo)
    assert (answer["intent"], listed(answer)) == ("undo", {notes["nuts"]})


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


@pytest.mark.parametrize(
    "text",
    [
        "forget everything about hazelnuts",
        "forget all that I told you about hazelnuts",
        "delete all my notes on hazelnuts",
        "forget whatever you know about hazelnuts",
        "erase everything about hazelnuts from your memory",
        "don't remember anything about hazelnuts",
    ],
)
def test_everything_about_it_is_asked_about_though_it_is_one(agent, ada, notes, text):
    answer = say(agent, text)
    assert (answer["done"], listed(answer), answer["confirm"]["ids"]) == (False, {notes["nuts"]}, [notes["nuts"]])
    assert "“Ada is allergic to hazelnuts”" in answer["answer"]
    assert memories_of(ada) == 3
    assert say(agent, "yes")["done"] is True
    assert memories_of(ada) == 2


def test_everything_about_it_is_listed_and_goes_with_a_yes(agent, ada, notes):
    for number in ("four", "eight", "two hundred"):
        agent.store(f"The bakery has {number} ovens")
    answer = say(agent, "forget everything about the bakery")
    assert (len(listed(answer)), notes["nuts"] in listed(answer), "more" in answer["answer"]) == (5, False, False)
    say(agent, "yes")
    assert {row.id for row in rows(ada, "SELECT id::text FROM memories")} == {notes["nuts"]}


def test_of_more_than_ten_the_answer_says_that_there_may_be_more(agent, ada):
    for number in range(14):
        agent.store(f"The bakery sold {number * 37} loaves on day {number}")
    answer = say(agent, "forget everything about the bakery")
    assert (len(listed(answer)), "There may be more" in answer["answer"]) == (10, True)
    say(agent, "yes")
    assert memories_of(ada) == 4


def test_everything_about_it_is_found_however_long_it_is(agent, ada):
    for number in range(9):
        agent.store(f"The bakery, day {number}. " + f"It sold {number * 37} loaves and some rolls. " * 15)
    answer = say(agent, "forget everything about the bakery")
    assert (len(listed(answer)), "more" in answer["answer"]) == (9, False)
    assert len(listed(say(agent, "what do you know about the bakery"))) == 5
    say(agent, "forget everything about the bakery")
    say(agent, "yes")
    assert memories_of(ada) == 0


def test_pinning_everything_about_it_asks_first(agent, notes):
    answer = say(agent, "pin everything about hazelnuts")
    assert (answer["done"], listed(answer)) == (False, {notes["nuts"]})
    assert say(agent, "yes")["answer"] == "I pinned “Ada is allergic to hazelnuts”."


def test_what_is_done_at_once_is_named(agent, notes):
    told = "“Ada is allergic to hazelnuts”"
    said = ("forget what I said about hazelnuts", "undo", f"pin {notes['nuts']}", "unpin that")
    assert [told in say(agent, text)["answer"] for text in said] == [True] * 4


def test_several_are_named_by_how_they_begin(agent, notes):
    agent.store("The bakery " + "bakes and " * 30 + "sells cakes")
    agent.store("The bakery opens at six")
    say(agent, "forget everything about the bakery")
    answer = say(agent, "yes")["answer"]
    assert answer.startswith("I forgot 4 memories: “The bakery")
    assert (answer.count("“"), " and 1 more." in answer, len(answer) < 320) == (3, True, True)


def test_incognito_names_nothing(agent, notes):
    say(agent, "start incognito for this chat")
    answer = say(agent, f"forget {notes['nuts']}")
    assert (answer["done"], "hazelnuts" in str(answer)) == (True, False)


def test_a_question_back_names_nothing_in_incognito(agent, ada, notes):
    say(agent, "what do you know about the bakery")
    agent.post("/v1/memory/incognito/start", {})
    answer = say(agent, "forget them")
    assert (answer["done"], answer["memories"], "bakery" in str(answer).lower()) == (False, [], False)
    assert answer["answer"] == "Shall I forget 2 memories? In incognito nobody sees which."
    assert say(agent, "yes", confirm=answer["confirm"]["slip"])["done"]
    assert memories_of(ada) == 1
    back = say(agent, "undo")
    assert (back["done"], "bakery" in str(back).lower(), memories_of(ada)) == (True, False, 3)


@pytest.mark.parametrize(("word", "left"), [("yes", 1), ("no", 3)])
def test_a_spoken_word_answers_the_question_in_incognito_too(agent, ada, notes, word, left):
    say(agent, "what do you know about the bakery")
    agent.post("/v1/memory/incognito/start", {})
    say(agent, "forget them")
    answer = say(agent, word)
    assert (answer["done"], "bakery" in str(answer).lower(), memories_of(ada)) == (True, False, left)
    assert say(agent, "yes")["intent"] == "none"


def test_a_confirmation_names_exactly_what_goes(agent, ada, notes):
    asked = say(agent, "forget what I told you about the bakery")
    later = agent.store("The bakery has a cat")
    answer = say(agent, "yes", confirm=asked["confirm"]["slip"])
    assert set(answer["undo"]["ids"]) == {notes["hours"], notes["bread"]}
    assert {row.id for row in rows(ada, "SELECT id::text FROM memories")} == {notes["nuts"], later}


@pytest.mark.parametrize("how", ["spoken", "slip"])
def test_what_was_corrected_since_it_was_asked_about_is_asked_about_anew(agent, ada, notes, how):
    def say_yes(asked):
        return say(agent, "yes", **({"confirm": asked["confirm"]["slip"]} if how == "slip" else {}))

    asked = say(agent, "forget everything about hazelnuts")
    agent.patch(f"{ENTRIES}/{notes['nuts']}", {"text": "Ada likes hazelnuts by now"})
    again = say_yes(asked)
    assert (again["done"], listed(again), memories_of(ada)) == (False, {notes["nuts"]}, 3)
    assert again["answer"].startswith(
        "Something of that was corrected since I asked. Shall I forget this one? “Ada likes haz"
    )
    assert (say_yes(again)["done"], memories_of(ada)) == (True, 2)


def test_what_was_being_corrected_as_it_was_asked_about_is_asked_about_anew(agent, ada, notes):
    with ada.session() as session:
        changes = {"text": "Ada likes hazelnuts by now"}
        update(session, ada.id, UUID(notes["nuts"]), changes, keys=ada.runtime.keys, now=utc_now(), actor="test")
        say(agent, "forget everything about hazelnuts")
        session.commit()
    assert (say(agent, "yes")["done"], memories_of(ada)) == (False, 3)


def test_what_says_the_same_as_when_it_was_asked_about_goes_with_a_yes(agent, ada, notes):
    agent.patch(f"{ENTRIES}/{notes['nuts']}", {"text": "Ada likes hazelnuts by now"})
    say(agent, "forget everything about hazelnuts")
    agent.patch(f"{ENTRIES}/{notes['nuts']}", {"tags": ["food"]})
    assert (say(agent, "yes")["done"], memories_of(ada)) == (True, 2)


def test_a_spoken_yes_answers_the_last_question_only(agent, ada, notes):
    say(agent, "forget what I told you about the bakery")
    assert say(agent, "yes")["intent"] == "forget"
    assert memories_of(ada) == 1
    assert say(agent, "yes")["intent"] == "none"


def test_a_spoken_no_ends_the_question(agent, ada, notes):
    say(agent, "forget what I told you about the bakery")
    assert say(agent, "no")["intent"] == "cancel"
    assert say(agent, "yes")["intent"] == "none"
    assert memories_of(ada) == 3


def test_an_undo_in_answer_to_a_question_undoes_nothing_before_it(agent, ada, notes):
    say(agent, "remember that my aunt lives in Graz")
    say(agent, "forget what I said about the bakery")
    answer = say(agent, "undo")
    assert (answer["intent"], answer["answer"][:34]) == ("cancel", "I have only asked: nothing was cha")
    assert (memories_of(ada), say(agent, "yes")["done"], memories_of(ada)) == (4, False, 4)
    assert say(agent, "undo")["answer"] == "I no longer remember “my aunt lives in Graz”."


def test_one_of_the_list_can_be_chosen(agent, ada, notes):
    second = say(agent, "forget what I told you about the bakery")["memories"][1]["id"]
    assert say(agent, "forget the second one")["undo"]["ids"] == [second]
    assert memories_of(ada) == 2


def test_several_last_memories_are_never_forgotten_by_one_word(agent, ada, notes):
    say(agent, "what do you know about the bakery?")
    assert say(agent, "forget that")["done"] is False
    assert say(agent, "forget them")["done"] is False
    assert memories_of(ada) == 3


@pytest.mark.parametrize("text", ["forget it", "forget the hazelnuts"])
def test_what_may_be_meant_otherwise_is_asked_about(agent, ada, notes, text):
    say(agent, "remember that Ada likes hazelnuts no more")
    answer = say(agent, text)
    assert (answer["done"], answer["confirm"] is not None) == (False, True)
    assert memories_of(ada) == 4


@pytest.mark.parametrize(
    "text",
    ["forget everything about me", "delete all memories about it", "forget everything", "forget all", "pin everything"],
)
def test_not_everything_goes_by_a_sentence(agent, ada, notes, text):
    agent.store("Everything about the bakery is in the blue folder, all of it")
    answer = say(agent, text)
    assert (answer["done"], answer["memories"], answer["confirm"]) == (False, [], None)
    assert answer["answer"].startswith("Say what it is about")


def test_what_speaks_of_something_else_is_not_offered(agent, ada):
    tea = agent.store("Ada drinks her tea without sugar")
    agent.store("No coffee after 14:00; a second espresso then costs half the night")
    embed(ada)
    say(agent, f"forget {tea}")
    answer = say(agent, "forget that I drink my tea without sugar")
    assert (answer["answer"], answer["memories"]) == ("I remember nothing like “I drink my tea without sugar”.", [])


def test_what_has_a_good_part_of_the_subject_is_offered(agent, notes):
    answer = say(agent, "forget what I said about my hazelnut allergies")
    assert (answer["done"], listed(answer)) == (False, {notes["nuts"]})


def test_nothing_to_refer_to_changes_nothing(agent, ada):
    assert say(agent, "forget that")["done"] is False
    assert say(agent, "undo")["done"] is False


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


# --- pin, remember, switches ----------------------------------------------------------------------------------------


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


def test_incognito_of_one_session_is_not_that_of_another(agent, notes):
    say(agent.in_session("one"), "go off the record")
    assert say(agent.in_session("two"), "what do you know about hazelnuts?")["memories"]


# --- whose words, whose memories ------------------------------------------------------------------------------------


def test_that_of_one_session_is_not_that_of_another(agent, ada, notes):
    say(agent.in_session("one"), f"pin {notes['nuts']}")
    assert say(agent.in_session("two"), "forget that")["done"] is False
    assert say(agent.in_session("two"), "undo")["done"] is False


def test_that_of_one_conversation_is_not_that_of_another(agent, ada, notes):
    for name in ("one", "two"):
        agent.post("/v1/conversations", {"external_id": name})
    say(agent, f"pin {notes['nuts']}", conversation="one")
    assert say(agent, "unpin that", conversation="two")["done"] is False
    assert say(agent, "unpin that", conversation="one")["done"] is True


def test_another_users_ids_and_slips_are_not_there(client, agent, bob, ada, notes):
    stranger = Agent(client, bob.headers)
    slip = say(agent, f"forget {notes['nuts']}")["undo"]["slip"]
    assert say(stranger, f"forget {notes['bread']}")["done"] is False
    assert fields(stranger.post(COMMAND, {"text": "undo", "undo": slip})) == ["undo"]
    assert memories_of(ada) == 2


@pytest.mark.parametrize("spoilt", ["x", "a.b", "", "é.é"])
def test_a_made_up_slip_does_nothing(agent, ada, notes, spoilt):
    slip = say(agent, "forget what I told you about the bakery")["confirm"]["slip"]
    response = agent.post(COMMAND, {"text": "yes", "confirm": spoilt + slip[1:] if spoilt else slip[:-1]})
    assert (response.status_code, memories_of(ada)) == (422, 3)


def test_an_undo_that_is_asked_for_again_says_that_it_is_done(agent, ada, notes):
    slip = say(agent, f"forget {notes['nuts']}")["undo"]["slip"]
    first, second = (say(agent, "undo", undo=slip) for _ in range(2))
    assert (listed(first), listed(second)) == ({notes["nuts"]}, {notes["nuts"]})
    assert second["answer"] == "I remember “Ada is allergic to hazelnuts”: nothing had to be brought back."
    agent.delete(f"/v1/memory/entries/{notes['nuts']}")
    assert agent.post(COMMAND, {"text": "undo", "undo": slip}).status_code == 404


def test_a_yes_that_is_said_again_says_that_it_is_done(client, agent, ada, notes):
    add_space(ada, "work")
    confined = Agent(client, ada.new_token("read", "write", "forget", space="work"))
    slip = say(agent, "forget what I told you about the bakery")["confirm"]["slip"]
    first, second = (say(agent, "yes", confirm=slip) for _ in range(2))
    assert second["answer"] == "I have forgotten 2 memories already: they can still be brought back."
    assert (second["undo"]["ids"], second["memories"], memories_of(ada)) == (first["undo"]["ids"], [], 1)
    assert confined.post(COMMAND, {"text": "yes", "confirm": slip}).status_code == 404
    assert listed(say(agent, "undo", undo=second["undo"]["slip"])) == {notes["hours"], notes["bread"]}


def test_a_confined_token_acts_in_its_space_alone(client, ada, agent, notes):
    add_space(ada, "work")
    confined = Agent(client, ada.new_token("read", "write", "forget", space="work"))
    assert say(confined, f"forget {notes['nuts']}")["done"] is False
    say(confined, "turn memory off")
    assert agent.get("/v1/memory/settings").json["memory_enabled"] is True


@pytest.mark.parametrize(
    ("scopes", "text"),
    [
        (("read", "write"), "forget that"),
        (("write", "forget"), "what do you know about tea?"),
        (("read", "forget"), "remember that I drink tea"),
        (("read", "forget"), "pin that"),
        (("read", "forget"), "turn memory off"),
        (("read", "forget"), "go incognito"),
        (("write",), "pin everything about the bakery"),
        (("forget",), "forget what I told you about the bakery"),
        (("forget",), "forget that the bakery sells bread"),
    ],
)
def test_a_command_needs_the_scope_of_what_it_does(client, ada, scopes, text):
    refused = Agent(client, ada.new_token(*scopes)).post(COMMAND, {"text": text})
    assert refused.status_code == 403
    (kept,) = rows(ada, "SELECT arguments, error, success FROM tool_calls")
    assert (kept.arguments, kept.error, kept.success) == ({}, refused.json["detail"], False)


def test_who_may_not_read_is_told_no_text_by_a_command(client, ada, agent, notes):
    weak = Agent(client, ada.new_token("write", "forget"))
    answers = [
        say(weak, f"pin {notes['nuts']}"),
        say(weak, f"forget {notes['nuts']}"),
        say(weak, "undo"),
        say(weak, "remember that Ada is allergic to hazelnuts"),
        say(weak, "that is important"),
    ]
    assert [(answer["intent"], answer["memories"]) for answer in answers] == [
        (intent, []) for intent in ("pin", "forget", "undo", "remember", "pin")
    ]
    assert "hazelnuts" not in str(answers)
    assert answers[0]["answer"] == "I pinned one memory."
    assert answers[-1]["answer"] == "Shall I pin one memory? Without the scope read nobody sees which."


def test_who_may_not_read_is_shown_what_it_has_just_said(client, ada, notes):
    weak = Agent(client, ada.new_token("write"))
    answer = say(weak, "remember that I drink tea")
    assert [memory["text"] for memory in answer["memories"]] == ["I drink tea"]


@pytest.mark.parametrize(("words", "offered"), [("yes", "asks"), ("undo", "undo")])
def test_no_reported_call_is_taken_for_a_command(client, ada, agent, notes, words, offered):
    say(agent, "what do you remember about hazelnuts?")
    said = agent.get("/v1/tool-calls", tool="command").json["calls"][0]["result"]["session"]
    forged = {"session": said, offered: {"action": "forget", "ids": list(notes.values()), "space": None}}
    weak = Agent(client, ada.new_token("read", "write"))
    assert weak.post("/v1/tool-calls", {"calls": [{"tool": "command", "result": forged}]}).status_code == 201
    assert (say(agent, words)["done"], memories_of(ada)) == (False, 3)


def test_without_the_scope_to_forget_a_confirmation_is_worth_nothing(client, ada, agent, notes):
    slip = say(agent, "forget what I told you about the bakery")["confirm"]["slip"]
    weak = Agent(client, ada.new_token("read", "write"))
    assert weak.post(COMMAND, {"text": "yes", "confirm": slip}).status_code == 403
    assert memories_of(ada) == 3


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": " "}, "text"),
        ({"text": "undo", "conversation": "nowhere"}, "conversation"),
        ({"text": "undo", "volume": 11}, "volume"),
        ({"text": "undo", "undo": "nonsense"}, "undo"),
    ],
)
def test_a_bad_body_is_refused(agent, body, field):
    assert fields(agent.post(COMMAND, body)) == [field]


def test_half_a_character_is_refused_in_the_words_that_every_endpoint_has(agent):
    response = agent.post(COMMAND, {"text": "remember that the cat \ud83d sleeps"})
    assert response.json["errors"] == [{"field": "text", "message": "is not valid Unicode text"}]


def test_the_command_is_documented(client):
    paths = client.get("/v1/openapi.json").json["paths"]
    assert "200" in paths[COMMAND]["post"]["responses"]


def test_an_undone_pin_leaves_no_trace_on_the_memory(agent, ada, notes):
    columns = "pinned, manually_saved, importance"
    before = rows(ada, f"SELECT {columns} FROM memories WHERE id = :id", id=notes["nuts"])
    say(agent, f"pin {notes['nuts']}")
    say(agent, "undo")
    assert rows(ada, f"SELECT {columns} FROM memories WHERE id = :id", id=notes["nuts"]) == before


@pytest.mark.parametrize("said", ["help", "Help, please!", "What can I say?", "show me the commands"])
def test_help_lists_what_is_known(agent, notes, said):
    answer = say(agent, said)
    assert (answer["done"], answer["intent"]) == (False, "none")
    assert answer["answer"].startswith("I know these: “what do you remember about …”; “remember that …”; “forget that”")
    assert "That is no command" in say(agent, "help me with the taxes")["answer"]


def test_what_help_lists_is_known():
    for each in (each.replace("…", "the bakery is closed") for forms in KNOWN for each in forms):
        assert parse(each).confidence >= SURE, each
