"""Removing a space over HTTP: said first, then done, with nothing left behind or lost."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from api_agent import ENTRIES, NOBODYS_ID, Agent, embed, fields, rows
from api_talk import Talk, titles

from memory.clock import utc_now
from memory.ids import new_id
from memory.models import Entity, EntityMention, Space
from memory.redaction.redaction import REDACTED

WORK = "/v1/spaces/work"
MODES = ["move", "archive", "forget"]
modes = pytest.mark.parametrize("mode", MODES)


def name_entity(person, memory_id, name, space="work"):
    """Let a memory of a space mention somebody, as enrichment would find it."""
    now = utc_now()
    with person.session() as session:
        space_id = session.query(Space).filter_by(slug=space).one().id
        entity = Entity(user_id=person.id, id=new_id(), space_id=space_id, name=name, name_key=name.lower())
        entity.type, entity.created_at, entity.updated_at = "PERSON", now, now
        session.add(entity)
        session.flush()
        mention = EntityMention(user_id=person.id, entity_id=entity.id, memory_id=UUID(memory_id), confidence=0.9)
        mention.sentence, mention.created_at = f"{name} was there.", now
        session.add(mention)


class Work:
    """A project with something of everything in it."""

    def __init__(self, agent, person):
        assert agent.post("/v1/spaces", {"slug": "work"}).status_code == 201
        agent.store("The plan is on the wall")
        self.kiln = agent.store("The kiln reaches cone ten by noon", space="work", tags=["kiln"])
        self.plan = agent.store("the plan is on the WALL", space="work", tags=["plan"], manually_saved=True)
        self.glaze = agent.store("Celadon glaze needs iron", space="work")
        self.old = agent.store("Cobalt glaze needs cobalt", space="work")
        agent.patch(f"{ENTRIES}/{self.old}", {"status": "archived"})
        self.gone = agent.store("The clay comes from Limoges", space="work")
        agent.delete(f"{ENTRIES}/{self.gone}", undo="true")
        self.talk = Talk(agent, space="work", external_id="thread-1", title="Firing")
        self.talk.turn("When do we fire the kiln?", "On Friday at dawn, said Marguerite.")
        self.other = Talk(agent, space="work", title="Glazing")
        self.pooled = Talk(agent, external_id="thread-2", title="Pooled")
        self.agent = agent
        self.token = person.new_token("read", "write", space="work")
        # A token of the space alone does not see the pool's conversation of that name.
        self.twin = Talk(Agent(agent.client, self.token), external_id="thread-2", title="Twin")
        self.twin.agent = agent
        name_entity(person, self.kiln, "Marguerite")
        for place in ("the yard", "the barn"):
            fact = {"subject": "The kiln", "predicate": "stands in", "object": place, "space": "work"}
            assert agent.post("/v1/facts", fact).status_code == 201


@pytest.fixture
def work(agent, ada):
    return Work(agent, ada)


@pytest.fixture(scope="module")
def standing(app, new_person):
    """A project that no test removes or changes."""
    person = new_person("ada")
    return Work(Agent(app.test_client(), person.headers), person)


class Removed:
    """A project that has been removed, what was said before, and what was answered; tests only look at it."""

    def __init__(self, agent, person, mode):
        self.agent, self.person, self.mode = agent, person, mode
        self.work = Work(agent, person)
        embed(person)
        self.said = contents(agent)["plans"][mode]
        self.answer = remove(agent, mode)


@pytest.fixture(scope="module", params=MODES)
def removed(request, app, new_person):
    person = new_person("ada")
    return Removed(Agent(app.test_client(), person.headers), person, request.param)


def contents(agent, path=WORK):
    answer = agent.get(f"{path}/contents")
    assert answer.status_code == 200, answer.text
    return answer.json


def remove(agent, mode, **query):
    expect = query.pop("expect", None) or contents(agent)["expect"]
    return agent.delete(WORK, contents=mode, expect=expect, **query)


def episodes(agent, query, **arguments):
    return [hit["content_snippet"] for hit in agent.tool("episode_search", query=query, **arguments).json["results"]]


# --- what it says first -----------------------------------------------------------------------------------------------


def test_it_says_how_many_of_each_thing_there_are(standing):
    found = contents(standing.agent)
    assert found.pop("plans")
    assert len(found.pop("expect")) == 32
    assert found == {
        "space": "work",
        "memories": {"active": 3, "superseded": 0, "archived": 1},
        "conversations": 3,
        "messages": 2,
        "episodes": 1,
        "entities": 1,
        "facts": 2,
        "tokens": 1,
        "restorable": 1,
        "into": "default",
    }


def test_it_says_what_each_choice_would_touch(standing):
    gone = {"entities_dropped": 1, "tokens_revoked": 1, "shares_ended": 0}
    assert contents(standing.agent)["plans"] == {
        "move": {
            "memories_moved": 3,
            "memories_merged": 1,
            "memories_trimmed": 0,
            "conversations_moved": 3,
            "conversations_renamed": 1,
            "facts_moved": 2,
            **gone,
        },
        "archive": {
            "memories_archived": 3,
            "memories_moved": 4,
            "conversations_archived": 3,
            "conversations_renamed": 1,
            "facts_moved": 2,
            "facts_ended": 1,
            **gone,
        },
        "forget": {
            "memories_forgotten": 4,
            "restorable_dropped": 1,
            "conversations_deleted": 3,
            "messages_deleted": 2,
            "episodes_deleted": 1,
            "facts_deleted": 2,
            **gone,
        },
    }


def test_the_default_space_has_contents_and_no_choice(standing):
    found = contents(standing.agent, "/v1/spaces/default")
    assert (found["memories"]["active"], found["plans"]) == (1, {})


def test_an_empty_space_has_nothing(agent):
    agent.post("/v1/spaces", {"slug": "work"})
    found = contents(agent)
    assert {number for plan in found["plans"].values() for number in plan.values()} == {0}
    assert remove(agent, "move").status_code == 200


def test_it_does_what_it_said(removed):
    told = {"space": "work", "removed": True, "contents": removed.mode, **removed.said}
    assert removed.answer.json == told


@modes
def test_the_space_is_gone(agent, work, mode):
    remove(agent, mode)
    assert agent.get(WORK).status_code == 404
    assert [space["slug"] for space in agent.get("/v1/spaces").json["spaces"]] == ["default"]
    assert fields(agent.get(ENTRIES, space="work")) == ["space"]
    assert agent.post("/v1/spaces", {"slug": "work"}).status_code == 201


CHANGES = {
    "a new memory": lambda agent, work: agent.store("Another", space="work"),
    "a changed memory": lambda agent, work: agent.patch(f"{ENTRIES}/{work.kiln}", {"text": "The kiln is cold"}),
    "an archived memory": lambda agent, work: agent.patch(f"{ENTRIES}/{work.kiln}", {"status": "archived"}),
    "a forgotten memory": lambda agent, work: agent.delete(f"{ENTRIES}/{work.kiln}"),
    "a restored memory": lambda agent, work: agent.post(f"{ENTRIES}/{work.gone}/restore"),
    "a new message": lambda agent, work: work.talk.say("One more thing"),
    "a new conversation": lambda agent, work: Talk(agent, space="work"),
    "a moved conversation": lambda agent, work: work.talk.change(space="default"),
    "the same text in the pool": lambda agent, work: agent.store("Celadon glaze needs iron"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_has_changed_since_is_not_removed(agent, work, change):
    expect = contents(agent)["expect"]
    change(agent, work)
    for mode in MODES:
        answer = remove(agent, mode, expect=expect)
        assert (answer.status_code, "has changed" in answer.json["detail"]) == (409, True), mode
        assert agent.get(WORK).status_code == 200, mode
        assert agent.entry(work.glaze)["space"] == "work", mode


@modes
def test_what_the_worker_finds_in_it_meanwhile_does_not_keep_it(agent, ada, work, mode):
    expect = contents(agent)["expect"]
    name_entity(ada, work.kiln, "Grace")
    answer = remove(agent, mode, expect=expect)
    assert (answer.status_code, answer.json["entities_dropped"]) == (200, 2)


# --- moved ------------------------------------------------------------------------------------------------------------


def test_moved_memories_are_in_the_pool(agent, work):
    remove(agent, "move")
    assert sorted(agent.texts()) == [
        "Celadon glaze needs iron",
        "The kiln reaches cone ten by noon",
        "The plan is on the wall",
    ]
    assert agent.texts(status="archived") == ["Cobalt glaze needs cobalt"]


@pytest.mark.parametrize("policy", ["keyword", "semantic"])
def test_moved_memories_are_found_at_once(agent, ada, work, policy):
    embed(ada)
    assert "The kiln reaches cone ten by noon" not in agent.found("how hot does the kiln get", min_score=0)
    remove(agent, "move")
    found = agent.found("how hot does the kiln get", policy={"legs": [policy]}, min_score=0)
    assert found[0] == "The kiln reaches cone ten by noon"


def test_what_the_pool_says_already_is_merged(agent, work):
    remove(agent, "move")
    entry = next(entry for entry in agent.get(ENTRIES).json["entries"] if entry["text"] == "The plan is on the wall")
    assert (entry["repeat_count"], entry["tags"], entry["manually_saved"]) == (1, ["plan"], True)
    assert agent.get(f"{ENTRIES}/{work.plan}").status_code == 404


def test_moved_episodes_are_found_in_the_pool_at_once(agent, work):
    assert episodes(agent, "fire the kiln", min_score=0) == []
    remove(agent, "move")
    assert "Friday at dawn" in episodes(agent, "fire the kiln", min_score=0)[0]
    assert work.talk.head()["space"] == "default"


def test_a_conversation_whose_name_is_taken_gets_another(agent, work):
    remove(agent, "move")
    assert (work.talk.head()["external_id"], work.twin.head()["external_id"]) == ("thread-1", work.twin.id)
    assert Talk(agent, external_id="thread-2").id == work.pooled.id


def test_what_was_forgotten_is_restored_where_the_others_are(agent, work):
    remove(agent, "move")
    assert agent.post(f"{ENTRIES}/{work.gone}/restore").json["space"] == "default"


def test_what_was_forgotten_stays_refused(agent, work):
    agent.delete(f"{ENTRIES}/{work.glaze}")
    remove(agent, "move")
    assert agent.post(ENTRIES, {"text": "Celadon glaze needs iron"}).json["reason"] == "tombstone"


def test_what_was_forgotten_in_the_pool_does_not_come_back_with_the_space(agent, work):
    agent.delete(f"{ENTRIES}/{agent.store('Celadon glaze needs iron')}")
    assert remove(agent, "move").json["memories_archived"] == 1
    assert "Celadon glaze needs iron" in agent.texts(status="archived")
    assert "Celadon glaze needs iron" not in agent.found("What does celadon glaze need?", min_score=0)


def test_the_soft_cap_of_the_pool_holds_and_is_told_before(agent, work):
    agent.patch("/v1/spaces/default", {"soft_cap": 2})
    assert contents(agent)["plans"]["move"]["memories_trimmed"] == 1
    remove(agent, "move")
    assert len(agent.texts()) == 2
    # Saved by hand in the one space, it is held in the other.
    assert "The plan is on the wall" in agent.texts()


def test_a_cap_that_only_held_memories_exceed_takes_nothing(agent, work):
    agent.patch("/v1/spaces/default", {"soft_cap": 1})
    for each in (work.kiln, work.glaze):
        agent.post(f"{ENTRIES}/{each}/pin")
    assert contents(agent)["plans"]["move"]["memories_trimmed"] == 0
    remove(agent, "move")
    assert len(agent.texts()) == 3


# --- archived ---------------------------------------------------------------------------------------------------------


def test_archived_memories_are_out_of_sight_and_in_the_pool(agent, work):
    remove(agent, "archive")
    assert agent.texts() == ["The plan is on the wall"]
    assert agent.found("kiln glaze plan", min_score=0) == ["The plan is on the wall"]
    assert len(agent.texts(status="archived")) == 4
    assert {entry["space"] for entry in agent.get(ENTRIES, status="any").json["entries"]} == {"default"}


def test_archived_conversations_are_out_of_search(agent, work):
    remove(agent, "archive")
    assert episodes(agent, "fire the kiln", min_score=0) == []
    assert work.talk.head()["archived_at"] is not None
    assert work.talk.said() == ["When do we fire the kiln?", "On Friday at dawn, said Marguerite."]
    assert titles(agent, archived="false") == ["Pooled"]


def test_what_was_forgotten_is_restored_into_the_archive(agent, work):
    remove(agent, "archive")
    assert agent.post(f"{ENTRIES}/{work.gone}/restore").json["status"] == "archived"


# --- into another space -----------------------------------------------------------------------------------------------


@pytest.fixture
def studio(agent, work):
    """A second project that has one of the memories, one of the names and one of the conversations of the first."""
    agent.post("/v1/spaces", {"slug": "studio"})
    agent.store("The plan is on the wall", space="studio")
    other = agent.store("Marguerite was there.", space="studio")
    Talk(agent, space="studio", external_id="thread-1", title="Firing elsewhere")
    return other


def test_a_space_may_join_any_other_and_nothing_of_it_is_lost(agent, ada, work, studio):
    name_entity(ada, studio, "Marguerite", space="studio")
    name_entity(ada, work.glaze, "Celadon")
    embed(ada)
    told = agent.get(f"{WORK}/contents", into="studio").json
    assert told["into"] == "studio"
    before = {space: sorted(agent.texts(space=space)) for space in ("default", "work", "studio")}
    answer = remove(agent, "move", into="studio", expect=told["expect"])
    assert answer.status_code == 200, answer.text
    assert {name: answer.json[name] for name in told["plans"]["move"]} == told["plans"]["move"]
    counts = ("memories_merged", "conversations_renamed", "entities_moved", "entities_dropped", "facts_moved")
    assert [answer.json[each] for each in counts] == [1, 1, 2, 0, 2]
    assert agent.get(WORK).status_code == 404
    assert sorted(agent.texts(space="default")) == before["default"]
    kept = {each for each in before["work"] if each.lower() != "the plan is on the wall"}
    assert set(agent.texts(space="studio")) == {*before["studio"], *kept}
    assert "The kiln reaches cone ten by noon" in agent.found("kiln cone", space="studio")
    assert agent.found("kiln cone", space="default") == []
    assert episodes(agent, "kiln fire Friday", space="studio")
    entities = agent.get("/v1/entities", space="studio").json["entities"]
    assert sorted((each["name"], each["mentions"]) for each in entities) == [("Celadon", 1), ("Marguerite", 2)]
    assert [hit["name"] for hit in agent.tool("entity_search", query="Celadon", space="studio").json["results"]]
    restored = agent.post(f"{ENTRIES}/{work.gone}/restore", {})
    assert restored.json["space"] == "studio"


def test_a_join_is_on_record_with_both_spaces(agent, ada, work, studio):
    remove(agent, "move", into="studio", expect=agent.get(f"{WORK}/contents", into="studio").json["expect"])
    events = rows(ada, "SELECT action, details FROM audit_events")
    (gone,) = [details for action, details in events if action == "space.removed"]
    assert (gone["slug"], gone["into"]) == ("work", "studio")
    moved = {action: details for action, details in events if action.endswith((".moved", ".retagged"))}
    assert moved.keys() == {"memory.moved", "conversation.moved", "entity.retagged"}
    assert {(each["space"], each["to"]) for each in moved.values()} == {("work", "studio")}


def test_what_was_counted_for_one_space_moves_into_no_other(agent, work, studio):
    assert remove(agent, "move", into="studio").status_code == 409
    assert agent.get(WORK).status_code == 200


def test_what_is_forgotten_is_barred_from_the_pool_whatever_was_to_take_the_rest(agent, work, studio):
    told = agent.get(f"{WORK}/contents", into="studio").json
    assert remove(agent, "forget", into="studio", expect=told["expect"]).status_code == 200
    kiln = {"text": "The kiln reaches cone ten by noon"}
    assert agent.post(ENTRIES, kiln).status_code == 409
    assert agent.post(ENTRIES, {**kiln, "space": "studio"}).status_code == 201


@pytest.mark.parametrize("into", ["work", "nowhere"])
def test_a_space_joins_neither_itself_nor_one_that_is_not_there(agent, work, into):
    for answer in (agent.get(f"{WORK}/contents", into=into), remove(agent, "move", into=into)):
        assert (answer.status_code, answer.json["errors"][0]["field"]) == (422, "into")


def test_a_space_that_is_closed_takes_none_and_tells_nothing(agent, work, studio):
    agent.patch("/v1/spaces/studio", {"incognito_default": True})
    for answer in (agent.get(f"{WORK}/contents", into="studio"), remove(agent, "move", into="studio")):
        assert (answer.status_code, answer.json.get("reason")) == (409, "incognito")


@pytest.mark.parametrize("default", [False, True])
@modes
def test_in_incognito_a_space_may_be_forgotten_and_not_moved(agent, work, default, mode):
    if default:
        agent.patch(WORK, {"incognito_default": True})
    else:
        agent.post("/v1/memory/incognito/start", {})
    answer = remove(agent, mode)
    assert (answer.status_code, answer.json.get("reason")) == ((200, None) if mode == "forget" else (409, "incognito"))
    assert agent.get(WORK).status_code == (404 if mode == "forget" else 200)


def test_a_space_whose_memory_is_off_takes_none(agent, work, studio):
    agent.patch("/v1/spaces/studio", {"memory_enabled": False})
    told = agent.get(f"{WORK}/contents", into="studio").json
    answer = remove(agent, "move", into="studio", expect=told["expect"])
    assert (answer.status_code, answer.json["reason"]) == (409, "memory_off")


def test_anothers_space_takes_nothing(agent, work, stranger):
    stranger.post("/v1/spaces", {"slug": "theirs"})
    assert agent.get(f"{WORK}/contents", into="theirs").status_code == 422


# --- forgotten --------------------------------------------------------------------------------------------------------


def test_forgotten_memories_are_gone_for_good(agent, work):
    remove(agent, "forget")
    assert agent.texts(status="any") == ["The plan is on the wall"]
    assert agent.post(f"{ENTRIES}/{work.kiln}/restore").status_code == 404
    assert agent.post(f"{ENTRIES}/{work.gone}/restore").status_code == 404


def test_what_was_forgotten_with_the_space_is_refused_for_a_day(agent, work):
    remove(agent, "forget")
    for text in ("The kiln reaches cone ten by noon", "Cobalt glaze needs cobalt", "The clay comes from Limoges"):
        assert agent.post(ENTRIES, {"text": text}).json["reason"] == "tombstone"


def test_forgotten_texts_are_in_no_record(agent, ada, work):
    agent.tool("memory_search", query="What about: celadon glaze needs iron", space="work")
    agent.tool("memory_add", type="note", content="The plan is on the roof", space="work")
    agent.post("/v1/tool-calls", {"calls": [{"tool": "notes", "result": "The clay comes from Limoges."}]})
    remove(agent, "forget")
    record = agent.get("/v1/tool-calls").text.lower()
    assert [word for word in ("celadon", "roof", "limoges") if word in record] == []
    assert "limoges" not in str(rows(ada, "SELECT t::text FROM tool_calls t")).lower()


@pytest.mark.parametrize("at_once", [0, 1000])
def test_what_its_facts_said_is_in_no_record(agent, ada, work, monkeypatch, at_once):
    """Also where the memories that went with it wait for the worker."""
    monkeypatch.setattr("memory.forgetting.forget.PURGED_AT_ONCE", at_once)
    agent.tool("fact_add", subject="The kiln", predicate="was paid by", object="Zephyrine", space="work")
    agent.tool("fact_add", subject="The pool", predicate="was paid by", object="Odile")
    remove(agent, "forget")
    said = rows(ada, "SELECT arguments FROM tool_calls WHERE tool = 'fact_add' ORDER BY id")
    assert (said[0][0], said[1][0]["object"]) == (REDACTED, "Odile")
    assert [fact["object"] for fact in agent.get("/v1/facts").json["facts"]] == ["Odile"]


def test_conversations_are_deleted(agent, ada, work):
    remove(agent, "forget")
    assert agent.get(work.talk.path).status_code == 404
    assert titles(agent) == ["Pooled"]
    left = (
        "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM episodes), (SELECT count(*) FROM session_states)"
    )
    assert tuple(rows(ada, left)[0]) == (0, 0, 0)


def test_what_was_learned_elsewhere_stays(agent, ada, work):
    message = work.talk.messages()[0]["id"]
    memory_id = agent.store("We fire on Fridays")
    with ada.session() as session:
        session.connection().exec_driver_sql(
            "UPDATE memories SET source_message_id = %s WHERE id = %s", (message, memory_id)
        )
    remove(agent, "forget")
    assert agent.entry(memory_id)["text"] == "We fire on Fridays"
    assert rows(ada, "SELECT source_message_id FROM memories WHERE id = :m", m=memory_id)[0][0] is None


def test_calls_of_deleted_conversations_stay_on_record(agent, work):
    agent.ask("POST", "/v1/tools/memory_list_themes", headers={"X-Commonplace-Conversation": work.talk.id})
    remove(agent, "forget")
    assert agent.get("/v1/tool-calls", tool="memory_list_themes").json["calls"][0]["conversation_id"] is None


# --- whatever becomes of it -------------------------------------------------------------------------------------------


def test_entities_go_with_the_space(removed):
    left = "SELECT (SELECT count(*) FROM entities), (SELECT count(*) FROM entity_mentions)"
    assert tuple(rows(removed.person, left)[0]) == (0, 0)


@modes
def test_tokens_of_the_space_open_nothing_any_more(agent, client, ada, work, mode):
    confined = Agent(client, work.token)
    assert confined.get(ENTRIES).status_code == 200
    remove(agent, mode)
    assert confined.get(ENTRIES).status_code == 401
    assert rows(ada, "SELECT count(*) FROM tokens WHERE revoked_at IS NOT NULL AND space_id IS NULL")[0][0] == 1


def test_counts_and_indexes_are_those_of_what_is_left(removed):
    active, ada = len(removed.agent.texts()), removed.person
    assert rows(ada, "SELECT documents FROM spaces")[0][0] == active
    assert rows(ada, "SELECT count(DISTINCT memory_id) FROM postings")[0][0] == active
    assert rows(ada, "SELECT count(*) FROM embeddings e JOIN spaces s ON s.id = e.space_id WHERE live")[0][0] == active


def test_it_is_on_record_and_the_chain_holds(removed):
    agent, mode = removed.agent, removed.mode
    event = agent.get("/v1/audit", action="space.removed").json["events"][0]
    assert event["details"] == {"slug": "work", "contents": mode, **removed.said}
    assert agent.get("/v1/audit/verify").json["ok"]
    assert len(agent.get("/v1/audit", action="token.revoked").json["events"]) == 1
    told = {"move": "memory.moved", "archive": "memory.archived", "forget": "memory.forgotten"}[mode]
    assert removed.work.kiln in agent.get("/v1/audit", action=told).json["events"][0]["details"]["ids"]


@modes
def test_other_spaces_stay_as_they_were(agent, client, ada, work, mode):
    agent.post("/v1/spaces", {"slug": "home"})
    home = Agent(client, ada.new_token("read", "write", space="home"))
    kept = home.store("The kiln reaches cone ten by noon")
    talk = Talk(home, external_id="thread-1", title="At home")
    remove(agent, mode)
    assert (home.entry(kept)["space"], talk.head()["external_id"]) == ("home", "thread-1")


# --- who may not ------------------------------------------------------------------------------------------------------


@modes
def test_anothers_space_answers_as_none(stranger, standing, mode):
    agent = standing.agent
    expect = contents(agent)["expect"]
    answers = [stranger.delete(f"/v1/spaces/{slug}", contents=mode, expect=expect) for slug in ("work", "wrok")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert [stranger.get(f"/v1/spaces/{slug}/contents").status_code for slug in ("work", "wrok")] == [404, 404]
    assert answers[0].json["detail"].replace("work", "wrok") == answers[1].json["detail"]
    assert contents(agent)["expect"] == expect


@modes
def test_a_stranger_with_a_space_of_that_name_loses_nothing(stranger, agent, work, mode):
    stranger.post("/v1/spaces", {"slug": "work"})
    kept = stranger.store("The kiln reaches cone ten by noon", space="work")
    remove(agent, mode)
    assert stranger.entry(kept)["space"] == "work"


def test_the_default_space_cannot_be_removed(standing):
    agent = standing.agent
    expect = contents(agent, "/v1/spaces/default")["expect"]
    assert agent.delete("/v1/spaces/default", contents="move", expect=expect).status_code == 409


@pytest.mark.parametrize("mode", ["move", "archive"])
def test_no_memory_comes_to_a_pool_whose_memory_is_off(agent, ada, work, mode):
    agent.post("/v1/memory/settings", {"memory_enabled": False})
    before = rows(ada, "SELECT id, space_id, status, repeat_count, tags FROM memories ORDER BY id")
    refused = remove(agent, mode)
    assert (refused.status_code, refused.json["reason"]) == (409, "memory_off")
    assert rows(ada, "SELECT id, space_id, status, repeat_count, tags FROM memories ORDER BY id") == before
    assert agent.get(WORK).status_code == 200


def test_with_the_pools_memory_off_a_space_may_go_with_its_memories_or_without_any(agent, ada, work):
    agent.post("/v1/memory/settings", {"memory_enabled": False})
    assert remove(agent, "forget").status_code == 200
    agent.post("/v1/spaces", {"slug": "work"})
    Talk(agent, space="work", title="Only talk")
    assert remove(agent, "move").status_code == 200
    assert rows(ada, "SELECT slug FROM spaces") == [("default",)]


def test_forgetting_needs_the_scope_forget(client, ada, agent, work):
    writer = Agent(client, ada.new_token("read", "write"))
    assert [remove(writer, mode).status_code for mode in ("forget", "move")] == [403, 200]


def test_removing_needs_the_scope_write(client, ada, work):
    reader = Agent(client, ada.new_token("read", "forget"))
    assert [remove(reader, mode).status_code for mode in MODES] == [403, 403, 403]


def test_a_confined_token_removes_nothing(agent, client, work):
    confined = Agent(client, work.token)
    expect = contents(agent)["expect"]
    assert confined.get(f"{WORK}/contents").status_code == 403
    assert confined.delete(WORK, contents="move", expect=expect).status_code == 403
    assert confined.delete("/v1/spaces/default", contents="move", expect=expect).status_code == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"contents": "burn", "expect": "x"}, "contents"),
        ({"expect": "x"}, "contents"),
        ({"contents": "move"}, "expect"),
        ({"contents": "move", "expect": "x\x00"}, "expect"),
    ],
)
def test_a_bad_wish_is_named(agent, work, query, field):
    assert fields(agent.delete(WORK, **query)) == [field]


def test_a_removal_that_wishes_nothing_is_told_what_to_wish_and_where_the_word_is(agent, work):
    refused = agent.delete(WORK)
    said = {each["field"]: each["message"] for each in refused.json["errors"]}
    assert (refused.status_code, list(said)) == (422, ["contents", "expect"])
    assert said["contents"].endswith("move, archive or forget what is in the space")
    (address,) = re.findall(r"GET (\S+),", said["expect"])
    assert remove(agent, "move", expect=agent.get(address.replace("SLUG", "work")).json["expect"]).status_code == 200


@pytest.mark.parametrize("expect", ["x", "0" * 32, NOBODYS_ID])
def test_a_word_that_it_never_said_removes_nothing(agent, work, expect):
    assert remove(agent, "forget", expect=expect).status_code == 409
