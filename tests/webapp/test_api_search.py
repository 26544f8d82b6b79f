"""`memory_search` and `query_memory`: what they take and what they answer."""

from __future__ import annotations

import logging
from uuid import uuid4

import pytest
from api_agent import Agent, add_space, fields, three_memories


@pytest.fixture(scope="module")
def ada(new_person):
    """One owner for the whole file: nothing here writes."""
    return new_person("ada")


@pytest.fixture(scope="module")
def agent(app, ada):
    return Agent(app.test_client(), ada.headers)


@pytest.fixture(scope="module", autouse=True)
def told(agent, ada):
    """Three memories with their vectors, by name."""
    return three_memories(agent, ada)


# --- memory_search --------------------------------------------------------------------------------------------------

HIT = {
    "id",
    "theme",
    "type",
    "content_snippet",
    "created_at",
    "score",
    "scores",
    "signals",
    "tags",
    "source_ids",
}


def test_a_search_answers_the_fields_that_are_promised(agent, told):
    answer = agent.tool("memory_search", query="bees on the roof").json
    assert {"results", "count", "truncated", "token_count", "degraded", "timings"} <= set(answer)
    assert "withheld" not in answer
    assert set(answer["results"][0]) >= HIT


def test_a_hit_has_the_parts_of_its_score(agent, told):
    hit = agent.tool("memory_search", query="bees on the roof").json["results"][0]
    assert set(hit["scores"]) == {"relevance", "recency", "importance", "total"}
    assert (set(hit["signals"]), hit["score"]) == ({"fts", "semantic"}, hit["scores"]["total"])


def test_a_hit_says_what_it_is(agent, told):
    hit = agent.tool("memory_search", query="bees on the roof").json["results"][0]
    assert (hit["id"], hit["theme"], hit["type"]) == (told["bees"], "hobbies", "fact")
    assert (hit["tags"], hit["source_ids"]) == (["bees"], ["m-1"])


def test_the_count_is_that_of_the_results(agent, told):
    answer = agent.tool("memory_search", query="What does Ada prefer to drink, and what does she keep?").json
    assert answer["count"] == len(answer["results"]) > 0


def test_an_identifier_is_found_by_its_words_alone(agent, told):
    hit = agent.tool("memory_search", query="ZX-81-QUUX", policy={"legs": ["keyword"]}).json["results"][0]
    assert (hit["id"], hit["signals"]) == (told["code"], {"fts": True, "semantic": False})


def test_a_paraphrase_is_found_by_its_meaning_alone(agent, told):
    hit = agent.tool("memory_search", query="which beverage is favoured").json["results"][0]
    assert (hit["id"], hit["signals"]) == (told["tea"], {"fts": False, "semantic": True})


@pytest.mark.parametrize(("query", "least"), [("what is on top of the house", 0.05), ("coffee", 0.15)])
def test_meaning_speaks_for_whatever_it_brought_alone(agent, told, query, least):
    policy = {"legs": ["semantic"], "sure_cosine": 0, "min_score": least}
    hits = agent.tool("memory_search", query=query, policy=policy).json["results"]
    assert hits
    assert all(hit["signals"]["semantic"] for hit in hits)


def test_nothing_is_forced(agent, told):
    answer = agent.tool("memory_search", query="quantum chromodynamics lattice").json
    assert (answer["results"], answer["count"], answer["token_count"]) == ([], 0, 0)


def test_an_agent_is_told_what_was_kept_back_and_can_have_it(agent, told):
    asked = {"query": "How heavy are the yachts, zeppelins and submarines of bees?", "limit": 1}
    silent = agent.tool("memory_search", **asked, policy={"legs": ["keyword"]}).json
    assert (silent["results"], silent["withheld"]) == ([], 1)
    shown = agent.tool("memory_search", **asked, min_score=0, policy={"legs": ["keyword"]}).json
    assert [hit["id"] for hit in shown["results"]] == [told["bees"]]


def test_a_context_tells_what_was_kept_back_as_a_search_does(agent, told):
    asked = {"query": "How heavy are the yachts, zeppelins and submarines of bees?", "limit": 1}
    silent = agent.post("/v1/memory/context", {**asked, "policy": {"legs": ["keyword"]}}).json
    assert (silent["count"], silent["withheld"], silent["error"]) == (0, 1, False)
    shown = agent.post("/v1/memory/context", {**asked, "policy": {"legs": ["keyword"], "min_score": 0}}).json
    assert (shown["count"], "withheld" in shown, "bees" in shown["context"]) == (1, False, True)


def test_a_context_tells_that_its_question_was_cut_as_a_search_does(agent, told):
    asked = {"query": "bees " * 2000}
    assert (
        agent.post("/v1/memory/context", asked).json["warnings"]
        == agent.tool("memory_search", **asked).json["warnings"]
    )


def test_types_narrow(agent, told):
    assert agent.found("Ada prefers bees and tea", types=["preference"]) == ["I prefer green tea over coffee"]


def test_a_theme_narrows(agent, told):
    assert agent.found("Ada prefers bees and tea", theme="hobbies") == ["Ada keeps bees on the roof"]


@pytest.mark.parametrize(("tool", "found"), [("memory_search", "results"), ("query_memory", "memories")])
def test_no_types_are_any_type(agent, told, tool, found):
    answers = [agent.tool(tool, query="bees", types=types).json[found] for types in (None, [])]
    assert len(answers[0]) == len(answers[1]) > 0


@pytest.mark.parametrize("field", ["theme", "space"])
def test_what_is_not_known_is_refused_by_its_field(agent, told, field):
    answer = agent.tool("memory_search", query="bees", **{field: "unheard-of"})
    assert (answer.status_code, fields(answer)) == (422, [field])


def test_a_higher_threshold_leaves_less(agent, told):
    assert agent.found("bees", min_score=1.0) == []


def test_the_limit_is_kept(agent, told):
    assert len(agent.found("Ada prefers bees and tea and coffee on the roof", limit=1)) == 1


def test_a_space_that_has_weights_of_an_earlier_version_is_searched_all_the_same(agent, ada):
    add_space(ada, "attic", policy={"list_reads": 0.3, "alpha": 0.5})
    assert agent.tool("memory_search", query="bees", space="attic").status_code == 200
    refused = agent.tool("memory_search", query="bees", space="attic", policy={"list_reads": 0.3})
    assert (refused.status_code, fields(refused)) == (422, ["policy.list_reads"])


def test_weights_of_old_that_no_search_can_use_are_left_out_for_an_agent(agent, ada):
    add_space(ada, "cellar", policy={"alpha": 0, "beta": 0, "gamma": 0})
    wine = agent.store("The wine is in the cellar", space="cellar")
    asked = {"query": "wine", "space": "cellar"}
    found = agent.tool("memory_search", **asked)
    assert (found.status_code, found.json["degraded"][-1]) == (200, "weights")
    assert [hit["id"] for hit in found.json["results"]] == [wine]
    # What the call itself asks for holds, and is refused where it cannot be used.
    keyword = agent.tool("memory_search", **asked, policy={"legs": ["keyword"]})
    assert (keyword.json["results"][0]["id"], keyword.json["degraded"]) == (wine, ["weights"])
    refused = agent.tool("memory_search", **asked, policy={"alpha": 0, "beta": 0, "gamma": 0})
    assert (refused.status_code, fields(refused)) == (422, ["policy.alpha"])
    context = agent.post("/v1/memory/context", asked)
    assert (context.status_code, context.json["degraded"][-1]) == (200, "weights")


@pytest.mark.parametrize("policy", ["specified", {"name": "specified"}, {"fusion": "rrf", "alpha": 2, "mmr_lambda": 1}])
def test_a_policy_can_be_chosen(agent, told, policy):
    assert agent.tool("memory_search", query="bees", policy=policy).status_code == 200


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"alfa": 1}, "policy.alfa"),
        ({"alpha": "big"}, "policy.alpha"),
        ({"alpha": 11}, "policy.alpha"),
        ({"alpha": 10**400}, "policy.alpha"),
        ({"fusion": "magic"}, "policy.fusion"),
        ({"fusion": []}, "policy.fusion"),
        ({"legs": []}, "policy.legs"),
        ({"legs": [["keyword"]]}, "policy.legs"),
        ({"legs": "keyword"}, "policy.legs"),
        ({"name": "imaginary"}, "policy.name"),
        ({"name": "\x00"}, "policy.name"),
        ({"depth": 1.5}, "policy.depth"),
        ({"": 1}, "policy."),
        ("imaginary", "policy.name"),
    ],
)
def test_a_bad_policy_field_is_named(agent, policy, field):
    response = agent.tool("memory_search", query="bees", policy=policy)
    assert (response.status_code, fields(response)) == (422, [field])


BAD = [
    ({}, "query"),
    ({"query": ""}, "query"),
    ({"query": " \n"}, "query"),
    ({"query": 5}, "query"),
    ({"query": "a", "limit": 0}, "limit"),
    ({"query": "a", "limit": 51}, "limit"),
    ({"query": "a", "types": ["rumour"]}, "types.0"),
    ({"query": "a", "recency_days": -1}, "recency_days"),
    ({"query": "a", "recency_days": 10**30}, "recency_days"),
    ({"query": "a", "min_score": 2}, "min_score"),
    ({"query": "a", "token_budget": 0}, "token_budget"),
    ({"query": "a", "policy": 5}, "policy"),
    ({"query": "a", "space": "nowhere"}, "space"),
    ({"query": "a", "space": "\x00"}, "space"),
    ({"query": "a", "theme": "\x00"}, "theme"),
    ({"query": "a", "user_id": str(uuid4())}, "user_id"),
]


@pytest.mark.parametrize(("arguments", "field"), BAD, ids=[f"{n}-{field}" for n, (_, field) in enumerate(BAD)])
def test_a_bad_argument_is_named(agent, arguments, field):
    response = agent.tool("memory_search", **arguments)
    assert (response.status_code, fields(response)) == (422, [field])


@pytest.mark.parametrize("query", ["\x00bees", "bees \ud800", "'; DROP TABLE memories; --", "bees & | ! <-> :*", "%"])
def test_an_odd_question_is_answered(agent, told, query):
    response = agent.tool("memory_search", query=query)
    assert (response.status_code, response.json.get("error")) == (200, None)


# Each sign of the last is eighteen letters as the index has them.
@pytest.mark.parametrize("rest", ["x" * 8200, "\ufdfa" * 2000], ids=["long", "of long signs"])
def test_a_long_question_is_cut_with_a_warning(agent, told, caplog, rest):
    with caplog.at_level(logging.WARNING):
        answer = agent.tool("memory_search", query=f"bees {rest}").json
    assert answer["warnings"] == ["the query was cut to 8192 characters"]
    assert answer["results"][0]["id"] == told["bees"]
    # How long it was the search is not told.
    assert "a query was cut to 8192 characters" in caplog.messages


def test_a_question_of_8192_characters_is_not_cut(agent):
    assert "warnings" not in agent.tool("memory_search", query="b" * 8192).json


def test_scores_are_written_back(agent, told):
    hit = agent.tool("memory_search", query="bees on the roof").json["results"][0]
    kept = agent.entry(told["bees"])["last_scores"]
    assert set(kept) == {"relevance", "recency", "importance", "total", "computed_at"}
    assert kept["total"] == pytest.approx(hit["score"], abs=1e-5)


# --- query_memory ---------------------------------------------------------------------------------------------------


def test_query_memory_answers_as_specified(agent, told):
    answer = agent.tool("query_memory", query="What does Ada keep on the roof?").json
    assert set(answer["memories"][0]) == {"id", "content", "type", "relevance", "context", "created_at"}
    assert answer["metadata"] == {"count": len(answer["memories"]), "truncated": False}


def test_what_query_memory_finds_can_be_corrected(agent, told):
    found = agent.tool("query_memory", query="green tea").json["memories"][0]
    assert (found["id"], found["created_at"]) == (told["tea"], agent.entry(told["tea"])["created_at"])
    agent.tool("memory_update", item_id=found["id"], content="I prefer black tea over coffee")
    assert (
        agent.tool("query_memory", query="black tea").json["memories"][0]["content"] == "I prefer black tea over coffee"
    )


def test_query_memory_says_that_there_was_more(client, new_person):
    agent = Agent(client, new_person("keeper").headers)
    for number in range(12):
        agent.store(f"Hive {number} of the bees stands on roof {number}")
    metadata = agent.tool("query_memory", query="bees roof").json["metadata"]
    assert metadata == {"count": 10, "truncated": True}


def test_query_memory_finds(agent, told):
    memory = agent.tool("query_memory", query="bees on the roof", types=["fact"]).json["memories"][0]
    assert (memory["content"], memory["type"]) == ("Ada keeps bees on the roof", "fact")
    assert 0 <= memory["relevance"] <= 1
    assert "m-1" in memory["context"]


def test_query_memory_finds_nothing_where_nothing_is(agent, told):
    answer = agent.tool("query_memory", query="quantum chromodynamics lattice").json
    assert answer == {"memories": [], "metadata": {"count": 0, "truncated": False}}


def test_query_memory_cuts_a_long_question_too(agent, told):
    answer = agent.tool("query_memory", query="bees " + "x" * 8200).json
    assert (len(answer["memories"]), len(answer["warnings"])) == (1, 1)
