"""A notebook as a file of its own, with the texts that its memories have at that moment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from flask import current_app, render_template
from markupsafe import Markup

from memory.time_zones import short_name
from webapp.pages.notebook_charts import Chart
from webapp.pages.notebook_forms import CommandForm, ContextForm, NoteForm, RecallForm
from webapp.pages.notebook_view import Block, CellView, Commanded, NotebookView, Recalled, Remembered

FORGOTTEN = "*forgotten*"
HIDDEN = "*not shown: incognito is on in its space*"
GONE = "*forgotten, or in a space that is closed now*"
UNREADABLE = "*cannot be read*"


def to_markdown(view: NotebookView, now: datetime) -> str:
    """Return the notebook as Markdown."""
    parts = [f"# {view.title}", f"*Exported {now:%Y-%m-%d %H:%M} {short_name(now)} from Commonplace.*"]
    for each in _seen(view):
        parts += _cell(each)
    return "\n\n".join(part for part in parts if part) + "\n"


def to_html_file(view: NotebookView, now: datetime) -> str:
    """Return the notebook as one HTML file that asks for no other."""
    assert current_app.static_folder is not None
    # Written into the file: it must look right without this server.
    rules = (Path(current_app.static_folder) / "export.css").read_text(encoding="utf-8")
    sheet = Markup("<style>{}</style>").format(Markup(rules))  # noqa: S704 - ours
    return render_template("notebook/export.html", view=view, cells=_seen(view), now=now, sheet=sheet)


def _seen(view: NotebookView) -> list[CellView]:
    return [each for each in view.cells if each.cell.removed_at is None]


def _cell(view: CellView) -> Iterator[str]:
    form, shown = view.form, view.shown
    if view.blanked:
        yield FORGOTTEN
    elif isinstance(form, NoteForm):
        yield form.text
    elif isinstance(form, RecallForm | ContextForm):
        yield f"## {view.cell.kind.capitalize()}: {' '.join(form.q.split())}"
    elif not isinstance(shown, Chart):
        yield f"## {view.cell.kind.capitalize()}"
    if view.unreadable:
        yield UNREADABLE
    yield from _answer(view)


def _answer(view: CellView) -> Iterator[str]:
    form, shown = view.form, view.shown
    if isinstance(shown, Recalled):
        yield "\n".join(_hits(shown)) or f"Nothing was found. {shown.answer.kept_back}".rstrip()
    elif isinstance(shown, Remembered):
        yield from _remembered(shown)
    elif isinstance(shown, Commanded):
        yield f"{form.text}: {shown.answer}" if isinstance(form, CommandForm) and form.text else shown.answer
        yield "\n".join(f"- {' '.join(each.memory.text.split()) if each else GONE}" for each in shown.memories)
    elif isinstance(shown, Block):
        yield f"{shown.tokens} tokens:"
        yield shown.answer.kept_back or _fenced(shown.text)
    elif isinstance(shown, Chart):
        yield f"## {shown.title}"
        yield "\n".join(_table(shown))


def _hits(shown: Recalled) -> Iterator[str]:
    for number, place in enumerate(shown.places, 1):
        if place.explained is None:
            yield f"{number}. {HIDDEN if place.hidden else FORGOTTEN}"
            continue
        ranked = place.explained.hit.ranked
        text = "\n   ".join(place.explained.hit.snippet.splitlines())
        total = f"total {ranked.scored.score.total:.2f}"
        yield f"{number}. {text}\n   *{place.explained.reason}; {total}*"


def _remembered(shown: Remembered) -> Iterator[str]:
    if shown.entry is None:
        missing = HIDDEN if shown.place is not None and shown.place.hidden else FORGOTTEN
        yield missing if shown.outcome.id else f"Not stored: {shown.outcome.trace.reason}."
        return
    yield "\n".join(f"> {line}" for line in shown.entry.memory.text.splitlines())
    yield f"*{shown.outcome.outcome.capitalize()}: {shown.outcome.trace.reason}.*"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _table(chart: Chart) -> Iterator[str]:
    heads = [chart.axis_name, *(series.name for series in chart.series)]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in chart.rows:
        values = [f"{value:.{series.decimals}f}" for series, value in zip(chart.series, row.values, strict=True)]
        yield f"| {' | '.join([_in_table(row.name), *values])} |"


def _in_table(name: str) -> str:
    """Return a name as it stands in a row of a table: a tag may hold pipes, backslashes before them, and new lines."""
    return re.sub(r"[\\|]", r"\\\g<0>", " ".join(name.split()))
