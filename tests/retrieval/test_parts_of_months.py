"""Parts of months, and feasts, that a question asks for and a text tells of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from shelf import Shelf

from retrieval.days.asked_days import parse
from retrieval.days.asked_period import alone
from retrieval.days.dates import match
from retrieval.days.feasts import easter
from retrieval.days.told_days import told_in

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def days_of(span) -> tuple[str, str]:
    return f"{span.start:%Y-%m-%d}", f"{span.end - timedelta.resolution:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What is planned for the first week of December?", "2026-12-01", "2026-12-07"),
        ("What happened in the second week of October?", "2026-10-08", "2026-10-14"),
        ("What happened in the last week of May?", "2026-05-25", "2026-05-31"),
        ("the last week of May 2023", "2023-05-25", "2023-05-31"),
        ("the last two weeks of May 2023", "2023-05-01", "2023-05-31"),
        ("What happened in the last week of February 2024?", "2024-02-23", "2024-02-29"),
        ("What happened in the last week of February 2026?", "2026-02-22", "2026-02-28"),
        ("What happened in early June?", "2026-06-01", "2026-06-10"),
        ("Show me my notes of mid-June", "2026-06-11", "2026-06-20"),
        ("What did I note in late June?", "2026-06-21", "2026-06-30"),
        ("What happened at the beginning of March?", "2026-03-01", "2026-03-10"),
        ("What happened at the end of March?", "2026-03-21", "2026-03-31"),
        ("What happened in the first half of October?", "2026-10-01", "2026-10-15"),
        ("What happened in the second half of February?", "2026-02-16", "2026-02-28"),
        ("What is planned for the first Monday of December?", "2026-12-07", "2026-12-07"),
        ("What happened on the last Sunday in August?", "2026-08-30", "2026-08-30"),
        ("What happened from early May to mid June?", "2026-05-01", "2026-06-20"),
        ("What is due at the end of next month?", "2026-12-21", "2026-12-31"),
        ("What is due by the end of the month?", "2026-11-28", "2026-11-30"),
        ("What is planned for the rest of the year?", "2026-11-28", "2026-12-31"),
        ("What happened in the rest of the year?", "2026-01-01", "2026-12-31"),
        ("What is planned for Q1?", "2027-01-01", "2027-03-31"),
        ("What is due in the first quarter?", "2027-01-01", "2027-03-31"),
        ("What is due by the end of Q1?", "2026-11-28", "2027-03-31"),
        ("What is due before the end of the first quarter?", "2026-11-28", "2027-03-31"),
        ("What is planned for the rest of November?", "2026-11-28", "2026-11-30"),
        ("What is planned for the rest of December?", "2026-12-01", "2026-12-31"),
        ("What is planned for the second half of next year?", "2027-07-01", "2027-12-31"),
        ("What is planned for Christmas?", "2026-12-24", "2026-12-26"),
        ("What is due on Christmas Eve?", "2026-12-24", "2026-12-24"),
        ("What happens on New Year's Eve?", "2026-12-31", "2026-12-31"),
        ("What is planned between Christmas and New Year?", "2026-12-24", "2027-01-01"),
        ("What happened between Christmas and New Year?", "2025-12-24", "2026-01-01"),
        ("What happened between Easter and Christmas?", "2025-04-18", "2025-12-26"),
        ("What is planned between Easter 2027 and Christmas?", "2027-03-26", "2027-12-26"),
        ("What is planned between Easter and Christmas?", "2027-03-26", "2027-12-26"),
        ("What happened between Easter and June?", "2026-04-03", "2026-06-30"),
        ("What is planned between Easter and June?", "2027-03-26", "2027-06-30"),
        ("What happened from Easter 2025 to May?", "2025-04-18", "2025-05-31"),
        ("What is due between Christmas and March?", "2026-12-24", "2027-03-31"),
        ("What happens from May to Easter?", "2027-05-01", "2028-04-17"),
        ("What is planned between now and Easter?", "2026-11-28", "2027-03-29"),
        # Most of this year's is over.
        ("What is planned from March to December?", "2027-03-01", "2027-12-31"),
        ("What is planned from September to February?", "2026-09-01", "2027-02-28"),
        ("What is planned from November to 5 December?", "2026-11-01", "2026-12-05"),
        ("What happened from March to December?", "2025-03-01", "2025-12-31"),
        ("Anything over New Year?", "2026-12-31", "2027-01-01"),
        ("What happened over New Year 2024?", "2023-12-31", "2024-01-01"),
        ("What happened over New Year's Day?", "2026-01-01", "2026-01-01"),
        ("What happened in the week of 5 May?", "2026-05-04", "2026-05-10"),
        ("What is planned for the week of 7 December?", "2026-12-07", "2026-12-13"),
        ("What happened this summer?", "2026-06-01", "2026-08-31"),
        ("What is planned for this winter?", "2026-12-01", "2027-02-28"),
        ("What is planned next spring?", "2027-03-01", "2027-05-31"),
        ("What happened this winter?", "2025-12-01", "2026-02-28"),
        ("What happens in spring?", "2027-03-01", "2027-05-31"),
        ("What happened in the spring?", "2026-03-01", "2026-05-31"),
        ("What is due over the winter of 2027?", "2027-12-01", "2028-02-29"),
        ("What happened a few days ago?", "2026-11-23", "2026-11-26"),
        ("What did I note a couple of weeks ago?", "2026-11-02", "2026-11-22"),
        ("What is planned from Christmas to 2 January?", "2026-12-24", "2027-01-02"),
        ("What happened from 20 December to New Year?", "2025-12-20", "2026-01-01"),
        ("What did we do last Christmas?", "2025-12-24", "2025-12-26"),
        ("What is on this Christmas?", "2026-12-24", "2026-12-26"),
        ("What happened over Easter?", "2026-04-03", "2026-04-06"),
        ("What is on at Easter?", "2027-03-26", "2027-03-29"),
        ("What is planned for Easter 2028?", "2028-04-14", "2028-04-17"),
        ("What happened on Easter Monday?", "2026-04-06", "2026-04-06"),
        ("Anything on New Year's Eve?", "2026-12-31", "2026-12-31"),
        ("Anything on Good Friday?", "2027-03-26", "2027-03-26"),
        ("What did we do on Halloween?", "2026-10-31", "2026-10-31"),
        ("What is planned for Valentine's Day?", "2027-02-14", "2027-02-14"),
        ("What happened on Bonfire Night?", "2026-11-05", "2026-11-05"),
        ("What is on on Pancake Day?", "2027-02-09", "2027-02-09"),
        ("What is on on Whit Monday?", "2027-05-17", "2027-05-17"),
        ("What is on on 5/12?", "2026-12-05", "2026-12-05"),
        ("What happened on 05/06?", "2026-06-05", "2026-06-05"),
        ("What is due by 12/12?", "2026-11-28", "2026-12-12"),
        ("What is due from 8/12 to 10/12?", "2026-12-08", "2026-12-10"),
        ("What is planned for the first two weeks of December?", "2026-12-01", "2026-12-14"),
        ("What happened in the first 10 days of October?", "2026-10-01", "2026-10-10"),
        ("What is planned for the 1st week of December?", "2026-12-01", "2026-12-07"),
        # A day without its month is the next, or the last.
        ("the 12th", "2026-12-12", "2026-12-12"),
        ("What is on on the 12th?", "2026-12-12", "2026-12-12"),
        ("Anything on the 28th?", "2026-11-28", "2026-11-28"),
        ("What happened on the 12th?", "2026-11-12", "2026-11-12"),
        ("What is due on Thursday the 31st?", "2026-12-31", "2026-12-31"),
        ("What happened on the 31st?", "2026-10-31", "2026-10-31"),
        ("What is planned for the 3rd of next month?", "2026-12-03", "2026-12-03"),
        ("What is due by the 12th?", "2026-11-28", "2026-12-12"),
        ("What is on between the 8th and the 10th?", "2026-12-08", "2026-12-10"),
        ("What happened from the 30th to the 2nd?", "2026-10-30", "2026-11-02"),
        ("What is on on the weekend of the 12th?", "2026-12-12", "2026-12-13"),
        ("What is due in the week of the 9th?", "2026-12-07", "2026-12-13"),
        ("What is due in the week beginning 7 December?", "2026-12-07", "2026-12-13"),
        ("What is due w/c 7 December?", "2026-12-07", "2026-12-13"),
    ],
)
def test_a_part_of_a_month_and_a_feast_are_days(question, first, last):
    assert days_of(alone(question, NOW)) == (first, last)


def test_in_the_week_between_them_christmas_is_the_one_that_was():
    after = datetime(2026, 12, 28, 12, tzinfo=UTC)
    assert days_of(alone("What is planned between Christmas and New Year?", after)) == ("2026-12-24", "2027-01-01")


@pytest.mark.parametrize(
    "question",
    [
        "What happened by the end of March?",
        "What happened before Christmas?",
        "What is the end of the story in May?",
        "Who cooks Christmas dinner?",
        "What is in the Christmas box?",
        "What happens in the new year?",
        "How did I come to fall?",
        "Is this my last year?",
        "What is a happy New Year?",
        "What is planned between my birthday and Easter?",
        "What happened between the appointment and Easter?",
        "What is planned from the appointment to 5 May?",
        "What happens from spring to autumn?",
        "Christmas",
        "What is Easter?",
        "What is on on Easter Island?",
        "What is on on the 3rd floor?",
        "What is on on the 1st of each month?",
        "What is on on the 3rd and 4th floors?",
        "What is on on the 32nd?",
        "What is due by 3/4 of the cup?",
        "What is on on 5/6/7?",
        "What is the Halloween party?",
    ],
)
def test_what_is_no_part_of_a_month_and_no_feast_of_a_question_is_no_time(question):
    assert alone(question, NOW) is None


def test_what_was_kept_in_a_part_of_a_month_is_preferred():
    hint = parse("Where did we walk in the last week of May 2023?", NOW)
    fits = [match(hint, datetime.fromisoformat(f"{each}T12:00+00:00")) for each in ("2023-05-28", "2023-05-03")]
    assert fits == [1.0, 0.75]


def test_a_feast_is_a_reason_to_prefer_what_was_kept_only_where_it_is_over():
    assert parse("What did we eat at Christmas?", NOW).month == 12
    for question in (
        "Why isn't he home at Christmas?",
        "Could we bring the dog at Easter?",
        "Who carries the pager this summer?",
        "Which lawn feed did I use in spring?",
        "Who won the Easter race?",
    ):
        assert parse(question, NOW) is None


@pytest.mark.parametrize(
    ("year", "day"), [(1961, "04-02"), (2000, "04-23"), (2025, "04-20"), (2026, "04-05"), (2038, "04-25")]
)
def test_easter_is_on_its_sunday(year, day):
    assert f"{easter(year):%m-%d}" == day


@pytest.mark.parametrize(
    ("text", "month", "first", "last"),
    [
        ("Ready mid December", 12, 11, 20),
        ("Due at the end of March 2027", 3, 21, 31),
        ("Moves in the first week of May", 5, 1, 7),
        ("Camp in the 1st week of May", 5, 1, 7),
        ("Away for the first three weeks of May", 5, 1, 21),
        ("Fair in the last week of June", 6, 24, 30),
        ("Rare in late-August", 8, 21, 31),
    ],
)
def test_a_text_tells_of_a_part_of_a_month(text, month, first, last):
    assert [(each.month, each.days[0], each.days[-1]) for each in told_in(text)] == [(month, first, last)]


NOTES = (
    "The jib is ready mid December",
    "Skiing over New Year's Eve with Bea",
    "Christmas dinner is at Nelly's",
    "Kayak course on Easter Saturday",
    "Vet on 2 December",
    "Boiler check in December",
    "Pat cooks until Christmas, after New Year Bea does",
    "Exam on 14/12 at nine",
    "Costumes for Halloween",
)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What is planned for 15 December?", {NOTES[0]}),
        ("What is due in the first week of December?", {NOTES[4]}),
        ("What is planned for Christmas?", {NOTES[2]}),
        ("What is due on 25 December?", {NOTES[2]}),
        ("What is due on 14 December?", {NOTES[0], NOTES[7]}),
        ("What was planned for 31 October?", {NOTES[8]}),
        ("What is planned between Christmas and New Year?", {NOTES[1], NOTES[2]}),
        ("What is on at Easter?", {NOTES[3]}),
        ("What is due in mid December?", {NOTES[0], NOTES[7]}),
        ("What is planned for December?", {*NOTES[:6], NOTES[7]} - {NOTES[3]}),
    ],
)
def test_days_are_found_that_notes_tell_by_parts_of_months_and_feasts(runtime, ada, question, found):
    shelf = Shelf(runtime, ada, NOTES)
    shelf.keep_at(NOW)
    result = shelf.ask(question, now=NOW, near=6, cosine=0.9)
    assert {hit.snippet for hit in result.hits} == found
    assert result.period is not None
