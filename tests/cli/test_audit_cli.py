"""`commonplace audit verify`, run as an operator would."""

from __future__ import annotations

import os

import pytest
from secrets_of_tests import SECRET
from sqlalchemy import text

from memory.record.audit import verify
from memory.storage.database import make_engine, user_session


@pytest.fixture
def run(command_line, runtime, home, database_url):
    environment = {
        **os.environ,
        "COMMONPLACE_HOME": str(home),
        "DATABASE_URL": database_url,
        "COMMONPLACE_SECRET_KEY": SECRET,
    }

    return lambda *arguments: command_line(["audit", "verify", *arguments], environment)


@pytest.fixture
def head(runtime, ada):
    with user_session(runtime.sessions, ada.id) as session:
        return str(verify(session, ada.id).head)


@pytest.fixture
def tampered(database_url, ada):
    """Change one byte of Ada's second event; put it back afterwards."""
    engine = make_engine(database_url, pool_size=1)
    event = "(SELECT event_id FROM audit_links WHERE user_id = :u AND sequence = 2)"

    def write(actor):
        with engine.begin() as connection:
            statement = f"UPDATE audit_events SET actor = :a WHERE user_id = :u AND id = {event} RETURNING id"
            return connection.scalar(text(statement), {"u": ada.id, "a": actor})

    yield write("usEr")
    write("user")
    engine.dispose()


def test_sound_chains_are_listed_with_their_heads(run, ada, bob, head):
    done = run()
    # Other tests share the database, and some break their own chains.
    assert done.returncode == int("BAD" in done.stdout)
    assert f"ok   {ada.email}: 2 events, head {head}" in done.stdout
    assert bob.email in done.stdout


def test_a_broken_chain_is_told_with_its_place(run, ada, bob, tampered):
    done = run()
    assert done.returncode == 1
    assert f"BAD  {ada.email}: the event or its link was changed at 2, event {tampered}; 1 sound events" in done.stdout
    assert f"ok   {bob.email}" in done.stdout


def test_one_user_is_checked_alone(run, ada, bob, tampered):
    assert (run("--email", bob.email).returncode, run("--email", ada.email).returncode) == (0, 1)
    assert ada.email not in run("--email", bob.email).stdout


def test_a_noted_head_is_asked_for(run, ada, head):
    assert run("--email", ada.email, "--expect", head).returncode == 0
    done = run("--email", ada.email, "--expect", head.replace("2:", "3:"))
    assert (done.returncode, "the chain is shorter than was noted at 3" in done.stdout) == (1, True)


@pytest.mark.parametrize("arguments", [["--email", "nobody@example.org"], ["--expect", "1:x"]])
def test_what_cannot_be_checked_is_refused(run, arguments):
    done = run(*arguments)
    assert done.returncode in {1, 2}
    assert done.stderr.strip().splitlines()[-1].startswith("Error: ")


def test_a_head_that_is_none_is_refused(run, ada):
    assert "Error: expect: must be a sequence number" in run("--email", ada.email, "--expect", "x").stderr
