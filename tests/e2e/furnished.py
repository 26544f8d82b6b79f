"""An account with something on every page: the demo's memories, and what an agent and its owner did with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Flask
from secrets_of_tests import PASSWORD
from sqlalchemy import select, text

from memory.clock import utc_now
from memory.enrichment.findings import Name
from memory.enrichment.mentions import Origin, mention
from memory.models import Cell, Entity, Fact, Memory, Notebook, Space, ToolCall
from webapp.cli.demo import fill

TALK = (
    ("user", "Which paper should the twelve pieces for Benedita be printed on?"),
    (
        "assistant",
        "Matt cotton. Glossy sheets showed reflections at the Alfama exhibition, so you decided against them.",
    ),
    ("user", "Good. And when does the beta of HERON-42 go out?"),
    ("tool_call", '{"name": "memory_search", "arguments": {"query": "HERON-42 beta"}}'),
    (
        "tool_result",
        '{"results": [{"content_snippet": "The beta goes to the reserve wardens on 2 March"}]}',
    ),
    ("assistant", "On 2 March, to the reserve wardens. Mireia prepares the printed quick guide."),
    ("user", "Please remember that Benedita's gallery is closed on Mondays."),
    ("assistant", "I will keep that in mind."),
)
OTHER_TALKS = {
    "Tide tables of the estuary": "Where do we keep the tide tables?",
    "A star map for Clara": "When is Clara's birthday, and how does she want the map?",
}
PREFERENCES = """\
---
date_format: "YYYY-MM-DD"
time_format: "HH:mm"
default_folders: {meeting_notes: "Meetings/", projects: "Projects/"}
response_style: {verbosity: concise, use_bullet_points: true, include_timestamps: false}
---
Put the conclusion first. Prices in euros before tax.
"""
CELLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("note", {"text": "# Before the exhibition\n\nWhat do my agents know about **Benedita** and the prints?"}),
    ("recall", {"q": "Which paper do I print on, and why?", "space": "studio", "limit": "3"}),
    ("command", {"text": "what do you remember about the gallery?"}),
    ("context", {"q": "What do I have to deliver to the gallery?", "space": "studio", "budget": "200"}),
    ("chart", {"chart": "growth"}),
    ("chart", {"chart": "ages"}),
)


@dataclass(frozen=True)
class Furnished:
    """One id of each kind that the pages take, as text."""

    memory_id: str
    other_id: str
    conversation_id: str
    entity_id: str
    fact_id: str
    notebook_id: str
    cell_id: str
    call_id: str


class _House:
    def __init__(self, app: Flask, person: Any) -> None:
        self.app, self.person = app, person
        self.agent = app.test_client()
        self.owner = app.test_client()
        # An address of its own: others log in often.
        self.owner.environ_base["REMOTE_ADDR"] = "10.8.0.1"
        assert self.owner.post("/login", data={"email": person.email, "password": PASSWORD}).status_code == 303

    def send(self, method: str, path: str, body: Any) -> Any:
        response = self.agent.open(path, method=method, json=body, headers=self.person.headers)
        assert response.status_code in {200, 201}, (path, response.text)
        return response.json

    def submit(self, path: str, **form: Any) -> None:
        response = self.owner.post(path, data=form)
        assert response.status_code in {200, 303}, (path, response.text)

    def one(self, statement: Any) -> str:
        with self.person.session() as session:
            return str(session.scalars(statement).first())


def furnish(app: Flask, person: Any) -> Furnished:
    """Give a person who has nothing yet a lived-in account."""
    fill(person.runtime, person.id, utc_now())
    house = _House(app, person)
    memory = _correct(house)
    conversation = _talk(house)
    _name(house, memory)
    _state_facts(house)
    # What the first question costs a process is not what a question costs.
    person.embed()
    _call_tools(house, memory)
    _write_preferences(house)
    _make_tokens(house)
    person.embed()
    notebook = _fill_notebooks(house)
    return Furnished(
        memory_id=memory,
        other_id=house.one(select(Memory.id).where(Memory.text.startswith("Benedita's gallery hangs 14 framed"))),
        conversation_id=conversation,
        entity_id=house.one(select(Entity.id).where(Entity.name == "Benedita")),
        fact_id=house.one(select(Fact.id).where(Fact.subject == "Benedita")),
        notebook_id=notebook,
        cell_id=house.one(select(Cell.id).where(Cell.notebook_id == UUID(notebook), Cell.kind == "recall")),
        call_id=house.one(select(ToolCall.id).where(ToolCall.tool == "notes")),
    )


def _correct(house: _House) -> str:
    """Correct a memory twice, replace one by another, leave one to decide; returns the id of the first."""
    space = {"space": "studio", "type": "fact"}
    body = {"text": "Benedita's gallery hangs twelve framed pieces in June.", **space, "tags": ["benedita", "prints"]}
    memory = str(house.send("POST", "/v1/memory/entries", body)["id"])
    for said in ("at the end of June, on matt cotton paper.", "in the first week of July, on matt cotton paper."):
        house.send("PATCH", f"/v1/memory/entries/{memory}", {"text": f"Benedita's gallery hangs twelve pieces {said}"})
    near = str(body["text"]).replace("twelve framed pieces in June", "14 framed pieces in June")
    rent = "The studio rent in Marvila is {} euros a month from January."
    first, second = (
        str(house.send("POST", "/v1/memory/entries", {"text": rent.format(sum_), **space})["id"]) for sum_ in (640, 690)
    )
    house.submit(f"/memories/{first}/updates/{second}", keep="other")
    house.send("POST", "/v1/memory/entries", {"text": near, **space})
    return memory


def _state_facts(house: _House) -> None:
    """Say where somebody lived and lives, and what is true of many."""
    for place, since in (("Porto", "2023-02-01T00:00:00Z"), ("Lisbon", "2024-06-01T00:00:00Z")):
        lives = {"subject": "Benedita", "predicate": "lives in", "object": place, "valid_from": since}
        house.send("POST", "/v1/facts", lives)
    for paper in ("matt cotton paper", "baryta paper"):
        prints = {"subject": "Benedita", "predicate": "prints on", "object": paper, "space": "studio", "single": False}
        house.send("POST", "/v1/facts", {**prints, "confidence": 0.9})


def _talk(house: _House) -> str:
    conversation = house.send("POST", "/v1/conversations", {"external_id": "prints", "title": "Prints for the gallery"})
    messages = [
        {"role": role, "content": content, "client_id": f"m{number}", "remember": "remember that" in content}
        for number, (role, content) in enumerate(TALK)
    ]
    house.send("POST", f"/v1/conversations/{conversation['id']}/messages", {"messages": messages})
    for title, asked in OTHER_TALKS.items():
        other = house.send("POST", "/v1/conversations", {"external_id": title, "title": title})
        said = [{"role": "user", "content": asked}, {"role": "assistant", "content": "I will look it up."}]
        house.send("POST", f"/v1/conversations/{other['id']}/messages", {"messages": said})
    return str(conversation["id"])


def _name(house: _House, memory: str) -> None:
    sentence = "Benedita's gallery hangs twelve pieces in the first week of July, on matt cotton paper."
    with house.person.session() as session:
        studio = session.scalars(select(Space.id).where(Space.slug == "studio")).one()
        names = [Name("Benedita", "person", sentence, 0.93), Name("Alfama", "place", sentence, 0.71)]
        mention(session, house.person.id, studio, [(Origin(memory_id=UUID(memory)), names)], now=utc_now())


def _call_tools(house: _House, memory: str) -> None:
    for query, space in (("what does the gallery want?", "studio"), ("peanuts", "default")):
        house.send("POST", "/v1/tools/memory_search", {"query": query, "space": space})
    calls = [
        {
            "tool": "notes",
            "operation": "update",
            "arguments": {"path": "Projects/exhibition.md", "append": "Twelve pieces, matt cotton."},
            "affected_paths": ["Projects/exhibition.md", "Projects/prices.md"],
            "duration_ms": 12.5,
        },
        {"tool": "calendar", "operation": "create", "success": False, "error": "the calendar is read only"},
        {"tool": "notes", "operation": "read", "affected_ids": [memory], "affected_paths": ["Meetings/benedita.md"]},
    ]
    house.send("POST", "/v1/tool-calls", {"calls": calls})


def _write_preferences(house: _House) -> None:
    house.send("PUT", "/v1/preferences", {"document": PREFERENCES.replace("concise", "detailed")})
    house.send("PUT", "/v1/preferences", {"document": PREFERENCES})


def _make_tokens(house: _House) -> None:
    for name, scopes in (("laptop assistant", ["read", "write"]), ("old phone", ["read"])):
        house.submit("/tokens", name=name, scopes=scopes, days="90")
    token = house.one(text("SELECT id FROM tokens WHERE name = 'old phone'"))
    house.submit(f"/tokens/{token}/revoke")


def _fill_notebooks(house: _House) -> str:
    """Run a notebook with a cell of every kind, and the sample of a first visit; returns the first's id."""
    house.owner.get("/")
    sample = house.one(select(Notebook.id))
    house.submit("/notebooks", title="The exhibition")
    notebook = house.one(select(Notebook.id).where(Notebook.title == "The exhibition"))
    for kind, _ in CELLS:
        house.submit(f"/notebooks/{notebook}/cells", kind=kind)
    with house.person.session() as session:
        made = session.scalars(select(Cell.id).where(Cell.notebook_id == UUID(notebook)).order_by(Cell.place)).all()
    for cell, (_, form) in zip(made, CELLS, strict=True):
        house.submit(f"/notebooks/{notebook}/cells/{cell}/run", **form)
    house.submit(f"/notebooks/{sample}/run")
    # What it remembered is found by meaning too when it is asked for again.
    house.person.embed()
    house.submit(f"/notebooks/{sample}/run")
    return notebook
