"""The preferences document: Markdown with YAML front matter, checked against a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import frontmatter
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from memory.drafts.drafts import check_text
from memory.drafts.front_matter import BOUNDARY, Complaint, FrontMatter, KeyPath, PreferencesError, StrictLoader
from memory.errors import InvalidError
from memory.time_zones import DEFAULT_ZONE, names

LONGEST_VALUE = 500
_NO_ZONE = "is not a time zone; write one such as Europe/Berlin"


class _Section(BaseModel):
    """Nothing is turned into a type that was not written."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class DefaultFolders(_Section):
    """Where notes of each kind go, relative to the vault."""

    meeting_notes: str | None = Field(default=None, max_length=LONGEST_VALUE)
    daily_notes: str | None = Field(default=None, max_length=LONGEST_VALUE)
    projects: str | None = Field(default=None, max_length=LONGEST_VALUE)


class ResponseStyle(_Section):
    """How answers are to be written."""

    verbosity: Literal["concise", "detailed"] = "concise"
    use_bullet_points: bool = True
    include_timestamps: bool = False


class Structured(_Section):
    """What the front matter says; a key that is left out, or left empty, has its default."""

    date_format: str = Field("YYYY-MM-DD", max_length=LONGEST_VALUE)
    time_format: str = Field("HH:mm", max_length=LONGEST_VALUE)
    time_zone: str = Field(
        DEFAULT_ZONE,
        description="A name of the IANA time zone database, such as Europe/Berlin.",
        max_length=LONGEST_VALUE,
    )
    default_folders: DefaultFolders = DefaultFolders()
    response_style: ResponseStyle = ResponseStyle()

    @field_validator("time_zone")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in names():
            raise PydanticCustomError("time_zone", _NO_ZONE)
        return value


@dataclass(frozen=True, slots=True)
class Place:
    """A key of the front matter, as a dotted path, and its line in the document, from 1."""

    field: str
    line: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """A valid document: what its front matter says, unknown keys included, and its body."""

    given: dict[str, Any]
    structured: Structured
    unknown: tuple[Place, ...]
    body: str


def parse(document: str) -> Parsed:
    """Return what a document says; raises `PreferencesError` for one that cannot be used.

    At most 64 KiB of UTF-8. Without front matter all of it is body. YAML is read by the safe rules, without
    anchors and aliases; keys must not repeat.
    """
    return _validated(*_read(document))


def parse_kept(document: str) -> Parsed:
    """Return what a document says that is kept already; one that names no known time zone is as if it named none.

    It may be older than the key, or come from a server that knew more zones.
    """
    given, body, lines = _read(document)
    zone = given.get("time_zone")
    if not isinstance(zone, str) or zone not in names():
        given = {key: value for key, value in given.items() if key != "time_zone"}
    return _validated(given, body, lines)


def _read(document: str) -> tuple[dict[str, Any], str, Mapping[KeyPath, int]]:
    """Return what a document gives before it is checked against the schema, its body, and the line of each key."""
    try:
        check_text(document, "document")
    except InvalidError as error:
        raise PreferencesError([Complaint(error.field, None, error.message)]) from None
    text = _plain_lines(document)
    handler = FrontMatter(first_line=1 + _blank_lines(text))
    given, body = frontmatter.parse(text, handler=handler)
    return given, body, handler.lines


def with_time_zone(document: str, name: str) -> str:
    """Return a document that names this time zone and says all else as before, comments included; it may be empty.

    Raises `InvalidError` for a name that is not known, and for a document that would be too long or lose something.
    """
    if name not in names():
        raise PreferencesError([Complaint("time_zone", None, _NO_ZONE)])
    if not document.strip():
        return f"---\ntime_zone: {name}\n---\n"
    # What it names so far may be no zone: the key is younger than some documents.
    given, body, _ = _read(document)
    if given.get("time_zone") == name:
        return document
    changed = _with_zone_written(_plain_lines(document), name)
    # YAML can be written in ways that nobody writes; none of them may lose anything.
    if not _says(changed, {**given, "time_zone": name}, body):
        message = "cannot be written into your preferences as they stand; add the line yourself"
        raise PreferencesError([Complaint("time_zone", None, message)])
    return changed


def _says(document: str, given: Mapping[str, Any], body: str) -> bool:
    check_text(document, "document")
    try:
        parsed = parse(document)
    except PreferencesError:
        return False
    return (parsed.given, parsed.body) == (given, body)


def _plain_lines(document: str) -> str:
    return document.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _with_zone_written(text: str, name: str) -> str:
    opening = BOUNDARY.match(text, len(text) - len(text.lstrip()))
    if opening is None:
        return f"---\ntime_zone: {name}\n---\n\n{text}"
    start, closing = opening.end(), BOUNDARY.search(text, opening.end())
    end = closing.start() if closing is not None else len(text)
    return f"{text[:start]}{_head_with_zone(text[start:end], name)}{text[end:]}"


def _head_with_zone(head: str, name: str) -> str:
    """Return front matter, from behind its first line of dashes, with the zone in its place or at its end."""
    root = yaml.compose(head, Loader=StrictLoader)
    if not isinstance(root, yaml.MappingNode):
        return f"{head}time_zone: {name}\n"
    for key, value in root.value:
        if key.value == "time_zone":
            start, end = value.start_mark.index, value.end_mark.index
            space, line_end = " " * (start == end), "\n" * head[start:end].endswith("\n")
            return f"{head[:start]}{space}{name}{line_end}{head[end:]}"
    if root.flow_style:
        start = head.index("{", root.start_mark.index) + 1
        return f"{head[:start]}time_zone: {name}{', ' * bool(root.value)}{head[start:]}"
    return f"{head}{' ' * root.value[0][0].start_mark.column}time_zone: {name}\n"


def _blank_lines(text: str) -> int:
    """Return how many lines `frontmatter` strips before it looks for the front matter."""
    return text[: len(text) - len(text.lstrip())].count("\n")


def _validated(given: dict[str, Any], body: str, lines: Mapping[KeyPath, int]) -> Parsed:
    try:
        structured = Structured.model_validate(_filled_in(given))
    except ValidationError as error:
        found = [_complaint(each, lines) for each in error.errors(include_url=False)]
        raise PreferencesError(sorted(found, key=lambda each: each.line or 0)) from None
    unknown = tuple(Place(".".join(path), lines[path]) for path in _unknown(given, Structured))
    return Parsed(given, structured, unknown, body)


def _filled_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without those that were left empty, at the two levels that have defaults."""
    return {
        key: {name: inner for name, inner in value.items() if inner is not None} if isinstance(value, dict) else value
        for key, value in values.items()
        if value is not None
    }


def _complaint(error: Any, lines: Mapping[KeyPath, int]) -> Complaint:
    path: KeyPath = tuple(str(part) for part in error["loc"])
    message = str(error["msg"]).replace("Input should be", "must be").replace("String should have", "must have")
    if error["type"] == "string_type":
        message = "must be text; put it in quotes"
    elif error["type"] == "bool_type":
        message = "must be true or false, without quotes"
    elif error["type"] == "model_type":
        message = "must be a group of keys, each on a line of its own"
    return Complaint(".".join(path), lines.get(path), message)


def _unknown(values: Mapping[str, Any], section: type[BaseModel], above: KeyPath = ()) -> Iterator[KeyPath]:
    for name, value in values.items():
        field = section.model_fields.get(name)
        if field is None:
            yield (*above, name)
        elif isinstance(value, dict):
            yield from _unknown(value, cast(type[BaseModel], field.annotation), (*above, name))
