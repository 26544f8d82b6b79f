from __future__ import annotations

import json
import random
import signal
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from evals import golden
from evals.cli import eval_group
from evals.dataset import Collection, DataSet, Item, Question
from evals.examine import Examiner
from evals.locomo import Conversation
from evals.locomo_set import to_data_set
from evals.means import chance_of_the_best
from evals.places import Place, put
from evals.sweep import Sweep, Trial, sweep
from evals.sweep_report import draw, reasons, to_text, to_values
from retrieval.policy import NAMED, Policy
from retrieval.query import QueryEmbedder, Result
from retrieval.ranking.types import Vector
from tasks.runtime import Runtime

pytestmark = pytest.mark.slow

NOW = datetime(2024, 1, 1, tzinfo=UTC)
SLOW, FAST = 2.0, 1.0


def trial(number: int, found: Sequence[float], cost: float = FAST) -> Trial:
    return Trial(number, Policy(k1=1 + number / 10), 10, tuple(found), cost, 9.0, 80.0)


def made(*trials: Trial, collections: str = "ab") -> Sweep:
    """As many of the questions are about each collection."""
    size = len(trials[0].found)
    places = [collections[place * len(collections) // size] for place in range(size)]
    asked = [Question(f"q{n}", "c", "?", place, frozenset("x")) for n, place in enumerate(places)]
    return Sweep(DataSet("golden", "small", (), ()), tuple(asked), trials, 1.0)


def test_the_best_that_is_fast_enough_is_chosen() -> None:
    found = made(trial(0, [0, 0, 0, 0]), trial(1, [1, 1, 1, 0]), trial(2, [1, 1, 1, 1], SLOW), trial(3, [1, 0, 0, 0]))
    assert found.chosen.number == 1
    assert [each.number for each in found.front] == [1, 2]


def test_of_equals_the_defaults_stay() -> None:
    found = made(trial(0, [1, 0]), trial(1, [0, 1], 0.5))
    assert found.chosen is found.default
    assert reasons(found) == ["KEEP THE DEFAULTS: no trial that is fast enough found more."]


def test_what_is_better_everywhere_is_worth_a_change() -> None:
    found = made(trial(0, [0.0] * 20), trial(1, [1.0] * 20), collections="abcde")
    assert found.elsewhere is not None
    assert (found.elsewhere.mean, found.chance, found.worth_it) == (1.0, 1 / 32, True)
    assert "with a chance of 0.031 (at most 0.05 counts)" in to_text(found)
    assert "WORTH A CHANGE" in to_text(found)


def test_of_four_persons_nothing_is_more_than_chance() -> None:
    found = made(trial(0, [0.0] * 20), trial(1, [1.0] * 20), collections="abcd")
    assert found.worth_it is False
    assert reasons(found)[-2:] == [
        "4 persons, or talks, are too few to tell the best of many from chance.",
        "KEEP THE DEFAULTS: that may be chance.",
    ]


def by_chance(seed: int, *, suits: float = 0.0) -> Sweep:
    """A sweep over ten persons of whom each trial suits some and others not; the last suits all by so much more."""
    chance = random.Random(seed)

    def one(number: int) -> Trial:
        liked = [chance.uniform(-0.15, 0.15) * bool(number) + suits * (number == 39) for _ in range(10)]
        return trial(number, [float(chance.random() < 0.7 + liked[place // 12]) for place in range(120)])

    return made(*map(one, range(40)), collections="abcdefghij")


def test_where_no_trial_is_better_a_change_is_seldom_proposed() -> None:
    sweeps = [by_chance(seed) for seed in range(100)]
    where_not_made = [each.elsewhere for each in sweeps if each.elsewhere is not None]
    # That choices do well where they were not made is no proof: the same persons made nearly all of them.
    assert sum(each.differs and each.low > 0 for each in where_not_made) > 10
    assert sum(each.worth_it for each in sweeps) <= 5


def test_where_one_is_much_better_it_is_found() -> None:
    sweeps = [by_chance(seed, suits=0.25) for seed in range(20)]
    assert sum(each.worth_it and each.chosen.number == 39 for each in sweeps) >= 16


def test_the_best_of_few_who_all_agree_is_no_chance() -> None:
    assert chance_of_the_best([[1.0] * 6], 0) == 1 / 64
    # Whoever does as clearly worse would do as clearly better with all signs turned, and is no rival.
    assert chance_of_the_best([[1.0] * 6, [-3.0] * 6], 0) == 1 / 64
    # One that was as good by other persons' words is.
    assert chance_of_the_best([[1.0] * 6, [1.0, -1.0] * 3], 0) > 1 / 64


def test_of_many_persons_not_all_turns_of_signs_are_tried() -> None:
    assert chance_of_the_best([[1.0] * 30], 0) == 1 / 4096
    assert chance_of_the_best([[1.0, -1.0] * 15], 0) == pytest.approx(0.57, abs=0.03)


def test_what_changes_nothing_may_well_be_chance() -> None:
    assert chance_of_the_best([[0.0] * 6], 0) == 1.0


def test_what_is_better_only_where_it_was_chosen_is_not() -> None:
    # Each of two trials suits one collection and harms the other, so that choosing on one fails on the other.
    found = made(trial(0, [0.5] * 20), trial(1, [1.0] * 10 + [0.1] * 10), trial(2, [0.1] * 10 + [1.0] * 10))
    assert found.chosen.quality > found.default.quality
    assert found.elsewhere is not None
    assert (found.elsewhere.mean, found.worth_it) == (pytest.approx(-0.4), False)
    assert "KEEP THE DEFAULTS" in to_text(found)


def test_of_one_person_nothing_can_be_left_out() -> None:
    found = made(trial(0, [0.0] * 9), trial(1, [1.0] * 9), collections="a")
    assert found.elsewhere is None
    assert any("There is one person" in line for line in reasons(found))


def test_the_best_of_many_is_not_worth_a_change_where_nobody_was_left_out() -> None:
    chance = random.Random(0)
    # All are as good as the defaults but for chance, and the best of them seems better by more than that.
    found = made(*(trial(n, [float(chance.random() < 0.8) for _ in range(120)]) for n in range(40)), collections="a")
    assert found.difference(found.chosen).low > 0
    assert found.worth_it is False
    assert reasons(found)[-1].startswith("KEEP THE DEFAULTS")


def test_a_person_is_left_out_with_all_collections_of_theirs() -> None:
    found = made(trial(0, [0.0] * 9), trial(1, [1.0] * 9), collections="abc")
    ann = [replace(each, person="ann") for each in found.questions]
    assert replace(found, questions=tuple(ann)).elsewhere is None
    assert replace(found, questions=(*ann[:8], found.questions[8])).elsewhere is not None


def test_a_sweep_tries_the_defaults_first_and_then_others(
    place: tuple[Runtime, UUID], newcomer: tuple[Runtime, UUID], conversations: list[Conversation], tmp_path: Path
) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    runtime, user_id = newcomer
    data = to_data_set(conversations)
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    seen: list[int] = []
    found = sweep(examiner, data, trials=3, on_progress=seen.append)
    assert (sum(seen), len(found.trials)) == (3, 3)
    # Without the question that has no answer, and the one that has no evidence.
    assert (len(found.questions), found.default.policy, found.default.limit) == (4, NAMED["balanced"], 10)
    assert len({each.policy for each in found.trials}) == 3
    assert found.default.quality == 1.0
    # The same seed: the second trial, which knows of no times yet, is the same again.
    assert sweep(examiner, data, trials=2, most=2).trials[1].policy == found.trials[1].policy
    draw(found, tmp_path / "front.svg")
    assert "<svg" in (tmp_path / "front.svg").read_text()
    assert len(json.loads(json.dumps(to_values(found)))["trials"]) == 3


def test_the_defaults_take_as_long_as_the_defaults_where_notes_are_read(newcomer: tuple[Runtime, UUID]) -> None:
    pytest.importorskip("optuna")
    runtime, user_id = newcomer
    # Long ones, for which a reader takes much longer than a search.
    about = " It was told to everybody in the house, twice, and written down on the board beside the kitchen door." * 4
    items = tuple(Item(f"{n}", f"The spare key of room {n} was moved on day {n}.{about}") for n in range(8))
    # Three of these are timed, so that one that the machine slows decides nothing.
    asked = [Question(f"{n}", "c", f"Where was the spare key on day {n}?", "nora", frozenset("0")) for n in range(12)]
    data = DataSet("golden", "notes", (Collection("nora", items),), tuple(asked))
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    assert 0.4 < sweep(examiner, data, trials=1).default.cost < 2.5


class Noting(Examiner):
    """Writes down whose policy asks what."""

    def ask(
        self, place: Place, question: Question, policy: Policy, *, budget: int | None = None, limit: int | None = None
    ) -> Result:
        asked.append((question.id, policy == NAMED["balanced"]))
        return super().ask(place, question, policy, budget=budget, limit=limit)


asked: list[tuple[str, bool]] = []


def test_a_trial_and_the_defaults_are_timed_by_turns_first_and_last(newcomer: tuple[Runtime, UUID]) -> None:
    pytest.importorskip("optuna")
    runtime, user_id = newcomer
    # Ten of them are timed, each once.
    questions = [Question(f"{n}", "c", f"Who keeps key {n}?", "nora", frozenset("0")) for n in range(40)]
    items = (Item("0", "Ada keeps the spare key"),)
    data = DataSet("golden", "notes", (Collection("nora", items),), tuple(questions))
    examiner = Noting(runtime, put(runtime, user_id, data, now=NOW), NOW)
    asked.clear()
    sweep(examiner, data, trials=2)
    second = asked[len(asked) // 2 :]
    by_question = {each.id: [defaults for name, defaults in second if name == each.id] for each in questions}
    # Both ask once unheard, so that each finds what was read; who is timed first changes. The last is for its answer.
    assert by_question["0"] == [True, False, True, False, False]
    assert by_question["4"] == [True, False, False, True, False]
    assert by_question["8"] == [True, False, True, False, False]
    assert by_question["1"] == [False]


def test_few_questions_are_timed_again_and_again(newcomer: tuple[Runtime, UUID]) -> None:
    pytest.importorskip("optuna")
    runtime, user_id = newcomer
    question = Question("0", "c", "Who keeps the key?", "nora", frozenset("0"))
    data = DataSet("golden", "notes", (Collection("nora", (Item("0", "Ada keeps the spare key"),)),), (question,))
    examiner = Noting(runtime, put(runtime, user_id, data, now=NOW), NOW)
    asked.clear()
    sweep(examiner, data, trials=2)
    assert sum(defaults for _, defaults in asked[len(asked) // 2 :]) == 1 + 10


def test_an_interrupted_sweep_tells_what_it_tried(
    newcomer: tuple[Runtime, UUID], conversations: list[Conversation], capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna")
    runtime, user_id = newcomer
    data = to_data_set(conversations)
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)

    def press(done: int) -> None:
        raise KeyboardInterrupt

    found = sweep(examiner, data, trials=3, on_progress=press)
    assert [each.number for each in found.trials] == [0]
    assert "Traceback" not in capfd.readouterr().err


class Pressing:
    """Embeds as another does, and lets somebody press Ctrl-C when it is asked so often."""

    def __init__(self, embedder: QueryEmbedder, times: int) -> None:
        self._embedder, self._left = embedder, times

    def embed_one(self, text: str) -> tuple[Vector, bool]:
        self._left -= 1
        if self._left == 0:
            signal.raise_signal(signal.SIGINT)
        return self._embedder.embed_one(text)


def test_in_the_middle_of_a_search_too_and_without_a_traceback(
    newcomer: tuple[Runtime, UUID], conversations: list[Conversation], capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna")
    runtime, user_id = newcomer
    data = to_data_set(conversations)
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    dense = examiner.dense(examiner.placed.places["conv-1"])
    # Four to warm up, and by a trial one of four under both before and ten times beside each other, then all four. The
    # third trial is the one.
    examiner.warm[user_id] = replace(dense, embedder=Pressing(dense.embedder, 4 + 2 * (2 + 2 * 10 + 4) + 2))
    found = sweep(examiner, data, trials=9)
    assert [each.number for each in found.trials] == [0, 1]
    assert "Traceback" not in capfd.readouterr().err


def test_questions_without_an_answer_alone_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    (file := tmp_path / "silent.txt").write_text("# Nora\nn1: Tea is kept in the blue tin\n- Who won the election?\n")
    result = CliRunner().invoke(eval_group, ["sweep", str(file), "--trials", "1", "--no-save"])
    assert result.exit_code == 1
    assert result.output.endswith("Error: silent: a sweep needs questions that have an answer\n")


def test_what_is_held_out_is_refused() -> None:
    result = CliRunner().invoke(eval_group, ["sweep", str(golden.HELD_OUT)])
    assert (result.exit_code, "is held out" in result.output) == (1, True)
