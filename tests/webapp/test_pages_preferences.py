"""The preferences page: the editor, the preview, and the history."""

from __future__ import annotations

import html
import re
import time

import pytest
from api_agent import Agent
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, flashes
from pages_markup import words_of
from werkzeug.test import TestResponse

from memory.clock import utc_now
from memory.spaces.spaces import update_space
from webapp.pages.line_diff import MOST_COMPARED, Line, compare
from webapp.pages.preferences import EXAMPLE, preview_of

DOCUMENT = """---
date_format: DD.MM.YYYY
response_style:
  verbosity: concise
  tone: warm
---

I use the PARA method.
"""
BAD = "---\ndate_format: 5\nresponse_style:\n  verbosity: loud\n---\n"


@pytest.fixture
def writer(app: Flask, ada) -> FlaskClient:
    return at_browser(app, ada)


def save(writer: FlaskClient, document: str, **fields: object) -> TestResponse:
    """Save as a browser without scripts does, which sends line ends as CR LF."""
    data = {"document": document.replace("\n", "\r\n"), "based_on": version_of(writer), **fields}
    return writer.post("/preferences", data=data)


def version_of(writer: FlaskClient) -> str:
    """Return the version that the form says it was begun with."""
    found = re.search(r'name="based_on" value="(\d+)"', writer.get("/preferences").text)
    assert found is not None
    return found.group(1)


def written(text: str) -> str:
    """Return the document in the editor as a browser reads it: without the first line end."""
    found = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", text, re.S)
    assert found is not None
    return html.unescape(found.group(1))


def forms_of(text: str) -> list[str]:
    """Return where the forms of the page itself are sent to, in their order."""
    return re.findall(r'action="([^"]+)"', text.partition("<main")[2].partition("</main>")[0])


def test_without_preferences_there_is_an_empty_editor_and_an_example(writer: FlaskClient) -> None:
    text = writer.get("/preferences").text
    assert written(text) == ""
    assert "There are no preferences yet" in text
    assert written(writer.get("/preferences?example=true").text) == EXAMPLE


def test_the_example_can_be_used(writer: FlaskClient) -> None:
    assert preview_of(EXAMPLE).wrong == ()
    assert preview_of(EXAMPLE).unknown == ()
    assert save(writer, EXAMPLE).status_code == 303


def test_saving_puts_a_version_in_force(writer: FlaskClient) -> None:
    response = save(writer, DOCUMENT)
    assert (response.status_code, response.location) == (303, "/preferences")
    page = writer.get("/preferences")
    assert "Version 1 is in force" in flashes(page)
    assert written(page.text) == DOCUMENT


def test_an_agent_gets_what_was_saved(writer: FlaskClient, client: FlaskClient, ada) -> None:
    save(writer, DOCUMENT)
    read = Agent(client, ada.headers).get("/v1/preferences").json
    assert (read["document"], read["source"]) == (DOCUMENT, "page")


@pytest.mark.parametrize(
    "document", ["\n\n---\ndate_format: x\n---\nbody", "</textarea><script>evil()</script>", "a & b"]
)
def test_every_document_comes_back_as_it_was(writer: FlaskClient, document: str) -> None:
    save(writer, document)
    text = writer.get("/preferences").text
    assert written(text) == document
    assert "<script>evil" not in text


def test_saving_the_same_again_changes_nothing(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    writer.get("/preferences")
    save(writer, DOCUMENT)
    assert "Nothing was changed" in flashes(writer.get("/preferences"))


def test_what_was_begun_before_all_was_deleted_saves_over_nothing_unseen(writer: FlaskClient) -> None:
    save(writer, "Be brief.")
    begun = version_of(writer)
    assert writer.post(f"/preferences/versions/{begun}/delete").status_code == 303
    assert save(writer, "Be thorough.").status_code == 303
    response = save(writer, "Be brief, please.", based_on=begun)
    assert response.status_code == 422
    assert "Be brief, please." in response.text
    assert 'name="based_on" value="2"' in response.text


def test_a_document_with_other_line_ends_is_no_new_version(writer: FlaskClient, client: FlaskClient, ada) -> None:
    agent = Agent(client, ada.headers)
    agent.ask("PUT", "/v1/preferences", json={"document": "One.\r\nTwo.\rThree.\n"})
    save(writer, "One.\nTwo.\nThree.\n")
    assert agent.get("/v1/preferences").json["version"] == 1


def test_a_bad_document_is_refused_with_field_and_line_and_kept_in_the_editor(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    response = save(writer, BAD)
    text = words_of(response.text)
    assert response.status_code == 422
    assert "Nothing was saved" in text
    assert "Line 2, date_format must be text; put it in quotes date_format: 5" in text
    assert "Line 4, response_style.verbosity must be 'concise' or 'detailed' verbosity: loud" in text
    assert written(response.text) == BAD
    assert 'aria-invalid="true"' in response.text
    assert written(writer.get("/preferences").text) == DOCUMENT


@pytest.mark.parametrize("document", ["", "   ", "nul \x00 byte", "x" * 70_000])
def test_what_cannot_be_kept_is_refused(writer: FlaskClient, document: str) -> None:
    response = save(writer, document)
    assert response.status_code == 422
    assert "document must" in words_of(response.text)


def test_unknown_keys_are_a_notice(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    text = words_of(writer.get("/preferences").text)
    assert "Not known here, so kept and not told: response_style.tone in line 5." in text


def test_the_preview_is_what_an_agent_gets(writer: FlaskClient, client: FlaskClient, ada) -> None:
    save(writer, DOCUMENT)
    prompt = Agent(client, ada.headers).get("/v1/preferences/prompt").json
    text = words_of(writer.get("/preferences").text)
    assert " ".join(prompt["prompt"].split()) in text
    assert f"{prompt['token_count']} tokens" in text


def test_a_preview_keeps_nothing(writer: FlaskClient) -> None:
    response = writer.post("/preferences/preview", data={"document": DOCUMENT, "based_on": 0})
    assert "Write dates as DD.MM.YYYY" in response.text
    assert written(response.text) == DOCUMENT
    assert "There are no preferences yet" in writer.get("/preferences").text


def test_the_preview_of_an_emptied_document_says_what_saving_it_does(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    data = {"document": "", "based_on": 1}
    told = words_of(writer.post("/preferences/preview", data=data, headers=HTMX).text)
    assert "This cannot be used yet document must not be empty" in told
    assert "Version 1 stays in force until this is mended." in told
    assert told in words_of(save(writer, "").text)


def test_htmx_gets_the_preview_alone(writer: FlaskClient) -> None:
    data = {"document": BAD, "based_on": 0}
    response = writer.post("/preferences/preview", data=data, headers=HTMX)
    assert response.status_code == 200
    assert response.text.startswith('<section id="preferences-preview"')
    assert "Line 2" in response.text
    assert response.text in writer.post("/preferences/preview", data=data).text


def test_the_fragment_is_the_part_of_the_page(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    writer.get("/preferences")
    assert writer.get("/preferences", headers=HTMX).text in writer.get("/preferences").text


def test_who_was_overtaken_loses_neither_text(writer: FlaskClient, client: FlaskClient, ada) -> None:
    save(writer, DOCUMENT)
    begun = version_of(writer)
    Agent(client, ada.headers).ask("PUT", "/v1/preferences", json={"document": "Meanwhile."})
    response = save(writer, "Mine.", based_on=begun)
    assert response.status_code == 422
    assert "version 2 came into force while you wrote" in words_of(response.text)
    assert written(response.text) == "Mine."
    assert 'name="based_on" value="2"' in response.text
    assert written(writer.get("/preferences").text) == "Meanwhile."
    assert save(writer, "Mine.", based_on=2).status_code == 303
    assert written(writer.get("/preferences").text) == "Mine."


def test_the_history_names_every_version_and_where_it_came_from(writer: FlaskClient, client: FlaskClient, ada) -> None:
    Agent(client, ada.headers).ask("PUT", "/v1/preferences", json={"document": "First."})
    save(writer, "Second.")
    writer.post("/preferences/versions/1/restore")
    text = words_of(writer.get("/preferences").text).partition("Versions")[2]
    assert re.findall(r"Version (\d)", text) == ["3", "2", "1"]
    for said in ("Version 3 in force restored from version 1", "Version 2 written here", "Version 1 from an agent"):
        assert said in text


def test_a_long_history_is_loaded_page_by_page(writer: FlaskClient) -> None:
    for number in range(25):
        writer.post("/preferences", data={"document": f"Version {number}."})
    text = writer.get("/preferences").text
    further = re.search(r'hx-get="([^"]*before=\d+)"', text)
    assert further is not None
    rest = writer.get(further.group(1), headers=HTMX).text
    seen = re.findall(r'href="/preferences/versions/(\d+)"', text + rest)
    assert seen == [str(number) for number in range(25, 0, -1)]
    assert "<html" not in rest


def test_a_version_shows_what_changed_since(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    save(writer, DOCUMENT.replace("PARA", "<b>GTD</b>"))
    text = writer.get("/preferences/versions/1").text
    assert "<del>- I use the PARA method.</del>" in text
    assert "<ins>+ I use the &lt;b&gt;GTD&lt;/b&gt; method.</ins>" in text
    assert "from this version to the one in force, version 2" in words_of(text).lower()


def test_the_version_in_force_is_compared_with_nothing(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    text = writer.get("/preferences/versions/1").text
    assert "This is the version in force" in text
    assert "Restore" not in text


def test_restoring_puts_the_old_document_in_force_as_a_new_version(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    save(writer, "Something else.")
    page = writer.post("/preferences/versions/1/restore", follow_redirects=True)
    assert "Version 1 is in force again, as version 3" in flashes(page)
    assert written(page.text) == DOCUMENT


def test_versions_are_deleted_one_by_one_or_all_but_the_one_in_force(writer: FlaskClient) -> None:
    for number in range(4):
        save(writer, f"Document {number}.")
    one = forms_of(writer.get("/preferences/versions/2").text)[-1]
    assert "1 version deleted for good." in flashes(writer.post(one, follow_redirects=True))
    assert writer.get("/preferences/versions/2").status_code == 404
    older = forms_of(writer.get("/preferences").text)[-1]
    page = writer.post(older, follow_redirects=True)
    assert "2 versions deleted for good." in flashes(page)
    assert (written(page.text), re.findall(r"Version (\d)", words_of(page.text))) == ("Document 3.", ["4"])
    assert "Delete the older versions" not in page.text


def test_the_version_in_force_can_be_deleted_once_it_is_the_last(writer: FlaskClient) -> None:
    save(writer, "One.")
    save(writer, "Two.")
    assert "Delete it for good" not in writer.get("/preferences/versions/2").text
    writer.post("/preferences/versions/delete")
    last = forms_of(writer.get("/preferences/versions/2").text)[-1]
    assert "There are no preferences yet" in writer.post(last, follow_redirects=True).text


def test_who_writes_while_all_versions_are_deleted_is_told_so(writer: FlaskClient) -> None:
    save(writer, "One.")
    writer.post("/preferences/versions/1/delete")
    response = save(writer, "Two.", based_on="1")
    assert (response.status_code, written(response.text)) == (422, "Two.")
    assert "all versions were deleted while you wrote" in words_of(response.text)
    assert "/preferences/versions/" not in response.text
    assert save(writer, "Two.").status_code == 303


@pytest.mark.parametrize("version", ["0", "9", "2147483648", "99999999999999999999", "-1", "x"])
def test_a_version_that_does_not_exist_is_not_there(writer: FlaskClient, version: str) -> None:
    save(writer, DOCUMENT)
    assert writer.get(f"/preferences/versions/{version}").status_code == 404
    assert writer.post(f"/preferences/versions/{version}/restore").status_code == 404


@pytest.mark.parametrize("before", ["0", "x", "2147483648"])
def test_a_place_that_does_not_exist_is_refused(writer: FlaskClient, before: str) -> None:
    assert writer.get(f"/preferences?before={before}").status_code == 422


def test_another_users_preferences_are_not_there(app: Flask, writer: FlaskClient, bob) -> None:
    save(writer, DOCUMENT)
    stranger = at_browser(app, bob)
    assert "PARA" not in stranger.get("/preferences").text
    assert stranger.get("/preferences/versions/1").status_code == 404
    assert stranger.post("/preferences/versions/1/restore").status_code == 404
    assert stranger.post("/preferences/versions/1/delete").status_code == 404


@pytest.mark.parametrize("path", ["", "/preview", "/versions/1/restore", "/versions/1/delete", "/versions/delete"])
def test_another_site_cannot_write(writer: FlaskClient, path: str) -> None:
    headers = {"Origin": "https://elsewhere.example"}
    assert writer.post(f"/preferences{path}", data={"document": "Evil."}, headers=headers).status_code == 403


@pytest.mark.parametrize("path", ["/preferences", "/preferences/versions/1"])
def test_a_stranger_is_sent_to_the_login(client: FlaskClient, path: str) -> None:
    assert client.get(path).location.startswith("/login")


def test_preferences_are_closed_while_incognito(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    writer.post("/incognito/start")
    for path in ("/preferences", "/preferences/versions/1"):
        text = writer.get(path).text
        assert "PARA" not in text
        assert "Closed while incognito" in text
    for path in ("/preferences", "/preferences/versions/1/restore"):
        assert writer.post(path, data={"document": "Secret."}).status_code == 409
    writer.post("/incognito/end")
    assert written(writer.get("/preferences").text) == DOCUMENT


def test_what_was_written_when_incognito_began_comes_back(writer: FlaskClient) -> None:
    save(writer, DOCUMENT)
    writer.post("/incognito/start")
    refused = writer.post("/preferences", data={"document": "Long thought about.", "based_on": 1})
    assert (refused.status_code, written(refused.text)) == (409, "Long thought about.")
    assert "this browser session is incognito" in refused.text
    assert "PARA" not in refused.text
    assert "Begin with an example" not in refused.text
    writer.post("/incognito/end")
    again = writer.post("/preferences", data={"document": "Long thought about.", "based_on": 1}, follow_redirects=True)
    assert written(again.text) == "Long thought about."


def test_a_pool_that_is_incognito_by_default_closes_them_too(writer: FlaskClient, ada) -> None:
    save(writer, DOCUMENT)
    with ada.session() as session:
        update_space(session, ada.id, "default", {"incognito_default": True}, now=utc_now(), actor="test")
    assert "PARA" not in writer.get("/preferences").text


def kinds(lines: list[Line]) -> str:
    return "".join({"same": "=", "gone": "-", "new": "+", "skipped": "…"}[line.kind] for line in lines)


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("a\nb\nc", "a\nb\nc", ""),
        ("a\nb\nc", "a\nx\nc", "=-+="),
        ("", "a", "+"),
        ("a", "", "-"),
        ("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5\n7", "…===-+"),
        ("1\n2\n3\n4\n5\n6", "0\n2\n3\n4\n5\n6", "-+===…"),
        ("x\n1\n2\n3\n4\n5\n6\n7\n8\ny", "X\n1\n2\n3\n4\n5\n6\n7\n8\nY", "-+===…===-+"),
    ],
)
def test_a_comparison_shows_changes_with_a_few_lines_around(older: str, newer: str, expected: str) -> None:
    assert kinds(compare(older, newer)) == expected


def test_documents_of_many_lines_are_compared_quickly() -> None:
    older = "\n".join(str(number * 7 % 331) for number in range(MOST_COMPARED * 20))
    newer = "\n".join(str(number * 11 % 337) for number in range(MOST_COMPARED * 20))
    start = time.thread_time()
    assert compare(older, newer)
    assert time.thread_time() - start < 5
