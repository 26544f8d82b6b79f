from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from evals import bench_ingest, bench_search
from evals.corpus import WordModel
from evals.stock import around, stock
from evals.throwaway import throwaway

pytestmark = pytest.mark.slow

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_invented_vectors_have_length_one_and_lie_near_their_centres() -> None:
    centres = np.eye(384, dtype=np.float32)[:4]
    vectors = around(centres, 200)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert (vectors @ centres.T).max(axis=1).min() > 0.5


def test_a_search_is_measured_stage_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_search, "WARM_UP", 1)
    words = WordModel()
    vectors = around(np.eye(384, dtype=np.float32)[:8], 300)
    with throwaway(now=NOW) as (runtime, user_id):
        space_id = stock(runtime, user_id, words.texts(300), now=NOW, vectors=vectors)
        found = bench_search.bench_search(runtime, user_id, space_id, words.questions(5), memories=300, now=NOW)
    assert {"embed", "semantic", "keyword", "join", "rank", "fetch"} <= set(found.stages)
    assert 0 < found.bare_app.p50 < found.ranking_and_sql.p50 <= found.transaction.p50
    assert "ranking and SQL / bare scan" in bench_search.to_text(found)


def test_ingest_is_measured_beside_the_bare_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_ingest, "WARM_UP", 8)
    with throwaway(now=NOW) as (runtime, user_id):
        found = bench_ingest.bench_ingest(runtime, user_id, WordModel().texts(40), now=NOW)
    # How quick each is depends on what else the machine does; what does more of the same work does not.
    assert len(found.rounds) == bench_ingest.ROUNDS
    assert all(0 < each.whole < each.worker for each in found.rounds)
    assert all(each.library > 0 and each.beside_library > 0 and each.beside_copy > 0 for each in found.rounds)
    assert bench_ingest.to_dict(found)["texts"] == 40


def test_rates_are_those_of_the_bare_models_over_what_was_timed() -> None:
    even = bench_ingest.Round(library=3.0, bare=1.0, copied=0.05, remembered=0.5, embedded=1.5)
    late = bench_ingest.Round(library=30.0, bare=9.0, copied=0.2, remembered=1.0, embedded=9.0)
    quick = bench_ingest.Round(library=4.0, bare=2.0, copied=0.01, remembered=0.5, embedded=2.0)
    found = bench_ingest.IngestBench(150, (even, late, quick))
    assert found.ratios == {"worker": 1.0, "whole": 0.8, "beside_library": 1.6, "beside_copy": 0.1}
    shown = bench_ingest.to_text(found)
    assert "embedded and stored / bare model: 1.00 (at least 0.9)" in shown
    assert "remembered / bare COPY: 0.100" in shown
