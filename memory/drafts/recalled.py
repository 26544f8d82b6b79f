"""What comes back in a message of what this server itself recalled: known by its marks, or by its digest.

What was recalled is no news. Stored again it would count as said again, and the memories that are found most would
grow by being found.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause
from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.drafts.drafts import MAX_TEXT_BYTES
from memory.texts.fingerprints import folded, folded_digest, growing_digests
from memory.texts.markers import tidied, without_marked

WINDOW = timedelta(hours=24)
# A snippet that a budget has cut is known by its beginning, if that is long enough not to be chance.
SHORTEST_PART = 40
# A memory of several lines is looked for in runs of lines. Longer messages are compared line by line, and no further
# than so many lines.
MOST_LINES = 200
MOST_COMPARED = 2_000
LONGEST_RUN = 10
# Characters of a folded memory: one sign of three bytes may stand for eighteen (U+FDFA), and nothing grows by more.
LONGEST_FOLDED = 6 * MAX_TEXT_BYTES
# What the latest so many calls returned is compared by its text as well: cut snippets, episodes, entities, and memories
# that are not active any more, none of which has a digest to be found by.
RECENT_CALLS = 50
RECENT_ITEMS = 300
READ_CHARACTERS = 8_000
MOST_ANSWERS = 20
MOST_STRINGS = 500
FORMS = range(3)
# Places in texts where recalled text may stand, that are compared at once.
MOST_AT_ONCE = 20_000

# Calls that answered with memories. Calls that write name memories too, but what was just written was not recalled.
_RECALLING = """origin = 'server' AND success AND (hits > 0 OR tool = 'memory_get')
  AND created_at BETWEEN :since AND :now"""
_CALLS = sql(f"""
SELECT affected_ids FROM tool_calls WHERE user_id = :user_id AND {_RECALLING}
ORDER BY created_at DESC LIMIT {RECENT_CALLS}
""")  # noqa: S608 - all of it is written here
_BY_DIGEST = sql("""
SELECT id, text_digest, CASE WHEN type = 'summary' THEN source_ids ELSE '{}' END AS sources FROM memories
WHERE user_id = :user_id AND space_id = ANY(ARRAY(
    SELECT id FROM spaces WHERE user_id = :user_id AND (CAST(:within AS uuid) IS NULL OR id = :within)))
  AND status = 'active' AND text_digest = ANY(:digests)
""")
_NAMED = sql(f"""
SELECT i FROM unnest(CAST(:ids AS uuid[])) i WHERE EXISTS (SELECT FROM calls_naming(i) WHERE {_RECALLING})
""")  # noqa: S608 - all of it is written here
_MEMORIES = sql("""
SELECT left(text, :most) FROM memories
WHERE user_id = :user_id AND id = ANY(:ids) AND (CAST(:within AS uuid) IS NULL OR space_id = :within)
""")
_OTHERS = sql("""
SELECT left(e.text, :most) FROM episodes e JOIN conversations c ON c.user_id = e.user_id AND c.id = e.conversation_id
WHERE e.user_id = :user_id AND e.id = ANY(:ids) AND (CAST(:within AS uuid) IS NULL OR c.space_id = :within)
UNION ALL SELECT left(notes, :most) FROM entities
WHERE user_id = :user_id AND id = ANY(:ids) AND (CAST(:within AS uuid) IS NULL OR space_id = :within)
""")

_BULLET = re.compile(r"(?:[>|\s]+|[-*+\u2022\u2013]\s+|\(?\d{1,3}[.)]\s+|\[[ xX]\]\s+|#{1,6}\s+)+")
# Of a line without the blanks around it.
_FIELD = re.compile(r'"\w{1,40}"\s*:\s*("(?:[^"\\]|\\.)*+")(?:\s*+,)?')
_JSON = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False)
# What stands where something was cut, and after that what a client may add.
_CUT = ". \u2026"
_QUOTES = "\"'`*_\u201c\u201d\u2018\u2019\u00ab\u00bb\u2039\u203a"


@dataclass(frozen=True, slots=True)
class Stripped:
    """What of a text its author said, and whether anything recalled was taken out of it."""

    text: str
    recalled: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that is not blank: where it stands, and its folded text: as it is, without bullet, without quotes."""

    start: int
    end: int
    forms: tuple[str, str, str]
    plain: bool


@dataclass(frozen=True, slots=True)
class _Run:
    """Characters `start` to `end`, which are recalled text if one of the digests is that of a recalled memory."""

    start: int
    end: int
    digests: frozenset[bytes]


def strip_recalled(
    session: Session, user_id: UUID, text: str, *, now: datetime, since: datetime | None = None
) -> Stripped:
    """Return the text without what this server recalled for the user since then, by default in the last 24 hours.

    Recalled text is what the markers of an assembled block enclose, however quoted or cut; lines, list items, runs
    of lines and JSON answers with the digest of a memory that a tool call returned; and lines that begin as such a
    memory does for 40 characters or more, as where a budget has cut it. The rest stays as it was said; it is "" if
    nothing is left.
    """
    return strip_all_recalled(session, user_id, [text], now=now, since=since)[0]


def authored(session: Session, user_id: UUID, message_id: UUID, text: str, *, now: datetime) -> str:
    """Return what of a stored message's text its author said: not what this server had recalled to it before."""
    # Its id tells when a message was stored, whatever time its sender gave it; a stream may have ended later.
    stored_at = datetime.fromtimestamp((message_id.int >> 80) / 1000, UTC)
    return strip_recalled(session, user_id, text, now=now, since=stored_at - WINDOW).text


def strip_all_recalled(
    session: Session,
    user_id: UUID,
    texts: Sequence[str],
    *,
    now: datetime,
    since: datetime | None = None,
    within: UUID | None = None,
) -> list[Stripped]:
    """Return each text as `strip_recalled` does, in a few statements however many they are.

    A writer who is confined to the space `within` must learn nothing of other spaces: what was recalled there stays.
    """
    rests = [without_marked(text) for text in texts]
    when = {"user_id": user_id, "since": since or now - WINDOW, "now": now, "within": within}
    calls = session.scalars(_CALLS, when).all() if any(rest.strip() for rest in rests) else ()
    if not calls:
        return [Stripped(rest, rest != text) for text, rest in zip(texts, rests, strict=True)]
    recalled = _Recalled(session, when, list(dict.fromkeys(item for call in calls for item in call))[:RECENT_ITEMS])
    spans = (found for some in _portions(map(_Read, rests)) for found in recalled.spans(some))
    return [
        Stripped(_without(rest, taken), recalled=True) if taken else Stripped(rest, rest != text)
        for text, rest, taken in zip(texts, rests, spans, strict=True)
    ]


class _Read:
    """A text without marks: its lines, and where recalled text may stand whole in it."""

    def __init__(self, text: str) -> None:
        self.lines = _lines(text)
        self.runs = [*_runs(self.lines), *_answers(text)]


def _portions(texts: Iterable[_Read]) -> Iterator[list[_Read]]:
    """Yield some texts at a time: the lines of all texts of one call would fill the memory of the machine."""
    portion: list[_Read] = []
    size = 0
    for text in texts:
        portion.append(text)
        size += len(text.runs)
        if size >= MOST_AT_ONCE:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


@dataclass(frozen=True)
class _Recalled:
    """What was recalled `when` it is asked for; `ids` are what the latest calls named. Read once for all texts."""

    session: Session
    when: dict[str, Any]
    ids: Sequence[UUID]

    def spans(self, texts: Sequence[_Read]) -> Iterator[list[tuple[int, int]]]:
        """Yield for each text where recalled text stands in it."""
        known = self._known({digest for text in texts for run in text.runs for digest in run.digests})
        for text in texts:
            whole = [(run.start, run.end) for run in text.runs if run.digests & known]
            left = [line for line in text.lines if not _covered(line, whole)]
            yield [*whole, *(self._parts(left) if any(len(f) >= SHORTEST_PART for f in _joined(left)) else ())]

    def _known(self, digests: Collection[bytes]) -> set[bytes]:
        """Return those of the digests that are of memories which were recalled then."""
        found = self.session.execute(_BY_DIGEST, {**self.when, "digests": list(digests)}).all()
        # A summary may have been shown in place of a memory that it sums up.
        named = {row.id: {row.id, *_ids(row.sources)} for row in found}
        if not named:
            return set()
        asked = list(set().union(*named.values()))
        recalled = set(self.session.scalars(_NAMED, {**self.when, "ids": asked}))
        return {row.text_digest for row in found if named[row.id] & recalled}

    def _parts(self, lines: Sequence[_Line]) -> Iterator[tuple[int, int]]:
        """Yield where memories begin that were cut, and where parts of episodes and of notes on entities stand."""
        for number, line in enumerate(lines):
            end = _beginning(lines[number : number + MOST_LINES], self._memories)
            if end is None and any(len(form) >= SHORTEST_PART and self._in_others(form) for form in line.forms):
                end = line.end
            if end is not None:
                yield line.start, end

    def _in_others(self, form: str) -> bool:
        return any(form in body for body in self._others)

    @cached_property
    def _memories(self) -> Mapping[str, Sequence[str]]:
        """The latest memories, by how they begin."""
        found: dict[str, list[str]] = defaultdict(list)
        for body in self._texts(_MEMORIES):
            found[body[:SHORTEST_PART]].append(body)
        return found

    @cached_property
    def _others(self) -> Sequence[str]:
        """What the latest episodes and entities say."""
        return list(self._texts(_OTHERS))

    def _texts(self, statement: TextClause) -> Iterator[str]:
        read = self.session.scalars(statement, {**self.when, "ids": self.ids, "most": READ_CHARACTERS})
        return map(folded, read)


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    at = 0
    for raw in text.splitlines(keepends=True):
        if len(lines) == MOST_COMPARED:
            break
        if raw.strip():
            forms = _forms(raw)
            lines.append(_Line(at, at + len(raw), forms, len(set(forms)) == 1))
        at += len(raw)
    return lines


def _forms(line: str) -> tuple[str, str, str]:
    bullet = _BULLET.match(line)
    text = line[bullet.end() if bullet else 0 :].strip()
    if field := _FIELD.fullmatch(text):
        with suppress(ValueError):
            text = _encodable(json.loads(field[1], strict=False))
    return folded(line), folded(text), folded(text.strip(_QUOTES))


def _encodable(text: str) -> str:
    # JSON can hold half a surrogate pair, which has no bytes to digest.
    return text.encode("utf-8", "replace").decode()


def _runs(lines: Sequence[_Line]) -> Iterator[_Run]:
    """Yield every line, and every run of a few lines; also those from the first line on, and to the last."""
    count = len(lines)
    longest = LONGEST_RUN if count <= MOST_LINES else 1
    for first in range(count):
        some = lines[first : first + longest]
        for line, digests in zip(some, _growing(some), strict=True):
            yield _Run(some[0].start, line.end, digests)
    if count <= longest:
        return
    if count <= MOST_LINES:
        for line, digests in zip(lines, _growing(lines), strict=True):
            yield _Run(lines[0].start, line.end, digests)
        yield from _last(lines)
    else:
        yield _run(lines)


def _growing(lines: Sequence[_Line]) -> Iterator[frozenset[bytes]]:
    """Yield the digests of the first line, of the first two, and so on."""
    parts = ([line.forms[form] for line in lines] for form in _forms_of(lines))
    yield from map(frozenset, zip(*map(growing_digests, parts), strict=True))


def _last(lines: Sequence[_Line]) -> Iterator[_Run]:
    """Yield the runs to the last line, as far as a memory can be so long: each is digested from its beginning."""
    size = 0
    for first in reversed(range(1, len(lines))):
        size += min(map(len, lines[first].forms))
        if size > LONGEST_FOLDED:
            break
        if len(lines) - first >= LONGEST_RUN:
            yield _run(lines[first:])


def _run(lines: Sequence[_Line]) -> _Run:
    digests = frozenset(folded_digest(form) for form in _joined(lines))
    return _Run(lines[0].start, lines[-1].end, digests)


def _joined(lines: Sequence[_Line]) -> set[str]:
    return {" ".join([line.forms[form] for line in lines]) for form in _forms_of(lines)}


def _forms_of(lines: Sequence[_Line]) -> Sequence[int]:
    return FORMS[:1] if all(line.plain for line in lines) else FORMS


def _answers(text: str) -> Iterator[_Run]:
    """Yield the objects and arrays in JSON that begin a line, as the answers of tools do."""
    done = 0
    for found in islice(_JSON.finditer(text), MOST_ANSWERS):
        if found.end() <= done:
            continue
        start = found.end() - 1
        try:
            value, done = _DECODER.raw_decode(text, start)
            strings = list(islice(_strings(value), MOST_STRINGS))
        except (ValueError, RecursionError):
            continue
        yield _Run(start, done, frozenset(folded_digest(folded(_encodable(string))) for string in strings))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _ids(words: Iterable[str]) -> Iterator[UUID]:
    for word in words:
        try:
            yield UUID(word)
        except ValueError:
            continue


def _beginning(lines: Sequence[_Line], bodies: Mapping[str, Sequence[str]]) -> int | None:
    """Return where the lines end that together are a text or its beginning, None if they begin none."""
    ends: list[int] = []
    for form in FORMS:
        # The first lines say which texts these may be, and only then is the rest compared.
        keys = {_head(lines, form)[:SHORTEST_PART], lines[0].forms[form]}
        for body in (body for key in keys for body in bodies.get(key, ())):
            said = ""
            for line in lines:
                said = f"{said} {line.forms[form]}".lstrip()
                if not body.startswith(said.rstrip(_CUT)):
                    break
                if len(said) >= SHORTEST_PART or said == body:
                    ends.append(line.end)
    return max(ends, default=None)


def _head(lines: Sequence[_Line], form: int) -> str:
    head = ""
    for line in lines:
        head = f"{head} {line.forms[form]}".lstrip()
        if len(head) >= SHORTEST_PART:
            break
    return head.rstrip(_CUT)


def _covered(line: _Line, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= line.start and line.end <= end for start, end in spans)


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    kept, at = [], 0
    for start, end in sorted(spans):
        kept.append(text[at:start])
        at = max(at, end)
    return tidied("".join([*kept, text[at:]]))
