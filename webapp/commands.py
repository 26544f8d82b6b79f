"""Commands in plain words, carried out as the caller: who may not, or is not sure, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from flask import g

from memory.commands.grammar import ALL_SAID
from memory.commands.parse import LIKELY, SURE, Intent, asks_for_help, parse, share_of, speaks_of, words_of
from memory.commands.slips import from_values, unseal
from memory.commands.trail import TOOL, has_just_undone, last_change, last_memories, open_question
from memory.drafts.drafts import Draft
from memory.reading.browse import LARGEST_PAGE, Filters, list_entries
from memory.reading.summary import summarise
from retrieval.days.dates import Period
from webapp.command_acts import SCOPES, act, confirm, space_of
from webapp.command_answers import (
    MOST,
    SWITCHES,
    Act,
    Asked,
    CommandResult,
    asking,
    asking_to_turn,
    context_of,
    counted,
    done,
    helping,
    listed,
    named,
    quote,
    unsure,
)
from webapp.context import credential, runtime, session, utc_now
from webapp.guards import require_scope
from webapp.operations import is_incognito, skipped, store, told_restorables
from webapp.recall import find, past_named
from webapp.recording import Recording, failure

__all__ = ["CommandResult", "run", "take_slip"]

T = TypeVar("T")

# So many memories are searched for a subject of which everything is meant.
_MANY = 50
# So many memories are listed where somebody asks what is remembered.
_RECALLED = 5
# Tokens. No limit, as which memories are meant does not depend on how long they are.
_ANY_LENGTH = 1_000_000
# A memory with a smaller share of the subject's words is about something else, and not offered.
_GOOD_PART = 0.5
_OPERATIONS = {"recall": "search", "forget": "delete", "remember": "create"}


class _CommandRecording(Recording):
    """The record of one command, in the conversation that its body or a header names."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(TOOL, "read")
        if asked.conversation_id != self._place.conversation_id:
            # The one that the body names goes before the space of a header, too.
            self._place = replace(self._place, conversation_id=asked.conversation_id, space=None)

    def became(self, result: CommandResult) -> None:
        """Say what the command turned out to do; one that asks back only reads."""
        if result.done:
            self._operation = _OPERATIONS.get(result.intent, "update")


def run(text: str, conversation: str | None = None) -> CommandResult:
    """Do what a sentence asks for, and say what was done.

    `conversation` is the id or the external id of one of the caller's; without it, it is the one in which the call is
    made. Raises `InvalidError` when there is none such; ends the request with 403 when the caller lacks the scope of
    what is asked.
    """
    asked = context_of(conversation)
    intent = parse(text)
    if intent.kind == "none" and asks_for_help(text):
        return _recorded(asked, text, helping)
    return _recorded(asked, text, lambda: _carry_out(asked, intent))


def take_slip(slip: str, conversation: str | None = None, *, field: str = "undo") -> CommandResult:
    """Confirm or undo what a slip names; raises `InvalidError` for any other text, `ConflictError` too late."""
    asked = context_of(conversation)
    found = unseal(runtime().keys, slip, asked.user_id, field=field, now=utc_now())
    return _recorded(asked, "", lambda: confirm(asked, found.action, found.ids, found.space, found.versions))


def _recorded(asked: Asked, text: str, work: Callable[[], CommandResult]) -> CommandResult:
    recording = _CommandRecording(asked)
    try:
        result = work()
    except Exception as error:
        session().rollback()
        recording.done({}, success=False, error=failure(error))
        raise
    recording.became(result)
    # Switches may have been turned meanwhile: what is recorded goes by how they stand now.
    g.pop("incognito", None)
    closed = is_incognito(None) or result.reason == "incognito"
    # The text is recorded only where it is a command, and where it was not refused.
    told = {"text": text} if text and result.intent != "none" and result.reason is None else {}
    recording.done(
        told,
        result=result.trace(asked.speaker, private=closed),
        affected=() if closed else [str(each) for each in result.ids],
        hits=len(result.items) if result.intent == "recall" else None,
        success=not result.error,
    )
    return result


def _carry_out(asked: Asked, intent: Intent) -> CommandResult:
    period = _time_of(asked, intent)
    if intent.kind == "none" or (intent.target == "time" and period is None):
        return unsure()
    if intent.kind in {"confirm", "cancel", "choose"}:
        return _answered(asked, intent)
    if intent.kind == "undo":
        return _undo(asked, intent)
    require_scope(SCOPES.get(intent.kind, "write"))
    if period is not None:
        require_scope(SCOPES["recall"])
        return _of_time(asked, intent, period)
    if intent.kind == "recall":
        return _recall(asked, intent)
    if intent.kind == "remember":
        return _remember(asked, intent)
    if intent.kind in {"forget", "pin", "unpin"}:
        return _with_memories(asked, intent)
    return act(asked, intent.kind, (), None)


# --- reading and writing ----------------------------------------------------------------------------------------------


def _recall(asked: Asked, intent: Intent) -> CommandResult:
    if intent.target == "everything":
        return _recall_most(asked, intent)
    found, why = _search(asked, intent.subject, _RECALLED + 1, own=False)
    if why is not None:
        return _closed("recall", intent, why)
    items = found[:_RECALLED]
    about, near = _divided(items, intent.subject)
    subject = quote(intent.subject)
    if not items:
        answer = f"I remember nothing about {subject}."
    elif not about:
        answer = f"I remember {counted(len(near))} that {'comes' if len(near) == 1 else 'come'} near {subject}."
    else:
        rest = f", and {len(near)} that {'comes' if len(near) == 1 else 'come'} near" if near else ""
        answer = f"I remember {counted(len(about))} about {subject}{rest}."
    if len(found) > len(items):
        answer += " These are the best of more that I found."
    return CommandResult("recall", intent.confidence, True, answer, items=[*about, *near], near=len(near))


def _recall_most(asked: Asked, intent: Intent) -> CommandResult:
    """Tell how many memories there are, and which matter most: asked for all, there is nothing to search for."""
    space = space_of(asked)
    if why := skipped(space):
        return _closed("recall", intent, why)
    known = summarise(session(), space, now=utc_now())
    items = listed([UUID(each["id"]) for each in known["highlights"]])
    answer = f"I remember {counted(known['total'])}." if items else "I remember nothing here yet."
    if known["total"] > len(items):
        answer += " These matter most."
    return CommandResult("recall", intent.confidence, True, answer, items=items)


def _time_of(asked: Asked, intent: Intent) -> Period | None:
    """Return the time of which whatever was kept is meant; None where no time is, or more than that."""
    forgets = intent.kind == "forget" and ALL_SAID.match(intent.subject)
    return past_named(intent.subject, asked.conversation_id) if intent.target == "time" or forgets else None


def _of_time(asked: Asked, intent: Intent, period: Period) -> CommandResult:
    """Tell what was kept at a time, the newest first, or ask whether that is meant."""
    space, kind = space_of(asked), intent.kind
    if why := skipped(space):
        return _closed(kind, intent, why)
    then = Filters(space=space.slug, created_after=period.start, created_before=period.end)
    page = list_entries(session(), asked.user_id, then, limit=LARGEST_PAGE, cursor=None, now=utc_now())
    items = listed([each.memory.id for each in page.entries if each.memory.created_at in period])
    if not items:
        return CommandResult(kind, intent.confidence, kind == "recall", "I remember nothing of that time.")
    if kind != "recall":
        return asking(asked, intent, items)
    more = f" These are the last {_RECALLED}." if len(items) > _RECALLED else ""
    least = "more than " if page.next_cursor is not None else ""
    answer = f"I remember {least}{counted(len(items))} of that time.{more}"
    return CommandResult(kind, intent.confidence, True, answer, items=items[:_RECALLED])


def _divided(items: Sequence[Any], subject: str) -> tuple[Sequence[Any], Sequence[Any]]:
    """Divide what was found into what has all the words of the subject, and what search brings beside it."""
    if not words_of(subject):
        return items, ()
    about = [item for item in items if share_of(item.text, subject) == 1]
    return about, [item for item in items if item not in about]


def _search(asked: Asked, subject: str, limit: int, *, own: bool) -> tuple[Sequence[Any], str | None]:
    """Return the memories found, best first, and why recall is closed if it is.

    With `own` not what other spaces share, of which nothing is changed from here.
    """
    result = find(subject, conversation=asked.conversation_id, limit=limit, token_budget=_ANY_LENGTH, own=own)
    session().commit()
    if result.error:
        return (), "away"
    closed = next((why for why in result.degraded if why in {"incognito", "memory_off", "rate_limited"}), None)
    return listed([hit.ranked.scored.candidate.id for hit in result.hits], shared=not own), closed


_CLOSED = {
    "incognito": "This session is incognito: nothing is stored and nothing is recalled.",
    "memory_off": "Memory is off in this space.",
    "rate_limited": "These were too many searches in a minute. Try again shortly.",
    "away": "Memory is out of reach. Nothing was changed.",
    "recalled": "This was recalled from memory, so it is stored already.",
}


def _closed(kind: str, intent: Intent, why: str) -> CommandResult:
    answer = _CLOSED.get(why, "That is not possible here.")
    return CommandResult(kind, intent.confidence, False, answer, reason=why, error=why == "away")


def _remember(asked: Asked, intent: Intent) -> CommandResult:
    draft = Draft(text=intent.subject, manually_saved=True)
    outcome = store([draft], space_of(asked).slug)[0]
    if outcome.outcome == "refused" or outcome.id is None:
        if outcome.refusal == "tombstone":
            said = f"{outcome.trace.reason[0].upper()}{outcome.trace.reason[1:]}."
            return CommandResult("remember", intent.confidence, False, said, reason="tombstone")
        return _closed("remember", intent, outcome.refusal or "refused")
    if outcome.outcome == "merged":
        known = done(asked, "remember", "I knew that already; I count it once more.", [outcome.id], None)
        return replace(known, confidence=intent.confidence)
    answer, other = "I will remember that.", listed(outcome.trace.possible_update_of)
    if other:
        answer = f"I will remember that, and keep {named(other)} beside it until you decide which holds."
    return done(asked, "remember", answer, [outcome.id], Act("unremember", (outcome.id,)), own=True)


# --- what is meant ----------------------------------------------------------------------------------------------------


def _with_memories(asked: Asked, intent: Intent) -> CommandResult:
    """Find the memories that are meant; do it to one that is sure, ask about anything else."""
    if intent.target == "everything" or (intent.target in {"about", "text"} and not words_of(intent.subject)):
        answer = f"Say what it is about, as in “{intent.kind} everything about …”: I do not do that to all at once."
        return CommandResult(intent.kind, LIKELY, False, answer)
    if intent.target in {"about", "text"}:
        # What is meant is searched for, and what is found is named or asked about.
        require_scope(SCOPES["recall"])
        return _about(asked, intent)
    found = [intent.id] if intent.id is not None else last_memories(session(), asked.speaker, utc_now())
    if intent.target == "place":
        # Places count in the list as it was shown: a memory that was forgotten since keeps its place.
        found = _at(intent.place, found)
    items = listed(found)
    if not items:
        return CommandResult(
            intent.kind,
            intent.confidence,
            False,
            "There is no such memory here. Ask me first what I remember about it, then say which one.",
        )
    # Where several were meant, the one that is left is asked about.
    if len(found) == 1 and intent.confidence >= SURE and not intent.several:
        return act(asked, intent.kind, [items[0].id], None)
    return asking(asked, intent, items)


def _at(place: int | None, told: Sequence[T]) -> Sequence[T]:
    """Return what has this place in a list, counted from 1, or -1 for its last; () where nothing has."""
    return told[-1:] if place == -1 else told[place - 1 : place] if place else ()


def _about(asked: Asked, intent: Intent) -> CommandResult:
    most = _MANY if intent.several else MOST
    items, why = _search(asked, intent.subject, most, own=True)
    if why is not None:
        return _closed(intent.kind, intent, why)
    sure = [item for item in items if speaks_of(item.text, intent.subject)]
    if len(sure) == 1 and intent.confidence >= SURE and not intent.several:
        return act(asked, intent.kind, [sure[0].id], None)
    meant = sure or [item for item in items if share_of(item.text, intent.subject) >= _GOOD_PART]
    if not meant:
        answer = f"I remember nothing like {quote(intent.subject)}."
        return CommandResult(intent.kind, intent.confidence, False, answer)
    return asking(asked, intent, meant, more=len(meant) == most)


def _answered(asked: Asked, intent: Intent) -> CommandResult:
    """Take yes, no, or which one, for an answer, if the last command was a question."""
    question = open_question(session(), asked.speaker, utc_now())
    if question is None:
        return unsure()
    asks = from_values(question.result["asks"])
    if intent.kind == "cancel":
        return CommandResult("cancel", intent.confidence, True, "Nothing was changed.")
    if intent.kind == "choose":
        # A list that was not shown has no places that anybody could mean.
        if not question.result.get("ids"):
            return unsure()
        chosen = {each: _at(intent.place, asks[each]) for each in ("ids", "versions")}
        if not chosen["ids"]:
            again = asking(asked, Intent(asks["action"], SURE), listed(asks["ids"]))
            return replace(again, answer=f"There are no more than {len(asks['ids'])}. {again.answer}")
        asks |= chosen
    return confirm(asked, **asks)


def _undo(asked: Asked, intent: Intent) -> CommandResult:
    gone = intent.target == "gone"
    if not gone and open_question(session(), asked.speaker, utc_now()) is not None:
        # "Undo" after a question takes back the question, and not what was done before it.
        answer = "I have only asked: nothing was changed. Say undo again to undo what I did before."
        return CommandResult("cancel", intent.confidence, True, answer)
    step = last_change(session(), asked.speaker, utc_now(), gone=gone)
    if step is None:
        return CommandResult("undo", intent.confidence, False, _nothing_to_undo(gone=gone))
    plan = step.result["undo"]
    if intent.confidence < SURE:
        return CommandResult("undo", intent.confidence, False, "Shall I undo the last thing that I did? Say: undo.")
    if plan["action"] in SWITCHES and has_just_undone(session(), asked.speaker, utc_now()):
        # Something later was undone just before, and nobody may remember the switch that was turned before that: so it
        # is asked about.
        return asking_to_turn(asked, Act(plan["action"], (), plan["space"]))
    return act(asked, plan["action"], [UUID(each) for each in plan["ids"]], plan["space"]).of_step(step.id)


def _nothing_to_undo(*, gone: bool) -> str:
    """Say that no command can be undone, and what was forgotten elsewhere and can still be brought back."""
    number = len(told_restorables()) if "forget" in credential().scopes else 0
    if not number:
        return f"There is nothing to {'bring back from' if gone else 'undo in'} the last ten minutes."
    what, it = ("A memory was", "it") if number == 1 else (f"{number} memories were", "them")
    none = "took anything away that I can bring back" if gone else "can be undone"
    return (
        f"None of my commands of the last ten minutes {none}. {what} forgotten elsewhere: you can restore "
        f"{it} under Memories."
    )
