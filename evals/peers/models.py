"""The one embedding model that all are given, in each form that one of them wants."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from evals.errors import MeasureError
from evals.peers.catalog import QUIET
from memory.embedding.bundled import MINILM

DIMENSIONS = 384
_FILE = "model/model.onnx"
# Where Chroma looks for this model before it would download it.
_CHROMA = ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx"
_CHROMA_FILES = ("config.json", "special_tokens_map.json", "tokenizer_config.json", "tokenizer.json", "vocab.txt")
# Where fastembed looks for its keyword encoder, whose only files are lists of stop words. Empty lists change nothing
# for mem0, which takes the stop words out beforehand.
_FASTEMBED = "fastembed"
_KEYWORDS = "bm25/english.txt"


@dataclass(frozen=True, slots=True)
class Models:
    """`folder` is the bundled model as sentence-transformers has it, `onnx` the same as one file."""

    folder: Path
    onnx: Path
    dimensions: int = DIMENSIONS

    def furnish(self, home: Path) -> None:
        """Put into a peer's home what it would download."""
        chroma = home / _CHROMA
        chroma.mkdir(parents=True)
        (chroma / self.onnx.name).symlink_to(self.onnx)
        for name in _CHROMA_FILES:
            shutil.copy(self.folder / name, chroma / name)
        keywords = home / _FASTEMBED / _KEYWORDS
        keywords.parent.mkdir(parents=True)
        keywords.touch()

    def environment(self, home: Path) -> dict[str, str]:
        """Return the variables by which a peer finds it."""
        return {"FASTEMBED_CACHE_PATH": str(home / _FASTEMBED)}


def models_of(environments: Path) -> Models:
    """Return the model in all forms; `make_models` makes what is not there by itself."""
    return Models(Path(MINILM), environments.resolve() / _FILE)


def make_models(environments: Path) -> None:
    """Make the file of the model, which takes some seconds, if it is not there; raises `MeasureError` on failure."""
    onnx = models_of(environments).onnx
    if onnx.exists():
        return
    onnx.parent.mkdir(parents=True, exist_ok=True)
    unproved = onnx.with_suffix(".unproved")
    command = [sys.executable, "-m", "evals.peers.export", str(unproved)]
    environment = {**os.environ, **QUIET}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603 - our own
    if done.returncode:
        raise MeasureError(f"the model was not exported: {' / '.join(done.stderr.strip().splitlines()[-3:])}")
    unproved.rename(onnx)
