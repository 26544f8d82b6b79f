"""Questions as long as an address can hold, longer ones, and what else no application is asked about."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from flask import Flask
from gunicorn_server import serving
from pages_browser import at_browser, stored

from webapp.pages.forms import LONGEST_QUESTION
from webapp.pages.headers import HEADERS

PROGRAM = ("Accept: application/json", "Connection: close")
CUT = "The field holds 2,000 characters, and it is full"


@pytest.fixture(scope="module")
def host(runtime, home, database_url) -> Iterator[str]:
    with serving(runtime, home, database_url) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def person(host: str, ada: Any) -> Iterator[httpx.Client]:
    """Somebody who is logged in at the server that people have."""
    stored(ada, "Ada is allergic to hazelnuts.")
    with httpx.Client(base_url=host, timeout=60, verify=False) as client:
        client.post("/login", data={"email": ada.email, "password": "correct horse battery"})
        yield client


@pytest.mark.parametrize("filler", ["peanuts ", "für Größe ", "(what?) & why: "])
def test_as_much_as_the_field_takes_is_answered(person: httpx.Client, filler: str) -> None:
    question = ("hazelnuts " + filler * LONGEST_QUESTION)[:LONGEST_QUESTION].strip()
    answer = person.get("/search", params={"q": question, "limit": 10, "types": ["fact", "note"]})
    assert (answer.status_code, "Ask your memory" in answer.text) == (200, True)


def test_the_page_before_may_have_had_a_long_question_too(person: httpx.Client) -> None:
    before = f"{person.base_url}/search?q={'a' * 8_100}"
    answer = person.get("/search?q=hazelnuts", headers={"HX-Current-URL": before, "Referer": before})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("asked", "headers", "status"),
    [("漢" * LONGEST_QUESTION, {}, 414), ("a", {"HX-Current-URL": "/search?q=" + "a" * 20_000}, 431)],
)
def test_what_is_too_long_for_an_address_is_said_where_pages_say_errors(person, asked, headers, status) -> None:
    answer = person.get("/search", params={"q": asked}, headers={"HX-Request": "true", **headers})
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    usual = person.get("/search").headers
    protected = ["Cache-Control", "Content-Security-Policy", *HEADERS]
    assert [answer.headers.get(name) for name in protected] == [usual[name] for name in protected]
    said = re.search(r'<section id="errors-error".*?</section>', answer.text, re.S)
    assert said is not None
    assert "Try again with fewer words." in said[0]


def test_the_server_answers_the_next_question(person: httpx.Client) -> None:
    person.get("/search", params={"q": "a" * 20_000})
    assert person.get("/search?q=hazelnuts").status_code == 200


def sent(host: str, *lines: str) -> tuple[int, str, dict[str, Any]]:
    """Send these lines as they are, and return status, type and JSON of the answer."""
    answer = b""
    with socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2])), timeout=60) as wire:
        wire.sendall("\r\n".join(lines).encode())
        while more := wire.recv(65_536):
            answer += more
    head, _, body = answer.decode().partition("\r\n\r\n")
    kind = re.search(r"^Content-Type: ([^\r\n]+)", head, re.M)
    assert kind is not None
    return int(head.split()[1]), kind[1], json.loads(body)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("GET /v1/tools?q=zebras",), 400),
        (("GET /v1/tools HTTP/1.1", "zebras"), 400),
        (("POST /v1/tools HTTP/1.1", "Content-Length: zebras"), 400),
        (("POST /v1/tools HTTP/1.1", "Transfer-Encoding: zebras"), 501),
        (("POST /v1/tools HTTP/1.1", "Expect: zebras"), 417),
        ((f"GET /v1/tools?q={'zebras' * 2_000} HTTP/1.1",), 414),
        (("GET /v1/tools HTTP/1.1", f"X-Animals: {'zebras' * 4_000}"), 431),
        (("", "GET /v1/tools HTTP/1.1", f"X-Animals: {'zebras' * 4_000}"), 431),
    ],
)
def test_what_is_no_http_is_told_as_a_problem_and_logged_without_its_words(host, home, lines, status) -> None:
    found, kind, told = sent(host, *lines, "Host: here", "", "")
    assert (found, kind, told["status"], told["type"]) == (status, "application/problem+json", status, "about:blank")
    log = (home / "gunicorn.log").read_text()
    assert told["request_id"] in log
    assert "zebras" not in log


@pytest.mark.parametrize(
    ("asked", "headers", "status"), [("漢" * 2_000, {}, 414), ("a", {"X-Animals": "zebras" * 4_000}, 431)]
)
def test_what_is_too_long_for_the_server_is_in_the_description(person, ada, asked, headers, status) -> None:
    answer = person.get("/v1/facts", params={"q": asked}, headers={**ada.headers, **headers})
    described = person.get("/v1/openapi.json").json()["paths"]["/v1/facts"]["get"]["responses"]
    assert answer.status_code == status
    assert answer.headers["Content-Type"] in described[str(status)]["content"]


def test_a_body_whose_chunks_are_none_is_told_so(host, home, ada) -> None:
    token = f"Authorization: {ada.headers['Authorization']}"
    head = ("POST /v1/memory/entries HTTP/1.1", "Host: here", token, "Content-Type: application/json")
    found, kind, told = sent(host, *head, "Transfer-Encoding: chunked", "", "zebras", "{}", "0", "", "")
    assert (found, kind) == (400, "application/problem+json")
    assert told["detail"] == "the body is not sent in valid chunks"
    log = (home / "gunicorn.log").read_text()
    assert "Traceback" not in log
    assert "zebras" not in log


def test_headers_of_a_proxy_do_not_count_where_none_is_trusted(host, ada) -> None:
    found, _, _ = sent(host, "GET /x/v1/openapi.json HTTP/1.1", "Host: here", "SCRIPT_NAME: /x", *PROGRAM, "", "")
    login = {"email": ada.email, "password": "correct horse battery"}
    headers = {"X-Forwarded-Proto": "https"}
    cookie = httpx.post(f"{host}/login", data=login, headers=headers, timeout=60).headers["Set-Cookie"]
    assert (found, "Secure" in cookie) == (404, False)


def test_the_field_takes_no_more_than_is_searched(app: Flask, ada: Any) -> None:
    page = at_browser(app, ada).get("/search").text
    assert f'maxlength="{LONGEST_QUESTION}"' in page


@pytest.mark.parametrize(
    ("question", "said"), [("a" * 1_999, False), ("a" * 2_000, True), ("bee " * 500, True), ("😀" * 1_000, True)]
)
def test_who_fills_the_field_is_told_that_it_holds_no_more(app: Flask, ada: Any, question: str, said: bool) -> None:
    page = at_browser(app, ada).get("/search", query_string={"q": question}).text
    assert (CUT in page) is said
