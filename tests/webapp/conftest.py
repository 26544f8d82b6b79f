"""What tests of several files begin with."""

from __future__ import annotations

import pytest
from api_agent import Agent
from flask import Flask
from flask.testing import FlaskClient
from notebook_desk import Desk


@pytest.fixture
def agent(client: FlaskClient, ada) -> Agent:
    """Ada's agent."""
    return Agent(client, ada.headers)


@pytest.fixture
def desk(app: Flask, ada) -> Desk:
    """Ada at a notebook."""
    return Desk(app, ada)
