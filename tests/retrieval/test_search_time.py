"""A question for a time and nothing else brings what was kept then, and what says a day of it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from zoneinfo import ZoneInfo

import pytest
from shelf import NOW, Shelf
from sqlalchemy import text

from retrieval.lookup import candidates

KEPT = {
    "Ada keeps bees": "2025-05-31",
    "Tea is in the blue tin": "2025-05-02",
    "The gate is locked after dusk": "2025-04-30",
    "The fair is in October": "2025-03-03",
    "Rome was loud": "2024-10-20",
    "Rome was hot": "2024-10-02",
    "The bill of October 2023 is paid": "2023-12-01",
}


@pytest.fixture
def shelf(runtime, ada):
    made = Shelf(runtime, ada, tuple(KEPT))
    with made.session() as session:
        for each, when in KEPT.items():
            moved = text("UPDATE memories SET created_at = :when WHERE user_id = :user AND text = :text")
            session.execute(
                moved, {"when": datetime.fromisoformat(when).replace(tzinfo=UTC), "user": ada.id, "text": each}
            )
    return made


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What happened last month?", ["Ada keeps bees", "Tea is in the blue tin"]),
        ("anything from May 2025", ["Ada keeps bees", "Tea is in the blue tin"]),
        ("What did I note on 30 April?", ["The gate is locked after dusk"]),
        ("in October", ["Rome was loud", "Rome was hot", "The fair is in October", "The bill of October 2023 is paid"]),
        ("What happened in October 2023?", ["The bill of October 2023 is paid"]),
        ("yesterday", ["Ada keeps bees"]),
        ("What happened in May 2025 and April 2025?", [*KEPT][:3]),
        ("What happened on 31 May 2025 and on 30 April 2025?", ["Ada keeps bees", "The gate is locked after dusk"]),
        ("What happened between 30 April 2025 and 31 May 2025?", [*KEPT][:3]),
    ],
)
def test_what_was_kept_then_is_found(shelf, question, found):
    # However like the question another memory is: that tells nothing of a time.
    result = shelf.ask(question, near=3, cosine=0.9)
    assert [hit.snippet for hit in result.hits] == found
    assert result.period is not None
    assert (result.degraded, result.withheld) == ((), 0)
    assert shelf.embedder.asked == [], "a time needs no vector"


@pytest.mark.parametrize("question", ["last winter", "What happened in the spring of 1999?", "What is on on 5 March?"])
def test_a_time_of_which_nothing_is_kept_or_told_brings_nothing(shelf, question):
    # However like the question a memory is.
    result = shelf.ask(question, near=3, cosine=0.9)
    assert (result.hits, result.period, result.withheld) == ((), None, 1)
    assert result.warnings == ("no memory is of that time",)
    result = shelf.ask(question, near=3, cosine=0.9, policy={"min_score": 0.0})
    assert "The fair is in October" in [hit.snippet for hit in result.hits]


@pytest.mark.parametrize(
    ("question", "near", "found"),
    [
        ("What happens this summer?", 1, ["No ladders till summer"]),
        ("What happens this summer?", 2, []),
        ("What is due tomorrow?", 0, []),
        ("next week", 0, []),
    ],
)
def test_a_season_of_which_nothing_is_kept_is_found_by_its_name(runtime, ada, question, near, found):
    # What tells which one it means is not of another.
    shelf = Shelf(runtime, ada, ("Dentist tomorrow, Rome next week", "No ladders till summer", "Porto last summer"))
    shelf.keep_at(datetime(2025, 5, 1, tzinfo=UTC))
    assert shelf.found(question, near=near, cosine=0.9) == found


# What a note of 1 May 2025 tells from then, and what asks for it on 1 June.
FROM_THEN = {
    "Dentist tomorrow": ["What did I have on 2 May?"],
    "Rome next week": ["What happened in the week of 7 May?"],
    "The fair is in two months": ["What happens in July?", "this summer", "What is due in Q3?"],
    "Moved here three years ago": ["What happened in 2022?"],
    "Porto next summer": ["this summer", "What is due in Q3?"],
    "Ice skating in winter": ["What happened last winter?"],
    "Budget due in Q3": ["What is due in Q3?", "this summer"],
    "Report due at the end of next week": ["What did I have on 9 May?", "What happened in the week of 7 May?"],
    "Invoice to be sent by the end of the month": ["What did I have on 31 May?"],
    "Bank two weeks from Friday": ["What did I have on 16 May?"],
}


@pytest.mark.parametrize("question", list(dict.fromkeys(chain.from_iterable(FROM_THEN.values()))))
def test_a_time_is_told_from_the_day_on_which_the_memory_was_kept(runtime, ada, question):
    shelf = Shelf(runtime, ada, (*FROM_THEN, "Dentist on the 3rd floor"))
    shelf.keep_at(datetime(2025, 5, 1, 12, tzinfo=UTC))
    result = shelf.ask(question, near=10, cosine=0.9)
    assert {hit.snippet for hit in result.hits} == {each for each, asked in FROM_THEN.items() if question in asked}


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What is on 13 June?", {"Dentist on the 13th", "Rome on the weekend of the 13th", "Bea comes next Friday"}),
        ("What is on the 13th?", {"Dentist on the 13th", "Rome on the weekend of the 13th", "Bea comes next Friday"}),
        ("What is due tomorrow?", {"Dentist on the 13th", "Rome on the weekend of the 13th", "Bea comes next Friday"}),
        ("What is on 14 June?", {"Rome on the weekend of the 13th"}),
        ("What is due on 1 July?", {"Rent is due on the 1st of every month"}),
        ("What is planned for 13 July?", set()),
        ("What is due on 2 July?", {"VAT on the 2nd"}),
        # Most days without their month are of each month.
        ("What is planned for July?", set()),
    ],
)
def test_a_day_is_found_by_its_number_or_its_weekday_alone(runtime, ada, question, found):
    told = ("Dentist on the 13th", "Rome on the weekend of the 13th", "Rent is due on the 1st of every month")
    shelf = Shelf(
        runtime, ada, (*told, "VAT on the 2nd", "Bea comes next Friday", "The 13th floor is closed", "The gate squeaks")
    )
    # Friday of the week before.
    shelf.keep_at(datetime(2025, 6, 6, tzinfo=UTC))
    assert {*shelf.found(question, now=datetime(2025, 6, 12, 12, tzinfo=UTC), near=6, cosine=0.9)} == found


def test_a_day_is_told_from_the_time_at_which_a_memory_was_said_again(runtime, ada):
    shelf = Shelf(runtime, ada, ("The optician is tomorrow",))
    shelf.keep_at(datetime(2024, 5, 1, tzinfo=UTC))
    assert shelf.found("What is due tomorrow?") == []
    with shelf.session() as session:
        again = text("UPDATE memories SET repeat_count = 1, updated_at = :now WHERE user_id = :user")
        session.execute(again, {"now": NOW, "user": ada.id})
    for question in ("What is due tomorrow?", "What did I have on 2 May 2024?"):
        assert shelf.found(question) == ["The optician is tomorrow"]


def test_of_many_that_may_tell_a_day_from_theirs_those_kept_nearest_are_read(runtime, ada, monkeypatch):
    monkeypatch.setattr(candidates, "MOST_WITH_DAYS", 1)
    shelf = Shelf(runtime, ada, ("Vet tomorrow", "Row 1 tomorrow", "Row 2 tomorrow"))
    with shelf.session() as session:
        older = text("UPDATE memories SET created_at = :kept WHERE user_id = :user AND text LIKE 'Row%'")
        session.execute(older, {"kept": datetime(2025, 5, 30, tzinfo=UTC), "user": ada.id})
    assert shelf.found("What is due tomorrow?") == ["Vet tomorrow"]


def test_a_time_in_quotes_is_what_a_memory_says(shelf):
    result = shelf.ask('"in October"')
    assert [hit.snippet for hit in result.hits] == ["The fair is in October"]
    assert result.period is None
    assert shelf.found('"last month"') == []
    assert shelf.ask('What about "May 2025"?').period is None


def test_a_time_stays_one_where_the_budget_has_no_room_for_what_was_kept(runtime, bob):
    shelf = Shelf(runtime, bob, ("\N{PEACOCK} \N{PEACOCK}", "Ada keeps bees"))
    result = shelf.ask("What happened in June 2025?", token_budget=1)
    assert (result.hits, result.truncated, result.warnings) == ((), True, ())
    assert result.period is not None


def test_a_time_is_that_of_the_zone(shelf):
    # There it is still the last evening of May, and each note was kept on the evening before its day.
    now = NOW.astimezone(ZoneInfo("America/New_York"))
    assert shelf.found("What happened on 30 May?", now=now) == ["Ada keeps bees"]
    assert shelf.found("What happened this month?", now=now) == ["Ada keeps bees", "Tea is in the blue tin"]
    assert shelf.found("last month", now=now) == ["The gate is locked after dusk"]
    assert shelf.ask("What happened on 30 May?").period is None


def test_a_time_is_found_within_what_narrows_the_question(shelf):
    since = datetime(2025, 5, 20, tzinfo=UTC)
    assert shelf.found("last month", created_after=since) == ["Ada keeps bees"]
    assert shelf.ask("last month", types=("decision",)).period is None
    assert shelf.found("last month", limit=1) == ["Ada keeps bees"]


def test_what_asks_for_more_than_a_time_is_searched(shelf):
    result = shelf.ask("What about the gate in May?", near=2, cosine=0.8)
    assert [hit.snippet for hit in result.hits] == ["The gate is locked after dusk"]
    assert result.period is None


def test_a_policy_without_dates_searches_for_the_words(shelf):
    result = shelf.ask("in October", policy={"date_boost": 0.0})
    assert result.period is None
    assert set(result.hits[0].snippet.split()) >= {"October"}


# As people write days, and what asks for them. Now is 1 June 2025.
SAID = {
    "Tooth out on 3 Dec at 8:15": [
        "3 December",
        "What is planned for December?",
        "2025-12-03",
        "December 3rd",
        "next winter",
    ],
    "Theatre key goes back by Dec 20th": [
        "20 December 2025",
        "What is due in December?",
        "due in November or December",
    ],
    "Shimmed the crack 6/9/2024": ["6 September 2024", "What happened in September 2024?", "last autumn"],
    "Castle from 19 to 26 July, chalet 12": ["22 July", "What will there be on July 26?", "this summer"],
    "Loan ends 2028-03-31": ["What happens in March 2028?", "2028", "from January 2028 to April 2028"],
    "Lambs on 14.2.2026": ["What is due from November to February?"],
    "Fence to be done in 2026": ["What is planned for next year?"],
    "Rome from 28 July to 3 August": ["What is planned for 31 July?", "2 August", "28 July"],
    "Fair 2025-12-30 to 2026-01-02": ["What will there be on 1 January?", "2025-12-31"],
    "Down 2025-11-28T09:00Z to 2025-12-01T17:00Z": ["What is planned for 30 November?"],
    "Inn: December 24 and 25.": ["What is planned for 25 December?", "24 December"],
    "Call at 2025-11-03T09:00:00Z": ["What is due on 3 November?"],
    "Dentist on 12 June": ["12 june", "What is on 12 June?"],
    "Parade on 2 June": ["tomorrow", "next week", "in the next 3 days", "What is on on 2 June?"],
}


@pytest.mark.parametrize(("said", "question"), [(each, asked) for each, those in SAID.items() for asked in those])
def test_a_day_is_found_however_a_memory_writes_it(runtime, ada, said, question):
    shelf = Shelf(runtime, ada, (*SAID, "Ordered 3 lamps, 20 nails and 31 hooks", "The deck of 2029 is grey"))
    result = shelf.ask(question, near=9, cosine=0.9)
    others = {each for each, those in SAID.items() if question in those}
    assert {hit.snippet for hit in result.hits} >= others
    assert said in {hit.snippet for hit in result.hits}
    assert (result.period is not None, result.warnings) == (True, ())


def test_what_is_to_come_is_what_is_said_of_it_before_what_was_kept_then(runtime, ada):
    shelf = Shelf(runtime, ada, ("The gate squeaks", "Dentist on 12 June"))
    assert shelf.found("What happened in June?")[0] == "The gate squeaks"
    assert shelf.found("What happens in June?") == ["Dentist on 12 June", "The gate squeaks"]


def test_a_range_of_days_that_may_be_two_says_its_ends_alone(runtime, ada):
    shelf = Shelf(runtime, ada, ("Camp 1/8/2025 - 4/9/2025, Feb is for Ann", "Ann on 20 February"))
    assert shelf.found("What happened on 20 February?") == ["Ann on 20 February"]
    assert shelf.found("What is planned for 1 August?") == ["Camp 1/8/2025 - 4/9/2025, Feb is for Ann"]


def test_a_long_time_and_a_long_text_are_not_looked_through_for_days(runtime, ada):
    shelf = Shelf(runtime, ada, ("Dentist on 3 May", "Vet on 3 May " + "and so on " * 900 + "until 7 December"))
    assert [hit.snippet[:3] for hit in shelf.ask("What happens on 3 May?").hits] == ["Den", "Vet"]
    assert shelf.ask("What happened last year?").period is None
    late = shelf.ask("What is due on 7 December?", near=1, cosine=0.9)
    assert (late.period, [hit.snippet[-10:] for hit in late.hits]) == (None, ["7 December"])


def test_what_is_to_come_is_of_one_year(runtime, ada):
    shelf = Shelf(runtime, ada, ("Rome in October 2023", "Oslo on 4 October", "Fair on 9/10/2025", "Bonn, Oct 2026"))
    assert {*shelf.found("What is planned for October?")} == {"Oslo on 4 October", "Fair on 9/10/2025"}
    assert len(shelf.found("What happened in October?")) == 4


# More than are read, older than what is asked for.
MANY = [f"June {2026 - each % 2} in row {each}, bed {each % 30}" for each in range(220)]


@pytest.mark.parametrize("said", ["Vet 2025-06-02", "Vet at 2/6/2025", "Vet on June 2nd", "Vet: 2 Jun 2025"])
def test_a_day_is_found_among_many_texts_of_its_month(runtime, ada, said):
    shelf = Shelf(runtime, ada, (said, *MANY))
    assert said in shelf.found("What is due tomorrow?", limit=50)


def test_of_many_texts_of_a_month_those_of_its_year_and_the_latest_are_found(runtime, ada):
    shelf = Shelf(runtime, ada, (*(f"June 2024, row {each}" for each in range(220)), "June is dry", "Fair: June 2025"))
    assert {*shelf.found("What will there be in June?", limit=2)} == {"June is dry", "Fair: June 2025"}


def test_a_day_is_found_within_what_narrows_the_question_among_many_of_its_month(runtime, ada):
    texts = ("The gate squeaks", "Fair: June 2025", *(f"June 2025, row {each}" for each in range(220)))
    shelf = Shelf(runtime, ada, texts)
    with shelf.session() as session:
        chosen = text("UPDATE memories SET type = 'decision' WHERE user_id = :user AND text LIKE 'Fair%'")
        session.execute(chosen, {"user": ada.id})
    result = shelf.ask("What will there be in June?", types=("decision",), near=3)
    assert ([hit.snippet for hit in result.hits], result.period is not None) == (["Fair: June 2025"], True)
