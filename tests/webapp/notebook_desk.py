"""A reader at a notebook, for tests of its cells."""

from __future__ import annotations

import re
from typing import Any

from flask import Flask
from pages_browser import HTMX, at_browser, stored
from sqlalchemy import text as sql

from memory.storage.database import user_session

NUTS = "Ada is allergic to hazelnuts."
SILENT = "Does the mill own zeppelins, yachts or submarines?"
MILL = "The bakery on Mill Lane closes on Mondays."


class Desk:
    """A reader at a new notebook, without scripts."""

    def __init__(self, app: Flask, person: Any) -> None:
        self.person = person
        self.client = at_browser(app, person)
        made = self.client.post("/notebooks", data={"title": "Desk"})
        self.path: str = made.location

    def add(self, kind: str) -> str:
        """Add a cell and return its address."""
        response = self.client.post(f"{self.path}/cells", data={"kind": kind}, headers=HTMX)
        found = re.search(r'id="notebook-cell-([0-9a-f-]{36})"', response.text)
        assert found is not None, response.text
        return f"{self.path}/cells/{found.group(1)}"

    def run(self, kind: str, **form: Any) -> tuple[str, Any]:
        """Add a cell, run it as htmx does, and return its address and the answer."""
        cell = self.add(kind)
        return cell, self.client.post(f"{cell}/run", data=form, headers=HTMX)

    def page(self) -> str:
        return self.client.get(self.path).text

    def one(self, statement: str) -> Any:
        with user_session(self.person.runtime.sessions, self.person.id) as session:
            return session.scalar(sql(statement))


def filled(desk: Desk) -> None:
    """Have a cell of each kind tell of a memory."""
    stored(desk.person, NUTS)
    desk.run("note", text="# Nuts\n\nA *note*.")
    desk.run("recall", q="hazelnuts")
    desk.run("remember", text="I always drink my tea black.")
    desk.run("context", q="hazelnuts")
    desk.run("chart", chart="growth")


def closed_space(desk: Desk) -> None:
    """Have cells tell of a memory in a space, then let that be incognito."""
    desk.client.post("/spaces", data={"name": "Diary", "slug": "diary"})
    stored(desk.person, "Ada hides hazelnuts in the blue cupboard.", space="diary", tags=("squirrel",))
    desk.run("recall", q="hazelnuts cupboard", space="diary")
    desk.run("remember", text="The cupboard's key is under the bed.", space="diary")
    desk.one("UPDATE spaces SET incognito_default = true WHERE slug = 'diary' RETURNING true")
