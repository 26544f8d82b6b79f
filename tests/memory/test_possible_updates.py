"""Texts of one template that differ in a mark: kept, and linked for the user to decide."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import text

from memory.drafts.drafts import Draft
from memory.texts.difference import compare, read
from memory.texts.template import template
from memory.writing.edit import update

LINK = "https://example.org/a/long/link"
PAIRS = [
    ("The dentist is at 3pm on Friday", "The dentist is at 4pm on Friday", "number"),
    ("The dentist is at 3pm on Friday", "The dentist is at 3pm on Monday", "date"),
    ("My sister is called Ada Lovelace", "My sister is called Eve", "name"),
    ("Ada is allergic to peanut butter", "Ada is not allergic to peanut butter", "negation"),
    ("Rent is 700", "Rent is 750", "number"),
    ("Stand-up is at 9:30", "Stand-up is at 9:45", "number"),
    ("Office is in Room 204", "Office is in Room 310", "number"),
    ("Team meeting on Monday", "Team meeting on Tuesday", "date"),
    ("Ada lives in Berlin", "Ada lives in Paris", "name"),
    ("Anna is the new team lead", "Bob is the new team lead", "name"),
    ("Robin drinks coffee", "Robin does not drink coffee", "negation"),
    ("Robin works on Fridays", "Robin doesn't work on Fridays", "negation"),
    ("Ada is married", "Ada isn't married", "negation"),
    ("He watches football on Sunday", "He does not watch football on Sunday", "negation"),
    ("Robin uses vim", "Robin does not use vim", "negation"),
    ("Robin tries running", "Robin doesn't try running", "negation"),
    ("Robin closes the shop", "Robin does not close the shop", "negation"),
    ("Robin misses trains", "Robin does not miss trains", "negation"),
    ("Miete 700", "Miete 750", "number"),
    ("Phone: 123", "Phone: 456 78", "number"),
    ("PIN: 1234", "PIN: 4321", "number"),
    ("Dentist: Friday", "Dentist: 3 May 2024", "date"),
]


@pytest.mark.parametrize(("older", "newer", "kind"), PAIRS)
def test_a_text_that_differs_in_a_mark_is_linked(book, older, newer, kind):
    first, second = book.write(older), book.write(newer)
    assert (second.outcome, second.trace.possible_update_of) == ("created", (first.id,))
    assert book.one("SELECT differs_in FROM possible_updates") == kind


@pytest.mark.parametrize(("older", "newer", "kind"), PAIRS)
def test_masks_stand_for_the_kind_of_a_mark(older, newer, kind):
    assert template(older) == template(newer) is not None


@pytest.mark.parametrize(
    "words",
    ["", "Ada", "3 + 4", "At 5", "Bob likes tea", "Call Ada", "It is at 5", "on 3 May 2024", "word " * 200, LINK],
)
def test_a_text_of_few_words_or_of_many_has_no_template(words):
    assert template(words) is None


@pytest.mark.parametrize(
    "other",
    ["The doctor is at 3pm on Friday", "The dentist is closed at 3pm on Friday", "On Friday at 3pm the dentist is"],
)
def test_other_words_are_another_template(other):
    assert template(other) != template("The dentist is at 3pm on Friday")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada lives in Berlin", "Eve lives in Paris"),
        ("Rent is 700", "Deposit is 700"),
        ("Rent 700", "Deposit 700"),
        ("Ada has a glass", "Ada has glas"),
        ("Robin reads books", "Robin reads papers"),
    ],
)
def test_whose_it_is_tells_templates_apart(one, other):
    assert template(one) != template(other)


def test_the_same_text_merges_and_is_not_linked(book):
    book.write("The dentist is at 3pm on Friday")
    assert book.write("the dentist is at 3pm on friday").outcome == "merged"
    assert book.one("SELECT count(*) FROM possible_updates") == 0


def test_only_the_newest_three_are_linked(book):
    ids = [book.write(f"The dentist is at {hour} o'clock").id for hour in range(1, 7)]
    assert book.write("The dentist is at 8 o'clock").trace.possible_update_of == tuple(reversed(ids[-3:]))


def test_a_batch_links_within_itself(book):
    outcomes = book.write_many(f"The dentist is at {hour} o'clock" for hour in range(1, 7))
    assert [len(outcome.trace.possible_update_of) for outcome in outcomes] == [0, 1, 2, 3, 3, 3]


def test_a_merge_tells_the_newest_three_that_differ(book):
    long = " ".join(f"word{place}" for place in range(300))
    ids = [book.write(f"{long} {number}").id for number in range(2, 8)]
    trace = book.write(f"{long} 2").trace
    assert [each.id for each in trace.neighbours] == [ids[0], ids[5], ids[4], ids[3]]
    assert [each.differs_in for each in trace.neighbours] == [None, "number", "number", "number"]


def test_another_space_is_not_linked(book, second_space):
    book.write("The dentist is at 3pm on Friday")
    assert book.write("The dentist is at 4pm on Friday", space=second_space).trace.possible_update_of == ()


def test_what_is_no_longer_active_is_not_linked(book):
    older = book.write("The dentist is at 3pm on Friday").id
    book.do(update, older, {"status": "archived"})
    assert book.write("The dentist is at 4pm on Friday").trace.possible_update_of == ()


def test_an_edited_text_has_a_new_template(book):
    memory_id = book.write("Something else entirely was written here").id
    book.do(update, memory_id, {"text": "The dentist is at 3pm on Friday"})
    assert book.write("The dentist is at 4pm on Friday").trace.possible_update_of == (memory_id,)


def test_thousands_of_one_template_cost_a_batch_little(book):
    """The look-up takes a few rows of each template by index, not all that share it."""
    with book.session() as session:
        session.execute(text("UPDATE spaces SET soft_cap = 100000"))
    book.write("The dentist is at 1 o'clock")
    with book.session() as session:
        session.execute(
            text("""
            INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, template_digest, simhash,
                                  importance, created_at, updated_at)
            SELECT user_id, uuidv7(), space_id, type, role, 'The dentist is at ' || n || ' o''clock',
                   decode(md5(n::text), 'hex'), template_digest, hashint8(n) * 4294967296 + hashint8(n + 7), 0.5,
                   created_at, updated_at
            FROM memories, generate_series(1000, 7000) n
            """)
        )
    alone = _seconds(book, _unlike(50))
    assert _seconds(book, [Draft(f"The dentist is at {n} o'clock") for n in range(20_000, 20_050)]) < 8 * alone
    assert book.one("SELECT count(*) FROM possible_updates") == 150


@pytest.mark.slow
def test_a_batch_of_long_texts_that_differ_in_words_takes_little_work(book):
    """Each is near to all before it, and only one to three words tell it apart."""
    words = " ".join(f"word{place * 13 % 4999}" for place in range(1500))
    alike = [Draft(f"{words} about q{chr(97 + n // 26)}{chr(97 + n % 26)}{' x y'[: 2 * (n % 3)]}") for n in range(100)]
    a, b = _work(book, alike), _work(book, _unlike(100, 1500))
    assert a < 3 * b, (a, b)


def test_a_merge_reads_few_of_all_that_it_is_near_to(book, monkeypatch):
    words = "the gardens by the river bloom in spring and the benches along the path are painted green " * 20
    for n in range(20):
        assert book.write(f"{words} about q{chr(97 + n)}").outcome == "created"
    texts: list[str] = []
    monkeypatch.setattr("memory.writing.neighbourhood.read", lambda text: texts.append(text) or read(text))
    monkeypatch.setattr("memory.writing.neighbourhood.may_be_one", lambda *_: True)
    assert book.write(words).outcome == "merged"
    assert len(texts) < 12


def test_what_repeats_none_is_held_against_few_of_all_that_it_may_repeat(book, monkeypatch):
    words = "the gardens by the river bloom in spring and the benches along the path are painted green " * 20
    for n in range(40):
        assert book.write(f"{words} about q{chr(97 + n // 26)}{chr(97 + n % 26)}").outcome == "created"
    texts: list[str] = []
    monkeypatch.setattr("memory.writing.neighbourhood.compare", lambda *those: texts.append("") or compare(*those))
    monkeypatch.setattr("memory.writing.neighbourhood.may_be_one", lambda *_: True)
    assert book.write(f"{words} about qzz").outcome == "created"
    assert len(texts) < 20


@pytest.mark.slow
def test_a_batch_of_near_duplicates_is_written_in_reasonable_time(book):
    """Each is near to all before it, and differs from all in a number."""
    words = "the gardens by the river bloom in spring and the benches along the path are painted green " * 4
    with book.session() as session:
        session.execute(text("UPDATE spaces SET soft_cap = 100000"))
    alone = _seconds(book, _unlike(400))
    assert _seconds(book, [Draft(f"Memory {n}: {words}") for n in range(400)]) < 10 * alone


def _unlike(total, words=66):
    """Drafts of so many words each that are near to none of the others."""
    return [Draft(" ".join(f"w{(n * 7 + place * 13) % 4999}" for place in range(words))) for n in range(total)]


def _work(book, drafts):
    """Return the seconds that this thread itself works on a batch."""
    started = time.thread_time()
    _seconds(book, drafts)
    return time.thread_time() - started


def _seconds(book, drafts):
    """Write a batch, all of which must be new, and return how long that took."""
    started = time.perf_counter()
    outcomes = book.write_many(drafts)
    assert {outcome.outcome for outcome in outcomes} == {"created"}
    return time.perf_counter() - started
