"""When a search finds nothing, and when it says that much of what it searched has no vector yet."""

from __future__ import annotations

import pytest
from shelf import Shelf

from memory.storage.shelves import ENTITIES, EPISODES
from retrieval.reading.hearing import LOOKED_AT
from retrieval.search import WAITING

TEXTS = (
    "Anneke Solberg decides the order of the backlog",
    "HERON-42 moves the label printer to another server",
    "The invoice of May 2025 is paid",
    "Tea is kept in the blue tin",
    "The gate is locked after dusk",
    "The lift carries six people",
    "Plot 17 has stood empty for a year",
    "The choir sings on Thursdays",
)


@pytest.fixture
def shelf(runtime, ada):
    return Shelf(runtime, ada, TEXTS)


def test_what_is_asked_of_a_name_takes_more_than_the_name(shelf):
    assert shelf.found("Where does Anneke go on holiday?", cosine=0.45) == []
    assert shelf.found("Where does Anneke go on holiday?", cosine=0.65) == [TEXTS[0]]
    assert shelf.found("Does Anneke decide about the backlog?", cosine=0.2) == [TEXTS[0]]


def test_what_is_asked_of_a_name_is_compared_without_it(shelf):
    asked = "Where does Anneke go on holiday?"
    assert shelf.found(asked, cosine=0.45, rest=0.23) == [TEXTS[0]]
    assert shelf.embedder.asked == [asked, "Where does go on holiday?"]
    silent = shelf.ask(asked, cosine=0.45, rest=0.21)
    assert (silent.hits, silent.withheld) == ((), 1)
    assert shelf.found(asked, cosine=0.25, rest=0.9) == [], "the whole question must be alike as well"


@pytest.mark.parametrize(
    ("asked", "near", "found"),
    [
        ("How many people does the lift carry?", 5, True),
        ("How old is the lift?", 5, True),  # It says a number; of what is not looked at.
        ("How often is the gate locked?", 4, False),
        ("When is the gate locked?", 4, True),
        ("How often does the choir sing?", 7, True),
        ("How many invoices are paid?", 2, True),
    ],
)
def test_an_amount_is_answered_by_what_says_one(shelf, asked, near, found):
    got = shelf.ask(asked, near=near, cosine=0.8)
    assert (TEXTS[near] in [hit.snippet for hit in got.hits], got.withheld > 0) == (found, not found)


@pytest.mark.parametrize("more", [0, 1])
def test_where_more_is_about_it_than_is_read_again_it_is_answered(runtime, bob, more):
    shelf = Shelf(runtime, bob, [f"The gate of garden {chr(97 + n)} is locked" for n in range(LOOKED_AT + more)])
    assert bool(
        shelf.found("How often is the gate of the garden locked?", cosine=0.1, policy={"min_score": 0.01})
    ) == bool(more)


def test_an_identifier_that_nobody_has_is_not_answered_by_what_is_alike(shelf):
    assert shelf.found("saltmarsh_v12.docx", near=1, cosine=0.9) == []
    assert shelf.found("saltmarsh", near=1, cosine=0.9) == [TEXTS[1]]


def test_nothing_more_is_embedded_where_a_name_decides_nothing(shelf):
    for asked, near, cosine in [
        ("Where does Anneke go on holiday?", 0, 0.65),
        ("Does Anneke decide about the backlog?", 0, 0.2),
        ("Where does Ottokar go on holiday?", 0, 0.45),
        ("Where is the tin?", 3, 0.2),
        ("Anneke?", 4, 0.1),
    ]:
        shelf.ask(asked, near=near, cosine=cosine)
        assert len(shelf.embedder.asked) == 1, asked


def test_a_model_that_fails_at_the_rest_leaves_silence_and_says_so(shelf):
    silent = shelf.ask("Where does Anneke go on holiday?", cosine=0.45, rest=None)
    assert (silent.hits, silent.withheld, silent.degraded) == ((), 1, ("semantic",))


def test_another_identifier_of_the_same_kind_is_not_meant(shelf):
    assert shelf.found("What is HERON-99?", near=1, cosine=0.6) == []
    assert shelf.found("What is HERON-42?", near=1, cosine=0.1) == [TEXTS[1]]


def test_what_is_asked_of_another_name_takes_more_than_the_rest(shelf):
    asked = "Where is the key of Ottokar, and which tea does the sailor drink?"
    assert shelf.found(asked, near=3, cosine=0.45) == []
    assert shelf.found(asked.replace("Ottokar", "the tin"), near=3, cosine=0.45)[0] == TEXTS[3]


def test_the_user_is_no_part_of_what_is_embedded(shelf):
    shelf.ask("Which tea does the user like?", near=3, cosine=0.45)
    assert shelf.embedder.asked == ["Which tea does like?"]


def test_words_alone_answer_where_half_of_the_question_is_said(shelf):
    assert shelf.found("the blue tin", cosine=0.0) == [TEXTS[3]]
    assert shelf.found("the blue warranty insurance policy of the washing machine", cosine=0.0) == []


def test_a_threshold_of_nothing_is_never_silent(shelf):
    assert shelf.found("What is HERON-99?", near=1, cosine=0.6, policy={"min_score": 0})[0] == TEXTS[1]
    assert shelf.found("Where does Anneke go on holiday?", cosine=0.45, policy={"sure_cosine": 0}) == [TEXTS[0]]


def test_silence_says_how_many_were_kept_back(shelf):
    asked = "Where does Anneke go on holiday?"
    silent = shelf.ask(asked, cosine=0.45)
    assert (silent.hits, silent.withheld) == ((), 1)
    assert len(shelf.ask(asked, cosine=0.45, policy={"sure_cosine": 0}).hits) == 1
    asked, most = "Does the choir or the lift sail, swim or ski?", {"min_score": 0.05}
    assert [shelf.ask(asked, cosine=0.2, policy=most, limit=limit).withheld for limit in (1, 2, 9)] == [1, 2, 3]
    assert shelf.ask("Zeppelins?", cosine=0.1).withheld == 0
    assert shelf.ask("the blue tin", near=3, cosine=0.9).withheld == 0


def test_an_answer_says_how_much_of_the_question_a_hit_covers(shelf):
    hit = shelf.ask("the blue tin of coffee", near=3, cosine=0.9).hits[0]
    assert 0.3 < hit.ranked.scored.coverage < 0.8


@pytest.mark.parametrize(("lost", "said"), [(0, ()), (2, ()), (3, (WAITING,)), (8, (WAITING,))])
def test_a_notable_share_without_vectors_is_said(shelf, lost, said):
    shelf.lose(slice(lost))
    assert shelf.ask("tea", near=3, cosine=0.9).degraded == said


def test_where_the_space_is_larger_what_words_list_tells_it(runtime, bob):
    shelf = Shelf(runtime, bob, [f"The kettle of room {n} whistles" for n in range(100)])
    assert shelf.ask("kettle", cosine=0.9).degraded == ()
    shelf.lose(slice(0, None, 2))
    assert shelf.ask("kettle", cosine=0.9).degraded == (WAITING,)
    # Nothing that words list: then it does not show.
    assert shelf.ask("umbrella", cosine=0.9).degraded == ()


def test_what_narrows_a_question_does_not_look_like_missing_vectors(shelf):
    assert shelf.ask("tea", near=3, cosine=0.9, types=("decision",)).degraded == ()


@pytest.mark.parametrize("question", ["?", '""', " ... ", "\\", "%", "\u202e", "\u3002"])
def test_signs_alone_ask_for_nothing(shelf, question):
    for policy in ({}, {"sure_cosine": 0.0}, {"min_score": 0.0}):
        result = shelf.ask(question, cosine=0.9, policy=policy)
        assert (result.hits, result.withheld, result.degraded, result.error) == ((), 0, (), False)


def test_a_currency_asks_for_something(shelf):
    assert shelf.ask("\N{EURO SIGN}", cosine=0.9).hits


BEE, HEART, COLOURED = "\N{HONEYBEE}", "\N{HEAVY BLACK HEART}", "\N{VARIATION SELECTOR-16}"
GERMANY, DOWN = "\U0001f1e9\U0001f1ea", "\U0001f1ea\U0001f1e9"
PICTURES = (f"Ada keeps {BEE}", f"Tea {HEART}{COLOURED} and {BEE}{BEE}{BEE}", f"The {GERMANY} team lost")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (BEE, [PICTURES[1], PICTURES[0]]),
        (f'"{BEE}"?', [PICTURES[1], PICTURES[0]]),
        (HEART, [PICTURES[1]]),
        (f"{HEART}{COLOURED} {BEE}", [PICTURES[1]]),
        (GERMANY, [PICTURES[2]]),
        (DOWN, []),
        ("\N{ROCKET}", []),
        (f"{HEART} {GERMANY}", []),
    ],
)
def test_a_picture_finds_what_has_it_whatever_is_alike_to_it(runtime, bob, asked, found):
    shelf = Shelf(runtime, bob, (*TEXTS, *PICTURES))
    result = shelf.ask(asked, cosine=0.9)
    assert [hit.snippet for hit in result.hits] == found
    assert result.degraded == ()
    assert all(hit.ranked.scored.candidate.bm25 > 0 for hit in result.hits), "it is a match of words"
    assert shelf.found(asked, cosine=0.9, types=("fact",)) == []


def test_a_picture_is_found_where_no_memory_has_a_word(runtime, bob):
    shelf = Shelf(runtime, bob, (BEE, f"{BEE}, {BEE} {HEART}"))
    result = shelf.ask(BEE, cosine=0.9)
    assert ({hit.snippet for hit in result.hits}, result.error) == ({BEE, f"{BEE}, {BEE} {HEART}"}, False)


def test_a_picture_is_found_on_every_shelf(runtime, bob):
    shelf = Shelf(runtime, bob, TEXTS)
    for other in (EPISODES, ENTITIES):
        result = shelf.ask(BEE, shelf=other)
        assert (result.hits, result.error) == ((), False)


def test_a_quoted_phrase_is_found_as_it_is_written(runtime, bob):
    texts = ("The lemon\ntree is ill", "A tree of lemons", "The lemon trees bloom", "Tea with lemon")
    shelf = Shelf(runtime, bob, texts)
    assert shelf.found('"Lemon Tree"', near=1, cosine=0.9) == [texts[0]]
    assert shelf.found("\u201clemon tree\u201d \u00abill\u00bb") == [texts[0]]
    assert shelf.found('"pear tree"', near=1, cosine=0.9) == []
    assert set(shelf.found('Is a "lemon tree" ill?', near=1, cosine=0.9)) > {texts[0]}, "a question means its words"


def test_a_quoted_phrase_is_found_among_many_that_have_its_words(runtime, bob):
    long = (
        "We talked of the garden, the roof, a boat and two letters. " * 3 + "Nobody was there for the project update."
    )
    texts = (*(f"Update {number} of the project" for number in range(120)), long)
    shelf = Shelf(runtime, bob, texts)
    assert shelf.found('"project update"', near=3) == [long]
    assert shelf.found('"project update" "nobody was there"', near=3, types=("fact",)) == []
    assert shelf.found('"update project"', near=3) == []


def test_a_quoted_phrase_is_found_however_far_down_it_stands(runtime, bob):
    long = "The lemon tree by the well, which Ada planted with her uncle in a wet and windy spring, has new leaves"
    shelf = Shelf(runtime, bob, (*(f"Tree, lemon: {number}" for number in range(12)), long))
    assert shelf.found('"lemon tree"', limit=1) == [long]
    assert shelf.found("lemon tree", limit=1) != [long]


def test_a_word_that_only_a_long_note_has_finds_it(runtime, ada):
    sentence = "The committee talked at length about the budget for the roof and who would pay for it. "
    long = sentence * 60 + "The hint is marzipan otter."
    shelf = Shelf(runtime, ada, (*(f"Box {number} stands on shelf {number * 7}" for number in range(20)), long))
    [hit] = shelf.ask("marzipan otter", near=20).hits
    assert hit.ranked.scored.candidate.text == long
    assert shelf.found("marzipan quarry", near=20) == []
