"""When a search should find nothing: fit the numbers that decide it on development data.

Silence trades against recall, so a choice is judged by both. Each choice is also made on all other persons and
looked at where it was not made, as in a sweep: that is what it brings to those it never saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import fsum
from typing import NamedTuple

from evals.dataset import DataSet, Question
from evals.errors import MeasureError
from evals.examine import Examiner, outcome
from evals.means import Measure, chance_of_the_best, measure
from evals.policies import DEFAULT
from evals.scores import scores
from evals.tables import Cell, table
from retrieval.policy import NAMED, Policy, policy_from

RECALL, ABSTENTION = "recall@5", "abstention"
Grid = Mapping[str, tuple[float, ...]]
READING: Grid = {
    "sure_reading": (0.05, 0.07, 0.1),
    "named_reading": (0.07, 0.1, 0.15),
    "list_reading": (0.3, 0.4),
    "worded_reading": (0.01, 0.02, 0.04),
}
# The fields that decide where the reader reads nothing; `reads` is 0, so that it does not.
RULES: Grid = {
    "reads": (0,),
    "sure_share": (0.5, 0.7),
    "sure_cosine": (0.24, 0.26, 0.28, 0.3),
    "named_cosine": (0.6, 0.65),
    "rest_cosine": (0.2, 0.22, 0.25),
}
# The weight of abstention against recall: an answer that is kept back costs the user more than one that does not fit.
WEIGHT = 0.5


class _Sums(NamedTuple):
    """Of some questions: the sum of recall@5 and over how many, the sum of abstention and over how many."""

    recall: float
    answered: int
    abstention: float
    silent: int


@dataclass(frozen=True)
class Fit:
    """What every choice of the grid brought: `found[choice]` has a value for each of the questions."""

    questions: tuple[Question, ...]
    found: Mapping[tuple[float, ...], tuple[float, ...]]
    grid: Grid = field(default_factory=lambda: READING)

    @property
    def default(self) -> tuple[float, ...]:
        """Return the choice that the default policy has made, as far as the grid leaves it."""
        return default(self.grid)

    @cached_property
    def chosen(self) -> tuple[float, ...]:
        """Return the best choice on all questions; the defaults where none is better."""
        return self._best()

    def means(self, values: Sequence[float]) -> tuple[float, float]:
        """Return recall@5 and abstention of a value for each question."""
        return _means(self._sums(values).values())

    @cached_property
    def elsewhere(self) -> tuple[float, ...] | None:
        """Return the value of each question under the choice that other persons' questions make.

        None where the data are of one person.
        """
        persons = {each.about for each in self.questions}
        if len(persons) < 2:
            return None
        best = {name: self._best(without=name) for name in persons}
        return tuple(self.found[best[each.about]][place] for place, each in enumerate(self.questions))

    @property
    def gained(self) -> dict[str, Measure] | None:
        """Return the paired differences of `elsewhere` to the defaults, by measure; None for one person."""
        if self.elsewhere is None:
            return None
        differences: dict[str, list[float]] = {RECALL: [], ABSTENTION: []}
        for each, mine, theirs in zip(self.questions, self.elsewhere, self.found[self.default], strict=True):
            differences[RECALL if each.expected else ABSTENTION].append(mine - theirs)
        return {name: measure(values) for name, values in differences.items()}

    @cached_property
    def chance(self) -> float | None:
        """Return how likely the choice would look as good if none were better than the defaults, in (0, 1].

        Of fewer than five persons it is above 0.05 in any case. None where the defaults are the choice.
        """
        if self.chosen == self.default:
            return None
        tried = [choice for choice in self.found if choice != self.default]
        return chance_of_the_best([self._by_person(choice) for choice in tried], tried.index(self.chosen))

    def _by_person(self, choice: tuple[float, ...]) -> list[float]:
        """Return, for each person, what their questions add to the gain of a choice over the defaults."""
        mine, theirs = self._by_choice[choice], self._by_choice[self.default]
        answered, silent = (sum(getattr(each, name) for each in mine.values()) for name in ("answered", "silent"))
        return [
            (mine[name].recall - theirs[name].recall) / max(1, answered)
            + WEIGHT * (mine[name].abstention - theirs[name].abstention) / max(1, silent)
            for name in mine
        ]

    def _best(self, without: str | None = None) -> tuple[float, ...]:
        """Return the best choice on all questions, or on those that are not about a given person."""

        def worth(choice: tuple[float, ...]) -> tuple[float, bool]:
            sums = (each for name, each in self._by_choice[choice].items() if name != without)
            recall, abstention = _means(sums)
            return round(recall + WEIGHT * abstention, 9), choice == self.default

        return max(self.found, key=worth)

    @cached_property
    def _by_choice(self) -> dict[tuple[float, ...], dict[str, _Sums]]:
        return {choice: self._sums(values) for choice, values in self.found.items()}

    def _sums(self, values: Sequence[float]) -> dict[str, _Sums]:
        """Return the sums of each person: question by question, leaving each out of all choices would take long."""
        found: dict[str, tuple[list[float], list[float]]] = {}
        for value, each in zip(values, self.questions, strict=True):
            answered, silent = found.setdefault(each.about, ([], []))
            (answered if each.expected else silent).append(value)
        return {name: _Sums(fsum(a), len(a), fsum(s), len(s)) for name, (a, s) in found.items()}


def _means(parts: Iterable[_Sums]) -> tuple[float, float]:
    recall, answered, abstention, silent = map(fsum, zip(*parts, strict=True))
    return recall / max(1.0, answered), abstention / max(1.0, silent)


def default(grid: Grid) -> tuple[float, ...]:
    """Return the choice of a grid that is the default policy's; of a field with a single value, that value."""
    return tuple(each[0] if len(each) == 1 else getattr(NAMED[DEFAULT], name) for name, each in grid.items())


def policies(grid: Grid) -> dict[tuple[float, ...], Policy]:
    """Return a policy for every choice of the grid, and for that of the defaults.

    Raises `PolicyError` for what is no number of a policy, or out of its range.
    """
    choices = dict.fromkeys((default(grid), *product(*grid.values())))
    return {choice: policy_from(dict(zip(grid, choice, strict=True)), NAMED[DEFAULT]) for choice in choices}


def asked(data: DataSet) -> tuple[Question, ...]:
    """Return the questions that a choice is judged by."""
    return tuple(each for each in data.questions if not each.apart)


def fit(
    examiner: Examiner, data: DataSet, grid: Grid, on_progress: Callable[[int], None] = lambda _questions: None
) -> Fit:
    """Ask every question by every choice.

    Raises `MeasureError` for data without questions of both kinds, `PolicyError` as `policies` does.
    """
    questions = asked(data)
    if len({bool(each.expected) for each in questions}) < 2:
        raise MeasureError("silence is fitted on questions that have an answer and on some that have none")
    examiner.warm_up(questions)
    choices = policies(grid)
    found: dict[tuple[float, ...], list[float]] = {choice: [] for choice in choices}
    # All choices for one question before the next question: what the reader read for one choice is remembered for the
    # others.
    for each in questions:
        for choice, policy in choices.items():
            found[choice].append(_value(examiner, each, policy))
        on_progress(1)
    return Fit(questions, {choice: tuple(values) for choice, values in found.items()}, grid)


def _value(examiner: Examiner, question: Question, policy: Policy) -> float:
    place = examiner.placed.places[question.collection]
    got = scores(outcome(question, place, examiner.ask(place, question, policy)))
    return got[RECALL] if question.expected else got[ABSTENTION]


def to_text(found: Fit) -> str:
    """Return what the choices reached as a table, and what the table cannot tell."""
    elsewhere = found.elsewhere
    rows: list[list[Cell]] = [
        ["the defaults", *found.default, *found.means(found.found[found.default])],
        ["chosen", *found.chosen, *found.means(found.found[found.chosen])],
        [
            "chosen elsewhere",
            *[None] * len(found.grid),
            *((None, None) if elsewhere is None else found.means(elsewhere)),
        ],
    ]
    shown = table(("choice", *found.grid, RECALL, ABSTENTION), rows)
    if found.gained is None:
        return f"{shown}\n\nThere is one person, or talk, only, so what is chosen elsewhere is not known."
    gained = ", ".join(
        f"{name} {each.mean:+.3f} ({each.low:+.3f} to {each.high:+.3f})" for name, each in found.gained.items()
    )
    told = f"chosen elsewhere less the defaults (95 %): {gained}"
    if found.chance is not None:
        told += f"\nIf none of the choices were better, the best would look as good in {found.chance:.3f} of all cases."
    return f"{shown}\n\n{told}"
