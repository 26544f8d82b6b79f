"""`commonplace export`, `import export`, `import memories`, `erase-report verify` and `user password`."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from uuid import uuid4

import pytest
from click.testing import CliRunner
from secrets_of_tests import PASSWORD, SECRET
from sqlalchemy import delete, select, text, update
from sqlalchemy.orm import Session

from memory.accounts.accounts import authenticate, create_token, create_user
from memory.accounts.erase import erase_user
from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.models import AuditEvent, User
from memory.storage.database import make_engine
from memory.writing.remember import remember
from webapp import demo_login
from webapp.cli import accounts, bring_export, bring_notes, erasure, export
from webapp.cli.doctor import _admins, _key
from webapp.cli.main import main
from webapp.cli.wiring import owner_session
from webapp.demo_login import known_admin


@pytest.fixture
def run(monkeypatch, runtime):
    monkeypatch.setattr(export, "migrated_store", lambda: runtime)
    monkeypatch.setattr(bring_export, "migrated_store", lambda: runtime)
    monkeypatch.setattr(bring_notes, "migrated_store", lambda: runtime)
    monkeypatch.setattr(accounts, "migrated_store", lambda: runtime)
    monkeypatch.setattr(erasure.config, "load", lambda: runtime.settings)
    return lambda *words, typed=None: CliRunner().invoke(main, [str(word) for word in words], input=typed)


@pytest.fixture
def bees(ada):
    with ada.session() as session:
        draft = Draft("Ada keeps bees on the roof")
        remember(session, ada.id, "default", draft, keys=ada.runtime.keys, now=utc_now(), actor="test")
    return ada


def test_an_export_is_written_to_a_file(run, bees, tmp_path):
    path = tmp_path / "all.json"
    assert run("export", "--email", bees.email, "--out", path).exit_code == 0
    assert json.loads(path.read_text())["memories"][0]["text"] == "Ada keeps bees on the roof"


def test_an_export_goes_to_standard_output(run, bees):
    assert json.loads(run("export", "--email", bees.email).stdout)["user"]["email"] == bees.email


def test_an_export_is_utf8_whatever_the_terminal_speaks(run, ada):
    with ada.session() as session:
        draft = Draft("Crêpes cost 5 €")
        remember(session, ada.id, "default", draft, keys=ada.runtime.keys, now=utc_now(), actor="test")
    done = CliRunner(charset="latin-1").invoke(main, ["export", "--email", ada.email])
    assert json.loads(done.stdout_bytes.decode())["memories"][0]["text"] == "Crêpes cost 5 €"


def test_an_export_is_on_record(run, bees):
    run("export", "--email", bees.email)
    with bees.session() as session:
        events = session.scalars(select(AuditEvent.actor).where(AuditEvent.action == "user.exported")).all()
    assert events == ["system"]


def test_an_export_to_a_full_disk_says_so_in_one_line(bees, home, database_url):
    environment = {
        **os.environ,
        "COMMONPLACE_HOME": str(home),
        "COMMONPLACE_SECRET_KEY": SECRET,
        "DATABASE_URL": database_url,
    }
    command = [sys.executable, "-m", "webapp.cli", "export", "--email", bees.email]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "Error: cannot write to standard output: No space left on device\n"


def test_an_export_that_stops_half_way_holds_no_connection(run, ada):
    with ada.session() as session:
        # More than what a file holds back until it is written.
        draft = Draft("bees " * 10_000)
        remember(session, ada.id, "default", draft, keys=ada.runtime.keys, now=utc_now(), actor="test")
    pool = ada.runtime.sessions.kw["bind"].pool
    before = pool.checkedout()
    done = run("export", "--email", ada.email, "--out", "/dev/full")
    assert done.exit_code == 1
    assert pool.checkedout() <= before


def test_an_export_comes_into_another_account(run, bees, bob, tmp_path):
    path = tmp_path / "all.json"
    run("export", "--email", bees.email, "--out", path)
    done = run("import", "export", path, "--email", bob.email)
    assert (done.exit_code, "Brought in: spaces 1, memories 1." in done.output) == (0, True)
    assert json.loads(run("export", "--email", bob.email).stdout)["memories"][0]["text"] == "Ada keeps bees on the roof"


@pytest.mark.parametrize(("weight", "comes_in"), [("list_reads", True), ("list_reeds", False)])
def test_an_export_may_keep_a_weight_of_an_earlier_version(run, bees, bob, tmp_path, weight, comes_in):
    path = tmp_path / "all.json"
    run("export", "--email", bees.email, "--out", path)
    taken = json.loads(path.read_text())
    taken["spaces"][0]["policy"] = {weight: 0.3}
    path.write_text(json.dumps(taken))
    done = run("import", "export", path, "--email", bob.email)
    assert (done.exit_code == 0, weight in done.stderr) == (comes_in, not comes_in)


def test_memories_are_written_as_markdown_and_come_back(run, bees, bob, tmp_path):
    folder = tmp_path / "vault" / "bees"
    done = run("export", "--email", bees.email, "--markdown", folder)
    assert (done.exit_code, done.stdout) == (0, f"Memories written into {folder}: 1.\n")
    [file] = folder.rglob("*.md")
    assert (file.parent.name, "Ada keeps bees on the roof" in file.read_text()) == ("default", True)
    assert [oct(path.stat().st_mode & 0o777) for path in (folder, file.parent, file)] == ["0o700", "0o700", "0o600"]
    assert "1 brought in" in run("import", "memories", folder, "--email", bob.email).stdout
    assert "0 brought in; 1 there already" in run("import", "memories", folder, "--email", bees.email).stdout
    file.write_text(file.read_text().replace("on the roof", "in the yard"))
    corrected = run("import", "memories", folder, "--email", bees.email).stdout
    assert "0 brought in; 1 corrected, as their documents have another text" in corrected
    assert "A running server makes their vectors" in corrected


def test_no_markdown_is_written_over_anything(run, bees, tmp_path):
    (tmp_path / "vault").mkdir()
    assert run("export", "--email", bees.email, "--markdown", tmp_path / "vault").exit_code == 0
    again = run("export", "--email", bees.email, "--markdown", tmp_path / "vault")
    assert (again.exit_code, "is not empty: name a folder that is new or empty" in again.stderr) == (1, True)
    both = run("export", "--email", bees.email, "--markdown", tmp_path / "new", "--out", tmp_path / "x.json")
    assert (both.exit_code, "leave --out out" in both.stderr) == (2, True)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written_is_named(run, bees, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("export", "--email", bees.email, "--markdown", tmp_path / "file" / "vault")
    assert (done.exit_code, "cannot write into" in done.stderr) == (1, True)


@pytest.fixture
def notes(tmp_path):
    """A folder of notes from elsewhere."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "home.md").write_text("# Keys\n\n- The spare key is at Bob's.\n- The shed has none.\n")
    (tmp_path / "notes" / "mem0.json").write_text('{"results": [{"memory": "Loves hiking"}]}')
    return tmp_path / "notes"


def test_notes_from_elsewhere_come_in_once(run, ada, notes):
    first, again = (run("import", "memories", notes, "--email", ada.email) for _ in range(2))
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "3 brought in" in first.stdout
    assert "0 brought in; 3 there already" in again.stdout
    kept = json.loads(run("export", "--email", ada.email).stdout)["memories"]
    assert {(each["text"], *each["tags"], *each["source_ids"]) for each in kept} == {
        ("The spare key is at Bob's.", "keys", "notes/home.md"),
        ("The shed has none.", "keys", "notes/home.md"),
        ("Loves hiking", "notes/mem0.json"),
    }


def test_notes_are_shown_before_they_come_in(run, ada, notes):
    done = run("import", "memories", notes, "--email", ada.email, "--dry-run")
    assert done.stdout.splitlines() == [
        "The spare key is at Bob's.",
        "The shed has none.",
        "Loves hiking",
        "3 in all. Nothing was stored.",
    ]
    assert json.loads(run("export", "--email", ada.email).stdout)["memories"] == []


@pytest.fixture
def came_in(run, ada, notes):
    """The same folder, which came in, and has changed since: a line, and a file that is gone."""
    (notes / "bees.txt").write_text("The hive is by the shed.")
    run("import", "memories", notes, "--email", ada.email)
    (notes / "home.md").write_text("# Keys\n\n- The spare key is at Bob's.\n- The shed has two keys by now.\n")
    (notes / "bees.txt").unlink()
    return notes


def statuses(run, ada):
    return {each["text"]: each["status"] for each in json.loads(run("export", "--email", ada.email).stdout)["memories"]}


def test_what_notes_have_no_more_is_archived_if_asked_for(run, ada, came_in):
    run("import", "memories", came_in, "--email", ada.email)
    assert set(statuses(run, ada).values()) == {"active"}
    done = run("import", "memories", came_in, "--email", ada.email, "--archive-gone")
    assert "0 brought in; 3 there already; 2 archived" in done.stdout
    assert {text for text, status in statuses(run, ada).items() if status == "archived"} == {
        "The shed has none.",
        "The hive is by the shed.",
    }
    again = run("import", "memories", came_in, "--email", ada.email, "--archive-gone")
    assert ("3 there already" in again.stdout, "archived" in again.stdout) == (True, False)
    shown = run("import", "memories", came_in, "--email", ada.email, "--archive-gone", "--dry-run")
    assert "3 in all. Nothing was stored." in shown.stdout


def test_what_would_be_archived_is_shown(run, ada, came_in):
    done = run("import", "memories", came_in, "--email", ada.email, "--archive-gone", "--dry-run")
    assert done.stdout.splitlines()[3:] == [
        "To be archived: The hive is by the shed.",
        "To be archived: The shed has none.",
        "3 in all, and 2 to be archived. Nothing was stored.",
    ]
    assert set(statuses(run, ada).values()) == {"active"}


def test_of_one_file_only_what_came_from_it_is_archived(run, ada, came_in, monkeypatch):
    monkeypatch.chdir(came_in)
    (came_in / "one.md").write_text("The red door sticks.\n")
    run("import", "memories", "one.md", "--email", ada.email)
    (came_in / "one.md").write_text("The red door opens.\n")
    run("import", "memories", "one.md", "--email", ada.email, "--archive-gone")
    assert {text for text, status in statuses(run, ada).items() if status == "archived"} == {"The red door sticks."}


@pytest.mark.parametrize("change", ["pinned", "manually_saved", "corrected", "also elsewhere"])
def test_what_became_the_owners_or_came_from_elsewhere_too_is_not_archived(run, ada, came_in, change):
    with ada.session() as session:
        memory_id = session.scalar(text("SELECT id FROM memories WHERE text = 'The shed has none.'"))
        changes = {
            "pinned": "pinned = true",
            "manually_saved": "manually_saved = true",
            "corrected": "version = 2",
            "also elsewhere": "source_ids = source_ids || ARRAY['other/home.md']",
        }
        session.execute(text(f"UPDATE memories SET {changes[change]} WHERE id = '{memory_id}'"))
    run("import", "memories", came_in, "--email", ada.email, "--archive-gone")
    assert statuses(run, ada)["The shed has none."] == "active"


def test_what_an_archived_note_nearly_said_comes_in_by_itself(run, ada, notes):
    (notes / "home.md").write_text("The spare key hangs behind the blue door of the shed.\n")
    run("import", "memories", notes, "--email", ada.email)
    (notes / "home.md").write_text("The spare key hangs behind the blue door of the shed!\n")
    done = run("import", "memories", notes, "--email", ada.email, "--archive-gone")
    assert "1 brought in; 1 there already; 1 archived" in done.stdout


@pytest.mark.parametrize("folder", [".", ".."])
def test_a_folder_without_a_name_tells_not_what_came_from_it(run, ada, notes, monkeypatch, folder):
    (notes / "deep").mkdir()
    monkeypatch.chdir(notes if folder == "." else notes / "deep")
    done = run("import", "memories", folder, "--email", ada.email, "--archive-gone")
    assert (done.exit_code, "by its name" in done.stderr) == (1, True)


def test_an_empty_folder_archives_nothing(run, ada, came_in):
    for each in came_in.iterdir():
        each.unlink()
    done = run("import", "memories", came_in, "--email", ada.email, "--archive-gone")
    assert (done.exit_code, "nothing in it that could be a memory" in done.stderr) == (1, True)
    assert set(statuses(run, ada).values()) == {"active"}


def test_a_note_that_cannot_be_read_keeps_all_out(run, ada, notes):
    (notes / "z.jsonl").write_text('{"text": ""}')
    done = run("import", "memories", notes, "--email", ada.email)
    assert (done.exit_code, "notes/z.jsonl, line 1: has no text" in done.stderr) == (1, True)
    assert json.loads(run("export", "--email", ada.email).stdout)["memories"] == []


def test_a_folder_without_notes_says_so(run, ada, tmp_path):
    done = run("import", "memories", tmp_path, "--email", ada.email)
    assert (done.exit_code, "nothing in it that could be a memory" in done.stderr) == (1, True)


def test_an_account_that_has_something_takes_no_export(run, bees, tmp_path):
    path = tmp_path / "all.json"
    run("export", "--email", bees.email, "--out", path)
    done = run("import", "export", path, "--email", bees.email)
    assert (done.exit_code, "has memories already" in done.stderr, "Traceback" in done.output) == (1, True, False)


def test_what_is_no_export_is_refused(run, bob, tmp_path):
    path = tmp_path / "all.json"
    path.write_text('{"memories": []}')
    done = run("import", "export", path, "--email", bob.email)
    assert (done.exit_code, "is no export of Commonplace" in done.stderr) == (1, True)


def test_an_export_is_the_owners_to_read_alone(run, bees, tmp_path):
    path = tmp_path / "all.json"
    run("export", "--email", bees.email, "--out", path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_export_goes_where_a_link_leads(run, bees, tmp_path):
    link, path = tmp_path / "all.json", tmp_path / "elsewhere" / "bees.json"
    path.parent.mkdir()
    link.symlink_to(path)
    assert run("export", "--email", bees.email, "--out", link).exit_code == 0
    assert link.is_symlink()
    assert json.loads(path.read_text())["memories"][0]["text"] == "Ada keeps bees on the roof"


def test_an_export_that_fails_leaves_the_last_one(run, bees, tmp_path, monkeypatch):
    path = tmp_path / "all.json"
    run("export", "--email", bees.email, "--out", path)
    before = path.read_text()

    def full(_file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export.os, "fsync", full)
    done = run("export", "--email", bees.email, "--out", path)
    assert (done.exit_code, f"cannot write {path}: No space left on device" in done.stderr) == (1, True)
    assert [each.name for each in tmp_path.iterdir()] == ["all.json"]
    assert path.read_text() == before


def test_an_export_to_nowhere_says_so(run, bees, tmp_path):
    done = run("export", "--email", bees.email, "--out", tmp_path / "none" / "all.json")
    assert (done.exit_code, "cannot write" in done.stderr, "Traceback" in done.output) == (1, True, False)


def test_a_pipe_is_no_export(run, bob, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    # Open at its other end too, or opening it would wait.
    held = os.open(path, os.O_RDWR)
    done = run("import", "export", path, "--email", bob.email)
    os.close(held)
    assert (done.exit_code, "no pipe" in done.stderr) == (1, True)


def test_nobody_has_no_export(run):
    assert run("export", "--email", "nobody@example.org").exit_code == 1


@pytest.fixture
def report(bees, database_url, tmp_path):
    owner = make_engine(database_url, pool_size=1)
    with Session(owner) as session, session.begin():
        signed = erase_user(session, bees.id, keys=bees.runtime.keys, now=utc_now())
    owner.dispose()
    path = tmp_path / "report.json"
    path.write_text(json.dumps(signed, indent=2))
    return path


def test_a_report_of_ours_is_genuine(run, report, bees):
    result = run("erase-report", "verify", report)
    assert (result.exit_code, bees.email in result.output) == (0, True)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace('"memories": 1', '"memories": 0'),
        lambda text: "{",
        str.upper,
        # Deeper than a parser follows.
        lambda text: "[" * 100_000,
    ],
    ids=["number", "cut", "upper", "deep"],
)
def test_a_changed_report_is_not(run, report, spoil):
    report.write_text(spoil(report.read_text()))
    done = run("erase-report", "verify", report)
    assert (done.exit_code, done.stderr.startswith("This is no report")) == (1, True)


@pytest.fixture
def demo(runtime):
    with owner_session(runtime) as session:
        made = create_user(session, demo_login.EMAIL, demo_login.PASSWORD, soft_cap=9, now=utc_now(), role="admin").id
        secret = create_token(session, made, "try", ["read", "service"], now=utc_now())
    yield made, secret
    with owner_session(runtime) as session:
        session.execute(delete(User).where(User.email.in_([demo_login.EMAIL, BESIDE])))


def test_the_demo_is_no_admin_beside_another_while_everybody_knows_its_password(run, runtime, ada, demo):
    user_id, secret = demo
    with owner_session(runtime) as session:
        own = session.get_one(User, ada.id).password_hash
        session.execute(update(User).where(User.id != user_id).values(role="user"))
        # As the only one it stays.
        assert f"{demo_login.EMAIL} is the only admin" in accounts.leave_demo_no_admin(session, now=utc_now())
        session.get_one(User, user_id).password_hash = own
        assert known_admin(session) is None
        session.rollback()
    assert not _admins(runtime).well
    created = run("user", "create", "--email", BESIDE, "--admin", "--password", NEW)
    assert f"{demo_login.EMAIL} is an admin no more" in created.stderr
    assert _admins(runtime).well
    with owner_session(runtime) as session:
        # What acts for others is closed with it.
        assert authenticate(session, secret, utc_now()) is None


BESIDE = "beside-the-demo@example.org"


def test_doctor_tells_of_a_secret_key_that_others_may_read(runtime, tmp_path):
    (tmp_path / "secret.key").touch(mode=0o600)
    looked_at = replace(runtime, settings=replace(runtime.settings, home=tmp_path))
    assert _key(looked_at).well
    (tmp_path / "secret.key").chmod(0o640)
    assert _key(looked_at).says == "other accounts of this machine may read it"


NEW = "another horse battery"


def log_in(app, person, password):
    browser = app.test_client()
    assert browser.post("/login", data={"email": person.email, "password": password}).status_code == 303
    return browser


@pytest.mark.parametrize(
    ("more", "typed"),
    [(["--password", NEW], None), (["--password", "-"], f"{NEW}\n"), ([], f"{NEW}\n{NEW}\n")],
    ids=["given", "standard input", "asked twice"],
)
def test_a_lost_password_is_replaced(run, app, ada, more, typed):
    browser = log_in(app, ada, PASSWORD)
    result = run("user", "password", "--email", ada.email, *more, typed=typed)
    assert (result.exit_code, NEW in result.output) == (0, False)
    assert browser.get("/memories").location.startswith("/login")
    assert log_in(app, ada, NEW).get("/memories").status_code == 200
    with ada.session() as session:
        found = select(AuditEvent.actor, AuditEvent.details).where(AuditEvent.action == "user.password_changed")
        assert session.execute(found).all() == [("system", {})]


@pytest.mark.parametrize(
    ("more", "typed"),
    [(["--password", NEW], None), (["--password", "-"], f"{NEW}\n"), ([], f"{NEW}\n{NEW}\n")],
    ids=["given", "standard input", "asked twice"],
)
def test_a_new_user_has_the_password_that_was_given(run, app, more, typed):
    email = f"new-{uuid4().hex[:12]}@example.org"
    result = run("user", "create", "--email", email, *more, typed=typed)
    assert (result.exit_code, result.stdout, NEW in result.output) == (0, f"Created {email}.\n", False)
    login = {"email": email, "password": NEW}
    assert app.test_client().post("/login", data=login).status_code == 303


@pytest.mark.parametrize(
    ("more", "typed", "said"),
    [
        (["--password", "short"], None, "password: must be at least 10 characters"),
        ([], f"{NEW}\nanother house battery\n", "do not match"),
    ],
)
def test_a_password_that_does_not_fit_replaces_nothing(run, app, ada, more, typed, said):
    result = run("user", "password", "--email", ada.email, *more, typed=typed)
    assert (result.exit_code, said in result.output) == (1, True)
    assert log_in(app, ada, PASSWORD).get("/memories").status_code == 200


def test_a_password_from_windows_ends_before_the_end_of_its_line(app, ada, home, database_url):
    ours = {"COMMONPLACE_HOME": str(home), "DATABASE_URL": database_url, "COMMONPLACE_SECRET_KEY": SECRET}
    command = [sys.executable, "-m", "webapp.cli", "user", "password", "--email", ada.email, "--password", "-"]
    subprocess.run(command, env={**os.environ, **ours}, input=f"{NEW}\r\n".encode(), capture_output=True, check=True)
    assert log_in(app, ada, NEW).get("/memories").status_code == 200


@pytest.mark.parametrize(
    ("password", "sent"), [(b"b\xfccherei am platz", b""), (b"-", b"b\xfccherei am platz\n")], ids=["argument", "input"]
)
def test_a_password_that_is_not_utf8_is_refused_in_a_line_that_does_not_quote_it(
    ada, home, database_url, password, sent
):
    ours = {"COMMONPLACE_HOME": str(home), "DATABASE_URL": database_url, "COMMONPLACE_SECRET_KEY": SECRET}
    command = [sys.executable, "-m", "webapp.cli", "user", "password", "--email", ada.email, "--password", password]
    done = subprocess.run(command, env={**os.environ, **ours}, input=sent, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert re.fullmatch(rb"Error: what was given is not UTF-8 \([a-z ]+\)\n", done.stderr)


def test_what_a_terminal_cannot_show_is_not_blamed_on_what_was_given(run, home, database_url):
    email = f"mai\u2014{uuid4().hex[:12]}@example.org"
    assert run("user", "create", "--email", email, "--password", NEW).exit_code == 0
    ours = {"COMMONPLACE_HOME": str(home), "DATABASE_URL": database_url, "COMMONPLACE_SECRET_KEY": SECRET}
    command = [sys.executable, "-m", "webapp.cli", "user", "enable", "--email", email]
    shown = {**os.environ, **ours, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=shown, capture_output=True, text=True, check=False)
    said = "Error: what there is to say cannot be written in latin-1: set PYTHONIOENCODING to utf-8\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_a_password_is_not_asked_for_without_a_terminal(ada, home, database_url):
    ours = {"COMMONPLACE_HOME": str(home), "DATABASE_URL": database_url, "COMMONPLACE_SECRET_KEY": SECRET}
    done = subprocess.run(
        [sys.executable, "-m", "webapp.cli", "user", "password", "--email", ada.email],
        env={**os.environ, **ours},
        input=f"{NEW}\n{NEW}\n",
        capture_output=True,
        text=True,
        check=False,
        # The tests may have been started from a terminal.
        start_new_session=True,
    )
    said = "there is no terminal to ask for the password on: --password - reads it from standard input"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"Error: {said}\n")


def test_nobody_has_no_password(run):
    result = run("user", "password", "--email", "nobody@example.org")
    assert (result.exit_code, "there is no user" in result.output) == (1, True)


@pytest.fixture
def erase(run, monkeypatch, runtime):
    monkeypatch.setattr("webapp.cli.running.migrated_runtime", lambda *, serves: runtime)
    return lambda *words, typed=None: run("user", "erase", *words, typed=typed)


@pytest.mark.parametrize(("more", "typed"), [(["--yes"], None), ([], "y\n")], ids=["unasked", "asked"])
def test_a_user_is_erased_and_the_report_is_genuine(run, erase, app, bees, bob, tmp_path, more, typed):
    browser = log_in(app, bees, PASSWORD)
    done, path = erase("--email", bees.email, *more, typed=typed), tmp_path / "report.json"
    path.write_text(done.stdout)
    report = json.loads(done.stdout)
    assert (report["email"], report["deleted"]["memories"], report["left"]) == (bees.email, 1, 0)
    assert run("erase-report", "verify", path).exit_code == 0
    assert browser.get("/memories").location.startswith("/login")
    assert run("export", "--email", bees.email).exit_code == 1
    assert run("export", "--email", bob.email).exit_code == 0


def test_a_user_stays_where_it_is_not_said_again(run, erase, bees):
    done = erase("--email", bees.email, typed="n\n")
    assert (done.exit_code, done.stdout) == (1, "")
    assert (
        json.loads(run("export", "--email", bees.email).stdout)["memories"][0]["text"] == "Ada keeps bees on the roof"
    )


def test_the_last_admin_is_not_erased(run, erase, bees, bob):
    with bees.runtime.databases.as_owner() as owner, owner.begin() as connection:
        connection.execute(
            text("UPDATE users SET role = CASE WHEN id = :id THEN 'admin' ELSE 'user' END"), {"id": bees.id}
        )
    done = erase("--email", bees.email, "--yes")
    assert (done.exit_code, "this is the last admin" in done.stderr) == (1, True)
    assert run("export", "--email", bees.email).exit_code == 0


def test_nobody_is_not_erased(erase):
    done = erase("--email", "nobody@example.org", "--yes")
    assert (done.exit_code, "there is no user" in done.stderr) == (1, True)
