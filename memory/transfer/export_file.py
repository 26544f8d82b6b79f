"""An export in a file, read section by section: each row is checked against the columns that the export writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, BinaryIO

import ijson
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from sqlalchemy import ARRAY, Column

from memory.errors import InvalidError
from memory.models import Base
from memory.transfer.export import FORMAT, VERSION, columns_of, sections

# Came to the format later: a document of before is one that has none.
_LATER = frozenset({"facts", "shares", "wordings"})
# Columns that came to the format later, with the values that older documents mean.
_LATER_COLUMNS = {
    ("spaces", "extract_facts"): False,
    ("spaces", "roll_up"): False,
    ("conversations", "extracted_through"): 0,
    ("facts", "extracted"): False,
}
# The largest number, and the most bytes of a JSON value.
LARGEST = 10**9
# The parser names each value by all the values that it is in: a file of nothing but brackets would fill the memory of
# the machine. What may be kept is nested far less.
_DEEPEST = 5_000
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
_EXACT = ijson.get_backend("python")
_NO_JSON = (ijson.JSONError, UnicodeDecodeError, RecursionError)

Row = dict[str, Any]


class Document:
    """An export in a file that can be read more than once; it is never whole in memory.

    Raises `InvalidError` on `file` for what is no export, is cut off, or was written by a newer version.
    """

    def __init__(self, file: BinaryIO) -> None:
        if not file.seekable():
            raise InvalidError("file", "must be a file that can be read more than once, no pipe")
        self._file = file
        self._parser = _EXACT if _has_half_pairs(file) else ijson
        try:
            head, names, lists = self._outline()
        except _NO_JSON:
            # Integers of more than 64 bits are JSON too, but not to the parser in C.
            self._parser = _EXACT
            try:
                head, names, lists = self._outline()
            except _NO_JSON:
                raise InvalidError("file", "is cut off, or no JSON in UTF-8") from None
        if head.get("format") != FORMAT:
            raise InvalidError("file", "is no export of Commonplace")
        if head.get("version") != VERSION:
            raise InvalidError("file", f"is of version {head.get('version')!r} of the format; {VERSION} is known here")
        if unknown := names - {*head, "exported_at", "user", *sections()}:
            raise InvalidError(min(unknown), "is not known here: a newer version of Commonplace wrote the file")
        for name in sections():
            if name not in lists and (name in names or name not in _LATER):
                raise InvalidError(name, "is no list" if name in names else "is missing")

    def _outline(self) -> tuple[Row, set[str], set[str]]:
        """Return what the document says of itself, its names, and those of its lists."""
        self._file.seek(0)
        head: Row = {}
        names: set[str] = set()
        lists: set[str] = set()
        name, depth = None, 0
        for event, value in self._parser.basic_parse(self._file, use_float=True):
            if event in {"start_map", "start_array"}:
                if depth == 1 and name is not None and event == "start_array":
                    lists.add(name)
                depth += 1
                if depth > _DEEPEST:
                    raise InvalidError("file", "is nested too deeply")
            elif event in {"end_map", "end_array"}:
                depth -= 1
            elif depth == 1 and event == "map_key":
                name = value
                names.add(name)
            elif depth == 1 and name in {"format", "version"}:
                head[name] = value
        return head, names, lists

    def rows(self, section: str) -> Iterator[Row]:
        """Yield the rows of a section as values of its columns; raises `InvalidError` on a field of a row."""
        self._file.seek(0)
        model = _model_of(section)
        for number, row in enumerate(self._parser.items(self._file, f"{section}.item", use_float=True), 1):
            try:
                yield model.model_validate(row).model_dump()
            except ValidationError as error:
                wrong = error.errors(include_input=False, include_url=False)[0]
                place = ".".join(str(each) for each in wrong["loc"])
                raise InvalidError(
                    place_of(section, number, place), wrong["msg"].removeprefix("Value error, ")
                ) from None


def _has_half_pairs(file: BinaryIO) -> bool:
    """Tell whether half a surrogate pair may be in a file: the parser in C would read a question mark."""
    file.seek(0)
    before = b""
    while block := file.read(1 << 20):
        if _HALF_PAIR.search(before + block):
            return True
        before = block[-5:]
    return False


def place_of(section: str, number: int, field: str) -> str:
    """Return how an error names a field of a row, which is counted from 1; without a field, the row."""
    return f"{section}, row {number}" + (f", {field}" if field else "")


@cache
def _model_of(section: str) -> type[BaseModel]:
    """Return the shape of a row: every column that the export writes, and no other."""
    fields: dict[str, Any] = {}
    for column in columns_of(Base.metadata.tables[section]):
        kind = _kind(column)
        before = _LATER_COLUMNS.get((section, column.name), ...)
        fields[column.name] = (kind | None, None) if column.nullable else (kind, before)
    made: type[BaseModel] = create_model(section, __config__=ConfigDict(extra="forbid"), **fields)
    return made


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL bytes")
    text.encode()  # Half a surrogate pair is a ValueError.
    return text


def _bytes(digits: object) -> bytes:
    if not isinstance(digits, str):
        raise ValueError("must be hexadecimal digits")
    return bytes.fromhex(digits)


def _said(moment: object) -> object:
    if not isinstance(moment, str):
        raise ValueError("must be a date and a time as text")
    return moment


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be between the years 1 and 9999") from None


_KINDS: dict[type, Any] = {
    int: Annotated[int, Field(ge=0, le=LARGEST)],
    str: Annotated[str, AfterValidator(_storable)],
    datetime: Annotated[AwareDatetime, BeforeValidator(_said), AfterValidator(_in_utc)],
    bytes: Annotated[bytes, BeforeValidator(_bytes)],
    dict: dict[str, Any],
}


def _kind(column: Column[Any]) -> Any:
    if isinstance(column.type, ARRAY):
        item = column.type.item_type.python_type
        return GenericAlias(list, (_KINDS.get(item, item),))
    python_type = column.type.python_type
    return _KINDS.get(python_type, python_type)
