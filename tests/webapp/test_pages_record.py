"""The record: tool calls, the paths that they changed, audit events and their chain, and uses of a memory."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from api_agent import ENTRIES, NOBODYS_ID, Agent, add_space
from api_talk import Talk
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, follow, stored
from pages_markup import words_of
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.storage.database import make_engine
from retrieval.search import query_hash
from webapp.pages.record import SHORTENED

NOTES = "obsidian_manage_notes"
TEXT = "Ada is allergic to hazelnuts."


def report(agent: Agent, *calls: dict[str, Any]) -> list[str]:
    """Report calls of an agent's own tools; return their ids."""
    body = {"calls": [{"tool": NOTES, "operation": "update", **call} for call in calls]}
    response = agent.post("/v1/tool-calls", body)
    assert response.status_code == 201, response.json
    return [call["id"] for call in response.json["calls"]]


def shown(text: str) -> list[str]:
    """Return the ids of the calls on a page."""
    return re.findall(r'id="record-call-([^"]*)"', text)


@pytest.mark.parametrize(
    ("step", "there"), [("Make an agent a token", "What it is for"), ("call a tool yourself", "memory_add")]
)
def test_an_empty_record_says_what_it_keeps_and_how_it_begins(reader: FlaskClient, step: str, there: str) -> None:
    text = reader.get("/record").text
    assert "No tool was called yet" in text
    assert there in follow(reader, text, step)


def test_a_call_shows_all_that_is_known_of_it(reader: FlaskClient, agent: Agent) -> None:
    talk = Talk(agent, title="Nuts")
    message = talk.say("Which nuts?")["id"]
    call = {"arguments": {"path": "a.md"}, "result": {"ok": False}, "success": False, "error": "the vault is locked"}
    placed = {"affected_paths": ["a.md"], "duration_ms": 12.5, "conversation_id": talk.id, "message_id": message}
    report(agent, {**call, **placed})
    page = reader.get("/record").text
    text = words_of(page)
    for part in (f"{NOTES} update failed a.md test just now", '"path": "a.md"', '"ok": false', "the vault is locked"):
        assert part in text
    for part in ("12.5 ms", "Nuts, message 1", "Tool of the agent"):
        assert part in text
    assert f'href="/conversations/{talk.id}?at=1#m-1"' in page


def test_a_call_that_a_history_told_of_is_shown_as_one(reader: FlaskClient, agent: Agent) -> None:
    talk = Talk(agent, title="Nuts")
    function = {"name": "crack", "arguments": '{"nut": "walnut"}'}
    made = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    talk.post({"format": "openai", "history": [made, {"role": "tool", "tool_call_id": "c1", "content": "halves"}]})
    report(agent, {"arguments": {"nut": "pecan"}})
    text = words_of(reader.get("/record?origin=history").text)
    for part in ('"nut": "walnut"', "halves", "Took unknown", "Nuts, message 1", "Tool of the agent"):
        assert part in text
    assert "pecan" not in text


def test_a_call_of_ours_leads_to_the_memories_that_it_found(reader: FlaskClient, agent: Agent) -> None:
    memory = agent.store(TEXT)
    agent.tool("memory_search", query="hazelnuts")
    page = reader.get("/record").text
    assert f'href="/memories/{memory}"' in page
    assert "1 hit" in page
    assert query_hash("hazelnuts") in page


def test_a_search_of_an_agent_leads_to_the_same_one_with_its_reasons(reader: FlaskClient, ada, agent: Agent) -> None:
    add_space(ada, "kitchen")
    agent.store(TEXT, space="kitchen", type="fact", tags=["nuts"])
    agent.tool("memory_search", query="hazelnuts & more?", space="kitchen", types=["fact"], tags=["nuts"])
    found = follow(reader, reader.get("/record").text, "Ask it again")
    assert ("Searched in kitchen" in words_of(found), TEXT.split(" ", 1)[0] in words_of(found)) == (True, True)
    assert re.search(r'value="fact"\s+checked', found)
    assert re.search(r'name="tag"[^>]*value="nuts"', found)
    # One that found nothing, too.
    agent.tool("query_memory", query="bees")
    assert "<title>\nbees" in follow(reader, reader.get("/record").text, "Ask it again")


def test_what_was_no_search_or_failed_is_not_asked_again(reader: FlaskClient, agent: Agent) -> None:
    report(agent, {"tool": "memory_search", "operation": "search", "arguments": {"query": "bees"}})
    agent.post("/v1/tools/memory_search", {"query": "bees", "limit": 0})
    agent.tool("episode_search", query="bees")
    text = reader.get("/record").text
    assert (len(shown(text)), "Ask it again" in text) == (3, False)


@pytest.mark.parametrize(
    "query",
    [
        f"tool={NOTES}",
        "operation=update",
        "operation=create&operation=update",
        "what=notes/a.md",
        "what=notes/",
        "success=true",
        "origin=external",
        "since=2026-01-10",
        "until=2026-01-10",
        "since=2026-01-10&until=2026-01-10",
    ],
)
def test_a_filter_keeps_what_fits(reader: FlaskClient, agent: Agent, query: str) -> None:
    ids = report(agent, {"affected_paths": ["notes/a.md"], "created_at": "2026-01-10T23:59:59Z"})
    assert shown(reader.get(f"/record?{query}").text) == ids


@pytest.mark.parametrize(
    "query",
    [
        "tool=obsidian",
        "operation=read",
        "what=notes",
        "what=note/",
        f"what={NOBODYS_ID}",
        "success=false",
        "origin=server",
        "request=run-1",
        "since=2026-01-11",
        "until=2026-01-09",
        "since=today",
    ],
)
def test_a_filter_takes_out_what_does_not_fit(reader: FlaskClient, agent: Agent, query: str) -> None:
    report(agent, {"affected_paths": ["notes/a.md"], "created_at": "2026-01-10T00:00:00Z"})
    text = reader.get(f"/record?{query}").text
    assert shown(text) == []
    assert "No call fits these filters" in text


def test_a_call_leads_to_the_others_of_its_request(reader: FlaskClient, agent: Agent) -> None:
    report(agent, {})
    ids = report(agent, {}, {})
    others = re.search(r'href="(/record\?request=[^"]+)"', reader.get(f"/record/calls/{ids[0]}").text)
    assert others is not None
    assert sorted(shown(reader.get(others[1]).text)) == sorted(ids)


def test_an_id_finds_the_calls_that_affected_it(reader: FlaskClient, agent: Agent) -> None:
    thing = str(uuid4())
    ids = report(agent, {"affected_ids": [thing]}, {})
    assert shown(reader.get(f"/record?what={thing}").text) == ids[:1]


@pytest.mark.parametrize(
    "query",
    [
        "since=yesterday",
        "since=2026-02-30",
        "until=9999-12-31",
        "until=99999-01-01",
        "success=maybe",
        "origin=elsewhere",
        "cursor=nonsense",
        "tool=%00",
        f"request={'a' * 65}",
        f"what={'a' * 1025}",
    ],
)
@pytest.mark.parametrize("path", ["/record", "/record/paths"])
def test_a_filter_that_does_not_exist_is_refused(reader: FlaskClient, path: str, query: str) -> None:
    if path.endswith("paths") and "cursor" in query:
        query = "after=%00"
    assert reader.get(f"{path}?{query}").status_code == 422


def test_a_search_is_told_from_another_by_its_question(reader: FlaskClient, agent: Agent) -> None:
    agent.store(TEXT)
    for question in ("Which nuts is Ada allergic to?", "What about <b>hazelnuts</b>?"):
        agent.tool("memory_search", query=question)
    report(agent, {"arguments": {"query": ["a", "list"]}}, {"arguments": {}})
    lines = [words_of(each) for each in re.findall(r"<summary.*?</summary>", reader.get("/record").text, re.S)]
    assert lines == [
        f"{NOTES} update test just now",
        f"{NOTES} update test just now",
        "memory_search search “What about <b>hazelnuts</b>?” 1 hit test just now",
        "memory_search search “Which nuts is Ada allergic to?” 1 hit test just now",
    ]


@pytest.mark.parametrize("query", ["since=0001-01-01", "until=9999-12-30"])
def test_the_first_and_the_last_day_can_be_asked_for(reader: FlaskClient, query: str) -> None:
    assert reader.get(f"/record?{query}").status_code == 200


def test_what_was_done_today_is_one_link(reader: FlaskClient, agent: Agent) -> None:
    now = utc_now()
    midnight = datetime(now.year, now.month, now.day, tzinfo=UTC)
    ids = report(agent, {}, {"created_at": (midnight - timedelta(seconds=1)).isoformat()})
    text = follow(reader, reader.get("/record").text, "What was done today?")
    assert shown(text) == ids[:1]
    assert f'value="{midnight:%Y-%m-%d}"' in text


def test_which_notes_were_changed_is_one_link(reader: FlaskClient, agent: Agent) -> None:
    report(
        agent,
        {"affected_paths": ["b.md", "a.md"]},
        {"affected_paths": ["a.md"], "operation": "delete"},
        {"affected_paths": ["read.md"], "operation": "read"},
    )
    text = words_of(follow(reader, reader.get("/record").text, "Which notes were changed?"))
    assert "a.md 2 calls just now b.md 1 call just now" in text
    assert "read.md" not in text


def test_a_path_leads_to_the_calls_that_changed_it(reader: FlaskClient, agent: Agent) -> None:
    ids = report(agent, {"affected_paths": ["a.md"]}, {"affected_paths": ["a.md"], "operation": "read"})
    paths = follow(reader, reader.get("/record").text, "Which notes were changed?")
    assert shown(follow(reader, paths, "a.md")) == ids[:1]


def test_many_paths_are_loaded_page_by_page(reader: FlaskClient, agent: Agent) -> None:
    for start in (0, 100):
        report(agent, {"affected_paths": [f"note-{number:03}.md" for number in range(start, start + 100)]})
    text = reader.get("/record/paths").text
    further = re.search(r'hx-get="([^"]*after=[^"]*)"', text)
    assert further is not None
    rest = reader.get(html.unescape(further.group(1)), headers=HTMX).text
    assert re.findall(r">(note-\d+\.md)<", text + rest) == [f"note-{number:03}.md" for number in range(200)]
    assert "<html" not in rest
    assert "Load more" not in rest


def test_what_failed_is_one_link(reader: FlaskClient, agent: Agent) -> None:
    ids = report(agent, {"success": False}, {})
    assert shown(follow(reader, reader.get("/record").text, "What failed?")) == ids[:1]


def test_loading_more_meets_every_call_once(reader: FlaskClient, agent: Agent) -> None:
    ids = report(agent, *({"created_at": f"2026-01-{day:02}T00:00:00Z"} for day in range(1, 29)))
    text = reader.get(f"/record?tool={NOTES}&operation=update").text
    further = re.search(r'hx-get="([^"]*cursor=[^"]*)"', text)
    assert further is not None
    rest = reader.get(html.unescape(further.group(1)), headers=HTMX).text
    assert shown(text) + shown(rest) == ids[::-1]
    assert "<html" not in rest


def test_a_path_that_may_not_be_shown_ends_no_list(reader: FlaskClient, agent: Agent) -> None:
    told = "The treasure lies under the old oak"
    memory = agent.store(told)
    report(agent, {"affected_paths": [f"note-{number:03}.md" for number in range(100)]})
    report(agent, {"affected_paths": [f"note-050 {told}.md", "note-100.md"]})
    reader.post(f"/memories/{memory}/forget")
    first = reader.get("/record/paths").text
    assert (told in first, "note-099.md" in first, "note-100.md" in first) == (False, True, False)
    assert "note-100.md" in follow(reader, first, "Load more")
    # Whoever asks program by program stops at the first answer that is shorter than was asked for.
    found = agent.get("/v1/tool-calls/paths", limit=100).json["paths"]
    assert [len(found), found[-1]["path"]] == [100, "note-099.md"]


@pytest.mark.parametrize("path", ["/record?operation=update", "/record/paths", "/record/audit"])
def test_the_fragment_is_the_part_of_the_page(reader: FlaskClient, agent: Agent, path: str) -> None:
    report(agent, {"affected_paths": ["a.md"]})
    fragment = reader.get(path, headers=HTMX).text
    assert "<html" not in fragment
    assert fragment in reader.get(path).text


def test_a_long_result_is_shortened_in_the_list_and_whole_on_its_own_page(reader: FlaskClient, agent: Agent) -> None:
    (call,) = report(agent, {"result": {"text": "x" * 5000}})
    text = reader.get("/record").text
    assert SHORTENED - 100 < text.count("x") < 2 * SHORTENED
    whole = reader.get(f"/record/calls/{call}").text
    assert "x" * 5000 in whole
    assert re.search(r"<details[^>]*\sopen>", whole)


def test_a_full_page_stays_light(reader: FlaskClient, agent: Agent) -> None:
    long = {"arguments": {"text": "x" * 50_000}, "result": {"text": "y" * 50_000}}
    report(agent, *({**long, "affected_paths": [f"{n}.md" for n in range(50)]} for _ in range(20)))
    assert len(reader.get("/record").data) < 150_000


def test_markup_in_a_call_stays_text(reader: FlaskClient, agent: Agent) -> None:
    evil = "<script>evil()</script>"
    report(agent, {"arguments": {evil: evil}, "result": evil, "error": evil, "affected_paths": [evil]})
    for path in ("/record", "/record/paths", f"/record?what={evil}"):
        assert "<script>evil" not in reader.get(path).text


def test_what_told_of_a_forgotten_memory_is_blank(reader: FlaskClient, agent: Agent) -> None:
    memory = agent.store(TEXT)
    agent.tool("memory_search", query="hazelnuts allergic")
    report(agent, {"result": {"text": TEXT}})
    reader.post(f"/memories/{memory}/forget")
    text = words_of(reader.get("/record").text)
    assert "hazelnuts" not in text
    assert text.count("blank: it told of a memory that was forgotten") >= 2


def test_another_users_calls_are_not_there(app: Flask, agent: Agent, bob) -> None:
    (call,) = report(agent, {"affected_paths": ["secret.md"]})
    stranger = at_browser(app, bob)
    for path in ("/record", "/record/paths"):
        assert "secret.md" not in stranger.get(path).text
    answers = [stranger.get(f"/record/calls/{each}") for each in (call, uuid4())]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert len({words_of(answer.text).partition("request")[0] for answer in answers}) == 1


def test_a_call_keeps_its_place_in_the_record_when_the_conversation_is_gone(reader: FlaskClient, agent: Agent) -> None:
    talk = Talk(agent, title="Nuts")
    ids = report(agent, {"conversation_id": talk.id})
    agent.delete(talk.path)
    text = reader.get("/record?origin=external").text
    assert shown(text) == ids
    assert talk.id not in text


def test_the_record_is_closed_while_incognito(reader: FlaskClient, agent: Agent) -> None:
    (call,) = report(agent, {"affected_paths": ["a.md"]})
    reader.post("/incognito/start")
    for path in ("/record", "/record/paths", f"/record/calls/{call}"):
        text = reader.get(path).text
        assert "a.md" not in text
        assert "Closed while incognito" in text


PATHS = ["/record", "/record/paths", f"/record/calls/{NOBODYS_ID}", "/record/audit", f"/memories/{NOBODYS_ID}/uses"]


@pytest.mark.parametrize("path", PATHS)
def test_a_stranger_is_sent_to_the_login(client: FlaskClient, path: str) -> None:
    assert client.get(path).location.startswith("/login")


def test_audit_events_name_action_actor_and_place_in_the_chain(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    text = words_of(reader.get("/record/audit").text)
    assert re.search(rf"#\d+ memory\.created by test just now .*…{str(memory)[-8:]}", text)
    assert "hazelnuts" not in text


def test_audit_events_name_the_token_and_lead_to_all_that_it_did(reader: FlaskClient, agent: Agent, ada) -> None:
    memory_id, before = agent.store(TEXT), ada.token[:11]
    reader.post(f"/memories/{memory_id}/pin")
    page = reader.get("/record/audit").text
    assert f"memory.created by test ({before}…)" in words_of(page)
    assert "memory.pinned by you" in words_of(page)
    (path,) = set(re.findall(r'href="(/record/audit\?actor=token[^"]*)"', page))
    listed = words_of(reader.get(path).text)
    assert "memory.created by test" in listed
    assert "memory.pinned" not in listed


@pytest.mark.parametrize("query", ["action=memory.", "action=memory.created", "actor=test", "since=today"])
def test_an_event_filter_keeps_what_fits(reader: FlaskClient, ada, query: str) -> None:
    memory = stored(ada, TEXT)
    assert str(memory) in reader.get(f"/record/audit?{query}").text


@pytest.mark.parametrize("query", ["action=space.", "actor=nobody", "until=2020-01-01", f"subject={NOBODYS_ID}"])
def test_an_event_filter_takes_out_what_does_not_fit(reader: FlaskClient, ada, query: str) -> None:
    memory = stored(ada, TEXT)
    assert str(memory) not in reader.get(f"/record/audit?{query}").text


def test_everything_about_one_memory_is_one_link(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    stored(ada, "Another.")
    reader.post(f"/memories/{memory}/pin")
    page = reader.get("/record/audit").text
    found = re.search(rf'href="([^"]*subject={memory})"', page)
    assert found is not None
    assert len(re.findall(r"<li>", reader.get(found.group(1)).text)) == 2


@pytest.mark.parametrize("query", ["since=x", "subject=x", "cursor=x", "action=%00", "verify=perhaps"])
def test_an_event_filter_that_does_not_exist_is_refused(reader: FlaskClient, query: str) -> None:
    assert reader.get(f"/record/audit?{query}").status_code == 422


def test_loading_more_meets_every_event_once(reader: FlaskClient, ada) -> None:
    for number in range(25):
        stored(ada, f"Shelf {number} holds box {number * 7} of the archive.")
    text = reader.get("/record/audit?action=memory.created").text
    further = re.search(r'hx-get="([^"]*cursor=[^"]*)"', text)
    assert further is not None
    rest = reader.get(html.unescape(further.group(1)), headers=HTMX).text
    numbers = [int(number) for number in re.findall(r">#(\d+)<", text + rest)]
    assert len(numbers) == 25
    assert numbers == sorted(numbers, reverse=True)
    assert "<html" not in rest


def test_another_users_events_are_not_there(app: Flask, ada, bob) -> None:
    memory = stored(ada, TEXT)
    stranger = at_browser(app, bob)
    assert str(memory) not in stranger.get("/record/audit").text
    assert "No event fits" in stranger.get(f"/record/audit?subject={memory}").text


def head_of(text: str) -> str:
    found = re.search(r"<code>(\d+:[0-9a-f]{64})</code>", text)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["without scripts", "with scripts"])
def test_a_chain_that_holds_is_said_with_its_head(reader: FlaskClient, agent: Agent, ada, headers) -> None:
    stored(ada, TEXT)
    text = reader.get("/record/audit?verify=1", headers=headers).text
    number, _ = head_of(text).split(":")
    assert f"Verified: the chain holds. {number} events, head #{number}" in words_of(text)
    assert head_of(text) == agent.get("/v1/audit/verify").json["head"]
    assert text.startswith('<section id="record-chain"') == bool(headers)


def test_nothing_is_checked_unasked(reader: FlaskClient) -> None:
    assert "the chain holds" not in reader.get("/record/audit").text


@pytest.fixture
def tamper(database_url: str, ada):
    """Do what only the owner of the tables can do."""
    owner = make_engine(database_url, pool_size=1)

    def _tamper(statement: str) -> None:
        with owner.begin() as connection:
            assert connection.execute(sql(statement), {"user": ada.id}).rowcount > 0

    yield _tamper
    owner.dispose()


def test_a_broken_chain_is_an_alarm(reader: FlaskClient, ada, tamper) -> None:
    stored(ada, TEXT)
    tamper("UPDATE audit_events SET count = 7 WHERE user_id = :user AND action = 'memory.created'")
    page = reader.get("/record/audit?verify=1").text
    text = words_of(page)
    assert 'role="alert"' in page
    assert "The record was tampered with The event or its link was changed." in text
    assert re.search(r"The first break is at link #\d+, event [0-9a-f-]{36}", text)
    assert "the chain holds" not in text


def test_a_noted_head_finds_a_cut_end(reader: FlaskClient, ada, tamper) -> None:
    stored(ada, TEXT)
    head = head_of(reader.get("/record/audit?verify=1").text)
    stored(ada, "Another.")
    assert "the chain holds" in reader.get(f"/record/audit?verify=1&expect={head}").text
    last = "(SELECT max(sequence) FROM audit_links WHERE user_id = :user) - 1"
    cut = f"DELETE FROM audit_links WHERE user_id = :user AND sequence >= {last} RETURNING event_id"
    tamper(f"WITH cut AS ({cut}) DELETE FROM audit_events WHERE user_id = :user AND id IN (SELECT event_id FROM cut)")
    assert "the chain holds" in reader.get("/record/audit?verify=1").text
    text = words_of(reader.get(f"/record/audit?verify=1&expect={head}").text)
    assert "The chain is shorter than was noted." in text


@pytest.mark.parametrize("expect", ["x", "0:00", "1:" + "g" * 64])
def test_a_head_that_is_none_is_said_at_its_field(reader: FlaskClient, expect: str) -> None:
    response = reader.get(f"/record/audit?verify=1&expect={expect}")
    assert response.status_code == 422
    assert 'aria-invalid="true" aria-describedby="expect-error"' in response.text
    assert "The head must be a sequence number" in response.text


def test_a_memory_says_where_it_was_used(reader: FlaskClient, agent: Agent) -> None:
    memory = agent.store(TEXT)
    talk = Talk(agent, title="Snacks")
    agent.post("/v1/tools/memory_search", {"query": "hazelnuts"}, headers={"X-Commonplace-Conversation": talk.id})
    page = reader.get(f"/memories/{memory}").text
    text = words_of(page)
    assert "1st from memory_search test just now in Snacks “hazelnuts”" in text
    assert query_hash("hazelnuts") not in text
    assert f'href="/conversations/{talk.id}"' in page


def test_a_question_whose_words_are_blank_has_its_sign_where_a_memory_was_used(
    reader: FlaskClient, agent: Agent
) -> None:
    memory = agent.store(TEXT)
    other = agent.store("Hazelnuts are in the blue tin")
    agent.tool("memory_search", query="hazelnuts")
    agent.delete(f"{ENTRIES}/{other}", undo="true")
    text = words_of(reader.get(f"/memories/{memory}").text)
    told = ("“hazelnuts”", "question", "the same sign, the same question")
    assert [each in text for each in told] == [False, True, True]


def test_what_was_asked_in_a_space_that_is_closed_is_not_told_where_a_memory_was_used(
    reader: FlaskClient, agent: Agent, ada
) -> None:
    add_space(ada, "studio")
    memory = agent.store(TEXT, space="studio")
    agent.tool("memory_search", query="hazelnuts", space="studio")
    reader.post("/memories/bulk/do", data={"act": "move", "about": "default", "id": memory})
    assert "“hazelnuts”" in words_of(reader.get(f"/memories/{memory}").text)
    agent.patch("/v1/spaces/studio", {"incognito_default": True})
    text = words_of(reader.get(f"/memories/{memory}").text)
    assert ("1st from memory_search" in text, "“hazelnuts”" in text) == (True, False)


def test_a_memory_that_nobody_received_says_so(reader: FlaskClient, ada) -> None:
    assert "Nobody has received it yet" in reader.get(f"/memories/{stored(ada, TEXT)}").text


def test_many_uses_are_loaded_page_by_page(reader: FlaskClient, agent: Agent) -> None:
    memory = agent.store(TEXT)
    for _ in range(12):
        agent.tool("memory_search", query="hazelnuts")
    text = reader.get(f"/memories/{memory}").text
    further = re.search(r'hx-get="([^"]*/uses\?cursor=[^"]*)"', text)
    assert further is not None
    path = html.unescape(further.group(1))
    rest = reader.get(path, headers=HTMX).text
    assert text.count("1st from") + rest.count("1st from") == 12
    assert "<html" not in rest
    assert rest in reader.get(path).text


def test_another_users_uses_are_not_there(app: Flask, ada, bob) -> None:
    memory = stored(ada, TEXT)
    stranger = at_browser(app, bob)
    assert [stranger.get(f"/memories/{each}/uses").status_code for each in (memory, uuid4())] == [404, 404]


def test_a_call_in_a_space_that_is_incognito_by_default_tells_no_words(
    reader: FlaskClient, agent: Agent, client: FlaskClient, ada
) -> None:
    for slug in ("diary", "open"):
        add_space(ada, slug)
        agent.post("/v1/conversations", {"external_id": slug, "space": slug})
    confined = Agent(client, ada.new_token("read", "write", space="diary"))
    talk = agent.get("/v1/conversations", external_id="diary").json["conversations"][0]["id"]
    agent.tool("memory_add", content="A hidden ring", space="diary")
    agent.tool("memory_search", query="hidden rings", space="diary")
    agent.tool("episode_search", query="hidden rings", conversation=talk)
    agent.post("/v1/command", {"text": "what do you know about hidden rings?", "conversation": "diary"})
    confined.tool("query_memory", query="hidden rings")
    report(agent, {"conversation_id": talk, "arguments": {"q": "hidden rings"}, "affected_paths": ["/hidden"]})
    agent.tool("memory_search", query="open rings", space="open")
    report(agent, {"arguments": {"space": "diary", "q": "open window"}})
    assert agent.get("/v1/tool-calls").text.count("hidden ring") == 6
    agent.post("/v1/memory/settings", {"space": "diary", "incognito_default": True})
    calls = agent.get("/v1/tool-calls")
    assert ("idden" in calls.text, calls.text.count("open "), len(calls.json["calls"])) == (False, 2, 8)
    pages = ["/record", *(f"/record/calls/{call['id']}" for call in calls.json["calls"])]
    texts = [reader.get(page).text for page in pages]
    # A question stands in the line of its call, and among the arguments.
    assert ("idden ring" in "".join(texts), texts[0].count("open ")) == (False, 3)
    agent.post("/v1/memory/incognito/end")
    assert agent.get("/v1/tool-calls").text.count("hidden ring") == 6


def test_paths_of_a_space_that_is_incognito_by_default_are_not_listed(
    reader: FlaskClient, agent: Agent, client: FlaskClient, ada
) -> None:
    add_space(ada, "diary")
    talk = agent.post("/v1/conversations", {"external_id": "diary", "space": "diary"}).json["id"]
    report(agent, {"conversation_id": talk, "affected_paths": ["/hidden/talk", "/both"]})
    report(Agent(client, ada.new_token("write", space="diary")), {"affected_paths": ["/hidden/token"]})
    report(agent, {"affected_paths": ["/both", "/open"]})
    paths = "/v1/tool-calls/paths"
    assert [each["path"] for each in agent.get(paths).json["paths"]] == [
        "/both",
        "/hidden/talk",
        "/hidden/token",
        "/open",
    ]
    agent.post("/v1/memory/settings", {"space": "diary", "incognito_default": True})
    shown = [(each["path"], each["calls"]) for each in agent.get(paths).json["paths"]]
    assert shown == [("/both", 1), ("/open", 1)]
    assert "/hidden" not in reader.get("/record/paths").text
    # Nor does a guess tell that it was one.
    for guess, found in {"/hidden/": 0, "/hidden/talk": 0, "/hidden/token": 0, "/both": 1, "/": 1}.items():
        assert len(agent.ask("GET", "/v1/tool-calls", query_string={"path": guess}).json["calls"]) == found, guess
    assert [reader.get(f"/record?what={guess}").text.count('class="call"') for guess in ("/hidden/", "/")] == [0, 1]
    assert len(agent.get("/v1/tool-calls", origin="external").json["calls"]) == 3


def test_uses_are_closed_while_incognito(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post("/incognito/start")
    text = reader.get(f"/memories/{memory}/uses").text
    assert "hazelnuts" not in text
    assert "Closed while incognito" in text


def test_a_memory_shows_found_tags_beside_given_ones(reader: FlaskClient, ada, tamper) -> None:
    memory = stored(ada, TEXT, tags=("health",))
    tamper("UPDATE memories SET derived_tags = '{allergy,<b>nuts</b>}' WHERE user_id = :user")
    page = reader.get(f"/memories/{memory}").text
    assert "health found in it: allergy, <b>nuts</b>" in words_of(page)
    assert "<b>nuts" not in page


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/record", "since, until, tool, operation, what, success, origin, request"),
        ("/record/paths", "since, until, tool, operation, what, success, origin, request"),
        ("/record/audit", "since, until, action, actor, subject"),
        ("/memories", "q, space, theme, type, tag, source, token, since, status"),
        ("/memories/bulk/ask?act=forget&every=true", "q, space, theme, type, tag, source, token, since, status"),
        ("/search?q=nuts", "q, space, types, tag, policy, limit"),
        ("/facts", "space"),
        ("/entities", "space"),
        ("/conversations", "q, space, archived"),
    ],
)
def test_a_list_is_not_narrowed_by_what_it_has_no_filter_for(reader: FlaskClient, ada, path: str, there: str) -> None:
    stored(ada, TEXT)
    mark = "&" if "?" in path else "?"
    answer = reader.get(f"{path}{mark}outcome=failed")
    assert (answer.status_code, f"no such filter here; there are {there}" in words_of(answer.text)) == (422, True)
    assert TEXT not in answer.text
    assert reader.get(f"{path}{mark}outcome=").status_code == 200
    for added in ("utm_source=mail&utm_campaign=x", "fbclid=x", "gclid=x", "msclkid=x", "ref=x"):
        assert reader.get(f"{path}{mark}{added}").status_code == 200
    for similar in ("refs=x", "utm=x", "xfbclid=x"):
        assert reader.get(f"{path}{mark}{similar}").status_code == 422
