"""The switches: memory off in a space, and incognito."""

from __future__ import annotations

import pytest
from api_agent import ENTRIES, Agent, add_space, embed, fields, memories_of, rows

START, END = "/v1/memory/incognito/start", "/v1/memory/incognito/end"


@pytest.fixture
def memory_id(agent, ada):
    memory_id = agent.store("Ada keeps bees on the roof", theme="hobbies")
    embed(ada)
    return memory_id


def switch(agent, **switches):
    return agent.post("/v1/memory/settings", switches)


def audit(person, action):
    return rows(person, "SELECT count, details FROM audit_events WHERE action = :action ORDER BY id", action=action)


# --- memory off -----------------------------------------------------------------------------------------------------


@pytest.fixture
def off(agent, memory_id):
    switch(agent, memory_enabled=False)
    return agent


def test_the_switch_is_answered(agent):
    assert switch(agent, memory_enabled=False).json["memory_enabled"] is False
    assert agent.get("/v1/memory/settings").json["memory_enabled"] is False


@pytest.mark.parametrize("body", [{}, {"memory_enabled": None}, {"memory_enabled": "perhaps"}, {"volume": 11}])
def test_a_bad_switch_is_refused(agent, body):
    assert agent.post("/v1/memory/settings", body).status_code == 422


def test_memory_off_stores_nothing(off, ada):
    response = off.post(ENTRIES, {"text": "Something new"})
    assert (response.status_code, response.json["outcome"], response.json["reason"]) == (409, "refused", "memory_off")
    assert memories_of(ada) == 1


def test_memory_off_stores_no_batch(off, ada):
    answer = off.post(f"{ENTRIES}/batch", {"entries": [{"text": "a"}, {"text": "b"}]}).json
    assert (answer["counts"]["refused"], memories_of(ada)) == (2, 1)


REWRITINGS = [
    ("PATCH", "/v1/memory/entries/{}", {"text": "Ada keeps goats"}),
    ("PATCH", "/v1/memory/entries/{}", {"tags": ["goats"], "pinned": True}),
    ("PATCH", "/v1/memory/entries/{}", {"theme": "goats"}),
    ("PATCH", "/v1/memory/entries/{}", {"importance": 0.9}),
    ("POST", "/v1/memory/entries/{}/revisions/1/restore", None),
    ("POST", "/v1/tools/memory_update", {"content": "Ada keeps goats"}),
    ("POST", "/v1/tools/memory_update", {"tags": ["goats"]}),
]


@pytest.mark.parametrize(("method", "path", "body"), REWRITINGS)
def test_memory_off_stores_no_other_version(agent, ada, memory_id, method, path, body):
    agent.patch(f"{ENTRIES}/{memory_id}", {"type": "fact"})
    switch(agent, memory_enabled=False)
    if "tools" in path:
        body = {**body, "item_id": memory_id}
    response = agent.ask(method, path.format(memory_id), **({"json": body} if body else {}))
    assert (response.status_code, response.json["reason"]) == (409, "memory_off")
    assert rows(ada, "SELECT text, type, tags, pinned FROM memories") == [
        ("Ada keeps bees on the roof", "fact", [], False)
    ]
    assert rows(ada, "SELECT FROM themes WHERE slug = 'goats'") == []
    assert rows(ada, "SELECT FROM tool_calls WHERE arguments::text LIKE '%goats%'") == []


CURATIONS = [
    ("POST", "/v1/memory/entries/{}/pin", None),
    ("PATCH", "/v1/memory/entries/{}", {"pinned": True}),
    ("PATCH", "/v1/memory/entries/{}", {"status": "archived"}),
    ("POST", "/v1/tools/memory_update", {"status": "archived"}),
    ("DELETE", "/v1/memory/entries/{}", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CURATIONS)
def test_memory_off_leaves_what_is_there_to_its_owner(off, ada, memory_id, method, path, body):
    if "tools" in path:
        body = {**body, "item_id": memory_id}
    assert off.ask(method, path.format(memory_id), **({"json": body} if body else {})).status_code == 200
    assert rows(ada, "SELECT FROM memories WHERE NOT pinned AND status = 'active'") == []


def test_memory_off_brings_nothing_back_until_it_is_on(off, ada, memory_id):
    off.delete(f"{ENTRIES}/{memory_id}", undo="true")
    response = off.post(f"{ENTRIES}/{memory_id}/restore")
    assert (response.status_code, response.json["reason"], memories_of(ada)) == (409, "memory_off", 0)
    switch(off, memory_enabled=True)
    assert off.post(f"{ENTRIES}/{memory_id}/restore").json["text"] == "Ada keeps bees on the roof"


def test_memory_off_undoes_no_command_that_forgot(off, ada, memory_id):
    undo = off.post("/v1/command", {"text": f"forget {memory_id}"}).json["undo"]["slip"]
    for said in ({"text": "undo", "undo": undo}, {"text": "undo"}):
        response = off.post("/v1/command", said)
        assert (response.status_code, response.json["reason"], memories_of(ada)) == (409, "memory_off", 0)


def test_memory_off_recalls_nothing(off):
    answer = off.tool("memory_search", query="bees").json
    assert (answer["results"], answer["degraded"]) == ([], ["memory_off"])


def test_memory_off_leaves_the_list_to_its_owner(off):
    assert off.texts() == ["Ada keeps bees on the roof"]


def test_memory_off_is_one_spaces_own(off, ada):
    add_space(ada, "work")
    assert off.post(ENTRIES, {"text": "Something new", "space": "work"}).status_code == 201


def test_memory_on_again_recalls(off):
    switch(off, memory_enabled=True)
    assert off.found("bees") == ["Ada keeps bees on the roof"]


def test_switching_is_in_the_audit(off, ada):
    assert audit(ada, "space.changed")[-1].details["fields"] == ["memory_enabled"]


# --- incognito ------------------------------------------------------------------------------------------------------


@pytest.fixture
def hidden(agent, memory_id):
    agent.post(START)
    return agent


def test_incognito_starts_for_the_token(hidden):
    assert hidden.post(ENTRIES, {"text": "Something new"}).status_code == 409


def test_incognito_of_a_token_is_not_anothers(hidden, client, ada):
    assert Agent(client, ada.new_token("read", "write")).texts() == ["Ada keeps bees on the roof"]


@pytest.mark.parametrize("how", ["header", "body"])
def test_incognito_starts_for_a_named_session(agent, how):
    if how == "header":
        agent.in_session("chat-1").post(START)
    else:
        agent.post(START, {"session": " chat-1 "})
    assert agent.in_session("chat-1").post(ENTRIES, {"text": "a"}).status_code == 409
    assert agent.in_session("chat-2").post(ENTRIES, {"text": "a"}).status_code == 201


@pytest.mark.parametrize(
    ("name", "encoding"),
    [("séance", "utf-8"), ("voilà", "utf-8"), ("日本", "utf-8"), ("séance", "latin-1"), ("voilà", "latin-1")],
)
def test_a_session_has_the_same_name_in_a_header_as_in_a_body(agent, name, encoding):
    assert agent.post(START, {"session": name}).json["incognito"] is True
    # WSGI hands over the bytes of a header as Latin-1.
    session = agent.in_session(name.encode(encoding).decode("latin-1"))
    assert session.post(ENTRIES, {"text": "a"}).status_code == 409
    assert session.post(END).json["refused_writes"] == 1


@pytest.fixture
def confined(client, ada):
    """A token that is confined to one space, in a session of a name that others use too."""
    return Agent(client, ada.new_token("read", "write", space=add_space(ada, "work"))).in_session("chat-1")


@pytest.mark.parametrize("how", ["header", "body", "command"])
def test_a_confined_token_ends_no_incognito_of_others(agent, confined, ada, how):
    agent.in_session("chat-1").post(START)
    if how == "command":
        confined.post("/v1/command", {"text": "end incognito"})
    else:
        confined.post(END, {"session": "chat-1"} if how == "body" else None)
    assert agent.in_session("chat-1").post(ENTRIES, {"text": "a"}).status_code == 409
    elsewhere = Agent(agent.client, ada.new_token("read", "write", space=add_space(ada, "home")))
    assert elsewhere.in_session("chat-1").post(ENTRIES, {"text": "a"}).status_code == 201


@pytest.mark.parametrize("name", ["chat-1", "x" * 150])
def test_a_confined_token_starts_incognito_for_its_space_alone(agent, confined, ada, name):
    answer = confined.post(START, {"session": name})
    assert (answer.status_code, answer.json["incognito"]) == (200, True)
    assert confined.in_session(name).post(ENTRIES, {"text": "a"}).status_code == 409
    beside = Agent(agent.client, ada.new_token("read", "write", space="work"))
    assert beside.in_session(name).post(ENTRIES, {"text": "a"}).status_code == 409
    assert agent.in_session(name).post(ENTRIES, {"text": "a"}).status_code == 201


def test_sessions_whose_long_names_begin_alike_are_two(agent):
    one, other = (agent.in_session("thread-" + "x" * 150 + end) for end in "ab")
    one.post(START)
    other.post(END)
    assert one.post(ENTRIES, {"text": "a"}).status_code == 409
    assert other.post(ENTRIES, {"text": "a"}).status_code == 201


def test_incognito_stores_nothing(hidden, ada):
    answer = hidden.post(ENTRIES, {"text": "Something new"}).json
    assert (answer["outcome"], answer["reason"], answer["id"]) == ("refused", "incognito", None)
    assert memories_of(ada) == 1


def test_incognito_stores_no_batch(hidden, ada):
    answer = hidden.post(f"{ENTRIES}/batch", {"entries": [{"text": "a"}, {"text": "b"}]}).json
    assert (answer["counts"]["refused"], memories_of(ada)) == (2, 1)


def test_incognito_adds_no_theme(hidden, ada):
    response = hidden.post("/v1/memory/themes", {"slug": "secret", "display_name": "Secret"})
    assert (response.status_code, response.json["reason"]) == (409, "incognito")
    assert rows(ada, "SELECT 1 FROM themes WHERE slug = 'secret'") == []


EMPTY = [
    ("GET", ENTRIES, None, "entries", "skipped"),
    ("GET", "/v1/memory/themes", None, "themes", "skipped"),
    ("GET", "/v1/memory/summary", None, "summary", "skipped"),
    ("GET", "/v1/memory/prompt", None, "prompt", "skipped"),
    ("POST", "/v1/memory/context", {"query": "bees"}, "context", "degraded"),
    ("POST", "/v1/tools/memory_search", {"query": "bees"}, "results", "degraded"),
    ("POST", "/v1/tools/query_memory", {"query": "bees"}, "memories", "degraded"),
    ("POST", "/v1/tools/memory_list_themes", {}, "themes", "degraded"),
]


@pytest.mark.parametrize(("method", "path", "body", "what", "why"), EMPTY, ids=[case[1] for case in EMPTY])
def test_incognito_recalls_nothing_and_says_why(hidden, method, path, body, what, why):
    response = hidden.ask(method, path, **({"json": body} if body is not None else {}))
    assert (response.status_code, len(response.json[what])) == (200, 0)
    assert response.json[why] in ("incognito", ["incognito"])


def test_incognito_reads_no_memory_by_its_id(hidden, memory_id):
    response = hidden.get(f"{ENTRIES}/{memory_id}")
    assert (response.status_code, response.json["reason"]) == (409, "incognito")


def test_incognito_gets_no_memory_by_its_id(hidden, memory_id):
    assert hidden.tool("memory_get", item_id=memory_id).json == {"item": None, "degraded": ["incognito"]}


CHANGES = [
    ("PATCH", "/v1/memory/entries/{}", {"importance": 0.9}),
    ("POST", "/v1/memory/entries/{}/pin", None),
    ("DELETE", "/v1/memory/entries/{}/pin", None),
    ("POST", "/v1/tools/memory_update", {"content": "Ada keeps goats"}),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES, ids=[f"{m} {p}" for m, p, _ in CHANGES])
def test_incognito_changes_nothing(hidden, ada, memory_id, method, path, body):
    if "tools" in path:
        body = {**body, "item_id": memory_id}
    response = hidden.ask(method, path.format(memory_id), **({"json": body} if body else {}))
    assert (response.status_code, response.json["reason"]) == (409, "incognito")
    assert rows(ada, "SELECT text, pinned FROM memories") == [("Ada keeps bees on the roof", False)]


@pytest.mark.parametrize("how", ["rest", "tool"])
def test_incognito_may_forget(hidden, ada, memory_id, how):
    if how == "rest":
        assert hidden.delete(f"{ENTRIES}/{memory_id}").status_code == 200
    else:
        assert hidden.tool("memory_delete", item_id=memory_id).status_code == 200
    assert memories_of(ada) == 0


def test_incognito_ends(hidden):
    hidden.post(END)
    assert hidden.texts() == ["Ada keeps bees on the roof"]


def test_the_end_says_how_many_writes_were_refused(hidden, memory_id):
    hidden.post(ENTRIES, {"text": "a"})
    hidden.post(f"{ENTRIES}/batch", {"entries": [{"text": "b"}, {"text": "c"}]})
    hidden.patch(f"{ENTRIES}/{memory_id}", {"importance": 0.9})
    assert hidden.post(END).json["refused_writes"] == 4


def test_the_audit_says_that_it_was_on_and_what_it_refused(hidden, ada):
    hidden.post(ENTRIES, {"text": "a very secret text"})
    hidden.post(END)
    assert len(audit(ada, "incognito.started")) == 1
    assert audit(ada, "incognito.ended")[0].details == {"refused_writes": 1}


def test_a_second_session_counts_anew(hidden):
    hidden.post(ENTRIES, {"text": "a"})
    hidden.post(END)
    hidden.post(START)
    assert hidden.post(END).json["refused_writes"] == 0


SPOKEN = [
    ("memory_search", {"query": "very secret"}),
    ("query_memory", {"query": "very secret"}),
    ("memory_add", {"type": "note", "content": "very secret"}),
    ("memory_add", {"type": "rumour", "content": "very secret"}),
    ("memory_add", {"type": "note", "content": "\x00", "tags": ["very secret"]}),
    ("memory_search", {"query": "very secret", "policy": {"alpha": -1}}),
    ("memory_search", {"query": "very secret", "space": "nowhere"}),
    ("memory_search", {"query": "bees", "a very secret word": 1}),
]
SPEAKING = [f"{name}-{n}" for n, (name, _) in enumerate(SPOKEN)]


@pytest.mark.parametrize(("name", "arguments"), SPOKEN, ids=SPEAKING)
def test_nothing_said_while_incognito_is_in_the_journal(hidden, ada, name, arguments):
    hidden.tool(name, **arguments)
    call = rows(ada, "SELECT arguments, affected_ids, tool_calls::text AS all FROM tool_calls")[0]
    assert (call.arguments, call.affected_ids) == ({}, [])
    assert "secret" not in call.all


@pytest.mark.parametrize("path", [START, END])
@pytest.mark.parametrize("session", ["", " ", "\xa0", "x" * 151, "\x00", "a\nb", "a\x7f", 5])
def test_a_bad_session_is_refused(agent, path, session):
    assert fields(agent.post(path, {"session": session})) == ["session"]


@pytest.mark.parametrize("name", ["x" * 5000, "ü€".encode().decode("latin-1"), "%00", "'; --"])
def test_an_odd_session_header_is_a_session(agent, name):
    assert agent.in_session(name).post(START).status_code == 200
    assert agent.in_session(name).post(ENTRIES, {"text": "a"}).status_code == 409


# --- incognito by a space's default ---------------------------------------------------------------------------------


@pytest.fixture
def diary(agent, ada, memory_id):
    """A space that is incognito by default, with something in it from before."""
    add_space(ada, "diary")
    agent.store("Dear diary, I love bees", space="diary", theme="love")
    embed(ada)
    switch(agent, space="diary", incognito_default=True)
    return agent


def test_a_default_stores_nothing(diary):
    assert diary.post(ENTRIES, {"text": "a", "space": "diary"}).json["reason"] == "incognito"


def test_a_default_recalls_nothing(diary):
    assert diary.tool("memory_search", query="bees", space="diary").json["degraded"] == ["incognito"]


@pytest.mark.parametrize("query", [{}, {"space": "diary"}])
def test_a_default_lists_nothing_of_the_space(diary, query):
    assert "Dear diary, I love bees" not in diary.texts(**query)


def test_a_default_is_not_taken_along_with_everything_else(diary):
    answer = diary.get("/v1/export")
    assert (answer.status_code, answer.json["reason"]) == (409, "incognito")
    assert "incognito by default: diary;" in answer.json["detail"]
    diary.post(END)
    assert "Dear diary" in diary.get("/v1/export").text


def test_a_default_tells_of_no_theme_that_the_space_alone_has(diary, ada):
    diary.store("Love of bees", theme="bees", importance=0.4)
    diary.patch(f"{ENTRIES}/{diary.store('Old love of bees', theme='old')}", {"status": "archived"})
    diary.post("/v1/memory/themes", {"slug": "empty"})
    wanted = {"bees": 1, "empty": 0, "old": 0}
    for themes in (diary.get("/v1/memory/themes"), diary.tool("memory_list_themes")):
        counts = {theme["slug"]: theme["memories"] for theme in themes.json["themes"]}
        assert {theme: counts.get(theme) for theme in (*wanted, "love")} == {**wanted, "love": None}
    for ask in (lambda t: diary.get(ENTRIES, theme=t), lambda t: diary.tool("memory_search", query="bees", theme=t)):
        assert [ask(theme).status_code for theme in ("bees", "old", "love", "unheard")] == [200, 200, 422, 422]
    kept = rows(ada, "SELECT arguments FROM tool_calls WHERE tool = 'memory_search' AND success")
    assert {call.arguments.get("theme") for call in kept} == {"bees", "old"}
    diary.post(END)
    assert "love" in diary.get("/v1/memory/themes").text


def test_who_asks_is_told_of_no_theme_that_only_a_space_with_memory_off_has(agent, ada):
    add_space(ada, "work")
    agent.store("Work on bees", space="work", theme="hives")
    agent.store("Bees at work", space="work", theme="bees")
    agent.store("Love of bees", theme="bees")
    switch(agent, space="work", memory_enabled=False)
    told = [ask.json["themes"] for ask in (agent.tool("memory_list_themes"), agent.get("/v1/memory/themes"))]
    # The list is its owner's, who may read what is there.
    wanted = [{"bees": 1}, {"bees": 2, "hives": 1}]
    assert [{theme["slug"]: theme["memories"] for theme in themes} for themes in told] == wanted


@pytest.mark.parametrize("switches", [{"memory_enabled": False}, {"incognito_default": True}])
def test_a_switch_of_the_default_space_closes_no_theme_of_another(agent, ada, switches):
    add_space(ada, "work")
    agent.store("Work on bees", space="work", theme="hives")
    agent.store("Love of bees", theme="love")
    switch(agent, **switches)
    told = [ask.json for ask in (agent.tool("memory_list_themes"), agent.get("/v1/memory/themes"))]
    # With memory off, the list is its owner's.
    wanted = [["hives"], ["hives", "love"] if "memory_enabled" in switches else ["hives"]]
    assert [[theme["slug"] for theme in answer["themes"]] for answer in told] == wanted


def test_memory_off_leaves_the_list_of_themes_of_a_space_to_its_owner(agent, ada):
    work = add_space(ada, "work")
    agent.store("Work on bees", space=work, theme="hives")
    switch(agent, space=work, memory_enabled=False)
    listed = agent.get("/v1/memory/themes", space=work).json
    assert ([theme["slug"] for theme in listed["themes"]], "skipped" in listed) == (["hives"], False)
    asked = Agent(agent.client, ada.new_token("read", space=work)).tool("memory_list_themes").json
    assert asked == {"themes": [], "degraded": ["memory_off"]}


def test_a_theme_that_the_space_alone_had_is_not_told_of_when_its_memory_is_forgotten(diary, ada):
    memory_id = rows(ada, "SELECT m.id FROM memories m JOIN spaces s ON s.id = m.space_id WHERE s.slug = 'diary'")[0][0]
    assert diary.delete(f"{ENTRIES}/{memory_id}").status_code == 200
    assert _loved(diary) == []
    assert diary.get(ENTRIES, theme="love").status_code == 422


def test_of_a_theme_a_default_counts_what_is_elsewhere(diary):
    diary.store("Love of bees", theme="love")
    assert _loved(diary) == [1]
    diary.post(END)
    assert _loved(diary) == [2]


def _loved(agent):
    return [theme["memories"] for theme in agent.get("/v1/memory/themes").json["themes"] if theme["slug"] == "love"]


def test_a_default_holds_in_its_space_only(diary):
    diary.post(ENTRIES, {"text": "a", "space": "diary"})
    assert diary.post(ENTRIES, {"text": "a"}).status_code == 201
    assert diary.found("bees") == ["Ada keeps bees on the roof"]


def test_a_default_tells_the_audit_what_it_refused(diary, ada):
    diary.post(f"{ENTRIES}/batch", {"entries": [{"text": "a"}, {"text": "b"}], "space": "diary"})
    refused = audit(ada, "incognito.refused")[0]
    assert (refused.count, refused.details) == (2, {"space": "diary"})


def test_ending_incognito_overrides_the_default(diary):
    diary.post(END)
    assert diary.found("bees", space="diary") == ["Dear diary, I love bees"]


@pytest.mark.parametrize(("name", "arguments"), SPOKEN[:6], ids=SPEAKING[:6])
def test_nothing_said_to_such_a_space_is_in_the_journal(diary, ada, name, arguments):
    if name == "query_memory":
        switch(diary, incognito_default=True)
    else:
        arguments = {**arguments, "space": "diary"}
    diary.tool(name, **arguments)
    call = rows(ada, "SELECT arguments, tool_calls::text AS all FROM tool_calls")[0]
    assert call.arguments == {}
    assert "secret" not in call.all


def test_spaces_are_neither_added_nor_named_while_incognito(agent, ada):
    agent.post(START, {})
    added = agent.post("/v1/spaces", {"slug": "quixotic"})
    renamed = agent.ask("PATCH", "/v1/spaces/default", json={"name": "Quixotic plan"})
    assert [(answer.status_code, answer.json["reason"]) for answer in (added, renamed)] == [(409, "incognito")] * 2
    assert agent.ask("PATCH", "/v1/spaces/default", json={"memory_enabled": False}).status_code == 200
    assert [row.name for row in rows(ada, "SELECT name FROM spaces")] == ["Default"]


@pytest.mark.parametrize("path", ["/v1/spaces", "/v1/memory/themes"])
def test_a_name_that_is_taken_is_refused_by_its_field(agent, path):
    assert agent.post(path, {"slug": "work"}).status_code == 201
    response = agent.post(path, {"slug": "work"})
    assert (response.status_code, fields(response)) == (409, ["slug"])
