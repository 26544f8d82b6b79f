"""`commonplace token`: what there is, and closing it, for who has no browser of the user."""

from __future__ import annotations

from datetime import timedelta

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from memory.accounts.accounts import create_token
from memory.clock import utc_now
from memory.models import AuditEvent, Token
from memory.spaces.spaces import create_space
from webapp.cli import tokens
from webapp.cli.main import main


@pytest.fixture
def run(monkeypatch, runtime):
    monkeypatch.setattr(tokens, "migrated_store", lambda: runtime)
    return lambda *words: CliRunner().invoke(main, ["token", *words])


@pytest.fixture
def laptop(ada):
    with ada.session() as session:
        return create_token(session, ada.id, "laptop", ["read", "write"], now=utc_now())


def opens(client, secret):
    return client.get("/v1/tools", headers={"Authorization": f"Bearer {secret}"}).status_code == 200


def test_tokens_are_listed_with_what_they_may_do_and_never_whole(run, ada, laptop):
    with ada.session() as session:
        create_space(session, ada.id, "work", soft_cap=9, now=utc_now(), actor="test")
        long_ago = utc_now() - timedelta(days=9)
        create_token(session, ada.id, "old", ["read"], now=long_ago, space="work", expires_at=long_ago)
    today, done = f"{utc_now():%Y-%m-%d}", run("list", "--email", ada.email)
    lines = done.stdout.splitlines()
    assert f"{laptop[:11]}  read,write, made {today}, never used: laptop" in lines
    made = f"{long_ago:%Y-%m-%d}"
    assert any(each.endswith(f"  read, made {made}, never used, only work, expired {made}: old") for each in lines)
    assert (len(lines), laptop in done.output) == (3, False)


def test_a_name_is_no_line_of_its_own_and_no_order_to_the_terminal(run, ada):
    with ada.session() as session:
        secret = create_token(session, ada.id, "a\ncp_forged  read\x1b[2J", ["read"], now=utc_now())
    listed, revoked = run("list", "--email", ada.email).stdout, run("revoke", secret).stdout
    for said, many in ((listed, 2), (revoked, 1)):
        assert ("\x1b" in said, said.count("\n"), len(said.splitlines())) == (False, many, many)


def test_who_has_no_token_is_told_so(run, ada):
    with ada.session() as session:
        session.delete(session.scalar(select(Token)))
    done = run("list", "--email", ada.email)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"{ada.email} has no token.\n")


@pytest.mark.parametrize("shown", [11, None], ids=["prefix", "whole"])
def test_a_token_that_leaked_is_closed_once(run, client, ada, laptop, shown):
    assert opens(client, laptop)
    said = [run("revoke", laptop[:shown]).stdout for _ in range(2)]
    assert said == [f"{laptop[:11]} is {when} revoked: laptop\n" for when in ("now", "already")]
    assert (opens(client, laptop), opens(client, ada.token)) == (False, True)
    with ada.session() as session:
        actors = session.scalars(select(AuditEvent.actor).where(AuditEvent.action == "token.revoked")).all()
    assert actors == ["system"]


@pytest.mark.parametrize("cut", [slice(10), slice(12), slice(0)], ids=["too short", "too long", "nothing"])
def test_what_may_be_several_closes_none(run, client, laptop, cut):
    done = run("revoke", laptop[cut])
    assert (done.exit_code, done.stderr, opens(client, laptop)) == (1, "Error: there is no such token\n", True)


def test_a_token_that_the_command_line_made_is_not_said_to_be_made_by_the_user(run, ada):
    assert run("create", "--email", ada.email, "--name", "cron").exit_code == 0
    with ada.session() as session:
        made = select(AuditEvent.actor).where(AuditEvent.action == "token.created").order_by(AuditEvent.id.desc())
        assert session.scalars(made.limit(1)).one() == "system"
