"""Conversations over HTTP: opened, resumed, listed, searched, renamed, moved, archived, deleted."""

from __future__ import annotations

from uuid import uuid4

import pytest
from api_agent import Agent, add_space, fields, rows
from api_talk import CONVERSATIONS, Talk, titles
from sqlalchemy import event
from sqlalchemy.orm import Session


@pytest.fixture
def work(ada):
    return add_space(ada, "work")


# --- opened and resumed -----------------------------------------------------------------------------------------------


def test_a_new_conversation_is_in_the_pool_and_empty(agent):
    talk = Talk(agent, external_id="vault-1")
    assert talk.opened.status_code == 201
    head = talk.head()
    assert (head["external_id"], head["space"], head["message_count"], head["total_tokens"]) == (
        "vault-1",
        "default",
        0,
        0,
    )


def test_without_an_external_id_it_has_one_of_its_own(agent):
    talk = Talk(agent)
    assert Talk(agent, external_id=talk.head()["external_id"]).id == talk.id


def test_an_external_id_resumes_the_same_conversation(agent):
    first = Talk(agent, external_id="vault-1", title="Bees")
    again = Talk(agent, external_id="vault-1", title="Something else")
    assert (again.opened.status_code, again.id, again.head()["title"]) == (200, first.id, "Bees")


def test_a_conversation_is_resumed_wherever_it_is_when_no_space_is_named(agent, work):
    first = Talk(agent, external_id="vault-1", space=work)
    assert [Talk(agent, external_id="vault-1").id, Talk(agent, external_id="vault-1", space=None).id] == [first.id] * 2
    assert first.head()["space"] == work


def test_where_a_space_is_named_it_is_the_one_of_that_space(agent, work, ada):
    add_space(ada, "zeta")
    there = Talk(agent, external_id="vault-1", space=work)
    opened = [Talk(agent, external_id="vault-1", space=space) for space in ("zeta", "default", "zeta", work)]
    assert [talk.opened.status_code for talk in opened] == [201, 201, 200, 200]
    assert [talk.head()["space"] for talk in opened] == ["zeta", "default", "zeta", work]
    assert (opened[2].id, opened[3].id) == (opened[0].id, there.id)
    assert [
        found["id"]
        for found in agent.get("/v1/conversations", external_id="vault-1", space="zeta").json["conversations"]
    ] == [opened[0].id]


def test_the_first_message_of_a_conversation_in_a_space_is_in_it(agent, ada, work):
    talk = Talk(agent, space=work)
    talk.turn("Where is the plan?", "In the drawer.")
    found = rows(
        ada,
        """SELECT s.slug FROM episodes e JOIN conversations c ON c.id = e.conversation_id
        JOIN spaces s ON s.id = c.space_id WHERE e.user_id = :user""",
    )
    assert [row.slug for row in found] == [work]


def test_what_is_noted_of_it_comes_back(agent):
    noted = {"client": "obsidian", "vault": {"name": "Garden", "notes": [1, 2.5, None, True]}}
    assert Talk(agent, metadata=noted).head()["metadata"] == noted


def test_a_date_may_be_given(agent):
    assert Talk(agent, created_at="2024-05-01T10:00:00Z").head()["created_at"] == "2024-05-01T10:00:00+00:00"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"external_id": ""}, "external_id"),
        ({"external_id": "a\x00b"}, "external_id"),
        ({"external_id": "x" * 257}, "external_id"),
        ({"external_id": " "}, "external_id"),
        ({"space": "nowhere"}, "space"),
        ({"title": "x" * 501}, "title"),
        ({"metadata": {"a": "b\x00"}}, "metadata"),
        ({"metadata": {"a": "x" * 70_000}}, "metadata"),
        ({"created_at": "2024-05-01T10:00:00"}, "created_at"),
        ({"created_at": "9999-05-01T10:00:00Z"}, "created_at"),
        ({"owner": "me"}, "owner"),
    ],
)
def test_a_bad_field_opens_nothing(agent, ada, body, field):
    response = agent.post(CONVERSATIONS, body)
    assert (response.status_code, fields(response)) == (422, [field])
    assert rows(ada, "SELECT 1 FROM conversations") == []


def test_no_body_is_an_empty_one(agent):
    assert agent.post(CONVERSATIONS).status_code == 201


# --- listed -----------------------------------------------------------------------------------------------------------


def test_the_latest_comes_first(agent):
    talks = [Talk(agent, title=f"Talk {n}") for n in range(3)]
    talks[0].say("Hello again")
    assert titles(agent) == ["Talk 0", "Talk 2", "Talk 1"]


def test_pages_hold_each_conversation_once(agent):
    for n in range(7):
        Talk(agent, title=f"Talk {n}")
    seen, cursor = [], None
    while True:
        page = agent.get(CONVERSATIONS, limit=3, **({"cursor": cursor} if cursor else {})).json
        seen.append([found["title"] for found in page["conversations"]])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [["Talk 6", "Talk 5", "Talk 4"], ["Talk 3", "Talk 2", "Talk 1"], ["Talk 0"]]


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 201}, {"cursor": "x"}, {"archived": "perhaps"}, {"q": " "}])
def test_a_bad_query_names_its_field(agent, query):
    response = agent.get(CONVERSATIONS, **query)
    assert (response.status_code, fields(response)) == (422, list(query))


def test_a_list_of_a_space_holds_that_space(agent, work):
    Talk(agent, title="In the pool")
    Talk(agent, title="At work", space=work)
    assert (titles(agent, space=work), titles(agent, space="default")) == (["At work"], ["In the pool"])


def test_a_conversation_is_found_by_its_external_id(agent):
    Talk(agent, title="Other")
    Talk(agent, title="Mine", external_id="vault-1").change(archived=True)
    assert titles(agent, external_id="vault-1") == ["Mine"]


# --- searched ---------------------------------------------------------------------------------------------------------


def test_all_words_must_occur_somewhere_in_it(agent):
    both, one = Talk(agent, title="Garden"), Talk(agent, title="Kitchen")
    both.turn("How do bees sleep?", "Mostly at night.")
    one.turn("Do bees bite?", "They sting.")
    assert titles(agent, q="BEES") == ["Kitchen", "Garden"]
    assert titles(agent, q="night bees") == ["Garden"]
    assert titles(agent, q="garden night") == ["Garden"]
    assert titles(agent, q="night sting") == []


def test_words_are_taken_as_they_are(agent):
    Talk(agent, title="Percent").say("100% of it, or snake_case")
    Talk(agent, title="Plain").say("1000 of it, or snakeXcase")
    assert (titles(agent, q="100%"), titles(agent, q="snake_case")) == (["Percent"], ["Percent"])


def test_case_is_folded_beyond_ascii(agent):
    Talk(agent, title="Umlaut").say("Über den Öltank")
    assert titles(agent, q="über ÖLTANK") == ["Umlaut"]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("ΟΔΟΣ", "ΟΔΟΣ"),
        ("ΟΔΟΣ", "οδος"),
        ("İstanbul", "İstanbul"),
        ("İstanbul", "istanbul"),
        ("Straße", "STRASSE"),
        ("Café", "cafe\u0301"),
        ("Cafe\u0301", "CAFÉ"),
        ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),
        # As Hebrew is typed, which is the order of no normal form.
        ("\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd"),
    ],
)
def test_a_word_is_found_in_every_case_and_spelling_of_its_letters(agent, said, asked):
    Talk(agent, title="Said").say(f"We walked to {said} today")
    Talk(agent, title=said)
    assert titles(agent, q=asked) == [said, "Said"]


def test_a_find_shows_the_place(agent):
    talk = Talk(agent)
    talk.say("Nothing of interest here")
    message = talk.say(f"{'before ' * 100}the heron stood still {'after ' * 100}")
    match = agent.get(CONVERSATIONS, q="heron still").json["conversations"][0]["match"]
    assert (match["message_id"], match["sequence"]) == (message["id"], 2)
    assert "the heron stood still" in match["snippet"]
    assert len(match["snippet"]) <= 202


def test_a_title_alone_is_a_find_without_a_place(agent):
    Talk(agent, title="Herons")
    assert "match" not in agent.get(CONVERSATIONS, q="herons").json["conversations"][0]


# --- renamed ----------------------------------------------------------------------------------------------------------


def test_the_title_is_the_users_first_message_until_it_is_renamed(agent):
    talk = Talk(agent)
    talk.say("You are a helpful assistant.", role="system")
    talk.say("Where do the bees go in winter, and who told them to go there in the first place, I wonder?")
    assert talk.head()["title"] == "Where do the bees go in winter, and who told them to go there in the first…"
    talk.say("And the wasps?")
    assert talk.head()["title"].startswith("Where do the bees")
    assert talk.change(title="  Insects   in winter ").json["title"] == "Insects in winter"
    talk.say("And the ants?")
    assert talk.head()["title_source"] == "user"


def test_a_title_may_have_five_hundred_characters_of_any_width(agent):
    long, wide = "x" * 500, "\U0001d4b3" * 500
    talk = Talk(agent, title=long)
    assert (talk.opened.status_code, talk.head()["title"]) == (201, long)
    assert talk.change(title=wide).json["title"] == wide


def test_a_null_title_gives_the_automatic_one_back(agent):
    talk = Talk(agent, title="Mine")
    talk.say("Where do the bees go?")
    head = talk.change(title=None).json
    assert (head["title"], head["title_source"]) == ("Where do the bees go?", "auto")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "body"),
        ({"title": "x" * 501}, "title"),
        ({"title": "a\x00"}, "title"),
        ({"space": "nowhere"}, "space"),
        ({"archived": None}, "archived"),
        ({"metadata": None}, "metadata"),
        ({"external_id": "other"}, "external_id"),
    ],
)
def test_a_bad_change_changes_nothing(agent, changes, field):
    talk = Talk(agent, title="Mine")
    before = talk.head()
    response = talk.change(**{"archived": True, **changes} if field not in {"body", "archived"} else changes)
    assert (response.status_code, fields(response)) == (422, [field])
    assert talk.head() == before


# --- moved and archived -----------------------------------------------------------------------------------------------


def test_a_conversation_is_moved_and_taken_back(agent, work):
    talk = Talk(agent)
    assert talk.change(space=work).json["space"] == work
    assert talk.change(space=None).json["space"] == "default"
    assert talk.change(space=work).json["space"] == work
    assert talk.change(space="default").json["space"] == "default"


def test_a_move_is_written_into_the_audit_trail(agent, ada, work):
    talk = Talk(agent)
    talk.change(space=work)
    moved = rows(ada, "SELECT subject_id, details FROM audit_events WHERE action = 'conversation.moved'")
    assert [(str(row.subject_id), row.details) for row in moved] == [(talk.id, {"from": "default", "to": "work"})]


def test_a_conversation_may_be_written_to_before_and_after_a_move(agent, work):
    talk = Talk(agent)
    talk.turn("One", "Uno")
    talk.change(space=work)
    talk.turn("Two", "Dos")
    assert talk.said() == ["One", "Uno", "Two", "Dos"]


def test_two_of_one_name_do_not_meet_in_a_space(client, ada, agent, work):
    theirs = Talk(Agent(client, ada.new_token("write", "read", space=work)), external_id="daily")
    mine = Talk(agent, external_id="other")
    rows_before = theirs.head()
    confined_elsewhere = Agent(client, ada.new_token("write", "read", space=add_space(ada, "home")))
    same_name = Talk(confined_elsewhere, external_id="daily")
    assert same_name.opened.status_code == 201
    response = agent.patch(same_name.path, {"space": work})
    assert response.status_code == 409
    assert (same_name.head()["space"], theirs.head(), mine.head()["space"]) == ("home", rows_before, "default")


def test_an_archived_conversation_leaves_the_list_and_comes_back(agent):
    talk = Talk(agent, title="Old")
    assert talk.change(archived=True).json["archived"] is True
    assert (titles(agent), titles(agent, archived="true"), titles(agent, archived="any")) == ([], ["Old"], ["Old"])
    assert talk.change(archived=False).json["archived_at"] is None
    assert titles(agent) == ["Old"]


def test_an_archived_conversation_can_still_be_written_to(agent):
    talk = Talk(agent)
    talk.change(archived=True)
    talk.say("One more thing")
    assert (talk.head()["archived"], talk.said()) == (True, ["One more thing"])


# --- deleted ----------------------------------------------------------------------------------------------------------


def test_deleting_takes_all_that_was_said(agent, ada):
    talk, other = Talk(agent), Talk(agent)
    for kept in (talk, other):
        kept.turn("Where is the key?", "Under the mat.")
    answer = agent.delete(talk.path).json
    assert (answer["deleted"], answer["messages"], answer["episodes"]) == (True, 2, 1)
    assert agent.get(talk.path).status_code == 404
    left = {table: rows(ada, f"SELECT count(*) FROM {table}")[0][0] for table in ("messages", "episodes")}
    assert left == {"messages": 2, "episodes": 1}
    assert rows(ada, "SELECT DISTINCT scope_id::text FROM episode_postings") == [(other.id,)]


def test_memories_learned_from_it_stay_without_their_source(agent):
    talk = Talk(agent)
    message = talk.say("I am allergic to walnuts", remember=True)
    memory_id = message["memory"]["id"]
    assert agent.entry(memory_id)["source"]["conversation_id"] == talk.id
    assert agent.delete(talk.path).json["memories_unlinked"] == 1
    entry = agent.entry(memory_id)
    assert (entry["text"], entry["source"], entry["source_message_id"]) == ("I am allergic to walnuts", None, None)


def test_deleting_it_again_finds_nothing(agent):
    talk = Talk(agent)
    assert [agent.delete(talk.path).status_code for _ in range(2)] == [200, 404]


def test_the_name_of_a_deleted_conversation_is_free_again(agent):
    talk = Talk(agent, external_id="vault-1")
    agent.delete(talk.path)
    assert Talk(agent, external_id="vault-1").opened.status_code == 201


# --- scopes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "", "read"),
        ("POST", "", "write"),
        ("GET", "/{}", "read"),
        ("PATCH", "/{}", "write"),
        ("DELETE", "/{}", "forget"),
        ("GET", "/{}/messages", "read"),
        ("POST", "/{}/messages", "write"),
        ("POST", "/{}/messages/stream", "write"),
        ("POST", "/{}/merge", "write"),
        ("GET", "/{}/messages/{}", "read"),
    ],
)
def test_each_endpoint_needs_its_scope(client, ada, method, path, scope):
    others = {"read", "write", "forget"} - {scope}
    response = Agent(client, ada.new_token(*others)).ask(method, CONVERSATIONS + path.format(uuid4(), uuid4()))
    assert response.status_code == 403
    allowed = Agent(client, ada.new_token(scope)).ask(method, CONVERSATIONS + path.format(uuid4(), uuid4()))
    assert allowed.status_code != 403


def test_an_id_that_is_none_is_no_address(agent):
    assert agent.get(f"{CONVERSATIONS}/42").status_code == 404


def test_episodes_are_read_in_their_order_page_by_page(agent: Agent) -> None:
    talk = Talk(agent)
    for n in range(3):
        talk.turn(f"Question {n}?", f"Answer {n}.")
    talk.say("Unanswered?")
    first = agent.get(f"{talk.path}/episodes", limit=2).json
    assert [each["text"] for each in first["episodes"]] == [
        f"user: Question {n}?\nassistant: Answer {n}." for n in range(2)
    ]
    assert [each["sequence"] for each in first["episodes"]] == [1, 3]
    ids = [message["id"] for message in talk.messages()]
    assert [(each["message_id"], each["reply_id"]) for each in first["episodes"]] == [tuple(ids[:2]), tuple(ids[2:4])]
    rest = agent.get(f"{talk.path}/episodes", limit=2, cursor=first["next_cursor"]).json
    assert ([each["sequence"] for each in rest["episodes"]], rest["next_cursor"]) == ([5], None)
    assert {each["embedding"] for each in first["episodes"]} == {"pending"}


def test_a_strangers_episodes_do_not_exist(client, agent, bob) -> None:
    talk = Talk(agent)
    talk.turn("Secret?", "Yes.")
    assert Agent(client, bob.headers).get(f"{talk.path}/episodes").status_code == 404
    assert agent.get(f"{talk.path}/episodes", limit=0).status_code == 422


def test_a_conversation_that_is_deleted_right_after_was_resumed_all_the_same(agent, ada):
    opened = Talk(agent, external_id="tiles")

    def delete(_session):
        assert rows(ada, "DELETE FROM conversations RETURNING 1")

    event.listen(Session, "after_commit", delete, once=True)
    resumed = agent.post(CONVERSATIONS, {"external_id": "tiles"})
    assert (resumed.status_code, resumed.json["id"]) == (200, opened.id)
    assert agent.get(opened.path).status_code == 404
