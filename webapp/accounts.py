"""What an account's owner may do to all of it: take everything along, and erase everything."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from tempfile import SpooledTemporaryFile
from typing import IO

from flask import Response
from werkzeug.wsgi import FileWrapper

from memory.accounts.erase import Report, erase_for_good
from memory.errors import RefusedError
from memory.record.journal import record
from memory.transfer.export import export_at_once
from memory.transfer.notes_export import notes_at_once
from webapp.context import credential, local_now, runtime, session, utc_now
from webapp.operations import is_incognito

_PIECE = 64 * 1024
_IN_MEMORY = 1024 * 1024


def notes_response() -> Response:
    """Answer the active memories of the caller as Markdown, in one archive; raises as `export_response` does."""
    _record_export()

    def write(held: IO[bytes]) -> None:
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            for note in notes_at_once(runtime().sessions, credential().user_id, now=utc_now()):
                archive.writestr(note.path, note.content)

    return _download(write, "application/zip", "zip")


def export_response() -> Response:
    """Answer everything that is kept of the caller as a download.

    Raises `RefusedError` while the session is incognito, which reads nothing.
    """
    _record_export()

    def write(held: IO[bytes]) -> None:
        for row in export_at_once(runtime().sessions, credential().user_id, now=utc_now()):
            held.write(row.encode())

    return _download(write, "application/json", "json")


def _record_export() -> None:
    who = credential()
    if is_incognito(None):
        raise RefusedError("incognito", "this session is incognito: nothing is read")
    record(session(), who.user_id, "user.exported", actor=who.actor, now=utc_now(), subject_id=who.user_id)
    session().commit()


def _download(write: Callable[[IO[bytes]], None], kind: str, ending: str) -> Response:
    """Answer what is written as a file.

    It is whole before the first of it is sent: whoever reads slowly, or stops, would hold a transaction for as long.
    """
    # On disk where it is large, in a file without a name, which is closed with the response.
    held = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
    write(held)
    response = Response(FileWrapper(held, _PIECE), mimetype=kind)
    response.content_length = held.seek(0, os.SEEK_END)
    held.seek(0)
    response.headers["Content-Disposition"] = f'attachment; filename="commonplace-{local_now():%Y-%m-%d}.{ending}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def erase_account() -> Report:
    """Erase the caller with all that is kept of them, and return the signed report."""
    user_id = credential().user_id
    # Let go of all that this request has read: none of it can be written or refreshed once the account is gone.
    session().rollback()
    session().expunge_all()
    with runtime().databases.as_owner() as engine:
        return erase_for_good(engine, user_id, keys=runtime().keys, now=utc_now())
