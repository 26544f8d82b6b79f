"""Which times a note tells from the day on which it was kept."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from retrieval.days.asked_period import alone
from retrieval.days.from_then import tells, untold

# A Tuesday.
KEPT = datetime(2026, 3, 3, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("on 4 March 2026", "Dentist TOMORROW at nine"),
        ("on 5 March 2026", "Vet the day after tomorrow"),
        ("on 2 March 2026", "Yesterday the boiler broke"),
        ("on 6 March 2026", "The parcel comes in three days"),
        ("in the week of 9 March 2026", "Next week I am in Rome"),
        ("in the week of 16 March 2026", "Exam in two weeks"),
        ("in April 2026", "The rent goes up next month"),
        ("in June 2026", "The passport ends in 3 months"),
        ("in the week of 16 March 2026", "Exam in a fortnight"),
        ("in September 2025", "Half a year ago we moved"),
        ("in the fourth quarter of 2025", "Sales fell last quarter"),
        ("in 2024", "We met two years ago"),
        ("in the summer of 2025", "Porto last summer"),
        ("in the winter of 2026", "Skiing in winter"),
        ("in March 2026", "Dentist tomorrow"),
        ("on 13 March 2026", "Report due at the end of next week"),
        ("on 9 March 2026", "Call Bea early next week"),
        ("in the third quarter of 2026", "Budget due in Q3"),
        ("in the fourth quarter of 2025", "Sales fell in Q4"),
        ("on 20 March 2026", "The interview is two weeks from Friday"),
        ("on 13 March 2026", "Hairdresser a week on Friday"),
        ("on 13 March 2026", "Hairdresser Friday week"),
        ("on 20 February 2026", "We met two Fridays ago"),
    ],
)
def test_a_note_tells_a_time_from_its_day(asked, text):
    period = alone(f"What was planned {asked}?", KEPT)
    assert tells(period, text, KEPT, UTC)
    # And tells nothing of it two years later.
    assert not tells(period, text, KEPT.replace(year=2028), UTC)


@pytest.mark.parametrize(("asked", "text"), [("11 March 2026", "Rome next week"), ("March 2027", "Porto next year")])
def test_a_longer_time_is_not_of_one_that_is_in_it(asked, text):
    assert not tells(alone(f"What was planned on {asked}?", KEPT), text, KEPT, UTC)


def test_the_day_of_a_note_is_that_of_the_zone():
    far_east = ZoneInfo("Pacific/Auckland")
    asked = [alone(f"What was planned on {day} March 2026?", KEPT.astimezone(far_east)) for day in (4, 5)]
    assert [tells(period, "Dentist tomorrow", KEPT, far_east) for period in asked] == [False, True]


def test_what_is_left_of_a_note_tells_no_time_from_its_day():
    assert untold("Rome next summer, tyres for winter", KEPT).split() == ["Rome", ",", "tyres", "for", "winter"]


@pytest.mark.parametrize("text", ["The roof is done in early 2027", "Lease ends in late 2027, rent due in Q3 2027"])
def test_a_part_of_a_year_is_of_no_time_that_is_shorter(text):
    asked = [alone(f"What is planned for {when}?", KEPT) for when in ("2027", "5 January 2027")]
    assert [tells(period, text, KEPT, UTC) for period in asked] == [True, False]
