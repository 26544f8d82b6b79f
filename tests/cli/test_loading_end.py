"""A process that is told to end while it loads its models."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# What loads goes on for longer than the process may take. The last that is done at the end is what is registered first.
RUN = """
import atexit, logging, sys, time
from webapp.cli import loading
atexit.register(print, "taken apart")
loading.allow_ending()
atexit.register(print, "the database was left")
def load(*_):
    if "loading" in sys.argv:
        time.sleep(2)
        logging.error("nothing can be loaded any more")
        time.sleep(60)
logging.basicConfig(stream=sys.stdout, format="%(message)s")
loading._load = load
loading.preload(None, asked=True)
if "loaded" in sys.argv:
    loading._loading[0].join()
with loading.in_order():
    {ends}
time.sleep(3)
logging.error("ending")
"""
LEFT, APART = ["the database was left"], ["the database was left", "taken apart"]
SAID = "ending"


@pytest.mark.parametrize(
    ("ends", "state", "status", "said"),
    [
        ("pass", "loading", 0, [SAID, *LEFT]),
        ("sys.exit(0)", "loading", 0, LEFT),
        ("pass", "loaded", 0, [SAID, *APART]),
        ("sys.exit(3)", "loaded", 3, APART),
        ("sys.exit(3)", "loading", 3, APART),
        ("1 / 0", "loading", 1, APART),
    ],
)
def test_who_ends_in_order_while_loading_leaves_the_database_and_is_not_taken_apart(ends, state, status, said):
    command = [sys.executable, "-c", RUN.replace("{ends}", ends), state]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=180)
    assert (done.returncode, done.stdout.splitlines()) == (status, said)
