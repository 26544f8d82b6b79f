"""Read LoCoMo, the data set of very long conversations with questions about them (Maharana et al., ACL 2024)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals import once
from evals.storable import refusal, unfit

# The official names of the categories; the last has no answer in the conversation.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
# The name of a conversation and the number of a session make a title and an id, whose length is limited.
LONGEST_NAME = 128

_SESSION = re.compile(r"session_(\d+)")
# Matches "D1:3" and also "D:11:26"; one string may hold several, with anything between them.
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_SAID_AT = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said. `caption` describes a photo that came with it; `said_at` is when its session began, in UTC.

    `session` is the number of the session that it was said in.
    """

    dia_id: str
    speaker: str
    text: str
    caption: str | None
    said_at: datetime
    session: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of the turns that answer it; without any, it cannot be scored."""

    text: str
    category: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One sample: turns in the order they were said, and questions about them."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def memory_text(turn: Turn) -> str:
    """Return what is remembered of a turn: who said what."""
    return f"{turn.speaker}: {turn.text}"


def read(path: Path) -> list[Conversation]:
    """Return the conversations of a LoCoMo file; raises `ValueError` that says what is wrong, and where."""
    try:
        return parse(once.loads(path.read_text(encoding="utf-8-sig")))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def parse(samples: object) -> list[Conversation]:
    """Return the conversations of a parsed LoCoMo file; raises `ValueError` that says what is wrong, and where."""
    if not isinstance(samples, list):
        raise ValueError("not a list of samples")
    found = [_conversation(sample, number) for number, sample in enumerate(samples, start=1)]
    if len({each.name for each in found}) < len(found):
        raise ValueError("two samples have the same sample_id")
    return found


def repair(evidence: Iterable[str], known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the turns that the strings name, in order, each once; what names no turn is dropped.

    `known` maps ids without leading zeros to ids as the turns have them.

    >>> turns = {"D8:6": "D8:6", "D11:26": "D11:26", "D30:5": "D30:5"}
    >>> repair(["D8:6; D30:05", "D:11:26", "D8:6", "D", "D1:99"], turns)
    ('D8:6', 'D30:5', 'D11:26')
    """
    named = (_plain(*found) for each in evidence for found in _EVIDENCE.findall(each))
    return tuple(dict.fromkeys(known[each] for each in named if each in known))


def _plain(session: str, turn: str) -> str:
    return f"D{int(session)}:{int(turn)}"


def _conversation(sample: object, number: int) -> Conversation:
    where = f"sample {number}"
    name = _get(sample, "sample_id", str, where, f"conv-{number}")
    if wrong := unfit(name, longest=LONGEST_NAME):
        raise ValueError(f"{where}: sample_id: {wrong}")
    turns = tuple(_turns(_get(sample, "conversation", dict, where), name))
    if twice := [each for each, count in Counter(turn.dia_id for turn in turns).items() if count > 1]:
        raise ValueError(f"{name}: two turns have the dia_id {twice[0]!r}")
    known = {_plain(*match): turn.dia_id for turn in turns for match in _EVIDENCE.findall(turn.dia_id)}
    asked = enumerate(_get(sample, "qa", list, name, []), start=1)
    return Conversation(name, turns, tuple(_question(qa, f"{name}, question {n}", known) for n, qa in asked))


def _turns(conversation: Mapping[str, Any], name: str) -> Iterable[Turn]:
    for number, key in _sessions(conversation, name):
        where = f"{name}, {key}"
        said = _get(conversation, key, list, where)
        if not said:
            continue
        time_key = f"{key}_date_time"
        said_at = _moment(_get(conversation, time_key, str, where), where)
        for position, turn in enumerate(said, start=1):
            yield _turn(turn, said_at, number, f"{where}, turn {position}", time_key)


def _sessions(conversation: Mapping[str, Any], name: str) -> list[tuple[int, str]]:
    """Return the number of each session with what the file calls it, in order; raises where two have one number."""
    found: dict[int, str] = {}
    for key in conversation:
        if (match := _SESSION.fullmatch(key)) and (other := found.setdefault(int(match[1]), key)) != key:
            raise ValueError(f"{name}: {other} and {key} are the same session")
    return sorted(found.items())


def _turn(turn: object, said_at: datetime, session: int, where: str, time_key: str) -> Turn:
    found = Turn(
        dia_id=_get(turn, "dia_id", str, where),
        speaker=_get(turn, "speaker", str, where),
        text=_get(turn, "text", str, where),
        caption=_get(turn, "blip_caption", str, where, "") or None,
        said_at=said_at,
        session=session,
    )
    names = {"source_ids": "dia_id", "created_at": time_key}
    wrong = refusal(memory_text(found), found.dia_id, created_at=said_at, names=names)
    # A turn without text is not stored with the others.
    if wrong and found.text.strip():
        raise ValueError(f"{where}: {wrong}")
    if found.caption and found.caption.strip() and (wrong := unfit(found.caption)):
        raise ValueError(f"{where}: blip_caption: {wrong}")
    return found


def _moment(value: str, where: str) -> datetime:
    try:
        return datetime.strptime(value.strip(), _SAID_AT).replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{where}: {value!r} is not a time like '1:56 pm on 8 May, 2023'") from None


def _question(qa: object, where: str, known: Mapping[str, str]) -> Question:
    category = _get(qa, "category", int, where)
    if category not in CATEGORIES:
        raise ValueError(f"{where}: category must be 1 to 5, not {category}")
    evidence = _get(qa, "evidence", list, where, [])
    text = _get(qa, "question", str, where)
    if wrong := unfit(text):
        raise ValueError(f"{where}: question: {wrong}")
    return Question(text, category, repair(map(str, evidence), known))


def _get(holder: object, key: str, kind: type, where: str, default: Any = None) -> Any:
    """Return a value of the right type; a missing one raises unless there is a default."""
    if not isinstance(holder, Mapping):
        raise ValueError(f"{where}: not an object")
    value = holder.get(key, default)
    if value is None:
        raise ValueError(f"{where}: {key} is missing")
    # `isinstance(True, int)` is true, so a bool is refused by name.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{where}: {key} must be of type {kind.__name__}, not {type(value).__name__}")
    return value
