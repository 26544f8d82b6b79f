"""Removing a space: twins become one, ties hold, and writers at the same moment lose nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import pytest
from at_once import at_once, waits
from sqlalchemy import event, text
from sqlalchemy.exc import IntegrityError

from memory.accounts.accounts import create_token
from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.errors import ConflictError, DomainError, InvalidError, NotFoundError
from memory.forgetting.forget import UNDO_WINDOW, forget, set_aside_expired
from memory.forgetting.purge import purge
from memory.forgetting.restore import restore
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Conversation, Memory
from memory.notebooks.marks import mark_right
from memory.record.journal import record_tool_call
from memory.record.tool_calls import CallFilters, list_calls
from memory.redaction.redaction import REDACTED
from memory.redaction.tombstones import LIFETIME
from memory.space_removal.removal import remove_space
from memory.spaces.spaces import create_space, get_space, lock_space, lock_spaces
from memory.writing.edit import update

TEXT = "The meeting is in room seven"
SUMMARY = "Two coats, then cone ten"


@pytest.fixture(autouse=True)
def _space(second_space):
    """Every test has a second space."""


@pytest.fixture
def remove(book):
    def _remove(choice="move", word=None, slug="second", **named):
        expect = word or book.contents("second").digest
        return book.do(remove_space, slug, choice, expect=expect, **named)

    return _remove


@pytest.fixture
def twins(book):
    """Write a text into both spaces; return the pool's and the other's."""

    def _twins(text=TEXT, pool=None, other=None):
        return book.write(text, **(pool or {})).id, book.write(text, space="second", **(other or {})).id

    return _twins


# --- twins ------------------------------------------------------------------------------------------------------------


def test_a_twin_was_said_as_often_as_both(book, twins, remove):
    kept, _ = twins()
    for space in ("default", "second", "second"):
        book.write(TEXT, space=space)
    remove()
    assert (book.load(kept).repeat_count, book.one("SELECT count(*) FROM memories")) == (4, 1)


def test_a_twin_keeps_what_either_had(book, twins, remove):
    now = utc_now()
    pool = {"tags": ("a", "b"), "importance": 0.2, "expires_at": now + timedelta(days=1)}
    other = {"tags": ("b", "c"), "source_ids": ("s",), "source_message": "m", "importance": 0.9, "theme": "work"}
    kept, _ = twins(pool=pool, other={**other, "manually_saved": True, "type": "instruction"})
    remove()
    memory = book.load(kept)
    assert (memory.tags, memory.source_ids, memory.source_message) == (["a", "b", "c"], ["s"], "m")
    assert (memory.importance, memory.expires_at, memory.pinned, memory.manually_saved) == (0.9, None, True, True)
    assert memory.theme_id is not None


def test_a_twin_stays_right_for_the_questions_of_both(book, twins, remove):
    kept, other = twins()
    with book.session() as session:
        for question, memory_id in (("Which room?", other), ("Where is it?", other), ("Where is it?", kept)):
            mark_right(session, book.user_id, question, memory_id, now=utc_now())
    remove()
    marks = "SELECT question FROM recall_marks WHERE memory_id = :id ORDER BY question"
    assert book.all(marks, id=kept) == ["Where is it?", "Which room?"]


def test_a_summary_goes_with_the_twin_of_what_it_sums_up(book, twins, remove):
    kept, other = twins()
    summary = {"space": "second", "type": "summary", "source_ids": (str(other), str(kept))}
    made = book.write("Room seven is where they meet", **summary).id
    remove()
    assert book.load(made).source_ids == [str(kept)]
    book.do(forget, kept)
    assert book.load(made) is None


def test_the_later_of_two_expiries_holds(book, twins, remove):
    now = utc_now()
    kept, _ = twins(pool={"expires_at": now + timedelta(days=1)}, other={"expires_at": now + timedelta(days=9)})
    remove()
    assert book.load(kept).expires_at == now + timedelta(days=9)


@pytest.mark.parametrize("status", ["archived", "superseded"])
def test_what_is_not_active_is_no_twin(book, twins, remove, change, status):
    _, other = twins()
    change(other, status=status)
    remove()
    assert (book.load(other).status, book.one("SELECT count(*) FROM memories")) == (status, 2)


def test_an_archive_merges_nothing(book, twins, remove):
    _, other = twins()
    assert remove("archive")["memories_archived"] == 1
    assert book.load(other).status == "archived"


def test_a_possible_update_of_a_twin_becomes_one_of_the_pools(book, twins, remove):
    kept, other = twins("The meeting is in room 7")
    rival = book.write("The meeting is in room 8", space="second").id
    assert book.all("SELECT older_id FROM possible_updates") == [other]
    remove()
    assert [tuple(row) for row in pairs(book)] == [(rival, kept)]


def test_a_possible_update_between_two_twins_is_there_once(book, twins, remove):
    first, _ = twins("The meeting is in room 7")
    second, _ = twins("The meeting is in room 8")
    assert len(pairs(book)) == 2
    remove()
    assert [tuple(row) for row in pairs(book)] == [(second, first)]


def pairs(book):
    with book.session() as session:
        return session.execute(text("SELECT memory_id, older_id FROM possible_updates")).all()


def test_what_superseded_a_twin_supersedes_the_pools(book, twins, remove, change):
    kept, other = twins()
    newer = book.write("The meeting was moved to the garden", space="second").id
    change(newer, supersedes=other)
    change(other, status="active")
    remove()
    assert book.load(newer).supersedes == kept


def test_what_a_twin_superseded_is_superseded_by_the_pools(book, twins, remove, change):
    older = book.write("The meeting is in the attic", space="second").id
    kept, other = twins()
    change(other, supersedes=older)
    remove()
    assert (book.load(kept).supersedes, book.load(older).status) == (older, "superseded")


def test_ties_of_twins_make_no_circle(book, twins, remove, change):
    """In the pool A supersedes B, in the space B supersedes A."""
    a, other_a = twins("The first text of these two")
    b, other_b = twins("Another text, and quite unlike it")
    change(a, supersedes=b)
    change(other_b, supersedes=other_a)
    for each in (b, other_a):
        change(each, status="active")
    remove()
    assert (book.load(a).supersedes, book.load(b).supersedes) == (b, None)


def test_the_memory_that_came_after_a_twin_comes_after_the_pools(book, remove):
    kept = book.write(TEXT).id
    book.write(TEXT, space="second")
    after = book.write("And it begins at noon", space="second").id
    remove()
    assert book.load(after).previous_id == kept


def test_a_memory_that_came_after_its_own_twin_does_not_come_after_itself(book, twins, remove):
    kept, other = twins()
    with book.session() as session:
        session.get_one(Memory, (book.user_id, kept)).previous_id = other
    remove()
    assert book.load(kept).previous_id != kept


def test_many_twins_take_as_many_statements_as_few(book):
    def statements(space, count):
        with book.session() as session:
            create_space(session, book.user_id, space, soft_cap=200, now=utc_now(), actor="test")
        # Alike in nothing, so that none is a possible update of another.
        for said in [uuid4().hex for _ in range(count)]:
            book.write(said)
            book.write(said, space=space)
        expect, asked = book.contents(space).digest, []
        named = {"expect": expect, "keys": book.runtime.keys, "now": utc_now(), "actor": "test"}

        def note(_connection, _cursor, statement, *_):
            asked.append(statement)

        with book.session() as session:
            event.listen(session.get_bind(), "before_cursor_execute", note)
            assert remove_space(session, book.user_id, space, "move", **named)["memories_merged"] == count
            event.remove(session.get_bind(), "before_cursor_execute", note)
        return len(asked)

    assert statements("third", 2) == statements("fourth", 30)


# --- tombstones -------------------------------------------------------------------------------------------------------


def test_tombstones_stand_in_the_pool_for_their_day(book, remove):
    now, before = utc_now(), "The meeting is on the roof"
    changed = book.write(before, space="second").id
    book.do(update, changed, {"text": TEXT})
    remove("forget")
    assert [book.write(said, now=now).refusal for said in (TEXT, before)] == ["tombstone"] * 2
    assert book.write(TEXT, now=utc_now() + LIFETIME).outcome == "created"


def test_what_the_pool_says_may_be_said_again_there(book, remove, change):
    before = ["The meeting is on the roof", "Nobody has the key of the cellar"]
    changed = [book.write(said, space="second").id for said in before]
    for number, memory_id in enumerate(changed):
        change(memory_id, text=f"{TEXT}, in row {number}")
    kept = book.write(before[0]).id
    asked = []
    engine = book.runtime.sessions.kw["bind"]
    event.listen(engine, "before_cursor_execute", note := lambda *given: asked.append(given[2]))
    try:
        remove("forget")
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert [(each.id, each.refusal) for each in map(book.write, before)] == [(kept, None), (None, "tombstone")]
    # However many are forgotten.
    assert sum(each.startswith("INSERT INTO tombstones") for each in asked) == 1


def forget_in_the_pool(book, said=TEXT):
    book.do(forget, book.write(said).id)


def test_what_was_forgotten_in_the_pool_is_archived_there(book, remove):
    forget_in_the_pool(book)
    kept, other = (book.write(said, space="second").id for said in (TEXT, "The lawn is mown on Fridays"))
    foretold = book.contents("second").plans["move"]
    done = remove()
    assert done == foretold
    assert (book.load(kept).status, book.load(other).status) == ("archived", "active")
    assert (done["memories_moved"], done["memories_archived"]) == (2, 1)
    events = book.all("SELECT details->'ids' FROM audit_events WHERE action = 'memory.archived'")
    assert events == [[str(kept)]]


def test_what_was_forgotten_in_other_words_that_say_the_same_is_archived_too(book, remove):
    forget_in_the_pool(book)
    kept = book.write("the MEETING is in room seven!", space="second").id
    remove()
    assert book.load(kept).status == "archived"


def test_nothing_is_archived_where_nothing_like_it_was_forgotten(book, remove):
    forget_in_the_pool(book)
    other = book.write("The meeting is in room eight", space="second").id
    assert "memories_archived" not in remove()
    assert book.load(other).status == "active"


def test_what_was_forgotten_a_day_ago_may_come_with_its_space(book, remove):
    book.do(forget, book.write(TEXT).id, now=utc_now() - LIFETIME)
    kept = book.write(TEXT, space="second").id
    remove()
    assert book.load(kept).status == "active"


def test_what_was_forgotten_in_the_pool_takes_no_room_there(book, remove):
    with book.session() as session:
        get_space(session, book.user_id, "default").soft_cap = 1
    forget_in_the_pool(book)
    for said in (TEXT, "The lawn is mown on Fridays"):
        book.write(said, space="second")
    assert book.contents("second").plans["move"]["memories_trimmed"] == 0
    assert remove()["memories_trimmed"] == 0


def test_what_has_expired_takes_no_room_in_the_pool(book, remove):
    with book.session() as session:
        get_space(session, book.user_id, "default").soft_cap = 2
    past = utc_now() - timedelta(minutes=1)
    for said, space in (("The fair is over", "default"), ("The sale is over", "second")):
        book.write(said, space=space, expires_at=past)
    for said, space in ((TEXT, "default"), ("The lawn is mown on Fridays", "second")):
        book.write(said, space=space)
    assert book.contents("second").plans["move"]["memories_trimmed"] == 0
    assert remove()["memories_trimmed"] == 0


def lapse(book, space):
    """Store a text that was pinned and said something else before, and has expired."""
    then = utc_now() - timedelta(hours=1)
    fields = {"now": then, "expires_at": utc_now() - timedelta(minutes=1)}
    memory_id = book.write("The meeting is in the cellar", space, **fields).id
    book.do(update, memory_id, {"text": TEXT, "pinned": True}, now=then)
    return memory_id


def test_what_has_expired_in_the_pool_does_not_come_back_with_its_twin(book, remove):
    with book.session() as session:
        get_space(session, book.user_id, "default").soft_cap = 1
    gone = lapse(book, "default")
    kept = [book.write(said, space="second").id for said in (TEXT, "The lawn is mown on Fridays")]
    foretold = book.contents("second").plans["move"]
    assert (foretold["memories_moved"], foretold["memories_merged"], foretold["memories_trimmed"]) == (2, 0, 1)
    assert remove() == foretold
    assert (book.load(gone), book.all("SELECT text FROM revisions")) == (None, [])
    (left,) = book.all("SELECT id FROM memories")
    assert left in kept
    assert not book.load(left).pinned


def test_what_has_expired_lends_its_twin_in_the_pool_nothing(book, remove):
    with book.session() as session:
        get_space(session, book.user_id, "default").soft_cap = 1
    lapse(book, "second")
    book.write("The lawn is mown on Fridays", space="second")
    book.write(TEXT)
    foretold = book.contents("second").plans["move"]
    assert (foretold["memories_merged"], foretold["memories_trimmed"]) == (1, 1)
    assert remove() == foretold
    pins = "SELECT pinned FROM memories"
    assert (book.all(pins), book.all("SELECT text FROM revisions")) == ([False], [])


def test_what_has_expired_in_both_spaces_stays_so(book, remove):
    first, second = lapse(book, "default"), lapse(book, "second")
    kept = book.write("The lawn is mown on Fridays").id
    foretold = book.contents("second").plans["move"]
    assert remove() == foretold
    assert (book.load(first), book.load(second).space_id) == (None, book.load(kept).space_id)


def test_a_removal_is_asked_again_once_what_was_forgotten_in_the_pool_may_come(book, remove):
    book.do(forget, book.write(TEXT).id, now=utc_now() - LIFETIME + timedelta(seconds=60))
    book.write(TEXT, space="second")
    word = book.contents("second").digest
    with pytest.raises(ConflictError, match="has changed"):
        remove(word=word, now=utc_now() + timedelta(seconds=60))


def test_what_was_forgotten_in_both_spaces_is_restored_into_the_archive(book, remove):
    forget_in_the_pool(book)
    memory_id = book.write(TEXT, space="second").id
    book.do(forget, memory_id, undo=UNDO_WINDOW)
    remove()
    assert book.do(restore, memory_id).status == "archived"


def test_marks_that_say_what_is_forgotten_with_the_space_do_not_come_back(book, remove):
    book.write(TEXT, space="second")
    memory_id = book.write("The garden gate is green").id
    with book.session() as session:
        mark_right(session, book.user_id, f"Is it so? {TEXT}", memory_id, now=utc_now())
    book.do(forget, memory_id, undo=UNDO_WINDOW)
    remove("forget")
    book.do(restore, memory_id)
    assert book.one("SELECT count(*) FROM recall_marks") == 0


def test_what_of_many_is_not_purged_with_the_space_is_gone_all_the_same(book, remove, monkeypatch):
    """It is due, and the next sweep takes it with whatever tells of it."""
    monkeypatch.setattr("memory.forgetting.forget.PURGED_AT_ONCE", 1)
    now, told = (
        utc_now(),
        {"tool": "note", "correlation_id": "one", "arguments": {"text": TEXT}, "created_at": utc_now()},
    )
    with book.session() as session:
        record_tool_call(session, book.user_id, **told, duration_ms=1.0, success=True)
    ids = [book.write(said, space="second").id for said in (TEXT, "The lawn is mown on Fridays")]
    book.do(forget, ids[1], undo=UNDO_WINDOW)
    remove("forget")
    assert (book.one("SELECT count(*) FROM memories"), book.one("SELECT count(*) FROM tombstones")) == (0, 2)
    assert book.all("SELECT count FROM audit_events WHERE action = 'memory.purged'") == []
    with pytest.raises(NotFoundError):
        book.do(restore, ids[1])
    with book.session() as session:
        (shown,) = list_calls(session, book.user_id, CallFilters(), now=now).calls
        assert shown.arguments == REDACTED
        assert purge(session, book.user_id, keys=book.runtime.keys, now=utc_now()) == 2
    assert book.all("SELECT arguments FROM tool_calls") == [REDACTED]


@pytest.fixture
def summed_up(book):
    """Two notes in the space, and what sums them up in a third one: a summary, and one that is held on to."""
    book.do(create_space, "third", soft_cap=9)
    notes = [book.write(text, space="second").id for text in ("The kiln reaches cone ten", "Glaze needs two coats")]
    sources = {"space": "third", "type": "summary", "source_ids": tuple(map(str, notes))}
    return book.write(SUMMARY, **sources).id, book.write("Firing, in short", manually_saved=True, **sources).id


def test_what_sums_it_up_elsewhere_is_forgotten_with_the_space(book, remove, summed_up):
    assert book.contents("second").plans["forget"]["memories_forgotten"] == 3
    assert remove("forget")["memories_forgotten"] == 3
    assert book.all("SELECT id FROM memories") == [summed_up[1]]
    assert book.all("SELECT id FROM forgotten") == []
    assert book.write(SUMMARY, space="third").outcome == "refused"


def test_what_sums_up_a_summary_elsewhere_is_forgotten_too(book, remove, summed_up):
    book.write("A day at the kiln", type="summary", source_ids=(str(summed_up[0]),))
    assert remove("forget")["memories_forgotten"] == 4
    assert book.all("SELECT id FROM memories") == [summed_up[1]]


def test_a_removal_is_asked_again_once_another_space_sums_up_what_is_there_otherwise(book, remove, summed_up):
    word, sources = book.contents("second").digest, book.load(summed_up[0]).source_ids
    book.do(forget, summed_up[0])
    book.write("Cone ten by noon", space="third", type="summary", source_ids=tuple(sources))
    with pytest.raises(ConflictError):
        remove("forget", word)


def test_who_writes_to_other_spaces_does_not_wait_for_one_to_be_forgotten(book, remove):
    """Not even for the pool, where its tombstones go."""
    book.write(TEXT, space="second")
    word = book.contents("second").digest
    with book.session() as session:
        lock_space(session, book.user_id, "default")
        (done,) = at_once(lambda: remove("forget", word))
    assert done["memories_forgotten"] == 1


def test_a_space_goes_beside_a_forgetting_that_blanks_the_same_calls(book, owner, remove):
    """What both lock they lock in one order: who waits for a call holds none that comes after it."""
    book.write(TEXT, space="second")
    talk = converse(book, "second")
    call = {"tool": "note", "correlation_id": "one", "arguments": {"text": TEXT}, "created_at": utc_now()}
    with book.session() as session:
        ids = [
            record_tool_call(session, book.user_id, **call, duration_ms=1.0, success=True, conversation_id=place)
            for place in (None, talk)
        ]
    word, done = book.contents("second").digest, []
    # Ids of the same millisecond are in any order.
    mine, first, last = {"user_id": book.user_id}, min(ids), max(ids)
    untied = text("UPDATE tool_calls SET conversation_id = NULL WHERE user_id = :user_id AND id = :id")
    tied = text("UPDATE tool_calls SET conversation_id = :talk WHERE user_id = :user_id AND id = :id")
    with owner.begin() as connection:
        connection.execute(untied, {**mine, "id": first})
        connection.execute(tied, {**mine, "id": last, "talk": talk})
    thread = threading.Thread(target=lambda: done.append(remove("forget", word)))
    with owner.begin() as holding:
        locked = text("SELECT id FROM tool_calls WHERE user_id = :user_id AND id = :id FOR UPDATE SKIP LOCKED")
        assert holding.scalar(locked, {**mine, "id": first}) == first
        thread.start()
        waiting = text(
            "SELECT pg_stat_clear_snapshot(), EXISTS (SELECT FROM pg_stat_activity a "
            "WHERE pg_backend_pid() = ANY(pg_blocking_pids(a.pid))) AS waits"
        )
        while thread.is_alive() and not holding.execute(waiting).one().waits:
            thread.join(0.01)
        with owner.begin() as other:
            assert other.scalar(locked, {**mine, "id": last}) == last
    thread.join(60)
    assert done[0]["conversations_deleted"] == 1
    assert book.all("SELECT arguments FROM tool_calls WHERE conversation_id IS NULL") == [REDACTED, REDACTED]


def test_a_space_is_left_to_who_uses_a_token_of_it(book, owner, remove):
    with book.session() as session:
        create_token(session, book.user_id, "pen", ["write"], space="second", now=utc_now())
    word = book.contents("second").digest
    with ThreadPoolExecutor(1) as pool:
        with book.session() as session:
            session.execute(text("UPDATE tokens SET last_used_at = now()"))
            removed = pool.submit(remove, "forget", word)
            assert waits(owner)
            assert [space.slug for space in lock_spaces(session, book.user_id, wait=False)] == ["default", "second"]
        assert removed.result(30)["tokens_revoked"] == 1


def test_a_space_goes_beside_a_purge_of_what_expired_there(book, remove):
    now = utc_now()
    book.write(TEXT, space="second", expires_at=now + timedelta(milliseconds=1))
    with book.session() as session:
        assert set_aside_expired(session, book.user_id, now=now + timedelta(milliseconds=2)) == 1
    found = book.contents("second")
    assert found.restorable == 0
    with book.session() as session:
        session.execute(text("SELECT FROM forgotten FOR UPDATE"))
        (done,) = at_once(lambda: remove("forget", found.digest))
    assert done["restorable_dropped"] == 0


def test_what_has_expired_since_it_was_forgotten_is_not_counted_as_restorable_and_goes_as_well(book, remove):
    now = utc_now() - timedelta(minutes=1)
    for said, expires_at in ((TEXT, now + timedelta(seconds=1)), ("The lamp is lit", None)):
        gone = book.write(said, space="second", expires_at=expires_at).id
        book.do(forget, gone, undo=UNDO_WINDOW, now=now)
    found = book.contents("second")
    assert (found.restorable, found.plans["forget"]["restorable_dropped"]) == (1, 1)
    assert remove("forget", found.digest)["restorable_dropped"] == 1
    assert book.one("SELECT count(*) FROM forgotten") == 0


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_another_choice_is_refused(remove):
    with pytest.raises(InvalidError, match="contents"):
        remove("burn")


def test_a_space_that_is_not_there_is_refused(remove):
    with pytest.raises(NotFoundError):
        remove(slug="third", word="x")


def test_the_default_space_is_refused(remove):
    with pytest.raises(ConflictError, match="default"):
        remove(slug="default", word="x")


@pytest.mark.parametrize("choice", ["move", "archive", "forget"])
def test_a_removal_that_is_taken_back_leaves_everything(book, twins, choice):
    twins()
    word = book.contents("second").digest
    with book.session() as session:
        remove_space(
            session, book.user_id, "second", choice, expect=word, keys=book.runtime.keys, now=utc_now(), actor="test"
        )
        session.rollback()
    assert book.contents("second").digest == word


# --- at the same moment -----------------------------------------------------------------------------------------------


def converse(book, space):
    with book.session() as session:
        opened, _ = open_conversation(
            session, book.user_id, get_space(session, book.user_id, space), now=utc_now(), actor="test"
        )
        return opened.id


def say(book, conversation_id):
    scribe = Scribe(book.runtime.keys, len, utc_now(), "test", "c")
    with book.session() as session:
        return append(session, book.user_id, conversation_id, [MessageDraft("user", "Hello", remember=True)], scribe)


@pytest.mark.parametrize("choice", ["move", "archive", "forget"])
def test_writers_of_a_space_that_goes_come_before_it_or_find_it_gone(book, remove, choice):
    book.write_many([f"Fact of the day number {n}" for n in range(20)], "second")
    talk = converse(book, "second")
    results = at_once(
        lambda: remove(choice),
        lambda: remove(choice),
        lambda: book.write_many(["Something else entirely"], "second"),
        lambda: book.write_many([f"Fact of the day number {n}" for n in range(20)]),
        lambda: converse(book, "second"),
        lambda: say(book, talk),
    )
    odd = [each for each in results if isinstance(each, Exception) and not isinstance(each, DomainError)]
    # A conversation whose space goes in the very moment in which it is opened fails on the foreign key.
    assert [each for each in odd if not isinstance(each, IntegrityError)] == []
    if "second" in book.all("SELECT slug FROM spaces"):
        remove(choice)
    assert book.all("SELECT slug FROM spaces") == ["default"]
    assert (
        book.one("SELECT count(*) FROM memories m WHERE NOT EXISTS (SELECT 1 FROM spaces s WHERE s.id = m.space_id)")
        == 0
    )
    with book.session() as session:
        spaces = set(session.query(Conversation.space_id)) | set(session.query(Memory.space_id))
        assert len(spaces) <= 1
    assert book.one("SELECT documents FROM spaces") == book.one("SELECT count(*) FROM memories WHERE status = 'active'")
