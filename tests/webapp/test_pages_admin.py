"""The page of admins: counts and states of all users, and nobody's content."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from api_agent import Agent, rows
from flask import render_template
from pages_browser import HTMX, at_browser, follow, stored
from sqlalchemy import text

from memory.embedding.providers import NO_LOCAL_MODEL
from tasks.app import huey
from webapp.disk import alerts_of_disk
from webapp.pages.admin import alerts_of


@pytest.fixture
def desk(app, root):
    return at_browser(app, root)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/admin"),
        ("GET", "/admin/state"),
        ("GET", "/admin/users"),
        ("GET", "/admin/jobs"),
        ("POST", "/admin/backfill"),
        ("POST", "/admin/retry"),
    ],
)
def test_only_admins_get_in(app, client, ada, method, path):
    assert at_browser(app, ada).open(path, method=method).status_code == 403
    assert client.open(path, method=method).location.startswith("/login")


def test_users_are_listed_with_counts_and_without_content(desk, ada):
    stored(ada, "Ada keeps bees on the roof")
    # Every other test has users here too, more than one page shows.
    page = desk.get("/admin", query_string={"q": ada.email.upper()}).text
    assert ada.email in page
    assert "bees" not in page


def test_users_are_found_by_a_part_of_their_address(desk, ada, bob):
    page = desk.get("/admin", query_string={"q": ada.email[:12]}).text
    assert (ada.email in page, bob.email in page) == (True, False)
    # A wildcard of SQL is a character like any other, and so is what no address holds.
    assert "@example.org" not in desk.get("/admin", query_string={"q": "%\x00%"}).text.rpartition("<tbody>")[2]


def test_further_users_and_jobs_are_a_page_away(desk, ada, new_person, monkeypatch):
    monkeypatch.setattr("webapp.pages.admin.PAGE", 1)
    here = uuid4().hex
    both = [new_person(name, email=f"{name}@{here}.example.org").email for name in ("ada", "bob")]
    page = desk.get("/admin", query_string={"q": here}).text
    rest = follow(desk, page, "Load more")
    assert [[each for each in both if f">{each}<" in shown] for shown in (page, rest)] == [both[:1], both[1:]]
    assert "Load more" not in rest
    ids = sorted(str(stored(ada, f"Hive {number} is warm")) for number in range(2))
    ada.embed()
    with ada.session() as session:
        for day, memory_id in enumerate(ids):
            stuck = text("""UPDATE embeddings SET state = 'pending', vector = NULL, due_at = date '1999-01-01' + :day
                WHERE memory_id = :id""")
            session.execute(stuck, {"day": day, "id": memory_id})
    page = desk.get("/admin").text
    rest = follow(desk, page, "More jobs")
    assert [[each for each in ids if f"<code>{each}<" in shown] for shown in (page, rest)] == [ids[:1], ids[1:]]
    assert desk.get("/admin/jobs", query_string={"cursor": "bees"}).status_code == 422


def test_the_self_test_tells_that_nobody_sees_others(desk, ada):
    stored(ada, "Ada keeps bees on the roof")
    assert "none gave any" in desk.get("/admin").text


def test_who_wants_to_add_a_user_is_told_how(desk):
    assert "commonplace user create --email" in desk.get("/admin").text


def test_a_backfill_is_started_and_audited(desk, root):
    huey.flush()
    assert desk.post("/admin/backfill").status_code == 303
    assert "fill" in [task.name for task in huey.pending()]
    assert len(rows(root, "SELECT FROM audit_events WHERE action = 'backfill.started'")) == 1


def test_what_a_model_that_is_to_take_over_has_still_to_embed_is_counted_and_followed(desk, app, root, ada):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    assert "embedded anew" not in desk.get("/admin/state", headers=HTMX).text
    with ada.session() as session:
        session.execute(text("UPDATE embedding_models SET state = 'building'"))
        session.execute(text("UPDATE embeddings SET state = 'pending', vector = NULL"))
    shown = " ".join(desk.get("/admin/state", headers=HTMX).text.split())
    assert ("<dt>To be embedded anew</dt> <dd> 1 </dd>" in shown, "load delay:2s" in shown) == (True, True)
    assert Agent(app.test_client(), root.new_token("admin")).get("/v1/admin/backfill").json["embedding_building"] == 1


def test_an_alarm_is_announced_once(desk, ada):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    with ada.session() as session:
        session.execute(text("UPDATE embeddings SET state = 'error', vector = NULL, error = 'away', attempts = 6"))
    stored(ada, "The hive is warm")
    page = desk.get("/admin").text
    again = desk.get(re.search(r'hx-get="(/admin/state[^"]*)"', page).group(1), headers=HTMX).text
    assert ('role="alert"' in page, 'role="alert"' in again) == (True, False)
    assert all("given up on, 100% of those of the last hour: look" in each for each in (page, again))


def test_a_server_that_embeds_nothing_is_not_told_to_run_a_worker(desk, ada, monkeypatch):
    stored(ada, "Ada keeps bees on the roof")
    with ada.session() as session:
        session.execute(text("UPDATE memories SET updated_at = updated_at - interval '1 hour'"))
    as_it_is = desk.get("/admin").text
    providers = ada.runtime.providers
    monkeypatch.setattr(providers, "system", replace(providers.system, local_model=NO_LOCAL_MODEL, llamacpp_url=None))
    page = desk.get("/admin").text
    signs = ("does a worker run?", "The server itself embeds nothing")
    assert [[sign in each for sign in signs] for each in (as_it_is, page)] == [[True, False], [False, True]]


def test_a_disk_that_is_nearly_full_is_told_where_the_database_is_on_it(desk, home, monkeypatch):
    assert alerts_of_disk(home) == []
    monkeypatch.setattr("webapp.disk.LEAST_FREE", 2**63)
    (said,) = alerts_of_disk(home)
    assert said.endswith("MiB left. Once it is full nothing is stored any more: make room.")
    # That of this test has a server of its own.
    assert "MiB left" not in desk.get("/admin").text


def test_a_file_system_that_tells_nothing_of_its_size_is_not_full():
    assert alerts_of_disk(Path("/proc")) == []


def test_what_failed_is_tried_again_for_everybody(desk, ada):
    stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    with ada.session() as session:
        session.execute(text("UPDATE embeddings SET state = 'error', vector = NULL, error = 'away', attempts = 6"))
    desk.post("/admin/retry")
    assert [row.state for row in rows(ada, "SELECT state FROM embeddings")] == ["pending"]


def test_the_state_is_answered_alone(desk):
    assert desk.get("/admin/state", headers=HTMX).text.lstrip().startswith('<section id="admin-state"')


@pytest.mark.parametrize(
    ("times", "said"),
    [({"p50": None, "p95": None}, "none was made"), ({"p50": 0.0123, "p95": 162.5}, "12 ms / 2.7 min")],
)
def test_no_time_is_told_of_what_was_not_done(app, times, said):
    numbers = {"search": {"count": 1, "hit_rate": 1.0, **times}, "embed": times}
    with app.test_request_context():
        text = render_template("admin/_state.html", numbers=numbers, alerts=(), told=0, queue=None, counted=())
    assert text.count(said) == 2


@pytest.mark.parametrize(("provider", "asks"), [("the local model", True), (None, False)])
def test_the_numbers_are_asked_for_anew_while_somebody_is_at_them(app, provider, asks):
    numbers = {"embedding_backlog": 1, "search": {"p50": None}, "embed": {"p50": None}}
    told = {"numbers": numbers, "alerts": (), "told": 0, "queue": None, "counted": (), "provider": provider}
    with app.test_request_context():
        assert ("hx-trigger" in render_template("admin/_state.html", **told)) == asks


def test_only_admins_are_shown_the_way(app, desk, ada):
    assert 'href="/admin"' in desk.get("/account").text
    assert 'href="/admin"' not in at_browser(app, ada).get("/account").text


def test_numbers_that_are_out_of_hand_are_told():
    quiet = {"embedding_backlog_age": 10, "tool_calls": 100, "tool_failures": 1, "embedding_errors": 0}
    assert alerts_of(quiet) == []
    (old,) = alerts_of({**quiet, "embedding_backlog": 1, "embedding_backlog_age": 900})
    assert old.startswith("1 text waits for a vector, the oldest for 15 minutes")
    (deep,) = alerts_of({**quiet, "embedding_backlog": 10_000, "embedding_backlog_age": 61})
    assert deep.startswith("10,000 texts wait for a vector, the oldest for 1 minute:")
    assert alerts_of({**quiet, "embedding_backlog": 9_999}) == []
    assert len(alerts_of({**quiet, "tool_failures": 10})) == 1
    (failed,) = alerts_of({**quiet, "embedding_errors": 3, "embedding_failure_rate": 0.04})
    assert failed.startswith("3 vectors were given up on: look")
    (failing,) = alerts_of({**quiet, "embedding_errors": 3, "embedding_failure_rate": 0.25})
    assert failing.startswith("3 vectors were given up on, 25% of those of the last hour: look")
    (full,) = alerts_of({**quiet, "full_spaces": 2})
    assert full.startswith("2 spaces are full of what is pinned")
    assert alerts_of({**quiet, "full_spaces": 1})[0].startswith("1 space is full")
    (unread,) = alerts_of({**quiet, "enrichment_backlog": 12345})
    assert unread.startswith("12,345 texts wait to be read")
    assert alerts_of({**quiet, "enrichment_backlog": 999}) == []
    # Where nobody is to read or embed them, they wait for nothing.
    assert alerts_of({**quiet, "embedding_backlog": 10_000, "embedding_backlog_age": 900}, embeds=False) == []
    assert alerts_of({**quiet, "enrichment_backlog": 12345}, reads=False) == []


def test_trying_again_says_when_there_is_nothing_to_try(app, ada):
    assert "Nothing has failed." in at_browser(app, ada).post("/providers/retry", follow_redirects=True).text
