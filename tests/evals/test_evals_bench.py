from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from evals import bench_ingest, bench_search
from evals.corpus import WordModel
from evals.stock import around, stock
from evals.throwaway import throwaway

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_invented_vectors_have_length_one_and_lie_near_their_centres() -> None:
    centres = np.eye(384, dtype=np.float32)[:4]
    vectors = around(centres, 200)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert (vectors @ centres.T).max(axis=1).min() > 0.5


def test_a_search_is_measured_stage_by_stage() -> None:
    words = WordModel()
    vectors = around(np.eye(384, dtype=np.float32)[:8], 300)
    with throwaway(now=NOW) as (runtime, user_id):
        space_id = stock(runtime, user_id, words.texts(300), now=NOW, vectors=vectors)
        found = bench_search.bench_search(runtime, user_id, space_id, words.questions(20), memories=300, now=NOW)
    assert {"embed", "semantic", "keyword", "join", "rank", "fetch"} <= set(found.stages)
    assert 0 < found.bare_app.p50 < found.ranking_and_sql.p50 <= found.transaction.p50
    assert "ranking and SQL / bare scan" in bench_search.to_text(found)


@pytest.mark.slow
def test_ingest_is_measured_beside_the_bare_model() -> None:
    with throwaway(now=NOW) as (runtime, user_id):
        found = bench_ingest.bench_ingest(runtime, user_id, WordModel().texts(150), now=NOW)
    assert all(0 < ratio < 3 for ratio in found.ratios.values())
    assert bench_ingest.to_dict(found)["texts"] == 150
