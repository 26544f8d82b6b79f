from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from evals.dataset import Collection, DataSet, Item, Question
from evals.examine import Examiner
from evals.locomo import Conversation
from evals.locomo_set import to_data_set
from evals.outages import (
    HALF,
    NO_LEG,
    SILENT,
    WHOLE,
    Outages,
    measure,
    requests,
    take_half_away,
    to_text,
    to_values,
)
from evals.places import Place as At
from evals.places import put
from evals.throwaway import add_user
from memory.ids import new_id
from retrieval.query import Result
from tasks.runtime import Runtime

NOW = datetime(2024, 1, 1, tzinfo=UTC)
TIMEOUT = 1.0
Place = tuple[Runtime, UUID]


@pytest.fixture(scope="module")
def found(place: Place, conversations: list[Conversation]) -> tuple[Outages, int]:
    runtime, data, seen = place[0], to_data_set(conversations), list[int]()
    user_id = add_user(runtime, f"{new_id()}@example.org", NOW)
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    return measure(examiner, data, timeout=TIMEOUT, on_progress=seen.append), sum(seen)


def test_every_condition_is_measured_and_told_apart(
    found: tuple[Outages, int], conversations: list[Conversation]
) -> None:
    outages, done = found
    assert done == requests(to_data_set(conversations))
    assert outages.degraded() == {WHOLE: 0.0, NO_LEG: 1.0, SILENT: 1.0, HALF: 0.0}
    values, said = to_values(outages), to_text(outages)
    assert list(values["differences"]) == [NO_LEG, SILENT, HALF]
    # The fifth question stands apart.
    assert {each["recall@10"]["cases"] for each in values["differences"].values()} == {4}
    assert (len(values["cases"]), values["apart"]) == (5, ["conv-1/5"])
    assert all(name in said for name in (WHOLE, NO_LEG, SILENT, HALF))


def test_without_vectors_words_still_find(found: tuple[Outages, int]) -> None:
    without = found[0].report.variant(NO_LEG)
    assert without is not None
    assert without.cases["conv-1/2"]["recall@5"] == 1.0  # "Elm Street" stands in the turn


def test_a_silent_provider_is_waited_for_once_and_then_left_alone(found: tuple[Outages, int]) -> None:
    slow = found[0].report.variant(SILENT)
    assert slow is not None
    assert slow.latency.p50 < TIMEOUT * 500 < slow.latency.p95
    without = found[0].report.variant(NO_LEG)
    assert without is not None
    assert {name: without.cases[name] for name in slow.cases} == slow.cases


def test_half_of_the_vectors_are_taken_away(newcomer: Place) -> None:
    runtime, user_id = newcomer
    items = tuple(Item(str(n), f"Shelf {n} of the archive holds box {n * 7}") for n in range(12))
    data = DataSet("golden", "shelves", (Collection("shelves", items),), ())
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    assert take_half_away(examiner) == 6
    # What waits is not found by its meaning, and nobody embeds it meanwhile.
    assert examiner.runtime.backfill.run() == 0


class Noting(Examiner):
    """Writes down what each search brought."""

    def try_to_ask(self, place: At, question: Question, *more: Any, **named: Any) -> Result:
        results.append(super().try_to_ask(place, question, *more, **named))
        return results[-1]


results: list[Result] = []


def test_no_condition_waits_for_notes_that_the_others_find_read(newcomer: Place) -> None:
    runtime, user_id = newcomer
    items = tuple(Item(str(n), f"The spare key of room {n} was moved to the hook on day {n}") for n in range(8))
    asked = tuple(Question(str(n), "c", f"Where was key {n} moved?", "nora", frozenset("0")) for n in range(3))
    data = DataSet("golden", "notes", (Collection("nora", items),), asked)
    results.clear()
    found = measure(Noting(runtime, put(runtime, user_id, data, now=NOW), NOW), data, timeout=0.2)
    unheard, whole = results[:3], results[3:6]
    assert [each.milliseconds for each in found.report.variants[0].outcomes] == [r.timings["total"] for r in whole]
    assert sum(each.timings["read"] for each in whole) < sum(each.timings["read"] for each in unheard) / 2
