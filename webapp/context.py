"""What a view may lean on during a request."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import TypeVar, cast

from flask import current_app, g, request
from sqlalchemy.orm import Session

from memory.accounts.accounts import Credential
from memory.clock import utc_now
from tasks.runtime import Runtime
from webapp.extensions import db

__all__ = ["credential", "elapsed", "local_now", "once", "request_id", "runtime", "session", "utc_now", "zone"]

Answer = TypeVar("Answer")


def runtime() -> Runtime:
    """Return the wiring of this process."""
    return cast(Runtime, current_app.extensions["commonplace"])


def session() -> Session:
    """Return the request's database session."""
    return db.session()


def credential() -> Credential:
    """Return who is asking; the guards have set it."""
    return cast(Credential, g.credential)


def once(question: str, ask: Callable[[], Answer]) -> Answer:
    """Return the answer to a question about who is asking; a request that only looks asks for it once.

    Any other asks each time: it may have changed the answer itself, or have waited for somebody who did.
    """
    if request.method not in {"GET", "HEAD"}:
        return ask()
    who = credential()
    answers = g.setdefault("answers", {})
    key = question, who.user_id, who.session_key
    if key not in answers:
        answers[key] = ask()
    return cast(Answer, answers[key])


def zone() -> tzinfo:
    """Return the time zone of who is asking, UTC until it is read: with a page's visitor, or with a search's scope."""
    return cast(tzinfo, g.get("zone", UTC))


def local_now() -> datetime:
    """Return the present moment as clocks show it in the zone of who is asking."""
    return utc_now().astimezone(zone())


def elapsed() -> float:
    """Return the seconds since this request began, 0 where that is not known."""
    return time.perf_counter() - g.started if "started" in g else 0.0


def request_id() -> str:
    """Return the correlation id of this request."""
    return cast(str, g.get("request_id", "-"))
