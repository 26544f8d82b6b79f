"""Moving to another account: what the browser downloads comes in again, and is there to be asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask
from furnished import PREFERENCES, furnish
from playwright.sync_api import Page, expect

from webapp.cli import bring_export
from webapp.cli.main import main

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_what_is_downloaded_comes_into_another_account(
    app: Flask,
    log_in_by_hand: Callable[..., Page],
    new_person: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner, newcomer = new_person("owner"), new_person("newcomer")
    found = furnish(app, owner)
    page = log_in_by_hand(owner)
    page.goto("/account")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export everything").click()
    download.value.save_as(path := tmp_path / "all.json")
    # Whoever logs in gets a first notebook, which is nothing that an export could spoil.
    page = log_in_by_hand(newcomer)
    monkeypatch.setattr(bring_export, "migrated_store", lambda: newcomer.runtime)
    done = CliRunner().invoke(main, ["import", "export", str(path), "--email", newcomer.email])
    assert done.exit_code == 0, done.output
    newcomer.embed()

    page.goto(f"/memories/{found.memory_id}")
    expect(page.get_by_role("main")).to_contain_text("in the first week of July, on matt cotton paper.")
    expect(page.get_by_role("main")).to_contain_text("at the end of June, on matt cotton paper.")
    page.goto(f"/conversations/{found.conversation_id}")
    expect(page.get_by_role("main")).to_contain_text("Which paper should the twelve pieces")
    page.goto(f"/notebooks/{found.notebook_id}")
    expect(page.get_by_role("heading", name="Before the exhibition")).to_be_visible()
    page.goto(f"/entities/{found.entity_id}")
    expect(page.get_by_role("heading", name="Benedita").first).to_be_visible()
    page.goto("/preferences")
    expect(page.get_by_label("Markdown")).to_have_value(PREFERENCES)
    page.goto("/search?q=Which paper do I print on?&space=studio")
    expect(page.locator("article.entry").first).to_contain_text("matt cotton")
    # On paper the answers stand beneath what was asked.
    page.emulate_media(media="print")
    expect(page.locator("#q")).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)
    page.goto("/facts")
    expect(page.get_by_text("Benedita").first).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)
