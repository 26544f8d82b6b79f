"""Time zones by the names of the IANA database: which there are, and a user's own."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import cache
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from sqlalchemy import ScalarSelect, select
from sqlalchemy.orm import Session

from memory.models import Preferences

DEFAULT_ZONE = "UTC"
# What some machines list beside the zones: their own clock, and one that is not set.
_NO_ZONES = {"Factory", "localtime"}

_PARTS_OF_THE_WORLD = frozenset(
    ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
)


@cache
def names() -> frozenset[str]:
    """Return the names that a user may choose among."""
    return frozenset(available_timezones() - _NO_ZONES)


@cache
def places() -> tuple[str, ...]:
    """Return the names that a list offers: UTC, and those of a city in a part of the world."""
    return (DEFAULT_ZONE, *sorted(each for each in names() if each.partition("/")[0] in _PARTS_OF_THE_WORLD))


def meant(typed: str) -> str:
    """Return the name that somebody means who writes it in any case, with spaces, or by its city alone; else as typed.

    >>> meant("america/new york"), meant("Auckland"), meant("Mars")
    ('America/New_York', 'Pacific/Auckland', 'Mars')
    """
    return _spellings().get("_".join(typed.casefold().split()), typed)


@cache
def _spellings() -> dict[str, str]:
    # A city that is listed twice has the same clocks under both of its names.
    cities = {each.rpartition("/")[2].casefold(): each for each in reversed(places())}
    return cities | {each.casefold(): each for each in names()}


def zone_of(name: str | None) -> tzinfo:
    """Return a zone by its name, and `datetime.UTC` itself for None and for a name that is not known."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return UTC


def short_name(moment: datetime) -> str:
    """Return how the zone of a moment is called at that time: `CEST`, `UTC`, or `UTC+14` where it has no letters."""
    name = moment.tzname() or DEFAULT_ZONE
    return name if name[0].isalpha() else f"{DEFAULT_ZONE}{name}"


def chosen_zone(user_id: UUID) -> ScalarSelect[str | None]:
    """Return the name that the preferences in force give, as a part of a statement."""
    named = select(Preferences.structured["time_zone"].astext).where(Preferences.user_id == user_id)
    return named.order_by(Preferences.version.desc()).limit(1).scalar_subquery()


def user_zone(session: Session, user_id: UUID) -> tzinfo:
    """Return the zone of a user."""
    return zone_of(session.scalar(select(chosen_zone(user_id))))
