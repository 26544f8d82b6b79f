"""`/v1/command`: what a user said in plain words, carried out."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify
from pydantic import BaseModel, Field

from memory.errors import InvalidError
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import Line, MemoryType, Question, Strict, moment
from webapp.command_answers import CommandResult, Item, Offer
from webapp.commands import run, take_slip
from webapp.guards import ANY, needs, recorded

bp = api_blueprint("command", "Commands in plain words", "/v1/command")


class CommandBody(Strict):
    """A sentence of the user's, and where it was said; a slip of an earlier answer goes before the sentence."""

    text: Question = Field(max_length=66_000, description="What the user said.")
    conversation: Line | None = Field(
        None,
        max_length=256,
        description="The id or external id of a conversation here; default: the one in which the call is made.",
    )
    confirm: Line | None = Field(None, description="The slip of a question that the user has said yes to.")
    undo: Line | None = Field(None, description="The slip of what the user wants undone.")


class CommandMemory(BaseModel):
    """A memory that a command's answer is about."""

    id: str
    text: str
    type: MemoryType
    space: str
    pinned: bool
    created_at: str


class OfferJson(BaseModel):
    """Something that can still be done with a slip."""

    slip: str
    until: str
    ids: list[str]


class CommandAnswer(BaseModel):
    """What was done, or what is asked back."""

    intent: str = Field(description="none when the sentence is no command")
    confidence: float = Field(ge=0, le=1)
    done: bool
    answer: str
    memories: list[CommandMemory]
    near: int = Field(ge=0, description="how many of a recall's memories, its last, lack a word of what was asked for")
    undo: OfferJson | None = Field(description="takes it back, for ten minutes")
    confirm: OfferJson | None = Field(description="does what was asked about, to exactly these ids, for five minutes")
    reason: str | None
    error: bool


@bp.post("", summary="Carry out a command in plain words", responses={"200": CommandAnswer})
@needs(ANY)
@recorded
def command(body: CommandBody) -> Response:
    """Do what the sentence asks for; each command needs the scope that fits what it does.

    One that looks for memories by words needs `read` as well; without `read` no answer says what a memory says.
    A sentence that is no command is answered with the intent `none`, and nothing is done or kept.
    """
    if body.undo and body.confirm:
        raise InvalidError("confirm", "cannot be given with undo")
    if slip := body.undo or body.confirm:
        return jsonify(command_json(take_slip(slip, body.conversation, field="undo" if body.undo else "confirm")))
    return jsonify(command_json(run(body.text, body.conversation)))


def command_json(result: CommandResult) -> dict[str, Any]:
    """Return a command's answer as it goes over the wire."""
    return {
        "intent": result.intent,
        "confidence": round(result.confidence, 2),
        "done": result.done,
        "answer": result.answer,
        "memories": [_item_json(item) for item in result.items],
        "near": result.near,
        "undo": _offer_json(result.undo),
        "confirm": _offer_json(result.confirm),
        "reason": result.reason,
        "error": result.error,
    }


def _item_json(item: Item) -> dict[str, Any]:
    return {
        "id": str(item.id),
        "text": item.text,
        "type": item.type,
        "space": item.space,
        "pinned": item.pinned,
        "created_at": moment(item.created_at),
    }


def _offer_json(offer: Offer | None) -> dict[str, Any] | None:
    if offer is None:
        return None
    return {"slip": offer.slip, "until": moment(offer.until), "ids": [str(each) for each in offer.act.ids]}
