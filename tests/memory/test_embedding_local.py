import threading
import time
from pathlib import Path

import numpy as np
import pytest

from memory.embedding.base import EmbeddingError, unit
from memory.embedding.bundled import MINILM as BUNDLED
from memory.embedding.local import LocalEmbedder, resolve_model


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    embedder = LocalEmbedder(BUNDLED, threads=None)
    embedder.load()
    return embedder


def test_bundled_names_resolve_to_the_packaged_model() -> None:
    assert resolve_model("") == resolve_model("bundled") == (BUNDLED, "all-MiniLM-L6-v2")


def test_a_folder_resolves_to_itself(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    assert resolve_model(str(folder)) == (str(folder), str(folder.resolve()))


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError) as caught:
        resolve_model(str(tmp_path / "nothing"))
    assert caught.value.permanent


def test_a_hub_name_is_its_own_label() -> None:
    assert resolve_model("sentence-transformers/nothing-here") == ("sentence-transformers/nothing-here",) * 2


def test_a_hub_name_that_is_not_cached_fails_for_good_and_says_why() -> None:
    with pytest.raises(EmbeddingError, match="HF_HUB_OFFLINE") as caught:
        LocalEmbedder("sentence-transformers/nothing-here", threads=None).load()
    assert caught.value.permanent


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError) as caught:
        LocalEmbedder(str(tmp_path), threads=None).load()
    assert caught.value.permanent


def test_related_texts_are_nearer(embedder: LocalEmbedder) -> None:
    hiking, outdoors, tax = embedder.embed(["hiking in the mountains", "outdoor activities", "tax return"])
    assert hiking @ outdoors > hiking @ tax + 0.2


def test_rows_are_unit_float32_in_the_order_of_the_texts(embedder: LocalEmbedder) -> None:
    texts = [f"note {'word ' * (index % 7)}{index}" for index in range(70)]
    rows = embedder.embed(texts)
    assert rows.shape == (70, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.allclose(rows[41], embedder.embed([texts[41]])[0], atol=1e-5)


def test_no_texts_give_no_rows(embedder: LocalEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_empty_long_and_broken_texts_are_embedded(embedder: LocalEmbedder) -> None:
    assert embedder.embed(["", "word " * 5000, "lone \ud800 surrogate"]).shape == (3, 384)


def test_threads_share_one_model() -> None:
    shared = LocalEmbedder(BUNDLED, threads=None)
    texts = [f"thread note number {index} {'long ' * (index % 5)}" for index in range(8)]
    rows: dict[int, np.ndarray] = {}
    threads = [
        threading.Thread(target=lambda at=index: rows.update({at: shared.embed([texts[at]] * 3)})) for index in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = shared.embed(texts)
    assert all(np.allclose(rows[index], alone[index], atol=1e-5) for index in range(8))


def test_a_query_does_not_wait_for_a_bulk_run(embedder: LocalEmbedder) -> None:
    bulk = threading.Thread(target=embedder.embed, args=(["a note of several words about gardens"] * 1500,))
    bulk.start()
    time.sleep(0.2)
    embedder.embed(["query"])
    assert bulk.is_alive()
    bulk.join()


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_row_without_direction_is_refused(bad: float) -> None:
    rows = np.array([[1, 2], [bad, bad]], dtype=np.float32)
    with pytest.raises(EmbeddingError) as caught:
        unit(rows)
    assert caught.value.permanent


def test_huge_rows_are_scaled_without_overflow() -> None:
    assert np.allclose(unit(np.array([[3e38, 0]], dtype=np.float32)), [[1, 0]])
