"""A server of its own for each test that kills."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_server import Server, wait_for


@pytest.fixture
def server() -> Iterator[Server]:
    """A real `commonplace up`, with nobody in it yet."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-kill-"))
    home.chmod(0o711)
    started = Server(home)
    try:
        wait_for(started.answers, 60, "the first answer")
        yield started
    finally:
        if started.process.poll() is None:
            started.stop()
        shutil.rmtree(home, ignore_errors=True)
