"""What computes vectors keeps to itself what it computes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["memory.embedding.compiled", "webapp.cli.web"])
def test_nothing_is_told_or_kept_of_the_device(tmp_path, module):
    # The home folder and nothing else: within tests, or a pipeline, onnxruntime is quiet by itself.
    names = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    code = f"import {module}, memory.embedding.compiled"
    subprocess.run(
        [sys.executable, "-B", "-c", code],
        env={**environment, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        check=True,
    )
    assert list(tmp_path.rglob("*")) == []
