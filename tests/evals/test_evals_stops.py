"""Where reading may end early: the regression, and that a fit keeps to what it may cost."""

from __future__ import annotations

import numpy as np
import pytest

from evals import stops
from evals.blocks import FOLDER, read_file
from evals.lessons import Lessons
from retrieval.reading.model import read_stops, save_stops
from retrieval.reading.reading import HOPELESS, Reader


def test_the_regression_finds_what_tells_the_rows_apart():
    rows = np.random.default_rng(5).normal(size=(4000, 6)).astype(np.float32)
    right = rows[:, 1] - 2 * rows[:, 4] + 0.5 > 0
    weights, bias = stops.regression(rows, right)
    assert ((rows @ weights + bias > 0) == right).mean() > 0.98
    assert weights[4] / weights[1] == pytest.approx(-2, abs=0.2)
    assert bias / weights[1] == pytest.approx(0.5, abs=0.15)
    assert np.abs(weights[[0, 2, 3, 5]]).max() < 0.1 * weights[1]


@pytest.mark.slow  # It reads some hundred notes to their end.
def test_fitted_stops_spare_much_and_cost_little(tmp_path):
    # One person of every twelfth file; to read all takes longer than the fit.
    blocks, pairs = [read_file(path)[0] for path in sorted(FOLDER.glob("*.txt"))[::12]], []
    fitted = stops.fit(blocks, on_pair=lambda *done: pairs.append(done))
    assert [each.stop.layer for each in fitted] == list(stops.LAYERS)
    assert pairs[-1] == (len(pairs), len(pairs))
    assert fitted[-1].spares > 0.5
    save_stops([each.stop for each in fitted], path := tmp_path / "stops.npz")
    assert len(read_stops(path)) == 3
    reader, right = Reader(stops=path), [pair for pair, answers in Lessons(blocks[::4]).pairs if answers]
    likely = [pair for pair in right if (reader.sureness(*pair, to_the_end=True) or 0) >= 0.2]
    assert len(likely) > 0.7 * len(right)
    assert sum(reader.sureness(*pair) == HOPELESS for pair in likely) <= 0.03 * len(likely)
