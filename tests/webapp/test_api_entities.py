"""Entities over HTTP: each space knows its own, the pool none, and only a request moves one."""

from __future__ import annotations

from uuid import uuid4

import pytest
from api_agent import Agent, add_space, embed, fields, rows
from api_talk import Talk

from memory.clock import utc_now
from memory.enrichment.enrich import Enricher

ENTITIES = "/v1/entities"


@pytest.fixture
def read(ada):
    """Let the worker read what Ada's texts name."""
    enricher = Enricher(ada.runtime.sessions, utc_now)

    def _read():
        while enricher.enrich_user(ada.id):
            pass

    return _read


@pytest.fixture
def trip(ada):
    return add_space(ada, "trip")


@pytest.fixture
def work(ada):
    return add_space(ada, "work")


@pytest.fixture
def talk(agent, trip, read):
    """A conversation in the space `trip` that has named Beatrice."""
    talk = Talk(agent, space="trip")
    talk.turn("My sister Beatrice called about the ferry.", "How is she?")
    read()
    return talk


def named(agent, **query):
    """Return the names in the list."""
    return [entity["name"] for entity in agent.get(ENTITIES, **query).json["entities"]]


def found(agent, query="Beatrice", **arguments):
    """Return the names that the tool finds, and what it says it lacks beside vectors, which few tests make."""
    answer = agent.tool("entity_search", query=query, **arguments)
    assert answer.status_code == 200, answer.json
    lacking = [word for word in answer.json["degraded"] if word != "semantic"]
    return [hit["name"] for hit in answer.json["results"]], lacking


def the_id(agent, name="Beatrice", **query):
    return next(entity["id"] for entity in agent.get(ENTITIES, q=name, **query).json["entities"])


# The scopes of the project document


def test_a_conversation_of_no_project_has_no_entities(agent, read):
    talk = Talk(agent)
    talk.turn("My sister Beatrice called about the ferry.", "How is she?")
    read()
    assert found(agent, conversation=talk.id) == ([], ["no_entities_in_pool"])
    assert found(agent) == ([], ["no_entities_in_pool"])
    assert named(agent) == []


def test_a_conversation_of_a_project_sees_the_entities_of_the_project(agent, talk):
    other = Talk(agent, space="trip")
    assert found(agent, conversation=other.id)[0] == ["Beatrice"]
    assert found(agent, space="trip")[0] == ["Beatrice"]


def test_entities_of_one_project_are_not_seen_in_another(agent, talk, work):
    other = Talk(agent, space="work")
    assert found(agent, conversation=other.id) == ([], [])
    assert found(agent, space="work") == ([], [])
    assert named(agent, space="work") == []


def test_the_same_name_in_two_projects_is_two_entities(agent, talk, work, read):
    other = Talk(agent, space="work")
    other.turn("My colleague Beatrice left the company.", "Why?")
    read()
    trip, office = (agent.get(f"{ENTITIES}/{the_id(agent, space=space)}").json for space in ("trip", "work"))
    assert trip["notes"] == ["My sister Beatrice called about the ferry."]
    assert office["notes"] == ["My colleague Beatrice left the company."]


def test_added_to_a_project_a_conversation_sees_its_entities_at_once(agent, talk):
    other = Talk(agent)
    assert found(agent, conversation=other.id)[0] == []
    other.change(space="trip")
    assert found(agent, conversation=other.id)[0] == ["Beatrice"]


def test_removed_from_a_project_a_conversation_sees_none_at_once(agent, talk):
    talk.change(space="default")
    assert found(agent, conversation=talk.id) == ([], ["no_entities_in_pool"])


def test_entities_keep_the_project_that_they_were_found_in(agent, talk, work, read):
    talk.change(space="work")
    talk.turn("My colleague Rosalind called.", "And?")
    read()
    assert (named(agent, space="trip"), named(agent, space="work")) == (["Beatrice"], ["Rosalind"])


def test_what_was_said_before_it_joined_a_project_gives_it_no_entities(agent, trip, read):
    talk = Talk(agent)
    talk.turn("My sister Beatrice called about the ferry.", "How is she?")
    read()
    talk.change(space="trip")
    read()
    assert named(agent, space="trip") == []


def test_the_first_message_of_a_conversation_opened_in_a_project_is_of_the_project(agent, talk):
    assert named(agent, space="trip") == ["Beatrice"]


# Reading


def test_an_entity_tells_what_is_known_and_where_it_was_said(agent, talk, read):
    memory_id = agent.store("I told Beatrice about the hotel", space="trip")
    read()
    entity = agent.get(f"{ENTITIES}/{the_id(agent)}").json
    assert (entity["space"], entity["type"], entity["mentions"]) == ("trip", "person", 2)
    assert entity["notes"] == ["My sister Beatrice called about the ferry.", "I told Beatrice about the hotel"]
    first, second = entity["mentioned_in"]
    assert (first["memory_id"], first["conversation_id"]) == (memory_id, None)
    assert (second["memory_id"], second["conversation_id"]) == (None, talk.id)
    assert second["message_id"] == talk.messages()[0]["id"]
    assert 0 < second["confidence"] <= 1


def test_the_list_pages_from_the_most_mentioned(agent, trip, read):
    for text in ("I told Beatrice about Rosalind", "I told Beatrice about the hotel"):
        agent.store(text, space="trip")
    read()
    first = agent.get(ENTITIES, limit=1).json
    second = agent.get(ENTITIES, limit=1, cursor=first["next_cursor"]).json
    assert [page["entities"][0]["name"] for page in (first, second)] == ["Beatrice", "Rosalind"]
    assert second["next_cursor"] is None


def test_mentions_page_from_the_newest(agent, trip, read):
    for text in ("I told Beatrice about the ferry", "I told Beatrice about the hotel"):
        agent.store(text, space="trip")
        read()
    path = f"{ENTITIES}/{the_id(agent)}"
    first = agent.get(path, limit=1).json
    second = agent.get(path, limit=1, cursor=first["next_cursor"]).json
    assert [page["mentioned_in"][0]["sentence"][-5:] for page in (first, second)] == ["hotel", "ferry"]


def test_filters_of_the_list(agent, trip, read):
    agent.store("I met my sister Beatrice in Lisbon", space="trip")
    read()
    assert named(agent, type="place") == ["Lisbon"]
    assert named(agent, q="beat") == ["Beatrice"]
    assert agent.get(ENTITIES, space="default").json["degraded"] == ["no_entities_in_pool"]


@pytest.mark.parametrize(
    ("query", "field"),
    [({"limit": 0}, "limit"), ({"cursor": "x"}, "cursor"), ({"space": "nowhere"}, "space"), ({"q": "a\x00"}, "q")],
)
def test_bad_queries_are_refused_by_field(agent, query, field):
    response = agent.get(ENTITIES, **query)
    assert (response.status_code, fields(response)) == (422, [field])


def test_the_tool_finds_by_what_is_known_too(agent, talk, ada):
    embed(ada)
    answer = agent.tool("entity_search", query="who called about the ferry?", space="trip").json
    assert [hit["name"] for hit in answer["results"]] == ["Beatrice"]
    assert answer["results"][0]["signals"]["fts"]


def test_the_tool_is_described_and_recorded(agent, talk, ada):
    found(agent, space="trip")
    assert "entity_search" in {tool["name"] for tool in agent.get("/v1/tools").json["tools"]}
    (call,) = rows(ada, "SELECT affected_ids::text[], hits FROM tool_calls WHERE tool = 'entity_search'")
    assert (call.affected_ids, call.hits) == ([the_id(agent)], 1)


def test_the_tool_refuses_a_conversation_that_is_not_there(agent):
    response = agent.tool("entity_search", query="x", conversation=str(uuid4()))
    assert (response.status_code, fields(response)) == (422, ["conversation"])


def test_a_mention_tells_whose_words_it_stands_in(agent, trip, read):
    talk = Talk(agent, space="trip")
    talk.turn("My sister Beatrice called\nabout the ferry.", "I like how Beatrice writes to you.")
    agent.store("I think that Beatrice is at home", space="trip", role="assistant")
    read()
    mentions = agent.get(f"{ENTITIES}/{the_id(agent)}").json["mentioned_in"]
    asked, replied = (message["id"] for message in talk.messages())
    told = {mention["sentence"][:6]: (mention["role"], mention["message_id"]) for mention in mentions}
    assert told == {"My sis": ("user", asked), "I like": ("assistant", replied), "I thin": ("assistant", None)}


# What is out of force

SECRET = "I told Beatrice about the orchid house"


def everything_told(agent, space="trip"):
    """Return all that is answered about entities, as text."""
    listed = agent.get(ENTITIES, space=space)
    read = [agent.get(f"{ENTITIES}/{entity['id']}") for entity in listed.json["entities"]]
    searched = agent.tool("entity_search", query="Beatrice and the orchid house", space=space)
    return " ".join(answer.text for answer in (listed, *read, searched))


def test_an_expired_memory_says_nothing_of_an_entity(agent, ada, talk, read):
    memory_id = agent.store(SECRET, space="trip", expires_at="2999-01-01T00:00:00Z")
    read()
    embed(ada)
    assert "orchid" in agent.get(f"{ENTITIES}/{the_id(agent)}").text
    rows(ada, "UPDATE memories SET expires_at = now() WHERE id = :id RETURNING 1", id=memory_id)
    assert "orchid" not in everything_told(agent)
    assert "ferry" in everything_told(agent)


def test_an_expired_memory_names_nobody(agent, ada, trip, read):
    memory_id = agent.store(SECRET, space="trip", expires_at="2999-01-01T00:00:00Z")
    read()
    entity_id = the_id(agent)
    assert found(agent, space="trip")[0] == ["Beatrice"]
    rows(ada, "UPDATE memories SET expires_at = now() WHERE id = :id RETURNING 1", id=memory_id)
    assert "Beatrice" not in everything_told(agent).replace("Beatrice and the", "")
    assert agent.get(f"{ENTITIES}/{entity_id}").status_code == 404
    assert agent.delete(f"{ENTITIES}/{entity_id}").status_code == 404


def test_an_archived_conversation_names_nobody(agent, talk):
    talk.change(archived=True)
    answer = agent.tool("entity_search", query="Beatrice", space="trip").json
    assert (answer["results"], answer["token_count"], named(agent, space="trip")) == ([], 0, [])
    talk.change(archived=False)
    assert found(agent, space="trip")[0] == ["Beatrice"]


@pytest.mark.parametrize("status", ["archived", "superseded"])
def test_a_memory_that_is_not_active_says_nothing_of_an_entity(agent, ada, talk, read, status):
    memory_id = agent.store(SECRET, space="trip")
    read()
    embed(ada)
    assert "orchid" in everything_told(agent)
    agent.patch(f"/v1/memory/entries/{memory_id}", {"status": status})
    assert "orchid" not in everything_told(agent)
    agent.patch(f"/v1/memory/entries/{memory_id}", {"status": "active"})
    assert "orchid" in everything_told(agent)


def test_a_forgotten_memory_that_may_come_back_says_nothing_meanwhile(agent, talk, read):
    memory_id = agent.store(SECRET, space="trip")
    read()
    agent.delete(f"/v1/memory/entries/{memory_id}", undo="true")
    assert "orchid" not in everything_told(agent)
    agent.post(f"/v1/memory/entries/{memory_id}/restore")
    read()
    assert "orchid" in everything_told(agent)


# Moving and deleting


def test_an_entity_is_moved_on_request_and_the_audit_says_so(agent, talk, work):
    entity_id = the_id(agent)
    moved = agent.post(f"{ENTITIES}/{entity_id}/space", {"space": "work"})
    assert (moved.status_code, moved.json["space"]) == (200, "work")
    assert found(agent, space="trip")[0] == []
    assert found(agent, space="work")[0] == ["Beatrice"]
    events = agent.get("/v1/audit", action="entity.retagged").json["events"]
    assert [event["subject_id"] for event in events] == [entity_id]


def test_a_namesake_in_the_other_space_takes_the_mentions_over(agent, talk, work, read):
    agent.store("My colleague Beatrice left the company", space="work")
    read()
    merged = agent.post(f"{ENTITIES}/{the_id(agent, space='trip')}/space", {"space": "work"}).json
    assert (merged["id"], merged["mentions"]) == (the_id(agent, space="work"), 2)
    assert named(agent) == ["Beatrice"]


@pytest.mark.parametrize("space", ["default", "nowhere"])
def test_an_entity_moves_to_no_pool_and_to_no_unknown_space(agent, talk, space):
    response = agent.post(f"{ENTITIES}/{the_id(agent)}/space", {"space": space})
    assert (response.status_code, fields(response)) == (422, ["space"])
    assert named(agent, space="trip") == ["Beatrice"]


def test_a_deleted_entity_is_gone_and_its_texts_stay(agent, talk):
    entity_id = the_id(agent)
    assert agent.delete(f"{ENTITIES}/{entity_id}").status_code == 200
    assert agent.get(f"{ENTITIES}/{entity_id}").status_code == 404
    assert len(talk.messages()) == 2


def test_forgetting_a_memory_takes_its_sentence_out_of_every_entity(agent, talk, read):
    memory_id = agent.store("I told Beatrice about the secret hotel", space="trip")
    read()
    agent.delete(f"/v1/memory/entries/{memory_id}")
    assert "secret" not in agent.get(f"{ENTITIES}/{the_id(agent)}").text
    assert found(agent, query="secret hotel", space="trip")[0] == []


def test_deleting_a_conversation_takes_its_entities_along(agent, talk):
    agent.delete(talk.path)
    assert named(agent) == []


# Who sees what

BY_ID = [
    ("GET", "", None),
    ("DELETE", "", None),
    ("POST", "/space", {"space": "default"}),
]


@pytest.mark.parametrize(("method", "path", "body"), BY_ID)
def test_anothers_entity_answers_as_none(stranger, agent, talk, method, path, body):
    entity_id = the_id(agent)
    kwargs = {"json": body} if body else {}
    answers = [stranger.ask(method, f"{ENTITIES}/{each}{path}", **kwargs) for each in (entity_id, uuid4())]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json["detail"] == answers[1].json["detail"]
    assert named(agent) == ["Beatrice"]


@pytest.mark.parametrize(("method", "path", "body"), BY_ID)
def test_a_token_of_another_space_sees_no_entity(client, ada, agent, talk, work, method, path, body):
    confined = Agent(client, ada.new_token("read", "write", "forget", space="work"))
    kwargs = {"json": body} if body else {}
    assert confined.ask(method, f"{ENTITIES}/{the_id(agent)}{path}", **kwargs).status_code == 404
    assert named(confined) == []
    assert found(confined) == ([], [])


def test_a_confined_token_sees_its_own_space_and_moves_nothing_out(client, ada, agent, talk, work):
    confined = Agent(client, ada.new_token("read", "write", "forget", space="trip"))
    assert (named(confined), found(confined)[0]) == (["Beatrice"], ["Beatrice"])
    assert confined.post(f"{ENTITIES}/{the_id(agent)}/space", {"space": "work"}).status_code == 422


def test_a_confined_token_learns_of_no_conversation_that_left(client, ada, agent, talk, work):
    talk.change(space="work")
    confined = Agent(client, ada.new_token("read", space="trip"))
    (mention,) = confined.get(f"{ENTITIES}/{the_id(agent)}").json["mentioned_in"]
    assert (mention["conversation_id"], mention["episode_id"], mention["message_id"]) == (None, None, None)
    assert mention["sentence"] == "My sister Beatrice called about the ferry."


def test_the_strangers_words_make_no_entity_of_ours(stranger, agent, talk, bob):
    add_space(bob, "trip")
    assert named(stranger) == []
    assert found(stranger, space="trip") == ([], [])


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [("GET", "", "write"), ("GET", "/x", "write"), ("DELETE", "/x", "write"), ("POST", "/x/space", "read")],
)
def test_each_endpoint_needs_its_scope(client, ada, agent, talk, method, path, scope):
    lacking = Agent(client, ada.new_token(scope))
    path = path.replace("x", the_id(agent))
    assert lacking.ask(method, f"{ENTITIES}{path}").status_code == 403


def test_an_incognito_session_sees_and_moves_nothing(agent, talk, work):
    entity_id = the_id(agent)
    hidden = agent.in_session("s")
    hidden.post("/v1/memory/incognito/start", {})
    assert hidden.get(ENTITIES).json == {"entities": [], "next_cursor": None, "skipped": "incognito"}
    assert found(hidden, space="trip") == ([], ["incognito"])
    assert hidden.get(f"{ENTITIES}/{entity_id}").status_code == 409
    assert hidden.post(f"{ENTITIES}/{entity_id}/space", {"space": "work"}).status_code == 409
    assert named(agent, space="trip") == ["Beatrice"]


def test_an_incognito_session_may_delete_as_it_may_forget(agent, talk):
    entity_id = the_id(agent)
    hidden = agent.in_session("s")
    hidden.post("/v1/memory/incognito/start", {})
    answer = hidden.delete(f"{ENTITIES}/{entity_id}")
    assert (answer.status_code, answer.json) == (200, {"id": entity_id, "deleted": True})
    assert named(agent) == []


def test_incognito_does_not_tell_others_from_none(stranger, agent, talk):
    hidden = stranger.in_session("s")
    hidden.post("/v1/memory/incognito/start", {})
    for method in ("GET", "DELETE"):
        answers = [hidden.ask(method, f"{ENTITIES}/{each}") for each in (the_id(agent), uuid4())]
        assert [answer.status_code for answer in answers] == [404, 404]


def test_a_conversation_in_a_space_that_is_incognito_by_default_is_not_told(agent, talk, work):
    talk.change(space="work")
    agent.patch("/v1/spaces/work", {"incognito_default": True})
    (mention,) = agent.get(f"{ENTITIES}/{the_id(agent)}").json["mentioned_in"]
    assert (mention["conversation_id"], mention["episode_id"], mention["message_id"]) == (None, None, None)


def test_a_space_that_is_incognito_by_default_takes_no_place_on_a_page(agent, talk, work, read):
    Talk(agent, space="work").turn("My brother Gustav called.", "And?")
    read()
    agent.patch("/v1/spaces/work", {"incognito_default": True})
    page = agent.get(ENTITIES, limit=1).json
    assert ([entity["name"] for entity in page["entities"]], page["next_cursor"]) == (["Beatrice"], None)


def test_where_memory_is_off_nothing_is_found(agent, talk):
    agent.patch("/v1/spaces/trip", {"memory_enabled": False})
    assert found(agent, space="trip") == ([], ["memory_off"])
