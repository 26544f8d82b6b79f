"""Runs of the evaluation side by side, for admins: means and differences, never a question or a memory."""

from __future__ import annotations

from http import HTTPStatus

from flask import Response, abort, request

from evals.runs import Run, differences, latest, load, names
from webapp.context import runtime
from webapp.htmx import render
from webapp.pages.visitor import guarded

bp = guarded("runs", admins_only=True)

MOST_RUNS = 60
SIDE_BY_SIDE = 4


@bp.get("/admin/runs")
def index() -> Response:
    """List the kept runs, and show those that were chosen side by side, the oldest first."""
    wanted = sorted(set(request.args.getlist("run")))
    chosen = _load(wanted[:SIDE_BY_SIDE])
    return render(
        "runs/index.html",
        "runs/_compared.html",
        runs=latest(runtime().settings.home, MOST_RUNS),
        chosen=chosen,
        left_out=len(wanted) - len(chosen),
        names=names(chosen),
        differences=differences(chosen) if chosen else [],
        most=MOST_RUNS,
        side_by_side=SIDE_BY_SIDE,
    )


def _load(wanted: list[str]) -> list[Run]:
    found = [load(runtime().settings.home, name) for name in wanted]
    if None in found:
        abort(HTTPStatus.NOT_FOUND, "there is no such run")
    return [each for each in found if each is not None]
