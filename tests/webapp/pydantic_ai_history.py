"""A history of Pydantic AI in its own types, apart from the tests that use it, as to load these takes long."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic_ai.messages import (
    BinaryContent,
    BinaryImage,
    FilePart,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

WHEN = datetime(2026, 3, 1, 9, 30, 0, 123456, tzinfo=UTC)

PYDANTIC_AI = [
    ModelRequest(
        parts=[
            SystemPromptPart("Be brief.", timestamp=WHEN),
            UserPromptPart(
                ["What is in this picture?", ImageUrl("https://example.org/y.png"), "Look twice."], timestamp=WHEN
            ),
        ],
        instructions="Answer in English.",
    ),
    ModelResponse(
        parts=[
            ThinkingPart("They want a description.", signature="c2ln"),
            TextPart("I will look."),
            ToolCallPart("look_at", {"url": "https://example.org/y.png", "times": 2}, tool_call_id="c1"),
            ToolCallPart("look_up", '{"word": "heron"}', tool_call_id="c2"),
        ],
        usage=RequestUsage(input_tokens=12, output_tokens=7),
        model_name="a-model",
        timestamp=WHEN,
    ),
    ModelRequest(
        parts=[
            ToolReturnPart("look_at", {"birds": ["heron"], "sure": 0.75}, tool_call_id="c1", timestamp=WHEN),
            ToolReturnPart("look_up", "A wading bird.", tool_call_id="c2", timestamp=WHEN),
        ]
    ),
    ModelResponse(parts=[TextPart("A heron.")], timestamp=WHEN, model_name="a-model"),
    ModelRequest(parts=[RetryFeedbackPart("Say where.", retry=RetryInfo(cause="model_retry"), timestamp=WHEN)]),
    ModelResponse(parts=[TextPart("A heron in a marsh.")], timestamp=WHEN),
    ModelRequest(parts=[UserPromptPart([BinaryContent(b"\x00\xff\x10", media_type="audio/wav")], timestamp=WHEN)]),
    ModelResponse(parts=[FilePart(BinaryImage(b"\x89PNG", media_type="image/png"))], timestamp=WHEN),
    ModelResponse(parts=[ToolCallPart("look_at", None, tool_call_id="c3")], timestamp=WHEN),
]
