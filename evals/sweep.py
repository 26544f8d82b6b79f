"""Try other numbers of the ranking on development data. Needs the extra `eval`.

A choice flatters itself on the data that it was made on. So besides the best of all, the best of all other persons, or
talks, is taken for each. What counts is what these choices bring where they were not made, and whether the best of as
many that are no better would have looked as good.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from evals.dataset import DataSet, Question
from evals.errors import MeasureError
from evals.examine import Examiner, outcome
from evals.means import Measure, chance_of_the_best, measure
from evals.policies import DEFAULT
from evals.scores import scores
from memory.ending import undisturbed
from retrieval.policy import NAMED, Policy
from retrieval.words.tokens import count

if TYPE_CHECKING:
    import optuna

SEED = 0
MEASURE = "recall@10"
LARGEST = 10
# A choice of numbers may take so many times as long as the defaults.
PATIENCE = 1.25
# The level of the test: where no choice is better than the defaults, at most one sweep in twenty proposes one.
LEVEL = 0.05
# One question in so many is timed under the defaults, too; where there are few questions, several times.
BESIDE = 4
TIMED = 10
FUSIONS = ("convex", "minmax", "rrf")
WEIGHTS = ("semantic_weight", "turn_semantic_weight")


@dataclass(frozen=True)
class Trial:
    """One policy that was tried, and what it brought.

    `limit` is how many results were asked for, `found` the measure of each question, `cost` how many times as long as
    by the defaults a search takes, `milliseconds` the median of a search, and `tokens` what an answer holds on average.
    """

    number: int
    policy: Policy
    limit: int
    found: tuple[float, ...]
    cost: float
    milliseconds: float
    tokens: float

    @cached_property
    def quality(self) -> float:
        """Return the mean of the measure."""
        return fmean(self.found)


@dataclass(frozen=True)
class Sweep:
    """Every trial over the same questions, the defaults first."""

    data: DataSet
    questions: tuple[Question, ...]
    trials: tuple[Trial, ...]
    seconds: float

    @property
    def default(self) -> Trial:
        """Return the trial of the defaults."""
        return self.trials[0]

    @cached_property
    def front(self) -> list[Trial]:
        """Return the trials that no other beats in quality and in time at once, the fastest first."""
        ordered = sorted(self.trials, key=lambda each: (each.cost, -each.quality))
        found: list[Trial] = []
        for each in ordered:
            if not found or each.quality > found[-1].quality:
                found.append(each)
        return found

    @cached_property
    def chosen(self) -> Trial:
        """Return the best trial among those that are fast enough; the defaults where none is better."""
        return self._best(range(len(self.questions)))

    def difference(self, trial: Trial) -> Measure:
        """Return how much better than the defaults a trial did, question by question."""
        return measure([mine - theirs for mine, theirs in zip(trial.found, self.default.found, strict=True)])

    @cached_property
    def elsewhere(self) -> Measure | None:
        """Return how much better than the defaults a choice does where it was not made; None for one person."""
        folds = [each.about for each in self.questions]
        if self.persons < 2:
            return None
        values = []
        for fold in dict.fromkeys(folds):
            inside = [place for place, each in enumerate(folds) if each == fold]
            best = self._best([place for place, each in enumerate(folds) if each != fold])
            values += [best.found[place] - self.default.found[place] for place in inside]
        return measure(values)

    @cached_property
    def chance(self) -> float | None:
        """Return how likely the choice would look as good if no trial were better than the defaults, in (0, 1].

        Of fewer than five persons it is above `LEVEL` in any case. None where the defaults are the choice.
        """
        if self.chosen is self.default:
            return None
        tried = [each for each in self._fast if each is not self.default]
        return chance_of_the_best([self._by_person(each) for each in tried], tried.index(self.chosen))

    @property
    def worth_it(self) -> bool:
        """Tell whether the choice beats the defaults by more than chance where it was not made; never for one person.

        On the data that it was made on the best of many beats them by chance alone. And where it was not made all but
        one of the persons have chosen, so that what they have by chance shows in nearly all of these choices at once.
        """
        elsewhere, chance = self.elsewhere, self.chance
        if elsewhere is None or chance is None:
            return False
        return elsewhere.differs and elsewhere.low > 0 and chance <= LEVEL

    @cached_property
    def persons(self) -> int:
        """Return how many persons, or talks, were asked about."""
        return len({each.about for each in self.questions})

    @cached_property
    def _fast(self) -> list[Trial]:
        return [each for each in self.trials if each.cost <= PATIENCE or each is self.default]

    def _by_person(self, trial: Trial) -> list[float]:
        """Return how much more than the defaults a trial found of each person, in the order of the questions."""
        sums: dict[str, float] = {}
        for question, mine, theirs in zip(self.questions, trial.found, self.default.found, strict=True):
            sums[question.about] = sums.get(question.about, 0.0) + mine - theirs
        return list(sums.values())

    def _best(self, places: Sequence[int]) -> Trial:
        # Of equals the earliest wins; the defaults are the very first.
        return max(self._fast, key=lambda each: (fmean(each.found[place] for place in places), -each.number))


def sweep(
    examiner: Examiner,
    data: DataSet,
    *,
    trials: int,
    most: int | None = None,
    on_progress: Callable[[int], None] = lambda _trials: None,
) -> Sweep:
    """Try `trials` policies, the defaults among them, on all questions with evidence, or on `most` of them.

    The sampler is seeded, so what is tried depends on the data and on measured times alone. Ctrl-C ends it early, with
    what was tried until then. Raises `ModuleNotFoundError` without the extra, and `MeasureError` for data of which no
    question has an answer, or where it ends before the defaults were measured.
    """
    # Imported here: it takes half a second, which every other command would wait for too.
    import optuna  # noqa: PLC0415

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    asked = _some([each for each in data.questions if each.expected and not each.apart], most)
    if not asked:
        raise MeasureError(f"{data.name}: a sweep needs questions that have an answer")
    examiner.warm_up(asked)
    done: list[Trial] = []

    sampler = optuna.samplers.TPESampler(seed=SEED, multivariate=False)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.enqueue_trial(defaults())
    start = time.perf_counter()
    # Ctrl-C ends the sweep, and the user gets what was found until then.
    with suppress(KeyboardInterrupt):
        for _ in range(trials):
            # Not `optimize`: it takes an interrupted trial for a failed one, and prints a traceback.
            trial = study.ask()
            policy, limit = suggested(trial)
            done.append(_try(examiner, asked, policy, limit, trial.number))
            study.tell(trial, (done[-1].quality, done[-1].cost))
            on_progress(1)
    if not done:
        raise MeasureError("stopped before the defaults were measured")
    return Sweep(data, tuple(asked), tuple(done), time.perf_counter() - start)


def suggested(trial: optuna.Trial) -> tuple[Policy, int]:
    """Return the policy and the number of results that Optuna suggests for a trial."""
    fusion: Any = trial.suggest_categorical("fusion", FUSIONS)
    numbers: dict[str, Any] = {
        "alpha": trial.suggest_float("alpha", 0.5, 1.0),
        "beta": trial.suggest_float("beta", 0.0, 0.5),
        "gamma": trial.suggest_float("gamma", 0.0, 0.5),
        "tau_days": trial.suggest_float("tau_days", 0.5, 365.0, log=True),
        "mmr_lambda": trial.suggest_float("mmr_lambda", 0.5, 1.0),
        "k1": trial.suggest_float("k1", 0.4, 3.0),
        "b": trial.suggest_float("b", 0.0, 1.0),
        "depth": trial.suggest_int("depth", 10, 160),
    }
    if fusion == "rrf":
        numbers["rrf_k"] = trial.suggest_int("rrf_k", 1, 200, log=True)
    else:
        # One weight is for notes and one for turns of talks; a data set has either the ones or the others.
        for name in WEIGHTS:
            numbers[name] = trial.suggest_float(name, 0.0, 1.0)
    return replace(NAMED[DEFAULT], fusion=fusion, **numbers), trial.suggest_int("limit", 3, LARGEST)


def defaults() -> dict[str, Any]:
    """Return the default policy in the terms of a trial."""
    policy = NAMED[DEFAULT]
    names = ("fusion", "alpha", "beta", "gamma", "tau_days", "mmr_lambda", "k1", "b", "depth", *WEIGHTS)
    return {**{name: getattr(policy, name) for name in names}, "limit": LARGEST}


def _try(examiner: Examiner, asked: Sequence[Question], policy: Policy, limit: int, number: int) -> Trial:
    """Ask every question under a policy, and every fourth under the defaults too, so that a busy machine slows both."""
    narrow = replace(examiner, limit=limit)
    found, took, tokens = [], [], []
    timed: list[tuple[float, float]] = []
    rounds = ceil(TIMED / len(asked[::BESIDE]))
    for place, question in enumerate(asked):
        where = examiner.placed.places[question.collection]
        # Ctrl-C takes effect after the answer: in the middle of a search it could be raised where it is swallowed.
        with undisturbed():
            if place % BESIDE == 0:
                turns = range(place // BESIDE, place // BESIDE + rounds)
                timed += _beside(examiner, narrow, question, policy, turns)
            result = narrow.ask(where, question, policy)
        brought = outcome(question, where, result)
        found.append(scores(brought)[MEASURE])
        took.append(brought.milliseconds)
        tokens.append(sum(count(hit.snippet) for hit in result.hits))
    # A ratio of medians and not a median of ratios: the second of two searches is always faster, so half of the ratios
    # are above one and half below.
    cost = median(mine for mine, _ in timed) / median(default for _, default in timed)
    return Trial(number, policy, limit, tuple(found), cost, median(took), fmean(tokens))


def _beside(
    examiner: Examiner, narrow: Examiner, question: Question, policy: Policy, turns: Iterable[int]
) -> Iterator[tuple[float, float]]:
    """Yield the milliseconds of a search under the policy and of one under the defaults, once in each turn."""
    place = examiner.placed.places[question.collection]

    def mine() -> float:
        return narrow.ask(place, question, policy).timings["total"]

    def default() -> float:
        return examiner.ask(place, question, NAMED[DEFAULT]).timings["total"]

    # Both are run once unmeasured: what the reader reads is remembered, so the first to ask would wait for it on behalf
    # of both.
    default(), mine()
    for turn in turns:
        # Each goes first in every other turn, as the second of two finds its pages in the cache.
        if turn % 2:
            yield mine(), default()
        else:
            beside = default()
            yield mine(), beside


def _some(questions: Sequence[Question], most: int | None) -> Sequence[Question]:
    """Return at most so many questions, evenly spread over the set."""
    if most is None or len(questions) <= most:
        return questions
    return [questions[place * len(questions) // most] for place in range(most)]
