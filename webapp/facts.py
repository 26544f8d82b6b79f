"""What agents and people do with facts, as one call each: the switches are asked, the domain acts, it is committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.conversations.transcript import known_messages
from memory.errors import RefusedError
from memory.facts import facts
from memory.facts.facts import FactFilters, FactPage, Stated, Statement
from memory.models import Conversation, Fact, Space
from memory.storage.database import time_limit
from webapp.api.schemas import moment
from webapp.context import credential, runtime, session, utc_now
from webapp.operations import (
    NOTHING_RECALLED,
    incognito_spaces,
    is_incognito,
    refuse_in_incognito,
    scope_for,
    silent_spaces,
    skipped,
    space_at,
    space_for,
)
from webapp.recall import LONGEST_STATEMENT


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a fact: its id, whether it is new, from when until when it is true, and which others ended."""

    id: UUID
    created: bool
    valid_from: datetime
    valid_until: datetime | None
    ended: tuple[UUID, ...]

    @classmethod
    def of(cls, stated: Stated) -> Kept:
        """Read it before the transaction ends."""
        fact = stated.fact
        return cls(fact.id, stated.created, fact.valid_from, fact.valid_until, tuple(stated.ended))

    def json(self) -> dict[str, Any]:
        """Return what those are told who may not read."""
        return {
            "id": str(self.id),
            "valid_from": moment(self.valid_from),
            "valid_until": moment(self.valid_until),
            "ended": [str(each) for each in self.ended],
        }


def find_facts(
    space: str | None, filters: FactFilters, *, limit: int, cursor: str | None = None
) -> tuple[FactPage, str | None]:
    """Return a page of the facts that this caller may see, and the name of the switch that keeps it empty.

    Who lists them reads what a space with memory off holds, too. To a confined token a conversation of another space is
    one that there is not.
    """
    scope, who = scope_for(space), credential()
    if is_incognito(scope):
        return FactPage((), None), "incognito"
    if who.space_id is not None and filters.conversation is not None:
        talk = session().get(Conversation, (who.user_id, filters.conversation))
        if talk is None or talk.space_id != who.space_id:
            return FactPage((), None), None
    chosen = _within(filters, scope, incognito_spaces)
    return facts.list_facts(session(), who.user_id, chosen, limit=limit, cursor=cursor, now=utc_now()), None


@dataclass(frozen=True, slots=True)
class Recalled:
    """Facts for whoever asks, each with the slug of its space, whether there are more, and what keeps them back."""

    facts: Sequence[tuple[Fact, str]] = ()
    more: bool = False
    skipped: str | None = None


def recall_facts(space: str | None, filters: FactFilters, *, most: int) -> Recalled:
    """Return facts for whoever asks, first those that have most words of the question `naming` of the filters.

    Nothing is told of what a space with memory off holds. A database that takes more than `LONGEST_STATEMENT` for one
    statement counts as one that does not answer, as for a search.
    """
    with time_limit(session(), LONGEST_STATEMENT):
        scope = scope_for(space)
        if why := skipped(scope):
            return Recalled(skipped=why)
        chosen = _within(filters, scope, silent_spaces)
        found = facts.facts_for(session(), credential().user_id, chosen, most=most + 1, now=utc_now())
    return Recalled(found[:most], len(found) > most)


def _within(filters: FactFilters, scope: Space | None, hidden: Callable[[], frozenset[str]]) -> FactFilters:
    return replace(filters, space_id=scope.id) if scope else replace(filters, hidden=hidden())


def state_fact(said: Statement, space: str | None) -> Kept:
    """Keep a fact in a space; raises `RefusedError` where nothing may be stored, and for what was forgotten there."""
    who, target = credential(), space_for(space)
    refuse_in_incognito(target.id)
    stated = facts.state(session(), who.user_id, target.id, said, keys=runtime().keys, now=utc_now(), actor=who.actor)
    kept = Kept.of(stated)
    session().commit()
    return kept


def visible_fact(fact_id: UUID) -> tuple[Fact, str]:
    """Return a fact and its space; raises `NotFoundError` for what this caller may not see."""
    who = credential()
    return facts.get_fact(session(), who.user_id, fact_id, within=who.space_id, now=utc_now())


def readable_fact(fact_id: UUID) -> tuple[Fact, str]:
    """Return a fact that may be read now; raises `RefusedError` in an incognito session."""
    fact, slug = visible_fact(fact_id)
    if is_incognito(space_at(fact.space_id)):
        raise RefusedError("incognito", NOTHING_RECALLED)
    return fact, slug


def correct_fact(fact_id: UUID, changes: Mapping[str, Any]) -> Kept:
    """Change fields of a fact, or say until when it was true."""
    who = credential()
    refuse_in_incognito(visible_fact(fact_id)[0].space_id)
    keys, now = runtime().keys, utc_now()
    corrected = facts.correct_fact(session(), who.user_id, fact_id, changes, keys=keys, now=now, actor=who.actor)
    kept = Kept.of(corrected)
    session().commit()
    return kept


def delete_fact(fact_id: UUID) -> None:
    """Delete a fact for good; as with any forgetting, an incognito session may do so too."""
    who = credential()
    visible_fact(fact_id)
    facts.delete_fact(session(), who.user_id, fact_id, keys=runtime().keys, now=utc_now(), actor=who.actor)
    session().commit()


def delete_extracted(space: str) -> int:
    """Delete for good what a model has read in a space, and nobody has looked at; returns how many facts."""
    who, scope = credential(), space_for(space)
    keys, now = runtime().keys, utc_now()
    gone = facts.delete_extracted(session(), who.user_id, scope.id, keys=keys, now=now, actor=who.actor)
    session().commit()
    return gone


def facts_json(found: Sequence[tuple[Fact, str]]) -> list[dict[str, Any]]:
    """Return facts, each with its space, as they are read; a confined token learns of no message of another space."""
    named = {fact.source_message_id for fact, _ in found if fact.source_message_id is not None}
    within = credential().space_id
    seen = named if within is None else known_messages(session(), credential().user_id, named, within=within)
    return [_fact_json(fact, slug, fact.source_message_id in seen) for fact, slug in found]


def _fact_json(fact: Fact, slug: str, is_source_seen: bool) -> dict[str, Any]:
    return {
        "id": str(fact.id),
        "space": slug,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "confidence": fact.confidence,
        "single": fact.single,
        "extracted": fact.extracted,
        "source_message_id": str(fact.source_message_id) if is_source_seen else None,
        "valid_from": moment(fact.valid_from),
        "valid_until": moment(fact.valid_until),
        "created_at": moment(fact.created_at),
    }
