"""What tests of several files of pages begin with."""

from __future__ import annotations

import pytest
from flask import Flask
from notebook_desk import Desk


@pytest.fixture
def desk(app: Flask, ada) -> Desk:
    return Desk(app, ada)
