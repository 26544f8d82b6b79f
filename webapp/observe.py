"""Request ids in every response and every log line."""

from __future__ import annotations

import logging
import re
import time
from urllib.parse import quote

from flask import Flask, Response, g, has_request_context, request

from memory.ids import new_id
from webapp.context import elapsed

logger = logging.getLogger("webapp.access")

HEADER = "X-Request-Id"
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")


def request_id() -> str:
    """Return the id of the request that is being answered, `-` where there is none."""
    return str(g.get("request_id", "-")) if has_request_context() else "-"


def init_app(app: Flask) -> None:
    """Give each request an id, the caller's own where it is harmless, and log how it ended."""

    @app.before_request
    def _begin() -> None:
        given = request.headers.get(HEADER, "")
        g.request_id = given if _GIVEN.fullmatch(given) else str(new_id())
        g.started = time.perf_counter()

    @app.after_request
    def _end(response: Response) -> Response:
        response.headers[HEADER] = g.get("request_id", "-")
        if request.endpoint != "static":
            _log(response)
        return response


def _log(response: Response) -> None:
    # The path alone: a query string may hold what the user searched for. Quoted: a path may hold a line break.
    path = quote(request.path, safe="/:@")
    logger.info("%s %s %d %.1f ms", request.method, path, response.status_code, elapsed() * 1000)
