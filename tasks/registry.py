"""Every task: importing this module registers them all, for those who run them or read the queue."""

from tasks import embedding, enrichment, extraction, upkeep
from tasks.app import configure, huey

__all__ = ["configure", "embedding", "enrichment", "extraction", "huey", "upkeep"]
