"""What every answer tells the browser not to do."""

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
# The browsable description of the interface is another's page, and brings scripts and styles along in its text.
DESCRIPTION_POLICY = (
    POLICY.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'")
    .replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
    .replace("img-src 'self'", "img-src 'self' data:")
)
_DESCRIPTION = {"openapi", "swagger"}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with that a browser sends `Origin: null`, and the check against other sites refuses it.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def init_app(app: Flask) -> None:
    """Add the headers to every answer, those of the interface included: a browser may be led to open them too."""

    @app.after_request
    def _protect(response: Response) -> Response:
        policy = DESCRIPTION_POLICY if request.blueprint in _DESCRIPTION else POLICY
        for name, value in {"Content-Security-Policy": policy, **HEADERS}.items():
            response.headers.setdefault(name, value)
        # The API says for itself what no cache may keep.
        if request.endpoint != "static" and not request.path.startswith("/v1/"):
            # Someone else at this computer must not get at memories with the back button.
            response.headers.setdefault("Cache-Control", "no-store")
        return response
