"""Where a conversation stands, kept in the database for a day."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text as sql
from sqlalchemy.exc import SQLAlchemyError

from memory.clock import utc_now
from memory.conversations.conversations import delete_conversation, open_conversation
from memory.conversations.session_state import KEPT, LIFE, SessionStates, drop_states
from memory.copies import register
from memory.errors import InvalidError, NotFoundError
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.purge import purge
from memory.forgetting.restore import restore
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Conversation
from memory.spaces.spaces import get_space


class Desk:
    """One conversation and its state, a transaction per call; `now` may be moved."""

    def __init__(self, book: Any) -> None:
        self.book, self.now, self.states = book, utc_now(), SessionStates()
        with book.session() as session:
            space = get_space(session, book.user_id, "default")
            opened, _ = open_conversation(session, book.user_id, space, now=self.now, actor="test")
            self.id: UUID = opened.id

    def say(self, *texts: str, **fields: Any) -> None:
        scribe = Scribe(self.book.runtime.keys, len, utc_now(), "test", "-")
        with self.book.session() as session:
            drafts = [MessageDraft("user", text, **fields) for text in texts]
            append(session, self.book.user_id, self.id, drafts, scribe)

    def do(self, name: str, *args: Any, **named: Any) -> Any:
        with self.book.session() as session:
            conversation = session.get(Conversation, (self.book.user_id, self.id))
            return getattr(self.states, name)(session, conversation, *args, now=self.now, **named)

    def aim(self, goal: str | None) -> None:
        self.do("set_goal", goal, actor="test")

    def delete(self, session: Any) -> None:
        keys = self.book.runtime.keys
        delete_conversation(session, self.book.user_id, self.id, keys=keys, now=self.now, actor="test")

    def goal(self) -> str | None:
        return self.do("standing").goal

    def said(self) -> list[str]:
        return [message["content"] for message in self.do("standing").messages]


@pytest.fixture
def desk(book: Any) -> Desk:
    return Desk(book)


def test_the_last_messages_are_there_oldest_first(desk: Desk) -> None:
    desk.say(*(f"Message {n}" for n in range(KEPT + 5)))
    assert desk.said() == [f"Message {n}" for n in range(5, KEPT + 5)]


def test_a_message_says_all_that_a_prompt_needs(desk: Desk) -> None:
    desk.say("Hello")
    (message,) = desk.do("standing").messages
    assert set(message) == {"id", "sequence", "role", "content", "token_count", "created_at"}


def test_messages_are_read_once_and_then_kept(desk: Desk) -> None:
    desk.say("Hello")
    assert desk.said() == ["Hello"]
    with desk.book.session() as session:
        session.execute(sql("UPDATE messages SET content = 'Changed behind its back'"))
    assert desk.said() == ["Hello"]


def test_what_was_said_since_is_there(desk: Desk) -> None:
    desk.say("Hello")
    desk.said()
    desk.say("And again")
    assert desk.said() == ["Hello", "And again"]


def test_a_reply_that_came_whole_takes_the_place_of_its_beginning(desk: Desk) -> None:
    desk.say("Once upon", client_id="one", partial=True)
    desk.said()
    desk.say("Once upon a time", client_id="one")
    assert desk.said() == ["Once upon a time"]


def test_a_state_ends_after_a_day(desk: Desk) -> None:
    desk.aim("Find the bees")
    desk.now += LIFE - timedelta(seconds=1)
    assert desk.goal() == "Find the bees"
    # Reading the messages for the first time was a change, from which a new day began.
    desk.now += LIFE
    assert desk.goal() is None


def test_a_goal_does_not_come_back_with_the_next_change(desk: Desk) -> None:
    desk.aim("Find the bees")
    desk.now += LIFE + timedelta(seconds=1)
    desk.said()
    assert desk.goal() is None


SAID = "The zebra gate code is 7731 and M\u00fcller keeps it"


@pytest.mark.parametrize(
    "goal", [SAID, f"open it: {SAID.lower()}!", "open zoo?q=the+zebra+gate+code+is+7731+and+m%C3%BCller+keeps+it"]
)
def test_a_goal_goes_with_the_memory_that_it_says(desk: Desk, goal: str) -> None:
    memory_id = desk.book.write(SAID).id
    desk.say("hello")
    assert desk.said() == ["hello"]
    desk.aim(goal)
    desk.book.do(forget, desk.book.write("Something else").id)
    assert desk.goal() == goal
    desk.book.do(forget, memory_id)
    assert (desk.goal(), desk.said()) == (None, ["hello"])


def test_the_copy_of_a_goal_is_dropped_with_it_when_that_is_certain(desk: Desk) -> None:
    class Copies:
        def __init__(self) -> None:
            self.dropped: list[str] = []

        def drop(self, names: Collection[str]) -> None:
            self.dropped += [name for name in names if name.startswith("session:")]

    holder, other, keys = Copies(), Desk(desk.book), desk.book.runtime.keys
    register(holder)
    memory_id = desk.book.write(SAID).id
    desk.aim(SAID)
    other.aim("Find the bees")
    with desk.book.session() as session:
        forget(session, desk.book.user_id, memory_id, keys=keys, now=utc_now(), actor="test")
        session.flush()
        assert holder.dropped == []
    assert holder.dropped == [f"session:{desk.book.user_id}:{desk.id}"]
    assert other.goal() == "Find the bees"


def test_a_goal_is_out_of_sight_while_its_memory_can_be_brought_back(desk: Desk) -> None:
    keys = desk.book.runtime.keys
    memory_id = desk.book.write(SAID).id
    desk.aim(SAID)
    desk.book.do(forget, memory_id, keys=keys, undo=UNDO_WINDOW)
    assert desk.goal() is None
    desk.book.do(restore, memory_id)
    assert desk.goal() == SAID
    desk.book.do(forget, memory_id, keys=keys, undo=UNDO_WINDOW)
    with desk.book.session() as session:
        assert purge(session, desk.book.user_id, keys=keys, now=utc_now() + UNDO_WINDOW) == 1
    assert desk.goal() is None


def test_expired_states_are_purged(desk: Desk) -> None:
    desk.aim("Find the bees")
    with desk.book.session() as session:
        session.scalar(sql("SELECT purge_caches(:now)"), {"now": desk.now + LIFE})
    assert desk.book.one("SELECT count(*) FROM session_states") == 0


def test_a_goal_is_trimmed_replaced_and_cleared(desk: Desk) -> None:
    desk.aim("  Find the bees ")
    assert desk.goal() == "Find the bees"
    desk.aim("Count the bees")
    assert desk.goal() == "Count the bees"
    desk.aim(None)
    assert desk.goal() is None


@pytest.mark.parametrize("goal", ["", "   ", "x" * 2001])
def test_a_goal_must_say_something_short(desk: Desk, goal: str) -> None:
    with pytest.raises(InvalidError) as caught:
        desk.aim(goal)
    assert caught.value.field == "goal"


def test_the_trail_tells_that_a_goal_was_set_and_not_which(desk: Desk) -> None:
    desk.aim("Find the bees")
    desk.aim(None)
    found = desk.book.all("SELECT action FROM audit_events WHERE action LIKE 'conversation.goal%' ORDER BY id")
    assert found == ["conversation.goal_set", "conversation.goal_cleared"]
    assert desk.book.one("SELECT count(*) FROM audit_events e WHERE e::text LIKE '%bees%'") == 0


def test_summary_goal_and_messages_do_not_disturb_one_another(desk: Desk) -> None:
    desk.say("Hello")
    desk.do("keep_summary", {"form": 1})
    desk.aim("Find the bees")
    assert (desk.said(), desk.goal(), desk.do("summary")) == (["Hello"], "Find the bees", {"form": 1})


def test_a_deleted_conversation_takes_its_state_along(desk: Desk) -> None:
    desk.aim("Find the bees")
    with desk.book.session() as session:
        desk.delete(session)
    assert desk.book.one("SELECT count(*) FROM session_states") == 0


def test_keeping_a_state_and_deleting_its_conversation_do_not_block_each_other(desk: Desk) -> None:
    desk.aim("Find the bees")
    failures: list[BaseException] = []

    def delete() -> None:
        try:
            with desk.book.session() as session:
                desk.delete(session)
        except SQLAlchemyError as error:
            failures.append(error)

    thread = threading.Thread(target=delete)
    with desk.book.session() as session:
        conversation = session.get_one(Conversation, (desk.book.user_id, desk.id))
        # As keeping does first.
        session.execute(sql("SELECT 1 FROM conversations WHERE id = :id FOR KEY SHARE"), {"id": desk.id})
        thread.start()
        time.sleep(0.5)
        desk.states.keep_summary(session, conversation, {"form": 1}, now=desk.now)
    thread.join()
    assert failures == []
    assert desk.book.one("SELECT count(*) FROM session_states") == 0


def test_states_are_dropped_by_name_and_no_others(desk: Desk) -> None:
    other = Desk(desk.book)
    desk.aim("Find the bees")
    other.aim("Count the bees")
    with desk.book.session() as session:
        drop_states(session, desk.book.user_id, [])
        drop_states(session, desk.book.user_id, [desk.id])
    assert (desk.goal(), other.goal()) == (None, "Count the bees")


def test_a_conversation_that_is_gone_by_then_gets_no_state(desk: Desk) -> None:
    with desk.book.session() as session:
        conversation = session.get_one(Conversation, (desk.book.user_id, desk.id))
        session.expunge(conversation)
        desk.delete(session)
    with desk.book.session() as session:
        desk.states.keep_summary(session, conversation, {"form": 1}, now=desk.now)
        with pytest.raises(NotFoundError):
            desk.states.set_goal(session, conversation, "Find the bees", now=desk.now, actor="test")
    assert desk.book.one("SELECT count(*) FROM session_states") == 0
