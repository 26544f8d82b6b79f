"""What every recall asks first, in one round trip: the space, the switch, the model, the time zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from memory.models import EmbeddingModel
from memory.spaces.sharing import Shared
from memory.spaces.spaces import unknown
from memory.storage.driver import fetch
from memory.time_zones import zone_of


@dataclass(frozen=True, slots=True)
class Place:
    """What a recall needs to know of a space; `documents` is how many active memories it has."""

    id: UUID
    slug: str
    policy: Mapping[str, Any]
    documents: int
    memory_enabled: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a session recalls: the space, whether the session is incognito there, the model, and the user's time zone.

    The model is for reading alone: no session holds it. `shared` is what is found there of other spaces, but of those
    from which this session recalls nothing.
    """

    space: Place
    incognito: bool
    model: EmbeddingModel | None
    zone: tzinfo = UTC
    shared: tuple[Shared, ...] = ()


# A session that has not said anything is as incognito as the space is by default.
_SCOPE = """
SELECT s.id, s.slug, s.policy, s.documents, s.memory_enabled, coalesce(i.active, s.incognito_default),
       (SELECT p.structured ->> 'time_zone' FROM preferences p
        WHERE p.user_id = s.user_id ORDER BY p.version DESC LIMIT 1),
       (SELECT json_agg(json_build_array(h.space_id, f.slug, h.tag) ORDER BY f.slug, h.tag)
        FROM shares h JOIN spaces f ON f.user_id = h.user_id AND f.id = h.space_id
        WHERE h.user_id = s.user_id AND h.found_in = s.id
          AND f.memory_enabled AND NOT coalesce(i.active, f.incognito_default)),
       e.id, e.provider_type, e.endpoint_url, e.model, e.api_key, e.dimensions
FROM spaces s
LEFT JOIN incognito_sessions i ON i.user_id = s.user_id AND i.session_key = %(session_key)s
LEFT JOIN embedding_models e ON e.user_id = s.user_id AND e.state = 'active'
WHERE s.user_id = %(user_id)s AND s."""
_BY_SLUG = f"{_SCOPE}slug = %(place)s"
_BY_ID = f"{_SCOPE}id = %(place)s"


def read_scope(
    session: Session, user_id: UUID, session_key: str, *, slug: str | None = None, space_id: UUID | None = None
) -> Scope:
    """Return the scope of a space by its slug or its id; raises `InvalidError` on `space` when there is none."""
    statement, place = (_BY_SLUG, slug) if space_id is None else (_BY_ID, space_id)
    values = {"user_id": user_id, "session_key": session_key, "place": place}
    rows = fetch(session, statement, values)
    if not rows:
        raise unknown(session, user_id, str(slug))
    *space, incognito, zone, shares, model_id, provider_type, endpoint_url, name, api_key, dimensions = rows[0]
    model = None
    if model_id is not None:
        model = EmbeddingModel(
            user_id=user_id,
            id=model_id,
            provider_type=provider_type,
            endpoint_url=endpoint_url,
            model=name,
            api_key=api_key,
            dimensions=dimensions,
        )
    shared = tuple(Shared(UUID(each), slug, tag) for each, slug, tag in shares or ())
    return Scope(Place(*space), incognito, model, zone_of(zone), shared)
