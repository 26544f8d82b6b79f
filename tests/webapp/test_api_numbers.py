"""Where a number is asked for, true is none; where true or false is, or a moment, a number is none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from api_agent import ENTRIES, fields, memories_of
from pydantic import ValidationError

from webapp.api.schemas import Patch, Query, Strict


def schemas(parent: type[Strict] = Strict) -> Iterator[type[Strict]]:
    for schema in parent.__subclasses__():
        if schema.__module__.startswith("webapp."):
            yield schema
        yield from schemas(schema)


def kinds_of(part: Any) -> set[str]:
    """Return the types that the JSON schema of a field takes."""
    return {part.get("type", "any")} | {kind for other in part.get("anyOf", ()) for kind in kinds_of(other)}


NUMBERS = sorted(
    {
        (f"{schema.__module__}.{schema.__name__}", name, schema)
        for schema in schemas()
        for name, part in schema.model_json_schema()["properties"].items()
        if kinds_of(part) & {"integer", "number"} and "boolean" not in kinds_of(part)
    },
    key=lambda found: found[:2],
)


def test_numbers_are_looked_at():
    assert len(NUMBERS) > 30
    assert {"limit", "importance", "metadata_confidence", "min_score", "soft_cap"} <= {name for _, name, _ in NUMBERS}


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(("schema", "name"), [(schema, name) for _, name, schema in NUMBERS])
def test_no_schema_takes_a_truth_value_for_a_number(schema, name, value):
    with pytest.raises(ValidationError) as refused:
        schema.model_validate({name: value})
    kinds = [found["type"] for found in refused.value.errors() if found["loc"] == (name,)]
    assert kinds in (["int_type"], ["float_type"])


SWITCHES = sorted(
    {
        (f"{schema.__module__}.{schema.__name__}", name, schema)
        for schema in schemas()
        for name, part in schema.model_json_schema()["properties"].items()
        if "boolean" in kinds_of(part)
    },
    key=lambda found: found[:2],
)


def refused_as_truth(schema: type[Strict], name: str, value: Any) -> bool:
    with pytest.raises(ValidationError) as refused:
        schema.model_validate({name: value, "there is no such field": 1})
    return [found["type"] for found in refused.value.errors() if found["loc"] == (name,)] == ["bool_type"]


def test_switches_of_bodies_and_of_queries_are_looked_at():
    queries = {name for _, name, schema in SWITCHES if issubclass(schema, Query)}
    bodies = {name for _, name, schema in SWITCHES if not issubclass(schema, Query)}
    assert {"undo", "pinned"} <= queries
    assert {"memory_enabled", "manually_saved", "pinned", "disabled", "within"} <= bodies


@pytest.mark.parametrize("value", [0, 1.0, "1", "yes", "on"])
@pytest.mark.parametrize(("schema", "name"), [(schema, name) for _, name, schema in SWITCHES])
def test_in_json_only_true_and_false_are_truth_values(schema, name, value):
    assert refused_as_truth(schema, name, value) != schema.as_text
    assert not any(refused_as_truth(schema, name, value=each) for each in (True, "true", "False"))


MOMENTS = sorted(
    {
        (f"{schema.__module__}.{schema.__name__}", name, schema)
        for schema in schemas()
        for name, part in schema.model_json_schema()["properties"].items()
        if "date-time" in {each.get("format") for each in (part, *part.get("anyOf", ()))}
    },
    key=lambda found: found[:2],
)


def test_moments_are_looked_at():
    assert {"created_at", "expires_at", "created_after", "since"} <= {name for _, name, _ in MOMENTS}


@pytest.mark.parametrize("value", [1_700_000_000, 1.5, 0, -5, "1700000000", "1700000000.5", "-5", "0001", ""])
@pytest.mark.parametrize(("schema", "name"), [(schema, name) for _, name, schema in MOMENTS])
def test_no_schema_takes_a_number_for_a_moment(schema, name, value):
    with pytest.raises(ValidationError) as refused:
        schema.model_validate({name: value})
    assert [found["type"] for found in refused.value.errors() if found["loc"] == (name,)] == ["moment"]


BODIES = [
    (ENTRIES, {"text": "Ada keeps bees", "importance": True}, "importance"),
    (f"{ENTRIES}/batch", {"entries": [{"text": "Ada", "metadata_confidence": True}]}, "entries.0.metadata_confidence"),
    ("/v1/memory/context", {"query": "bees", "limit": True}, "limit"),
    ("/v1/spaces", {"slug": "work", "soft_cap": True}, "soft_cap"),
    ("/v1/tools/memory_search", {"query": "bees", "min_score": True}, "min_score"),
    ("/v1/tools/memory_search", {"query": "bees", "policy": {"alpha": True}}, "policy.alpha"),
    ("/v1/tools/episode_search", {"query": "bees", "recency_days": True}, "recency_days"),
    ("/v1/tools/memory_add", {"content": "Ada keeps bees", "importance": False}, "importance"),
]


@pytest.mark.parametrize(("path", "body", "field"), BODIES)
def test_a_truth_value_for_a_number_is_refused_by_its_field(agent, ada, path, body, field):
    response = agent.post(path, body)
    assert (response.status_code, fields(response), memories_of(ada)) == (422, [field], 0)


@pytest.mark.parametrize("value", [0, "off"])
def test_what_is_not_true_or_false_switches_nothing(agent, value):
    response = agent.post("/v1/memory/settings", {"memory_enabled": value})
    assert (response.status_code, fields(response)) == (422, ["memory_enabled"])
    assert agent.get("/v1/memory/settings").json["memory_enabled"] is True


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "Ada keeps bees", "created_at": 1_700_000_000}, "created_at"),
        ({"text": "Ada keeps bees", "created_at": "1700000000"}, "created_at"),
        ({"text": "Ada keeps bees", "expires_at": 99_999_999_999}, "expires_at"),
    ],
)
def test_a_number_for_a_moment_is_refused_by_its_field(agent, ada, body, field):
    response = agent.post(ENTRIES, body)
    assert (response.status_code, fields(response), memories_of(ada)) == (422, [field], 0)
    assert fields(agent.get(ENTRIES, created_after="1700000000")) == ["created_after"]


@pytest.mark.parametrize("digits", ["1", " ", "_"])
def test_a_long_number_for_a_moment_takes_no_time(agent, digits):
    start = time.perf_counter()
    response = agent.post(ENTRIES, {"text": "Ada keeps bees", "created_at": digits * 60_000 + "x"})
    assert (response.status_code, fields(response), time.perf_counter() - start < 2) == (422, ["created_at"], True)


@pytest.mark.parametrize("written", ["2024-05-01T09:00:00Z", "2024-05-01T11:00:00+02:00", "2024-05-01 09:00:00.000Z"])
def test_a_moment_that_is_written_out_is_taken(agent, written):
    stored = agent.post(ENTRIES, {"text": "Ada keeps bees", "created_at": written}).json["id"]
    assert agent.entry(stored)["created_at"].startswith("2024-05-01T09:00:00")


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59+00:00"),
        ("2016-12-31T18:59:60.5-05:00", "2016-12-31T23:59:59.500000+00:00"),
    ],
)
def test_a_leap_second_is_taken_for_the_one_before(agent, written, taken):
    stored = agent.post(ENTRIES, {"text": "Ada keeps bees", "created_at": written}).json["id"]
    assert agent.entry(stored)["created_at"] == taken
    assert agent.get(ENTRIES, created_after=written, created_before="2017-01-01T00:00:00Z").json["entries"]


@pytest.mark.parametrize("written", ["2016-12-31T23:59:61Z", "2016-12-31T23:60:00Z", "2016-12-31T23:59:60"])
def test_no_other_second_is_one_too_many(agent, ada, written):
    response = agent.post(ENTRIES, {"text": "Ada keeps bees", "created_at": written})
    assert (response.status_code, fields(response), memories_of(ada)) == (422, ["created_at"], 0)


def test_a_number_and_a_switch_are_taken_as_ever(agent):
    body = {"text": "Ada keeps bees", "importance": 1, "metadata_confidence": "0.5", "manually_saved": True}
    assert agent.post(ENTRIES, body).status_code == 201
    assert agent.get(ENTRIES, limit=1, manually_saved="true").status_code == 200


# --- null -----------------------------------------------------------------------------------------------------------


NULLABLE = {
    "EntryPatch": {"theme", "expires_at", "supersedes"},
    "SpacePatch": set(),
    "ConversationPatch": {"title", "space"},
    "SettingsBody": {"space"},
    "FactPatch": {"valid_until"},
    "ThemePatch": set(),
}


def test_every_change_is_asked_for_null():
    assert {schema.__name__ for schema in Patch.__subclasses__()} == set(NULLABLE)


@pytest.mark.parametrize("name", NULLABLE)
def test_null_is_described_where_it_is_taken(client, name):
    described = client.get("/v1/openapi.json").json["components"]["schemas"][name]["properties"]
    assert {field for field, part in described.items() if "null" in kinds_of(part)} == NULLABLE[name]
    assert [field for field, part in described.items() if "default" in part or kinds_of(part) == {"any"}] == []


@pytest.mark.parametrize("schema", Patch.__subclasses__())
def test_null_is_taken_where_it_is_described(schema):
    for name in schema.model_fields:
        if name in NULLABLE[schema.__name__]:
            assert schema.model_validate({name: None}).model_fields_set == {name}
        else:
            with pytest.raises(ValidationError, match="must not be null"):
                schema.model_validate({name: None})
