"""One URL, one context, two sizes of answer. Nothing else reads or writes `HX-*` headers."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from flask import Response, make_response, redirect, render_template
from htmx_flask import request
from markupsafe import escape

_READ = ("HX-Request", "HX-Boosted", "HX-History-Restore-Request")


def wants_fragment() -> bool:
    """Tell whether htmx will swap the answer into a page; boosted and restored pages are whole ones."""
    htmx = request.htmx
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render(page: str, fragment: str, status: int = HTTPStatus.OK, *, title: str = "", **context: Any) -> Response:
    """Answer with the page, or with the one fragment of it that htmx asked for, after which the page has the title."""
    made = _titled(fragment, title, **context) if wants_fragment() else render_template(page, **context)
    response = make_response(made, status)
    response.vary.update(_READ)
    return response


def see_other(url: str) -> Response:
    """Answer 303: the browser reads `url` next."""
    return make_response(redirect(url, HTTPStatus.SEE_OTHER))


def at_address(response: Response, url: str, *, typed: bool = False) -> Response:
    """Let the browser stand at `url` once it shows the fragment: a step of its own, to which Back returns.

    While the page has the same question, the parameter `q`, the address is replaced: another setting makes no step.
    With `typed`, while it has any: typing on makes no more steps.
    """
    if wants_fragment():
        before, after = (
            parse_qs(_split(each).query).get("q", [""])[0] for each in (request.htmx.current_url or "", url)
        )
        replaced = before and (typed or before == after)
        response.headers["HX-Replace-Url" if replaced else "HX-Push-Url"] = url
    return response


def _titled(fragment: str, title: str, **context: Any) -> str:
    named = f"<title>{escape(title)} · Commonplace</title>\n" if title else ""
    return named + render_template(fragment, **context)


def swap_or_go(fragment: str, url: str, *, beside: Sequence[str] = (), title: str = "", **context: Any) -> Response:
    """Answer a POST: the fragment to htmx, 303 to `url` for a browser without it.

    The fragments `beside` it take the places of those on the page that have their ids; the page has the title then.
    """
    if not wants_fragment():
        return see_other(url)
    others = [render_template(each, **context, beside=True) for each in beside]
    response = make_response("\n".join([_titled(fragment, title, **context), *others]))
    response.vary.update(_READ)
    return response


def done_or_go(url: str) -> Response:
    """Answer a POST that changes nothing on the page beyond what the page does itself: 204 to htmx, else 303."""
    if not wants_fragment():
        return see_other(url)
    return make_response("", HTTPStatus.NO_CONTENT)


def leave_for(url: str) -> Response:
    """Answer a POST that leads to another page: htmx lets the whole window go there, else 303."""
    response = done_or_go(url)
    if wants_fragment():
        response.headers["HX-Redirect"] = url
    return response


def refresh_or_go(url: str) -> Response:
    """Answer a POST after which the whole page is another: htmx loads it again, else 303 to `url`."""
    response = done_or_go(url)
    if wants_fragment():
        response.headers["HX-Refresh"] = "true"
    return response


def above_the_page(error: Response) -> Response:
    """Have htmx show the notice of an error page above the page, and not the whole error page in place of a part.

    htmx does so by itself for other errors, but takes a 422 for a form with its problems in it.
    """
    if wants_fragment() and error.status_code == HTTPStatus.UNPROCESSABLE_ENTITY:
        error.headers.update({"HX-Retarget": "#flash", "HX-Reselect": "#errors-error", "HX-Reswap": "innerHTML"})
    return error


def go(url: str) -> Response:
    """Send the whole window to another page, also when htmx asked for a part of one."""
    if not wants_fragment():
        return see_other(url)
    response = make_response("", HTTPStatus.UNAUTHORIZED)
    response.headers["HX-Redirect"] = url
    return response


def asked_address() -> str:
    """Return path and query of the request; a question mark at the end of a query is the visitor's own."""
    return f"{request.root_path}{request.full_path if request.query_string else request.path}"


def current_page() -> str:
    """Return path and query of the page that the visitor sees; the first one where the browser does not say."""
    if not wants_fragment() and request.method == "GET":
        return asked_address()
    first = f"{request.root_path}/"
    parts = _split((request.htmx.current_url if wants_fragment() else request.referrer) or first)
    ours = wants_fragment() or parts.netloc == request.host
    return f"{parts.path or first}{'?' if parts.query else ''}{parts.query}" if ours else first


def _split(url: str) -> SplitResult:
    """Return the parts of an address; what a client sends and is none has none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
