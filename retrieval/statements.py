"""The SQL of the two legs. Builders return statements and run nothing."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ARRAY, Float, Text, Uuid, bindparam, text
from sqlalchemy.sql.elements import TextClause

from retrieval.query import Query

# Narrows either leg's rows `x` to what the caller may want; joined only when something narrows, as the memory
# row is wide.
_NARROWED = """
JOIN memories m ON m.user_id = x.user_id AND m.id = x.memory_id
    AND (CAST(:types AS text[]) IS NULL OR m.type = ANY(:types))
    AND (CAST(:created_after AS timestamptz) IS NULL OR m.created_at >= :created_after)
    AND (CAST(:theme AS text) IS NULL OR m.theme_id = (
        SELECT t.id FROM themes t WHERE t.user_id = :user_id AND t.slug = :theme))
"""

# BM25 as in Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework", in the form of Lucene 8 and
# later: idf = ln(1 + (N - df + 0.5) / (df + 0.5)), summed over the question's distinct lexemes that a memory
# contains (OR, not AND), with N and the mean length of the caller's scope. `bound` is the score that a memory
# would approach by saying every word of the question for ever: the sum of all idf, of words that no memory has
# included.
_KEYWORD = """
WITH scope AS (
    SELECT s.documents AS n, s.tokens::double precision / greatest(s.documents, 1) AS mean_length
    FROM spaces s WHERE s.user_id = :user_id AND s.id = :space_id
), words AS (
    SELECT lexeme FROM unnest(to_tsvector('english'::regconfig, :question))
), matches AS MATERIALIZED (
    SELECT p.lexeme COLLATE "C" AS lexeme, p.user_id, p.memory_id, p.tf, p.length
    FROM words w JOIN postings p
      ON p.user_id = :user_id AND p.space_id = :space_id AND p.lexeme = w.lexeme COLLATE "C"
), weights AS (
    SELECT w.lexeme COLLATE "C" AS lexeme, ln(1 + (s.n - count(m.memory_id) + 0.5) / (count(m.memory_id) + 0.5)) AS idf
    FROM scope s CROSS JOIN words w LEFT JOIN matches m ON m.lexeme = w.lexeme COLLATE "C"
    GROUP BY w.lexeme, s.n
), scored AS (
    SELECT x.memory_id,
           sum(w.idf * x.tf / (x.tf + :k1 * (1 - :b + :b * x.length / s.mean_length)))::double precision AS score
    FROM matches x JOIN weights w ON w.lexeme = x.lexeme CROSS JOIN scope s {narrowed}
    GROUP BY x.memory_id
), ranked AS (
    SELECT memory_id, score, row_number() OVER (ORDER BY score DESC, memory_id) AS rank FROM scored
)
SELECT memory_id, score, rank, (SELECT sum(idf) FROM weights)::double precision AS bound
FROM ranked WHERE rank <= :depth OR memory_id = ANY(:also)
UNION ALL
SELECT NULL, 0, 0, (SELECT sum(idf) FROM weights)::double precision
"""

_EXACT = """
SELECT x.memory_id FROM embeddings x {narrowed}
WHERE x.user_id = :user_id AND x.space_id = :space_id AND x.model_id = :model_id AND x.state = 'ready' AND x.live
ORDER BY x.vector <=> CAST(:vector AS halfvec) LIMIT :depth
"""

_FETCH = """
SELECT m.id, m.text, m.type, m.role, m.created_at, m.importance, t.slug AS theme, m.tags, m.source_ids, m.pinned,
       s.text AS summary, e.vector
FROM memories m
LEFT JOIN themes t ON t.user_id = m.user_id AND t.id = m.theme_id
LEFT JOIN embeddings e ON e.user_id = m.user_id AND e.memory_id = m.id AND e.model_id = :model_id AND e.state = 'ready'
LEFT JOIN LATERAL (
    SELECT y.text FROM memories y
    WHERE y.user_id = m.user_id AND y.space_id = m.space_id AND y.type = 'summary' AND y.status = 'active'
      AND y.id <> m.id AND y.source_ids @> ARRAY[m.id::text] LIMIT 1
) s ON octet_length(m.text) > :long_text
WHERE m.user_id = :user_id AND m.space_id = :space_id AND m.id = ANY(:ids) AND m.status = 'active'
  AND (m.expires_at IS NULL OR m.expires_at > :now)
"""

# A lost score is computed again, so this write need not wait for the disk.
SAVE_SCORES = """
INSERT INTO last_scores (user_id, memory_id, relevance, recency, importance, total, computed_at)
SELECT :user_id, v.id, v.relevance, v.recency, v.importance, v.total, :now
FROM unnest(CAST(:ids AS uuid[]), CAST(:relevance AS float8[]), CAST(:recency AS float8[]),
            CAST(:importance AS float8[]), CAST(:total AS float8[])) AS v(id, relevance, recency, importance, total)
WHERE EXISTS (SELECT 1 FROM memories m WHERE m.user_id = :user_id AND m.id = v.id)
ORDER BY v.id
ON CONFLICT (user_id, memory_id) DO UPDATE SET
    relevance = excluded.relevance, recency = excluded.recency, importance = excluded.importance,
    total = excluded.total, computed_at = excluded.computed_at
"""


def keyword_statement(query: Query) -> TextClause:
    """BM25 over the postings of the scope: rows (memory_id, score, rank, bound), the last one for the bound."""
    return _typed(_KEYWORD, query)


def exact_statement(query: Query) -> TextClause:
    """The nearest memories by cosine, every vector of the scope compared (recall 1.0)."""
    return _typed(_EXACT, query)


def approximate_statement(query: Query, model_id: str, dimensions: int) -> TextClause:
    """The nearest memories by the model's HNSW index.

    The index is partial and on an expression, so the model and its dimensions stand in the text. Both come from
    our own tables, as a UUID and an integer.
    """
    vector = f"x.vector::halfvec({int(dimensions)})"
    statement = _EXACT.replace("x.vector <=> CAST(:vector AS halfvec)", f"{vector} <=> CAST(:vector AS halfvec)")
    return _typed(statement.replace(":model_id", f"'{model_id}'"), query)


def fetch_statement() -> TextClause:
    """The memories themselves, with their vectors by the searched model."""
    return text(_FETCH).bindparams(bindparam("ids", type_=ARRAY(Uuid)))


def _typed(statement: str, query: Query) -> TextClause:
    narrowed = text(statement.format(narrowed=_NARROWED if query.filtered else ""))
    names = narrowed.compile().params
    types: dict[str, Any] = {"k1": Float(), "b": Float(), "also": ARRAY(Uuid), "types": ARRAY(Text)}
    return narrowed.bindparams(*(bindparam(name, type_=kind) for name, kind in types.items() if name in names))
