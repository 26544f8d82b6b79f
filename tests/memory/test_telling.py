"""A call that is told of while what it says is forgotten: whoever comes first, the record does not go on saying it."""

from __future__ import annotations

import threading

import pytest
from at_once import at_once, unexpected, waits
from sqlalchemy import text

from memory.conversations import open_conversation
from memory.embedding.backfill import utc_now
from memory.external_calls import CallDraft, record_calls
from memory.forget import UNDO_WINDOW, forget, purge
from memory.message_drafts import MessageDraft
from memory.messages import Scribe, append
from memory.notebooks.cells import add_cell
from memory.notebooks.notebooks import create_notebook, remove_notebook
from memory.redaction import REDACTED
from memory.spaces import get_space

TEXT = "Ada hides the spare key under the third flowerpot"
ARGUMENTS = "SELECT arguments FROM tool_calls"


def converse(book):
    with book.session() as session:
        place = get_space(session, book.user_id, "default")
        return open_conversation(session, book.user_id, place, now=utc_now(), actor="test")[0].id


def report(session, book, conversation_id=None):
    drafts = [CallDraft("note", True, arguments={"text": TEXT}, conversation_id=conversation_id)]
    record_calls(
        session, book.user_id, drafts, keys=book.runtime.keys, token_id=None, correlation_id="one", now=utc_now()
    )


def retell(session, book, conversation_id):
    call = {"type": "function_call", "call_id": "c1", "name": "note", "arguments": f'{{"text": "{TEXT}"}}'}
    result = {"type": "function_call_output", "call_id": "c1", "output": "kept"}
    drafts = [MessageDraft("tool_call", "", payload=each, payload_format="openai") for each in (call, result)]
    append(session, book.user_id, conversation_id, drafts, Scribe(book.runtime.keys, len, utc_now(), "test", "-"))


def forget_at_once(book, memory_id):
    return lambda: book.do(forget, memory_id, keys=book.runtime.keys)


def purge_later(book, memory_id):
    book.do(forget, memory_id, keys=book.runtime.keys, undo=UNDO_WINDOW)

    def sweep():
        with book.session() as session:
            assert purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW) == 1

    return sweep


@pytest.fixture
def beside_it(owner):
    """Run something that has to wait for what a session has done until that ends."""

    def _beside_it(session, action):
        done = []
        thread = threading.Thread(target=lambda: done.extend(at_once(action)))
        thread.start()
        assert waits(owner)
        session.commit()
        thread.join(30)
        assert [isinstance(each, Exception) for each in done] == [False]

    return _beside_it


@pytest.mark.parametrize("tell", [report, retell])
@pytest.mark.parametrize("how", [forget_at_once, purge_later])
def test_what_is_told_just_before_it_goes_is_seen(book, beside_it, tell, how):
    conversation_id, let_go = converse(book), how(book, book.write(TEXT).id)
    with book.session() as session:
        tell(session, book, conversation_id)
        beside_it(session, let_go)
    assert book.all(ARGUMENTS) == [REDACTED]


@pytest.mark.parametrize("tell", [report, retell])
def test_what_is_told_while_it_goes_is_kept_blank(book, beside_it, tell):
    conversation_id, memory_id = converse(book), book.write(TEXT).id

    def told():
        with book.session() as session:
            tell(session, book, conversation_id)

    with book.session() as session:
        forget(session, book.user_id, memory_id, keys=book.runtime.keys, now=utc_now(), actor="test")
        beside_it(session, told)
    assert book.all(ARGUMENTS) == [REDACTED]


def test_who_waits_to_tell_of_a_conversation_holds_up_nobody_who_forgets(book, owner):
    """As who removes its space, holding the conversation, forgets what is in there."""
    conversation_id, memory_id = converse(book), book.write(TEXT).id

    def told():
        with book.session() as session:
            report(session, book, conversation_id)

    thread = threading.Thread(target=told)
    with book.session() as session:
        session.execute(text("SELECT FROM conversations FOR UPDATE"))
        thread.start()
        assert waits(owner)
        (done,) = at_once(lambda: book.do(forget, memory_id, keys=book.runtime.keys))
    thread.join(30)
    assert (done.id, book.all(ARGUMENTS)) == (memory_id, [REDACTED])


def test_who_purges_while_calls_are_told_of_holds_up_nobody_who_blanks_notebooks(book, owner):
    """Both wait for who tells, and go on one after the other."""
    sweep, shown = purge_later(book, book.write("Bruno sings in the choir on Thursdays").id), book.write(TEXT).id
    saying = book.do(create_notebook, "Keys").id
    removed = book.do(create_notebook, "Old").id
    with book.session() as session:
        add_cell(session, book.user_id, saying, "note", {"text": TEXT}, now=utc_now())
    book.do(remove_notebook, removed)
    done = []
    with book.session() as session:
        report(session, book)
        sweeper = threading.Thread(target=lambda: done.extend(at_once(sweep)))
        sweeper.start()
        assert waits(owner)
        forgetter = threading.Thread(target=lambda: done.extend(at_once(forget_at_once(book, shown))))
        forgetter.start()
        assert waits(owner, 2)
    for each in (sweeper, forgetter):
        each.join(30)
    assert unexpected(done) == []
    assert book.all("SELECT title FROM notebooks") == ["Keys"]
