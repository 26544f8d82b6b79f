"""What the database's planner keeps of what people wrote goes when that goes."""

from __future__ import annotations

from time import monotonic, sleep

import pytest
from sqlalchemy import text

from memory.clock import utc_now
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.letting_go import let_go
from memory.models import Base
from memory.storage.samples import SAMPLED, sample_anew

FOUND_BY = {
    *(f"{table}.lexeme" for table in ("postings", "episode_postings", "entity_postings")),
    *(f"memories.{column}" for column in ("tags", "source_ids")),
}
# Words of ours, ids, digests, and what an admin or a task set.
OURS = {
    *(f"audit_events.{column}" for column in ("action", "actor", "details")),
    *(
        f"embedding_models.{column}"
        for column in ("provider_type", "endpoint_url", "model", "api_key", "state", "error")
    ),
    *(f"provider_settings.{column}" for column in ("provider_type", "endpoint_url", "model", "api_key")),
    *(f"memories.{column}" for column in ("type", "role", "status")),
    *(f"messages.{column}" for column in ("role", "model", "payload_format")),
    *(f"revisions.{column}" for column in ("type", "fields", "actor")),
    *(f"tool_calls.{column}" for column in ("tool", "affected_ids", "origin", "operation", "query_hash")),
    *(f"{table}.state" for table in ("embeddings", "episode_embeddings", "entity_embeddings")),
    *(f"users.{column}" for column in ("password_hash", "role")),
    *(f"tokens.{column}" for column in ("prefix", "scopes")),
    "rate_counts.key",
    "totals.name",
    "model_failures.error",
    "alembic_version.version_num",
    "cached_embeddings.model",
    "incognito_sessions.session_key",
    "preferences.source",
    "spaces.policy",
    "cells.kind",
    "conversations.title_source",
    "possible_updates.differs_in",
}
SAMPLES = """
    SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname NOT LIKE 'huey%'
      AND a.attnum > 0 AND NOT a.attisdropped AND coalesce(a.attstattarget, -1) <> 0
      AND (t.typcategory IN ('S', 'A') OR t.typname IN ('json', 'jsonb', 'tsvector', 'halfvec'))
"""
KEPT = """
    SELECT DISTINCT tablename || '.' || attname AS kept FROM pg_stats WHERE schemaname = 'public' AND lower(concat(
        most_common_vals, histogram_bounds, most_common_elems
    )) ~ 'quillonet|vorrholm|waxbook'
    ORDER BY kept
"""


@pytest.fixture
def asked(owner):
    """Return what a statement finds for the tables' owner, in no transaction, as ANALYZE wants it for all tables."""
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield lambda statement: connection.scalars(text(statement)).all()


@pytest.fixture
def forgotten(book, owner):
    """A memory that was sampled and then forgotten, with its undo window open."""
    outcome = book.write("Quillonette keeps the beeswax in Vorrholm", tags=("waxbook",), source_ids=("waxbook-7",))
    with owner.begin() as connection:
        connection.execute(text("ANALYZE"))
    do_and_tell(book, forget, outcome.id, undo=UNDO_WINDOW)
    return outcome.id


def do_and_tell(book, action, memory_id, **named):
    """Do something, and tell at once what changed: the server collects that for a second or more else."""
    with book.session() as session:
        action(session, book.user_id, memory_id, keys=book.runtime.keys, now=utc_now(), actor="test", **named)
        session.execute(text("SELECT pg_stat_force_next_flush()"))


def test_what_people_write_is_sampled_where_rows_are_found_by_it_alone(asked):
    assert set(asked(SAMPLES)) == FOUND_BY | OURS


def test_all_that_is_sampled_is_sampled_anew():
    assert {each.partition(".")[0] for each in FOUND_BY} == set(SAMPLED) <= set(Base.metadata.tables)


def test_no_other_sample_has_a_word_of_a_memory(forgotten, asked):
    assert asked(KEPT) == ["memories.source_ids", "memories.tags", "postings.lexeme"]


@pytest.mark.parametrize("left", ["", "Bees swarm in May"])
def test_what_is_gone_for_good_is_in_no_sample(book, forgotten, owner, asked, left):
    if left:
        book.write(left, tags=("hives",), source_ids=("log-7",))
    do_and_tell(book, let_go, forgotten)
    # A table that is being vacuumed at this moment is left to the next time.
    deadline = monotonic() + 60
    while set(sample_anew(owner)) <= set(SAMPLED) and asked(KEPT) and monotonic() < deadline:
        sleep(0.1)
    assert asked(KEPT) == []


def test_what_is_gone_is_in_no_sample_where_an_emptied_table_was_looked_at_since(book, forgotten, owner, asked):
    """As autovacuum does, which takes no new samples there either."""
    with book.session() as session:
        let_go(session, book.user_id, forgotten, keys=book.runtime.keys, now=utc_now(), actor="test")
    with owner.begin() as connection:
        connection.execute(text("DELETE FROM memories"))
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    assert asked(KEPT) == ["memories.source_ids", "memories.tags", "postings.lexeme"]
    sample_anew(owner)
    assert asked(KEPT) == []
