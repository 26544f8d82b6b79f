from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import NOW, candidate, candidate_lists

from retrieval.policy import NAMED, Policy
from retrieval.ranking.scoring import in_talk, look_again, rank, recency, score
from retrieval.ranking.silence import Judge
from retrieval.words.about import understand
from retrieval.words.bm25 import Question

WEEK = 7 * 86_400.0
AGES = st.floats(-1e9, 1e12)


def ids(found):
    return [each.candidate.id.int for each in found]


def order(candidates, policy, question="what?"):
    return rank(candidates, policy, bm25_bound=10.0, question=question, now=NOW)


def test_recency_after_one_tau_is_one_over_e():
    assert recency(WEEK, WEEK) == pytest.approx(1 / math.e)


def test_a_memory_from_the_future_is_as_recent_as_now():
    assert recency(-5.0, WEEK) == 1


@given(AGES, AGES, st.floats(1, 1e9))
def test_recency_never_grows_with_age(one, other, tau):
    assert recency(max(one, other), tau) <= recency(min(one, other), tau)


def test_the_total_is_the_weighted_sum():
    # 2 * 0.5 + 1 * exp(-7/7) + 3 * 0.4 = 1 + 0.3678794 + 1.2
    policy = Policy(alpha=2, beta=1, gamma=3, tau_days=7)
    assert score(0.5, NOW - timedelta(days=7), 0.4, policy, NOW).total == pytest.approx(2.5678794)


@given(st.floats(-5, 5), st.floats(-5, 5), AGES.filter(lambda age: abs(age) < 1e10))
def test_every_part_is_between_zero_and_one(relevance, importance, age):
    found = score(relevance, NOW - timedelta(seconds=age), importance, Policy(), NOW)
    assert all(0 <= part <= 1 for part in (found.relevance, found.recency, found.importance))


def test_where_few_have_enough_evidence_the_best_of_the_rest_follow():
    policy = Policy(min_score=0.3)
    found = [candidate(n, bm25=0.0, cosine=cosine) for n, cosine in enumerate((0.1, 0.5, 0.2, 0.0, -0.2), 1)]

    def first(fewest):
        ranked = rank(found, policy, bm25_bound=10.0, question="what?", now=NOW, fewest=fewest)
        return [(each.candidate.id.int, each.is_faint) for each in ranked]

    assert first(0) == first(1) == [(2, False)]
    assert first(2) == [(2, False), (3, True)]
    assert first(9) == [(2, False), (3, True), (1, True)], "none without any"


def test_the_best_total_comes_first():
    found = order([candidate(1, bm25=3.0), candidate(2, bm25=8.0), candidate(3, bm25=5.0)], Policy())
    assert ids(found) == [2, 3, 1]


def test_what_has_the_code_that_is_asked_for_comes_before_what_is_more_alike():
    question = "Is invoice 2026-0131 paid?"
    asked = understand(question, Question(["-0131", "2026", "invoic", "paid"], [4.0, 1.0, 2.0, 3.0]))
    other = candidate(1, bm25=6.0, cosine=0.7, places=[1, 2, 3])
    meant = candidate(2, bm25=7.0, cosine=0.5, places=[0, 1, 2])

    def found(*candidates):
        ranked = rank(candidates, Policy(), bm25_bound=10.0, question=question, now=NOW, asked=asked)
        return [(each.candidate.id.int, each.lacks_code) for each in ranked]

    assert found(other, meant) == [(2, False), (1, True)]
    assert found(other) == [(1, False)], "where nothing has it, none is the wrong one"


def test_equal_totals_are_ordered_by_id():
    assert ids(order([candidate(n, bm25=5.0) for n in (3, 1, 2)], Policy())) == [1, 2, 3]


def test_a_candidate_without_enough_evidence_is_dropped():
    assert order([candidate(bm25=1.9, cosine=0.1, importance=1.0)], Policy(min_score=0.2)) == []


def test_evidence_at_the_threshold_is_enough():
    assert ids(order([candidate(bm25=2.0, cosine=0.1)], Policy(min_score=0.2))) == [1]


@pytest.mark.parametrize(("bm25", "found"), [(0.39, []), (0.41, [1])])
def test_of_what_has_no_vector_a_fifth_of_the_evidence_is_asked(bm25, found):
    assert ids(order([candidate(bm25=bm25)], Policy(min_score=0.2))) == found


def test_either_leg_is_enough():
    found = order([candidate(1, bm25=9.0), candidate(2, cosine=0.9)], Policy(min_score=0.5))
    assert sorted(ids(found)) == [1, 2]


def test_a_named_date_lifts_the_memory_of_that_date():
    then = candidate(1, cosine=0.5, created_at=NOW - timedelta(days=400))
    found = order([then, candidate(2, cosine=0.55)], Policy(beta=0, date_boost=0.5), "what in June 2023?")
    assert ids(found) == [1, 2]


def test_the_date_boost_adds_to_the_fused_relevance():
    policy = Policy(legs=("semantic",), date_boost=0.15)
    assert order([candidate(cosine=0.5)], policy, "today")[0].score.relevance == pytest.approx(0.65)


def test_relevance_with_a_date_boost_stays_at_most_one():
    found = order([candidate(cosine=1.0, bm25=10.0)], Policy(date_boost=1.0), "today")
    assert found[0].score.relevance == 1


def test_a_date_alone_is_no_match():
    assert order([candidate()], Policy(date_boost=1.0), "today") == []


def test_what_was_kept_at_the_time_that_is_asked_for_needs_the_other_words_alone():
    question = "what came in June 2023?"
    asked = understand(question, Question(["2023", "came", "june", "parcel"], [3.0, 2.0, 3.0, 2.0]))

    def found(places, age):
        of_then = candidate(1, bm25=1.0, places=places, cosine=0.0, created_at=NOW - timedelta(days=age))
        ranked = rank([of_then], Policy(), bm25_bound=10.0, question=question, now=NOW, asked=asked)
        return ids(ranked)

    assert found([1, 3], 400) == [1]
    assert found([1], 400) == found([1, 3], 40) == []


def test_without_a_date_boost_no_date_match_is_claimed():
    assert order([candidate(cosine=0.9)], Policy(date_boost=0.0), "today")[0].date_match == 0


@pytest.mark.parametrize("question", ['"today"', 'Who wrote "until today"?', "„today“"])
def test_a_date_in_quotes_is_a_word(question):
    found = order([candidate(cosine=0.5)], Policy(legs=("semantic",), date_boost=0.15), question)[0]
    assert (found.date_match, found.score.relevance) == (0.0, pytest.approx(0.5))


@given(candidate_lists(), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_candidates(found, chance):
    assert order(found, Policy()) == order(chance.sample(found, len(found)), Policy())


PLAIN = Policy(beta=0, gamma=0, date_boost=0, detail_boost=0, semantic_weight=0.3)


def test_the_words_of_its_neighbours_lift_a_memory():
    found = order([candidate(bm25=4.0, bm25_around=6.0, cosine=0.0)], PLAIN)[0]
    # 0.7 * 6/10; of that 6/10 - 4/10 is the neighbours' share.
    assert (found.score.relevance, found.context) == (pytest.approx(0.42), pytest.approx(0.2))


def test_what_is_mostly_turns_is_ranked_by_the_weight_of_turns():
    policy = replace(PLAIN, semantic_weight=1.0, turn_semantic_weight=0.0, speaker_boost=0)
    alike, worded = candidate(1, cosine=0.9, bm25=1.0), candidate(2, cosine=0.4, bm25=9.0)
    said = [replace(each, is_turn=True) for each in (alike, worded)]
    assert ids(order([alike, worded], policy)) == [1, 2]
    assert ids(order(said, policy)) == [2, 1]
    assert ids(order([alike, said[1]], policy)) == [1, 2], "half is not most"


def test_the_words_of_its_neighbours_are_no_evidence_for_a_memory():
    assert order([candidate(bm25=0.1, bm25_around=9.0)], Policy(min_score=0.2)) == []


def test_nothing_is_found_without_any_evidence():
    assert order([candidate(bm25_around=9.0, cosine=-0.1)], Policy(min_score=0)) == []


def test_who_is_named_is_who_said_it():
    said = [candidate(n, bm25=5.0, speaker=name) for n, name in ((1, "Ben"), (2, "Ada"), (3, None))]
    found = order(said, PLAIN, "What did ADA say?")
    assert [(each.candidate.id.int, each.speaker_match) for each in found] == [(2, True), (1, False), (3, False)]
    assert found[0].score.relevance - found[1].score.relevance == pytest.approx(PLAIN.speaker_boost)


@pytest.mark.parametrize("question", ["What did Ada tell Ben?", "Who likes Adam?", "What?"])
def test_of_two_who_are_named_or_of_none_nobody_is_meant(question):
    said = [candidate(1, bm25=5.0, speaker="Ben"), candidate(2, bm25=5.0, speaker="Ada")]
    assert not any(each.speaker_match for each in order(said, PLAIN, question))


def test_a_memory_that_says_more_stands_a_little_higher():
    policy = replace(PLAIN, detail_boost=0.04)
    found = order([candidate(n, bm25=5.0, cosine=0.0, size=size) for n, size in ((1, 50), (2, 900))], policy)
    assert [each.score.relevance for each in found] == [pytest.approx(0.35 + 0.04), pytest.approx(0.35 + 0.01)]


MOVED = [
    candidate(1, bm25=5.0, cosine=0.0, text="We moved to Rome"),
    candidate(2, bm25=4.9, cosine=0.0, text="We moved house last May"),
]


def test_a_question_for_a_time_prefers_what_says_one():
    found = look_again(order(MOVED, PLAIN), PLAIN, question="When did they move?", now=NOW)
    assert [(each.candidate.id.int, each.time_match) for each in found] == [(2, True), (1, False)]
    assert found[0].score.relevance == pytest.approx(0.7 * 0.49 + PLAIN.time_boost)


@pytest.mark.parametrize(
    ("policy", "question"), [(PLAIN, "Who moved?"), (replace(PLAIN, time_boost=0), "When did they move?")]
)
def test_no_other_question_does(policy, question):
    found = look_again(order(MOVED, policy), policy, question=question, now=NOW)
    assert (ids(found), any(each.time_match for each in found)) == ([1, 2], False)


def read_again(*sureness, policy=PLAIN):
    found = [candidate(n, bm25=5.0, cosine=0.0, sureness=each) for n, each in enumerate(sureness, 1)]
    return look_again(order(found, policy), policy, question="Who moved?", now=NOW)


def test_what_is_less_likely_to_answer_stands_behind_by_its_log_odds():
    found = read_again(0.1, 0.9, 0.5)
    assert ids(found) == [2, 3, 1]
    # The log-odds of nine to one are log 9 above even ones.
    steps = [PLAIN.reading_weight * math.log(9)] * 2
    assert [a.score.relevance - b.score.relevance for a, b in pairwise(found)] == pytest.approx(steps)
    assert found[0].score.relevance == pytest.approx(0.35)


def test_what_reading_took_is_told():
    found = read_again(0.1, 0.9, 0.5, None)
    penalties = {each.candidate.id.int: each.reading_penalty for each in found}
    step = PLAIN.alpha * PLAIN.reading_weight * math.log(9)
    assert penalties == pytest.approx({1: 2 * step, 2: 0.0, 3: step, 4: step})
    # A relevance of 0.35 has no more to lose, whatever the weight.
    most = read_again(0.02, 0.9, policy=replace(PLAIN, reading_weight=1.0))[-1]
    assert (most.score.relevance, most.reading_penalty) == pytest.approx((0.0, PLAIN.alpha * 0.35))


def test_what_has_no_relevance_left_is_still_in_order():
    found = read_again(0.02, 0.3, 0.9, policy=replace(PLAIN, reading_weight=1.0))
    assert ([each.score.relevance for each in found[1:]], ids(found)) == ([0.0, 0.0], [3, 2, 1])


def test_what_nobody_read_stands_between():
    assert ids(read_again(None, 0.02, 0.9)) == [3, 1, 2]
    found = read_again(None, 0.1, 0.9)
    assert found[1].score.relevance == pytest.approx(0.35 - PLAIN.reading_weight * math.log(9))


def test_where_nobody_read_anything_all_stays_as_it_was():
    assert [each.score.relevance for each in read_again(None, None)] == pytest.approx([0.35, 0.35])
    assert ids(read_again(0.02, 0.9, policy=replace(PLAIN, reading_weight=0))) == [1, 2]


LIVED = [
    candidate(1, bm25=5.0, places=(0,), text="They live in Graz"),
    candidate(2, bm25=4.8, places=(0,), text="They moved to Trieste and live there"),
]


def after_change(found, policy=PLAIN, question="Where do they live?"):
    ranked = asked_for(found, question.lower(), "live", policy=policy)
    return ids(look_again(ranked, policy, question=question, now=NOW))


def test_what_has_become_of_a_thing_comes_before_what_was():
    assert after_change(LIVED) == [2, 1]
    assert after_change(LIVED, replace(PLAIN, change_boost=0)) == [1, 2]
    assert after_change(LIVED, question="Where did they live before?") == [1, 2]


@pytest.mark.parametrize("other", [{"places": ()}, {"speaker": "Ann"}], ids=["of another thing", "in a talk"])
def test_a_change_is_no_news_elsewhere(other):
    assert after_change([LIVED[0], replace(LIVED[1], **other)]) == [1, 2]


def test_what_has_another_number_stands_behind():
    found = [
        candidate(1, bm25=5.0, places=(0,), text="Sprint 42 ended"),
        candidate(2, bm25=4.8, places=(0,), text="A sprint takes a week"),
    ]
    for question, expected in (("Who joins sprint 43?", [2, 1]), ("Who joins sprint 42?", [1, 2])):
        ranked = asked_for(found, question, "sprint", policy=PLAIN)
        assert ids(look_again(ranked, PLAIN, question=question, now=NOW)) == expected


WEAK = [candidate(1, cosine=0.27, bm25=1.0), candidate(2, cosine=0.22)]


SURE = Policy(min_score=0.1, sure_cosine=0.3, named_cosine=0.6, sure_share=0.5)


def asked_for(found, text, *lexemes, policy=SURE):
    asked = understand(text, Question(list(lexemes), [1.0] * len(lexemes)))
    ranked = rank(found, policy, bm25_bound=10.0, question=text, now=NOW, asked=asked)
    judge = Judge(policy, asked, talk=in_talk(found))
    return ranked if any(judge.about(ranked)) or not judge.is_asked_for else []


def test_where_nothing_is_about_the_question_nothing_is_found():
    assert asked_for(WEAK, "which car?", "car", "drive") == []


def test_where_nobody_says_what_is_asked_all_are_found():
    assert len(order(WEAK, SURE)) == 2


@pytest.mark.parametrize(
    "sure", [candidate(3, cosine=0.3), candidate(3, bm25=1.0, places=(1,))], ids=["by meaning", "by half of the words"]
)
def test_one_that_is_about_it_lets_the_others_in(sure):
    assert len(asked_for([*WEAK, sure], "which car?", "car", "drive")) == 3


@pytest.mark.parametrize(("cosine", "found"), [(0.1, 0), (None, 1)])
def test_what_has_no_vector_needs_fewer_words(cosine, found):
    two_of_five = candidate(1, bm25=4.0, cosine=cosine, places=(0, 1))
    assert len(asked_for([two_of_five], "apples, bread, coffee, dates and eggs", *"abcde")) == found


def test_a_name_alone_takes_more_likeness():
    shares_the_name = candidate(1, cosine=0.5, bm25=4.0, places=(0,))
    near = replace(shares_the_name, cosine=0.6)
    words = ("anna", "shoe", "size")
    assert asked_for([shares_the_name], "What is Anna's shoe size?", *words) == []
    assert len(asked_for([near], "What is Anna's shoe size?", *words)) == 1
    assert len(asked_for([shares_the_name], "what is the shoe size of anna?", *words)) == 1


def test_a_name_of_many_words_is_not_what_is_asked_of_it():
    named = candidate(1, cosine=0.5, bm25=4.0, places=(0, 1))
    words = ("jona", "reck", "marri")
    assert asked_for([named], "Is Jonas Reck married?", *words) == []
    assert len(asked_for([replace(named, places=(0, 2))], "Is Jonas Reck married?", *words)) == 1
    assert len(asked_for([replace(named, cosine=None)], "Is Jonas Reck married?", *words)) == 1, "it has words alone"
    assert len(asked_for([named], "Who is Jonas Reck?", "jona", "reck")) == 1


def test_what_has_the_identifier_that_is_asked_for_is_meant():
    one = candidate(1, cosine=0.1, bm25=4.0, places=(0,))
    assert len(asked_for([one], "What do I hand in for VN207?", "vn207", "hand")) == 1
    assert asked_for([one], "What do I hand in for VN?", "vn", "hand", "essay") == []


def judge(text, *lexemes, talk=False):
    return Judge(SURE, understand(text, Question(list(lexemes), [1.0] * len(lexemes))), talk=talk)


def alike_by_name(found, text, *lexemes, talk=False):
    return ids(judge(text, *lexemes, talk=talk).alike_by_name(order(found, SURE)))


def test_what_may_be_alike_by_a_name_alone_is_told_from_the_rest():
    named = candidate(1, cosine=0.5, bm25=4.0, places=(0,))
    asked = ("What is Anna's shoe size?", "anna", "shoe", "size")
    others = [
        candidate(2, cosine=0.5, bm25=4.0, places=(0, 1)),
        candidate(3, cosine=0.29, bm25=4.0, places=(0,)),
        candidate(4, cosine=0.5, bm25=4.0, places=()),
        candidate(5, cosine=None, bm25=4.0, places=(0,)),
    ]
    assert alike_by_name([named, *others], *asked) == [1]
    assert alike_by_name([named], "what is the shoe size of anna?", *asked[1:]) == []


def test_no_turn_of_a_talk_is_compared_without_the_name():
    turn = candidate(1, cosine=0.5, bm25=4.0, places=(0,), speaker="Bob")
    assert alike_by_name([turn], "What is Anna's shoe size?", "anna", "shoe", "size", talk=True) == []


TALK = replace(SURE, turn_share=0.25)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"cosine": 0.3}, 1),
        ({"cosine": 0.29}, 0),
        ({"cosine": 0.2, "places": (0,)}, 1),
        ({"cosine": None, "places": (0,)}, 1),
        ({"cosine": None}, 0),
    ],
)
def test_a_turn_needs_a_little_of_the_words_or_to_be_alike(fields, found):
    turn = candidate(1, bm25=2.0, speaker="Bob", **fields)
    asked = "What does Bob's dog like to eat in spring?", "bob", "dog", "eat", "like"
    assert len(asked_for([turn], *asked, policy=TALK)) == found


def test_a_turn_is_judged_by_meaning_alone_where_words_are_not_asked():
    turn, policy = candidate(1, cosine=0.3, speaker="Bob"), replace(TALK, legs=("semantic",))
    assert len(asked_for([turn], "What does the dog like?", policy=policy)) == 1
    assert asked_for([replace(turn, cosine=0.29)], "What does the dog like?", policy=policy) == []


def test_the_name_of_who_speaks_is_no_likeness():
    turn = candidate(1, cosine=0.5, bm25=4.0, places=(0,), speaker="Anna")
    assert len(asked_for([turn], "What is Anna's shoe size?", "anna", "shoe", "size")) == 1


def test_a_note_that_begins_with_a_name_is_no_turn_of_a_talk():
    note = candidate(1, cosine=0.5, bm25=4.0, places=(0,), speaker="Anna")
    others = [candidate(2), candidate(3)]
    assert asked_for([note, *others], "What is Anna's shoe size?", "anna", "shoe", "size") == []
    turns = [replace(each, speaker="Bob") for each in others]
    assert ids(asked_for([note, *turns], "What is Anna's shoe size?", "anna", "shoe", "size"))[0] == 1


def test_another_name_takes_more_likeness_than_a_note_without_names():
    booked = candidate(1, cosine=0.5, bm25=2.0, places=(0,))
    words = ("book", "hotel", "osaka")
    assert asked_for([booked], "Which hotel is booked in Osaka?", *words) == []
    assert len(asked_for([replace(booked, cosine=0.6)], "Which hotel is booked in Osaka?", *words)) == 1
    assert len(asked_for([replace(booked, places=(0, 2))], "Which hotel is booked in Osaka?", *words)) == 1
    assert len(asked_for([booked], "which hotel is booked?", "book", "hotel", "night")) == 1


def test_in_a_talk_names_are_seldom_repeated():
    turn = candidate(1, cosine=0.5, bm25=2.0, places=(0,), speaker="Bob")
    assert len(asked_for([turn], "Which hotel is booked in Osaka?", "book", "hotel", "osaka")) == 1


def test_a_named_cosine_below_the_sure_one_asks_for_no_less():
    near = candidate(1, cosine=0.35, places=(0,))
    low = replace(SURE, sure_cosine=0.4, named_cosine=0.2)
    words = ("anna", "shoe", "size")
    assert asked_for([near], "What is Anna's shoe size?", *words, policy=low) == []
    assert len(asked_for([replace(near, cosine=0.4)], "What is Anna's shoe size?", *words, policy=low)) == 1


def test_an_identifier_that_is_asked_for_must_be_there():
    other = candidate(1, cosine=0.9, bm25=5.0, places=(1,))
    one = replace(other, id=UUID(int=2), places=(0, 1))
    assert asked_for([other], "What is HERON-57?", "-57", "heron") == []
    assert ids(asked_for([other, one], "What is HERON-57?", "-57", "heron")) == [2, 1]


@pytest.mark.parametrize("off", [{"min_score": 0.0}, {"sure_cosine": 0.0}])
def test_without_a_threshold_nothing_must_be_about_it(off):
    assert len(asked_for(WEAK, "What is HERON-57?", "-57", "heron", policy=replace(SURE, **off))) == 2


def test_the_policy_of_the_documents_is_never_silent():
    found = [candidate(cosine=0.31)]
    assert len(asked_for(found, "What is HERON-57?", "-57", policy=NAMED["specified"])) == 1


def test_a_hit_says_how_much_of_the_question_its_words_cover():
    hit = asked_for([candidate(cosine=0.9, places=(1,))], "which car?", "car", "drive")[0]
    assert (hit.coverage, order([candidate(cosine=0.9)], SURE)[0].coverage) == (0.5, 0.0)
