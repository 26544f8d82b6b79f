"""From which day to which a text says something."""

from __future__ import annotations

import pytest

from retrieval.told_days import told_in


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
    ],
)
def test_all_days_between_two_are_said(text, said):
    assert [(each.year, each.month, each.days[0], each.days[-1]) for each in told_in(text) if each.days[1:]] == said


def test_the_end_of_a_range_is_of_no_other_year():
    said = list(told_in("from 28 December 2025 to 2 January, and on 5 March"))
    assert [(each.year, each.month) for each in said] == [(2025, 12), (2026, 1), (None, 3)]
