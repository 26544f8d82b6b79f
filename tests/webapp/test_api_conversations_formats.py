"""Histories of other libraries, with their own types, through the interface and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import pytest
from api_agent import Agent, fields, rows
from api_talk import Talk
from pydantic import TypeAdapter

if TYPE_CHECKING:
    from anthropic.types import MessageParam
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.responses import ResponseInputItemParam

OPENAI: list[ChatCompletionMessageParam] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "system", "content": [{"type": "text", "text": "Answer in English."}]},
    {
        "role": "user",
        "name": "ada",
        "content": [
            {"type": "text", "text": "What is in this picture?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/y.png", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "wav"}},
            {"type": "file", "file": {"filename": "notes.pdf", "file_data": "YWJj"}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look_at", "arguments": '{"times":  2}'}},
            {"id": "c2", "type": "custom", "custom": {"name": "look_up", "input": "heron"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"birds": ["heron"]}'},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "A wading bird."}]},
    {"role": "assistant", "content": "A heron.", "refusal": None, "audio": {"id": "audio_1"}},
    {"role": "user", "content": "And what does it weigh?"},
    {"role": "assistant", "refusal": "I would rather not say."},
    {"role": "function", "name": "weigh", "content": None},
    {"role": "assistant", "content": "Ünsicher \u2028 \x00 \U0001f41d"},
]

PIXELS = "data:image/png;base64,iVBORw0KGgo="
# What an agent of the OpenAI Agents SDK keeps: the items of Responses, with what each is to a reader.
RESPONSES: list[tuple[ResponseInputItemParam, tuple[str, str]]] = [
    ({"role": "user", "content": "What does a heron weigh?"}, ("user", "What does a heron weigh?")),
    (
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I should look it up."}]},
        ("tool_call", "[thought] I should look it up."),
    ),
    ({"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "eHh4"}, ("tool_call", "[thought]")),
    (
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look_up", "arguments": '{"bird": "heron"}'},
        ("tool_call", '[tool call] look_up {"bird": "heron"}'),
    ),
    (
        {"type": "custom_tool_call", "call_id": "c2", "name": "sketch", "input": "a heron"},
        ("tool_call", "[tool call] sketch a heron"),
    ),
    ({"type": "function_call_output", "call_id": "c1", "output": "1.5 kg"}, ("tool_result", "[tool result] 1.5 kg")),
    (
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "Here."}, {"type": "input_image", "image_url": PIXELS}],
        },
        ("tool_result", "[tool result] Here.\n[image]"),
    ),
    (
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "egret"},
        },
        ("tool_call", '[tool call] web_search {"type": "search", "query": "egret"}'),
    ),
    (
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["egret"], "results": None},
        ("tool_call", '[tool call] file_search ["egret"]'),
    ),
    (
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "container_id": "k",
            "code": "print(3 / 2)",
            "outputs": [{"type": "logs", "logs": "1.5"}, {"type": "image", "url": PIXELS}],
        },
        ("tool_call", "[tool call] code_interpreter print(3 / 2)\n\n[tool result] 1.5\n[image]"),
    ),
    (
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
        ("tool_call", "[tool call] image_generation\n\n[tool result] [image]"),
    ),
    (
        {
            "type": "computer_call_output",
            "call_id": "cc_1",
            "output": {"type": "computer_screenshot", "image_url": PIXELS},
        },
        ("tool_result", "[tool result] [computer_screenshot]"),
    ),
    (
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "zoo",
            "name": "weigh",
            "arguments": "{}",
            "output": "1 kg",
        },
        ("tool_call", "[tool call] weigh {}\n\n[tool result] 1 kg"),
    ),
    (
        {"type": "mcp_approval_request", "id": "ar_1", "server_label": "zoo", "name": "feed", "arguments": "{}"},
        ("tool_call", "[tool call] feed {}"),
    ),
    (
        {"type": "mcp_approval_response", "approval_request_id": "ar_1", "approve": False, "reason": "It is fed."},
        ("tool_result", "[tool result] not approved It is fed."),
    ),
    ({"type": "compaction", "encrypted_content": "eHh4"}, ("assistant", "")),
    (
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "About 1.5 kg.", "annotations": []}],
        },
        ("assistant", "About 1.5 kg."),
    ),
    (
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "And this one?"},
                {"type": "input_image", "image_url": PIXELS, "detail": "auto"},
                {"type": "input_file", "filename": "birds.pdf", "file_data": "YWJj"},
            ],
        },
        ("user", "And this one?\n\n[image]\n\n[file: birds.pdf]"),
    ),
]

ANTHROPIC: list[MessageParam] = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": [{"type": "text", "text": "Hello yourself."}]},
    {
        "role": "user",
        "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"}},
            {"type": "document", "title": "Notes", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
            {"type": "text", "text": "What is in this picture?", "cache_control": {"type": "ephemeral"}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "They want a description.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "eHh4"},
            {"type": "text", "text": "I will look."},
            {"type": "tool_use", "id": "t1", "name": "look_at", "input": {"times": 2}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [
                    {"type": "text", "text": "A heron."},
                    {"type": "image", "source": {"type": "url", "url": "https://example.org/z.png"}},
                ],
            },
            {"type": "tool_result", "tool_use_id": "t2", "content": "Nothing.", "is_error": True},
        ],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t3", "name": "look_at", "input": {}}]},
]

FORMATS = ("pydantic_ai", "openai", "anthropic")


@pytest.fixture(scope="module")
def histories():
    # Here, as every process of the tests reads this file, and one of them runs it.
    from pydantic_ai_history import PYDANTIC_AI

    return {
        "pydantic_ai": in_types_of("pydantic_ai").dump_python(PYDANTIC_AI, mode="json"),
        "openai": OPENAI,
        "anthropic": ANTHROPIC,
    }


@pytest.fixture
def talk(client, ada):
    return Talk(Agent(client, ada.headers))


def in_types_of(library: str) -> TypeAdapter[Any]:
    """Return what accepts a history of the library's own type alone."""
    if library == "pydantic_ai":
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        return ModelMessagesTypeAdapter
    if library == "openai":
        from openai.types.chat import ChatCompletionMessageParam

        return TypeAdapter(list[ChatCompletionMessageParam])
    from anthropic.types import MessageParam

    return TypeAdapter(list[MessageParam])


def gists(talk):
    return [(m["role"], m["content"]) for m in talk.messages()]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_history_comes_back_equal(talk, format_, histories):
    history = histories[format_]
    response = talk.post({"format": format_, "history": history})
    assert (response.status_code, len(response.json["results"])) == (201, len(history))
    assert json.dumps(talk.history(format_)) == json.dumps(history)


def test_the_types_of_pydantic_ai_come_back_equal(talk, histories):
    from pydantic_ai_history import PYDANTIC_AI

    talk.post({"format": "pydantic_ai", "history": histories["pydantic_ai"]})
    assert in_types_of("pydantic_ai").validate_python(talk.history("pydantic_ai")) == PYDANTIC_AI


@pytest.mark.parametrize("format_", ["openai", "anthropic"])
def test_what_comes_back_is_of_the_library_s_type(talk, format_, histories):
    talk.post({"format": format_, "history": histories[format_]})
    in_types_of(format_).validate_python(talk.history(format_))


@pytest.mark.parametrize("format_", FORMATS)
def test_a_history_grows_by_pieces_and_comes_back_in_pages(talk, format_, histories):
    history = histories[format_]
    for element in history:
        talk.post({"format": format_, "history": [element]})
    assert talk.history(format_, limit=3) + talk.history(format_, limit=1000, cursor=3) == history
    assert talk.history(format_, order="desc") == history[::-1]


def test_a_history_is_named_by_its_client_and_sent_again(talk):
    body = {"format": "openai", "history": OPENAI[:2], "client_ids": ["a", None]}
    talk.post(body)
    assert [r["outcome"] for r in talk.post(body).json["results"]] == ["duplicate", "stored"]


def test_pydantic_ai_is_readable(talk, histories):
    talk.post({"format": "pydantic_ai", "history": histories["pydantic_ai"]})
    assert gists(talk) == [
        ("user", "What is in this picture?\n\n[image]\n\nLook twice."),
        (
            "assistant",
            "I will look.\n\n"
            '[tool call] look_at {"url": "https://example.org/y.png", "times": 2}\n\n'
            '[tool call] look_up {"word": "heron"}',
        ),
        (
            "tool_result",
            '[tool result] look_at {"birds": ["heron"], "sure": 0.75}\n\n[tool result] look_up A wading bird.',
        ),
        ("assistant", "A heron."),
        ("tool_result", "[tool result] Say where."),
        ("assistant", "A heron in a marsh."),
        ("user", "[audio]"),
        ("assistant", "[image]"),
        ("tool_call", "[tool call] look_at"),
    ]


def test_openai_is_readable(talk):
    talk.post({"format": "openai", "history": OPENAI})
    assert gists(talk) == [
        ("system", "Be brief."),
        ("system", "Answer in English."),
        ("user", "What is in this picture?\n\n[image]\n\n[audio]\n\n[file: notes.pdf]"),
        ("tool_call", '[tool call] look_at {"times":  2}\n\n[tool call] look_up heron'),
        ("tool_result", '[tool result] {"birds": ["heron"]}'),
        ("tool_result", "[tool result] A wading bird."),
        ("assistant", "A heron.\n\n[audio]"),
        ("user", "And what does it weigh?"),
        ("assistant", "I would rather not say."),
        ("tool_result", "[tool result] weigh"),
        ("assistant", "Ünsicher \u2028  \U0001f41d"),
    ]


def test_the_items_of_responses_come_back_equal_and_are_readable(talk):
    items = [item for item, _gist in RESPONSES]
    assert talk.post({"format": "openai", "history": items}).status_code == 201
    assert json.dumps(talk.history("openai")) == json.dumps(items)
    assert gists(talk) == [gist for _item, gist in RESPONSES]


def test_a_thought_is_no_reply(talk, ada):
    talk.post({"format": "openai", "history": [item for item, _gist in RESPONSES]})
    assert [row.text for row in rows(ada, "SELECT text FROM episodes ORDER BY id")] == [
        "user: What does a heron weigh?\nassistant: About 1.5 kg."
    ]


@pytest.mark.parametrize(("most", "shown"), [(1, 1), (2, 1), (3, 1), (4, 4), (5, 5)])
def test_a_context_parts_no_output_from_its_call_and_its_thought(talk, most, shown):
    items = [RESPONSES[place][0] for place in (0, 1, 3, 5, 16)]
    talk.post({"format": "openai", "history": items})
    found = talk.agent.get(f"{talk.path}/context", strategy="window", max_messages=most).json["messages"]
    assert [each["sequence"] for each in found] == [*range(6 - shown, 6)]


def test_what_a_search_for_tools_found_stays_with_its_search_alone(talk):
    found: list[dict[str, Any]] = [
        {"type": f"tool_search_{part}", "id": part, "call_id": None, "execution": "server", **more}
        for part, more in (("call", {"arguments": {}}), ("output", {"tools": []}))
    ]
    talk.post({"format": "openai", "history": [*OPENAI[:3], *found, RESPONSES[16][0]]})
    path = f"{talk.path}/context"
    shown = [talk.agent.get(path, strategy="window", max_messages=most).json["messages"] for most in range(1, 6)]
    assert [len(each) for each in shown] == [1, 1, 3, 4, 5]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_context_comes_in_the_format_that_is_asked_for(talk, format_, histories):
    history = histories[format_]
    talk.post({"format": format_, "history": history})
    path = f"{talk.path}/context"
    told = talk.agent.get(path, format=format_, strategy="window").json
    assert (told.pop("format"), told.pop("history")) == (format_, history)
    shown = talk.agent.get(path, strategy="window").json
    assert told == {name: value for name, value in shown.items() if name != "messages"}
    less = talk.agent.get(path, format=format_, strategy="window", max_messages=3).json["history"]
    assert 1 <= len(less) <= 3
    assert less == history[-len(less) :]


def test_a_context_in_a_format_asks_for_one(talk):
    talk.say("First")
    assert fields(talk.agent.get(f"{talk.path}/context", format="yaml")) == ["format"]
    told = [talk.agent.get(f"{talk.path}/context", format=each).json["history"] for each in ("plain", "anthropic")]
    assert told == [[{"role": "user", "content": "First"}]] * 2


def test_what_says_nothing_is_not_said_anew_to_a_library_that_refuses_it(talk):
    said = [{"role": "user", "content": "First"}, {"role": "assistant", "content": ""}, {"type": "compaction"}]
    given = [{"role": "assistant", "content": []}]
    talk.post({"format": "openai", "history": said})
    talk.post({"format": "anthropic", "history": given})
    assert talk.history("anthropic") == [said[0], *given]
    context = talk.agent.get(f"{talk.path}/context", format="anthropic").json
    assert (context["history"], context["left_out"]) == ([said[0], *given], 0)
    assert talk.history("openai") == [*said, {"role": "assistant", "content": ""}]


def test_every_kind_of_item_of_responses_is_taken(talk):
    from openai.types.responses.response_input_item_param import ResponseInputItemParam

    kinds = set().union(*(words(get_type_hints(each)["type"]) for each in get_args(ResponseInputItemParam)))
    # Releases of the library before 3 do not have this one.
    kinds = kinds - {"message"} | {"configuration_update"}
    items: list[dict[str, Any]] = [{"type": kind, "id": "i"} for kind in sorted(kinds)]
    items += [{"id": "i"}, {"id": "i", "type": None}]
    assert len(items) > 20
    assert talk.post({"format": "openai", "history": items}).status_code == 201
    assert talk.history("openai") == items


def test_an_item_without_a_type_is_a_reference_and_nothing_more(talk):
    for item in ({"id": 7}, {"id": "i", "output": "x"}, {"type": None}, {"id": "i", "type": 7}):
        assert fields(talk.post({"format": "openai", "history": [item]})) == ["history.0"]


def words(hint: Any) -> set[str]:
    """Return the words that a type allows."""
    return {each for each in get_args(hint) if isinstance(each, str)}.union(*(words(each) for each in get_args(hint)))


def test_anthropic_is_readable(talk):
    talk.post({"format": "anthropic", "history": ANTHROPIC})
    assert gists(talk) == [
        ("user", "Hello"),
        ("assistant", "Hello yourself."),
        ("user", "[image]\n\n[document: Notes]\n\nWhat is in this picture?"),
        ("assistant", 'I will look.\n\n[tool call] look_at {"times": 2}'),
        ("tool_result", "[tool result] A heron.\n[image]\n\n[tool result] Nothing."),
        ("tool_call", "[tool call] look_at {}"),
    ]


def test_thoughts_and_prompts_are_read_where_nothing_else_is(talk):
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": ""}]}
    prompt = {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "Be brief."}]}
    talk.post({"format": "anthropic", "history": [thought]})
    talk.post({"format": "pydantic_ai", "history": [prompt]})
    assert gists(talk) == [("assistant", "Hm."), ("system", "Be brief.")]


def test_the_title_is_what_the_user_said(talk, histories):
    talk.post({"format": "pydantic_ai", "history": histories["pydantic_ai"]})
    assert talk.head()["title"] == "What is in this picture? [image] Look twice."


def test_a_history_makes_episodes(talk, ada):
    talk.post({"format": "openai", "history": OPENAI})
    texts = [row.text for row in rows(ada, "SELECT text FROM episodes ORDER BY id")]
    assert [text.partition("\n")[0] for text in texts] == [
        "user: What is in this picture?",
        "user: And what does it weigh?",
    ]


PLAIN = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello yourself."},
    {"role": "tool_call", "content": "look_up heron"},
    {"role": "tool_result", "content": "A wading bird."},
]


@pytest.fixture
def plain(talk):
    talk.post({"messages": PLAIN})
    return talk


def test_plain_messages_come_back_plain(plain):
    assert plain.history("plain") == PLAIN


def test_plain_messages_are_told_in_every_format(plain):
    in_types_of("pydantic_ai").validate_python(plain.history("pydantic_ai"))
    in_types_of("openai").validate_python(plain.history("openai"))
    in_types_of("anthropic").validate_python(plain.history("anthropic"))
    assert [m["role"] for m in plain.history("openai")] == ["system", "user", "assistant", "assistant", "user"]
    *said, result = [m["content"] for m in PLAIN]
    # On the user's side, what a tool gave is no word of the user's.
    for format_ in ("openai", "anthropic"):
        assert [m["content"] for m in plain.history(format_)] == [*said, f"[tool result] {result}"]
    assert plain.history("pydantic_ai")[-1]["parts"][0]["content"] == f"[tool result] {result}"


def test_pydantic_ai_reads_who_said_what(plain):
    told = in_types_of("pydantic_ai").validate_python(plain.history("pydantic_ai"))
    assert [type(part).__name__ for message in told for part in message.parts] == [
        "SystemPromptPart",
        "UserPromptPart",
        "TextPart",
        "TextPart",
        "UserPromptPart",
    ]


def test_a_history_of_one_format_is_told_in_another(talk):
    talk.post({"format": "openai", "history": OPENAI[7:9]})
    assert talk.history("anthropic") == [
        {"role": "user", "content": "And what does it weigh?"},
        {"role": "assistant", "content": "I would rather not say."},
    ]


def test_a_mixed_conversation_keeps_the_place_of_each(talk):
    talk.say("First")
    talk.post({"format": "openai", "history": [OPENAI[3]]})
    assert talk.history("openai") == [{"role": "user", "content": "First"}, OPENAI[3]]
