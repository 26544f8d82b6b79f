"""The headers of ours that a request may carry, and how their text is read."""

from __future__ import annotations

from flask import request

SESSION_HEADER = "X-Commonplace-Session"
USER_HEADER = "X-Commonplace-User"
CONVERSATION_HEADER = "X-Commonplace-Conversation"
MESSAGE_HEADER = "X-Commonplace-Message"


def own_header(name: str) -> str | None:
    """Return what a header of ours says, None where it was not sent.

    WSGI hands over the bytes of a header as Latin-1, and most clients send UTF-8: a name must be the same here as in
    a body.
    """
    value = request.headers.get(name)
    if value is None:
        return None
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value
