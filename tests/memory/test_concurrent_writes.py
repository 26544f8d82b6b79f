"""Writers at once: real threads, real connections."""

from __future__ import annotations

import threading

import pytest

from memory.capacity import enforce_capacity
from memory.drafts import Draft
from memory.edit import update
from memory.embedding.backfill import utc_now
from memory.errors import DomainError
from memory.forget import forget
from memory.remember import remember_many
from memory.spaces import lock_space

THREADS = 16


def at_once(*actions):
    """Run every action in a thread of its own, all from the same moment; return what they returned or raised."""
    barrier = threading.Barrier(len(actions))
    results = [None] * len(actions)

    def run(place, action):
        barrier.wait()
        try:
            results[place] = action()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def unexpected(results):
    return [result for result in results if isinstance(result, Exception) and not isinstance(result, DomainError)]


@pytest.fixture
def batch(book):
    def _batch(*texts, space="default", **fields):
        drafts = [Draft(words, **fields) for words in texts]
        with book.session() as session:
            return remember_many(
                session, book.user_id, space, drafts, keys=book.runtime.keys, now=utc_now(), actor="test"
            )

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
        with book.session() as session:
            drafts = [Draft(f"A note about {name} in {space}", theme=name) for name in names]
            return remember_many(
                session, book.user_id, space, drafts, keys=book.runtime.keys, now=utc_now(), actor="test"
            )

    results = at_once(lambda: write("default", themes), lambda: write(second_space, themes[::-1]))
    assert unexpected(results) == []


@pytest.mark.parametrize("round_", range(5))
def test_forgetting_and_repeating_at_once_never_leaves_half(book, round_):
    memory_id = book.write("The meeting is in room seven").id
    results = at_once(
        lambda: book.do(forget, memory_id, keys=book.runtime.keys), lambda: book.write("The meeting is in room seven")
    )
    assert unexpected(results) == []
    # Either order ends without the memory: forgotten after the merge, or refused by the tombstone.
    assert (book.load(memory_id), book.one("SELECT count(*) FROM memories")) == (None, 0)


def test_a_memory_is_forgotten_by_one_of_many(book):
    memory_id = book.write("The meeting is in room seven").id
    results = at_once(*[lambda: book.do(forget, memory_id, keys=book.runtime.keys)] * 6)
    assert unexpected(results) == []
    assert sum(isinstance(result, DomainError) for result in results) == 5


def test_edits_into_one_text_let_one_through(book):
    ids = [book.write(f"Draft {words}").id for words in ("alpha", "beta", "gamma", "delta")]
    change = {"text": "The final wording"}
    results = at_once(*[lambda i=i: book.do(update, i, change, keys=book.runtime.keys) for i in ids])
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
        *[lambda i=i: book.do(forget, i, keys=book.runtime.keys) for i in ids[::7]],
        *[lambda i=i: book.do(update, i, {"tags": ["x"]}, keys=book.runtime.keys) for i in ids[::5]],
    )
    assert unexpected(results) == []
