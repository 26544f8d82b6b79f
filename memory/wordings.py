"""In which other words a memory was said: what merges into it leaves its text as it is, and is in the call alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy.orm import Session

from memory.commands.parse import parse
from memory.commands.trail import TOOL
from memory.driver import Ids, fetch
from memory.markers import without_marked

# As many as versions are kept: an agent that says a memory in ever other words must not fill its row when it goes.
MOST_FOUND = 100

# Hardly any memory was ever said again, and what is found daily is named by thousands of calls: by their keys first.
_SAID = """
SELECT m.id, said.tool, said.words FROM memories m CROSS JOIN LATERAL (
    SELECT c.tool, coalesce(c.arguments->>'content', c.arguments->>'text') AS words
    FROM calls_naming(m.id) n JOIN tool_calls c ON c.user_id = n.user_id AND c.id = n.id
    WHERE n.user_id = m.user_id AND n.operation = 'create' AND n.origin = 'server'
    GROUP BY c.tool, words ORDER BY max(n.created_at) DESC LIMIT %(most)s
) said
WHERE m.user_id = %(user_id)s AND m.id = ANY(%(ids)b) AND m.repeat_count > 0 AND said.words <> m.text
"""


def wordings(session: Session, user_id: UUID, memory_ids: Collection[UUID]) -> Mapping[UUID, list[str]]:
    """Return for each memory the texts that calls of this server's tools stored as it, but the one that it has.

    Those are the latest hundred, the newest first. Memories that were said once are left out.
    """
    found: dict[UUID, list[str]] = defaultdict(list)
    values = {"user_id": user_id, "ids": Ids(memory_ids), "most": MOST_FOUND}
    for memory_id, tool, words in fetch(session, _SAID, values) if memory_ids else ():
        text = parse(words).subject if tool == TOOL else words
        found[memory_id].append(without_marked(text) or text)
    return found
