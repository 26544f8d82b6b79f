"""Read a data set of golden cases: memories to set up, a query, and what it must bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from evals import once
from evals.dataset import Collection, DataSet, Item, Question
from evals.storable import refusal, unfit

BUNDLED = Path(__file__).with_name("golden.json")
HELD_OUT = Path(__file__).with_name("golden_held_out.json")
NEAR_MISSES = Path(__file__).with_name("near_misses.json")
_NAMES = {"text": "content"}


class Setup(BaseModel):
    """A memory that is stored before the query."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: Annotated[str, Field(min_length=1)]
    type: str = "note"
    created_at: AwareDatetime | None = None


class _Case(BaseModel):
    # Files of other makers have fields of their own. These are allowed, but named to the user: otherwise nobody would
    # notice a misspelt one.
    model_config = ConfigDict(extra="allow")

    id: str
    query: Annotated[str, Field(min_length=1)]
    expected_retrievals: list[str]
    category: str = "other"
    setup: str | None = None
    setup_memories: list[Setup] = []
    rubric: str = ""


class _File(BaseModel):
    model_config = ConfigDict(extra="allow")

    version: str
    description: str = ""
    setups: dict[str, list[Setup]] = {}
    cases: list[_Case]


def read(path: Path) -> DataSet:
    """Return the cases of a file; raises `ValueError` that says what is wrong, and where."""
    try:
        return parse(once.loads(path.read_text(encoding="utf-8-sig")), path.stem)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def parse(data: Any, name: str = "golden") -> DataSet:
    """Return the cases of parsed JSON; raises `ValueError` that says what is wrong, and where.

    Cases over the same memories share a collection. Fields that mean nothing here are `ignored`, but those of a memory,
    which are refused: what is stored of it is what it has.
    """
    if not isinstance(data, dict):
        raise ValueError("not an object with cases")
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if len({each.id for each in file.cases}) < len(file.cases):
        raise ValueError("two cases have the same id")
    for called, memories in file.setups.items():
        _check(memories, f"setup {called}")
    for number, case in enumerate(file.cases, 1):
        for field in ("id", "query", "category"):
            if wrong := unfit(getattr(case, field)):
                raise ValueError(f"case {number if field == 'id' else case.id}: {field}: {wrong}")
        _check(case.setup_memories, f"case {case.id}")
    found: dict[tuple[Setup, ...], Collection] = {}
    questions = []
    for case in file.cases:
        own = _memories(case, file.setups)
        collection = found.setdefault(own, _collection(own, len(found)))
        questions.append(_question(case, collection))
    return DataSet("golden", name, tuple(found.values()), tuple(questions), ignored=_ignored(file))


def _ignored(file: _File) -> tuple[str, ...]:
    """Return the fields that mean nothing here, each once, with the first case that has it."""
    first: dict[str, str] = {}
    for case in file.cases:
        for field in case.model_extra or {}:
            first.setdefault(field, f"{field!r} (case {case.id})")
    return (*map(repr, file.model_extra or {}), *first.values())


def _check(memories: Sequence[Setup], where: str) -> None:
    for number, each in enumerate(memories, 1):
        wrong = refusal(each.content, str(number), kind=each.type, created_at=each.created_at, names=_NAMES)
        if wrong is not None:
            raise ValueError(f"{where}, memory {number}: {wrong}")


def _memories(case: _Case, setups: Mapping[str, Sequence[Setup]]) -> tuple[Setup, ...]:
    if case.setup is not None and case.setup not in setups:
        raise ValueError(f"case {case.id}: there is no setup {case.setup!r}")
    return (*(setups[case.setup] if case.setup else ()), *case.setup_memories)


def _collection(memories: Sequence[Setup], number: int) -> Collection:
    items = [Item(str(n), each.content, each.type, each.created_at) for n, each in enumerate(memories)]
    return Collection(f"golden-{number}", tuple(items))


def _question(case: _Case, collection: Collection) -> Question:
    # Where two memories have the same text, the id is that of the first: they are merged when they are stored.
    ids = {each.text: each.id for each in reversed(collection.items)}
    unknown = set(case.expected_retrievals) - ids.keys()
    if unknown:
        raise ValueError(f"case {case.id}: {min(unknown)!r} is expected, but is none of its memories")
    expected = frozenset(ids[each] for each in case.expected_retrievals)
    return Question(case.id, case.category, case.query, collection.name, expected, person=case.setup)
