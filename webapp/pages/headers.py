"""What every page tells the browser not to do."""

from __future__ import annotations

from flask import Flask, Response, request

# No 'unsafe-inline' and no other host: scripts, styles and pictures are files of ours.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with that a browser sends `Origin: null`, and the check against other sites refuses it.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def init_app(app: Flask) -> None:
    """Add the headers to everything but `/v1/`, whose browsable documentation needs inline scripts."""

    @app.after_request
    def _protect(response: Response) -> Response:
        if request.path.startswith("/v1/"):
            return response
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if request.endpoint != "static":
            # Someone else at this computer must not get at memories with the back button.
            response.headers.setdefault("Cache-Control", "no-store")
        return response
