"""Read a data set of golden cases: memories to set up, a query, and what it must bring."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

BUNDLED = Path(__file__).with_name("golden.json")
NOTHING = "nothing"


class Setup(BaseModel):
    """A memory that is stored before the query."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: Annotated[str, Field(min_length=1)]
    type: str = "note"
    created_at: AwareDatetime | None = None


class _Case(BaseModel):
    id: str
    query: Annotated[str, Field(min_length=1)]
    expected_retrievals: list[str]
    category: str = "other"
    setup: str | None = None
    setup_memories: list[Setup] = []
    rubric: str = ""


class _File(BaseModel):
    version: str
    description: str = ""
    setups: dict[str, list[Setup]] = {}
    cases: list[_Case]


@dataclass(frozen=True, slots=True)
class Case:
    """One query over `memories`; `expected` are contents of memories, and empty when nothing must be returned."""

    id: str
    category: str
    query: str
    memories: tuple[Setup, ...]
    expected: frozenset[str]


def read(path: Path) -> list[Case]:
    """Return the cases of a file; raises `ValueError` that says what is wrong, and where."""
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def parse(data: Any) -> list[Case]:
    """Return the cases of parsed JSON; raises `ValueError` that says what is wrong, and where."""
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    cases = [_case(each, file.setups) for each in file.cases]
    if len({each.id for each in cases}) < len(cases):
        raise ValueError("two cases have the same id")
    return cases


def _case(case: _Case, setups: Mapping[str, Sequence[Setup]]) -> Case:
    if case.setup is not None and case.setup not in setups:
        raise ValueError(f"case {case.id}: there is no setup {case.setup!r}")
    memories = (*(setups[case.setup] if case.setup else ()), *case.setup_memories)
    unknown = set(case.expected_retrievals) - {each.content for each in memories}
    if unknown:
        raise ValueError(f"case {case.id}: {min(unknown)!r} is expected, but is none of its memories")
    return Case(case.id, case.category, case.query, memories, frozenset(case.expected_retrievals))
