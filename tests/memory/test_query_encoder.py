"""Questions are embedded by weights of their own, which lead nearer to what answers them."""

from __future__ import annotations

import logging
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from evals.blocks import read_file
from memory.embedding import query_encoder
from memory.embedding.bundled import MINILM
from memory.embedding.compiled import CompiledModel
from memory.embedding.local import LocalEmbedder
from memory.embedding.providers import Providers, System
from memory.embedding.query_encoder import LEARNED, read_learned, version
from memory.embedding.quick import QuickModel
from memory.models import EmbeddingModel

pytestmark = pytest.mark.slow

# Persons from whom nothing has learned.
UNSEEN = Path("evals/unseen/59.txt")
QUESTION = "What does Ada grow on the roof?"


@pytest.fixture(scope="module")
def exact() -> CompiledModel:
    return CompiledModel(Path(MINILM), threads=2)


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder("bundled", threads=None)


@pytest.fixture
def other_file(tmp_path, monkeypatch):
    """Let another file take the place of the one that comes along."""

    def written(**arrays):
        path = tmp_path / "query_encoder.npz"
        np.savez(path, **arrays)
        monkeypatch.setattr(query_encoder.read_learned, "__defaults__", (path,))
        return LocalEmbedder("bundled", threads=None)

    return written


def first_places(embedder, embed):
    """Return the mean reciprocal rank of the first note that answers, among all notes of 40 persons."""
    blocks = read_file(UNSEEN)
    notes = sorted({text for block in blocks for text in block.notes.values()})
    asked = [
        (text, {block.notes[each] for each in ids}) for block in blocks for text, ids in block.questions[:12] if ids
    ]
    scores = embed([text for text, _ in asked]) @ embedder.embed(notes).T
    found = []
    for (_, right), row in zip(asked, scores, strict=True):
        best = (place for place, at in enumerate(np.argsort(-row), 1) if notes[at] in right)
        found.append(1 / next(best))
    return float(np.mean(found))


def test_a_question_leads_nearer_to_its_answer_than_the_model_alone(embedder):
    assert first_places(embedder, embedder.embed_questions) > 1.02 * first_places(embedder, embedder.embed)


def test_what_comes_along_is_of_the_bundled_model(exact):
    learned = read_learned(exact.bert, exact.fingerprint)
    assert {name for name in exact.bert.tensors if name.startswith("encoder.")} == learned.keys()
    assert version() == version(LEARNED)


def test_of_another_model_nothing_was_learned(exact):
    assert read_learned(exact.bert, "of another one") == {}


def test_without_the_file_questions_are_embedded_like_the_rest(runtime, embedder, monkeypatch, tmp_path):
    monkeypatch.setattr(query_encoder.read_learned, "__defaults__", (tmp_path / "gone.npz",))
    monkeypatch.setattr(query_encoder.version.__wrapped__, "__defaults__", (tmp_path / "gone.npz",))
    query_encoder.version.cache_clear()
    try:
        providers = Providers(System("bundled"), runtime.keys)
        model = EmbeddingModel(user_id=UUID(int=7), provider_type="local", model="all-MiniLM-L6-v2")
        vector, _ = providers.query_embedder(model).embed_one(QUESTION)
    finally:
        query_encoder.version.cache_clear()
    assert float(vector @ embedder.embed([QUESTION])[0]) > 0.998


def test_rounded_it_gives_nearly_the_same(exact, embedder):
    encoder = exact.with_learned(read_learned(exact.bert, exact.fingerprint))
    texts = [text for block in read_file(UNSEEN)[:10] for text, _ in block.questions[:6]]
    right = np.concatenate([encoder.run(batch) for text in texts for batch in encoder.batches([text])])
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    assert (right * embedder.embed_questions(texts)).sum(axis=1).min() > 0.998
    assert isinstance(embedder.load_quick(), QuickModel)
    assert encoder.bert.learned
    assert not exact.bert.learned, "what is stored is embedded as before"


@pytest.mark.parametrize(
    "arrays",
    [
        {"encoder.layer.0.output.dense.bias": np.zeros(3)},
        {"encoder.layer.0.output.dense.weight.up": np.zeros((3, 2))},
        {"encoder.layer.9.output.dense.bias": np.zeros(384)},
    ],
    ids=["of another shape", "half of it", "of no layer"],
)
def test_with_a_file_that_does_not_fit_questions_are_embedded_like_the_rest(exact, other_file, caplog, arrays):
    embedder = other_file(fingerprint=np.array(exact.fingerprint), **arrays)
    with caplog.at_level(logging.ERROR, logger="memory.embedding"):
        asked = embedder.embed_questions([QUESTION])
    assert "the query encoder was not read" in caplog.text
    assert float((asked @ embedder.embed([QUESTION]).T)[0, 0]) > 0.995
