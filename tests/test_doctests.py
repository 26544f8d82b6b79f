"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("config", "memory", "retrieval", "tasks", "webapp", "evals", "integrations")
PATHS = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")) if ">>> " in path.read_text())
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in PATHS]


@pytest.mark.parametrize("module", MODULES)
def test_what_a_module_gives_as_an_example_is_so(module: str) -> None:
    assert not doctest.testmod(import_module(module)).failed
