"""The command line, run as a user would, beside a running server's database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import SECRET

from memory.accounts import authenticate
from memory.embedding.backfill import utc_now

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(runtime, home, database_url) -> Run:
    environment = {
        **os.environ,
        "COMMONPLACE_HOME": str(home),
        "DATABASE_URL": database_url,
        "COMMONPLACE_SECRET_KEY": SECRET,
    }

    def _run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "webapp.cli", *arguments],
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return _run


def test_token_create_prints_the_token_and_nothing_else(run, ada, runtime):
    done = run("token", "create", "--email", ada.email, "--name", "cli", "--scopes", "read,write")
    with runtime.sessions.begin() as session:
        credential = authenticate(session, done.stdout.strip(), utc_now())
    assert (done.stdout.count("\n"), credential.user_id, credential.scopes) == (1, ada.id, {"read", "write"})


def test_token_create_for_nobody_fails_in_one_line(run):
    done = run("token", "create", "--email", "nobody@example.org", "--name", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == "Error: there is no user nobody@example.org"


def test_user_create_refuses_a_short_password_by_field(run):
    assert "password: must be at least" in run("user", "create", "--email", "x@y.org", "--password", "short").stderr


def test_doctor_is_content_with_a_sound_installation(run):
    done = run("doctor")
    assert done.returncode == 0, done.stdout


def test_doctor_says_that_the_database_is_away(run):
    done = run("doctor", DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing_test")
    assert done.returncode == 1
    assert "BAD  database" in done.stdout


def test_doctor_says_that_a_setting_is_bad(run):
    assert "COMMONPLACE_SOFT_CAP" in run("doctor", COMMONPLACE_SOFT_CAP="lots").stdout


def test_backfill_embeds_what_waits(run, client, ada):
    client.post("/v1/memory/entries", json={"text": "The kiln reaches cone ten by noon"}, headers=ada.headers)
    assert "0 waiting" in run("backfill").stdout


def test_migrate_may_be_repeated(run):
    assert run("migrate").returncode == 0
