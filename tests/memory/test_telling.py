"""What is told, stated or written while it is forgotten: whoever comes first, nothing goes on saying it unseen."""

from __future__ import annotations

import threading

import pytest
from at_once import at_once, unexpected, waits
from sqlalchemy import text

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.conversations.session_state import SessionStates
from memory.facts.facts import Statement, correct_fact, state
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.purge import purge
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Conversation
from memory.notebooks.cells import add_cell, edit_cell
from memory.notebooks.notebooks import create_notebook, duplicate_notebook, remove_notebook, rename_notebook
from memory.record.external_calls import CallDraft, record_calls
from memory.redaction.redaction import REDACTED
from memory.spaces.spaces import get_space

TEXT = "Ada hides the spare key under the third flowerpot"
ARGUMENTS = "SELECT arguments FROM tool_calls"
FACT = Statement("Ada", "hides", "the spare key under the third flowerpot")
# Whatever somebody wrote by themselves, in any space.
WRITTEN = """
SELECT subject || ' ' || predicate || ' ' || object FROM facts
UNION ALL SELECT state->>'goal' FROM session_states UNION ALL SELECT title FROM notebooks
UNION ALL SELECT input->>'text' FROM cells
"""


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
    return lambda: book.do(forget, memory_id)


def purge_later(book, memory_id):
    book.do(forget, memory_id, undo=UNDO_WINDOW)

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
        thread.join(60)
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
        (done,) = at_once(lambda: book.do(forget, memory_id))
    thread.join(60)
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
        each.join(60)
    assert unexpected(done) == []
    assert book.all("SELECT title FROM notebooks") == ["Keys"]


# --- what is no call: facts, goals and notebooks ----------------------------------------------------------------------


@pytest.fixture
def state_it(book, second_space):
    with book.session() as session:
        place = get_space(session, book.user_id, second_space).id
    return lambda session: state(
        session, book.user_id, place, FACT, keys=book.runtime.keys, now=utc_now(), actor="test"
    )


@pytest.fixture
def correct_it(book, state_it):
    with book.session() as session:
        place = get_space(session, book.user_id, "second").id
        other = Statement(FACT.subject, FACT.predicate, "nothing at all")
        fact = state(session, book.user_id, place, other, keys=book.runtime.keys, now=utc_now(), actor="test").fact.id
    changed = {"object": FACT.object}
    return lambda session: correct_fact(
        session, book.user_id, fact, changed, keys=book.runtime.keys, now=utc_now(), actor="test"
    )


@pytest.fixture
def aim_at_it(book):
    talk = converse(book)

    def aim(session):
        conversation = session.get(Conversation, (book.user_id, talk))
        SessionStates().set_goal(session, conversation, TEXT, now=utc_now(), actor="test")

    return aim


@pytest.fixture
def note_it(book):
    page = book.do(create_notebook, "Keys").id
    with book.session() as session:
        cell = add_cell(session, book.user_id, page, "note", {"text": "nothing"}, now=utc_now()).id
    return lambda session: edit_cell(session, book.user_id, page, cell, {"text": TEXT}, now=utc_now())


@pytest.fixture
def name_it(book):
    page = book.do(create_notebook, "Keys").id
    return lambda session: rename_notebook(session, book.user_id, page, TEXT, now=utc_now(), actor="test")


@pytest.fixture
def begin_with_it(book):
    steps = [("note", {"text": TEXT})]
    return lambda session: create_notebook(session, book.user_id, TEXT, now=utc_now(), actor="test", steps=steps)


WAYS = ["state_it", "correct_it", "aim_at_it", "note_it", "name_it", "begin_with_it"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", [forget_at_once, purge_later])
def test_what_is_written_just_before_it_goes_is_seen(book, beside_it, request, way, how):
    """In another space, or in none: what is forgotten is locked there by nobody."""
    write, memory_id = request.getfixturevalue(way), book.write(TEXT).id
    with book.session() as session:
        write(session)
        # After that: what can still be brought back is refused.
        beside_it(session, how(book, memory_id))
    assert TEXT not in book.all(WRITTEN)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_written_while_it_goes_waits_until_it_is_gone(book, beside_it, request, way):
    """From then on whoever says it says it anew."""
    write, memory_id = request.getfixturevalue(way), book.write(TEXT).id

    def written():
        with book.session() as session:
            write(session)

    with book.session() as session:
        forget(session, book.user_id, memory_id, keys=book.runtime.keys, now=utc_now(), actor="test")
        beside_it(session, written)
    assert TEXT in book.all(WRITTEN)


def test_a_copy_of_a_notebook_that_is_blanked_meanwhile_is_blank(book, beside_it):
    steps, memory_id = [("note", {"text": TEXT})], book.write(TEXT).id
    page = book.do(create_notebook, TEXT, steps=steps).id
    with book.session() as session:
        forget(session, book.user_id, memory_id, keys=book.runtime.keys, now=utc_now(), actor="test")
        beside_it(session, lambda: book.do(duplicate_notebook, page))
    assert book.all("SELECT title FROM notebooks ORDER BY id") == ["Untitled", "Copy of Untitled"]
    assert set(book.all("SELECT input->>'text' FROM cells")) == {None}


@pytest.mark.parametrize("way", ["state_it", "name_it", "aim_at_it"])
def test_who_waits_for_who_tells_holds_nothing_that_one_may_wait_for(book, owner, request, way):
    """As who states another fact, that ends the one which says it."""
    with book.session() as session:
        request.getfixturevalue(way)(session)
    memory_id, done = book.write(TEXT).id, []
    with book.session() as session:
        report(session, book)
        forgetter = threading.Thread(target=lambda: done.extend(at_once(forget_at_once(book, memory_id))))
        forgetter.start()
        assert waits(owner)
        for each in ("facts", "notebooks", "session_states"):
            session.execute(text(f"SELECT FROM {each} FOR UPDATE NOWAIT"))
    forgetter.join(60)
    assert (unexpected(done), TEXT in book.all(WRITTEN)) == ([], False)
