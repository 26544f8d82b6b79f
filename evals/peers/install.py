"""Make the environments of peers: one each, by its file of requirements and the constraints of this repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from evals.errors import MeasureError
from evals.peers.catalog import REQUIREMENTS

# Pins torch to a build for the CPU: any other brings gigabytes of drivers along.
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"


def install(environment: str, environments: Path) -> None:
    """Make an environment or bring it up to date; raises `MeasureError` where that fails."""
    if not CONSTRAINTS.exists():
        raise MeasureError(f"peers are installed from a copy of the repository: there is no {CONSTRAINTS}")
    python = environments / environment / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(environments / environment)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "-c", str(CONSTRAINTS), "-r", str(REQUIREMENTS / f"{environment}.txt")])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise MeasureError(f"{' '.join(command[:4])} … failed: {' / '.join(last)}")
