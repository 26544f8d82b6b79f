"""The SQL of a search. Builders return statements and run nothing; equal questions share one statement.

Written for the driver, with `%(name)s` parameters: these are the statements that every search waits for, and
SQLAlchemy's own form of them costs twice as much time in the client. Long lists go in their binary form, `%(name)b`.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache, lru_cache

from memory.storage.shelves import Shelf
from retrieval.lookup.shelf_sql import filled

# The distance itself is selected and not the cosine: an expression that is also the sort key is computed once for each
# row. A row that has a vector is ready to be searched, and `vector IS NOT NULL` costs less to ask of every row than its
# state does.
_NEAREST = """
SELECT x.{item} AS id, x.{scope} AS scope_id, {vector} <=> %(vector)s::halfvec AS distance FROM {vectors} x {narrowed}
WHERE x.user_id = %(user_id)s AND {in_scope} AND x.model_id = {model} AND x.live AND x.vector IS NOT NULL
ORDER BY distance LIMIT {depth}
"""

# The HNSW index may return a nearer item after a farther one, so its result is sorted once more. Without `+ 0` the
# planner would take the rows for sorted already and leave the sort out.
_SORTED = "WITH near AS MATERIALIZED ({near}) SELECT * FROM near ORDER BY distance + 0"

# A long text counts as near as the nearest of its passages, because a single vector of the whole text says little about
# each part. Passages are not in the index, so those of all long texts in the scope are compared; there are few. The
# sort at the end also puts the index's own result in order (see `_SORTED`).
_WITH_PASSAGES = """
WITH near AS MATERIALIZED ({near}), long AS MATERIALIZED (
    SELECT x.{item} AS id, x.{scope} AS scope_id, {nearest_passage} AS distance FROM {vectors} x {narrowed}
    WHERE x.user_id = %(user_id)s AND {in_scope} AND x.model_id = {model} AND x.live AND x.passages IS NOT NULL
)
SELECT f.id, f.scope_id, min(f.distance) AS distance FROM (TABLE near UNION ALL TABLE long) f
GROUP BY f.id, f.scope_id ORDER BY min(f.distance) LIMIT {depth}
"""
_NEAREST_PASSAGE = "(SELECT min(p.vector <=> %(vector)s::halfvec) FROM unnest({row}.passages) AS p(vector))"

# BM25 as in Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework", in the form of Lucene 8 and later:
# idf = ln(1 + (N - df + 0.5) / (df + 0.5)), summed over the question's distinct lexemes that an item contains (OR, not
# AND). N and the mean length are those of the caller's scope; `longest` is explained in `retrieval.words.bm25`. Every
# row also carries the question's words and their idf, so that the ranking can score by them the items that only the
# semantic leg listed.
_KEYWORD = """
WITH scope AS MATERIALIZED ({statistics}
), counted AS MATERIALIZED (
    SELECT q.lexeme COLLATE "C" AS lexeme, (
        SELECT count(*) FROM {postings} x
        WHERE x.user_id = %(user_id)s AND {in_scope} AND x.lexeme = q.lexeme COLLATE "C"
    )::float8 AS df
    FROM unnest(to_tsvector('english'::regconfig, in_words(%(question)s::text))) q
), words AS MATERIALIZED (
    SELECT c.*, ln(1 + (s.n - c.df + 0.5::float8) / (c.df + 0.5::float8)) AS idf FROM scope s CROSS JOIN counted c
), scored AS (
    SELECT x.{item} AS id, sum(w.idf * x.tf / (
        x.tf + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * least(
            x.length / s.mean_length, %(longest)s::float8
        )))) AS score
    FROM scope s CROSS JOIN words w CROSS JOIN LATERAL (
        SELECT * FROM {postings} x WHERE x.user_id = %(user_id)s AND {in_scope} AND x.lexeme = w.lexeme{apiece}
    ) x {narrowed}
    GROUP BY x.{item} ORDER BY score DESC, id LIMIT %(depth)s
)
SELECT c.id, (SELECT array_agg(lexeme ORDER BY lexeme) FROM words) AS lexemes,
       (SELECT array_agg(idf ORDER BY lexeme) FROM words) AS idfs, (SELECT mean_length FROM scope) AS mean_length,
       (SELECT array_agg(df ORDER BY lexeme) FROM words) AS counts
FROM scored c ORDER BY c.score DESC, c.id
"""

# The latest items that have all words of a text, in whatever order.
_WITH_ALL = """
WITH words AS MATERIALIZED (
    SELECT q.lexeme COLLATE "C" AS lexeme FROM unnest(to_tsvector('english'::regconfig, in_words(%(question)s::text))) q
)
SELECT x.{item} FROM words w CROSS JOIN LATERAL (
    SELECT * FROM {postings} x WHERE x.user_id = %(user_id)s AND {in_scope} AND x.lexeme = w.lexeme{apiece}
) x {narrowed}
GROUP BY x.{item} HAVING count(*) = (SELECT count(*) FROM words) ORDER BY x.{item} DESC LIMIT %(most)s
"""

# The items that have each of some pictures (emoji). The index keeps no pictures, so the texts of the whole scope are
# read. The pictures together are scored as BM25 scores one word, and `often`, how many times an item has all of them,
# goes into the pool. In a scope without a single indexed word the mean length is 0; 1 stands in for it, as it is
# divided by.
_PICTURED = """
WITH scope AS MATERIALIZED ({statistics}
), found AS MATERIALIZED (
    SELECT m.id, o.often::float8 AS often,
           coalesce((SELECT sum(cardinality(t.positions)) FROM unnest(m.tsv) t), 0)::float8 AS length
    FROM {items} m
    CROSS JOIN LATERAL (SELECT m.{item_scope} AS {scope}) x
    CROSS JOIN LATERAL (SELECT replace({text}, %(coloured)s::text, '') AS said) s
    CROSS JOIN LATERAL (
        SELECT min((char_length(s.said) - char_length(replace(s.said, p.picture, ''))) / char_length(p.picture))
               AS often
        FROM unnest(%(pictures)s::text[]) AS p(picture)
    ) o
    WHERE m.user_id = %(user_id)s AND {in_scope} AND {served}{narrows} AND o.often > 0
), word AS MATERIALIZED (
    SELECT f.df, ln(1 + (s.n - f.df + 0.5::float8) / (f.df + 0.5::float8)) AS idf,
           coalesce(nullif(s.mean_length, 0), 1) AS mean_length
    FROM scope s CROSS JOIN (SELECT count(*)::float8 AS df FROM found) f
)
SELECT f.id, f.often, w.df, w.idf, w.mean_length FROM found f CROSS JOIN word w
ORDER BY f.often / (f.often + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * least(
    f.length / w.mean_length, %(longest)s::float8
))) DESC, f.id DESC LIMIT %(depth)s
"""

# The candidates of both legs, and the neighbours of the best of them, each with what ranking needs and no more: also
# which of the question's words it has and how often, and its distance where the semantic leg did not give one. The CASE
# saves looking up a vector whose distance is already known. Words and ids are put together with UNION ALL and grouped:
# for a join of the two the planner cannot tell how few words there are, and would compare every word with every id.
# `place > 0` is always true, but makes the planner expect three words instead of ten; expecting ten, it would read all
# postings of a small database. `OFFSET 0` makes it look up each row by its key.
_POOL = """
WITH pool AS MATERIALIZED (
    SELECT l.id FROM unnest(%(listed)b::uuid[]) AS l(id){beside}
), words AS MATERIALIZED (
    SELECT w.lexeme, w.place FROM unnest(%(lexemes)b::text[]) WITH ORDINALITY AS w(lexeme, place) WHERE w.place > 0
), said AS MATERIALIZED (
    SELECT y.id, array_agg(y.place) FILTER (WHERE y.place IS NOT NULL) AS places,
           array_agg(y.tf) FILTER (WHERE y.place IS NOT NULL) AS counts, max(y.length) AS length
    FROM (
        SELECT p.id, NULL::bigint AS place, NULL::smallint AS tf, NULL::int AS length FROM pool p
        UNION ALL
        SELECT x.{item}, w.place - 1, x.tf, x.length FROM words w CROSS JOIN LATERAL (
            SELECT * FROM {postings} x
            WHERE x.user_id = %(user_id)s AND {in_scope} AND x.lexeme = w.lexeme COLLATE "C"
              AND x.{item} = ANY(ARRAY(SELECT p.id FROM pool p)){apiece}
        ) x
    ) y GROUP BY y.id
)
SELECT m.id, m.created_at, {ranked}, s.places, s.counts,
       coalesce(s.length, (SELECT sum(cardinality(t.positions)) FROM unnest(m.tsv) t), 0)::float8 AS length,
       least(e.vector <=> %(vector)s::halfvec, {nearest_passage}) AS distance
FROM said s CROSS JOIN LATERAL (
    SELECT * FROM {items} m WHERE m.user_id = %(user_id)s AND m.id = s.id OFFSET 0
) m LEFT JOIN LATERAL (
    SELECT * FROM {vectors} e WHERE e.user_id = %(user_id)s
      AND e.{item} = CASE WHEN s.id <> ALL(%(near)b::uuid[]) AND %(vector)s::halfvec IS NOT NULL THEN s.id END
      AND e.model_id = %(model_id)s AND e.vector IS NOT NULL OFFSET 0
) e ON true
WHERE {served}{narrows}
"""

_BESIDE = """
    UNION
    SELECT m.previous_id FROM {items} m
    WHERE m.user_id = %(user_id)s AND m.id = ANY(%(best)b::uuid[]) AND m.previous_id IS NOT NULL
    UNION
    SELECT m.id FROM {items} m WHERE m.user_id = %(user_id)s AND m.previous_id = ANY(%(best)b::uuid[])"""

# The items that have the most of some lexemes, each given as a range from `first` to `last` (which may be the same); of
# equally good ones the latest first. `OFFSET 0` makes the planner look up each range, and each item, by itself, as it
# cannot tell how few there are.
_SPELLED = """
SELECT m.id, {text} AS text, m.created_at FROM (
    SELECT x.{item} AS id, sum(p.weight) AS n
    FROM unnest(%(first)s::text[], %(last)s::text[], %(weights)s::int[]) AS p(first, last, weight) CROSS JOIN LATERAL (
        SELECT * FROM {postings} x WHERE x.user_id = %(user_id)s AND {in_scope}
          AND x.lexeme >= p.first COLLATE "C" AND x.lexeme <= p.last COLLATE "C"{apiece}
    ) x {narrowed}
    GROUP BY x.{item} ORDER BY n DESC, x.{item} DESC LIMIT %(most)s
) f CROSS JOIN LATERAL (SELECT * FROM {items} m WHERE m.user_id = %(user_id)s AND m.id = f.id OFFSET 0) m
WHERE {served} ORDER BY f.n DESC, m.id DESC
"""

# The memories that match one of several queries and were kept in the time that goes with it, the nearest to `start`
# first. A memory that was said again counts as kept at that time, too. The first condition on the time is implied by
# the second; it is there to drop cheaply the memories that were kept once, at another time, before the words of the
# rest are looked at.
_KEPT_NEAR = """
SELECT m.id, {text} AS text, k.kept FROM {items} m
CROSS JOIN LATERAL (VALUES (m.created_at), (CASE WHEN m.repeat_count > 0 THEN m.updated_at END)) AS k(kept)
WHERE m.user_id = %(user_id)s AND {served}{narrows}
  AND (m.repeat_count > 0 OR (m.created_at >= %(since)s AND m.created_at < %(before)s))
  AND k.kept >= %(since)s AND k.kept < %(before)s
  AND EXISTS (
      SELECT FROM unnest(
          %(queries)s::text[]::tsquery[], %(starts)s::timestamptz[], %(ends)s::timestamptz[]
      ) AS p(query, since, before)
      WHERE k.kept >= p.since AND k.kept < p.before AND m.tsv @@ p.query
  )
ORDER BY abs(extract(epoch FROM k.kept - %(start)s)), m.id LIMIT %(most)s
"""

# The items that have a name with signs that the index does not keep. Of "C#" the index keeps the letter: the items read
# are those that have "c", and those that have the name written out, "csharp". Of "AT&T" it keeps nothing: all items of
# the scope are looked at, and most are dropped because they lack the sign. The ids come as one array in one row, also
# when there are none: an item that is not among them does not have the name, whichever leg found it.
_SIGNED = """
WITH scope AS MATERIALIZED ({statistics}
), parts AS MATERIALIZED (
    SELECT q.lexeme COLLATE "C" AS lexeme FROM unnest(to_tsvector('english'::regconfig, %(name)s::text)) q
), held AS MATERIALIZED (
    SELECT x.{item} AS id FROM parts w CROSS JOIN LATERAL (
        SELECT * FROM {postings} x WHERE x.user_id = %(user_id)s AND {in_scope} AND x.lexeme = w.lexeme{apiece}
    ) x GROUP BY x.{item} HAVING count(*) = (SELECT count(*) FROM parts)
    UNION
    SELECT x.{item} FROM unnest(to_tsvector('english'::regconfig, %(written_out)s::text)) q CROSS JOIN LATERAL (
        SELECT * FROM {postings} x
        WHERE x.user_id = %(user_id)s AND {in_scope} AND x.lexeme = q.lexeme COLLATE "C"{apiece}
    ) x
), found AS MATERIALIZED (
    SELECT m.id FROM held h JOIN {items} m ON m.user_id = %(user_id)s AND m.id = h.id AND {served}{narrows}
    WHERE {said} ~* %(pattern)s
    UNION ALL
    SELECT m.id FROM {items} m CROSS JOIN LATERAL (SELECT m.{item_scope} AS {scope}) x
    WHERE NOT EXISTS (SELECT FROM parts)
      AND m.user_id = %(user_id)s AND {in_scope} AND {served}{narrows}
      AND position(%(sign)s IN {said}) > 0 AND {said} ~* %(pattern)s
), word AS MATERIALIZED (
    SELECT f.df, ln(1 + (greatest(s.n, f.df) - f.df + 0.5::float8) / (f.df + 0.5::float8)) AS idf,
           coalesce(nullif(s.mean_length, 0), 1) AS mean_length
    FROM scope s CROSS JOIN (SELECT count(*)::float8 AS df FROM found) f
)
SELECT (SELECT array_agg(f.id ORDER BY f.id DESC) FROM found f), w.df, w.idf, w.mean_length FROM word w
"""

_OF_THE_TIME = """
SELECT m.id FROM {items} m CROSS JOIN LATERAL (SELECT m.id AS {item}, m.{item_scope} AS {scope}) x
WHERE m.user_id = %(user_id)s AND {in_scope} AND {served}{narrows}
  AND m.created_at >= %(start)s AND m.created_at < %(end)s
ORDER BY m.created_at DESC, m.id LIMIT %(depth)s
"""

# What is shown of an item, for the few that are returned, if they may still be shown. The vector comes in its binary
# form, as parsing its text would cost more than the rest of the statement. For a long text it is the vector of the
# passage nearest to the question, which is the first of `places`.
_WIDE = """
SELECT m.id, {shown}, halfvec_send(coalesce(p.vector, e.vector)) AS vector, p.places
FROM unnest(%(ids)b::uuid[]) AS i(id) CROSS JOIN LATERAL (
    SELECT * FROM {items} m WHERE m.user_id = %(user_id)s AND m.id = i.id OFFSET 0
) m {joined}
LEFT JOIN LATERAL (
    SELECT * FROM {vectors} e
    WHERE e.user_id = %(user_id)s AND e.{item} = i.id AND e.model_id = %(model_id)s OFFSET 0
) e ON true
LEFT JOIN LATERAL (
    SELECT (array_agg(n.vector ORDER BY n.distance))[1] AS vector, array_agg(n.place ORDER BY n.distance) AS places
    FROM (
        SELECT x.vector, x.place, x.vector <=> %(vector)s::halfvec AS distance
        FROM unnest(e.passages) WITH ORDINALITY AS x(vector, place)
        WHERE %(vector)s::halfvec IS NOT NULL ORDER BY distance LIMIT %(read)s
    ) n
) p ON true
WHERE {served}
"""

# Saves the scores of the memories that a search returned. A lost score is computed again by the next search, so the
# transaction need not wait for the disk; nor for someone who is changing or forgetting one of the memories at this
# moment: SKIP LOCKED leaves that one out. The rows are locked in the order of their ids, so that no two searches lock
# each other out.
_SAVING = """
WITH there AS MATERIALIZED (
    SELECT m.id FROM memories m WHERE m.user_id = %(user_id)s AND m.id = ANY(%(ids)b::uuid[])
    ORDER BY m.id FOR KEY SHARE SKIP LOCKED
), saved AS (
    INSERT INTO last_scores (user_id, memory_id, relevance, recency, importance, total, computed_at)
    SELECT %(user_id)s, v.id, v.relevance, v.recency, v.importance, v.total, %(now)s
    FROM unnest(%(ids)b::uuid[], %(relevance)b::float8[], %(recency)b::float8[],
                %(importance)b::float8[], %(total)b::float8[]) AS v(id, relevance, recency, importance, total)
    JOIN there USING (id), set_config('synchronous_commit', 'off', true)
    ORDER BY v.id
    ON CONFLICT (user_id, memory_id) DO UPDATE SET
        relevance = excluded.relevance, recency = excluded.recency, importance = excluded.importance,
        total = excluded.total, computed_at = excluded.computed_at
)"""


@cache
def keyword_statement(shelf: Shelf, *, filtered: bool) -> str:
    """BM25 over the postings of the scope: the best items, with the question's words and their idf."""
    return filled(_KEYWORD, shelf, filtered=filtered)


@cache
def with_all_statement(shelf: Shelf, *, filtered: bool) -> str:
    """The latest items that have all words of a text."""
    return filled(_WITH_ALL, shelf, filtered=filtered)


@cache
def pictured_statement(shelf: Shelf, *, filtered: bool) -> str:
    """BM25 of the items that have each of some pictures, with how often."""
    return filled(_PICTURED, shelf, filtered=filtered)


@cache
def signed_statement(shelf: Shelf, *, filtered: bool) -> str:
    """The items that have a name with signs, the latest first, with the numbers that BM25 takes of it."""
    said = "(m.text || ' ' || tags_text(m.tags))" if shelf.holds_memories else shelf.text
    return filled(_SIGNED, shelf, filtered=filtered, said=said)


@cache
def pool_statement(shelf: Shelf, *, filtered: bool, beside: bool) -> str:
    """The candidates of both legs, with `beside` also the neighbours of the best, of shelves that know neighbours."""
    words = {"nearest_passage": _NEAREST_PASSAGE.format(row="e")}
    words["beside"] = _BESIDE.format_map(asdict(shelf)) if beside else ""
    return filled(_POOL, shelf, filtered=filtered, **words)


@lru_cache(maxsize=1024)
def exact_statement(shelf: Shelf, depth: int, *, filtered: bool, passages: bool = True) -> str:
    """The nearest items by cosine, every vector of the scope compared (recall 1.0), with those of `passages` or not.

    How many are asked for stands in the text: not knowing it, the planner takes a tenth of all for likely, and plans
    each question anew.
    """
    words = {"vector": "x.vector", "model": "%(model_id)s", "depth": str(int(depth))}
    near = filled(_NEAREST, shelf, filtered=filtered, **words)
    return _with_passages(shelf, near, filtered=filtered, **words) if passages else near


@lru_cache(maxsize=1024)
def approximate_statement(
    shelf: Shelf, model_id: str, dimensions: int, depth: int, *, filtered: bool, passages: bool = True
) -> str:
    """The nearest items by the model's HNSW index, and with `passages` those with the nearest of these.

    The index is partial and on an expression, so the model and its dimensions stand in the text. Both come from
    our own tables, as a UUID and an integer.
    """
    words = {"vector": f"x.vector::halfvec({int(dimensions)})", "model": f"'{model_id}'", "depth": str(int(depth))}
    near = filled(_NEAREST, shelf, filtered=filtered, **words)
    return _with_passages(shelf, near, filtered=filtered, **words) if passages else filled(_SORTED, shelf, near=near)


def _with_passages(shelf: Shelf, near: str, *, filtered: bool, **words: str) -> str:
    nearest = _NEAREST_PASSAGE.format(row="x")
    return filled(_WITH_PASSAGES, shelf, filtered=filtered, near=near, nearest_passage=nearest, **words)


@cache
def spelled_statement(shelf: Shelf, *, filtered: bool) -> str:
    """The items that have most of some lexemes, by the weights of these, with their texts."""
    return filled(_SPELLED, shelf, filtered=filtered)


@cache
def kept_near_statement(shelf: Shelf, *, filtered: bool) -> str:
    """The memories that have a word of one of some queries and were kept in the time of that, with their texts."""
    return filled(_KEPT_NEAR, shelf, filtered=filtered)


@cache
def of_the_time_statement(shelf: Shelf, *, filtered: bool) -> str:
    """The latest items of a time."""
    return filled(_OF_THE_TIME, shelf, filtered=filtered)


@cache
def wide_statement(shelf: Shelf, *, saving: bool) -> str:
    """The items themselves, with their vectors by the searched model; `saving` also writes memories' last scores."""
    return (_SAVING if saving else "") + filled(_WIDE, shelf)
