"""Latencies in milliseconds, and the machine that they were measured on."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeVar

from sqlalchemy import text
from sqlalchemy.orm import Session, sessionmaker

from retrieval.ranking.metrics import percentile

T = TypeVar("T")

PACKAGES = ("numpy", "onnxruntime", "torch", "sentence-transformers", "sqlalchemy", "psycopg", "pgvector")


@dataclass(frozen=True, slots=True)
class Latency:
    """Median and 95th percentile in milliseconds of `count` measurements."""

    p50: float
    p95: float
    count: int


def latency(milliseconds: Sequence[float]) -> Latency:
    """Return the percentiles; raises `ValueError` for no measurements."""
    return Latency(round(percentile(milliseconds, 50), 3), round(percentile(milliseconds, 95), 3), len(milliseconds))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what `work` returns and the milliseconds that it took."""
    start = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - start) * 1000


def machine(sessions: sessionmaker[Session]) -> dict[str, str]:
    """Return what a reader of the numbers must know about where they come from."""
    with sessions() as session:
        postgres = session.scalar(text("SHOW server_version"))
        vector = session.scalar(text("SELECT extversion FROM pg_extension WHERE extname = 'vector'"))
    return {
        "platform": platform.platform(),
        "cpus": str(os.cpu_count()),
        "python": platform.python_version(),
        "postgresql": f"{postgres}, vector {vector}",
        **{name: version(name) for name in PACKAGES},
    }


def to_text(facts: Mapping[str, str]) -> str:
    """Return the facts in one line."""
    return ", ".join(f"{name} {value}" for name, value in facts.items())
