"""One real server for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_server import served
from flask import Flask


@pytest.fixture(scope="module")
def base_url(app: Flask) -> Iterator[str]:
    with served(app) as url:
        yield url
