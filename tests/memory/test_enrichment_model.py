"""A language model reads where one is set; what it says is checked, and the rules stand in for it."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memory.enrichment.findings import Name, Tag
from memory.enrichment.model import INSTRUCTION, findings_by_model
from memory.enrichment.read import read_texts
from memory.remote.llm import ChatModel, ChatModelError

TEXT = "Anna moved to Porto. She works on Project Apollo there."
GOOD = {
    "entities": [
        {"name": "Anna", "type": "Person", "confidence": 0.9},
        {"name": "Project Apollo", "type": "project"},
        {"name": "Rome", "type": "place", "confidence": 1.0},
        {"name": "Porto", "type": "volcano", "confidence": 0.7},
    ],
    "tags": [{"tag": "Moving  House", "confidence": 0.8}],
}


class Endpoint(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint that says what it is told to say."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.said: str | None = json.dumps(GOOD)
        self.asked: list[dict] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
        said = self.server.said
        answer = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
        self.send_response(200 if said is not None else 500)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint():
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def model(endpoint):
    return ChatModel(endpoint.url, "test")


def test_names_of_a_model_come_with_the_sentences_that_have_them(model):
    assert findings_by_model(model, TEXT).names == (
        Name("Anna", "person", "Anna moved to Porto.", 0.9),
        Name("Project Apollo", "project", "She works on Project Apollo there.", 0.8),
        Name("Porto", "other", "Anna moved to Porto.", 0.7),
    )


def test_tags_of_a_model_are_folded(model):
    assert findings_by_model(model, TEXT).tags == (Tag("moving house", 0.8),)


def test_tags_of_a_model_hold_nothing_that_no_column_does(model, endpoint):
    endpoint.said = '{"entities": [], "tags": [{"tag": "a\\u0000bc"}]}'
    assert findings_by_model(model, TEXT).tags == (Tag("abc", 0.8),)


def test_the_text_is_told_apart_from_the_instruction(model, endpoint):
    findings_by_model(model, TEXT)
    assert [message["content"] for message in endpoint.asked[0]["messages"]] == [INSTRUCTION, TEXT]


def test_a_fence_around_the_answer_is_no_matter(model, endpoint):
    endpoint.said = f"Here you are:\n```json\n{json.dumps(GOOD)}\n```"
    assert findings_by_model(model, TEXT).tags


def test_a_model_that_says_one_name_over_and_over_holds_nobody_up(model, endpoint):
    endpoint.said = json.dumps({"entities": [{"name": "Anna", "type": "person"}] * 1000, "tags": []})
    began = time.monotonic()
    found = findings_by_model(model, "Anna is there. " * 500).names
    assert [name.name for name in found] == ["Anna"]
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("bad", [{"name": "Porto", "confidence": "high"}, {"name": "Porto", "confidence": 95}, 7, None])
def test_a_name_of_another_shape_takes_no_other_along(model, endpoint, bad):
    endpoint.said = json.dumps({"entities": [{"name": "Anna", "type": "person"}, bad], "tags": [{"tag": "a"}, bad]})
    found = findings_by_model(model, TEXT)
    assert ([name.name for name in found.names], found.tags) == (["Anna"], (Tag("a", 0.8),))


def test_names_and_tags_may_stand_bare(model, endpoint):
    endpoint.said = json.dumps({"entities": ["Anna"], "tags": ["Moving house"]})
    found = findings_by_model(model, TEXT)
    assert ([name.name for name in found.names], found.tags) == (["Anna"], (Tag("moving house", 0.8),))


def test_of_two_kinds_of_one_name_the_surer_counts(model, endpoint):
    kinds = [{"name": "Anna", "type": "place", "confidence": 0.4}, {"name": "anna", "type": "person"}]
    endpoint.said = json.dumps({"entities": kinds, "tags": []})
    assert {name.type for name in findings_by_model(model, TEXT).names} == {"person"}


@pytest.mark.parametrize(
    "said",
    [
        "I would rather not.",
        "{}",
        '{"entities": [], "tags": "none"}',
        '{"entities": [{"name": "Anna", "confidence": 3}], "tags": []}',
        '{"entities": [{"name": "Anna"',
    ],
)
def test_an_answer_of_another_shape_is_refused(model, endpoint, said):
    endpoint.said = said
    with pytest.raises(ChatModelError, match="another shape"):
        findings_by_model(model, TEXT)


def test_no_answer_is_an_error_of_its_own(model, endpoint):
    endpoint.said = None
    with pytest.raises(ChatModelError):
        findings_by_model(model, TEXT)


@pytest.mark.parametrize("said", [None, "I would rather not."])
def test_the_rules_stand_in_for_it(model, endpoint, said):
    endpoint.said = said
    (found,) = read_texts(["My sister Anna called."], model)
    assert [name.name for name in found.names] == ["Anna"]


def test_a_model_that_never_answers_in_the_shape_asked_for_is_told_to_fail(endpoint):
    heard = []
    model = ChatModel(endpoint.url, "test", heard=lambda _model, error: heard.append(error))
    endpoint.said = "My sister Anna called."
    read_texts(["My sister Anna called."] * 4, model)
    shape = "the model endpoint answered in another shape than asked for"
    assert [error and str(error) for error in heard] == [None, None, shape, shape]


def test_what_it_answers_wrongly_is_logged_without_the_text(model, endpoint, caplog):
    endpoint.said = '{"entities": "My sister Anna called."}'
    read_texts(["My sister Anna called."], model)
    assert "another shape" in caplog.text
    assert "Anna" not in caplog.text


def test_an_endpoint_that_is_away_is_asked_once(model, endpoint):
    endpoint.said = None
    read_texts(["My sister Anna called."] * 5, model)
    assert len(endpoint.asked) == 1


def test_an_endpoint_that_is_away_is_logged_once(model, endpoint, caplog):
    endpoint.said = None
    read_texts(["My sister Anna called."] * 5, model)
    read_texts(["My brother Ben called."] * 5, model)
    assert caplog.text.count("without the language model") == 1
    assert "HTTP 500" in caplog.text


def test_where_it_answers_no_rule_adds_anything(model, endpoint):
    endpoint.said = '{"entities": [], "tags": []}'
    (found,) = read_texts(["My sister Anna called."], model)
    assert found.names == ()
