"""What holds for the text of every module."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

# Any of their modules can be the first that a program imports.
PACKAGES = ("config", "memory", "retrieval", "tasks", "webapp", "evals", "integrations")


def test_every_file_is_read_as_utf_8_whatever_the_locale():
    root = Path(__file__).parents[1]
    modules = [path for package in PACKAGES for path in (root / package).rglob("*.py")]
    assert [path for path in modules if ".read_text()" in path.read_text(encoding="utf-8")] == []


def test_no_module_needs_one_that_still_waits_for_it():
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)
    loads = {}
    for module in graph.modules:
        named = graph.find_modules_directly_imported_by(module)
        # With a module come the packages around it; those around the one that imports have begun already.
        loads[module] = {each for name in named for each in _with_packages(name)} - set(_with_packages(module))
    TopologicalSorter(loads).prepare()


def _with_packages(module: str) -> Iterator[str]:
    yield module
    while package := module.rpartition(".")[0]:
        yield (module := package)
