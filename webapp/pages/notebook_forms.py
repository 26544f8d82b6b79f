"""What the forms of cells may say, and what of it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, field_validator

from memory.drafts.drafts import Draft
from retrieval.policy import Fusion
from webapp.api.schemas import Limit, Line, MemoryType, Question, TokenBudget
from webapp.pages.forms import by_lines, tags_in

# Numbers of a policy that have a slider: the letter and the name on the page, least, most, step.
SLIDERS: dict[str, tuple[str, str, float, float, float]] = {
    "alpha": ("α", "Relevance", 0, 3, 0.05),  # noqa: RUF001 - the letter of the formula
    "beta": ("β", "Recency", 0, 3, 0.05),
    "gamma": ("γ", "Importance", 0, 3, 0.05),  # noqa: RUF001 - the letter of the formula
    "tau_days": ("τ", "Decay, days", 0.5, 90, 0.5),
    "mmr_lambda": ("λ", "Sameness", 0, 1, 0.025),
    "rrf_k": ("k", "Rank fusion", 1, 200, 1),
}
WEIGHTS = ("fusion", *SLIDERS)
# How much finer the steps may become, so that a number which is between them is one of them.
FINER = (1, 2, 5, 10, 50, 100)
ChartName = Literal["growth", "ages", "tags", "repeats", "backlog", "latency"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers that a slider can stand at, as its attributes say them."""

    least: str
    most: str
    step: str
    value: str


def scale_of(value: float, least: float, most: float, step: float) -> Scale:
    """Return a scale on which `value` is, to the fifteen digits that browsers reckon with.

    A browser moves a slider that is between two steps to one of them, and sends that though nobody touched it.
    """
    low, high = min(least, value), max(most, value)
    steps = (_exact(step) / finer for finer in FINER)
    fitting = next((each for each in steps if not (_exact(value) % each or _exact(low) % each)), None)
    return Scale(_digits(low), _digits(high), "any" if fitting is None else f"{fitting.normalize():f}", _digits(value))


def _exact(value: float) -> Decimal:
    return Decimal(repr(value))


def _digits(value: float) -> str:
    return repr(value).removesuffix(".0")


class CellForm(BaseModel):
    """What a cell is asked."""

    def kept(self) -> dict[str, Any]:
        """Return what is stored of it."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


class RecallForm(CellForm):
    """A question, what narrows it, and the weights that differ from its space's."""

    q: Question = ""
    space: Line | None = None
    types: list[MemoryType] = []
    fusion: Fusion | None = None
    limit: Limit = 5
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    tau_days: float | None = None
    mmr_lambda: float | None = None
    rrf_k: int | None = None

    def policy(self) -> dict[str, Any]:
        """Return the weights that are set here."""
        return {name: value for name in WEIGHTS if (value := getattr(self, name)) is not None}


class RememberForm(CellForm):
    """A memory to store. Once that is done only its id is kept: the text is the memory's own."""

    text: Line = ""
    space: Line | None = None
    type: MemoryType = "note"
    tags: Line = ""
    saved: bool = False

    def to_draft(self) -> Draft:
        """Return the checked draft; raises `InvalidError`."""
        tags = tuple(tags_in(self.tags))
        return Draft(text=by_lines(self.text), type=self.type, tags=tags, manually_saved=self.saved)


class NoteForm(CellForm):
    """A note in Markdown."""

    text: Line = ""

    @field_validator("text")
    @classmethod
    def _plain_lines(cls, text: str) -> str:
        return by_lines(text)


class ContextForm(CellForm):
    """A question, and how many tokens the block for an agent may have."""

    q: Question = ""
    space: Line | None = None
    budget: TokenBudget = 400


class ChartForm(CellForm):
    """Which chart, of which space."""

    chart: ChartName = "growth"
    space: Line | None = None


class CommandForm(CellForm):
    """A sentence, or the slip of an undo or a yes that an answer offered."""

    text: Line = ""
    slip: Line | None = None


FORMS: dict[str, type[CellForm]] = {
    "recall": RecallForm,
    "remember": RememberForm,
    "note": NoteForm,
    "context": ContextForm,
    "chart": ChartForm,
    "command": CommandForm,
}
