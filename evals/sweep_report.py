"""What a sweep found: which numbers were chosen and why, in words, and quality against time as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.means import measure
from evals.sweep import LEVEL, MEASURE, PATIENCE, WEIGHTS, Sweep, Trial
from evals.tables import Cell, table
from retrieval.policy import Policy

# The names, in a report, of what a sweep varies.
VARIED = (
    "fusion",
    *WEIGHTS,
    "rrf_k",
    "alpha",
    "beta",
    "gamma",
    "tau_days",
    "mmr_lambda",
    "k1",
    "b",
    "depth",
)


def to_text(sweep: Sweep) -> str:
    """Return the front as a table, then what was chosen and why."""
    rows: list[list[Cell]] = [_row(each, sweep) for each in sweep.front]
    if sweep.default not in sweep.front:
        rows.append(_row(sweep.default, sweep))
    parts = [
        f"{sweep.data.name}: {len(sweep.trials)} trials of {len(sweep.questions)} questions in {sweep.seconds:.0f} s",
        table(("not beaten in both", MEASURE, "cost", "p50 ms", "tokens", "N"), rows),
        table(("number", "default", "chosen"), _numbers(sweep)),
        "\n".join(reasons(sweep)),
    ]
    return "\n\n".join(parts)


def reasons(sweep: Sweep) -> list[str]:
    """Return what is advised, and the figures that it rests on."""
    chosen, default = sweep.chosen, sweep.default
    if chosen is default:
        return ["KEEP THE DEFAULTS: no trial that is fast enough found more."]
    here, elsewhere = sweep.difference(chosen), sweep.elsewhere
    lines = [
        f"trial {chosen.number} found most of those that take at most {PATIENCE:g} times as long as the defaults: "
        f"{chosen.quality:.3f} beside {default.quality:.3f}, {here.mean:+.3f} ({here.low:+.3f} to {here.high:+.3f}).",
    ]
    if elsewhere is None:
        lines.append(
            "There is one person, or talk, only, so how much of that is owed to the choice itself is not known."
        )
    else:
        lines += [
            "Chosen on all persons, or talks, but one and asked on that one, choices like it bring "
            f"{elsewhere.mean:+.3f} ({elsewhere.low:+.3f} to {elsewhere.high:+.3f}).",
            _by_chance(sweep),
        ]
    verdict = (
        "WORTH A CHANGE: that is more than chance." if sweep.worth_it else "KEEP THE DEFAULTS: that may be chance."
    )
    return [*lines, verdict]


def _by_chance(sweep: Sweep) -> str:
    if 0.5**sweep.persons > LEVEL:
        return f"{sweep.persons} persons, or talks, are too few to tell the best of many from chance."
    return (
        f"If no trial were better than the defaults, the best would look as good with a chance of {sweep.chance:.3f} "
        f"(at most {LEVEL:g} counts)."
    )


def to_values(sweep: Sweep) -> dict[str, Any]:
    """Return the sweep in values that JSON can carry, the chosen trial as its main variant."""
    elsewhere = sweep.elsewhere
    ids = [each.id for each in sweep.questions]
    return {
        "data": {
            "kind": sweep.data.kind,
            "name": sweep.data.name,
            "memories": sweep.data.size,
            "questions": len(sweep.questions),
            "lines": sweep.data.lines,
        },
        "main": "chosen",
        "variants": {"chosen": _variant(sweep.chosen), "default": _variant(sweep.default)},
        "cases": {each: {MEASURE: value} for each, value in zip(ids, sweep.chosen.found, strict=True)},
        "worth_it": sweep.worth_it,
        "difference": asdict(sweep.difference(sweep.chosen)),
        "elsewhere": None if elsewhere is None else asdict(elsewhere),
        "chance": sweep.chance,
        "why": reasons(sweep),
        "front": [each.number for each in sweep.front],
        "trials": [_trial(each) for each in sweep.trials],
    }


def _variant(trial: Trial) -> dict[str, Any]:
    return {"measures": {MEASURE: asdict(measure(trial.found))}, "latency_ms": {"p50": trial.milliseconds}}


def _trial(trial: Trial) -> dict[str, Any]:
    numbers = {name: getattr(trial.policy, name) for name in VARIED}
    figures = {
        "quality": trial.quality,
        "cost": trial.cost,
        "p50_ms": trial.milliseconds,
        "tokens": round(trial.tokens, 1),
    }
    return {"number": trial.number, "limit": trial.limit, **figures, **numbers}


def _row(trial: Trial, sweep: Sweep) -> list[Cell]:
    name = f"trial {trial.number}" + (" (the defaults)" if trial is sweep.default else "")
    return [name + (" chosen" if trial is sweep.chosen else ""), *_figures(trial)]


def _figures(trial: Trial) -> Sequence[Cell]:
    return trial.quality, trial.cost, trial.milliseconds, round(trial.tokens), trial.limit


def _numbers(sweep: Sweep) -> list[list[Cell]]:
    default, chosen = sweep.default.policy, sweep.chosen.policy
    rows: list[list[Cell]] = [[name, _number(default, name), _number(chosen, name)] for name in VARIED]
    return [*rows, ["N", sweep.default.limit, sweep.chosen.limit]]


def _number(policy: Policy, name: str) -> Cell:
    """Return a number of a policy, None where its fusion has no use for it."""
    unused = WEIGHTS if policy.fusion == "rrf" else ("rrf_k",)
    value: Cell = None if name in unused else getattr(policy, name)
    return value


def draw(sweep: Sweep, path: Path) -> None:
    """Write a picture of all trials, quality against time, with the front as a line, as SVG. Needs the extra `eval`."""
    # Imported here: it takes a second, which every other command would wait for too.
    from matplotlib import rcParams  # noqa: PLC0415
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    rcParams["svg.hashsalt"] = "commonplace"
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    axes.scatter(*_points(sweep.trials), s=14, color="#8a8a8a", label="tried")
    axes.plot(*_points(sweep.front), marker="o", markersize=4, color="#1f5a96", label="not beaten in both")
    axes.plot(*_points([sweep.default]), marker="s", linestyle="", color="#222222", label="defaults")
    axes.plot(*_points([sweep.chosen]), marker="*", markersize=13, linestyle="", color="#a8321f", label="chosen")
    axes.set_xlabel("time of a search, by that of the defaults")
    axes.set_ylabel(MEASURE)
    axes.set_title(f"{sweep.data.name}: {len(sweep.trials)} trials, {len(sweep.questions)} questions", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _points(trials: Sequence[Trial]) -> tuple[list[float], list[float]]:
    return [each.cost for each in trials], [each.quality for each in trials]
