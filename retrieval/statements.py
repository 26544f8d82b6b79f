"""The SQL of a search. Builders return statements and run nothing; equal questions share one statement.

Written for the driver, with `%(name)s` parameters: these are the statements that every search waits for, and
SQLAlchemy's own form of them costs twice as much time in the client. Long lists go in their binary form, `%(name)b`.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache, lru_cache

from memory.shelves import Shelf
from retrieval.shelf_sql import filled

# The distance itself is selected, not the cosine: an expression that is also the sort key is worked out once a row.
# A vector that is there is ready, and that is cheaper to ask of every row than what its state says.
_NEAREST = """
SELECT x.{item} AS id, x.{scope} AS scope_id, {vector} <=> %(vector)s::halfvec AS distance FROM {vectors} x {narrowed}
WHERE x.user_id = %(user_id)s AND {in_scope} AND x.model_id = {model} AND x.live AND x.vector IS NOT NULL
ORDER BY distance LIMIT {depth}
"""

# What an index gives late may be nearer than what came before. The sum keeps the planner from believing that it is not.
_SORTED = "WITH near AS MATERIALIZED ({near}) SELECT * FROM near ORDER BY distance + 0"

# A long text is as near as the nearest of its passages: one vector of everything says little of each. They are not in
# the index, and all are compared, those of the few texts that are long. By their distance, so what an index gives late
# is put in its place as well.
_WITH_PASSAGES = """
WITH near AS MATERIALIZED ({near}), long AS MATERIALIZED (
    SELECT x.{item} AS id, x.{scope} AS scope_id, {nearest_passage} AS distance FROM {vectors} x {narrowed}
    WHERE x.user_id = %(user_id)s AND {in_scope} AND x.model_id = {model} AND x.live AND x.passages IS NOT NULL
)
SELECT f.id, f.scope_id, min(f.distance) AS distance FROM (TABLE near UNION ALL TABLE long) f
GROUP BY f.id, f.scope_id ORDER BY min(f.distance) LIMIT {depth}
"""
_NEAREST_PASSAGE = "(SELECT min(p.vector <=> %(vector)s::halfvec) FROM unnest({row}.passages) AS p(vector))"

# BM25 as in Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework", in the form of Lucene 8 and
# later: idf = ln(1 + (N - df + 0.5) / (df + 0.5)), summed over the question's distinct lexemes that an item
# contains (OR, not AND), with N and the mean length of the caller's scope; `longest` is as in `retrieval.words`. With
# every item come the question's words and their idf, so that items of the other leg can be scored by them there.
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

# The items that have each of some pictures, which are no words to the index: all texts are read. Scored as words are,
# all of them together as one word. To the pool they say how often each item has that. Where no item of the scope has a
# word, their mean length is nothing to divide by.
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

# What either leg listed, and the neighbours of the best of them: each row with what ranking needs and no more. With it
# come how often it has which of the question's words, and the distance that the semantic leg did not say; the CASE
# spares looking up what is known. Words and ids are gathered as one: a join of the two, of which nobody can foretell
# how few the words are, would compare each with each. Every place is above 0; asking for that lets the planner expect
# three words instead of ten, without which it would rather read all postings of a small database. Each row, too, is
# looked up by itself.
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

# The texts that have most of some lexemes, or of what lies between two; of those that have as much, the latest first.
# Each is looked up by itself, as nobody can foretell how few there are.
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

# The texts that have one of the words of a query and were kept in the time that this asks for, the nearest to a moment
# first; what was said again was kept then, too. By its words alone each would be looked up by itself. What was kept at
# another time and only once is put aside first.
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

# The items that have a name whose signs the index does not keep. Where it keeps the letters, as of "C#", those that
# have them are read, and those that have them written out, as "csharp"; of "AT&T" it keeps nothing, and all are, most
# of them for the sign alone. All ids come, in one row even where there are none: what is not among them lacks the name,
# however it was found.
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
SELECT m.id FROM memories m
WHERE m.user_id = %(user_id)s AND {served}{narrows} AND m.created_at >= %(start)s AND m.created_at < %(end)s
ORDER BY m.created_at DESC, m.id LIMIT %(depth)s
"""

# The rest, for the few that may be shown, as long as they still may. The vector comes in its binary form, as parsing
# its text would cost more than everything else here; of a long text it is that of the passage which comes nearest, the
# first of the `places`.
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

# Lost scores are computed again, so a transaction that writes nothing else need not wait for the disk, nor for who is
# changing or forgetting some of these memories just now: those are left out. In the order of their ids, so that no two
# searches lock each other out.
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
    """The latest memories of a time."""
    return filled(_OF_THE_TIME, shelf, filtered=filtered)


@cache
def wide_statement(shelf: Shelf, *, saving: bool) -> str:
    """The items themselves, with their vectors by the searched model; `saving` also writes memories' last scores."""
    return (_SAVING if saving else "") + filled(_WIDE, shelf)
