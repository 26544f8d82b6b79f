"""`commonplace export` and `commonplace erase-report verify`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from sqlalchemy.orm import Session

from memory.database import make_engine
from memory.drafts import Draft
from memory.embedding.backfill import utc_now
from memory.erase import erase_user
from memory.remember import remember
from webapp.cli import account, erasure
from webapp.cli.main import main


@pytest.fixture
def run(monkeypatch, runtime):
    monkeypatch.setattr(account, "migrated_store", lambda: runtime)
    monkeypatch.setattr(erasure.config, "load", lambda: runtime.settings)
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


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
    "spoil", [lambda text: text.replace('"memories": 1', '"memories": 0'), lambda text: "{", str.upper]
)
def test_a_changed_report_is_not(run, report, spoil):
    report.write_text(spoil(report.read_text()))
    assert run("erase-report", "verify", report).exit_code == 1
