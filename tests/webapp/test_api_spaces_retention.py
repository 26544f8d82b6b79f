"""How long a space keeps what nobody wants, as it is set over HTTP."""

from __future__ import annotations

import pytest
from api_agent import Agent, add_space, fields

SPACE = "/v1/spaces/kitchen"


@pytest.fixture
def agent(client, ada):
    add_space(ada, "kitchen")
    return Agent(client, ada.headers)


def test_a_space_keeps_for_half_a_year_unless_it_says_otherwise(agent):
    assert agent.get(SPACE).json["retention_days"] == 180


@pytest.mark.parametrize("days", [0, 1, 36_500])
def test_days_can_be_set_and_none_are_for_ever(agent, days):
    assert agent.patch(SPACE, {"retention_days": days}).json["retention_days"] == days


@pytest.mark.parametrize("days", [-1, 36_501, None, "long"])
def test_other_values_are_refused(agent, days):
    answer = agent.patch(SPACE, {"retention_days": days})
    assert (answer.status_code, fields(answer)) == (422, ["retention_days"])
    assert agent.get(SPACE).json["retention_days"] == 180


def test_a_new_space_may_keep_for_ever(agent):
    assert agent.post("/v1/spaces", {"slug": "attic", "retention_days": 0}).json["retention_days"] == 0


def test_the_description_of_the_interface_says_what_it_does(agent):
    schemas = agent.get("/v1/openapi.json").json["components"]["schemas"]
    assert "is archived" in schemas["SpacePatch"]["properties"]["retention_days"]["description"]
