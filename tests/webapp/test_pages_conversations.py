"""Conversations in the browser: found, read a stretch at a time, renamed, moved, archived, deleted."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from api_agent import Agent, add_space, rows
from api_talk import Talk
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, flashes
from pages_markup import problems_of, words_of
from werkzeug.test import TestResponse

from webapp.pages.reading import LONGEST_SENT

SAID = "Which tiles did we choose for the wall behind the stove?"
LONG = 100


@pytest.fixture(scope="module")
def archivist(new_person):
    """The owner of the long conversation, which tests only read."""
    return new_person("archivist")


@pytest.fixture
def ada(request: pytest.FixtureRequest, new_person, archivist):
    return archivist if "long_talk" in request.fixturenames else new_person("ada")


@pytest.fixture
def talk(agent: Agent) -> Talk:
    """A short conversation, with a memory learned from what the user said."""
    opened = Talk(agent, external_id="tiles")
    opened.say(SAID, remember=True)
    opened.say("Sage green, from the shop on Mill Lane.", role="assistant", model="gpt-5-mini")
    return opened


@pytest.fixture(scope="module")
def long_talk(app: Flask, archivist) -> Talk:
    opened = Talk(Agent(app.test_client(), archivist.headers), title="Shelves")
    turns = [
        {"role": "assistant" if n % 2 else "user", "content": f"Turn {n + 1} of the archive."} for n in range(LONG)
    ]
    assert opened.post({"messages": turns}).status_code == 201
    return opened


def _sequences(markup: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="m-(\d+)"', markup)]


def _link(markup: str, label: str) -> str:
    """Return the address behind a link of this label."""
    found = re.search(rf'href="([^"]*)"[^>]*>{label}<', markup)
    assert found is not None, label
    return unescape(found.group(1))


# The list


def test_an_empty_list_says_how_an_agent_posts(reader: FlaskClient) -> None:
    response = reader.get("/conversations")
    assert "curl http://localhost/v1/conversations/$ID/messages" in words_of(response.text)
    assert '<a href="/tokens">' in response.text
    # A screen reader tells that there is none, and not each line of the shell.
    told = re.findall(r'<p [^>]*role="status">(.*?)</p>|<div [^>]*role="status">', response.text, re.DOTALL)
    assert told == ["No agent has kept a conversation here yet."]


def test_the_posting_that_the_empty_list_shows_works(reader: FlaskClient, agent: Agent) -> None:
    opening, posting = re.findall(r"-d '(.*?)'", words_of(reader.get("/conversations").text))
    opened = agent.post("/v1/conversations", json.loads(opening))
    posted = agent.post(f"/v1/conversations/{opened.json['id']}/messages", json.loads(posting))
    assert (opened.status_code, posted.status_code) == (201, 201)


def test_the_list_tells_what_each_conversation_is(reader: FlaskClient, talk: Talk, ada) -> None:
    add_space(ada, "kitchen")
    talk.change(space="kitchen")
    text = words_of(reader.get("/conversations").text)
    assert f"{SAID} kitchen 2 messages just now" in text


def test_the_latest_changed_comes_first(reader: FlaskClient, agent: Agent) -> None:
    older, newer = Talk(agent, title="An older talk"), Talk(agent, title="A newer talk")
    older.say("Back to this one.")
    text = reader.get("/conversations").text
    assert text.index("An older talk") < text.index("A newer talk")
    assert newer.id in text


def test_a_space_narrows_the_list(reader: FlaskClient, agent: Agent, ada) -> None:
    add_space(ada, "kitchen")
    Talk(agent, title="In the pool")
    Talk(agent, title="In the kitchen", space="kitchen")
    text = reader.get("/conversations?space=kitchen").text
    assert "In the kitchen" in text
    assert "In the pool" not in text


@pytest.mark.parametrize(
    ("archived", "shown"), [("false", ["Current"]), ("true", ["Old"]), ("any", ["Current", "Old"])]
)
def test_archived_conversations_are_listed_when_asked_for(
    reader: FlaskClient, agent: Agent, archived: str, shown: list[str]
) -> None:
    Talk(agent, title="Current")
    Talk(agent, title="Old").change(archived=True)
    text = reader.get(f"/conversations?archived={archived}").text
    assert sorted(re.findall(r">(Current|Old)<", text)) == shown


def test_words_are_found_where_they_were_said(reader: FlaskClient, talk: Talk) -> None:
    response = reader.get("/conversations?q=mill+lane")
    assert f"{talk.page}?at=2#m-2" in response.text
    assert "<mark>Mill</mark> <mark>Lane</mark>" in response.text


def test_words_are_found_in_titles(reader: FlaskClient, agent: Agent) -> None:
    Talk(agent, title="The garden fence")
    Talk(agent, title="Something else")
    text = reader.get("/conversations?q=fence").text
    assert "The garden fence" in text
    assert "Something else" not in text


def test_words_that_nobody_said_are_answered_as_such(reader: FlaskClient, talk: Talk) -> None:
    assert "No conversation holds all of “zebra <b>”" in unescape(reader.get("/conversations?q=zebra+<b>").text)


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_too_many_words_are_a_hint_in_the_list(reader: FlaskClient, talk: Talk, headers: dict[str, str]) -> None:
    response = reader.get("/conversations?q=a+b+c+d+e+f+g+h+i", headers=headers)
    assert response.status_code == 200
    assert "Search for 1 to 8 words." in response.text


@pytest.mark.parametrize(
    "query", ["archived=perhaps", "space=nowhere", "cursor=nonsense", "space=%00", f"q={'x' * 300}"]
)
def test_a_filter_that_does_not_exist_is_refused(reader: FlaskClient, query: str) -> None:
    assert reader.get(f"/conversations?{query}").status_code == 422


def test_loading_more_meets_every_conversation_once(reader: FlaskClient, agent: Agent) -> None:
    for number in range(35):
        Talk(agent, title=f"Week {number}")
    first = reader.get("/conversations?archived=any").text
    further = _link(first, "Load more")
    rest = reader.get(further, headers=HTMX).text
    seen = re.findall(r'id="conversations-row-([^"]*)"', first + rest)
    assert (len(seen), len(set(seen))) == (35, 35)
    assert "archived=any" in further
    assert "Load more" not in rest
    assert "back to the latest" in reader.get(further).text


@pytest.mark.parametrize("query", ["", "?q=tiles", "?q=zebra", "?archived=true"])
def test_the_lists_fragment_is_the_part_of_the_page(reader: FlaskClient, talk: Talk, query: str) -> None:
    fragment = reader.get(f"/conversations{query}", headers=HTMX).text
    assert fragment.startswith('<section id="conversations-list"')
    assert fragment in reader.get(f"/conversations{query}").text


# Reading


def test_a_conversation_is_read_in_its_order(reader: FlaskClient, talk: Talk) -> None:
    text = words_of(reader.get(talk.page).text)
    assert text.index(SAID) < text.index("Sage green")
    assert re.search(r"assistant #2 just now gpt-5-mini \d+ tokens", text)


def test_markup_in_what_was_said_is_text(reader: FlaskClient, talk: Talk) -> None:
    talk.say("<script>alert(1)</script>")
    assert "<script>alert" not in reader.get(talk.page).text


def test_calls_of_tools_are_folded(reader: FlaskClient, talk: Talk) -> None:
    talk.say("memory_search tiles", role="tool_call")
    talk.say("sage green tiles " * 20, role="tool_result")
    text = reader.get(talk.page).text
    assert len(re.findall(r'<details class="tool">', text)) == 2


def test_a_message_that_was_cut_says_so(reader: FlaskClient, talk: Talk) -> None:
    lines = [{"role": "assistant"}, {"delta": "Half of"}]
    body = "\n".join(json.dumps(line) for line in lines) + "\n"
    assert talk.agent.ask("POST", f"{talk.path}/messages/stream", data=body).status_code == 201
    assert re.search(r"cut off", words_of(reader.get(talk.page).text))


def test_a_message_that_repeats_what_was_recalled_says_so(reader: FlaskClient, agent: Agent, talk: Talk) -> None:
    recalled = agent.post("/v1/memory/context", {"query": "tiles behind the stove"}).json["context"]
    assert SAID in recalled
    talk.say(recalled)
    assert ">recalled</span>" in reader.get(talk.page).text


def test_what_was_learned_stands_beside_the_message(reader: FlaskClient, talk: Talk, ada) -> None:
    memory = rows(ada, "SELECT id FROM memories")[0][0]
    text = reader.get(talk.page).text
    assert '<aside class="margin" aria-label="Learned from message 1">' in text
    assert f"/memories/{memory}" in text
    assert text.count("Learned from message") == 1


def test_a_memory_leads_back_to_where_it_was_said(reader: FlaskClient, talk: Talk, ada) -> None:
    memory = rows(ada, "SELECT id FROM memories")[0][0]
    assert f"{talk.page}?at=1#m-1" in reader.get(f"/memories/{memory}").text


def _remember(reader: FlaskClient, link: str, **fields: str) -> TestResponse:
    """Open the form that a link leads to, and send it as it is shown, but for `fields`."""
    shown = reader.get(link).text
    message = re.search(r'name="message" value="([^"]+)"', shown)
    text = re.search(r"<textarea[^>]*>(.*?)</textarea>", shown, re.DOTALL)
    assert text is not None
    given = {"text": unescape(text[1]), "space": "default", "saved": "true", **fields}
    return reader.post("/remember", data={**given, **({"message": message[1]} if message else {})})


def test_a_message_is_remembered_by_hand(reader: FlaskClient, talk: Talk, ada) -> None:
    talk.say("The tiler comes on Monday at nine.", created_at="2024-05-03T10:00:00Z")
    link = _link(reader.get(talk.page).text.partition('id="m-3"')[2], "remember…")
    form = reader.get(link).text
    assert ">The tiler comes on Monday at nine.</textarea>" in form
    assert "on 2024-05-03 . The memory is of that day, and leads there." in words_of(form)
    assert f'href="{talk.page}?at=3#m-3"' in form
    assert _remember(reader, link, text="The tiler comes on Monday, 6 May.").status_code == 201
    kept = "SELECT m.role, m.created_at::date::text, s.sequence FROM memories m JOIN messages s"
    assert rows(ada, f"{kept} ON s.id = m.source_message_id WHERE m.text LIKE 'The tiler%'") == [
        ("user", "2024-05-03", 3)
    ]
    assert 'aria-label="Learned from message 3"' in reader.get(talk.page).text


def test_the_next_memory_is_of_no_message(reader: FlaskClient, talk: Talk, ada) -> None:
    link = _link(reader.get(talk.page).text.partition('id="m-2"')[2], "remember…")
    page = _remember(reader, link).text
    assert 'name="message"' not in page
    assert rows(ada, "SELECT role FROM memories ORDER BY id DESC LIMIT 1") == [("assistant",)]


def test_what_cannot_be_remembered_of_a_message_keeps_where_it_was_said(reader: FlaskClient, talk: Talk) -> None:
    link = _link(reader.get(talk.page).text, "remember…")
    answer = _remember(reader, link, tags="x" * 65)
    assert (answer.status_code, 'name="message"' in answer.text) == (422, True)


def test_a_message_of_a_space_is_remembered_there(reader: FlaskClient, agent: Agent) -> None:
    agent.post("/v1/spaces", {"slug": "kitchen"})
    said = Talk(agent, space="kitchen")
    said.say(SAID)
    form = reader.get(_link(reader.get(said.page).text, "remember…")).text
    assert re.search(r'<option value="kitchen"\s+selected', form)


@pytest.mark.parametrize("closing", ["gone", "incognito", "strangers", "no id"])
def test_a_message_that_cannot_be_read_fills_no_form(
    app: Flask, reader: FlaskClient, talk: Talk, agent: Agent, bob, ada, closing: str
) -> None:
    link = _link(reader.get(talk.page).text, "remember…")
    sent = {"text": "The tiles are green.", "message": link.rpartition("=")[2]}
    if closing == "gone":
        agent.delete(f"/v1/conversations/{talk.id}")
    elif closing == "incognito":
        reader.post("/incognito/start")
    elif closing == "strangers":
        reader = at_browser(app, bob)
    else:
        assert reader.get("/remember?message=7").status_code == 422
        return
    assert SAID not in reader.get(link).text
    answer = reader.post("/remember", data=sent)
    assert (answer.status_code, "is no longer there, or cannot be read now" in answer.text) == (422, True)
    assert rows(ada, "SELECT count(*) FROM memories WHERE text = 'The tiles are green.'") == [(0,)]


@pytest.mark.parametrize("role", ["tool_call", "tool_result", "system"])
def test_what_nobody_said_is_offered_to_nobody(reader: FlaskClient, agent: Agent, role: str) -> None:
    said = Talk(agent)
    said.say("ls -l", role=role)
    assert "remember…" not in reader.get(said.page).text


def test_what_was_recalled_is_not_offered_again(reader: FlaskClient, agent: Agent, talk: Talk) -> None:
    recalled = agent.post("/v1/memory/context", {"query": "tiles behind the stove"}).json["context"]
    talk.say(recalled)
    assert reader.get(talk.page).text.count("remember…") == 2


def test_of_a_long_message_the_form_has_what_its_page_shows(reader: FlaskClient, agent: Agent) -> None:
    said = Talk(agent)
    said.say("tile " * 4_000)
    form = reader.get(_link(reader.get(said.page).text, "remember…")).text
    assert "tile " * 1_200 in form
    assert "tile " * 1_201 not in form


def test_a_long_conversation_opens_at_its_end(reader: FlaskClient, long_talk: Talk) -> None:
    assert _sequences(reader.get(long_talk.page).text) == list(range(61, 101))


def test_a_link_to_a_message_shows_it_with_what_stands_before(reader: FlaskClient, long_talk: Talk) -> None:
    text = reader.get(f"{long_talk.page}?at=20").text
    assert _sequences(text) == list(range(15, 55))
    assert re.search(r'id="conversations-message-20"[^>]*aria-current="true"', text)


@pytest.mark.parametrize(("at", "first"), [(1, 1), (3, 1), (100, 95), (2**31 - 1, 95), (0, 1)])
def test_a_link_to_the_edges_shows_the_edges(reader: FlaskClient, long_talk: Talk, at: int, first: int) -> None:
    assert _sequences(reader.get(f"{long_talk.page}?at={at}").text)[0] == first


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["without scripts", "with htmx"])
def test_reading_back_meets_every_message_once(reader: FlaskClient, long_talk: Talk, headers: dict[str, str]) -> None:
    text, seen = reader.get(long_talk.page).text, []
    while True:
        seen = _sequences(text) + seen
        if "Earlier messages" not in text:
            break
        text = reader.get(_link(text, "Earlier messages"), headers=headers).text
    assert seen == list(range(1, LONG + 1))


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["without scripts", "with htmx"])
def test_reading_on_meets_every_message_once(reader: FlaskClient, long_talk: Talk, headers: dict[str, str]) -> None:
    start = _link(reader.get(long_talk.page).text, "from the beginning")
    text, seen = reader.get(start).text, []
    while True:
        seen += _sequences(text)
        if "Later messages" not in text:
            break
        text = reader.get(_link(text, "Later messages"), headers=headers).text
    assert seen == list(range(1, LONG + 1))


@pytest.mark.parametrize("stretch", ["before=61", "after=40", "at=50"])
def test_a_page_in_the_middle_goes_both_ways(reader: FlaskClient, long_talk: Talk, stretch: str) -> None:
    text = reader.get(f"{long_talk.page}?{stretch}").text
    assert "Earlier messages" in text
    assert "Later messages" in text


@pytest.mark.parametrize("stretch", ["", "?before=61", "?after=40", "?at=50"])
def test_the_messages_fragment_is_the_part_of_the_page(reader: FlaskClient, long_talk: Talk, stretch: str) -> None:
    fragment = reader.get(f"{long_talk.page}{stretch}", headers=HTMX).text
    assert fragment.startswith('<div id="conversations-messages-')
    assert fragment in reader.get(f"{long_talk.page}{stretch}").text


@pytest.mark.parametrize("stretch", ["at=-1", "before=x", f"after={2**31}"])
def test_a_stretch_that_cannot_be_is_refused(reader: FlaskClient, talk: Talk, stretch: str) -> None:
    assert reader.get(f"{talk.page}?{stretch}").status_code == 422


def test_nothing_said_yet_is_said(reader: FlaskClient, agent: Agent) -> None:
    assert "Nothing has been said in it yet" in reader.get(Talk(agent).page).text


def test_a_very_long_message_is_shown_in_part_and_read_whole(reader: FlaskClient, talk: Talk) -> None:
    talk.say("word " * 4000 + "and the end.")
    page = reader.get(talk.page).text
    assert "and the end." not in page
    assert "and the end." in reader.get(f"{talk.page}/messages/3", headers=HTMX).text
    assert "and the end." in reader.get(_link(page, "… read all 20,012 characters")).text


def test_a_message_is_shown_as_it_was_sent(reader: FlaskClient, talk: Talk) -> None:
    talk.say("", role="assistant", payload={"tool": "größe", "broken": "<b>"})
    page = reader.get(talk.page).text
    assert "It has no words of its own" in page
    assert '{ "tool": "größe", "broken": "<b>" }' in words_of(reader.get(_link(page, "as it was sent")).text)


def test_a_thought_is_called_one_and_no_call(reader: FlaskClient, talk: Talk) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Which shop?"}]}
    called = {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{}"}
    assert talk.post({"format": "openai", "history": [thought, called]}).status_code == 201
    assert re.findall(r"<strong>([^<]+)</strong>\s*<a [^>]*>#[34]<", reader.get(talk.page).text) == [
        "thought",
        "tool call",
    ]


def test_a_huge_payload_is_shown_in_part(reader: FlaskClient, agent: Agent, talk: Talk) -> None:
    talk.say("", role="assistant", payload="x" * (LONGEST_SENT + 1))
    page = reader.get(f"{talk.page}/messages/3")
    assert len(page.text) < LONGEST_SENT + 50_000
    assert f"cut off here, of {LONGEST_SENT + 3:,} characters" in words_of(page.text)
    whole = re.search(r"<code>(/v1/conversations/\S+)</code>", page.text)
    assert whole is not None
    assert agent.get(whole[1]).json["payload"] == "x" * (LONGEST_SENT + 1)


@pytest.mark.parametrize("sequence", [0, 3, 2**31 - 1, 10**20])
def test_a_message_that_does_not_exist_is_not_found(reader: FlaskClient, talk: Talk, sequence: int) -> None:
    assert reader.get(f"{talk.page}/messages/{sequence}").status_code == 404


# Changing


def test_a_conversation_is_renamed_and_moved(reader: FlaskClient, talk: Talk, ada) -> None:
    add_space(ada, "kitchen")
    response = reader.post(talk.page, data={"title": " The  wall ", "space": "kitchen"})
    assert (response.status_code, response.location) == (303, talk.page)
    assert (talk.head()["title"], talk.head()["space"]) == ("The wall", "kitchen")


def test_htmx_gets_the_changed_head_alone(reader: FlaskClient, talk: Talk) -> None:
    text = reader.post(talk.page, data={"title": "The wall"}, headers=HTMX).text
    assert text.startswith('<title>The wall · Commonplace</title>\n<header id="conversations-head"')
    assert "<h1>The wall</h1>" in text


def test_an_unchanged_form_changes_nothing(reader: FlaskClient, talk: Talk) -> None:
    before = talk.head()
    reader.post(talk.page, data={"title": SAID, "space": "default"})
    assert talk.head() == before


def test_an_older_tab_changes_what_was_changed_in_it_alone(reader: FlaskClient, talk: Talk, ada) -> None:
    add_space(ada, "kitchen")
    found = re.search(r'name="shown"\s+value="([^"]+)"', reader.get(talk.page).text)
    older = {"title": SAID, "space": "default", "shown": unescape(found.group(1)) if found else "{}"}
    reader.post(talk.page, data={"title": "The wall", "space": "kitchen"})
    refused = reader.post(talk.page, data={**older, "title": "x" * 501})
    assert older["shown"] in unescape(refused.text)
    reader.post(talk.page, data={**older, "title": "The roof"})
    assert (talk.head()["title"], talk.head()["space"]) == ("The roof", "kitchen")


def test_an_empty_title_gives_the_automatic_one_back(reader: FlaskClient, talk: Talk) -> None:
    reader.post(talk.page, data={"title": "The wall"})
    reader.post(talk.page, data={"title": ""})
    assert (talk.head()["title"], talk.head()["title_source"]) == (SAID, "auto")


@pytest.mark.parametrize("headers", [{}, HTMX])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"title": "x" * 501}, "Title: must be at most 500 characters"),
        ({"space": "nowhere"}, "Space: there is no space"),
    ],
)
def test_what_cannot_be_comes_back_with_its_reason(
    reader: FlaskClient, talk: Talk, headers: dict[str, str], data: dict[str, str], said: str
) -> None:
    before = talk.head()
    response = reader.post(talk.page, data=data, headers=headers)
    assert response.status_code == 422
    assert said in response.text
    assert problems_of(response.text) == []
    assert talk.head() == before


def test_a_title_that_is_too_long_can_be_mended(reader: FlaskClient, talk: Talk) -> None:
    response = reader.post(talk.page, data={"title": "y" * 501})
    assert f'value="{"y" * 501}"' in response.text
    assert '<details class="ask-more" open>' in " ".join(response.text.split())


def test_a_move_onto_a_name_that_is_taken_is_refused(reader: FlaskClient, client: FlaskClient, talk: Talk, ada) -> None:
    add_space(ada, "kitchen")
    # An agent of the kitchen sees no conversation of the pool, and opens its own.
    Talk(Agent(client, ada.new_token("read", "write", space="kitchen")), external_id="tiles")
    response = reader.post(talk.page, data={"space": "kitchen"})
    assert response.status_code == 422
    assert "Space: the space &#39;kitchen&#39; has a conversation of the same external_id" in response.text


def test_archiving_takes_it_out_of_the_list_and_back(reader: FlaskClient, talk: Talk) -> None:
    page = reader.post(f"{talk.page}/archive", follow_redirects=True)
    assert "kept to read, out of search" in page.text
    assert talk.page not in reader.get("/conversations").text
    reader.post(f"{talk.page}/unarchive")
    assert talk.page in reader.get("/conversations").text


def test_archiving_by_htmx_answers_with_the_changed_head(reader: FlaskClient, talk: Talk) -> None:
    text = reader.post(f"{talk.page}/archive", headers=HTMX).text
    assert text.startswith('<header id="conversations-head"')
    assert "Take out of the archive" in text


# Deleting


def test_a_deletion_says_first_what_it_takes_along(reader: FlaskClient, talk: Talk) -> None:
    text = words_of(reader.get(f"{talk.page}/delete").text)
    assert "2 messages and 1 episode go, for good." in text
    assert "1 memory learned from it stays, without the place where it was said." in text
    assert talk.head()["message_count"] == 2


def test_a_deletion_says_afterwards_what_went_and_what_stayed(reader: FlaskClient, talk: Talk, ada) -> None:
    page = reader.post(f"{talk.page}/delete", follow_redirects=True)
    assert "Deleted, with 2 messages and 1 episode. 1 memory learned from it stayed." in flashes(page)
    assert reader.get(talk.page).status_code == 404
    assert rows(ada, "SELECT text FROM memories")[0][0] == SAID


def test_a_memory_without_its_source_says_nothing_of_it(reader: FlaskClient, talk: Talk, ada) -> None:
    memory = rows(ada, "SELECT id FROM memories")[0][0]
    reader.post(f"{talk.page}/delete")
    assert "Said in" not in reader.get(f"/memories/{memory}").text


# Markup


def test_every_page_is_well_formed(reader: FlaskClient, agent: Agent, long_talk: Talk, talk: Talk) -> None:
    talk.say("memory_search tiles", role="tool_call", payload={"a": 1})
    talk.say("word " * 4000)
    Talk(agent, title="Old").change(archived=True)
    for address in (
        "/conversations?archived=any&q=tiles",
        "/conversations?q=zebra",
        "/conversations?archived=any",
        talk.page,
        f"{long_talk.page}?at=50",
        f"{long_talk.page}?after=40",
        f"{long_talk.page}?before=60",
        f"{talk.page}/messages/3",
        f"{talk.page}/delete",
    ):
        response = reader.get(address)
        assert response.status_code == 200, address
        assert problems_of(response.text) == [], address


def test_an_empty_page_is_well_formed(reader: FlaskClient) -> None:
    assert problems_of(reader.get("/conversations").text) == []


def test_the_episodes_of_a_conversation_are_listed(reader: FlaskClient, talk: Talk) -> None:
    page = reader.get(f"{talk.page}/episodes")
    assert (page.status_code, problems_of(page.text)) == (200, [])
    assert f"{SAID} Sage green" in words_of(page.text)
    assert "waits for its vector" in page.text
    assert f"{talk.page}/episodes" in reader.get(talk.page).text


def test_a_turn_ends_where_the_reply_begins(reader: FlaskClient, agent: Agent) -> None:
    talk, reply = Talk(agent), "Two turns, and a third."
    talk.turn("Read this:\nassistant: Noted.\nuser: Which turns are in it?", reply)
    talk.say("A fourth.", role="assistant")
    page = reader.get(f"{talk.page}/episodes")
    said = [unescape(each) for each in re.findall(r'<span class="said">([^<]*)</span>', page.text)]
    assert said == [
        "Read this:\nassistant: Noted.\nuser: Which turns are in it?",
        f"{reply}\nassistant: A fourth.",
    ]


def test_many_episodes_come_page_by_page(reader: FlaskClient, long_talk: Talk) -> None:
    first = reader.get(f"{long_talk.page}/episodes")
    assert (first.text.count("<article"), "More episodes" in first.text) == (30, True)
    rest = reader.get(f"{long_talk.page}/episodes?cursor=59", headers=HTMX)
    assert (rest.text.count("<article"), "More episodes" in rest.text, "<html" in rest.text) == (20, False, False)


def test_a_conversation_without_a_reply_has_no_episodes(reader: FlaskClient, agent: Agent) -> None:
    lonely = Talk(agent, title="Lonely")
    lonely.say("Is anyone there?")
    assert "There is none yet." in reader.get(f"{lonely.page}/episodes").text


def test_a_strangers_episodes_are_not_there(app: Flask, bob, talk: Talk) -> None:
    assert at_browser(app, bob).get(f"{talk.page}/episodes").status_code == 404
