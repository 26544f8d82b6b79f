"""What has a tag is found in another space as well, where its owner says so, and nothing else is."""

from __future__ import annotations

import re

import pytest
from api_agent import ENTRIES, Agent, add_space, embed, fields, rows
from api_talk import Talk
from spoken import say

SHARED, PRIVATE = "The oven runs ten degrees too hot", "The oven was bought with the bonus of March"
OWN = "Ines sings in the choir on Tuesdays"
QUESTION = "What is known about the oven?"


@pytest.fixture
def kitchen(ada):
    return add_space(ada, "home")


@pytest.fixture
def work(ada):
    return add_space(ada, "work")


@pytest.fixture
def at_work(client, ada, work):
    """An agent that is confined to one space."""
    return Agent(client, ada.new_token("read", "write", "forget", space=work))


@pytest.fixture
def notes(agent, kitchen, work, ada):
    """Two memories of one space, of which one has the tag, and one of the other."""
    shared = agent.store(SHARED, space=kitchen, tags=["kitchen"])
    private = agent.store(PRIVATE, space=kitchen)
    own = agent.store(OWN, space=work)
    embed(ada)
    return shared, private, own


def shares_of(space):
    return f"/v1/spaces/{space}/shares"


@pytest.fixture
def share(agent, kitchen, work, notes):
    assert agent.post(shares_of(kitchen), {"tag": "kitchen", "found_in": work}).status_code == 201
    return {"space": kitchen, "tag": "kitchen", "found_in": work}


def test_what_has_the_tag_is_found_in_the_other_space_and_nothing_else_is(at_work, agent, notes, share):
    assert at_work.found(QUESTION) == [SHARED]
    (hit,) = at_work.tool("memory_search", query=QUESTION).json["results"]
    assert (hit["id"], hit["space"]) == (notes[0], "home")
    assert agent.found(QUESTION, space="work") == [SHARED]


def test_without_a_share_nothing_of_another_space_is_found(at_work, notes):
    assert at_work.found(QUESTION) == []


def test_a_share_goes_one_way(agent, share):
    assert agent.found("Who sings in the choir?", space="home") == []


def test_what_the_space_has_itself_names_no_space(at_work, share):
    (hit,) = at_work.tool("memory_search", query="Who sings in the choir?").json["results"]
    assert hit["content_snippet"] == OWN
    assert "space" not in hit


@pytest.mark.parametrize("policy", [{"legs": ["keyword"]}, {"legs": ["semantic"]}, {"fusion": "rrf"}])
def test_each_leg_finds_what_is_shared_alone(at_work, share, policy):
    assert at_work.found(QUESTION, policy=policy, min_score=0) in ([SHARED], [SHARED, OWN], [OWN, SHARED])


def test_what_is_quoted_of_other_memories_is_not_found(at_work, share):
    assert at_work.found('"bonus of March"') == []
    assert at_work.found('"ten degrees"') == [SHARED]


def test_the_time_that_is_asked_for_finds_what_is_shared_alone(at_work, share):
    assert set(at_work.found("What happened today?")) == {SHARED, OWN}


def test_how_often_other_memories_have_a_word_is_not_told(agent, at_work, share):
    def score():
        (hit,) = at_work.tool("memory_search", query="oven degrees").json["results"]
        return hit["explanation"]["keyword"]["score"]

    before = score()
    for number in range(5):
        agent.store(f"The oven of house number {number} is of no interest", space="home")
    assert score() == before


@pytest.mark.parametrize(
    "stop",
    [
        lambda agent, note, share: agent.delete(shares_of("home"), tag="kitchen", found_in="work"),
        lambda agent, note, share: agent.patch(f"{ENTRIES}/{note}", {"tags": ["oven"]}),
        lambda agent, note, share: agent.patch(f"{ENTRIES}/{note}", {"status": "archived"}),
        lambda agent, note, share: agent.patch("/v1/spaces/home", {"memory_enabled": False}),
        lambda agent, note, share: agent.patch("/v1/spaces/home", {"incognito_default": True}),
        lambda agent, note, share: agent.delete(f"{ENTRIES}/{note}"),
    ],
    ids=["unshared", "untagged", "archived", "off", "incognito", "forgotten"],
)
def test_it_stops_at_once(agent, at_work, notes, share, stop):
    assert at_work.get(f"{ENTRIES}/{notes[0]}").status_code == 200
    assert stop(agent, notes[0], share).status_code == 200
    assert at_work.found(QUESTION) == []
    assert at_work.get(f"{ENTRIES}/{notes[0]}").status_code == 404
    assert at_work.tool("memory_get", item_id=notes[0]).status_code == 404


def test_a_session_that_is_incognito_finds_nothing_shared(at_work, share):
    quiet = at_work.in_session("quiet")
    quiet.post("/v1/memory/incognito/start", {})
    answer = quiet.tool("memory_search", query=QUESTION).json
    assert (answer["results"], answer["degraded"]) == ([], ["incognito"])


def test_what_is_shared_is_read_by_its_id_without_what_it_is_tied_to(agent, at_work, share):
    train = "The train to Basel leaves at 9 from platform 3."
    memory_id = agent.store(train, space="home", tags=["kitchen"])
    agent.store(train.replace("3.", "4."), space="home")
    older = agent.store("The train to Basel leaves early", space="home")
    assert agent.patch(f"{ENTRIES}/{memory_id}", {"supersedes": older}).status_code == 200
    known = agent.entry(memory_id)
    assert (len(known["possible_updates"]), known["supersedes"]) == (1, older)
    read = at_work.get(f"{ENTRIES}/{memory_id}").json
    assert (read["text"], read["possible_updates"], read["supersedes"]) == (train, [], None)
    read = at_work.tool("memory_get", item_id=memory_id).json
    assert (read["content"], read["possible_updates"], read["supersedes"]) == (train, [], None)


def test_the_theme_that_is_told_of_what_is_shared_narrows_a_search_too(agent, at_work, notes, share):
    shared, private, _ = notes
    agent.patch(f"{ENTRIES}/{shared}", {"theme": "machines"})
    agent.patch(f"{ENTRIES}/{private}", {"theme": "money"})

    def asked(theme):
        return at_work.tool("memory_search", query=QUESTION, theme=theme)

    (hit,) = asked("machines").json["results"]
    assert (hit["id"], hit["theme"]) == (shared, "machines")
    assert [asked(theme).status_code for theme in ("money", "unheard")] == [422, 422]
    agent.patch(f"{ENTRIES}/{shared}", {"status": "archived"})
    assert asked("machines").status_code == 422


def test_another_spelling_of_the_tag_is_not_shared(agent, at_work, ada, share):
    memory_id = agent.store("The fridge hums at night", space="home", tags=["Kitchen"])
    embed(ada)
    assert at_work.found("What hums at night?") == []
    assert at_work.get(f"{ENTRIES}/{memory_id}").status_code == 404


def test_it_is_read_and_neither_changed_nor_forgotten_from_there(at_work, agent, notes, share):
    path = f"{ENTRIES}/{notes[0]}"
    asked = [
        at_work.patch(path, {"text": "Something else"}),
        at_work.delete(path),
        at_work.post(f"{path}/pin"),
        at_work.get(f"{path}/revisions"),
        at_work.get(f"{path}/uses"),
        at_work.tool("memory_update", item_id=notes[0], tags=[]),
        at_work.tool("memory_delete", item_id=notes[0]),
    ]
    assert {response.status_code for response in asked} == {404}
    assert agent.entry(notes[0])["text"] == SHARED


def test_a_command_tells_what_is_shared_and_changes_nothing_of_it(agent, at_work, notes, share):
    told = say(at_work, "What do you remember about the oven?")
    assert [memory["id"] for memory in told["memories"]] == [notes[0]]
    for agents in (at_work, agent):
        in_work = {"conversation": Talk(agents, space="work").id}
        assert not say(agents, "forget what I said about the oven", **in_work)["done"]
    assert not say(at_work, "forget the first one")["done"]
    assert agent.entry(notes[0])["text"] == SHARED


def test_lists_of_the_space_are_without_it(at_work, share):
    assert at_work.texts() == [OWN]


def test_what_stands_in_for_a_long_text_must_have_the_tag_too(agent, at_work, ada, share):
    long = agent.store("The garden has beans. " * 60, space="home", tags=["kitchen"])
    hidden = "A year of the garden, and what the neighbour said of it"
    agent.store(hidden, space="home", type="summary", source_ids=[long])
    embed(ada)
    (found,) = at_work.found("What grows in the garden?", token_budget=100)
    assert found != hidden
    assert "beans" in found


def test_the_space_of_a_call_and_a_block_for_a_prompt_have_it(agent, at_work, share):
    block = at_work.post("/v1/memory/context", {"query": QUESTION}).json["context"]
    assert (SHARED in block, re.findall('space="([^"]+)"', block)) == (True, ["home"])
    own = at_work.post("/v1/memory/context", {"query": "Who sings in the choir?"}).json["context"]
    assert (OWN in own, "space=" in own) == (True, False)
    (memory,) = at_work.tool("query_memory", query=QUESTION).json["memories"]
    assert memory["context"].endswith("shared from the space home")


def test_of_the_conversation_that_it_was_said_in_nothing_is_told(agent, at_work, ada, share):
    talk = Talk(agent, space="home", title="With the landlord")
    said = talk.say("The boiler was serviced by Ruiz.")
    text = "Ruiz serviced the boiler"
    memory_id = agent.store(text, space="home", tags=["kitchen"], source_message_id=said["id"])
    embed(ada)
    memory, *_ = at_work.tool("query_memory", query="Who serviced the boiler?").json["memories"]
    assert (memory["content"], "landlord" in memory["context"]) == (text, False)
    assert at_work.get(f"{ENTRIES}/{memory_id}").json["source"] is None


def test_both_share_one_budget_and_one_limit(agent, at_work, ada, share):
    for number in range(4):
        agent.store(f"Oven mitt number {number} hangs by the door", space="home", tags=["kitchen"])
        agent.store(f"The oven of the studio has {number} shelves", space="work")
    embed(ada)
    assert len(at_work.found("oven", limit=3)) == 3
    # The second asks for what only the space itself has.
    for question in ("oven", "shelves"):
        answer = at_work.tool("memory_search", query=question, token_budget=20).json
        assert (answer["token_count"] <= 20, answer["truncated"]) == (True, True)


def test_the_same_text_is_found_once(agent, at_work, ada, share):
    own = agent.store(SHARED, space="work")
    embed(ada)
    (hit,) = at_work.tool("memory_search", query=QUESTION).json["results"]
    assert hit["id"] == own


def test_shares_are_listed_on_both_sides(agent, kitchen, work, share):
    assert agent.get(shares_of(kitchen)).json == {"shares": [share]}
    assert agent.get(shares_of(work)).json == {"shares": [share]}
    back = {"space": work, "tag": "tools", "found_in": kitchen}
    assert agent.post(shares_of(work), {"tag": "tools", "found_in": kitchen}).json == {"shares": [back, share]}


def test_the_same_share_twice_is_one(agent, ada, kitchen, work, share):
    assert agent.post(shares_of(kitchen), {"tag": " kitchen ", "found_in": work}).json == {"shares": [share]}
    agent.delete(shares_of(kitchen), tag="kitchen", found_in=work)
    said = rows(ada, "SELECT action FROM audit_events WHERE action LIKE 'space.%shared' ORDER BY created_at, id")
    assert [row.action for row in said] == ["space.shared", "space.unshared"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tag": "", "found_in": "work"}, "tag"),
        ({"tag": "x" * 101, "found_in": "work"}, "tag"),
        ({"tag": "kitchen", "found_in": "nowhere"}, "found_in"),
        ({"tag": "kitchen", "found_in": "home"}, "found_in"),
        ({"tag": "kitchen"}, "found_in"),
    ],
)
def test_a_share_that_cannot_be_says_which_field(agent, kitchen, work, body, field):
    response = agent.post(shares_of(kitchen), body)
    assert (response.status_code, fields(response)) == (422, [field])
    assert agent.get(shares_of(kitchen)).json == {"shares": []}


def test_a_space_finds_so_many_shares_and_no_more(agent, kitchen, work):
    for number in range(8):
        assert agent.post(shares_of(kitchen), {"tag": f"tag {number}", "found_in": work}).status_code == 201
    response = agent.post(shares_of(kitchen), {"tag": "one more", "found_in": work})
    assert (response.status_code, fields(response)) == (409, ["found_in"])
    assert len(agent.get(shares_of(kitchen)).json["shares"]) == 8


def test_one_of_two_shares_is_stopped(agent, ada, kitchen, work, share):
    add_space(ada, "club")
    agent.post(shares_of(kitchen), {"tag": "kitchen", "found_in": "club"})
    assert agent.delete(shares_of(kitchen), tag="kitchen", found_in="club").json == {"shares": [share]}


def test_what_is_not_shared_cannot_be_stopped(agent, kitchen, work):
    assert agent.delete(shares_of(kitchen), tag="kitchen", found_in=work).status_code == 404
    assert agent.delete(shares_of(kitchen), tag="kitchen", found_in="nowhere").status_code == 404


def test_a_confined_token_neither_sees_nor_makes_shares(at_work, share):
    asked = [
        at_work.get(shares_of("work")),
        at_work.post(shares_of("work"), {"tag": "kitchen", "found_in": "home"}),
        at_work.delete(shares_of("work"), tag="kitchen", found_in="home"),
    ]
    assert [response.status_code for response in asked] == [403] * 3
    assert at_work.get(shares_of("home")).status_code == 404


def test_nobody_elses_space_is_shared_with(client, agent, kitchen, new_person):
    bob = new_person("bob-of-shares")
    add_space(bob, "club")
    response = agent.post(shares_of(kitchen), {"tag": "kitchen", "found_in": "club"})
    assert (response.status_code, fields(response)) == (422, ["found_in"])


def test_a_share_goes_with_either_space(agent, ada, kitchen, work, share):
    expect = agent.get("/v1/spaces/work/contents").json["expect"]
    agent.delete("/v1/spaces/work", contents="move", expect=expect)
    assert agent.get(shares_of(kitchen)).json == {"shares": []}
    assert agent.found(QUESTION) == []


@pytest.mark.parametrize("removed", ["home", "work"])
@pytest.mark.parametrize("choice", ["move", "archive", "forget"])
def test_shares_end_with_either_space_and_that_is_said_before(agent, ada, share, removed, choice):
    add_space(ada, "club")
    found = agent.get(f"/v1/spaces/{removed}/contents", into="club").json
    assert found["plans"][choice]["shares_ended"] == 1
    answer = agent.delete(f"/v1/spaces/{removed}", contents=choice, into="club", expect=found["expect"])
    assert (answer.status_code, answer.json["shares_ended"]) == (200, 1)
    assert [agent.get(shares_of(space)).json["shares"] for space in ("club", *({"home", "work"} - {removed}))] == [
        [],
        [],
    ]
    assert SHARED not in agent.found(QUESTION, space="work" if removed == "home" else "club")


def test_a_space_that_shares_more_than_was_said_is_not_removed(agent, kitchen, share):
    expected = agent.get("/v1/spaces/home/contents").json["expect"]
    agent.post(shares_of(kitchen), {"tag": "oven", "found_in": "work"})
    assert agent.delete("/v1/spaces/home", contents="move", expect=expected).status_code == 409
