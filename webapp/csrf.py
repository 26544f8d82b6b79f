"""No token to thread through forms: the browser says where a request comes from."""

from __future__ import annotations

from http import HTTPStatus

from flask import Flask, Response, request

from webapp.errors import answer

_SAFE = {"GET", "HEAD", "OPTIONS"}


def init_app(app: Flask) -> None:
    """Refuse writes that another site's page sends with our cookie."""

    @app.before_request
    def _refuse_cross_site() -> Response | None:
        # The API takes bearer tokens, which no browser attaches by itself.
        if request.method in _SAFE or request.path.startswith("/v1/") or same_site():
            return None
        return answer(HTTPStatus.FORBIDDEN, "this request came from another site")


def same_site() -> bool:
    """Tell whether the request was made by our own page: by `Sec-Fetch-Site`, else by `Origin`.

    A client that sends neither is no browser of the last years, and carries no cookie that a page could abuse.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("Origin")
    return origin is None or origin.partition("://")[2] == request.host
