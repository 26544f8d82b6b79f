"""Behind a reverse proxy that is trusted: addresses, cookies and callers are those of the proxy's own clients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest
from flask import Flask
from pages_browser import at_browser, new_address
from werkzeug.test import Client

from tasks.runtime import Runtime
from webapp.extensions import db
from webapp.factory import create_app

HOST, PREFIX = "notes.example.org", "/book"
OWN_ADDRESS = re.compile(r'\s(?:href|src|action|hx-get|hx-post|data-move)="(/[^"]*)"')


@pytest.fixture(scope="module")
def behind(runtime: Runtime) -> Iterator[Flask]:
    """An application that one proxy stands before."""
    application = create_app(replace(runtime, settings=replace(runtime.settings, trusted_proxies=1)))
    yield application
    with application.app_context():
        db.engine.dispose()


@pytest.fixture
def client(behind: Flask) -> Client:
    """A stranger at a proxy that speaks TLS, and has the server beneath a path of its own."""
    address = new_address()

    def proxy(environ: Any, start_response: Any) -> Any:
        assert environ["PATH_INFO"].startswith(f"{PREFIX}/")
        passed = {"FOR": address, "HOST": environ["HTTP_HOST"], "PREFIX": PREFIX, "PROTO": environ["wsgi.url_scheme"]}
        headers = {f"HTTP_X_FORWARDED_{name}": value for name, value in passed.items()}
        own = {"PATH_INFO": environ["PATH_INFO"].removeprefix(PREFIX), "HTTP_HOST": "127.0.0.1", "SERVER_PORT": "80"}
        return behind({**environ, **headers, **own, "wsgi.url_scheme": "http"}, start_response)

    return Client(proxy)


def ask(client: Client, path: str, form: Any = None, **options: Any) -> Any:
    method = "GET" if form is None else "POST"
    return client.open(f"{PREFIX}{path}", base_url=f"https://{HOST}", method=method, data=form, **options)


def log_in(client: Client, person: Any, **more: str) -> Any:
    return ask(client, "/login", {"email": person.email, "password": "correct horse battery", **more})


@pytest.fixture
def reader(client: Client, ada: Any) -> Client:
    assert log_in(client, ada).location == f"{PREFIX}/"
    return client


@pytest.mark.parametrize("path", ["/", "/search?q=tea", "/memories", "/tokens", "/account", "/nowhere", "/login"])
def test_every_address_of_a_page_is_beneath_the_path(reader: Client, path: str) -> None:
    page = ask(reader, path)
    found = OWN_ADDRESS.findall(page.text)
    assert ("Log out" in page.text, bool(found)) == (path != "/login", True)
    assert [each for each in found if not each.startswith(f"{PREFIX}/")] == []


def test_who_comes_from_the_login_is_on_the_page_that_was_asked_for(client: Client, ada: Any) -> None:
    sent = unquote(ask(client, "/memories?type=fact").location)
    assert sent == f"{PREFIX}/login?next={PREFIX}/memories?type=fact"
    assert log_in(client, ada, next=sent.partition("next=")[2]).location == f"{PREFIX}/memories?type=fact"


@pytest.mark.parametrize(
    ("path", "form", "target"),
    [
        ("/appearance", {"appearance": "dark"}, "/"),
        ("/incognito/start", {}, "/"),
        ("/incognito/start", {"next": f"{PREFIX}/memories"}, "/memories"),
    ],
)
def test_a_switch_leads_back_beneath_the_path(reader: Client, path: str, form: dict[str, str], target: str) -> None:
    assert ask(reader, path, form).location == f"{PREFIX}{target}"


def test_a_switch_of_a_page_leads_back_to_it(reader: Client) -> None:
    assert f'name="next" value="{PREFIX}/memories"' in ask(reader, "/memories").text


def test_what_has_no_page_to_lead_back_to_leads_to_the_first_beneath_the_path(client: Client, reader: Client) -> None:
    refused = ask(reader, "/account/password", {"old": "", "password": "a", "again": "b"})
    assert (refused.status_code, f'name="next" value="{PREFIX}/"' in refused.text) == (422, True)
    ask(reader, "/logout", {})
    assert unquote(ask(client, "/memory/off", {}).location) == f"{PREFIX}/login?next={PREFIX}/"


def test_the_address_of_a_form_leads_to_its_page_beneath_the_path(reader: Client) -> None:
    assert ask(reader, "/providers/test", headers={"Accept": "text/html"}).location == f"{PREFIX}/providers"


def test_a_new_token_comes_with_the_address_that_agents_ask(reader: Client) -> None:
    page = ask(reader, "/tokens", {"name": "try", "scopes": "read"}).text
    assert f"curl https://{HOST}{PREFIX}/v1/tools " in page


def _cookies(response: Any) -> dict[str, set[str]]:
    """Return what is said of each cookie that an answer sets, by its name."""
    set_there = (each.partition("=") for each in response.headers.getlist("Set-Cookie"))
    return {name: {*said.split("; ")[1:]} for name, _, said in set_there}


def test_the_cookies_are_for_this_server_alone(client: Client, app: Flask, ada: Any) -> None:
    cookies = _cookies(log_in(client, ada))
    assert {*cookies} == {"__Secure-commonplace", "known"}
    assert all({"Secure", "HttpOnly", f"Path={PREFIX}"} <= said for said in cookies.values())
    own = at_browser(app, ada).get_cookie("commonplace")
    assert own is not None
    assert (own.path, own.secure) == ("/", False)


def test_the_cookie_of_a_whole_host_comes_from_that_alone(behind: Flask, ada: Any) -> None:
    client = behind.test_client()
    form = {"email": ada.email, "password": "correct horse battery"}
    over_tls = {"X-Forwarded-Proto": "https", "X-Forwarded-For": new_address()}
    # Browsers refuse one that is called so with another path, without `Secure`, or with a domain.
    said = _cookies(client.post("/login", data=form, headers=over_tls))["__Host-commonplace"]
    assert {"Secure", "Path=/"} <= said
    assert "Domain" not in "".join(said)
    assert client.get("/account", base_url="https://localhost", headers=over_tls).status_code == 200


def test_the_choice_of_colours_is_kept_for_this_server_alone(client: Client) -> None:
    cookie = ask(client, "/appearance", {"appearance": "dark"}).headers["Set-Cookie"].split("; ")
    assert {"appearance=dark", "Secure", f"Path={PREFIX}/"} <= {*cookie}
    # Where a script keeps it.
    assert re.search(f'data-cookie="appearance=; [^"]*Secure; Path={PREFIX}/;', ask(client, "/login").text)


def test_the_interface_is_described_beneath_the_path(client: Client, app: Flask) -> None:
    assert ask(client, "/v1/openapi.json").json["servers"] == [{"url": PREFIX}]
    # Whoever asks it without the proxy is told where it is without.
    assert app.test_client().get("/v1/openapi.json").json["servers"] == [{"url": "/"}]


def test_a_problem_names_the_address_that_was_asked_for(client: Client) -> None:
    assert ask(client, "/v1/tools").json["instance"] == f"{PREFIX}/v1/tools"


def test_a_client_of_the_proxy_is_not_this_machine(behind: Flask) -> None:
    asked = behind.test_client().get
    assert asked("/metrics").status_code == 200
    assert asked("/metrics", headers={"X-Forwarded-For": "127.0.0.1, 203.0.113.9"}).status_code == 403


@pytest.mark.parametrize("prefix", ["book", "book/", "//book"])
def test_a_prefix_begins_with_one_slash_however_the_proxy_writes_it(behind: Flask, prefix: str) -> None:
    page = behind.test_client().get("/login", headers={"X-Forwarded-Prefix": prefix})
    assert f'action="{PREFIX}/login"' in page.text
