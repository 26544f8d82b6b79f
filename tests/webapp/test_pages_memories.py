"""Browsing, a memory's own page, and what can be done with a memory."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from api_agent import ENTRIES, Agent, add_space
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, flashes, follow, stored
from pages_markup import words_of
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.models import Forgotten
from memory.preferences.preferences import set_time_zone
from memory.spaces.themes import create_theme
from memory.storage.database import user_session
from memory.writing import bulk
from webapp.pages import queries

TEXT = "The studio key hangs behind the blue door."


def test_an_empty_list_says_what_to_do(reader: FlaskClient) -> None:
    text = reader.get("/memories").text
    assert "Write the first memory" in text
    assert '<a href="/tokens">an agent with a token</a>' in text


def test_the_list_counts_and_shows_memories(reader: FlaskClient, ada) -> None:
    stored(ada, TEXT)
    text = reader.get("/memories").text
    assert "1 memory, newest first" in " ".join(text.split())
    assert TEXT in text


def test_no_page_says_that_a_vector_waits_where_nothing_embeds(reader: FlaskClient, ada, nothing_embeds) -> None:
    memory_id = stored(ada, TEXT)
    address, vector = f"/memories/{memory_id}", re.compile(r"<dt>Vector</dt>\s*<dd>\s*(\w+)")

    def told() -> list[str | None]:
        pages = [reader.get(each).text for each in (address, f"{address}/neighbours", "/memories?embedding=pending")]
        return [vector.search(pages[0])[1], re.search(r"no vector( yet)?", pages[1])[1], vector.search(pages[2])]

    assert told() == ["none", None, None]
    assert '<option value="pending" selected>none</option>' in reader.get("/memories?embedding=pending").text
    nothing_embeds.undo()
    assert told()[:2] == ["pending", " yet"]
    assert told()[2] is not None


@pytest.mark.parametrize(
    ("order", "words", "first"),
    [("", "newest first", "Omega is last"), ("?order=oldest", "oldest first", "Alpha is here")],
)
def test_the_list_is_in_the_order_that_is_chosen_and_so_is_what_follows(
    reader: FlaskClient, ada, order: str, words: str, first: str
) -> None:
    for day, text in enumerate(["Alpha is here", *(f"of day {each}" for each in range(1, 20)), "Omega is last"], 1):
        stored(ada, text, created_at=datetime(2026, 3, day, tzinfo=UTC))
    page = reader.get(f"/memories{order}").text
    last = {"Omega is last": "Alpha is here", "Alpha is here": "Omega is last"}[first]
    assert f"21 memories, {words}" in " ".join(page.split())
    assert (first in page, last in page) == (True, False)
    further = re.search(r'href="(/memories\?[^"]*cursor=[^"]*)"', page)
    assert further is not None
    rest = reader.get(further[1].replace("&amp;", "&")).text
    assert (first in rest, last in rest) == (False, True)


def test_who_restores_from_the_list_is_told_there(reader: FlaskClient, ada) -> None:
    kept = stored(ada, TEXT)
    reader.post(f"/memories/{kept}/forget")
    reader.post(f"/memories/{kept}/restore", data={"next": "/memories?q=nothing"})
    assert "Brought back." in flashes(reader.get("/memories?q=nothing"))


def test_who_has_the_last_changed_first_sees_when_that_was(reader: FlaskClient, ada) -> None:
    stored(ada, "Ada keeps bees", created_at=utc_now() - timedelta(days=90))
    with ada.session() as session:
        session.execute(sql("UPDATE memories SET updated_at = now() - interval '4 days'"))
    stored(ada, "Ada keeps hens")
    pages = [
        " ".join(re.sub(r"<[^>]*>", " ", reader.get(address).text).split())
        for address in ("/memories", "/memories?order=changed")
    ]
    assert ["stored or changed 4 days ago" in page for page in pages] == [False, True]
    assert pages[1].count("stored or changed") == 1


def test_an_order_that_is_none_is_refused(reader: FlaskClient) -> None:
    assert reader.get("/memories?order=loudest").status_code == 422


FITTING = [
    "type=fact",
    "tag=keys",
    "theme=studio",
    "status=active",
    "status=any",
    "saved=true",
    "pinned=",
    "embedding=pending",
    "space=default",
]


def test_what_seems_to_hold_a_credential_is_listed_by_a_tick(reader: FlaskClient, ada) -> None:
    stored(ada, TEXT)
    stored(ada, secret := f"CI pushes with ghp_{'16C7e42F292c6912E771' * 2}")
    page = reader.get("/memories?credentials=true").text
    assert (secret in page, TEXT in page) == (True, False)
    assert re.search(r'name="credentials"[^>]*value="true"[^>]*checked', page)
    asked = reader.get("/memories/bulk/ask?act=forget&every=true&credentials=true").text
    assert ("Forget 1 memory" in words_of(asked), TEXT in asked) == (True, False)


@pytest.mark.parametrize("query", FITTING)
def test_a_filter_keeps_what_fits(reader: FlaskClient, ada, query: str) -> None:
    stored(ada, TEXT, type="fact", tags=("keys",), theme="studio", manually_saved=True)
    assert TEXT in reader.get(f"/memories?{query}").text


@pytest.mark.parametrize(
    "query", ["type=note", "tag=key", "theme=house", "status=archived", "pinned=true", "embedding=error"]
)
def test_a_filter_takes_out_what_does_not_fit(reader: FlaskClient, ada, query: str) -> None:
    stored(ada, TEXT, type="fact", tags=("keys",), theme="studio")
    with user_session(ada.runtime.sessions, ada.id) as session:
        create_theme(session, ada.id, "house", now=utc_now(), actor="test")
    text = reader.get(f"/memories?{query}").text
    assert TEXT not in text
    kind = "memory" if "status" in query else "active memory"
    assert f"No {kind} fits these filters." in " ".join(text.split())


@pytest.mark.parametrize(
    "query",
    [
        "type=poem",
        "status=lost",
        "cursor=nonsense",
        "space=nowhere",
        "theme=home",
        "tag=%00",
        "token=me",
        "since=then",
        "since=9999-12-31T23:59-14:00",
    ],
)
def test_a_filter_that_does_not_exist_is_refused(reader: FlaskClient, query: str) -> None:
    assert reader.get(f"/memories?{query}").status_code == 422


@pytest.mark.parametrize(
    ("query", "is_open"),
    [
        ("", False),
        ("?type=note&q=key&status=active", False),
        ("?status=any", True),
        ("?older=7", True),
        ("?since=2026-01-01T08:00", True),
        ("?token=01890000-0000-7000-8000-000000000001", True),
        ("?unrecalled=30", True),
        ("?embedding=ready", True),
        ("?tag=keys", True),
        ("?pinned=true", True),
        ("?saved=true", True),
        ("?credentials=true", True),
    ],
)
def test_what_narrows_the_list_is_never_folded_away(reader: FlaskClient, query: str, is_open: bool) -> None:
    text = reader.get(f"/memories{query}").text
    opening, _, folded = text.partition("<summary>Status, age, vector, tag, source and more</summary>")
    assert ("open" in opening.rpartition("<details")[2], 'name="status"' in folded) == (is_open, True)


def test_loading_more_meets_every_memory_once(reader: FlaskClient, ada) -> None:
    for number in range(30):
        stored(ada, f"Shelf {number} holds box {number * 7} of the archive.", created_at=_ago(number))
    text = reader.get("/memories?type=note").text
    further = re.search(r'hx-get="([^"]*cursor=[^"]*)"', text)
    assert further is not None
    rest = reader.get(further.group(1).replace("&amp;", "&"), headers=HTMX).text
    seen = re.findall(r'id="memories-row-([^"]*)"', text + rest)
    assert (len(seen), len(set(seen))) == (30, 30)
    assert "Load more" not in rest


def test_the_list_and_a_memorys_page_name_the_token_that_wrote_it_and_lead_to_all_that_it_wrote(
    reader: FlaskClient, client: FlaskClient, ada
) -> None:
    mine, others = (Agent(client, headers) for headers in (ada.headers, ada.new_token("write")))
    written = others.post(ENTRIES, {"text": "Of the other agent"}).json["id"]
    mine.store("Of this agent")
    stored(ada, TEXT)
    listed = reader.get("/memories").text
    assert (listed.count("<dt>By</dt>"), listed.count(">another</a>")) == (2, 1)
    for page in (listed, reader.get(f"/memories/{written}").text):
        found = follow(reader, page, "another")
        assert ("Of the other agent" in found, "Of this agent" in found, TEXT in found) == (True, False, False)
        assert re.search(r'value="[^"]*" selected>another \(cp_', found)
    assert "no agent&#39;s token" in reader.get(f"/memories/{stored(ada, TEXT)}").text


def test_a_list_of_what_was_stored_since_goes_by_the_clocks_of_the_reader(reader: FlaskClient, ada) -> None:
    stored(ada, TEXT, created_at=datetime(2020, 1, 1, tzinfo=UTC))
    with user_session(ada.runtime.sessions, ada.id) as session:
        set_time_zone(session, ada.id, "Asia/Tokyo", source="test", now=utc_now(), actor="test")
    here = utc_now().astimezone(ZoneInfo("Asia/Tokyo")).replace(tzinfo=None)
    for hours, there in ((-1, True), (1, False)):
        given = (here + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M")
        page = reader.get("/memories", query_string={"since": given})
        assert (TEXT in page.text, f'value="{given}"' in page.text) == (there, True)
        assert "Stored since (Tokyo)" in page.text


def test_a_full_page_stays_light(reader: FlaskClient, ada) -> None:
    for number in range(25):
        stored(ada, f"Entry {number}: " + f"line {number * 31} of a long letter. " * 60, tags=("letters", "archive"))
    assert len(reader.get("/memories").data) < 60_000


def test_what_is_done_to_one_of_many_says_to_which(reader: FlaskClient, ada) -> None:
    memory, other = stored(ada, TEXT), stored(ada, "The kettle is new.")
    pages = [reader.get(path).text for path in ("/memories", f"/search?q={TEXT}")]
    for page in (*pages, reader.post(f"/memories/{memory}/pin", headers=HTMX).text):
        assert f'id="memories-actions-{memory}" role="group" aria-label="{TEXT}"' in " ".join(page.split())
    assert f'aria-labelledby="memories-actions-{other}"' in pages[0]


def _ago(hours: int):
    return utc_now() - timedelta(hours=hours)


def test_the_fragment_is_the_part_of_the_page(reader: FlaskClient, ada) -> None:
    stored(ada, TEXT)
    assert reader.get("/memories", headers=HTMX).text in reader.get("/memories").text


@pytest.mark.parametrize("part", [TEXT, "Provenance", "D4:2", "Vector", "pending", "Importance", "Fingerprint"])
def test_a_memorys_page_shows_all_of_it(reader: FlaskClient, ada, part: str) -> None:
    memory = stored(ada, TEXT, source_ids=("D4:2",))
    assert part in reader.get(f"/memories/{memory}").text


def test_what_a_memory_came_from_is_shown_as_it_was_written(reader: FlaskClient, ada) -> None:
    page = reader.get(f"/memories/{stored(ada, TEXT, source_ids=('<i>D4</i>',))}").text
    assert re.search(r"<dt>Sources</dt>\s*<dd>\s*&lt;i&gt;D4&lt;/i&gt;\s*</dd>", page)


def test_a_memorys_page_says_what_its_numbers_are_about(reader: FlaskClient, ada) -> None:
    page = reader.get(f"/memories/{stored(ada, TEXT, metadata_confidence=0.81)}").text
    assert "Names, tags" in page
    assert "81 % sure that they are right" in page


def test_only_a_correction_counts_as_a_change(reader: FlaskClient, ada) -> None:
    path = f"/memories/{stored(ada, TEXT, created_at=_ago(90))}"
    reader.post(f"{path}/pin")
    stored(ada, TEXT)
    assert "It was never changed." in reader.get(path).text
    assert _fact(reader.get(path).text, "Changed") == "never"
    reader.post(f"{path}/edit", data={"text": "The studio key is lost.", "type": "note"})
    assert "It was never changed." not in reader.get(path).text
    assert _fact(reader.get(path).text, "Changed") == "just now"


def _fact(page: str, name: str) -> str:
    found = re.search(rf"<dt>{name}</dt>\s*<dd>(.*?)</dd>", page, re.DOTALL)
    assert found is not None
    return re.sub(r"<[^>]*>", "", found.group(1)).strip()


def test_a_memorys_fragment_is_the_part_of_its_page(reader: FlaskClient, ada) -> None:
    path = f"/memories/{stored(ada, TEXT)}"
    assert reader.get(path, headers=HTMX).text in reader.get(path).text


def test_a_possible_update_is_shown_on_both_pages(reader: FlaskClient, ada) -> None:
    older = stored(ada, "The rent of the studio is 820 euros a month, due on the first.")
    newer = stored(ada, "The rent of the studio is 870 euros a month, due on the first.")
    assert "870 euros" in reader.get(f"/memories/{older}").text
    assert "820 euros" in reader.get(f"/memories/{newer}").text


def test_what_was_replaced_and_what_replaced_it_are_linked(client: FlaskClient, reader: FlaskClient, ada) -> None:
    older, newer = stored(ada, "Ada rides a red bicycle."), stored(ada, "Ada now drives a small van.")
    client.patch(f"/v1/memory/entries/{newer}", json={"supersedes": str(older)}, headers=ada.headers)
    assert "small van" in reader.get(f"/memories/{older}").text
    assert "red bicycle" in reader.get(f"/memories/{newer}").text


def test_a_memory_that_does_not_exist_is_a_page_that_says_so(reader: FlaskClient) -> None:
    response = reader.get(f"/memories/{uuid4()}")
    assert response.status_code == 404
    assert "There is no such memory" in response.text


def test_pinning_goes_back_to_where_it_was_done(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    response = reader.post(f"/memories/{memory}/pin", data={"next": "/memories?type=note"})
    assert (response.status_code, response.location) == (303, f"/memories?type=note#memories-actions-{memory}")


def test_pinning_keeps_a_memory_always(reader: FlaskClient, ada) -> None:
    path = f"/memories/{stored(ada, TEXT)}"
    reader.post(f"{path}/pin")
    assert "always: pinned" in reader.get(path).text


def test_unpinning_undoes_it(reader: FlaskClient, ada) -> None:
    path = f"/memories/{stored(ada, TEXT)}"
    reader.post(f"{path}/pin")
    reader.post(f"{path}/unpin")
    assert "always: pinned" not in reader.get(path).text


def test_pinning_by_htmx_answers_with_the_changed_actions(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    text = reader.post(f"/memories/{memory}/pin", headers=HTMX).text
    assert text.startswith(f'<div class="actions"\nid="memories-actions-{memory}"')
    assert 'aria-pressed="true"' in text


def test_who_pins_without_scripts_stays_at_the_memory(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    there = f"#memories-actions-{memory}"
    own = reader.post(f"/memories/{memory}/pin", headers={"Referer": f"http://localhost/memories/{memory}?type=note"})
    assert own.location == f"/memories/{memory}?type=note{there}"
    assert f'id="{there[1:]}"' in reader.get(own.location).text
    by_script = reader.post(f"/memories/{memory}/pin", data={"next": "/memories"}, headers=HTMX).text
    assert 'name="next" value="/memories"' in by_script


def test_a_forgotten_memory_is_gone_at_once(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post(f"/memories/{memory}/forget")
    paths = (f"/memories/{memory}", f"/memories/{memory}/edit", "/memories")
    assert [TEXT in reader.get(path).text for path in paths] == [False] * 3


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_the_address_of_a_forgotten_memory_offers_it_back(reader: FlaskClient, ada, headers) -> None:
    memory = stored(ada, TEXT)
    reader.post(f"/memories/{memory}/forget")
    page = reader.get(f"/memories/{memory}", headers=headers)
    assert (page.status_code, "This memory was forgotten" in page.text) == (200, True)
    assert f'action="/memories/{memory}/restore"' in page.text
    assert reader.post(f"/memories/{memory}/restore").location == f"/memories/{memory}"
    assert TEXT in reader.get(f"/memories/{memory}").text


def test_when_the_undo_has_passed_nothing_is_at_its_address(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post(f"/memories/{memory}/forget")
    _pass(ada, memory)
    assert reader.get(f"/memories/{memory}").status_code == 404
    assert "forgotten in the last ten minutes" not in reader.get("/memories").text


def _pass(person, memory) -> None:
    with user_session(person.runtime.sessions, person.id) as session:
        session.get_one(Forgotten, (person.id, memory)).purge_at = utc_now()


def test_the_list_offers_what_was_forgotten_wherever_it_was(reader: FlaskClient, client: FlaskClient, ada) -> None:
    one, other = stored(ada, TEXT), stored(ada, "The kettle is new.")
    reader.post(f"/memories/{one}/forget")
    client.delete(f"/v1/memory/entries/{other}?undo=true", headers=ada.headers)
    text = reader.get("/memories").text
    assert "2 memories forgotten in the last ten minutes" in text
    assert all(f'action="/memories/{memory}/restore"' in text for memory in (one, other))
    assert ("studio" in text, "kettle" in text) == (False, False)
    back = reader.post(f"/memories/{one}/restore", data={"next": "/memories?type=note"})
    assert back.location == "/memories?type=note"
    assert "1 memory forgotten in the last ten minutes" in reader.get("/memories").text


def test_all_that_was_forgotten_comes_back_at_once(reader: FlaskClient, ada) -> None:
    for number in range(10):
        memory = stored(ada, f"Shelf {number} holds box {number * 7} of the archive.")
        reader.post(f"/memories/{memory}/forget")
    text = reader.get("/memories").text
    assert "and 2 more" in " ".join(text.split())
    slip = re.search(r'name="slip" value="([^"]*)"', text)
    assert slip is not None
    page = reader.post("/memories/bulk/undo", data={"slip": slip.group(1)}, follow_redirects=True)
    assert "10 memories as before" in flashes(page)
    assert "10 memories, newest first" in " ".join(page.text.split())


@pytest.mark.parametrize(("most", "told"), [(3, "Restore all of them"), (2, "Restore the last 2 of them")])
def test_of_more_than_come_back_at_once_it_says_how_many_do(
    reader: FlaskClient, ada, monkeypatch, most: int, told: str
) -> None:
    for number in range(3):
        reader.post(f"/memories/{stored(ada, f'Key {number} of the studio')}/forget")
    monkeypatch.setattr(bulk, "MOST", most)
    assert f'<button type="submit">{told}</button>' in reader.get("/memories").text


def test_nothing_is_told_of_what_was_forgotten_while_incognito(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post(f"/memories/{memory}/forget")
    reader.post("/incognito/start")
    for path in ("/memories", f"/memories/{memory}"):
        assert "Closed while incognito" in reader.get(path).text


def test_a_space_that_is_incognito_by_default_keeps_what_was_forgotten(reader: FlaskClient, client, ada) -> None:
    add_space(ada, "den")
    memory = client.post("/v1/memory/entries", json={"text": TEXT, "space": "den"}, headers=ada.headers).json["id"]
    reader.post(f"/memories/{memory}/forget")
    assert "1 memory forgotten in" in reader.get("/memories").text
    client.patch("/v1/spaces/den", json={"incognito_default": True}, headers=ada.headers)
    assert "forgotten in" not in reader.get("/memories").text
    assert "Closed while incognito" in reader.get(f"/memories/{memory}").text


def test_a_space_that_is_incognito_by_default_takes_no_room_in_the_list(
    reader: FlaskClient, client, ada, monkeypatch
) -> None:
    monkeypatch.setattr(queries, "PAGE", 2)
    monkeypatch.setattr(bulk, "MOST", 2)
    stored(ada, TEXT)
    add_space(ada, "den")
    for number in range(3):
        stored(ada, f"Studio {number} is let", space="den")
    client.patch("/v1/spaces/den", json={"incognito_default": True}, headers=ada.headers)
    for words in ("", "?q=studio"):
        shown = " ".join(reader.get(f"/memories{words}").text.split())
        assert ("1 memory, newest first" in shown, TEXT in shown, "is let" in shown) == (True, True, False)
    asked = reader.post("/memories/bulk", data={"act": "archive", "every": "true"}, follow_redirects=True)
    assert "Archive 1 memory" in asked.text
    page = client.get("/v1/memory/entries?limit=2", headers=ada.headers).json
    assert [entry["text"] for entry in page["entries"]] == [TEXT]
    assert page["next_cursor"] is None


def test_another_user_meets_nothing_of_what_was_forgotten(app: Flask, reader: FlaskClient, ada, bob) -> None:
    memory, stranger = stored(ada, TEXT), at_browser(app, bob)
    reader.post(f"/memories/{memory}/forget")
    assert stranger.get(f"/memories/{memory}").status_code == 404
    assert stranger.post(f"/memories/{memory}/restore").status_code == 404
    assert "forgotten in the last" not in stranger.get("/memories").text


def test_forgetting_offers_an_undo(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    page = reader.post(f"/memories/{memory}/forget", follow_redirects=True)
    assert f"/memories/{memory}/restore" in flashes(page)


def test_a_memory_and_what_sums_it_up_lead_to_each_other(reader: FlaskClient, ada) -> None:
    kept = stored(ada, TEXT)
    made = stored(ada, "The studio, in short", type="summary", source_ids=(str(kept),))
    pages = {each: " ".join(reader.get(f"/memories/{each}").text.split()) for each in (kept, made)}
    assert "Where it is summed up" in pages[kept]
    assert f'href="/memories/{made}">The studio, in short</a>' in pages[kept]
    assert "What it sums up" in pages[made]
    assert f'href="/memories/{kept}">{TEXT}</a>' in pages[made]
    gone = reader.post(f"/memories/{kept}/forget", headers=HTMX).text
    assert "1 summary of it went with it, and comes back with it." in " ".join(gone.split())


def test_many_sources_of_a_summary_are_counted(reader: FlaskClient, ada) -> None:
    ids = [str(stored(ada, f"Bed {each} has beans")) for each in range(4)]
    stored(ada, "Beans, in short", type="summary", source_ids=tuple(ids))
    stored(ada, "Beans, from the log", source_ids=("log-1", "log-2", "log-3", "log-4"))
    page = " ".join(reader.get("/memories").text.split())
    shown = ["from 4 sources" in page, f"{ids[0]}, {ids[1]}" in page, "from log-1, log-2, log-3, log-4" in page]
    assert shown == [True, False, True]


def test_forgetting_by_htmx_offers_the_undo_in_place(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    text = reader.post(f"/memories/{memory}/forget", headers=HTMX).text
    assert f'id="memories-forgotten-{memory}"' in text.partition(">")[0]
    assert "Undo" not in flashes(reader.get("/memories"))


def test_undo_brings_the_memory_back(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post(f"/memories/{memory}/forget")
    response = reader.post(f"/memories/{memory}/restore", follow_redirects=True)
    assert TEXT in response.text


def test_undo_by_htmx_answers_with_the_row(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post(f"/memories/{memory}/forget")
    text = reader.post(f"/memories/{memory}/restore", headers=HTMX).text
    assert text.lstrip().startswith(f'<article class="entry" id="memories-row-{memory}"')


def test_the_counts_of_the_list_go_along(reader: FlaskClient, ada) -> None:
    memory, _ = stored(ada, TEXT), stored(ada, "The kettle is new.")
    stored(ada, "Rent is due on the first.", type="fact")
    for at, number in (("/memories", 3), ("/memories?type=note", 2)):
        headers = {**HTMX, "HX-Current-URL": f"http://localhost{at}"}
        for act, less in (("forget", 1), ("restore", 0)):
            text = " ".join(reader.post(f"/memories/{memory}/{act}", headers=headers).text.split())
            assert f'hx-swap-oob="innerHTML"> {number - less} memor' in text
            assert f'<option value="default" >Default ({3 - less})</option>' in text
            assert ("1 memory forgotten in the last ten minutes" in text) == bool(less)
            assert ('form="bulk"' in text) == (act == "restore")
    assert "Default (3)" in reader.get("/memories").text
    reader.post(f"/memories/{memory}/forget")
    gone = reader.post(f"/memories/{memory}/let-go", headers=headers).text
    assert 'id="memories-restorables"' in gone
    assert "forgotten in the last ten minutes" not in gone


def test_a_full_space_says_what_another_memory_costs(reader: FlaskClient, ada) -> None:
    add_space(ada, "work")
    settings = {"name": "Default", "soft_cap": "2", "retention_days": "180", "memory_enabled": "true"}
    reader.post("/spaces/default", data=settings)
    memory = stored(ada, TEXT)
    told = '<a href="/spaces/default">Default is full</a>'
    assert told not in reader.get("/memories").text
    stored(ada, "The kettle is new.")
    shown = {query: told in reader.get(f"/memories{query}").text for query in ("", "?space=default", "?space=work")}
    assert shown == {"": True, "?space=default": True, "?space=work": False}
    for act, full in (("forget", False), ("restore", True)):
        headers = {**HTMX, "HX-Current-URL": "http://localhost/memories"}
        assert (told in reader.post(f"/memories/{memory}/{act}", headers=headers).text) == full
    stored(ada, "The desk is oak.", space="work")
    reader.post("/spaces/default", data={**settings, "incognito_default": "true"})
    assert told not in reader.get("/memories").text


@pytest.mark.parametrize("at", ["/search?q=key", "/memories?space=nowhere", "/memories?type=poem", "/"])
def test_another_page_is_sent_no_counts(reader: FlaskClient, ada, at: str) -> None:
    headers = {**HTMX, "HX-Current-URL": f"http://localhost{at}"}
    answer = reader.post(f"/memories/{stored(ada, TEXT)}/forget", headers=headers)
    assert (answer.status_code, "hx-swap-oob" in answer.text) == (200, False)


@pytest.mark.parametrize("path", ["/search", "/remember", "/"])
def test_a_page_that_cannot_keep_the_sizes_of_spaces_true_shows_none(reader: FlaskClient, ada, path: str) -> None:
    stored(ada, TEXT)
    assert "Default (" not in reader.get(path).text


def test_undo_of_nothing_says_that_the_window_has_closed(reader: FlaskClient) -> None:
    response = reader.post(f"/memories/{uuid4()}/restore")
    assert response.status_code == 404
    assert "undo window has closed" in response.text
    assert "It is no longer there" in response.text
    assert "Not Found" not in response.text


def test_memories_are_closed_while_incognito(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post("/incognito/start")
    for path in ("/memories", f"/memories/{memory}"):
        text = reader.get(path).text
        assert TEXT not in text
        assert "Closed while incognito" in text


def test_what_is_brought_back_while_incognito_is_not_shown(reader: FlaskClient, agent: Agent, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post(f"/memories/{memory}/forget")
    reader.post("/incognito/start")
    answer = reader.post(f"/memories/{memory}/restore", headers=HTMX)
    assert (answer.status_code, answer.headers.get("HX-Refresh"), TEXT in answer.text) == (204, "true", False)
    page = reader.get("/memories").text
    assert ("Brought back." in page, "Closed while incognito" in page) == (True, True)
    assert agent.texts() == [TEXT]


def test_nothing_is_pinned_while_incognito(reader: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    reader.post("/incognito/start")
    assert reader.post(f"/memories/{memory}/pin").status_code == 409


def test_incognito_says_at_its_end_what_it_refused(reader: FlaskClient) -> None:
    reader.post("/incognito/start")
    reader.post("/remember", data={"text": "A secret plan."})
    page = reader.post("/incognito/end", data={"next": "/memories"}, follow_redirects=True)
    assert "Writes refused while it was on: 1." in flashes(page)


# --- as one types ---


@pytest.mark.parametrize(("words", "there"), [("stud", True), ("door+studi", True), ("window", False), ("+", True)])
def test_words_narrow_the_list_before_they_are_whole(reader: FlaskClient, ada, words: str, there: bool) -> None:
    stored(ada, TEXT)
    assert (TEXT in reader.get(f"/memories?q={words}").text) == there


def test_the_first_letters_are_a_step_and_the_next_ones_are_not(reader: FlaskClient) -> None:
    at = "http://localhost/memories"
    first = reader.get("/memories?q=stu&space=&type=", headers={**HTMX, "HX-Current-URL": at})
    assert first.headers["HX-Push-Url"] == "/memories?q=stu"
    later = reader.get("/memories?q=studio&type=fact", headers={**HTMX, "HX-Current-URL": f"{at}?q=stu"})
    assert later.headers["HX-Replace-Url"] == "/memories?q=studio&type=fact"
    assert "HX-Push-Url" not in later.headers
    assert "HX-Push-Url" not in reader.get("/memories?q=stu").headers


def test_words_go_along_to_what_is_done_with_all_that_fit(reader: FlaskClient, ada) -> None:
    stored(ada, TEXT)
    stored(ada, "The kettle is new.")
    asked = reader.post("/memories/bulk?q=stud", data={"act": "pin", "every": "true"}, follow_redirects=True).text
    assert TEXT in asked
    assert "kettle" not in asked


def test_where_no_memory_has_the_words_the_page_offers_another_search(reader: FlaskClient, ada) -> None:
    stored(ada, TEXT)
    text = reader.get("/memories?q=window").text
    assert "No active memory has these words." in " ".join(text.split())
    assert 'href="/search?q=window"' in text


@pytest.mark.parametrize(("days", "told"), [((9, 2), "newer"), ((2, 9), "older"), ((5, 5), "newer")])
def test_which_of_two_is_the_newer_goes_by_their_days(reader: FlaskClient, ada, days, told: str) -> None:
    then = utc_now()
    first, second = (
        stored(ada, f"The train to Basel leaves at {hour} on Mondays.", created_at=then - timedelta(days=day))
        for hour, day in zip((9, 8), days, strict=True)
    )
    other = {"newer": "older", "older": "newer"}[told]
    pages = [" ".join(reader.get(f"/memories/{each}").text.split()) for each in (first, second)]
    assert [f"{word}, differs in number" in page for page, word in zip(pages, (told, other), strict=True)] == [True] * 2


def test_what_is_out_of_search_is_one_step_from_a_list_without_it(reader: FlaskClient, ada) -> None:
    stored(ada, "The kettle is new.")
    kept = stored(ada, TEXT)
    with ada.session() as session:
        bulk.set_status_many(session, ada.id, [kept], "archived", keys=ada.runtime.keys, now=utc_now(), actor="user")
    page = reader.get("/memories?q=studio&order=oldest").text
    assert TEXT in follow(reader, page, "look among archived and replaced ones too")
    assert "look among" not in reader.get("/memories?q=nothing&status=any").text


def test_who_has_nothing_but_what_is_archived_is_not_told_that_nothing_is_kept(reader: FlaskClient, ada) -> None:
    kept = stored(ada, TEXT)
    assert "Nothing is active" not in reader.get("/memories").text
    with ada.session() as session:
        bulk.set_status_many(session, ada.id, [kept], "archived", keys=ada.runtime.keys, now=utc_now(), actor="user")
    page = reader.get("/memories").text
    assert ("Nothing is active." in page, "Nothing is remembered" in page) == (True, False)
    assert TEXT in follow(reader, page, "Read what is archived")


def test_words_with_a_nul_are_refused(reader: FlaskClient) -> None:
    assert reader.get("/memories?q=a%00b").status_code == 422


def test_a_tag_and_a_theme_in_a_narrowed_list_narrow_it_further(reader: FlaskClient, ada) -> None:
    add_space(ada, "attic")
    for space in ("default", "attic"):
        stored(ada, f"The hose of the {space} leaks", space=space, tags=("water",), theme="repairs")
    narrowed = reader.get("/memories?space=attic&order=oldest").text
    assert 'href="/memories?space=attic&amp;order=oldest&amp;tag=water"' in narrowed
    assert 'href="/memories?space=attic&amp;order=oldest&amp;theme=repairs"' in narrowed
    page = follow(reader, narrowed, "water")
    assert ("of the attic" in page, "of the default" in page) == (True, False)
    assert 'href="/memories?tag=water"' in reader.get("/memories").text


def test_a_tag_leads_to_all_that_have_it_in_whatever_case(reader: FlaskClient, ada) -> None:
    stored(ada, "The hose leaks", tags=("Garden",))
    stored(ada, "The roses need water", tags=("garden ",))
    stored(ada, "The kettle sings", tags=("gardening",))
    for asked in ("Garden", "garden", "GARDEN"):
        page = reader.get("/memories", query_string={"tag": asked}).text
        told = ("The hose leaks", "The roses need water", "The kettle")
        assert [each in page for each in told] == [True, True, False]
    page = reader.get("/memories", query_string={"q": "hose", "tag": "garden"}).text
    assert "1 memory, newest first" in " ".join(page.split())
    assert ">Garden</a>" in page
