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
        ("What is due before April?", None),
        ("What is planned by June?", None),
    ],
)
def test_what_is_to_be_done_by_a_day_is_asked_for_until_that(question, end):
    found = alone(question, NOW)
    assert (f"{found.end:%Y-%m-%d}" if found else None) == end


def test_what_is_to_come_is_found_before_what_was_kept_a_year_ago(runtime, ada):
    shelf = Shelf(runtime, ada, ("The pleyel is due on 12 December", "Snow in the yard", "Fair of December 2025"))
    shelf.keep_at(datetime(2025, 12, 5, tzinfo=UTC))
    assert shelf.found("Anything in December?", now=NOW) == ["The pleyel is due on 12 December"]
    assert len(shelf.found("What happened in December?", now=NOW)) == 3
