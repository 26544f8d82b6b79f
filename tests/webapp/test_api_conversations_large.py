"""Histories that are larger than what may be sent at once, for the pictures in them."""

from __future__ import annotations

import pytest
from api_agent import Agent
from api_talk import Talk


@pytest.fixture
def talk(client, ada):
    return Talk(Agent(client, ada.headers))


@pytest.fixture
def pictures(talk):
    """Return a conversation with four pictures of six megabytes that a tool took, each with its call."""
    for number in range(4):
        call = {"type": "tool_use", "id": f"p{number}", "name": "photograph", "input": {}}
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 6_000_000}}
        result = {"type": "tool_result", "tool_use_id": f"p{number}", "content": [picture]}
        elements = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        assert talk.post({"format": "anthropic", "history": elements}).status_code == 201
    return talk


@pytest.mark.parametrize("strategy", ["truncate", "window", "hybrid"])
def test_a_context_has_no_more_than_may_be_sent_however_few_words_there_are(pictures, strategy):
    path = f"{pictures.path}/context"
    answer = pictures.agent.get(path, format="anthropic", strategy=strategy, max_messages=8).json
    assert (len(answer["history"]), answer["left_out"]) == (4, 4)
    # Of words alone there are few enough.
    assert len(pictures.agent.get(path, strategy=strategy, max_messages=8).json["messages"]) == 8


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("shape", [{"format": "anthropic"}, {"payload": "true"}])
def test_a_page_ends_where_it_has_as_much_as_may_be_sent(pictures, order, shape):
    sizes, cursor = [], {}
    while cursor != {"cursor": None}:
        page = pictures.agent.get(f"{pictures.path}/messages", limit=1000, order=order, **shape, **cursor).json
        sizes.append(len(page.get("history", page.get("messages"))))
        cursor = {"cursor": page["next_cursor"]}
    assert sizes == ([6, 2] if order == "asc" else [5, 3])
