"""What a view may lean on during a request."""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo
from typing import cast

from flask import current_app, g
from sqlalchemy.orm import Session

from memory.accounts.accounts import Credential
from memory.clock import utc_now
from tasks.runtime import Runtime
from webapp.extensions import db

__all__ = ["credential", "elapsed", "local_now", "request_id", "runtime", "session", "utc_now", "zone"]


def runtime() -> Runtime:
    """Return the wiring of this process."""
    return cast(Runtime, current_app.extensions["commonplace"])


def session() -> Session:
    """Return the request's database session."""
    return db.session()


def credential() -> Credential:
    """Return who is asking; the guards have set it."""
    return cast(Credential, g.credential)


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
