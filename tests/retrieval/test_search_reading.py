"""Notes are read together with the question, and silence follows from that alone."""

from __future__ import annotations

import pytest
from shelf import NOW, Shelf, pointing

from retrieval.policy import NAMED
from retrieval.reading.reading import shared_reader

TEXTS = (
    "Rex, our old spaniel, had his rabies shot in May",
    "Tea is kept in the blue tin",
    "HERON-42 moves the label printer to another server",
    "The gate is locked after dusk",
    "Der Ersatzschlüssel liegt unter dem dritten Blumentopf",
    "Ada: I moved to Rome",
)
REX = (
    *("Rex sleeps in the hall", "Rex has a red collar", "Rex fears thunder", "Rex can swim"),
    *("Rex likes the ferry", "Rex hates the hoover", "Rex is in the garden"),
)


class ReadShelf(Shelf):
    """A shelf whose questions are read together with its memories."""

    def ask(self, question, **fields):
        return super().ask(question, **{"reader": shared_reader, **fields})

    def reads(self, question, **policy):
        """Return how many notes were read for a question."""
        counted = Counted()
        self.ask(question, cosine=0.9, policy=policy, reader=lambda: counted)
        return counted.count


class Counted:
    """The reader, how many likelihoods were asked of it, and how many at once."""

    def __init__(self):
        self.reader = shared_reader()
        self.count = 0
        self.at_once = ()

    def can_take(self, question):
        return self.reader.can_take(question)

    def each(self, asked, **more):
        self.at_once = more["at_once"]
        for sureness in self.reader.each(asked, **more):
            self.count += 1
            yield sureness


@pytest.fixture
def shelf(runtime, ada):
    return ReadShelf(runtime, ada, TEXTS)


def test_what_is_about_it_and_does_not_answer_is_kept_back(shelf):
    found = shelf.ask("Has Rex been vaccinated?", cosine=0.5)
    assert [hit.snippet for hit in found.hits] == [TEXTS[0]]
    assert (found.withheld, "read" in found.timings) == (0, True)
    assert found.hits[0].ranked.scored.candidate.sureness > 0.2
    silent = shelf.ask("What does Rex weigh?", cosine=0.9)
    assert (silent.hits, silent.withheld) == ((), 1)


def test_what_answers_is_found_however_little_alike_its_vector_is(shelf):
    asked = "Which container do I get the tea from?"
    assert shelf.found(asked, near=1, cosine=0.2) == [TEXTS[1]]
    assert shelf.found(asked, near=1, cosine=0.2, policy={"reads": 0}) == [], "the rules want more"


def test_what_answers_is_found_though_nothing_speaks_for_it(shelf):
    asked = "Which container do I get the tea from?"
    assert shelf.found(asked, near=1, cosine=0.05) == [TEXTS[1]]
    assert shelf.found(asked, near=1, cosine=0.05, policy={"reads": 0}) == []
    assert NAMED["balanced"].min_score > 0.05


def test_what_is_faint_and_does_not_answer_is_neither_shown_nor_counted(shelf):
    found = shelf.ask("Which container do I get the tea from?", near=1, cosine=0.5)
    assert [hit.snippet for hit in found.hits] == [TEXTS[1]]
    silent = shelf.ask("Where is the piano tuned?", near=1, cosine=0.05)
    assert (silent.hits, silent.withheld, "read" in silent.timings) == ((), 0, True)


def test_who_wants_more_evidence_gets_what_is_as_likely_to_answer(shelf):
    asked = "Which container do I get the tea from?"
    (hit,) = shelf.ask(asked, near=1, cosine=0.05, policy={"min_score": 0.5}).hits
    assert hit.ranked.scored.candidate.sureness > 0.5
    assert shelf.found(asked, near=1, cosine=0.05, policy={"min_score": 1.0}) == []


def test_only_the_best_are_read(shelf):
    asked = "What is closed at night?"
    assert shelf.found(asked, near=3, cosine=0.4) == [TEXTS[3]]
    assert shelf.found(asked, near=1, cosine=0.9, policy={"reads": 1}) == []


def test_key_words_bring_what_has_them_all(shelf):
    assert shelf.found("Rex") == [TEXTS[0]]
    assert "read" not in shelf.ask("Rex").timings, "what is told needs no reading"
    assert shelf.found("tea tin") == [TEXTS[1]]
    assert shelf.found("tea price") == []
    assert shelf.found("What does the tea tin weigh?") == [], "a question is more than its words"


def test_an_identifier_brings_what_has_it(shelf):
    assert shelf.found("What do we know of HERON-42?") == [TEXTS[2]]
    assert shelf.found("HERON-42", near=3, cosine=0.3)[0] == TEXTS[2]
    assert shelf.found("Where does HERON-43 move the label printer?", near=2, cosine=0.9) == []


def test_an_identifier_may_be_written_in_groups(runtime, ada):
    shelf = ReadShelf(runtime, ada, ("The pickup has the plate NP 118 402", *TEXTS[:3]))
    assert shelf.found("NP 118 402", cosine=0.5)[0] == shelf.found("np118402", cosine=0.5)[0]
    assert shelf.found("NP 118 420", cosine=0.5) == []


def test_a_version_beside_an_identifier_is_asked_for_too(shelf):
    assert shelf.found("What do we know of HERON-42?", near=2, cosine=0.5) == [TEXTS[2]]
    assert shelf.found("Who wrote firmware 1.44 of HERON-42?", near=2, cosine=0.5) == []


def test_an_identifier_beside_the_question_is_not_asked_for(shelf):
    told = "I am in src/tea_v2.py on branch OTTER-1234 (it fails). "
    assert shelf.found(f"{told}Where is the tea kept?", near=6, cosine=0.3)[0] == TEXTS[1]
    assert shelf.found(f"{told}What is OTTER-57 about?", near=6, cosine=0.3) == []
    assert shelf.found("OTTER-57 fails. Which server does it need?", near=6, cosine=0.3) == []
    assert shelf.found("OTTER-57 is slow. What is HERON-42 about?", near=6, cosine=0.3)[0] == TEXTS[2]


def test_a_name_without_its_number_may_be_meant_and_with_another_is_not(runtime, ada):
    texts = (
        *("The BMW is serviced at Hofer in Landshut", "Sprint-42 ended early", "The MAN 441 is parked in Ulm"),
        *("Handover of house 7 is at ten", "4,310 kWh in September", "The laptop runs Ubuntu 24.04", "Grey roof tiles"),
    )
    shelf = ReadShelf(runtime, ada, texts)
    assert shelf.found("Where is the BMW 320 serviced?", near=3, cosine=0.5)[0] == texts[0]
    assert texts[1] in shelf.found("sprint 42", near=3, cosine=0.5)
    assert shelf.found("sprint 43") == []
    assert shelf.found("Where is the MAN 414 parked?") == []
    assert shelf.found("Where is the MAN 441 parked?")[0] == texts[2]
    assert shelf.found("What happened in sprint 43?", near=1, cosine=0.5) == []
    assert shelf.found("handover house 7")[0] == texts[3]
    assert shelf.found("handover house 11", near=6, cosine=0.35) == [], "tiles are a little alike, and no house"
    assert shelf.found("Ubuntu 24.04")[0] == shelf.found("ubuntu 24")[0] == texts[5]
    assert shelf.found("ubuntu 22.04", near=5, cosine=0.5) == []


def test_a_week_and_a_letter_tell_one_from_another_as_numbers_do(runtime, ada):
    texts = ("The crane is booked for week 38 and week 41", "The tenant of flat A is Hege", "Grey roof tiles")
    shelf = ReadShelf(runtime, ada, texts)
    assert shelf.found("crane week 41", near=0, cosine=0.5)[0] == texts[0]
    assert shelf.found("crane week 39", near=0, cosine=0.5) == []
    assert shelf.found("Who is the tenant of flat A?", near=1, cosine=0.5)[0] == texts[1]
    assert shelf.found("Who is the tenant of flat B?", near=1, cosine=0.5) == []


def test_key_words_of_a_time_bring_nothing_of_another(runtime, ada):
    texts = ("4,310 kWh in September", "Grey roof tiles", "Rent paid since June: 900 euros", "Boiler fitted May 2021")
    # Stored on the first of June.
    shelf = ReadShelf(runtime, ada, texts)
    assert shelf.found("kWh in September")[0] == texts[0]
    assert shelf.found("kWh in August", near=1, cosine=0.35) == [], "tiles are a little alike, and no kWh"
    assert shelf.found("rent in July", near=2, cosine=0.5)[0] == texts[2], "what holds since June may hold in July"
    assert shelf.found("boiler 2027", near=3, cosine=0.5)[0] == texts[3], "what was fitted is there still"
    assert shelf.found("kWh in June", near=0, cosine=0.5)[0] == texts[0], "that is when it was noted"


def test_what_was_kept_at_the_time_that_is_asked_for_need_not_say_it(runtime, ada):
    texts = ("Upgraded axum from 0.6 to 0.7; only hyper's Body broke in log.rs", "On 9 May we replaced the old boiler")
    shelf = ReadShelf(runtime, ada, texts)
    shelf.keep_at(NOW)
    assert shelf.found("What did we upgrade in June 2025?", cosine=0.3)[:1] == [texts[0]]
    assert shelf.found("What did we upgrade in June 2024?", cosine=0.3) == []
    assert shelf.found("Which device did we replace in June 2025?", near=1, cosine=0.3) == [], "it tells its own day"


def test_when_something_was_done_is_told_by_the_day_on_which_that_was_kept(runtime, ada):
    texts = ("Repotted the fern", "Bought a used piano for 280 euros", "Tea is kept in the tin")
    shelf = ReadShelf(runtime, ada, texts)
    assert shelf.found("When did I repot the fern?", near=0, cosine=0.5)[:1] == [texts[0]]
    assert shelf.found("Which day did I buy the piano?", near=1, cosine=0.5)[:1] == [texts[1]]
    assert shelf.found("When do I tune the piano?", near=1, cosine=0.5) == [], "no day of before tells that"
    assert shelf.found("When was the piano built?", near=1, cosine=0.5) == [], "nor that"


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("When did I buy the car?", "Bought a bike"),
        ("When did I buy the car?", "Sold the car"),
        ("When did I repot the fern?", "Watered the fern"),
        ("When did I call the doctor?", "Called the dentist"),
        ("When did Ada move to Rome?", "Ada moved to Milan"),
        ("When was grandma born?", "Grandma was a teacher"),
    ],
)
def test_the_day_of_what_else_was_done_is_no_answer(runtime, ada, question, note):
    shelf = ReadShelf(runtime, ada, (note, "Tea is kept in the tin"))
    assert shelf.found(question, near=0, cosine=0.7) == []


def test_another_number_is_kept_silent_among_more_than_are_fetched(runtime, ada):
    texts = [f"Sprint {number} ended early" for number in range(100, 140)]
    # All are as alike to the question as notes are that say the same of each.
    shelf = ReadShelf(runtime, ada, texts, pointing(0, 0.9)[None, :].repeat(len(texts), axis=0))
    assert shelf.found("sprint 999", cosine=0.6) == []
    assert shelf.found("sprint 117", cosine=0.6)[0] == texts[17]


def test_other_languages_are_judged_by_the_rules(shelf):
    asked = "Wo liegt der Ersatzschlüssel?"
    assert shelf.found(asked, near=4, cosine=0.5) == [TEXTS[4]]
    assert "read" not in shelf.ask(asked, near=4, cosine=0.5).timings
    assert shelf.found("Where did we hide the spare key?", near=4, cosine=0.5) == [TEXTS[4]]
    assert shelf.found("Where did we hide the spare key?", near=4, cosine=0.2) == []


def test_turns_of_a_talk_are_not_read(runtime, ada):
    shelf = ReadShelf(runtime, ada, (TEXTS[5], "Ben: And how is it there?"))
    found = shelf.ask("What does Ada weigh?", cosine=0.9)
    assert [hit.snippet for hit in found.hits] == [TEXTS[5]]
    assert "read" not in found.timings


def test_a_talk_that_was_pasted_into_a_note_is_not_read(runtime, ada):
    said = (
        "Notes of 4 May\n\nPer: We had the boiler looked at.\nIda: And, does it run?\nPer: Like new, since Tove came."
    )
    shelf = ReadShelf(runtime, ada, (*TEXTS[:4], said))
    assert len(shelf.ask("What did Tove do for our heating?", near=4, cosine=0.7).hits) == 1
    assert shelf.found("Which ferry goes to Skagen?", near=4, cosine=0.1) == []
    (hit, *_) = shelf.ask("Who repaired the boiler?", near=4, cosine=0.7).hits
    assert hit.ranked.scored.candidate.sureness is None


def test_with_no_evidence_wanted_nothing_is_read(shelf):
    found = shelf.ask("What does Rex weigh?", cosine=0.9, policy={"min_score": 0.0})
    assert found.hits
    assert "read" not in found.timings


def test_a_heading_before_a_note_makes_it_no_turn(runtime, ada):
    shelf = ReadShelf(runtime, ada, (*TEXTS[:4], "Town hall, second meeting: the roof is paid by the county"))
    assert len(shelf.ask("Who pays for the roof?", near=4, cosine=0.2).hits) == 1
    assert shelf.found("When is the roof mended?", near=4, cosine=0.6) == []


def test_labels_make_notes_no_talk(runtime, ada):
    labelled = (
        "Ferry: leaves at 9:15 from pier two",
        "Garage: the brakes are done on Monday",
        "Bank: closed in August",
        "memo: buy nails and a hinge for the gate",
        "memo: Okri has the drill",
    )
    shelf = ReadShelf(runtime, ada, labelled)
    assert shelf.found("When does our boat go?", cosine=0.2) == [labelled[0]]
    assert shelf.found("What does the ferry cost?", cosine=0.6) == []


def test_a_long_note_is_judged_by_the_rules(runtime, ada):
    long = "The meeting went on about the budget of the year. " * 60 + "Tove looks after the boiler."
    shelf = ReadShelf(runtime, ada, (*TEXTS[:4], long))
    assert len(shelf.ask("Who looks after our heating?", near=4, cosine=0.5).hits) == 1
    assert shelf.found("Who looks after our heating?", near=4, cosine=0.1) == []


def test_who_asks_who_somebody_is_gets_what_has_the_name(runtime, ada):
    texts = (
        "Renske Dall and the others met at the lock on Sunday",
        "The lock is painted by Renske Dall, who keeps the boats in order",
        "The keys went to Okri on Tuesday",
    )
    shelf = ReadShelf(runtime, ada, (*texts, *TEXTS[1:3]))
    assert set(shelf.found("Who is Renske Dall?")) == set(texts[:2])
    assert shelf.found("Who is Okri?") == [texts[2]], "however little it says"
    assert shelf.found("Who is Renske Moor?") == []
    assert shelf.found("Who is Okri's dentist?", near=2, cosine=0.5) == []
    assert shelf.found("How old is Okri?", near=2, cosine=0.5) == []


def test_key_words_bring_what_is_about_them(shelf):
    assert shelf.found("beverage storage", near=1, cosine=0.5) == [TEXTS[1]]
    assert shelf.found("beverage storage", near=1, cosine=0.1, policy={"reads": 0}) == []
    assert shelf.found("ferry timetable", near=1, cosine=0.1) == []


def test_key_words_do_not_bring_what_is_about_something_else(runtime, ada):
    texts = ("Ingrid's birthday is in May, she wants an audio book", "Achim waters the garden", *TEXTS[1:4])
    shelf = ReadShelf(runtime, ada, texts)
    assert shelf.found("Achim's birthday", near=0, cosine=0.4) == []
    assert shelf.found("Achim's birthday", near=0, cosine=0.4, policy={"reads": 0}) != [], "the rules have half of it"
    assert shelf.found("Ingrid's birthday", near=0, cosine=0.4) == [texts[0]]


def test_a_reader_that_fails_costs_no_answer(shelf, caplog):
    class Broken(type(shared_reader())):
        def __init__(self):
            self.__dict__.update(shared_reader().__dict__)

        def sureness(self, question, text, **how):
            raise MemoryError

    asked = "Out of which vessel do I take the tea?"
    assert shelf.found(asked, near=1, cosine=0.5, reader=Broken) == [TEXTS[1]]
    assert "not read" in caplog.text
    assert shelf.found(asked, near=1, cosine=0.1, reader=Broken) == []


def test_who_has_no_time_to_read_judges_by_the_rules_and_says_so(shelf, busy_reader):
    asked, hurried = "Which canister do I spoon the tea from?", {"reading_ms": 1.0}
    found = shelf.ask(asked, near=1, cosine=0.5, policy=hurried)
    assert ([hit.snippet for hit in found.hits], found.degraded) == ([TEXTS[1]], ("reading",))
    assert shelf.found(asked, near=1, cosine=0.2, policy=hurried) == []
    assert found.timings["read"] < 1000


def test_what_was_read_before_is_known_however_busy_the_machine_is(shelf, request):
    asked = "Which container did I get the tea from?"
    before = shelf.ask(asked, near=1, cosine=0.2)
    request.getfixturevalue("busy_reader")
    after = shelf.ask(asked, near=1, cosine=0.2, policy={"reading_ms": 1.0})
    assert [hit.snippet for hit in before.hits] == [hit.snippet for hit in after.hits] == [TEXTS[1]]
    assert after.degraded == ()


def test_what_answers_comes_before_what_is_only_about_it(runtime, ada):
    shelf = ReadShelf(runtime, ada, (TEXTS[0], "Our spaniel Rex is nine years old", *TEXTS[1:3]))
    asked = "How old is Rex?"
    apart, together = {"reading_weight": 0.0}, {"reading_weight": 0.5}
    assert [hit[:3] for hit in shelf.found(asked, cosine=0.5, policy=apart)] == ["Rex", "Our"]
    hits = shelf.ask(asked, cosine=0.5, policy=together).hits
    assert [hit.snippet[:3] for hit in hits] == ["Our", "Rex"]
    assert hits[0].ranked.scored.candidate.sureness > 0.5 > hits[1].ranked.scored.candidate.sureness
    assert hits[0].ranked.scored.reading_penalty == 0 < hits[1].ranked.scored.reading_penalty


def test_the_first_is_the_same_however_many_are_wanted(runtime, ada):
    distant = (
        "Rex paints the old fence with tar",
        "The old shed of Rex has two windows",
        "Rex has an old collar of red leather",
    )
    nine = "In May our Rex turned nine"
    shelf = ReadShelf(runtime, ada, (*distant, nine, *TEXTS[1:3]))
    found = {limit: shelf.found("How old is Rex?", near=3, cosine=0.15, limit=limit)[0] for limit in (1, 2, 3, 10)}
    assert found == dict.fromkeys(found, nine)
    unread = shelf.found("How old is Rex?", near=3, cosine=0.15, policy={"reads": 0})
    assert unread.index(nine) >= 2, "more stand before it than are weighed where one is wanted"


def test_reading_ends_with_the_first_that_is_likely_to_answer(runtime, ada):
    shelf = ReadShelf(runtime, ada, ("Rex will be nine in May", *TEXTS[:3]))
    hits = shelf.ask("How old is Rex?", cosine=0.9).hits
    assert [hit.ranked.scored.candidate.sureness is None for hit in hits] == [False, True]
    hits = shelf.ask("How old is Rex?", cosine=0.9, policy={"certain_reading": 1.0}).hits
    assert all(hit.ranked.scored.candidate.sureness is not None for hit in hits)


def test_reading_never_ends_with_what_is_not_enough_to_answer(runtime, ada):
    texts = ("The kitchen is painted white", "The kitchen has two windows", *TEXTS[1:3])
    shelf = ReadShelf(runtime, ada, texts)
    # The rules would be content with the second, which would be left unread.
    lax = {"min_score": 0.01, "sure_share": 0.05, "certain_reading": 0.0}
    assert shelf.found("What did the kitchen tap cost us?", cosine=0.9, policy={**lax, "reads": 0}) != []
    assert shelf.found("What did the kitchen tap cost us?", cosine=0.9, policy=lax) == []


def test_reading_ends_with_a_pair_that_tells_nothing_and_no_sooner_than_wanted(runtime, ada):
    shelf = ReadShelf(runtime, ada, ("Rex will be nine in May", *REX))

    def read(**policy):
        return shelf.reads("How old is Rex?", certain_reading=1.0, **policy)

    assert read(reads=2) == 4, "of the first two one is likely to answer, of the next none"
    assert read(reads=2, most_reads=2) == 2
    assert read(reads=5) == 6
    assert read(reads=8) == 8


def test_the_best_is_read_alone_where_it_may_be_enough(shelf):
    def at_once(question, **policy):
        counted = Counted()
        shelf.ask(question, cosine=0.9, policy=policy, reader=lambda: counted)
        return counted.at_once

    assert at_once("How old is Rex?") == (1, NAMED["balanced"].reads - 1)
    assert at_once("How old is Rex?", reads=1) == (1, 1)
    assert at_once("List everything about Rex", reads=5) == (5,), "each of several is wanted"


def test_what_is_not_worth_reading_any_more_is_not_judged_by_the_rules(runtime, ada):
    texts = (
        *("The roof of the barn is red", "The roof has a small window", "A stork sat on the roof all day"),
        *("The roof is steep", "Snow lay on the roof until March", "The roof is made of slate"),
        *TEXTS,
        *REX,
    )
    shelf = ReadShelf(runtime, ada, texts)
    lax = {"min_score": 0.01, "sure_share": 0.05}
    assert shelf.found("Who mends the roof?", cosine=0.1, policy={**lax, "reads": 0}) != []
    assert shelf.found("Who mends the roof?", cosine=0.1, policy={**lax, "reads": 2}) == []


def test_where_all_are_wanted_more_are_read_and_none_ends_it(runtime, ada):
    texts = (
        *("Rex will be nine in May", "Rex sleeps in the hall", "Rex eats at six", "Rex fears thunder", "Rex can swim"),
        *TEXTS,
    )
    shelf = ReadShelf(runtime, ada, texts)

    def read(question, **policy):
        hits = shelf.ask(question, cosine=0.9, policy=policy).hits
        assert {hit.snippet for hit in hits} == {*texts[:6]}
        return sum(hit.ranked.scored.candidate.sureness is not None for hit in hits)

    assert read("All about Rex") == 6
    assert read("All about Rex", reads=4, most_reads=0) == 4
    assert read("All about Rex", reads=0) == 0
    never = dict.fromkeys(("sure_reading", "worded_reading", "topic_reading", "named_reading", "list_reading"), 1.0)
    assert shelf.found("What do we know of HERON-42?", policy=never) == [TEXTS[2]], "an identifier is enough"


def test_where_things_of_a_kind_are_wanted_no_first_ends_the_reading(runtime, ada):
    shelf = ReadShelf(runtime, ada, ("Rex has a toy, a red rope", *REX))

    assert shelf.reads("Which toy does Rex have?", certain_reading=0.1) == 1
    assert shelf.reads("Which toys does Rex have?", certain_reading=0.1) >= NAMED["balanced"].reads


def test_where_one_of_a_kind_is_found_two_that_tell_nothing_do_not_end_the_reading(runtime, ada):
    shelf = ReadShelf(runtime, ada, ("Rex has a toy, a red rope", *REX))

    assert shelf.reads("Which toys does Rex have?", reads=2) == NAMED["balanced"].most_reads
    assert shelf.reads("Which boats does Rex have?", reads=2) < NAMED["balanced"].most_reads, "there is none"


def test_what_has_nothing_to_do_with_it_is_not_everything_about_it(runtime, ada):
    texts = (
        "Goal for this year: photograph every lighthouse on the way",
        "Write to me in short paragraphs",
        *TEXTS[:4],
    )
    shelf = ReadShelf(runtime, ada, texts)
    for asked in (
        "Tell me everything about the cabin",
        "everything about the cabin",
        "What do I know about the cabin?",
    ):
        assert shelf.found(asked, near=0, cosine=0.5) == [], asked
    assert shelf.found("Tell me everything about the cabin", near=0, cosine=0.5, policy={"list_reading": 0.0}) != []


def test_what_has_all_that_is_named_is_known_of_it_and_answers_no_question_by_that(runtime, ada):
    shelf = ReadShelf(runtime, ada, ("The roof leaked in March", *TEXTS[:3]))
    little = {"topic_reading": 0.001}
    assert shelf.found("What about the leaking roof?", near=0, cosine=0.5, policy=little) == [
        "The roof leaked in March"
    ]
    assert shelf.found("Why did the roof leak?", near=0, cosine=0.5, policy=little) == []
