"""Whether a month or a day without its year is the next or the last: by what the question speaks of."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from shelf import Shelf

from retrieval.days.asked_period import alone

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "start", "to_come"),
    [
        ("Anything in December?", "2026-12-01", True),
        ("What is in December?", "2026-12-01", True),
        ("What's on on 3 December?", "2026-12-03", True),
        ("Is there anything on 2 January?", "2027-01-02", True),
        ("What do I have in March?", "2027-03-01", True),
        ("Anything in November?", "2026-11-01", True),
        ("Anything this week?", "2026-11-23", True),
        # The next one is far away.
        ("Anything in October?", "2026-10-01", False),
        ("Is there anything on 20 November?", "2026-11-20", False),
        ("What happened in December?", "2025-12-01", False),
        ("What was in December?", "2025-12-01", False),
        ("What has been in December?", "2025-12-01", False),
        ("What have there been in December?", "2025-12-01", False),
        ("Any notes of December?", "2025-12-01", False),
        ("What have I noted in December?", "2025-12-01", False),
        ("December", "2025-12-01", False),
        ("Anything in December 2025?", "2025-12-01", False),
        ("What is planned for October?", "2027-10-01", True),
        ("Any deadlines in December?", "2026-12-01", True),
        ("What do I have to do in October?", "2026-10-01", False),
        ("What was done in December?", "2025-12-01", False),
        # All from today to then.
        *((f"What is due {by}?", "2026-11-28", True) for by in ("by Friday", "by the end of March", "until Easter")),
        ("What do I have to do by mid-December?", "2026-11-28", True),
    ],
)
def test_a_month_is_next_or_last_by_the_tense_of_the_question(question, start, to_come):
    found = alone(question, NOW)
    assert (f"{found.start:%Y-%m-%d}", found.to_come) == (start, to_come)


@pytest.mark.parametrize(
    ("question", "end"),
    [
        ("What must be done by 14 December?", "2026-12-15"),
        ("What is due until March?", "2027-04-01"),
        ("What was due until March?", None),
        # Not on that day itself, unless it is the end of something.
        ("What is due before April?", "2027-04-01"),
        ("What do I have to do before 14 December?", "2026-12-14"),
        ("Which deadlines are there before the 14th?", "2026-12-14"),
        ("What is due before the 14th?", "2026-12-14"),
        ("What is due before next weekend?", "2026-12-05"),
        ("What is due before today?", None),
        ("What is due before the end of December?", "2027-01-01"),
        ("What did I do before 14 December?", None),
        ("What is planned before April?", None),
        ("What is due the day before 14 December?", None),
        ("What is due no later than 14 December?", "2026-12-15"),
        ("What do I have to finish by Friday at the latest?", "2026-12-05"),
        ("What should I do by 14 December?", "2026-12-15"),
        ("What needs to be done by the 14th?", "2026-12-15"),
        ("What is planned by June?", None),
    ],
)
def test_what_is_to_be_done_by_a_day_is_asked_for_until_that(question, end):
    found = alone(question, NOW)
    assert (f"{found.end:%Y-%m-%d}" if found else None) == end


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What is due after 14 December?", "2026-12-15", "2027-12-16"),
        ("What is planned after January?", "2027-02-01", "2028-02-02"),
        ("What is due from January on?", "2027-01-01", "2028-01-02"),
        ("Anything from 14 December onwards?", "2026-12-14", "2027-12-15"),
        ("Anything after next Friday?", "2026-12-05", "2027-12-06"),
        ("What happened after 14 November?", "2026-11-15", "2026-11-29"),
        ("What did I note from 14 November on?", "2026-11-14", "2026-11-29"),
        ("What have I noted after the 14th?", "2026-11-15", "2026-11-29"),
    ],
)
def test_what_comes_after_a_day_is_of_the_time_from_then_on(question, start, end):
    found = alone(question, NOW)
    assert (f"{found.start:%Y-%m-%d}", f"{found.end:%Y-%m-%d}") == (start, end)


@pytest.mark.parametrize(
    "question", ["What is planned after work?", "What happened after the fair?", "What is on the day after 5 December?"]
)
def test_what_comes_after_something_else_is_no_time(question):
    assert alone(question, NOW) is None


# As people ask for what they have to do.
@pytest.mark.parametrize(
    "question",
    [
        "What should I do {}?",
        "What do I need to remember for {}?",
        "What should I not forget {}?",
        "What is left to do {}?",
        "What is still due {}?",
        "Are we free {}?",
    ],
)
def test_what_is_to_be_done_is_all_of_that_time(question):
    found = alone(question.format("in December"), NOW)
    assert f"{found.start:%Y-%m-%d}" == "2026-12-01"


@pytest.mark.parametrize("question", ["Who left in December?", "What should I give Ada in December?"])
def test_what_asks_for_more_than_what_is_to_be_done_is_no_time(question):
    assert alone(question, NOW) is None


def test_what_is_due_before_a_day_is_not_what_is_due_on_it(runtime, ada):
    texts = ("Forms back by 3 December", "Rent is due on 14 December", "Lease ends on 2 March", "The gate squeaks")
    shelf = Shelf(runtime, ada, texts)
    shelf.keep_at(datetime(2026, 11, 2, tzinfo=UTC))
    asked = {"before 14 December": texts[:1], "by 14 December": texts[:2], "after 3 December": texts[1:3]}
    for when, found in asked.items():
        assert {*shelf.found(f"What is due {when}?", now=NOW, near=3, cosine=0.9)} == {*found}


def test_what_is_to_come_is_found_before_what_was_kept_a_year_ago(runtime, ada):
    shelf = Shelf(runtime, ada, ("The pleyel is due on 12 December", "Snow in the yard", "Fair of December 2025"))
    shelf.keep_at(datetime(2025, 12, 5, tzinfo=UTC))
    assert shelf.found("Anything in December?", now=NOW) == ["The pleyel is due on 12 December"]
    assert len(shelf.found("What happened in December?", now=NOW)) == 3
