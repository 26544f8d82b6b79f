"""Migrations that change what is stored: notes of entities, vectors of long texts, words without blanks, samples."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import make_url, text

from memory.storage import schema
from memory.storage.database import from_owner_url, make_engine
from memory.texts.fingerprints import normalise, simhash64, text_digest, to_signed

USER = "01890000-0000-7000-8000-000000000001"
# One entity named by three memories, one in force, one archived, one that is to expire; and in an archived talk.
BEFORE = (
    f"INSERT INTO users (id, email, display_name, password_hash, created_at)"
    f" VALUES ('{USER}', 'a@b.c', 'Ada', '-', now())",
    f"INSERT INTO spaces (user_id, id, slug, name, soft_cap, created_at, updated_at)"
    f" VALUES ('{USER}', '{USER}', 'trip', 'Trip', 9, now(), now())",
    f"INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, status,"
    f" expires_at, created_at, updated_at)"
    f" SELECT '{USER}', uuidv7(), '{USER}', 'note', 'user', word || ' Ann', word::bytea, 0, 0, status, expiry, now(),"
    f" now() FROM (VALUES ('dancing', 'active', null), ('singing', 'archived', null),"
    f" ('rowing', 'active', now() + interval '1 day')) AS v(word, status, expiry)",
    f"INSERT INTO entities (user_id, id, space_id, name, name_key, type, created_at, updated_at)"
    f" VALUES ('{USER}', '{USER}', '{USER}', 'Ann', 'ann', 'person', now(), now())",
    f"INSERT INTO entity_mentions (user_id, id, entity_id, memory_id, sentence, confidence, created_at)"
    f" SELECT user_id, uuidv7(), '{USER}', id, text, 1, now() FROM memories",
    f"INSERT INTO conversations (user_id, id, external_id, space_id, created_at, updated_at, archived_at)"
    f" VALUES ('{USER}', '{USER}', 'talk', '{USER}', now(), now(), now())",
    f"INSERT INTO messages (user_id, id, conversation_id, sequence, role, content, token_count, correlation_id,"
    f" created_at) VALUES ('{USER}', '{USER}', '{USER}', 1, 'user', 'Calling Ann', 2, '-', now())",
    f"INSERT INTO episodes (user_id, id, conversation_id, message_id, reply_id, text, searched, created_at)"
    f" VALUES ('{USER}', '{USER}', '{USER}', '{USER}', '{USER}', 'Calling Ann', 'Calling Ann', now())",
    f"INSERT INTO entity_mentions (user_id, id, entity_id, episode_id, sentence, confidence, created_at)"
    f" VALUES ('{USER}', uuidv7(), '{USER}', '{USER}', 'Calling Ann', 1, now())",
)


def upgraded(scratch, keys, revision, stored):
    """Bring a database to an earlier revision, store something there, and bring it to the one in force."""
    engine, databases = scratch
    schema.upgrade(engine, databases, keys, revision)
    with engine.begin() as connection:
        for statement in stored:
            connection.execute(text(statement))
    schema.upgrade(engine, databases, keys)


@pytest.fixture
def scratch(database_url, runtime):
    name = "commonplace_notes_test"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
        url = make_url(database_url).set(database=name).render_as_string(hide_password=False)
        databases = from_owner_url(url, runtime.keys)
        engine = make_engine(databases.owner, pool_size=1)
        yield engine, databases
        engine.dispose()
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE IF EXISTS {databases.app_role}")


def notes(engine):
    with engine.connect() as connection:
        return tuple(connection.execute(text("SELECT notes, mentions FROM entities")).one())


def test_the_migration_takes_out_of_notes_what_is_not_in_force(scratch, runtime):
    engine, databases = scratch
    schema.upgrade(engine, databases, runtime.keys, "0007")
    with engine.begin() as connection:
        for statement in BEFORE:
            connection.execute(text(statement))
        connection.execute(text("ANALYZE"))
    assert notes(engine) == ("dancing Ann\nsinging Ann\nrowing Ann\nCalling Ann", 4)
    assert {"memories.text", "postings.lexeme"} < sampled(engine)
    schema.upgrade(engine, databases, runtime.keys)
    assert notes(engine) == ("dancing Ann", 2)
    # Those of words go when samples are taken anew.
    assert sampled(engine) == {"postings.lexeme", "entity_postings.lexeme"}


def sampled(engine):
    """Return where the planner's samples have a word of a memory."""
    kept = """SELECT tablename || '.' || attname FROM pg_stats WHERE schemaname = 'public'
        AND concat(most_common_vals, histogram_bounds, most_common_elems) ~ 'danc|row(ing)? Ann'"""
    with engine.connect() as connection:
        return set(connection.scalars(text(kept)))


MODEL = (
    f"INSERT INTO embedding_models (user_id, id, provider_type, model, dimensions, state, created_at)"
    f" VALUES ('{USER}', '{USER}', 'local', 'tiny', 3, 'active', now())",
    f"INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, status,"
    f" needs_embedding, created_at, updated_at)"
    f" SELECT '{USER}', uuidv7(), '{USER}', 'note', 'user', repeat('word ', n), n::text::bytea, 0, 0, 'active', false,"
    f" now(), now() FROM (VALUES (120), (121)) AS v(n)",
    f"INSERT INTO embeddings (user_id, memory_id, model_id, space_id, vector, state, version, attempts, due_at,"
    f" created_at, updated_at) SELECT '{USER}', id, '{USER}', '{USER}', '[1,2,3]', 'ready', version, 3,"
    f" 'infinity', now(), now() FROM memories",
)


def test_the_migration_lets_long_texts_wait_for_their_passages(scratch, runtime):
    engine, databases = scratch
    schema.upgrade(engine, databases, runtime.keys, "0011")
    with engine.begin() as connection:
        for statement in (*BEFORE[:2], *MODEL):
            connection.execute(text(statement))
    schema.upgrade(engine, databases, runtime.keys)
    states = """SELECT octet_length(m.text), m.needs_embedding, e.state, e.vector IS NULL, e.attempts, e.due_at <= now()
        FROM memories m JOIN embeddings e ON e.memory_id = m.id ORDER BY m.id"""
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(text(states))]
    assert found == [(600, False, "ready", False, 3, False), (605, True, "pending", True, 0, True)]


def test_the_migration_writes_ids_of_sources_in_one_case(scratch, runtime):
    named = ["01890ABC-0000-7000-8000-00000000000F", "Mail-7", "01890abc-0000-7000-8000-00000000000e"]
    stored = (*BEFORE[:3], f"UPDATE memories SET source_ids = ARRAY{named}")
    upgraded(scratch, runtime.keys, "0047", stored)
    with scratch[0].connect() as connection:
        kept = connection.scalars(text("SELECT DISTINCT source_ids FROM memories")).all()
    assert kept == [[named[0].lower(), "Mail-7", named[2]]]


SAID_AGAIN = (
    "INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, status,"
    f" repeat_count, created_at, updated_at) SELECT '{USER}', uuidv7(), '{USER}', 'note', 'user', said,"
    " convert_to(said, 'UTF8'), 0, 0, 'active', repeats, now(), now()"
    " FROM (VALUES ('Ada keeps bees', 3), ('Ada has a hive', 0)) AS v(said, repeats)",
    "INSERT INTO tool_calls (user_id, id, tool, operation, origin, arguments, affected_ids, success, correlation_id,"
    " created_at) SELECT user_id, uuidv7(), tool, operation, 'server', arguments::jsonb, ARRAY[id], true, '', now()"
    " FROM memories, (VALUES"
    """ ('memory_add', 'create', '{"content": "Ada keeps bees"}'),"""
    """ ('memory_add', 'create', '{"content": "ADA keeps bees too"}'),"""
    """ ('memory_add', 'create', '{"content": "Ada keeps  bees too"}'),"""
    """ ('command', 'create', '{"text": "what an earlier version took for an order"}'),"""
    """ ('command', 'create', '{"text": "Please remember that Ada keeps her bees."}'),"""
    """ ('command', 'update', '{"text": "pin that"}')) AS v(tool, operation, arguments)""",
)


def test_the_migration_keeps_in_which_other_words_calls_said_a_memory(scratch, runtime):
    engine, databases = scratch
    schema.upgrade(engine, databases, runtime.keys, "0034")
    with engine.begin() as connection:
        for statement in (*BEFORE[:2], *SAID_AGAIN):
            connection.exec_driver_sql(statement)
    schema.upgrade(engine, databases, runtime.keys)
    kept = """SELECT m.text, regexp_replace(lower(w.text), ' +', ' ', 'g'), w.text_digest
        FROM wordings w JOIN memories m ON m.id = w.memory_id ORDER BY 2"""
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(text(kept))]
    # Under the digest that it has when it is said again: an export that had it twice could not be brought in.
    said = ("ada keeps bees too", "ada keeps her bees")
    assert found == [("Ada keeps bees", each, text_digest(each)) for each in said]


UNSPACED = (
    f"INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, status, tags,"
    f" created_at, updated_at)"
    f" SELECT '{USER}', uuidv7(), '{USER}', 'note', 'user', said, convert_to(said, 'UTF8'), 0, 0, status, tags, now(),"
    f" now() FROM (VALUES ('猫がいる', 'active', ARRAY['旅行']), ('犬がいる', 'archived', '{{}}'),"
    f" ('cats and dogs', 'active', '{{}}')) AS v(said, status, tags)",
    f"INSERT INTO entities (user_id, id, space_id, name, name_key, type, created_at, updated_at)"
    f" VALUES ('{USER}', '{USER}', '{USER}', '田中', '田中', 'person', now(), now())",
    f"INSERT INTO conversations (user_id, id, space_id, external_id, title, created_at, updated_at)"
    f" VALUES ('{USER}', '{USER}', '{USER}', 'talk', '-', now(), now())",
    f"INSERT INTO messages (user_id, id, conversation_id, sequence, role, content, token_count, correlation_id,"
    f" created_at) VALUES ('{USER}', '{USER}', '{USER}', 1, 'user', '東京へ', 1, '', now())",
    f"INSERT INTO episodes (user_id, id, conversation_id, message_id, reply_id, text, searched, created_at)"
    f" VALUES ('{USER}', '{USER}', '{USER}', '{USER}', '{USER}', '東京へ', '東京へ', now())",
)
_LISTED = """SELECT array_agg(lexeme || ' ' || tf || ' of ' || length ORDER BY lexeme COLLATE "C") FROM"""
INDEXED = f"""
    {_LISTED} postings UNION ALL {_LISTED} episode_postings UNION ALL {_LISTED} entity_postings
    UNION ALL SELECT ARRAY[(SELECT documents FROM spaces), (SELECT tokens FROM spaces),
                           (SELECT tokens_indexed FROM conversations)]::text[]
"""


def indexed(engine):
    with engine.connect() as connection:
        return connection.scalars(text(INDEXED)).all()


def test_the_migration_puts_words_of_scripts_without_blanks_into_every_index_and_takes_them_out(scratch, runtime):
    engine, databases = scratch
    schema.upgrade(engine, databases, runtime.keys, "0018")

    with engine.begin() as connection:
        for statement in (*BEFORE[:2], *UNSPACED):
            connection.execute(text(statement))
    before = indexed(engine)
    assert [each.split()[0] for each in before[0]] == ["cat", "dog", "旅行", "猫がいる"]
    schema.upgrade(engine, databases, runtime.keys)
    memories, episodes, entities, counted = indexed(engine)
    words = ["がい", "いる", "旅", "旅行", "猫", "猫が", "行"]
    assert memories == ["cat 1 of 2", "dog 1 of 2", *(f"{each} 1 of 7" for each in sorted(words))]
    assert episodes == [f"{each} 1 of 4" for each in sorted(["東", "東京", "京", "京へ"])]
    assert entities == ["person 1 of 4", *(f"{each} 1 of 4" for each in sorted(["田", "田中", "中"]))]
    assert counted == ["2", "9", "4"]
    schema.downgrade(engine, databases, "0018")
    assert indexed(engine) == before


# With what is cut where it is longer than the parser reads at once.
LONG_RUN = "x" * 300
APART = tuple(
    statement.replace("猫がいる", "ﾈｺ, cafe\u0301")
    .replace("田中", "A\u030asa")
    .replace("東京へ", f"\uff21\uff22 {LONG_RUN}_y")
    .replace("旅行", "nai\u0308ve")
    for statement in UNSPACED
)


def test_the_migration_puts_words_in_one_form_into_every_index_and_takes_them_out(scratch, runtime):
    engine, databases = scratch
    schema.upgrade(engine, databases, runtime.keys, "0020")

    with engine.begin() as connection:
        for statement in (*BEFORE[:2], *APART):
            connection.execute(text(statement))
    before = indexed(engine)
    schema.upgrade(engine, databases, runtime.keys)
    memories, episodes, entities, counted = indexed(engine)
    assert memories == ["café 1 of 3", "cat 1 of 2", "dog 1 of 2", "naïv 1 of 3", "ネコ 1 of 3"]
    assert episodes == [f"{each} 1 of 4" for each in ("ab", LONG_RUN[255:], LONG_RUN[:255], "y")]
    assert entities == ["person 1 of 2", "åsa 1 of 2"]
    assert counted == ["2", "5", "4"]
    schema.downgrade(engine, databases, "0020")
    assert indexed(engine) == before


# As some keyboards and file systems write them, in letters that are two to Unicode, or one of two.
BESIDE = (
    "\u0432\u0441\u0435\u0308",
    "\u0395\u0301\u03bd\u03b1\u03c2",
    "\u0932\u095c\u0915\u093e",
    "\ufb2a\u05d5\u05e8",
    "I\u0307zmir",
    "مُحَمَّد",
    "4\u0665",
    "plain 旅行",
)
WRITTEN_BEFORE = (
    *BEFORE[:2],
    *(
        f"INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance,"
        f" created_at, updated_at) VALUES ('{USER}', uuidv7(), '{USER}', 'note', 'user', '{said}',"
        f" '{number}'::bytea, 0, 0, now(), now())"
        for number, said in enumerate(BESIDE)
    ),
)


def test_the_migration_indexes_all_anew_that_the_index_writes_otherwise_now(scratch, runtime):
    engine, _ = scratch
    upgraded(scratch, runtime.keys, "0044", WRITTEN_BEFORE)
    with engine.connect() as connection:
        left = connection.scalars(text("SELECT text FROM memories WHERE tsv <> to_tsvector('english', in_words(text))"))
        assert left.all() == []
        known = set(connection.scalars(text("SELECT lexeme FROM postings")))
        hashes = connection.execute(text("SELECT text, simhash FROM memories WHERE text !~ '旅'")).all()
    assert [said for said, simhash in hashes if simhash != to_signed(simhash64(normalise(said)))] == []
    assert known >= {"все", "\u03b5\u03bd\u03b1\u03c3", "\u0932\u0921\u0915\u093e", "שור", "izmir", "محمد", "45"}


OTHER = "01890000-0000-7000-8000-000000000002"
WROTE = (
    BEFORE[0],
    f"INSERT INTO users (id, email, display_name, password_hash, created_at)"
    f" VALUES ('{OTHER}', 'd@e.f', 'Bob', '-', now())",
    BEFORE[1],
    *(
        f"INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, created_at,"
        f" updated_at) VALUES ('{USER}', md5('{word}')::uuid, '{USER}', 'note', 'user', '{word}', '{word}', 0, 0,"
        f" now(), now())"
        for word in ("one", "two", "three", "browser", "foreign", "served", "gone", "alike", "merged")
    ),
    f"INSERT INTO forgotten VALUES ('{USER}', md5('forgotten')::uuid, '{{}}', now())",
    *(
        f"INSERT INTO tokens (user_id, id, name, prefix, hash, scopes, created_at)"
        f" VALUES ('{user}', md5('{prefix}{number}')::uuid, 'n', '{prefix}', '{prefix}{number}', '{{{scope}}}', now())"
        for number, (user, prefix, scope) in enumerate(
            (
                (USER, "cp_mine", "write"),
                (OTHER, "cp_theirs", "write"),
                (OTHER, "cp_serves", "service"),
                (USER, "cp_alike", "write"),
                (USER, "cp_alike", "write"),
            )
        )
    ),
    f"INSERT INTO audit_events (user_id, id, action, actor, subject_id, details, created_at) VALUES ('{USER}',"
    " uuidv7(), 'token.created', 'user', md5('cp_gone5')::uuid, '{\"prefix\": \"cp_gone\"}', now())",
    *(
        f"INSERT INTO audit_events (user_id, id, action, actor, subject_id, count, details, created_at) VALUES"
        f" ('{USER}', uuidv7(), 'memory.{action}', '{actor}', {subject}, 1, {details}, now())"
        for action, actor, subject, details in (
            ("created", "token:cp_mine", "md5('one')::uuid", "'{}'"),
            (
                "created",
                "token:cp_mine",
                "null",
                "jsonb_build_object('ids', jsonb_build_array(md5('two')::uuid, md5('three')::uuid))",
            ),
            ("created", "token:cp_mine", "md5('forgotten')::uuid", "'{}'"),
            ("created", "user", "md5('browser')::uuid", "'{}'"),
            ("created", "token:cp_theirs", "md5('foreign')::uuid", "'{}'"),
            ("created", "token:cp_serves", "md5('served')::uuid", "'{}'"),
            ("created", "token:cp_gone", "md5('gone')::uuid", "'{}'"),
            ("created", "token:cp_alike", "md5('alike')::uuid", "'{}'"),
            ("merged", "token:cp_mine", "md5('merged')::uuid", "'{}'"),
        )
    ),
)


def test_the_migration_finds_in_the_record_which_token_wrote_what(scratch, runtime):
    engine, databases = scratch
    upgraded(scratch, runtime.keys, "0041", WROTE)
    known = """SELECT m.text, w.name FROM memories m LEFT JOIN (
            SELECT md5(name)::uuid AS id, name FROM unnest(ARRAY['cp_mine0', 'cp_serves2', 'cp_gone5']) AS name
        ) w ON w.id = m.token_id WHERE m.token_id IS NOT NULL ORDER BY m.text"""
    row = "SELECT row->>'token_id' = md5('cp_mine0')::uuid::text FROM forgotten"
    with engine.connect() as connection:
        assert [tuple(each) for each in connection.execute(text(known))] == [
            ("gone", "cp_gone5"),
            ("one", "cp_mine0"),
            ("served", "cp_serves2"),
            ("three", "cp_mine0"),
            ("two", "cp_mine0"),
        ]
        assert connection.scalar(text(row))
    schema.downgrade(engine, databases, "0041")
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT row::text FROM forgotten")) == "{}"
