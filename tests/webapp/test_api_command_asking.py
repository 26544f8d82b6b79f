"""Commands in plain words that ask back: about several memories, and what a yes or a no then means."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from api_agent import ENTRIES, Agent, embed, memories_of, rows
from spoken import listed, say

from memory.clock import utc_now
from memory.writing.edit import update


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


@pytest.mark.parametrize("text", ["forget the second one", "the second one", "2"])
def test_one_of_the_list_can_be_chosen(agent, ada, notes, text):
    second = say(agent, "forget what I told you about the bakery")["memories"][1]["id"]
    assert say(agent, text)["undo"]["ids"] == [second]
    assert memories_of(ada) == 2
    assert say(agent, "the first")["intent"] == "none"


def test_which_one_is_asked_again_where_there_are_not_so_many(agent, ada, notes):
    asked = say(agent, "pin everything about the bakery")
    again = say(agent, "the third")
    assert again["answer"] == "There are no more than 2. " + asked["answer"]
    assert say(agent, "the last one")["answer"] == f"I pinned “{asked['memories'][1]['text']}”."


def test_nobody_chooses_of_what_was_not_shown(agent, ada, notes):
    say(agent, "what do you know about the bakery")
    agent.post("/v1/memory/incognito/start", {})
    say(agent, "forget them")
    assert (say(agent, "the first one")["intent"], memories_of(ada)) == ("none", 3)


def test_several_last_memories_are_never_forgotten_by_one_word(agent, ada, notes):
    say(agent, "what do you know about the bakery?")
    assert say(agent, "forget that")["done"] is False
    assert say(agent, "forget them")["done"] is False
    assert memories_of(ada) == 3


@pytest.mark.parametrize(
    "text",
    [
        "forget what I told you in the last hour",
        "forget everything that I said today and yesterday",
        "delete all my notes from the last two days",
        "delete whatever I said today or yesterday",
        "erase everything I told you today from your memory",
    ],
)
def test_what_was_said_at_a_time_is_asked_about_and_nothing_else_goes(agent, ada, notes, text):
    old = agent.store("The bakery was sold an hour ago", created_at=(utc_now() - timedelta(days=9)).isoformat())
    asked = say(agent, text)
    assert (asked["done"], listed(asked)) == (False, {*notes.values()})
    assert say(agent, "yes")["done"]
    assert say(agent, text)["answer"] == "I remember nothing of that time."
    assert listed(say(agent, "what did I tell you in the last two weeks?")) == {old}


@pytest.mark.parametrize(
    "text",
    ["forget what I said on Monday", "delete what I told you on Monday", "forget what we talked about last year"],
)
def test_what_was_said_on_a_day_is_not_what_has_its_name(agent, ada, text):
    agent.store("The choir sang on Monday of last year", created_at=(utc_now() - timedelta(days=900)).isoformat())
    assert say(agent, text)["answer"] == "I remember nothing of that time."
    assert memories_of(ada) == 1


@pytest.mark.parametrize("text", ["forget all appointments from today", "forget what I have to do today"])
def test_what_is_told_of_a_time_is_not_all_that_was_said_then(agent, notes, text):
    assert say(agent, text)["memories"] == []


def test_no_more_is_said_to_be_remembered_of_a_time_than_was_looked_at(agent, notes, monkeypatch):
    monkeypatch.setattr("webapp.commands.LARGEST_PAGE", 2)
    assert say(agent, "what did I tell you today?")["answer"] == "I remember more than 2 memories of that time."


@pytest.mark.parametrize(
    "text",
    [
        "what did I tell you to do?",
        "what did I tell you to do today?",
        "what do you remember from the bakery",
    ],
)
def test_what_names_no_time_is_no_command_whoever_says_it(agent, client, ada, notes, text):
    assert say(agent, text)["intent"] == "none"
    assert say(Agent(client, ada.new_token("write")), text)["intent"] == "none"


def test_nothing_is_told_of_a_time_where_recall_is_off(agent, notes):
    agent.patch("/v1/spaces/default", {"memory_enabled": False})
    answer = say(agent, "what did I tell you today?")
    assert (answer["done"], answer["reason"], answer["memories"]) == (False, "memory_off", [])


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


# --- switches that are met while one thing after another is taken back -----------------------------------------------


def is_on(agent):
    return agent.get("/v1/memory/settings").json["memory_enabled"]


@pytest.fixture
def turned(agent, notes):
    """Memory turned off and on, and something remembered after that, which is taken back again."""
    for said in ("turn memory off", "turn memory on", "remember that the spare key is with Grace", "undo"):
        assert say(agent, said)["done"] is True, said
    return agent


def test_a_switch_is_not_turned_back_unasked_by_who_undoes_one_thing_after_another(turned):
    answer = say(turned, "undo")
    assert (answer["intent"], answer["done"]) == ("undo", False)
    assert answer["answer"] == "Before that, memory was turned on in the space default. Shall I turn it off again?"
    assert is_on(turned)


@pytest.mark.parametrize(("said", "on"), [("yes", False), ("no", True), ("undo", True)])
def test_who_is_asked_whether_to_turn_a_switch_back_decides(turned, said, on):
    say(turned, "undo")
    say(turned, said)
    assert is_on(turned) is on


def test_what_is_turned_back_by_a_yes_can_be_undone(turned):
    say(turned, "undo")
    say(turned, "yes")
    say(turned, "undo")
    assert is_on(turned)


@pytest.mark.parametrize(
    ("first", "second", "asked"),
    [
        (
            "turn memory on",
            "turn memory off",
            "Before that, memory was turned off in the space default. Shall I turn it on",
        ),
        ("end incognito", "start incognito", "Before that, incognito was started. Shall I end it?"),
        ("start incognito", "end incognito", "Before that, incognito was ended. Shall I start it again?"),
    ],
)
def test_every_switch_is_asked_about(agent, ada, notes, first, second, asked):
    chat = agent.in_session("chat")
    say(chat, f"pin {notes['nuts']}")
    # In incognito nothing can be pinned, and with memory off nothing brought back.
    between = "pin" if "memory" in first else "forget"
    for said in (first, second, f"{between} {notes['bread']}", "undo"):
        say(chat, said)
    assert say(chat, "undo")["answer"].startswith(asked)


def test_a_switch_that_was_turned_last_is_turned_back_at_once(agent, notes):
    say(agent, "turn memory off")
    assert say(agent, "undo")["done"] is True
    assert is_on(agent)
