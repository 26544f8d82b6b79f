"""Spaces as pages show them: what their forms may say, what is in them, and what a removal does in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import func, select

from memory.drafts.drafts import MAX_TAG_LENGTH
from memory.errors import InvalidError
from memory.models import DEFAULT_SPACE, Conversation, Space
from memory.space_removal.contents import Contents
from memory.spaces.sharing import Shared, Sharing, shared_ids, sharings
from memory.spaces.spaces import LONGEST_RETENTION, slug_of
from retrieval.policy import Fusion, Policy, PolicyError
from webapp.api.schemas import Line
from webapp.context import credential, session, utc_now
from webapp.operations import incognito_spaces
from webapp.pages.forms import ShownForm
from webapp.pages.notebook_forms import WEIGHTS
from webapp.pages.words import counted
from webapp.recall import policy_for

# What is said of a number of things that a removal touches: their names, and what becomes of them.
_MEMORY, _CONVERSATION, _FACT = ("memory", "memories"), ("conversation", "conversations"), ("fact", "facts")
_FATES: dict[str, tuple[tuple[str, str], str]] = {
    "memories_moved": (_MEMORY, "moved to {place}"),
    "memories_merged": (_MEMORY, "merged with the same one there"),
    "memories_trimmed": (_MEMORY, "dropped from there, as its soft cap holds"),
    "memories_archived": (_MEMORY, "archived, out of search"),
    "memories_forgotten": (_MEMORY, "forgotten for good, without an undo"),
    "restorable_dropped": (_MEMORY, "forgotten before, whose undo ends now"),
    "conversations_moved": (_CONVERSATION, "moved to {place}"),
    "conversations_archived": (_CONVERSATION, "moved to {place} and archived"),
    "conversations_renamed": (_CONVERSATION, "given a new external id, as theirs is taken there"),
    "conversations_deleted": (_CONVERSATION, "deleted for good"),
    "messages_deleted": (("message", "messages"), "deleted with them"),
    "episodes_deleted": (("episode", "episodes"), "deleted with them"),
    "facts_moved": (_FACT, "moved to {place}"),
    "facts_ended": (_FACT, "ended"),
    "facts_deleted": (_FACT, "deleted for good"),
    "entities_moved": (("entity", "entities"), "moved to {place}"),
    "entities_dropped": (("entity", "entities"), "dropped with it"),
    "tokens_revoked": (("token", "tokens"), "revoked"),
    "shares_ended": (("share", "shares"), "ended: nothing is found by it any more"),
}


class NewSpaceForm(BaseModel):
    """A space to add; the slug follows from the name where it is left out."""

    name: Line = Field("", max_length=200)
    slug: Line = ""


class TakerForm(BaseModel):
    """Which space takes what is kept of one that goes."""

    into: Line = DEFAULT_SPACE


class ShareForm(BaseModel):
    """A tag, and the space in which what has it is found as well."""

    tag: Line = Field("", max_length=MAX_TAG_LENGTH)
    found_in: Line = ""


class SettingsForm(ShownForm):
    """The settings of a space, all of them; a box that is not ticked is sent as nothing."""

    name: Line = Field(max_length=200)
    soft_cap: int = Field(ge=1, le=10_000_000)
    retention_days: int = Field(ge=0, le=LONGEST_RETENTION)
    memory_enabled: bool = False
    incognito_default: bool = False
    roll_up: bool = False
    extract_facts: bool = False

    def changes(self, space: Space) -> dict[str, Any]:
        """Return what was changed in the form and differs from the space."""
        return self.touched(self.model_dump(exclude={"shown"}), settings_of(space))


def settings_of(space: Space) -> dict[str, Any]:
    """Return the settings of a space, as its form shows them."""
    return {name: getattr(space, name) for name in SettingsForm.model_fields if name != "shown"}


class WeightsForm(ShownForm):
    """How a space ranks, as sliders of a notebook set it: the fusion and each number."""

    fusion: Fusion
    alpha: float
    beta: float
    gamma: float
    tau_days: float
    mmr_lambda: float
    rrf_k: int

    def over(self, space: Space) -> dict[str, Any]:
        """Return the weights of a space with what was changed in the form, those left out that are so anyway.

        What has no field here stays. Raises `PolicyError`.
        """
        now = weights_of(space)
        wanted = {**now, **self.touched(self.model_dump(exclude={"shown"}), now)}
        others = {name: value for name, value in space.policy.items() if name not in WEIGHTS}
        usual = policy_for(others, None)
        kept = {**others, **{name: value for name, value in wanted.items() if value != getattr(usual, name)}}
        policy_for(kept, None)
        return kept


def policy_of(space: Space) -> Policy:
    """Return how a space ranks, as spaces begin where no search can use the weights that an earlier version kept."""
    try:
        return policy_for(space.policy, None)
    except PolicyError:
        return policy_for({}, None)


def weights_of(space: Space) -> dict[str, Any]:
    """Return how a space ranks, as its form shows it."""
    policy = policy_of(space)
    return {name: getattr(policy, name) for name in WEIGHTS}


@dataclass(frozen=True, slots=True)
class Room:
    """A space with the number of its conversations, of their messages, and of those that were read for facts."""

    space: Space
    conversations: int = 0
    messages: int = 0
    read: int = 0


def rooms(spaces: Sequence[Space]) -> Sequence[Room]:
    """Return spaces of the user with what is told beside them."""
    held = (Conversation.user_id == credential().user_id, Conversation.space_id.in_([space.id for space in spaces]))
    read = func.least(Conversation.extracted_through, Conversation.message_count)
    counted = (func.count(), func.sum(Conversation.message_count), func.sum(read))
    grouped = select(Conversation.space_id, *counted).where(*held).group_by(Conversation.space_id)
    counts = {space_id: numbers for space_id, *numbers in session().execute(grouped)}
    return [Room(space, *counts.get(space.id, ())) for space in spaces]


@dataclass(frozen=True, slots=True)
class SharedTag:
    """A share, whether it is from the space that is shown, and how many memories it is."""

    sharing: Sharing
    is_from_here: bool
    memories: int


def shared_tags(space: Space) -> Sequence[SharedTag]:
    """Return what a space shares, then what of others is found in it; not with spaces that incognito keeps closed."""
    user_id, hidden = credential().user_id, incognito_spaces() - {space.slug}
    found = [each for each in sharings(session(), user_id, space.id) if hidden.isdisjoint({each.space, each.found_in})]
    mine = select(Space.slug, Space.id).where(Space.user_id == user_id, Space.slug.in_([each.space for each in found]))
    ids = {row.slug: row.id for row in session().execute(mine)}

    def shown(sharing: Sharing) -> SharedTag:
        shared = Shared(ids[sharing.space], sharing.space, sharing.tag)
        memories = shared_ids(session(), user_id, shared, now=utc_now())
        return SharedTag(sharing, sharing.space == space.slug, len(memories))

    return [shown(each) for each in found]


def address_of(name: str, slug: str, field: str) -> str:
    """Return the slug that is asked for, else one made of the name.

    Raises `InvalidError` where neither is given, for the `field` of the name, and where the name makes none.
    """
    if not name and not slug:
        raise InvalidError(field, "must not be empty")
    if not (address := slug or slug_of(name)):
        raise InvalidError("slug", "cannot be made from this name: give it one of a to z and digits")
    return address


def fates(plan: Mapping[str, int], place: str = "the default space") -> list[str]:
    """Return what a removal touches in words, leaving out what there is none of; `place` takes what is kept."""
    told = []
    for name, number in plan.items():
        nouns, fate = _FATES.get(name, (("of", "of"), name.replace("_", " ")))
        told += [f"{counted(number, *nouns)} {fate.format(place=place)}"] if number else []
    return told


def inside(contents: Contents) -> list[str]:
    """Return what is in a space in words."""
    kept = ((number, f"{status} memory", f"{status} memories") for status, number in contents.memories.items())
    more = (
        (contents.conversations, "conversation", "conversations"),
        (contents.messages, "message", "messages"),
        (contents.episodes, "episode", "episodes"),
        (contents.entities, "entity", "entities"),
        (contents.facts, "fact", "facts"),
        (contents.tokens, "token", "tokens"),
        (contents.restorable, "forgotten memory to restore", "forgotten memories to restore"),
    )
    return [counted(number, noun, plural) for number, noun, plural in (*kept, *more) if number]
