"""Days that are written in digits, and months in other words: "3.12.", "next March", "3. Dezember"."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from shelf import Shelf

from retrieval.days.asked_days import parse
from retrieval.days.asked_period import alone
from retrieval.days.months import ABROAD
from retrieval.days.told_days import told_in

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What is on 3.12.2026?", "2026-12-03", "2026-12-03"),
        ("What is due on 3.12. 2026?", "2026-12-03", "2026-12-03"),
        ("What is due on 3.12.?", "2026-12-03", "2026-12-03"),
        ("What happened on 3.12.?", "2025-12-03", "2025-12-03"),
        ("What is due from 3.12. to 5.12.?", "2026-12-03", "2026-12-05"),
        # The day is first, unless it cannot be.
        ("What happened on 03/12/2025?", "2025-12-03", "2025-12-03"),
        ("What is on 12/31/2026?", "2026-12-31", "2026-12-31"),
        ("What is on 31/12/2026?", "2026-12-31", "2026-12-31"),
        ("What is on Thursday, 3.12.2026?", "2026-12-03", "2026-12-03"),
        ("What is planned for next March?", "2027-03-01", "2027-03-31"),
        ("next May", "2027-05-01", "2027-05-31"),
        ("What is due this December?", "2026-12-01", "2026-12-31"),
        ("What happened last March?", "2026-03-01", "2026-03-31"),
        # This November is not over.
        ("What happened last November?", "2025-11-01", "2025-11-30"),
        ("What happened in November?", "2026-11-01", "2026-11-30"),
        # Behind another month these are no other words.
        ("What happened from March to May?", "2026-03-01", "2026-05-31"),
        ("What happened between March and May?", "2026-03-01", "2026-05-31"),
        ("What happened in January, April and May?", "2026-01-01", "2026-05-31"),
        ("What is planned in February and March?", "2027-02-01", "2027-03-31"),
    ],
)
def test_a_day_in_digits_and_a_month_that_is_next_or_last_are_times(question, first, last):
    found = alone(question, NOW)
    assert (f"{found.start:%Y-%m-%d}", f"{found.end - timedelta.resolution:%Y-%m-%d}") == (first, last)


@pytest.mark.parametrize(
    "question",
    [
        "What is new in 3.12.?",
        "What is new in 3.12?",
        "What is new in 3.12.1?",
        "What is 1.2.2026.3?",
        "What is on 13/13/2026?",
        "What is on 31.2.2026?",
        "What is 192.168.1.1?",
        "What is 3/4?",
        "What is on page 3/4?",
        "What does this may mean?",
        "What is on next to the march?",
        "Where did April and May go?",
        "What was in April and may be gone?",
    ],
)
def test_other_numbers_are_no_days(question):
    assert alone(question, NOW) is None


def test_a_day_in_digits_is_a_reason_to_prefer_what_was_kept_then():
    hint = parse("What did Ada eat on 3.12.2025?", NOW)
    assert (hint.year, hint.month, hint.day) == (2025, 12, 3)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Zahnarzt am 3.12. um 9", [(None, 12, [3])]),
        ("Paket bis 24.12. abholen", [(None, 12, [24])]),
        ("Upgraded the database, 16.3. is out", []),
        ("Ausgabe 3.12.4", []),
        ("Termin 3. Dez. 2026, 9 Uhr", [(2026, 12, [3])]),
        ("Konzert am 3. Dezember", [(None, 12, [3])]),
        ("Im Januar ist zu", [(None, 1, [])]),
        ("Rendez-vous le 1er février 2027", [(2027, 2, [1])]),
        ("Dentista el 3 de diciembre de 2026", [(2026, 12, [3])]),
        ("from 28 July to 3 August", [(None, 7, [28, 29, 30, 31]), (None, 8, [1, 2, 3])]),
        ("Fest am 3. August", [(None, 8, [3]), (None, 8, [])]),
        ("La planète Mars est loin, mai oui", []),
    ],
)
def test_a_text_tells_of_days_in_other_ways(text, told):
    assert [(each.year, each.month, [*each.days]) for each in told_in(text)] == told


@pytest.mark.parametrize(
    ("month", "name"), [(month, name) for month, names in enumerate(ABROAD, 1) for name in names], ids=str
)
def test_a_month_is_found_by_the_name_that_it_has_elsewhere(runtime, ada, month, name):
    said = f"Zu im {name.title()}"
    shelf = Shelf(runtime, ada, (said, "The gate squeaks"))
    assert shelf.found(f"What is planned for {datetime(2000, month, 1, tzinfo=UTC):%B}?") == [said]


@pytest.mark.parametrize(
    "said", ["Arzt am 3.12. um 9", "Arzt am 03.12. um 9", "Arzt am 3. Dez. um 9", "Arzt 3.12.2026"]
)
@pytest.mark.parametrize("question", ["What is due on 3 December?", "What is due on 3.12.?", "What is on 2026-12-03?"])
def test_a_day_is_found_however_digits_tell_it(runtime, ada, said, question):
    shelf = Shelf(runtime, ada, (said, "The gate squeaks"))
    shelf.keep_at(NOW)
    result = shelf.ask(question, now=NOW, near=1, cosine=0.9)
    assert ([hit.snippet for hit in result.hits], result.period is not None) == ([said], True)
