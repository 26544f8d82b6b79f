"""What every template may use."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Flask, current_app, g, request, url_for
from jinja2.ext import Extension

from memory.time_zones import short_name
from retrieval.days.dates import local
from webapp.context import runtime, utc_now, zone
from webapp.htmx import asked_address
from webapp.operations import told_vector
from webapp.pages.appearance import CHOICES, chosen, cookie
from webapp.pages.place import place_of, way_back
from webapp.pages.queries import actor_name, space_name, theme_name
from webapp.pages.words import ago, counted, lasting, mark, ordinal, part, refusal

_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


class Unindented(Extension):
    """Leaves the indentation of templates out of the pages: a third of their weight."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the source of a template as it is compiled."""
        del name, filename
        return _INDENT.sub("", source)


def init_app(app: Flask) -> None:
    """Add filters and globals to the templates."""
    app.jinja_env.trim_blocks = True
    app.jinja_env.add_extension(Unindented)
    app.add_template_filter(_age, "age")
    app.add_template_filter(_city, "city")
    app.add_template_filter(_day, "day")
    app.add_template_filter(_exact, "exact")
    app.add_template_filter(counted, "counted")
    app.add_template_filter(lasting, "lasting")
    app.add_template_filter(mark, "mark")
    app.add_template_filter(ordinal, "ordinal")
    app.add_template_filter(part, "part")
    app.add_template_filter(place_of, "place_of")
    app.add_template_filter(refusal, "refusal")
    app.add_template_global(asset)
    app.add_template_filter(space_name, "space_name")
    app.add_template_filter(actor_name, "actor_name")
    app.add_template_filter(theme_name, "theme_name")
    # A global and not a filter: Jinja works out a filter of a constant once, for everybody.
    app.add_template_global(told_vector)
    app.add_template_global(way_back)
    app.context_processor(_frame)


def asset(name: str) -> str:
    """Return the address of a static file, which changes with its content, so that caches never serve an old one."""
    assert current_app.static_folder is not None
    return url_for("static", filename=name, v=_version(Path(current_app.static_folder) / name))


@lru_cache(maxsize=64)
def _version(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=4).hexdigest()


def _frame() -> dict[str, Any]:
    here = asked_address() if request.method == "GET" else url_for("notebook.home")
    who, model = g.get("credential"), runtime().chat_model
    return {
        "visitor": g.get("visitor"),
        "is_read_elsewhere": model is not None,
        "language_model": model.told if model else None,
        "is_admin": who is not None and "admin" in who.scopes,
        "appearance": chosen(),
        "appearances": CHOICES,
        "appearance_cookie": cookie(),
        "here": here,
        "zone": zone(),
        # Until a zone is chosen, a script tells moments by the clock of the browser.
        "is_zone_chosen": zone() is not UTC,
    }


def _age(moment: datetime) -> str:
    return ago(moment, utc_now())


def _city(zone: tzinfo) -> str:
    """Return the last part of a zone's name, for where there is little room: `Buenos Aires`."""
    return str(zone).rpartition("/")[2].replace("_", " ")


def _day(moment: str) -> str:
    """Return the day of a moment in ISO 8601 by the calendar of the reader's zone."""
    return f"{local(datetime.fromisoformat(moment), zone()):%Y-%m-%d}"


def _exact(moment: datetime) -> str:
    """Return a moment as clocks of the reader's zone show it, with the zone's short name at that time."""
    here = local(moment, zone())
    return f"{here:%Y-%m-%d %H:%M:%S} {short_name(here)}"
