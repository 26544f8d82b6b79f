"""Counts over all users, for operators: numbers and states, never anyone's content."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session


def telemetry(session: Session, now: datetime) -> dict[str, Any]:
    """Return the numbers behind `/metrics`; ages and times are in seconds, latencies of the last hour."""
    numbers, waiting, full = session.execute(
        select(func.telemetry(now), func.enrichment_backlog(), func.full_spaces())
    ).one()
    return {**(numbers or {}), "enrichment_backlog": waiting, "full_spaces": full}
