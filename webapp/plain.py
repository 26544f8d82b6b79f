"""What is wrong with a field in plain words, for people at a form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from memory.errors import InvalidError
from retrieval.policy import PolicyError

_SAID = {
    "missing": "must not be empty",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "must be at most {max_length} characters",
    "bool_parsing": "must be true or false",
    "date_from_datetime_parsing": "must be a day, such as 2026-03-31",
}
_CHOICE = re.compile(r"'([^']*)'")
# Labels of fields that pages call otherwise than the API does.
_LABELS = {
    "q": "search text",
    "since": "first day",
    "until": "last day",
    "older": "age",
    "unrecalled": "time not recalled",
    "embedding": "state of the vector",
    "success": "outcome",
    "what": "path or id",
}


def problems(error: ValidationError) -> dict[str, str]:
    """Return what is wrong with each field of a form."""
    by_field: dict[str, list[Mapping[str, Any]]] = {}
    for each in error.errors(include_url=False, include_input=False):
        by_field.setdefault(str(each["loc"][0]) if each["loc"] else "form", []).append(each)
    return {field: _problem(found) for field, found in by_field.items()}


def in_words(error: ValidationError) -> str:
    """Return what is wrong with the first few fields, without a full stop."""
    told = [f"The {_LABELS.get(name, name.replace('_', ' '))} {said}" for name, said in problems(error).items()]
    return ". ".join(told[:3])


def in_one_sentence(error: InvalidError | PolicyError) -> str:
    """Return what is wrong with a field of a form, without a full stop."""
    message = error.message
    # That something is not there is a sentence of its own.
    whole = message.startswith("there is no ")
    return message[:1].upper() + message[1:] if whole else f"The {error.field.replace('_', ' ')} {message}"


def _problem(found: Iterable[Mapping[str, Any]]) -> str:
    """Say what is wrong with one field; a field of several kinds fails each of them."""
    last = list(found)[-1]
    choices = [name for each in found for name in _CHOICE.findall(str(each.get("ctx", {}).get("expected", "")))]
    if choices:
        return f"must be one of {', '.join(dict.fromkeys(choices))}"
    kind, message = last["type"], str(last["msg"])
    if kind in _SAID:
        return _SAID[kind].format(**{name: _shown(value) for name, value in last.get("ctx", {}).items()})
    # Our own checks speak as we do, those of pydantic begin with a capital.
    return message if message[:1].islower() else "does not fit"


def _shown(value: Any) -> str:
    # A bound may be a moment.
    return f"{value:,}" if isinstance(value, int | float) else str(value)
