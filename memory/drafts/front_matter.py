"""Front matter as JSON values: YAML by the safe rules, with the line of every key, which complaints name."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml
from frontmatter.default_handlers import YAMLHandler

from memory.drafts.drafts import check_text
from memory.errors import InvalidError

# A person's preferences nest two levels deep; what nests deeper was written to exhaust a parser.
DEEPEST = 16
# Longer numbers are kept as they were written: a database holds no integer of 4,000 digits that JSON can carry.
LONGEST_NUMBER = 18


# A key within its sections, outermost first.
KeyPath: TypeAlias = tuple[str, ...]

BOUNDARY = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
# What a document may be made of; a tag of any other kind asks a parser to build something.
_KINDS = ("map", "seq", "str", "null", "bool", "int", "float", "timestamp", "value", "merge")
_TAGS = {f"tag:yaml.org,2002:{kind}": kind for kind in _KINDS}


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


class FrontMatter(YAMLHandler):
    """Reads YAML into JSON values for `frontmatter`, and keeps the line of every key."""

    def __init__(self, first_line: int) -> None:
        super().__init__(fm_boundary=BOUNDARY)
        self.lines: dict[KeyPath, int] = {}
        self._first_line = first_line

    def split(self, text: str) -> tuple[str, str]:
        """Return the front matter and the body; `ValueError` tells `frontmatter` that all of it is body."""
        if not BOUNDARY.match(text):
            raise ValueError("no front matter")
        if len(BOUNDARY.findall(text)) < 2:
            raise self._error(self._first_line, "the front matter has no closing line of three dashes")
        return super().split(text)

    def load(self, fm: str, **_kwargs: object) -> dict[str, Any]:
        """Return the front matter as JSON values."""
        try:
            root = yaml.compose(fm, Loader=StrictLoader)
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

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        if node.tag not in _TAGS:
            raise self._error(self._line(node), f"the tag {node.tag[:60]!r} is not known here", path)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(each, path) for each in node.value]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
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

    def _scalar(self, node: yaml.Node, path: KeyPath) -> Any:
        written = self._storable(node, path)
        try:
            return _plain(_TAGS[node.tag], written)
        except ValueError:
            raise self._error(self._line(node), "is not what its tag says", path) from None

    def _storable(self, node: yaml.Node, path: KeyPath) -> str:
        """Return the text of a scalar; its escapes may spell what no database keeps."""
        value: str = node.value
        try:
            check_text(f"{value}.")
        except InvalidError as error:
            raise self._error(self._line(node), error.message, path) from None
        return value

    def _line(self, node: yaml.Node) -> int:
        return self._first_line + int(node.start_mark.line)

    def _error(self, line: int, message: str, path: KeyPath = ("document",)) -> PreferencesError:
        return PreferencesError([Complaint(".".join(path) or "document", line, message)])


class StrictLoader(yaml.SafeLoader):
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
