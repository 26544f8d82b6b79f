"""The application, wired top to bottom."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask, request
from flask.sessions import SecureCookieSessionInterface
from flask_migrate import Migrate
from flask_openapi3.models.info import Info
from flask_openapi3.openapi import OpenAPI
from sqlalchemy import make_url
from werkzeug.middleware.proxy_fix import ProxyFix

from memory.storage.database import engine_options, listen
from memory.storage.schema_revision import MIGRATIONS
from tasks.registry import configure
from tasks.runtime import Runtime
from webapp import csrf, errors, observe, pages
from webapp.api import mounting
from webapp.api.schemas import Problem
from webapp.extensions import db, htmx
from webapp.given_once import OnceProvider

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ROOT = Path(__file__).resolve().parent.parent
VERSION = "0.1.0"
# 64 messages of 1 MiB, and room for the rest of the JSON.
LARGEST_BODY = 66 * 1024 * 1024
# No request waits for one statement for longer: where the process of the database that runs it has stopped, it never
# ends. An export and the end of an account, which may take long, have connections of their own.
LONGEST_STATEMENT = 300.0  # seconds


def create_app(runtime: Runtime) -> Flask:
    """Build the application on a runtime; the database must have been migrated."""
    app = Described(
        "commonplace",
        root_path=str(ROOT),
        template_folder=str(ROOT / "templates"),
        static_folder=str(ROOT / "static"),
        info=Info(title="Commonplace", version=VERSION, description="Long-term memory for AI agents."),
        security_schemes={"bearer": {"type": "http", "scheme": "bearer"}},
        validation_error_callback=errors.invalid_request,
        validation_error_model=Problem,
        doc_prefix="/v1",
        doc_url="/openapi.json",
    )
    # Who types an address, or builds one out of parts, ends it with a slash as often as not.
    app.url_map.strict_slashes = False
    _configure(app, runtime)
    db.init_app(app)
    with app.app_context():
        listen(db.engine)
    Migrate(app, db, directory=str(MIGRATIONS))
    htmx.init_app(app)
    configure(runtime)
    observe.init_app(app)
    csrf.init_app(app)
    errors.init_app(app)
    mounting.register(app)
    pages.register(app)
    return app


class Described(OpenAPI):
    """Describes its addresses beneath the one that it is asked at: a proxy may have them beneath a path."""

    json_provider_class = OnceProvider

    @property
    def api_doc(self) -> dict[str, Any]:
        """Return the description of the interface, for the request that asks for it."""
        return {**super().api_doc, "servers": [{"url": request.root_path or "/"}]}


class Cookies(SecureCookieSessionInterface):
    """Marks the session cookie `Secure` where the request came over TLS, and keeps it to the addresses of this server.

    A proxy may have others beneath the same host.
    """

    def get_cookie_name(self, app: Flask) -> str:
        """Return the cookie's name. Over TLS browsers take one that begins so from this very host alone, over TLS.

        Else a server beside it, as one with a longer name, could log its visitors in to an account of its own choice.
        """
        prefix = "" if not request.is_secure else "__Secure-" if request.root_path else "__Host-"
        return prefix + super().get_cookie_name(app)

    def get_cookie_secure(self, app: Flask) -> bool:
        """Tell whether the cookie may travel over TLS only."""
        del app
        return request.is_secure

    def get_cookie_path(self, app: Flask) -> str:
        """Return the path beneath which the cookie is sent."""
        del app
        return request.root_path or "/"


def _configure(app: Flask, runtime: Runtime) -> None:
    settings = runtime.settings
    url = make_url(runtime.databases.app).set(drivername="postgresql+psycopg")
    app.extensions["commonplace"] = runtime
    app.config.from_mapping(
        SECRET_KEY=runtime.keys.password("browser sessions"),
        SQLALCHEMY_DATABASE_URI=url,
        SQLALCHEMY_ENGINE_OPTIONS=engine_options(binary=True, limit=LONGEST_STATEMENT),
        MAX_CONTENT_LENGTH=LARGEST_BODY,
        # Of two servers on one machine, at different ports, each gets the cookies of the other.
        SESSION_COOKIE_NAME="commonplace",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=60 * 60 * 24 * 14,
        SEND_FILE_MAX_AGE_DEFAULT=60 * 60 * 24,
    )
    app.session_interface = Cookies()
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        proxied: Any = ProxyFix(_rooted(app.wsgi_app), x_for=count, x_proto=count, x_host=count, x_prefix=count)
        app.wsgi_app = proxied  # type: ignore[method-assign]
    counted: Any = _counted(app.wsgi_app)
    app.wsgi_app = counted  # type: ignore[method-assign]


def _rooted(wsgi_app: WSGIApplication) -> WSGIApplication:
    """Make the path that a proxy names begin with one slash: without it, addresses would be relative to the page."""

    def rooted(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        prefix = environ.get("SCRIPT_NAME", "").strip("/")
        environ["SCRIPT_NAME"] = f"/{prefix}" if prefix else ""
        return wsgi_app(environ, start_response)

    return rooted


def _counted(wsgi_app: WSGIApplication) -> WSGIApplication:
    """Count a body as cut off where it is shorter than announced, so that reading it raises `ClientDisconnected`."""

    def counted(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("CONTENT_LENGTH") and "HTTP_TRANSFER_ENCODING" not in environ:
            # Servers that say so end a body where the connection ended, and Werkzeug then counts no bytes.
            environ.pop("wsgi.input_terminated", None)
        return wsgi_app(environ, start_response)

    return counted
