"""From which day to which a text says something."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta

import pytest

from retrieval.days.asked_period import alone
from retrieval.days.months import with_months
from retrieval.days.told_days import says, told_in


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from 28 December to 2 January", [(None, 12, 28, 31), (None, 1, 1, 2)]),
        ("from 28 December 2025 to 2 January", [(2025, 12, 28, 31), (2026, 1, 1, 2)]),
        ("from 28 December to 2 January 2026", [(2025, 12, 28, 31), (2026, 1, 1, 2)]),
        ("from 28 March to 2 May 2026", [(2026, 3, 28, 31), (2026, 4, 1, 31), (2026, 5, 1, 2)]),
        ("2026-03-28T10:00 - 2026-04-02", [(2026, 3, 28, 31), (2026, 4, 1, 2)]),
        ("28.3.2026 until 2.4.2026", [(2026, 3, 28, 31), (2026, 4, 1, 2)]),
        ("13/5/2026 to 15/5/2026", [(2026, 5, 13, 15)]),
        ("3/5/2026 to 15/5/2026", []),
        ("13/5/2026 to 6/7/2026", []),
        ("3 May 2020 to 7 June 2026", []),
        ("3 June 2026 to 7 May 2026", []),
        ("3 May to June", []),
        ("3 May and 7 May", []),
        ("between 3 and 7 May", [(None, 5, 3, 7)]),
        ("Between 3 May and the 7th of May", [(None, 5, 3, 7)]),
        ("from the 3rd to the 7th of May", [(None, 5, 3, 7)]),
        ("from May 3rd until the 7th", [(None, 5, 3, 7)]),
        ("from Sun 3 to Thu 7 May", [(None, 5, 3, 7)]),
        ("Sunday 3 May - Thursday 7 May", [(None, 5, 3, 7)]),
        ("between Sun 3 May and Thursday, 7 May", [(None, 5, 3, 7)]),
    ],
)
def test_all_days_between_two_are_said(text, said):
    told = [each for each in told_in(with_months(text)) if each.days[1:]]
    assert [(each.year, each.month, each.days[0], each.days[-1]) for each in told] == said


def test_the_end_of_a_range_is_of_no_other_year():
    said = list(told_in("from 28 December 2025 to 2 January, and on 5 March"))
    assert [(each.year, each.month) for each in said] == [(2025, 12), (2026, 1), (None, 3)]


# So long that it is looked at only near what may tell of a day; "İ" is two characters in lower case.
LONG = "İ The market of the town opens at ten, and there is nothing else to say of it. " * 10


@pytest.mark.parametrize(
    "text",
    [
        "Away from the 19th through the 26th of December 2026, and on September the 3rd and the 4th",
        "due for the 2nd of March, 2027 in late January, and on the first Monday in May",
        "2026-12-03T10:00 - 2026-12-05, paid on 3.12.2026, due 5.1. and on 03/12/2026",
        "am 24. Dezember 2026, en enero de 2027, le 1er Février",
    ],
)
def test_a_long_text_tells_of_the_days_of_a_short_one(text):
    alone_in, within = with_months(text), with_months(f"{LONG}{text}, {LONG}")
    told = [(each.start + len(LONG), each.end + len(LONG), *each[2:]) for each in told_in(alone_in)]
    assert told
    assert [tuple(each) for each in told_in(within)] == told


@pytest.mark.parametrize(
    "text", ["every alternate Thursday", "the hut on Boxing Day", "the third of every Wednesday", "Thu, Fri"]
)
def test_a_long_text_speaks_of_a_weekday_or_a_feast(text):
    now = datetime(2026, 12, 20, tzinfo=UTC)
    asked = [alone(f"What is {when}?", now) for when in ("on Thursday", "on Wednesday", "on Boxing Day")]
    for period in asked:
        assert period is not None
        assert says(period, f"{LONG}{text}, {LONG}", now, UTC) == says(period, text, now, UTC)
    assert any(says(period, text, now, UTC) for period in asked if period is not None)


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("What happens this winter?", "Skiing in Davos on 14 January", True),
        ("What happens this winter?", "The fair is in January", True),
        ("What happens this winter?", "Lease ends on 14 January 2026", False),
        ("What happens this winter?", "Exhibition from 20 November to 3 December", True),
        ("What happens this winter?", "The vet comes in November", False),
        ("What happens next month?", "The fair is in December", True),
        ("What happens in the next two weeks?", "The fair is in December", False),
        ("What happens next year?", "The bridge is closed in 2027", True),
        ("What happens this winter?", "The bridge is closed in 2027", False),
        ("What happened in winter?", "The wrist broke on 2 December", True),
        # In more than a season a day without its year is at most seven months away.
        ("What happened last year?", "Skiing in Davos on 14 January", False),
        ("What happened last year?", "The roof leaked on 14 June", False),
        ("What happens next year?", "Skiing in Davos on 14 January", True),
        ("What happened in the last ten years?", "The roof leaked on 14 June", False),
    ],
)
def test_a_long_time_has_the_days_and_the_whole_months_and_years_in_it(question, text, said):
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)
    assert says(alone(question, now), text, now, UTC) is said


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Dentist on the 22nd", ["05-22", "04-22"]),
        ("Dentist on 22nd at ten", ["05-22", "04-22"]),
        ("Vet on Friday the 22nd", ["05-22", "04-22"]),
        ("Forms back by the 3rd.", ["06-03", "05-03"]),
        ("Forms back by the 3rd of next month", ["06-03"]),
        ("Away from the 30th to the 2nd", ["05-30", "05-31", "06-01", "06-02"]),
        ("Away on the weekend of the 23rd", ["05-23", "05-24"]),
        ("Course in the week of 27 May", ["05-25", "05-31"]),
        ("Invoice due by the end of the month", ["05-21", "05-31"]),
        ("Invoice due early next month", ["06-01", "06-10"]),
        ("Rent on the 1st of each month", ["05-01", "06-01", "12-01"]),
        ("The flat on the 22nd floor", []),
        ("For the 22nd time", []),
    ],
)
def test_a_day_without_its_month_is_beside_that_on_which_the_note_was_kept(text, days):
    # A Thursday.
    kept = datetime(2026, 5, 14, 12, tzinfo=UTC)
    asked = {each for each in DAYS if says(alone(f"What was planned on {each:%d %B %Y}?", kept), text, kept, UTC)}
    assert {f"{each:%m-%d}" for each in asked} >= set(days)
    far = [each for each in asked if "each" not in text and abs((each - kept.date()).days) > 31]
    assert (bool(asked), far) == (bool(days), [])


# All of a year.
DAYS = [date(2026, 1, 1) + timedelta(days=each) for each in range(365)]


def test_a_weekday_beside_a_day_without_its_month_is_of_that_day():
    kept = datetime(2026, 5, 14, 12, tzinfo=UTC)
    asked = [alone(f"What is planned for {each}?", kept) for each in ("15 May 2026", "22 May 2026")]
    assert [says(each, "Vet on Friday the 22nd", kept, UTC) for each in asked] == [False, True]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ada's birthday is on 5 July", True),
        ("Ada's birthday: 5 July 1980", True),
        ("The boiler is serviced every year in July", True),
        ("Wedding anniversary 5 July", True),
        ("The boiler was serviced on 5 July", False),
        ("Ada's birthday is on 6 August", False),
    ],
)
def test_what_is_so_each_year_is_of_whatever_year(text, said):
    kept = datetime(2019, 5, 14, 12, tzinfo=UTC)
    asked = [alone(f"What is planned for {when}?", kept.replace(year=2026)) for when in ("5 July", "July")]
    assert says(asked[1], text, kept, UTC) is said
    assert says(asked[0], text, kept, UTC) is (said and "5 July" in text)


def test_a_text_of_dates_alone_is_read_in_time():
    began = time.process_time()
    assert len(list(told_in("in June 2023 " * 15_000))) == 15_000
    assert time.process_time() - began < 4
