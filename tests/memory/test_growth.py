"""What is asked all the time costs no more where much is stored: counted in the pages that the database looks at."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.embedding.backfill import utc_now
from memory.telemetry import telemetry

MANY = 3000
# A look into an index takes three or four, and there are a few of them.
FEW_PAGES = 60
MEMORIES = """
INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, needs_embedding,
    created_at, updated_at)
SELECT s.user_id, uuidv7(), s.id, 'note', 'user', 'bees ' || n, sha256(n::text::bytea), 0, 0, false, now(), now()
FROM spaces s, generate_series(1, :many) n WHERE s.user_id = :user_id AND s.slug = 'default'
"""


@pytest.fixture
def pages(owner):
    """How many pages a statement looks at, once its tables are known to the planner."""

    def _pages(statement, **values):
        with owner.connect() as connection:
            asked = text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}")
            connection.execute(asked, values)  # What it reads of the catalogue is known from then on.
            plan = connection.execute(asked, values).scalar_one()[0]["Plan"]
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    return _pages


@pytest.fixture
def much(owner, book):
    """Ada has stored a great deal."""
    with owner.begin() as connection:
        connection.execute(text(MEMORIES), {"many": MANY, "user_id": book.user_id})
        connection.execute(text("ANALYZE memories"))
    return book


def test_who_has_texts_to_be_read_is_told_without_reading_all_that_wait(much, pages):
    assert pages("SELECT users_with_unenriched_items(now())") < FEW_PAGES


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
