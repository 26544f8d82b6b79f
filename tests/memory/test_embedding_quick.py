"""Questions, embedded in half the time: close to the exact vectors, and never those of what is stored."""

import logging
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rows_of import embed

from evals import golden
from memory.clock import utc_now
from memory.embedding.base import unit
from memory.embedding.bert import CannotCompileError
from memory.embedding.bundled import MINILM
from memory.embedding.compiled import CompiledModel, session_of
from memory.embedding.local import LocalEmbedder, TorchModel
from memory.embedding.models import active_model
from memory.embedding.providers import Providers, System
from memory.embedding.quick import QuickGraph, QuickModel, _watch
from memory.embedding.rounded import Arithmetic, arithmetics
from memory.models import EmbeddingModel

pytestmark = pytest.mark.slow

QUESTION = "What does Ada grow on the roof?"


@pytest.fixture(scope="module")
def exact() -> CompiledModel:
    return CompiledModel(Path(MINILM), threads=2)


@pytest.fixture(scope="module")
def quick(exact: CompiledModel) -> QuickModel:
    return QuickModel(exact)


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    embedder = LocalEmbedder("bundled", threads=None)
    embedder.load_quick()
    return embedder


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose weights are so large that little differences become great ones."""
    # Here, as every process of the tests reads this file, and one of them runs it.
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models") / "wild"
    shutil.copytree(MINILM, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.bin"))
    pooling = folder / "1_Pooling/config.json"
    pooling.write_text(pooling.read_text().replace("384", "32"))
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 6}
    torch.manual_seed(7)
    BertModel(BertConfig(vocab_size=30522, initializer_range=0.6, **sizes)).save_pretrained(folder)
    return folder


def questions(count: int) -> list[str]:
    return [each.text for each in golden.read(golden.BUNDLED).questions[:count]]


def test_a_questions_vector_is_close_to_the_exact_one(exact: CompiledModel, quick: QuickModel) -> None:
    texts = questions(120)
    cosines = (embed(exact, texts) * embed(quick, texts)).sum(axis=1)
    assert cosines.min() > 0.998
    assert np.median(cosines) > 0.9993


def test_without_a_sign_nothing_overflows_on_any_processor(exact: CompiledModel) -> None:
    texts = questions(120)
    widest, _ = _watch(exact, texts[:40], exact.bert)
    session = session_of(QuickGraph(exact.bert, widest, Arithmetic.UNSIGNED).model(), exact.bert)
    found = unit(np.stack([session.run(None, {"ids": [exact.tokens(text)]})[0][0, 0] for text in texts]))
    assert (embed(exact, texts) * found).sum(axis=1).min() > 0.998


def test_what_overflows_here_is_not_tried() -> None:
    tried = arithmetics()
    assert tried[-2:] == (Arithmetic.UNSIGNED, Arithmetic.SINGLE)
    flags = Path("/proc/cpuinfo")
    if flags.exists() and "avx2" in flags.read_text():
        assert (Arithmetic.SIGNED in tried) == ("vnni" in flags.read_text())


def test_odd_questions_have_vectors_too(exact: CompiledModel, quick: QuickModel) -> None:
    texts = ["", " ", "?", "7", "x" * 150, "\U0001f41d", "明天开会吗", "why " * 300]
    cosines = (embed(exact, texts) * embed(quick, texts)).sum(axis=1)
    assert cosines.min() > 0.99


def test_a_question_has_the_same_vector_whatever_is_asked_beside_it(quick: QuickModel) -> None:
    texts = questions(12)
    together = embed(quick, texts)
    alone = np.concatenate([embed(quick, [text]) for text in texts])
    assert (together == alone).all()


def test_threads_get_the_vectors_of_their_own_questions(quick: QuickModel) -> None:
    texts = questions(8)
    right, found = embed(quick, texts), {}

    def ask(place: int) -> None:
        found[place] = [embed(quick, [texts[place]])[0] for _ in range(20)]

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((vector == right[place]).all() for place, made in found.items() for vector in made)
    assert len(found) == len(texts)


def test_the_quick_model_takes_less_time_than_the_exact_one(exact: CompiledModel, quick: QuickModel) -> None:
    texts = questions(10)
    batches = {model: [next(iter(model.batches([text]))) for text in texts] for model in (exact, quick)}
    least: dict[Any, float] = {}
    for _ in range(25):
        for model, asked in batches.items():
            started = time.thread_time()
            for batch in asked:
                model.run(batch)
            least[model] = min(least.get(model, np.inf), time.thread_time() - started)
    # Half of it where nothing else runs.
    assert least[quick] < 0.85 * least[exact]


def test_what_is_stored_is_embedded_exactly(exact: CompiledModel, embedder: LocalEmbedder) -> None:
    assert np.allclose(embedder.embed([QUESTION]), embed(exact, [QUESTION]), atol=1e-6)
    assert not np.allclose(embedder.embed_questions([QUESTION]), embed(exact, [QUESTION]), atol=1e-4)


def test_a_question_does_not_wait_for_what_is_embedded_in_bulk(embedder: LocalEmbedder) -> None:
    done = threading.Event()

    def ask() -> None:
        embedder.embed_questions([QUESTION])
        done.set()

    with embedder._turn():
        threading.Thread(target=ask, daemon=True).start()
        assert done.wait(60)


def test_a_model_that_rounding_would_distort_is_refused(wild: Path) -> None:
    with pytest.raises(CannotCompileError, match="rounded, a vector has a cosine of"):
        QuickModel(CompiledModel(wild, threads=1))


def test_questions_are_embedded_exactly_where_rounding_would_distort_them(
    wild: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = LocalEmbedder(str(wild), None, tmp_path / "proofs")
    with caplog.at_level(logging.WARNING, logger="memory.embedding"):
        asked = embedder.embed_questions([QUESTION])
    assert np.allclose(asked, embedder.embed([QUESTION]), atol=1e-6)
    assert "questions are embedded exactly" in caplog.text


def test_a_model_run_by_torch_embeds_its_questions_as_well(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(Path(MINILM), tmp_path / "model"))
    # What is computed otherwise is not compiled.
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"gelu"', '"relu"'))
    embedder = LocalEmbedder(str(folder), None)
    assert isinstance(embedder.load_quick(), TorchModel)
    assert np.allclose(embedder.embed_questions([QUESTION]), embedder.embed([QUESTION]), atol=1e-5)


def test_what_was_asked_before_it_was_stored_is_embedded_exactly(runtime: Any, book: Any) -> None:
    text = "Ada keeps bees on the roof of the library"
    providers = Providers(System("bundled"), runtime.keys)
    now = utc_now()
    runtime.backfill.adopt(book.user_id)
    with book.session() as session:
        model = active_model(session, book.user_id)
        assert model is not None
        asked, cached = providers.query_embedder(model, session, now).embed_one(text)
        assert not cached
        again, cached = providers.query_embedder(model, session, now).embed_one(text)
        assert cached
        assert (again == asked).all()
        assert providers.embedder(model).recall(text) is None
        assert providers.known_vectors(session, model, [text], now) == {}
        stored = providers.embed_texts(model, [text], {})[0]
    assert float(stored @ asked) < 0.99999


def test_questions_of_a_model_run_by_torch_are_kept_for_all_processes(runtime: Any, book: Any, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(Path(MINILM), tmp_path / "model"))
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"gelu"', '"relu"'))
    first, second = (Providers(System(str(folder)), runtime.keys) for _ in range(2))
    model, now = EmbeddingModel(user_id=book.user_id, provider_type="local", model=str(folder)), utc_now()
    with book.session() as session:
        assert not first.query_embedder(model, session, now).embed_one(QUESTION)[1]
    with book.session() as session:
        assert second.query_embedder(model, session, now).embed_one(QUESTION)[1]


def test_a_worker_loads_nothing_for_questions(runtime: Any) -> None:
    providers = Providers(System("bundled"), runtime.keys)
    assert providers.preload(asked=False)
    local = providers.embedder(EmbeddingModel(provider_type="local", model="all-MiniLM-L6-v2")).embedder
    assert isinstance(local, LocalEmbedder)
    assert local._quick is None
    providers.preload()
    assert isinstance(local._quick, QuickModel)
