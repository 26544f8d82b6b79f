"""`/v1/admin`: users and their roles, single jobs; never anyone's content."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from api_agent import Agent, fields, rows
from pages_browser import at_browser, flashes, follow, stored
from sqlalchemy import text

from memory.storage.database import make_engine

ADMIN = "/v1/admin"


@pytest.fixture
def admin(client, root):
    return Agent(client, root.headers)


@pytest.fixture
def failed(ada):
    """The id of a memory of Ada's whose vector was given up on."""
    memory_id = stored(ada, "Ada keeps bees on the roof")
    ada.embed()
    with ada.session() as session:
        session.execute(text("UPDATE embeddings SET state = 'error', vector = NULL, error = 'bees?', attempts = 6"))
    return memory_id


def role_of(person):
    return rows(person, "SELECT role FROM users")[0].role


def test_users_are_told_with_counts_and_without_content(admin, ada, failed):
    answer = admin.get(f"{ADMIN}/users", q=ada.email)
    (user,) = answer.json["users"]
    assert (user["id"], user["email"], user["role"]) == (str(ada.id), ada.email, "user")
    assert (user["memories"], user["tokens"], user["failed"]) == (1, 1, 1)
    assert "bees" not in answer.text


def test_users_are_told_page_by_page(admin, new_person):
    here = uuid4().hex
    everybody = [new_person(name, email=f"{name}@{here}.example.org").email for name in ("cy", "ada", "bob")]
    first = admin.get(f"{ADMIN}/users", q=here, limit=2).json
    rest = admin.get(f"{ADMIN}/users", q=here, limit=2, cursor=first["next_cursor"]).json
    assert [each["email"] for page in (first, rest) for each in page["users"]] == sorted(everybody)
    assert (len(rest["users"]), rest["next_cursor"]) == (1, None)
    # A page that is just full is the last one.
    assert admin.get(f"{ADMIN}/users", q=here, limit=3).json["next_cursor"] is None


def test_a_user_becomes_an_admin_and_back(admin, ada, root):
    path = f"{ADMIN}/users/{ada.id}/role"
    assert admin.ask("PUT", path, json={"role": "admin"}).json == {
        "id": str(ada.id),
        "role": "admin",
        "changed": True,
    }
    assert role_of(ada) == "admin"
    assert admin.ask("PUT", path, json={"role": "admin"}).json["changed"] is False
    admin.ask("PUT", path, json={"role": "user"})
    assert role_of(ada) == "user"
    told = rows(root, "SELECT subject_id FROM audit_events WHERE action = 'user.role_changed'")
    assert [row.subject_id for row in told] == [ada.id, ada.id]


def test_a_bad_role_is_refused_and_nobody_is_not_found(admin, ada):
    bad = admin.ask("PUT", f"{ADMIN}/users/{ada.id}/role", json={"role": "king"})
    assert (bad.status_code, fields(bad)) == (422, ["role"])
    assert admin.ask("PUT", f"{ADMIN}/users/{uuid4()}/role", json={"role": "user"}).status_code == 404


def test_an_admin_who_is_no_longer_one_is_out_at_once(client, admin, new_person):
    other = new_person("other", role="admin")
    browser = at_browser(client.application, other)
    assert browser.get("/admin").status_code == 200
    admin.ask("PUT", f"{ADMIN}/users/{other.id}/role", json={"role": "user"})
    assert Agent(client, other.headers).get(f"{ADMIN}/users").status_code == 401
    assert browser.get("/admin").status_code == 403


def test_who_is_disabled_is_out_at_once_and_let_in_again(client, admin, ada):
    browser, agent = at_browser(client.application, ada), Agent(client, ada.headers)
    path = f"{ADMIN}/users/{ada.id}/access"
    for disabled, found in ((True, (401, 303)), (False, (200, 200))):
        answer = admin.ask("PUT", path, json={"disabled": disabled})
        assert answer.json == {"id": str(ada.id), "disabled": disabled, "changed": True}
        assert agent.get("/v1/tools").status_code == found[0]
        # A browser that was turned away has to log in again.
        browser = browser if disabled else at_browser(client.application, ada)
        assert browser.get("/memories").status_code == found[1]
    assert admin.ask("PUT", path, json={"disabled": False}).json["changed"] is False


def test_jobs_are_told_one_by_one_without_content(admin, ada, failed):
    answer = admin.get(f"{ADMIN}/jobs", limit=1000)
    job = next(each for each in answer.json["jobs"] if each["user_id"] == str(ada.id))
    assert (job["kind"], job["item_id"], job["state"], job["attempts"]) == ("memory", str(failed), "failed", 6)
    assert "bees" not in answer.text


def test_jobs_are_told_page_by_page(admin, ada, failed):
    again = {str(stored(ada, f"Hive {number} is warm")) for number in range(2)}
    ada.embed()
    with ada.session() as session:
        # One failed, two wait since before that: what is told as `since` is what they are ordered by.
        waits = "UPDATE embeddings SET state = 'pending', vector = NULL, due_at = '2000-01-01' WHERE memory_id <> :id"
        session.execute(text(waits), {"id": failed})
    found, cursor = [], {}
    while not found or cursor["cursor"]:
        page = admin.get(f"{ADMIN}/jobs", limit=1, **cursor).json
        found += page["jobs"]
        cursor = {"cursor": page["next_cursor"]}
    mine = [each["item_id"] for each in found if each["user_id"] == str(ada.id)]
    assert (set(mine[:2]), mine[2:]) == (again, [str(failed)])
    assert [each["since"] for each in found] == sorted(each["since"] for each in found)
    bad = admin.get(f"{ADMIN}/jobs", cursor="bees")
    assert (bad.status_code, fields(bad)) == (422, ["cursor"])


def test_one_job_is_tried_again(admin, ada, root, failed):
    path = f"{ADMIN}/jobs/memory/{ada.id}/{failed}/retry"
    assert admin.post(path).json == {"retried": True}
    assert rows(ada, "SELECT state FROM embeddings")[0].state == "pending"
    assert rows(root, "SELECT subject_id FROM audit_events WHERE action = 'job.retried'")[0].subject_id == failed
    assert admin.post(path).status_code == 404


@pytest.mark.parametrize(("body", "state"), [(None, "error"), ({"retry_failed": True}, "pending")])
def test_a_backfill_tries_again_what_failed_of_all_users_where_that_is_asked_for(admin, ada, failed, body, state):
    answer = admin.post(f"{ADMIN}/backfill", body).json
    # What other tests have left is tried again, too.
    assert (answer["started"], answer["retried"] > 0) == (True, state == "pending")
    assert rows(ada, "SELECT state FROM embeddings")[0].state == state


# --- the page ---


@pytest.mark.parametrize("path", ["/admin/users/{}/role", "/admin/users/{}/disable", "/admin/jobs/memory/{}/{}/retry"])
def test_only_admins_do_these_things(app, client, ada, path):
    address = path.format(ada.id, uuid4())
    assert at_browser(app, ada).post(address, data={"role": "admin"}).status_code == 403
    assert client.post(address, data={"role": "admin"}).location.startswith("/login")
    assert role_of(ada) == "user"


def test_a_role_is_changed_from_the_list(app, root, ada):
    desk = at_browser(app, root)
    assert f'aria-label="Make an admin: {ada.email}"' in desk.get("/admin", query_string={"q": ada.email}).text
    response = desk.post(f"/admin/users/{ada.id}/role", data={"role": "admin", "q": ada.email})
    page = desk.get(response.location)
    assert "Now an admin." in flashes(page)
    assert f'aria-label="Make a plain user: {ada.email}"' in page.text
    assert role_of(ada) == "admin"
    # Who takes the role from themselves is led to a page that is theirs.
    own = at_browser(app, ada)
    page = own.post(f"/admin/users/{ada.id}/role", data={"role": "user"}, follow_redirects=True)
    assert (page.status_code, page.request.path, role_of(ada)) == (200, "/account", "user")
    assert "Now a plain user." in flashes(page)


def test_a_user_is_disabled_and_enabled_from_the_list(app, root, ada):
    desk, agent = at_browser(app, root), Agent(app.test_client(), ada.headers)
    for act, other, status in (("Disable", "Enable", 401), ("Enable", "Disable", 200)):
        page = desk.get("/admin", query_string={"q": ada.email}).text
        assert (f'aria-label="{act}: {ada.email}"' in page, f'aria-label="{other}: {ada.email}"' in page) == (
            True,
            False,
        )
        assert ("Make an admin" in page) is (act == "Disable")
        done = desk.post(f"/admin/users/{ada.id}/{act.lower()}", data={"q": ada.email}, follow_redirects=True)
        assert (done.request.args["q"], agent.get("/v1/tools").status_code) == (ada.email, status)


@pytest.mark.parametrize("act", ["Make an admin", "Disable"])
def test_what_is_done_to_a_user_is_asked_about_first(app, root, ada, act):
    page = at_browser(app, root).get("/admin", query_string={"q": ada.email}).text
    asked = [each for each in re.findall(r"<details class=\"sure\">.*?</details>", page, re.S) if f">{act}…<" in each]
    assert [each.count(f'aria-label="{act}: {ada.email}"') for each in asked] == [page.count(f">{act}<")] == [1]


@pytest.mark.parametrize(("act", "form"), [("role", {"role": "admin"}), ("disable", {}), ("enable", {})])
def test_the_list_comes_back_where_it_was(app, root, new_person, monkeypatch, act, form):
    monkeypatch.setattr("webapp.pages.admin.PAGE", 1)
    here = uuid4().hex
    _, last = (new_person(name, email=f"{name}@{here}.example.org") for name in ("ada", "bob"))
    desk = at_browser(app, root)
    rest = follow(desk, desk.get("/admin", query_string={"q": here}).text, "Load more")
    kept = dict(re.findall(r'<input type="hidden" name="(q|cursor)" value="([^"]*)"', rest))
    response = desk.post(f"/admin/users/{last.id}/{act}", data={**form, **kept})
    place = f"user-{last.id}"
    assert response.location.endswith(f"#{place}")
    assert f'id="{place}"' in desk.get(response.location).text


def test_nobody_shuts_themselves_out(app, root, admin, new_person):
    new_person("other", role="admin")
    assert admin.ask("PUT", f"{ADMIN}/users/{root.id}/access", json={"disabled": True}).status_code == 409
    desk = at_browser(app, root)
    assert f'"Disable: {root.email}"' not in desk.get("/admin", query_string={"q": root.email}).text
    assert desk.post(f"/admin/users/{root.id}/disable").status_code == 409
    assert desk.get("/admin").status_code == 200


@pytest.fixture
def only_admin(root, database_url):
    """Root, while nobody else is an admin who may come in."""
    owner = make_engine(database_url, pool_size=1)
    others = "UPDATE users SET disabled_at = '2000-01-01' WHERE role = 'admin' AND disabled_at IS NULL AND id <> :id"
    with owner.begin() as connection:
        connection.execute(text(others), {"id": root.id})
    yield root
    with owner.begin() as connection:
        connection.execute(text("UPDATE users SET disabled_at = NULL WHERE disabled_at = '2000-01-01'"))
    owner.dispose()


def test_the_only_admin_is_offered_no_way_out(app, only_admin, ada):
    desk = at_browser(app, only_admin)
    page = desk.get("/admin", query_string={"q": only_admin.email}).text
    assert "Make a plain user" not in page
    assert "The only admin stays one" in page
    # Somebody else may have gone in between.
    assert desk.post(f"/admin/users/{only_admin.id}/role", data={"role": "user"}).status_code == 409
    desk.post(f"/admin/users/{ada.id}/role", data={"role": "admin"})
    page = desk.get("/admin", query_string={"q": only_admin.email}).text
    assert f'aria-label="Make a plain user: {only_admin.email}"' in page
    assert "The only admin stays one" not in page


def test_a_job_is_tried_again_from_the_page(app, root, ada, failed):
    desk = at_browser(app, root)
    page = desk.get("/admin").text
    address = f"/admin/jobs/memory/{ada.id}/{failed}/retry"
    assert "bees" not in page
    assert "given up on" in page
    assert desk.post(address).status_code == 303
    assert rows(ada, "SELECT state FROM embeddings")[0].state == "pending"
