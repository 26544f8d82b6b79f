"""The page of runs of the evaluation: figures side by side, for admins alone."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from pages_browser import HTMX, at_browser

from evals.runs import FOLDER, save

DAY = datetime(2031, 5, 8, 12, 30, tzinfo=UTC)

# What a page would stumble over when it formats it.
NO_NUMBER = json.dumps({"main": "a", "variants": {"a": {"measures": {"recall@5": {"mean": "x"}}}}})


def values(name: str, recall: float, cases: dict[str, float], **more):
    measure = {"mean": recall, "low": recall - 0.1, "high": recall + 0.1, "cases": len(cases)}
    data, command = name.split()
    variant = {"measures": {"recall@5": measure}, "latency_ms": {"p50": 9.0, "p95": 12.5, "count": 3}}
    return {
        "command": command,
        "at": DAY.isoformat(),
        "version": "9.9",
        "data": {"name": data, "questions": len(cases)},
        "main": "balanced",
        "variants": {"balanced": variant},
        "cases": {each: {"recall@5": value} for each, value in cases.items()},
        **more,
    }


@pytest.fixture
def desk(app, root):
    return at_browser(app, root)


@pytest.fixture
def two(runtime):
    home = runtime.settings.home
    first = save(home, values("notes early", 0.5, {**dict.fromkeys("abefgh", 0.0), "c": 0.5}), now=DAY)
    second = save(
        home, values("notes late", 0.9, {**dict.fromkeys("abefgh", 1.0), "d": 0.5}), now=DAY + timedelta(hours=1)
    )
    yield first.name, second.name
    for name in (first, second):
        name.unlink()


def test_only_admins_get_in(app, client, ada):
    assert at_browser(app, ada).get("/admin/runs").status_code == 403
    assert client.get("/admin/runs").location.startswith("/login")


def test_runs_are_listed_the_newest_first(desk, two):
    page = desk.get("/admin/runs").text
    assert page.index("late notes") < page.index("early notes")
    assert "Side by side</h2>" not in page


def test_chosen_runs_stand_side_by_side_with_their_paired_difference(desk, two):
    page = desk.get("/admin/runs", query_string={"run": [two[1], two[0]]}).text
    plain = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", page.partition("Side by side</h2>")[2]))
    assert plain.index("early notes") < plain.index("late notes")
    # Of those that both have: the whole scale apart in each.
    assert "0.900 0.800-1.000 +1.000* +1.000 to +1.000, n = 6" in plain.replace("\u2013", "-")
    assert page.count("checked") == 2


def test_runs_of_other_data_stand_beside_it_without_a_difference(desk, two, runtime):
    other = save(runtime.settings.home, values("letters late", 0.7, {"a": 1.0, "b": 1.0}), now=DAY)
    try:
        page = desk.get("/admin/runs", query_string={"run": [*two, other.name]}).text
    finally:
        other.unlink()
    plain = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", page.partition("Side by side</h2>")[2]))
    assert plain.count("n = ") == plain.count("n = 6") == 1
    assert "compared with the first no: these are other data yes" in plain


def test_more_than_fit_are_not_left_out_in_silence(desk, runtime):
    kept = [
        save(runtime.settings.home, values("notes run", 0.5, {"a": 0.0}), now=DAY + timedelta(hours=hours))
        for hours in range(5)
    ]
    try:
        page = desk.get("/admin/runs", query_string={"run": [each.name for each in kept]}).text
        fewer = desk.get("/admin/runs", query_string={"run": [each.name for each in kept[:4]]}).text
    finally:
        for each in kept:
            each.unlink()
    assert "the oldest 4 of the ticked; 1 newer one is left out" in " ".join(page.split())
    assert "left out" not in fewer


def test_the_comparison_is_answered_alone(desk, two):
    answer = desk.get("/admin/runs", query_string={"run": two[0]}, headers=HTMX).text
    assert answer.lstrip().startswith('<section id="runs-compared"')


@pytest.mark.parametrize("name", ["20200101T000000Z-none.json", "../secret.key", "x" * 300, "a\x00b"])
def test_no_other_file_is_read(desk, name):
    assert desk.get("/admin/runs", query_string={"run": name}).status_code == 404


@pytest.mark.parametrize("text", ["", "{", "[]", '{"variants": 3}', '{"data": {"questions": "x"}}', NO_NUMBER])
def test_a_file_that_somebody_spoilt_is_left_out(desk, runtime, two, text):
    spoilt = runtime.settings.home / FOLDER / "20310508T143000Z-spoilt.json"
    spoilt.write_text(text)
    try:
        page = desk.get("/admin/runs")
    finally:
        spoilt.unlink()
    assert (page.status_code, "late notes" in page.text) == (200, True)


def test_admins_are_shown_the_way(desk):
    assert 'href="/admin/runs"' in desk.get("/admin").text
