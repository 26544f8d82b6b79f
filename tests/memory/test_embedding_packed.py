"""Weights files as they should be, and as they should not."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from packed_file import PIECES, SPELLINGS, Layout, packed, singles

from memory.embedding.base import EmbeddingError, unit
from memory.embedding.e5 import E5Model, fingerprint, open_e5
from memory.embedding.packed import DamagedError, read_packed
from memory.embedding.proof import Proof, vectors
from memory.embedding.rounded import Arithmetic

Change = Callable[[Layout], object]


def told(name: str, **values: int) -> Change:
    return lambda layout: layout.told.update({name: values})


def put(**values: object) -> Change:
    return lambda layout: [setattr(layout, name, value) for name, value in values.items()]


def without(name: str) -> Change:
    return lambda layout: layout.tensors.pop(name)


def piece(place: int, text: bytes) -> Change:
    return lambda layout: layout.pieces.__setitem__(place, text)


def size_of(layout: Layout) -> int:
    return len(layout.bytes())


WRONG: dict[str, tuple[Change, str]] = {
    "another file": (put(magic=b"GGUF"), "begins differently"),
    "another version": (put(version=2), "begins differently"),
    "blocks of another size": (put(block=64), "blocks have another size"),
    "no layer": (put(layers=0), "not those of an encoder"),
    "negative hidden": (put(hidden=-32), "not those of an encoder"),
    "no room for a text": (put(positions=2), "not those of an encoder"),
    "an epsilon that is no number": (put(epsilon=math.nan), "not those of an encoder"),
    "a hidden size that is no whole block": (put(hidden=33), "do not fit together"),
    "an inner size that is no whole block": (put(inner=63), "do not fit together"),
    "heads that do not share": (put(heads=5), "do not fit together"),
    "no piece": (put(count=0), "0 pieces"),
    "fewer than no pieces": (put(count=-1), "-1 pieces"),
    "more pieces than there can be": (put(count=2**31 - 1), "ends too soon"),
    "more pieces than vectors": (put(words=len(PIECES) - 1), "vocabulary and its weights"),
    "a beginning out of range": (put(begin=len(PIECES)), "vocabulary and its weights"),
    "a negative beginning": (put(begin=-1), "vocabulary and its weights"),
    "an end out of range": (put(end=len(PIECES)), "vocabulary and its weights"),
    "an unknown out of range": (put(unknown=len(PIECES)), "vocabulary and its weights"),
    "more letters than there can be": (put(size=2**63), "ends too soon"),
    "pieces that run backwards": (put(ends=[0, 9, 3, *range(10, 8 + len(PIECES))]), "overlap"),
    "pieces behind the text": (put(ends=[*range(len(PIECES)), 10**6]), "overlap"),
    "an empty piece": (piece(7, b""), "overlap"),
    "a piece that is not UTF-8": (piece(7, b"\xff\xfe"), "not UTF-8"),
    "half a letter": (piece(7, "é".encode()[:1]), "not UTF-8"),
    "a piece without a score": (put(scores=[math.inf] * len(PIECES)), "has no score"),
    "fewer than no spellings": (put(spelling_count=-1), "-1 spellings"),
    # What comes after them is read as more of them, until something in it is wrong.
    "more spellings than there can be": (put(spelling_count=2**31 - 1), "no character|too soon"),
    "fewer spellings than it says": (put(spelling_size=10**6), "of another size"),
    "half of a pair": (put(spellings=[(65, [0xD800])]), "0xd800 is no character"),
    "a character beyond the last": (put(spellings=[(65, [0x110000])]), "0x110000 is no character"),
    "a spelling of no character": (put(spellings=[(0xFFFFFFFF, [65])]), "what is no character"),
    "fewer than no tensors": (put(tensor_count=-1), "-1 tensors"),
    "more tensors than there are": (put(tensor_count=10**6), "too soon|not UTF-8|of another kind|cut off"),
    "a tensor twice": (put(twice="emb.pos"), "emb.pos are there twice"),
    "a tensor of an unknown kind": (told("emb.pos", kind=7), "of another kind"),
    "a tensor that begins behind the end": (told("emb.pos", first=2**40), "cut off"),
    "a tensor that ends behind the end": (lambda at: told("emb.pos", first=size_of(at) - 8)(at), "cut off"),
    "a tensor longer than memory": (told("emb.pos", length=2**64 - 1), "cut off"),
    "a tensor of more numbers than bytes": (told("emb.pos", count=2**32 - 1), "of another kind"),
    "packed weights of more numbers than bytes": (told("l0.q.w", count=2**32 - 1), "of another kind"),
    "a missing tensor": (without("l1.fo.w"), "l1.fo.w are missing"),
    "missing words": (without("emb.word"), "emb.word are missing"),
    "a row too few": (lambda at: at.tensors.update({"emb.pos": singles(np.ones((15, 32)))}), "are not"),
    "single numbers where packed ones belong": (
        lambda at: at.tensors.update({"l0.q.w": singles(np.ones((32, 32)))}),
        "l0.q.w are not 32 rows of 32",
    ),
    "packed numbers where single ones belong": (
        lambda at: at.tensors.update({"l0.q.b": packed(np.ones((1, 32)), 1.0)}),
        r"l0.q.b are not \(32,\) numbers",
    ),
    "another layer's measure": (put(inner=96), "are not"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Layout().write(tmp_path / "small.bin")


def test_a_whole_file_is_read_as_it_was_written(path: Path) -> None:
    found = read_packed(path)
    measures = (found.hidden, found.layers, found.heads, found.inner, found.words, found.positions, found.kinds)
    assert measures == (32, 2, 4, 64, len(PIECES) + 3, 16, 2)
    assert (found.begin, found.end, found.unknown, found.epsilon) == (0, 2, 3, pytest.approx(1e-12))
    assert tuple(found.pieces) == PIECES
    assert found.spellings == SPELLINGS
    assert found.scores[5] == -5


def test_packed_weights_are_the_numbers_that_were_packed(tmp_path: Path) -> None:
    layout = Layout()
    values = np.arange(32 * 64).reshape(32, 64) % 16 - 8
    layout.tensors["l0.fo.w"] = packed(values, 0.5)
    found = read_packed(layout.write(tmp_path / "small.bin"))
    assert (found.unpacked("l0.fo.w", 32, 64) == values * 0.5).all()


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_is_refused(what: str, tmp_path: Path) -> None:
    change, why = WRONG[what]
    layout = Layout()
    change(layout)
    with pytest.raises(DamagedError, match=why):
        E5Model(layout.write(tmp_path / "wrong.bin"), 1)


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole, path = Layout(layers=1).bytes(), tmp_path / "cut.bin"
    for size in {*range(1500), *range(1500, len(whole), 97), len(whole) - 1}:
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedError):
            read_packed(path)


def test_a_file_with_any_byte_changed_is_refused_or_read_within_its_bounds(tmp_path: Path) -> None:
    whole, path = bytearray(Layout(layers=1).bytes()), tmp_path / "changed.bin"
    refused = 0
    for at in range(1400):
        changed = whole.copy()
        changed[at] ^= 0xFF
        path.write_bytes(changed)
        try:
            found = read_packed(path)
        except DamagedError:
            refused += 1
            continue
        assert all(first + length <= len(whole) for _, _, first, length in found.tensors.values())
    assert refused > 700


def proved(path: Path, folder: Path) -> np.ndarray:
    """Make a proof of a file's exact vectors, and return them."""
    exact = E5Model(path, 1, Arithmetic.SINGLE)
    Proof(fingerprint(path), folder).make(exact)
    return vectors(exact)


def test_a_file_that_is_not_known_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "other.bin"
    path.write_bytes(b"not even the right layout")
    with pytest.raises(EmbeddingError, match="not the file that this version was made for") as caught:
        open_e5(path, 1)
    assert caught.value.permanent


def test_a_missing_file_is_refused_for_good(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="cannot load") as caught:
        open_e5(tmp_path / "nothing.bin", 1)
    assert caught.value.permanent


def test_whole_numbers_are_used_where_they_give_the_vectors_of_the_proof(path: Path, tmp_path: Path) -> None:
    right = proved(path, tmp_path / "proofs")
    model = open_e5(path, 1, tmp_path / "proofs")
    assert model.arithmetic is not Arithmetic.SINGLE
    assert (vectors(model) * right).sum(axis=1).min() > 0.98


def test_where_whole_numbers_give_other_vectors_single_precision_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One value far wider than the others, which counts for nothing, leaves them no steps."""
    layout = Layout()
    for layer in range(layout.layers):
        wide = np.zeros(layout.inner)
        wide[0] = 1e6
        layout.tensors[f"l{layer}.fi.b"] = singles(wide)
        weights = np.random.default_rng(3).integers(-8, 8, (layout.hidden, layout.inner))
        weights[:, 0] = 0
        layout.tensors[f"l{layer}.fo.w"] = packed(weights, 0.5)
    path = layout.write(tmp_path / "wide.bin")
    right = proved(path, tmp_path / "proofs")
    assert (vectors(E5Model(path, 1)) * right).sum(axis=1).min() < 0.98
    model = open_e5(path, 1, tmp_path / "proofs")
    assert model.arithmetic is Arithmetic.SINGLE
    assert np.allclose(vectors(model), right, atol=1e-6)
    assert "gives other vectors here in whole numbers without a sign" in caplog.text


def test_where_no_way_gives_the_vectors_of_the_proof_the_model_is_refused(path: Path, tmp_path: Path) -> None:
    proof = Proof(fingerprint(path), tmp_path / "proofs")
    proof.make(E5Model(Layout(begin=5).write(tmp_path / "other.bin"), 1, Arithmetic.SINGLE))
    with pytest.raises(EmbeddingError, match="gives other vectors on this machine") as caught:
        open_e5(path, 1, tmp_path / "proofs")
    assert caught.value.permanent


def test_texts_are_spelt_and_cut_into_pieces(path: Path) -> None:
    model = E5Model(path, 1)
    names = [PIECES[token] for token in model.tokens("The\tA\x01b  🐝")]
    assert names == ["<s>", "▁", "<unk>", "h", "e", "▁", "a", "b", "▁", "b", "e", "e", "</s>"]
    assert model.tokens("") == [0, 2]
    assert [len(model.tokens("b" * many)) for many in (13, 14, 500)] == [16, 16, 16]


def test_a_long_text_has_the_vector_of_its_beginning(path: Path) -> None:
    model = E5Model(path, 1)
    rows = unit(np.concatenate([model.run(each) for each in model.batches(["b" * 13, "b" * 900, "b" * 5])]))
    assert rows[0] @ rows[1] == pytest.approx(1)
    assert rows[0] @ rows[2] < 0.999
