"""What CI runs to its end, though some of it fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
PROGRAMS, SLOW = ("chromium-headless-shell", "redis-server"), "test-beside"


def program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(("evaluation", "tests", "code"), [(0, 0, 0), (1, 0, 1), (0, 2, 2), (1, 2, 2)])
def test_a_missed_threshold_hides_no_test_that_failed(tmp_path: Path, evaluation: int, tests: int, code: int) -> None:
    checkout = tmp_path / "main"
    shutil.copytree(SCRIPT.parent, checkout / ".ci")
    for name in PROGRAMS:
        program(tmp_path / "bin" / name, "exit 0")
    program(tmp_path / "bin" / "make", f'case "$*" in *"{SLOW}"*) echo what the slow tests said; exit {tests};; esac')
    program(checkout / ".venv" / "bin" / "commonplace", f'echo "evaluated $*"; exit {evaluation}')
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    done = subprocess.run(
        [checkout / ".ci" / "run"], env={"PATH": path}, capture_output=True, text=True, check=False, timeout=60
    )
    assert "evaluated eval golden\n" in done.stdout
    assert "what the slow tests said\n" in done.stdout
    assert done.returncode == code
