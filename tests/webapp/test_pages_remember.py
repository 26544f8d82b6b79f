"""Storing a memory by hand."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, stored

TEXT = "Ada prefers aisle seats on trains."


@pytest.fixture
def writer(app: Flask, ada) -> FlaskClient:
    return at_browser(app, ada)


def test_a_stored_memory_comes_back_with_its_trace(writer: FlaskClient) -> None:
    response = writer.post("/remember", data={"text": TEXT, "saved": "true", "tags": "travel, trains"})
    assert response.status_code == 201
    for part in ("Remembered", TEXT.lower(), "+0.50", "+0.30", "No other memory in this space has nearly"):
        assert part in response.text


def test_who_stores_a_credential_is_told_so_there_and_on_its_page(writer: FlaskClient) -> None:
    told = "It seems to hold a credential (GitHub token)."
    page = writer.post("/remember", data={"text": "CI pushes with ghp_16C7e42F292c6912E7710c838347Ae178B4a"}).text
    found = re.search(r"/memories/[0-9a-f-]{36}", page)
    assert found is not None
    assert (told in page, told in writer.get(found[0]).text) == (True, True)
    assert "It seems to hold" not in writer.post("/remember", data={"text": TEXT}).text


def test_the_trace_says_that_a_full_space_let_another_memory_go(writer: FlaskClient, ada) -> None:
    stored(ada, "The kettle is new.")
    settings = {"name": "Default", "soft_cap": "1", "retention_days": "180", "memory_enabled": "true"}
    writer.post("/spaces/default", data=settings)
    text = writer.post("/remember", data={"text": TEXT, "saved": "true"}).text
    assert "1 weaker memory went for good: the space is full" in text
    text = writer.post("/remember", data={"text": "The bus was late."}).text
    assert "Not kept" in text
    assert "Open the memory" not in text
    assert "weaker memory went" not in text


def test_what_has_no_vector_yet_is_not_said_to_be_compared_by_meaning(writer: FlaskClient, ada) -> None:
    stored(ada, "On trains Ada likes to sit at the aisle.")
    ada.embed()
    text = writer.post("/remember", data={"text": TEXT}).text
    assert "Nothing in this space" not in text
    assert "Not compared by meaning yet." in text
    memory = re.search(r'href="/memories/([0-9a-f-]+)/neighbours"', text)
    assert memory is not None
    ada.embed()
    assert "likes to sit at the aisle" in writer.get(f"/memories/{memory[1]}/neighbours").text


def test_what_has_nearly_the_same_words_is_shown_before_there_is_a_vector(writer: FlaskClient, ada) -> None:
    stored(ada, "The rent of the studio is 820 euros a month, due on the first.")
    text = writer.post(
        "/remember", data={"text": "The rent of the studio is 870 euros a month, due on the first."}
    ).text
    assert "Compared with" in text
    assert "Not compared by meaning yet." in text


def test_a_repeat_of_what_has_a_vector_leads_to_what_comes_near(writer: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    ada.embed()
    text = writer.post("/remember", data={"text": TEXT}).text
    assert "Not compared by meaning yet" not in text
    assert f'<a href="/memories/{memory}/neighbours">what comes near it</a>' in text


def test_the_memory_is_what_the_form_said(writer: FlaskClient) -> None:
    writer.post("/remember", data={"text": TEXT, "type": "preference", "tags": "travel, trains", "theme": ""})
    text = writer.get("/memories?type=preference&tag=trains").text
    assert TEXT in text


def test_a_repeat_is_merged_and_says_with_what(writer: FlaskClient, ada) -> None:
    memory = stored(ada, TEXT)
    response = writer.post("/remember", data={"text": TEXT})
    assert response.status_code == 200
    assert "Merged with what was known" in response.text
    assert f"/memories/{memory}" in response.text


def test_a_near_duplicate_that_differs_is_kept_and_says_in_what(writer: FlaskClient, ada) -> None:
    stored(ada, "The rent of the studio is 820 euros a month, due on the first.")
    response = writer.post("/remember", data={"text": "The rent of the studio is 870 euros a month, due on the first."})
    assert "both are kept" in response.text


@pytest.mark.parametrize("text", ["", "   ", "nul \x00 byte", "x" * 70_000])
def test_a_text_that_cannot_be_stored_is_said_at_its_field(writer: FlaskClient, text: str) -> None:
    response = writer.post("/remember", data={"text": text})
    assert response.status_code == 422
    assert 'aria-invalid="true"' in response.text
    assert "The text must" in response.text


def test_a_refused_form_keeps_what_was_written(writer: FlaskClient) -> None:
    response = writer.post("/remember", data={"text": TEXT, "tags": ",".join(str(n) for n in range(40))})
    assert response.status_code == 422
    assert f">{TEXT}</textarea>" in response.text
    # The space was removed in another tab.
    response = writer.post("/remember", data={"text": TEXT, "space": "gone"})
    assert (response.status_code, f">{TEXT}</textarea>" in response.text) == (422, True)
    assert ">There is no space" in response.text


def test_what_was_forgotten_is_refused_with_the_reason(writer: FlaskClient, ada) -> None:
    writer.post(f"/memories/{stored(ada, TEXT)}/forget")
    response = writer.post("/remember", data={"text": TEXT})
    assert response.status_code == 422
    said = r"This was forgotten less than 24 hours ago, and is refused until 20\d\d-\d\d-\d\d \d\d:\d\d UTC; "
    assert re.search(said + r"until \d\d:\d\d UTC the forgetting can be undone instead\.", response.text)
    assert 'on the page <a href="/memories">Memories</a>' in response.text


def test_who_is_refused_what_is_gone_for_good_is_led_to_no_undo(writer: FlaskClient, ada) -> None:
    memory_id = stored(ada, TEXT)
    for step in ("forget", "let-go"):
        writer.post(f"/memories/{memory_id}/{step}")
    refused = writer.post("/remember", data={"text": TEXT})
    assert (refused.status_code, "on the page" in refused.text) == (422, False)
    assert "Said in other words it is kept." in refused.text
    assert writer.post("/remember", data={"text": "Aisle seats suit Ada on trains."}).status_code == 201


def test_nothing_is_stored_while_incognito(writer: FlaskClient) -> None:
    writer.post("/incognito/start")
    assert "Not stored" in writer.post("/remember", data={"text": TEXT}).text
    writer.post("/incognito/end")
    assert TEXT not in writer.get("/memories").text


def test_htmx_gets_the_form_and_the_trace_alone(writer: FlaskClient) -> None:
    text = writer.post("/remember", data={"text": TEXT}, headers=HTMX).text
    assert text.startswith('<div id="remember-desk">')
    assert "Remembered" in text


def test_the_fragment_is_the_part_of_the_page(writer: FlaskClient) -> None:
    assert writer.get("/remember", headers=HTMX).text in writer.get("/remember").text


def test_a_link_can_fill_the_form(writer: FlaskClient) -> None:
    assert ">zeppelin</textarea>" in writer.get("/remember?text=zeppelin").text


def test_line_ends_are_kept_as_they_were_written(writer: FlaskClient) -> None:
    writer.post("/remember", data={"text": "one line\r\nanother line"})
    assert "one line\nanother line" in writer.get("/memories").text
