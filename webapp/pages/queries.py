"""The few reads that pages need beside the domain's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from flask import g
from sqlalchemy import select

from memory.accounts.accounts import list_tokens
from memory.conversations.said import said_words
from memory.lineage.summing_up import summed_up
from memory.models import DEFAULT_SPACE, Memory, PossibleUpdate, Space, Theme
from memory.reading.browse import (
    Entry,
    Filters,
    Page,
    get_entries,
    get_entry,
    list_counted,
    list_ids,
    possible_updates,
    superseded_by,
)
from memory.remote.credentials import credentials_in
from memory.spaces.sharing import Sharing, found_in_of
from memory.spaces.spaces import SpaceOffer, offer_spaces
from memory.spaces.themes import check_theme, list_themes
from memory.writing.trace import Neighbour, Outcome
from retrieval.lookup.elsewhere import spaces_with_words
from retrieval.query import MAX_QUERY
from retrieval.words.passage import stem, stems
from webapp.context import credential, once, session, utc_now
from webapp.operations import incognito_spaces, is_incognito, visible_entry
from webapp.pages.forms import BrowseForm, SearchForm
from webapp.pages.words import in_a_line

PAGE = 20
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Offered:
    """Spaces to choose from as (slug, name). With `others` there are more, of which each can be named by its slug."""

    pairs: Sequence[tuple[str, str]]
    others: bool = False

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)


@dataclass(frozen=True, slots=True)
class Choices(SpaceOffer):
    """What the selects of a form offer."""

    themes: Sequence[tuple[str, str]]

    @property
    def space_pairs(self) -> Offered:
        """Return spaces by their names."""
        return offered(self, lambda space: space.name)

    @property
    def space_sizes(self) -> Offered:
        """Return spaces by their names with their sizes, for a page that keeps the sizes true."""
        return offered(self, lambda space: f"{space.name} ({space.documents})")

    def name_of(self, slug: str | None) -> str:
        """Return the name of a space, of the default without a slug."""
        slug = slug or DEFAULT_SPACE
        return next((space.name for space in self.spaces if space.slug == slug), slug)

    def size_of(self, slug: str | None) -> int | None:
        """Return how many active memories are in a space, in the default without a slug; None of one not offered."""
        slug = slug or DEFAULT_SPACE
        return next((space.documents for space in self.spaces if space.slug == slug), None)


@dataclass(frozen=True, slots=True)
class Opened:
    """A memory with what it is linked to."""

    entry: Entry
    updates: Sequence[tuple[PossibleUpdate, Memory]]
    older: Entry | None
    newer: Sequence[Memory]
    # What a summary sums up, and the summaries of a memory.
    sources: Sequence[Memory]
    summaries: Sequence[Memory]
    # By which of its tags it is found in other spaces as well.
    shares: Sequence[Sharing]

    @property
    def credentials(self) -> Sequence[str]:
        """Return what kinds of credentials its text seems to hold."""
        return credentials_in(self.entry.memory.text)


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of memories, how many there are in all, and the names of the spaces that incognito keeps closed.

    There are more than `total` if `over`.
    """

    page: Page
    total: int
    over: bool = False
    hidden: Sequence[str] = ()


def offered(offer: SpaceOffer, named: Callable[[Space], str]) -> Offered:
    """Return what a form shows of an offer of spaces."""
    pairs = [(space.slug, named(space)) for space in offer.spaces]
    return Offered(pairs, offer.number > len(pairs))


def offered_spaces(chosen: str | None = None) -> Offered:
    """Return the spaces that a form offers, the chosen one among them."""
    return offered(_offer(chosen), lambda space: space.name)


def _offer(chosen: str | None) -> SpaceOffer:
    offer = once(f"spaces {chosen}", lambda: offer_spaces(session(), credential().user_id, chosen))
    _names().update({(Space, space.slug): in_a_line(space.name) for space in offer.spaces})
    return offer


def space_name(slug: str) -> str:
    """Return what a space is called; the slug itself where it is gone."""
    return _called(Space, Space.name, slug)


def theme_name(slug: str) -> str:
    """Return what a theme is called; the slug itself where it is gone."""
    return _called(Theme, Theme.display_name, slug)


def _called(kind: type[Space | Theme], name: Any, slug: str) -> str:
    names = _names()
    if (kind, slug) not in names:
        mine = (kind.user_id == credential().user_id, kind.slug == slug)
        names[kind, slug] = in_a_line(session().scalar(select(name).where(*mine)) or slug)
    return names[kind, slug]


def _names() -> dict[tuple[type[Space | Theme], str], str]:
    """Return the names that this request knows, by kind and slug."""
    names: dict[tuple[type[Space | Theme], str], str] = g.setdefault("names_of_slugs", {})
    return names


def actor_name(actor: str) -> str:
    """Return who did something, as the page of tokens calls it; a token is known by how it begins."""
    kind, _, prefix = actor.partition(":")
    if kind != "token":
        return "you" if actor == "user" else actor
    if "names_of_tokens" not in g:
        g.names_of_tokens = {token.prefix: token.name for token in list_tokens(session(), credential().user_id)}
    return _called_token(g.names_of_tokens.get(prefix, "a token"), prefix)


def _called_token(name: str, prefix: str) -> str:
    return f"{in_a_line(name)} ({prefix}…)"


def offered_tokens(chosen: UUID | None) -> Sequence[tuple[str, str]]:
    """Return the tokens that a form offers as (id, name), the newest first, the chosen one among them."""
    listed = list_tokens(session(), credential().user_id)
    known = [(str(token.id), _called_token(token.name, token.prefix)) for token in listed]
    gone = chosen is not None and str(chosen) not in dict(known)
    return [*known, *([(str(chosen), "a token of another account")] if gone else [])]


def choices(chosen: str | None = None) -> Choices:
    """Return the user's spaces, the chosen one among them, and the themes that incognito does not keep closed."""
    user_id = credential().user_id
    listed = list_themes(session(), user_id, outside=incognito_spaces()) if not is_incognito(None) else ()
    themes = [(theme.slug, theme.display_name) for theme, _ in listed]
    offer = _offer(chosen)
    return Choices(offer.spaces, offer.number, offer.memories, themes)


def elsewhere(form: SearchForm) -> list[tuple[str, dict[str, Any]]]:
    """Return the names of other spaces that have words of the question, each with the same search in it."""
    who, searched = credential(), form.space or DEFAULT_SPACE
    found = spaces_with_words(
        session(), who.user_id, who.session_key, form.q, searched=searched, types=form.types, now=utc_now()
    )
    # Whether to show what is near all the same is decided anew where it is another answer.
    return [(name, form.model_copy(update={"space": slug, "nearest": False}).chosen()) for slug, name in found]


def in_conversations(form: SearchForm) -> dict[str, Any] | None:
    """Return the search of the conversations of the space for words of the question that were said in one."""
    wanted, space = stems(form.q), form.space or DEFAULT_SPACE
    words = {word.lower(): stem(word) for word in _WORD.findall(form.q[:MAX_QUERY]) if stem(word) in wanted}
    said = said_words(session(), credential().user_id, space, words)
    return {"q": " ".join(said), "space": space} if said else None


def archived(space: str | None = None) -> dict[str, str] | None:
    """Return where the archived memories of a space, or of all that are open, are listed; None where there are none."""
    hidden = frozenset() if space else incognito_spaces()
    filters = Filters(space=space, outside=hidden or None, status="archived")
    there = list_ids(session(), credential().user_id, filters, most=1, now=utc_now())
    return {"status": "archived"} | ({"space": space} if space else {}) if there else None


def listing(form: BrowseForm) -> Listing:
    """Return the page of memories that the form asks for."""
    user_id, now = credential().user_id, utc_now()
    if form.theme is not None:
        check_theme(session(), user_id, form.theme, outside=incognito_spaces())
    filters = form.to_filters(now)
    hidden = frozenset() if form.space else incognito_spaces()
    # Left out by the database and not by the page: otherwise they would be counted, and a page of nothing else would be
    # empty.
    filters = replace(filters, outside=hidden or None)
    page, total, over = list_counted(
        session(), user_id, filters, limit=PAGE, cursor=form.cursor, now=now, order=form.order
    )
    return Listing(page, total, over, sorted(hidden))


def opened(memory_id: UUID) -> Opened:
    """Return one memory with possible updates and its line of supersession; raises `NotFoundError`."""
    entry = visible_entry(memory_id)
    user_id, older_id, now = credential().user_id, entry.memory.supersedes, utc_now()
    older = get_entry(session(), user_id, older_id, now=now) if older_id else None
    newer = superseded_by(session(), user_id, memory_id, now)
    updates = possible_updates(session(), user_id, memory_id, now)
    summed = summed_up(session(), entry.memory, now)
    shares = found_in_of(session(), entry.memory) if entry.memory.status == "active" else ()
    return Opened(entry, updates, older, newer, *summed, shares)


def neighbours(outcome: Outcome) -> list[tuple[Neighbour, Entry | None]]:
    """Return what a write was compared with, each with the memory as it stands now."""
    near = outcome.trace.neighbours
    found = get_entries(session(), credential().user_id, [each.id for each in near], now=utc_now())
    return [(each, found.get(each.id)) for each in near]
