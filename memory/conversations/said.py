"""Whether words were said in the conversations of a space: told, and nothing is ranked or counts as recalled."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.orm import Session

from memory.conversations.threads import MOST_WORDS
from memory.storage.driver import fetch

# A conversation must have a third of the words: any long one has some word of a question.
_SHARE = 3

# By the postings of its episodes, then what of the words stands in its messages letter by letter: that is looked for
# where conversations are searched.
_SAID = """
WITH words AS MATERIALIZED (
    SELECT w.word, w.stem, w.place, t.lexeme COLLATE "C" AS lexeme, dense_rank() OVER (ORDER BY t.lexeme) AS nth
    FROM unnest(%(words)s::text[], %(stems)s::text[]) WITH ORDINALITY w(word, stem, place)
    CROSS JOIN LATERAL unnest(to_tsvector('english'::regconfig, w.word)) t
), best AS MATERIALIZED (
    SELECT p.scope_id FROM words w
    JOIN episode_postings p ON p.user_id = %(user_id)s AND p.lexeme = w.lexeme
    JOIN conversations c ON c.user_id = %(user_id)s AND c.id = p.scope_id AND c.archived_at IS NULL
    JOIN spaces s ON s.user_id = %(user_id)s AND s.id = c.space_id AND s.slug = %(space)s
    GROUP BY p.scope_id HAVING count(DISTINCT w.lexeme) * %(share)s >= (SELECT max(nth) FROM words)
    ORDER BY count(DISTINCT w.lexeme) DESC, p.scope_id DESC LIMIT 1
), said AS (
    SELECT w.place, w.word, w.lexeme, w.stem, bool_or(position(w.word IN lower(m.content)) > 0) AS whole,
           bool_or(position(w.lexeme IN lower(m.content)) > 0) AS rooted
    FROM best b JOIN messages m ON m.user_id = %(user_id)s AND m.conversation_id = b.scope_id
    JOIN words w ON position(w.stem IN lower(m.content)) > 0
    GROUP BY w.place, w.word, w.lexeme, w.stem
)
SELECT CASE WHEN whole THEN word WHEN rooted THEN lexeme ELSE stem END FROM said ORDER BY place LIMIT %(most)s
"""


def said_words(session: Session, user_id: UUID, space: str, words: Mapping[str, str]) -> list[str]:
    """Return which of the words were said in that conversation of the space in which most of them were.

    The words are given with their stems; a word that was said in another form only is told by its stem. Empty where no
    conversation has a third of the words.
    """
    values = {
        "user_id": user_id,
        "space": space,
        "words": list(words),
        "stems": list(words.values()),
        "share": _SHARE,
        "most": MOST_WORDS,
    }
    return [word for (word,) in fetch(session, _SAID, values)] if words else []
