"""Elements of a history that are odd, empty, unknown or too deep: which are refused, and which are kept."""

from __future__ import annotations

from typing import Any

import pytest
from api_agent import Agent, fields
from api_talk import Talk

GOOD: dict[str, dict[str, Any]] = {
    "openai": {"role": "user", "content": "Hello"},
    "anthropic": {"role": "user", "content": "Hello"},
    "pydantic_ai": {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hello"}]},
}
ODD: tuple[Any, ...] = ([], {}, ["user"], {"request": 1}, 1, True, None)


@pytest.fixture
def talk(client, ada):
    return Talk(Agent(client, ada.headers))


@pytest.mark.parametrize(
    ("format_", "element"),
    [
        ("openai", {"role": "robot", "content": "a"}),
        ("openai", {"content": "a"}),
        ("openai", {"role": "user", "content": 7}),
        ("openai", "hello"),
        ("openai", {"type": "human", "content": "a"}),
        ("anthropic", {"role": "tool", "content": "a"}),
        ("anthropic", {"role": "user", "content": None}),
        ("anthropic", {"role": "user"}),
        ("pydantic_ai", {"kind": "request"}),
        ("pydantic_ai", {"kind": "question", "parts": []}),
        ("pydantic_ai", {"kind": "request", "parts": ["hello"]}),
        ("pydantic_ai", {"kind": "request", "parts": [{"content": "a"}]}),
        ("pydantic_ai", None),
        *((format_, {"role": odd, "kind": odd, "content": "a", "parts": []}) for format_ in GOOD for odd in ODD),
    ],
)
def test_what_is_no_message_of_the_format_stores_nothing(talk, format_, element):
    response = talk.post({"format": format_, "history": [GOOD[format_], element]})
    assert (response.status_code, fields(response)) == (422, ["history.1"])
    assert talk.messages() == []


@pytest.mark.parametrize(
    ("format_", "element"),
    [
        ("openai", {"role": "user"}),
        ("openai", {"role": "user", "content": ""}),
        ("openai", {"role": "system", "content": None}),
        ("openai", {"role": "user", "content": "\x00"}),
        ("openai", {"role": "user", "content": "", "kind": "request"}),
        ("anthropic", {"role": "user", "content": []}),
        ("anthropic", {"role": "user", "content": [{"type": "text", "text": " \n"}]}),
        ("pydantic_ai", {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ""}]}),
    ],
)
def test_a_question_that_says_nothing_is_refused_in_every_format(talk, format_, element):
    for way in ("messages", "merge"):
        response = talk.agent.post(f"{talk.path}/{way}", {"format": format_, "history": [GOOD[format_], element]})
        assert (response.status_code, fields(response)) == (422, ["history.1.content"])
    assert talk.messages() == []


@pytest.mark.parametrize(
    ("format_", "element"),
    [
        ("openai", {"role": "assistant", "content": None}),
        ("openai", {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look_up"}}]}),
        ("openai", {"role": "tool", "tool_call_id": "c1", "content": ""}),
        ("anthropic", {"role": "assistant", "content": []}),
        ("pydantic_ai", {"kind": "response", "parts": []}),
        ("pydantic_ai", {"kind": "request", "parts": [], "instructions": "Go on."}),
    ],
)
def test_what_a_model_or_a_tool_leaves_empty_is_kept(talk, format_, element):
    assert talk.post({"format": format_, "history": [element]}).status_code == 201
    assert talk.history(format_) == [element]


@pytest.mark.parametrize("format_", ["openai", "anthropic"])
def test_what_no_version_of_a_format_knows_yet_is_kept_too(talk, format_):
    element = {"role": "user", "content": [1, {"type": {}}, None, {"type": "smell", "of": "rain"}], "z": "\ud800"}
    assert talk.post({"format": format_, "history": [element]}).status_code == 201
    assert talk.history(format_) == [element]


@pytest.mark.parametrize("format_", ["openai", "anthropic"])
def test_an_element_nested_too_deeply_is_refused(talk, format_):
    deep = "[" * 300 + "]" * 300
    body = f'{{"format": "{format_}", "history": [{{"role": "user", "content": {deep}}}]}}'
    response = talk.agent.post(f"{talk.path}/messages", data=body, content_type="application/json")
    assert (response.status_code, fields(response)) == (422, ["history.0"])


def test_a_mark_for_the_provider_s_cache_is_no_word_of_anybody(talk):
    said = {"part_kind": "user-prompt", "content": ["Hello", {"kind": "cache-point"}]}
    talk.post({"format": "pydantic_ai", "history": [{"kind": "request", "parts": [said]}]})
    assert [message["content"] for message in talk.messages()] == ["Hello"]
