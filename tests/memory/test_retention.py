"""Retention: what nobody held on to, changed or asked for is archived when its space keeps it no longer."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.forgetting.forget import forget
from memory.models import LastScore
from memory.record.journal import record_tool_call
from memory.spaces.spaces import get_space, update_space
from memory.writing.edit import pin, update
from memory.writing.remember import remember_many
from memory.writing.retention import SUMMED_UP_EVERY, age_out, aging, put_away, spaces_with_aged

KEPT = timedelta(days=180)
LATER = KEPT + timedelta(days=1)


@pytest.fixture
def age(book):
    """Let so much time pass, and return the ids of what was archived."""

    def _age(passed=LATER, space="default", **options):
        with book.session() as session:
            space_id = get_space(session, book.user_id, space).id
        with book.session() as session:
            return list(age_out(session, book.user_id, space_id, now=utc_now() + passed, **options).ids)

    return _age


def mine(book, session, passed):
    """Return the person's spaces of which something may be archived when so much time has passed."""
    return [space for user, space in spaces_with_aged(session, utc_now() + passed) if user == book.user_id]


def status(book, memory_id):
    return book.one("SELECT status FROM memories WHERE id = :id", id=memory_id)


def test_what_is_older_than_the_space_keeps_it_is_archived(book, age):
    memory_id = book.write("Ada keeps bees").id
    assert age() == [memory_id]
    assert status(book, memory_id) == "archived"
    assert book.one("SELECT count(*) FROM postings") == 0


def test_what_is_not_so_old_stays(book, age):
    memory_id = book.write("Ada keeps bees").id
    assert age(KEPT - timedelta(hours=1)) == []
    assert status(book, memory_id) == "active"


def test_the_audit_names_it_once_for_the_batch(book, age):
    ids = {str(book.write(text).id) for text in ("Ada keeps bees", "The harbour opens in May")}
    age()
    (event,) = book.all("SELECT details FROM audit_events WHERE action = 'memory.aged_out'")
    assert (set(event["ids"]), event["space"], event["retention_days"]) == (ids, "default", 180)


def test_what_was_said_years_ago_and_came_today_stays(book, age):
    memory_id = book.write("Ada kept bees in 2023", created_at=utc_now() - timedelta(days=1200)).id
    assert age(timedelta(days=1)) == []
    assert status(book, memory_id) == "active"


@pytest.mark.parametrize(
    "fields",
    [{"manually_saved": True}, {"type": "summary"}, {"expires_at": utc_now() + timedelta(days=9999)}],
    ids=["saved", "summary", "expiry"],
)
def test_what_is_meant_to_stay_stays(book, age, fields):
    book.write("Ada keeps bees", **fields)
    assert age() == []


def test_what_is_pinned_stays_until_it_is_not(book, age):
    memory_id = book.write("Ada keeps bees").id
    book.do(pin, memory_id, pinned=True)
    assert age() == []


def test_what_was_changed_meanwhile_stays(book, age):
    memory_id = book.write("Ada keeps bees").id
    book.do(update, memory_id, {"tags": ["bees"]}, now=utc_now() + timedelta(days=30))
    assert age() == []


def test_what_was_said_again_meanwhile_stays(book, age):
    book.write("Ada keeps bees")
    book.write("Ada keeps bees", now=utc_now() + timedelta(days=30))
    assert age() == []


def test_what_a_search_found_meanwhile_stays(book, age):
    memory_id = book.write("Ada keeps bees").id
    scores = {"relevance": 0.5, "recency": 0.1, "importance": 0.1, "total": 0.7}
    with book.session() as session:
        row = LastScore(user_id=book.user_id, memory_id=memory_id, **scores)
        row.computed_at = utc_now() + timedelta(days=30)
        session.add(row)
    assert age() == []
    assert age(LATER + timedelta(days=31)) == [memory_id]


def test_what_an_agent_was_given_meanwhile_stays(book, age):
    memory_id = book.write("Ada keeps bees").id
    with book.session() as session:
        record_tool_call(
            session,
            book.user_id,
            tool="memory_search",
            operation="search",
            arguments={},
            affected_ids=[memory_id],
            correlation_id="c",
            success=True,
            duration_ms=1.0,
            created_at=utc_now() + timedelta(days=30),
        )
    assert age() == []
    assert age(LATER + timedelta(days=31)) == [memory_id]


def test_what_is_active_again_has_its_time_again(book, age):
    memory_id = book.write("Ada keeps bees").id
    age()
    then = utc_now() + LATER
    book.do(update, memory_id, {"status": "active"}, now=then)
    assert age(LATER + timedelta(days=1)) == []
    assert age(2 * LATER) == [memory_id]


@pytest.mark.parametrize("changes", [{"retention_days": 0}, {"memory_enabled": False}])
def test_a_space_that_keeps_for_ever_or_whose_memory_is_off_ages_nothing(book, age, changes):
    book.write("Ada keeps bees")
    book.do(update_space, "default", changes)
    assert age() == []
    with book.session() as session:
        assert mine(book, session, LATER) == []


def test_only_spaces_that_have_what_is_old_enough_are_looked_into(book, second_space):
    book.write("Ada keeps bees")
    book.write("The harbour opens in May", space=second_space, manually_saved=True)
    with book.session() as session:
        space_id = get_space(session, book.user_id, "default").id
        assert mine(book, session, KEPT - timedelta(hours=1)) == []
        assert mine(book, session, LATER) == [space_id]
        assert mine(book, session, timedelta(days=100_000)) == [space_id]


def test_each_space_has_its_own_time(book, age, second_space):
    book.write("Ada keeps bees")
    memory_id = book.write("The harbour opens in May", space=second_space).id
    book.do(update_space, second_space, {"retention_days": 7})
    week = timedelta(days=8)
    assert (age(week), age(week, second_space)) == ([], [memory_id])


def test_batches_go_on_where_the_last_one_stopped(book):
    drafts = [Draft(f"Observation {n} of the harbour at {n} o'clock", manually_saved=n < 3) for n in range(7)]
    with book.session() as session:
        remember_many(session, book.user_id, "default", drafts, keys=book.runtime.keys, now=utc_now(), actor="t")
        space_id = get_space(session, book.user_id, "default").id
    found, after = [], None
    while True:
        with book.session() as session:
            aged = age_out(session, book.user_id, space_id, now=utc_now() + LATER, after=after, most=2)
        found.append(len(aged.ids))
        after = aged.last
        if after is None:
            break
    assert found == [2, 2, 0]


def test_anothers_memories_are_left_alone(book, bobs_book, age):
    memory_id = bobs_book.write("Bob keeps bees").id
    book.write("Ada keeps bees")
    age()
    assert status(bobs_book, memory_id) == "active"


def test_a_repeat_that_comes_at_the_same_moment_is_neither_lost_nor_doubled(book, age):
    """A writer and an archiver of one text: it is archived and stored anew, or repeated and kept."""
    for number in range(10):
        text = f"Ada has {number} hives"
        book.write(text)
        writer = threading.Thread(target=book.write, args=[text], kwargs={"now": utc_now() + LATER})
        writer.start()
        age()
        writer.join()
        assert book.one("SELECT count(*) FROM memories WHERE text = :text AND status = 'active'", text=text) == 1


# Summed up before


MONTH_LATER = LATER + SUMMED_UP_EVERY


@pytest.fixture
def keeping(book):
    """The space, which wants what is archived summed up, and three notes in it."""
    book.do(update_space, "default", {"roll_up": True})
    for text in ("The kiln reaches cone ten by noon", "Glaze needs two coats", "Clay from Ada is too wet"):
        book.write(text, tags=("pots",))
    with book.session() as session:
        return get_space(session, book.user_id, "default").id


def due(book, keeping, passed=MONTH_LATER):
    with book.session() as session:
        return aging(session, book.user_id, keeping, now=utc_now() + passed)


def away(book, keeping, memories, summary=None, passed=MONTH_LATER):
    with book.session() as session:
        now, keys = utc_now() + passed, book.runtime.keys
        return put_away(session, book.user_id, keeping, memories, summary, keys=keys, now=now)


def summed(memories):
    return Draft("Pots, in short", "summary", "system", source_ids=tuple(str(each.id) for each in memories))


def test_it_is_done_once_a_month(book, keeping):
    assert len(due(book, keeping)) == 3
    assert due(book, keeping, MONTH_LATER - timedelta(days=2)) == ()


def test_a_space_that_does_not_want_it_says_so(book, keeping):
    book.do(update_space, "default", {"roll_up": False})
    assert due(book, keeping) is None
    book.do(update_space, "default", {"roll_up": True, "retention_days": 0})
    assert due(book, keeping) == ()


def test_a_summary_takes_the_place_of_what_is_archived(book, keeping):
    old = due(book, keeping)
    assert list(away(book, keeping, old, summed(old))) == [each.id for each in old]
    assert book.all("SELECT type FROM memories WHERE status = 'active'") == ["summary"]
    assert book.all("SELECT details->>'memories' FROM audit_events WHERE action = 'memory.rolled_up'") == ["3"]


def test_what_was_changed_or_wanted_meanwhile_is_put_away_another_time(book, keeping):
    old = due(book, keeping)
    book.do(update, old[0].id, {"text": "The kiln reaches cone nine by noon"}, now=utc_now() - timedelta(days=1))
    assert away(book, keeping, old, summed(old)) == ()
    assert book.all("SELECT status FROM memories") == ["active"] * 3
    assert list(away(book, keeping, old)) == [each.id for each in old[1:]]


def test_a_space_that_wants_it_no_longer_is_left_for_the_next_time(book, keeping):
    old = due(book, keeping)
    book.do(update_space, "default", {"roll_up": False})
    assert away(book, keeping, old, summed(old)) == ()
    assert book.all("SELECT status FROM memories") == ["active"] * 3


def test_a_full_space_loses_nothing_for_a_summary(book, keeping):
    book.do(update_space, "default", {"soft_cap": 3})
    old = due(book, keeping)
    away(book, keeping, old, summed(old))
    assert sorted(book.all("SELECT status FROM memories")) == ["active", "archived", "archived", "archived"]


def test_what_was_forgotten_a_moment_ago_is_not_said_again_by_a_summary(book, keeping):
    old = due(book, keeping)
    later = utc_now() + MONTH_LATER
    kept = book.write("Pots, in short", now=later).id
    book.do(forget, kept, now=later)
    assert len(away(book, keeping, old, summed(old))) == 3
    assert book.all("SELECT 1 FROM memories WHERE type = 'summary'") == []
