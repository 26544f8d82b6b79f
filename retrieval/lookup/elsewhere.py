"""Which other spaces of a user have words of a question: told, and never searched, for spaces are apart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from memory.storage.driver import fetch
from retrieval.query import MAX_QUERY

# A long question has words that any text has: a third of them must meet in one memory.
_SHARE = 3
MOST_SPACES = 3

# By the postings alone, which are in the order of this look-up; a memory itself is read to tell that it is served.
_ELSEWHERE = """
WITH words AS MATERIALIZED (
    SELECT q.lexeme COLLATE "C" AS lexeme, count(*) OVER () AS n
    FROM unnest(to_tsvector('english'::regconfig, in_words(%(question)s::text))) q
)
SELECT s.slug, s.name FROM spaces s
LEFT JOIN incognito_sessions i ON i.user_id = s.user_id AND i.session_key = %(session_key)s
WHERE s.user_id = %(user_id)s AND s.slug <> %(searched)s AND s.documents > 0
  AND s.memory_enabled AND NOT coalesce(i.active, s.incognito_default)
  AND EXISTS (
    SELECT 1 FROM (
        SELECT x.memory_id FROM words w CROSS JOIN LATERAL (
            SELECT p.memory_id FROM postings p
            WHERE p.user_id = s.user_id AND p.space_id = s.id AND p.lexeme = w.lexeme
        ) x
        GROUP BY x.memory_id HAVING count(*) * %(share)s >= max(w.n)
    ) y
    JOIN memories m ON m.user_id = s.user_id AND m.id = y.memory_id AND m.status = 'active'
      AND (m.expires_at IS NULL OR m.expires_at > %(now)s)
      AND (%(types)s::text[] IS NULL OR m.type = ANY(%(types)s::text[]))
  )
ORDER BY s.name, s.slug LIMIT %(most)s
"""


def spaces_with_words(
    session: Session,
    user_id: UUID,
    session_key: str,
    question: str,
    *,
    searched: str,
    types: Sequence[str] | None,
    now: datetime,
) -> list[tuple[str, str]]:
    """Return slug and name of a few spaces beside `searched` in which a memory has words of the question.

    Those that this session recalls nothing from, for incognito or with memory off, are not looked into. Nothing is
    ranked, and nothing counts as recalled.
    """
    values = {
        "user_id": user_id,
        "session_key": session_key,
        "question": question[:MAX_QUERY],
        "searched": searched,
        "share": _SHARE,
        "types": list(types) if types else None,
        "now": now,
        "most": MOST_SPACES,
    }
    return [(slug, name) for slug, name in fetch(session, _ELSEWHERE, values)]
