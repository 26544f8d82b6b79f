"""What waits to be decided, in the browser: counted, shown with what differs, decided where it stands."""

from __future__ import annotations

import re
from html import unescape

import pytest
from api_agent import add_space, rows
from pages_browser import HTMX, at_browser, flashes, stored
from pages_markup import names_of, problems_of, words_of

PAGE = "/memories/undecided"
KEY = "The spare key is under the flowerpot number {}"


@pytest.fixture
def pair(ada):
    """The older and the newer of two memories that differ in a number."""
    return [stored(ada, KEY.format(number)) for number in (3, 4)]


def decide(reader, pair, keep, **kwargs):
    return reader.post(f"{PAGE}/{pair[1]}/{pair[0]}", data={"keep": keep}, **kwargs)


def statuses(ada, pair):
    return [rows(ada, "SELECT status FROM memories WHERE id = :id", id=each)[0].status for each in pair]


def test_the_list_of_memories_leads_there_while_something_waits(reader, pair):
    page = reader.get("/memories")
    assert "1 pair to decide" in words_of(page.text)
    assert f'href="{PAGE}"' in page.text
    decide(reader, pair, "both")
    assert "to decide" not in words_of(reader.get("/memories").text)


def test_a_pair_is_shown_once_with_what_differs_marked(reader, pair):
    page = reader.get(PAGE)
    assert problems_of(page.text) == []
    # As text, and in the names of both links and of the three buttons, of which one has both.
    assert page.text.count("flowerpot number") == 1 + 2 + 4
    assert re.search(r"<del>.*3.*</del>.*<ins>.*4.*</ins>", page.text, re.S)
    for each in pair:
        assert f'href="/memories/{each}"' in page.text
    assert "differs in number" in words_of(page.text)


def test_each_button_says_of_which_pair_it_is(ada, reader, pair):
    page = reader.get(PAGE).text
    older, newer = (KEY.format(number) for number in (3, 4))
    assert names_of(page, "The newer one holds") == [f"The newer one holds: {newer}"]
    assert names_of(page, "The older one holds") == [f"The older one holds: {older}"]
    assert names_of(page, "Both hold") == [f"Both hold: {newer}; {older}"]
    own = reader.get(f"/memories/{pair[1]}").text
    assert names_of(own, "This one holds") == [f"This one holds, and not: {older}"]
    assert names_of(own, "The other one holds") == [f"The other one holds: {older}"]
    assert names_of(own, "Both hold") == [f"Both hold, this one and: {older}"]


def test_what_says_a_change_is_shown_beside_what_it_may_change(ada, reader, pair):
    rows(ada, "UPDATE possible_updates SET differs_in = 'change' RETURNING memory_id")
    page = reader.get(PAGE)
    assert problems_of(page.text) == []
    assert "differs in" not in words_of(page.text)
    assert "the newer one says that something changed" in words_of(page.text)
    kept = [re.sub(r"<.*?>", "", each) for each in re.findall(r"<(?:del|ins)>.*?</(?:del|ins)>", page.text, re.S)]
    assert [KEY.format(number) in each for number, each in zip((3, 4), kept, strict=True)] == [True, True]
    told = [words_of(reader.get(f"/memories/{each}").text) for each in pair]
    assert "newer, it says that something changed" in told[0]
    assert "older, this one says that something changed" in told[1]


def test_two_that_differ_in_blanks_alone_are_shown_as_they_are(ada, reader, pair):
    rows(ada, "UPDATE memories SET text = replace(text, '4', ' 3') WHERE id = :id RETURNING id", id=pair[1])
    assert "The spare key is under the flowerpot number 3" in words_of(reader.get(PAGE).text)


@pytest.mark.parametrize(
    ("keep", "left"),
    [("this", ["superseded", "active"]), ("other", ["active", "superseded"]), ("both", ["active"] * 2)],
)
def test_htmx_gets_what_was_decided_in_place_of_the_pair(ada, reader, pair, keep, left):
    response = decide(reader, pair, keep, headers=HTMX)
    assert (response.status_code, problems_of(response.text)) == (200, [])
    assert "Decided:" in words_of(response.text)
    assert ("Open it" in response.text) == (keep != "both")
    assert statuses(ada, pair) == left
    assert "Nothing waits for you." in words_of(reader.get(PAGE).text)


def test_without_scripts_the_page_says_what_was_decided(reader, pair):
    response = decide(reader, pair, "this")
    assert (response.status_code, response.location) == (303, PAGE)
    assert "Decided: the newer one holds." in flashes(reader.get(PAGE))


@pytest.mark.parametrize(
    ("before", "said", "left"),
    [
        ("this", "Decided already: the newer one holds. Nothing was changed. Open it", ["superseded", "active"]),
        ("other", "Decided already: the older one holds. Nothing was changed. Open it", ["active", "superseded"]),
        ("both", "Decided already, or changed since: both stay as they are.", ["active", "active"]),
    ],
)
def test_what_another_tab_has_decided_is_said_and_nothing_changes(ada, reader, pair, before, said, left):
    decide(reader, pair, before)
    now = "other" if before == "this" else "this"
    response = decide(reader, pair, now, headers=HTMX)
    assert (response.status_code, words_of(response.text)) == (200, said)
    assert f'id="memories-decided-{pair[1]}-{pair[0]}"' in response.text
    assert decide(reader, pair, now).location == PAGE
    assert said.removesuffix(" Open it") in words_of(flashes(reader.get(PAGE)))
    assert statuses(ada, pair) == left


def test_a_pair_of_which_one_was_forgotten_in_another_tab_goes(reader, pair):
    reader.post(f"/memories/{pair[0]}/forget")
    response = decide(reader, pair, "this", headers=HTMX)
    assert (response.status_code, words_of(response.text)) == (
        200,
        "One of the two is gone, so nothing is left to decide.",
    )
    reader.post(f"/memories/{pair[1]}/forget")
    assert decide(reader, pair, "this", headers=HTMX).status_code == 404


def test_what_was_decided_elsewhere_is_said_on_the_page_of_a_memory(ada, reader, pair):
    decide(reader, pair, "both")
    own, form = f"/memories/{pair[1]}", {"data": {"keep": "this"}, "follow_redirects": True}
    assert "Nothing is left to decide between the two" in words_of(reader.post(f"{own}/updates/{pair[0]}", **form).text)
    assert statuses(ada, pair) == ["active", "active"]
    reader.post(f"{own}/forget")
    assert reader.post(f"{own}/updates/{pair[0]}", **form).status_code == 404


def test_another_word_decides_nothing(ada, reader, pair):
    assert decide(reader, pair, "neither").status_code == 422
    assert statuses(ada, pair) == ["active", "active"]
    assert "1 pair to decide" in words_of(reader.get("/memories").text)


def test_another_user_sees_and_decides_nothing(app, ada, bob, pair):
    stranger = at_browser(app, bob)
    assert "Nothing waits for you." in words_of(stranger.get(PAGE).text)
    assert decide(stranger, pair, "this").status_code == 404
    assert statuses(ada, pair) == ["active", "active"]


def test_more_than_a_page_is_loaded_by_a_link(ada, reader):
    for number in range(23):
        stored(ada, f"Bus {number} leaves from the station at noon")
    whole = len(rows(ada, "SELECT FROM possible_updates"))
    assert whole > 20
    first = reader.get(PAGE)
    shown = set(re.findall(r'id="memories-pair-([\w-]+)"', first.text))
    (further,) = re.findall(r'hx-get="([^"]*cursor[^"]*)"', first.text)
    rest = reader.get(unescape(further), headers=HTMX)
    more = set(re.findall(r'id="memories-pair-([\w-]+)"', rest.text))
    assert (len(shown), "<html" in rest.text, shown & more) == (20, False, set())


def test_what_incognito_closes_is_not_shown(ada, reader, pair):
    add_space(ada, "studio")
    for number in (7, 8):
        stored(ada, f"Locker {number} has the tripod", space="studio")
    assert "2 pairs to decide" in words_of(reader.get("/memories").text)
    rows(ada, "UPDATE spaces SET incognito_default = true WHERE slug = 'studio' RETURNING id")
    assert "1 pair to decide" in words_of(reader.get("/memories").text)
    assert "tripod" not in reader.get(PAGE).text
    reader.post("/incognito/start")
    assert "Closed while incognito" in reader.get(PAGE).text
