"""A reply that streams in: one message when its last line has come, a partial one when it is cut."""

from __future__ import annotations

import gzip
import io
import json
import socket
import threading
import time
from contextlib import ExitStack

import pytest
from api_agent import fields, rows
from api_talk import Talk
from gunicorn_server import serving
from werkzeug.serving import make_server

from webapp.outside import STREAMS
from webapp.streams import BLOCK, patience, read_stream


@pytest.fixture
def talk(agent):
    return Talk(agent)


def lines(*items):
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


def pieces(text, size=3):
    return [{"delta": text[at : at + size]} for at in range(0, len(text), size)]


HEAD = {"role": "assistant", "client_id": "r-1", "model": "gpt-x"}
REPLY = "Under the mat, as ever."


def send(talk, body):
    return talk.agent.post(f"{talk.path}/messages/stream", data=body)


def shown(talk):
    return [(m["content"], m["partial"]) for m in talk.messages()]


def test_streams_leave_threads_to_everybody_else(talk):
    with ExitStack() as others:
        while others.enter_context(STREAMS.one()):
            pass
        refused = send(talk, lines(HEAD, *pieces(REPLY), {"done": True}))
        assert (refused.status_code, refused.headers["Retry-After"], shown(talk)) == (503, "5", [])
        assert "nothing was stored" in refused.json["detail"]
    assert send(talk, lines(HEAD, *pieces(REPLY), {"done": True})).status_code == 201


# --- what comes -------------------------------------------------------------------------------------------------------


def test_what_is_described_as_a_stream_is_one(talk):
    paths = talk.agent.get("/v1/openapi.json").json["paths"]
    body = paths["/v1/conversations/{conversation_id}/messages/stream"]["post"]["requestBody"]
    ((kind, described),) = body["content"].items()
    response = talk.agent.post(f"{talk.path}/messages/stream", data=described["example"], content_type=kind)
    assert (response.status_code, shown(talk)) == (201, [("Under the flowerpot.", False)])


def test_a_whole_stream_is_one_message(talk):
    talk.say("Where is the key?")
    response = send(talk, lines(HEAD, *pieces(REPLY), {"done": True, "payload": {"usage": 7}}))
    assert (response.status_code, response.json["results"][0]["outcome"]) == (201, "stored")
    message = talk.messages(payload="true")[1]
    assert {name: message[name] for name in ("role", "content", "client_id", "model", "partial", "payload")} == {
        **HEAD,
        "content": REPLY,
        "partial": False,
        "payload": {"usage": 7},
    }
    assert talk.head()["episodes"] == 1


def test_blank_lines_say_nothing(talk):
    send(talk, b"\n" + b"\n \r\n".join(lines(item) for item in [HEAD, *pieces(REPLY), {"done": True}]))
    assert shown(talk) == [(REPLY, False)]


def test_a_line_of_many_blocks_is_read_in_time_that_grows_with_it():
    picture = "x" * (15 * 1024 * 1024)
    body = lines(HEAD, {"delta": "Look"}, {"done": True, "payload": picture})
    began = time.thread_time()
    streamed = read_stream(io.BytesIO(body))
    assert (streamed.text, streamed.whole, streamed.payload == picture) == ("Look", True, True)
    # A tenth of a second; put together anew with every block, it took seven seconds and more.
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("off", range(-3, 4))
def test_a_line_may_end_wherever_a_block_does(off):
    head = lines(HEAD)
    first = BLOCK - len(head) - len(lines({"delta": ""})) + off
    streamed = read_stream(io.BytesIO(head + lines({"delta": "a" * first}, {"delta": "b"}, {"done": True})))
    assert (streamed.text, streamed.whole) == ("a" * first + "b", True)


def test_the_last_line_needs_no_end(talk):
    assert send(talk, lines(HEAD, *pieces(REPLY), {"done": True}).rstrip()).json["results"][0]["partial"] is False


def test_a_reply_that_was_received_is_a_duplicate_when_it_is_sent_again(talk):
    body = lines(HEAD, *pieces(REPLY), {"done": True})
    assert [send(talk, body).status_code, send(talk, body).status_code] == [201, 200]
    assert shown(talk) == [(REPLY, False)]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lines(HEAD, {"delta": "Under the"}), id="no end"),
        pytest.param(lines(HEAD, {"delta": "Under the"}) + b'{"delta": " ma', id="half a line"),
        pytest.param(lines(HEAD, {"delta": "Under the"}) + b'{"done"', id="half an end"),
        pytest.param(lines(HEAD, {"delta": "Under the"}, {"delta": "\ud83d"}), id="half a character"),
    ],
)
def test_a_stream_without_its_end_is_stored_as_partial_and_says_so(talk, body):
    talk.say("Where is the key?")
    response = send(talk, body)
    assert (response.status_code, response.json["results"][0]["partial"]) == (201, True)
    assert shown(talk)[1:] == [("Under the", True)]


def test_the_whole_message_takes_the_place_of_the_partial_one(talk, ada):
    talk.say("Where is the key?")
    part = send(talk, lines(HEAD, {"delta": "Under"})).json["results"][0]
    talk.say("Hello?")
    whole = send(talk, lines(HEAD, *pieces(REPLY), {"done": True}))
    result = whole.json["results"][0]
    assert (whole.status_code, result["outcome"], result["id"], result["sequence"]) == (201, "completed", part["id"], 2)
    assert shown(talk) == [("Where is the key?", False), (REPLY, False), ("Hello?", False)]
    assert talk.head()["total_tokens"] == sum(m["token_count"] for m in talk.messages())
    assert rows(ada, "SELECT text, version FROM episodes") == [(f"user: Where is the key?\nassistant: {REPLY}", 2)]


def test_the_whole_message_may_come_as_a_plain_one(talk):
    send(talk, lines(HEAD, {"delta": "Under"}))
    assert talk.say(REPLY, role="assistant", client_id="r-1")["outcome"] == "completed"
    assert shown(talk) == [(REPLY, False)]


def test_a_second_cut_keeps_what_is_longer(talk):
    outcomes = [
        send(talk, lines(HEAD, *({"delta": piece} for piece in said))).json["results"][0]["outcome"]
        for said in (["Under the"], ["Under"], ["Under the ", "mat"])
    ]
    assert outcomes == ["stored", "duplicate", "completed"]
    assert shown(talk) == [("Under the mat", True)]


def test_a_cut_retry_of_what_arrived_whole_changes_nothing(talk):
    send(talk, lines(HEAD, *pieces(REPLY), {"done": True}))
    assert send(talk, lines(HEAD, {"delta": "Under the"})).json["results"][0]["outcome"] == "duplicate"
    assert shown(talk) == [(REPLY, False)]


def test_a_partial_message_is_not_remembered_and_the_whole_one_is(talk):
    head = {**HEAD, "remember": True}
    part = send(talk, lines(head, {"delta": "I will water"})).json["results"][0]
    assert part["memory"] == {"id": None, "outcome": "none", "reason": "partial"}
    whole = send(talk, lines(head, {"delta": "I will water the plants on Monday"}, {"done": True})).json["results"][0]
    assert whole["memory"]["outcome"] == "created"
    assert talk.agent.texts() == ["I will water the plants on Monday"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param(b"", "line 1", id="nothing"),
        pytest.param(b"\n\n", "line 1", id="blank"),
        pytest.param(b"hello\n", "line 1", id="no JSON"),
        pytest.param(b"[1]\n", "line 1", id="no object"),
        pytest.param(lines({**HEAD, "role": "robot"}, {"delta": "a"}, {"done": True}), "role", id="role"),
        pytest.param(lines({**HEAD, "colour": "red"}, {"delta": "a"}, {"done": True}), "colour", id="unknown"),
        pytest.param(lines({**HEAD, "created_at": "9999-05-01T10:00Z"}, {"delta": "a"}), "created_at", id="to come"),
        pytest.param(lines(HEAD, {"delta": "a"}, {"delta": 7}, {"done": True}), "line 3", id="no text"),
        pytest.param(lines(HEAD, {"delta": "a", "x": 1}, {"done": True}), "line 2", id="more than a delta"),
        pytest.param(lines(HEAD, {"delta": "a"}) + b"oops\n" + lines({"done": True}), "line 3", id="no JSON between"),
        pytest.param(lines(HEAD, {"delta": "a"}, {"done": False}), "line 3", id="not done"),
        pytest.param(lines(HEAD, {"delta": "a"}, {"done": True, "x": 1}), "line 3", id="more than done"),
        pytest.param(lines(HEAD, {"done": True}), "content", id="no words"),
        pytest.param(lines(HEAD), "content", id="cut before the first word"),
        pytest.param(lines(HEAD, {"delta": "a\x00"}, {"done": True}), "content", id="NUL"),
        pytest.param(lines(HEAD, *([{"delta": "x" * 10_000}] * 110), {"done": True}), "content", id="too long"),
    ],
)
def test_what_is_no_message_stores_nothing(talk, body, field):
    response = send(talk, body)
    assert (response.status_code, fields(response)) == (422, [field])
    assert talk.messages() == []


def test_a_text_is_not_broken_where_its_bytes_are(talk):
    text = "Grüße aus Köln, 日本 und 🐝 " * 900
    send(talk, b"".join(json.dumps(p, ensure_ascii=False).encode() + b"\n" for p in [HEAD, *pieces(text)]))
    assert shown(talk) == [(text, True)]


@pytest.mark.parametrize("cut", ["whole", "partial"])
def test_a_character_that_is_cut_in_two_comes_together(talk, cut):
    end = [{"done": True}] if cut == "whole" else []
    send(talk, lines(HEAD, {"delta": "Bees \ud83d"}, {"delta": "\udc1d and \ud83d\udc1d"}, *end))
    assert shown(talk) == [("Bees 🐝 and 🐝", cut == "partial")]


@pytest.mark.parametrize("delta", ["\ud83d", "\udc1d\ud83d"])
def test_half_a_character_is_refused(talk, delta):
    assert fields(send(talk, lines(HEAD, {"delta": "Bees "}, {"delta": delta}, {"done": True}))) == ["content"]


def test_every_field_of_a_head_is_told_in_our_words(talk):
    head = {"role": "user", "client_id": "x" * 257, "model": "", "created_at": 1_700_000_000}
    assert send(talk, lines(head, {"delta": "a"}, {"done": True})).json["errors"] == [
        {"field": "client_id", "message": "must have at most 256 characters, not 257"},
        {"field": "model", "message": "must have at least 1 character, not 0"},
        {"field": "created_at", "message": "must be a date and time with a zone, such as 2024-05-01T09:00:00Z"},
    ]


def test_a_stream_that_is_compressed_answers_415(talk):
    body = gzip.compress(lines(HEAD, {"delta": "a"}, {"done": True}))
    response = talk.agent.ask("POST", f"{talk.path}/messages/stream", data=body, headers={"Content-Encoding": "gzip"})
    assert (response.status_code, talk.messages()) == (415, [])


@pytest.mark.parametrize("body", [lines(HEAD, *pieces(REPLY), {"done": True}), lines(HEAD, *pieces(REPLY))])
@pytest.mark.parametrize("closed_by", ["revoked_at", "expires_at"])
def test_what_comes_with_a_token_that_is_closed_meanwhile_is_not_stored(talk, ada, closed_by, body):
    class Body(io.BytesIO):
        def readinto(self, buffer):
            rows(ada, f"UPDATE tokens SET {closed_by} = now() - interval '1 second' RETURNING id")
            return super().readinto(buffer)

    response = talk.agent.post(f"{talk.path}/messages/stream", input_stream=Body(body), content_length=len(body))
    assert (response.status_code, rows(ada, "SELECT id FROM messages")) == (401, [])


# --- real servers, real sockets ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gunicorn(runtime, home, database_url):
    with serving(runtime, home, database_url) as port:
        yield port


@pytest.fixture(scope="module")
def development_server(app):
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["gunicorn", "development_server"])
def port(request):
    return request.getfixturevalue(request.param)


class Wire:
    """A connection that sends a chunked body piece by piece."""

    def __init__(self, port, talk):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        token = talk.agent.headers["Authorization"]
        self.socket.sendall(
            f"POST {talk.path}/messages/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n"
            "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )

    def send(self, body):
        self.socket.sendall(f"{len(body):x}\r\n".encode() + body + b"\r\n")

    def end(self):
        self.socket.sendall(b"0\r\n\r\n")
        answer = b""
        while b"\r\n\r\n" not in answer or not answer.rstrip().endswith(b"}"):
            answer += self.socket.recv(65536)
        return answer

    def cut(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def wait_for_messages(talk, how_many):
    deadline = time.monotonic() + 60
    while len(found := shown(talk)) < how_many:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_a_reply_in_chunks_is_stored_when_its_last_has_come(port, talk):
    wire = Wire(port, talk)
    for item in (HEAD, *pieces(REPLY)):
        wire.send(lines(item))
    time.sleep(0.3)
    assert talk.messages() == []
    wire.send(lines({"done": True}))
    answer = wire.end()
    assert answer.startswith(b"HTTP/1.1 201"), answer
    assert shown(talk) == [(REPLY, False)]


def test_a_reply_that_is_done_needs_no_end_of_the_body(gunicorn, talk):
    wire = Wire(gunicorn, talk)
    wire.send(lines(HEAD, *pieces(REPLY), {"done": True}))
    wire.cut()
    assert wait_for_messages(talk, 1) == [(REPLY, False)]


@pytest.mark.parametrize("rest", [b"", b'{"delta": " and the'])
def test_a_cut_connection_leaves_a_partial_message(gunicorn, talk, rest):
    wire = Wire(gunicorn, talk)
    for item in (HEAD, {"delta": "Under the"}, {"delta": " mat"}):
        wire.send(lines(item))
    if rest:
        wire.send(rest)
    wire.cut()
    assert wait_for_messages(talk, 1) == [("Under the mat", True)]


def test_a_cut_in_the_middle_of_a_chunk_loses_no_whole_line(gunicorn, talk):
    wire = Wire(gunicorn, talk)
    wire.send(lines(HEAD, {"delta": "Under the"}))
    wire.socket.sendall(b"40\r\n" + lines({"delta": " mat"}))
    time.sleep(0.2)
    wire.cut()
    found = wait_for_messages(talk, 1)
    assert found[0][1] is True
    assert found[0][0].startswith("Under the")


def test_a_long_reply_is_kept_up_to_the_cut(gunicorn, talk):
    wire = Wire(gunicorn, talk)
    wire.send(lines(HEAD))
    words = [f"word{n} " for n in range(8000)]
    for at in range(0, len(words), 50):
        wire.send(lines(*({"delta": word} for word in words[at : at + 50])))
    wire.cut()
    assert wait_for_messages(talk, 1) == [("".join(words), True)]


def test_after_a_cut_the_whole_reply_takes_its_place(gunicorn, talk):
    wire = Wire(gunicorn, talk)
    wire.send(lines(HEAD, {"delta": "Under"}))
    wire.cut()
    wait_for_messages(talk, 1)
    again = Wire(gunicorn, talk)
    again.send(lines(HEAD, *pieces(REPLY), {"done": True}))
    assert b'"completed"' in again.end()
    assert shown(talk) == [(REPLY, False)]


def test_a_body_that_ends_without_its_last_line_is_partial(development_server, talk):
    wire = Wire(development_server, talk)
    wire.send(lines(HEAD, {"delta": "Under the mat"}))
    wire.end()
    assert shown(talk) == [("Under the mat", True)]


def test_a_sender_that_falls_silent_is_given_up(talk):
    mine, theirs = socket.socketpair()
    with mine, theirs:
        with patience({"gunicorn.socket": mine}, 0.05), pytest.raises(TimeoutError):
            mine.recv(1)
        assert mine.gettimeout() is None


def test_a_slow_reply_holds_no_connection_to_the_database(gunicorn, talk, ada):
    wire = Wire(gunicorn, talk)
    wire.send(lines(HEAD, {"delta": "Under"}))
    time.sleep(0.5)
    held = """SELECT state FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND usename = current_user
        AND pid <> pg_backend_pid()"""
    deadline = time.monotonic() + 10
    # A busy server may still be at who asks; what is held for the reply, it lets go of when that has ended.
    while (busy := rows(ada, held)) and time.monotonic() < deadline:
        time.sleep(0.05)
    wire.send(lines({"done": True}))
    wire.end()
    assert busy == []
