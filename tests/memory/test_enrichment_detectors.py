"""Names are found in what people say, and words that only begin a sentence are none."""

from __future__ import annotations

import time

import pytest

from memory.enrichment.detectors import LONGEST_READ, detect_names
from memory.enrichment.findings import LONGEST_SENTENCE


def names(text: str) -> dict[str, str]:
    return {name.name: name.type for name in next(detect_names([text]))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna: I met Bob in Lisbon.", {"Anna": "person", "Bob": "person", "Lisbon": "place"}),
        ("Caroline: see you then", {"Caroline": "person"}),
        ("> **Tom**: what is up?", {"Tom": "person"}),
        ("Grace: morning!\nLuis: hi\nGrace: tea?", {"Grace": "person", "Luis": "person"}),
        ("Thanks, Melanie!", {"Melanie": "person"}),
        ("Hey Jon, how is the dance studio?", {"Jon": "person"}),
        ("That sounds lovely, Gina.", {"Gina": "person"}),
        ("I had lunch with my colleague Nate yesterday.", {"Nate": "person"}),
        (
            "Zo\u00eb's sister Jos\u00e9e lives in Portugal.",
            {"Zo\u00eb": "person", "Jos\u00e9e": "person", "Portugal": "place"},
        ),
        ("She reads The Name of the Wind in Spanish.", {"Spanish": "language"}),
    ],
)
def test_names_of_conversations_are_found(text, expected):
    assert expected.items() <= names(text).items()


@pytest.mark.parametrize(
    "text",
    [
        "Awesome! Congrats! Woohoo!",
        "Wanna do something fun this summer?",
        "Glad you had a good time.",
        "Recipe: flour and eggs",
        "Shopping list: milk",
        "Note: the meeting moved to Monday",
        "Challenges can be tough.",
        "Blogging can really help.",
        "REMEMBER TO BUY THE MILK TODAY",
        "the quick brown fox jumps over the lazy dog",
        "user: hello\nassistant: hi there",
        "",
        "\u2603 \U0001f600 12345 !!!",
    ],
)
def test_words_that_are_no_names_are_left_alone(text):
    assert names(text) == {}


@pytest.mark.parametrize(
    "text", ["The job b42ed69c failed in Oslo", "The id is f171543459ec4cf297c4be005c9dfa3a, of Oslo"]
)
def test_an_id_is_no_name(text):
    assert names(text).keys() == {"Oslo"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨日 IKEAで棚を買いました。", {"IKEA"}),
        ("「IKEAで棚を買いました」と言った", {"IKEA"}),
        ("今日はTokyo Towerに行きました。", {"Tokyo Tower"}),
        ("Ben的车是Toyota的。", {"Ben", "Toyota"}),
        ("나는 Samsung에서 일한다", {"Samsung"}),
        ("私は毎朝六時に起きます。", set()),
    ],
)
def test_a_sentence_without_blanks_is_no_name_and_names_in_it_are(text, expected):
    assert names(text).keys() == expected


def test_a_title_is_nobody():
    assert names("I met Dr. Smith and told Lt. Dan.") == {"Smith": "person", "Dan": "person"}


def test_a_name_with_an_apostrophe_or_a_hyphen_is_one():
    assert names("Yesterday O\u2019Connor said hello, and Anne-Mary said nothing.").keys() == {
        "O\u2019Connor",
        "Anne-Mary",
    }


def test_parts_of_addresses_are_no_names():
    text = "see /Users/Anna/Documents, C:\\Users\\Bob and https://github.com/Acme/Loom, or write to tim.Cook@Apple.com"
    assert names(text) == {}


@pytest.mark.parametrize("bullet", ["- ", "* ", "3. ", "- [ ] ", ""])
def test_the_first_word_of_a_line_is_no_part_of_a_name(bullet):
    assert names(f"what is to do\n{bullet}Repair MyLoom for the office") == {"MyLoom": "other"}


@pytest.mark.parametrize(
    ("said", "reply", "name"),
    [
        ("Maria works on bridge restoration in Bergen", "Understood, Maria works there.", "Bergen"),
        ("My sister works at Umbrella GmbH.", "Nice, what does she do there?", "Umbrella GmbH"),
    ],
)
def test_a_name_ends_with_its_paragraph(said, reply, name):
    found = names(f"{said}\n\n{reply}")
    assert name in found
    assert not any(name in other for other in found.keys() - {name})


def test_an_interjection_is_no_part_of_a_name():
    assert names("Bye Caroline. Yep John, that is right.") == {"Caroline": "person", "John": "person"}


def test_an_abbreviation_is_nobody():
    assert names("Shoot landscapes in raw at base ISO on a tripod.") == {"ISO": "other"}


def test_who_insists_on_something_is_somebody():
    found = names("Clara chose sunflowers, and Tom\u00e1s insists on strawberries beside the gate.")
    assert found == {"Clara": "person", "Tom\u00e1s": "person"}


def test_a_product_that_is_written_like_a_name_is_found():
    assert "Xeonoblade Chronicles" in names("I am playing an old game called Xeonoblade Chronicles with friends.")


def test_one_name_has_one_type_in_a_text_and_a_mention_per_sentence():
    found = next(detect_names(["Gina: hello. I am sure that Gina is my name. Let us make it unforgettable, Gina."]))
    assert {(name.key, name.type) for name in found} == {("gina", "person")}
    assert len({name.sentence for name in found}) == 3


def test_confidences_are_shares():
    found = next(detect_names(["Anna: I met Bob of Siemens at the Louvre in Paris, with Redis and Harry Potter."]))
    assert {0 < name.confidence <= 1 for name in found} == {True}


def test_the_sentence_is_the_one_that_names_it():
    found = next(detect_names(["I like tea. My sister Anna likes coffee. We both like cake."]))
    assert [name.sentence for name in found] == ["My sister Anna likes coffee."]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("I moved to Lisbon\n\nI see, thank you for telling me.", "I moved to Lisbon"),
        ("I see\r\n\r\nAnna went to Lisbon by train", "Anna went to Lisbon by train"),
        ("Who lives where:\n- Anna lives in Lisbon\n- Bob stays at home", "- Anna lives in Lisbon"),
        ("Plans\n  1. Pack the bags\n  2. Drive to Lisbon\n\n\nThat is all", "Drive to Lisbon"),
        ("Anna: I moved to Lisbon\nBob Stone: nice, is it warm there?", "Anna: I moved to Lisbon"),
        ("| Name | Home |\n|---|---|\n| Anna | Lisbon |\n| Bob | Oslo |", "| Anna | Lisbon |"),
        ("We drove all the way\nto Lisbon last week", "We drove all the way to Lisbon last week"),
    ],
)
def test_a_sentence_without_a_full_stop_ends_with_its_paragraph_or_item(text, sentence):
    assert {name.sentence for name in next(detect_names([text])) if name.name == "Lisbon"} == {sentence}


def test_a_long_sentence_is_cut():
    found = next(detect_names(["My sister Anna likes " + "very " * 300 + "strong coffee."]))
    assert len(found[0].sentence) == LONGEST_SENTENCE


def test_a_long_text_is_read_at_its_beginning():
    assert names("I like tea. " * (LONGEST_READ // 12 + 1) + "My sister Anna likes coffee.") == {}


def test_texts_are_answered_in_their_order():
    found = [next(iter(each)).name for each in detect_names([f"My sister {name} called." for name in ("Anna", "Bea")])]
    assert found == ["Anna", "Bea"]


def test_many_names_behind_a_long_indent_are_found_in_time():
    text = "\t" * (LONGEST_READ // 2) + "we met " + "".join(f"Xylor{chr(97 + n)} and then " for n in range(26)) * 8
    names("Warm up.")
    started = time.thread_time()
    assert "Xylora" in names(text)
    assert time.thread_time() - started < 2
