"""What somebody kept elsewhere, as drafts: Markdown and plain text by lists and paragraphs, JSON by its objects.

Of what this program exported itself, as JSON or as Markdown, each active memory comes back as the one that it was.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import frontmatter
from markdown_it import MarkdownIt
from markdown_it.token import Token

from memory.drafts.drafts import (
    DEFAULT_ROLE,
    MAX_SOURCE_ID_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    Draft,
    check_not_ahead,
    merged_words,
)
from memory.drafts.front_matter import FrontMatter
from memory.drafts.payloads import objects_in
from memory.errors import InvalidError
from memory.models import DEFAULT_SPACE, ROLES, TYPES
from memory.transfer.export import FORMAT

MARKDOWN = frozenset({".md", ".markdown"})
WRITTEN = MARKDOWN | {".txt"}
OBJECTS = frozenset({".json", ".jsonl"})
# The names under which others keep the text, the moment and the tags of a memory, and a list of memories; the first
# that is there counts. mem0 answers with a list of `results`, each with its `memory` and its `categories`.
_TEXTS = ("text", "memory", "content", "fact", "note", "data")
_MOMENTS = ("created_at", "created", "date", "timestamp")
_TAGS = ("tags", "categories")
_LISTS = ("results", "memories", "entries", "items", "data")
# Spaces of an account that are named where another one is asked for.
_NAMED = 10
# What is in a block is kept as it was written, addresses for links as well: to look for links and emphasis would take
# most of the time.
_PARSER = MarkdownIt("commonmark").enable("table").disable(["inline", "reference"])
# To Python more signs end a line, to JSON and Markdown none of these: any may stand in a text.
_LINE_END = re.compile(r"\r\n?")
_MARKER = re.compile(r"[ ]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]*")


@dataclass(frozen=True, slots=True)
class Returning(Draft):
    """What comes back from a document that `memory.transfer.notes_export`, or `export`, wrote.

    `of` is the memory that it was, None where the document does not say, and `version` the one that was written down.
    """

    of: UUID | None = None
    version: int = 0

    def says(self, text: str) -> bool:
        """Tell whether it has this text, as a document has one: of one kind of line ends, with no space around it."""
        return self.text == _LINE_END.sub("\n", text).strip()


def files_in(path: Path) -> list[Path]:
    """Return a file, or those of a folder and its folders that can be read, none whose name begins with a dot."""
    if path.is_file():
        return [path]
    found = (each for each in sorted(path.rglob("*")) if each.suffix.lower() in WRITTEN | OBJECTS and each.is_file())
    return [each for each in found if not any(part.startswith(".") for part in each.relative_to(path).parts)]


def drafts_of(path: Path, name: str, now: datetime, space: str = DEFAULT_SPACE) -> Iterator[Draft]:
    """Give what a file has; see `drafts_in`. What of its name is not UTF-8 is replaced there."""
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    readable = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    # One that a clock that was wrong has written is as new as any.
    return drafts_in(path.read_bytes(), readable, min(written, now), now, space)


def drafts_in(
    content: bytes, name: str, changed_at: datetime, now: datetime, space: str = DEFAULT_SPACE
) -> Iterator[Draft]:
    """Give what a file of this `name` has, which is the source of each; `changed_at` is when it was last written.

    Of everything of an account, in one document, it gives what is active in the space with the slug `space`.

    Raises `InvalidError` that names the file, and the line or the number of what cannot be a memory.
    """
    try:
        # What Windows calls Unicode is the other one.
        encoding = "utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
        text = _LINE_END.sub("\n", content.decode(encoding))
    except UnicodeDecodeError:
        raise _wrong(name, "is not UTF-8") from None
    kind = Path(name).suffix.lower()
    if kind not in WRITTEN | OBJECTS:
        raise _wrong(name, f"is none of {', '.join(sorted(WRITTEN | OBJECTS))}")
    source = (name[-MAX_SOURCE_ID_LENGTH:],)
    if kind in OBJECTS:
        yield from _from_objects(text, name, source, now, space, by_line=kind == ".jsonl")
    else:
        about, body = _parted(text, name) if kind in MARKDOWN else ({}, text)
        if about.get("memory"):
            yield from _from_export(about, body, f"{name}, body", source, _moment(about, name, now) or changed_at, now)
            return
        yield from _from_writing(about, body, name, source, _moment(about, name, now) or changed_at)


def _parted(text: str, name: str) -> tuple[dict[str, Any], str]:
    """Return the front matter of a document, and the rest."""
    try:
        return frontmatter.parse(text, handler=FrontMatter(1))
    except InvalidError as error:
        raise _wrong(name, f"{error.field}: {error.message}") from None


def _from_writing(
    about: Mapping[str, Any], body: str, name: str, source: tuple[str, ...], created_at: datetime
) -> Iterator[Draft]:
    """Give the items of lists and the paragraphs of a document, with its headings as tags.

    A list that a paragraph leads to, with a colon at its end, belongs to that.
    """
    kind = about["type"] if about.get("type") in TYPES else "note"
    for block, headings in _blocks(body):
        tags = merged_words([*_tags(about)], tuple(headings), MAX_TAGS)
        where = f"{name}, {block[:40]}"
        yield _draft(where, text=block, type=kind, tags=tuple(tags), source_ids=source, created_at=created_at)


def _from_export(
    about: Mapping[str, Any], body: str, where: str, source: tuple[str, ...], created_at: datetime, now: datetime
) -> Iterator[Draft]:
    """Give the one memory that an export tells `about`, unless it has expired."""
    expires_at = _moment_at("expires_at", about, where)
    if expires_at is not None and expires_at <= now:
        return
    yield _draft(
        where,
        kind=Returning,
        of=_id_of(about["memory"]),
        version=about["version"] if isinstance(about.get("version"), int) else 0,
        text=_LINE_END.sub("\n", body).strip(),
        type=about["type"] if about.get("type") in TYPES else "note",
        role=about["role"] if about.get("role") in ROLES else DEFAULT_ROLE,
        tags=_tags(about),
        source_ids=source,
        manually_saved=about.get("saved") is True,
        created_at=created_at,
        expires_at=expires_at,
    )


def _from_account(
    document: Mapping[str, Any], name: str, source: tuple[str, ...], now: datetime, space: str
) -> Iterator[Draft]:
    """Give what is active in a space of an account: all spaces would be one, and what was replaced would hold again."""
    slugs = {str(each.get("id")): str(each.get("slug")) for each in objects_in(document.get("spaces"))}
    active = [
        (at, slugs.get(str(row.get("space_id"))), row)
        for at, row in enumerate(objects_in(document.get("memories")), 1)
        if row.get("status") == "active"
    ]
    used = sorted({slug for _, slug, _ in active if slug is not None})
    if active and space not in used:
        there = ", ".join(used[:_NAMED]) or "none"
        more = f" and {len(used) - _NAMED} others" if len(used) > _NAMED else ""
        raise _wrong(name, f"has nothing of the space “{space}”, and would come into that: it has {there}{more}")
    for at, slug, row in active:
        if slug == space:
            where = f"{name}, memory {at}"
            if not isinstance(text := row.get("text"), str):
                raise _wrong(where, "has no text")
            about = {**row, "memory": row.get("id"), "saved": row.get("manually_saved")}
            yield from _from_export(about, text, where, source, _moment(row, where, now) or now, now)


def _blocks(body: str) -> Iterator[tuple[str, list[str]]]:
    """Give each block of a document that is one memory, with the headings that it stands under."""
    lines = body.split("\n")
    headings: dict[int, str] = {}
    lead: tuple[int, int] | None = None
    for token, inside in _top_level(_PARSER.parse(body)):
        if token.type == "heading_open":
            if lead is not None:
                yield _written(lines, lead), list(headings.values())
                lead = None
            said = inside[0].content.strip() if inside else ""
            if _is_title(token, said):
                level = int(token.tag[1:])
                headings = {at: word for at, word in headings.items() if at < level}
                headings |= {level: said.casefold()} if said else {}
            else:
                yield said, list(headings.values())
            continue
        spans = _spans(token, inside)
        if lead is not None and token.type != "paragraph_open" and spans:
            spans, lead = [(lead[0], spans[-1][1])], None
        elif lead is not None:
            spans, lead = [lead, *spans], None
        if token.type == "paragraph_open" and _written(lines, spans[-1]).endswith(":"):
            lead = spans.pop()
        yield from ((said, list(headings.values())) for span in spans if (said := _written(lines, span)))
    if lead is not None:
        yield _written(lines, lead), list(headings.values())


def _is_title(token: Token, said: str) -> bool:
    """Tell whether a heading is one to who wrote it: not a text that a line of dashes parts from what follows.

    One that is too long for a tag says something by itself.
    """
    return token.markup != "-" and len(said) <= MAX_TAG_LENGTH and "\n" not in said


def _top_level(tokens: Sequence[Token]) -> Iterator[tuple[Token, Sequence[Token]]]:
    """Give the blocks that are in no other, each with the tokens inside it."""
    opened = 0
    for at, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0:
            opened = at
        if token.level == 0 and token.nesting <= 0:
            yield tokens[opened], tokens[opened + 1 : at]


def _spans(token: Token, inside: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the lines of a block, from the first on to the one behind its last; of a list those of each item."""
    if token.type == "hr" or token.map is None:
        return []
    if token.type in {"bullet_list_open", "ordered_list_open"}:
        return [
            (each.map[0], each.map[1])
            for each in inside
            if each.type == "list_item_open" and each.level == 1 and each.map
        ]
    return [(token.map[0], token.map[1])]


def _written(lines: Sequence[str], span: tuple[int, int]) -> str:
    """Return the lines of a block as they were written, without the marker of an item and what is set in by it."""
    first, *rest = lines[span[0] : span[1]]
    marker = _MARKER.match(first)
    if marker is None or len(marker[0]) == len(first):
        return "\n".join([first, *rest]).strip()
    width = len(marker[0])
    return "\n".join([first[width:], *(each[width:] if not each[:width].strip() else each for each in rest)]).strip()


def _from_objects(
    text: str, name: str, source: tuple[str, ...], now: datetime, space: str, *, by_line: bool
) -> Iterator[Draft]:
    if by_line:
        rows = [(f"line {at}", line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
        found = [(place, _read(line, f"{name}, {place}")) for place, line in rows]
    else:
        values = _read(text, name)
        if isinstance(values, Mapping) and values.get("format") == FORMAT:
            yield from _from_account(values, name, source, now, space)
            return
        if isinstance(values, Mapping):
            values = next((values[key] for key in _LISTS if isinstance(values.get(key), list)), [values])
        if not isinstance(values, list):
            raise _wrong(name, "must be a list of memories")
        found = [(f"number {at}", value) for at, value in enumerate(values, 1)]
    for place, value in found:
        yield _from_object({"text": value} if isinstance(value, str) else value, name, place, source, now)


def _from_object(value: Any, name: str, place: str, source: tuple[str, ...], now: datetime) -> Draft:
    if not isinstance(value, Mapping):
        raise _wrong(f"{name}, {place}", "must be an object or a text")
    said = next((value[key] for key in _TEXTS if isinstance(value.get(key), str) and value[key].strip()), None)
    if said is None:
        raise _wrong(f"{name}, {place}", f"has no text: one of {', '.join(_TEXTS)} must be one")
    kind = value["type"] if value.get("type") in TYPES else "note"
    created_at = _moment(value, f"{name}, {place}", now)
    return _draft(f"{name}, {place}", text=said, type=kind, tags=_tags(value), source_ids=source, created_at=created_at)


def _read(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(where, f"is no JSON: {error}") from None


def _id_of(given: Any) -> UUID | None:
    try:
        return UUID(str(given))
    except ValueError:
        return None


def _draft(where: str, *, kind: type[Draft] = Draft, **fields: Any) -> Draft:
    try:
        return kind(**fields)
    except InvalidError as error:
        raise _wrong(where, f"{error.field} {error.message}") from None


def _tags(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tags of an object, or of a front matter; they may be one text with commas."""
    given = next((values[key] for key in _TAGS if values.get(key)), ())
    words = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else ()
    tags = (str(each).strip().lstrip("#") for each in words if isinstance(each, str | int | float))
    return tuple(dict.fromkeys(each for each in tags if each))


def _moment(values: Mapping[str, Any], where: str, now: datetime) -> datetime | None:
    """Return when an object, or a document, was made; a day is its beginning, and without a zone it is of UTC.

    Raises `InvalidError` where that is still to come.
    """
    key = next((each for each in _MOMENTS if values.get(each)), None)
    if key is None or (moment := _moment_at(key, values, where)) is None:
        return None
    try:
        check_not_ahead(moment, now)
    except InvalidError as error:
        raise _wrong(where, f"{key} {error.message}") from None
    return moment


def _moment_at(key: str, values: Mapping[str, Any], where: str) -> datetime | None:
    given = values.get(key)
    if not given:
        return None
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            moment = datetime.fromtimestamp(given, UTC)
        else:
            moment = datetime.fromisoformat(str(given).strip())
    except (ValueError, OverflowError, OSError):
        raise _wrong(where, f"{key} must be a day or a moment, as 2026-05-01 or 2026-05-01T10:00:00Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _wrong(where: str, what: str) -> InvalidError:
    return InvalidError("file", f"{where}: {what}")
