"""What is asked all the time costs no more where much is stored: counted in the pages that the database looks at."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import event, text

from memory.clock import utc_now
from memory.embedding.queue import _DUE, statement
from memory.operators.operators import try_to_cross
from memory.reading.browse import Filters, list_counted
from memory.reading.summary import summarise
from memory.record.external_calls import CallDraft, record_calls
from memory.record.journal import record, record_tool_call
from memory.record.telemetry import advance_totals, telemetry
from memory.record.tool_calls import CallFilters, affected_paths, list_calls
from memory.space_removal.contents import contents_of
from memory.spaces.capacity import enforce_capacity
from memory.spaces.spaces import get_space
from memory.spaces.themes import list_themes
from memory.storage.shelves import MEMORIES as MEMORIES_SHELF

pytestmark = pytest.mark.slow

MANY = 3000
# A look into an index takes three or four, and there are a few of them.
FEW_PAGES = 60
MEMORIES = """
INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, needs_embedding,
    created_at, updated_at)
SELECT s.user_id, uuidv7(), s.id, 'note', 'user', 'bees ' || n, sha256(n::text::bytea), 0, 0, false, now(), now()
FROM spaces s, generate_series(1, :many) n WHERE s.user_id = :user_id AND s.slug = 'default'
"""


MODEL = """
INSERT INTO embedding_models (user_id, id, provider_type, model, state, created_at)
VALUES (:user_id, :user_id, 'local', 'test-model', 'active', now())
"""
VECTORS = """
INSERT INTO embeddings (user_id, memory_id, model_id, space_id, vector, state, version, due_at, created_at, updated_at)
SELECT user_id, id, user_id, space_id, array_fill(1, ARRAY[384])::real[]::halfvec, 'ready', 1, now(), now(),
    now() - interval '2 hours'
FROM memories WHERE user_id = :user_id
"""
BUILDING = """
INSERT INTO embedding_models (user_id, id, provider_type, model, state, created_at)
VALUES (:user_id, uuidv7(), 'local', 'other-model', 'building', now())
"""
AWAITED = """
INSERT INTO embeddings (user_id, memory_id, model_id, space_id, state, version, due_at, created_at, updated_at)
SELECT m.user_id, m.id, e.id, m.space_id, 'pending', 1, now() - interval '1 minute', now(), now()
FROM memories m JOIN embedding_models e ON e.user_id = m.user_id AND e.state = 'building' WHERE m.user_id = :user_id
"""
# Else whatever is written next would have to take most of it away first, and leave its scores lying about.
ROOM = "UPDATE spaces SET soft_cap = 2 * :many WHERE user_id = :user_id"
CALLS = """
INSERT INTO tool_calls (user_id, id, correlation_id, tool, duration_ms, success, created_at)
SELECT :user_id, uuidv7(), '-', 'memory_get', 1, n % 10 > 0, now()
FROM generate_series(1, :many) n
"""


@pytest.fixture
def pages(owner):
    """How many pages a statement looks at, once its tables are known to the planner; `after` is taken back."""

    def _pages(statement, after="SELECT", **values):
        with owner.connect() as connection:
            connection.execute(text(after))
            asked = text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}")
            connection.execute(asked, values)  # What it reads of the catalogue is known from then on.
            plan = connection.execute(asked, values).scalar_one()[0]["Plan"]
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    return _pages


@pytest.fixture
def much(owner, book):
    """Ada has stored a great deal."""
    with owner.begin() as connection:
        for statement in (ROOM, MEMORIES, MODEL, VECTORS, CALLS):
            connection.execute(text(statement), {"many": MANY, "user_id": book.user_id})
    # What the tests before had is gone, but is looked at until it is swept up.
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM (ANALYZE) memories, embeddings, tool_calls"))
    return book


def test_who_has_texts_to_be_read_is_told_without_reading_all_that_wait(much, pages):
    assert pages("SELECT users_with_unenriched_items(now())") < FEW_PAGES


@pytest.fixture
def switching(owner, much):
    """Ada is on the way to another model, which has nothing yet."""
    with owner.begin() as connection:
        for statement in (BUILDING, AWAITED):
            connection.execute(text(statement), {"user_id": much.user_id})
        connection.execute(text("ANALYZE embeddings"))
    return much


def test_what_waits_for_one_model_is_not_read_to_find_nothing_for_the_other(switching, pages):
    due = statement(_DUE, MEMORIES_SHELF).text
    asked = {"user_id": switching.user_id, "now": utc_now(), "most": 1}
    assert pages(due, **asked, model_id=switching.user_id) < FEW_PAGES


@pytest.mark.parametrize("asked", ["next_due_embedding()", "users_with_due_embeddings(now(), 100)"])
def test_who_waits_for_a_vector_is_told_without_reading_what_waits_for_a_model_that_rests(switching, pages, asked):
    rests = "UPDATE embedding_models SET rests_until = now() + interval '1 hour' WHERE state = 'building'"
    assert pages(f"SELECT {asked}", after=rests) < FEW_PAGES


def test_what_is_too_old_is_looked_for_without_reading_what_is_not(much, pages):
    assert pages("SELECT spaces_with_aged(now())") < FEW_PAGES


@pytest.mark.parametrize(
    "looked_at",
    [
        "count(*) FROM embeddings WHERE state = 'error'",
        "count(*) FROM embeddings WHERE state = 'ready' AND updated_at > now() - interval '1 hour'",
        "count(*) FROM embeddings WHERE user_id = :user_id AND state = 'error'",
    ],
)
def test_vectors_that_failed_or_are_new_are_counted_without_reading_the_others(much, pages, looked_at):
    assert pages(f"SELECT {looked_at}", user_id=much.user_id) < FEW_PAGES


def test_what_a_space_is_full_of_is_counted_without_reading_the_rest(much, pages):
    with much.session() as session:
        session.execute(text("UPDATE spaces SET soft_cap = 2"))
    assert pages("SELECT full_spaces()") < FEW_PAGES


def test_no_table_is_read_through_to_find_nothing_of_others(much):
    read = text("SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE seq_scan > 0")
    with much.session() as session:
        # Of what the connection did before, too, as long as that is not told on.
        before = set(session.execute(read))
        try_to_cross(session, much.user_id)
        assert set(session.execute(read)) == before
        assert session.scalar(text("SHOW enable_seqscan")) == "on"


def test_a_rare_type_is_listed_without_reading_the_others(much, pages):
    listed = "FROM memories WHERE user_id = :user_id AND type = 'decision' ORDER BY created_at DESC, id DESC LIMIT 50"
    assert pages(f"SELECT * {listed}", user_id=much.user_id) < FEW_PAGES


@pytest.fixture
def pages_of(owner, much):
    """How many pages all statements of an action look at, done for Ada."""
    with owner.begin() as connection:
        # What others wrote just now waits beside the index, and would be read as well.
        for index in ("memories_tags", "memories_source_ids", "tool_calls_paths"):
            connection.execute(text(f"SELECT gin_clean_pending_list('ix_{index}')"))

    def _pages_of(action):
        asked, note = [], lambda _connection, _cursor, *statement: asked.append(statement[:2])
        with much.session() as session:
            action(session)  # What it reads of the catalogue is known from then on.
            event.listen(session.get_bind(), "before_cursor_execute", note)
            action(session)
            event.remove(session.get_bind(), "before_cursor_execute", note)
            read = 0
            for statement, values in asked:
                explained = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
                plan = session.connection().exec_driver_sql(explained, values).scalar_one()[0]["Plan"]
                read += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        return read

    return _pages_of


@pytest.mark.parametrize("asked", [{"tag": "hives"}, {"source_id": "log-7"}, {"tag": "none"}])
def test_what_few_memories_have_is_listed_and_counted_without_reading_the_others(much, pages_of, asked):
    much.write("The hives are full", tags=("hives",), source_ids=("log-7",))
    listed = {"limit": 50, "cursor": None, "now": utc_now()}
    assert pages_of(lambda session: list_counted(session, much.user_id, Filters(**asked), **listed)) < FEW_PAGES


@pytest.mark.parametrize("path", ["hives/north.md", "hives/", "nowhere/", "nowhere"])
def test_calls_on_a_path_are_found_without_reading_the_others(much, pages_of, path):
    now = utc_now()
    with much.session() as session:
        call = CallDraft("write", True, 1.0, affected_paths=["hives/north.md"])
        record_calls(session, much.user_id, [call], keys=much.runtime.keys, token_id=None, correlation_id="-", now=now)
    filters = CallFilters(path=path)
    assert pages_of(lambda session: list_calls(session, much.user_id, filters, now=now)) < FEW_PAGES
    assert pages_of(lambda session: affected_paths(session, much.user_id, filters, now=now)) < FEW_PAGES


def test_what_sums_up_a_space_elsewhere_is_found_without_a_look_for_each_of_its_memories(much, second_space, pages_of):
    much.write("The hives are full", space=second_space, type="summary", source_ids=("log-7",))

    def look(session):
        space = get_space(session, much.user_id, "default")
        contents_of(session, much.user_id, space, keys=much.runtime.keys, now=utc_now())

    assert pages_of(look) < MANY


@pytest.fixture
def plans_of(owner, much):
    """What the planner may do for each statement of an action, however little there is to be counted."""
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # An index alone tells of what everybody sees.
        connection.execute(text("VACUUM ANALYZE memories"))

    def _plans_of(action):
        asked, note = [], lambda _connection, _cursor, *statement: asked.append(statement[:2])
        with much.session() as session:
            event.listen(session.get_bind(), "before_cursor_execute", note)
            action(session, much.user_id)
            event.remove(session.get_bind(), "before_cursor_execute", note)
            for other in ("seqscan", "bitmapscan"):
                session.execute(text(f"SET LOCAL enable_{other} = off"))
            explain = session.connection().exec_driver_sql
            return ["\n".join(explain(f"EXPLAIN {statement}", values).scalars()) for statement, values in asked]

    return _plans_of


def test_few_calls_are_found_without_reading_the_others(plans_of):
    now = utc_now()
    asked = ((list_calls, CallFilters(success=False), "failed"), (affected_paths, CallFilters(), "with_paths"))
    for ask, filters, index in asked:
        plans = plans_of(lambda session, user_id, ask=ask, filters=filters: ask(session, user_id, filters, now=now))
        assert f"ix_tool_calls_{index}" in "\n".join(plans)


def test_themes_are_counted_without_reading_their_memories(plans_of):
    (plan,) = plans_of(list_themes)
    assert "Index Only Scan using ix_memories_theme" in plan


def test_the_kinds_in_a_space_are_counted_without_reading_its_memories(plans_of):
    plans = plans_of(lambda session, user_id: summarise(session, get_space(session, user_id, "default"), now=utc_now()))
    assert sum("Index Only Scan using ix_memories_order" in plan for plan in plans) == 1
    # Once for tags and weights; besides, those few that are shown are looked up.
    assert len([plan for plan in plans if "on memories" in plan]) == 3


def test_what_is_in_a_space_is_told_without_reading_its_memories(much, second_space, plans_of):
    def look(session, user_id):
        space = get_space(session, user_id, second_space)
        contents_of(session, user_id, space, keys=much.runtime.keys, now=utc_now())

    plans = "\n".join(plans_of(look))
    # What the pool has, and what both have, by their texts; the few of the space itself are found by any index.
    assert "Index Only Scan using ix_memories_order" in plans
    assert "Index Only Scan using uq_memories_text" in plans


def test_what_goes_from_a_full_space_is_chosen_without_reading_its_memories(plans_of):
    def trim(session, user_id):
        space = get_space(session, user_id, "default")
        space.soft_cap = MANY - 1
        assert len(enforce_capacity(session, space, now=utc_now(), actor="test")) == 1

    refreshed, trimmed = (plan for plan in plans_of(trim) if "last_scores" in plan)
    assert "Index Only Scan using ix_memories_order" in refreshed
    assert "Index Only Scan using ix_memories_order" in trimmed


# --- what was done since the start ---


def test_what_was_done_long_ago_is_not_counted_anew(much, pages):
    later = "SELECT advance_totals(now() + interval '1 minute')"
    # A page holds some fifty calls, and all of them are counted otherwise.
    assert pages("SELECT telemetry(now())", after=later) < pages("SELECT telemetry(now())") - MANY / 100


def test_totals_say_the_same_however_far_they_have_come(book):
    now, hour = utc_now(), timedelta(hours=1)
    with book.session() as session:

        def numbers():
            return [telemetry(session, now)[name] for name in ("tool_calls", "tool_failures", "actions")]

        before = numbers()
        for passed in range(3):
            done = {"now": now + passed * hour, "actor": "test"}
            record(session, book.user_id, "memory.pinned", **done)
            call = {"correlation_id": "-", "tool": "memory_get", "duration_ms": 1.0, "created_at": done["now"]}
            record_tool_call(session, book.user_id, success=False, **call)
        session.flush()
        after = numbers()
        assert after[:2] == [before[0] + 3, before[1] + 3]
        assert after[2]["memory.pinned"] == before[2].get("memory.pinned", 0) + 3
        for passed in (1.5, 2.5, 2.5, 1, 9):
            advance_totals(session, now + passed * hour)
            assert numbers() == after
        session.rollback()


def test_what_is_done_after_a_clock_was_ahead_is_counted(book):
    now = utc_now()
    with book.session() as session:
        advance_totals(session, now + timedelta(days=2))
        for moment in (now, now + timedelta(hours=2)):
            before = telemetry(session, moment)["tool_calls"]
            call = {"correlation_id": "-", "tool": "memory_get", "duration_ms": 1.0, "created_at": moment}
            record_tool_call(session, book.user_id, success=True, **call)
            session.flush()
            advance_totals(session, moment)
            assert telemetry(session, moment)["tool_calls"] == before + 1
        session.rollback()


def test_a_call_that_is_reported_late_is_counted_once(book):
    now = utc_now()
    with book.session() as session:
        advance_totals(session, now)
        before = telemetry(session, now)
        for hours, success in ((0, True), (0.75, True), (50, True), (50, False)):
            call = CallDraft(
                "grep", success, 1.0, created_at=now - timedelta(hours=hours), client_id=f"{hours} {success}"
            )
            for _ in range(2):
                record_calls(
                    session, book.user_id, [call], keys=book.runtime.keys, token_id=None, correlation_id="-", now=now
                )
        for _ in range(2):
            after = telemetry(session, now)
            assert after["tool_calls"] == before["tool_calls"] + 4
            assert after["tool_failures"] == before["tool_failures"] + 1
            advance_totals(session, now + timedelta(hours=3))
        session.rollback()


# --- what has expired waits for nothing ---


def unread(book, now):
    with book.session() as session:
        users = session.scalars(text("SELECT users_with_unenriched_items(:now)"), {"now": now}).all()
        return book.user_id in users, telemetry(session, now)["enrichment_backlog"]


def test_what_has_expired_does_not_wait_to_be_read(book):
    _, before = unread(book, utc_now())
    book.write("The code of the gate is 4711", expires_at=utc_now() + timedelta(minutes=5))
    assert unread(book, utc_now()) == (True, before + 1)
    assert unread(book, utc_now() + timedelta(minutes=6)) == (False, before)
