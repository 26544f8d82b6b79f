"""Which day a question means by a day of the week, and which ones a text speaks of."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from shelf import Shelf

from retrieval.days.asked_days import parse
from retrieval.days.asked_period import alone
from retrieval.days.dates import local
from retrieval.days.told_days import says
from retrieval.days.weekdays import said_in

ZONE = ZoneInfo("Europe/Berlin")
MONDAY, WEDNESDAY, SATURDAY, SUNDAY = "2026-11-23", "2026-11-25", "2026-11-28", "2026-11-29"


def noon(day: str) -> datetime:
    return datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=ZONE)


def days_of(span) -> tuple[str, str]:
    return f"{local(span.start, ZONE):%m-%d}", f"{local(span.end - timedelta.resolution, ZONE):%m-%d}"


@pytest.mark.parametrize(
    ("question", "today", "first", "last"),
    [
        ("What is on Monday?", SATURDAY, "11-30", "11-30"),
        ("What is on on Monday?", SATURDAY, "11-30", "11-30"),
        ("Monday", SATURDAY, "11-30", "11-30"),
        ("Any appointments on Thursday?", SATURDAY, "12-03", "12-03"),
        ("What is the plan for Friday?", SATURDAY, "12-04", "12-04"),
        ("What do I have on Monday morning?", SATURDAY, "11-30", "11-30"),
        # Who means today says so.
        ("Anything on Saturday?", SATURDAY, "12-05", "12-05"),
        ("What happened on Saturday?", SATURDAY, "11-21", "11-21"),
        ("What happened last Tuesday?", SATURDAY, "11-24", "11-24"),
        ("last Friday", SATURDAY, "11-27", "11-27"),
        ("What happened on the weekend of 21 November?", SATURDAY, "11-21", "11-22"),
        ("What is planned for the weekend of 5 December?", SATURDAY, "12-05", "12-06"),
        ("What am I doing on Friday?", SATURDAY, "12-04", "12-04"),
        ("What are we doing at the weekend?", WEDNESDAY, "11-28", "11-29"),
        ("What was I doing on Friday?", SATURDAY, "11-27", "11-27"),
        ("Anything from Monday?", SATURDAY, "11-23", "11-23"),
        ("Show me my notes of Monday", SATURDAY, "11-23", "11-23"),
        ("next Friday", SATURDAY, "12-04", "12-04"),
        ("What is due next Friday?", MONDAY, "12-04", "12-04"),
        ("What is due this Friday?", MONDAY, "11-27", "11-27"),
        ("What is on this Friday?", SATURDAY, "12-04", "12-04"),
        ("What is due this coming Friday?", SATURDAY, "12-04", "12-04"),
        ("What is on Friday next week?", WEDNESDAY, "12-04", "12-04"),
        ("What is due on Monday of next week?", WEDNESDAY, "11-30", "11-30"),
        ("What happened on Tuesday last week?", WEDNESDAY, "11-17", "11-17"),
        ("What did I do the Monday before last?", WEDNESDAY, "11-16", "11-16"),
        ("What happened the weekend before last?", WEDNESDAY, "11-14", "11-15"),
        ("What is due on the Friday after next?", WEDNESDAY, "12-11", "12-11"),
        ("What happened two Fridays ago?", WEDNESDAY, "11-13", "11-13"),
        ("What happened three weekends ago?", WEDNESDAY, "11-07", "11-08"),
        ("What happened a week ago on Monday?", WEDNESDAY, "11-16", "11-16"),
        ("What is due a week from Friday?", WEDNESDAY, "12-04", "12-04"),
        ("What is planned two weeks on Saturday?", WEDNESDAY, "12-12", "12-12"),
        ("What is due one week from next Monday?", WEDNESDAY, "12-07", "12-07"),
        ("What is planned for the week after next?", WEDNESDAY, "12-07", "12-13"),
        ("What is due in a fortnight?", WEDNESDAY, "12-07", "12-13"),
        ("What is due in two weeks' time?", WEDNESDAY, "12-07", "12-13"),
        ("What is due three days from now?", WEDNESDAY, "11-28", "11-28"),
        ("What is due a week from today?", WEDNESDAY, "11-30", "12-06"),
        ("What is due at the end of the week?", WEDNESDAY, "11-27", "11-29"),
        ("What is planned for the coming week?", WEDNESDAY, "11-30", "12-06"),
        ("Anything this weekend?", WEDNESDAY, "11-28", "11-29"),
        ("Anything this weekend?", SUNDAY, "11-28", "11-29"),
        ("What is on at the weekend?", WEDNESDAY, "11-28", "11-29"),
        ("What did we do at the weekend?", WEDNESDAY, "11-21", "11-22"),
        ("last weekend", SUNDAY, "11-21", "11-22"),
        ("next weekend", WEDNESDAY, "12-05", "12-06"),
        ("next weekend", SUNDAY, "12-05", "12-06"),
        ("What is planned from Monday to Friday?", WEDNESDAY, "11-30", "12-04"),
        ("What happened from Monday to Friday?", WEDNESDAY, "11-16", "11-20"),
        ("What is on Friday week?", WEDNESDAY, "12-04", "12-04"),
        ("What is on on Tue?", WEDNESDAY, "12-01", "12-01"),
        ("Anything next Fri?", WEDNESDAY, "12-04", "12-04"),
        ("What is on on Mon 30 November?", SATURDAY, "11-30", "11-30"),
        ("What is due Mon-Wed?", SATURDAY, "11-30", "12-02"),
        ("What is due by EOD Friday?", WEDNESDAY, "11-25", "11-27"),
        ("What is due Friday-Saturday next week?", WEDNESDAY, "12-04", "12-05"),
        ("What is planned from Thursday to Saturday next week?", WEDNESDAY, "12-03", "12-05"),
        ("What does next week look like?", WEDNESDAY, "11-30", "12-06"),
        ("How does my week look?", WEDNESDAY, "11-23", "11-29"),
        ("What must I not miss next week?", WEDNESDAY, "11-30", "12-06"),
        ("Remind me what is due tomorrow", WEDNESDAY, "11-26", "11-26"),
        ("What is on tomorrow at 10:30?", WEDNESDAY, "11-26", "11-26"),
        ("What is on on the evening of 5 December?", WEDNESDAY, "12-05", "12-05"),
        ("What do I have on Friday in the morning?", WEDNESDAY, "11-27", "11-27"),
        ("What happened between Monday and Wednesday?", SATURDAY, "11-23", "11-25"),
        ("What is on on Monday, 30 November 2026?", SATURDAY, "11-30", "11-30"),
        ("What is on Monday the 30th of November 2026?", SATURDAY, "11-30", "11-30"),
        ("What is on Monday 2026-11-30?", SATURDAY, "11-30", "11-30"),
    ],
)
def test_a_day_of_the_week_is_the_next_one_or_the_last(question, today, first, last):
    assert days_of(alone(question, noon(today))) == (first, last)


def test_of_two_days_of_the_week_what_lies_between_is_not_meant():
    found = alone("What is planned for Monday or Wednesday?", noon(SATURDAY))
    assert [days_of(each)[0] for each in found.parts] == ["11-30", "12-02"]


@pytest.mark.parametrize(
    "question",
    [
        "What is on on Wednesdays?",
        "What happens every Wednesday?",
        "What happens on a Wednesday?",
        "What happens each Wednesday?",
        "What is on on the first Monday?",
        "What happened by Friday?",
        "What happened before Monday?",
        "Is Saturday a working day?",
        "Can I ship this on Friday?",
        "Who gives the Tuesday course?",
        "What happened to the Monday group?",
        "What is in Friday's presentation?",
        "What do we do one weekend a month?",
        "What is the weekend round?",
        "What is on on weekends?",
        "What is Man Friday?",
        "What is the Sun?",
        "What do I like next week?",
        "What is my week off?",
    ],
)
def test_a_day_of_the_week_is_no_time_where_more_is_asked_or_any_is_meant(question):
    assert alone(question, noon(SATURDAY)) is None


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did I eat on Monday?", "11-23"),
        ("Who came to dinner last Friday?", "11-27"),
        ("What did we cook last weekend?", "11-21"),
        ("Who called on Tuesday?", "11-24"),
        ("Which machine broke on Monday morning?", "11-23"),
        ("How many visitors came over the weekend?", "11-28"),
    ],
)
def test_what_was_kept_on_a_day_that_is_over_is_preferred(question, first):
    assert days_of(parse(question, noon(SATURDAY)))[0] == first


@pytest.mark.parametrize(
    "question",
    [
        "Can I see the flat on Friday?",
        "Could Marlon do my hair next Monday?",
        "How much does a kilo cost on Sunday?",
        "Where is the Monday meeting?",
        "What did Ann say in the Monday meeting?",
        "Which paper was due by Friday?",
        "Who came every Friday?",
        "Can I get treatment from her on Monday?",
        "Who takes the notes on Tuesday?",
        "Which bins are emptied on Tuesday?",
        "What bed is free on Tuesday?",
        "Who is needed on Tuesday?",
        "Who took over the Friday desk?",
        "Am I free at the weekend?",
        "Can Gethin play this Saturday?",
        "How many came to the last Sunday clinic?",
        "Can I wash towels on the last Friday?",
    ],
)
def test_a_day_of_the_week_is_otherwise_no_reason_to_prefer_what_was_kept(question):
    assert parse(question, noon(SATURDAY)) is None


def test_a_day_of_the_week_never_fails_at_the_edges_of_the_calendar():
    for day in (datetime.min, datetime.max):
        those = ("last Friday", "next Monday", "Monday next week", "last weekend", "next weekend")
        for question in (*those, "anything after yesterday", "what is due on the 31st", "what is due within a year"):
            alone(question, day.replace(tzinfo=ZONE))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Dentist on Tuesday at 9", [(1, "", False)]),
        ("choir on Mondays", [(0, "", True)]),
        ("He swims every Friday", [(4, "", True)]),
        ("Pays on the last Friday of each month", [(4, "last", True)]),
        ("Training Tue/Thu 18:30", [(1, "", True), (3, "", True)]),
        ("Open Wed-Fri, closed Sun", [(2, "", True), (4, "", True), (3, "", True)]),
        ("Open Saturday to Monday", [(5, "", False), (0, "", False), (6, "", False)]),
        ("Dentist Tue 9:30", [(1, "", False)]),
        ("Choir on Tuesday next week", [(1, "next", False)]),
        ("Visa two weeks from Friday", []),
        ("Hairdresser Friday week", []),
        ("Away Monday to Wednesday next week", [(0, "next", False), (2, "next", False), (1, "next", False)]),
        ("Met Ada last Thursday", [(3, "last", False)]),
        ("Sat on the sun deck, wed in March, Mon ami", []),
        ("The Sunday-school", [(6, "", False)]),
    ],
)
def test_a_text_speaks_of_days_of_the_week(text, said):
    assert [(each.weekday, each.which, each.weekly) for each in said_in(text)] == said


# Kept on Saturday, 28 November 2026, as Shelf keeps all at one moment.
NOTES = (
    "Dentist on Tuesday at 9",
    "Choir every Monday at 19:45",
    "Delia opens on Tuesdays",
    "Ship the parcel on 1 December",
    "Theatre on Tuesday 8 December",
    "Hut trip next weekend",
    "Lunch with Bea last Tuesday",
    "The sun deck was painted",
)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What is on Tuesday?", {NOTES[0], NOTES[2], NOTES[3]}),
        ("What is on Monday?", {NOTES[1]}),
        ("What is planned for 1 December?", {NOTES[0], NOTES[3]}),
        ("Anything next weekend?", {NOTES[5]}),
        ("What is due next week?", {NOTES[0], NOTES[3], NOTES[5]}),
        ("What is on Tuesday next week?", {NOTES[0], NOTES[2], NOTES[3]}),
        ("What happened last Tuesday?", {NOTES[0], NOTES[6]}),
    ],
)
def test_a_day_of_the_week_is_found_as_notes_tell_of_it(runtime, ada, question, found):
    shelf = Shelf(runtime, ada, NOTES)
    now = noon(SATURDAY)
    shelf.keep_at(now)
    result = shelf.ask(question, now=now + timedelta(hours=1), near=7, cosine=0.9, limit=20)
    assert {hit.snippet for hit in result.hits} == found
    assert result.period is not None


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Dentist on Tuesday next week", ["12-01"]),
        ("Away from Tuesday to Thursday next week", ["12-01", "12-02", "12-03"]),
        ("Away from Tuesday to Thursday", ["11-24", "11-25", "11-26", "11-17", "11-18", "11-19"]),
        ("Called on Tuesday last week", ["11-17"]),
        ("Dentist Tue 9:30", ["11-17", "11-24"]),
    ],
)
def test_a_day_of_the_week_is_of_the_week_that_a_note_tells(text, days):
    # Kept on a Monday.
    kept = noon(MONDAY)
    asked = [date(2026, 11, 10) + timedelta(days=each) for each in range(30)]
    told = [each for each in asked if says(alone(f"What was planned on {each:%d %B %Y}?", kept), text, kept, ZONE)]
    assert [f"{each:%m-%d}" for each in told] == sorted(days)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is on Tuesday?", "Gym on Monday and Tuesday"),
        ("What is on Monday?", "Kim works nights Sunday through Tuesday"),
    ],
)
def test_a_day_of_the_week_beside_another_is_told_as_well(question, text):
    period, now = alone(question, noon(SATURDAY)), noon(SATURDAY)
    assert period is not None
    assert says(period, text, now, ZONE)


def test_a_note_of_long_ago_speaks_of_a_day_of_its_own_week(runtime, ada):
    shelf = Shelf(runtime, ada, ("Dentist on Tuesday", "Vet on 1 December"))
    shelf.keep_at(noon("2026-06-06"))
    assert shelf.found("What is due tomorrow?", now=noon("2026-11-30")) == ["Vet on 1 December"]
    assert {*shelf.found("What is on Tuesday?", now=noon("2026-11-30"))} == {"Vet on 1 December", "Dentist on Tuesday"}


def test_a_day_of_which_nothing_is_told_is_searched_for(runtime, ada):
    shelf = Shelf(runtime, ada, ("Choir every Monday at 19:45", "The gate squeaks"))
    shelf.keep_at(noon("2026-06-06"))
    result = shelf.ask("What is on Wednesday?", now=noon(SATURDAY))
    assert (result.period, result.warnings) == (None, ("no memory is of that time",))


def test_a_day_of_the_week_is_one_of_the_zone():
    # There it is still Sunday.
    now = datetime(2026, 11, 30, 3, tzinfo=ZONE).astimezone(ZoneInfo("America/New_York"))
    assert local(alone("What is on Monday?", now).start, now.tzinfo).date() == date(2026, 11, 30)
