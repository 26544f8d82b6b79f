"""What loading needs is not kept by the processes that serve."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Prints what the process has for itself, in MiB, before and after it gives back what loading took.
LOADING = """
import psutil
from retrieval.reading.reading import shared_reader
from webapp.cli.loading import give_back
def held():
    return psutil.Process().memory_full_info().uss >> 20
assert shared_reader() is not None
before = held()
give_back()
print(before, held())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only the C library of Linux keeps it")
def test_what_loading_took_is_given_back():
    done = subprocess.run([sys.executable, "-c", LOADING], check=True, capture_output=True, text=True, timeout=120)
    before, after = map(int, done.stdout.split())
    assert after < before - 20
