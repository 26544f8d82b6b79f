"""The command line, run as a user would, beside a running server's database."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import uuid4

import click
import psycopg
import pytest
from chat_endpoint import chat_endpoint
from click.testing import CliRunner
from embedding_endpoint import running
from secrets_of_tests import SECRET
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

import config
from config.settings import PREFIX
from memory.accounts.accounts import authenticate, create_user
from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.keys import Keys
from memory.spaces.spaces import create_space
from memory.storage import schema
from memory.storage.database import from_owner_url, make_engine, user_session
from memory.writing.remember import remember
from tasks.store import open_store
from webapp.cli import doctor
from webapp.cli.main import Commands, main
from webapp.cli.running import warn_of_unread
from webapp.cli.wiring import ensure_migrated

pytestmark = pytest.mark.slow

# Nothing to load.
QUICK = {"COMMONPLACE_EMBEDDING_MODEL": "none"}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(command_line, runtime, home, database_url) -> Run:
    environment = {
        **os.environ,
        "COMMONPLACE_HOME": str(home),
        "DATABASE_URL": database_url,
        "COMMONPLACE_SECRET_KEY": SECRET,
        "COMMONPLACE_ENRICHMENT": "off",
    }

    def _run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return command_line([*arguments], {**environment, **more})

    return _run


def test_token_create_prints_the_token_and_nothing_else(run, ada, runtime):
    scopes = ("--scopes", "read,write", "--scopes", "forget")
    done = run("token", "create", "--email", ada.email, "--name", "cli", *scopes)
    with runtime.sessions.begin() as session:
        credential = authenticate(session, done.stdout.strip(), utc_now())
    assert (done.stdout.count("\n"), credential.user_id, credential.scopes) == (1, ada.id, {"read", "write", "forget"})


def test_token_create_takes_the_days_after_which_the_token_expires(run, ada, runtime):
    done = run("token", "create", "--email", ada.email, "--name", "cli", "--days", "30")
    with runtime.sessions.begin() as session:
        assert authenticate(session, done.stdout.strip(), utc_now() + timedelta(days=29, hours=23)) is not None
        assert authenticate(session, done.stdout.strip(), utc_now() + timedelta(days=30)) is None


def test_token_create_takes_no_days_that_have_no_end(run, ada):
    done = run("token", "create", "--email", ada.email, "--name", "cli", "--days", "0")
    assert done.returncode != 0
    assert "--days" in done.stderr


def test_user_role_makes_an_admin_and_says_so(run, ada):
    assert run("user", "role", "--email", ada.email, "--role", "admin").stdout == f"{ada.email} is now an admin.\n"
    with ada.session() as session:
        assert session.scalar(text("SELECT role FROM users")) == "admin"


def test_user_disable_keeps_a_user_out_whom_commands_still_know(run, ada):
    agent = ["token", "create", "--email", ada.email, "--name", "cli"]
    for act in ("disable", "enable"):
        said = [run("user", act, "--email", ada.email).stdout for _ in range(2)]
        assert said == [f"{ada.email} is {when} {act}d.\n" for when in ("now", "already")]
        with ada.session() as session:
            assert (session.scalar(text("SELECT disabled_at FROM users")) is not None) is (act == "disable")
        assert run(*agent).returncode == 0


def test_user_list_shows_each_account_in_a_line(run, ada):
    run("user", "disable", "--email", ada.email)
    today, nobody = f"{utc_now():%Y-%m-%d}", run("user", "list", "--named", "%")
    said = f"{ada.email}  user   since {today}  memories 0, conversations 0, tokens 1, disabled since {today}\n"
    assert run("user", "list", "--named", ada.email.upper()).stdout == said
    assert said in run("user", "list").stdout
    assert (nobody.returncode, nobody.stdout, nobody.stderr) == (0, "", "There is no such account.\n")


def test_user_list_goes_through_all(run, database_url):
    here = uuid4().hex
    many = f"""
        INSERT INTO users (id, email, display_name, password_hash, created_at)
        SELECT gen_random_uuid(), lpad(n::text, 4, '0') || '@{here}.example.org', 'n', 'none', now()
        FROM generate_series(1, 1001) n
    """
    owner = make_engine(database_url, pool_size=1)
    with owner.begin() as connection:
        connection.execute(text(many))
    done = run("user", "list", "--named", here)
    with owner.begin() as connection:
        connection.execute(text("DELETE FROM users WHERE email LIKE :here"), {"here": f"%{here}%"})
    owner.dispose()
    assert [line.partition("@")[0] for line in done.stdout.splitlines()] == [f"{n:04}" for n in range(1, 1002)]
    assert done.stderr == ""


def test_token_create_for_nobody_fails_in_one_line(run):
    done = run("token", "create", "--email", "nobody@example.org", "--name", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == "Error: there is no user nobody@example.org"


def test_user_create_refuses_a_short_password_by_field(run):
    assert "password: must be at least" in run("user", "create", "--email", "x@y.org", "--password", "short").stderr


@pytest.fixture
def fresh_database(database_url) -> Iterator[str]:
    """A database that no other test has been in."""
    url = make_url(database_url).set(drivername="postgresql+psycopg")
    name = f"fresh_{uuid4().hex[:12]}_test"
    server = create_engine(url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        connection.execute(text(f"DROP ROLE IF EXISTS {name}_app"))
    server.dispose()


def test_doctor_is_content_with_a_sound_installation(run, fresh_database):
    assert run("migrate", DATABASE_URL=fresh_database).returncode == 0
    done = run("doctor", DATABASE_URL=fresh_database)
    assert done.returncode == 0, done.stdout
    assert "variables" not in done.stdout
    assert "ok   language model: none" in done.stdout
    assert "ok   secret key" in done.stdout


def test_doctor_says_that_a_restored_database_is_open_until_it_is_migrated(run, fresh_database):
    here = {"DATABASE_URL": fresh_database}
    assert run("migrate", **here).returncode == 0
    with psycopg.connect(fresh_database) as connection:
        connection.execute("GRANT EXECUTE ON FUNCTION find_login TO PUBLIC")
    told = "BAD  application role: every role that may connect can bypass row-level security"
    assert told in run("doctor", **QUICK, **here).stdout
    assert run("migrate", **here).returncode == 0
    assert "ok   application role" in run("doctor", **QUICK, **here).stdout


def test_doctor_says_that_the_secret_key_is_another_where_no_password_is_asked_for(run):
    looked = run("doctor", **QUICK, COMMONPLACE_SECRET_KEY=f"other {SECRET}")
    assert looked.returncode == 1
    assert "BAD  secret key: the database was set up with another one" in looked.stdout


def test_a_server_puts_another_secret_key_in_force_where_no_password_is_asked_for(run, fresh_database, monkeypatch):
    here = {"DATABASE_URL": fresh_database}
    other = {**here, "COMMONPLACE_SECRET_KEY": f"other {SECRET}"}
    assert run("migrate", **here).returncode == 0
    for name, value in other.items():
        monkeypatch.setenv(name, value)
    store = open_store(config.load())
    for serves in (False, True):
        ensure_migrated(store, serves=serves)
        assert ("ok   secret key" in run("doctor", **QUICK, **other).stdout) is serves
    store.close()


def test_doctor_says_that_the_database_is_away(run):
    done = run("doctor", DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing_test")
    assert done.returncode == 1
    assert "BAD  database" in done.stdout


@pytest.mark.parametrize("table", ["memories", "users"])
def test_doctor_does_not_wait_without_end_for_a_table_that_is_held(runtime, home, database_url, monkeypatch, table):
    told = {"COMMONPLACE_HOME": str(home), "DATABASE_URL": database_url, "COMMONPLACE_SECRET_KEY": SECRET, **QUICK}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(doctor, "LONGEST_LOOK", 0.5)
    with psycopg.connect(database_url) as holder:
        holder.execute("SET LOCAL idle_in_transaction_session_timeout = '20s'")
        holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        done = CliRunner().invoke(main, ["doctor"])
        holder.rollback()
    assert done.exit_code == 1
    assert "canceling statement due to statement timeout" in done.stdout
    assert "-> Another program holds what this reads" in done.stdout


def test_doctor_says_that_a_setting_is_bad_and_that_another_is_no_setting(run):
    done = run("doctor", COMMONPLACE_SOFT_CAP="lots", **{f"{PREFIX}MINSCORE": "1"})
    assert "BAD  settings: COMMONPLACE_SOFT_CAP" in done.stdout
    assert f"BAD  variables: nothing reads {PREFIX}MINSCORE (is COMMONPLACE_MIN_SCORE meant?)" in done.stdout


def test_a_start_warns_of_a_variable_that_nothing_reads(monkeypatch, caplog):
    warn_of_unread()
    assert caplog.messages == []
    monkeypatch.setenv(f"{PREFIX}PORT", "8000")
    warn_of_unread()
    assert caplog.messages == [f"nothing reads {PREFIX}PORT: the README lists the settings"]


@pytest.mark.parametrize(
    ("command", "start"),
    [(["doctor"], "BAD  settings: "), (["up", "--port", "8875"], "Error: "), (["worker"], "Error: ")],
)
def test_an_address_of_redis_that_cannot_be_read_is_refused_by_name(home, command, start):
    # Not in a process that has imported the queue already, which is where the address is read first.
    done = subprocess.run(
        [sys.executable, "-m", "webapp.cli", *command],
        env={**os.environ, "COMMONPLACE_HOME": str(home), "REDIS_URL": "redis://127.0.0.1:notaport/0"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = (done.stdout + done.stderr).splitlines()
    assert (done.returncode, said[0].startswith(f"{start}REDIS_URL has a host or a port")) == (1, True), said


def test_doctor_asks_the_system_model(run):
    with running() as endpoint:
        done = run("doctor", **QUICK, COMMONPLACE_LLAMACPP_URL=endpoint.url, COMMONPLACE_LLAMACPP_MODEL="tiny")
    assert "ok   llama.cpp: tiny embeds in 5 dimensions" in done.stdout


@pytest.mark.parametrize(("status", "said"), [(None, "does not say that it is well"), (401, "answered HTTP 401")])
def test_doctor_says_what_is_wrong_with_the_system_model(run, status, said):
    with running() as endpoint:
        endpoint.status = status or 200
        url = endpoint.url if status else "http://127.0.0.1:1"
        done = run("doctor", **QUICK, COMMONPLACE_LLAMACPP_URL=url)
    assert done.returncode == 1
    assert said in next(line for line in done.stdout.splitlines() if line.startswith("BAD  llama.cpp"))
    assert "COMMONPLACE_LLAMACPP_URL" in done.stdout


@pytest.mark.parametrize(
    ("said", "enrichment", "told"),
    [
        ('{"entities": [], "tags": []}', "on", "ok   language model: tiny answers"),
        ("ok", "off", "ok   language model: tiny answers"),
        (
            "ok",
            "on",
            "BAD  language model: the model endpoint answered in another shape than asked for; rules find the names",
        ),
    ],
)
def test_doctor_asks_the_language_model_for_what_it_is_there_for(run, said, enrichment, told):
    with chat_endpoint() as endpoint:
        endpoint.said = said
        settings = {"COMMONPLACE_LLM_MODEL": "tiny", "COMMONPLACE_ENRICHMENT": enrichment}
        done = run("doctor", **QUICK, COMMONPLACE_LLM_URL=endpoint.url, **settings)
    assert f"{told}\n" in done.stdout
    assert endpoint.requests[0]["model"] == "tiny"


def test_doctor_says_that_the_language_model_is_away(run):
    done = run("doctor", **QUICK, COMMONPLACE_LLM_URL="http://127.0.0.1:1")
    assert done.returncode == 1
    assert "BAD  language model: the model endpoint did not answer (ConnectError)" in done.stdout
    assert "COMMONPLACE_LLM_URL" in done.stdout
    assert "does it answer in 20 s? A slow one wants a higher COMMONPLACE_LLM_TIMEOUT." in " ".join(done.stdout.split())


@pytest.mark.parametrize(("status", "body"), [(401, b"who?"), (200, b"<html>")])
def test_doctor_says_what_the_language_model_answered(run, status, body):
    with chat_endpoint() as endpoint:
        endpoint.status, endpoint.body = status, body
        done = run("doctor", **QUICK, COMMONPLACE_LLM_URL=endpoint.url, COMMONPLACE_LLM_API_KEY="a-secret-key")
    said = f"HTTP {status}" if status != 200 else "unknown shape"
    assert said in next(line for line in done.stdout.splitlines() if "language model" in line)
    assert "a-secret-key" not in done.stdout + done.stderr


def test_backfill_embeds_what_waits(run, client, ada):
    client.post("/v1/memory/entries", json={"text": "The kiln reaches cone ten by noon"}, headers=ada.headers)
    said = run("backfill").stdout
    assert "0 waiting" in said
    assert "\n0 read for names and tags" in said


def test_backfill_moves_nobody_to_the_model_of_its_own_environment(run, client, ada):
    client.post("/v1/memory/entries", json={"text": "The kiln reaches cone ten by noon"}, headers=ada.headers)
    run("backfill")
    with running() as endpoint:
        done = run("backfill", COMMONPLACE_LLAMACPP_URL=endpoint.url)
    assert done.stdout.startswith("0 embedded, 0 waiting"), done.stdout


def test_what_could_not_be_embedded_is_told_and_tried_again_when_asked_for(run, fresh_database):
    away = {**QUICK, "DATABASE_URL": fresh_database}
    assert run("migrate", **away).returncode == 0
    databases = from_owner_url(fresh_database, Keys(SECRET.encode()))
    owner, app = make_engine(databases.owner, pool_size=1), make_engine(databases.app, pool_size=1)
    with Session(owner) as session, session.begin():
        person = create_user(session, "f@example.org", "long enough to be one", soft_cap=9, now=utc_now()).id
    with user_session(sessionmaker(app), person) as session:
        draft = Draft("The kiln reaches cone ten by noon")
        remember(session, person, "default", draft, keys=Keys(SECRET.encode()), now=utc_now(), actor="t")
    owner.dispose()
    app.dispose()
    with running() as endpoint:
        away["COMMONPLACE_LLAMACPP_URL"] = endpoint.url
        endpoint.refused = "kiln"
        done = run("backfill", **away)
        assert (done.returncode, done.stdout.splitlines()[0]) == (1, "0 embedded, 0 waiting, 1 failed.")
        endpoint.refused = ""
        assert "--retry-failed" in run("doctor", **away).stdout
        assert run("backfill", **away).stdout.splitlines()[0] == "0 embedded, 0 waiting, 1 failed."
        endpoint.status = 503
        done = run("backfill", "--retry-failed", **away)
        assert (done.returncode, done.stdout.splitlines()[0]) == (1, "0 embedded, 1 waiting, 0 failed.")
        endpoint.status = 200
        done = run("backfill", **away)
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, "1 embedded, 0 waiting, 0 failed.")


def test_backfill_reads_what_waits_and_embeds_what_it_found(run, client, ada):
    with ada.session() as session:
        create_space(session, ada.id, "trip", soft_cap=200, now=utc_now(), actor="t")
    entry = {"text": "I told my sister Beatrice about the ferry", "space": "trip"}
    client.post("/v1/memory/entries", json=entry, headers=ada.headers)
    said = run("backfill", COMMONPLACE_ENRICHMENT="on").stdout
    assert re.search(r"^[1-9]\d* read for names and tags, 0 waiting\.$", said, re.MULTILINE)
    (entity,) = client.get("/v1/entities", headers=ada.headers).json["entities"]
    assert (entity["name"], entity["needs_embedding"]) == ("Beatrice", False)


def test_backfill_has_conversations_read_for_facts(run, client, ada):
    client.patch("/v1/spaces/default", json={"extract_facts": True}, headers=ada.headers)
    talk = client.post("/v1/conversations", json={}, headers=ada.headers).json["id"]
    said = {"message": {"role": "user", "content": "I moved to Lisbon"}}
    client.post(f"/v1/conversations/{talk}/messages", json=said, headers=ada.headers)
    with ada.session() as session:
        # It has rested for long enough.
        session.execute(text("UPDATE conversations SET updated_at = now() - interval '1 hour'"))
    with chat_endpoint() as endpoint:
        fact = {"message": 1, "subject": "user", "predicate": "lives in", "object": "Lisbon"}
        endpoint.said = json.dumps({"facts": [fact]})
        assert "message read" not in run("backfill", "--no-extract", COMMONPLACE_LLM_URL=endpoint.url).stdout
        done = run("backfill", COMMONPLACE_LLM_URL=endpoint.url)
    assert "1 message read for facts, 0 waiting." in done.stdout
    (found,) = client.get("/v1/facts", headers=ada.headers).json["facts"]
    assert (found["object"], found["extracted"]) == ("Lisbon", True)
    client.patch("/v1/spaces/default", json={"extract_facts": False}, headers=ada.headers)


def test_a_schema_that_a_newer_version_made_is_told_in_one_line(run, fresh_database):
    assert run("migrate", DATABASE_URL=fresh_database).returncode == 0
    with psycopg.connect(fresh_database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0999'")
    for arguments in (["migrate"], ["audit", "verify"], ["worker"]):
        done = run(*arguments, **QUICK, DATABASE_URL=fresh_database)
        assert (done.returncode, done.stderr.count("\n"), "newer version" in done.stderr) == (1, 1, True)
    assert "-> A newer version of Commonplace has migrated it" in run("doctor", DATABASE_URL=fresh_database).stdout


@pytest.mark.parametrize(
    ("revision", "change", "told"),
    [
        ("0017", "DROP INDEX ix_memories_order", 'index "ix_memories_order" does not exist'),
        ("0030", "ALTER TABLE facts DROP COLUMN object_key", "there is no facts.object_key"),
    ],
)
def test_a_schema_that_is_not_what_its_revision_left_is_told_and_stays_as_it_was(
    run, fresh_database, revision, change, told
):
    assert run("migrate", DATABASE_URL=fresh_database).returncode == 0
    engine = create_engine(make_url(fresh_database).set(drivername="postgresql+psycopg"))
    schema.downgrade(engine, from_owner_url(fresh_database, Keys(SECRET.encode())), revision)
    engine.dispose()
    with psycopg.connect(fresh_database) as connection:
        connection.execute(change)
    for arguments in (["migrate"], ["worker"]):
        done = run(*arguments, **QUICK, DATABASE_URL=fresh_database)
        assert done.returncode == 1
        assert re.fullmatch(rf".+ is brought from .+\nError: the schema is at {revision}.+ export.+\n", done.stderr)
        assert told in done.stderr
    with psycopg.connect(fresh_database) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (revision,)


def test_doctor_names_what_a_schema_lacks_that_says_it_is_up_to_date(run, fresh_database):
    assert run("migrate", DATABASE_URL=fresh_database).returncode == 0
    with psycopg.connect(fresh_database) as connection:
        connection.execute("ALTER TABLE facts DROP COLUMN object_key")
        connection.execute("DROP TABLE shares")
        # Of others, in the same database.
        connection.execute("CREATE TABLE mine (id integer)")
    done = run("doctor", DATABASE_URL=fresh_database)
    assert done.returncode == 1
    found = re.search(r"^BAD  schema: at \d+, and there is no (.+)\n     -> .+ backup", done.stdout, re.MULTILINE)
    assert found is not None
    assert found[1] == "shares, facts.object_key"


@pytest.mark.parametrize("lacks", ["pgvector", "CREATEROLE", "the database"])
def test_a_role_that_may_not_set_up_the_database_is_told_what_it_lacks(run, fresh_database, lacks):
    role, url = f"low_{uuid4().hex[:12]}", make_url(fresh_database)
    low = url.set(username=role, password=SECRET).render_as_string(hide_password=False)
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        right = "NOCREATEROLE" if lacks == "CREATEROLE" else "CREATEROLE"
        connection.execute(f"CREATE ROLE {role} LOGIN {right} PASSWORD '{SECRET}'")
        if lacks != "the database":
            connection.execute(f"ALTER DATABASE {url.database} OWNER TO {role}")
        if lacks != "pgvector":
            connection.execute("CREATE EXTENSION vector")
        done = run("migrate", DATABASE_URL=low)
        connection.execute(f"ALTER DATABASE {url.database} OWNER TO CURRENT_USER")
        connection.execute(f"DROP ROLE {role}")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "denied" in done.stderr
    assert "must own the database" in done.stderr


@pytest.fixture
def asked_for_passwords(fresh_database) -> Iterator[str]:
    """A database where the application's role is asked for its password, as a server of its own asks."""
    url = make_url(fresh_database)
    write = "COPY (SELECT unnest(string_to_array(%s, E'\\n'))) TO "
    with psycopg.connect(fresh_database, autocommit=True, cursor_factory=psycopg.ClientCursor) as owner:
        found = owner.execute("SELECT path, pg_read_file(path) FROM (SELECT current_setting('hba_file') AS path)")
        path, before = next(found)
        who = f"{url.database} {url.database}_app"
        asks = f"local {who} scram-sha-256\nhost {who} all scram-sha-256"
        try:
            owner.execute(f"{write} '{path}'", [f"{asks}\n{before.rstrip()}"])
            owner.execute("SELECT pg_reload_conf()")
            nobody, deadline = url.set(username=f"{url.database}_app", password="none"), time.monotonic() + 60
            while time.monotonic() < deadline:
                # No such role is there yet: that much is told without asking for a password.
                with pytest.raises(psycopg.OperationalError) as refused:
                    psycopg.connect(nobody.render_as_string(hide_password=False))
                if refused.value.pgconn.used_password:
                    break
                time.sleep(0.02)
            yield fresh_database
        finally:
            owner.execute(f"{write} '{path}'", [before.rstrip()])
            owner.execute("SELECT pg_reload_conf()")


def test_a_command_with_another_secret_key_shuts_no_server_out_of_its_database(run, asked_for_passwords):
    here = {**QUICK, "DATABASE_URL": asked_for_passwords}
    other = {**here, "COMMONPLACE_SECRET_KEY": f"other {SECRET}"}
    assert run("migrate", **here).returncode == 0
    app = from_owner_url(asked_for_passwords, Keys(SECRET.encode())).app
    done = run("backfill", **other)
    assert (done.returncode, done.stderr.count("\n"), "another one" in done.stderr) == (1, 1, True), done.stderr
    looked = run("doctor", **other)
    assert looked.stdout.count("BAD ") == 1
    assert "set up with another one" in looked.stdout
    psycopg.connect(app).close()


def test_a_database_without_the_role_as_of_a_dump_gets_it_by_any_command(run, asked_for_passwords):
    here = {**QUICK, "DATABASE_URL": asked_for_passwords}
    assert run("migrate", **here).returncode == 0
    app = from_owner_url(asked_for_passwords, Keys(SECRET.encode())).app
    with psycopg.connect(asked_for_passwords) as owner:
        owner.execute(f"DROP OWNED BY {make_url(app).username}")
        owner.execute(f"DROP ROLE {make_url(app).username}")
    looked = run("doctor", **here)
    assert (looked.returncode, "another" in looked.stdout) == (1, False), looked.stdout
    done = run("backfill", **here)
    assert done.returncode == 0, done.stderr
    psycopg.connect(app).close()


def test_a_role_that_is_kept_out_for_another_reason_has_no_other_secret_key(run, asked_for_passwords):
    here = {**QUICK, "DATABASE_URL": asked_for_passwords}
    assert run("migrate", **here).returncode == 0
    with psycopg.connect(asked_for_passwords) as owner:
        owner.execute(f"ALTER ROLE {make_url(asked_for_passwords).database}_app CONNECTION LIMIT 0")
    looked = run("doctor", **here)
    assert "too many connections" in looked.stdout
    assert "another one" not in looked.stdout
    assert "another one" not in run("backfill", **here).stderr


@pytest.mark.parametrize("made", ["memories", "huey_task"])
def test_a_full_disk_is_no_database_that_does_not_answer(run, fresh_database, made):
    with psycopg.connect(fresh_database) as connection:
        connection.execute(f"""CREATE FUNCTION fill() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
            IF to_regclass('{made}') IS NOT NULL THEN
                RAISE 'could not extend file' USING ERRCODE = 'disk_full', HINT = 'Check free disk space.';
            END IF; END $$""")
        connection.execute("CREATE EVENT TRIGGER fill ON ddl_command_end EXECUTE FUNCTION fill()")
    done = run("migrate", DATABASE_URL=fresh_database)
    said = "Error: the database failed before this was done: its disk is full, could not extend file\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_a_database_that_goes_away_in_the_middle_is_told_in_one_line(run, fresh_database, home, tmp_path):
    away = {"DATABASE_URL": fresh_database}
    asked = ["user", "create", "--email", "g@example.org", "--password", "long enough to be one"]
    assert run(*asked, **away).returncode == 0
    file = tmp_path / "preferences.md"
    os.mkfifo(file)
    command = [sys.executable, "-m", "webapp.cli", "preferences", "import", str(file), "--email", "g@example.org"]
    environment = {**os.environ, **away, "COMMONPLACE_HOME": str(home), "COMMONPLACE_SECRET_KEY": SECRET}
    server = make_url(fresh_database).set(database="postgres").render_as_string(hide_password=False)
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        # Opens once the command does, which has found its user by then.
        with file.open("w") as written, psycopg.connect(server, autocommit=True) as connection:
            name = make_url(fresh_database).database
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            written.write("Be brief.")
        said = process.stderr.read()
    assert (process.returncode, said.count("\n")) == (1, 1)
    assert said.startswith("Error: the database failed before this was done: ")


@pytest.mark.parametrize(("ending", "code", "said"), [(KeyboardInterrupt(), 1, "Aborted!"), (SystemExit(143), 143, "")])
def test_an_end_in_the_middle_of_a_query_is_no_failure_of_the_database(ending, code, said):
    @click.command()
    def measure():
        try:
            raise ending
        finally:
            # As a transaction does that cannot be rolled back, since the query before is still running.
            raise OperationalError("ROLLBACK", None, psycopg.OperationalError("another command is already in progress"))

    group = Commands(lazy={}, commands={"measure": measure})
    result = CliRunner().invoke(group, ["measure"])
    assert (result.exit_code, result.stderr.strip()) == (code, said)


def test_a_queue_that_was_in_redis_is_made_where_redis_is_unset(run, fresh_database):
    away = {"DATABASE_URL": fresh_database, "REDIS_URL": "redis://127.0.0.1:9/0"}
    assert run("migrate", **away).returncode == 0
    assert run("backfill", **QUICK, DATABASE_URL=fresh_database).returncode == 0
    assert "ok   queue: PostgreSQL, 0 tasks wait" in run("doctor", **QUICK, DATABASE_URL=fresh_database).stdout


def test_migrate_may_be_repeated(run):
    assert run("migrate").returncode == 0
