"""Any module can be the first that a program imports."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter

import grimp

PACKAGES = ("config", "memory", "retrieval", "tasks", "webapp", "evals", "integrations")


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
