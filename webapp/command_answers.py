"""What a command answers, what it asks back, and what of that goes into the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.commands.parse import LIKELY, Intent
from memory.commands.slips import Slip, seal, to_values
from memory.commands.trail import ANSWERABLE, UNDOABLE, Speaker
from memory.models import Conversation
from memory.reading.browse import Entry
from webapp.context import credential, runtime, session, utc_now
from webapp.guards import is_named, may_read
from webapp.operations import conversation_named, found_entries, implied_space, is_incognito, space_at, visible_entries
from webapp.recording import place_of_request

# The most memories that are listed, or that one confirmation names.
MOST = 10
# Up to so many are named by their beginnings, each cut shorter than one alone.
_NAMED, _SHORT, _LONG = 3, 60, 120
# The scopes of acts that undo; an undo that the caller may not take is not offered.
_UNDO_SCOPES = {"restore": "forget", "unremember": "forget"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks, and in which conversation."""

    user_id: UUID
    speaker: Speaker
    conversation_id: UUID | None
    space_id: UUID | None


@dataclass(frozen=True, slots=True)
class Item:
    """A memory as a command lists it."""

    id: UUID
    text: str
    type: str
    space: str
    space_id: UUID
    created_at: datetime
    pinned: bool
    version: int


@dataclass(frozen=True, slots=True)
class Act:
    """What takes an action back, or carries out what was asked about; `versions` are of the texts that were shown."""

    action: str
    ids: tuple[UUID, ...] = ()
    space: str | None = None
    versions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that may still be done: by its slip, until then."""

    slip: str
    until: datetime
    act: Act


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command did, or what it asks.

    `done` is false when nothing was changed or recalled: then `confirm` may say what a yes would do, and `reason`
    which switch or rule forbids it. `items` are the memories that the answer is about, of which a recall's last `near`
    lack a word of what was asked for; `touched` are others that it changed, and that are no longer to be seen.
    """

    intent: str
    confidence: float
    done: bool
    answer: str
    items: Sequence[Item] = ()
    undo: Offer | None = None
    confirm: Offer | None = None
    reason: str | None = None
    error: bool = False
    touched: Sequence[UUID] = ()
    near: int = 0
    undid: UUID | None = None

    @property
    def ids(self) -> list[UUID]:
        """Return the ids of all memories that the command listed or changed."""
        return list(dict.fromkeys([*(item.id for item in self.items), *self.touched]))

    def of_step(self, step: UUID) -> CommandResult:
        """Return the result as that of undoing the command with this id."""
        return replace(self, intent="undo", undo=None, undid=step)

    def trace(self, speaker: Speaker, *, private: bool) -> dict[str, Any]:
        """Return what of it is recorded: names and ids, no text; of a private one, those alone that may be acted on.

        A spoken "yes" or "undo" is answered from the record, in incognito too, where to forget is possible.
        """
        kept: dict[str, Any] = {"session": speaker.session, "intent": self.intent, "done": self.done}
        if self.undid is not None:
            kept["undid"] = str(self.undid)
        if self.undo is not None:
            kept["undo"] = _values(self.undo.act)
        if self.confirm is not None:
            kept["asks"] = _values(self.confirm.act)
        if private:
            return kept
        return {**kept, "ids": [str(each) for each in self.ids]}


def _values(act: Act) -> dict[str, Any]:
    return to_values(act.action, act.ids, act.space, act.versions)


def context_of(conversation: str | None) -> Asked:
    """Return who asks, and in which conversation: the one of this name, or else the one that the call is made in.

    A command in none is of the space that the call is made in.

    Raises `InvalidError` when the caller has no conversation of this name.
    """
    who = credential()
    if conversation and conversation.strip():
        found: Conversation | None = conversation_named(conversation)
    else:
        spoken_in = place_of_request().conversation_id
        found = session().get(Conversation, (who.user_id, spoken_in)) if spoken_in else None
    speaker = Speaker(
        who.user_id,
        runtime().keys.digest("command session", who.session_key).hex()[:32],
        who.actor,
        who.token_id,
        found.id if found else None,
        alone=is_named(who.session_key),
    )
    return Asked(who.user_id, speaker, speaker.conversation_id, found.space_id if found else implied_space())


def listed(ids: Sequence[UUID], *, shared: bool = False) -> tuple[Item, ...]:
    """Return those of the memories that the caller sees, in this order; `shared` also what it may only read."""
    found = found_entries(ids) if shared else visible_entries(ids)
    return tuple(_item(found[each]) for each in dict.fromkeys(ids) if each in found)


def _item(entry: Entry) -> Item:
    memory = entry.memory
    return Item(
        memory.id,
        memory.text,
        memory.type,
        entry.space,
        memory.space_id,
        memory.created_at,
        memory.pinned,
        memory.version,
    )


def unsure() -> CommandResult:
    """Return the answer to what is no command."""
    answer = (
        "That is no command that I know. Try: what do you remember about …, remember that …, forget that, pin this, "
        "turn memory off, start incognito, or undo."
    )
    return CommandResult("none", 0.0, False, answer)


# What is known, each as it can be said.
KNOWN = (
    ("what do you remember about …",),
    ("remember that …",),
    ("forget that", "forget the second one", "forget what I said about …"),
    ("pin this", "unpin that"),
    ("turn memory off", "turn memory on"),
    ("start incognito", "end incognito"),
    ("undo",),
)


def helping() -> CommandResult:
    """Return the answer to who asks which commands there are."""
    known = "; ".join(", ".join(f"“{each}”" for each in forms) for forms in KNOWN)
    answer = f"I know these: {known}. Where I ask back, say yes or no, or which one."
    return CommandResult("none", 0.0, False, answer)


def done(
    asked: Asked,
    intent: str,
    answer: str,
    ids: Sequence[UUID],
    back: Act | None,
    *,
    touched: Sequence[UUID] = (),
    own: bool = False,
) -> CommandResult:
    """Return the answer of what was done, with an undo if there is one that the caller may take.

    `own` says that the memories are what the caller has just said: those are shown even without the scope `read`.
    """
    offer = None
    if back is not None and _UNDO_SCOPES.get(back.action, "write") in credential().scopes:
        offer = _offer(asked, back, UNDOABLE)
    items = listed(ids)
    if not own and _closed(items):
        items, touched = (), (*touched, *ids)
    return CommandResult(intent, 1.0, True, answer, items, undo=offer, touched=touched)


# For each act, what it takes back and what it does.
_TURNS = {
    "memory_off": ("memory was turned on", "turn it off again"),
    "memory_on": ("memory was turned off", "turn it on again"),
    "incognito_start": ("incognito was ended", "start it again"),
    "incognito_end": ("incognito was started", "end it"),
}
SWITCHES = frozenset(_TURNS)


def asking(asked: Asked, intent: Intent, found: Sequence[Item], *, more: bool = False) -> CommandResult:
    """Return a question: which of these, or all of them? `more` says that there may be others than were found."""
    verb, items = intent.kind, found[:MOST]
    act = Act(verb, tuple(item.id for item in items), versions=tuple(item.version for item in items))
    if why := _closed(items):
        answer, items = f"Shall I {verb} {counted(len(items))}? {why} nobody sees which.", ()
    elif len(items) == 1:
        answer = f"Shall I {verb} this one? {quote(items[0].text)}"
    else:
        choice = f"Say “{verb} the second one”, or confirm to {verb} all of them."
        answer = f"Which of these {len(items)} shall I {verb}? {choice}"
    if more or len(found) > len(act.ids):
        answer += " There may be more: ask again after that."
    confidence = min(intent.confidence, LIKELY) if len(act.ids) > 1 else intent.confidence
    return CommandResult(verb, confidence, False, answer, items, confirm=_offer(asked, act, ANSWERABLE))


def asking_to_turn(asked: Asked, act: Act) -> CommandResult:
    """Return the question whether to turn a switch back, of which the user may not be thinking any more."""
    where = f" in the space {act.space}" if act.space else ""
    answer = f"Before that, {_TURNS[act.action][0]}{where}. Shall I {_TURNS[act.action][1]}?"
    return CommandResult("undo", LIKELY, False, answer, confirm=_offer(asked, act, ANSWERABLE))


def _offer(asked: Asked, act: Act, window: Any) -> Offer:
    until = utc_now() + window
    slip = Slip(asked.user_id, act.action, until, act.ids, act.space, act.versions)
    return Offer(seal(runtime().keys, slip), until, act)


def counted(number: int) -> str:
    """Return how many memories."""
    return "one memory" if number == 1 else f"{number} memories"


def named(items: Sequence[Item]) -> str:
    """Return what an answer calls these memories: how they begin, or how many where they are closed to the caller."""
    if not items or _closed(items):
        return counted(len(items))
    if len(items) == 1:
        return quote(items[0].text)
    quoted = [quote(item.text, _SHORT) for item in items[:_NAMED]]
    rest = len(items) - len(quoted)
    last = f"{rest} more" if rest else quoted.pop()
    return f"{counted(len(items))}: {', '.join(quoted)} and {last}"


def _closed(items: Sequence[Item]) -> str:
    """Return why these memories are not shown to the caller, who may still change them; "" if they are."""
    if not may_read():
        return "Without the scope read"
    spaces = {item.space_id for item in items}
    return "In incognito" if any(is_incognito(space_at(each)) for each in spaces) else ""


def quote(text: str, most: int = _LONG) -> str:
    """Return the beginning of a text in quotation marks, cut behind a word where that does not lose much of it."""
    line = " ".join(text.split())
    if len(line) <= most:
        return f"“{line}”"
    start, _, rest = line[:most].rpartition(" ")
    return f"“{(start if len(rest) < most // 4 else line[: most - 1]).rstrip(' ,;:.')}…”"
