"""What cells have stored, read with care: an import brings in what another server, or a hand, wrote."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from memory.errors import InvalidError
from memory.models import Cell
from memory.notebooks.checks import check_kind
from memory.writing.trace import Verdict
from retrieval.policy import Policy
from webapp.pages.notebook_answers import policy_of
from webapp.pages.notebook_forms import FORMS, CellForm


def _id(text: str) -> str:
    UUID(text)
    return text


def _moment(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("must have a time zone")
    return text


def _policy(stored: dict[str, Any]) -> Policy:
    try:
        return policy_of(stored)
    except (KeyError, TypeError):
        raise ValueError("is no policy of a search") from None


Id = Annotated[str, AfterValidator(_id)]
Moment = Annotated[str, AfterValidator(_moment)]
Count = Annotated[int, Field(ge=0, le=10_000_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Shape(BaseModel):
    """As the page reads it; what else is there, as of another version, is let be."""

    model_config = ConfigDict(strict=True)


class _Exact(_Shape):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Score(_Exact):
    relevance: Number
    recency: Number
    importance: Number
    total: Number


class _Hit(_Shape):
    model_config = ConfigDict(strict=True, extra="allow")
    __pydantic_extra__: dict[str, bool | Number]

    id: Id
    rank: Count
    mmr_penalty: Number
    bm25: Number | None
    keyword_rank: Count | None
    cosine: Number | None
    semantic_rank: Count | None
    score: _Score


class _Period(_Shape):
    start: Moment
    end: Moment

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        try:
            start, end = (datetime.fromisoformat(each).astimezone(UTC) for each in (self.start, self.end))
        except OverflowError:
            raise ValueError("must be within the calendar") from None
        if end <= start:
            raise ValueError("must end after it begins")
        return self


class _Found(_Shape):
    hits: list[_Hit]
    policy: Annotated[dict[str, Any], AfterValidator(_policy)]
    token_count: Count
    truncated: bool
    considered: Count
    degraded: list[str]
    warnings: list[str]
    timings: dict[str, Number]
    withheld: Count = 0
    period: _Period | None = None


class _Neighbour(_Exact):
    id: Id
    distance: Count
    exact: bool
    differs_in: str | None


class _Term(_Exact):
    name: str
    delta: Number
    reason: str


class _Written(_Shape):
    outcome: Verdict
    memory_id: Id | None = None
    refusal: str | None
    reason: str
    neighbours: list[_Neighbour]
    importance: Number | None
    terms: list[_Term]
    repeat_count: Count
    pinned: bool
    trimmed: Count


class _Named(_Shape):
    id: Id


class _Offer(_Shape):
    name: str
    slip: str
    until: Moment


class _Done(_Shape):
    intent: str
    done: bool
    hits: list[_Named]
    offers: list[_Offer]


class _Drawn(_Shape):
    """Notes and charts are made of what was asked alone."""


_OUTPUTS: dict[str, type[_Shape]] = {
    "recall": _Found,
    "context": _Found,
    "remember": _Written,
    "command": _Done,
    "note": _Drawn,
    "chart": _Drawn,
}


class _Stored(_Shape):
    """What a remember cell keeps beside its form."""

    memory_id: Id | None = None


def check_cell(row: Mapping[str, Any]) -> None:
    """Raise `InvalidError` for a cell that comes from elsewhere and holds what no page could show."""
    check_kind(row["kind"])
    for field, check in (("input", _asked), ("output", _check_output)):
        try:
            check(row["kind"], row[field])
        except ValidationError as error:
            wrong = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(each) for each in (field, *wrong["loc"]))
            raise InvalidError(place, wrong["msg"].removeprefix("Value error, ")) from None
    if row["ran_at"] is not None and row["duration_ms"] is None:
        raise InvalidError("duration_ms", "must be there, as ran_at is")


def asked_of(cell: Cell) -> CellForm | None:
    """Return what a cell was asked last, of a blanked one nothing; None where that cannot be read."""
    try:
        return _asked(cell.kind, cell.input)
    except ValidationError:
        return None


def output_of(cell: Cell) -> dict[str, Any] | None:
    """Return the output of a cell; None where there is none, and where it cannot be read."""
    try:
        _check_output(cell.kind, cell.output)
    except ValidationError:
        return None
    return cell.output


def _asked(kind: str, given: Mapping[str, Any]) -> CellForm:
    _Stored.model_validate(given)
    known = FORMS[kind].model_fields
    return FORMS[kind].model_validate({name: value for name, value in given.items() if name in known})


def _check_output(kind: str, output: Mapping[str, Any] | None) -> None:
    if output is not None:
        _OUTPUTS[kind].model_validate(output)
