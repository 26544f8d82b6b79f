"""Which lines and branches the tests run, measured in the processes of xdist where COVERAGE says how many it must be.

A tracer is called for every line of every library, and half as much again of the tests' time goes to it. This puts
probes into our own modules when they are imported, and takes them out once they were met. So it comes before them.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Generator
from typing import Any

import pytest

AT_LEAST = float(os.environ.get("COVERAGE") or 0)  # per cent of lines and branches together; 0 measures nothing
SOURCES = ["config", "integrations", "memory", "retrieval", "tasks", "webapp"]
OMITTED = ["memory/migrations/*"]
# Nothing runs these, and nothing should.
EXCLUDED = ["if TYPE_CHECKING:", r"\.\.\.$"]


class Worker:
    """Measures a process that runs tests, and sends what it has found when they have ended."""

    def __init__(self) -> None:
        from slipcover import FileMatcher, ImportManager, Slipcover

        # Each time that one was met so often again, all functions are gone through to take out what was met.
        self.probes = Slipcover(branch=True, exclude_also=EXCLUDED, d_miss_threshold=2000)
        ImportManager(self.probes, FileMatcher(sources=SOURCES, omit=OMITTED)).__enter__()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        session.config.workeroutput["coverage"] = json.dumps(self.probes.get_coverage())  # type: ignore[attr-defined]


class Controller:
    """Brings together what the processes have found, shows it, and fails the run where it is too little."""

    def __init__(self) -> None:
        self.found: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # One that crashed has sent nothing, and fails the run by itself.
        if sent := getattr(node, "workeroutput", {}).get("coverage"):
            self.found.append(sent)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        yield
        percent, table = self._table()
        terminal = session.config.pluginmanager.getplugin("terminalreporter")
        terminal.write(f"{table}\n{percent:.2f} % of lines and branches were run; {AT_LEAST:g} % must be.\n")
        if percent < AT_LEAST:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def _table(self) -> tuple[float, str]:
        from slipcover import Slipcover, merge_coverage, print_coverage

        # With all modules in it, the ones that no test imports as well.
        probes = Slipcover(branch=True, source=SOURCES, omit=OMITTED, exclude_also=EXCLUDED)
        whole = probes.get_coverage()
        for sent in self.found:
            merge_coverage(whole, json.loads(sent))
        text = io.StringIO()
        print_coverage(whole, outfile=text, skip_covered=True, missing_width=60)
        return whole["summary"]["percent_covered"], text.getvalue()


METER = None if not AT_LEAST else Worker() if "PYTEST_XDIST_WORKER" in os.environ else Controller()
