"""Two users, two tokens, two spaces: nothing crosses."""

from __future__ import annotations

from uuid import uuid4

import pytest
from api_agent import ENTRIES, NOBODYS_ID, Agent, add_space, embed, fields, memories_of, rows, without_traces
from api_talk import Talk


@pytest.fixture
def owner(client, ada):
    return Agent(client, ada.headers)


@pytest.fixture
def secret(owner, ada):
    """A memory of Ada's."""
    memory_id = owner.store("The safe code is 4711", theme="safes", tags=["code"], source_ids=["vault-1"])
    embed(ada)
    return memory_id


# --- by id ----------------------------------------------------------------------------------------------------------

BY_ID = [
    ("GET", "/v1/memory/entries/{}", None),
    ("PATCH", "/v1/memory/entries/{}", {"importance": 0.5}),
    ("DELETE", "/v1/memory/entries/{}", None),
    ("POST", "/v1/memory/entries/{}/pin", None),
    ("DELETE", "/v1/memory/entries/{}/pin", None),
    ("POST", "/v1/memory/entries/{}/restore", None),
    ("POST", "/v1/tools/memory_get", {}),
    ("POST", "/v1/tools/memory_update", {"content": "mine now"}),
    ("POST", "/v1/tools/memory_delete", {}),
]
NAMES = [f"{method} {path.removeprefix('/v1/')}" for method, path, _ in BY_ID]


def by_id(agent, method, path, body, memory_id):
    if "tools" in path:
        body = {**body, "item_id": memory_id}
    return agent.ask(method, path.format(memory_id), **({"json": body} if body is not None else {}))


@pytest.mark.parametrize(("method", "path", "body"), BY_ID, ids=NAMES)
def test_anothers_id_answers_as_no_id(stranger, owner, secret, method, path, body):
    if path.endswith("restore"):
        owner.delete(f"{ENTRIES}/{secret}", undo="true")
    guessed = by_id(stranger, method, path, body, secret)
    assert guessed.status_code == 404
    assert without_traces(guessed) == without_traces(by_id(stranger, method, path, body, str(uuid4())))


@pytest.mark.parametrize(("method", "path", "body"), BY_ID, ids=NAMES)
def test_guessing_an_id_changes_nothing(stranger, owner, secret, method, path, body):
    before = owner.entry(secret)
    by_id(stranger, method, path, body, secret)
    assert owner.entry(secret) == before


@pytest.mark.parametrize(("method", "path", "body"), BY_ID, ids=NAMES)
def test_an_id_of_another_space_answers_as_no_id(client, ada, owner, secret, method, path, body):
    confined = Agent(client, ada.new_token("read", "write", "forget", space=add_space(ada, "work")))
    if path.endswith("restore"):
        owner.delete(f"{ENTRIES}/{secret}", undo="true")
    guessed = by_id(confined, method, path, body, secret)
    assert guessed.status_code == 404
    assert without_traces(guessed) == without_traces(by_id(confined, method, path, body, str(uuid4())))


def test_anothers_id_supersedes_nothing(stranger, owner, secret):
    mine = stranger.store("Something of Bob's")
    responses = [stranger.patch(f"{ENTRIES}/{mine}", {"supersedes": guess}) for guess in (secret, str(uuid4()))]
    assert without_traces(responses[0]) == without_traces(responses[1])
    assert owner.entry(secret)["status"] == "active"


# --- by everything else ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [{}, {"tag": "code"}, {"source_id": "vault-1"}, {"status": "any"}, {"space": "default"}],
)
def test_a_list_holds_ones_own(stranger, secret, query):
    assert stranger.texts(**query) == []


@pytest.mark.parametrize("more", [{}, {"policy": {"legs": ["keyword"]}}, {"min_score": 0}])
def test_a_search_finds_ones_own(stranger, secret, more):
    assert stranger.found("The safe code is 4711", **more) == []


ASKED_OF_A_THEME = [lambda a, t: a.get(ENTRIES, theme=t), lambda a, t: a.tool("memory_search", query="a", theme=t)]


@pytest.mark.parametrize("ask", ASKED_OF_A_THEME)
def test_anothers_theme_is_no_theme(stranger, secret, ask):
    assert [fields(ask(stranger, theme)) for theme in ("safes", "unheard")] == [["theme"], ["theme"]]


@pytest.mark.parametrize("path", ["summary", "prompt", "themes", "settings"])
def test_what_is_told_of_memory_is_ones_own(stranger, secret, path):
    answer = stranger.get(f"/v1/memory/{path}").text
    assert "is 4711" not in answer
    assert "safes" not in answer.lower()


def test_context_is_ones_own(stranger, secret):
    assert "is 4711" not in stranger.post("/v1/memory/context", {"query": "safe code"}).text


def test_the_same_theme_of_two_users_is_two_themes(owner, stranger, secret):
    stranger.store("A locksmith told me so", theme="safes")
    assert stranger.texts(theme="safes") == ["A locksmith told me so"]
    assert owner.texts(theme="safes") == ["The safe code is 4711"]


def test_anothers_cursor_leads_through_ones_own(owner, stranger, secret):
    owner.store("Another secret")
    cursor = owner.get(ENTRIES, limit=1).json["next_cursor"]
    assert stranger.get(ENTRIES, cursor=cursor).json["entries"] == []


def test_the_same_text_of_two_users_is_two_memories(stranger, secret):
    answer = stranger.post(ENTRIES, {"text": "The safe code is 4711"})
    assert (answer.status_code, answer.json["outcome"], answer.json["trace"]["neighbours"]) == (201, "created", [])


def test_anothers_tombstone_stops_nobody_else(owner, stranger, secret):
    owner.delete(f"{ENTRIES}/{secret}")
    assert stranger.post(ENTRIES, {"text": "The safe code is 4711"}).status_code == 201


def test_a_tombstone_of_one_space_stops_no_other(owner, ada, secret):
    add_space(ada, "work")
    owner.delete(f"{ENTRIES}/{secret}")
    assert owner.post(ENTRIES, {"text": "The safe code is 4711", "space": "work"}).status_code == 201


def test_the_space_of_another_user_is_no_space(owner, stranger, ada):
    add_space(ada, "vault")
    answers = [stranger.get(f"/v1/spaces/{slug}") for slug in ("vault", "tluav")]
    assert [a.status_code for a in answers] == [404, 404]
    assert answers[0].json["detail"].replace("vault", "tluav") == answers[1].json["detail"]


def test_a_body_cannot_name_a_user(stranger, ada):
    assert fields(stranger.post(ENTRIES, {"text": "a", "user_id": str(ada.id)})) == ["user_id"]
    assert memories_of(ada) == 0


@pytest.mark.parametrize("tool", ["memory_search", "query_memory", "memory_add"])
def test_arguments_cannot_name_a_user(stranger, ada, tool):
    assert "user_id" in fields(stranger.tool(tool, query="a", content="a", type="note", user_id=str(ada.id)))


def test_the_journal_is_ones_own(owner, bob, secret):
    owner.found("safe code")
    assert rows(bob, "SELECT 1 FROM tool_calls") == []


# --- acting for another ---------------------------------------------------------------------------------------------


@pytest.fixture
def service(client, root):
    return Agent(client, root.headers)


def acting_for(agent, name):
    return Agent(agent.client, agent.headers, {"X-Commonplace-User": str(name)})


@pytest.mark.parametrize("name", ["id", "email"])
def test_a_service_acts_for_a_user(service, ada, secret, name):
    assert acting_for(service, getattr(ada, name)).texts() == ["The safe code is 4711"]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_service_acts_for_a_user_whose_address_is_not_ascii(service, new_person, encoding):
    zoe = new_person("zoë", email=f"zoë-{uuid4().hex}@example.org")
    acting_for(service, zoe.email.encode(encoding).decode("latin-1")).store("Zoë said so")
    assert rows(zoe, "SELECT text FROM memories") == [("Zoë said so",)]


def test_a_service_that_acts_for_a_user_does_not_see_its_own(service, bob):
    service.store("Of the service itself")
    assert acting_for(service, bob.id).texts() == []


def test_what_a_service_stores_belongs_to_the_user(service, ada, root):
    acting_for(service, ada.id).store("Ada said so")
    assert (memories_of(ada), memories_of(root)) == (1, 0)


def test_a_service_is_known_by_its_id_alone_to_whom_it_acts_for(service, ada, root, client):
    memory_id = acting_for(service, ada.id).store("Ada said so")
    token = rows(root, "SELECT id FROM tokens")[0].id
    for asking in (Agent(client, ada.headers), acting_for(service, ada.id)):
        assert asking.entry(memory_id)["token"] == {"id": str(token), "name": None, "prefix": None}
        assert asking.texts(token_id=token) == ["Ada said so"]
    assert service.texts(token_id=token) == []


def test_a_service_that_acts_for_a_user_is_no_admin(service, ada):
    assert acting_for(service, ada.id).post("/v1/admin/backfill", {}).status_code == 403


@pytest.mark.parametrize("known", [True, False])
def test_without_the_scope_nobody_acts_for_another(stranger, ada, known):
    assert acting_for(stranger, ada.id if known else uuid4()).get(ENTRIES).status_code == 403


@pytest.mark.parametrize("name", ["nobody@example.org", "", "'; --", NOBODYS_ID])
def test_a_service_cannot_act_for_nobody(service, name):
    assert acting_for(service, name).get(ENTRIES).status_code == 403


def test_a_confined_service_acts_for_nobody(client, root, ada):
    confined = Agent(client, root.new_token("read", "service", space="default"))
    assert acting_for(confined, ada.id).get(ENTRIES).status_code == 403


def test_incognito_of_a_service_is_per_user(service, ada, bob):
    acting_for(service, ada.id).post("/v1/memory/incognito/start")
    assert acting_for(service, bob.id).post(ENTRIES, {"text": "a"}).status_code == 201


# --- spaces ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def confined(client, ada, secret):
    """A token that is confined to a space which holds one memory."""
    agent = Agent(client, ada.new_token("read", "write", "forget", space=add_space(ada, "work")))
    agent.store("The meeting is on Monday", theme="meetings")
    return agent


def test_a_confined_token_lists_its_space(confined):
    assert confined.texts() == ["The meeting is on Monday"]


def test_a_confined_token_stores_into_its_space(confined, owner):
    confined.store("Another")
    assert sorted(owner.texts(space="work")) == ["Another", "The meeting is on Monday"]


def test_a_confined_token_is_told_the_names_of_no_other(confined, owner):
    own, others = (agent.store(f"Of the {what}", space="work") for agent, what in ((confined, "desk"), (owner, "door")))
    told = {entry["id"]: entry["token"] for entry in confined.get(ENTRIES).json["entries"]}
    assert told[own]["name"] == "another"
    assert (told[others]["name"], told[others]["prefix"]) == (None, None)
    assert told[others]["id"] == owner.entry(others)["token"]["id"]


def test_a_confined_token_searches_its_space(confined):
    assert confined.found("safe code 4711 or meeting on Monday", min_score=0) == ["The meeting is on Monday"]


OTHER_SPACE = [
    ("GET", ENTRIES, {"query_string": {"space": "{}"}}),
    ("POST", ENTRIES, {"json": {"text": "a", "space": "{}"}}),
    ("POST", f"{ENTRIES}/batch", {"json": {"entries": [{"text": "a"}], "space": "{}"}}),
    ("POST", f"{ENTRIES}/batch", {"json": {"entries": [{"text": "a", "space": "{}"}]}}),
    ("GET", "/v1/memory/summary", {"query_string": {"space": "{}"}}),
    ("GET", "/v1/memory/prompt", {"query_string": {"space": "{}"}}),
    ("GET", "/v1/memory/themes", {"query_string": {"space": "{}"}}),
    ("GET", "/v1/memory/settings", {"query_string": {"space": "{}"}}),
    ("POST", "/v1/memory/settings", {"json": {"memory_enabled": False, "space": "{}"}}),
    ("POST", "/v1/memory/context", {"json": {"query": "safe code", "space": "{}"}}),
    ("GET", "/v1/spaces/{}", {}),
    ("PATCH", "/v1/spaces/{}", {"json": {"name": "mine"}}),
    ("POST", "/v1/tools/memory_search", {"json": {"query": "safe code", "space": "{}"}}),
    ("POST", "/v1/tools/memory_add", {"json": {"type": "note", "content": "a", "space": "{}"}}),
]


def filled(value, slug):
    if isinstance(value, dict):
        return {k: filled(v, slug) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v, slug) for v in value]
    return value.format(slug) if isinstance(value, str) else value


@pytest.mark.parametrize(("method", "path", "request_"), OTHER_SPACE, ids=[f"{m} {p}" for m, p, _ in OTHER_SPACE])
def test_another_space_is_no_space_to_a_confined_token(confined, method, path, request_):
    answers = [confined.ask(method, path.format(slug), **filled(request_, slug)) for slug in ("default", "unheard")]
    assert {answer.status_code for answer in answers} <= {404, 422}
    assert (
        answers[0].text.replace("default", "unheard").split("request_id")[0] == answers[1].text.split("request_id")[0]
    )


def test_a_confined_token_lists_one_space(confined):
    assert [space["slug"] for space in confined.get("/v1/spaces").json["spaces"]] == ["work"]


@pytest.mark.parametrize("ask", ASKED_OF_A_THEME)
def test_a_theme_of_another_space_is_no_theme_to_a_confined_token(confined, owner, ask):
    owner.store("The safe is red", theme="safes")
    assert [ask(confined, theme).status_code for theme in ("meetings", "safes", "unheard")] == [200, 422, 422]


def test_a_confined_token_adds_no_space(confined):
    assert confined.post("/v1/spaces", {"slug": "mine"}).status_code == 403


def test_a_confined_token_adds_no_theme_by_itself(confined):
    assert confined.post("/v1/memory/themes", {"slug": "safes"}).status_code == 403


@pytest.mark.parametrize(("method", "path"), [("PUT", ""), ("DELETE", ""), ("POST", "/test")])
def test_a_confined_token_does_not_choose_what_embeds_the_others(confined, owner, method, path):
    endpoint = {"provider_type": "openai", "endpoint_url": "http://127.0.0.1:9/v1", "model": "m"}
    answer = confined.ask(method, f"/v1/providers{path}", **({} if method == "DELETE" else {"json": endpoint}))
    assert answer.status_code == 403
    assert owner.get("/v1/providers").json["setting"] is None


@pytest.mark.parametrize("ask", [lambda a: a.get("/v1/memory/themes"), lambda a: a.tool("memory_list_themes")])
def test_a_confined_token_lists_the_themes_of_its_space(confined, ask):
    assert [theme["slug"] for theme in ask(confined).json["themes"]] == ["meetings"]


TOLD_OF_THEMES = [("themes", {}), ("themes", {"space": "work"}), ("prompt", {"space": "work"})]


def test_who_guesses_a_theme_reads_nothing_that_was_written_of_it(confined, owner):
    words = {"slug": "grace", "display_name": "Leaving Grace", "description": "What the lawyer said"}
    owner.post("/v1/memory/themes", words)
    confined.store("Anything", theme="grace")
    told = [confined.tool("memory_list_themes").text]
    told += [confined.get(f"/v1/memory/{path}", **query).text for path, query in TOLD_OF_THEMES]
    assert [("grace" in each.lower(), "Leaving" in each, "lawyer" in each) for each in told] == [
        (True, False, False)
    ] * 4
    assert ["Leaving" in owner.get(f"/v1/memory/{path}", **query).text for path, query in TOLD_OF_THEMES] == [True] * 3


@pytest.mark.parametrize("path", ["prompt", "summary"])
def test_a_confined_token_is_told_of_its_space(confined, path):
    answer = confined.get(f"/v1/memory/{path}").text
    assert "eeting" in answer
    assert "safe" not in answer.replace("safe to", "").lower()


def test_a_confined_token_merges_with_nothing_of_another_space(confined):
    assert confined.post(ENTRIES, {"text": "The safe code is 4711"}).json["outcome"] == "created"


def test_a_space_holds_nothing_of_the_pool(owner, ada, secret):
    add_space(ada, "work")
    assert (owner.texts(space="work"), owner.found("safe code", space="work")) == ([], [])


# --- spaces without a name --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [ENTRIES, "/v1/conversations", "/v1/entities", "/v1/memory/themes"])
def test_an_empty_name_asks_for_no_space(owner, secret, path):
    response = owner.get(path, space="")
    assert (response.status_code, fields(response)) == (422, ["space"])


def test_an_empty_name_moves_no_conversation_to_the_shared_pool(owner, ada):
    talk = Talk(owner, space=add_space(ada, "work"))
    moved = talk.change(space="")
    assert (moved.status_code, fields(moved), talk.head()["space"]) == (422, ["space"], "work")
    assert talk.change(space=None).json["space"] == "default"


# --- by where the headers say that a call is made -------------------------------------------------------------------

STORED = [
    (ENTRIES, {"text": "The lathe is booked"}),
    (f"{ENTRIES}/batch", {"entries": [{"text": "The lathe is booked"}]}),
    ("/v1/facts", {"subject": "The lathe", "predicate": "is", "object": "booked"}),
    ("/v1/conversations", {"external_id": "lathe"}),
]
LISTED = {"entries": ENTRIES, "facts": "/v1/facts", "conversations": "/v1/conversations"}


def at(agent, **header):
    """Return the agent as one that says where its calls are made."""
    said = {f"X-Commonplace-{name.title()}": value for name, value in header.items()}
    return Agent(agent.client, agent.headers, said)


def kept(agent):
    """Return in which spaces the user has anything, by what it is."""
    return {
        name: [item["space"] for item in agent.get(path).json[name]]
        for name, path in LISTED.items()
        if agent.get(path).json[name]
    }


@pytest.mark.parametrize(("path", "body"), STORED, ids=[path for path, _ in STORED])
def test_what_is_stored_is_of_the_space_that_the_header_names(owner, ada, path, body):
    add_space(ada, "work")
    assert at(owner, space="work").post(path, body).status_code in {200, 201}
    assert list(kept(owner).values()) == [["work"]]


@pytest.mark.parametrize(("path", "body"), STORED, ids=[path for path, _ in STORED])
def test_a_space_in_the_body_goes_before_that_of_the_header(owner, ada, path, body):
    add_space(ada, "work")
    assert at(owner, space="work").post(path, {**body, "space": "default"}).status_code in {200, 201}
    assert list(kept(owner).values()) == [["default"]]


@pytest.mark.parametrize(("path", "body"), STORED, ids=[path for path, _ in STORED])
def test_nothing_is_stored_for_a_space_that_there_is_not(owner, path, body):
    answer = at(owner, space="wrok").post(path, body)
    assert (answer.status_code, fields(answer), kept(owner)) == (422, ["X-Commonplace-Space"], {})
    assert "there are default" in answer.json["detail"]


def test_what_is_stored_in_a_conversation_is_of_its_space(owner, ada):
    thread = owner.post("/v1/conversations", {"space": add_space(ada, "work")}).json["id"]
    for path, body in STORED[:3]:
        at(owner, conversation=thread).post(path, body)
    assert kept(owner) == {"entries": ["work"], "facts": ["work"], "conversations": ["work"]}


def test_a_list_is_of_the_space_that_the_header_names(owner, ada):
    add_space(ada, "work")
    for path, body in STORED[:1] + STORED[2:]:
        owner.post(path, body)
    assert kept(owner) == {name: ["default"] for name in LISTED}
    assert kept(at(owner, space="work")) == {}
    assert kept(at(owner, space="default")) == kept(owner)


def test_a_conversation_is_not_resumed_in_another_space_than_that_of_the_header(owner, ada):
    add_space(ada, "work")
    first = owner.post("/v1/conversations", {"external_id": "lathe"}).json
    second = at(owner, space="work").post("/v1/conversations", {"external_id": "lathe"})
    assert (second.status_code, first["space"], second.json["space"]) == (201, "default", "work")
    again = at(owner, space="work").post("/v1/conversations", {"external_id": "lathe"})
    assert (again.status_code, again.json["id"]) == (200, second.json["id"])


@pytest.mark.parametrize("path", ["/v1/memory/summary", "/v1/memory/settings", "/v1/entities", "/v1/memory/updates"])
def test_a_header_of_no_space_stops_a_look_as_well(owner, path):
    answer = at(owner, space="wrok").get(path)
    assert (answer.status_code, fields(answer)) == (422, ["X-Commonplace-Space"])


def test_the_settings_are_those_of_the_space_that_the_header_names(owner, ada):
    add_space(ada, "work")
    changed = at(owner, space="work").post("/v1/memory/settings", {"memory_enabled": False}).json
    assert (changed["slug"], changed["memory_enabled"]) == ("work", False)
    assert at(owner, space="work").get("/v1/memory/settings").json["slug"] == "work"
    assert owner.get("/v1/memory/settings").json["memory_enabled"] is True


def test_themes_are_those_of_the_space_that_the_header_names(owner, secret, ada):
    add_space(ada, "work")
    assert [theme["slug"] for theme in at(owner, space="default").get("/v1/memory/themes").json["themes"]] == ["safes"]
    assert at(owner, space="work").get("/v1/memory/themes").json["themes"] == []
