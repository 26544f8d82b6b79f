"""Answers of endpoints that are not ours, read to their end within a time and a size."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

# What is asked of an endpoint; whatever it sends instead is refused.
ENCODINGS = {"Accept-Encoding": "gzip"}
# So long an endpoint is believed at most that asks to be left alone.
LONGEST_PAUSE = 3600.0  # seconds


class TooLargeError(Exception):
    """An answer went on beyond the size allowed."""


class TooSlowError(Exception):
    """An answer began and did not end within the time allowed."""


def read_whole(response: httpx.Response, *, most: int, until: float) -> bytes:
    """Return the body of a streamed response, decoded: at most `most` bytes, by `until` on the monotonic clock.

    The HTTP library bounds the wait for each part and neither the number of parts nor what they come to: an endpoint
    that sends a byte now and then would hold its caller for ever, and a few bytes that were compressed twice come to
    gigabytes. The last part may take the client's own time-out longer, unless `deadlines.by` ends that. Raises
    `TooLargeError`, `TooSlowError`, and what `httpx` does: `DecodingError` also for an encoding that is not one of
    `ENCODINGS`.
    """
    received, unpacked = bytearray(), _unpacking(response)
    try:
        for part in response.iter_raw():
            received += unpacked(part, most + 1 - len(received))
            if len(received) > most:
                raise TooLargeError
            if time.monotonic() > until:
                raise TooSlowError
    except httpx.ReadTimeout:
        raise TooSlowError from None
    return bytes(received)


def _unpacking(response: httpx.Response) -> Callable[[bytes, int], bytes]:
    """Return what decodes the next part of a body, to at most so many bytes of it (more than 0)."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return lambda part, most: part[:most]
    if encoding not in {"gzip", "x-gzip"}:
        raise httpx.DecodingError("the answer is in an encoding that was not asked for")
    gzip = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def unpacked(part: bytes, most: int) -> bytes:
        if gzip.eof:
            return b""  # What comes after the end would be kept, and copied with each part that comes.
        try:
            return gzip.decompress(part, most)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from None

    return unpacked


def pause_asked(response: httpx.Response) -> float:
    """Return the seconds, at most an hour, that an answer asks to wait: 0 where it names none.

    A date is taken by the clock of whoever answers, as the answer tells it.
    """
    asked = response.headers.get("Retry-After", "")
    if re.fullmatch("[0-9]{1,9}", asked):
        return min(float(asked), LONGEST_PAUSE)
    until, now = _moment(asked), _moment(response.headers.get("Date", ""))
    return min(max((until - now).total_seconds(), 0.0), LONGEST_PAUSE) if until and now else 0.0


def _moment(date: str) -> datetime | None:
    """Return what a date of HTTP stands for, in whichever of its three forms; None for anything else."""
    try:
        return parsedate_to_datetime(date).replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
