"""What is said of an error in one line."""

from __future__ import annotations

import pytest

from memory.errors import first_line


@pytest.mark.parametrize(
    ("error", "line"),
    [(OSError("gone\nwith a hint"), "gone"), (OSError("gone"), "gone"), (TimeoutError(), "TimeoutError")],
    ids=["several lines", "one", "none"],
)
def test_an_error_is_told_in_a_line(error, line):
    assert first_line(error) == line
