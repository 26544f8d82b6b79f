"""A search reads what it lists, whatever the planner believes of users and their spaces."""

from __future__ import annotations

import re

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector
from sqlalchemy import text

from evals.corpus import WordModel
from evals.stock import model_of, stock
from memory.database import user_session
from memory.embedding.backfill import utc_now
from memory.shelves import MEMORIES
from retrieval.statements import pool_statement

USERS, EACH = 6, 150
LISTED = 20


@pytest.fixture(scope="module")
def crowd(runtime, new_person, database_url):
    """Some users with as many memories each, of whom the first one asks."""
    words, chance = WordModel(seed=3), np.random.default_rng(3)
    vectors = chance.standard_normal((EACH, 384)).astype(np.float32)
    persons = [new_person("ada", soft_cap=EACH) for _ in range(USERS)]
    spaces = [
        stock(runtime, each.id, words.texts(EACH), now=utc_now(), vectors=vectors, settled=False) for each in persons
    ]
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("ANALYZE memories, embeddings, postings")
    return persons[0].id, spaces[0]


def scans(node):
    """Give each reading of a table: which, and how many rows of it were looked at."""
    if table := node.get("Relation Name"):
        removed = sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
        yield table, (node["Actual Rows"] + removed) * node["Actual Loops"]
    for child in node.get("Plans", ()):
        yield from scans(child)


def test_what_is_listed_is_looked_up_by_its_key_and_its_words(runtime, crowd):
    user_id, space_id = crowd
    with user_session(runtime.sessions, user_id) as session:
        newest = "SELECT id FROM memories WHERE space_id = :space ORDER BY id DESC LIMIT :listed"
        listed = list(session.execute(text(newest), {"space": space_id, "listed": LISTED}).scalars())
        often = (
            "SELECT lexeme FROM postings WHERE space_id = :space GROUP BY lexeme ORDER BY count(*) DESC, lexeme LIMIT 3"
        )
        lexemes = list(session.execute(text(often), {"space": space_id}).scalars())
        values = {
            "user_id": user_id,
            "space_id": space_id,
            "model_id": model_of(session, user_id).id,
            "now": utc_now(),
            "listed": listed,
            "best": listed[:3],
            "near": listed[:5],
            "lexemes": lexemes,
            "vector": HalfVector(np.ones(384)).to_text(),
        }
        driver = session.connection().connection.driver_connection
        names = list(values)
        places = {f"%({name}){kind}": f"${names.index(name) + 1}" for name in names for kind in "sb"}
        statement = re.sub(
            r"%\(\w+\)[sb]", lambda found: places[found[0]], pool_statement(MEMORIES, filtered=False, beside=True)
        )
        # What is asked so often is planned once, for anybody's values.
        driver.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        driver.execute(f"PREPARE pool AS {statement}")
        given = psycopg.ClientCursor(driver).mogrify(", ".join(["%s"] * len(values)), list(values.values()))
        ((plan,),) = driver.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE pool({given})").fetchall()
        driver.execute("DEALLOCATE pool")
    looked_at = {}
    for table, rows in scans(plan[0]["Plan"]):
        looked_at[table] = looked_at.get(table, 0) + rows
    assert looked_at["memories"] <= LISTED + 1
    assert looked_at["embeddings"] <= LISTED
    assert looked_at["postings"] <= LISTED * len(lexemes)
