"""The SQL of a search. Builders return statements and run nothing; equal questions share one statement.

Written for the driver, with `%(name)s` parameters: these are the statements that every search waits for, and
SQLAlchemy's own form of them costs half a millisecond each.
"""

from __future__ import annotations

from functools import lru_cache

# Narrows either leg's rows `x` to what the caller may want; joined only when something narrows, as the memory
# row is wide.
_NARROWED = """
JOIN memories m ON m.user_id = x.user_id AND m.id = x.memory_id
    AND (%(types)s::text[] IS NULL OR m.type = ANY(%(types)s::text[]))
    AND (%(created_after)s::timestamptz IS NULL OR m.created_at >= %(created_after)s::timestamptz)
    AND (%(theme)s::text IS NULL OR m.theme_id = (
        SELECT t.id FROM themes t WHERE t.user_id = %(user_id)s AND t.slug = %(theme)s::text))
"""

# The distance itself is selected, not the cosine: an expression that is also the sort key is worked out once a row.
# A vector that is there is ready, and that is cheaper to ask of every row than what its state says.
_NEAREST = """
SELECT x.memory_id, {vector} <=> %(vector)s::halfvec AS distance FROM embeddings x {narrowed}
WHERE x.user_id = %(user_id)s AND x.space_id = %(space_id)s AND x.model_id = {model} AND x.live AND x.vector IS NOT NULL
ORDER BY distance LIMIT %(depth)s
"""

# BM25 as in Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework", in the form of Lucene 8 and
# later: idf = ln(1 + (N - df + 0.5) / (df + 0.5)), summed over the question's distinct lexemes that a memory
# contains (OR, not AND), with N and the mean length of the caller's scope. `bound` is the score that a memory
# would approach by saying every word of the question for ever: the sum of all idf, of words that no memory has
# included.
# The pool is what either leg listed, each row with what ranking needs and no more. Memories in `near` are scored
# at whatever rank; the others get their distance here.
_POOL = """
WITH scope AS MATERIALIZED (
    SELECT s.documents::float8 AS n, s.tokens::float8 / greatest(s.documents, 1) AS mean_length
    FROM spaces s WHERE s.user_id = %(user_id)s AND s.id = %(space_id)s
), words AS MATERIALIZED (
    SELECT w.lexeme, w.df, ln(1 + (s.n - w.df + 0.5::float8) / (w.df + 0.5::float8)) AS idf
    FROM scope s CROSS JOIN (
        SELECT q.lexeme COLLATE "C" AS lexeme, (
            SELECT count(*) FROM postings p
            WHERE p.user_id = %(user_id)s AND p.space_id = %(space_id)s AND p.lexeme = q.lexeme COLLATE "C"
        )::float8 AS df
        FROM unnest(to_tsvector('english'::regconfig, %(question)s::text)) q
    ) w
), scored AS MATERIALIZED (
    SELECT x.memory_id,
           sum(w.idf * x.tf / (x.tf + %(k1)s::float8 * (1 - %(b)s::float8
                                                            + %(b)s::float8 * x.length / s.mean_length))) AS score
    FROM scope s CROSS JOIN words w CROSS JOIN LATERAL (
        SELECT * FROM postings p WHERE p.user_id = %(user_id)s AND p.space_id = %(space_id)s AND p.lexeme = w.lexeme
    ) x {narrowed}
    GROUP BY x.memory_id
), listed AS MATERIALIZED (
    SELECT memory_id, score, row_number() OVER (ORDER BY score DESC, memory_id) AS rank FROM scored
    ORDER BY score DESC, memory_id LIMIT %(depth)s
), pool AS (
    SELECT memory_id, score, rank, memory_id = ANY(%(near)s::uuid[]) AS is_near FROM listed
    UNION ALL
    SELECT n.id, s.score, NULL, true FROM unnest(%(near)s::uuid[]) AS n(id)
    LEFT JOIN scored s ON s.memory_id = n.id
    WHERE n.id NOT IN (SELECT memory_id FROM listed)
)
SELECT m.id, p.score, p.rank, m.created_at, m.importance, m.pinned, m.previous_id,
       e.vector <=> %(vector)s::halfvec AS distance, (SELECT coalesce(sum(idf), 0) FROM words) AS bound
FROM pool p
JOIN memories m ON m.user_id = %(user_id)s AND m.id = p.memory_id AND m.space_id = %(space_id)s AND m.status = 'active'
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s)
LEFT JOIN embeddings e ON NOT p.is_near AND %(vector)s::halfvec IS NOT NULL
  AND e.user_id = %(user_id)s AND e.memory_id = p.memory_id AND e.model_id = %(model_id)s AND e.vector IS NOT NULL
"""

# The rest, for the few that may be shown. A summary that names a long memory as its source stands in for it. The
# vector comes in its binary form, as parsing its text would cost more than everything else here.
_WIDE = """
SELECT m.id, m.text, m.type, m.role, t.slug AS theme, m.tags, m.source_ids, s.text AS summary,
       halfvec_send(e.vector) AS vector
FROM memories m
LEFT JOIN themes t ON t.user_id = m.user_id AND t.id = m.theme_id
LEFT JOIN embeddings e ON e.user_id = m.user_id AND e.memory_id = m.id AND e.model_id = %(model_id)s
LEFT JOIN LATERAL (
    SELECT y.text FROM memories y
    WHERE y.user_id = m.user_id AND y.space_id = m.space_id AND y.type = 'summary' AND y.status = 'active'
      AND y.id <> m.id AND y.source_ids @> ARRAY[m.id::text] LIMIT 1
) s ON octet_length(m.text) > %(long_text)s
WHERE m.user_id = %(user_id)s AND m.id = ANY(%(ids)s::uuid[])
"""

# Lost scores are computed again, so a transaction that writes nothing else need not wait for the disk.
_SAVE_SCORES = """
INSERT INTO last_scores (user_id, memory_id, relevance, recency, importance, total, computed_at)
SELECT %(user_id)s, v.id, v.relevance, v.recency, v.importance, v.total, %(now)s
FROM unnest(%(ids)s::uuid[], %(relevance)s::float8[], %(recency)s::float8[],
            %(importance)s::float8[], %(total)s::float8[]) AS v(id, relevance, recency, importance, total),
     set_config('synchronous_commit', 'off', true)
WHERE EXISTS (SELECT 1 FROM memories m WHERE m.user_id = %(user_id)s AND m.id = v.id)
ORDER BY v.id
ON CONFLICT (user_id, memory_id) DO UPDATE SET
    relevance = excluded.relevance, recency = excluded.recency, importance = excluded.importance,
    total = excluded.total, computed_at = excluded.computed_at
"""


@lru_cache
def pool_statement(*, filtered: bool) -> str:
    """BM25 over the postings of the scope, joined with the semantic leg's memories: the candidates of both legs."""
    return _POOL.format(narrowed=_NARROWED if filtered else "")


@lru_cache
def exact_statement(*, filtered: bool) -> str:
    """The nearest memories by cosine, every vector of the scope compared (recall 1.0)."""
    return _nearest("x.vector", "%(model_id)s", filtered=filtered)


@lru_cache(maxsize=1024)
def approximate_statement(model_id: str, dimensions: int, *, filtered: bool) -> str:
    """The nearest memories by the model's HNSW index.

    The index is partial and on an expression, so the model and its dimensions stand in the text. Both come from
    our own tables, as a UUID and an integer.
    """
    return _nearest(f"x.vector::halfvec({int(dimensions)})", f"'{model_id}'", filtered=filtered)


def _nearest(vector: str, model: str, *, filtered: bool) -> str:
    return _NEAREST.format(vector=vector, model=model, narrowed=_NARROWED if filtered else "")


@lru_cache
def wide_statement() -> str:
    """The memories themselves, with their vectors by the searched model."""
    return _WIDE


@lru_cache
def save_scores_statement() -> str:
    """Write the last scores of memories that still exist, in the order of their ids so that no two searches lock."""
    return _SAVE_SCORES
