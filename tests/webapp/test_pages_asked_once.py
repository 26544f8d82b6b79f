"""A page that is looked at asks the database nothing twice."""

from __future__ import annotations

from collections import Counter

import pytest
from flask import Flask
from pages_browser import at_browser, stored
from sqlalchemy import Engine, event


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/memories",
        "/memories?q=kiln",
        "/memories/{memory}",
        "/memories/{memory}/edit",
        "/search?q=kiln",
        "/conversations",
        "/facts",
        "/entities",
        "/spaces",
        "/spaces/default",
        "/themes",
        "/record",
        "/tokens",
        "/remember",
        "/preferences",
    ],
)
def test_a_page_asks_nothing_twice(app: Flask, ada, path: str) -> None:
    reader = at_browser(app, ada)
    memory = stored(ada, "The kiln reaches cone ten by noon")
    # The first visit makes a notebook.
    reader.get("/")
    asked: Counter[tuple[str, str]] = Counter()

    def note(_connection, _cursor, statement, parameters, _context, _many):
        asked[statement, repr(parameters)] += 1

    event.listen(Engine, "before_cursor_execute", note)
    page = reader.get(path.format(memory=memory))
    event.remove(Engine, "before_cursor_execute", note)
    assert page.status_code == 200
    assert asked
    assert [statement for (statement, _), times in asked.items() if times > 1] == []
