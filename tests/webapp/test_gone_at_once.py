"""What was stored is answered, though somebody removes it right after the commit."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from api_agent import ENTRIES, Agent
from pages_browser import at_browser
from sqlalchemy import Engine, event, text
from sqlalchemy.orm import Session

from memory.clock import utc_now
from memory.enrichment.enrich import Enricher
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.storage.database import user_session

SPACE, THEME = "/v1/spaces", "/v1/memory/themes"


@pytest.fixture
def goes(ada: Any) -> Any:
    """Have somebody remove a row that is called so when the next transaction is committed."""

    def _goes(table: str) -> None:
        def leave(_session: Session) -> None:
            with user_session(ada.runtime.sessions, ada.id) as session:
                gone = session.execute(text(f"DELETE FROM {table} WHERE slug = 'garden' RETURNING 1"))
                assert gone.all(), "there was nothing to remove yet"

        event.listen(Session, "after_commit", leave, once=True)

    return _goes


@pytest.mark.parametrize(("path", "table"), [(SPACE, "spaces"), (THEME, "themes")])
def test_what_was_added_is_answered(agent: Agent, goes: Any, path: str, table: str) -> None:
    goes(table)
    answer = agent.post(path, {"slug": "garden"})
    assert (answer.status_code, answer.json["slug"]) == (201, "garden")


@pytest.mark.parametrize(
    ("method", "path", "body", "table"),
    [
        ("PATCH", f"{SPACE}/garden", {"soft_cap": 3}, "spaces"),
        ("POST", "/v1/memory/settings", {"space": "garden", "memory_enabled": False}, "spaces"),
        ("PATCH", f"{THEME}/garden", {"description": "What grows"}, "themes"),
    ],
)
def test_what_was_changed_is_answered(
    agent: Agent, goes: Any, method: str, path: str, body: dict[str, Any], table: str
) -> None:
    agent.post(SPACE, {"slug": "garden"})
    agent.post(THEME, {"slug": "garden"})
    goes(table)
    answer = agent.ask(method, path, json=body)
    assert (answer.status_code, answer.json["slug"]) == (200, "garden")


@pytest.mark.parametrize(
    ("path", "form", "table"),
    [
        ("/spaces", {"name": "Garden", "slug": "garden"}, "spaces"),
        ("/themes", {"display_name": "Garden", "slug": "garden"}, "themes"),
    ],
)
def test_a_page_goes_on_after_what_was_added(
    app: Any, ada: Any, goes: Any, path: str, form: dict[str, str], table: str
) -> None:
    browser = at_browser(app, ada)
    goes(table)
    assert browser.post(path, data=form).status_code == 303


@pytest.mark.parametrize(("method", "path", "body"), [("GET", "", None), ("POST", "/space", {"space": "default"})])
def test_an_entity_whose_space_goes_once_it_was_read_is_not_found(
    agent: Agent, ada: Any, method: str, path: str, body: dict[str, Any] | None
) -> None:
    agent.post(SPACE, {"slug": "garden"})
    agent.store("My sister Beatrice keeps bees behind the house", space="garden")
    Enricher(ada.runtime.sessions, utc_now).enrich_user(ada.id)
    [entity, *_] = agent.get("/v1/entities").json["entities"]
    gone: list[bool] = []

    def leave(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "FROM entities" in statement and not gone:
            gone.append(True)
            with user_session(ada.runtime.sessions, ada.id) as session:
                session.execute(text("DELETE FROM memories"))
                session.execute(text("DELETE FROM spaces WHERE slug = 'garden'"))

    event.listen(Engine, "after_cursor_execute", leave)
    try:
        answer = agent.ask(method, f"/v1/entities/{entity['id']}{path}", json=body)
    finally:
        event.remove(Engine, "after_cursor_execute", leave)
    assert (answer.status_code, gone, agent.get(f"{SPACE}/garden").status_code) == (404, [True], 404)


@pytest.mark.parametrize(("first", "second"), [("true", "true"), ("false", "true"), ("true", "false")])
def test_who_forgets_what_somebody_else_forgets_at_that_moment_is_told_until_when(
    agent: Agent, ada: Any, first: str, second: str
) -> None:
    memory = agent.store("My sister Beatrice keeps bees behind the house")
    told: list[Any] = []

    def forget_before(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "FROM memories" in statement and not told:
            told.append(None)
            undo = UNDO_WINDOW if first == "true" else None
            with user_session(ada.runtime.sessions, ada.id) as session:
                found = {"keys": ada.runtime.keys, "now": utc_now(), "actor": "test"}
                told.append(forget(session, ada.id, UUID(memory), undo=undo, **found).undo_until)

    event.listen(Engine, "after_cursor_execute", forget_before)
    try:
        answer = agent.delete(f"{ENTRIES}/{memory}", undo=second)
    finally:
        event.remove(Engine, "after_cursor_execute", forget_before)
    if first == second == "true":
        assert (answer.status_code, datetime.fromisoformat(answer.json["undo_until"])) == (200, told[1])
    else:
        assert answer.status_code == 404
