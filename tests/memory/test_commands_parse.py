"""Commands in plain words: what they ask for, and what only sounds like one."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.commands.parse import LIKELY, NONE, SURE, Intent, bare, parse, share_of, speaks_of, words_of
from memory.ids import new_id

SAID = {
    "recall": [
        "What do you remember about the bakery?",
        "what do you know about my sister",
        "Tell me everything you know about Ada's allergies.",
        "Do you remember anything about the night train?",
        "what have I told you about my job?",
        "Have I told you about my dog?",
        "do you know where I live?",
        "Do you know my shoe size?",
        "show me what you have stored about Berlin, please",
        "search your memory for hazelnuts",
        "Could you remind me what I said about the invoice?",
        "What is in your memory about the boiler?",
        "recall the wifi password",
        "do you remember the name of the hotel?",
        "What did we decide about the boiler?",
        "what did I tell you yesterday?",
        "What do you remember from last week?",
        "show me everything I said last week",
    ],
    "forget": [
        "forget that",
        "Please forget that.",
        "Forget this, please!",
        "delete that memory",
        "could you erase that from your memory?",
        "no, forget that",
        "remove the last memory",
        "get rid of that",
        "don't remember that",
        "Forget what I said about the bakery.",
        "forget everything you know about my ex",
        "delete all memories about the old flat",
        "erase my address from memory",
        "forget that I live in Berlin",
        "forget about my knee",
        "I want you to forget what I told you about Ada",
        "forget them",
        "forget the second one",
        "forget number 3",
        "I want that forgotten",
        "forget that for good",
        "delete that permanently",
        "forget that right now",
        "you don't need to remember that",
        "I don't want you to remember that",
        "permanently delete everything about Ada",
        "purge everything you know about Ada",
        "remove all traces of Ada",
        "delete all my notes from yesterday",
        "delete my memories of Ada",
        "forget what I just told you about Ada",
        "forget I ever mentioned Ada",
        "forget that I told you about Ada",
        "forget the fact that Ada likes tea",
        "delete the memory that Ada likes tea",
    ],
    "pin": [
        "pin this",
        "Pin that, please.",
        "can you pin it?",
        "keep that forever",
        "always remember this",
        "never forget that",
        "mark that as important",
        "pin the first one",
        "pin what you know about my allergies",
        "pin them",
        "put a pin in that",
        "don't ever lose that",
    ],
    "unpin": [
        "unpin this",
        "Unpin that please",
        "un-pin it",
        "remove the pin",
        "take the pin off that",
        "stop pinning that",
        "don't pin that any more",
        "unpin the second one",
        "unpin what I said about Berlin",
        "that doesn't need to be pinned",
    ],
    "remember": [
        "Remember that I am allergic to hazelnuts.",
        "please remember that the bakery closes on Mondays",
        "remember: the code of the gate is 4711",
        "Note that Ada prefers aisle seats",
        "note down: buy no more oats",
        "keep in mind that I work from home on Fridays",
        "don't forget that my flight leaves at nine",
        "make a note that the boiler was serviced in May",
        "save to memory that I drink tea",
        "Can you remember that I moved to Lyon?",
        "remember my shoe size is 43",
        "For future reference, I am on Central European Time",
    ],
    "memory_off": [
        "turn memory off",
        "Turn off your memory, please.",
        "switch memory off",
        "stop remembering",
        "stop remembering things about me",
        "pause memory",
        "disable memory",
        "don't remember anything",
        "do not store anything about me",
        "stop recording what I say",
        "memory off",
        "remember nothing from now on",
    ],
    "memory_on": [
        "turn memory on",
        "turn memory back on",
        "Switch on your memory again",
        "resume memory",
        "enable memory",
        "start remembering again",
        "you can remember again",
        "memory on",
        "remember things again",
    ],
    "incognito_start": [
        "start incognito for this chat",
        "go incognito",
        "Incognito, please",
        "turn on incognito mode",
        "Let's go off the record",
        "off the record",
        "this is off the record",
        "switch incognito on",
        "make this chat private",
        "start a private chat",
        "I want to go incognito",
        "don't remember anything in this chat",
    ],
    "incognito_end": [
        "end incognito",
        "stop incognito mode",
        "leave incognito",
        "turn incognito off",
        "exit incognito for this chat",
        "back on the record",
        "we're back on the record",
        "no more incognito",
        "end the private chat",
    ],
    "undo": [
        "undo",
        "Undo that!",
        "undo the last thing",
        "take that back",
        "bring that back",
        "restore the memory",
        "revert that",
        "put it back",
        "unforget that",
        "bring back what you forgot",
        "undo that forgetting",
        "I didn't mean to do that",
        "please undo what you just did",
        "Scratch that.",
        "no wait, scratch that last one",
        "strike that",
        "Never mind, undo that!",
        "nevermind that, take it back",
        "never mind. Scratch that",
        "Oops, undo that",
    ],
}
NO_COMMAND = [
    "clear that",
    "clear my calendar",
    "I forgot my keys",
    "I always forget what I came for",
    "don't forget to buy milk",
    "never forget to floss",
    "I can't remember his name",
    "I remember that day well",
    "Remember me?",
    "remember when we went to Rome?",
    "She told me to forget him and move on",
    "How do I pin a message in Slack?",
    "The pin code is 4711",
    "My memory is bad",
    "This mattress is memory foam",
    "How do I turn off memory saver in Chrome?",
    "does incognito mode in Chrome hide my IP?",
    "undo the top button of the shirt",
    "scratch that itch",
    "scratch that, I live in Paris",
    "never mind the noise",
    "never mind, forget that",
    "list everything in the drawer",
    "show me everything is fine",
    "show me everything about black holes",
    "I want to list everything",
    "everything",
    "Do you know what time it is?",
    "Do you know the capital of France?",
    "do you remember me",
    "how do I delete a file in Linux?",
    "remove the second paragraph of the letter",
    "forget about it",
    "forget me not is a flower",
    "forget that old song",
    "forget that - I was wrong",
    "I want to forget that awful day",
    "delete all of my files",
    "you don't need to remember",
    "I want to forget that day",
    "He said: forget that",
    "What a nice day",
    "stop the music",
    "",
    "   ",
    "?",
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in SAID.items() for text in texts])
def test_a_command_is_understood(kind, text):
    intent = parse(text)
    assert intent.kind == kind
    assert intent.confidence >= (LIKELY if text == "do you remember the name of the hotel?" else SURE)


@pytest.mark.parametrize(
    "text", ["could you forget that?", "forget that, ok?", "Forget that, will you?", "forget that!"]
)
def test_an_order_in_the_form_of_a_question_is_one(text):
    intent = parse(text)
    assert (intent.kind, intent.confidence >= SURE) == ("forget", True)


@pytest.mark.parametrize(
    ("text", "kind", "subject"),
    [
        ("Remember\uff1a我的猫叫小花。", "remember", "我的猫叫小花"),
        ("forget that\uff01", "forget", ""),
        ("Forget what I said about 猫。", "forget", "猫"),
        ("What do you remember about 猫\uff1f", "recall", "猫"),
        ("What do you remember about القهوة\u061f", "recall", "القهوة"),
        ("Remember my birthday\uff1f", "none", ""),
    ],
)
def test_punctuation_is_that_of_any_keyboard(text, kind, subject):
    assert (parse(text).kind, parse(text).subject) == (kind, subject)
    assert parse(text.translate(str.maketrans("\uff1a\uff01。\uff1f\u061f", ":!.??"))) == parse(text)


@pytest.mark.parametrize("text", ["yes?", "Do it??", "sure ?"])
def test_who_asks_back_has_not_said_yes(text):
    assert parse(text).kind == "none"
    assert parse(text.replace("?", "!")).kind == "confirm"


@pytest.mark.parametrize("text", NO_COMMAND)
def test_talk_is_no_command(text):
    assert parse(text).kind == "none"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("forget it", "forget"),
        ("forget the milk", "forget"),
        ("forget that Ada likes tea", "forget"),
        ("forget that Dr. Weiss moved to Graz", "forget"),
        ("stop remembering my address", "forget"),
        ("I don't want you to remember Ada's address", "forget"),
        ("that's important", "pin"),
        ("I changed my mind", "undo"),
        ("forget that?", "forget"),
        ("Forget what I said about the bakery?", "forget"),
        ("undo?", "undo"),
    ],
)
def test_what_may_be_meant_otherwise_is_not_sure(text, kind):
    intent = parse(text)
    assert (intent.kind, LIKELY <= intent.confidence < SURE) == (kind, True)


@pytest.mark.parametrize(
    ("text", "target", "subject"),
    [
        ("forget that", "last", ""),
        ("forget all of them", "all", ""),
        ("Forget what I said about the Bakery.", "about", "the Bakery"),
        ("forget that I live in Berlin", "text", "I live in Berlin"),
        ("forget that Ada likes tea", "text", "Ada likes tea"),
        ("forget the fact that Ada likes tea", "text", "Ada likes tea"),
        ("delete the note that Ada likes tea", "text", "Ada likes tea"),
        ("forget I ever mentioned Ada", "about", "Ada"),
        ("remove all traces of Ada from your memory", "about", "Ada"),
        ("stop remembering my address", "about", "my address"),
        ("What do you know about Ada's dog?", "about", "Ada's dog"),
        ("What do you know about me and Ada?", "about", "me and Ada"),
        ("What do you know about me?", "everything", ""),
        ("what do you remember", "everything", ""),
        ("Do you remember anything about me?", "everything", ""),
        ("tell me everything you know about me", "everything", ""),
        ("Show me all my memories, please.", "everything", ""),
        ("What's in your memory?", "everything", ""),
        ("list everything", "everything", ""),
        ("Show me everything, please!", "everything", ""),
        ("show all my memories", "everything", ""),
        ("show me everything you have about me", "everything", ""),
        ("list everything in your memory", "everything", ""),
        ("remember that I want to list everything", "text", "I want to list everything"),
        ("remember that she said: scratch that", "text", "she said: scratch that"),
        ("What's in your memory about us?", "everything", ""),
        ("what do you have on me?", "everything", ""),
        ("What memories do you have about myself?", "everything", ""),
        ("What have you stored about Me?", "everything", ""),
        ("what have you saved about the boiler", "about", "the boiler"),
        ("list all notes about the garden", "about", "the garden"),
        ("Hey, could you please remember that Ada likes Tea?", "text", "Ada likes Tea"),
    ],
)
def test_the_rest_of_the_sentence_is_the_subject(text, target, subject):
    intent = parse(text)
    assert (intent.target, intent.subject) == (target, subject)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Remember that Alice said thanks", "Alice said thanks"),
        ("remember that my sister bakes bread for me", "my sister bakes bread for me"),
        ("remember that John is not ok.", "John is not ok"),
        ("Note that the store closes now", "the store closes now"),
        ("remember: the code is Xy?!", "the code is Xy?!"),
        ("remember that it goes on and on ...", "it goes on and on ..."),
        ("remember that I drink tea, please.", "I drink tea"),
        ("remember that I drink tea please", "I drink tea"),
        ("remember that I drink tea, ok?", "I drink tea"),
        ("Could you remember that the code is Xy!?", "the code is Xy!"),
        ("Remember this:\n- eggs\n- milk\n\n    in blocks", "- eggs\n- milk\n\n    in blocks"),
        ("remember that " + "  so   it goes on " * 30 + "thanks", ("so   it goes on   " * 30).rstrip() + " thanks"),
    ],
)
def test_what_is_to_be_remembered_is_kept_as_it_was_said(text, told):
    assert parse(text) == Intent("remember", parse(text).confidence, "text", told)


@pytest.mark.parametrize("sign", ["\u2019", "\u2018", "\u02bc", "\uff07"])
@pytest.mark.parametrize(
    "text",
    [
        "don't remember anything from this chat",
        "what's in your memory about Ada's dog?",
        "don't forget that Ada's train leaves at nine",
        "I'd like you to forget what I said about Ada's dog",
        "this doesn't need to stay pinned",
    ],
)
def test_an_apostrophe_may_be_any_that_is_written(text, sign):
    intent = parse(text)
    assert intent.kind != "none"
    assert parse(text.replace("'", sign)) == replace(intent, subject=intent.subject.replace("'", sign))


@pytest.mark.parametrize(
    "text", ["Remember that song?", "remember that time we went to Rome?", "Remember my shoe size?"]
)
def test_a_question_is_no_order_to_remember(text):
    assert parse(text) == NONE


@pytest.mark.parametrize(
    "text",
    [
        "forget everything",
        "Please forget all of it.",
        "forget everything you know about me",
        "delete all my memories",
        "delete everything from your memory",
        "erase all the notes you have",
        "wipe your memory",
        "pin everything",
        "unpin everything",
    ],
)
def test_everything_alone_has_no_subject(text):
    intent = parse(text)
    assert (intent.kind in {"forget", "pin", "unpin"}, words_of(intent.subject)) == (True, [])


def test_a_text_has_a_share_of_what_is_meant():
    coffee = "No coffee after 14:00; a second espresso then costs half the night."
    assert share_of(coffee, "I drink my tea without sugar") == 0
    assert share_of("Tea is drunk without milk", "I drink my tea without sugar") == 0.5
    assert share_of("Ada is allergic to nuts", "my hazelnut allergies") == 0.5


def test_what_an_apostrophe_shortens_is_no_word_of_a_subject():
    assert words_of("Clara's birthday, I'm told") == ["clara", "birthda"]
    assert words_of("vitamin D") == ["vitamin", "d"]


MANY = (
    "forget everything about Clara",
    "forget all about my sister",
    "forget all that I told you about Clara",
    "forget whatever you know about Clara",
    "forget anything I mentioned concerning Clara",
    "delete all my notes on Clara",
    "delete all my notes on Clara from memory",
    "erase everything about Clara from memory",
    "forget my notes about Clara",
    "drop all of the facts you have regarding Clara",
    "delete every memory about Clara",
    "get rid of any notes about Clara",
    "clear everything about Clara",
    "don't remember anything about Clara",
    "forget them",
    "pin everything about Clara",
    "pin all my notes about Clara",
    "unpin whatever you know about Clara",
    "unpin both",
)


@pytest.mark.parametrize("text", MANY)
def test_everything_is_a_wish_for_several(text):
    intent = parse(text)
    assert (intent.several, intent.confidence >= SURE) == (True, True)
    assert intent.subject in {"", "Clara", "my sister"}


@pytest.mark.parametrize(
    "text", ["forget that", "forget what I said about Clara", "forget the note about Clara", "pin my note about Clara"]
)
def test_one_thing_is_no_wish_for_several(text):
    assert not parse(text).several


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("forget the second one", 2),
        ("forget number 3", 3),
        ("pin the last one", -1),
        ("pin #4", 4),
        ("forget 2", 2),
        ("just the first, please", 1),
        ("2", 2),
    ],
)
def test_a_place_in_the_list_is_counted_from_one(text, place):
    assert (parse(text).target, parse(text).place) == ("place", place)


def test_an_id_names_one_memory():
    memory_id = new_id()
    assert parse(f"forget memory {str(memory_id).upper()}").id == memory_id


def test_yes_and_no_are_answers():
    yes, no = ("Yes", "go ahead", "yes, forget them", "all of them", "all"), ("no", "never mind", "none of them")
    assert [parse(word).kind for word in (*yes, *no)] == ["confirm"] * len(yes) + ["cancel"] * len(no)


def test_a_long_text_may_be_remembered_and_orders_nothing_else():
    text = "forget that " + "and so on " * 100
    assert parse(text) == NONE
    assert parse(f"remember that {text}").subject == text.strip()


@given(st.text(max_size=600))
@example("remember that \x00")
@example("forget " + "that " * 80)
def test_any_text_has_one_reading(text):
    intent = parse(text)
    assert parse(text) == intent
    assert 0 <= intent.confidence <= 1
    assert (intent.kind == "none") == (intent.confidence == 0)
    assert intent.subject in text or intent.subject in " ".join(text.split())


@given(
    st.sampled_from([(kind, text) for kind, texts in SAID.items() for text in texts]),
    st.sampled_from(["", "please ", "Hey, ", "ok, ", "Could you "]),
    st.sampled_from(["", ".", "!", " please", ", thanks", "   "]),
)
def test_politeness_and_case_change_nothing(said, before, after):
    kind, text = said
    assert parse(before + text[0].lower() + text[1:].rstrip("?.!") + after).kind == kind
    assert parse(text.upper()).kind == kind


@pytest.mark.parametrize("filling", [" ", "that ", "please ", ".", "remember that ", "\n\n", "forget "])
def test_a_long_text_is_read_in_no_time(filling):
    text = "remember that a" + filling * (60_000 // len(filling)) + "b"
    started = time.thread_time()
    parse(text)
    parse(text[14:])
    assert time.thread_time() - started < 2


@given(st.text(max_size=100))
def test_what_is_bare_stays_bare(text):
    assert len(bare(text)) <= len(text)


@given(st.text(alphabet=st.characters(categories=["Ll", "Zs"]), max_size=40))
def test_talk_about_forgetting_is_no_order_to_forget(rest):
    assert parse(f"I forgot {rest}").kind == "none"
    assert parse(f"do not forget to {rest}").kind == "none"


def test_a_text_speaks_of_what_its_words_say():
    assert speaks_of("The bakery on Mill Lane closes on Mondays.", "the bakery")
    assert not speaks_of("The bakery on Mill Lane closes on Mondays.", "the bakery in Lyon")
    assert not speaks_of("Anything at all", "what you know about me")
    assert words_of("what about my two dogs") == ["two", "dog"]
