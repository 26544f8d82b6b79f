"""What a conversation may draw on: the pool, or its space, at this moment; with two users and three spaces."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from api_agent import Agent, add_space, embed, rows
from api_talk import Talk
from recorded_calls import CONVERSATION, SPACE

SECRETS = {
    "pool-1": ("Where is the spare key?", "Under the third flowerpot by the kitchen door."),
    "pool-2": ("What is the key to good bread?", "Patience, and a very hot oven."),
    "work-1": ("Which key opens the server room?", "The brass one, number 47."),
    "work-2": ("Who has the key of the archive?", "Mrs Olsen on the second floor."),
    "home-1": ("Where did we hide the safe key?", "Behind the painting of the ship."),
}


@pytest.fixture
def ada_agent(client, ada):
    for space in ("work", "home"):
        add_space(ada, space)
    return Agent(client, ada.headers)


@pytest.fixture
def talks(ada_agent):
    """Five conversations of Ada, named by where they are."""
    held = {}
    for name, (question, reply) in SECRETS.items():
        space = name.partition("-")[0]
        held[name] = Talk(ada_agent, external_id=name, space=None if space == "pool" else space)
        held[name].turn(question, reply)
    return held


@pytest.fixture(params=[False, True], ids=["words alone", "with vectors"])
def embedded(request, ada, talks):
    """Everything holds before the vectors are made, and after."""
    if request.param:
        embed(ada)
    return request.param


def found(agent, query="where is the key", **arguments):
    """Return the external ids of the conversations that an episode search finds."""
    response = agent.post("/v1/tools/episode_search", {"query": query, **arguments})
    assert response.status_code == 200, response.json
    return {hit["conversation"]["external_id"] for hit in response.json["results"]}


@pytest.mark.usefixtures("embedded")
def test_conversations_of_the_pool_draw_on_one_another_and_on_no_space(ada_agent, talks):
    assert found(ada_agent) == {"pool-1", "pool-2"}
    assert found(ada_agent, conversation=talks["pool-2"].id) == {"pool-1", "pool-2"}


@pytest.mark.usefixtures("embedded")
def test_conversations_of_a_space_draw_on_that_space_alone(ada_agent, talks):
    assert found(ada_agent, conversation=talks["work-1"].id) == {"work-1", "work-2"}
    assert found(ada_agent, space="home") == {"home-1"}


@pytest.mark.usefixtures("embedded")
def test_joining_a_space_brings_the_whole_history_along_at_once(ada_agent, talks):
    talks["pool-1"].change(space="work")
    assert found(ada_agent, conversation=talks["work-1"].id) == {"work-1", "work-2", "pool-1"}
    assert found(ada_agent, conversation=talks["pool-1"].id) == {"work-1", "work-2", "pool-1"}
    assert found(ada_agent) == {"pool-2"}


@pytest.mark.usefixtures("embedded")
def test_leaving_a_space_takes_it_away_at_once(ada_agent, talks):
    talks["work-2"].change(space=None)
    assert found(ada_agent, conversation=talks["work-1"].id) == {"work-1"}
    assert found(ada_agent, conversation=talks["work-2"].id) == {"pool-1", "pool-2", "work-2"}


@pytest.mark.usefixtures("embedded")
def test_a_move_in_the_middle_of_a_conversation_counts_from_the_next_question(ada_agent, talks):
    talk = talks["pool-1"]
    talk.turn("And the garage key?", "In the blue tin.")
    talk.change(space="home")
    talk.turn("And the cellar key?", "On the hook.")
    assert found(ada_agent, conversation=talk.id) == {"home-1", "pool-1"}
    assert found(ada_agent, query="cellar hook") == set()
    assert found(ada_agent, query="cellar hook", space="home") == {"pool-1"}


def test_the_first_message_of_a_conversation_made_in_a_space_is_in_it(ada_agent, talks):
    talk = Talk(ada_agent, external_id="new", space="work")
    talk.turn("Is the parrot allowed in the office?", "Only on Fridays.")
    assert found(ada_agent, query="parrot") == set()
    assert found(ada_agent, query="parrot", space="work") == {"new"}


def test_an_archived_conversation_is_drawn_on_no_more_until_it_is_back(ada_agent, talks):
    talks["work-2"].change(archived=True)
    assert found(ada_agent, space="work") == {"work-1"}
    talks["work-2"].change(archived=False)
    assert found(ada_agent, space="work") == {"work-1", "work-2"}


@pytest.mark.usefixtures("embedded")
def test_another_user_finds_nothing_by_any_of_these_ways(client, bob, talks):
    stranger = Agent(client, bob.headers)
    assert found(stranger) == set()
    for talk in talks.values():
        answers = [
            stranger.post("/v1/tools/episode_search", {"query": "key", "conversation": conversation})
            for conversation in (talk.id, str(uuid4()))
        ]
        assert [answer.status_code for answer in answers] == [422, 422]
        assert answers[0].json["errors"] == answers[1].json["errors"]
    assert stranger.post("/v1/tools/episode_search", {"query": "key", "space": "work"}).status_code == 422


@pytest.mark.usefixtures("embedded")
def test_a_confined_token_draws_on_its_space_alone(client, ada, talks):
    confined = Agent(client, ada.new_token("read", space="work"))
    assert found(confined) == {"work-1", "work-2"}
    assert found(confined, conversation=talks["work-1"].id) == {"work-1", "work-2"}
    refused = confined.post("/v1/tools/episode_search", {"query": "key", "conversation": talks["pool-1"].id})
    assert refused.status_code == 422


# What recalls something without naming a space, and where it says what it found.
RECALLS = [
    ("/v1/tools/memory_search", {"query": "Where is the boat moored?"}, "results"),
    ("/v1/tools/query_memory", {"query": "Where is the boat moored?"}, "memories"),
    ("/v1/memory/context", {"query": "Where is the boat moored?"}, "context"),
    ("/v1/command", {"text": "What do you remember about the boat?"}, "memories"),
    ("/v1/tools/episode_search", {"query": "Where is the boat moored?"}, "results"),
    ("/v1/tools/fact_search", {}, "facts"),
    ("/v1/tools/memory_list_themes", {}, "themes"),
]


def test_what_recalls_in_a_conversation_draws_on_its_space(ada_agent):
    ada_agent.store("The boat is moored at pier four", theme="sailing")
    ada_agent.tool("fact_add", subject="The boat", predicate="is moored at", object="pier four")
    Talk(ada_agent, external_id="pool").turn("Where is the boat moored?", "At pier four.")
    talk = Talk(ada_agent, external_id="work", space="work")
    there = replace(ada_agent, more={CONVERSATION: talk.id})
    recalled = {path: there.post(path, body).json[named] for path, body, named in RECALLS}
    assert not any(recalled.values()), recalled
    assert there.found("Where is the boat moored?", space="default") == ["The boat is moored at pier four"]
    talk.change(space=None)
    recalled = {path: there.post(path, body).json[named] for path, body, named in RECALLS}
    assert all(recalled.values()), recalled


def test_what_is_stored_in_a_conversation_is_in_its_space(ada_agent):
    talk = Talk(ada_agent, external_id="work", space="work")
    there = replace(ada_agent, more={CONVERSATION: talk.id})
    there.tool("memory_add", type="note", content="The server room is on the third floor")
    there.post("/v1/command", {"text": "Remember that the archive closes at five"})
    there.tool("fact_add", subject="The archive", predicate="closes at", object="five")
    there.tool("memory_add", type="note", content="The bread is in the oven", space="home")
    assert sorted(ada_agent.texts(space="work")) == [
        "The server room is on the third floor",
        "the archive closes at five",
    ]
    assert [fact["space"] for fact in ada_agent.get("/v1/facts").json["facts"]] == ["work"]
    assert ada_agent.texts(space="home") == ["The bread is in the oven"]
    ada_agent.post("/v1/memory/settings", {"space": "work", "incognito_default": True})
    refused = there.tool("memory_add", type="note", content="The key is under the mat")
    assert (refused.status_code, refused.json["reason"]) == (409, "incognito")


def test_what_recalls_for_a_space_draws_on_it(ada_agent):
    ada_agent.store("The boat is moored at pier four", theme="sailing", space="work")
    ada_agent.tool("fact_add", subject="The boat", predicate="is moored at", object="pier four", space="work")
    Talk(ada_agent, external_id="w", space="work").turn("Where is the boat moored?", "At pier four.")
    here, there = (
        {path: each.post(path, body).json[named] for path, body, named in RECALLS} for each in for_spaces(ada_agent)
    )
    assert not any(here.values()), here
    assert all(there.values()), there


def for_spaces(agent):
    """Return the agent as one of the project home, and as one of the project work."""
    return [replace(agent, more={SPACE: space}) for space in ("home", "work")]


def test_what_is_stored_for_a_space_is_in_it(ada_agent):
    home, work = for_spaces(ada_agent)
    work.tool("memory_add", type="note", content="The server room is on the third floor", space=None)
    work.post("/v1/command", {"text": "Remember that the archive closes at five"})
    work.tool("fact_add", subject="The archive", predicate="closes at", object="five")
    work.tool("memory_add", type="note", content="The bread is in the oven", space="home")
    assert sorted(ada_agent.texts(space="work")) == [
        "The server room is on the third floor",
        "the archive closes at five",
    ]
    assert [fact["space"] for fact in ada_agent.get("/v1/facts").json["facts"]] == ["work"]
    assert ada_agent.texts(space="home") == ["The bread is in the oven"]
    talk = Talk(ada_agent, external_id="h", space="home")
    work.post("/v1/command", {"text": "Remember that the tea is in the tin", "conversation": talk.id})
    assert "the tea is in the tin" in ada_agent.texts(space="home")
    assert home.post("/v1/memory/context", {"query": "Where is the server room?"}).json["count"] == 0
    assert work.post("/v1/memory/context", {"query": "Where is the server room?"}).json["count"] == 1
    found = home.post("/v1/memory/context", {"query": "Where is the server room?", "space": "work"}).json
    assert found["count"] == 1


def test_a_search_can_stay_within_the_conversation(ada_agent, talks):
    assert found(ada_agent, conversation=talks["work-1"].id, within=True) == {"work-1"}
    alone = ada_agent.post("/v1/tools/episode_search", {"query": "key", "within": True})
    assert (alone.status_code, alone.json["errors"][0]["field"]) == (422, "conversation")


def test_a_hit_says_where_it_was_said_and_why_it_was_found(ada_agent, talks):
    hit = ada_agent.post("/v1/tools/episode_search", {"query": "flowerpot"}).json["results"][0]
    messages = talks["pool-1"].messages()
    assert (hit["message_id"], hit["reply_id"]) == (messages[0]["id"], messages[1]["id"])
    assert hit["conversation"]["id"] == talks["pool-1"].id
    assert "flowerpot" in hit["content_snippet"]
    assert hit["signals"]["fts"]
    assert hit["explanation"]["keyword"]["rank"] == 1
    assert hit["scores"]["total"] == hit["score"]


def test_what_was_said_before_helps_to_find_and_is_not_shown(ada_agent):
    talk = Talk(ada_agent, external_id="trip")
    talk.turn("Shall we plan the Lofoten trip?", "Gladly.")
    talk.turn("Which month has the best light?", "Late February.")
    hits = ada_agent.post("/v1/tools/episode_search", {"query": "Lofoten light month"}).json["results"]
    shown = {hit["content_snippet"] for hit in hits}
    later = next(text for text in shown if "February" in text)
    assert "Lofoten" not in later


def test_incognito_recalls_no_episode(ada_agent, talks):
    ada_agent.post("/v1/memory/incognito/start", {})
    answer = ada_agent.post("/v1/tools/episode_search", {"query": "key"}).json
    assert (answer["results"], answer["degraded"]) == ([], ["incognito"])
    ada_agent.post("/v1/memory/incognito/end", {})
    assert found(ada_agent) == {"pool-1", "pool-2"}


# --- what was said at a time ----------------------------------------------------------------------------------------


@pytest.fixture
def said(ada, talks):
    """What was said in some conversations, days ago."""
    for name, days in (("pool-1", 40), ("pool-2", 1), ("work-1", 1)):
        when = (
            "UPDATE episodes SET created_at = now() - :days * interval '1 day' WHERE conversation_id = :id RETURNING id"
        )
        rows(ada, when, id=talks[name].id, days=days)


@pytest.mark.usefixtures("embedded", "said")
def test_a_time_alone_brings_what_was_said_then_where_the_search_looks(ada_agent, talks):
    for query in ("What did we talk about yesterday?", "yesterday"):
        assert found(ada_agent, query) == {"pool-2"}
        assert found(ada_agent, query, space="work") == {"work-1"}
        assert found(ada_agent, query, conversation=talks["work-2"].id) == {"work-1"}
        assert found(ada_agent, query, conversation=talks["work-2"].id, within=True) == set()
        assert found(ada_agent, query, conversation=talks["work-1"].id, within=True) == {"work-1"}
    talks["pool-2"].change(archived=True)
    assert found(ada_agent, "yesterday") == set()


@pytest.mark.usefixtures("said")
def test_what_was_said_last_comes_first_and_as_much_as_is_asked_for(ada_agent, talks):
    asked = {"query": "What did we talk about in the last 60 days?"}
    answer = ada_agent.tool("episode_search", **asked).json
    assert [hit["conversation"]["external_id"] for hit in answer["results"]] == ["pool-2", "pool-1"]
    answer = ada_agent.tool("episode_search", **asked, limit=1).json
    assert ([hit["conversation"]["external_id"] for hit in answer["results"]], answer["truncated"]) == (
        ["pool-2"],
        False,
    )
    assert found(ada_agent, asked["query"], recency_days=7) == {"pool-2"}


def test_where_nothing_was_said_at_a_time_it_says_so(ada_agent, talks):
    answer = ada_agent.tool("episode_search", query="What did we talk about in May 2014?").json
    assert (answer["results"], answer["warnings"]) == ([], ["no episode is of that time"])


@pytest.mark.usefixtures("said")
def test_a_name_of_a_day_in_what_was_said_is_no_time_of_it(ada, ada_agent):
    talk = Talk(ada_agent, external_id="plans")
    talk.turn("The bakery is open yesterday evening, is it?", "It was, on Wednesday.")
    assert found(ada_agent, "yesterday") == {"pool-2"}


@pytest.mark.usefixtures("said")
@pytest.mark.parametrize(
    "query", ["Which key did we talk about yesterday?", '"yesterday"', "What is planned for tomorrow?"]
)
def test_who_asks_for_more_than_a_past_time_is_answered_by_words(ada_agent, query):
    answer = ada_agent.tool("episode_search", query=query).json
    assert "no episode is of that time" not in answer.get("warnings", [])


@pytest.mark.usefixtures("said")
def test_another_user_has_said_nothing(client, bob, talks):
    assert found(Agent(client, bob.headers), "yesterday") == set()


def test_incognito_says_nothing_of_a_time_that_it_did_not_look_for(ada_agent, talks):
    ada_agent.post("/v1/memory/incognito/start", {"session": "quiet"})
    answer = ada_agent.in_session("quiet").tool("episode_search", query="What happened last week?").json
    assert (answer["degraded"], "warnings" in answer) == (["incognito"], False)


@pytest.mark.parametrize("tool", ["episode_search", "entity_search"])
def test_a_conversation_is_named_by_its_external_id_as_by_its_id(ada_agent, ada, bob, client, talks, tool):
    def asked(agent, **named):
        return agent.post(f"/v1/tools/{tool}", {"query": "where is the key", **named})

    by_id, by_name = (asked(ada_agent, conversation=each).json for each in (talks["work-1"].id, " work-1 "))
    # Not their scores: one is asked a moment later, by which all is older.
    found_by_id, found_by_name = ([each["id"] for each in answer["results"]] for answer in (by_id, by_name))
    assert (found_by_name, by_name["degraded"]) == (found_by_id, by_id["degraded"])
    assert by_name["degraded"] != asked(ada_agent, conversation="pool-1").json["degraded"] or by_name["results"]
    confined = Agent(client, ada.new_token("read", space="home"))
    unknown = [asked(agent, conversation="work-1") for agent in (Agent(client, bob.headers), confined)]
    unknown.append(asked(ada_agent, conversation="work-9"))
    assert {each.json["detail"] for each in unknown} == {"conversation: there is no such conversation"}


def test_of_two_conversations_of_one_name_that_of_the_space_is_meant(ada_agent, talks):
    other = Talk(ada_agent, external_id="work-1", space="home")
    other.turn("Who has the key of the boat?", "Nobody has.")
    refused = ada_agent.post("/v1/tools/episode_search", {"query": "key", "conversation": "work-1"})
    assert refused.json["detail"] == "conversation: names several: send its id"
    assert found(ada_agent, conversation="work-1", space="home", within=True) == {"work-1"}
    assert found(ada_agent, conversation="work-1", space="home") == {"work-1", "home-1"}
    assert found(replace(ada_agent, more={SPACE: "work"}), conversation="work-1") == {"work-1", "work-2"}


def test_an_external_id_may_look_like_an_id_of_ours(ada_agent, talks):
    own = str(uuid4())
    Talk(ada_agent, external_id=own, space="home").turn("Who has the key of the boat?", "Nobody has.")
    assert found(ada_agent, conversation=own) == {own, "home-1"}
    Talk(ada_agent, external_id=talks["work-1"].id, space="home").turn("Is there a key of the garage?", "None.")
    assert found(ada_agent, conversation=talks["work-1"].id) == {"work-1", "work-2"}
