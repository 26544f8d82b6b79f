"""What is left of the search while something is away: the vector leg, the provider, half of the vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import text

from evals.dataset import DataSet, Question
from evals.examine import Examiner, outcome
from evals.means import Measure, compare
from evals.places import Place
from evals.policies import DEFAULT
from evals.report import Report, Variant, measures_to_text, to_dict, variants_to_text
from evals.scores import Outcome
from evals.silent_server import silent
from memory.embedding.cache import CachedEmbedder
from memory.embedding.http import HttpEmbedder
from memory.embedding.prompt import PAUSE, PromptEmbedder
from memory.storage.database import user_session
from retrieval.policy import NAMED
from retrieval.query import Dense

WHOLE, NO_LEG, SILENT, HALF = "nothing is away", "vector leg off", "provider times out", "half without vectors"

_TAKE_AWAY = text("""
UPDATE embeddings SET state = 'pending', vector = NULL, passages = NULL, due_at = 'infinity'
WHERE user_id = :user_id AND memory_id = ANY(:ids) RETURNING 1
""")


@dataclass(frozen=True, slots=True)
class Outages:
    """What each condition brought; a question that asked the silent provider waited for it for `timeout` seconds."""

    report: Report
    timeout: float

    def differences(self) -> dict[str, dict[str, Measure]]:
        """Return each condition's paired differences to when nothing is away, question by question."""
        whole = self.report.variants[0]
        return {each.name: compare(each.counted, whole.counted) for each in self.report.variants[1:]}

    def degraded(self) -> dict[str, float]:
        """Return the share of answers of each condition that said that a leg was missing."""
        return {
            each.name: sum(one.degraded for one in each.outcomes) / len(each.outcomes) for each in self.report.variants
        }


def requests(data: DataSet) -> int:
    """Return how many questions `measure` is told of as progress."""
    return 5 * len(data.questions)


def measure(
    examiner: Examiner,
    data: DataSet,
    *,
    timeout: float,
    on_progress: Callable[[int], None] = lambda _questions: None,
) -> Outages:
    """Ask every question under each condition; the silent provider is waited for `timeout` seconds when it is asked.

    The last condition takes vectors away for good: the database must be there for this alone.
    """
    examiner.warm_up(data.questions)
    ask = _Asking(examiner, on_progress)
    # Asked once with the result thrown away: otherwise the first condition alone would wait for the model to load and
    # for notes to be read, which the others then find remembered.
    ask.all(data.questions, examiner.dense)
    found = [
        Variant(WHOLE, ask.all(data.questions, examiner.dense)),
        Variant(NO_LEG, ask.all(data.questions, lambda _place: None)),
    ]
    with silent() as url:
        # Wrapped as the server wraps it.
        broken = CachedEmbedder(PromptEmbedder(HttpEmbedder("openai", url, "silent", None, None, timeout)))

        def unanswered(place: Place) -> Dense:
            return replace(examiner.dense(place), embedder=broken)

        found.append(Variant(SILENT, ask.all(data.questions, unanswered)))
    take_half_away(examiner)
    found.append(Variant(HALF, ask.all(data.questions, examiner.dense)))
    return Outages(Report(data, tuple(found)), timeout)


def take_half_away(examiner: Examiner) -> int:
    """Take the vector of every second memory of each place away, as if it waited for the worker; return how many."""
    taken = 0
    for place in examiner.placed.places.values():
        ids: list[UUID] = sorted(place.held)[::2]
        with user_session(examiner.runtime.sessions, place.user_id) as session:
            taken += len(session.execute(_TAKE_AWAY, {"user_id": place.user_id, "ids": ids}).all())
    return taken


@dataclass(frozen=True, slots=True)
class _Asking:
    examiner: Examiner
    on_progress: Callable[[int], None]

    def all(self, questions: Sequence[Question], dense: Callable[[Place], Dense | None]) -> tuple[Outcome, ...]:
        found = []
        for question in questions:
            place = self.examiner.placed.places[question.collection]
            result = self.examiner.try_to_ask(place, question, NAMED[DEFAULT], dense(place))
            found.append(outcome(question, place, result))
            self.on_progress(1)
        return tuple(found)


def to_values(outages: Outages) -> dict[str, Any]:
    """Return the measures in values that JSON can carry."""
    values = to_dict(outages.report)
    differences = {
        condition: {name: asdict(each) for name, each in found.items()}
        for condition, found in outages.differences().items()
    }
    # An outage is measured, and there is no goal that it could miss.
    return {
        **{name: values[name] for name in ("data", "main", "variants", "cases", "apart")},
        "differences": differences,
        "degraded": outages.degraded(),
        "timeout_s": outages.timeout,
    }


def to_text(outages: Outages) -> str:
    """Return the measures as tables."""
    report = outages.report
    shares = ", ".join(f"{name} {share:.0%}" for name, share in outages.degraded().items())
    parts = [variants_to_text(report.variants)]
    for condition, found in outages.differences().items():
        parts.append(measures_to_text(found, f"{condition}, less {WHOLE}"))
    parts.append(
        f"answers that say that a leg is missing: {shares}\n"
        f"the silent provider is waited for {outages.timeout:g} s, and then left alone for {PAUSE:g} s"
    )
    return "\n\n".join(parts)
