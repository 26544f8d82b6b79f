"""Running a cell: what it asks is done, and what came of it is told in ids and numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from memory.drafts.drafts import Draft
from memory.errors import InvalidError
from memory.models import Cell, Memory
from memory.notebooks import cells
from memory.writing.trace import Outcome
from webapp.commands import CommandResult, run, take_slip
from webapp.context import credential, session, utc_now
from webapp.operations import is_incognito, space_at, store
from webapp.pages.notebook_answers import answer_of
from webapp.pages.notebook_forms import (
    CellForm,
    ChartForm,
    CommandForm,
    ContextForm,
    NoteForm,
    RecallForm,
    RememberForm,
)
from webapp.pages.notebook_stored import asked_of, output_of
from webapp.recall import find
from webapp.recording import Recording

INCOGNITO = "Incognito is on: nothing is recalled, and nothing of this cell is kept. End it to run the cell."


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a run: what to keep, or why nothing is kept; `said` is a command's answer, which is not kept."""

    given: dict[str, Any] = field(default_factory=dict)
    output: dict[str, Any] = field(default_factory=dict)
    notice: str = ""
    said: CommandResult | None = None


def run_cell(cell: Cell, form: CellForm) -> Ran:
    """Run a cell with what its form says, and keep input and output; the caller has parsed the form.

    In incognito nothing is kept. Raises `InvalidError` or `PolicyError`, and then nothing has changed.
    """
    if is_incognito(None) and not isinstance(form, RememberForm | CommandForm):
        return Ran(notice=INCOGNITO)
    began = time.perf_counter()
    ran = _RUNNERS[cell.kind](cell, form)
    took = (time.perf_counter() - began) * 1000
    if not ran.notice:
        user_id = credential().user_id
        cells.keep_run(
            session(),
            user_id,
            cell.notebook_id,
            cell.id,
            ran.given,
            ran.output,
            duration_ms=round(took, 2),
            now=utc_now(),
        )
    session().commit()
    return ran


def _recall(cell: Cell, form: CellForm) -> Ran:
    assert isinstance(form, RecallForm)
    _asked(form.q)
    recording = Recording("memory_search", "search")
    found = find(
        form.q, space=form.space, limit=form.limit, types=form.types or None, policy=form.policy(), token_budget=8000
    )
    if "incognito" in found.degraded:
        return Ran(notice=INCOGNITO)
    answer = answer_of(found)
    if _differs(cell, form, answer):
        # So that "that" in a command means it.
        recording.searched({"query": form.q}, form.q, found)
    return Ran(form.kept(), answer)


def _differs(cell: Cell, form: RecallForm, answer: dict[str, Any]) -> bool:
    """Tell whether this run asks, or answers, something else than the last; a slider that was moved does not count."""
    before = {each["id"] for each in (output_of(cell) or {}).get("hits", ())}
    return cell.input.get("q") != form.q or before != {each["id"] for each in answer["hits"]}


def _context(_cell: Cell, form: CellForm) -> Ran:
    assert isinstance(form, ContextForm)
    _asked(form.q)
    found = find(form.q, space=form.space, token_budget=form.budget)
    return Ran(notice=INCOGNITO) if "incognito" in found.degraded else Ran(form.kept(), answer_of(found))


def _asked(question: str) -> None:
    if not question.strip():
        raise InvalidError("question", "must not be empty")


def _remember(cell: Cell, form: CellForm) -> Ran:
    assert isinstance(form, RememberForm)
    if not form.text and (again := _said_before(cell)) is not None:
        # Where it is now: said where it was once, it would be there a second time.
        space = space_at(again.space_id).slug
        form = form.model_copy(update={"type": again.type, "space": space})
        draft = Draft(again.text, type=again.type, tags=tuple(again.tags), manually_saved=form.saved)
    else:
        draft = form.to_draft()
    outcome = store([draft], form.space)[0]
    if outcome.refusal == "incognito":
        return Ran(notice=INCOGNITO)
    # The cell keeps no text: what was stored is in the memory, and what was refused must be kept nowhere.
    given = form.model_copy(update={"text": "", "tags": ""}).kept()
    if outcome.kept is not None:
        given["memory_id"] = str(outcome.kept)
    return Ran(given, _trace_of(outcome))


def _said_before(cell: Cell) -> Memory | None:
    memory_id = cell.input.get("memory_id") if asked_of(cell) is not None else None
    return session().get(Memory, (credential().user_id, memory_id)) if memory_id else None


def _trace_of(outcome: Outcome) -> dict[str, Any]:
    """Return what a cell keeps of a trace: neither the normalised text nor its fingerprint."""
    trace = outcome.trace
    return {
        "outcome": outcome.outcome,
        "memory_id": str(outcome.kept) if outcome.kept is not None else None,
        "refusal": outcome.refusal,
        "embedding": outcome.embedding,
        "reason": trace.reason,
        "neighbours": [{**asdict(near), "id": str(near.id)} for near in trace.neighbours],
        "importance": trace.importance,
        "terms": [asdict(term) for term in trace.terms],
        "repeat_count": trace.repeat_count,
        "pinned": trace.pinned,
        "trimmed": len({*trace.trimmed} - {outcome.id}),
    }


# Of a command that names a memory only the memory's id is kept.
_TELLING = frozenset({"remember", "forget"})


def _command(_cell: Cell, form: CellForm) -> Ran:
    assert isinstance(form, CommandForm)
    if not form.slip and not form.text.strip():
        raise InvalidError("command", "must not be empty")
    said = take_slip(form.slip) if form.slip else run(form.text)
    if is_incognito(None) or said.reason == "incognito":
        return Ran(notice=said.answer, said=said)
    given = {} if said.intent in _TELLING else {"text": form.text}
    return Ran(given, _command_output(said), said=said)


def _command_output(said: CommandResult) -> dict[str, Any]:
    """Return what a cell keeps of a command: no word of its answer, which may quote a memory."""
    return {
        "intent": said.intent,
        "done": said.done,
        "reason": said.reason,
        "hits": [{"id": str(each)} for each in said.ids],
        "near": said.near,
        "offers": [
            {"name": name, "slip": offer.slip, "until": offer.until.isoformat()}
            for name, offer in (("undo", said.undo), ("confirm", said.confirm))
            if offer is not None
        ],
    }


def _note(_cell: Cell, form: CellForm) -> Ran:
    assert isinstance(form, NoteForm)
    return Ran(form.kept())


def _chart(_cell: Cell, form: CellForm) -> Ran:
    # A chart is drawn of what there is when it is looked at: it must not remember what was forgotten.
    assert isinstance(form, ChartForm)
    return Ran(form.kept())


_RUNNERS: dict[str, Callable[[Cell, CellForm], Ran]] = {
    "recall": _recall,
    "context": _context,
    "remember": _remember,
    "note": _note,
    "chart": _chart,
    "command": _command,
}
