"""Read a data set of one JSON object a line: memories, and questions about them. docs/evaluation.md has the format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evals import once
from evals.dataset import Collection, DataSet, Item, Question
from evals.locomo import Conversation, Turn, memory_text
from evals.storable import refusal, unfit
from memory.drafts.drafts import MAX_SOURCE_ID_LENGTH
from memory.ids import in_one_case

# The name of a conversation becomes part of the ids of its sessions, whose length is limited.
_LONGEST_NAME = 64
_NAMES = {"source_ids": "id", "created_at": "date"}


def _sound(text: str) -> str:
    if wrong := unfit(text):
        raise ValueError(wrong)
    return text


def _moment(value: str) -> str:
    _to_moment(value)
    return value


Text = Annotated[str, AfterValidator(_sound)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_SOURCE_ID_LENGTH), AfterValidator(_sound)]
# As a memory is stored with it: what is found is told by it.
Id = Annotated[Name, AfterValidator(in_one_case)]


class _Memory(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["memory"]
    id: Id
    text: Text
    speaker: Name | None = None
    date: Annotated[str, AfterValidator(_moment)] | None = None
    session: Name | None = None
    user: Name = "user"
    type: Name = "note"
    replaces: Id | None = None


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["question"]
    text: Text
    relevant: list[Id] = []
    nothing: bool = False
    category: Name = "other"
    user: Name = "user"
    id: Name | None = None


_LINE: TypeAdapter[_Memory | _Question] = TypeAdapter(Annotated[_Memory | _Question, Field(discriminator="kind")])


@dataclass(frozen=True, slots=True)
class _Read:
    """What stands where: lines count from 1."""

    memories: list[tuple[int, _Memory]]
    questions: list[tuple[int, _Question]]


def read(path: Path, *, asked: bool = True) -> DataSet:
    """Return the data set of a file; raises `ValueError` that names the line and the field.

    Nor may it be without a question, where it is to be `asked` about.
    """
    try:
        with path.open(encoding="utf-8-sig") as lines:
            return parse(lines, path.stem, asked=asked)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse(lines: Iterable[str], name: str = "jsonl", *, asked: bool = True) -> DataSet:
    """Return the data set of lines, empty ones skipped; raises `ValueError` that names the line and the field.

    The memories of each user are a collection. A question without relevant ids is not scored, unless it says that
    nothing must be returned.
    """
    found, digest = _Read([], []), sha256()
    for number, line in enumerate(lines, start=1):
        digest.update(f"{number} {line.strip()}\n".encode("utf-8", "surrogatepass"))
        if line.strip():
            each = _record(number, line)
            if isinstance(each, _Memory):
                found.memories.append((number, each))
            else:
                found.questions.append((number, each))
    known = _known(found.memories)
    questions = list(_questions(found.questions, known))
    owned: dict[str, list[_Memory]] = {user: [] for user in known}
    for _, each in found.memories:
        owned[each.user].append(each)
    collections = [_collection(user, memories) for user, memories in owned.items()]
    if asked and not questions:
        raise ValueError("there is no question with evidence, nor one that must bring nothing")
    unscored = len(found.questions) - len(questions)
    # A digest of the whole file: one of the questions alone could be guessed.
    told = digest.hexdigest() if any(each.id is None for _, each in found.questions) else ""
    return DataSet("jsonl", name, tuple(collections), tuple(questions), unscored=unscored, persons=True, lines=told)


def _record(number: int, line: str) -> _Memory | _Question:
    try:
        data = once.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"line {number}: not JSON: {error}") from None
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None
    try:
        return _LINE.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ValueError(f"line {number}: {_field(first)}: {first['msg']}") from None


def _field(error: Any) -> str:
    # Inside a record, pydantic begins the place of an error with the discriminator's value, which is left out.
    place = [str(each) for each in error["loc"] if each not in {"memory", "question"}]
    return ".".join(place) or ("kind" if error["type"].startswith("union_tag") else "the record")


def _known(memories: Sequence[tuple[int, _Memory]]) -> dict[str, set[str]]:
    """Return the ids of each user's memories; raises for an id that one user has twice, and what no store takes."""
    known: dict[str, set[str]] = {}
    for number, each in memories:
        mine = known.setdefault(each.user, set())
        if each.id in mine:
            raise ValueError(f"line {number}: id: user {each.user!r} has another memory {each.id!r}")
        if each.replaces is not None and each.replaces not in mine:
            raise ValueError(f"line {number}: replaces: user {each.user!r} has no memory {each.replaces!r} before it")
        mine.add(each.id)
        created_at = _to_moment(each.date) if each.date else None
        if wrong := refusal(_text(each), each.id, kind=each.type, created_at=created_at, names=_NAMES):
            raise ValueError(f"line {number}: {wrong}")
    return known


def _questions(asked: Sequence[tuple[int, _Question]], known: Mapping[str, set[str]]) -> Iterator[Question]:
    """Yield what can be scored; raises for what contradicts itself or the memories."""
    ids: set[str] = set()
    for number, each in asked:
        if each.user not in known:
            raise ValueError(f"line {number}: user: {each.user!r} has no memory")
        if each.nothing and each.relevant:
            raise ValueError(f"line {number}: nothing: must not be true where relevant ids are given")
        if unknown := [one for one in each.relevant if one not in known[each.user]]:
            raise ValueError(f"line {number}: relevant: user {each.user!r} has no memory {unknown[0]!r}")
        name = each.id or f"line {number}"
        if name in ids:
            raise ValueError(f"line {number}: id: another question is called {name!r}")
        ids.add(name)
        if each.relevant or each.nothing:
            yield Question(name, each.category, each.text, each.user, frozenset(each.relevant))


def _collection(user: str, memories: Sequence[_Memory]) -> Collection:
    """Return a talk where every memory is a note with a speaker, a session and a date, else loose items."""
    sessions = {each.id: each.session for each in memories if each.session is not None}
    if all(each.speaker and each.session and each.date and each.type == "note" for each in memories):
        return Collection(user, talk=_talk(user, memories), sessions=sessions)
    items = [_item(each) for each in memories]
    return Collection(user, tuple(items), sessions=sessions)


def _item(memory: _Memory) -> Item:
    created_at = _to_moment(memory.date) if memory.date else None
    return Item(memory.id, _text(memory), memory.type, created_at, memory.replaces)


def _talk(user: str, memories: Sequence[_Memory]) -> Conversation:
    numbers = {name: n for n, name in enumerate(dict.fromkeys(each.session for each in memories), start=1)}
    ordered = sorted(memories, key=lambda each: numbers[each.session])
    turns = [_turn(each, numbers[each.session]) for each in ordered]
    return Conversation(user[:_LONGEST_NAME], tuple(turns), ())


def _turn(memory: _Memory, session: int = 1) -> Turn:
    said_at = _to_moment(memory.date) if memory.date else datetime.min.replace(tzinfo=UTC)
    return Turn(memory.id, memory.speaker or "", memory.text, None, said_at, session)


def _text(memory: _Memory) -> str:
    return memory_text(_turn(memory)) if memory.speaker else memory.text


def _to_moment(value: str) -> datetime:
    """Return a date, or a date and time, in ISO 8601; without a time its midnight, without a zone in UTC."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            return datetime.combine(date.fromisoformat(value), time(), UTC)
        found = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a date like 2023-05-08 or 2023-05-08T13:56:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
