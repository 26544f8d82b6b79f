"""Over the limit a search answers less; it never fails."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from api_agent import ENTRIES, Agent, add_space, embed, rows
from api_talk import Talk
from pages_browser import at_browser

from memory.clock import utc_now
from tasks.app import configure
from webapp import ratelimit
from webapp.factory import create_app
from webapp.ratelimit import seconds_left


@pytest.fixture(scope="module")
def limited_app(runtime):
    settings = replace(runtime.settings, searches_per_minute=2, page_searches_per_minute=2)
    application = create_app(replace(runtime, settings=settings))
    configure(runtime)
    return application


@pytest.fixture
def limited(limited_app, monkeypatch):
    """A client for which no minute ends during the test."""
    monkeypatch.setattr(ratelimit, "WINDOW", timedelta(days=365 * 100))
    return limited_app.test_client()


@pytest.fixture
def agent(limited, ada):
    agent = Agent(limited, ada.headers)
    agent.store("Ada keeps bees on the roof")
    agent.store("Bees make honey in summer")
    embed(ada)
    return agent


def search(agent, query="bees", **more):
    response = agent.tool("memory_search", query=query, **more)
    assert response.status_code == 200
    return response.json


def ids(answer):
    return [hit["id"] for hit in answer["results"]]


def test_within_the_limit_nothing_is_said(agent):
    assert [search(agent)["degraded"] for _ in range(2)] == [[], []]


def test_what_was_not_searched_counts_as_no_search_that_found_nothing(agent, ada):
    for query in ("bees", "honey", "bees", "ferries"):
        search(agent, query)
    assert [hits for (hits,) in rows(ada, "SELECT hits FROM tool_calls ORDER BY created_at")] == [2, 2, 2, None]


def test_over_the_limit_the_last_answer_comes_again(agent):
    first, _, third = (search(agent) for _ in range(3))
    assert (ids(third), third["degraded"]) == (ids(first), ["rate_limited"])
    assert (third["count"], third["token_count"]) == (first["count"], first["token_count"])


def test_over_the_limit_another_tag_is_another_question(agent):
    for _ in range(2):
        search(agent)
    assert ids(search(agent)) != []
    assert ids(search(agent, tags=["bees"])) == []


def test_over_the_limit_the_log_tells_of_each_answer(agent, caplog):
    caplog.set_level(logging.INFO, "retrieval.search")
    for _ in range(3):
        search(agent)
    told = [each.getMessage() for each in caplog.records if each.getMessage().startswith("retrieval ")]
    assert [("results=0" in line, "degraded=rate_limited" in line) for line in told] == [
        (False, False),
        (False, False),
        (False, True),
    ]


def test_over_the_limit_the_passage_of_a_long_text_comes_again(agent):
    agent.store(
        "The club met. " + "They spoke of chairs and the hall. " * 60 + "The glacier hike is in June. " + "End. " * 80
    )
    first, _, third = (search(agent, "glacier hike", token_budget=100) for _ in range(3))
    assert first["results"][0]["content_snippet"].startswith("\u2026")
    assert (ids(third), third["results"][0]["content_snippet"]) == (ids(first), first["results"][0]["content_snippet"])


def test_over_the_limit_nothing_is_told_of_what_was_kept_back(agent):
    asked = {"query": "Does honey own yachts, zeppelins or submarines?", "min_score": 0.01}
    asked |= {"policy": {"legs": ["keyword"]}}
    answers = [search(agent, **asked) for _ in range(3)]
    assert [(answer["count"], "withheld" in answer) for answer in answers] == [(0, True), (0, True), (0, False)]


def test_over_the_limit_another_question_finds_nothing(agent):
    for _ in range(2):
        search(agent)
    answer = search(agent, "honey")
    assert (answer["results"], answer["count"], answer["degraded"]) == ([], 0, ["rate_limited"])


ASKED = {
    "/v1/tools/memory_search": {},
    "/v1/tools/query_memory": {},
    "/v1/tools/episode_search": {},
    "/v1/tools/entity_search": {"space": "work"},
    "/v1/memory/context": {},
}


@pytest.mark.parametrize("path", ASKED)
def test_over_the_limit_it_is_said_that_nothing_was_searched_and_when_to_ask_again(agent, ada, path):
    add_space(ada, "work")
    answers = [agent.post(path, {"query": question, **ASKED[path]}) for question in ("bees", "bees", "honey")]
    assert ["Retry-After" in answer.headers for answer in answers] == [False, False, True]
    assert ["warnings" in answer.json for answer in answers] == [False, False, True]
    seconds = int(answers[2].headers["Retry-After"])
    assert 0 <= seconds - seconds_left(utc_now()) <= 60
    said = f"nothing was searched: there were too many searches in this minute; ask again in {seconds} seconds; "
    allowed = "all tokens of a user together may make 2 (COMMONPLACE_SEARCHES_PER_MINUTE of the server)"
    assert (answers[2].status_code, answers[2].json["warnings"]) == (200, [f"{said}{allowed}"])


def test_over_the_limit_nothing_is_said_of_an_answer_that_does_not_come_again(agent):
    for name in ("roof", "garden", "orchard"):
        Talk(agent, external_id=name).turn(f"Where are the bees of the {name}?", f"The {name} has hives. " * 300)
    first, _, third = (agent.tool("episode_search", query="bees").json for _ in range(3))
    assert (first["count"] > 0, first["truncated"]) == (True, True)
    assert (third["count"], third["truncated"]) == (0, False)


def test_over_the_limit_the_last_answer_is_called_that(agent):
    *_, third = (search(agent) for _ in range(3))
    assert "; this is the last answer to the same question; ask again in " in third["warnings"][0]


def test_over_the_limit_the_pool_still_has_no_entities(agent):
    *_, third = (agent.tool("entity_search", query="Ada").json for _ in range(3))
    assert (third["degraded"], "warnings" in third) == (["no_entities_in_pool"], False)


@pytest.mark.parametrize(("second", "left"), [(0, 60), (37, 23), (59, 1)])
def test_seconds_left_are_those_to_the_end_of_the_minute(second, left):
    assert seconds_left(datetime(2026, 7, 1, 12, 30, second, 999_999, tzinfo=UTC)) == left


@pytest.mark.parametrize("more", [{"limit": 1}, {"recency_days": 3}, {"types": ["fact"]}, {"policy": {"alpha": 2}}])
def test_the_same_words_with_other_filters_are_another_question(agent, more):
    for _ in range(2):
        search(agent, recency_days=7)
    assert search(agent, **more)["results"] == []


def test_a_question_with_an_age_is_the_same_a_moment_later(agent):
    first, _, third = (search(agent, recency_days=7) for _ in range(3))
    assert ids(third) == ids(first) != []


def test_a_new_memory_does_not_lose_the_last_answer(agent):
    first, _ = search(agent), search(agent)
    agent.store("The parrot is called Long John")
    assert ids(search(agent)) == ids(first)


def test_a_forgotten_memory_does_not_come_again(agent):
    first, _ = search(agent), search(agent)
    agent.delete(f"{ENTRIES}/{ids(first)[0]}")
    third = search(agent)
    assert ids(third) == ids(first)[1:]
    assert third["token_count"] < first["token_count"]


def test_a_changed_memory_does_not_come_again_as_it_was(agent):
    first, _ = search(agent), search(agent)
    agent.patch(f"{ENTRIES}/{ids(first)[0]}", {"text": "Nothing of the kind"})
    assert ids(search(agent)) == ids(first)[1:]


def test_incognito_recalls_nothing_from_before(agent):
    for _ in range(2):
        search(agent)
    agent.post("/v1/memory/incognito/start")
    assert search(agent)["degraded"] == ["incognito"]


def test_two_users_do_not_share_a_limit(agent, limited, bob):
    for _ in range(3):
        search(agent)
    assert "rate_limited" not in search(Agent(limited, bob.headers))["degraded"]


def test_two_users_do_not_share_answers(agent, limited, bob):
    stranger = Agent(limited, bob.headers)
    for _ in range(2):
        search(agent)
        search(stranger, "something else")
    assert search(stranger)["results"] == []


def test_tokens_of_one_user_share_the_limit(agent, limited, ada):
    for _ in range(2):
        search(agent)
    assert search(Agent(limited, ada.new_token("read")))["degraded"] == ["rate_limited"]


def test_query_memory_counts_too(agent):
    for _ in range(3):
        answer = agent.tool("query_memory", query="bees").json
    assert (answer["degraded"], len(answer["memories"])) == (["rate_limited"], 2)


def test_context_counts_too(agent):
    for _ in range(3):
        answer = agent.post("/v1/memory/context", {"query": "bees"}).json
    assert (answer["degraded"], answer["count"]) == (["rate_limited"], 2)


def test_a_search_that_is_over_the_limit_is_recorded(agent, ada):
    for _ in range(3):
        search(agent)
    kept = rows(ada, "SELECT result -> 'degraded' FROM tool_calls ORDER BY created_at")
    assert [degraded for (degraded,) in kept] == [[], [], ["rate_limited"]]


def test_without_a_limit_there_is_none(client, ada):
    agent = Agent(client, ada.headers)
    assert {str(search(agent, "nothing")["degraded"]) for _ in range(12)} <= {"[]", "['semantic']"}


# --- what a person at the browser is told ---


def pages_about(limited_app, ada, *questions):
    """Return the search page for each question, one after the other."""
    browser = at_browser(limited_app, ada)
    return [browser.get("/search", query_string={"q": question}).text for question in questions]


def test_the_page_says_that_nothing_was_searched_and_when_to_try_again(agent, limited_app, ada):
    *_, page = pages_about(limited_app, ada, "bees", "honey", "summer")
    assert "There were too many searches in this minute, so this one was not made." in page
    assert "Search again in a minute." in page


def test_agents_that_search_much_keep_their_owner_from_nothing(agent, limited_app, ada):
    for _ in range(3):
        answer = search(agent, "honey")
    (page,) = pages_about(limited_app, ada, "summer")
    assert answer["degraded"] == ["rate_limited"]
    assert "too many searches" not in page
    assert "<mark>summer</mark>" in page


def test_an_owner_who_searches_much_keeps_no_agent_from_it(agent, limited_app, ada):
    pages_about(limited_app, ada, "bees", "honey", "summer")
    assert search(agent)["degraded"] == []


@pytest.mark.parametrize(
    "invitation", ["No memory matches", "seems to be about", "fewer or other words", "remember it"]
)
def test_the_page_claims_and_invites_nothing_when_nothing_was_searched(agent, limited_app, ada, invitation):
    *_, page = pages_about(limited_app, ada, "bees", "honey", "zeppelins")
    assert invitation not in page


def test_the_page_shows_the_last_answer_to_the_same_question(agent, limited_app, ada):
    *_, page = pages_about(limited_app, ada, "bees", "bees", "bees")
    assert "There were too many searches in this minute" in page
    assert "<mark>bees</mark>" in page


def test_a_page_that_was_not_searched_leaves_no_earlier_answer_to_mean(agent, limited_app, ada):
    pages_about(limited_app, ada, "bees", "honey", "summer")
    kept = rows(ada, "SELECT arguments ->> 'query', hits FROM tool_calls ORDER BY created_at DESC LIMIT 1")
    assert [tuple(each) for each in kept] == [("summer", None)]


def test_what_is_shared_no_more_is_out_of_the_last_answer(agent, ada):
    shared = add_space(ada, "shared")
    agent.store("Bees sting where they are pressed", space=shared, tags=["bees"])
    agent.post(f"/v1/spaces/{shared}/shares", {"tag": "bees", "found_in": "default"})
    embed(ada)
    found = {hit["id"]: hit.get("space") for hit in search(agent)["results"]}
    assert list(found.values()).count("shared") == 1
    search(agent, "another question")
    again = search(agent)
    assert again["degraded"] == ["rate_limited"]
    assert {hit["id"]: hit.get("space") for hit in again["results"]} == found
    agent.delete(f"/v1/spaces/{shared}/shares", tag="bees", found_in="default")
    assert not any("space" in hit for hit in search(agent)["results"])
