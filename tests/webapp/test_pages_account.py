"""The page of the account: its time zone, another password, everything taken along, everything erased."""

from __future__ import annotations

import io
import json
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor, wait
from html import unescape

import pytest
from api_agent import Agent, add_space, rows
from pages_browser import at_browser, stored
from sqlalchemy import text as sql

from memory.accounts.erase import is_genuine
from memory.clock import utc_now
from memory.record.journal import record
from memory.storage.database import user_session
from webapp.pages.tries import COOKIE

PASSWORD = "correct horse battery"
NEW = "another horse battery"


@pytest.fixture
def browser(app, ada):
    return at_browser(app, ada)


def change(browser, old=PASSWORD, password=NEW, again=NEW):
    return browser.post("/account/password", data={"old": old, "password": password, "again": again})


# --- time zone ------------------------------------------------------------------------------------------------------


def set_zone(browser, name):
    return browser.post("/account/time-zone", data={"time_zone": name})


def zone_shown(browser):
    return re.search(r'id="time_zone"\s+name="time_zone"\s+value="([^"]*)"', browser.get("/account").text)[1]


@pytest.mark.parametrize("typed", ["America/New_York", " america/new york ", "New York"])
def test_a_time_zone_is_written_into_the_preferences(browser, client, ada, typed):
    assert zone_shown(browser) == "UTC"
    Agent(client, ada.headers).ask("PUT", "/v1/preferences", json={"document": "# Be brief.\n"})
    assert set_zone(browser, typed).location == "/account"
    assert ("The time zone is America/New_York." in browser.get("/account").text, zone_shown(browser)) == (
        True,
        "America/New_York",
    )
    row = Agent(client, ada.headers).get("/v1/preferences").json
    assert (row["version"], row["source"]) == (2, "page")
    assert row["document"] == "---\ntime_zone: America/New_York\n---\n\n# Be brief.\n"
    set_zone(browser, typed)
    assert Agent(client, ada.headers).get("/v1/preferences").json["version"] == 2


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "<b>", "localtime"])
def test_an_unknown_time_zone_is_refused_in_its_field(browser, ada, name):
    response = set_zone(browser, name)
    assert response.status_code == 422
    assert "It is not a time zone; write one such as Europe/Berlin." in response.text
    assert 'aria-describedby="problem-time_zone"' in response.text
    assert "<b>" not in response.text
    assert rows(ada, "SELECT version FROM preferences") == []


def test_the_list_of_zones_has_places_and_not_the_names_of_old(browser):
    listed = re.findall(r'<option value="([^"]*)">', browser.get("/account").text)
    assert listed[0] == "UTC"
    assert {"Pacific/Auckland", "America/Argentina/Ushuaia"} <= set(listed)
    assert not {"US/Pacific", "Etc/GMT+1", "GB", "localtime"} & set(listed)


def test_no_time_zone_is_written_in_incognito(browser, ada):
    browser.post("/incognito/start")
    assert set_zone(browser, "Asia/Tokyo").status_code == 409
    assert rows(ada, "SELECT version FROM preferences") == []


# --- password -------------------------------------------------------------------------------------------------------


def test_a_changed_password_opens_the_account(app, ada, browser):
    assert change(browser).status_code == 303
    assert at_browser(app, ada, NEW).get("/account").status_code == 200


def test_other_browsers_are_logged_out_and_this_one_goes_on(app, ada, browser):
    other = at_browser(app, ada)
    change(browser)
    assert other.get("/memories").location.startswith("/login")
    assert browser.get("/memories").status_code == 200


def test_incognito_does_not_end_with_the_old_password(browser):
    browser.post("/incognito/start")
    change(browser)
    assert "Incognito." in browser.get("/account").text


@pytest.mark.parametrize(
    ("form", "field"),
    [({"old": "wrong horse"}, "old"), ({"password": "short", "again": "short"}, "password"), ({"again": "x"}, "again")],
)
def test_a_password_that_does_not_fit_changes_nothing(app, ada, browser, form, field):
    response = change(browser, **form)
    assert (response.status_code, f'id="problem-{field}"' in response.text) == (422, True)
    assert at_browser(app, ada).get("/account").status_code == 200


@pytest.mark.parametrize("path", ["/account/time-zone", "/account/password", "/account/erase"])
def test_the_address_of_a_refused_form_leads_back(client, browser, path):
    for reader in (browser, client):
        assert reader.get(path, headers={"Accept": "text/html"}).location == "/account"
    assert client.get("/account").location.startswith("/login")


def test_the_present_password_cannot_be_guessed_for_long(browser, lasting_window):
    answers = [change(browser, old=f"guess {number}").status_code for number in range(11)]
    assert answers == [422] * 10 + [429]


def test_a_new_password_that_is_too_short_is_no_try_at_the_old_one(app, ada, browser):
    assert [change(browser, password="short", again="short").status_code for _ in range(11)] == [422] * 11
    assert change(browser).status_code == 303


def test_the_limit_is_said_in_a_sentence(browser):
    said = [change(browser, old="wrong").text for _ in range(11)][-1]
    assert "It is not looked at: these were too many tries. Wait five minutes, then try again.<" in said


def test_the_change_is_in_the_audit_without_a_password(browser, ada):
    change(browser)
    [event] = rows(ada, "SELECT details FROM audit_events WHERE action = 'user.password_changed'")
    assert event.details == {}


# --- export ---------------------------------------------------------------------------------------------------------


def test_everything_can_be_downloaded(browser, ada):
    stored(ada, "Ada keeps bees on the roof")
    response = browser.get("/account/export")
    assert response.headers["Content-Disposition"].startswith('attachment; filename="commonplace-')
    assert response.json["memories"][0]["text"] == "Ada keeps bees on the roof"


def test_a_large_export_is_whole(browser, ada):
    for number in range(12):
        stored(ada, f"Page {number} of the log. " + "".join(f"word{number}x{n} " for n in range(2000)))
    pool = ada.runtime.sessions.kw["bind"].pool
    held = pool.checkedout()
    response = browser.get("/account/export")
    # It may be read as slowly as anybody likes.
    assert pool.checkedout() == held
    assert response.content_length == len(response.data)
    assert len(response.json["memories"]) == 12


def test_memories_can_be_downloaded_as_markdown(browser, ada):
    for number in range(40):
        stored(ada, f"Page {number} of the log. " + "".join(f"word{number}x{n} " for n in range(2000)))
    assert 'href="/account/export/markdown"' in browser.get("/account").text
    response = browser.get("/account/export/markdown")
    name = response.headers["Content-Disposition"]
    assert (name.startswith('attachment; filename="commonplace-'), name.endswith('.zip"')) == (True, True)
    assert (response.content_length, response.mimetype) == (len(response.data), "application/zip")
    with zipfile.ZipFile(io.BytesIO(response.data)) as archive:
        texts = [archive.read(name).decode().rpartition("---\n\n")[2] for name in archive.namelist()]
    assert sorted(texts) == sorted(f"{text}\n" for (text,) in rows(ada, "SELECT text FROM memories"))
    assert len(rows(ada, "SELECT FROM audit_events WHERE action = 'user.exported'")) == 1


def test_an_agent_can_take_everything_along(client, ada):
    agent = Agent(client, ada.headers)
    agent.store("Ada keeps bees")
    assert len(agent.get("/v1/export").json["memories"]) == 1


def test_an_export_is_in_the_audit(client, ada):
    Agent(client, ada.headers).get("/v1/export")
    assert len(rows(ada, "SELECT FROM audit_events WHERE action = 'user.exported'")) == 1


def test_a_confined_token_cannot_take_everything_along(client, ada):
    add_space(ada, "work")
    assert Agent(client, ada.new_token("read", space="work")).get("/v1/export").status_code == 403


def test_nothing_is_taken_along_incognito(client, ada, browser):
    browser.post("/incognito/start")
    assert browser.get("/account/export").status_code == 409
    assert browser.get("/account/export/markdown").status_code == 409


def test_nothing_of_another_user_is_in_it(client, ada, bob):
    Agent(client, ada.headers).store("Ada keeps bees")
    assert "bees" not in Agent(client, bob.headers).get("/v1/export").text


# --- erase ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def last_admin(ada, bob):
    """Ada, who alone is an admin: every test makes its own."""
    with ada.runtime.databases.as_owner() as owner, owner.begin() as connection:
        connection.execute(
            sql("UPDATE users SET role = CASE WHEN id = :id THEN 'admin' ELSE 'user' END"), {"id": ada.id}
        )


def erase(browser, password=PASSWORD, sentence="erase everything"):
    return browser.post("/account/erase", data={"password": password, "sentence": sentence})


def test_everything_is_erased_and_the_report_says_so(app, ada, browser):
    stored(ada, "Ada keeps bees on the roof")
    response = erase(browser)
    report = json.loads(unescape(re.search(r'aria-label="The report">(.*?)</pre>', response.text, re.S).group(1)))
    assert is_genuine(report, ada.runtime.keys)
    assert (report["deleted"]["memories"], report["email"]) == (1, ada.email)
    assert "Log out" not in response.text
    assert browser.get("/memories").location.startswith("/login")
    assert rows(ada, "SELECT FROM users") == []
    # Nor does the browser tell that there was an account.
    assert browser.get_cookie(COOKIE) is None


def test_everything_is_erased_though_a_memory_is_being_changed(ada, browser):
    stored(ada, "Ada hums.")
    with ThreadPoolExecutor(1) as pool:
        with user_session(ada.runtime.sessions, ada.id) as session:
            # As whoever changes a memory without its space does: the row, then what tells of it.
            session.execute(sql("UPDATE memories SET importance = importance"))
            erased = pool.submit(erase, browser)
            assert not wait([erased], timeout=0.5).done
            record(session, ada.id, "memory.searched", actor="test", now=utc_now())
            session.flush()
        assert erased.result().status_code == 200
    assert "Everything is erased" in erased.result().text


def test_an_erased_users_tokens_open_nothing(client, ada, browser):
    erase(browser)
    assert client.get("/v1/memory/entries", headers=ada.headers).status_code == 401


@pytest.mark.parametrize("form", [{"password": "wrong horse"}, {"sentence": "erase"}, {"sentence": ""}])
def test_without_password_and_sentence_nothing_is_erased(ada, browser, form):
    stored(ada, "Ada keeps bees on the roof")
    assert erase(browser, **form).status_code == 422
    assert len(rows(ada, "SELECT FROM memories")) == 1


def test_other_accounts_stay_when_one_is_erased(app, ada, bob, browser):
    stored(bob, "Bob keeps hens")
    erase(browser)
    assert "Bob keeps hens" in at_browser(app, bob).get("/memories").text


def test_the_last_admin_is_told_why_the_account_stays(ada, browser, last_admin):
    response = erase(browser)
    assert response.status_code == 409
    assert "This is the last admin: make somebody else one first" in response.text
    assert len(rows(ada, "SELECT FROM users")) == 1


@pytest.mark.parametrize("path", ["/account/time-zone", "/account/password", "/account/erase"])
def test_another_site_cannot_reach_the_account(ada, browser, path):
    form = {"password": PASSWORD, "sentence": "erase everything"}
    assert browser.post(path, data=form, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert len(rows(ada, "SELECT FROM users")) == 1
