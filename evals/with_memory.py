"""Tasks that need memory, put to a language model with and without what the search finds, and judged by exact keys."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from textwrap import shorten
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evals import once
from evals.dataset import Collection, DataSet, Item, Question
from evals.errors import MeasureError
from evals.examine import Examiner
from evals.means import Measure, compare, measures
from evals.policies import DEFAULT
from evals.report import measures_to_text
from evals.storable import refusal, unfit
from evals.tables import Cell, table
from evals.timing import latency, timed
from memory.remote.llm import ChatModel, ChatModelError, UselessAnswerError
from retrieval.policy import NAMED
from retrieval.query import DEFAULT_TOKEN_BUDGET
from retrieval.words.tokens import count

BUNDLED = Path(__file__).with_name("tasks.json")
WITH, WITHOUT = "with memory", "without memory"
LONGEST_ANSWER = 200  # tokens
SHOWN = 160  # characters
# Seconds to wait before a model that is away is asked again. The model may ask for a longer wait, up to `LONGEST_WAIT`.
WAITS, LONGEST_WAIT = (2.0, 10.0), 60.0
# After so many tasks in a row without an answer, the model is not asked the others.
GONE = 3
INSTRUCTION = (
    "You help one user. Answer the question in one or two sentences, with the exact names, numbers and times that you "
    "know. Say that you do not know where you do not."
)
_MEMORY = "What the user has told you before:\n{known}\n\nQuestion: {question}"
Word = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Memory(_Strict):
    id: Word
    text: Word
    type: str = "note"


class Task(_Strict):
    """A question; an answer is right when it holds one of the words of every one of `keys`, whatever the case.

    `needs` are the memories that say it.
    """

    id: Word
    category: str
    question: Word
    keys: Annotated[tuple[Annotated[tuple[Word, ...], Field(min_length=1)], ...], Field(min_length=1)]
    needs: tuple[Word, ...]

    def solved_by(self, answer: str) -> bool:
        """Tell whether every key stands in a text, as a word of its own."""
        return all(any(_holds(answer, each) for each in words) for words in self.keys)


class _File(_Strict):
    version: str
    description: str = ""
    memories: tuple[_Memory, ...]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one task: `told` says that the memories found hold the keys, `tokens` what these cost."""

    task: Task
    with_memory: str
    without_memory: str
    told: bool
    tokens: int
    milliseconds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers with memory and without; `lost` says of each task without an answer why it has none."""

    given: tuple[Answer, ...]
    lost: Mapping[str, str]


def read(path: Path) -> tuple[DataSet, tuple[Task, ...]]:
    """Return the memories with the tasks as questions, and the tasks; raises `ValueError` that says what is wrong."""
    try:
        file = _File.model_validate(once.loads(path.read_text(encoding="utf-8-sig")))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ValueError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    try:
        _check(file)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    known = {each.id for each in file.memories}
    if unknown := [(task.id, each) for task in file.tasks for each in task.needs if each not in known]:
        raise ValueError(f"{path}: task {unknown[0][0]}: there is no memory {unknown[0][1]!r}")
    collection = Collection("tasks", tuple(Item(each.id, each.text, each.type) for each in file.memories))
    questions = tuple(
        Question(each.id, each.category, each.question, collection.name, frozenset(each.needs)) for each in file.tasks
    )
    return DataSet("tasks", path.stem, (collection,), questions), file.tasks


def _check(file: _File) -> None:
    """Refuse what cannot be stored, asked or told apart; the message has its place."""
    for kind, ids in {"memory": [each.id for each in file.memories], "task": [each.id for each in file.tasks]}.items():
        if twice := [each for each, count in Counter(ids).items() if count > 1]:
            raise ValueError(f"{kind} {twice[0]}: another is called so")
    for each in file.memories:
        if wrong := refusal(each.text, each.id, kind=each.type, names={"source_ids": "id"}):
            raise ValueError(f"memory {each.id}: {wrong}")
    for task in file.tasks:
        told = {"id": (task.id,), "category": (task.category,), "question": (task.question,)}
        keys = [word for words in task.keys for word in words]
        for field, texts in {**told, "keys": keys}.items():
            if wrong := next(filter(None, map(unfit, texts)), None):
                raise ValueError(f"task {task.id}: {field}: {wrong}")


def measure(
    examiner: Examiner,
    data: DataSet,
    tasks: Sequence[Task],
    model: ChatModel,
    *,
    top: int,
    waits: Sequence[float] = WAITS,
    on_progress: Callable[[int], None] = lambda _answers: None,
) -> Answers:
    """Put each task to the model twice, once with the `top` memories that the search finds within the token budget.

    A model that says nothing has not solved the task. One that is away is asked again after each of `waits`, in
    seconds. A task that it does not answer both times is lost, and so is what comes after `GONE` of them in a row.
    Raises `MeasureError` where all are.
    """
    narrow, lost, in_a_row = replace(examiner, limit=top), dict[str, str](), 0
    given = []
    for question, task in zip(data.questions, tasks, strict=True):
        if in_a_row == GONE:
            lost[task.id] = f"was not asked, after {GONE} tasks in a row without an answer"
        else:
            try:
                given.append(_answer(narrow, question, task, model, waits))
                in_a_row = 0
            except ChatModelError as error:
                lost[task.id] = str(error)
                in_a_row += 1
        on_progress(2)
    if not given:
        raise MeasureError(f"no task was answered: {next(iter(lost.values()))}")
    return Answers(tuple(given), lost)


def _answer(examiner: Examiner, question: Question, task: Task, model: ChatModel, waits: Sequence[float]) -> Answer:
    place = examiner.placed.places[question.collection]
    hits = examiner.ask(place, question, NAMED[DEFAULT], budget=DEFAULT_TOKEN_BUDGET).hits
    known = "\n".join(f"- {hit.snippet}" for hit in hits) or "(nothing)"
    with_memory, slow = _ask(model, _MEMORY.format(known=known, question=task.question), waits)
    without, quick = _ask(model, f"Question: {task.question}", waits)
    return Answer(task, with_memory, without, task.solved_by(known), count(known), (slow, quick))


def _ask(model: ChatModel, text: str, waits: Sequence[float]) -> tuple[str, float]:
    """Return what the model says and the milliseconds of that, without those of the times it was away."""

    def complete() -> str:
        try:
            # A new client for each attempt: a client remembers failures, to spare other callers the wait, and here
            # there are none.
            return replace(model).complete(INSTRUCTION, text, max_tokens=LONGEST_ANSWER)
        except UselessAnswerError:
            # This counts as an answer that solves nothing: a model that thinks aloud may never come to an end, and
            # others do.
            return ""

    for wait in waits:
        try:
            return timed(complete)
        except ChatModelError as error:
            if not error.away:
                raise
            time.sleep(min(max(wait, error.pause), LONGEST_WAIT))
    return timed(complete)


def _holds(answer: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", answer, re.IGNORECASE) is not None


def _scores(answers: Sequence[Answer], with_memory: bool) -> dict[str, dict[str, float]]:
    return {
        each.task.id: {"solved": float(each.task.solved_by(each.with_memory if with_memory else each.without_memory))}
        | ({"found": float(each.told)} if with_memory else {})
        for each in answers
    }


def difference(answers: Sequence[Answer]) -> Measure:
    """Return how many more of the tasks are solved with memory, of 1."""
    return compare(_scores(answers, True), _scores(answers, False))["solved"]


def to_values(data: DataSet, found: Answers, *, model: str, top: int) -> dict[str, Any]:
    """Return the measures in values that JSON can carry; the answers themselves are left out."""
    answers, variants = found.given, {}
    for place, name in enumerate((WITH, WITHOUT)):
        means = measures(list(_scores(answers, name == WITH).values()))
        variants[name] = {
            "measures": {each: asdict(value) for each, value in means.items()},
            "latency_ms": asdict(latency([each.milliseconds[place] for each in answers])),
        }
    return {
        "data": {"kind": data.kind, "name": data.name, "memories": data.size, "questions": len(answers)},
        "main": WITH,
        "variants": variants,
        "cases": _scores(answers, True),
        "difference": asdict(difference(answers)),
        "chat_model": model,
        "top": top,
        "tokens": fmean(each.tokens for each in answers),
        "lost": dict(found.lost),
    }


def to_text(found: Answers) -> str:
    """Return both sides as a table, by category too, with what was not solved and what got no answer."""
    answers = found.given
    categories = dict.fromkeys(each.task.category for each in answers)
    parts_of = {name: [each for each in answers if each.task.category == name] for name in categories}
    rows = [_row(name, some) for name, some in {"all": answers, **parts_of}.items()]
    missed = [each for each in answers if not each.task.solved_by(each.with_memory)]
    lines = [
        f"{each.task.id}{'' if each.told else ' (not found)'}: "
        + shorten(each.with_memory or "(nothing)", SHOWN, placeholder=" …")
        for each in missed
    ]
    tokens = fmean(each.tokens for each in answers)
    parts = [
        table(("tasks", "n", WITH, WITHOUT, "found"), rows, digits=2),
        measures_to_text({"solved": difference(answers)}, "difference"),
        f"memories in a prompt: {tokens:.0f} tokens on average",
    ]
    if lines:
        parts.append("\n".join(["not solved with memory:", *lines]))
    if found.lost:
        head = f"left out of all figures, {len(found.lost)} of {len(answers) + len(found.lost)} tasks:"
        parts.append("\n".join([head, *(f"{name}: {why}" for name, why in found.lost.items())]))
    return "\n\n".join(parts)


def _row(name: str, answers: Sequence[Answer]) -> list[Cell]:
    shares = (
        fmean(each.task.solved_by(each.with_memory) for each in answers),
        fmean(each.task.solved_by(each.without_memory) for each in answers),
        fmean(each.told for each in answers),
    )
    return [name, len(answers), *shares]
