"""The worker has conversations read for facts where a language model is set, one thread at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from chat_endpoint import chat_endpoint
from sqlalchemy import text

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.remote.llm import ChatModel
from memory.spaces.spaces import get_space, update_space
from memory.storage.database import user_session
from tasks import extraction
from tasks.app import configure
from tasks.extraction import extract, extract_waiting


@pytest.fixture
def model(runtime):
    with chat_endpoint() as endpoint:
        fact = {"message": 1, "subject": "user", "predicate": "lives in", "object": "Lisbon"}
        endpoint.said = json.dumps({"facts": [fact]})
        configure(replace(runtime, chat_model=ChatModel(endpoint.url, "small")))
        yield endpoint
        configure(runtime)


@pytest.fixture
def said(runtime, ada):
    """A conversation that has rested for an hour, in a space that wants it read."""
    before = utc_now() - timedelta(hours=1)
    with user_session(runtime.sessions, ada.id) as session:
        update_space(session, ada.id, "default", {"extract_facts": True}, now=before, actor="test")
        space = get_space(session, ada.id, "default")
        talk = open_conversation(session, ada.id, space, now=before, actor="test")[0]
        scribe = Scribe(runtime.keys, lambda words: len(words.split()), before, "test", "-")
        append(session, ada.id, talk.id, [MessageDraft("user", "I moved to Lisbon in May")], scribe)
    yield
    with user_session(runtime.sessions, ada.id) as session:
        update_space(session, ada.id, "default", {"extract_facts": False}, now=utc_now(), actor="test")


@pytest.fixture
def facts(runtime, ada):
    def _facts():
        with user_session(runtime.sessions, ada.id) as session:
            return session.scalars(text("SELECT object FROM facts")).all()

    return _facts


def test_every_minute_reads_what_waits(model, said, facts):
    assert (extract_waiting.call_local(), facts()) == (1, ["Lisbon"])
    assert (extract_waiting.call_local(), len(model.requests)) == (0, 1)


def test_a_model_that_takes_longer_than_anybody_would_wait_is_waited_for(runtime, model, said, facts):
    model.delay = 0.6
    configure(replace(runtime, chat_model=ChatModel(model.url, "small", timeout=0.2)))
    assert (extract_waiting.call_local(), facts()) == (1, ["Lisbon"])


def test_without_a_language_model_it_reads_nothing(runtime, said, facts):
    configure(runtime)
    assert (extract_waiting.call_local(), facts()) == (0, [])


def test_one_thread_reads_at_a_time(model, said):
    with extraction._reading:
        assert extract() == 0
    assert extract() == 1


def test_no_time_is_no_reading(model, said):
    assert (extract(longest=0.0), model.requests) == (0, [])
