"""Nobody gets past the pages' guards: strangers, other users, other sites."""

from __future__ import annotations

import io
import json
import re
from typing import Any
from urllib.parse import unquote

import pytest
from api_agent import NOBODYS_ID
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, stored
from sqlalchemy import text

from memory.storage.database import make_engine
from webapp.extensions import db
from webapp.pages.forms import LARGEST_FORM

PAGES = ["/", "/search?q=tea", "/memories", f"/memories/{NOBODYS_ID}", "/remember"]
WRITES = ["pin", "unpin", "forget", "restore"]


@pytest.mark.parametrize("path", PAGES)
def test_a_stranger_is_sent_to_the_login(client: FlaskClient, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, response.location.split("?")[0]) == (303, "/login")


def test_no_connection_is_held_while_a_form_comes(app: Flask, ada) -> None:
    browser = at_browser(app, ada)

    class Form(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            assert not db.engine.pool.checkedout()
            return super().readinto(buffer)

    form = b"text=The+heron+is+violet."
    sent = {"input_stream": Form(form), "content_length": len(form)}
    response = browser.post("/remember", content_type="application/x-www-form-urlencoded", **sent)
    assert response.status_code == 201
    assert "The heron is violet." in browser.get("/memories").text


def test_a_page_that_somebody_else_left_open_does_nothing_for_who_logs_in_after(app: Flask, ada, bob) -> None:
    browser, form = at_browser(app, bob), {"text": "The heron is violet."}
    theirs, own = (
        json.loads(re.findall(r"<main [^>]*hx-headers='([^']+)'", each.get("/remember").text)[0])
        for each in (at_browser(app, ada), browser)
    )
    refused = browser.post("/remember", data=form, headers={**HTMX, **theirs})
    assert (refused.status_code, "else has logged in since" in refused.text) == (409, True)
    assert "heron" not in browser.get("/memories").text
    assert browser.post("/remember", data=form, headers={**HTMX, **own}).status_code == 201


@pytest.mark.parametrize("path", ["/themes", "/spaces", "/preferences", "/providers", "/remember", "/notebooks"])
def test_a_form_that_somebody_else_left_open_is_refused_and_ones_own_is_not(app: Flask, ada, bob, path: str) -> None:
    hers, browser = at_browser(app, ada), at_browser(app, bob)
    shown = rf'action="{path}"(?:(?!</form>).)*?name="visitor" value="([^"]+)"'
    theirs, own = (re.findall(shown, each.get(path).text, re.DOTALL)[0] for each in (hers, browser))
    typed = {"display_name": "Heron", "name": "Heron", "document": "Herons.", "based_on": "0", "model": "heron"}
    typed["text"] = "The heron is violet."
    form = {**typed, "provider_type": "openai", "endpoint_url": "http://127.0.0.1:9/v1"}
    if path == "/providers":
        form = {name: form[name] for name in ("provider_type", "endpoint_url", "model")}
    refused = browser.post(path, data={**form, "visitor": theirs})
    assert (refused.status_code, "go back to it" in refused.text) == (409, True)
    assert browser.post(path, data={**form, "visitor": own}).status_code in {201, 303}


def test_a_form_that_is_cut_off_stores_nothing(app: Flask, ada) -> None:
    browser = at_browser(app, ada)
    form = b"text=Never+give+me+penicillin%2C+I+am+not+made+for+it."

    class Cut(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            return super().readinto(memoryview(buffer)[: max(0, 37 - self.tell())])

    # As gunicorn has it: the body ends where the connection does.
    sent = {"input_stream": Cut(form), "environ_overrides": {"wsgi.input_terminated": True}}
    response = browser.post("/remember", content_type="application/x-www-form-urlencoded", **sent)
    assert (response.status_code, "nothing was done" in response.text) == (400, True)
    assert "penicillin" not in browser.get("/memories").text


def test_a_form_with_a_field_that_is_too_large_is_not_taken_without_it(app: Flask, client: FlaskClient, ada) -> None:
    browser = at_browser(app, ada)
    fields = {"tags": "x" * (app.config["MAX_FORM_MEMORY_SIZE"] + 1), "text": "The heron is violet."}
    for form in (fields, dict.fromkeys((f"tag{number}" for number in range(1_500)), "x") | {"text": fields["text"]}):
        assert browser.post("/remember", data=form, content_type="multipart/form-data").status_code == 413
        stranger = client.post("/remember", data=form, content_type="multipart/form-data")
        assert (stranger.status_code, stranger.location.split("?")[0]) == (303, "/login")
    assert "The heron is violet." not in browser.get("/memories").text


@pytest.mark.parametrize(("more", "status"), [(0, 201), (LARGEST_FORM, 413)])
def test_a_form_in_chunks_is_taken_whole_or_not_at_all(app: Flask, ada, more: int, status: int) -> None:
    form = io.BytesIO(b"text=The+heron+is+violet.&filler=" + b"a" * more + b"&tags=birds")
    sent = {"headers": {"Transfer-Encoding": "chunked"}, "environ_overrides": {"wsgi.input_terminated": True}}
    browser = at_browser(app, ada)
    response = browser.post("/remember", input_stream=form, content_type="application/x-www-form-urlencoded", **sent)
    page = browser.get("/memories").text
    assert (response.status_code, "The heron is violet." in page) == (status, status == 201)
    assert ("This is more than is taken at once, which is at most 1,048,576 bytes" in response.text) == (status == 413)
    assert ("birds" in page) == (status == 201)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/remember"), ("POST", "/conversations/files"), ("GET", "/memories"), ("POST", "/login")],
)
def test_of_a_stranger_is_read_what_a_form_holds(client: FlaskClient, method: str, path: str, kind: str) -> None:
    form = io.BytesIO(b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' + b"&a" * LARGEST_FORM)
    chunks = {"headers": {"Transfer-Encoding": "chunked"}, "environ_overrides": {"wsgi.input_terminated": True}}
    sent: list[dict[str, Any]] = [{"content_length": len(form.getbuffer())}, chunks]
    for each in sent:
        form.seek(0)
        client.open(path, method=method, input_stream=form, content_type=kind, **each)
        assert form.tell() <= LARGEST_FORM


@pytest.mark.parametrize("path", ["/remember", "/incognito/start", "/incognito/end", f"/memories/{NOBODYS_ID}/forget"])
def test_a_stranger_cannot_write(client: FlaskClient, path: str) -> None:
    assert client.post(path).location.startswith("/login")


def test_the_login_knows_where_the_stranger_was_going(client: FlaskClient) -> None:
    assert client.get("/search?q=green+tea").location == "/login?next=/search?q%3Dgreen%2Btea"
    assert client.get("/search?").location == "/login?next=/search"
    # A browser leaves the question mark of a question as it is.
    assert client.get("/search?q=tea?").location == "/login?next=/search?q%3Dtea?"


def test_htmx_sends_the_whole_window_to_the_login(client: FlaskClient) -> None:
    headers = {**HTMX, "HX-Current-URL": "http://localhost/memories?type=fact"}
    response = client.get("/memories", headers=headers)
    assert response.headers["HX-Redirect"] == "/login?next=/memories?type%3Dfact"
    typed = client.get("/memories", headers={**HTMX, "HX-Current-URL": "http://localhost/search?q=tea?"})
    assert typed.headers["HX-Redirect"] == "/login?next=/search?q%3Dtea?"
    odd = client.get("/memories", headers={**HTMX, "HX-Current-URL": "http://["})
    assert odd.headers["HX-Redirect"] == "/login?next=/"
    # A question is asked again, though the page that it was typed on is still the one before it.
    asked = client.get("/search?q=green+tea", headers={**HTMX, "HX-Current-URL": "http://localhost/search"})
    assert asked.headers["HX-Redirect"] == "/login?next=/search?q%3Dgreen%2Btea"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", ""),
        *(("POST", f"/{NOBODYS_ID}/{act}") for act in ("run", "move", "duplicate", "remove", "restore", "weights")),
        ("POST", f"/{NOBODYS_ID}/hits/{NOBODYS_ID}"),
        ("GET", f"/{NOBODYS_ID}"),
    ],
)
def test_nobody_is_taken_away_from_what_is_typed_in_a_notebook(client: FlaskClient, method: str, path: str) -> None:
    response = client.open(f"/notebooks/{NOBODYS_ID}/cells{path}", method=method, headers=HTMX)
    assert response.status_code == 401
    assert "HX-Redirect" not in response.headers
    assert "What you wrote is still here" in response.text


@pytest.mark.parametrize(
    ("referrer", "back"),
    [
        ("http://localhost/spaces?at=2", "/spaces?at%3D2"),
        ("http://elsewhere.example/spaces", "/"),
        ("", "/"),
        ("http://[", "/"),
    ],
)
def test_who_saves_after_a_session_has_ended_comes_back_to_the_form(
    client: FlaskClient, referrer: str, back: str
) -> None:
    response = client.post("/remember", headers={"Referer": referrer})
    assert response.location == f"/login?next={back}"
    # Nothing that was written is lost without a word.
    assert "You were logged out, so nothing was saved." in client.get(response.location).text


def test_who_writes_is_not_taken_away_by_a_preview_when_the_session_has_ended(client: FlaskClient) -> None:
    response = client.post("/preferences/preview", data={"document": "x"}, headers=HTMX)
    assert (response.status_code, "HX-Redirect" in response.headers) == (401, False)
    assert "log in in another tab" in response.text


@pytest.mark.parametrize(
    "address",
    [
        *(f"/notebooks/{NOBODYS_ID}/cells/{NOBODYS_ID}/{act}" for act in ("run", "fold")),
        *(f"/notebooks/{NOBODYS_ID}/rename", "/remember", f"/conversations/{NOBODYS_ID}", "/tokens"),
        *("/spaces/studio", "/spaces/studio/weights", "/playground/memory_search"),
    ],
)
def test_who_writes_is_not_taken_away_when_the_session_has_ended(client: FlaskClient, address: str) -> None:
    response = client.post(address, data={"text": "x"}, headers=HTMX)
    assert (response.status_code, "HX-Redirect" in response.headers) == (401, False)
    assert "log in in another tab" in response.text
    # Without scripts the page is left in any case.
    assert client.post(address, data={"text": "x"}).location.startswith("/login")


@pytest.mark.parametrize("write", WRITES)
def test_another_users_memory_is_not_there(app: Flask, ada, bob, write: str) -> None:
    secret = stored(ada, "Ada keeps the spare key under the third stone.")
    assert at_browser(app, bob).post(f"/memories/{secret}/{write}").status_code == 404


def test_another_users_page_is_not_there(app: Flask, ada, bob) -> None:
    secret = stored(ada, "Ada keeps the spare key under the third stone.")
    response = at_browser(app, bob).get(f"/memories/{secret}")
    assert response.status_code == 404
    assert "third stone" not in response.text


@pytest.mark.parametrize(
    "path", ["/login", "/logout", "/appearance", "/remember", "/incognito/start", "/incognito/end"]
)
@pytest.mark.parametrize(
    ("header", "site"), [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"), ("Origin", "http://[")]
)
def test_another_site_cannot_write(app: Flask, ada, path: str, header: str, site: str) -> None:
    assert at_browser(app, ada).post(path, headers={header: site}).status_code == 403


@pytest.mark.parametrize("write", WRITES)
def test_another_site_cannot_change_a_memory(app: Flask, ada, write: str) -> None:
    memory = stored(ada, "The bakery closes on Mondays.")
    headers = {"Origin": "https://elsewhere.example"}
    assert at_browser(app, ada).post(f"/memories/{memory}/{write}", headers=headers).status_code == 403


@pytest.mark.parametrize("write", WRITES)
def test_a_link_cannot_change_a_memory(app: Flask, ada, write: str) -> None:
    memory = stored(ada, "The bakery closes on Mondays.")
    assert at_browser(app, ada).get(f"/memories/{memory}/{write}").status_code == 405


@pytest.mark.parametrize(
    ("path", "page"),
    [
        (f"/notebooks/{NOBODYS_ID}/cells/{NOBODYS_ID}/run", "cells.show"),
        (f"/notebooks/{NOBODYS_ID}/rename", "notebook.show"),
        ("/memories/bulk/do", "browse.index"),
        ("/preferences/preview", "preferences.index"),
        ("/spaces/default/weights", "spaces.show"),
        ("/account/password", "account.index"),
        ("/incognito/start", "notebook.home"),
    ],
)
def test_who_opens_the_address_of_a_form_comes_to_its_page(app: Flask, ada, path: str, page: str) -> None:
    browser, headers = at_browser(app, ada), {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    response = browser.get(path, headers=headers)
    assert response.status_code == 303
    assert app.url_map.bind("localhost").match(response.location, method="GET")[0] == page
    assert browser.get(path, headers={"Accept": "application/json"}).status_code == 405
    assert "Incognito." not in browser.get("/").text


@pytest.mark.parametrize("slug", ["a%0D%0AX:%20b", "a%3Fb%23c", "%C3%A9%25"])
def test_the_page_of_a_form_is_named_as_the_form_was(app: Flask, ada, slug: str) -> None:
    response = at_browser(app, ada).get(f"/spaces/{slug}/weights", headers={"Accept": "text/html"})
    assert response.status_code == 303
    assert unquote(response.location) == unquote(f"/spaces/{slug}")
    assert set("?#").isdisjoint(response.location)


@pytest.mark.parametrize("path", ["/logout", "/appearance", "/incognito/start"])
def test_a_link_cannot_change_the_session(app: Flask, ada, path: str) -> None:
    assert at_browser(app, ada).get(path).status_code == 405


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE users SET disabled_at = now() WHERE id = :id",
        "UPDATE users SET password_hash = 'another' WHERE id = :id",
        "DELETE FROM users WHERE id = :id",
    ],
)
def test_a_cookie_ends_with_its_account_or_password(app: Flask, ada, database_url: str, change: str) -> None:
    client = at_browser(app, ada)
    owner = make_engine(database_url, pool_size=1)
    with owner.begin() as connection:
        connection.execute(text(change), {"id": ada.id})
    owner.dispose()
    assert client.get("/memories").location.startswith("/login")


def test_a_made_up_cookie_opens_nothing(client: FlaskClient, ada) -> None:
    client.set_cookie("commonplace", "eyJ1c2VyIjoi.made.up")
    assert client.get("/").location.startswith("/login")


@pytest.mark.parametrize("path", ["/login", "/nowhere", "/static/style.css", "/v1/memory/entries", "/v1/nowhere"])
def test_pages_allow_no_inline_script_and_no_other_host(client: FlaskClient, path: str) -> None:
    policy = client.get(path).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_pages_are_not_kept(client: FlaskClient) -> None:
    assert client.get("/login").headers["Cache-Control"] == "no-store"


OF_THE_INTERFACE = ["/v1/", "/v1/swagger", "/v1/openapi.json", "/v1/memory/entries", "/v1/tools/nothing", "/v1/nowhere"]


@pytest.mark.parametrize("path", ["/login", "/account", "/static/style.css", "/healthz", *OF_THE_INTERFACE])
def test_nothing_can_be_framed_or_taken_for_another_kind(client: FlaskClient, path: str) -> None:
    headers = client.get(path).headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_the_browsable_interface_keeps_its_scripts(client: FlaskClient) -> None:
    policy = client.get("/v1/swagger").headers["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-inline';" in policy
    assert "default-src 'none'" in policy


def test_an_address_may_end_with_a_slash(app: Flask, client: FlaskClient, ada) -> None:
    assert at_browser(app, ada).get("/spaces/").status_code == 200
    assert client.get("/v1/memory/entries/", headers=ada.headers).status_code == 200
    assert client.post("/v1/tools/memory_search/", json={"query": "tea"}, headers=ada.headers).status_code == 200


def test_an_address_that_is_not_there_leaves_a_way_on(app: Flask, client: FlaskClient, ada) -> None:
    response = at_browser(app, ada).get("/memroies")
    assert response.status_code == 404
    assert "There is nothing at this address" in response.text
    assert 'aria-label="Pages"' in response.text
    # A stranger is shown no more than before.
    assert 'aria-label="Pages"' not in client.get("/memroies").text


@pytest.mark.parametrize(
    ("came_from", "leads_to"),
    [
        ("http://localhost/admin?q=ada", "http://localhost/admin?q=ada"),
        ("http://localhost.example/admin", "/"),
        ("http://localhost/memroies", "/"),
        ("", "/"),
    ],
)
def test_an_error_leads_back_to_a_page_of_ours(app: Flask, ada, came_from: str, leads_to: str) -> None:
    page = at_browser(app, ada).get("/memroies", headers={"Referer": came_from}).text
    assert f'<a href="{leads_to}">Back to' in page
