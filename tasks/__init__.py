"""The queue and its thin task envelopes. Importing this package registers every task with the consumer."""

from tasks import embedding, enrichment, upkeep
from tasks.app import configure, huey

__all__ = ["configure", "embedding", "enrichment", "huey", "upkeep"]
