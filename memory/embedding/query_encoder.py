"""What the query encoder has learned: the weights in which it differs from the model that embeds what is stored.

A question is not written like what answers it, so each has an encoder of its own (Karpukhin et al. 2020, "Dense Passage
Retrieval for Open-Domain Question Answering"). Here only that of the questions has learned: stored vectors stay those
of the bundled model. `evals.query_encoder` trains it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    # What builds graphs takes long to import, and who asks for the version alone builds none.
    from memory.embedding.bert import Bert, Floats

logger = logging.getLogger(__name__)

LEARNED = Path(__file__).with_name("query_encoder.npz")
_UP, _DOWN = ".up", ".down"


def read_learned(bert: Bert, fingerprint: str, path: Path = LEARNED) -> dict[str, Floats]:
    """Return the weights that were learned, by name; none for another model than that which they were learned from.

    Of most the file has two narrow factors of what was added. Raises `ValueError` for what does not fit the model, and
    whatever finds the file damaged.
    """
    with np.load(path, allow_pickle=False) as file:
        if str(file["fingerprint"]) != fingerprint:
            return {}
        arrays = {name: file[name].astype(np.float32) for name in file.files if name != "fingerprint"}
    learned = {name: _whole(name, arrays, bert) for name in sorted({_name(each) for each in arrays})}
    logger.debug("questions are embedded by %d weights of their own", len(learned))
    return learned


@cache
def version(path: Path = LEARNED) -> str:
    """Return a name for what was learned, "" where there is no such file: vectors of another one are others."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    except OSError:
        return ""


def _name(part: str) -> str:
    return part.removesuffix(_UP).removesuffix(_DOWN)


def _whole(name: str, arrays: Mapping[str, Floats], bert: Bert) -> Floats:
    if name not in bert.tensors:
        raise ValueError(f"the model has no weights {name}")
    found: Floats = arrays[name] if name in arrays else bert.numbers(name) + arrays[name + _UP] @ arrays[name + _DOWN]
    if list(found.shape) != bert.tensors[name]["shape"]:
        raise ValueError(f"the weights {name} have the shape {found.shape}")
    return found
