"""A memory corrected by hand, and a possible update decided."""

from __future__ import annotations

import re

import pytest
from api_agent import add_space, embed, rows
from pages_browser import HTMX, at_browser, flashes, stored
from sqlalchemy import delete, update

from memory.models import Memory, PossibleUpdate


@pytest.fixture
def browser(app, ada):
    return at_browser(app, ada)


@pytest.fixture
def pair(ada):
    """The older and the newer of two memories that differ in a number."""
    texts = ("The spare key is under the flowerpot number 3", "The spare key is under the flowerpot number 4")
    return [stored(ada, text) for text in texts]


def state(ada, memory_id):
    found = rows(ada, "SELECT status, supersedes FROM memories WHERE id = :id", id=memory_id)[0]
    return (found.status, found.supersedes)


def decide(browser, memory_id, other_id, keep):
    return browser.post(f"/memories/{memory_id}/updates/{other_id}", data={"keep": keep})


def line(browser, memory_id):
    page = browser.get(f"/memories/{memory_id}").text
    return " ".join(re.search(r'<h2 id="line">(.*?)</h2>', page, re.S)[1].split())


def test_two_that_differ_are_both_shown_until_decided(browser, pair):
    page = browser.get(f"/memories/{pair[1]}").text
    assert "Possible updates" in page
    assert "This one holds" in page


@pytest.mark.parametrize(("keep", "winner"), [("this", 1), ("other", 0)])
def test_what_holds_replaces_the_other(ada, browser, pair, keep, winner):
    assert decide(browser, pair[1], pair[0], keep).status_code == 303
    assert state(ada, pair[winner]) == ("active", pair[1 - winner])
    assert state(ada, pair[1 - winner])[0] == "superseded"
    assert rows(ada, "SELECT FROM possible_updates") == []


def test_of_two_possible_updates_both_may_hold(ada, browser, pair):
    decide(browser, pair[1], pair[0], "both")
    assert [state(ada, each) for each in pair] == [("active", None)] * 2
    assert rows(ada, "SELECT FROM possible_updates") == []


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        ("this", "Decided. The other one is replaced: it is out of search"),
        ("other", "Decided. This one is replaced: it is out of search"),
        ("both", "Decided. Both stay as they are."),
    ],
)
def test_the_page_says_what_was_decided(browser, pair, keep, said):
    decide(browser, pair[1], pair[0], keep)
    assert said in flashes(browser.get(f"/memories/{pair[1]}"))


def test_the_heading_fits_what_replaces_and_what_is_replaced(ada, browser, pair):
    decide(browser, pair[1], pair[0], "this")
    assert line(browser, pair[1]) == "What it replaces"
    assert line(browser, pair[0]) == "What replaces it"
    third = stored(ada, "The spare key is under the flowerpot number 5")
    decide(browser, third, pair[1], "this")
    assert line(browser, pair[1]) == "What replaces it, and what it replaces"


def test_a_decision_is_made_once(ada, browser, pair):
    decide(browser, pair[1], pair[0], "both")
    flashes(browser.get("/memories"))
    assert decide(browser, pair[1], pair[0], "this").status_code == 303
    assert "Nothing is left to decide between the two" in flashes(browser.get(f"/memories/{pair[1]}"))
    assert rows(ada, "SELECT supersedes FROM memories") == [(None,), (None,)]


def test_another_word_decides_nothing(ada, browser, pair):
    assert decide(browser, pair[1], pair[0], "neither").status_code == 422
    assert len(rows(ada, "SELECT FROM possible_updates")) == 1


def test_another_user_decides_nothing(app, ada, bob, pair):
    assert decide(at_browser(app, bob), pair[1], pair[0], "this").status_code == 404
    assert len(rows(ada, "SELECT FROM possible_updates")) == 1


def test_a_memory_is_corrected(ada, browser, pair):
    form = {"text": "The spare key is with Grace", "type": "fact", "tags": "keys, home", "theme": "house"}
    assert browser.post(f"/memories/{pair[0]}/edit", data=form).status_code == 303
    page = browser.get(f"/memories/{pair[0]}").text
    assert "The spare key is with Grace" in page
    assert rows(ada, "SELECT type, tags FROM memories WHERE id = :id", id=pair[0])[0] == ("fact", ["keys", "home"])


@pytest.mark.parametrize("typed", ["Around the house", " around the HOUSE ", "house"])
def test_a_theme_goes_by_what_it_is_called_too(ada, browser, pair, typed):
    browser.post("/themes", data={"display_name": "Around the house", "slug": "house"})
    form = {"text": "The spare key is with Grace", "type": "fact", "theme": typed}
    for said in ("Changed.", "Nothing changed."):
        assert flashes(browser.get(browser.post(f"/memories/{pair[0]}/edit", data=form).location)).count(said) == 1
    assert rows(ada, "SELECT t.slug FROM memories m JOIN themes t ON t.id = m.theme_id") == [("house",)]


def test_a_tag_with_a_comma_stays_whole_as_long_as_nobody_touches_it(ada, browser, pair):
    rows(ada, "UPDATE memories SET tags = '{\"weird, tag\",keys}' WHERE id = :id RETURNING id", id=pair[0])
    form = {"text": "The spare key is with Grace", "type": "fact", "tags": "weird, tag, keys"}
    assert browser.post(f"/memories/{pair[0]}/edit", data=form).status_code == 303
    assert rows(ada, "SELECT tags FROM memories WHERE id = :id", id=pair[0])[0].tags == ["weird, tag", "keys"]
    browser.post(f"/memories/{pair[0]}/edit", data={**form, "tags": "weird, tag"})
    assert rows(ada, "SELECT tags FROM memories WHERE id = :id", id=pair[0])[0].tags == ["weird", "tag"]


def test_a_text_that_nobody_touches_keeps_its_blanks_and_line_ends(ada, browser):
    text = "\n  Milk\r\nbread\reggs  \n"
    address = f"/memories/{stored(ada, text)}/edit"
    form = {"text": "Milk\r\nbread\r\neggs", "type": "fact"}
    assert flashes(browser.get(browser.post(address, data=form).location)).count("Changed.") == 1
    assert [tuple(row) for row in rows(ada, "SELECT text, type FROM memories")] == [(text, "fact")]
    assert flashes(browser.get(browser.post(address, data=form).location)).count("Nothing changed.") == 1
    browser.post(address, data={**form, "text": "Milk\r\nbread"})
    assert rows(ada, "SELECT text FROM memories")[0].text == "Milk\nbread"


def test_the_form_holds_what_there_is(browser, pair):
    assert "flowerpot number 3" in browser.get(f"/memories/{pair[0]}/edit").text


@pytest.mark.parametrize("wrong", [{"text": ""}, {"text": "a\x00b"}, {"type": "poem"}, {"theme": "Not A Slug!"}])
def test_a_correction_that_does_not_fit_changes_nothing(ada, browser, pair, wrong):
    form = {"text": "Something else", "type": "fact", **wrong}
    response = browser.post(f"/memories/{pair[0]}/edit", data=form)
    assert response.status_code == 422
    assert rows(ada, "SELECT text FROM memories WHERE id = :id", id=pair[0])[0].text.endswith("number 3")


def test_who_corrects_does_not_overwrite_what_came_meanwhile(ada, browser, pair):
    path, mine = f"/memories/{pair[0]}/edit", {"text": "The spare key is with Grace", "type": "fact"}

    def based_on(page):
        return re.search(r'name="based_on" value="(\w+)"', page).group(1)

    first = based_on(browser.get(path).text)
    assert browser.post(path, data={"text": "The spare key is with Ben", "type": "note", "based_on": first}).location
    response = browser.post(path, data={**mine, "based_on": first})
    assert response.status_code == 422
    assert all(said in response.text for said in ("Nothing was saved", "with Ben", "with Grace"))
    assert rows(ada, "SELECT text FROM memories WHERE id = :id", id=pair[0])[0].text.endswith("with Ben")
    for _ in ("Enter", "and a second time, on the way to the page that answers"):
        assert browser.post(path, data={**mine, "based_on": based_on(response.text)}).status_code == 303
        assert "Changed." in flashes(browser.get(f"/memories/{pair[0]}"))
    assert rows(ada, "SELECT text FROM memories WHERE id = :id", id=pair[0])[0].text.endswith("with Grace")
    browser.post(path, data={**mine, "based_on": based_on(browser.get(path).text)})
    assert "Nothing changed." in flashes(browser.get(f"/memories/{pair[0]}"))
    # What the form does not hold may change.
    last = based_on(browser.get(path).text)
    browser.post(f"/memories/{pair[0]}/pin")
    assert browser.post(path, data={**mine, "based_on": last}).status_code == 303
    browser.post("/incognito/start")
    assert browser.post(path, data={**mine, "based_on": first}).status_code == 409


def test_what_was_written_of_a_memory_that_is_forgotten_meanwhile_is_not_lost(browser, pair):
    form = {"text": "The spare key is with Grace", "type": "decision", "tags": "keys, home"}
    browser.post(f"/memories/{pair[0]}/forget")
    response = browser.post(f"/memories/{pair[0]}/edit", data=form)
    assert response.status_code == 404
    assert "The memory is no longer there, and nothing was saved." in response.text
    assert re.search(r'action="/remember".*with Grace</textarea>.*"keys, home"', response.text, re.DOTALL)
    assert browser.post(f"/memories/{pair[0]}/edit", data={**form, "text": " "}).status_code == 404
    odd = browser.post(f"/memories/{pair[0]}/edit", data={**form, "type": "riddle"})
    assert (odd.status_code, "with Grace</textarea>" in odd.text) == (404, True)
    browser.post("/incognito/start")
    response = browser.post(f"/memories/{pair[0]}/edit", data=form)
    assert (response.status_code, "with Grace</textarea>" in response.text) == (409, True)
    assert "The session is incognito, and nothing was saved." in response.text
    page = browser.post("/incognito/end", follow_redirects=True)
    assert "Writes refused while it was on: 1." in flashes(page)


def test_another_users_memory_is_not_corrected(app, ada, bob, pair):
    stranger = at_browser(app, bob)
    assert stranger.get(f"/memories/{pair[0]}/edit").status_code == 404
    assert stranger.post(f"/memories/{pair[0]}/edit", data={"text": "Mine"}).status_code == 404


def test_nothing_is_corrected_incognito(browser, pair):
    browser.post("/incognito/start")
    assert "Closed while incognito" in browser.get(f"/memories/{pair[0]}/edit").text
    response = browser.post(f"/memories/{pair[0]}/edit", data={"text": "Mine", "tags": "a, b", "based_on": "old"})
    # What was written is there to be sent again, and nothing of what is stored.
    assert (response.status_code, "flowerpot" in response.text) == (409, False)
    assert all(part in response.text for part in (">Mine</textarea>", 'value="a, b"', 'name="based_on" value="old"'))
    assert "It cannot be stored while incognito: end that in another tab, then save it again." in response.text
    assert "flowerpot" not in browser.post(f"/memories/{pair[0]}/edit").text
    assert decide(browser, pair[1], pair[0], "this").status_code == 409


TEA, COFFEE = "Ada drinks tea in the morning.", "Ada drinks coffee in the morning since May."


@pytest.fixture
def near(ada):
    """Two memories that come near one another and are linked by nothing; their vectors are there."""
    ids = [stored(ada, text) for text in (TEA, COFFEE)]
    with ada.session() as session:
        session.execute(delete(PossibleUpdate).where(PossibleUpdate.user_id == ada.id))
    embed(ada)
    return ids


def test_a_memory_that_comes_near_can_be_replaced_once_that_is_confirmed(ada, browser, near):
    path = f"/memories/{near[1]}/replaces/{near[0]}"
    assert f'href="{path}">This one replaces it</a>' in browser.get(f"/memories/{near[1]}/neighbours").text
    asked = browser.get(path).text
    assert all(part in asked for part in (TEA, COFFEE, f'action="{path}"'))
    assert state(ada, near[0]) == ("active", None)
    page = browser.post(path, follow_redirects=True)
    assert "out of search, and can be brought back here" in flashes(page)
    assert [state(ada, each) for each in near] == [("superseded", None), ("active", near[0])]


def test_what_was_replaced_can_be_brought_back(ada, browser, near):
    path = f"/memories/{near[1]}/replaces/{near[0]}"
    browser.post(path)
    assert f'action="{path}/undo"' in browser.get(f"/memories/{near[1]}").text
    assert "Both hold again." in flashes(browser.post(f"{path}/undo", follow_redirects=True))
    assert [state(ada, each) for each in near] == [("active", None)] * 2
    assert TEA.split()[2] in browser.get("/search?q=tea").text
    assert browser.post(f"{path}/undo").status_code == 409


def test_what_replaced_it_is_gone_and_it_can_be_made_active_again(ada, browser, near):
    page, act = f"/memories/{near[0]}", f"/memories/{near[0]}/activate"
    browser.post(f"/memories/{near[1]}/replaces/{near[0]}")
    assert act not in browser.get(page).text
    assert "It stays out of search" in flashes(browser.post(act, follow_redirects=True))
    assert f'href="{page}">What it had replaced' in browser.post(f"/memories/{near[1]}/forget", headers=HTMX).text
    assert state(ada, near[0]) == ("superseded", None)
    assert "by nothing that is still there" in browser.get(page).text
    after = browser.post(act, follow_redirects=True)
    assert "Active again: searches find it." in flashes(after)
    assert (state(ada, near[0]), act in after.text) == (("active", None), False)


def test_what_two_have_replaced_is_brought_back_by_the_last_of_them(ada, browser, pair):
    third = stored(ada, "The spare key is under the flowerpot number 5")
    for newer in (pair[1], third):
        decide(browser, newer, pair[0], "this")
    undo = "/memories/{}/replaces/{}/undo"
    page = browser.post(undo.format(third, pair[0]), follow_redirects=True)
    assert "still by another" in flashes(page)
    assert [state(ada, each) for each in (pair[0], third)] == [("superseded", None), ("active", None)]
    page = browser.post(undo.format(pair[1], pair[0]), follow_redirects=True)
    assert "Both hold again." in flashes(page)
    assert state(ada, pair[0]) == ("active", None)


def test_only_what_a_memory_replaces_is_brought_back_by_it(ada, browser, near):
    other, another = stored(ada, "Ada keeps bees."), stored(ada, "Ada sold the bees.")
    for newer, older in ((near[1], near[0]), (another, other)):
        browser.post(f"/memories/{newer}/replaces/{older}")
    assert browser.post(f"/memories/{another}/replaces/{near[0]}/undo").status_code == 409
    assert [state(ada, each) for each in (near[0], another)] == [("superseded", None), ("active", other)]
    with ada.session() as session:
        session.execute(update(Memory).where(Memory.user_id == ada.id, Memory.id == other).values(status="archived"))
    assert browser.post(f"/memories/{another}/replaces/{other}/undo").status_code == 409
    assert state(ada, another) == ("active", other)


def test_a_memory_replaces_one_alone(ada, browser, near):
    third = stored(ada, "Ada keeps bees.")
    browser.post(f"/memories/{near[1]}/replaces/{near[0]}")
    assert browser.post(f"/memories/{near[1]}/replaces/{third}").status_code == 409
    assert browser.post(f"/memories/{third}/replaces/{near[0]}").status_code == 409
    assert browser.post(f"/memories/{third}/replaces/{third}").status_code in {409, 422}


def test_what_is_in_a_space_that_incognito_closes_is_not_shown_beside_another(ada, browser, near):
    add_space(ada, "diary", incognito_default=True)
    rows(
        ada,
        "UPDATE memories SET space_id = (SELECT id FROM spaces WHERE slug = 'diary') WHERE id = :id RETURNING id",
        id=near[1],
    )
    for pair in (near, reversed(near)):
        page = browser.get("/memories/{}/replaces/{}".format(*pair))
        assert (page.status_code, "Closed while incognito" in page.text) == (200, True)


def test_nobody_replaces_what_is_not_theirs(app, ada, bob, near):
    theirs = stored(bob, "Bob keeps bees.")
    stranger = at_browser(app, bob)
    for path in (f"/memories/{theirs}/replaces/{near[0]}", f"/memories/{near[1]}/replaces/{near[0]}"):
        assert (stranger.get(path).status_code, stranger.post(path).status_code) == (404, 404)
        assert stranger.post(f"{path}/undo").status_code == 404


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"text": "The spare key is in the shed"}, ["text"]),
        ({"tags": "keys", "type": "fact"}, ["tags", "type"]),
        ({"theme": "house"}, ["theme"]),
        ({}, []),
    ],
)
def test_the_audit_names_what_was_changed(ada, browser, changed, fields):
    text = "The spare key is under the mat"
    memory_id = stored(ada, text)
    form = {"text": text, "type": "note", "tags": "", "theme": "", **changed}
    assert browser.post(f"/memories/{memory_id}/edit", data=form).status_code == 303
    found = rows(ada, "SELECT details -> 'fields' FROM audit_events WHERE action = 'memory.updated'")
    assert found == [(fields,)]


def test_with_memory_off_a_correction_is_refused_and_not_lost(ada, browser, pair):
    browser.post("/memory/off")
    form = {"text": "The spare key is in the shed", "type": "note"}
    response = browser.post(f"/memories/{pair[0]}/edit", data=form)
    assert response.status_code == 422
    assert "memory is off in its space" in response.text
    assert form["text"] in response.text
    assert rows(ada, "SELECT FROM memories WHERE text LIKE '%shed%'") == []


def test_a_correction_to_what_was_forgotten_is_refused_and_not_lost(browser, pair):
    text = "The spare key is under the flowerpot number 4"
    browser.post(f"/memories/{pair[1]}/forget")
    response = browser.post(f"/memories/{pair[0]}/edit", data={"text": text, "type": "note"})
    assert (response.status_code, text in response.text) == (422, True)
    assert "was forgotten less than 24 hours ago, and is refused until 20" in response.text
