"""The SQL that looks for words as they are written in what is searched; see `retrieval.lookup.statements`."""

from __future__ import annotations

from functools import cache

from memory.storage.shelves import Shelf
from retrieval.lookup.shelf_sql import filled

# The words of a scope that begin with a given letter, or with a letter that only other languages than English have, and
# how many items have each. The two ranges are two queries: each is answered from the index alone, whereas one query for
# both would read the table.
_VOCABULARY = """
SELECT x.lexeme, count(*) FROM {postings} x
WHERE x.user_id = %(user_id)s AND {in_scope} AND {worded}
  AND x.lexeme >= %(first)s COLLATE "C" AND x.lexeme < %(after)s COLLATE "C"
GROUP BY x.lexeme
UNION ALL
SELECT x.lexeme, count(*) FROM {postings} x
WHERE x.user_id = %(user_id)s AND {in_scope} AND {worded}
  AND x.lexeme >= U&'\\00C0' COLLATE "C" AND x.lexeme < U&'\\0250' COLLATE "C"
GROUP BY x.lexeme
"""
_WORDED = """char_length(x.lexeme) BETWEEN %(shortest)s AND %(longest)s
  AND (NOT %(accented)s OR octet_length(x.lexeme) > char_length(x.lexeme))"""

# The lexemes of a scope that some forms of words have, each with the place of its form in the list. One form may have
# several, as the index also keeps the parts of "air-fryer" as words. All lexemes are asked for in one list, which takes
# one walk of the index; asking for each by itself takes four times as long.
_FORMED = """
WITH formed AS MATERIALIZED (
    SELECT f.place, q.lexeme COLLATE "C" AS lexeme
    FROM unnest(%(forms)s::text[], %(by_parts)s::bool[]) WITH ORDINALITY AS f(form, by_parts, place)
    CROSS JOIN LATERAL unnest(to_tsvector('english'::regconfig, f.form)) q
    WHERE f.by_parts OR position(' ' IN f.form) = 0 OR q.lexeme ~ '[-.]'
)
SELECT f.place, f.lexeme FROM formed f JOIN (
    SELECT DISTINCT x.lexeme FROM {postings} x
    WHERE x.user_id = %(user_id)s AND {in_scope} AND x.lexeme = ANY(ARRAY(SELECT f.lexeme FROM formed f))
) held USING (lexeme) ORDER BY f.place, f.lexeme
"""

# The words of a scope that contain one of some parts and also a sign that is neither letter nor figure. All words of
# the scope are read.
_HOLDING = """
SELECT x.lexeme FROM {postings} x
WHERE x.user_id = %(user_id)s AND {in_scope} AND x.lexeme LIKE ANY(%(parts)s::text[])
  AND x.lexeme ~ '[^[:alnum:]]'
GROUP BY x.lexeme ORDER BY count(*) DESC, x.lexeme LIMIT %(most)s
"""


@cache
def vocabulary_statement(shelf: Shelf) -> str:
    """The lexemes of a scope with a first letter, and in how many items each is."""
    return filled(_VOCABULARY, shelf, worded=_WORDED)


@cache
def formed_statement(shelf: Shelf) -> str:
    """The lexemes of a scope that some forms of words have."""
    return filled(_FORMED, shelf)


@cache
def holding_statement(shelf: Shelf) -> str:
    """The lexemes of a scope that have one of some parts, and a sign that is neither letter nor figure."""
    return filled(_HOLDING, shelf)
