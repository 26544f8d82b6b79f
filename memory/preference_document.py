"""The preferences document: Markdown with YAML front matter, read so that every complaint names its line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from memory.drafts import check_text
from memory.errors import InvalidError
from memory.time_zones import DEFAULT_ZONE, names

# A person's preferences nest two levels deep; what nests deeper was written to exhaust a parser.
DEEPEST = 16
LONGEST_VALUE = 500
# Longer numbers are kept as they were written: a database holds no integer of 4,000 digits that JSON can carry.
LONGEST_NUMBER = 18

_NO_ZONE = "is not a time zone; write one such as Europe/Berlin"

Path: TypeAlias = tuple[str, ...]

_BOUNDARY = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
# What a document may be made of; a tag of any other kind asks a parser to build something.
_KINDS = ("map", "seq", "str", "null", "bool", "int", "float", "timestamp", "value", "merge")
_TAGS = {f"tag:yaml.org,2002:{kind}": kind for kind in _KINDS}


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
class Complaint:
    """What is wrong with a field. `line` is that of the document, from 1; None where it is about the whole."""

    field: str
    line: int | None
    message: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        return f"{where}{self.field}: {self.message}"


class PreferencesError(InvalidError):
    """A document that cannot be used, with everything that is wrong with it, in the order of the lines."""

    def __init__(self, complaints: list[Complaint]) -> None:
        first = complaints[0]
        where = f"line {first.line}: " if first.line is not None else ""
        super().__init__(first.field, f"{where}{first.message}")
        self.complaints = tuple(complaints)


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


def _read(document: str) -> tuple[dict[str, Any], str, Mapping[Path, int]]:
    """Return what a document gives before it is checked against the schema, its body, and the line of each key."""
    try:
        check_text(document, "document")
    except InvalidError as error:
        raise PreferencesError([Complaint(error.field, None, error.message)]) from None
    text = _plain_lines(document)
    handler = _Handler(first_line=1 + _blank_lines(text))
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
    opening = _BOUNDARY.match(text, len(text) - len(text.lstrip()))
    if opening is None:
        return f"---\ntime_zone: {name}\n---\n\n{text}"
    start, closing = opening.end(), _BOUNDARY.search(text, opening.end())
    end = closing.start() if closing is not None else len(text)
    return f"{text[:start]}{_head_with_zone(text[start:end], name)}{text[end:]}"


def _head_with_zone(head: str, name: str) -> str:
    """Return front matter, from behind its first line of dashes, with the zone in its place or at its end."""
    root = yaml.compose(head, Loader=_Loader)
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


def _validated(given: dict[str, Any], body: str, lines: Mapping[Path, int]) -> Parsed:
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


def _complaint(error: Any, lines: Mapping[Path, int]) -> Complaint:
    path: Path = tuple(str(part) for part in error["loc"])
    message = str(error["msg"]).replace("Input should be", "must be").replace("String should have", "must have")
    if error["type"] == "string_type":
        message = "must be text; put it in quotes"
    elif error["type"] == "bool_type":
        message = "must be true or false, without quotes"
    elif error["type"] == "model_type":
        message = "must be a group of keys, each on a line of its own"
    return Complaint(".".join(path), lines.get(path), message)


def _unknown(values: Mapping[str, Any], section: type[BaseModel], above: Path = ()) -> Iterator[Path]:
    for name, value in values.items():
        field = section.model_fields.get(name)
        if field is None:
            yield (*above, name)
        elif isinstance(value, dict):
            yield from _unknown(value, cast(type[BaseModel], field.annotation), (*above, name))


class _Handler(YAMLHandler):
    """Reads YAML into JSON values for `frontmatter`, and keeps the line of every key."""

    def __init__(self, first_line: int) -> None:
        super().__init__(fm_boundary=_BOUNDARY)
        self.lines: dict[Path, int] = {}
        self._first_line = first_line

    def split(self, text: str) -> tuple[str, str]:
        """Return the front matter and the body; `ValueError` tells `frontmatter` that all of it is body."""
        if not _BOUNDARY.match(text):
            raise ValueError("no front matter")
        if len(_BOUNDARY.findall(text)) < 2:
            raise self._error(self._first_line, "the front matter has no closing line of three dashes")
        return super().split(text)

    def load(self, fm: str, **_kwargs: object) -> dict[str, Any]:
        """Return the front matter as JSON values."""
        try:
            root = yaml.compose(fm, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            raise self._error(self._first_line + _offset(error), f"not YAML: {error.problem}") from None
        except yaml.reader.ReaderError as error:
            line = self._first_line + fm[: error.position].count("\n")
            raise self._error(line, "not YAML: a control character") from None
        if root is None:
            return {}
        if not isinstance(root, yaml.MappingNode):
            raise self._error(self._line(root), "the front matter must be lines of the form key: value")
        return self._mapping(root, ())

    def _value(self, node: yaml.Node, path: Path) -> Any:
        if node.tag not in _TAGS:
            raise self._error(self._line(node), f"the tag {node.tag[:60]!r} is not known here", path)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(each, path) for each in node.value]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(self._line(key), "a key must be a word", path)
            name = self._storable(key, path)
            here = (*path, name)
            if name in values:
                raise self._error(self._line(key), f"is already in line {self.lines[here]}", here)
            self.lines[here] = self._line(key)
            values[name] = self._value(value, here)
        return values

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        written = self._storable(node, path)
        try:
            return _plain(_TAGS[node.tag], written)
        except ValueError:
            raise self._error(self._line(node), "is not what its tag says", path) from None

    def _storable(self, node: yaml.Node, path: Path) -> str:
        """Return the text of a scalar; its escapes may spell what no database keeps."""
        value: str = node.value
        try:
            check_text(f"{value}.")
        except InvalidError as error:
            raise self._error(self._line(node), error.message, path) from None
        return value

    def _line(self, node: yaml.Node) -> int:
        return self._first_line + int(node.start_mark.line)

    def _error(self, line: int, message: str, path: Path = ("document",)) -> PreferencesError:
        return PreferencesError([Complaint(".".join(path) or "document", line, message)])


class _Loader(yaml.SafeLoader):
    """Composes nodes, but none by an alias, and none too deep: a few lines could stand for gigabytes."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise yaml.composer.ComposerError(None, None, "anchors and aliases are not allowed here", event.start_mark)
        if self.depth == DEEPEST:
            raise yaml.composer.ComposerError(None, None, "nested too deeply", event.start_mark)
        self.depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _offset(error: yaml.MarkedYAMLError) -> int:
    """Return the line that is to blame: of a word that ends too late or never, where it begins."""
    scanning = (error.context or "").startswith("while scanning")
    mark = (error.context_mark if scanning else None) or error.problem_mark
    return int(mark.line) if mark else 0


def _plain(kind: str, written: str) -> Any:
    """Return a scalar as JSON has it; dates and other things that JSON lacks stay as they were written."""
    if kind == "null":
        return None
    if kind == "bool":
        return _truth(written)
    if kind in {"int", "float"} and len(written) <= LONGEST_NUMBER:
        return _number(kind, written)
    return written


def _truth(written: str) -> bool:
    try:
        return yaml.SafeLoader.bool_values[written.lower()]
    except KeyError:
        raise ValueError(written) from None


def _number(kind: str, written: str) -> int | float | str:
    """Return a number in decimal notation; YAML also knows 1_000, 0x1f, 007 and 12:30, which stay as written."""
    with suppress(ValueError):
        number = int(written) if kind == "int" else float(written)
        if math.isfinite(number) and (kind == "float" or str(number) == written):
            return number
    return written
