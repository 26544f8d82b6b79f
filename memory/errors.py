"""What the domain refuses; `webapp.errors` maps each to a status in one place."""

from __future__ import annotations


class DomainError(Exception):
    """Base of everything that the domain refuses; `str(error)` is fit for the user."""


class NotFoundError(DomainError):
    """There is no such thing for this user; whether it exists for another is not said."""


class InvalidError(DomainError):
    """A field has a value that cannot be stored; `field` names it and nothing was changed."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class ConflictError(DomainError):
    """The state of things forbids it (a name is taken, a version is stale); `field` names the field if it is one's."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


class RefusedError(DomainError):
    """A policy of the user forbids it: `reason` is `memory_off`, `incognito`, `tombstone`, `recalled` or `soft_cap`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ServerError(RuntimeError):
    """The embedded server cannot be started; the message says what to look at."""


class ServerFolderError(ServerError):
    """No server can be started in the folder as it is; the message says what to do."""


class SchemaError(RuntimeError):
    """The schema cannot be brought up to date and is as it was; the message says why, and what to do."""


class BackupError(RuntimeError):
    """There is no backup; the message says why, and what to do."""


def first_line(error: BaseException) -> str:
    """Return how an error's text begins, or what it is where it has none: drivers say the rest over many lines.

    >>> first_line(OSError("gone\\nwith a hint")), first_line(TimeoutError())
    ('gone', 'TimeoutError')
    """
    return next(iter(str(error).splitlines()), type(error).__name__)
