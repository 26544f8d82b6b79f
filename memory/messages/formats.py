"""Histories as other programs write them: each element is one message, and comes back as it was given.

The format `openai` has the messages of Chat Completions and the items of Responses, one of which is a message, a call
of a tool, its output, or a thought: what agents built with the OpenAI Agents SDK keep.

Beside the element, which is kept whole, stand a role and a text to read and to search: what was said; after it the
calls and results of tools. System prompts and thoughts are that text only where nothing else is. Calls and results that
have an id are told one by one too, for the record of calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memory.drafts.payloads import objects_in
from memory.errors import InvalidError
from memory.messages.drafts import MAX_CONTENT_BYTES
from memory.models.conversations import FORMATS

__all__ = ["FORMATS", "Gist", "Given", "Made", "gist_of", "read_element", "to_element"]

Element = dict[str, Any]

_OPENAI_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool_result",
    "function": "tool_result",
}
# The items of Responses that are neither messages nor calls, nor what these gave, with the role that they get. A
# thought is a step on the way, as a call is, and no reply: what an assistant says is searched.
_OPENAI_ITEMS = {
    "reasoning": "tool_call",
    "compaction": "assistant",
    "compaction_trigger": "system",
    "configuration_update": "system",
    "item_reference": "assistant",
    "additional_tools": "system",
    "mcp_list_tools": "tool_result",
    "mcp_approval_response": "tool_result",
}
_OPENAI_CALLS = {"mcp_approval_request", "program"}
# Where an item has what a tool was called with, and what it gave.
_CALLED_WITH = ("arguments", "input", "action", "actions", "operation", "code", "queries")
_GIVEN = ("output", "outputs", "results", "error")
_FAILED = frozenset({"failed", "incomplete"})
_PROMPTS = frozenset({"system-prompt", "user-prompt"})
# Who speaks to whom when a call or a result of a tool stands in a history of plain turns.
_SIDES = {"tool_call": "assistant", "tool_result": "user"}
_RESULT = "tool result"


@dataclass(frozen=True, slots=True)
class Made:
    """A call of a tool, by the id that its result names it by; arguments may be JSON as text."""

    id: str
    tool: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Given:
    """What the call of this id gave."""

    id: str
    result: Any
    success: bool


@dataclass(frozen=True, slots=True)
class Gist:
    """What an element is to a reader: one of our roles, and a text that may be empty; what it tells of tools."""

    role: str
    content: str
    made: tuple[Made, ...] = ()
    given: tuple[Given, ...] = ()


@dataclass(slots=True)
class _Parts:
    """The parts of one element, by what they are."""

    said: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    asides: list[str] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)

    def gist(self, role: str) -> Gist:
        shown = [*self.said, *self.calls, *self.results] or self.asides
        content = "\n\n".join(part for part in shown if part.strip())
        return Gist(role, content, tuple(self.made), tuple(self.given))

    def call(self, name: Any, arguments: Any, call_id: Any = None) -> None:
        self.calls.append(_labelled("tool call", name, _written(arguments)))
        if isinstance(call_id, str) and call_id:
            self.made.append(Made(call_id, str(name or ""), arguments))

    def result(self, name: Any, content: Any, call_id: Any = None, *, failed: bool = False) -> None:
        self.results.append(_labelled(_RESULT, name, _value(content)))
        self.answer(call_id, content, failed=failed)

    def answer(self, call_id: Any, content: Any, *, failed: bool) -> None:
        """Note what a call gave, without a word of it in the text."""
        if isinstance(call_id, str) and call_id:
            self.given.append(Given(call_id, content, not failed))


def _labelled(label: str, name: Any, text: str) -> str:
    return " ".join(word for word in (f"[{label}]", str(name or ""), text) if word)


def read_element(format_: str, element: Any, where: str) -> Gist:
    """Return the gist of one element of a history; raises `InvalidError` on the field `where` if it is none.

    What a user or a system says must not be empty, as in a message of no format.
    """
    gist = gist_of(format_, element)
    if gist is None:
        raise InvalidError(where, f"is no message of the format {format_}")
    content = _storable(gist.content)
    if not content.strip() and not _may_be_empty(format_, gist.role, element):
        raise InvalidError(f"{where}.content", "must not be empty")
    return replace(gist, content=content)


def gist_of(format_: str, element: Any) -> Gist | None:
    """Return the gist of an element as it is told there, None where it is none of the format."""
    return _READERS[format_](element) if isinstance(element, dict) else None


def _may_be_empty(format_: str, role: str, element: Element) -> bool:
    """Tell whether programs write such elements with nothing in them: a model may answer nothing at all.

    Pydantic AI asks a model to go on by a request without a prompt.
    """
    if role not in {"user", "system"} or (format_ == "openai" and _openai_item(element) is not None):
        return True
    return format_ == "pydantic_ai" and not any(part["part_kind"] in _PROMPTS for part in element["parts"])


def _storable(text: str) -> str:
    """Return a text as a message can hold it, cut where it is too long; the element itself is kept whole."""
    return text.replace("\x00", "").encode("utf-8", "replace")[:MAX_CONTENT_BYTES].decode("utf-8", "ignore")


def _openai(element: Element) -> Gist | None:
    return _openai_item(element) or _openai_message(element)


def _openai_item(element: Element) -> Gist | None:
    """Return the gist of an item of Responses that is no message; None where it is none."""
    kind, parts = element.get("type"), _Parts()
    if kind is None and isinstance(element.get("id"), str) and element.keys() <= {"id", "type"}:
        # The only item that may leave its type out and is no message.
        kind = "item_reference"
    if not isinstance(kind, str):
        return None
    if kind.endswith("_output"):
        given = next((element[key] for key in ("output", "result", "tools") if element.get(key) is not None), None)
        # One part, as a screenshot, is read as a list of one.
        whole = [given] if isinstance(given, dict) and "type" in given else given
        # The output of a local shell has its call's id for its own.
        call_id = element.get("call_id") or element.get("id")
        parts.result(element.get("name"), whole, call_id, failed=element.get("status") in _FAILED)
        return parts.gist("tool_result")
    if kind.endswith("_call") or kind in _OPENAI_CALLS:
        _read_openai_call(parts, kind, element)
        return parts.gist("tool_call")
    role = _OPENAI_ITEMS.get(kind)
    if role is None:
        return None
    if kind == "reasoning":
        thoughts = [*objects_in(element.get("summary")), *objects_in(element.get("content"))]
        parts.said.append(_labelled("thought", None, _value(thoughts)))
    if kind == "mcp_approval_response":
        parts.result("approved" if element.get("approve") is True else "not approved", element.get("reason"))
    return parts.gist(role)


def _read_openai_call(parts: _Parts, kind: str, element: Element) -> None:
    """Read a call; one that no output will name, as the provider's own tools gave theirs already, answers itself."""
    given = next((element[key] for key in _CALLED_WITH if element.get(key) is not None), None)
    results = [element[key] for key in _GIVEN if element.get(key) is not None]
    # A picture comes as its bytes.
    if kind == "image_generation_call" and element.get("result"):
        results.append([{"type": "image"}])
    answers_itself = kind not in _OPENAI_CALLS and element.get("call_id") is None
    call_id = element.get("call_id") or (element.get("id") if answers_itself else None)
    parts.call(element.get("name") or kind.removesuffix("_call"), given, call_id)
    for result in results:
        parts.result(None, result)
    if answers_itself:
        failed = element.get("error") is not None or element.get("status") in _FAILED
        parts.answer(call_id, results[0] if results else None, failed=failed)


def _openai_message(element: Element) -> Gist | None:
    role, content = _OPENAI_ROLES.get(str(element.get("role"))), element.get("content")
    if role is None or not isinstance(content, str | list | None):
        return None
    parts = _Parts()
    if role == "tool_result":
        parts.result(element.get("name"), content, element.get("tool_call_id"))
        return parts.gist(role)
    parts.said += [*_texts(content), *_texts(element.get("refusal"))]
    audio = element.get("audio")
    if isinstance(audio, dict):
        parts.said.append(str(audio.get("transcript") or "[audio]"))
    for call in [*objects_in(element.get("tool_calls")), {"function": element.get("function_call")}]:
        function = call.get("function") or call.get("custom")
        if isinstance(function, dict):
            parts.call(function.get("name"), function.get("arguments", function.get("input")), call.get("id"))
    return _by_speaker(role, parts)


def _anthropic(element: Element) -> Gist | None:
    role, content = element.get("role"), element.get("content")
    # Compared one by one, here and below: what is no text may have no hash.
    if role not in ("user", "assistant", "system") or not isinstance(content, str | list):
        return None
    parts = _Parts()
    for block in [content] if isinstance(content, str) else content:
        _read_block(parts, block)
    return _by_speaker(role, parts)


def _read_block(parts: _Parts, block: Any) -> None:
    kind = str(block.get("type", "")) if isinstance(block, dict) else ""
    if kind.endswith("tool_use"):
        parts.call(block.get("name"), block.get("input"), block.get("id"))
    elif kind.endswith("tool_result"):
        content = block.get("content")
        failed = block.get("is_error") is True or (
            isinstance(content, dict) and str(content.get("type")).endswith("_error")
        )
        parts.result(None, content, block.get("tool_use_id"), failed=failed)
    elif kind.endswith("thinking"):
        parts.asides += _texts(block.get("thinking"))
    else:
        parts.said += _texts(block)


def _pydantic_ai(element: Element) -> Gist | None:
    kind, given = element.get("kind"), element.get("parts")
    if kind not in ("request", "response") or not isinstance(given, list):
        return None
    parts = _Parts()
    for part in given:
        if not isinstance(part, dict) or not isinstance(part.get("part_kind"), str):
            return None
        _read_part(parts, part["part_kind"], part)
    return _by_speaker("user" if kind == "request" else "assistant", parts)


def _read_part(parts: _Parts, kind: str, part: Element) -> None:
    content = part.get("content")
    if kind.endswith("tool-call"):
        parts.call(part.get("tool_name"), part.get("args"), part.get("tool_call_id"))
    elif kind.endswith("tool-return") or kind.startswith("retry-"):
        failed = kind.startswith("retry-") or part.get("outcome", "success") != "success"
        parts.result(part.get("tool_name"), content, part.get("tool_call_id"), failed=failed)
    elif kind in {"user-prompt", "text", "file"}:
        parts.said += _texts(content)
    elif kind == "speech":
        parts.said += _texts(part.get("transcript"))
    else:
        parts.asides += _texts(content)


_READERS: dict[str, Callable[[Element], Gist | None]] = {
    "pydantic_ai": _pydantic_ai,
    "openai": _openai,
    "anthropic": _anthropic,
}


def _by_speaker(role: str, parts: _Parts) -> Gist:
    """Return the gist of what a user's or an assistant's side sent, under the role of what it mainly is."""
    if not parts.said and role == "user":
        role = "tool_result" if parts.results else "system" if parts.asides else role
    elif not parts.said and role == "assistant" and parts.calls:
        role = "tool_call"
    return parts.gist(role)


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts of a content that is a string or a list of parts, in their order."""
    for piece in content if isinstance(content, list) else [content]:
        text = _text(piece)
        if text:
            yield text


def _text(piece: Any) -> str:
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, dict):
        return "" if piece is None else _value(piece)
    for key in ("text", "refusal", "content", "logs"):
        if isinstance(piece.get(key), str):
            return str(piece[key])
    kind = str(piece.get("type") or piece.get("kind") or "data")
    if kind == "cache-point":
        return ""
    if kind == "binary":
        kind = str(piece.get("media_type") or "data").partition("/")[0]
    file = piece.get("file")
    name = piece.get("title") or piece.get("filename") or (file.get("filename") if isinstance(file, dict) else None)
    # The bytes themselves say nothing to a reader.
    kind = kind.removesuffix("_url").removesuffix("-url").removeprefix("input_")
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def _value(value: Any) -> str:
    """Return a result as one text."""
    if isinstance(value, list) and all(isinstance(item, dict) and ("type" in item or "kind" in item) for item in value):
        return "\n".join(_texts(value))
    return _written(value)


def _written(value: Any) -> str:
    """Return arguments, or what is no list of parts, as one text."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def to_element(format_: str, role: str, content: str, created_at: datetime) -> Element:
    """Return a message that was not given in this format, as this format would say it; `plain` has our own roles.

    Elsewhere the result of a tool stands on the user's side, and says what it is.
    """
    if format_ == "plain":
        return {"role": role, "content": content}
    # Without a label, what a page or a file told a tool would be the user's own word to a model.
    if role == "tool_result" and not content.startswith(f"[{_RESULT}]"):
        content = _labelled(_RESULT, None, content)
    if format_ == "openai":
        return {"role": _SIDES.get(role, role), "content": content}
    if format_ == "anthropic":
        return {"role": "user" if role == "system" else _SIDES.get(role, role), "content": content}
    moment = created_at.isoformat()
    if role in {"assistant", "tool_call"}:
        return {"kind": "response", "timestamp": moment, "parts": [{"part_kind": "text", "content": content}]}
    kind = "system-prompt" if role == "system" else "user-prompt"
    return {"kind": "request", "parts": [{"part_kind": kind, "content": content, "timestamp": moment}]}
