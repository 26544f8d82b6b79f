"""Summaries go with what they sum up when that is forgotten, and come back with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.clock import utc_now
from memory.errors import ConflictError, NotFoundError
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.letting_go import let_go
from memory.forgetting.restore import restore
from memory.lineage.summing_up import summaries_of
from memory.spaces.spaces import create_space, update_space
from memory.writing.bulk import forget_many, move_many, restore_many
from memory.writing.edit import pin, update


@pytest.fixture
def notes(book):
    """Two notes."""
    return [book.write(text).id for text in ("The kiln reaches cone ten by noon", "Glaze needs two coats")]


def summary(book, *sources, text="Firing takes a morning, and two coats of glaze", **fields):
    return book.write(text, type="summary", source_ids=tuple(str(each) for each in sources), **fields).id


def kept(book):
    return set(book.all("SELECT id FROM memories"))


def test_a_summary_goes_for_good_with_what_it_sums_up(book, notes):
    made = summary(book, *notes)
    assert list(book.do(forget, notes[0]).summaries) == [made]
    assert kept(book) == {notes[1]}
    assert book.all("SELECT id FROM forgotten") == []


def test_it_comes_back_with_the_undo(book, notes):
    made = summary(book, *notes)
    book.do(forget, notes[0], undo=UNDO_WINDOW)
    assert kept(book) == {notes[1]}
    book.do(restore, notes[0])
    assert kept(book) == {*notes, made}
    details = "SELECT details->>'with' FROM audit_events WHERE action = 'memory.forgotten' ORDER BY id"
    assert book.all(details) == [str(notes[0]), None]


def test_one_that_was_forgotten_by_itself_does_not_come_back_with_another(book, notes):
    made = summary(book, *notes)
    for each in (made, notes[0]):
        book.do(forget, each, undo=UNDO_WINDOW)
    book.do(restore, notes[0])
    assert kept(book) == set(notes)


def test_what_sums_up_a_summary_goes_and_comes_back_with_it(book, notes):
    made = summary(book, *notes)
    again = summary(book, made, text="A morning of firing, all in all")
    assert set(book.do(forget, notes[0], undo=UNDO_WINDOW).summaries) == {made, again}
    book.do(restore, notes[0])
    assert kept(book) == {*notes, made, again}
    book.do(forget, notes[1])
    assert kept(book) == {notes[0]}


def test_what_sums_up_one_that_comes_along_comes_back_after_it(book, notes):
    made = summary(book, notes[0])
    again = summary(book, made, text="A morning of firing, all in all")
    for each in (again, notes[0]):
        book.do(forget, each, undo=UNDO_WINDOW)
    assert set(book.do(restore_many, [notes[0], again])) == {notes[0], made, again}
    assert kept(book) == {*notes, made, again}


def test_it_does_not_come_back_while_anything_that_it_sums_up_is_forgotten(book, notes):
    made = summary(book, *notes)
    for each in notes:
        book.do(forget, each, undo=UNDO_WINDOW)
    book.do(restore, notes[0])
    assert kept(book) == {notes[0]}
    book.do(restore, notes[1])
    assert kept(book) == {*notes, made}


def test_one_that_was_forgotten_before_what_it_sums_up_cannot_be_brought_back(book, notes):
    made = summary(book, *notes)
    book.do(forget, made, undo=UNDO_WINDOW)
    book.do(forget, notes[0])
    with pytest.raises(ConflictError, match="sums up"):
        book.do(restore, made)


def test_one_that_is_held_on_to_can_be_brought_back_all_the_same(book, notes):
    made = summary(book, *notes, manually_saved=True)
    book.do(forget, made, undo=UNDO_WINDOW)
    book.do(forget, notes[0])
    book.do(restore, made)
    assert kept(book) == {notes[1], made}


def test_two_that_sum_each_other_up_go_together(book):
    one = summary(book)
    other = summary(book, one, text="A morning of firing, all in all")
    book.do(update, one, {"source_ids": [str(one), str(other)]})
    assert list(book.do(forget, one, undo=UNDO_WINDOW).summaries) == [other]
    book.do(restore, one)
    assert kept(book) == {one, other}


@pytest.fixture
def ring(book, notes):
    """Three summaries, each of which sums up the next, and the last the first; the second sums up a note as well."""
    first, second = (summary(book, text=text) for text in ("A morning of firing", "Firing, then glaze"))
    third = summary(book, first, text="The whole of a day at the kiln")
    book.do(update, second, {"source_ids": [str(third), str(notes[0])]})
    book.do(update, first, {"source_ids": [str(second)]})
    return [first, second, third]


@pytest.mark.parametrize("asked", [[0], [1], [2], [0, 1, 2], [2, 0]])
def test_those_that_sum_each_other_up_come_back_together(book, notes, ring, asked):
    book.do(forget_many, ring, undo=UNDO_WINDOW)
    assert set(book.do(restore_many, [ring[each] for each in asked])) == {*ring}
    assert kept(book) == {*notes, *ring}


def test_those_that_were_forgotten_one_after_the_other_come_back_together(book, notes, ring):
    for each in ring[1:]:
        book.do(pin, each, pinned=True)
    for each in ring:
        book.do(pin, each, pinned=False)
        assert not book.do(forget, each, undo=UNDO_WINDOW).summaries
    book.do(restore, ring[1])
    assert kept(book) == {*notes, *ring}


def test_none_of_them_comes_back_without_the_others(book, notes, ring):
    book.do(forget_many, [*ring, notes[0]], undo=UNDO_WINDOW)
    with pytest.raises(ConflictError, match="sums up"):
        book.do(restore, ring[0])
    book.do(restore, notes[0])
    again = book.write("A morning of firing", now=utc_now() + timedelta(hours=25)).id
    assert book.do(restore_many, ring) == []
    assert kept(book) == {*notes, again}


def test_they_come_back_with_what_they_sum_up_and_what_sums_them_up(book, notes, ring):
    made = summary(book, notes[1], text="Two coats, all in all")
    book.do(update, ring[1], {"source_ids": [str(ring[2]), str(made)]})
    last = summary(book, ring[0], made, text="All that there is to say of a kiln")
    every = [last, *ring, made]
    book.do(forget_many, every, undo=UNDO_WINDOW)
    assert set(book.do(restore_many, [last, made])) == {made}
    assert set(book.do(restore_many, [last, ring[0]])) == {last, *ring}
    assert kept(book) == {*notes, *every}


def test_what_lies_between_two_that_are_asked_for_is_left(book, notes):
    made = summary(book, notes[0])
    between = summary(book, made, text="A morning of firing, all in all")
    last = summary(book, between, text="A day at the kiln")
    book.do(forget_many, [made, between, last], undo=UNDO_WINDOW)
    assert book.do(restore_many, [last, made]) == [made]
    assert kept(book) == {*notes, made}


@pytest.mark.parametrize("held", ["pinned", "saved"])
def test_what_is_held_on_to_stays(book, notes, held):
    made = summary(book, *notes, manually_saved=held == "saved")
    if held == "pinned":
        book.do(pin, made, pinned=True)
    assert not book.do(forget, notes[0]).summaries
    assert kept(book) == {notes[1], made}


def test_what_names_it_and_is_no_summary_stays(book, notes):
    other = book.write("I told Ada of the kiln", source_ids=(str(notes[0]),)).id
    book.do(forget, notes[0])
    assert kept(book) == {notes[1], other}


@pytest.fixture
def elsewhere(book, notes):
    """A summary of the notes in another space."""
    book.do(create_space, "work", soft_cap=9)
    return summary(book, *notes, space="work")


def test_a_summary_in_another_space_goes_with_it_and_comes_back_there(book, notes, elsewhere):
    assert list(book.do(forget, notes[0], undo=UNDO_WINDOW).summaries) == [elsewhere]
    assert kept(book) == {notes[1]}
    book.do(restore, notes[0])
    assert kept(book) == {*notes, elsewhere}
    (place,) = book.all("SELECT s.slug FROM memories m JOIN spaces s ON s.id = m.space_id WHERE m.type = 'summary'")
    assert place == "work"


def test_what_it_said_is_kept_away_from_its_own_space(book, notes, elsewhere):
    book.do(forget, notes[0])
    stones = "SELECT s.slug FROM tombstones t JOIN spaces s ON s.id = t.space_id WHERE t.memory_id = :id"
    assert book.all(stones, id=elsewhere) == ["work"]


def test_many_at_once_take_summaries_along_from_another_space(book, notes, elsewhere):
    book.do(forget_many, notes, undo=UNDO_WINDOW)
    assert kept(book) == set()
    book.do(restore_many, notes)
    assert kept(book) == {*notes, elsewhere}


def test_a_summary_stays_away_from_a_space_whose_memory_is_off_by_then(book, notes, elsewhere):
    book.do(forget, notes[0], undo=UNDO_WINDOW)
    book.do(update_space, "work", {"memory_enabled": False})
    book.do(restore, notes[0])
    assert kept(book) == set(notes)
    assert book.all("SELECT id FROM forgotten") == [elsewhere]


def test_many_at_once_take_their_summaries_along_and_back(book, notes):
    made, other = summary(book, *notes), summary(book, notes[1], text="Glaze wants patience, and two coats of it")
    ids = [*notes, other]
    assert set(book.do(forget_many, ids, undo=UNDO_WINDOW)) == set(ids)
    assert kept(book) == set()
    first = "SELECT details->>'with' FROM audit_events WHERE action = 'memory.forgotten' AND subject_id = :id"
    assert book.one(first, id=made) == str(min(notes))
    # In whatever order they are named, and with what comes along by itself.
    assert set(book.do(restore_many, [*ids[::-1], made])) == {*ids, made}
    assert kept(book) == {*notes, made, other}


def spaces_of(book, *ids):
    place = "SELECT s.slug FROM memories m JOIN spaces s ON s.id = m.space_id WHERE m.id = :id"
    return [book.one(place, id=each) for each in ids]


def test_a_summary_moves_with_all_that_it_sums_up_and_back(book, notes, second_space):
    made = summary(book, *notes)
    book.do(pin, made, pinned=True)
    assert book.do(move_many, notes, second_space) == {"default": notes}
    assert spaces_of(book, made) == [second_space]
    told = "SELECT details->>'with' FROM audit_events WHERE action = 'memory.moved' AND subject_id = :id"
    assert book.one(told, id=made) == str(notes[0])
    book.do(move_many, notes, "default")
    assert spaces_of(book, made) == ["default"]


def test_a_summary_stays_until_the_last_that_it_sums_up_moves(book, notes, second_space):
    made = summary(book, *notes, "a letter")
    book.do(move_many, notes[:1], second_space)
    assert spaces_of(book, *notes, made) == [second_space, "default", "default"]
    book.do(move_many, notes[1:], second_space)
    assert spaces_of(book, *notes, made) == [second_space] * 3


def test_a_summary_that_was_brought_elsewhere_stays_there(book, notes, elsewhere, second_space):
    book.do(move_many, notes, second_space)
    assert spaces_of(book, elsewhere) == ["work"]


def test_for_good_now_means_the_summary_too(book, notes):
    made = summary(book, *notes)
    book.do(forget, notes[0], undo=UNDO_WINDOW)
    book.do(let_go, notes[0])
    assert book.all("SELECT id FROM forgotten") == []
    with pytest.raises(NotFoundError):
        book.do(restore, made)


def test_nobody_elses_summary_is_found(book, notes, bob):
    summary(book, *notes)
    with book.session() as session:
        assert len(summaries_of(session, book.user_id, notes)) == 1
        assert summaries_of(session, bob.id, notes) == []
