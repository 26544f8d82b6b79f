"""What a memory said before, on its page."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, flashes, stored

from webapp.pages.word_diff import MOST_COMPARED, Piece, compare_words

FIRST = "The studio key hangs behind the blue door."
SECOND = "The studio key lies behind the green door."


def correct(reader: FlaskClient, memory_id, text: str, **more: str) -> None:
    assert reader.post(f"/memories/{memory_id}/edit", data={"text": text, "type": "note", **more}).status_code == 303


def words(html: str, tag: str) -> list[str]:
    """Return what stands in an element, without what is said to screen readers alone."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.S)
    return [re.sub(r"<span.*?</span>", "", each).strip() for each in found]


def test_a_memory_that_was_never_changed_says_so(reader, ada):
    assert "It was never changed." in reader.get(f"/memories/{stored(ada, FIRST)}").text


def test_the_page_shows_the_words_that_changed(reader, ada):
    memory_id = stored(ada, FIRST)
    correct(reader, memory_id, SECOND, tags="door, key")
    text = reader.get(f"/memories/{memory_id}").text
    assert (words(text, "del"), words(text, "ins")) == (["hangs", "blue", "none"], ["lies", "green", "door, key"])
    assert "text, tags changed\n" in text
    assert "by you" in text


def test_the_page_names_the_token_by_which_an_agent_changed_it(reader, agent, ada):
    memory_id = agent.store(FIRST)
    agent.patch(f"/v1/memory/entries/{memory_id}", {"text": SECOND})
    assert f"by test ({ada.token[:11]}…)" in reader.get(f"/memories/{memory_id}").text


def test_restoring_goes_back_to_the_memory(reader, ada):
    memory_id = stored(ada, FIRST)
    correct(reader, memory_id, SECOND)
    response = reader.post(f"/memories/{memory_id}/revisions/1/restore")
    assert (response.status_code, response.location) == (303, f"/memories/{memory_id}")
    page = reader.get(response.location)
    assert "Version 1 is in force again" in flashes(page)
    assert f'entry-large"><span class="verbatim">{FIRST}' in page.text
    assert "version 1 was restored" in page.text


def test_a_version_has_a_page_of_its_own(reader, ada):
    memory_id = stored(ada, FIRST)
    correct(reader, memory_id, SECOND)
    text = reader.get(f"/memories/{memory_id}/revisions/1").text
    assert f'<span class="verbatim">{FIRST}</span>' in text
    assert words(text, "ins") == ["lies", "green"]
    assert reader.get(f"/memories/{memory_id}/revisions/2").status_code == 404


def test_a_version_is_compared_with_the_memory_as_it_stands(reader, ada):
    memory_id = stored(ada, FIRST)
    correct(reader, memory_id, SECOND)
    correct(reader, memory_id, SECOND, tags="door")
    text = reader.get(f"/memories/{memory_id}/revisions/1").text
    assert words(text, "ins") == ["lies", "green", "door"]


def test_older_versions_are_loaded_on_demand(reader, ada):
    memory_id = stored(ada, FIRST)
    for number in range(7):
        correct(reader, memory_id, f"The studio key hangs on hook {number}.")
    page = reader.get(f"/memories/{memory_id}").text
    assert re.findall(r"Version (\d)</a>", page) == ["7", "6", "5", "4", "3"]
    further = re.search(r'hx-get="(/memories/[^"]*revisions[^"]*)"', page).group(1)
    fragment = reader.get(further, headers=HTMX).text
    assert re.findall(r"Version (\d)</a>", fragment) == ["2", "1"]
    assert words(fragment, "ins")[0] == "1."
    assert "<html" in reader.get(further).text


@pytest.mark.parametrize("path", ["revisions", "revisions/1", "revisions?before=0", "revisions?before=99999999999"])
def test_a_stranger_sees_no_past(app, reader, ada, bob, path):
    memory_id = stored(ada, FIRST)
    correct(reader, memory_id, SECOND)
    answer = at_browser(app, bob).get(f"/memories/{memory_id}/{path}")
    assert answer.status_code in {404, 422}
    assert "blue" not in answer.text


def test_incognito_closes_the_past(reader, ada):
    memory_id = stored(ada, FIRST)
    correct(reader, memory_id, SECOND)
    reader.post("/incognito/start")
    for path in ("revisions", "revisions/1"):
        assert "blue" not in reader.get(f"/memories/{memory_id}/{path}").text
    assert reader.post(f"/memories/{memory_id}/revisions/1/restore").status_code == 409


def test_a_page_of_long_versions_stays_light(reader, ada):
    memory_id = stored(ada, "start")
    for number in range(2):
        correct(reader, memory_id, " ".join(f"word{number}-{each}" for each in range(4000)))
    correct(reader, memory_id, "short again")
    assert len(reader.get(f"/memories/{memory_id}").data) < 60_000


# --- words ---


def test_the_words_that_differ_are_told_in_order():
    assert compare_words("a red cat", "a blue cat") == [
        Piece("same", "a "),
        Piece("gone", "red "),
        Piece("new", "blue "),
        Piece("same", "cat"),
    ]


@pytest.mark.parametrize(("older", "newer"), [("a b", "a b"), ("a b", "a  b"), ("a\nb", "a b"), ("", "")])
def test_what_differs_in_spaces_alone_has_no_words_to_tell(older, newer):
    assert compare_words(older, newer) == []


def test_words_far_from_a_change_are_left_out():
    far = " ".join(f"w{n}" for n in range(60))
    kinds = [piece.kind for piece in compare_words(f"{far} red {far} end", f"{far} blue {far} stop")]
    assert kinds == ["skipped", "same", "gone", "new", "same", "skipped", "same", "gone", "new"]


def test_the_last_word_does_not_run_into_the_next():
    assert [piece.text for piece in compare_words("blue", "green")] == ["blue ", "green"]


def test_long_changes_are_cut():
    pieces = compare_words("x", "y " * 5000, most=100)
    assert sum(len(piece.text) for piece in pieces) <= 100
    assert pieces[-1].kind == "skipped"
    # However much was taken out, what came in its place is told of as well.
    pieces = compare_words("x " * 5000, "y " * 5000, most=100)
    assert [(piece.kind, len(piece.text)) for piece in pieces] == [
        ("gone", 50),
        ("skipped", 0),
        ("new", 50),
        ("skipped", 0),
    ]
    assert [len(piece.text) for piece in compare_words("x " * 5000, "y", most=100)] == [99, 0, 1]


def test_very_different_texts_are_replaced_in_one_piece():
    older, newer = ("".join(f"{word}{n} same " for n in range(MOST_COMPARED)) for word in ("a", "b"))
    assert [piece.kind for piece in compare_words(older, newer, most=10**6)][:2] == ["gone", "new"]
