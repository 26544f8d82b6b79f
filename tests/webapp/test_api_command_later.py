"""Commands in plain words, and for how long afterwards "that", "yes" and "undo" mean what was said."""

from __future__ import annotations

from datetime import timedelta

import pytest
from api_agent import rows
from spoken import say

from memory.clock import utc_now
from memory.commands.trail import Speaker, last_change, last_memories, open_question
from memory.storage.database import user_session


@pytest.fixture
def after(agent, ada, notes):
    """Say something, and return what a function of the trail finds so many minutes later."""

    def _after(words, find, minutes):
        say(agent, words)
        [(digest, actor)] = rows(
            ada,
            "SELECT c.result->>'session', 'token:' || t.prefix FROM tool_calls c JOIN tokens t ON t.id = c.token_id"
            " WHERE c.tool = 'command' ORDER BY c.created_at DESC LIMIT 1",
        )
        speaker = Speaker(ada.id, digest, actor, None, None, alone=True)
        with user_session(ada.runtime.sessions, ada.id) as session:
            return find(session, speaker, utc_now() + timedelta(minutes=minutes))

    return _after


@pytest.mark.parametrize(
    ("words", "find", "minutes"),
    [
        ("what do you know about hazelnuts", last_memories, 30),
        ("forget everything about hazelnuts", open_question, 5),
        ("pin what I said about hazelnuts", last_change, 10),
    ],
)
def test_what_was_said_is_spoken_of_for_a_while(after, words, find, minutes):
    assert after(words, find, minutes - 0.5)
    assert not after(words, find, minutes)
