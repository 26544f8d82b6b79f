from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import NOW

from retrieval.days.asked_days import parse
from retrieval.days.asked_period import alone
from retrieval.days.dates import DateHint, Period, match
from retrieval.days.told_days import says_another

ZONES = [UTC, *map(ZoneInfo, ("Pacific/Kiritimati", "Pacific/Apia", "Pacific/Pago_Pago", "America/Santiago"))]


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


moment = day


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What did she paint in 2022?", (2022, None, None)),
        ("What happened in June?", (None, 6, None)),
        ("Where was Ann in Sept. 2021?", (2021, 9, None)),
        ("Where were we in May?", (None, 5, None)),
        ("Where were we around May 2023?", (2023, 5, None)),
        ("Who called on 7 May?", (None, 5, 7)),
        ("Who called on May 7th?", (None, 5, 7)),
        ("Who called on the 7th of May, 2023?", (2023, 5, 7)),
        ("Who called on December 24, 2020?", (2020, 12, 24)),
        ("In 2023, who called on 3 June?", (2023, 6, 3)),
        ("Notes of 2023-05-07", (2023, 5, 7)),
        ("Notes of 2023-05", (2023, 5, None)),
        ("At 12:30 June came home", (None, 6, None)),
        ("the last two weeks of May 2023", (2023, 5, None)),
    ],
)
def test_a_named_date_gives_its_parts(question, parts):
    assert parse(question, NOW) == DateHint(*parts)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What may I eat?",
        "How late may people sit outside?",
        "How early may we start?",
        "When is the next march?",
        "May I ask what the mayor said?",
        "Who ran the pride march?",
        "Who paid $2000 or 2,000 or 1999.50?",
        "Who was Augustus?",
        "Who lived 9999 years ago?",
        "Who ruled the last 9999 years?",
        "What happened in the last five years of the war?",
        "What lasts?",
        "Who came in the last quarter of an hour?",
        "Who won the third quarter?",
        "What was on the 3rd page?",
        "What did I do on the 32nd?",
        "What is on the 3rd?",
        "Why was it moved to the 3rd?",
        "Which bins go out at the start of the week?",
    ],
)
def test_a_question_without_a_date_gives_no_hint(question):
    assert parse(question, NOW) is None


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did I do today?", "2024-07-10", "2024-07-11"),
        ("And yesterday?", "2024-07-09", "2024-07-10"),
        ("What did I eat the day before  Yesterday?", "2024-07-08", "2024-07-09"),
        ("What did I cook this evening?", "2024-07-10", "2024-07-11"),
        ("How did I sleep last night?", "2024-07-09", "2024-07-11"),
        ("Who came the week before last?", "2024-06-24", "2024-07-01"),
        ("this week", "2024-07-08", "2024-07-15"),
        ("last week", "2024-07-01", "2024-07-08"),
        ("this month", "2024-07-01", "2024-08-01"),
        ("Last month", "2024-06-01", "2024-07-01"),
        ("this year", "2024-01-01", "2025-01-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("3 days ago", "2024-07-07", "2024-07-08"),
        ("two weeks ago", "2024-06-24", "2024-07-01"),
        ("8 months ago", "2023-11-01", "2023-12-01"),
        ("a year ago", "2023-01-01", "2024-01-01"),
        ("in the last two weeks", "2024-06-26", "2024-07-11"),
        ("the past 3 days", "2024-07-07", "2024-07-11"),
        ("in the past week", "2024-07-03", "2024-07-11"),
        ("over the last couple of months", "2024-05-10", "2024-07-11"),
        ("the last few days", "2024-07-05", "2024-07-11"),
        ("the past year", "2023-07-10", "2024-07-11"),
        ("the last 2 years", "2022-07-10", "2024-07-11"),
        ("last spring", "2024-03-01", "2024-06-01"),
        ("last summer", "2023-06-01", "2023-09-01"),
        ("last autumn", "2023-09-01", "2023-12-01"),
        ("last fall", "2023-09-01", "2023-12-01"),
        ("last winter", "2023-12-01", "2024-03-01"),
        ("a fortnight ago", "2024-06-24", "2024-07-01"),
        ("the last fortnight", "2024-06-26", "2024-07-11"),
        ("eleven days ago", "2024-06-29", "2024-06-30"),
        ("last quarter", "2024-04-01", "2024-07-01"),
        ("two quarters ago", "2024-01-01", "2024-04-01"),
        ("the quarter before last", "2024-01-01", "2024-04-01"),
        ("over the past quarter", "2024-04-10", "2024-07-11"),
        ("half a year ago", "2024-01-01", "2024-02-01"),
        ("a year and a half ago", "2023-01-01", "2023-02-01"),
        ("two and a half years ago", "2022-01-01", "2022-02-01"),
        ("What was I doing this time last year?", "2023-06-25", "2023-07-26"),
        ("at the same time last month", "2024-06-06", "2024-06-15"),
        ("around this time two weeks ago", "2024-06-25", "2024-06-28"),
        ("this week last year", "2023-07-10", "2023-07-17"),
        ("in the same month last year", "2023-07-01", "2023-08-01"),
        ("on this day two years ago", "2022-07-10", "2022-07-11"),
        ("a year ago today", "2023-07-10", "2023-07-11"),
        ("one month ago to the day", "2024-06-10", "2024-06-11"),
        ("in the last 24 hours", "2024-07-09T12", "2024-07-10T12"),
        ("within the past hour", "2024-07-10T11", "2024-07-10T12"),
        ("half an hour ago", "2024-07-10T11:15", "2024-07-10T11:45"),
        ("20 minutes ago", "2024-07-10T11:30", "2024-07-10T11:50"),
        ("in Q2", "2024-04-01", "2024-07-01"),
        ("Q2 revenue", "2024-04-01", "2024-07-01"),
        ("in Q3", "2024-07-01", "2024-10-01"),
        ("in Q4", "2023-10-01", "2024-01-01"),
        ("in q3 of 2022", "2022-07-01", "2022-10-01"),
        ("the last quarter of 2022", "2022-10-01", "2023-01-01"),
        ("the third quarter of last year", "2023-07-01", "2023-10-01"),
        ("early 2023", "2023-01-01", "2023-05-01"),
        ("mid-2023", "2023-05-01", "2023-09-01"),
        ("at the end of 2023", "2023-09-01", "2024-01-01"),
        ("late last year", "2023-09-01", "2024-01-01"),
        ("What did I do in the first half of the year?", "2024-01-01", "2024-07-01"),
        ("at the start of this week", "2024-07-08", "2024-07-10"),
        ("in the middle of last month", "2024-06-11", "2024-06-21"),
        ("the beginning of last quarter", "2024-04-01", "2024-05-01"),
        ("What did I do on the 3rd?", "2024-07-03", "2024-07-04"),
        ("What did I do on the 31st?", "2024-05-31", "2024-06-01"),
    ],
)
def test_a_relative_date_gives_a_span(question, start, end):
    assert parse(question, NOW) == DateHint(start=day(start), end=day(end))


def test_the_past_month_begins_with_its_last_day_where_it_is_shorter():
    assert parse("the past month", day("2024-03-31")) == DateHint(start=day("2024-02-29"), end=day("2024-04-01"))
    assert parse("the past year", day("2024-02-29")) == DateHint(start=day("2023-02-28"), end=day("2024-03-01"))


def test_last_month_in_january_is_december():
    assert parse("last month", day("2024-01-31")) == DateHint(start=day("2023-12-01"), end=day("2024-01-01"))


def test_last_winter_in_february_is_the_one_before():
    assert parse("last winter", day("2024-02-10")) == DateHint(start=day("2022-12-01"), end=day("2023-03-01"))


def test_today_is_the_day_in_the_zone_of_now():
    evening_in_new_york = datetime(2024, 7, 10, 22, tzinfo=timezone(timedelta(hours=-4)))
    assert parse("today", evening_in_new_york) == DateHint(start=moment("2024-07-10T04"), end=moment("2024-07-11T04"))
    assert parse("today", evening_in_new_york.astimezone(UTC)) == DateHint(
        start=day("2024-07-11"), end=day("2024-07-12")
    )


@pytest.mark.parametrize(
    ("question", "zone", "now", "start", "end"),
    [
        # A Tuesday morning there is Monday evening in UTC.
        ("yesterday", "Pacific/Auckland", "2024-07-08T20", "2024-07-07T12", "2024-07-08T12"),
        ("this week", "Pacific/Auckland", "2024-07-07T13", "2024-07-07T12", "2024-07-14T12"),
        ("last month", "America/Los_Angeles", "2024-07-01T05", "2024-05-01T07", "2024-06-01T07"),
        ("this year", "Asia/Kolkata", "2023-12-31T19", "2023-12-31T18:30", "2024-12-31T18:30"),
        # Clocks go forward: 23 hours, and a month that is an hour short.
        ("yesterday", "Europe/Berlin", "2024-04-01T10", "2024-03-30T23", "2024-03-31T22"),
        ("last month", "Europe/Berlin", "2024-04-01T10", "2024-02-29T23", "2024-03-31T22"),
        # The 24 hours before are not those from the same time of the day before.
        ("the last 24 hours", "Europe/Berlin", "2024-03-31T10", "2024-03-30T10", "2024-03-31T10"),
        # And back: 25 hours.
        ("today", "Europe/Berlin", "2024-10-27T10", "2024-10-26T22", "2024-10-27T23"),
        ("3 days ago", "Europe/Berlin", "2024-10-30T10", "2024-10-26T22", "2024-10-27T23"),
        # Midnight does not exist: the day begins at one o'clock. Nor is it skipped when it comes twice.
        ("today", "America/Santiago", "2024-09-08T15", "2024-09-08T04", "2024-09-09T03"),
        ("today", "America/Havana", "2024-11-03T15", "2024-11-03T04", "2024-11-04T05"),
        ("last summer", "Europe/Berlin", "2024-07-10T10", "2023-05-31T22", "2023-08-31T22"),
        ("last winter", "America/New_York", "2024-03-01T02", "2022-12-01T05", "2023-03-01T05"),
    ],
)
def test_a_relative_date_gives_a_span_of_days_of_the_zone(question, zone, now, start, end):
    hint = parse(question, moment(now).astimezone(ZoneInfo(zone)))
    assert hint == DateHint(start=moment(start), end=moment(end))


def test_a_day_that_a_zone_never_had_is_no_date():
    new_year_eve_in_apia = datetime(2011, 12, 31, 9, tzinfo=ZoneInfo("Pacific/Apia"))
    assert parse("yesterday", new_year_eve_in_apia) is None
    assert alone("What happened on 30 December 2011?", new_year_eve_in_apia) is None


@pytest.mark.parametrize(
    ("created", "fit"),
    [
        ("2023-05-07", 1.0),
        ("2023-05-08", 0.75),  # (1 + 2) / 4
        ("2022-05-07", 0.75),  # (2 + 1) / 4
        ("2023-06-08", 0.25),  # 1 / 4
        ("2022-06-08", 0.0),
    ],
)
def test_parts_match_by_their_weights(created, fit):
    assert match(DateHint(2023, 5, 7), day(created)) == pytest.approx(fit)


def test_parts_are_those_of_the_day_in_the_zone():
    evening = moment("2023-05-07T22")
    for zone, fit in {"UTC": 1.0, "Europe/Berlin": 0.75, "America/New_York": 1.0}.items():
        hint = parse("on 7 May 2023", NOW.astimezone(ZoneInfo(zone)))
        assert (hint.zone, match(hint, evening)) == (ZoneInfo(zone), fit)


def test_what_is_beyond_the_calendar_of_a_zone_is_matched_by_its_day_in_utc():
    assert match(DateHint(9999, 12, 31, zone=ZoneInfo("Pacific/Auckland")), moment("9999-12-31T20")) == 1


def test_only_named_parts_count():
    assert match(DateHint(month=5), day("1999-05-30")) == 1


@pytest.mark.parametrize(
    ("created", "fit"),
    [
        ("2024-07-01", 1.0),
        ("2024-07-11", 1.0),
        ("2024-07-16", 0.5),  # 5 of 10 days outside
        ("2024-06-24", 0.3),  # 7 of 10 days outside
        ("2024-07-21", 0.0),
        ("2020-01-01", 0.0),
    ],
)
def test_a_span_fades_out_over_its_own_length(created, fit):
    hint = DateHint(start=day("2024-07-01"), end=day("2024-07-11"))
    assert match(hint, day(created)) == pytest.approx(fit)


@given(st.text(), st.datetimes(), st.datetimes())
def test_any_text_and_moment_gives_a_match_between_zero_and_one(question, now, created):
    hint = parse(question, now.replace(tzinfo=UTC))
    assert hint is None or 0 <= match(hint, created.replace(tzinfo=UTC)) <= 1


@given(
    st.sampled_from(
        ["last winter", "last fall", "last year", "last week", "yesterday", "10 months ago", "the last 7 years"]
    ),
    st.datetimes(),
    st.sampled_from(ZONES),
)
def test_a_relative_date_never_fails_even_at_the_edges_of_the_calendar(question, now, zone):
    parse(question, now.replace(tzinfo=zone))


@pytest.mark.parametrize(
    ("question", "start", "end", "named"),
    [
        ("What happened last month?", "2024-06-01", "2024-07-01", ()),
        ("anything from yesterday", "2024-07-09", "2024-07-10", ()),
        ("What did I do the day before yesterday?", "2024-07-08", "2024-07-09", ()),
        ("What happened yesterday evening?", "2024-07-09", "2024-07-10", ()),
        ("What happened last night?", "2024-07-09", "2024-07-11", ()),
        ("What did I note earlier this week?", "2024-07-08", "2024-07-15", ()),
        ("What did I do this morning?", "2024-07-10", "2024-07-11", ()),
        ("What did we talk about last spring?", "2024-03-01", "2024-06-01", ()),
        ("in October", "2023-10-01", "2023-11-01", (None, 10, None)),
        ("October", "2023-10-01", "2023-11-01", (None, 10, None)),
        ("Show me my notes of July", "2024-07-01", "2024-08-01", (None, 7, None)),
        ("What happened on 7 May?", "2024-05-07", "2024-05-08", (None, 5, 7)),
        ("What happened on 24 December?", "2023-12-24", "2023-12-25", (None, 12, 24)),
        ("What did I do on 29 February?", "2024-02-29", "2024-03-01", (None, 2, 29)),
        ("Everything of 2023-05-07", "2023-05-07", "2023-05-08", (2023, 5, 7)),
        ("2023", "2023-01-01", "2024-01-01", (2023, None, None)),
        ("the last two weeks of May 2023", "2023-05-01", "2023-06-01", (2023, 5, None)),
        ("What happened in the last two weeks?", "2024-06-26", "2024-07-11", ()),
        ("anything new in the past month?", "2024-06-10", "2024-07-11", ()),
        ("What happened over the last 3 days?", "2024-07-07", "2024-07-11", ()),
    ],
)
def test_a_question_may_ask_for_a_time_alone(question, start, end, named):
    assert alone(question, NOW) == Period(day(start), day(end), DateHint(*named) if named else None)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What will there be in May?", "2025-05-01", "2025-06-01"),
        ("What is due in July?", "2024-07-01", "2024-08-01"),
        ("What's due on 3 December?", "2024-12-03", "2024-12-04"),
        ("What was due in December?", "2023-12-01", "2024-01-01"),
        ("What happens on 3 December?", "2024-12-03", "2024-12-04"),
        ("Is anything planned for 29 February?", "2028-02-29", "2028-03-01"),
        ("What is coming up next week?", "2024-07-15", "2024-07-22"),
        ("tomorrow", "2024-07-11", "2024-07-12"),
        ("What is planned for the day after tomorrow?", "2024-07-12", "2024-07-13"),
        ("What is planned for March?", "2025-03-01", "2025-04-01"),
        ("What's happening in May?", "2025-05-01", "2025-06-01"),
        ("What was happening in May?", "2024-05-01", "2024-06-01"),
        ("What is due in 3 days?", "2024-07-13", "2024-07-14"),
        ("What happens in two weeks?", "2024-07-22", "2024-07-29"),
        ("What will I do in a month?", "2024-08-01", "2024-09-01"),
        ("What was due for May?", "2024-05-01", "2024-06-01"),
    ],
)
def test_what_is_to_come_is_of_the_next_time(question, start, end):
    found = alone(question, NOW)
    assert (found.start, found.end) == (day(start), day(end))


@pytest.mark.parametrize(
    ("question", "end"),
    [
        ("What is due in the next 3 days?", "2024-07-14"),
        ("What is coming up within the next two weeks?", "2024-07-25"),
        ("What happens in the coming few days?", "2024-07-16"),
        ("What is due in the coming days?", "2024-07-16"),
        ("What is planned for the next weeks?", "2024-08-15"),
        ("What is due over the next week?", "2024-07-18"),
        ("What is due within the month?", "2024-08-11"),
        ("What is due within two weeks?", "2024-07-25"),
        ("What is due within a fortnight?", "2024-07-25"),
        ("What is due in the next 24 hours?", "2024-07-12"),
    ],
)
def test_what_comes_next_is_from_now_on(question, end):
    found = alone(question, NOW)
    assert (found.start, found.end) == (NOW, day(end))


@pytest.mark.parametrize(
    "question",
    ["Which tyres do I need next week?", "Who pays in the next 3 days?", "How far did I swim in two weeks?"],
)
def test_what_is_to_come_is_no_reason_to_prefer_what_was_kept(question):
    assert parse(question, NOW) is None


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What happened in 2022 and 2023?", "2022-01-01", "2024-01-01"),
        ("What did I note from 2023-05-01 to 2023-05-07?", "2023-05-01", "2023-05-08"),
        ("What happened between 3 May and 6 May 2023?", "2023-05-03", "2023-05-07"),
        ("2023-05-01 - 2023-05-07", "2023-05-01", "2023-05-08"),
        ("anything from yesterday or today", "2024-07-09", "2024-07-11"),
        ("What did I note this week and last week?", "2024-07-01", "2024-07-15"),
        ("What happened in May and June 2023?", "2023-05-01", "2023-07-01"),
        ("What happened in June 2023 and in May 2023?", "2023-05-01", "2023-07-01"),
        ("What did I note on 3 and 4 May 2023?", "2023-05-03", "2023-05-05"),
    ],
)
def test_of_several_dates_all_are_meant(question, start, end):
    found = alone(question, NOW)
    assert (found.start, found.end) == (day(start), day(end))


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What happened from 3 to 5 May?", "2024-05-03", "2024-05-06"),
        ("What happened May 3-5?", "2024-05-03", "2024-05-06"),
        ("What happened between the 3rd and the 5th of May?", "2024-05-03", "2024-05-06"),
        ("What happened from October to January?", "2023-10-01", "2024-02-01"),
        ("What happened from May to June?", "2024-05-01", "2024-07-01"),
        ("What happened between August and July?", "2023-08-01", "2024-08-01"),
        ("What will happen between June and January?", "2024-06-01", "2025-02-01"),
        ("What is planned between July 1 and July 20?", "2024-07-01", "2024-07-21"),
        ("What happened from 30 December to 2 January 2023?", "2022-12-30", "2023-01-03"),
        ("What happened from December 2021 to January?", "2021-12-01", "2022-02-01"),
        ("What happened from 28 February to 29 February?", "2024-02-28", "2024-03-01"),
        ("2023-05-07 - 2023-05-01", "2023-05-01", "2023-05-08"),
        ("What happened since last week?", "2024-07-01", "2024-07-11"),
        ("Anything since yesterday?", "2024-07-09", "2024-07-11"),
        ("What have you noted since 20 November?", "2023-11-20", "2024-07-11"),
        ("What is planned since March?", "2024-03-01", "2024-07-11"),
    ],
)
def test_the_ends_of_a_range_are_beside_each_other(question, start, end):
    found = alone(question, NOW)
    assert (found.start, found.end, found.parts) == (day(start), day(end), ())


def test_a_range_of_no_year_is_no_time():
    assert alone("What happened between 29 February and 3 March 2023?", NOW) is None


def test_what_lies_between_two_dates_is_not_meant_unless_that_is_said():
    found = alone("What happened on 2023-05-04 and 2023-05-06?", NOW)
    assert (found.start, found.end) == (day("2023-05-04"), day("2023-05-07"))
    assert [day(f"2023-05-{each}") in found for each in ("03", "04", "05", "06", "07")] == [0, 1, 0, 1, 0]
    between = alone("What happened between 2023-05-04 and 2023-05-06?", NOW)
    assert day("2023-05-05") in between
    assert alone("2023-05-04 " * 5, NOW) is None, "so many are a list of something else"
    assert alone("What happened on 2023-05-04 and 31 June 2023?", NOW) is None


@pytest.mark.parametrize(
    "question",
    [
        "What did June say?",
        "What food can June not eat?",
        "How does August drink tea?",
        "June's ring",
        "the box for June\u2019s ring",
        "What is April allergic to?",
        "Where does June work?",
        "What did May say to August?",
        "How do I call June?",
        "Who went with April to the lake?",
        "Tell me about Jan",
        "Whom has Ada met, June said?",
        "The school where June works",
        "When is the birthday of June?",
        "What is painted by April?",
    ],
)
def test_who_has_the_name_of_a_month_is_no_date(question):
    assert parse(question, NOW) is None


@pytest.mark.parametrize(
    "question",
    [
        "the June invoice",
        "When is the June work day?",
        "August rent?",
        "in June",
        "Who came in April?",
        "What was planted by June?",
        "the rent of August",
        "What is told about December?",
        "about 3 June",
        "Was it cold in January?",
        "Is it May 2023?",
    ],
)
def test_a_month_that_is_nobody_is_a_date(question):
    assert parse(question, NOW).month is not None


@pytest.mark.parametrize(
    ("question", "zone", "start", "end"),
    [
        ("in October", "Europe/Berlin", "2023-09-30T22", "2023-10-31T23"),
        ("What happened on 24 December?", "America/New_York", "2023-12-24T05", "2023-12-25T05"),
        ("2023", "Asia/Tokyo", "2022-12-31T15", "2023-12-31T15"),
        ("anything from yesterday", "Pacific/Auckland", "2024-07-09T12", "2024-07-10T12"),
    ],
)
def test_a_time_alone_is_that_of_the_zone(question, zone, start, end):
    period = alone(question, moment("2024-07-10T12:30").astimezone(ZoneInfo(zone)))
    assert (period.start, period.end) == (moment(start), moment(end))
    assert (period.start in period, period.end in period) == (True, False)


def test_the_latest_day_of_a_name_has_begun_in_the_zone():
    now = moment("2024-05-06T13")
    assert alone("on 7 May", now).start.year == 2023
    assert alone("on 7 May", now.astimezone(ZoneInfo("Pacific/Auckland"))).start == moment("2024-05-06T12")


@pytest.mark.parametrize(
    "question",
    [
        "What did Ann paint in 2022?",
        "What did June say?",
        "How much did we spend last month?",
        "What happened before May?",
        "What has happened since I moved?",
        "What happened on 3 May 2023 and since yesterday?",
        "What did I paint in the last two weeks?",
        "What happened in the last two months of 2023?",
        "Where was I on 31 June?",
        "What happened on 31 June 2023?",
        "What happened?",
        "May I?",
        "",
    ],
)
def test_whoever_asks_for_more_does_not_ask_for_a_time_alone(question):
    assert alone(question, NOW) is None


@given(
    st.sampled_from(
        [
            "in June",
            "29 February",
            "last year",
            "in 9999",
            "in 1900",
            "7 May 9999",
            "today",
            "in a year",
            "the next 9 years",
            "on the 31st",
            "due before the 3rd",
            "due after 7 May 9999",
            "from the 30th on",
            "from the 30th to the 2nd",
            "within 9 years",
            "in the coming weeks",
        ]
    ),
    st.datetimes(),
    st.sampled_from(ZONES),
)
def test_a_time_never_fails_even_at_the_edges_of_the_calendar(question, now, zone):
    period = alone(question, now.replace(tzinfo=zone))
    assert period is None or period.start < period.end


@pytest.mark.parametrize(
    ("text", "another"),
    [
        ("Rent on 2026-06-30: 900", True),
        ("The rent, 30.6.2026", True),
        ("Rent on 07/06/2026", False),
        ("The rent may march on", False),
        ("The rent in May, at noon", True),
        ("The rent was raised in June", False),
        ("Paid in June 2026", False),
        ("Every rent in June", False),
        ("Rent from the end of May", False),
        ("Rent June - September", False),
        ("Rent in 2024", False),
        ("Rent in July", False),
    ],
)
def test_a_text_may_tell_of_another_time(text, another):
    assert says_another(DateHint(month=7), text, {"rent"}) is another


def test_a_text_may_tell_of_another_year():
    assert says_another(DateHint(year=2026, month=7), "Rent, July 2024", {"rent"})
    assert says_another(DateHint(year=2026), "Field day 2024", {"day"})
    assert not says_another(DateHint(year=2026), "Field day 2024 and 2026", {"day"})
    assert not says_another(DateHint(year=2026, month=7), "Boiler installed in July 2021", {"boiler", "july"})
