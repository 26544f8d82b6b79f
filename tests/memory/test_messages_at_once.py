"""Several clients at one conversation: real threads, real connections."""

from __future__ import annotations

import threading
import time

import pytest
from at_once import at_once
from sqlalchemy import text

from memory.clock import utc_now
from memory.conversations.conversations import change_conversation, delete_conversation, open_conversation
from memory.errors import ConflictError, DomainError, NotFoundError
from memory.forgetting.forget import forget
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Message
from memory.spaces.spaces import get_space

BLOCKED = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
"""


def failures(results, *expected):
    return [result for result in results if isinstance(result, Exception) and not isinstance(result, expected)]


def opened(book, external_id=None, space="default"):
    with book.session() as session:
        home = get_space(session, book.user_id, space)
        conversation, new = open_conversation(
            session, book.user_id, home, external_id=external_id, now=utc_now(), actor="test"
        )
        return conversation.id, new


def said(book, conversation_id, *drafts):
    scribe = Scribe(book.runtime.keys, lambda text: len(text.split()), utc_now(), "test", "-")
    with book.session() as session:
        appended = append(session, book.user_id, conversation_id, drafts, scribe)
        return [(item.message.sequence, item.outcome) for item in appended.stored]


def kept(book, conversation_id):
    with book.session() as session:
        found = session.query(Message).filter(Message.conversation_id == conversation_id).order_by(Message.sequence)
        return [(message.sequence, message.content) for message in found]


@pytest.fixture
def talk(book):
    return opened(book)[0]


def test_two_clients_leave_no_gap_and_double_nothing(book, talk):
    def client(name):
        for number in range(50):
            role = ("user", "assistant")[number % 2]
            said(book, talk, MessageDraft(role, f"{name} {number}", client_id=f"{name}-{number}"))

    results = at_once(lambda: client("one"), lambda: client("two"))
    assert failures(results) == []
    messages = kept(book, talk)
    assert [sequence for sequence, _ in messages] == list(range(1, 101))
    for name in ("one", "two"):
        assert [text for _, text in messages if text.startswith(name)] == [f"{name} {n}" for n in range(50)]
    counted = "SELECT message_count || ' ' || total_tokens || ' ' || episodes FROM conversations"
    assert book.one(counted).startswith("100 200 ")
    assert book.one("SELECT count(*) = (SELECT episodes FROM conversations) FROM episodes") is True


def test_the_same_batch_from_many_clients_is_stored_once(book, talk):
    drafts = [MessageDraft("user", f"Line {n}", client_id=f"m-{n}") for n in range(20)]
    results = at_once(*[lambda: said(book, talk, *drafts)] * 8)
    assert failures(results) == []
    assert sum(outcome == "stored" for result in results for _, outcome in result) == 20
    assert [text for _, text in kept(book, talk)] == [f"Line {n}" for n in range(20)]


def test_of_two_contents_under_one_id_one_is_stored(book, talk):
    drafts = [MessageDraft("user", f"Version {n}", client_id="m-1") for n in range(6)]
    results = at_once(*[lambda draft=draft: said(book, talk, draft) for draft in drafts])
    assert failures(results, ConflictError) == []
    assert (sum(isinstance(r, ConflictError) for r in results), len(kept(book, talk))) == (5, 1)


def test_opened_by_many_at_once_it_is_one_conversation(book, second_space):
    spaces = ["default", second_space] * 5
    results = at_once(*[lambda space=space: opened(book, "thread-1", space) for space in spaces])
    assert failures(results) == []
    assert len({conversation_id for conversation_id, _ in results}) == 1
    assert sum(new for _, new in results) == 1


def test_moves_in_the_middle_lose_no_message_and_no_memory(book, talk, second_space):
    def move():
        for slug in [second_space, "default"] * 10:
            with book.session() as session:
                space = get_space(session, book.user_id, slug)
                change_conversation(session, book.user_id, talk, {"space": space}, now=utc_now(), actor="test")

    def client(name):
        for number in range(20):
            said(book, talk, MessageDraft("user", f"{name} likes number {number}", remember=True))

    results = at_once(move, lambda: client("Ada"), lambda: client("Bob"))
    # A call that meets five moves in a row says so, and stores nothing.
    assert failures(results, ConflictError) == []
    messages = kept(book, talk)
    assert [sequence for sequence, _ in messages] == list(range(1, len(messages) + 1))
    linked = book.one("SELECT count(DISTINCT source_message_id) FROM memories WHERE source_message_id IS NOT NULL")
    assert linked == len(messages)


def test_deleting_beside_writers_of_every_kind_blocks_nobody(book, second_space):
    talks = [opened(book, space=space)[0] for space in ("default", second_space)]
    notes = [book.write(f"Note on subject {n}", space=s).id for s in ("default", second_space) for n in range(6)]

    def client(talk):
        for number in range(15):
            said(
                book,
                talk,
                MessageDraft("user", f"Note on subject {number} again", remember=True),
                MessageDraft("assistant", f"So noted, {number}"),
            )

    def delete(talk):
        with book.session() as session:
            return delete_conversation(session, book.user_id, talk, keys=book.runtime.keys, now=utc_now(), actor="test")

    def forget_all():
        for note in notes:
            book.do(forget, note)

    results = at_once(
        *[lambda talk=talk: client(talk) for talk in talks],
        *[lambda talk=talk: delete(talk) for talk in talks],
        forget_all,
    )
    assert failures(results, NotFoundError) == []
    assert book.one("SELECT count(*) FROM conversations") == 0
    assert book.one("SELECT count(*) FROM memories WHERE source_message_id IS NOT NULL") == 0


def as_the_embedder_locks(book, action):
    """Run the action beside an embedder that has locked the memories and goes on to the episodes.

    Returns what it raised. Whoever holds an episode while it waits for a memory would make them wait for each other.
    """
    acting = threading.Thread(target=lambda: results.append(at_once(action)[0]))
    results, values = [], {"user": book.user_id}
    with book.session() as session:
        session.execute(text("SELECT id FROM memories WHERE user_id = :user ORDER BY id FOR NO KEY UPDATE"), values)
        acting.start()
        while acting.is_alive() and not book.one(BLOCKED):
            time.sleep(0.01)
        episodes = "SELECT id FROM episodes WHERE user_id = :user ORDER BY id FOR NO KEY UPDATE NOWAIT"
        session.execute(text(episodes), values)
    acting.join(60)
    return failures(results)


def test_a_deletion_locks_as_the_embedder_does(book, talk):
    said(book, talk, MessageDraft("user", "The spare key", remember=True), MessageDraft("assistant", "Noted"))
    assert as_the_embedder_locks(book, lambda: book.do(delete_conversation, talk)) == []
    assert book.one("SELECT count(*) FROM episodes") == 0


def test_a_reply_and_what_is_remembered_are_locked_as_the_embedder_does(book, talk):
    said(book, talk, MessageDraft("user", "The spare key", remember=True), MessageDraft("assistant", "Noted"))
    more = (MessageDraft("assistant", "Again"), MessageDraft("user", "The spare key", remember=True))
    assert as_the_embedder_locks(book, lambda: said(book, talk, *more)) == []
    assert book.one("SELECT count(*) FROM memories") == 1


def test_every_refusal_is_one_of_the_domain(book, talk):
    results = at_once(
        *[lambda n=n: said(book, talk, MessageDraft("user", f"{n % 2}", client_id="x")) for n in range(8)]
    )
    assert failures(results, DomainError) == []
    assert len(kept(book, talk)) == 1
