"""Changing a memory that exists."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from memory.clock import utc_now
from memory.embedding import queue
from memory.embedding.models import Target, reconcile
from memory.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from memory.forgetting.forget import forget
from memory.models import Memory
from memory.spaces.spaces import update_space
from memory.writing.bulk import set_status_many
from memory.writing.edit import bring_back, pin, update

LATER = utc_now() + timedelta(days=9)


@pytest.fixture
def memory_id(book):
    return book.write("Ada keeps bees behind the house").id


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "Ada keeps goats"),
        ("type", "fact"),
        ("tags", ["bees", "garden"]),
        ("source_ids", ["s1"]),
        ("importance", 0.25),
        ("status", "archived"),
        ("pinned", True),
        ("manually_saved", True),
        ("expires_at", LATER),
    ],
)
def test_each_field_can_be_changed(book, change, memory_id, field, value):
    change(memory_id, **{field: value})
    assert getattr(book.load(memory_id), field) == value


def test_a_text_that_nobody_sees_is_refused_but_what_an_earlier_version_stored_can_be_changed(book, change, memory_id):
    with pytest.raises(InvalidError, match="empty"):
        change(memory_id, text="\u200b")
    with book.session() as session:
        session.get_one(Memory, (book.user_id, memory_id)).text = "\u200b"
    change(memory_id, status="archived")
    assert book.load(memory_id).status == "archived"
    change(memory_id, text="\u200b", type="fact")
    assert book.load(memory_id).type == "fact"


def test_a_theme_can_be_set(book, change, memory_id):
    change(memory_id, theme="animals")
    assert book.one("SELECT t.slug FROM memories m JOIN themes t ON t.id = m.theme_id") == "animals"


def test_a_theme_and_an_expiry_can_be_taken_away(book, change, memory_id):
    change(memory_id, theme="animals", expires_at=LATER)
    change(memory_id, theme=None, expires_at=None)
    row = book.load(memory_id)
    assert (row.theme_id, row.expires_at) == (None, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", " "),
        ("text", None),
        ("type", "nonsense"),
        ("type", None),
        ("tags", None),
        ("importance", 1.5),
        ("status", "gone"),
        ("theme", "No Slug"),
        ("pinned", None),
        ("created_at", LATER),
        ("user_id", None),
    ],
)
def test_a_bad_field_is_named_and_nothing_changes(book, change, memory_id, field, value):
    with pytest.raises(InvalidError) as caught:
        change(memory_id, tags=["new"], **{field: value}) if field != "tags" else change(memory_id, tags=value)
    assert (caught.value.field, book.load(memory_id).tags) == (field, [])


def test_a_refused_change_is_not_left_half_done_in_the_session(book, memory_id):
    with book.session() as session:
        changes = {"text": "Ada keeps goats", "supersedes": memory_id}
        with pytest.raises(InvalidError):
            update(session, book.user_id, memory_id, changes, keys=book.runtime.keys, now=utc_now(), actor="t")
        session.commit()
    assert book.load(memory_id).text == "Ada keeps bees behind the house"


def test_a_new_text_is_a_new_version_that_waits_for_its_vector(book, change, memory_id):
    change(memory_id, text="Ada keeps goats")
    row = book.load(memory_id)
    assert (row.version, row.needs_embedding) == (2, True)


def test_the_same_text_is_no_new_version(book, change, memory_id):
    change(memory_id, text="Ada keeps bees behind the house", tags=["bees"])
    assert book.load(memory_id).version == 1


def test_an_old_vector_serves_no_more(book, change, memory_id):
    with book.session() as session:
        reconcile(session, book.user_id, Target("local", "m"), now=utc_now())
        jobs = queue.claim(session, book.user_id, 1, utc_now())
        queue.store(session, jobs, [queue.Made(np.ones(4), np.empty((0, 4)))], utc_now())
    assert book.one("SELECT count(*) FROM embeddings WHERE state = 'ready' AND vector IS NOT NULL") == 1
    change(memory_id, text="Ada keeps goats")
    assert book.one("SELECT count(*) FROM embeddings WHERE vector IS NOT NULL") == 0


def test_the_new_words_are_found_and_the_old_are_not(book, change, memory_id):
    change(memory_id, text="Ada keeps goats")
    assert sorted(book.all("SELECT lexeme FROM postings")) == ["ada", "goat", "keep"]


def test_new_tags_are_found(book, change, memory_id):
    change(memory_id, tags=["honey"])
    assert "honey" in book.all("SELECT lexeme FROM postings")


def test_a_text_that_another_memory_has_is_a_conflict(book, change, memory_id):
    other = book.write("Ada keeps goats").id
    with pytest.raises(ConflictError, match=str(other)):
        change(memory_id, text="ada KEEPS goats", tags=["new"])
    row = book.load(memory_id)
    assert (row.text, row.version, row.tags) == ("Ada keeps bees behind the house", 1, [])


def test_what_was_found_in_a_text_goes_with_it(book, change, memory_id):
    with book.session() as session:
        session.get(Memory, (book.user_id, memory_id)).derived_tags = ["bees"]
    assert change(memory_id, importance=0.7).derived_tags == ["bees"]
    assert change(memory_id, text="Ada keeps goats").derived_tags == []


def test_a_text_of_another_space_is_no_conflict(book, change, memory_id, second_space):
    book.write("Ada keeps goats", space=second_space)
    assert change(memory_id, text="Ada keeps goats").text == "Ada keeps goats"


def test_a_forgotten_text_is_refused(book, change, memory_id):
    book.do(forget, book.write("Ada keeps goats").id)
    with pytest.raises(RefusedError):
        change(memory_id, text="Ada keeps goats")
    assert book.load(memory_id).text == "Ada keeps bees behind the house"


def test_the_newer_supersedes_the_older(book, change, memory_id):
    newer = book.write("The bees are gone").id
    change(newer, supersedes=memory_id)
    assert (book.load(newer).supersedes, book.load(memory_id).status) == (memory_id, "superseded")


def test_what_nothing_supersedes_any_more_can_be_made_active(book, change, memory_id):
    newer, keys = book.write("Ada has a parrot").id, book.runtime.keys
    change(newer, supersedes=memory_id)
    assert book.do(set_status_many, [memory_id], "active", keys=keys) == []
    book.do(forget, newer, keys=keys)
    assert book.do(set_status_many, [memory_id], "active", keys=keys) == [memory_id]
    assert book.load(memory_id).status == "active"


def test_a_memory_cannot_supersede_itself(change, memory_id):
    with pytest.raises(InvalidError, match="supersedes"):
        change(memory_id, supersedes=memory_id)


def test_two_memories_cannot_supersede_each_other(book, change, memory_id):
    newer = book.write("The bees are gone").id
    change(newer, supersedes=memory_id)
    with pytest.raises(InvalidError, match="supersedes"):
        change(memory_id, supersedes=newer)
    assert book.load(newer).status == "active"


def test_only_a_memory_of_the_same_space_can_be_superseded(book, change, memory_id, second_space):
    elsewhere = book.write("The bees are gone", space=second_space).id
    with pytest.raises(InvalidError, match="supersedes"):
        change(elsewhere, supersedes=memory_id)


def test_a_strangers_memory_cannot_be_superseded(bobs_book, change, memory_id):
    with pytest.raises(InvalidError, match="supersedes"):
        change(memory_id, supersedes=bobs_book.write("of Bob").id)


@pytest.mark.parametrize("status", ["archived", "superseded"])
def test_what_is_not_active_leaves_the_keyword_index(book, change, memory_id, status):
    change(memory_id, status=status)
    assert book.one("SELECT count(*) FROM postings") == 0


def test_what_is_active_again_is_back_in_the_keyword_index(book, change, memory_id):
    before = book.one("SELECT count(*) FROM postings")
    change(memory_id, status="archived")
    change(memory_id, status="active")
    assert book.one("SELECT count(*) FROM postings") == before


def test_an_archived_text_may_be_stored_again(book, change, memory_id):
    change(memory_id, status="archived")
    assert book.write("Ada keeps bees behind the house").outcome == "created"


def test_two_active_memories_never_have_one_text(book, change, memory_id):
    change(memory_id, status="archived")
    book.write("Ada keeps bees behind the house")
    with pytest.raises(ConflictError):
        change(memory_id, status="active")
    assert book.load(memory_id).status == "archived"


def test_pinning_counts_as_saving_by_hand(book, memory_id):
    before = book.load(memory_id).importance
    row = book.do(pin, memory_id, pinned=True)
    assert (row.pinned, row.manually_saved, row.importance) == (True, True, min(1.0, before + 0.5))


def test_pinning_by_a_change_is_pinning(book, change, memory_id):
    row = change(memory_id, pinned=True)
    assert (row.pinned, row.manually_saved) == (True, True)


def _memory(book, *, on):
    with book.session() as session:
        update_space(session, book.user_id, "default", {"memory_enabled": on}, now=utc_now(), actor="test")


def _pinned_by_a_change(book, memory_id):
    return book.do(update, memory_id, {"pinned": True})


@pytest.mark.parametrize("act", [lambda book, memory_id: book.do(pin, memory_id, pinned=True), _pinned_by_a_change])
def test_with_memory_off_pinning_leaves_the_importance_and_stores_no_version(book, memory_id, act):
    before = book.load(memory_id).importance
    _memory(book, on=False)
    row = act(book, memory_id)
    assert (row.pinned, row.manually_saved, row.importance) == (True, True, before)
    assert book.one("SELECT count(*) FROM revisions") == 0
    _memory(book, on=True)
    row = book.do(pin, memory_id, pinned=False)
    assert (row.pinned, row.manually_saved, row.importance) == (False, False, before)


def test_with_memory_off_unpinning_leaves_the_importance(book, memory_id):
    before = book.do(pin, memory_id, pinned=True).importance
    _memory(book, on=False)
    row = book.do(pin, memory_id, pinned=False)
    assert (row.pinned, row.manually_saved, row.importance) == (False, False, before)


def test_saving_by_a_change_weighs_what_saving_by_hand_does_and_is_taken_back_whole(book, change, memory_id):
    before = book.load(memory_id).importance
    for _ in range(2):
        assert change(memory_id, manually_saved=True).importance == pytest.approx(min(1.0, before + 0.5))
        assert change(memory_id, manually_saved=True).importance == pytest.approx(min(1.0, before + 0.5))
        assert change(memory_id, manually_saved=False).importance == pytest.approx(before)
    assert change(memory_id, manually_saved=True, pinned=True).importance == pytest.approx(min(1.0, before + 0.5))


def test_an_importance_that_is_asked_for_or_was_given_outlives_saving_by_a_change(book, change, memory_id):
    assert change(memory_id, manually_saved=True, importance=0.25).importance == 0.25
    assert change(memory_id, manually_saved=False).importance == 0.25


def test_pinning_twice_raises_importance_once(book, memory_id):
    first = book.do(pin, memory_id, pinned=True).importance
    assert book.do(pin, memory_id, pinned=True).importance == first


@pytest.fixture
def unpinned(book):
    saved = book.write("I prefer tea in the morning", type="preference", manually_saved=True).id
    book.do(pin, saved, pinned=False)
    return saved


def test_an_unpinned_memory_stays_unpinned_when_something_else_changes(book, change, unpinned):
    change(unpinned, tags=["tea"])
    change(unpinned, text="I prefer tea at noon", type="preference")
    book.do(bring_back, unpinned, 1)
    assert not book.load(unpinned).pinned


def test_an_unpinned_memory_stays_unpinned_when_it_is_said_again(book, unpinned):
    book.write("I prefer tea in the morning", type="preference")
    assert not book.load(unpinned).pinned


def test_a_strangers_memory_cannot_be_changed(bobs_book, memory_id):
    with pytest.raises(NotFoundError):
        bobs_book.do(update, memory_id, {"tags": ["x"]})


def test_a_strangers_memory_cannot_be_pinned(bobs_book, memory_id):
    with pytest.raises(NotFoundError):
        bobs_book.do(pin, memory_id, pinned=True)


# --- taking a pin back ---


def as_it_stands(book, memory_id):
    row = book.load(memory_id)
    return row.pinned, row.manually_saved, row.importance


@pytest.mark.parametrize("importance", [0.1, 0.3, 0.8, 1.0])
def test_a_pin_that_is_taken_back_leaves_all_as_it_was(book, change, memory_id, importance):
    change(memory_id, importance=importance)
    before = as_it_stands(book, memory_id)
    for _ in range(2):
        book.do(pin, memory_id, pinned=True)
        book.do(pin, memory_id, pinned=False)
    assert as_it_stands(book, memory_id) == before == (False, False, importance)


def test_what_was_saved_by_hand_before_a_pin_is_so_after_it(book):
    saved = book.write("Ada keeps cats", manually_saved=True).id
    before = as_it_stands(book, saved)
    book.do(pin, saved, pinned=True)
    book.do(pin, saved, pinned=False)
    assert as_it_stands(book, saved) == before == (False, True, before[2])


def test_a_pin_that_has_stood_for_long_counts_as_saving_by_hand(book, memory_id):
    book.do(pin, memory_id, pinned=True, now=utc_now() - timedelta(minutes=11))
    importance = book.load(memory_id).importance
    book.do(pin, memory_id, pinned=False)
    assert as_it_stands(book, memory_id) == (False, True, importance)


@pytest.mark.parametrize("how", ["said again", "saved"])
def test_what_was_wished_for_since_a_pin_outlives_it(book, change, memory_id, how):
    book.do(pin, memory_id, pinned=True)
    if how == "saved":
        change(memory_id, manually_saved=True)
    else:
        book.write("Ada keeps bees behind the house", manually_saved=True)
    book.do(pin, memory_id, pinned=False)
    assert book.load(memory_id).manually_saved


def test_what_was_gained_since_a_pin_is_kept(book, change, memory_id):
    before = book.load(memory_id).importance
    book.do(pin, memory_id, pinned=True)
    change(memory_id, importance=0.95)
    book.do(pin, memory_id, pinned=False)
    assert book.load(memory_id).importance == pytest.approx(0.95 - 0.5)
    assert before < 0.5


@pytest.mark.parametrize("how", ["pin", "change"])
@pytest.mark.parametrize("back", ["pin", "change"])
def test_a_pin_may_be_taken_back_by_a_change(book, change, memory_id, how, back):
    before = as_it_stands(book, memory_id)
    for pinned, by in ((True, how), (False, back)):
        if by == "change":
            change(memory_id, pinned=pinned)
        else:
            book.do(pin, memory_id, pinned=pinned)
    assert as_it_stands(book, memory_id) == before


def test_a_pin_by_a_change_is_recorded_as_any_pin(book, change, memory_id):
    for pinned in (True, True, False):
        change(memory_id, pinned=pinned)
    counted = "SELECT count(*) FROM audit_events WHERE action = :action AND subject_id = :id"
    assert [book.one(counted, action=f"memory.{each}", id=memory_id) for each in ("pinned", "unpinned")] == [1, 1]


def test_what_a_change_asks_for_beside_a_pin_outlives_it(book, change, memory_id):
    change(memory_id, pinned=True, importance=0.3)
    assert as_it_stands(book, memory_id) == (True, True, 0.3)
    change(memory_id, pinned=False)
    assert as_it_stands(book, memory_id) == (False, False, 0.3)


def test_what_a_change_saves_while_it_unpins_is_saved(book, change, memory_id):
    book.do(pin, memory_id, pinned=True)
    change(memory_id, pinned=False, manually_saved=True)
    assert as_it_stands(book, memory_id)[:2] == (False, True)
