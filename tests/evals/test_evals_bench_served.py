from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from secrets_of_tests import PASSWORD
from werkzeug.serving import make_server

from evals.bench_furnish import PREFERENCES, SEARCHES, furnish
from evals.bench_http import WARM_UP, HttpBench, RefusedError, address_of, bench_http
from evals.bench_http import to_text as http_to_text
from evals.bench_pages import GOAL, LARGEST, Page, PagesBench, bench_pages, shape
from evals.bench_pages import to_dict as pages_to_dict
from evals.cli import bench_group
from evals.corpus import WordModel
from evals.timing import Latency
from memory.spaces.spaces import create_space
from memory.storage.database import user_session

pytestmark = pytest.mark.slow

NOW = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def address(app) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


@pytest.fixture
def with_bench_space(root):
    with user_session(root.runtime.sessions, root.id) as session:
        create_space(session, root.id, "bench", soft_cap=100, now=NOW, actor="test")
    return root


def test_questions_are_asked_first_then_again_then_by_many_at_once(address, client, ada) -> None:
    client.post("/v1/memory/entries", json={"text": "The kiln reaches cone ten by noon"}, headers=ada.headers)
    questions = WordModel().questions(WARM_UP + 6)
    found = bench_http(address, ada.token, "default", questions, clients=(3,))
    assert (found.first.count, found.again.count, found.bare.count) == (6, 6, len(questions))
    assert [(each.clients, each.latency.count) for each in found.crowds] == [(3, 18)]
    assert found.bare.p50 < found.again.p50
    asked = client.get("/v1/tool-calls?tool=memory_search&limit=100", headers=ada.headers).json["calls"]
    assert len(asked) == WARM_UP + 6 + 6 + 18


def test_a_measurement_is_held_against_one_of_the_same_space(address, with_bench_space, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    asked = ["http", address, "--token", with_bench_space.token, "--queries", "20", "--clients", "1", "--check"]
    for space in ("default", "bench"):
        done = CliRunner().invoke(bench_group, [*asked, "--space", space])
        assert (done.exit_code, "no earlier run" in done.output) == (0, True), done.output
    kept = [json.loads(each.read_text()) for each in (tmp_path / "bench").glob("*.json")]
    assert {each["parameters"]["space"] for each in kept} == {"default", "bench"}
    # What is asked again needs neither a vector nor reading: a search that has slowed down by these would pass.
    assert all("asked for the first time / bare request" in each["ratios"] for each in kept)


def test_who_was_answered_without_reading_is_counted(address, client, ada, busy_reader) -> None:
    found = ask_of_the_kiln(address, client, ada, reading_ms=1)
    assert (found.unread, found.crowds[0].unread) == (1.0, 1.0)
    assert http_to_text(found).count("100.0") == 2


def test_who_had_time_to_read_is_not_counted(address, client, ada) -> None:
    found = ask_of_the_kiln(address, client, ada, reading_ms=60_000)
    assert (found.unread, found.crowds[0].unread) == (0.0, 0.0)


def ask_of_the_kiln(address: str, client, person, *, reading_ms: int) -> HttpBench:
    client.post("/v1/memory/entries", json={"text": "The kiln reaches cone ten by noon"}, headers=person.headers)
    chosen = client.patch("/v1/spaces/default", json={"policy": {"reading_ms": reading_ms}}, headers=person.headers)
    assert chosen.json["policy"]["reading_ms"] == reading_ms
    questions = [f"When was the kiln at cone ten on day {number}?" for number in range(WARM_UP + 5)]
    return bench_http(address, person.token, "default", questions, clients=(2,))


def test_a_search_that_is_refused_ends_the_measurement(address) -> None:
    with pytest.raises(RefusedError, match="401"):
        bench_http(address, "cp_nobody", "default", WordModel().questions(WARM_UP + 1))
    with pytest.raises(RefusedError, match="404"):
        bench_http(f"{address}/elsewhere/", "cp_nobody", "default", WordModel().questions(WARM_UP + 1))


@pytest.mark.parametrize(
    ("base_url", "kind", "host", "port", "prefix"),
    [
        ("http://127.0.0.1:8000", http.client.HTTPConnection, "127.0.0.1", 8000, ""),
        ("http://127.0.0.1/", http.client.HTTPConnection, "127.0.0.1", 80, ""),
        ("https://memory.example.org/notes/", http.client.HTTPSConnection, "memory.example.org", 443, "/notes"),
    ],
)
def test_a_server_is_spoken_to_as_its_address_says(base_url, kind, host, port, prefix) -> None:
    address = address_of(base_url)
    found = address.connect()
    assert (type(found), found.host, found.port, address.prefix) == (kind, host, port, prefix)


@pytest.mark.parametrize("base_url", ["localhost:8000", "127.0.0.1", "ftp://x", "https://", "http://x:99999"])
def test_what_is_no_address_is_refused_before_a_token_goes_out(base_url: str) -> None:
    result = CliRunner().invoke(bench_group, ["http", base_url, "--token", "cp_x"])
    assert (result.exit_code, "Invalid value for '[BASE_URL]'" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP as it should: SSH-2.0-OpenSSH_9.2"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "is no answer of a search, .*: <html>"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"hi"', 'is no answer of a search, .*: "hi"'),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "is no answer of a search, .*: {}"),
    ],
)
def test_another_server_ends_the_measurement_in_words(answer: bytes, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(answer)

        with ThreadPoolExecutor(1) as threads:
            answering = threads.submit(answer_once)
            address = f"http://127.0.0.1:{server.getsockname()[1]}"
            with pytest.raises(RefusedError, match=said):
                bench_http(address, "cp_x", "s", WordModel().questions(WARM_UP + 1))
            answering.result()


def test_a_token_goes_to_an_address_of_https_by_tls_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        heard: list[bytes] = []

        def listen() -> None:
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(5))

        with ThreadPoolExecutor(1) as threads:
            listening = threads.submit(listen)
            with pytest.raises((ssl.SSLError, ConnectionError)):
                bench_http(
                    f"https://127.0.0.1:{server.getsockname()[1]}", "cp_x", "s", WordModel().questions(WARM_UP + 1)
                )
            listening.result()
    # What a handshake begins with, not `POST `.
    assert heard[0][:2] == b"\x16\x03"


def test_goals_are_of_the_95th_percentile() -> None:
    quick, slow = Latency(5.0, 15.0, 9), Latency(5.0, 15.1, 9)
    assert HttpBench(quick, quick, quick, (), 0.0).goals_met
    assert not HttpBench(quick, quick, slow, (), 0.0).goals_met
    assert http_to_text(HttpBench(quick, quick, slow, (), 0.0)).count("MISSED") == 1


def test_a_furnished_user_has_a_record(address, client, with_bench_space) -> None:
    person = with_bench_space
    furnish(address, person.token, WordModel())
    calls = client.get("/v1/tool-calls?tool=memory_search&limit=100", headers=person.headers).json["calls"]
    assert len(calls) == SEARCHES
    assert client.get("/v1/preferences", headers=person.headers).json["document"] == PREFERENCES


def test_pages_are_found_by_their_links_and_timed(address, client, with_bench_space, monkeypatch) -> None:
    monkeypatch.setattr("evals.bench_pages.ROUNDS", 1)
    monkeypatch.setattr("evals.bench_pages.WARM_UP", 0)
    person = with_bench_space
    client.post("/v1/memory/entries", json={"text": "The kiln reaches cone ten by noon"}, headers=person.headers)
    found = bench_pages(address, person.email, PASSWORD)
    paths = {each.path for each in found.pages}
    assert {"/", "/memories", "/memories/*", "/memories/*/edit", "/notebooks/*", "/admin", "/account"} <= paths
    assert {"/memories, typing 'really'", "/memories, typing 'really like'"} <= paths
    assert {"run a cell: recall", "run a cell: growth", "run a cell: latency"} <= paths
    assert [each.latency.p95 for each in found.pages] == sorted((e.latency.p95 for e in found.pages), reverse=True)
    assert all(each.size > 1000 for each in found.pages)


def test_a_login_that_fails_is_told(address, ada) -> None:
    with pytest.raises(RuntimeError, match="login"):
        bench_pages(address, ada.email, "not the password")


def test_addresses_of_one_shape_are_one_page() -> None:
    one, other = "0199aaaa-0000-7000-8000-000000000001", "0199aaaa-0000-7000-8000-000000000002"
    assert shape(f"/memories/{one}?next=/") == shape(f"/memories/{other}?next=/memories") == "/memories/*?next"
    assert shape("/preferences/versions/12") == "/preferences/versions/*"


@pytest.mark.parametrize(
    ("p95", "size", "met"), [(GOAL - 0.1, LARGEST, True), (GOAL, LARGEST, False), (1.0, LARGEST + 1, False)]
)
def test_a_page_must_be_quick_and_small(p95: float, size: int, met: bool) -> None:
    bench = PagesBench(Latency(2.0, 3.0, 9), (Page("/", Latency(8.0, p95, 9), size),))
    assert pages_to_dict(bench)["goals_met"] is met
    assert bench.ratios == {"slowest page / bare": 4.0, "median page / bare": 4.0}
