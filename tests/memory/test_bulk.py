"""One thing done to many memories: what all of them need is done once."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from sqlalchemy import event, text

from memory.clock import utc_now
from memory.forgetting.forget import UNDO_WINDOW
from memory.forgetting.restore import restore
from memory.spaces.spaces import create_space, update_space
from memory.writing import bulk
from memory.writing.edit import pin

LOCK = re.compile(r"FROM (?:memories|spaces)\b.* FOR (?:NO KEY )?UPDATE", re.DOTALL)
ACTS = {
    "pin": lambda book, ids, **done: bulk.pin_many(*ids, pinned=True, **done),
    "unpin": lambda book, ids, **done: bulk.pin_many(*ids, pinned=False, **done),
    "tag": lambda book, ids, **done: bulk.tag_many(*ids, "hives", on=True, **done),
    "archive": lambda book, ids, **done: bulk.set_status_many(*ids, "archived", keys=book.runtime.keys, **done),
    "activate": lambda book, ids, **done: bulk.set_status_many(*ids, "active", keys=book.runtime.keys, **done),
    "forget": lambda book, ids, **done: bulk.forget_many(*ids, keys=book.runtime.keys, undo=UNDO_WINDOW, **done),
    "restore": lambda book, ids, **done: bulk.restore_many(*ids, **done),
    "move": lambda book, ids, **done: bulk.move_many(*ids, "second", keys=book.runtime.keys, **done)["default"],
}


@pytest.fixture
def statements(book):
    """Do an act to memories; return what it returns, and the statements that were asked for that."""

    def _statements(act, ids):
        said = []

        def note(_connection, _cursor, statement, *_):
            said.append(statement)

        with book.session() as session:
            event.listen(session.get_bind(), "before_cursor_execute", note)
            done = ACTS[act](book, (session, book.user_id, ids), now=utc_now(), actor="test")
            session.flush()
            event.remove(session.get_bind(), "before_cursor_execute", note)
        return done, said

    return _statements


@pytest.fixture
def asked(book, statements):
    """Do an act to new memories; return the statements that were asked for that."""

    def _asked(act, count):
        # Alike in nothing: a memory that may be an update of another does not move.
        ids = [book.write(uuid4().hex).id for _ in range(count)]
        if act == "activate":
            book.do(bulk.set_status_many, ids, "archived")
        if act == "unpin":
            book.do(bulk.pin_many, ids, pinned=True)
        if act == "restore":
            book.do(bulk.forget_many, ids, undo=UNDO_WINDOW)
        done, said = statements(act, ids)
        assert sorted(done) == sorted(ids)
        return said

    return _asked


@pytest.mark.parametrize("act", ACTS)
def test_memories_and_their_spaces_are_locked_once_for_all(asked, second_space, act):
    few, many = ([each for each in asked(act, count) if LOCK.search(each)] for count in (2, 12))
    assert len(few) == len(many)


@pytest.mark.parametrize("act", ["archive", "activate", "pin", "unpin", "tag", "move", "forget", "restore"])
def test_many_take_no_more_statements_than_a_few(asked, second_space, act):
    # One for each of five hundred had their owner wait for seconds.
    assert len(asked(act, 2)) == len(asked(act, 12))


def test_of_many_each_is_pinned_and_unpinned_as_it_is_alone(book, change, second_space):
    """Whatever it weighed, whether it was saved or repeated since, and where memory is off."""

    def written(words):
        ids = [
            book.write(f"{words} {each}", **more).id for each, more in (("tea", {}), ("jam", {"manually_saved": True}))
        ]
        ids += [book.write(f"{words} {each}", importance=0.8).id for each in ("figs", "rye")]
        return [*ids, book.write(f"{words} oats", space=second_space).id]

    alone, together = written("Ann likes"), written("Ben likes")
    book.do(update_space, second_space, {"memory_enabled": False})
    seen = []
    for pinned in (True, False):
        for each in alone:
            book.do(pin, each, pinned=pinned)
        assert book.do(bulk.pin_many, together, pinned=pinned) == together
        if pinned:
            for some in (alone, together):
                change(some[1], importance=0.9)
                change(some[2], manually_saved=True)
                book.write(book.load(some[3]).text)
        seen.append([[told(book, each) for each in some] for some in (alone, together)])
    assert all(one == other for one, other in seen)
    assert len({str(each) for each in seen[0][0]}) > 1


def told(book, memory_id):
    memory = book.load(memory_id)
    details = "SELECT details FROM audit_events WHERE subject_id = :id AND action LIKE 'memory.%pinned' ORDER BY id"
    values = (memory.pinned, memory.manually_saved, round(memory.importance, 6), memory.repeat_count)
    return values, book.all(details, id=memory_id)


def test_many_summaries_that_stay_away_take_no_more_statements_than_a_few(book, statements):
    note = book.write("The kiln is at Ben's").id
    made = [book.write(uuid4().hex, type="summary", source_ids=(str(note),)).id for _ in range(12)]
    for each in (made, [note]):
        book.do(bulk.forget_many, each, undo=UNDO_WINDOW)
    few, many = statements("restore", made[:2]), statements("restore", made)
    assert (few[0], many[0], len(few[1])) == ([], [], len(many[1]))


@pytest.mark.parametrize("act", sorted(ACTS.keys() - {"restore", "activate", "move", "unpin"}))
def test_what_comes_back_elsewhere_meanwhile_is_left_as_it_is(book, second_space, act):
    here, there = (book.write(uuid4().hex, space=space).id for space in ("default", second_space))
    book.do(bulk.forget_many, [there], undo=UNDO_WINDOW)
    before = []

    def come_back(_connection, _cursor, statement, *_):
        # Their spaces are locked by now.
        if LOCK.search(statement) and "FROM memories" in statement and not before:
            before.append(there)
            book.do(restore, there)

    with book.session() as session:
        engine = session.get_bind()
        event.listen(engine, "before_cursor_execute", come_back)
        done = ACTS[act](book, (session, book.user_id, [here, there]), now=utc_now(), actor="test")
        event.remove(engine, "before_cursor_execute", come_back)
    assert (done, before) == ([here], [there])
    assert book.load(there).status == "active"


def test_of_two_that_say_the_same_one_is_made_active(book, change):
    first = book.write("The kiln is at Ben's").id
    change(first, status="archived")
    second = book.write("The kiln is at Ben's").id
    change(second, status="archived")
    assert book.do(bulk.set_status_many, [first, second], "active") == [first]
    assert book.load(second).status == "archived"


def test_of_two_that_say_the_same_one_moves(book, second_space):
    with book.session() as session:
        create_space(session, book.user_id, "third", soft_cap=200, now=utc_now(), actor="test")
    ids = [book.write("The kiln is at Ben's", space=space).id for space in ("default", "third")]
    assert moved(book, ids, second_space) == {"default": {ids[0]}}


OLDER, NEWER = "The train to Basel leaves at 9 from platform 3.", "The train to Basel leaves at 9 from platform 4."


@pytest.fixture(params=["update", "replaced"])
def tied(book, change, request):
    """Two memories of which one may be an update of the other, or replaces it; one more that is tied to neither."""
    ids = [book.write(text).id for text in (OLDER, NEWER, "Ines sings in the choir")]
    if request.param == "replaced":
        change(ids[1], supersedes=ids[0])
    return ids


def moved(book, ids, space):
    return {slug: set(each) for slug, each in book.do(bulk.move_many, ids, space).items()}


def test_what_is_tied_moves_together_and_back(book, second_space, tied):
    before = book.all("SELECT to_jsonb(p) FROM possible_updates p"), [book.load(each).supersedes for each in tied]
    assert moved(book, tied, second_space) == {"default": set(tied)}
    after = book.all("SELECT to_jsonb(p) FROM possible_updates p"), [book.load(each).supersedes for each in tied]
    assert after == before
    assert moved(book, tied, "default") == {second_space: set(tied)}


@pytest.mark.parametrize("left", [0, 1])
def test_what_is_tied_to_a_memory_that_stays_does_too(book, second_space, tied, left):
    # What was replaced is in no list that one would choose it in: it goes with what replaces it.
    free = {tied[1]} if left == 0 and book.load(tied[0]).status == "superseded" else set()
    assert moved(book, [tied[1 - left], tied[2]], second_space) == {"default": {tied[2], *free}}


def test_what_a_memory_replaced_moves_along_with_it_and_no_other_way(book, change, second_space):
    texts = ("The kiln is at Ben's", "The kiln is at Cleo's", "The kiln is at Dora's", "Ines sings in the choir")
    oldest, older, newer, other = (book.write(text).id for text in texts)
    for one, by in ((oldest, older), (older, newer)):
        change(by, supersedes=one)
    with book.session() as session:
        session.execute(text("DELETE FROM possible_updates"))
    assert moved(book, [oldest, older, other], second_space) == {"default": {other}}
    assert moved(book, [newer], second_space) == {"default": {newer}}
    assert {book.load(each).space_id for each in (oldest, older, newer)} == {book.load(other).space_id}
    told = "SELECT details->>'replaced_by' FROM audit_events WHERE action = 'memory.moved' AND subject_id = :id"
    assert [book.one(told, id=each) for each in (oldest, older, newer)] == [str(older), str(newer), None]
    # An undo names all of them.
    assert moved(book, [oldest, older, newer], "default") == {second_space: {oldest, older, newer}}


@pytest.mark.parametrize("forgotten", [False, True], ids=["the same is there", "the same was forgotten there"])
def test_nothing_of_what_is_tied_moves_where_one_may_not(book, drop, second_space, tied, forgotten):
    same = book.write(NEWER, space=second_space).id
    if forgotten:
        drop(same)
    assert moved(book, tied, second_space) == {"default": {tied[2]}}
