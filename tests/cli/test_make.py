"""What `make` does on a machine that is not as it should be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_an_environment_without_pip_is_made_whole(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    venv.create(tmp_path / ".venv", with_pip=False)
    environment = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "PYTHONPATH"}}
    # Pip says how it is used, and installs nothing.
    command = ["make", "install", f"PYTHON={sys.executable}", "PIP_ARGS=--help"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / ".venv" / "bin" / "pip").exists()
