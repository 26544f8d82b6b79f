"""What the SQL of a search asks of each kind of item, and how its statements are filled in for one.

Statements are templates with two kinds of gaps: `{name}` is filled in here, once for a kind, `%(name)s` by the driver,
for each search.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from memory.storage.shelves import ENTITIES, EPISODES, MEMORIES, Shelf

# Of the memories of a space those that a share lets be found in another: `only` are their ids, `tag` is what they have.
SHARED = replace(
    MEMORIES, name="shared memory", in_scope=f"{MEMORIES.in_scope} AND x.memory_id = ANY(%(only)b::uuid[])"
)


@dataclass(frozen=True, slots=True)
class ShelfSql:
    """What is asked of one kind of item, as SQL over a row `m` of it.

    `statistics` selects the number of items in scope and their mean length in lexemes; `narrows` is what a caller may
    narrow the items by; `ranked` is what ranking needs; `served` says whether the item may still be shown; `shown` is
    what is shown of it, `joined` the tables that takes.
    """

    statistics: str
    narrows: str
    ranked: str
    served: str
    shown: str
    joined: str


_MEMORY = ShelfSql(
    statistics="""
    SELECT s.documents::float8 AS n, s.tokens::float8 / greatest(s.documents, 1) AS mean_length
    FROM spaces s WHERE s.user_id = %(user_id)s AND s.id = %(space_id)s""",
    narrows="""
    AND (%(types)s::text[] IS NULL OR m.type = ANY(%(types)s::text[]))
    AND (%(tags)s::text[] IS NULL OR (SELECT array_agg(lower(t)) FROM unnest(%(tags)s::text[]) t)
        <@ (SELECT array_agg(lower(t)) FROM unnest(m.tags) t))
    AND (%(created_after)s::timestamptz IS NULL OR m.created_at >= %(created_after)s::timestamptz)
    AND (%(theme)s::text IS NULL OR m.theme_id = (
        SELECT t.id FROM themes t WHERE t.user_id = %(user_id)s AND t.slug = %(theme)s::text))""",
    ranked="""m.importance, m.pinned, m.previous_id,
       m.source_message_id IS NOT NULL AS is_said,
       left(m.text, 41) AS head, octet_length(m.text) AS size""",
    served="""m.space_id = %(space_id)s AND m.status = 'active'
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s)""",
    shown="""m.text, m.type, m.role, t.slug AS theme, m.tags, m.source_ids, s.text AS summary,
       CASE WHEN m.repeat_count > 0 OR m.version > 1 THEN m.updated_at END AS said_again""",
    # A summary that names a long memory as its source stands in for it, unless the memory's text was changed after the
    # summary was last written, or the summary is a roll-up of many memories (its role is "system"). `long_text` is
    # compared inside the subquery, where it saves the scan; as a condition of the join it would be tried on what the
    # scan had already read.
    joined="""
LEFT JOIN themes t ON t.user_id = m.user_id AND t.id = m.theme_id
LEFT JOIN LATERAL (
    SELECT y.text FROM memories y
    WHERE y.user_id = m.user_id AND y.space_id = m.space_id AND y.type = 'summary' AND y.status = 'active'
      AND y.role <> 'system' AND y.id <> m.id AND y.source_ids @> ARRAY[m.id::text]
      AND octet_length(m.text) > %(long_text)s
      AND (y.expires_at IS NULL OR y.expires_at > %(now)s)
      AND coalesce((
          SELECT max(r.replaced_at) FROM revisions r
          WHERE r.user_id = m.user_id AND r.memory_id = m.id AND 'text' = ANY(r.fields)
      ) <= greatest(uuid_extract_timestamp(y.id), (
          SELECT max(r.replaced_at) FROM revisions r
          WHERE r.user_id = y.user_id AND r.memory_id = y.id AND 'text' = ANY(r.fields)
      )), true)
    ORDER BY y.id DESC LIMIT 1
) s ON true""",
)

_RECENT = """
    AND (%(created_after)s::timestamptz IS NULL OR m.created_at >= %(created_after)s::timestamptz)"""

_EPISODE = ShelfSql(
    statistics="""
    SELECT sum(x.episodes)::float8 AS n, sum(x.tokens_indexed)::float8 / greatest(sum(x.episodes), 1) AS mean_length
    FROM (SELECT c.*, c.id AS scope_id FROM conversations c WHERE c.user_id = %(user_id)s) x WHERE {in_scope}""",
    narrows=_RECENT,
    ranked="""0.0::float8 AS importance, false AS pinned, m.previous_id,
       false AS is_said, NULL AS head, octet_length(m.text) AS size""",
    # Each episode looks up its conversation by the key. A join with a condition on the space would give the planner
    # another way into the conversations; it takes those of a space for next to none, and would compare every listed
    # episode with every one of them.
    served="""(SELECT c.space_id = %(space_id)s AND c.archived_at IS NULL FROM conversations c
      WHERE c.user_id = m.user_id AND c.id = m.conversation_id)""",
    shown="""m.text, 'episode' AS type, 'user' AS role, NULL AS theme, '{{}}'::text[] AS tags,
       ARRAY[m.conversation_id, m.message_id, m.reply_id]::text[] AS source_ids, NULL AS summary, NULL AS said_again""",
    joined="",
)

_ENTITY = ShelfSql(
    statistics="""
    SELECT count(*)::float8 AS n, coalesce(avg(length(m.tsv)), 0)::float8 AS mean_length
    FROM entities m WHERE m.user_id = %(user_id)s AND m.space_id = %(space_id)s""",
    narrows=_RECENT,
    ranked="""0.0::float8 AS importance, false AS pinned, NULL::uuid AS previous_id,
       false AS is_said, NULL AS head, 0 AS size""",
    # An entity that no active memory mentions has nothing to show but its name.
    served="m.space_id = %(space_id)s AND m.mentions > 0",
    shown="""concat_ws(E'\\n', m.name, nullif(m.notes, '')) AS text, m.type, 'system' AS role, NULL AS theme,
       '{{}}'::text[] AS tags, ARRAY[m.name] AS source_ids, NULL AS summary, NULL AS said_again""",
    joined="",
)

# Nothing is told of the others: neither how many have a word, nor what a summary of several says.
_SHARED = replace(
    _MEMORY,
    statistics="""
    SELECT count(*)::float8 AS n, coalesce(avg(
        (SELECT sum(cardinality(t.positions)) FROM unnest(m.tsv) t)
    ), 0)::float8 AS mean_length
    FROM memories m WHERE m.user_id = %(user_id)s AND m.id = ANY(%(only)b::uuid[])""",
    served=f"{_MEMORY.served} AND %(tag)s::text = ANY(m.tags)",
    joined=_MEMORY.joined.replace("y.role <> 'system'", "y.role <> 'system' AND %(tag)s::text = ANY(y.tags)"),
)

_SHELVES = {MEMORIES: _MEMORY, SHARED: _SHARED, EPISODES: _EPISODE, ENTITIES: _ENTITY}

_NARROWED = "JOIN {items} m ON m.user_id = x.user_id AND m.id = x.{item}{narrows}"

# Makes the planner look each word up in the index by itself. It takes user and space to be independent of one another,
# so with many users it expects a space to be next to empty, and would read all postings of the space. Left out for
# episodes, whose scope is many conversations: there each word would be looked up once for each of them.
_APIECE = " OFFSET 0"


def filled(template: str, shelf: Shelf, *, filtered: bool = False, **words: str) -> str:
    """Return a statement for a kind of item, with what narrows it where the search is `filtered`, and with `words`."""
    names = {**asdict(shelf), "apiece": "" if shelf is EPISODES else _APIECE, **words}
    asked = {key: value.format_map(names) for key, value in asdict(_SHELVES[shelf]).items()}
    if not filtered:
        asked["narrows"] = ""
    asked["narrowed"] = _NARROWED.format_map({**names, **asked}) if filtered else ""
    return template.format_map({**names, **asked})
