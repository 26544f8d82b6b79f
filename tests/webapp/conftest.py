"""What tests of several files begin with."""

from __future__ import annotations

import pytest
from api_agent import Agent, embed
from flask import Flask
from flask.testing import FlaskClient
from notebook_desk import Desk


@pytest.fixture
def agent(client: FlaskClient, ada) -> Agent:
    """Ada's agent."""
    return Agent(client, ada.headers)


@pytest.fixture
def stranger(client: FlaskClient, bob) -> Agent:
    """Another user's agent."""
    return Agent(client, bob.headers)


@pytest.fixture
def desk(app: Flask, ada) -> Desk:
    """Ada at a notebook."""
    return Desk(app, ada)


@pytest.fixture
def memory_id(agent) -> str:
    """One memory of Ada's."""
    return agent.store("Ada keeps bees on the roof", type="fact", tags=["bees"])


@pytest.fixture
def notes(agent, ada) -> dict[str, str]:
    """Three memories of Ada's, two of them of the bakery."""
    ids = {
        "hours": agent.store("The bakery on Mill Lane closes on Mondays"),
        "bread": agent.store("The bakery sells rye bread"),
        "nuts": agent.store("Ada is allergic to hazelnuts"),
    }
    embed(ada)
    return ids
