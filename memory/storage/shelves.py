"""The kinds of things that are embedded and searched, as SQL names them.

One queue, one backfill, one search serve all of them; a shelf is what differs between memories, episodes and
entities. Its strings are ours and stand in the text of statements.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shelf:
    """One kind of item.

    `items`, `vectors` and `postings` are tables; `item` and `scope` are columns of the latter two, `item_scope` the
    column of `items` that `scope` mirrors. `text` and `live` are expressions over a row `m` of `items`: what is
    embedded, and whether it is searched. `in_scope` is a condition over a row `x` of vectors or postings.
    """

    name: str
    items: str
    vectors: str
    postings: str
    item: str
    scope: str
    item_scope: str
    text: str
    live: str
    in_scope: str

    @property
    def holds_memories(self) -> bool:
        """Tell whether its items are memories, be it not all of a space."""
        return self.items == MEMORIES.items


MEMORIES = Shelf(
    name="memory",
    items="memories",
    vectors="embeddings",
    postings="postings",
    item="memory_id",
    scope="space_id",
    item_scope="space_id",
    text="m.text",
    live="m.status = 'active'",
    in_scope="x.space_id = %(space_id)s",
)

# The conversations of a space are looked up by the search itself, so that a move acts at once.
EPISODES = Shelf(
    name="episode",
    items="episodes",
    vectors="episode_embeddings",
    postings="episode_postings",
    item="item_id",
    scope="scope_id",
    item_scope="conversation_id",
    text="m.searched",
    live="true",
    in_scope="""x.scope_id IN (
        SELECT c.id FROM conversations c
        WHERE c.user_id = %(user_id)s AND c.space_id = %(space_id)s AND c.archived_at IS NULL
          AND (%(conversation_id)s::uuid IS NULL OR c.id = %(conversation_id)s::uuid))""",
)

ENTITIES = Shelf(
    name="entity",
    items="entities",
    vectors="entity_embeddings",
    postings="entity_postings",
    item="item_id",
    scope="scope_id",
    item_scope="space_id",
    text="concat_ws(': ', m.name, nullif(m.notes, ''))",
    live="true",
    in_scope="x.scope_id = %(space_id)s",
)

SHELVES = (MEMORIES, EPISODES, ENTITIES)
