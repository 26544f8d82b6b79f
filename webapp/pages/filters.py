"""What every template may use."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Flask, current_app, g, request, url_for

from webapp.context import utc_now
from webapp.pages.appearance import CHOICES, chosen
from webapp.pages.words import ago, mark, ordinal


def init_app(app: Flask) -> None:
    """Add filters and globals to the templates."""
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.add_template_filter(_age, "age")
    app.add_template_filter(_exact, "exact")
    app.add_template_filter(mark, "mark")
    app.add_template_filter(ordinal, "ordinal")
    app.add_template_global(asset)
    app.context_processor(_frame)


def asset(name: str) -> str:
    """Return the address of a static file, which changes with its content, so that caches never serve an old one."""
    assert current_app.static_folder is not None
    return url_for("static", filename=name, v=_version(Path(current_app.static_folder) / name))


@lru_cache(maxsize=64)
def _version(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=4).hexdigest()


def _frame() -> dict[str, Any]:
    here = request.full_path.rstrip("?") if request.method == "GET" else "/"
    return {"visitor": g.get("visitor"), "appearance": chosen(), "appearances": CHOICES, "here": here}


def _age(moment: datetime) -> str:
    return ago(moment, utc_now())


def _exact(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
