"""Persons with notes and questions about them, from `evals/reading`: what the reader learns from."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from evals.storable import refusal, unfit

FOLDER = Path(__file__).with_name("reading")


@dataclass
class Block:
    """The notes of one person by their ids, and questions with the ids of the notes that answer them, maybe none.

    `wanted` has for questions that none answers a note that would: else it would be learned that some questions ("How
    old is …") are never answered, whatever is read with them.
    """

    name: str
    notes: dict[str, str] = field(default_factory=dict)
    questions: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    wanted: dict[str, str] = field(default_factory=dict)


def read_blocks(folder: Path = FOLDER, *, since: str = "") -> list[Block]:
    """Return the blocks of a folder's files, of those named `since` and later.

    Raises `ValueError` that names the file and line of what is wrong: two notes of a person with one id, for example.
    """
    return _blocks_of(path for path in sorted(folder.glob("*.txt")) if path.stem >= since)


def read_file(path: Path) -> list[Block]:
    """Return the blocks of one file; raises as `read_blocks` does."""
    return _blocks_of([path])


def read_known_blocks(since: str) -> list[Block]:
    """Return the blocks of the files before one; raises as `read_blocks` does."""
    return _blocks_of(path for path in sorted(FOLDER.glob("*.txt")) if path.stem < since)


def _blocks_of(paths: Iterable[Path]) -> list[Block]:
    blocks: list[Block] = []
    for path in paths:
        mine: list[Block] = []
        # Not `splitlines`: it also ends a line at marks that may stand in the middle of a note.
        for number, line in enumerate(io.StringIO(_text(path), newline=None), 1):
            try:
                _read(mine, line.strip())
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from None
        blocks += mine
    return blocks


def _text(path: Path) -> str:
    found = path.read_bytes()
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path.name}, line {line}: not UTF-8: {error.reason}") from None


def _read(blocks: list[Block], line: str) -> None:
    """Add what a line says to the last block, or begin another."""
    if line.startswith("#"):
        blocks.append(Block(line[1:].strip()))
    elif line and not blocks:
        raise ValueError("a note or a question before any `# name`")
    elif line:
        _take(blocks[-1], line)


def _take(block: Block, line: str) -> None:
    if note := re.fullmatch(r"(n\d+): *(.+)", line):
        if note[1] in block.notes:
            raise ValueError(f"there is another note {note[1]}")
        block.notes[note[1]] = _storable(note[1], note[2])
    elif asked := re.fullmatch(r"\? *(.+?) *=> *(n\d+(?: +n\d+)*)", line):
        ids = tuple(asked[2].split())
        if unknown := set(ids) - block.notes.keys():
            raise ValueError(f"there is no note {min(unknown)}")
        block.questions.append((_askable(asked[1]), ids))
    elif missed := re.fullmatch(r"- *(.+?)(?: *=> *(.+))?", line):
        block.questions.append((_askable(missed[1]), ()))
        if missed[2]:
            block.wanted[missed[1]] = _storable("wanted", missed[2])
    else:
        raise ValueError("this is neither a note nor a question")


def _storable(name: str, text: str) -> str:
    if wrong := refusal(text, name, names={"source_ids": "id"}):
        raise ValueError(wrong)
    return text


def _askable(text: str) -> str:
    if wrong := unfit(text):
        raise ValueError(f"question: {wrong}")
    return text
