"""Calls on a path, or in a folder: the same ones, however many there are and however deep it lies."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import event, text

from memory.clock import utc_now
from memory.record.tool_calls import CallFilters, affected_paths, list_calls

MANY = 1500
DEEP = "/".join(str(level) for level in range(20))
CALLS = """
INSERT INTO tool_calls (user_id, id, correlation_id, tool, duration_ms, success, affected_paths, created_at)
SELECT :user_id, uuidv7(), '-', 'edit', n, true,
    ARRAY['src/all.py', '/src/' || n % 50 || '/x.py', 'a//' || n % 300] || CASE WHEN n % 400 = 0
        THEN ARRAY[:deep || '/' || n, 'Größe/' || n || '/', '/'] ELSE '{}' END,
    now() - n * interval '1 minute'
FROM generate_series(1, :many) n
"""
ON_PATH = """
SELECT duration_ms FROM tool_calls c WHERE user_id = :user_id AND EXISTS (
    SELECT FROM unnest(affected_paths) p WHERE p = :path OR (right(:path, 1) = '/' AND starts_with(p, :path)))
ORDER BY created_at DESC, id DESC
"""
PATHS = (
    'SELECT p COLLATE "C", count(*) FROM tool_calls c, unnest(affected_paths) p WHERE user_id = :user_id'
    " AND (p = :path OR (right(:path, 1) = '/' AND starts_with(p, :path))) GROUP BY 1 ORDER BY 1 LIMIT 100"
)


WANTED = [
    "src/all.py",
    "src/",
    "src",
    "/",
    "/src/",
    "/src/7/",
    "/src/7/x.py",
    "/src/7",
    "a/",
    "a//",
    "a//12",
    "a///",
    "Größe/",
    "Größe/800/",
    "größe/",
    DEEP + "/",
    DEEP + "/400",
    DEEP[:20] + "/",
    "0/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/",
    "0/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/",
    "nowhere/",
]


@pytest.fixture
def swept(owner):
    """Leave nothing of the many rows behind, which others would have to step over."""
    yield
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM tool_calls"))


def test_calls_are_found_by_any_path_and_folder(swept, book, bobs_book):
    with bobs_book.session() as session:
        session.execute(text(CALLS), {"user_id": bobs_book.user_id, "many": 10, "deep": DEEP})
    now = utc_now()
    with book.session() as session:
        session.execute(text(CALLS), {"user_id": book.user_id, "many": MANY, "deep": DEEP})
        for path in WANTED:
            asked, filters = {"user_id": book.user_id, "path": path}, CallFilters(path=path)
            expected = session.scalars(text(ON_PATH), asked).all()
            page = list_calls(session, book.user_id, filters, now=now, limit=200)
            assert [each.call.duration_ms for each in page.calls] == expected[:200]
            assert (page.next_cursor is None) == (len(expected) <= 200)
            found = affected_paths(session, book.user_id, filters, now=now, limit=100)
            counted = [tuple(row) for row in session.execute(text(PATHS), asked)]
            assert [(each.path, each.calls) for each in found] == counted
        # One that no other test has made common, of which the planner would soon expect enough on the way.
        for narrow in ({"operations": ["vanish"]}, {"token_id": book.user_id}):
            assert steps_over(session, book.user_id, CallFilters(**narrow)) == 0
        session.rollback()


def steps_over(session, user_id, filters):
    """Return how many calls were read to find nothing."""
    statements = []
    note = lambda *args: statements.append(args[2:4])  # noqa: E731 - to be taken away again
    event.listen(session.connection(), "before_cursor_execute", note)
    assert not list_calls(session, user_id, filters, now=utc_now()).calls
    event.remove(session.connection(), "before_cursor_execute", note)
    asked, values = next(each for each in statements if "FROM tool_calls" in each[0])
    (told,) = session.connection().exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {asked}", values).one()
    return sum(int(found) for found in re.findall(r"'Rows Removed by Filter': (\d+)", str(told)))
