"""What an undo brings back, and with what it was tied to."""

from __future__ import annotations

import signal
from datetime import timedelta

import pytest
from forgetting import SECRET, everything
from sqlalchemy import inspect, text

from memory.clock import utc_now
from memory.errors import ConflictError, NotFoundError
from memory.forgetting.forget import UNDO_WINDOW
from memory.forgetting.purge import purge
from memory.forgetting.restore import restore, sources_first
from memory.lineage.wordings import Merged, keep_wordings
from memory.models import Memory
from memory.notebooks.marks import mark_right
from memory.transfer.export import export
from memory.writing.bulk import forget_many, move_many, restore_many


def columns(memory):
    return {column.key: getattr(memory, column.key) for column in inspect(Memory).columns if column.key != "tsv"}


def test_a_restored_memory_is_whole(book, drop):
    memory_id = book.write(
        SECRET,
        type="instruction",
        tags=("key", "home"),
        theme="house",
        source_ids=("a", "b"),
        source_message="m1",
        manually_saved=True,
        metadata_confidence=0.7,
        created_at=utc_now() - timedelta(days=40),
        expires_at=utc_now() + timedelta(days=40),
    ).id
    before = columns(book.load(memory_id))
    drop(memory_id, UNDO_WINDOW)
    book.do(restore, memory_id)
    after = columns(book.load(memory_id))
    assert {**after, "updated_at": None} == {**before, "updated_at": None}


def test_a_restored_memory_is_found_by_its_words_again(book, drop):
    memory_id = book.write(SECRET).id
    before = book.one("SELECT count(*) FROM postings")
    drop(memory_id, UNDO_WINDOW)
    book.do(restore, memory_id)
    assert book.one("SELECT count(*) FROM postings") == before > 0


def test_a_restored_memory_waits_for_its_vector_at_once(book, drop):
    book.runtime.backfill.adopt(book.user_id)
    memory_id = book.write(SECRET).id
    drop(memory_id, UNDO_WINDOW)
    book.do(restore, memory_id)
    assert book.all("SELECT state FROM embeddings WHERE memory_id = :id", id=memory_id) == ["pending"]


def test_what_replaces_another_by_now_goes_on_doing_so(book, drop, change):
    first, newer, other = (book.write(f"The kiln is at {name}'s place").id for name in ("Ben", "Cleo", "Dora"))
    change(newer, supersedes=first)
    drop(first, UNDO_WINDOW)
    change(newer, supersedes=other)
    book.do(restore, first)
    assert book.load(newer).supersedes == other


def test_a_restored_text_may_be_said_again(book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id, UNDO_WINDOW)
    book.do(restore, memory_id)
    assert book.write(SECRET).outcome == "merged"


def test_possible_updates_come_back_with_the_memory(book, drop):
    older, newer = book.write(SECRET).id, book.write(SECRET.replace("third", "fourth")).id
    drop(older, UNDO_WINDOW)
    book.do(restore, older)
    assert book.all("SELECT memory_id FROM possible_updates WHERE older_id = :id", id=older) == [newer]


@pytest.fixture
def pair(book):
    """Two memories that are a possible update of one another, and what is stored of that."""
    older, newer = book.write(SECRET).id, book.write(SECRET.replace("third", "fourth")).id
    return (older, newer), ties(book)


def ties(book):
    return book.all("SELECT to_jsonb(p) FROM possible_updates p")


ORDERS = pytest.mark.parametrize("forgotten", [(0, 1), (1, 0)])
TURNS = pytest.mark.parametrize("turned", [False, True])


@ORDERS
@TURNS
def test_a_possible_update_comes_back_once_both_are_restored(book, drop, pair, forgotten, turned):
    ids, before = pair
    for place in forgotten:
        drop(ids[place], UNDO_WINDOW)
    for place in reversed(forgotten) if turned else forgotten:
        book.do(restore, ids[place])
    assert ties(book) == before != []


@ORDERS
def test_a_possible_update_comes_back_however_often_it_goes(book, drop, pair, forgotten):
    ids, before = pair
    for place in forgotten:
        drop(ids[place], UNDO_WINDOW)
    for place in forgotten:
        book.do(restore, ids[place])
        drop(ids[place], UNDO_WINDOW)
        book.do(restore, ids[place])
    assert ties(book) == before != []


@ORDERS
@TURNS
def test_two_ties_of_the_same_two_come_back(book, drop, change, pair, forgotten, turned):
    ids, before = pair
    change(ids[1], supersedes=ids[0])
    for place in forgotten:
        drop(ids[place], UNDO_WINDOW)
    for place in reversed(forgotten) if turned else forgotten:
        book.do(restore, ids[place])
    assert (book.load(ids[1]).supersedes, ties(book)) == (ids[0], before)


def test_many_come_back_with_what_ties_them(book, pair):
    ids, before = pair
    book.do(forget_many, ids, undo=UNDO_WINDOW)
    assert book.do(restore_many, ids) == list(ids)
    assert ties(book) == before != []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_went_at_once_comes_back_one_by_one(book, change, pair, order):
    ids, before = pair
    change(ids[1], supersedes=ids[0])
    book.do(forget_many, ids, undo=UNDO_WINDOW)
    for place in order:
        book.do(restore, ids[place])
    assert (book.load(ids[1]).supersedes, ties(book)) == (ids[0], before)


def test_of_many_each_comes_back_with_its_own(book, change, mark):
    texts = [f"The {what} is at Ben's, behind the tall shed" for what in ("kiln", "ladder", "anvil")]
    ids = [book.write(each).id for each in texts]
    for memory_id, said in zip(ids, texts, strict=True):
        change(memory_id, text=said.replace("tall", "green"))
        mark(f"Where is it? {said}", memory_id)
    with book.session() as session:
        digest = b"of other words"
        keep_wordings(session, book.user_id, [Merged(each, digest, f"By {each}", utc_now()) for each in ids])
    told = (
        "SELECT memory_id, question FROM recall_marks ORDER BY 1",
        "SELECT memory_id, text FROM revisions ORDER BY 1, 2",
        "SELECT memory_id, text FROM wordings ORDER BY 1, 2",
    )

    def theirs():
        return [book.all(f"SELECT x::text FROM ({each}) x") for each in told]

    before = theirs()
    assert [len(each) for each in before] == [3, 3, 3]
    book.do(forget_many, ids, undo=UNDO_WINDOW)
    assert theirs() == [[], [], []]
    assert book.do(restore_many, ids) == ids
    assert theirs() == before


def test_of_many_what_was_stored_again_stays_away(book):
    later = utc_now() + timedelta(hours=25)
    ids = [book.write(text, now=later).id for text in ("The kiln is at Ben's", "Ines sings in the choir")]
    book.do(forget_many, ids, undo=UNDO_WINDOW + timedelta(hours=30))
    again = book.write("The kiln is at Ben's", now=later).id
    assert book.do(restore_many, ids) == ids[1:]
    # Nor does the other one come back, once both are forgotten: only one of them may be there.
    book.do(forget_many, [again], undo=UNDO_WINDOW)
    assert book.do(restore_many, [ids[0], again]) == ids[:1]
    assert set(book.all("SELECT id FROM memories")) == set(ids)


@pytest.mark.parametrize("undo", [None, UNDO_WINDOW])
def test_nothing_is_restored_after_the_window(book, drop, undo):
    memory_id = book.write(SECRET).id
    drop(memory_id, undo)
    with pytest.raises(NotFoundError):
        book.do(restore, memory_id, now=utc_now() + UNDO_WINDOW)


def test_a_text_that_was_stored_again_is_not_restored_twice(book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id, UNDO_WINDOW)
    book.write(SECRET, now=utc_now() + timedelta(hours=25))
    with pytest.raises(ConflictError):
        book.do(restore, memory_id)


def test_an_archived_memory_is_restored_beside_its_twin(book, drop, change):
    memory_id = book.write(SECRET).id
    change(memory_id, status="archived")
    book.write(SECRET)
    drop(memory_id, UNDO_WINDOW)
    assert book.do(restore, memory_id).status == "archived"


@pytest.fixture
def chain(book, change):
    older, newer = book.write("The office is in Basel").id, book.write("The office has moved to Bern").id
    change(newer, supersedes=older)
    return older, newer


def test_forgetting_the_newer_leaves_the_older_superseded(book, drop, chain):
    drop(chain[1], UNDO_WINDOW)
    assert book.load(chain[0]).status == "superseded"


def test_forgetting_the_older_leaves_the_newer_in_force(book, drop, chain):
    drop(chain[0], UNDO_WINDOW)
    newer = book.load(chain[1])
    assert (newer.status, newer.supersedes) == ("active", None)


@pytest.mark.parametrize("forgotten", [(0,), (1,), (0, 1), (1, 0)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_chain_is_whole_again_once_all_is_restored(book, drop, chain, forgotten, turned):
    for place in forgotten:
        drop(chain[place], UNDO_WINDOW)
    for place in reversed(forgotten) if turned else forgotten:
        book.do(restore, chain[place])
    assert (book.load(chain[1]).supersedes, book.load(chain[0]).status) == (chain[0], "superseded")


def test_what_was_made_active_meanwhile_holds_beside_what_comes_back(book, drop, change, chain):
    drop(chain[1], UNDO_WINDOW)
    change(chain[0], status="active")
    book.do(restore, chain[1])
    assert [(each.status, each.supersedes) for each in map(book.load, chain)] == [("active", None)] * 2


def test_what_it_replaced_last_is_what_it_replaces_again(book, drop, change, chain):
    older, newer = chain
    last = book.write("The office was in Thun").id
    drop(older, UNDO_WINDOW)
    change(newer, supersedes=last)
    drop(newer, UNDO_WINDOW)
    for each in chain:
        book.do(restore, each)
    assert book.load(newer).supersedes == last


@pytest.mark.parametrize("forgotten", [0, 1])
def test_a_chain_is_not_tied_again_to_what_has_left_the_space(book, drop, chain, second_space, forgotten):
    drop(chain[forgotten], UNDO_WINDOW)
    book.do(move_many, [chain[1 - forgotten]], second_space)
    book.do(restore, chain[forgotten])
    assert book.all("SELECT supersedes FROM memories") == [None, None]


@pytest.mark.parametrize("forgotten", [0, 1])
def test_a_possible_update_is_none_of_what_has_left_the_space(book, drop, pair, second_space, forgotten):
    ids, _ = pair
    drop(ids[forgotten], UNDO_WINDOW)
    assert book.do(move_many, [ids[1 - forgotten]], second_space)
    book.do(restore, ids[forgotten])
    assert ties(book) == []


def test_what_comes_back_does_not_supersede_itself(book, drop, change):
    first, middle, last = (book.write(f"The office has moved to {town}").id for town in ("Basel", "Bern", "Thun"))
    change(middle, supersedes=first)
    change(last, supersedes=middle)
    drop(middle, UNDO_WINDOW)
    change(first, supersedes=last)
    book.do(restore, middle)
    assert [book.load(each).supersedes for each in (first, middle, last)] == [last, first, None]


@pytest.fixture
def impatient():
    """Fail after ten seconds: who goes round in a circle waits for nobody, and nothing else would end it."""

    def give_up(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_a_circle_that_an_earlier_version_left_holds_up_no_change(book, change, impatient):
    one, other, newer = (book.write(f"The office has moved to {town}").id for town in ("Basel", "Bern", "Thun"))
    with book.session() as session:
        session.execute(text("UPDATE memories SET supersedes = :one WHERE id = :other"), {"one": one, "other": other})
        session.execute(text("UPDATE memories SET supersedes = :other WHERE id = :one"), {"one": one, "other": other})
    change(newer, supersedes=one)
    assert book.load(newer).supersedes == one


MANY = """
INSERT INTO forgotten (user_id, id, row, purge_at)
SELECT f.user_id, uuidv7(), f.row, f.purge_at FROM forgotten f, generate_series(1, 12000) RETURNING id
"""


def test_very_many_are_put_in_order_at_once(book, drop, impatient):
    drop(book.write(SECRET).id, UNDO_WINDOW)
    ids = book.all(MANY)
    with book.session() as session:
        assert sources_first(session, book.user_id, ids) == ids


@pytest.fixture
def mark(book):
    """Say that a memory is the right answer to a question."""

    def _mark(question, memory_id):
        with book.session() as session:
            mark_right(session, book.user_id, question, memory_id, now=utc_now())

    return _mark


def marks(book):
    return book.all("SELECT to_jsonb(m) FROM recall_marks m ORDER BY question")


def test_marks_come_back_with_the_memory(book, drop, mark):
    memory_id = book.write(SECRET).id
    mark("Where is the key?", memory_id)
    mark("Which flowerpot?", memory_id)
    before = marks(book)
    drop(memory_id, UNDO_WINDOW)
    assert marks(book) == []
    book.do(restore, memory_id)
    assert marks(book) == before
    assert len(before) == 2


def test_marks_that_may_come_back_are_in_no_export(book, drop, mark):
    memory_id = book.write(SECRET).id
    mark("Where does the gardener look?", memory_id)
    drop(memory_id, UNDO_WINDOW)
    with book.session() as session:
        assert "gardener" not in "".join(export(session, book.user_id, now=utc_now()))


def test_marks_are_gone_when_the_window_closes(book, drop, mark, owner):
    memory_id = book.write(SECRET).id
    mark("Where does the chimneysweep look?", memory_id)
    drop(memory_id, UNDO_WINDOW)
    with book.session() as session:
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW)
    assert "chimneysweep" not in everything(owner)


@pytest.mark.parametrize("undo", [None, UNDO_WINDOW])
def test_a_mark_that_says_what_another_memory_said_does_not_come_back(book, drop, mark, owner, undo):
    secret = SECRET.replace("flowerpot", "watering can")
    said, memory_id = book.write(secret).id, book.write("The garden gate is green").id
    mark(f"Is it true that {secret.upper()}?", memory_id)
    mark("What colour is the gate?", memory_id)
    drop(memory_id, timedelta(hours=1))
    drop(said, undo)
    with book.session() as session:
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW)
    assert "watering can" not in everything(owner).lower()
    book.do(restore, memory_id)
    assert [each["question"] for each in marks(book)] == ["What colour is the gate?"]


def test_what_an_earlier_version_forgot_comes_back_without_marks(book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id, UNDO_WINDOW)
    with book.session() as session:
        session.execute(text("UPDATE forgotten SET row = row #- '{_links,recall_marks}'"))
    drop(book.write("The garden gate is green").id)
    assert book.do(restore, memory_id).id == memory_id
