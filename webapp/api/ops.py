"""What operators' machines ask: alive, ready, metrics."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, jsonify, make_response
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry
from sqlalchemy.exc import SQLAlchemyError

from memory.record.telemetry import COUNTED
from memory.storage.database import time_limit
from memory.storage.schema_revision import current_revision, head_revision, what_differs
from tasks.app import Depth, depth
from webapp.context import runtime, session, utc_now
from webapp.errors import problem
from webapp.recall import LONGEST_STATEMENT
from webapp.this_machine import comes_from_here

bp = Blueprint("ops", __name__)

_GAUGES = {
    "commonplace_embedding_backlog": ("embedding_backlog", "Memories, episodes and entities that wait for a vector"),
    "commonplace_embedding_backlog_age_seconds": ("embedding_backlog_age", "Age of the oldest of these"),
    "commonplace_embedding_errors": ("embedding_errors", "Vectors given up on"),
    "commonplace_embedding_failure_rate": (
        "embedding_failure_rate",
        "Share of the vectors of the last hour that were given up on",
    ),
    "commonplace_enrichment_backlog": ("enrichment_backlog", "Memories and episodes that wait to be read for names"),
    "commonplace_extraction_backlog": (
        "extraction_backlog",
        "Messages that wait to be read for facts, where spaces want it",
    ),
    "commonplace_memories": ("memories", "Memories stored"),
    "commonplace_users": ("users", "Users"),
}


@bp.get("/healthz")
def healthz() -> Response:
    """Answer that this process lives, whatever the database does."""
    return jsonify({"status": "ok"})


@bp.get("/readyz")
def readyz() -> Response:
    """Answer 200 when the database answers and is migrated, else 503 with the reason."""
    try:
        found = current_revision(session().connection())
    except SQLAlchemyError:
        session().rollback()
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, "the database does not answer")
    if found != head_revision():
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, what_differs(found))
    return jsonify({"status": "ready", "schema": found})


@bp.get("/metrics")
def metrics() -> Response:
    """Answer Prometheus metrics, to this machine only."""
    if not comes_from_here():
        return problem(HTTPStatus.FORBIDDEN, "metrics are open on loopback only")
    # Whoever reads them has given up by then, and comes again: each would hold a thread that others need.
    with time_limit(session(), LONGEST_STATEMENT):
        numbers = runtime().telemetry(session(), utc_now())
    registry = CollectorRegistry()
    registry.register(_Telemetry(numbers, depth()))
    response = make_response(generate_latest(registry))
    response.headers["Content-Type"] = CONTENT_TYPE_LATEST
    return response


class _Telemetry(Collector):
    """Turns the numbers that the database keeps for all processes into metric families."""

    def __init__(self, numbers: dict[str, Any], queue: Depth | None) -> None:
        self._numbers = numbers
        self._queue = queue

    def collect(self) -> list[Metric]:
        """Return every family."""
        actions = self._numbers.get("actions") or {}
        counters: list[Metric] = [
            CounterMetricFamily(f"commonplace_{name}", text, value=actions.get(action, 0))
            for name, (action, text) in COUNTED.items()
        ]
        gauges: list[Metric] = [
            GaugeMetricFamily(name, text, value=float(self._numbers.get(key) or 0))
            for name, (key, text) in _GAUGES.items()
        ]
        return [*counters, *gauges, *self._latencies(), *self._calls(), *self._tasks()]

    def _tasks(self) -> list[Metric]:
        """Return the depth of the queue; nothing while that is out of reach, as 0 would read as well."""
        if self._queue is None:
            return []
        family = GaugeMetricFamily("commonplace_queue_tasks", "Tasks in the queue", labels=["state"])
        family.add_metric(["waiting"], self._queue.waiting)
        family.add_metric(["scheduled"], self._queue.scheduled)
        return [family]

    def _latencies(self) -> list[Metric]:
        families: list[Metric] = []
        for stage, text in (("embed", "Time from write to vector"), ("search", "Time of a search")):
            family = GaugeMetricFamily(f"commonplace_{stage}_seconds", f"{text}, last hour", labels=["quantile"])
            for label, key in (("0.5", "p50"), ("0.95", "p95")):
                family.add_metric([label], float((self._numbers.get(stage) or {}).get(key) or 0))
            families.append(family)
        return families

    def _calls(self) -> list[Metric]:
        search = self._numbers.get("search") or {}
        return [
            GaugeMetricFamily(
                "commonplace_retrieval_hit_rate",
                "Share of the searches and contexts of the last hour that found something",
                value=float(search.get("hit_rate") or 0),
            ),
            CounterMetricFamily("commonplace_tool_calls", "Tool calls", value=self._numbers.get("tool_calls") or 0),
            CounterMetricFamily(
                "commonplace_tool_failures", "Failed tool calls", value=self._numbers.get("tool_failures") or 0
            ),
        ]
