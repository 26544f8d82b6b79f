"""What stops a measurement."""

from __future__ import annotations


class MeasureError(RuntimeError):
    """What was to be measured could not be, or would have been something else; the message is fit for the user."""
