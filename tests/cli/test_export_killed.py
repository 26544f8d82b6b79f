from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

WRITING = """
import pathlib, sys, time
from webapp.cli.export import _write

def pieces():
    yield "a secret" * 100_000
    print("begun", flush=True)
    {then}

_write(pieces(), pathlib.Path(sys.argv[1]))
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a file has a name from the start")


def test_a_killed_export_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITING.format(then="time.sleep(60)"), str(tmp_path / "all.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.kill()
    assert list(tmp_path.iterdir()) == []


def test_an_export_clears_away_what_a_killed_one_left(tmp_path: Path) -> None:
    old, new, others = tmp_path / ".all.json.0123abcd", tmp_path / ".all.json.4567cdef", tmp_path / ".all.json.notes"
    for each in (old, new, others):
        each.write_text("a sec")
    for each in (old, others):
        os.utime(each, (0, 0))
    out = tmp_path / "all.json"
    subprocess.run([sys.executable, "-c", WRITING.format(then=""), str(out)], check=True, capture_output=True)
    assert set(tmp_path.iterdir()) == {out, new, others}


def test_an_export_takes_the_place_of_what_stood_there_for_its_owner_alone(tmp_path: Path) -> None:
    out = tmp_path / "all.json"
    out.write_text("the one before")
    subprocess.run([sys.executable, "-c", WRITING.format(then=""), str(out)], check=True, capture_output=True)
    assert out.read_text() == "a secret" * 100_000
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [out]
