"""Finding memories by words that are still being typed: the beginning of a word is enough."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    cast,
    collate,
    func,
    intersect,
    literal,
    or_,
    select,
    true,
    union,
)
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG
from sqlalchemy.orm import Session

from memory.models import Memory, Posting, Space

# More words than this narrow nothing further, and each costs a look into the index.
MOST_WORDS = 8
LONGEST_WORD = 64
# A stem that is shorter than this begins too many words to be worth looking up.
SHORTEST_STEM = 3
# So many memories are asked for by their ids; of more, each memory is asked whether it is among them.
FEW = 1000

_WORD = re.compile(r"\w+")
_MARKS = "\"'()[]{}<>.,;:!?\u201c\u201d\u2018\u2019"
_ENGLISH = cast(literal("english"), REGCONFIG)
# Behind every text in the order of bytes, which is that of the index.
_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Typed:
    """The condition that memories have the words, and whether `many` of the active ones do: more than 1,000."""

    condition: ColumnElement[bool]
    many: bool = False


def typed(session: Session, user_id: UUID, words: str, *, active_only: bool) -> Typed:
    """Return the condition that a memory has all these words, each at least begun, in its text or its tags.

    `hazel` and `allerg` find "allergic to hazelnuts", `runni` and `running` find "a run". Words that say nothing, as
    "the", are left out beside others. Without any word everything fits.
    """
    chunks = [chunk.strip(_MARKS)[:LONGEST_WORD] for chunk in words.lower().split() if _WORD.search(chunk)]
    chunks = _telling(session, chunks[:MOST_WORDS])
    if not chunks:
        return Typed(true())
    sets = [_having(user_id, chunk) for chunk in chunks]
    found: CompoundSelect[UUID] = intersect(*sets) if len(sets) > 1 else sets[0]
    ids: Sequence[UUID] = session.scalars(found.limit(FEW + 1)).all()
    among = Memory.id == any_(cast(list(ids), ARRAY(Uuid)))
    if many := len(ids) > FEW:
        # Asked whether it is true, so that the ids are looked up once and kept in a hash, whatever the planner knows
        # of tables that were just filled; joined, they may be looked up for every row.
        among = Memory.id.in_(found).is_(True)
    if active_only:
        return Typed(among, many)
    # The index holds what is active; the rest is read.
    rest = and_(Memory.status != "active", *(_read(part) for chunk in chunks for part in _parts(chunk)))
    return Typed(or_(among, rest), many)


def _telling(session: Session, chunks: Sequence[str]) -> list[str]:
    """Return the words without those that the index does not have, unless it is one word alone: it may go on."""
    if len(chunks) < 2:
        return list(chunks)
    each = func.unnest(cast(list(chunks), ARRAY(Text))).column_valued("each")
    kept = session.scalars(select(each).where(func.length(func.to_tsvector(_ENGLISH, each)) > 0))
    return list(dict.fromkeys(kept)) or list(chunks[-1:])


def _parts(chunk: str) -> list[str]:
    return _WORD.findall(chunk)


def _having(user_id: UUID, chunk: str) -> CompoundSelect[UUID]:
    """Return the ids of the active memories that have what stands between two spaces.

    An address or a decimal number is one word to the index; two words with a dash are one word, and each by itself.
    """
    parts = _parts(chunk)
    if len(parts) == 1:
        return _word(user_id, parts[0])
    return union(_beginning(user_id, chunk), intersect(*(_word(user_id, part) for part in parts)))


def _word(user_id: UUID, word: str) -> CompoundSelect[UUID]:
    stems = func.tsvector_to_array(func.to_tsvector(_ENGLISH, word))
    ways = [_beginning(user_id, word), _lexemes(user_id).where(Posting.lexeme == any_(stems))]
    heads = [word[:length] for length in range(SHORTEST_STEM, len(word))]
    if heads:
        # Of "running" the index has "run": while it is typed, the stem is the beginning of what is typed. That alone
        # would find "rub" by "rubber" as well, so the text itself is asked.
        begun = _lexemes(user_id).where(Posting.lexeme.in_(heads), Posting.lexeme != func.all(stems))
        mine = (Memory.user_id == user_id, Memory.id == any_(func.array(begun.scalar_subquery(), type_=ARRAY(Uuid))))
        ways.append(select(Memory.id).where(*mine, _has(word)))
    return union(*ways)


def _lexemes(user_id: UUID) -> Select[UUID]:
    spaces = select(Space.id).where(Space.user_id == user_id).scalar_subquery()
    mine = (Posting.user_id == user_id, Posting.space_id == any_(func.array(spaces, type_=ARRAY(Uuid))))
    return select(Posting.memory_id).where(*mine)


def _beginning(user_id: UUID, word: str) -> Select[UUID]:
    first, last = (collate(literal(bound), "C") for bound in (word, word + _LAST))
    return _lexemes(user_id).where(Posting.lexeme >= first, Posting.lexeme < last)


def _read(word: str) -> ColumnElement[bool]:
    return or_(_has(word), Memory.tsv.op("@@")(func.plainto_tsquery(_ENGLISH, word)))


def _has(word: str) -> ColumnElement[bool]:
    """Return the condition that a word of the text begins so; it is letters, digits and underscores alone."""
    return Memory.text.regexp_match(rf"\m{word}", flags="i")
