"""Titles and snippets, and who may hold a conversation that moves."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from sqlalchemy import event

from memory.clock import utc_now
from memory.conversations.conversations import (
    LONGEST_AUTO_TITLE,
    change_conversation,
    delete_conversation,
    lock_with_space,
    open_conversation,
    title_of,
)
from memory.conversations.threads import MOST_WORDS, Filters, list_conversations, snippet_of, words_of
from memory.drafts.payloads import DEEPEST, check_json
from memory.errors import InvalidError, NotFoundError
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.spaces.spaces import get_space


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("  Where do the\n\tbees go?  ", "Where do the bees go?"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("word " * 20, ("word " * 16).strip() + "…"),
        (f"{'a' * 39} {'b' * 39} c", f"{'a' * 39} {'b' * 39}…"),
        (f"{'a' * 39}, {'b' * 60}", f"{'a' * 39}…"),
        ("蜂は冬にどこへ行くのですか" * 10, ("蜂は冬にどこへ行くのですか" * 10)[:79] + "…"),
    ],
)
def test_a_title_is_short_and_ends_with_a_whole_word(text, title):
    assert title_of(text) == title
    assert len(title) <= LONGEST_AUTO_TITLE


def test_a_huge_message_has_a_title_too():
    assert title_of("word " * 1_000_000) == title_of("word " * 20)


@pytest.mark.parametrize(
    ("text", "words", "snippet"),
    [
        ("The heron stood still.", ["HERON"], "The heron stood still."),
        ("a.c abc", ["a.c"], "a.c abc"),
        ("x" * 100 + " heron", ["heron"], "…heron"),
        ("heron " + "y" * 300, ["heron"], "heron " + "y" * 194 + "…"),
        ("one\n\n  heron", ["nothing"], "one heron"),
        ("x" * 100 + " Cafe\u0301", ["café"], "…Cafe\u0301"),
        ("x" * 100 + " ΟΔΟΣ", ["οδος"], "…ΟΔΟΣ"),
    ],
)
def test_a_snippet_shows_the_first_word(text, words, snippet):
    assert snippet_of(text, words) == snippet


def test_words_are_looked_for_once_each():
    assert words_of(" Bees  and BEES ") == ("Bees", "and")


@pytest.mark.parametrize("text", [" ", " ".join(str(n) for n in range(MOST_WORDS + 1))])
def test_no_words_and_too_many_are_refused(text):
    with pytest.raises(InvalidError):
        words_of(text)


def nested(depth):
    value = "x"
    for _ in range(depth):
        value = [value]
    return value


def test_json_is_kept_as_deep_as_it_may_be():
    check_json(nested(DEEPEST - 1), "payload")
    with pytest.raises(InvalidError):
        check_json(nested(DEEPEST), "payload")


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}, {"a": "x" * 50}])
def test_json_that_cannot_be_kept_is_refused(value):
    with pytest.raises(InvalidError) as error:
        check_json(value, "payload", most=50)
    assert error.value.field == "payload"


# --- a conversation that moves ----------------------------------------------------------------------------------------


@pytest.fixture
def talk(book):
    with book.session() as session:
        space = get_space(session, book.user_id, "default")
        return open_conversation(session, book.user_id, space, now=utc_now(), actor="test")[0].id


def test_who_waits_while_it_moves_gets_the_space_that_it_moved_to(book, talk, second_space):
    found = []

    def wait():
        with book.session() as session:
            conversation, space = lock_with_space(session, book.user_id, talk)
            found.append((conversation.space_id == space.id, space.slug))

    waiting = threading.Thread(target=wait)
    with book.session() as session:
        change = {"space": get_space(session, book.user_id, second_space)}
        change_conversation(session, book.user_id, talk, change, now=utc_now(), actor="test")
        waiting.start()
        waiting.join(0.5)
        assert found == []
    waiting.join(60)
    assert found == [(True, second_space)]


def test_the_locks_of_a_space_that_it_left_are_let_go(book, talk, second_space):
    held, done = threading.Event(), threading.Event()

    def wait():
        with book.session() as session:
            lock_with_space(session, book.user_id, talk)
            held.set()
            done.wait(60)

    waiting = threading.Thread(target=wait)
    with book.session() as session:
        change = {"space": get_space(session, book.user_id, second_space)}
        change_conversation(session, book.user_id, talk, change, now=utc_now(), actor="test")
        waiting.start()
        waiting.join(0.5)
    assert held.wait(60)
    # Were the old space still locked, this would wait for the other thread.
    assert book.write("Nobody holds this space").outcome == "created"
    done.set()
    waiting.join(60)


def test_outside_the_space_of_the_caller_there_is_none(book, talk, second_space):
    with book.session() as session, pytest.raises(NotFoundError):
        lock_with_space(session, book.user_id, talk, within=get_space(session, book.user_id, second_space).id)


def test_a_strangers_conversation_is_none(bobs_book, talk):
    with bobs_book.session() as session, pytest.raises(NotFoundError):
        lock_with_space(session, bobs_book.user_id, talk)


def test_no_statement_grows_with_what_was_said(book):
    """A statement has room for 65,535 values: a conversation of more turns could not be deleted."""
    most = [_most_values(book, turns) for turns in (2, 20)]
    assert most[0] == most[1]


def _most_values(book, turns):
    """Hold so many conversations of so many turns, find them, delete one; return how many values a statement had."""
    scribe, keys = Scribe(book.runtime.keys, len, utc_now(), "test", "-"), book.runtime.keys
    with book.session() as session:
        space = get_space(session, book.user_id, "default")
        for number in range(turns):
            title = f"{turns} bees"
            talk = open_conversation(session, book.user_id, space, title=title, now=utc_now(), actor="test")[0].id
            asked = MessageDraft("user", f"Box {number} of {turns}", remember=True)
            append(session, book.user_id, talk, [asked, MessageDraft("assistant", "Ok")] * turns, scribe)
    with book.session() as session, counting(session) as counts:
        filters = Filters(words=(f"{turns}", "bees"))
        assert list_conversations(session, book.user_id, filters, limit=1, cursor=None).threads
        gone = delete_conversation(session, book.user_id, talk, keys=keys, now=utc_now(), actor="test")
    assert (gone.messages, gone.episodes) == (2 * turns, turns)
    return max(counts)


@contextmanager
def counting(session):
    """Yield a list that gets the number of values of each statement."""
    counts = []

    def note(_connection, _cursor, _statement, parameters, _context, _many):
        counts.append(len(parameters))

    event.listen(session.connection(), "before_cursor_execute", note)
    yield counts
    event.remove(session.connection(), "before_cursor_execute", note)
