from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from evals import golden
from evals.cli import eval_group
from evals.dataset import Collection, DataSet, Item, Question, joined
from evals.errors import MeasureError
from evals.examine import Examiner
from evals.places import put
from evals.silence import READING, RULES, Fit, Grid, default, fit, policies, to_text
from retrieval.policy import NAMED
from tasks.runtime import Runtime

NOW = datetime(2024, 1, 1, tzinfo=UTC)
DEFAULT = default(READING)
OTHER = (0.4, 0.33, 0.62, 0.5)


def made(default: list[float], other: list[float], collections: str = "aabb") -> Fit:
    """Questions with and without an answer by turns."""
    asked = [
        Question(f"q{n}", "c", "?", place, frozenset("x") if n % 2 == 0 else frozenset())
        for n, place in enumerate(collections)
    ]
    return Fit(tuple(asked), {DEFAULT: tuple(default), OTHER: tuple(other)})


def test_an_answer_kept_back_costs_more_than_one_too_many() -> None:
    assert made([1, 0, 1, 0], [1, 1, 1, 0]).chosen == OTHER
    assert made([1, 0, 1, 0], [0, 1, 1, 0]).chosen == DEFAULT


def test_of_equals_the_defaults_stay() -> None:
    assert made([1, 0, 0, 1], [0, 1, 1, 0]).chosen == DEFAULT


def test_each_collection_is_judged_by_the_choice_of_the_others() -> None:
    # What suits a harms b, and the other way round: so each gets what harms it.
    found = made([1, 1, 0, 0], [0, 0, 1, 1])
    assert found.elsewhere == (0, 0, 0, 0)
    assert "not known" not in to_text(found)


def test_the_best_choice_is_held_against_chance() -> None:
    # Ten persons, each asked one question that has an answer and one that has none.
    persons = "".join(each * 2 for each in "abcdefghij")
    better, other = made([0, 0] * 10, [1, 0] * 10, persons), made([0, 0] * 10, [1, 0] + [0, 0] * 9, persons)
    assert (better.chosen, better.chance, other.chosen, other.chance) == (OTHER, 1 / 1024, OTHER, 1 / 2)
    assert "recall@5 +1.000 (+1.000 to +1.000), abstention +0.000 (+0.000 to +0.000)" in to_text(better)
    assert "the best would look as good in 0.500 of all cases" in to_text(other)
    assert made([1, 0] * 10, [0, 0] * 10, persons).chance is None


def test_hundreds_of_persons_are_left_out_of_thousands_of_questions_in_no_time() -> None:
    persons = [chr(0x4E00 + n // 28) for n in range(16_000)]
    found = made([1] * len(persons), [0] * len(persons), "".join(persons))
    began = time.thread_time()
    assert found.elsewhere == (1,) * len(persons)
    assert time.thread_time() - began < 2


def test_a_person_is_left_out_with_all_collections_of_theirs() -> None:
    found = made([1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 1, 0], "aabbcc")
    ann = [replace(each, person="ann") for each in found.questions[:4]]
    # The others of ann's do not choose for her: so the last two do, by whom the defaults are right.
    assert replace(found, questions=(*ann, *found.questions[4:])).elsewhere == (1, 1, 0, 0, 1, 1)


def test_of_one_person_it_is_not_known_what_is_chosen_elsewhere() -> None:
    found = made([1, 1], [0, 0], "aa")
    assert found.elsewhere is None
    rows = [line.split() for line in to_text(found).splitlines()]
    assert ["chosen", "elsewhere", *["-"] * (len(READING) + 2)] in rows
    assert "what is chosen elsewhere is not known" in to_text(found)


def test_the_defaults_are_on_the_grid_of_choices() -> None:
    assert policies(READING)[DEFAULT] == NAMED["balanced"]
    assert policies(RULES)[default(RULES)] == replace(NAMED["balanced"], reads=0)


@pytest.mark.parametrize(
    ("grid", "choices"),
    [
        (
            {
                "worded_reading": (0.02,),
                "named_reading": (0.15,),
                "sure_reading": (NAMED["balanced"].sure_reading, 1.0),
            },
            2,
        ),
        ({**RULES, "sure_cosine": (NAMED["balanced"].sure_cosine, 1.0)}, 24),
    ],
)
def test_every_choice_is_asked(newcomer: tuple[Runtime, UUID], grid: Grid, choices: int) -> None:
    runtime, user_id = newcomer
    items = (Item("1", "The spare key is under the third flowerpot"), Item("2", "Tea is kept in the blue tin"))
    asked = (
        Question("q1", "c", "Where is the spare key?", "home", frozenset("1")),
        Question("q2", "c", "Who won the election in Peru?", "home", frozenset()),
    )
    data = DataSet("golden", "home", (Collection("home", items),), asked)
    done: list[int] = []
    found = fit(Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW), data, grid, done.append)
    assert (sum(done), len(found.found)) == (2, choices)
    assert found.means(found.found[default(grid)]) == (1, 1)


def test_questions_of_one_kind_are_refused(place: tuple[Runtime, UUID]) -> None:
    asked = (Question("q1", "c", "Where?", "home", frozenset("1")),)
    with pytest.raises(MeasureError, match="some that have none"):
        fit(Examiner(place[0], None, NOW), DataSet("golden", "home", (), asked), READING)  # type: ignore[arg-type]


def test_held_out_cases_are_not_tuned_on(tmp_path: Path) -> None:
    copy = tmp_path / "cases.json"
    copy.write_bytes(golden.HELD_OUT.read_bytes())
    result = CliRunner().invoke(eval_group, ["silence", str(copy)])
    assert (result.exit_code, "held out" in result.output) == (1, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--try", "worded_reading=0.1,much"], "is not FIELD=VALUE,VALUE"),
        (["--try", "worded_reading"], "is not FIELD=VALUE,VALUE"),
        (["--try", "worded_reading=0.1,2"], "must be a number between 0 and 1"),
        (["--try", "no_such_number=1"], "no_such_number"),
        (["--try", "reads=4", "--try", "reads=5,6"], "reads is there twice"),
        (["--rules", "--try", "worded_reading=0.1"], "leave out --try"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_anything_is_asked(given: list[str], said: str) -> None:
    result = CliRunner().invoke(eval_group, ["silence", *given])
    assert (result.exit_code, said in result.output) == (2, True)


def test_any_number_can_be_tried_on_any_data_set(tmp_path: Path) -> None:
    (file := tmp_path / "few.txt").write_text(
        "# Nora\nn1: The spare key is under the third flowerpot\nn2: Tea is kept in the blue tin\n"
        "? Where is the spare key? => n1\n- Who won the election in Peru?\n"
    )
    result = CliRunner().invoke(eval_group, ["silence", str(file), "--try", "sure_reading=0.07,1", "--try", "reads=4"])
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0] == ["choice", "sure_reading", "reads", "recall@5", "abstention"]
    assert [row[-4:] for row in rows if row[:1] == ["chosen"] and row[1] != "elsewhere"] == [
        ["0.070", "4.000", "1.000", "1.000"]
    ]


def test_data_sets_are_joined_with_their_collections_apart() -> None:
    one, other = (
        DataSet(
            "golden",
            name,
            (Collection("golden-0", (Item("0", name),)),),
            (Question("q", "c", "?", "golden-0", expected),),
        )
        for name, expected in (("one", frozenset("0")), ("other", frozenset[str]()))
    )
    both = joined([one, other])
    assert [each.name for each in both.collections] == ["one/golden-0", "other/golden-0"]
    assert [each.collection for each in both.questions] == ["one/golden-0", "other/golden-0"]
    assert (both.name, both.size, joined([one])) == ("one+other", 2, one)


def test_persons_of_two_data_sets_stay_two_persons() -> None:
    asked = Question("q", "c", "?", "golden-0", frozenset("0"), person="ann")
    both = joined([DataSet("golden", name, (), (asked,)) for name in ("one", "other")])
    assert [each.about for each in both.questions] == ["one/ann", "other/ann"]


def test_near_misses_are_as_often_unanswered_as_they_should_be() -> None:
    data = golden.read(golden.NEAR_MISSES)
    assert len({each.collection for each in data.questions if each.category != "told"}) == 36
    for category, answered in (("one", True), ("many", True), ("told", True), ("nothing", False)):
        found = {bool(each.expected) for each in data.questions if each.category == category}
        assert found == {answered}, category
    unanswered = [each for each in data.questions if not each.expected]
    assert Counter(each.category for each in unanswered) == {"nothing": 360, "all-of-nothing": 140}
    assert sum(each.category == "told" for each in data.questions) == 360
