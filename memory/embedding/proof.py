"""Vectors of sentence-transformers that a compiled model must reproduce before it is used."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory.embedding.base import EmbeddingError, LocalModel, encodable, unit

logger = logging.getLogger(__name__)

# The bundled model's proof comes along, so that no installation needs torch to begin with. Another version of the
# model or other texts below need another one: `LocalEmbedder("bundled", None, SHIPPED).load()` makes it.
SHIPPED = Path(__file__).parent / "proofs"
# The least cosine. Right models differ by 3e-8 here, most of it from the half precision in which proofs are kept; the
# usual approximation of GELU, or an epsilon that is not the model's own, by 5e-6.
ALIKE = 0.999999
# The least cosine of a model that is computed in whole numbers of eight bits: on processors that are right the oddest
# text has 0.988, the median 0.996.
ROUNDED = 0.98

_WORDS = "The garden behind the house has three old apple trees and a bench that nobody repaired since the war. "

# Every way in which two tokenisers, or two ways to mask, to cut and to pool, could differ should show in one of these.
TEXTS = (
    "",
    " ",
    "a",
    "7",
    "?",
    "What does Ada grow on the roof?",
    "where did we leave the keys of the boat",
    "Ben: I moved to Utrecht in March, and the new flat is smaller but brighter.",
    "UPPER CASE SHOUTING about Deadlines",
    "MiXeD cAsE iDeNtIfIeRs like getUserByName and SOME_CONSTANT",
    "Caf\u00e9 cr\u00e8me, na\u00efve fa\u00e7ade, \u00dcbergr\u00f6\u00dfe, \u0141\u00f3d\u017a",
    "Cafe\u0301 cre\u0300me with combining accents",
    "\u00e9",
    "\u6211\u4eec\u660e\u5929\u4e0b\u5348\u5f00\u4f1a\u3002",
    "\u6771\u4eac\u30bf\u30ef\u30fc\u306b\u884c\u304d\u307e\u3057\u305f",
    "\uc11c\uc6b8\uc5d0\uc11c \ub9cc\ub098\uc694",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043a\u0430\u043a \u0434\u0435\u043b\u0430? \u0401\u043b\u043a\u0430.",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5",
    "\U0001f600\U0001f41d honey \U0001f468\u200d\U0001f469\u200d\U0001f467 and a flag \U0001f1f3\U0001f1f1",
    "\U0001f9ea",
    "zero\u200bwidth, soft\u00adhyphen, no\u00a0break, \ufeffmark",
    "tabs\tand\nnew\r\nlines\n\n\nand   spaces   ",
    "control \x01 \x07 \x1b[0m characters \x7f",
    "typographic \u201cquotes\u201d \u2013 dashes \u2014 and an ellipsis\u2026",
    "ligatures \ufb01\ufb02, fractions \u00bd, full \uff37\uff49\uff44\uff54\uff28, \u2460\u2461",
    "https://example.org/path?query=1&other=two#part and ada@example.org",
    "def add(a: int, b: int) -> int:\n    return a + b  # 0x1F, 1e-9, 3.14159",
    "SELECT id, text FROM memories WHERE user_id = $1 ORDER BY created_at DESC;",
    '{"name": "Ada", "tags": ["bees", "roof"], "pinned": true, "score": 0.75}',
    "[CLS] [SEP] [MASK] [PAD] [UNK] <s> </s> <|endoftext|> are words here",
    "12345678901234567890 1,234.56 2026-03-01T09:30:00Z +31 20 123 4567",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "x" * 150,
    "y" * 90 + " z" * 20,
    "!!!??? ... --- *** $$$ %%% &&& @@@ ### ~~~",
    "don't can't won't it's we'll they've o'clock",
    "lone \ud800 surrogate",
    _WORDS * 2,
    "caf\u00e9 \u660e\u5929 \U0001f41d " * 20,
    "bees " * 254,
    _WORDS * 30,
)


class Proof:
    """The proof of the model with this fingerprint: looked for among the shipped ones, then in `folder`, if any.

    `alike` is the least cosine of each text's vector to the proof's.
    """

    def __init__(self, fingerprint: str, folder: Path | None, alike: float = ALIKE) -> None:
        self._alike = alike
        texts = hashlib.sha256("\0".join(encodable(TEXTS)).encode()).hexdigest()
        name = f"{fingerprint}-{texts[:8]}.npy"
        self._path = folder / name if folder else None
        self._known = list(map(_read, [SHIPPED / name, *([self._path] if self._path else [])]))

    def holds_for(self, model: LocalModel) -> bool:
        """Tell whether there is a proof and the model reproduces it."""
        known = [rows for rows in self._known if rows is not None]
        if not known:
            return False
        made = vectors(model)
        return any(self._holds(made, rows) for rows in known)

    def _holds(self, one: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
        if one.shape != other.shape:
            return False
        try:
            cosines = (one * unit(other)).sum(axis=1)
        except EmbeddingError:
            return False
        return bool((cosines >= self._alike).all())

    def exists(self) -> bool:
        """Tell whether there is a proof at all."""
        return any(rows is not None for rows in self._known)

    def make(self, reference: LocalModel) -> None:
        """Take the vectors of a model that is right by definition for the proof, and keep them if that is possible."""
        rows = vectors(reference)
        self._known = [rows]
        if self._path is None:
            return
        try:
            write(self._path, rows)
        except OSError as error:
            logger.warning("the proof of a compiled model cannot be kept, and is made at every start: %s", error)


def proved(model: LocalModel, proof: Proof) -> bool:
    """Tell whether a proof holds for a model; whatever fails while that is tried is logged."""
    try:
        return proof.holds_for(model)
    except Exception:
        # The boundary to the runtime: what does not work on this machine by it may work otherwise.
        logger.warning("a compiled embedding model failed", exc_info=True)
        return False


def _read(path: Path) -> NDArray[np.float32] | None:
    try:
        with path.open("rb") as file:
            rows: NDArray[np.float32] = np.lib.format.read_array(file, allow_pickle=False).astype(np.float32)
    except (OSError, ValueError, EOFError):
        return None
    return rows


def write(path: Path, rows: NDArray[np.float32]) -> None:
    """Put a whole file in place, whoever else is doing the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("wb") as file:
            np.save(file, rows.astype(np.float16))
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def vectors(model: LocalModel) -> NDArray[np.float32]:
    """Return the model's unit vectors of `TEXTS`: shape (len(TEXTS), dimensions)."""
    texts = encodable(TEXTS)
    rows = np.empty((len(texts), model.dimensions), dtype=np.float32)
    for batch in model.batches(texts):
        rows[batch.places] = model.run(batch)
    return unit(rows)
