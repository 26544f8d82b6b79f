"""The queue's tables, which every first start makes where they are missing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import make_url

from tasks.app import create_queue_tables

STARTS = 6
TABLES = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'huey\\_%'"


@pytest.fixture
def scratch(database_url):
    """The URL of a database that has nothing yet."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE commonplace_queue_test")
        yield make_url(database_url).set(database="commonplace_queue_test").render_as_string(hide_password=False)
        connection.execute("DROP DATABASE commonplace_queue_test WITH (FORCE)")


def test_first_starts_at_once_make_the_tables_once(scratch, runtime):
    barrier = threading.Barrier(STARTS)

    def start():
        barrier.wait()
        create_queue_tables(scratch, runtime.databases.app_role)

    for _ in range(3):
        with ThreadPoolExecutor(STARTS) as pool:
            started = [pool.submit(start) for _ in range(STARTS)]
        assert [each.exception() for each in started] == [None] * STARTS
        with psycopg.connect(scratch) as connection:
            assert connection.execute(TABLES).fetchone() == (4,)
            connection.execute("DROP TABLE huey_kv, huey_schedule, huey_task, huey_counter")
