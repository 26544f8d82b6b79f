"""Calls that a history tells of, recorded without holding what was said before."""

from __future__ import annotations

from memory_taken import within

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.spaces.spaces import get_space

CALL = {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": "{}"}
PICTURE = {"type": "image_generation_call", "id": "p1", "status": "completed", "result": "A" * 1_000_000}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "three hives"}


def test_messages_before_a_result_are_read_one_at_a_time(book):
    def tell(*elements):
        drafts = [MessageDraft("tool_call", "", payload=each, payload_format="openai") for each in elements]
        scribe = Scribe(book.runtime.keys, len, utc_now(), "test", "-")
        with book.session() as session:
            append(session, book.user_id, conversation_id, drafts, scribe)

    with book.session() as session:
        space = get_space(session, book.user_id, "default")
        conversation_id = open_conversation(session, book.user_id, space, now=utc_now(), actor="test")[0].id
    tell(CALL, *[PICTURE] * 20)
    with within(8_000_000):
        tell(RESULT)
    assert book.one("SELECT result FROM tool_calls WHERE tool = 'read_file'") == "three hives"
