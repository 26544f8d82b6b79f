"""HNSW indexes, one per model that has grown past an exact scan. Built by the owner, without blocking writers."""

from __future__ import annotations

import logging
from uuid import UUID

from sqlalchemy import Engine, text

logger = logging.getLogger(__name__)

PREFIX = "hnsw_"
# pgvector indexes halfvec up to here; larger vectors are scanned exactly.
MOST_DIMENSIONS = 4000

_LARGE = text("""
SELECT e.model_id, m.dimensions FROM embeddings e
JOIN embedding_models m ON m.user_id = e.user_id AND m.id = e.model_id
WHERE e.state = 'ready' AND m.dimensions IS NOT NULL
GROUP BY e.model_id, m.dimensions HAVING count(*) > :threshold
""")
_EXISTING = text("""
SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relname LIKE 'hnsw\\_%'
""")


def maintain_indexes(owner: Engine, threshold: int) -> list[str]:
    """Build what is missing for models with more than `threshold` vectors, drop what no model needs.

    Returns the names of the indexes built. Needs the owner's connection, as only it may make indexes.
    """
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        wanted = {index_name(row.model_id): row for row in connection.execute(_LARGE, {"threshold": threshold})}
        valid = {row.relname: row.indisvalid for row in connection.execute(_EXISTING)}
        for name in [name for name, usable in valid.items() if name not in wanted or not usable]:
            connection.exec_driver_sql(f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"')
        built = [name for name in wanted if not valid.get(name) and wanted[name].dimensions <= MOST_DIMENSIONS]
        for name in built:
            row = wanted[name]
            logger.info("building the vector index %s", name)
            connection.exec_driver_sql(
                f'CREATE INDEX CONCURRENTLY "{name}" ON embeddings '
                f"USING hnsw ((vector::halfvec({int(row.dimensions)})) halfvec_cosine_ops) "
                f"WHERE model_id = '{row.model_id}' AND vector IS NOT NULL AND live"
            )
    return built


def index_name(model_id: UUID) -> str:
    """Return the name of a model's index."""
    return f"{PREFIX}{model_id.hex}"
