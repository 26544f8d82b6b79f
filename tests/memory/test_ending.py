"""What must not be left half done, by this process or by one that it starts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

from memory.ending import undisturbed

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_waits_for_this_process_and_for_what_it_has_started(number):
    heard = []
    before = signal.signal(number, lambda number, _frame: heard.append(number))
    try:
        with undisturbed():
            # To both, as a terminal does.
            with subprocess.Popen(["sleep", "0.3"]) as sleeper:
                sleeper.send_signal(number)
                os.kill(os.getpid(), number)
            assert (sleeper.returncode, heard) == (0, [])
        assert heard == [number]
        with subprocess.Popen(["sleep", "60"]) as sleeper:
            sleeper.send_signal(number)
        assert sleeper.returncode == -number
    finally:
        signal.signal(number, before)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell what a process blocks")
def test_the_server_that_was_started_undisturbed_hears_every_signal(database_url):
    with psycopg.connect(database_url) as connection:
        folder = connection.execute("SHOW data_directory").fetchone()[0]
    postmaster = Path(folder, "postmaster.pid").read_text().split()[0]
    blocked = int(re.search(r"SigBlk:\s*(\w+)", Path(f"/proc/{postmaster}/status").read_text())[1], 16)
    assert [each for each in SIGNALS if blocked >> (each - 1) & 1] == []
