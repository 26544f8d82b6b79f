"""Notebooks and their cells."""

from __future__ import annotations

import unicodedata
from datetime import timedelta
from uuid import UUID

import pytest

from memory.clock import utc_now
from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.forgetting.forget import UNDO_WINDOW as FORGET_WINDOW
from memory.forgetting.forget import forget
from memory.forgetting.purge import purge
from memory.notebooks import cells, notebooks
from memory.notebooks.checks import LARGEST, LONGEST_TITLE, MOST_CELLS, MOST_NOTEBOOKS
from memory.notebooks.marks import mark_right, marked, unmark
from memory.notebooks.notebooks import UNDO_WINDOW


@pytest.fixture
def page(book) -> UUID:
    return book.do(notebooks.create_notebook, "Plans").id


@pytest.fixture
def act(book):
    """Call a function of cells, which takes no actor."""

    def _act(action, *args, now=None, **named):
        with book.session() as session:
            result = action(session, book.user_id, *args, now=now or utc_now(), **named)
            session.flush()
            session.expunge_all()
            return result

    return _act


@pytest.fixture
def three(act, page) -> list[UUID]:
    return [act(cells.add_cell, page, "note", {"text": text}).id for text in ("one", "two", "three")]


def texts(act, page):
    return [cell.input["text"] for cell in act(cells.list_cells, page) if cell.removed_at is None]


def test_a_notebook_starts_with_its_steps_in_order(book, act):
    steps = [("note", {"text": "a"}), ("recall", {"q": "b"})]
    page = book.do(notebooks.create_notebook, "  A\n title ", steps=steps)
    assert page.title == "A title"
    assert [(cell.kind, cell.input) for cell in act(cells.list_cells, page.id)] == steps


@pytest.mark.parametrize("title", ["", "  \n", "x" * (LONGEST_TITLE + 1), "a\x00b", "\ud800"])
def test_a_title_that_cannot_be_shown_is_refused(book, page, title):
    with pytest.raises(InvalidError):
        book.do(notebooks.rename_notebook, page, title)
    assert book.one("SELECT title FROM notebooks") == "Plans"


def test_the_notebook_that_was_changed_last_comes_first(book, act, page):
    other = book.do(notebooks.create_notebook, "Later", now=utc_now() + timedelta(seconds=1)).id
    act(cells.add_cell, page, "note", {}, now=utc_now() + timedelta(seconds=2))
    with book.session() as session:
        first = notebooks.page_notebooks(session, book.user_id, limit=1)
        rest = notebooks.page_notebooks(session, book.user_id, limit=1, cursor=first.next_cursor)
        latest = notebooks.latest_notebook(session, book.user_id)
        assert [(each.notebook.id, each.cells) for each in (*first.listed, *rest.listed)] == [(page, 1), (other, 0)]
        assert rest.next_cursor is None
        assert latest is not None
        assert latest.id == page


def test_a_copy_has_the_same_cells_and_stands_by_itself(book, act, page, three):
    act(cells.keep_run, page, three[0], {"text": "one"}, {"seen": 1}, duration_ms=2.0)
    copy = book.do(notebooks.duplicate_notebook, page)
    act(cells.remove_cell, page, three[1])
    assert copy.title == "Copy of Plans"
    assert texts(act, copy.id) == ["one", "two", "three"]
    assert act(cells.list_cells, copy.id)[0].output == {"seen": 1}


def test_a_removed_notebook_is_out_of_sight_and_comes_back(book, page):
    book.do(notebooks.remove_notebook, page)
    with book.session() as session, pytest.raises(NotFoundError):
        notebooks.get_notebook(session, book.user_id, page)
    book.do(notebooks.restore_notebook, page)
    with book.session() as session:
        assert notebooks.get_notebook(session, book.user_id, page).title == "Plans"


def test_who_brings_a_notebook_back_twice_finds_it_there(book, page):
    book.do(notebooks.remove_notebook, page)
    assert [book.do(notebooks.restore_notebook, page).title for _ in range(2)] == ["Plans"] * 2
    assert book.one("SELECT count(*) FROM audit_events WHERE action = 'notebook.restored'") == 1


def test_a_notebook_does_not_come_back_after_its_window(book, page):
    book.do(notebooks.remove_notebook, page)
    with pytest.raises(NotFoundError):
        book.do(notebooks.restore_notebook, page, now=utc_now() + UNDO_WINDOW)


def test_what_was_removed_is_deleted_when_its_window_has_closed(book, act, page, three):
    act(cells.remove_cell, page, three[0])
    gone = book.do(notebooks.create_notebook, "Gone").id
    book.do(notebooks.remove_notebook, gone)
    with book.session() as session:
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW)
    assert (book.one("SELECT count(*) FROM notebooks"), book.one("SELECT count(*) FROM cells")) == (1, 2)


@pytest.mark.parametrize(
    ("place", "to", "order"),
    [
        (0, 2, ["two", "three", "one"]),
        (2, 0, ["three", "one", "two"]),
        (0, 99, ["two", "three", "one"]),
        (1, 1, ["one", "two", "three"]),
        (1, -5, ["two", "one", "three"]),
    ],
)
def test_a_cell_is_moved_to_its_place(act, page, three, place, to, order):
    act(cells.move_cell, page, three[place], to)
    assert texts(act, page) == order


def test_a_move_counts_only_what_is_in_sight(act, page, three):
    act(cells.remove_cell, page, three[0])
    act(cells.move_cell, page, three[2], 0)
    assert texts(act, page) == ["three", "two"]


def test_a_cell_is_added_after_another(act, page, three):
    act(cells.add_cell, page, "note", {"text": "new"}, after=three[0])
    assert texts(act, page) == ["one", "new", "two", "three"]


def test_a_copy_of_a_cell_stands_right_after_it(act, page, three):
    act(cells.duplicate_cell, page, three[0])
    assert texts(act, page) == ["one", "one", "two", "three"]


def test_a_removed_cell_comes_back_to_its_place(act, page, three):
    act(cells.remove_cell, page, three[1])
    assert texts(act, page) == ["one", "three"]
    act(cells.restore_cell, page, three[1])
    assert texts(act, page) == ["one", "two", "three"]


def test_what_is_brought_back_twice_is_there(book, act, page, three):
    act(cells.remove_cell, page, three[1])
    for _ in range(2):
        assert act(cells.restore_cell, page, three[1]).id == three[1]
    book.do(notebooks.remove_notebook, page)
    for _ in range(2):
        assert book.do(notebooks.restore_notebook, page).title == "Plans"
    assert book.one("SELECT count(*) FROM audit_events WHERE action = 'notebook.restored'") == 1


def test_a_cell_does_not_come_back_after_its_window(act, page, three):
    act(cells.remove_cell, page, three[1])
    with pytest.raises(NotFoundError):
        act(cells.restore_cell, page, three[1], now=utc_now() + UNDO_WINDOW)


def test_a_run_keeps_input_output_and_time(act, page, three):
    now = utc_now()
    cell = act(cells.keep_run, page, three[0], {"q": "x"}, {"hits": []}, duration_ms=1.5, now=now)
    assert (cell.input, cell.output, cell.duration_ms, cell.ran_at) == ({"q": "x"}, {"hits": []}, 1.5, now)


@pytest.mark.parametrize("given", [{"text": "x" * LARGEST}, {"text": "a\x00b"}, {"text": "\ud800"}])
def test_what_cannot_be_kept_is_refused_and_changes_nothing(act, page, three, given):
    with pytest.raises(InvalidError):
        act(cells.edit_cell, page, three[0], given)
    assert texts(act, page)[0] == "one"


def test_an_unknown_kind_is_refused(act, page):
    with pytest.raises(InvalidError):
        act(cells.add_cell, page, "poem", {})


def test_a_notebook_holds_so_many_cells_and_no_more(book, act, page):
    with book.session() as session:
        for _ in range(MOST_CELLS):
            cells.add_cell(session, book.user_id, page, "note", {}, now=utc_now())
    with pytest.raises(ConflictError):
        act(cells.add_cell, page, "note", {})
    first = act(cells.list_cells, page)[0].id
    with pytest.raises(ConflictError):
        act(cells.duplicate_cell, page, first)
    act(cells.remove_cell, page, first)
    act(cells.add_cell, page, "note", {})
    with pytest.raises(ConflictError):
        act(cells.restore_cell, page, first)


def test_a_cell_belongs_to_its_notebook(book, act, three):
    other = book.do(notebooks.create_notebook, "Other").id
    with pytest.raises(NotFoundError):
        act(cells.edit_cell, other, three[0], {})


def test_a_stranger_finds_no_notebook_and_no_cell(bobs_book, page, three):
    with bobs_book.session() as session:
        for call in (
            lambda: notebooks.get_notebook(session, bobs_book.user_id, page),
            lambda: cells.get_cell(session, bobs_book.user_id, page, three[0]),
            lambda: cells.add_cell(session, bobs_book.user_id, page, "note", {}, now=utc_now()),
        ):
            with pytest.raises(NotFoundError):
                call()


def test_a_mark_is_kept_once_and_taken_back(book, act):
    memory_id = book.write("The bakery closes on Mondays").id
    act(mark_right, "When does it close?", memory_id)
    act(mark_right, " When does it close? ", memory_id)
    with book.session() as session:
        assert marked(session, book.user_id, "When does it close?") == {memory_id}
        unmark(session, book.user_id, "When does it close?", memory_id)
        assert marked(session, book.user_id, "When does it close?") == frozenset()


def test_a_mark_goes_with_its_memory(book, act):
    memory_id = book.write("The bakery closes on Mondays").id
    act(mark_right, "When does it close?", memory_id)
    book.do(forget, memory_id, undo=FORGET_WINDOW)
    assert book.one("SELECT count(*) FROM recall_marks") == 0


@pytest.mark.parametrize(
    "form",
    [
        str.upper,
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: text.replace(" ", "\u00a0"),
        lambda text: text.replace(" ", " \n"),
    ],
    ids=["case", "decomposed", "no break", "line breaks"],
)
def test_what_a_forgotten_memory_said_is_blank_in_whatever_form(book, act, page, form):
    text = "Renée keeps the café key"
    memory_id, other = (book.write(each).id for each in (text, "The bakery closes on Mondays"))
    act(cells.add_cell, page, "note", {"text": f"Again: {form(text)}"})
    act(mark_right, f"{form(text)}?", other)
    titled = book.do(notebooks.create_notebook, form(text)).id
    book.do(forget, memory_id)
    assert [cell.input for cell in act(cells.list_cells, page)] == [{"redacted": True}]
    assert book.one("SELECT count(*) FROM recall_marks") == 0
    assert book.one("SELECT title FROM notebooks WHERE id = :id", id=titled) == "Untitled"


def test_a_memory_of_another_cannot_be_marked(bobs_book, act):
    memory_id = bobs_book.write("The bakery closes on Mondays").id
    with pytest.raises(NotFoundError):
        act(mark_right, "When?", memory_id)


def test_one_notebook_fewer_makes_room_for_another(book):
    made = "gen_random_uuid(), 'One of many', now(), now() FROM generate_series(1, :most)"
    filled = f"INSERT INTO notebooks (user_id, id, title, created_at, updated_at) SELECT :user_id, {made} RETURNING id"
    ids = book.all(filled, user_id=book.user_id, most=MOST_NOTEBOOKS)
    with pytest.raises(ConflictError, match="delete one first"):
        book.do(notebooks.create_notebook, "Another")
    book.do(notebooks.remove_notebook, ids[0])
    assert book.do(notebooks.create_notebook, "Another").title == "Another"
    with pytest.raises(ConflictError, match="delete one first"):
        book.do(notebooks.restore_notebook, ids[0])
