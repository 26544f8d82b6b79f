"""A search reads what it lists, whatever the planner believes of users and their spaces."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector
from sqlalchemy import insert, text

from evals.corpus import WordModel
from evals.stock import model_of, stock
from memory.clock import utc_now
from memory.ids import new_id
from memory.models import Conversation, Episode, Message
from memory.storage.database import user_session
from memory.storage.shelves import EPISODES, MEMORIES
from retrieval.lookup.statements import keyword_statement, pool_statement, spelled_statement, wide_statement

USERS, EACH = 14, 40
LISTED = 12
WORDS = 3


@pytest.fixture(scope="module")
def space(runtime, new_person, database_url):
    """Some users have as many memories each; what a search asks of the space of one of them."""
    words, vectors = WordModel(seed=3), np.random.default_rng(3).standard_normal((EACH, 384)).astype(np.float32)
    persons = [new_person("ada", soft_cap=EACH) for _ in range(USERS)]
    spaces = [
        stock(runtime, each.id, words.texts(EACH), now=utc_now(), vectors=vectors, at_rest=False) for each in persons
    ]
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("ANALYZE memories, embeddings, postings")
    user_id, space_id = persons[0].id, spaces[0]
    with user_session(runtime.sessions, user_id) as session:
        newest = text("SELECT id FROM memories WHERE space_id = :space ORDER BY id DESC LIMIT :listed")
        listed = list(session.execute(newest, {"space": space_id, "listed": LISTED}).scalars())
        rarest = text(
            "SELECT lexeme FROM postings WHERE space_id = :s GROUP BY lexeme ORDER BY count(*), lexeme LIMIT :n"
        )
        lexemes = list(session.execute(rarest, {"s": space_id, "n": WORDS}).scalars())
        model_id = model_of(session, user_id).id
    asked = {"question": " ".join(lexemes), "lexemes": lexemes, "first": lexemes, "last": lexemes, "depth": LISTED}
    found = {"listed": listed, "best": listed[:3], "near": listed[:5], "ids": listed, "most": LISTED}
    weights = {"weights": [1] * len(lexemes)}
    numbers = {"k1": 1.2, "b": 0.75, "longest": 2.0, "long_text": 2000, "read": 2, "now": utc_now()}
    scope = {"user_id": user_id, "space_id": space_id, "model_id": model_id}
    values = {**scope, **numbers, **asked, **weights, **found, "vector": HalfVector(np.ones(384)).to_text()}
    return {**values, "spaces": {each.id: space for each, space in zip(persons, spaces, strict=True)}}


@pytest.fixture(scope="module")
def talks(runtime, space, database_url):
    """Each of these users has had as many conversations, of one turn each, in their space."""
    for user_id, space_id in space["spaces"].items():
        talks, ends, episodes = [], [], []
        for number in range(LISTED):
            own = {"user_id": user_id, "created_at": utc_now()}
            conversation_id, said, answered = new_id(), new_id(), new_id()
            talk = {**own, "id": conversation_id, "space_id": space_id, "updated_at": utc_now()}
            talks.append({**talk, "external_id": str(number), "extra": {}})
            for sequence, (end, role) in enumerate(((said, "user"), (answered, "assistant")), 1):
                turn = {**own, "id": end, "conversation_id": conversation_id, "sequence": sequence, "role": role}
                ends.append({**turn, "content": "Hello", "token_count": 1, "correlation_id": ""})
            episode = {**own, "id": new_id(), "conversation_id": conversation_id, "message_id": said}
            episodes.append({**episode, "reply_id": answered, "text": "Hello", "searched": "Hello"})
        with user_session(runtime.sessions, user_id) as session:
            for model, rows in ((Conversation, talks), (Message, ends), (Episode, episodes)):
                session.execute(insert(model), rows)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("ANALYZE conversations, episodes, episode_postings")
    with user_session(runtime.sessions, space["user_id"]) as session:
        ids = list(session.execute(text("SELECT id FROM episodes ORDER BY id")).scalars())
    return {**space, "listed": ids, "best": ids[:3], "near": ids[:5], "ids": ids, "conversation_id": None}


def rows_read(driver, statement, values):
    """Return how many rows of each table a statement looks at that is planned once, for anybody's values."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)[sb]", statement)))
    numbered = re.sub(r"%\((\w+)\)[sb]", lambda found: f"${names.index(found[1]) + 1}", statement)
    driver.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    driver.execute(f"PREPARE asked AS {numbered}")
    given = psycopg.ClientCursor(driver).mogrify(", ".join(["%s"] * len(names)), [values[name] for name in names])
    ((plan,),) = driver.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked({given})").fetchall()
    driver.execute("DEALLOCATE asked")
    read = Counter()
    nodes = [plan[0]["Plan"]]
    while nodes:
        node = nodes.pop()
        nodes += node.get("Plans", ())
        if table := node.get("Relation Name"):
            removed = sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
            read[table] += (node["Actual Rows"] + removed) * node["Actual Loops"]
    return read


@pytest.mark.parametrize(
    ("statement", "looks"),
    [
        (pool_statement(MEMORIES, filtered=False, beside=True), 1),
        (keyword_statement(MEMORIES, filtered=False), 2),
        (spelled_statement(MEMORIES, filtered=False), 1),
    ],
    ids=["pool", "keyword", "spelled"],
)
def test_what_is_listed_is_looked_up_by_its_key_and_its_words(runtime, space, statement, looks):
    with user_session(runtime.sessions, space["user_id"]) as session:
        read = rows_read(session.connection().connection.driver_connection, statement, space)
    assert sum(read.values()) > 0
    # The neighbours of the best may come with them.
    assert read["memories"] <= LISTED + 2 * len(space["best"])
    assert read["embeddings"] <= LISTED
    # Rare as they are, few memories have each of these words.
    assert read["postings"] <= looks * LISTED * WORDS


@pytest.mark.parametrize(
    "statement",
    [pool_statement(EPISODES, filtered=False, beside=False), wide_statement(EPISODES, saving=False)],
    ids=["pool", "wide"],
)
def test_a_turn_is_looked_up_once_however_many_conversations_there_are(runtime, talks, statement):
    with user_session(runtime.sessions, talks["user_id"]) as session:
        read = rows_read(session.connection().connection.driver_connection, statement, talks)
    # The table is so small that a look may read all of it.
    assert LISTED <= read["episodes"] <= LISTED * (USERS * LISTED)
