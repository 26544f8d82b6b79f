"""The demo user, so that the first look has something to look at."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from memory.accounts.accounts import create_user, find_user
from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.errors import ConflictError
from memory.facts.facts import Statement, state
from memory.keys import Keys
from memory.spaces.spaces import create_space, get_space
from memory.spaces.themes import create_theme
from memory.storage.database import user_session
from memory.writing.edit import pin
from memory.writing.remember import remember_many
from tasks.embedding import nudge
from tasks.runtime import Runtime
from webapp.cli.wiring import owner_session
from webapp.demo_login import EMAIL, PASSWORD

DATA = Path(__file__).resolve().parent.parent / "demo.json"


def ensure_demo(runtime: Runtime) -> str:
    """Make the demo user unless there is one, and return in words how to log in."""
    login = f"Log in as {EMAIL} with the password {PASSWORD}"
    # Whether it was changed is not found out, as that would hold up the start.
    there = f"{login}, unless it was changed"
    with runtime.sessions() as session:
        if find_user(session, EMAIL) is not None:
            return there
    now, cap = utc_now(), runtime.settings.soft_cap
    # All in one transaction: the next start takes an account without memories for one that somebody made.
    try:
        with owner_session(runtime) as session:
            user = create_user(session, EMAIL, PASSWORD, soft_cap=cap, now=now, role="admin", display_name="Robin")
            _fill(session, user.id, runtime, now)
    except ConflictError:
        return there  # Another start was making it.
    nudge()
    return login


def fill(runtime: Runtime, user_id: UUID, now: datetime) -> None:
    """Give a user who has nothing yet the spaces, themes, memories and facts of the demo."""
    with user_session(runtime.sessions, user_id) as session:
        _fill(session, user_id, runtime, now)


def _fill(session: Session, user_id: UUID, runtime: Runtime, now: datetime) -> None:
    data, cap = json.loads(DATA.read_text(encoding="utf-8")), runtime.settings.soft_cap
    for space in data["spaces"]:
        create_space(session, user_id, space["slug"], soft_cap=cap, now=now, actor="demo", name=space["name"])
    for theme in data["themes"]:
        create_theme(session, user_id, theme["slug"], now=now, actor="demo", **_texts(theme))
    _remember(session, user_id, data["memories"], runtime.keys, now)
    for fact in data["facts"]:
        _state(session, user_id, fact, runtime.keys, now)


def _texts(theme: dict[str, str]) -> dict[str, str]:
    return {"display_name": theme["display_name"], "description": theme["description"]}


def _remember(session: Session, user_id: UUID, memories: Sequence[dict[str, Any]], keys: Keys, now: datetime) -> None:
    by_space: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for memory in sorted(memories, key=lambda each: -each["days_ago"]):
        by_space[memory["space"]].append(memory)
    for space, group in by_space.items():
        drafts = [_to_draft(memory, now) for memory in group]
        outcomes = remember_many(session, user_id, space, drafts, keys=keys, now=now, actor="demo")
        for memory, outcome in zip(group, outcomes, strict=True):
            if memory["pinned"] and outcome.id is not None:
                pin(session, user_id, outcome.id, pinned=True, now=now, actor="demo")


def _state(session: Session, user_id: UUID, fact: dict[str, Any], keys: Keys, now: datetime) -> None:
    said = Statement(
        fact["subject"],
        fact["predicate"],
        fact["object"],
        single=fact["single"],
        valid_from=now - timedelta(days=fact["days_ago"]),
    )
    space = get_space(session, user_id, fact["space"])
    state(session, user_id, space.id, said, keys=keys, now=now, actor="demo")


def _to_draft(memory: dict[str, Any], now: datetime) -> Draft:
    return Draft(
        text=memory["text"],
        type=memory["type"],
        theme=memory["theme"],
        tags=tuple(memory["tags"]),
        manually_saved=memory["manually_saved"],
        created_at=now - timedelta(days=memory["days_ago"]),
    )
