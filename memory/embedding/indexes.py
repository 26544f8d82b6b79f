"""HNSW indexes, one per model that has grown past an exact scan. Built by the owner, without blocking writers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, Engine, text

from memory.embedding.queue import statement
from memory.storage.shelves import MEMORIES, SHELVES, Shelf

logger = logging.getLogger(__name__)

PREFIX = "hnsw_"
# pgvector indexes halfvec up to here; larger vectors are scanned exactly.
MOST_DIMENSIONS = 4000

_LARGE = """
SELECT e.model_id, m.dimensions FROM {vectors} e
JOIN embedding_models m ON m.user_id = e.user_id AND m.id = e.model_id
WHERE e.state = 'ready' AND m.dimensions IS NOT NULL
GROUP BY e.model_id, m.dimensions HAVING count(*) > :threshold
"""
_EXISTING = text("""
SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relname LIKE 'hnsw\\_%'
""")
_ONLY_BUILDER = text("SELECT pg_try_advisory_lock(hashtextextended('vector indexes', 3))")
_BUILDER_DONE = text("SELECT pg_advisory_unlock(hashtextextended('vector indexes', 3))")


@dataclass(frozen=True, slots=True)
class Wanted:
    """An index that a model has grown to need."""

    shelf: Shelf
    model_id: UUID
    dimensions: int

    @property
    def name(self) -> str:
        """Return the name of the index."""
        return index_name(self.model_id, self.shelf)

    @property
    def statement(self) -> str:
        """Return what builds it; all that stands in it is ours: names, an integer, a UUID."""
        return (
            f'CREATE INDEX CONCURRENTLY "{self.name}" ON {self.shelf.vectors} '
            f"USING hnsw ((vector::halfvec({int(self.dimensions)})) halfvec_cosine_ops) "
            f"WHERE model_id = '{self.model_id}' AND vector IS NOT NULL AND live"
        )


def maintain_indexes(owner: Engine, threshold: int) -> list[str]:
    """Build what is missing for models with more than `threshold` vectors, drop what no model needs.

    Returns the names of the indexes built: none while somebody else builds. Needs the owner's connection, as only it
    may make indexes.
    """
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # One that is being built is not valid yet, and would be dropped and built anew. Nor may its builder be waited
        # for in a statement: it waits for all of these in turn.
        if not connection.scalar(_ONLY_BUILDER):
            return []
        try:
            return _maintain(connection, threshold)
        finally:
            connection.execute(_BUILDER_DONE)


def _maintain(connection: Connection, threshold: int) -> list[str]:
    wanted = {each.name: each for each in _wanted(connection, threshold)}
    valid = {row.relname: row.indisvalid for row in connection.execute(_EXISTING)}
    for name in [name for name, usable in valid.items() if name not in wanted or not usable]:
        connection.exec_driver_sql(f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"')
    built = [each for name, each in wanted.items() if not valid.get(name) and each.dimensions <= MOST_DIMENSIONS]
    for each in built:
        logger.info("building the vector index %s", each.name)
        connection.exec_driver_sql(each.statement)
    return [each.name for each in built]


def _wanted(connection: Connection, threshold: int) -> Iterator[Wanted]:
    for shelf in SHELVES:
        for row in connection.execute(statement(_LARGE, shelf), {"threshold": threshold}):
            yield Wanted(shelf, row.model_id, row.dimensions)


def index_name(model_id: UUID, shelf: Shelf = MEMORIES) -> str:
    """Return the name of a model's index over the vectors of one kind of item."""
    kind = "" if shelf is MEMORIES else f"{shelf.name}_"
    return f"{PREFIX}{kind}{model_id.hex}"
