"""Words joined or apart."""

from __future__ import annotations

import doctest

from retrieval import compounds


def test_the_doctests_hold():
    assert doctest.testmod(compounds).failed == 0
