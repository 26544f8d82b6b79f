"""The compiled model against sentence-transformers, which says what is right."""

import json
import logging
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rows_of import embed
from safetensors.numpy import load_file, save_file

from memory.embedding import proof
from memory.embedding.base import EmbeddingError, encodable
from memory.embedding.bundled import MINILM as BUNDLED
from memory.embedding.compiled import CompiledModel, fingerprint
from memory.embedding.local import LocalEmbedder, TorchModel
from memory.embedding.providers import Providers, System

pytestmark = pytest.mark.slow

ALIKE = 0.999999
FROM_THE_BUNDLED_ONE = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "special_tokens_map.json",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
)
Maker = Callable[..., Path]


@pytest.fixture(scope="module")
def reference() -> TorchModel:
    return TorchModel(BUNDLED, threads=None)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT of two layers and random weights."""
    # Here, as every process of the tests reads this file, and one of them runs it.
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models") / "small"
    (folder / "1_Pooling").mkdir(parents=True)
    for name in FROM_THE_BUNDLED_ONE:
        shutil.copy(Path(BUNDLED) / name, folder / name)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    change(folder / "1_Pooling/config.json", word_embedding_dimension=32)
    # Larger than trained weights would be, so that what goes wrong shows in the vectors.
    BertModel(BertConfig(vocab_size=30522, initializer_range=0.2, **sizes)).save_pretrained(folder)
    return folder


@pytest.fixture
def model(small: Path, tmp_path: Path) -> Path:
    """A copy of the small model, to change."""
    return Path(shutil.copytree(small, tmp_path / "model"))


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def by_torch(folder: Path, texts: list[str]) -> np.ndarray:
    return embed(TorchModel(str(folder), threads=None), texts)


def least_cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float((one * other).sum(axis=1).min())


def varied_texts(count: int) -> list[str]:
    chance = random.Random(7)
    words = [
        "bees",
        "Zürich",
        "2026-03-01",
        "don't",
        "明天",
        "🐝",
        "naïve",
        "antidisestablishment",
        "x_1",
        "(so)",
        "\t",
    ]
    lengths = [chance.choice((0, 1, 2, 5, 9, 20, 60)) for _ in range(count - 1)] + [400]
    return [" ".join(chance.choices(words, k=length)) for length in lengths]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, logger="memory.embedding"):
        yield caplog


def test_the_bundled_model_gives_the_vectors_of_sentence_transformers(reference: TorchModel) -> None:
    texts = [*varied_texts(40), *encodable(proof.TEXTS)]
    right = embed(reference, texts)
    for threads in (1, 2):
        made = embed(CompiledModel(Path(BUNDLED), threads), texts)
        assert least_cosine(made, right) >= ALIKE
        assert np.abs(made - right).max() < 1e-5


def test_a_text_has_one_vector_whatever_it_is_embedded_with() -> None:
    embedder = LocalEmbedder("bundled", threads=1)
    texts = varied_texts(32)
    assert least_cosine(embedder.embed(texts), np.stack([embedder.embed([text])[0] for text in texts])) >= ALIKE


def test_more_texts_than_are_tokenised_at_once_keep_their_order() -> None:
    embedder = LocalEmbedder("bundled", threads=None)
    texts = [f"{index} bees" for index in range(1100)]
    rows = embedder.embed(texts)
    assert np.allclose(
        rows[[0, 511, 512, 1099]], embedder.embed([texts[0], texts[511], texts[512], texts[1099]]), atol=1e-5
    )


def test_threads_may_use_it_at_once_without_a_lock() -> None:
    shared = CompiledModel(Path(BUNDLED), threads=1)
    texts = varied_texts(24)
    rows: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda at=at: rows.update({at: embed(shared, texts[at:])})) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = embed(shared, texts)
    assert all(least_cosine(rows[at], alone[at:]) >= ALIKE for at in range(6))


def in_a_fresh_process(folder: str, proofs: Path | None) -> dict[str, Any]:
    program = """
import json, sys
from pathlib import Path
from memory.embedding.local import LocalEmbedder
folder, proofs = sys.argv[1:]
embedder = LocalEmbedder(folder, 1, Path(proofs) if proofs else None)
rows = embedder.embed(["What does Ada grow on the roof?"])
loaded = sorted({"torch", "transformers", "sentence_transformers"} & sys.modules.keys())
print(json.dumps({"compiled": embedder.compiled, "loaded": loaded, "first": float(rows[0][0])}))
"""
    command = [sys.executable, "-c", program, folder, str(proofs or "")]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_process_that_embeds_by_the_bundled_model_loads_no_torch(reference: TorchModel) -> None:
    told = in_a_fresh_process("bundled", None)
    assert (told["compiled"], told["loaded"]) == (True, [])
    assert told["first"] == pytest.approx(embed(reference, ["What does Ada grow on the roof?"])[0][0], abs=1e-5)


def test_a_folders_model_is_proved_by_torch_once_and_needs_it_no_more(model: Path, tmp_path: Path) -> None:
    first = LocalEmbedder(str(model), None, tmp_path / "proofs")
    rows = first.embed(["What does Ada grow on the roof?"])
    assert first.compiled
    assert least_cosine(rows, by_torch(model, ["What does Ada grow on the roof?"])) >= ALIKE
    told = in_a_fresh_process(str(model), tmp_path / "proofs")
    assert (told["compiled"], told["loaded"]) == (True, [])
    assert told["first"] == pytest.approx(rows[0][0], abs=1e-5)


def keep_the_head(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def turn_the_vectors(path: Path) -> None:
    np.save(path, -np.load(path))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def fill_with_noise(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(5000))


def set_to_zero(path: Path) -> None:
    np.save(path, 0 * np.load(path))


@pytest.mark.parametrize("damage", [keep_the_head, turn_the_vectors, empty, fill_with_noise, set_to_zero])
def test_a_damaged_proof_is_made_again(model: Path, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    proofs = tmp_path / "proofs"
    LocalEmbedder(str(model), None, proofs).load()
    [kept] = proofs.iterdir()
    good = kept.read_bytes()
    damage(kept)
    again = LocalEmbedder(str(model), None, proofs)
    again.load()
    assert again.compiled
    assert [path.read_bytes() for path in proofs.iterdir()] == [good]


def test_a_proof_of_other_weights_is_not_believed(model: Path, tmp_path: Path) -> None:
    proofs = tmp_path / "proofs"
    LocalEmbedder(str(model), None, proofs).load()
    [old] = proofs.iterdir()
    weights = load_file(model / "model.safetensors")
    # A word that no text of the proof has: only the name of the proof can tell.
    weights["embeddings.word_embeddings.weight"][30_000] += 1
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    LocalEmbedder(str(model), None, proofs).load()
    assert len(list(proofs.iterdir())) == 2
    assert old.exists()


def test_two_that_begin_at_once_leave_one_proof(model: Path, tmp_path: Path) -> None:
    embedders = [LocalEmbedder(str(model), None, tmp_path / "proofs") for _ in range(2)]
    threads = [threading.Thread(target=embedder.load) for embedder in embedders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(embedder.compiled for embedder in embedders)
    assert [path.suffix for path in (tmp_path / "proofs").iterdir()] == [".npy"]


def test_a_folder_that_cannot_be_written_costs_a_warning_only(
    model: Path, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    embedder = LocalEmbedder(str(model), None, tmp_path / "file" / "proofs")
    embedder.load()
    assert embedder.compiled
    assert [record.levelname for record in log.records] == ["WARNING"]


def test_weights_that_lie_elsewhere_are_found_by_their_link(model: Path, tmp_path: Path) -> None:
    weights = model / "model.safetensors"
    (tmp_path / "blobs").mkdir()
    weights.rename(tmp_path / "blobs" / "1f2e3d")
    weights.symlink_to(tmp_path / "blobs" / "1f2e3d")
    embedder = LocalEmbedder(str(model), None)
    embedder.load()
    assert embedder.compiled


def test_a_preloaded_installation_says_how_its_model_runs(runtime: Any, model: Path, tmp_path: Path) -> None:
    def preload(name: str) -> bool:
        return Providers(System(name, proofs=tmp_path / "proofs"), runtime.keys).preload()

    assert (preload("bundled"), preload(str(model)), preload("none")) == (True, True, False)
    pool_the_first_token(model)
    assert not preload(str(model))


def pool_the_first_token(folder: Path) -> None:
    change(folder / "1_Pooling/config.json", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)


def bend_otherwise(folder: Path) -> None:
    change(folder / "config.json", hidden_act="relu")


def halve_the_precision(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    halves = {name: tensor.astype(np.float16) for name, tensor in weights.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})


def leave_no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def take_the_weights_of_another_layer_away(folder: Path) -> None:
    change(folder / "config.json", num_hidden_layers=1)


@pytest.mark.parametrize(
    "make",
    [
        pool_the_first_token,
        bend_otherwise,
        halve_the_precision,
        leave_no_tokenizer,
        take_the_weights_of_another_layer_away,
    ],
)
def test_another_kind_of_model_runs_by_torch(
    model: Path, tmp_path: Path, log: pytest.LogCaptureFixture, make: Callable[[Path], None]
) -> None:
    make(model)
    embedder = LocalEmbedder(str(model), None, tmp_path / "proofs")
    rows = embedder.embed(["bees", "What does Ada grow on the roof?"])
    assert not embedder.compiled
    assert least_cosine(rows, by_torch(model, ["bees", "What does Ada grow on the roof?"])) >= ALIKE
    assert [record.getMessage() for record in log.records if "runs by torch" in record.getMessage()]
    assert not (tmp_path / "proofs").exists()


def test_a_model_that_differs_when_compiled_runs_by_torch(
    model: Path, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    prompted = {"prompts": {"all": "note: "}, "default_prompt_name": "all"}
    (model / "config_sentence_transformers.json").write_text(json.dumps(prompted))
    embedder = LocalEmbedder(str(model), None, tmp_path / "proofs")
    rows = embedder.embed(["bees"])
    assert not embedder.compiled
    assert least_cosine(rows, by_torch(model, ["bees"])) >= ALIKE
    assert "gives other vectors" in log.text


def test_weights_that_were_cut_off_are_refused(model: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4096])
    with pytest.raises(EmbeddingError) as caught:
        LocalEmbedder(str(model), None).load()
    assert caught.value.permanent


def test_a_model_is_known_by_all_its_files(model: Path) -> None:
    before = fingerprint(model)
    assert fingerprint(model) == before
    change(model / "sentence_bert_config.json", max_seq_length=128)
    assert fingerprint(model) != before
