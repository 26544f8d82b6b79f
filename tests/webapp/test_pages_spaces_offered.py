"""Whoever has more spaces than anybody looks through is offered those in use, and may name any other."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from api_agent import rows
from notebook_desk import Desk
from pages_browser import at_browser, stored
from sqlalchemy import event

from memory.clock import utc_now
from memory.models import Space
from memory.spaces.spaces import MOST_OFFERED, create_space

NUMBER = 60
USED, FORGOTTEN = "room-00", "room-01"


@pytest.fixture(scope="module")
def ada(new_person):
    """Ada has sixty rooms, the first of which was made first, and has the one memory."""
    person, began = new_person("ada"), utc_now()
    with person.session() as session:
        for number in range(NUMBER):
            made = {"now": began + timedelta(seconds=number), "soft_cap": 200, "actor": "t", "name": f"Room {number}"}
            create_space(session, person.id, f"room-{number:02}", **made)
    stored(person, "The window of this room is open", space=USED)
    return person


@pytest.fixture(scope="module")
def browser(app, ada):
    return at_browser(app, ada)


def offered(text):
    """Return what each list of spaces on a page offers."""
    lists = re.findall(r'<datalist id="offered-[^"]*">(.*?)</datalist>', text, re.DOTALL)
    return [re.findall(r'<option value="([^"]+)"', each) for each in lists]


@pytest.mark.parametrize(
    "page", ["/", "/search", "/memories", "/remember", "/conversations", "/facts", "/entities", "/tokens"]
)
def test_a_form_offers_the_spaces_in_use_and_not_thousands(browser, page):
    text = browser.get(page).text
    lists = offered(text)
    assert lists
    for each in lists:
        assert len(each) == MOST_OFFERED
        assert each[:2] == ["default", USED]
        assert FORGOTTEN not in each
    assert not re.search(r'<select[^>]*\sname="(?:space|target)"', text)


@pytest.mark.parametrize("page", ["/search", "/memories", "/conversations", "/facts", "/entities", "/remember"])
def test_the_chosen_space_is_offered_whichever_it_is(browser, page):
    text = browser.get(page, query_string={"space": FORGOTTEN}).text
    assert re.search(rf'<input[^>]*\sname="space"[^>]*\svalue="{FORGOTTEN}"', text, re.DOTALL)
    assert FORGOTTEN in offered(text)[-1]


def test_a_space_that_is_not_offered_can_be_named(ada, browser):
    kept = browser.post("/remember", data={"text": "The door of this room is shut", "space": FORGOTTEN})
    assert kept.status_code < 400
    placed = "SELECT count(*) FROM memories m JOIN spaces s ON s.id = m.space_id WHERE s.slug = 'room-01'"
    assert rows(ada, placed) == [(1,)]
    refused = browser.post("/remember", data={"text": "Nowhere", "space": "cellar"})
    assert (refused.status_code, "There is no space 'cellar'." in unescape(refused.text)) == (422, True)


def test_a_notebook_that_tells_of_memories_reads_no_more_spaces_than_it_offers(app, ada):
    desk, read = Desk(app, ada), set()
    desk.run("remember", text="The lamp of this room is on")
    note = lambda space, _context: read.add(space.id)  # noqa: E731 - to be taken away again
    event.listen(Space, "load", note)
    assert "The lamp of this room" in desk.page()
    event.remove(Space, "load", note)
    assert len(read) == MOST_OFFERED
