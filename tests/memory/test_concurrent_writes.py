"""Writers at once: real threads, real connections."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from itertools import pairwise
from uuid import uuid4

import pytest
from at_once import at_once, unexpected, waits
from forgetting import everything
from sqlalchemy import text
from sqlalchemy.orm import Session

from memory.accounts.erase import erase_user
from memory.clock import utc_now
from memory.conversations.conversations import delete_conversation, open_conversation
from memory.drafts.drafts import Draft
from memory.embedding.cache import _digest, drop_cached
from memory.errors import ConflictError, DomainError, InvalidError, NotFoundError, RefusedError
from memory.forgetting.forget import forget, set_aside_expired
from memory.forgetting.letting_go import let_go
from memory.forgetting.purge import purge
from memory.forgetting.restore import restore
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Forgotten
from memory.notebooks import cells, notebooks
from memory.notebooks.marks import mark_right
from memory.record.external_calls import CallDraft, record_calls
from memory.record.journal import record_tool_call
from memory.record.telemetry import advance_totals
from memory.space_removal.contents import contents_of
from memory.space_removal.removal import remove_space
from memory.spaces.capacity import enforce_capacity
from memory.spaces.spaces import create_space, get_space, lock_space
from memory.spaces.themes import create_theme, delete_theme, describe_theme
from memory.writing.bulk import forget_many, move_many, restore_many
from memory.writing.edit import update

THREADS = 16
UNDO = timedelta(minutes=10)


@pytest.fixture
def batch(book):
    def _batch(*texts, space="default", **fields):
        return book.write_many([Draft(words, **fields) for words in texts], space)

    return _batch


def test_the_same_text_from_many_threads_is_one_row(book):
    results = at_once(*[lambda: book.write("The meeting is in room seven")] * THREADS)
    assert unexpected(results) == []
    assert book.all("SELECT repeat_count FROM memories") == [THREADS - 1]


def test_one_writer_creates_and_the_others_merge(book):
    results = at_once(*[lambda: book.write("The meeting is in room seven")] * THREADS)
    assert sorted(result.outcome for result in results) == ["created"] + ["merged"] * (THREADS - 1)


def test_different_texts_are_all_there(book):
    results = at_once(*[lambda n=n: book.write(f"Person {n} sits at desk {n}") for n in range(THREADS)])
    assert unexpected(results) == []
    assert book.one("SELECT count(*) FROM memories") == THREADS


def test_two_spaces_do_not_share_a_row(book, second_space):
    spaces = ["default", second_space] * 8
    at_once(*[lambda space=space: book.write("The meeting is in room seven", space=space) for space in spaces])
    assert book.all("SELECT repeat_count FROM memories") == [7, 7]


def test_batches_and_single_writes_count_every_repeat(book, batch):
    texts = [f"Fact of the day number {n}" for n in range(40)]
    singles = [lambda words=words: book.write(words) for words in texts[:8]]
    results = at_once(*singles, lambda: batch(*texts), lambda: batch(*reversed(texts)))
    assert unexpected(results) == []
    assert book.one("SELECT count(*) + sum(repeat_count) FROM memories") == 88


def test_a_theme_that_two_spaces_add_at_once_is_one_theme(book, second_space):
    spaces = ["default", second_space] * 4
    results = at_once(
        *[lambda n=n, space=space: book.write(f"Note {n}", space=space, theme="new") for n, space in enumerate(spaces)]
    )
    assert unexpected(results) == []
    assert (book.one("SELECT count(*) FROM themes"), book.one("SELECT count(DISTINCT theme_id) FROM memories")) == (
        1,
        1,
    )


def test_themes_in_any_order_do_not_block_each_other(book, batch, second_space):
    themes = [f"theme-{n}" for n in range(12)]

    def write(space, names):
        return book.write_many([Draft(f"A note about {name} in {space}", theme=name) for name in names], space)

    results = at_once(lambda: write("default", themes), lambda: write(second_space, themes[::-1]))
    assert unexpected(results) == []


@pytest.mark.parametrize("add", [create_theme, partial(create_space, soft_cap=9)], ids=["theme", "space"])
def test_what_somebody_else_adds_at_this_moment_is_told_by_its_name(book, beside, add):
    done = beside(
        lambda session: add(session, book.user_id, "garden", now=utc_now(), actor="test"),
        lambda: book.do(add, "garden"),
    )
    assert (type(done), getattr(done, "field", None)) == (ConflictError, "slug")


def test_a_theme_is_described_while_it_is_deleted(book, beside):
    book.do(create_theme, "garden")
    done = beside(
        lambda session: delete_theme(session, book.user_id, "garden", now=utc_now(), actor="test"),
        lambda: book.do(describe_theme, "garden", display_name="The garden", description="What grows"),
    )
    assert isinstance(done, NotFoundError)


@pytest.mark.parametrize("round_", range(5))
def test_forgetting_and_repeating_at_once_never_leaves_half(book, round_):
    memory_id = book.write("The meeting is in room seven").id
    results = at_once(lambda: book.do(forget, memory_id), lambda: book.write("The meeting is in room seven"))
    assert unexpected(results) == []
    # Either order ends without the memory: forgotten after the merge, or refused by the tombstone.
    assert (book.load(memory_id), book.one("SELECT count(*) FROM memories")) == (None, 0)


def test_a_memory_is_forgotten_by_one_of_many(book):
    memory_id = book.write("The meeting is in room seven").id
    results = at_once(*[lambda: book.do(forget, memory_id)] * 6)
    assert unexpected(results) == []
    assert sum(isinstance(result, DomainError) for result in results) == 5


def test_edits_into_one_text_let_one_through(book):
    ids = [book.write(f"Draft {words}").id for words in ("alpha", "beta", "gamma", "delta")]
    change = {"text": "The final wording"}
    results = at_once(*[lambda i=i: book.do(update, i, change) for i in ids])
    assert unexpected(results) == []
    assert sum(isinstance(result, DomainError) for result in results) == 3


def test_many_kinds_of_writers_do_not_deadlock(book, batch):
    """Merges, edits, forgetting and trimming lock memories of one space; none may wait in a circle."""
    ids = [outcome.id for outcome in batch(*(f"Fact of the day number {n}" for n in range(30)))]

    def trim():
        with book.session() as session:
            space = lock_space(session, book.user_id, "default")
            space.soft_cap = 20
            return enforce_capacity(session, space, now=utc_now(), actor="test")

    results = at_once(
        lambda: batch(*(f"Fact of the day number {n}" for n in reversed(range(30)))),
        trim,
        *[lambda i=i: book.do(forget, i) for i in ids[::7]],
        *[lambda i=i: book.do(update, i, {"tags": ["x"]}) for i in ids[::5]],
    )
    assert unexpected(results) == []


@pytest.mark.parametrize("round_", range(5))
def test_a_memory_and_what_sums_it_up_are_forgotten_at_once(book, round_):
    note = book.write("The meeting is in room seven").id
    made = book.write("Where we meet", type="summary", source_ids=(str(note),)).id
    results = at_once(*[lambda each=each: book.do(forget, each, undo=UNDO) for each in (note, made, note, made)])
    assert unexpected(results) == []
    assert book.all("SELECT id FROM memories") == []
    assert sorted(book.all("SELECT id FROM forgotten")) == [note, made]
    # One of them forgot the note, and the summary with it unless it was forgotten by itself.
    assert sum(getattr(each, "id", None) == note for each in results) == 1
    book.do(restore_many, [note, made])
    assert sorted(book.all("SELECT id FROM memories")) == [note, made]


@pytest.mark.parametrize("round_", range(5))
def test_of_forgetting_with_and_without_an_undo_at_once_one_holds(book, round_):
    memory_id = book.write("The meeting is in room seven").id
    results = at_once(lambda: book.do(forget, memory_id), lambda: book.do(forget, memory_id, undo=UNDO))
    kinds = [type(each) for each in results]
    assert (unexpected(results), sorted(each.__name__ for each in kinds)) == ([], ["Forgetting", "NotFoundError"])
    assert bool(book.all("SELECT id FROM forgotten")) == (kinds[0] is NotFoundError)
    assert book.write("The meeting is in room seven").refusal == "tombstone"


@pytest.fixture
def told():
    """What a memory says, and what it is corrected to: no other test says the same, and all tables are read."""
    return f"The heron {uuid4().hex} nests by the sluice", f"It nests in the greenhouse of {uuid4().hex}"


def test_what_is_forgotten_while_it_is_corrected_is_forgotten_as_it_was_and_is(book, beside, owner, told):
    first, corrected = told
    memory_id = book.write(first).id
    done = beside(
        lambda session: correct(book, session, memory_id, corrected),
        lambda: book.do(forget, memory_id, undo=UNDO),
    )
    assert (unexpected([done]), book.load(memory_id)) == ([], None)
    assert [book.write(words).refusal for words in (first, corrected)] == ["tombstone"] * 2
    book.do(restore, memory_id)
    assert book.load(memory_id).text == corrected


def test_what_is_corrected_while_it_is_forgotten_says_nothing_any_more(book, beside, owner, told):
    first, corrected = told
    memory_id = book.write(first).id
    done = beside(
        lambda session: forget(session, book.user_id, memory_id, keys=book.runtime.keys, now=utc_now(), actor="test"),
        lambda: book.do(update, memory_id, {"text": corrected}),
    )
    assert isinstance(done, NotFoundError)
    left = everything(owner)
    assert [words in left for words in told] == [False, False]


@pytest.mark.parametrize("undo", [None, UNDO])
@pytest.mark.parametrize("round_", range(5))
def test_forgetting_and_correcting_at_once_leave_nothing_to_read(book, owner, undo, round_, told):
    first, corrected = told
    memory_id = book.write(first).id
    results = at_once(
        lambda: book.do(forget, memory_id, undo=undo),
        lambda: book.do(update, memory_id, {"text": corrected}),
        lambda: book.do(update, memory_id, {"tags": ["herons"]}),
    )
    assert unexpected(results) == []
    assert (book.load(memory_id), book.all("SELECT text FROM revisions")) == (None, [])
    assert book.write(first).refusal == "tombstone"
    if undo is None:
        left = everything(owner)
        assert [words in left for words in told] == [False, False]


def correct(book, session, memory_id, words):
    update(session, book.user_id, memory_id, {"text": words}, keys=book.runtime.keys, now=utc_now(), actor="test")


# --- a memory whose space changes while somebody waits for it ---------------------------------------------------------


SAID = "The meeting is in room seven"
TURN = f"user: {SAID}\nassistant: Thanks"


@pytest.fixture
def leave(book, second_space):
    """Take a memory out of the second space, in a transaction that is open."""

    def _remove(session, memory_id, choice="move"):
        space = get_space(session, book.user_id, second_space)
        keys = book.runtime.keys
        expect = contents_of(session, book.user_id, space, keys=keys, now=utc_now()).digest
        remove_space(session, book.user_id, second_space, choice, expect=expect, keys=keys, now=utc_now(), actor="test")

    def _move(session, memory_id):
        keys = book.runtime.keys
        moved = move_many(session, book.user_id, [memory_id], "default", keys=keys, now=utc_now(), actor="test")
        assert moved == {second_space: [memory_id]}

    def _forget(session, memory_id):
        _remove(session, memory_id, "forget")

    return {"removed": _remove, "moved": _move, "forgotten": _forget}


goes = pytest.mark.parametrize("how", ["removed", "moved"])


@goes
def test_what_is_forgotten_while_it_moves_is_forgotten_where_it_is(book, beside, leave, second_space, how):
    memory_id = book.write(SAID, space=second_space).id
    done = beside(lambda session: leave[how](session, memory_id), lambda: book.do(forget, memory_id))
    assert unexpected([done]) == []
    assert book.load(memory_id) is None
    assert book.write(SAID).refusal == "tombstone"


@goes
def test_what_is_forgotten_with_an_undo_while_it_moves_comes_back_where_it_is(book, beside, leave, second_space, how):
    memory_id = book.write(SAID, space=second_space).id
    beside(lambda session: leave[how](session, memory_id), lambda: book.do(forget, memory_id, undo=UNDO))
    assert (book.load(memory_id), book.write(SAID).refusal) == (None, "tombstone")
    book.do(restore, memory_id)
    assert slugs_of(book, memory_id) == ["default"]


def test_what_moves_while_it_is_forgotten_does_not(book, beside, second_space):
    memory_id = book.write(SAID, space=second_space).id
    keys = book.runtime.keys
    moved = beside(
        lambda session: forget(session, book.user_id, memory_id, keys=keys, now=utc_now(), actor="test", undo=UNDO),
        lambda: book.do(move_many, [memory_id], "default"),
    )
    assert (dict(moved), book.load(memory_id)) == ({}, None)
    assert book.write(SAID, space=second_space).refusal == "tombstone"
    book.do(restore, memory_id)
    assert slugs_of(book, memory_id) == [second_space]


@pytest.mark.parametrize("round_", range(5))
def test_forgetting_and_moving_at_once_leave_it_forgotten_in_one_space(book, second_space, round_):
    note = book.write(SAID, space=second_space).id
    made = book.write("Where we meet", type="summary", source_ids=(str(note),), space=second_space).id
    results = at_once(
        lambda: book.do(forget, note, undo=UNDO),
        lambda: book.do(move_many, [note], "default"),
        lambda: book.do(forget, made, undo=UNDO),
    )
    assert unexpected(results) == []
    assert book.all("SELECT id FROM memories") == []
    stones = book.all("SELECT slug FROM tombstones t JOIN spaces s ON s.id = t.space_id WHERE memory_id = :id", id=note)
    book.do(restore_many, [note, made])
    assert [slugs_of(book, note), len(slugs_of(book, made))] == [stones, 1]


def slugs_of(book, memory_id):
    return book.all("SELECT slug FROM memories m JOIN spaces s ON s.id = m.space_id WHERE m.id = :id", id=memory_id)


@goes
def test_what_many_are_forgotten_with_is_forgotten_where_it_is(book, beside, leave, second_space, how):
    memory_id = book.write(SAID, space=second_space).id
    done = beside(
        lambda session: leave[how](session, memory_id),
        lambda: book.do(forget_many, [memory_id], undo=UNDO),
    )
    assert done == [memory_id]
    assert book.write(SAID).refusal == "tombstone"


@goes
def test_what_is_changed_while_it_moves_is_refused_what_was_forgotten_there(book, beside, leave, second_space, how):
    gone = book.write("The meeting is in the attic").id
    book.do(forget, gone)
    memory_id = book.write(SAID, space=second_space).id
    done = beside(
        lambda session: leave[how](session, memory_id),
        lambda: book.do(update, memory_id, {"text": "The meeting is in the attic"}),
    )
    assert (type(done), getattr(done, "reason", "")) == (RefusedError, "tombstone")
    assert book.load(memory_id).text == SAID


@goes
def test_what_is_changed_while_it_moves_is_changed(book, beside, leave, second_space, how):
    memory_id = book.write(SAID, space=second_space).id
    done = beside(
        lambda session: leave[how](session, memory_id),
        lambda: book.do(update, memory_id, {"tags": ["x"]}),
    )
    assert unexpected([done]) == []
    with book.session() as session:
        default = get_space(session, book.user_id, "default").id
    memory = book.load(memory_id)
    assert (memory.space_id, memory.tags) == (default, ["x"])


@pytest.mark.parametrize("action", [forget, update])
def test_what_is_forgotten_with_its_space_while_somebody_waits_is_not_found(book, beside, leave, second_space, action):
    memory_id = book.write(SAID, space=second_space).id
    more = [{"tags": ["x"]}] if action is update else []
    done = beside(
        lambda session: leave["forgotten"](session, memory_id),
        lambda: book.do(action, memory_id, *more),
    )
    assert isinstance(done, NotFoundError)


def test_nothing_is_moved_into_a_space_that_goes_meanwhile(book, beside, leave, second_space):
    memory_id = book.write(SAID).id
    done = beside(
        lambda session: leave["removed"](session, None),
        lambda: book.do(move_many, [memory_id], second_space),
    )
    assert isinstance(done, InvalidError)
    assert book.load(memory_id) is not None


@pytest.mark.parametrize("how", ["removed", "forgotten"])
def test_a_space_is_not_removed_past_what_is_being_said_in_it(book, beside, leave, second_space, how):
    """Who writes twice to a conversation needs its space a second time."""
    with book.session() as session:
        space, now = get_space(session, book.user_id, second_space), utc_now()
        talk = open_conversation(session, book.user_id, space, now=now, actor="test")[0].id
    scribe = Scribe(book.runtime.keys, len, now, "test", "one")

    def say(*roles):
        drafts = [MessageDraft(role, SAID) for role in roles]
        return lambda session: append(session, book.user_id, talk, drafts, scribe)

    def remove():
        with book.session() as session:
            leave[how](session, None)

    done = beside(say("user"), remove, say("assistant"))
    assert isinstance(done, ConflictError)
    assert book.all("SELECT message_count || ' ' || episodes FROM conversations") == ["2 1"]


# --- what is brought back: its space first, then what was forgotten ---------------------------------------------------


@pytest.fixture
def gone(book):
    """Write texts that replace each other, and forget them with an undo, the last one first."""

    def _gone(*texts, space="default"):
        ids = [book.write(words, space=space).id for words in texts]
        for older, newer in pairwise(ids):
            book.do(update, newer, {"supersedes": older})
        for memory_id in reversed(ids):
            book.do(forget, memory_id, undo=UNDO)
        return ids

    return _gone


def hold(book, space="default"):
    return lambda session: lock_space(session, book.user_id, space)


def test_many_and_one_of_them_are_brought_back_at_once(book, beside, gone):
    """Whoever brings back one of them waits for the space, and holds nothing that the other needs."""
    ids = gone(SAID, "The lawn is mown on Fridays")
    back = []
    one = beside(
        hold(book),
        lambda: book.do(restore, ids[1]),
        lambda session: back.extend(restore_many(session, book.user_id, ids, now=utc_now(), actor="test")),
    )
    assert (back, type(one)) == (ids, NotFoundError)


def test_two_that_are_tied_are_brought_back_at_once(book, beside, gone):
    older, newer = gone(SAID, "The lawn is mown on Fridays")
    done = beside(
        hold(book),
        lambda: book.do(restore, older),
        lambda session: restore(session, book.user_id, newer, now=utc_now(), actor="test"),
    )
    assert unexpected([done]) == []
    assert book.load(newer).supersedes == older


def test_a_space_is_removed_while_something_is_brought_back_there(book, beside, gone, leave, second_space):
    (memory_id,) = gone(SAID, space=second_space)

    def remove():
        with book.session() as session:
            leave["removed"](session, memory_id)

    done = beside(
        hold(book, second_space),
        remove,
        lambda session: restore(session, book.user_id, memory_id, now=utc_now(), actor="test"),
    )
    assert isinstance(done, ConflictError)
    assert book.load(memory_id) is not None


def test_what_is_brought_back_while_its_space_goes_comes_back_in_the_pool(book, beside, gone, leave, second_space):
    (memory_id,) = gone(SAID, space=second_space)
    done = beside(lambda session: leave["removed"](session, memory_id), lambda: book.do(restore, memory_id))
    assert unexpected([done]) == []
    with book.session() as session:
        assert book.load(memory_id).space_id == get_space(session, book.user_id, "default").id


@pytest.fixture
def expired(book):
    """A memory that is due to be purged."""
    return book.write("The door code is on the fridge", expires_at=utc_now() + timedelta(milliseconds=1)).id


@pytest.mark.parametrize("most", [None, 1])
def test_purges_whose_marks_name_each_other_do_not_wait_for_each_other(book, gone, most):
    """Each holds one of two memories that either is marked as right for the other's words."""
    texts = (SAID, "The lawn is mown on Fridays")
    ids = [book.write(words).id for words in texts]
    with book.session() as session:
        for memory_id, words in zip(ids, reversed(texts), strict=True):
            mark_right(session, book.user_id, f"Is it so? {words}", memory_id, now=utc_now())
    for memory_id in ids:
        book.do(forget, memory_id, undo=UNDO)

    def sweep(session):
        return purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO, most=1)

    def other():
        if most is None:
            return book.do(let_go, ids[1])
        with book.session() as session:
            return sweep(session)

    with book.session() as session:
        session.execute(text("SELECT FROM forgotten WHERE id = :id FOR UPDATE"), {"id": ids[0]})
        assert unexpected(at_once(other)) == []
        sweep(session)
    with book.session() as session:
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO)
    assert book.one("SELECT count(*) FROM forgotten") == 0


def test_a_purge_leaves_what_others_hold_for_the_next_one(book, gone, expired):
    held, _ = gone(SAID, "The lawn is mown on Fridays")
    later = utc_now() + UNDO

    def sweep():
        with book.session() as session:
            aside = set_aside_expired(session, book.user_id, now=later)
            return aside, purge(session, book.user_id, keys=book.runtime.keys, now=later)

    with book.session() as session:
        lock_space(session, book.user_id, "default")
        restore(session, book.user_id, held, now=utc_now(), actor="test")
        assert at_once(sweep) == [(0, 1)]
    assert (book.load(held) is not None, book.load(expired) is not None) == (True, True)
    assert (sweep(), book.load(expired)) == ((1, 1), None)


def test_what_is_let_go_waits_for_no_writer_of_its_space(book, gone, expired):
    (memory_id,) = gone(SAID)
    with book.session() as session:
        lock_space(session, book.user_id, "default")
        assert at_once(lambda: book.do(let_go, memory_id)) == [None]
        with pytest.raises(NotFoundError):
            restore(session, book.user_id, memory_id, now=utc_now(), actor="test")
    assert book.one("SELECT count(*) FROM forgotten") == 0


# --- what is blanked in notebooks and in the record -------------------------------------------------------------------


@pytest.fixture
def page(book):
    """The ids of a notebook and of its one cell, both of which say what is said."""
    page = book.do(notebooks.create_notebook, SAID).id
    with book.session() as session:
        return page, cells.add_cell(session, book.user_id, page, "note", {"text": SAID}, now=utc_now()).id


def write_note(book, page, words):
    return lambda session: cells.edit_cell(session, book.user_id, *page, {"text": words}, now=utc_now())


def notes(book):
    return book.all("SELECT input->>'text' FROM cells"), book.all("SELECT title FROM notebooks")


def test_a_note_is_written_while_what_it_says_is_forgotten(book, beside, page):
    """Who writes a cell holds its notebook, whose title is blanked too."""
    memory_id = book.write(SAID).id
    done = beside(
        lambda session: notebooks.lock_notebook(session, book.user_id, page[0]),
        lambda: book.do(forget, memory_id),
        write_note(book, page, "Bring the projector"),
    )
    assert unexpected([done]) == []
    assert notes(book) == (["Bring the projector"], ["Untitled"])


def test_a_note_that_says_what_is_being_forgotten_is_blanked(book, beside, page):
    memory_id = book.write(SAID).id
    with book.session() as session:
        write_note(book, page, "Nothing yet")(session)
    done = beside(
        write_note(book, page, f"{SAID}, again"),
        lambda: book.do(forget, memory_id),
    )
    assert unexpected([done]) == []
    assert notes(book) == ([None], ["Untitled"])


def cache(book, words):
    cached = """INSERT INTO cached_embeddings (user_id, model, digest, vector, expires_at)
        VALUES (app_user(), 'm', :digest, '[1,2,3]', now() + interval '1 hour') RETURNING 1"""
    book.one(cached, digest=_digest(book.runtime.keys, book.user_id, words))


def test_what_is_purged_and_what_is_forgotten_have_one_cached_vector(book, beside, page):
    """Whoever purges has blanked what says it when they come to its vector."""
    keys, memory_id = book.runtime.keys, book.write(SAID).id
    cache(book, SAID)
    done = beside(
        lambda session: notebooks.lock_notebook(session, book.user_id, page[0]),
        lambda: book.do(forget, memory_id, keys=keys),
        lambda session: drop_cached(session, book.user_id, [SAID], keys),
    )
    assert unexpected([done]) == []
    assert book.one("SELECT count(*) FROM cached_embeddings") == 0


def test_many_are_forgotten_while_their_cached_vectors_are_changed(book, beside):
    """Whoever keeps or drops several goes by their digests, in whatever order the memories are."""
    keys = book.runtime.keys
    later, first = sorted((SAID, TURN), key=lambda words: _digest(keys, book.user_id, words), reverse=True)
    ids = [book.write(words).id for words in (later, first)]
    for words in (later, first):
        cache(book, words)
    done = beside(
        lambda session: drop_cached(session, book.user_id, [first], keys),
        lambda: book.do(forget_many, ids, keys=keys, undo=UNDO),
        lambda session: drop_cached(session, book.user_id, [later], keys),
    )
    assert done == ids
    assert book.one("SELECT count(*) FROM cached_embeddings") == 0


def test_a_conversation_goes_while_calls_in_it_are_blanked(book, owner):
    """Its messages go in their own order, calls name them in any, and what is blanked had the vector of its turn."""
    keys, gone = book.runtime.keys, book.write(TURN).id
    with book.session() as session:
        space, now = get_space(session, book.user_id, "default"), utc_now()
        talk = open_conversation(session, book.user_id, space, now=now, actor="test")[0].id
        scribe = Scribe(keys, len, now, "test", "one")
        turn = [MessageDraft("user", SAID), MessageDraft("assistant", "Thanks")]
        said = append(session, book.user_id, talk, turn, scribe)
        first, second = (item.message.id for item in said.stored)
        told = {"tool": "note", "correlation_id": "one", "arguments": {"text": TURN}, "created_at": now}
        told |= {"duration_ms": 1.0, "success": True, "conversation_id": talk}
        calls = [record_tool_call(session, book.user_id, message_id=each, **told) for each in (second, None, first)]
    book.do(forget, gone, keys=keys, undo=UNDO)
    assert TURN in book.all("SELECT searched FROM episodes ORDER BY id")
    cache(book, TURN)

    def sweep():
        with book.session() as session:
            return purge(session, book.user_id, keys=keys, now=utc_now() + UNDO)

    with ThreadPoolExecutor() as pool, owner.connect() as connection:
        connection.execute(text("SELECT FROM tool_calls WHERE id = :id FOR UPDATE"), {"id": calls[1]})
        swept = pool.submit(sweep)
        assert waits(owner)
        deleted = pool.submit(book.do, delete_conversation, talk, keys=keys)
        assert waits(owner, 2)
        connection.rollback()
        assert (swept.result(60), deleted.result(60).messages) == (1, 2)
    told = book.all("SELECT arguments || jsonb_build_object('in', conversation_id, 'of', message_id) FROM tool_calls")
    assert told == [{"redacted": True, "in": None, "of": None}] * 3


def test_a_user_is_erased_while_what_they_forgot_is_purged(book, beside, owner):
    gone, keys, due = book.write(SAID).id, book.runtime.keys, utc_now() + 2 * UNDO
    with book.session() as session:
        told = {"tool": "note", "correlation_id": "one", "arguments": {"text": SAID}, "created_at": utc_now()}
        record_tool_call(session, book.user_id, duration_ms=1.0, success=True, **told)
    book.do(forget, gone, keys=keys, undo=UNDO)
    cache(book, SAID)

    def erase():
        with Session(owner) as session, session.begin():
            return erase_user(session, book.user_id, keys=keys, now=due)["left"]

    done = beside(
        lambda session: session.get(Forgotten, (book.user_id, gone), with_for_update=True),
        erase,
        lambda session: purge(session, book.user_id, keys=keys, now=due),
    )
    assert done == 0


def test_totals_that_are_counted_anew_wait_for_a_late_report_with_nothing_in_hand(book, owner):
    now = utc_now()
    late = CallDraft("grep", success=True, duration_ms=1.0, created_at=now - timedelta(hours=50))
    with book.session() as session:
        advance_totals(session, now + timedelta(days=2))
        # The row of all calls lies behind that of failures from then on.
        record_calls(session, book.user_id, [late], keys=book.runtime.keys, token_id=None, correlation_id="-", now=now)

    def count_anew():
        with book.session() as session:
            advance_totals(session, now)

    with book.session() as session, ThreadPoolExecutor(1) as pool:
        session.execute(text("SELECT FROM totals WHERE name = 'calls' FOR UPDATE"))
        counting = pool.submit(count_anew)
        waiting = waits(owner)
        free = session.scalars(text("SELECT name FROM totals FOR UPDATE SKIP LOCKED")).all()
        total = session.scalar(text("SELECT count(*) FROM totals"))
        session.rollback()
        counting.result(60)
    assert waiting
    assert len(free) == total
