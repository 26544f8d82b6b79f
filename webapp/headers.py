"""The headers of ours that a request may carry, and how their text is read."""

from __future__ import annotations

from flask import request

SESSION_HEADER = "X-Commonplace-Session"
USER_HEADER = "X-Commonplace-User"
CONVERSATION_HEADER = "X-Commonplace-Conversation"
MESSAGE_HEADER = "X-Commonplace-Message"
SPACE_HEADER = "X-Commonplace-Space"

# What the interface's description says of each header.
ABOUT = {
    SESSION_HEADER: (
        "The name of the session that this request belongs to; without it, the session is the token's own. Incognito "
        "is switched for a session, and holds for the requests that name it."
    ),
    USER_HEADER: "The user to act for, by address or id. Only a token with the scope service may send it.",
    CONVERSATION_HEADER: (
        "The id of the conversation in which the call is made: it is of the space that the conversation is in where it "
        "names none, and is recorded with that where calls are recorded."
    ),
    MESSAGE_HEADER: (
        "The id of the message for which the call is made: it is in the conversation of that, and recorded with both "
        "where calls are recorded."
    ),
    SPACE_HEADER: (
        "The name (slug) of the space that the call is of where it names none: that of the project on which an agent "
        "works. A call in a conversation of another space is refused."
    ),
}


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
