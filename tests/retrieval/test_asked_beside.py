"""The past time that a question names beside what it asks for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.days.asked_beside import hint_of, past_named, without_time
from retrieval.days.asked_days import parse, timeless
from retrieval.days.dates import DateHint, Period


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "start", "end", "rest"),
    [
        ("Between 24 and 26 March what did I decide?", "2025-03-24", "2025-03-27", "what did I decide?"),
        ("What did we decide from March to April?", "2025-03-01", "2025-05-01", "What did we decide?"),
        ("What did Jo say between December and February?", "2024-12-01", "2025-03-01", "What did Jo say?"),
        ("Who came between the 3rd and the 9th of May 2024?", "2024-05-03", "2024-05-10", "Who came?"),
        ("Did Bo and Al meet from 3 to 5 May 2024 in Ely?", "2024-05-03", "2024-05-06", "Did Bo and Al meet in Ely?"),
        ("Who came between November and the 3rd of July?", "2023-11-01", "2024-07-04", "Who came?"),
        ("What was the rent between 2020 and 2022?", "2020-01-01", "2023-01-01", "What was the rent?"),
    ],
)
def test_a_time_with_both_its_ends_is_all_that_lies_between(question, start, end, rest):
    now = moment("2025-06-01")
    assert hint_of(question, now) == DateHint(start=moment(start), end=moment(end))
    assert without_time(question, now) == rest
    assert past_named(question, now) == Period(moment(start), moment(end))


@pytest.mark.parametrize(
    "question",
    [
        "What did we decide in March?",
        "What did we decide between us?",
        "How do I get from March to Ely?",
        "Which flights leave between 3 and 5 pm?",
        "What will we do between March and May 2027?",
        "Who has led the team since March and May?",
        "Does the shop close between Christmas and New Year?",
        "What did Ana buy on 3 May 2024 and on 9 May 2024?",
    ],
)
def test_without_two_ends_that_are_over_the_first_date_is_meant(question):
    now = moment("2025-06-01")
    assert (hint_of(question, now), without_time(question, now)) == (parse(question, now), timeless(question, now))


def test_a_range_alone_is_left_in_the_question():
    asked = "Between 24 and 26 March 2025?"
    assert without_time(asked, moment("2025-06-01")) == asked


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("Where did Ana live in 2024?", "2024-01-01", "2025-01-01"),
        ("Where did Ana live in May?", "2025-05-01", "2025-06-01"),
        ("What is the budget of 2023?", "2023-01-01", "2024-01-01"),
        ("Who was her boss last year?", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_past_time_is_told_beside_what_is_asked_of_it(question, start, end):
    found = past_named(question, moment("2025-06-01"))
    assert (found.start, found.end) == (moment(start), moment(end))


@pytest.mark.parametrize(
    "question",
    [
        "Where does Ana live?",
        "Where does Ana live in May?",
        "Where did Ana live before 2024?",
        "Where has Ana lived since 2020?",
        "Where will Ana live in 2027?",
        "What did May say?",
    ],
)
def test_no_past_time_is_told_where_another_is_meant_or_none(question):
    assert past_named(question, moment("2025-06-01")) is None


@given(
    st.sampled_from(
        [
            "what did I eat from the 30th to the 2nd",
            "who came between 3 May 1 and 7 June 9999",
            "who came between 29 February and Easter",
            "what was it from 1 to 9999",
            "where was Ana in 9999",
        ]
    ),
    st.datetimes(),
)
def test_a_time_beside_other_words_never_fails_even_at_the_edges_of_the_calendar(question, now):
    for period in (past_named(question, now), past_named(question, now.replace(tzinfo=UTC))):
        assert period is None or period.start < period.end
    assert without_time(question, now)
    hint_of(question, now)
