"""A chat model behind a real HTTP endpoint."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest
from at_once import at_once
from chat_endpoint import ChatEndpoint, chat_endpoint
from endless_beginning import BEGINNINGS, beginning
from memory_taken import within

from memory.remote import llm
from memory.remote.llm import ChatModel, ChatModelError


@pytest.fixture
def endpoint() -> Iterator[ChatEndpoint]:
    with chat_endpoint() as serving:
        yield serving


@pytest.fixture
def model(endpoint: ChatEndpoint) -> ChatModel:
    return ChatModel(endpoint.url, "tiny", "s3cret", timeout=5)


@pytest.fixture
def hurried(endpoint: ChatEndpoint) -> ChatModel:
    return ChatModel(endpoint.url, "tiny", timeout=0.5)


def complete(model: ChatModel) -> str:
    return model.complete("Sum this up.", "Ada keeps bees.", max_tokens=77)


def refusal(model: ChatModel) -> str:
    with pytest.raises(ChatModelError) as caught:
        complete(model)
    return str(caught.value)


def test_a_model_is_asked_in_the_shape_of_openai_and_what_it_says_returned(
    model: ChatModel, endpoint: ChatEndpoint
) -> None:
    assert complete(model) == "Notes of the model."
    (asked,) = endpoint.requests
    assert (asked["model"], asked["max_tokens"], asked["stream"]) == ("tiny", 77, False)
    assert asked["messages"] == [
        {"role": "system", "content": "Sum this up."},
        {"role": "user", "content": "Ada keeps bees."},
    ]
    assert endpoint.keys == ["Bearer s3cret"]


def test_no_credential_is_sent(model: ChatModel, endpoint: ChatEndpoint) -> None:
    model.complete("Sum this up.", "CI pushes with ghp_16C7e42F292c6912E7710c838347Ae178B4a.", max_tokens=77)
    assert endpoint.requests[0]["messages"][1]["content"] == "CI pushes with [credential]."


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/chat/completions/"])
def test_an_address_may_be_given_as_people_paste_it(endpoint: ChatEndpoint, ending: str) -> None:
    complete(ChatModel(endpoint.url + ending, "tiny"))
    assert endpoint.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize("path", ["/v1", "/v1/chat/completions", "/v1/"])
def test_what_stands_behind_an_address_stays_there(endpoint: ChatEndpoint, path: str) -> None:
    complete(ChatModel(f"{endpoint.url}{path}?api-version=preview", "tiny"))
    assert endpoint.paths == ["/v1/chat/completions?api-version=preview"]


def test_a_path_of_its_own_stays(endpoint: ChatEndpoint) -> None:
    complete(ChatModel(f"{endpoint.url}/beta/openai/chat/completions", "tiny"))
    assert endpoint.paths == ["/beta/openai/chat/completions"]


def test_without_a_key_none_is_sent(endpoint: ChatEndpoint) -> None:
    complete(ChatModel(endpoint.url, "tiny"))
    assert endpoint.keys == [None]


@pytest.mark.parametrize("begun", ["<think>\n", ""])
def test_what_a_model_says_to_itself_is_left_out(model: ChatModel, endpoint: ChatEndpoint, begun: str) -> None:
    endpoint.said = f"{begun}Hm, bees?\n</think>\n\nAda keeps bees.\x00"
    assert complete(model) == "Ada keeps bees."


def test_what_is_said_of_thoughts_is_no_thought(model: ChatModel, endpoint: ChatEndpoint) -> None:
    endpoint.said = "Ada wants <think> and </think> left out."
    assert complete(model) == endpoint.said


def test_what_is_said_in_parts_is_put_together(model: ChatModel, endpoint: ChatEndpoint) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm, bees?"}]}
    endpoint.said = [thought, {"type": "text", "text": "Ada keeps "}, {"type": "text", "text": "bees."}]
    assert complete(model) == "Ada keeps bees."


@pytest.mark.parametrize("said", [[], [{"type": "thinking", "thinking": []}], [{"type": "tool_use", "id": "1"}]])
def test_parts_that_say_nothing_are_nothing(model: ChatModel, endpoint: ChatEndpoint, said: object) -> None:
    endpoint.said = said
    assert refusal(model) == "the model endpoint answered nothing"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_what_a_model_could_not_say_to_its_end_is_left_out(
    model: ChatModel, endpoint: ChatEndpoint, reason: str
) -> None:
    endpoint.said, endpoint.finish_reason = "Ada keeps bees. Her rent is 1", reason
    assert complete(model) == "Ada keeps bees."
    assert model.ask("List it.", "Ada keeps bees.", str, max_tokens=77) == endpoint.said
    endpoint.said = "Ada keeps"
    assert complete(model) == "Ada keeps"


TOO_NEW = {
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
    "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
}


def test_a_model_that_wants_a_request_in_other_words_is_asked_in_these(
    model: ChatModel, endpoint: ChatEndpoint
) -> None:
    endpoint.refuses = TOO_NEW
    assert [complete(model), complete(model)] == ["Notes of the model."] * 2
    *learning, second = endpoint.requests
    assert len(learning) == 3
    assert not {"max_tokens", "temperature"} & set(second)
    # What such a model thinks counts as well.
    assert second["max_completion_tokens"] > 77 + 1000


def test_who_asks_at_the_same_time_learns_the_words_as_well(model: ChatModel, endpoint: ChatEndpoint) -> None:
    endpoint.refuses, both = TOO_NEW, threading.Barrier(2)
    # Neither is answered before the other has asked, each time.
    endpoint.meanwhile = lambda: both.wait(10)
    assert at_once(*[partial(complete, model)] * 2) == ["Notes of the model."] * 2


def test_a_model_that_refuses_what_it_is_sent_no_more_is_not_asked_without_end(
    model: ChatModel, endpoint: ChatEndpoint
) -> None:
    endpoint.refuses = {"model": TOO_NEW["temperature"]}
    assert refusal(model) == "the model endpoint answered HTTP 400"
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("said", ["", "  \n", "<think>only this</think>", "<think>Okay, the user wants", None, 7])
def test_an_answer_of_nothing_is_none(model: ChatModel, endpoint: ChatEndpoint, said: object) -> None:
    endpoint.said = said
    assert refusal(model) == "the model endpoint answered nothing"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": 1}]}'])
def test_an_answer_in_another_shape_is_refused(model: ChatModel, endpoint: ChatEndpoint, body: bytes) -> None:
    endpoint.body = body
    assert refusal(model) == "the model endpoint answered in an unknown shape"


@pytest.mark.parametrize(("code", "requests"), [(429, 1), (502, 1), (402, 2)])
def test_an_error_that_comes_as_a_success_is_one(
    model: ChatModel, endpoint: ChatEndpoint, code: int, requests: int
) -> None:
    endpoint.body = json.dumps({"error": {"message": "Ada keeps bees.", "code": code}}).encode()
    assert refusal(model) == f"the model endpoint answered with error {code}"
    refusal(model)
    assert len(endpoint.requests) == requests


@pytest.mark.parametrize("error", [{"code": "busy"}, {"code": 10**30}, {"code": None}, "busy", None])
def test_an_error_without_a_status_is_an_unknown_shape(model: ChatModel, endpoint: ChatEndpoint, error: object) -> None:
    endpoint.body = json.dumps({"error": error}).encode()
    assert refusal(model) == "the model endpoint answered in an unknown shape"


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_is_told_by_its_status(model: ChatModel, endpoint: ChatEndpoint, status: int) -> None:
    endpoint.status = status
    assert refusal(model) == f"the model endpoint answered HTTP {status}"


def test_a_slow_endpoint_is_given_up(hurried: ChatModel, endpoint: ChatEndpoint) -> None:
    endpoint.delay = 1.5
    assert refusal(hurried) == "the model endpoint did not answer (ReadTimeout)"


def test_an_endpoint_that_drips_is_given_up(hurried: ChatModel, endpoint: ChatEndpoint) -> None:
    endpoint.said, endpoint.drip = "word " * 2000, 0.05
    began = time.monotonic()
    assert refusal(hurried) == "the model endpoint did not finish in time"
    # To its end it would take half a minute.
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_an_answer_that_only_ever_begins_is_given_up(kind: str) -> None:
    with beginning(kind) as url:
        began = time.monotonic()
        assert refusal(ChatModel(url, "tiny", timeout=0.5)) == "the model endpoint did not answer (ReadTimeout)"
        assert time.monotonic() - began < 10


def test_an_answer_may_be_compressed(model: ChatModel, endpoint: ChatEndpoint) -> None:
    answer = json.dumps({"choices": [{"message": {"content": "Notes."}}]}).encode()
    endpoint.body, endpoint.headers = gzip.compress(answer), {"Content-Encoding": "gzip"}
    assert complete(model) == "Notes."


def test_what_was_compressed_is_never_whole_in_memory(model: ChatModel, endpoint: ChatEndpoint) -> None:
    endpoint.body, endpoint.headers = gzip.compress(bytes(1 << 26)), {"Content-Encoding": "gzip"}
    with within(1 << 24):
        assert refusal(model) == "the model endpoint answered too much"


def test_what_comes_after_the_end_of_what_was_compressed_is_not_kept(model: ChatModel, endpoint: ChatEndpoint) -> None:
    answer = json.dumps({"choices": [{"message": {"content": "Notes."}}]}).encode()
    endpoint.body, endpoint.headers = gzip.compress(answer) + bytes(1 << 24), {"Content-Encoding": "gzip"}
    with within(1 << 23):
        assert complete(model) == "Notes."


@pytest.mark.parametrize("encoding", ["gzip, gzip", "deflate", "br"])
def test_an_encoding_that_was_not_asked_for_is_refused(model: ChatModel, endpoint: ChatEndpoint, encoding: str) -> None:
    endpoint.body, endpoint.headers = gzip.compress(gzip.compress(b"{}")), {"Content-Encoding": encoding}
    assert refusal(model) == "the model endpoint did not answer (DecodingError)"


def test_an_endless_answer_is_given_up(model: ChatModel, endpoint: ChatEndpoint) -> None:
    endpoint.body = b"x" * (llm.LARGEST_ANSWER + 100_000)
    assert refusal(model) == "the model endpoint answered too much"


def test_an_endpoint_that_is_away_is_left_alone_for_a_while(endpoint: ChatEndpoint) -> None:
    endpoint.status = 503
    model = ChatModel(endpoint.url, "tiny")
    assert [refusal(model), refusal(model)] == [
        "the model endpoint answered HTTP 503",
        "the model endpoint failed a moment ago",
    ]
    assert len(endpoint.requests) == 1


def test_who_listens_hears_of_each_time_it_was_asked_and_of_no_other(endpoint: ChatEndpoint) -> None:
    heard: list[str | None] = []
    model = ChatModel(endpoint.url, "tiny", heard=lambda _model, error: heard.append(error and str(error)))
    useless = [(200, "")] * 3
    for status, said in (*useless, (200, "Notes."), *useless[1:], (503, ""), (200, "Not asked any more.")):
        endpoint.status, endpoint.said = status, said
        with suppress(ChatModelError):
            complete(model)
    nothing = "the model endpoint answered nothing"
    assert heard == [None, None, nothing, None, None, None, "the model endpoint answered HTTP 503"]


def test_an_endpoint_that_answers_without_an_end_is_left_alone_for_a_while(
    model: ChatModel, endpoint: ChatEndpoint
) -> None:
    endpoint.body = b"x" * (llm.LARGEST_ANSWER + 1)
    refusal(model)
    assert refusal(model) == "the model endpoint failed a moment ago"
    assert len(endpoint.requests) == 1


def test_a_model_that_failed_is_asked_again_after_the_pause(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm, "PAUSE", 0.05)
    endpoint.status = 503
    model = ChatModel(endpoint.url, "tiny")
    refusal(model)
    endpoint.status = 200
    time.sleep(0.1)
    assert complete(model) == "Notes of the model."


@pytest.mark.parametrize(
    ("asked", "requests"), [("30", 1), ("0", 2), ("soon", 2), ("Fri, 31 Dec 1999 23:59:59 GMT", 2)]
)
def test_a_model_is_left_alone_for_as_long_as_it_asks(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch, asked: str, requests: int
) -> None:
    monkeypatch.setattr(llm, "PAUSE", 0.05)
    endpoint.status, endpoint.headers = 429, {"Retry-After": asked}
    model = ChatModel(endpoint.url, "tiny")
    refusal(model)
    time.sleep(0.1)
    refusal(model)
    assert len(endpoint.requests) == requests


def test_a_text_that_it_refuses_keeps_nobody_else_away(model: ChatModel, endpoint: ChatEndpoint) -> None:
    endpoint.status = 400
    refusal(model)
    endpoint.status = 200
    assert complete(model) == "Notes of the model."


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://[", "http://nowhere.invalid"])
def test_an_endpoint_that_is_not_there_is_told_without_its_address(url: str) -> None:
    message = refusal(ChatModel(url, "tiny", "s3cret", timeout=2))
    assert message.startswith("the model endpoint did not answer")
    assert "nowhere" not in message
    assert "127.0.0.1" not in message


def test_a_key_that_no_header_can_carry_is_not_quoted(endpoint: ChatEndpoint) -> None:
    message = refusal(ChatModel(endpoint.url, "tiny", "s3cr\u00e9t"))
    assert "characters that a header cannot carry" in message
    assert "s3cr" not in message


def test_a_model_does_not_show_its_key() -> None:
    assert "s3cret" not in repr(ChatModel("http://x", "tiny", "s3cret"))
