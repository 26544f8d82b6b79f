"""Many memories at once: counted before, done to exactly those, undone by one button."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from html import unescape
from uuid import UUID

import pytest
from api_agent import ENTRIES, Agent, add_space, embed, rows, waited_for
from pages_browser import at_browser, flashes, follow, stored
from pages_markup import problems_of
from sqlalchemy import text

from memory.clock import utc_now
from memory.ids import new_id, pack
from memory.spaces.spaces import lock_space
from memory.writing import bulk

UUID_FORM = r"[0-9a-f-]{36}"


@pytest.fixture
def browser(app, ada):
    return at_browser(app, ada)


@pytest.fixture
def three(ada):
    """The ids of three memories."""
    return [str(stored(ada, f"Ada keeps the {thing} in the attic")) for thing in ("lamp", "bell", "kettle")]


def hidden(response, name):
    return [unescape(value) for value in re.findall(rf'name="{name}"\s+value="([^"]*)"', response.text)]


def ask(browser, ids, act, path="/memories/bulk", **more):
    return led(browser, browser.post(path, data={"id": ids, "act": act, **more}))


def led(browser, response):
    """Load the page that a form leads to."""
    assert response.status_code == 303, response.text
    return browser.get(response.location)


def do(browser, ids, act, **more):
    asked = ask(browser, ids, act, **more)
    form = {name: hidden(asked, name) for name in ("id", "act", "about")}
    done = browser.post("/memories/bulk/do", data=form)
    return led(browser, done) if done.status_code == 303 else done


def undo(browser, done):
    return browser.post("/memories/bulk/undo", data={"slip": hidden(done, "slip")})


def state(ada):
    return {
        str(row.id): (row.pinned, row.status, tuple(row.tags), row.slug)
        for row in rows(
            ada, "SELECT m.id, pinned, status, tags, slug FROM memories m JOIN spaces s ON s.id = m.space_id"
        )
    }


def test_the_count_comes_before(ada, browser, three):
    before = state(ada)
    page = ask(browser, three[:2], "forget").text
    assert "Forget 2 memories?" in page
    assert "lamp" in page
    assert "kettle" not in page
    assert state(ada) == before


@pytest.mark.parametrize(
    ("act", "more", "changed"),
    [
        ("pin", {}, (True, "active", (), "default")),
        ("archive", {}, (False, "archived", (), "default")),
        ("tag", {"tag": "attic"}, (False, "active", ("attic",), "default")),
        ("move", {"target": "work"}, (False, "active", (), "work")),
        ("forget", {}, None),
    ],
)
def test_an_act_is_done_to_those_that_were_chosen_and_undone(ada, browser, three, act, more, changed):
    add_space(ada, "work")
    before = state(ada)
    done = do(browser, three[:2], act, **more)
    after = state(ada)
    assert [after.get(each) for each in three] == [changed, changed, before[three[2]]]
    assert undo(browser, done).status_code == 303
    assert state(ada) == before


def test_a_tag_with_a_comma_is_asked_for_again_and_can_be_taken_off(ada, browser, agent, three):
    agent.patch(f"/v1/memory/entries/{three[0]}", {"tags": ["a, b"]})
    asked = ask(browser, three, "tag", tag="a, b")
    assert asked.status_code == 422
    assert "The tag must be one, without a comma: add the next after it." in asked.text
    assert browser.post("/memories/bulk/do", data={"id": three, "act": "tag", "about": "a, b"}).status_code == 422
    assert [state(ada)[each][2] for each in three[:2]] == [("a, b",), ()]
    undone = do(browser, three, "untag", tag="a, b")
    assert "1 memory no longer tagged so: a, b" in undone.text
    undo(browser, undone)
    assert state(ada)[three[0]][2] == ("a, b",)


def test_a_tag_is_taken_off_whatever_its_case_and_comes_back_as_it_was_written(ada, browser, three):
    for each, tag in zip(three, ("PostgreSQL", "postgresql", "postgres"), strict=True):
        do(browser, [each], "tag", tag=tag)
    before = state(ada)
    done = do(browser, three, "untag", tag="POSTGRESQL")
    assert "2 memories no longer tagged so: POSTGRESQL" in done.text
    assert [state(ada)[each][2] for each in three] == [(), (), ("postgres",)]
    undo(browser, done)
    assert state(ada) == before


@pytest.mark.parametrize(
    ("act", "more", "said"),
    [
        ("pin", {}, "pinned"),
        ("archive", {}, "archived"),
        ("tag", {"tag": "attic"}, "tagged"),
        ("move", {"target": "work"}, "moved"),
        ("forget", {}, "forgotten"),
    ],
)
def test_who_loads_the_answer_again_has_its_undo_still(ada, browser, three, act, more, said):
    add_space(ada, "work")
    do(browser, three[2:], act, **more)
    before = state(ada)
    address = do(browser, three[:2], act, **more).request.full_path
    # Another tab does something else meanwhile.
    do(browser, three[:2], "untag", tag="bees")
    for _ in range(3):
        page = browser.get(address)
        assert f"2 memories {said}" in page.text
        assert "as they were" not in page.text
    undo(browser, page)
    assert state(ada) == before
    assert "1 memory stays as it was" in do(browser, three[2:], act, **more).text or act == "forget"


@pytest.mark.parametrize(("minutes", "offered"), [(9, True), (11, False)])
def test_what_was_done_to_many_can_be_undone_for_ten_minutes(ada, browser, three, minutes, offered):
    then = utc_now() - timedelta(minutes=minutes)
    ids = [UUID(each) for each in three]
    with ada.session() as session:
        bulk.pin_many(session, ada.id, ids, pinned=True, now=then, actor="user")
    page = browser.get("/memories/bulk/done", query_string={"act": "pin", "at": then.isoformat()}).text
    assert ("3 memories pinned" in page, "Undo" in page) == (True, offered)


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_nothing_was_done_at_the_ends_of_the_calendar(browser, three, at):
    page = browser.get("/memories/bulk/done", query_string={"act": "pin", "at": at})
    assert (page.status_code, "0 memories pinned" in page.text) == (200, True)


@pytest.mark.parametrize(
    ("act", "more", "before"),
    [
        ("pin", {}, None),
        ("unpin", {}, "pin"),
        ("archive", {}, None),
        ("activate", {}, "archive"),
        ("tag", {"tag": "attic"}, None),
        ("untag", {"tag": "attic"}, "tag"),
        ("move", {"target": "work"}, None),
        ("forget", {}, None),
    ],
)
def test_what_was_undone_is_not_undone_again(ada, browser, three, act, more, before):
    add_space(ada, "work")
    if before:
        do(browser, three, before, **more)
    address = do(browser, three[:2], act, **more).request.full_path
    page = browser.get(address)
    assert "left to undo" not in page.text
    undo(browser, page)
    page = browser.get(address).text
    assert ("2 memories" in page, "left to undo" in page, '<button type="submit">Undo' in page) == (True, True, False)


def test_what_was_replaced_before_it_was_made_active_is_so_again_when_that_is_undone(ada, browser, three):
    browser.post(f"/memories/{three[1]}/replaces/{three[0]}")
    browser.post(f"/memories/{three[1]}/forget")
    do(browser, three[2:], "archive")
    done = do(browser, three, "activate")
    assert "2 memories active again" in done.text
    assert "2 memories as before" in flashes(browser.get(undo(browser, done).location))
    assert {each: state(ada)[each][1] for each in state(ada)} == {three[0]: "superseded", three[2]: "archived"}


def test_what_was_forgotten_since_is_not_undone(browser, three):
    address = do(browser, three, "pin").request.full_path
    do(browser, three, "forget")
    page = browser.get(address).text
    assert ("left to undo" in page, '<button type="submit">Undo' in page) == (True, False)


def test_of_some_that_were_undone_the_others_still_can_be(ada, browser, three):
    address = do(browser, three, "tag", tag="attic").request.full_path
    do(browser, three[:1], "untag", tag="attic")
    page = browser.get(address)
    assert "left to undo" not in page.text
    # By hand, and not to be taken off by what undid another one.
    do(browser, three[:1], "tag", tag="attic")
    undo(browser, page)
    assert [each[2] for each in state(ada).values()].count(("attic",)) == 1


def test_the_question_can_be_loaded_again(browser, three):
    address = ask(browser, three[:2], "forget").request.full_path
    assert "Forget 2 memories?" in browser.get(address).text
    do(browser, three[:1], "forget")
    assert "Forget 1 memory?" in browser.get(address).text


def test_more_than_an_address_holds_are_taken_by_what_fits(browser, three):
    many = [str(new_id()) for _ in range(bulk.MOST)]
    response = browser.post("/memories/bulk?tag=attic", data={"id": many, "act": "pin"})
    assert response.location == "/memories?tag=attic"
    assert "take all that fit" in flashes(browser.get(response.location))
    response = browser.post("/memories/bulk", data={"id": [*three, *many[:300]], "act": "pin"})
    assert "Pin 3 memories?" in led(browser, response).text


@pytest.mark.parametrize("ids", ["bees", "AAAA", "\u00e9", "A"])
def test_ids_that_are_none_are_refused(browser, ids):
    assert browser.get("/memories/bulk/ask", query_string={"act": "pin", "ids": ids}).status_code == 422


def test_what_was_so_already_stays_so_after_the_undo(ada, browser, three):
    do(browser, three[:1], "pin")
    done = do(browser, three, "pin")
    assert "1 memory stays as it was" in done.text
    undo(browser, done)
    assert [state(ada)[each][0] for each in three] == [True, False, False]


def test_all_that_fit_the_filters_can_be_taken(ada, browser, three):
    do(browser, three[:2], "tag", tag="attic")
    page = ask(browser, [], "archive", path="/memories/bulk?tag=attic", every="true").text
    assert "Archive 2 memories?" in page


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("most", [bulk.MOST, 6])
def test_all_that_a_token_wrote_is_forgotten_by_one_act_and_comes_back_by_one(
    ada, client, browser, three, monkeypatch, most, order
):
    monkeypatch.setattr(bulk, "MOST", most)
    bad = Agent(client, ada.new_token("read", "write"))
    wrote = [bad.store(f"Runaway thought {number} of the attic") for number in range(21)]
    bad.patch(f"{ENTRIES}/{wrote[0]}", {"status": "archived"})
    # It goes with what it sums up, and comes back with it, wherever the portions divide them.
    bad.store("Many thoughts", type="summary", source_ids=[wrote[1], wrote[20]])
    before = state(ada)
    token = bad.entry(wrote[0])["token"]["id"]
    page = browser.get("/memories", query_string={"status": "any", "token": token, "order": order}).text
    asked = browser.get(unescape(re.search(r'href="([^"]*)">Forget all of these…<', page)[1]))
    assert "Forget 22 memories?" in asked.text
    assert "All of it was first written by another." in asked.text
    assert "It can still write" in asked.text
    assert (f"They go {most} at a time" in asked.text) == (most == 6)
    form = {name: hidden(asked, name) for name in ("id", "act", "about")}
    done = led(browser, browser.post("/memories/bulk/do", data=form))
    # Where the portions divide them, a summary may go with what it sums up before its own turn comes.
    told = ("21 memories forgotten", "1 summary of them went") if (most, order) == (6, "oldest") else ("22 memories",)
    assert all(each in done.text for each in told)
    assert "stays as it was" not in done.text
    assert state(ada) == {each: before[each] for each in three}
    undo(browser, done)
    assert state(ada) == before
    assert {bad.entry(each)["token"]["name"] for each in wrote} == {"another"}


@pytest.mark.parametrize("most", [bulk.MOST, 3])
def test_what_came_back_along_before_its_turn_is_counted(browser, client, ada, three, monkeypatch, most):
    monkeypatch.setattr(bulk, "MOST", most)
    made = Agent(client, ada.new_token("write")).store("What the attic holds", type="summary", source_ids=three[:1])
    done = do(browser, [*three, made], "forget")
    assert "Undone: 4 memories as before." in flashes(browser.get(undo(browser, done).location))


@pytest.mark.parametrize(("order", "first"), [("", "newest first"), ("order=oldest", "oldest first")])
def test_of_more_than_are_taken_at_once_it_says_which(ada, browser, three, monkeypatch, order, first):
    monkeypatch.setattr(bulk, "MOST", 2)
    page = ask(browser, [], "archive", path=f"/memories/bulk?{order}", every="true").text
    assert f"These are the first 2, {first}; the rest can follow after." in page
    assert ("kettle" in page, "lamp" in page) == (not order, bool(order))


def test_all_that_fit_are_still_meant_while_a_field_is_asked_for_again(browser, three):
    again = ask(browser, [], "tag", every="true")
    assert (again.status_code, hidden(again, "every"), hidden(again, "id")) == (422, ["true"], [])


def test_without_a_choice_nothing_is_asked(browser, three):
    assert "Choose some memories first" in flashes(browser.get(ask(browser, [], "forget").location))


@pytest.mark.parametrize(
    ("act", "more", "said", "then", "asked"),
    [
        ("tag", {}, "The tag must not be empty.", {"tag": "attic"}, "Tag 2 memories with #attic?"),
        ("untag", {"tag": "x" * 65}, "The tag must be at most", {"tag": "attic"}, "Take #attic off 2 memories?"),
        (
            "move",
            {"target": "gone"},
            "There is no space",
            {"target": "default"},
            "Move 2 memories to Default?",
        ),
    ],
)
def test_what_was_chosen_stays_so_while_a_field_is_asked_for_again(browser, three, act, more, said, then, asked):
    again = ask(browser, three[:2], act, **more)
    assert again.status_code == 422
    assert said in unescape(again.text)
    assert problems_of(again.text) == []
    assert 'action="/memories/bulk"' in again.text
    assert (hidden(again, "id"), hidden(again, "act")) == (three[:2], [act])
    assert asked in ask(browser, hidden(again, "id"), act, **then).text


@pytest.mark.parametrize(
    ("act", "more"),
    [("burn", {}), ("tag", {}), ("tag", {"about": "x" * 65}), ("move", {"about": "nowhere"}), ("restore", {})],
)
def test_an_act_that_does_not_fit_changes_nothing(ada, browser, three, act, more):
    before = state(ada)
    assert browser.post("/memories/bulk/do", data={"id": three, "act": act, **more}).status_code == 422
    assert state(ada) == before


def test_a_memory_with_a_twin_there_is_not_moved(ada, client, browser, three):
    add_space(ada, "work")
    Agent(client, ada.headers).store("Ada keeps the lamp in the attic", space="work")
    said = " ".join(do(browser, three[:2], "move", target="work").text.split())
    assert "1 memory moved" in said
    assert "1 memory stays as it was: there already, or kept away by the same text there" in said


def test_a_moved_memory_is_found_in_its_new_space_alone(ada, client, browser, three):
    add_space(ada, "work")
    embed(ada)
    do(browser, three[:1], "move", target="work")
    agent = Agent(client, ada.headers)
    assert agent.found("lamp", space="work") == ["Ada keeps the lamp in the attic"]
    assert "Ada keeps the lamp in the attic" not in agent.found("lamp")
    assert [row.documents for row in rows(ada, "SELECT documents FROM spaces ORDER BY slug")] == [2, 1]


def test_a_full_space_takes_nothing(ada, browser, three):
    add_space(ada, "work")
    with ada.session() as session:
        session.execute(text("UPDATE spaces SET soft_cap = 1 WHERE slug = 'work'"))
    assert do(browser, three, "move", target="work").status_code == 409
    assert moved_by_a_program(browser, three) == (409, "soft_cap")
    assert {slug for *_, slug in state(ada).values()} == {"default"}


def test_a_space_whose_memory_is_off_takes_nothing(ada, browser, three):
    add_space(ada, "work", memory_enabled=False)
    assert moved_by_a_program(browser, three) == (409, "memory_off")
    assert {slug for *_, slug in state(ada).values()} == {"default"}


def moved_by_a_program(browser, ids):
    form = {"id": ids, "act": "move", "about": "work"}
    response = browser.post("/memories/bulk/do", data=form, headers={"Accept": "application/json"})
    return response.status_code, response.json["reason"]


def test_another_users_memories_are_not_there(app, ada, bob, browser, three):
    before = state(ada)
    stranger = at_browser(app, bob)
    for act in ("forget", "pin", "archive"):
        page = led(stranger, stranger.post("/memories/bulk/do", data={"id": three, "act": act}))
        assert "0 memories" in page.text
    assert state(ada) == before


def test_what_another_user_did_is_not_told(app, bob, browser, three):
    address = do(browser, three, "forget").request.full_path
    page = at_browser(app, bob).get(address).text
    assert ("0 memories" in page, "Undo" in page) == (True, False)


def test_another_users_slip_undoes_nothing(app, ada, bob, browser, three):
    done = do(browser, three, "forget")
    assert undo(at_browser(app, bob), done).status_code == 422
    assert state(ada) == {}


def test_incognito_opens_nothing(ada, browser, three):
    browser.post("/incognito/start")
    assert "Closed while incognito" in ask(browser, three, "forget").text
    browser.post("/memories/bulk/do", data={"id": three, "act": "forget"})
    assert len(state(ada)) == 3


@pytest.mark.parametrize(("act", "more"), [("pin", {}), ("tag", {"tag": "attic"}), ("archive", {}), ("forget", {})])
@pytest.mark.parametrize("default", [False, True])
def test_in_incognito_a_forgetting_is_undone_and_nothing_else(ada, client, browser, three, act, more, default):
    done = do(browser, three, act, **more)
    before = state(ada)
    if default:
        client.post("/v1/memory/settings", json={"incognito_default": True}, headers=ada.headers)
    else:
        browser.post("/incognito/start")
    undo(browser, done)
    assert (len(state(ada)) == 3) if act == "forget" else (state(ada) == before)


def test_a_space_that_is_incognito_by_default_takes_nothing(ada, client, browser, three):
    add_space(ada, "diary")
    client.post("/v1/memory/settings", json={"space": "diary", "incognito_default": True}, headers=ada.headers)
    do(browser, three, "move", target="diary")
    assert {place for *_, place in state(ada).values()} == {"default"}


@pytest.mark.parametrize("path", ["/memories/bulk", "/memories/bulk/do", "/memories/bulk/undo"])
def test_another_site_reaches_none_of_it(browser, three, path):
    form = {"id": three, "act": "forget"}
    assert browser.post(path, data=form, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_what_was_not_recalled_lately_can_be_listed(ada, client, browser, three):
    embed(ada)
    Agent(client, ada.headers).found("kettle", limit=1)
    page = browser.get("/memories?unrecalled=30").text
    recalled = {str(row.memory_id) for row in rows(ada, "SELECT memory_id FROM last_scores")}
    assert recalled
    assert {each for each in three if f"memories-row-{each}" in page} == set(three) - recalled


def test_what_is_old_can_be_listed(ada, browser, three):
    with ada.session() as session:
        session.execute(
            text("UPDATE memories SET created_at = :then WHERE id = :id"),
            {"then": utc_now() - timedelta(days=40), "id": three[0]},
        )
    page = browser.get("/memories?older=30").text
    assert [f"memories-row-{each}" in page for each in three] == [True, False, False]


def test_with_memory_off_many_are_pinned_and_none_is_tagged(ada, browser, three):
    browser.post("/memory/off")
    do(browser, three, "tag", tag="attic")
    do(browser, three, "pin")
    assert {(pinned, tags) for pinned, _, tags, _ in state(ada).values()} == {(True, ())}


def test_with_memory_off_nothing_comes_back_until_it_is_on(ada, browser, three):
    done = do(browser, three, "forget")
    browser.post("/memory/off")
    assert "turn it on to bring anything back" in undo(browser, done).text
    assert state(ada) == {}
    browser.post("/memory/on")
    undo(browser, done)
    assert state(ada).keys() == set(three)


@pytest.mark.parametrize(
    ("form", "asked"),
    [
        ({"act": "tag", "tag": "sea"}, "Tag 1 memory with #sea"),
        ({"act": "untag", "tag": "sea"}, "Take #sea off 1 memory"),
        ({"act": "move", "target": "default"}, "Move 1 memory to Default"),
        ({"act": "activate"}, "Make 1 memory active again"),
        ({"act": "archive"}, "Archive 1 memory"),
    ],
)
def test_an_act_is_asked_in_a_sentence_and_leads_back_to_the_same_list(app, ada, form, asked):
    browser = at_browser(app, ada)
    chosen = {**form, "id": str(stored(ada, "Ada swims in the sea"))}
    page = led(browser, browser.post("/memories/bulk?q=sea&type=note", data=chosen)).text
    ticked = pack([UUID(chosen["id"])])
    assert f"<h1>{asked}?</h1>" in page
    assert f'class="primary">{asked}</button>' in page
    assert f'href="/memories?q=sea&amp;type=note&amp;ids={ticked}"' in page
    form = {**chosen, "about": form.get("tag") or form.get("target", "")}
    done = led(browser, browser.post("/memories/bulk/do?q=sea&type=note", data=form))
    assert 'href="/memories?q=sea&amp;type=note"' in done.text


def test_one_memory_is_moved_and_archived_from_its_own_page(ada, browser, three):
    page = browser.get(f"/memories/{three[0]}").text
    assert ">Move<" not in page
    assert "Archive 1 memory?" in follow(browser, page, "Archive")
    add_space(ada, "work")
    asked = follow(browser, browser.get(f"/memories/{three[0]}").text, "Move")
    assert ("Where shall it be?" in asked, "Leave it" in asked, 'role="alert"' in asked) == (True, True, False)
    # Where it is would be no move.
    assert re.search(r'value="work"\s+selected', asked)
    done = do(browser, three[:1], "move", target="work")
    assert f'href="/memories/{three[0]}">Open the memory</a> · <a ' in " ".join(done.text.split())
    again = follow(browser, browser.get(f"/memories/{three[0]}").text, "Move")
    assert re.search(r'value="default"\s+selected', again)
    do(browser, three[:1], "archive")
    assert ">Archive<" not in browser.get(f"/memories/{three[0]}").text


def test_what_a_memory_replaced_is_moved_with_it_and_back(ada, browser, three):
    add_space(ada, "work")
    browser.post(f"/memories/{three[1]}/replaces/{three[0]}")
    before = state(ada)
    done = do(browser, [three[1]], "move", target="work")
    assert "1 memory moved: work" in done.text
    assert "1 memory that was replaced moved along." in done.text
    assert "as it was" not in done.text
    assert f'href="/memories/{three[1]}">Open the memory' in done.text
    assert [state(ada)[each][3] for each in three] == ["work", "work", "default"]
    undo(browser, done)
    assert state(ada) == before


def test_what_is_done_on_a_memorys_own_page_leads_back_to_the_list_it_was_opened_from(ada, browser, three):
    for number in range(21):
        stored(ada, f"Ada keeps box {number} in the attic")
    page = browser.get("/memories?q=attic&order=oldest").text
    listed = unescape(re.search(r'class="button"\s+href="([^"]*cursor=[^"]*)"', page)[1])
    opened = unescape(re.findall(rf'href="(/memories/{UUID_FORM}[^"]*)">Open', browser.get(listed).text)[0])
    memory_id = re.search(UUID_FORM, opened)[0]

    def leads_back(page):
        return sorted(listed.partition("?")[2].split("&")) in [
            sorted(unescape(each).split("&")) for each in re.findall(r'href="/memories\?([^"]*)"', page)
        ]

    page = browser.get(opened).text
    assert leads_back(page)
    asked = follow(browser, page, "Archive")
    assert (leads_back(asked), f'href="{opened}">Leave it'.replace("&", "&amp;") in asked) == (True, True)
    action = unescape(re.search(r'action="(/memories/bulk/do[^"]*)"', asked)[1])
    done = led(browser, browser.post(action, data={"id": memory_id, "act": "archive"})).text
    assert leads_back(done)
    assert leads_back(follow(browser, done, "Open the memory"))
    # Whatever is done on its page or to its text, the way stays the same.
    at = {"headers": {"Referer": f"http://localhost{opened}"}}
    for act in ("activate", "pin", "unpin"):
        assert leads_back(browser.get(browser.post(f"/memories/{memory_id}/{act}", **at).location).text)
    form = follow(browser, page, "Edit")
    saving = unescape(re.search(r'action="([^"]*/edit[^"]*)"', form)[1])
    given = {"text": "Ada keeps nothing in the attic", "type": "note"}
    saved = browser.post(saving, data=given, headers={"Referer": f"http://localhost{saving}"})
    assert leads_back(browser.get(saved.location).text)
    forgotten = browser.post(f"/memories/{memory_id}/forget", data={"next": ""}, **at)
    assert sorted(forgotten.location.partition("?")[2].split("&")) == sorted(listed.partition("?")[2].split("&"))


def test_what_is_done_on_the_page_of_a_memory_that_was_found_leads_back_to_the_search(browser, three):
    found = browser.get("/search?q=lamp&limit=5").text
    memory_id = three[0]
    opened = unescape(re.search(rf'href="(/memories/{memory_id}\?[^"]*)">Open', found)[1])
    search = "/search?q=lamp&limit=5"

    def leads_back(page):
        return f'href="{search}"'.replace("&", "&amp;") in page

    page = browser.get(opened).text
    assert leads_back(page)
    asked = follow(browser, page, "Archive")
    assert leads_back(asked)
    action = unescape(re.search(r'action="(/memories/bulk/do[^"]*)"', asked)[1])
    done = led(browser, browser.post(action, data={"id": memory_id, "act": "archive"})).text
    assert leads_back(done)
    assert "Back to the search" in done
    assert leads_back(follow(browser, done, "Open the memory"))
    slip = {"slip": re.search(r'name="slip" value="([^"]+)"', done)[1]}
    undoing = unescape(re.search(r'action="(/memories/bulk/undo[^"]*)"', done)[1])
    assert browser.post(undoing, data=slip).location == search
    forgotten = browser.post(
        f"/memories/{memory_id}/forget", data={"next": ""}, headers={"Referer": f"http://localhost{opened}"}
    )
    assert forgotten.location == search


def test_what_comes_near_a_memory_that_was_found_leads_back_to_the_search_as_well(ada, browser, three):
    ada.embed()
    lamp, bell, _ = three
    near = browser.get(f"/memories/{lamp}/neighbours?asked=q%3Dlamp").text
    assert f'href="/memories/{bell}?asked=q%3Dlamp"' in near
    asked = follow(browser, near, "This one replaces it")
    back = unescape(re.search(r'href="([^"]*)">Leave both', asked)[1])
    assert '<a href="/search?q=lamp">Search</a>' in browser.get(back).text
    assert f'hx-get="/memories/{lamp}/neighbours?asked=q%3Dlamp"' in browser.get(back).text


def test_a_hit_that_was_pinned_or_brought_back_in_place_still_leads_back_to_the_search(browser, three):
    htmx = {"HX-Request": "true", "HX-Current-URL": "http://localhost/search?q=lamp"}
    for act in ("pin", "forget", "restore"):
        part = browser.post(f"/memories/{three[0]}/{act}", data={"next": ""}, headers=htmx).text
        assert act == "forget" or f'href="/memories/{three[0]}?asked=q%3Dlamp">Open' in part


def test_a_question_too_long_for_the_addresses_leads_to_the_whole_list(browser, three):
    found = browser.get(f"/search?q={'lamp+' * 300}").text
    assert f'href="/memories/{three[0]}">Open' in found


def test_the_other_of_two_that_may_be_one_leads_back_to_the_list_as_well(ada, browser):
    older, newer = (stored(ada, f"The train to Basel leaves at 9 from platform {each}.") for each in (3, 4))
    page = browser.get(f"/memories/{newer}?q=train").text
    assert f'href="/memories/{older}?q=train"' in page
    browser.post(f"/memories/{newer}/replaces/{older}")
    for one, other in ((older, newer), (newer, older)):
        assert f'href="/memories/{other}?q=train"' in browser.get(f"/memories/{one}?q=train").text


def test_who_comes_to_a_memory_from_elsewhere_is_led_to_the_whole_list(browser, three):
    for query in ("", "?order=sideways"):
        assert '<a href="/memories">Memories</a>' in browser.get(f"/memories/{three[0]}{query}").text
    assert browser.post(f"/memories/{three[0]}/forget", data={"next": ""}).location == "/memories"


def lock_memory(session, user_id, place):
    """Lock a memory as who embeds it does: with no space, and one after the other by their ids."""
    one = text("SELECT id FROM memories WHERE user_id = :user_id AND strpos(text, :place) > 0 FOR NO KEY UPDATE")
    assert session.execute(one, {"user_id": user_id, "place": place}).all()


@pytest.mark.parametrize(
    ("lock", "first", "second"), [(lock_space, "work", "home"), (lock_memory, "home", "work")], ids=["spaces", "rows"]
)
def test_moves_from_two_spaces_are_undone_beside_who_locks_both(ada, browser, lock, first, second):
    """Whoever needs several takes them in one order: who needs the same would be waited for in a circle."""
    for name in ("work", "home"):
        add_space(ada, name)
    ids = [str(stored(ada, f"Ada keeps the lamp at {name}", space=name)) for name in ("home", "work")]
    before = state(ada)
    slips = hidden(do(browser, ids, "move", target="default"), "slip")
    with ThreadPoolExecutor() as pool, ada.session() as session:
        lock(session, ada.id, first)
        undone = pool.submit(browser.post, "/memories/bulk/undo", data={"slip": slips[::-1]})
        assert waited_for(session)
        lock(session, ada.id, second)
        session.commit()
        assert undone.result().status_code == 303
    assert state(ada) == before
