"""Two users, three spaces, ten conversations, confined tokens: nobody sees, hears or changes another's."""

from __future__ import annotations

from uuid import uuid4

import pytest
from api_agent import ENTRIES, Agent, add_space, fields, rows, without_traces
from api_talk import CONVERSATIONS, Talk, titles

SPACES = ("default", "work", "home")


# For tests that leave everything as it was, as those of guessing make sure: all of them see the same people.
only_looks = pytest.mark.usefixtures("lasting")


class Neighbours:
    """Ada and Bob, who each have three spaces and five conversations, and Ada's agents, each confined to one space.

    `talks` are by user and number: 0 and 1 in the pool, 2 and 3 at work, 4 at home.
    """

    def __init__(self, app, ada, bob):
        self.people = {name: Agent(app.test_client(), person.headers) for name, person in (("ada", ada), ("bob", bob))}
        for person in (ada, bob):
            for space in SPACES[1:]:
                add_space(person, space)
        self.talks = {(name, number): self._talk(name, number) for name in self.people for number in range(5)}
        tokens = {space: ada.new_token("read", "write", "forget", space=space) for space in SPACES}
        self.confined = {space: Agent(app.test_client(), token) for space, token in tokens.items()}

    def _talk(self, name, number):
        space = SPACES[number // 2]
        title = f"{name} {space} {number}"
        talk = Talk(self.people[name], title=title, space=space, external_id=f"thread-{number}")
        talk.turn(f"What does {name} keep in drawer {number}?", f"The secret of {space} {number}")
        return talk


@pytest.fixture(scope="module")
def lasting(app, new_person):
    return Neighbours(app, new_person("ada"), new_person("bob"))


@pytest.fixture
def neighbours(request, app):
    if "lasting" in request.fixturenames:
        return request.getfixturevalue("lasting")
    return Neighbours(app, request.getfixturevalue("ada"), request.getfixturevalue("bob"))


@pytest.fixture
def people(neighbours):
    return neighbours.people


@pytest.fixture
def talks(neighbours):
    return neighbours.talks


@pytest.fixture
def confined(neighbours):
    return neighbours.confined


BY_ID = [
    ("GET", "/{}", None),
    ("PATCH", "/{}", {"title": "mine now"}),
    ("PATCH", "/{}", {"space": None}),
    ("PATCH", "/{}", {"archived": True}),
    ("DELETE", "/{}", None),
    ("GET", "/{}/messages", None),
    ("GET", "/{}/messages?format=openai", None),
    ("POST", "/{}/messages", {"message": {"role": "user", "content": "I was here"}}),
    ("POST", "/{}/messages", {"message": {"role": "user", "content": "I was here", "remember": True}}),
    ("POST", "/{}/merge", {"messages": [{"role": "user", "content": "I was here"}]}),
    ("POST", "/{}/messages/stream", b'{"role": "user"}\n{"delta": "I was here"}\n{"done": true}\n'),
]


def by_id(agent, method, path, body, conversation_id):
    sent = {"data": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
    return agent.ask(method, CONVERSATIONS + path.format(conversation_id), **sent)


@only_looks
@pytest.mark.parametrize(("method", "path", "body"), BY_ID)
def test_anothers_conversation_answers_as_none(people, talks, method, path, body):
    for number in range(5):
        guessed = by_id(people["bob"], method, path, body, talks["ada", number].id)
        assert guessed.status_code == 404
        assert without_traces(guessed) == without_traces(by_id(people["bob"], method, path, body, uuid4()))


@only_looks
@pytest.mark.parametrize(("method", "path", "body"), BY_ID)
def test_a_conversation_of_another_space_answers_as_none(talks, confined, method, path, body):
    for number in (0, 1, 4):
        guessed = by_id(confined["work"], method, path, body, talks["ada", number].id)
        assert guessed.status_code == 404
        assert without_traces(guessed) == without_traces(by_id(confined["work"], method, path, body, uuid4()))


@only_looks
@pytest.mark.parametrize(("method", "path", "body"), BY_ID)
def test_guessing_changes_nothing(people, talks, confined, method, path, body):
    before = [(talk.head(), talk.messages()) for talk in talks.values()]
    for number in range(5):
        by_id(people["bob"], method, path, body, talks["ada", number].id)
    by_id(confined["home"], method, path, body, talks["ada", 0].id)
    assert [(talk.head(), talk.messages()) for talk in talks.values()] == before


@only_looks
def test_a_message_of_anothers_is_not_read_through_ones_own_conversation(people, talks, confined):
    secret = talks["ada", 0].messages()[1]["id"]
    for agent, own in ((people["bob"], talks["bob", 0]), (confined["work"], talks["ada", 2])):
        assert agent.get(f"{own.path}/messages/{secret}").status_code == 404
        assert agent.get(f"{talks['ada', 0].path}/messages/{secret}").status_code == 404


@only_looks
def test_each_sees_their_own_list(people, talks, confined):
    assert titles(people["bob"]) == [f"bob {SPACES[n // 2]} {n}" for n in (4, 3, 2, 1, 0)]
    assert titles(people["ada"], space="work") == ["ada work 3", "ada work 2"]
    assert {space: len(titles(agent)) for space, agent in confined.items()} == {"default": 2, "work": 2, "home": 1}


@only_looks
@pytest.mark.parametrize("words", ["secret", "drawer keep", "ada", "secret home"])
def test_each_finds_their_own(people, talks, confined, words):
    assert all(title.startswith("bob") for title in titles(people["bob"], q=words))
    assert set(titles(confined["work"], q=words)) <= {"ada work 2", "ada work 3"}


@only_looks
def test_words_of_another_space_find_nothing(talks, confined):
    assert titles(confined["work"], q="secret of home 4") == []
    assert titles(confined["home"], q="secret of home 4") == ["ada home 4"]


@only_looks
def test_the_same_external_id_is_of_each_user(people, talks):
    opened = {name: Talk(agent, external_id="thread-0") for name, agent in people.items()}
    assert {name: talk.id for name, talk in opened.items()} == {name: talks[name, 0].id for name in people}


def test_an_external_id_of_another_space_looks_free_to_a_confined_token(talks, confined):
    work = confined["work"]
    fresh, taken = Talk(work, external_id="never-used"), Talk(work, external_id="thread-4")
    assert [fresh.opened.status_code, taken.opened.status_code] == [201, 201]
    assert taken.id != talks["ada", 4].id
    assert taken.head()["space"] == "work"
    assert Talk(work, external_id="thread-4").id == taken.id
    assert titles(work, external_id="thread-1") == []


def test_a_confined_token_names_no_other_space(talks, confined):
    work = confined["work"]
    for space in ("home", "default", "nowhere"):
        answers = [
            work.post(CONVERSATIONS, {"space": space}),
            work.get(CONVERSATIONS, space=space),
            work.patch(talks["ada", 2].path, {"space": space}),
        ]
        assert [(a.status_code, fields(a), space in a.json["detail"]) for a in answers] == [(422, ["space"], True)] * 3
    assert work.patch(talks["ada", 2].path, {"space": None}).status_code == 422
    assert talks["ada", 2].head()["space"] == "work"


def test_a_move_opens_and_closes_at_once(people, talks, confined):
    talk = talks["ada", 0]
    by_agent = {space: Agent(agent.client, agent.headers) for space, agent in confined.items()}
    for space in ("work", "home", "default"):
        assert talk.change(space=space).status_code == 200
        seen = {name: agent.get(talk.path).status_code for name, agent in by_agent.items()}
        assert seen == {name: 200 if name == space else 404 for name in SPACES}
        found = {name: "ada default 0" in titles(agent, q="secret") for name, agent in by_agent.items()}
        assert found == {name: name == space for name in SPACES}


def test_a_conversation_that_moves_away_takes_no_more_from_a_confined_token(talks, confined):
    talk = talks["ada", 2]
    theirs = f"{talk.path}/messages"
    body = {"message": {"role": "user", "content": "Still here?"}}
    assert confined["work"].post(theirs, body).status_code == 201
    talk.change(space="home")
    assert confined["work"].post(theirs, body).status_code == 404
    assert confined["home"].post(theirs, body).status_code == 201


def test_a_client_id_of_anothers_conversation_is_free(people, talks):
    talks["ada", 0].say("Mine", client_id="m-1")
    assert talks["bob", 0].say("Also mine", client_id="m-1")["outcome"] == "stored"


def test_a_merge_recognises_no_message_of_anothers(people, talks, ada):
    secret = talks["ada", 0].messages()[1]
    body = {"messages": [{"id": secret["id"], "role": "assistant", "content": "A guess"}]}
    answer = people["bob"].post(f"{talks['bob', 0].path}/merge", body).json
    assert (answer["client"]["known"], len(answer["client"]["added"])) == ([], 1)


# --- where memories come from -----------------------------------------------------------------------------------------


@only_looks
@pytest.mark.parametrize("guess", ["anothers", "none"])
def test_a_message_that_is_not_ones_own_is_no_source(people, talks, guess):
    message_id = talks["ada", 0].messages()[0]["id"] if guess == "anothers" else str(uuid4())
    body = {"text": "A fact", "source_message_id": message_id}
    single = people["bob"].post(ENTRIES, body)
    batch = people["bob"].post(f"{ENTRIES}/batch", {"entries": [{"text": "Another"}, body]})
    assert (single.status_code, fields(single)) == (422, ["source_message_id"])
    assert (batch.status_code, fields(batch)) == (422, ["entries.1.source_message_id"])
    assert people["bob"].texts() == []


def test_a_message_of_another_space_is_no_source_for_a_confined_token(talks, confined):
    elsewhere, here = (talks["ada", n].messages()[0]["id"] for n in (4, 2))
    refused = confined["work"].post(ENTRIES, {"text": "A fact", "source_message_id": elsewhere})
    unknown = confined["work"].post(ENTRIES, {"text": "A fact", "source_message_id": str(uuid4())})
    assert without_traces(refused) == without_traces(unknown)
    assert confined["work"].post(ENTRIES, {"text": "A fact", "source_message_id": here}).status_code == 201


def test_a_confined_token_is_not_told_of_a_source_in_another_space(people, talks, confined):
    message = talks["ada", 2].messages()[0]
    memory_id = people["ada"].store("A fact", space="work", source_message_id=message["id"])
    assert confined["work"].entry(memory_id)["source"]["message_id"] == message["id"]
    talks["ada", 2].change(space="home")
    shown = [confined["work"].entry(memory_id), confined["work"].get(ENTRIES).json["entries"][0]]
    assert [(entry["source"], entry["source_message_id"]) for entry in shown] == [(None, None)] * 2
    assert people["ada"].entry(memory_id)["source"]["conversation_id"] == talks["ada", 2].id
    assert confined["home"].delete(talks["ada", 2].path).json["memories_unlinked"] == 0
    assert people["ada"].entry(memory_id)["source_message_id"] is None


def test_row_level_security_holds_below_the_interface(talks, ada, bob):
    for table in ("conversations", "messages", "episodes", "episode_postings"):
        statement = f"SELECT DISTINCT user_id FROM {table}"
        assert [rows(person, statement) for person in (ada, bob)] == [[(ada.id,)], [(bob.id,)]]
