"""Chats from elsewhere come in as conversations, each whole and once, and go on where they are."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest
from exported_chats import BEGAN, chatgpt, claude, node

from memory.clock import utc_now
from memory.conversations.conversations import change_conversation
from memory.conversations.threads import Filters, list_conversations
from memory.errors import InvalidError
from memory.messages.messages import Scribe
from memory.spaces.spaces import get_space, update_space
from memory.transfer.bringing_chats import bring_in_chat, latest_first
from memory.transfer.chat_files import chats_in

ENDED = datetime.fromtimestamp(BEGAN + 60, UTC)


def read(*chats: dict) -> list:
    return chats_in(io.BytesIO(json.dumps(chats).encode()), "conversations.json", utc_now())


@pytest.fixture
def bring(book):
    def _bring(*chats, space="default"):
        scribe = Scribe(book.runtime.keys, lambda text: len(text.split()), utc_now(), "import", "-")
        with book.session() as session:
            return [dict(bring_in_chat(session, book.user_id, space, chat, scribe)) for chat in read(*chats)]

    return _bring


def test_a_chat_becomes_a_conversation_of_when_it_was(bring, book):
    assert bring(chatgpt()) == [{"chats": 1, "messages": 2}]
    columns = "title, title_source, external_id, created_at, updated_at, message_count"
    with book.session() as session:
        page = list_conversations(session, book.user_id, Filters(), limit=5, cursor=None)
        [thread] = page.threads
        kept = thread.conversation
        assert [getattr(kept, name) for name in columns.split(", ")] == [
            "Bus to Sintra",
            "user",
            "chat-1",
            datetime.fromtimestamp(BEGAN, UTC),
            ENDED,
            2,
        ]
    assert book.all("SELECT content FROM messages ORDER BY sequence") == [
        "Where is the bus to Sintra?",
        "It leaves from Campo Grande.",
    ]
    assert book.all("SELECT searched FROM episodes") == [
        "user: Where is the bus to Sintra?\nassistant: It leaves from Campo Grande."
    ]
    assert book.all("SELECT actor FROM audit_events WHERE action = 'conversation.created'") == ["import"]


def test_the_same_comes_in_once(bring, book):
    bring(chatgpt(), claude())
    state = "SELECT to_jsonb(c)::text FROM conversations c ORDER BY id"
    events = "SELECT count(*) FROM audit_events"
    before, noted = book.all(state), book.one(events)
    assert bring(chatgpt(), claude()) == [{"there": 1, "messages": 0}] * 2
    assert (book.all(state), book.one(events)) == (before, noted)


def test_a_later_export_adds_what_was_said_since(bring, book):
    bring(chatgpt(node("q1", "root")))
    later = chatgpt(node("q1", "root"), node("a1", "q1", "assistant", create_time=BEGAN + 500))
    assert bring(later) == [{"continued": 1, "messages": 1}]
    assert book.all("SELECT content FROM messages ORDER BY sequence") == ["user says q1", "assistant says a1"]
    assert book.one("SELECT updated_at FROM conversations") == datetime.fromtimestamp(BEGAN + 500, UTC)


def test_what_came_in_is_left_as_it_was_where_an_export_has_other_words(bring, book):
    bring(chatgpt(node("q1", "root", said="As it was")))
    assert bring(chatgpt(node("q1", "root", said="Otherwise"))) == [{"there": 1, "messages": 0}]
    assert book.all("SELECT content FROM messages") == ["As it was"]


def test_a_conversation_that_was_changed_since_is_not_changed_back(bring, book):
    bring(chatgpt(node("q1", "root")))
    found = book.one("SELECT id FROM conversations")
    book.do(change_conversation, found, {"title": "My bus"})
    changed = book.one("SELECT updated_at FROM conversations")
    bring(chatgpt(node("q1", "root"), node("a1", "q1", "assistant")))
    assert book.one("SELECT title FROM conversations") == "My bus"
    assert book.one("SELECT updated_at FROM conversations") > changed


def test_a_chat_goes_on_in_the_space_that_it_was_moved_to(bring, book, second_space):
    bring(chatgpt(node("q1", "root")))
    found = book.one("SELECT id FROM conversations")
    with book.session() as session:
        space = get_space(session, book.user_id, second_space)
        change_conversation(session, book.user_id, found, {"space": space}, now=utc_now(), actor="test")
    assert bring(chatgpt(node("q1", "root"), node("a1", "q1", "assistant"))) == [{"continued": 1, "messages": 1}]
    assert book.one("SELECT count(*) FROM conversations") == 1


def test_chats_come_into_the_space_that_is_named(bring, book, second_space):
    bring(claude(), space=second_space)
    slug = "SELECT s.slug FROM conversations c JOIN spaces s ON s.id = c.space_id"
    assert book.all(slug) == [second_space]


def test_a_space_that_is_incognito_gets_nothing(bring, book, second_space):
    bring(chatgpt(node("q1", "root")))
    book.do(update_space, "default", {"incognito_default": True})
    with pytest.raises(InvalidError, match="incognito by default") as error:
        bring(claude())
    assert error.value.field == "space"
    more = chatgpt(node("q1", "root"), node("a1", "q1", "assistant"))
    assert bring(more, space=second_space) == [{"refused": 1}]
    assert book.one("SELECT count(*) FROM messages") == 1


def test_what_stands_beside_is_another_persons(bring, book, bobs_book):
    bring(chatgpt())
    assert bobs_book.one("SELECT count(*) FROM conversations") == 0


def test_a_chat_without_a_title_is_named_by_how_it_begins(bring, book):
    bring(chatgpt(title=""))
    assert book.one("SELECT title FROM conversations") == "Where is the bus to Sintra?"


def test_a_long_chat_comes_in_whole_and_in_its_order(bring, book):
    nodes = [node("0", "root")]
    nodes += [node(str(at), str(at - 1), "assistant" if at % 2 else "user") for at in range(1, 2_100)]
    assert bring(chatgpt(*nodes)) == [{"chats": 1, "messages": 2_100}]
    assert book.all("SELECT client_id FROM messages ORDER BY sequence") == [str(at) for at in range(2_100)]
    assert book.one("SELECT updated_at FROM conversations") == ENDED


def test_those_that_ended_last_come_first_and_silent_ones_not_at_all():
    chats = read(chatgpt(), claude(), chatgpt(is_do_not_remember=True))
    timeless = chatgpt(node("q1", "root", create_time=None), create_time=None, conversation_id="when")
    assert [chat.id for chat in latest_first([*chats, *read(timeless)])] == ["chat-2", "chat-1", "when"]
