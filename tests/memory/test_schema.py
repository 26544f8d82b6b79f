"""What the database itself guarantees, whatever the code above it forgets."""

from __future__ import annotations

import json

import psycopg
import pytest
from alembic.script import ScriptDirectory
from psycopg.conninfo import conninfo_to_dict
from secrets_of_tests import SECRET
from sqlalchemy import make_url, text
from sqlalchemy.exc import ProgrammingError

from memory.errors import SchemaError
from memory.models import Base
from memory.record.tool_calls import CHOSEN_BY
from memory.storage import schema
from memory.storage.database import from_owner_url, make_engine
from memory.storage.schema_revision import MIGRATIONS, current_revision, head_revision

OWNED = sorted(table.name for table in Base.metadata.sorted_tables if "user_id" in table.columns)


@pytest.fixture
def catalog(owner):
    with owner.connect() as connection:
        yield lambda statement, **values: connection.scalars(text(statement), values).all()


@pytest.fixture
def role(runtime):
    return runtime.databases.app_role


def test_every_table_with_a_user_has_row_level_security_and_a_policy(catalog):
    bare = catalog("""
        SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'm', 'v') AND NOT a.attisdropped
          AND (a.attname = 'user_id' OR c.relname = 'users')
          AND NOT (c.relrowsecurity AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid))
    """)
    assert bare == []


def test_every_policy_checks_reads_and_writes_for_everyone(catalog):
    assert set(catalog("SELECT qual = with_check AND cmd = 'ALL' AND roles = '{public}' FROM pg_policies")) == {True}


def test_the_application_can_bypass_nothing(catalog, role):
    assert catalog(
        "SELECT rolsuper OR rolbypassrls OR rolcreaterole FROM pg_roles WHERE rolname = :role", role=role
    ) == [False]


def test_the_application_owns_no_table(catalog, role):
    owned = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'S') AND pg_get_userbyid(relowner) = :role"
    assert catalog(owned, role=role) == []


def test_keys_of_owned_tables_start_with_the_user(catalog):
    others = catalog(
        """
        SELECT con.conname FROM pg_constraint con JOIN pg_class c ON c.oid = con.conrelid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = con.conkey[1]
        WHERE con.contype IN ('p', 'f', 'u') AND c.relname = ANY(:owned) AND a.attname <> 'user_id'
    """,
        owned=OWNED,
    )
    assert others == []


DEFINERS = "SELECT proname FROM pg_proc p WHERE pronamespace = 'public'::regnamespace AND prosecdef AND "
PINNED = "coalesce(array_to_string(proconfig, ',') LIKE 'search_path=%pg_temp', false)"


def test_functions_that_look_across_users_pin_their_search_path(catalog):
    assert catalog(DEFINERS + "NOT " + PINNED) == []


def test_functions_that_look_across_users_are_closed_to_the_public(catalog):
    assert catalog(DEFINERS + "has_function_privilege('public', p.oid, 'EXECUTE')") == []


def test_calls_that_name_an_id_are_told_without_what_they_asked_and_answered(catalog):
    (told,) = catalog("SELECT pg_get_function_result('calls_naming(uuid)'::regprocedure)")
    columns = told.removeprefix("TABLE(").removesuffix(")").split(", ")
    assert [each.split()[0] for each in columns] == list(CHOSEN_BY)
    assert not {"arguments", "result", "error", "affected_ids"} & set(CHOSEN_BY)


def test_calls_that_name_an_id_are_in_their_index_at_once(catalog):
    assert catalog("SELECT reloptions FROM pg_class WHERE relname = 'ix_tool_calls_affected'") == [["fastupdate=off"]]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_events SET action = 'nothing'",
        "DELETE FROM audit_events",
        "DELETE FROM tool_calls",
        "UPDATE tool_calls SET tool = 'nothing'",
        "INSERT INTO audit_links SELECT user_id, sequence + 1000, event_id, hash FROM audit_links",
        "UPDATE audit_links SET hash = ''",
        "DELETE FROM audit_links",
        "INSERT INTO users SELECT * FROM users",
        "DELETE FROM users",
        "UPDATE users SET role = 'admin'",
        "UPDATE alembic_version SET version_num = '0'",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
    ],
)
def test_the_application_may_not(book, statement):
    with pytest.raises(ProgrammingError, match=r"denied|must be owner"), book.session() as session:
        session.execute(text(statement))


@pytest.fixture(scope="module")
def bobs_rows(runtime, new_person, owner):
    """A row of Bob's in every owned table."""
    bob = new_person("bob")
    with owner.begin() as connection:
        for statement in (
            "UPDATE spaces SET name = 'of bob' WHERE user_id = :u",
            "INSERT INTO themes (user_id, id, slug, display_name, created_at, updated_at)"
            " VALUES (:u, uuidv7(), 't', 'T', now(), now())",
            "INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance,"
            " created_at, updated_at)"
            " SELECT user_id, id, id, 'note', 'user', 'of bob', 'x', 7, 0.5, now(), now()"
            " FROM spaces WHERE user_id = :u",
            "INSERT INTO embedding_models (user_id, id, provider_type, model, state, created_at)"
            " VALUES (:u, uuidv7(), 'local', 'm', 'active', now())",
            "INSERT INTO embeddings (user_id, memory_id, model_id, space_id, version, due_at, created_at, updated_at)"
            " SELECT m.user_id, m.id, e.id, m.space_id, 1, 'infinity', now(), now()"
            " FROM memories m JOIN embedding_models e USING (user_id) WHERE m.user_id = :u",
            "INSERT INTO last_scores SELECT user_id, id, 0, 0, 0, 0, now() FROM memories WHERE user_id = :u",
            "INSERT INTO possible_updates SELECT user_id, id, id, 'number', now() FROM memories WHERE user_id = :u",
            "INSERT INTO tombstones SELECT user_id, uuidv7(), space_id, id, 'x', 'x', 7, now(), 'infinity'"
            " FROM memories WHERE user_id = :u",
            "INSERT INTO forgotten VALUES (:u, uuidv7(), '{}', 'infinity')",
            "INSERT INTO incognito_sessions (user_id, session_key, started_at) VALUES (:u, 'k', now())",
            "INSERT INTO tool_calls (user_id, id, correlation_id, tool, duration_ms, success, created_at)"
            " VALUES (:u, uuidv7(), '', 'memory_add', 1, true, now())",
            "INSERT INTO provider_settings (user_id, provider_type, endpoint_url, model, updated_at)"
            " VALUES (:u, 'openai', 'http://localhost', 'm', now())",
            "INSERT INTO cached_embeddings VALUES (:u, 'm', 'x', '[1,0]', 'infinity')",
            "INSERT INTO preferences (user_id, version, document, source, created_at) VALUES (:u, 1, '', 'api', now())",
            "INSERT INTO conversations (user_id, id, external_id, space_id, created_at, updated_at)"
            " SELECT :u, id, 'c', id, now(), now() FROM spaces WHERE user_id = :u",
            "INSERT INTO session_states SELECT user_id, id, '{}', 'infinity' FROM conversations WHERE user_id = :u",
            "INSERT INTO messages (user_id, id, conversation_id, sequence, role, content, token_count, correlation_id,"
            " created_at) SELECT user_id, uuidv7(), id, n, 'user', 'of bob', 2, '', now()"
            " FROM conversations, generate_series(1, 2) n WHERE user_id = :u",
            "INSERT INTO episodes (user_id, id, conversation_id, message_id, reply_id, text, searched, created_at)"
            " SELECT user_id, id, conversation_id, id, id, 'of bob', 'of bob', now()"
            " FROM messages WHERE user_id = :u AND sequence = 1",
            "INSERT INTO entities (user_id, id, space_id, name, name_key, type, created_at, updated_at)"
            " SELECT user_id, id, id, 'Bob', 'bob', 'PERSON', now(), now() FROM spaces WHERE user_id = :u",
            "INSERT INTO entity_mentions (user_id, id, entity_id, episode_id, sentence, confidence, created_at)"
            " SELECT n.user_id, uuidv7(), n.id, e.id, 'Bob is here.', 1, now()"
            " FROM entities n JOIN episodes e USING (user_id) WHERE n.user_id = :u",
            "INSERT INTO facts (user_id, id, space_id, subject, subject_key, predicate, predicate_key, object,"
            " object_key, confidence, valid_from, created_at) SELECT user_id, id, id, 'Bob', 'bob', 'is', 'is', 'here',"
            " 'here', 1, now(), now() FROM spaces WHERE user_id = :u",
            "INSERT INTO notebooks (user_id, id, title, created_at, updated_at)"
            " VALUES (:u, uuidv7(), 'of bob', now(), now())",
            "INSERT INTO cells (user_id, id, notebook_id, place, kind, created_at, updated_at)"
            " SELECT user_id, uuidv7(), id, 0, 'note', now(), now() FROM notebooks WHERE user_id = :u",
            "INSERT INTO recall_marks SELECT user_id, id, 'x', 'of bob', now() FROM memories WHERE user_id = :u",
            "INSERT INTO revisions (user_id, memory_id, number, text, type, importance, actor, replaced_at)"
            " SELECT user_id, id, 1, 'was of bob', 'note', 0.5, 'user', now() FROM memories WHERE user_id = :u",
            "INSERT INTO wordings SELECT user_id, id, 'x', 'of bob too', now() FROM memories WHERE user_id = :u",
            *(
                f"INSERT INTO {kind}_embeddings (user_id, item_id, model_id, scope_id, version, due_at, created_at,"
                f" updated_at) SELECT i.user_id, i.id, m.id, i.id, 1, 'infinity', now(), now()"
                f" FROM {items} i JOIN embedding_models m USING (user_id) WHERE i.user_id = :u"
                for kind, items in (("episode", "episodes"), ("entity", "entities"))
            ),
            "INSERT INTO spaces (user_id, id, slug, name, soft_cap, policy, created_at, updated_at)"
            " VALUES (:u, uuidv7(), 'club', 'Club', 9, '{}', now(), now())",
            "INSERT INTO shares SELECT s.user_id, s.id, 'of bob', o.id, now()"
            " FROM spaces s JOIN spaces o ON s.slug = 'default' AND o.slug = 'club' AND o.user_id = s.user_id"
            " WHERE s.user_id = :u",
        ):
            connection.execute(text(statement), {"u": bob.id})
    yield bob
    with owner.begin() as connection:
        connection.execute(text("DELETE FROM users WHERE id = :u"), {"u": bob.id})


def dump(owner, table, user_id):
    with owner.connect() as connection:
        return connection.execute(text(f"SELECT t::text FROM {table} t WHERE user_id = :u"), {"u": user_id}).all()


@pytest.mark.parametrize("table", OWNED)
def test_a_forgotten_where_reads_nothing_of_anyone_else(book, bobs_rows, owner, table):
    assert dump(owner, table, bobs_rows.id)
    assert set(book.all(f"SELECT user_id FROM {table}")) <= {book.user_id}


@pytest.mark.parametrize(
    "table", [table for table in OWNED if table not in {"audit_events", "audit_links", "tool_calls"}]
)
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET user_id = user_id"])
def test_a_forgotten_where_changes_nothing_of_anyone_else(book, bobs_rows, owner, table, statement):
    before = dump(owner, table, bobs_rows.id)
    with book.session() as session:
        session.execute(text(statement.format(table)))
        session.rollback()
    assert dump(owner, table, bobs_rows.id) == before


@pytest.mark.parametrize("table", OWNED)
def test_nobody_writes_rows_for_anyone_else(book, bobs_rows, owner, table):
    with owner.connect() as connection:
        row = connection.scalar(text(f"SELECT to_jsonb(t) FROM {table} t WHERE user_id = :u"), {"u": bobs_rows.id})
    names = ", ".join(name for name in row if name not in {"tsv", "band0", "band1", "band2", "band3"})
    insert = f"INSERT INTO {table} ({names}) SELECT {names} FROM jsonb_populate_record(NULL::{table}, :row)"
    with (
        pytest.raises(ProgrammingError, match=r"row-level security|permission denied for table audit_links"),
        book.session() as session,
    ):
        session.execute(text(insert), {"row": json.dumps(row)})


@pytest.mark.parametrize("table", [*OWNED, "users"])
def test_nothing_is_visible_before_a_user_is_named(runtime, bobs_rows, table):
    with runtime.sessions() as session:
        assert session.scalar(text(f"SELECT count(*) FROM {table}")) == 0


def test_models_and_migrations_agree(owner):
    with owner.connect() as connection:
        assert schema.differences(connection) == []


@pytest.fixture
def scratch(database_url, runtime):
    """An empty database on the same server, of a role that may what the README asks for, gone after the test."""
    name, owner = "commonplace_scratch_test", "commonplace_scratch_owner"
    url = make_url(database_url).set(database=name)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE IF EXISTS {name}_app, {owner}")
        connection.execute(f"CREATE ROLE {owner} LOGIN CREATEROLE PASSWORD '{SECRET}'")
        connection.execute(f"CREATE DATABASE {name} OWNER {owner}")
        with psycopg.connect(url.render_as_string(hide_password=False)) as enabling:
            enabling.execute("CREATE EXTENSION vector")
        owned = url.set(username=owner, password=SECRET)
        databases = from_owner_url(owned.render_as_string(hide_password=False), runtime.keys)
        engine = make_engine(databases.owner, pool_size=1)
        yield engine, databases
        engine.dispose()
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE IF EXISTS {databases.app_role}, {owner}")


def rights_of(engine, role):
    """Return which functions the application may use, and how it may use each table."""
    functions = """SELECT p.oid::regprocedure || CASE WHEN has_function_privilege(:role, p.oid, 'EXECUTE')
            THEN ' yes' ELSE ' no' END
        FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace ORDER BY 1"""
    tables = """SELECT t.relname || ' ' || r.name || ' ' || has_table_privilege(:role, t.oid, r.name)
        FROM pg_class t, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS r(name)
        WHERE t.relnamespace = 'public'::regnamespace AND t.relkind = 'r' ORDER BY 1"""
    with engine.connect() as connection:
        return [each for query in (functions, tables) for each in connection.scalars(text(query), {"role": role})]


def test_migrations_go_down_to_nothing_and_up_again(scratch, runtime, caplog):
    engine, databases = scratch
    schema.upgrade(engine, databases, runtime.keys, "0002")
    first = rights_of(engine, databases.app_role)
    assert (bool(first), caplog.messages) == (True, [])
    schema.upgrade(engine, databases, runtime.keys)
    schema.upgrade(engine, databases, runtime.keys)
    assert caplog.messages == [schema.GOES_ON % ("0002", head_revision())]
    for revision in ("0016", "0011", "0002"):
        schema.downgrade(engine, databases, revision)
        assert not [each for each in rights_of(engine, databases.app_role) if each.endswith(" no")]
    assert rights_of(engine, databases.app_role) == first
    schema.downgrade(engine, databases)
    left = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')"
    with engine.connect() as connection:
        assert connection.scalars(text(left)).all() == ["alembic_version"]
    schema.upgrade(engine, databases, runtime.keys)
    with engine.connect() as connection:
        assert (current_revision(connection), schema.differences(connection)) == (head_revision(), [])
    # As two of them had left it before they were amended.
    whole = rights_of(engine, databases.app_role)
    schema.downgrade(engine, databases, "0023")
    with engine.begin() as connection:
        connection.execute(text("DROP FUNCTION users_with_building_models()"))
        connection.execute(text("DROP FUNCTION calls_on(text, integer)"))
        connection.execute(text("DROP INDEX ix_tool_calls_paths"))
        connection.execute(text("DROP FUNCTION with_folders(text[])"))
        for table in ("embeddings", "episode_embeddings", "entity_embeddings"):
            connection.execute(text(f"DROP INDEX ix_{table}_due"))
            for name, columns in (("due", "user_id, due_at"), ("due_any", "due_at")):
                index = f"CREATE INDEX ix_{table}_{name} ON {table} ({columns}) WHERE state = 'pending'"
                connection.execute(text(index))
    schema.upgrade(engine, databases, runtime.keys)
    with engine.connect() as connection:
        assert (schema.differences(connection), rights_of(engine, databases.app_role)) == ([], whole)


def test_a_migration_waits_for_a_lock_of_another_program_for_a_while_and_says_so(scratch, runtime, monkeypatch):
    engine, databases = scratch
    schema.upgrade(engine, databases, runtime.keys, "0041")
    monkeypatch.setattr(schema, "LONGEST_WAIT", 0.2)
    # Without a limit of its own the migration would wait until this session is ended.
    with engine.connect() as left_open:
        left_open.execute(text("SELECT count(*) FROM memories"))
        left_open.execute(text("SET LOCAL idle_in_transaction_session_timeout = '5s'"))
        with pytest.raises(SchemaError, match=r"^another program has held .+ Nothing was changed$"):
            schema.upgrade(engine, databases, runtime.keys)
    with engine.connect() as connection:
        assert current_revision(connection) == "0041"
    schema.upgrade(engine, databases, runtime.keys)
    with engine.connect() as connection:
        assert current_revision(connection) == head_revision()


def test_addresses_are_written_as_the_driver_reads_them(runtime):
    owner = "postgresql://o%20w:p%20%2B%2F%40%3A%25+@/my%20notes%3F?host=/a%20b%2Bc"
    databases = from_owner_url(owner, runtime.keys)
    place = {"host": "/a b+c", "dbname": "my notes?"}
    assert conninfo_to_dict(databases.owner) == {**place, "user": "o w", "password": "p +/@:%+"}
    app = {**place, "user": "my notes?_app", "password": runtime.keys.password("my notes?_app")}
    assert conninfo_to_dict(databases.app) == app


def test_migrating_again_takes_from_the_application_what_it_was_given(runtime, owner, catalog, role):
    with owner.begin() as connection:
        connection.execute(text(f"ALTER ROLE {role} CREATEDB CREATEROLE BYPASSRLS"))
    schema.upgrade(owner, runtime.databases, runtime.keys)
    given = "SELECT rolcreatedb OR rolcreaterole OR rolbypassrls FROM pg_roles WHERE rolname = :role"
    assert catalog(given, role=role) == [False]


def test_migrating_what_was_restored_lets_nobody_else_past_the_policies(scratch, runtime):
    """Rights that name a role which is not there are not restored, nor what they take from everybody."""
    engine, databases = scratch
    schema.upgrade(engine, databases, runtime.keys)
    whole = rights_of(engine, databases.app_role)
    open_to_all = text("""SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
        AND p.prosecdef AND has_function_privilege('public', p.oid, 'EXECUTE')""")
    with engine.begin() as connection:
        connection.execute(text("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC"))
        assert {"find_login", "all_users"} < set(connection.scalars(open_to_all))
    schema.upgrade(engine, databases, runtime.keys)
    with engine.connect() as connection:
        assert connection.scalars(open_to_all).all() == []
    assert rights_of(engine, databases.app_role) == whole


def test_migrating_twice_changes_nothing(runtime, owner):
    schema.upgrade(owner, runtime.databases, runtime.keys)
    with owner.connect() as connection:
        assert current_revision(connection) == head_revision()


def test_the_head_that_is_told_by_the_files_is_the_one_that_alembic_goes_to():
    assert head_revision() == ScriptDirectory(str(MIGRATIONS)).get_current_head()


def test_a_database_without_a_migration_is_at_no_revision(scratch):
    with scratch[0].connect() as connection:
        assert current_revision(connection) is None
