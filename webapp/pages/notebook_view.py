"""Notebooks as pages show them: every cell with what it asks, and its output with the texts as they are now."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from markupsafe import Markup

from memory.drafts.importance import Term
from memory.errors import InvalidError
from memory.models import DEFAULT_SPACE, Cell, Notebook
from memory.notebooks.cells import list_cells
from memory.notebooks.marks import marked
from memory.reading.browse import Entry, get_entry
from memory.redaction.blanking import title_of
from memory.redaction.redaction import REDACTED, Secrets, secrets_of
from memory.remote.credentials import credentials_in
from memory.texts.fingerprints import normalise
from memory.writing.trace import Neighbour, Outcome, Trace
from retrieval.policy import Policy, PolicyError
from retrieval.shown.budget import fit
from retrieval.shown.context import assemble
from retrieval.words.tokens import count
from webapp.context import credential, session, utc_now, zone
from webapp.operations import is_incognito, space_for, told_vector
from webapp.pages.explain import Answer, Explained, explain
from webapp.pages.notebook_answers import Found, Texts, ids_in, result_of, texts_of
from webapp.pages.notebook_charts import Chart, chart_of
from webapp.pages.notebook_forms import FORMS, CellForm, ChartForm, ContextForm, NoteForm, RecallForm
from webapp.pages.notebook_notes import to_html
from webapp.pages.notebook_stored import asked_of, output_of
from webapp.pages.queries import neighbours
from webapp.pages.space_forms import policy_of
from webapp.recall import policy_for
from webapp.tools.shown import places_of


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a list of hits; without `explained` its memory is forgotten, or hidden by incognito.

    `until` is set while a forgotten one can be brought back.
    """

    memory_id: UUID
    explained: Explained | None
    until: datetime | None
    hidden: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Recalled:
    """The output of a recall."""

    answer: Answer
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """The output of a remember cell; without `entry` the memory is forgotten or hidden."""

    outcome: Outcome
    entry: Entry | None
    near: Sequence[tuple[Neighbour, Entry | None]]
    place: Place | None


@dataclass(frozen=True, slots=True)
class Block:
    """The output of a context cell."""

    text: str
    tokens: int
    memories: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class Commanded:
    """The output of a command: its answer in words, its memories as they are now, and what may still be done.

    Of a recall's, `near` are those that lack a word of what was asked for.
    """

    answer: str
    memories: Sequence[Found | None]
    near: Sequence[Found | None]
    offers: Sequence[tuple[str, str]]


# What a page says that a command did once its own answer, which may quote a memory, is gone.
DONE = {
    "recall": "What is remembered of it:",
    "remember": "Remembered.",
    "forget": "Forgotten.",
    "none": "That was no command.",
    "undo": "Undone.",
}


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell as a page shows it. `shown` is its output in the form that its kind has, None before a run.

    Where what is stored of it cannot be read it is `unreadable`: without its output, or else without what it asked.
    """

    cell: Cell
    form: CellForm
    shown: Recalled | Remembered | Block | Chart | Commanded | Markup | None = None
    policy: Policy | None = None
    blanked: bool = False
    later: bool = False
    unreadable: bool = False
    error: str = ""
    notice: str = ""

    @property
    def memories(self) -> Sequence[UUID]:
        """Return the ids of the memories that the output tells of, also of those that are forgotten."""
        return _ids(self.cell) if self.shown is not None else ()

    @property
    def narrowed(self) -> bool:
        """Tell whether a recall asks elsewhere or in another way than one where nobody chose."""
        form = self.form
        if not isinstance(form, RecallForm):
            return False
        elsewhere = form.space not in {None, DEFAULT_SPACE}
        return bool(form.types) or elsewhere or form.fusion not in {None, _usual().fusion}

    @property
    def based_on(self) -> str:
        """Return what tells whether a note still is as it was shown."""
        return digest_of(str(self.cell.input.get("text", "")))

    @property
    def gist(self) -> str:
        """Return what a folded cell says of itself."""
        if isinstance(self.form, NoteForm):
            return to_html(self.form.text).striptags()
        return str(getattr(self.form, "q", "") or getattr(self.form, "text", ""))


def digest_of(note: str) -> str:
    """Return a digest of a note in hexadecimal, the same for the same text."""
    return hashlib.blake2b(note.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class NotebookView:
    """A notebook with its cells; those that are removed stand in their places until their undo ends.

    `title` is the notebook's, unless that tells of a memory that is being forgotten.
    """

    notebook: Notebook
    cells: Sequence[CellView]
    title: str


def view_notebook(
    notebook: Notebook, instead: CellView | None = None, *, at: UUID | None = None, whole: bool = False
) -> NotebookView:
    """Return the notebook; `instead` stands for its own cell.

    Cells beyond what a page should weigh are put off, but never the one `at` which the reader looks. `whole` puts
    nothing off, and shows the outputs of folded cells too.
    """
    stored = list_cells(session(), notebook.user_id, notebook.id, utc_now())
    put_off = frozenset() if whole else _put_off(stored, at)
    seen = [cell for cell in stored if cell.removed_at is None and cell.id not in put_off]
    shower = _Shower(seen, whole=whole, put_off=put_off)
    views = [instead if instead is not None and cell.id == instead.cell.id else shower.view(cell) for cell in stored]
    return NotebookView(notebook, views, title_of(notebook, shower.secrets))


# Kilobytes of markup: what a page may have of cells, and roughly what a cell of each kind has.
PAGE_WEIGHT = 45.0
CELL_WEIGHT = {"recall": 9.0, "remember": 8.0, "chart": 7.0}
PLAIN_WEIGHT = 4.0
HIT_WEIGHT = 3.0
FOLDED_WEIGHT = 2.5


def _put_off(stored: Sequence[Cell], at: UUID | None) -> frozenset[UUID]:
    """Return the cells that are loaded only when the reader comes to them."""
    weight, late = 0.0, set()
    for cell in stored:
        weight += _weight(cell)
        if weight > PAGE_WEIGHT and cell.id != at and cell.removed_at is None and cell.place > 0:
            late.add(cell.id)
    return frozenset(late)


def _weight(cell: Cell) -> float:
    if cell.collapsed or cell.removed_at is not None:
        return FOLDED_WEIGHT
    form, hits = asked_of(cell), len(_ids(cell)) if cell.kind in {"recall", "command"} else 0
    typed = 2 * len(str(cell.input.get("text", ""))) / 1000
    told = 4 * form.budget / 1000 if isinstance(form, ContextForm) and cell.output else 0.0
    return CELL_WEIGHT.get(cell.kind, PLAIN_WEIGHT) + HIT_WEIGHT * hits + typed + told


def view_cell(
    cell: Cell, *, error: str = "", notice: str = "", form: CellForm | None = None, answer: str = ""
) -> CellView:
    """Return one cell; `form` is what was typed, `answer` a command's own, where those are not stored."""
    view = replace(_Shower([cell]).view(cell), error=error, notice=notice)
    if answer and isinstance(view.shown, Commanded):
        view = replace(view, shown=replace(view.shown, answer=answer))
    return replace(view, form=form) if form is not None else view


class _Shower:
    """Shows cells of one page, whose memories are read at once."""

    def __init__(self, stored: Sequence[Cell], *, whole: bool = False, put_off: frozenset[UUID] = frozenset()) -> None:
        self._whole, self._put_off = whole, put_off
        ids = {memory_id for cell in stored if whole or not cell.collapsed for memory_id in _ids(cell)}
        self._texts: Texts = texts_of(ids)
        self.secrets: Secrets | None = secrets_of(session(), credential().user_id, utc_now())
        self._closed = is_incognito(None)

    def view(self, cell: Cell) -> CellView:
        """Return the view of a cell; what tells of a memory that is being forgotten is blank already."""
        if cell.removed_at is not None or cell.id in self._put_off:
            return CellView(cell, CellForm(), later=cell.removed_at is None)
        told = self.secrets is not None and self.secrets.needles.in_value(cell.input)
        if told or cell.input == REDACTED:
            return CellView(cell, FORMS[cell.kind](), policy=_policy(cell, None), blanked=True)
        if (form := asked_of(cell)) is None:
            return CellView(cell, FORMS[cell.kind](), policy=_policy(cell, None), unreadable=True)
        output = output_of(cell)
        if (cell.collapsed and not self._whole) or (self._closed and cell.kind != "note"):
            return CellView(cell, form, None, _policy(cell, form))
        if output is None:
            return CellView(cell, form, None, _policy(cell, form), unreadable=cell.output is not None)
        return CellView(cell, form, getattr(self, f"_{cell.kind}")(output, form), _policy(cell, form))

    def _recall(self, output: dict[str, Any], form: RecallForm) -> Recalled:
        answer = explain(result_of(output, self._texts), form.q)
        by_id = {each.hit.ranked.scored.candidate.id: each for each in answer.hits}
        right = marked(session(), credential().user_id, form.q)
        return Recalled(answer, tuple(self._place(each, by_id.get(each), right) for each in ids_in(output)))

    def _place(self, memory_id: UUID, explained: Explained | None, right: frozenset[UUID]) -> Place:
        texts = self._texts
        until = texts.restorable.get(memory_id)
        return Place(memory_id, explained, until, memory_id in texts.hidden, memory_id in right)

    def _remember(self, output: dict[str, Any], _form: CellForm) -> Remembered:
        user_id, now = credential().user_id, utc_now()
        memory_id = UUID(output["memory_id"]) if output.get("memory_id") else None
        seen = memory_id is not None and memory_id in self._texts.found
        entry = get_entry(session(), user_id, memory_id, now=now) if memory_id is not None and seen else None
        outcome = _outcome(output, memory_id, entry)
        place = self._place(memory_id, None, frozenset()) if memory_id is not None else None
        return Remembered(outcome, entry, neighbours(outcome) if entry else (), place)

    def _context(self, output: dict[str, Any], form: ContextForm) -> Block:
        answer = explain(result_of(output, self._texts), form.q)
        ranked = [each.hit.ranked for each in answer.hits]
        fitted = fit(ranked, form.budget, form.q)
        block = assemble(
            fitted,
            budget=form.budget,
            fence=secrets.token_hex(8),
            zone=zone(),
            places=places_of(each.hit for each in answer.hits),
        )
        return Block(block.text, count(block.text), block.items, answer)

    def _command(self, output: dict[str, Any], _form: CellForm) -> Commanded:
        now = utc_now()
        offers = [
            (each["name"], each["slip"]) for each in output["offers"] if datetime.fromisoformat(each["until"]) > now
        ]
        intent, found = output["intent"], [self._texts.found.get(each) for each in ids_in(output)]
        about = len(found) - output.get("near", 0)  # What was kept before they were told apart has none.
        said = DONE.get(intent, f"{intent.replace('_', ' ').capitalize()}.")
        if intent == "recall" and not about:
            said = "What comes near it:" if found else "Nothing was remembered of it."
        undone = "Nothing is changed yet." if offers else "Nothing was changed."
        answer = said if output["done"] or intent == "none" else undone
        return Commanded(answer, found[:about], found[about:], offers)

    def _note(self, _output: dict[str, Any], form: NoteForm) -> Markup:
        return to_html(form.text)

    def _chart(self, _output: dict[str, Any], form: ChartForm) -> Chart:
        return chart_of(form)


def _ids(cell: Cell) -> list[UUID]:
    output = output_of(cell) or {}
    return [UUID(output["memory_id"])] if output.get("memory_id") else ids_in(output)


def _policy(cell: Cell, form: CellForm | None) -> Policy | None:
    """Return the policy that the sliders of a recall stand at."""
    if cell.kind != "recall":
        return None
    asked = form if isinstance(form, RecallForm) else RecallForm.model_validate({})
    try:
        return policy_for(space_for(asked.space).policy, asked.policy())
    except (InvalidError, PolicyError):
        # The space is gone, or neither what is typed nor what it keeps fits.
        return _usual()


def _usual() -> Policy:
    return policy_of(space_for(None))


def _outcome(output: dict[str, Any], memory_id: UUID | None, entry: Entry | None) -> Outcome:
    """Return what a write did, with the words of the memory as it is now."""
    memory = entry.memory if entry is not None else None
    trace = Trace(
        normalised=normalise(memory.text) if memory else "",
        simhash=f"{memory.simhash % (1 << 64):016x}" if memory else "",
        reason=output["reason"],
        neighbours=tuple(Neighbour(**{**near, "id": UUID(near["id"])}) for near in output["neighbours"]),
        importance=output["importance"],
        terms=tuple(Term(**term) for term in output["terms"]),
        repeat_count=output["repeat_count"],
        pinned=memory.pinned if memory else output["pinned"],
        trimmed=tuple(UUID(int=0) for _ in range(output["trimmed"])),
        credentials=credentials_in(memory.text) if memory else (),
    )
    vector = told_vector(entry.embedding) if entry else "none"
    return Outcome(memory_id, output["outcome"], vector, trace, output["refusal"])
