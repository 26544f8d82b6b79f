"""`/v1/memory/entries`, one by one and in batches."""

from __future__ import annotations

import gzip
import json
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from api_agent import ENTRIES, NOBODYS_ID, Agent, add_space, embed, fields, memories_of, rows
from pages_browser import stored

from memory.accounts.accounts import revoke_token
from memory.clock import utc_now
from memory.cursors import to_cursor
from webapp.errors import MOST_TOLD
from webapp.factory import LARGEST_BODY
from webapp.guards import LARGEST_SINGLE
from webapp.pages.headers import HEADERS


@pytest.fixture(scope="module")
def nobody(new_person):
    """A user who stores nothing, for all the tests in which nothing is stored."""
    return new_person("nobody")


@pytest.fixture(scope="module")
def reader(app, nobody):
    return Agent(app.test_client(), nobody.headers)


def test_a_new_text_answers_201(agent):
    assert agent.post(ENTRIES, {"text": "Ada keeps bees"}).status_code == 201


def test_no_vector_is_waited_for_where_nothing_embeds(agent, ada, nothing_embeds):
    memory_id = agent.store("Ada keeps bees")

    def states():
        (listed,) = agent.get(ENTRIES).json["entries"]
        waiting = agent.get("/v1/memory/summary").json["waiting_for_embedding"]
        return listed["embedding"]["state"], agent.entry(memory_id)["embedding"]["state"], waiting

    assert states() == ("none", "none", 0)
    nothing_embeds.undo()
    assert states() == ("pending", "pending", 1)
    embed(ada)
    assert states() == ("ready", "ready", 0)


def test_a_repeat_answers_200(agent):
    first = agent.post(ENTRIES, {"text": "Ada keeps bees", "importance": 0.2})
    second = agent.post(ENTRIES, {"text": "ada keeps BEES"})
    assert (second.status_code, second.json["outcome"], second.json["id"]) == (200, "merged", first.json["id"])
    assert second.json["trace"]["importance"] == agent.entry(first.json["id"])["importance"] == 0.3


def test_a_forgotten_text_answers_409(agent, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}")
    response = agent.post(ENTRIES, {"text": "Ada keeps bees on the roof"})
    assert (response.status_code, response.json["outcome"], response.json["reason"]) == (409, "refused", "tombstone")


def test_of_two_addresses_the_forgotten_one_alone_answers_409(agent):
    one, other = "Read https://a.example/x", "Read https://b.example/y"
    forgotten, kept = agent.store(one), agent.store(other)
    agent.delete(f"{ENTRIES}/{forgotten}")
    answers = [agent.post(ENTRIES, {"text": text}) for text in (one, other)]
    assert [(answer.status_code, answer.json["id"]) for answer in answers] == [(409, None), (200, kept)]
    assert agent.patch(f"{ENTRIES}/{kept}", {"text": "READ HTTPS://A.EXAMPLE/x"}).json["reason"] == "tombstone"


def test_a_repeat_with_a_sign_typed_otherwise_answers_200_and_changes_no_text(agent):
    first = agent.store("Ada -> Bob")
    second = agent.post(ENTRIES, {"text": "Ada \u2192 Bob"})
    assert (second.status_code, second.json["id"], agent.texts()) == (200, first, ["Ada -> Bob"])


@pytest.mark.parametrize("outcome", ["created", "merged", "refused"])
def test_every_outcome_has_the_same_shape(agent, memory_id, outcome):
    if outcome == "refused":
        agent.delete(f"{ENTRIES}/{memory_id}")
    text = "Something else" if outcome == "created" else "Ada keeps bees on the roof"
    answer = agent.post(ENTRIES, {"text": text}).json
    assert answer["outcome"] == outcome
    assert {"id", "outcome", "embedding", "trace"} <= set(answer)


def test_a_new_memory_waits_for_its_vector(agent):
    assert agent.post(ENTRIES, {"text": "Ada keeps bees"}).json["embedding"] == "pending"


def test_a_vector_makes_it_ready(agent, ada, memory_id):
    embed(ada)
    assert agent.entry(memory_id)["embedding"] == {"state": "ready", "error": None}


def test_the_trace_says_why(agent):
    trace = agent.post(ENTRIES, {"text": "I prefer tea", "manually_saved": True}).json["trace"]
    assert trace["reason"] == "new"
    assert {"explicit"} <= {term["name"] for term in trace["terms"]}


FULL = {
    "text": "Ada will visit Kyoto in May",
    "space": "travel",
    "type": "decision",
    "role": "assistant",
    "tags": ["japan", "trips"],
    "theme": "holidays",
    "manually_saved": True,
    "source_ids": ["mail-7", "call-9"],
    "source_message": "m-1",
    "created_at": "2024-02-29T12:00:00+02:00",
    "expires_at": "2999-01-01T00:00:00+00:00",
    "importance": 0.75,
    "metadata_confidence": 0.5,
}


@pytest.mark.parametrize("name", sorted(FULL))
def test_every_field_round_trips(agent, ada, name):
    add_space(ada, "travel")
    shown = agent.entry(agent.post(ENTRIES, FULL).json["id"])[name]
    if name == "created_at":
        assert datetime.fromisoformat(shown) == datetime(2024, 2, 29, 10, tzinfo=UTC)
    else:
        assert shown == FULL[name]


@pytest.mark.parametrize("text", ["e\u0301", "\U0001d518", "line\nbreak", "\u202edlrow", "<|endoftext|>", "%s {} \\"])
def test_unusual_text_comes_back_as_it_was(agent, text):
    assert agent.entry(agent.store(text))["text"] == text


BAD = [
    ({"text": ""}, "text"),
    ({"text": " \n"}, "text"),
    ({"text": "x" * 65_537}, "text"),
    ({"text": "a\x00b"}, "text"),
    ({"text": "half \ud800 pair"}, "text"),
    ({"text": None}, "text"),
    ({"text": 5}, "text"),
    ({}, "text"),
    ({"text": "a", "type": "rumour"}, "type"),
    ({"text": "a", "role": "stranger"}, "role"),
    ({"text": "a", "space": "nowhere"}, "space"),
    ({"text": "a", "space": ""}, "space"),
    ({"text": "a", "space": "no\x00where"}, "space"),
    ({"text": "a", "space": "\ud800"}, "space"),
    ({"text": "a", "tags": [str(n) for n in range(33)]}, "tags"),
    ({"text": "a", "tags": ["ok", "a\x00b"]}, "tags"),
    ({"text": "a", "tags": ["x" * 65]}, "tags"),
    ({"text": "a", "tags": "one"}, "tags"),
    ({"text": "a", "source_ids": ["\x00"]}, "source_ids"),
    ({"text": "a", "source_message": "\x00"}, "source_message"),
    ({"text": "a", "theme": "Not A Slug"}, "theme"),
    ({"text": "a", "theme": "a\x00b"}, "theme"),
    ({"text": "a", "created_at": "2024-01-01T00:00:00"}, "created_at"),
    ({"text": "a", "created_at": "yesterday"}, "created_at"),
    ({"text": "a", "created_at": "2999-01-01T00:00:00Z"}, "created_at"),
    ({"text": "a", "created_at": "0001-01-01T00:00:00+14:00"}, "created_at"),
    ({"text": "a", "expires_at": "9999-12-31T23:59:59-14:00"}, "expires_at"),
    ({"text": "a", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    ({"text": "a", "created_at": 10**30}, "created_at"),
    ({"text": "a", "importance": 1.01}, "importance"),
    ({"text": "a", "importance": 10**400}, "importance"),
    ({"text": "a", "metadata_confidence": -0.1}, "metadata_confidence"),
    ({"text": "a", "user_id": "someone"}, "user_id"),
]


@pytest.mark.parametrize(("body", "field"), BAD, ids=[f"{n}-{field}" for n, (_, field) in enumerate(BAD)])
def test_a_bad_field_is_named_and_nothing_is_stored(reader, nobody, body, field):
    response = reader.post(ENTRIES, body)
    assert (response.status_code, fields(response)) == (422, [field])
    assert memories_of(nobody) == 0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(reader, number):
    data = f'{{"text": "a", "importance": {number}}}'
    response = reader.post(ENTRIES, data=data, content_type="application/json")
    assert (response.status_code, fields(response)) == (422, ["importance"])


DEEP = '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ('{"text": "a"', 400),
        ("not json", 400),
        (b'{"text": "\xff\xfe"}', 400),
        (DEEP, 400),
        ('{"text": ' + "9" * 5000 + "}", 422),
        ('["text"]', 422),
        ('"{\\"text\\": \\"a\\"}"', 422),
        ("null", 422),
        ("", 422),
    ],
)
def test_a_body_that_is_no_object_is_a_problem(reader, nobody, data, status):
    response = reader.post(ENTRIES, data=data, content_type="application/json")
    assert (response.status_code, response.mimetype) == (status, "application/problem+json")
    assert memories_of(nobody) == 0


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_body_of_another_type_answers_415(reader, kind):
    response = reader.post(ENTRIES, data='{"text": "a"}', content_type=kind)
    assert (response.status_code, response.mimetype) == (415, "application/problem+json")


def test_a_compressed_body_answers_415(reader):
    body, kind = gzip.compress(b'{"text": "a"}'), {"Content-Type": "application/json"}
    response = reader.ask("POST", ENTRIES, data=body, headers={**kind, "Content-Encoding": "gzip"})
    assert (response.status_code, response.mimetype) == (415, "application/problem+json")
    assert (response.headers["Accept-Encoding"], "Content-Encoding" in response.json["detail"]) == ("identity", True)
    plain = reader.ask("POST", ENTRIES, data='{"text": ""}', headers={**kind, "Content-Encoding": "identity"})
    assert fields(plain) == ["text"]


def test_an_array_names_the_body(reader):
    assert fields(reader.post(ENTRIES, [1])) == ["body"]


def test_a_body_that_is_missing_is_told_in_our_words(reader):
    told = [{"field": "body", "message": "must be a JSON object"}]
    assert reader.ask("POST", ENTRIES, content_type="application/json").json["errors"] == told
    policy = reader.post("/v1/memory/context", {"query": "bees", "policy": [1]})
    assert policy.json["errors"] == [{"field": "policy", "message": "must be a JSON object"}]


@pytest.mark.parametrize(
    ("path", "most"),
    [
        (ENTRIES, LARGEST_SINGLE),
        ("/v1/tools/memory_search", LARGEST_SINGLE),
        (f"{ENTRIES}/batch", LARGEST_BODY),
        (f"/v1/conversations/{NOBODYS_ID}/messages", LARGEST_BODY),
        (f"/v1/conversations/{NOBODYS_ID}/merge", LARGEST_BODY),
        ("/v1/tool-calls", LARGEST_BODY),
    ],
)
def test_a_huge_body_answers_413(reader, path, most):
    def sent(size):
        length = {"CONTENT_LENGTH": str(size)}
        return reader.post(path, data=b"x", content_type="application/json", environ_overrides=length)

    assert (sent(most + 1).status_code, sent(most + 1).mimetype) == (413, "application/problem+json")
    assert f"at most {most:,} bytes" in sent(most + 1).json["detail"]
    # What does not come is cut off.
    assert (sent(most).status_code, sent(most).json["detail"]) == (400, "the body was cut off; nothing was done")


def test_a_problem_repeats_nothing_of_the_text(reader):
    assert "secret" not in reader.post(ENTRIES, {"text": "secret\x00"}).text


def test_one_bad_entry_stores_none(reader, nobody):
    entries = [{"text": "a"}, {"text": "b"}, {"text": "c"}, {"text": ""}, {"text": "e"}]
    assert fields(reader.post(f"{ENTRIES}/batch", {"entries": entries})) == ["entries.3.text"]
    assert memories_of(nobody) == 0


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"text": "b", "theme": "A B"}, "theme"),
        ({"text": 5}, "text"),
        ({"text": "b", "created_at": "2999-01-01T00:00Z"}, "created_at"),
    ],
)
def test_a_batch_names_the_entry(reader, entry, field):
    response = reader.post(f"{ENTRIES}/batch", {"entries": [{"text": "a"}, entry]})
    assert (response.status_code, fields(response)) == (422, [f"entries.1.{field}"])


def test_a_batch_answers_in_order(agent):
    entries = [{"text": "one"}, {"text": "two"}, {"text": "ONE"}]
    answer = agent.post(f"{ENTRIES}/batch", {"entries": entries}).json
    assert [result["outcome"] for result in answer["results"]] == ["created", "created", "merged"]
    assert answer["counts"] == {"created": 2, "merged": 1, "refused": 0}


def test_a_batch_may_name_its_space_in_the_entries(agent, ada):
    add_space(ada, "work")
    agent.post(f"{ENTRIES}/batch", {"entries": [{"text": "a", "space": "work"}, {"text": "b", "space": "work"}]})
    assert sorted(agent.texts(space="work")) == ["a", "b"]


def test_a_batch_goes_to_one_space(agent, ada):
    add_space(ada, "work")
    entries = [{"text": "a", "space": "work"}, {"text": "b", "space": "default"}]
    assert fields(agent.post(f"{ENTRIES}/batch", {"entries": entries})) == ["entries.1.space"]


def test_a_thousand_entries_are_one_batch(client, new_person):
    owner = new_person("hoarder", soft_cap=2000)
    entries = [{"text": f"Drawer {n} holds {n * 7} screws"} for n in range(1000)]
    answer = Agent(client, owner.headers).post(f"{ENTRIES}/batch", {"entries": entries})
    stored = memories_of(owner)
    rows(owner, "DELETE FROM memories WHERE user_id = :user RETURNING id")  # Nobody is to embed them.
    assert (answer.status_code, answer.json["counts"]["created"], stored) == (200, 1000, 1000)


@pytest.mark.parametrize("size", [0, 1001])
def test_a_batch_has_1_to_1000_entries(reader, size):
    assert fields(reader.post(f"{ENTRIES}/batch", {"entries": [{"text": "a"}] * size})) == ["entries"]


def test_a_batch_has_16_mib_of_text_at_most(agent):
    texts = [f"{number} {'word ' * 13_000}" for number in range(259)]
    answer = agent.post(f"{ENTRIES}/batch", {"entries": [{"text": text} for text in texts]})
    assert (answer.status_code, fields(answer)) == (422, ["entries"])
    assert answer.json["errors"][0]["message"].startswith("must have at most 16777216 bytes of text together, not 1683")


def test_a_batch_over_the_soft_cap_says_once_what_went(client, new_person):
    agent = Agent(client, new_person("small", soft_cap=3).headers)
    answer = agent.post(f"{ENTRIES}/batch", {"entries": [{"text": f"Item {n}"} for n in range(9)]}).json
    assert len(answer["trimmed"]) == 6
    assert not any(result["trace"]["trimmed"] for result in answer["results"])


def test_very_old_memories_do_not_stop_the_soft_cap(client, new_person):
    agent = Agent(client, new_person("old", soft_cap=1).headers)
    agent.store("The first", created_at="1969-07-20T20:17:00+00:00")
    assert agent.post(ENTRIES, {"text": "The second"}).status_code == 201


@pytest.fixture
def shelf(agent, ada):
    """Two memories that differ in everything that can be filtered by."""
    add_space(ada, "work")
    agent.store("plain", created_at="2024-01-01T00:00:00+00:00")
    marked = {"space": "work", "type": "fact", "tags": ["red"], "theme": "things", "source_ids": ["s1"]}
    memory_id = agent.store("marked", manually_saved=True, created_at="2024-06-01T00:00:00+00:00", **marked)
    agent.post(f"{ENTRIES}/{memory_id}/pin")
    return memory_id


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("space", "work"),
        ("type", "fact"),
        ("tag", "red"),
        ("theme", "things"),
        ("source_id", "s1"),
        ("pinned", "true"),
        ("manually_saved", "true"),
        ("created_after", "2024-03-01T00:00:00Z"),
    ],
)
def test_a_filter_leaves_what_it_names(agent, shelf, name, value):
    assert agent.texts(**{name: value}) == ["marked"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("space", "default"),
        ("type", "note"),
        ("pinned", "false"),
        ("manually_saved", "false"),
        ("created_before", "2024-03-01T00:00:00Z"),
    ],
)
def test_a_filter_leaves_out_the_rest(agent, shelf, name, value):
    assert agent.texts(**{name: value}) == ["plain"]


def test_what_seems_to_hold_a_credential_is_listed_alone_and_left_out(agent, shelf):
    secret = f"CI pushes with ghp_{'16C7e42F292c6912E771' * 2}"
    agent.store(secret)
    assert agent.texts(credentials=True) == [secret]
    assert agent.texts(credentials=False) == ["marked", "plain"]
    assert agent.texts(credentials=True, space="work") == []
    assert fields(agent.get(ENTRIES, credentials="some")) == ["credentials"]


@pytest.mark.parametrize(("state", "texts"), [("pending", ["marked", "plain"]), ("ready", []), ("error", [])])
def test_the_state_of_the_vector_filters(agent, shelf, state, texts):
    assert agent.texts(embedding=state) == texts


def tokens_of(person):
    return {row.prefix: row for row in rows(person, "SELECT id, name, prefix FROM tokens")}


def told(agent, person):
    """Return what an entry tells of the token that an agent has."""
    row = tokens_of(person)[agent.headers["Authorization"].removeprefix("Bearer ")[:11]]
    return {"id": str(row.id), "name": row.name, "prefix": row.prefix}


@pytest.fixture
def other(client, ada):
    """A second agent of Ada's, with a token of its own."""
    return Agent(client, ada.new_token("read", "write", "forget"))


def by_message(agent, to="", **how):
    talk = agent.post("/v1/conversations", {}).json["id"]
    return agent.post(f"/v1/conversations/{talk}/messages{to}", **how)


SAID = {"role": "user", "content": "It was written so", "remember": True}
STREAMED = [{"role": "user", "client_id": "m", "remember": True}, {"delta": "It was written so"}, {"done": True}]
WAYS = {
    "tool": lambda agent: agent.tool("memory_add", content="Written so"),
    "entry": lambda agent: agent.post(ENTRIES, {"text": "Written so"}),
    "batch": lambda agent: agent.post(f"{ENTRIES}/batch", {"entries": [{"text": "Written so"}]}),
    "command": lambda agent: agent.post("/v1/command", {"text": "Remember that it was written so"}),
    "message": lambda agent: by_message(agent, body={"messages": [SAID]}),
    "stream": lambda agent: by_message(agent, to="/stream", data="\n".join(json.dumps(line) for line in STREAMED)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_memory_tells_which_token_wrote_it_whichever_way(other, agent, ada, way):
    response = WAYS[way](other)
    assert response.status_code in {200, 201}, response.json
    (entry,) = agent.get(ENTRIES).json["entries"]
    agent.patch(f"{ENTRIES}/{entry['id']}", {"text": "Put right by another"})
    assert agent.entry(entry["id"])["token"] == told(other, ada)
    assert agent.tool("memory_get", item_id=entry["id"]).json["token"] == told(other, ada)


def test_who_says_it_again_is_not_who_wrote_it(agent, other, ada):
    agent.store("It was written so")
    assert other.post(ENTRIES, {"text": "It was written so"}).json["outcome"] == "merged"
    assert [entry["token"] for entry in agent.get(ENTRIES).json["entries"]] == [told(agent, ada)]


def test_what_no_token_wrote_says_so(agent, ada):
    memory_id = stored(ada, "Written in the browser")
    assert agent.entry(str(memory_id))["token"] is None


def test_a_forgotten_memory_comes_back_with_who_wrote_it(agent, other, ada):
    memory_id = other.store("Written so")
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    assert agent.post(f"{ENTRIES}/{memory_id}/restore").json["token"] == told(other, ada)


def test_a_token_that_was_revoked_is_still_named(agent, other, ada):
    memory_id = other.store("Written so")
    with ada.session() as session:
        revoke_token(session, ada.id, UUID(told(other, ada)["id"]), now=utc_now(), actor="user")
    assert agent.entry(memory_id)["token"]["name"] == "another"


def test_a_list_is_of_what_one_token_wrote(agent, other, ada):
    agent.store("Of the first")
    other.store("Of the other")
    assert agent.texts(token_id=told(other, ada)["id"]) == ["Of the other"]
    assert agent.texts(token_id=NOBODYS_ID) == []


def test_a_list_is_of_what_was_stored_since_whatever_day_it_is_of(agent):
    agent.store("Stored before")
    time.sleep(0.005)
    since = utc_now().isoformat()
    agent.store("Of long ago", created_at="2020-01-01T00:00:00Z")
    assert agent.texts(stored_after=since) == ["Of long ago"]


def test_the_status_filters(agent, shelf):
    agent.patch(f"{ENTRIES}/{shelf}", {"status": "archived"})
    assert (agent.texts(), agent.texts(status="archived")) == (["plain"], ["marked"])
    assert agent.texts(status="any") == ["marked", "plain"]


def test_filters_combine(agent, shelf):
    assert agent.texts(type="fact", tag="red", space="default") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"space": "nowhere"}, "space"),
        ({"space": "\x00"}, "space"),
        ({"theme": "\x00"}, "theme"),
        ({"theme": "unheard-of"}, "theme"),
        ({"tag": "\x00"}, "tag"),
        ({"source_id": "\x00"}, "source_id"),
        ({"type": "rumour"}, "type"),
        ({"status": "gone"}, "status"),
        ({"pinned": "perhaps"}, "pinned"),
        ({"token_id": "cp_12345678"}, "token_id"),
        ({"stored_after": "2024-01-01T00:00:00"}, "stored_after"),
        ({"created_after": "2024-01-01T00:00:00"}, "created_after"),
        ({"created_before": "0001-01-01T00:00:00+14:00"}, "created_before"),
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"limit": 10**30}, "limit"),
        ({"order": "loudest"}, "order"),
        ({"order": "important", "cursor": to_cursor(datetime(2026, 3, 1, tzinfo=UTC), UUID(int=1))}, "cursor"),
        ({"cursor": to_cursor(0.5, UUID(int=1))}, "cursor"),
        ({"order": "oldest", "cursor": to_cursor(datetime(2026, 3, 1, tzinfo=UTC), UUID(int=1))}, "cursor"),
        (
            {"order": "important", "cursor": to_cursor(datetime(2026, 3, 1, tzinfo=UTC), UUID(int=1), "important")},
            "cursor",
        ),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "\x00"}, "cursor"),
        ({"cursor": "é"}, "cursor"),
        ({"cursor": "t1"}, "cursor"),
        ({"cursor": "t1~AAAA"}, "cursor"),
        ({"pined": "true"}, "pined"),
    ],
)
def test_a_bad_filter_is_named(reader, query, field):
    response = reader.get(ENTRIES, **query)
    assert (response.status_code, fields(response)) == (422, [field])


def test_a_cursor_walks_through_everything_once(agent):
    same = "2024-01-01T00:00:00+00:00"
    agent.post(f"{ENTRIES}/batch", {"entries": [{"text": f"Entry number {n}", "created_at": same} for n in range(7)]})
    seen, cursor = [], None
    for _ in range(10):
        page = agent.get(ENTRIES, limit=3, **({"cursor": cursor} if cursor else {})).json
        seen += [entry["text"] for entry in page["entries"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == [f"Entry number {n}" for n in range(7)]


def test_the_least_recent_or_the_most_important_may_come_first(agent):
    agent.post(
        f"{ENTRIES}/batch",
        {"entries": [{"text": f"Entry number {n}", "created_at": f"2024-01-0{n}T00:00:00+00:00"} for n in (3, 1, 2)]},
    )
    (newest, second, oldest) = agent.get(ENTRIES).json["entries"]
    agent.patch(f"{ENTRIES}/{second['id']}", {"importance": 1.0})
    assert [each["id"] for each in agent.get(ENTRIES, order="oldest").json["entries"]] == [
        oldest["id"],
        second["id"],
        newest["id"],
    ]
    assert agent.get(ENTRIES, order="important").json["entries"][0]["id"] == second["id"]
    assert agent.get(ENTRIES, order="changed").json["entries"][0]["id"] == second["id"]


def test_a_cursor_is_not_moved_by_what_is_added(agent):
    for n in range(3):
        agent.store(f"Entry number {n}")
    page = agent.get(ENTRIES, limit=2).json
    agent.store("Entry number 9")
    rest = agent.get(ENTRIES, limit=2, cursor=page["next_cursor"]).json
    assert [entry["text"] for entry in rest["entries"]] == ["Entry number 0"]


def test_the_newest_comes_first(agent):
    agent.store("older", created_at="2020-01-01T00:00:00Z")
    agent.store("newer", created_at="2021-01-01T00:00:00Z")
    assert agent.texts() == ["newer", "older"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"{ENTRIES}/{NOBODYS_ID}", 404),
        ("GET", f"{ENTRIES}/not-a-uuid", 404),
        ("GET", f"{ENTRIES}/%00", 404),
        ("GET", "/v1/nothing", 404),
        ("PUT", ENTRIES, 405),
        ("GET", f"{ENTRIES}/batch", 405),
        ("POST", f"{ENTRIES}/{NOBODYS_ID}", 405),
        ("POST", f"{ENTRIES}/{NOBODYS_ID}/pin", 404),
        ("DELETE", f"{ENTRIES}/{NOBODYS_ID}", 404),
        ("GET", "/v1//tools", 308),
    ],
)
def test_what_is_not_there_is_a_problem(reader, method, path, status):
    response = reader.ask(method, path)
    assert (response.status_code, response.mimetype) == (status, "application/problem+json")
    assert (response.json["status"], response.headers["Cache-Control"]) == (status, "no-store")


def test_an_address_with_slashes_too_many_leads_to_what_is_meant(reader):
    response = reader.ask("POST", "/v1//tools/memory_search?a=b")
    assert urlsplit(response.location)[2:4] == ("/v1/tools/memory_search", "a=b")
    # As every answer has.
    assert HEADERS.items() <= dict(response.headers).items()


def test_an_answer_is_not_many_times_as_long_as_what_is_wrong(reader):
    refused = reader.post(ENTRIES, {"text": "Ada keeps bees", "tags": [[]] * 100_000})
    assert (refused.status_code, [each["field"] for each in refused.json["errors"][:2]]) == (422, ["tags.0", "tags.1"])
    assert len(refused.json["errors"]) == MOST_TOLD


def test_a_wrong_method_names_the_right_ones(reader):
    refused = reader.ask("PUT", ENTRIES)
    assert "POST" in refused.headers["Allow"]
    assert refused.json["detail"] == f"PUT is not taken here; there are {refused.headers['Allow']}"


def test_head_answers_without_a_body(agent, memory_id):
    response = agent.ask("HEAD", f"{ENTRIES}/{memory_id}")
    assert (response.status_code, response.data) == (200, b"")


def test_answers_are_kept_out_of_caches(agent, memory_id):
    assert agent.get(f"{ENTRIES}/{memory_id}").headers["Cache-Control"] == "no-store"


def test_a_cursor_of_no_moment_is_refused(reader):
    for moment in ("9" * 30, "9" * 50_000, "-9999999999999999999", "1.5", "now"):
        assert fields(reader.get(ENTRIES, cursor=f"t{moment}~{'A' * 22}")) == ["cursor"]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (f"{ENTRIES}/batch", {"entries": []}, "entries: must have at least 1, not 0"),
        ("/v1/conversations", {"external_id": ""}, "external_id: must have at least 1 character, not 0"),
        ("/v1/conversations", {"title": "x" * 501}, "title: must have at most 500 characters, not 501"),
        (f"{ENTRIES}/batch", {"entries": [{"text": "a"}] * 1001}, "entries: must have at most 1000, not 1001"),
        (
            "/v1/tool-calls",
            {"calls": [{"tool": "t", "affected_paths": ["a"] * 101}]},
            "calls.0.affected_paths: must have at most 100, not 101",
        ),
        (ENTRIES, {"text": "a", "tags": ["b", 1]}, "tags.1: Input should be a valid string"),
    ],
)
def test_a_list_that_does_not_fit_is_refused_in_plain_words(agent, path, body, said):
    assert agent.post(path, body).json["detail"] == said


def test_fields_that_do_not_go_together_are_refused_in_plain_words(agent):
    talk = agent.post("/v1/conversations", {}).json["id"]
    answer = agent.post(f"/v1/conversations/{talk}/messages", {}).json
    assert answer["detail"] == "body: send one of message, messages and history"


def test_no_memory_is_from_the_days_to_come(agent, ada):
    ahead = [(utc_now() + timedelta(days=days)).isoformat() for days in (0.5, 2)]
    soon, late = ({"text": f"The fair opens, {number}", "created_at": at} for number, at in enumerate(ahead))
    assert fields(agent.post(ENTRIES, late)) == ["created_at"]
    assert fields(agent.post(f"{ENTRIES}/batch", {"entries": [soon, late]})) == ["entries.1.created_at"]
    assert (memories_of(ada), agent.post(ENTRIES, soon).status_code) == (0, 201)
