"""Finding memories by words that are still being typed: the beginning of a word is enough."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
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

from memory.ids import among
from memory.models import Memory, Posting, Space
from memory.texts.scripts import UNSPACED, as_indexed
from memory.texts.scripts import words as words_of

# More words than this narrow nothing further, and each costs a look into the index.
MOST_WORDS = 8
LONGEST_WORD = 64
# A stem that is shorter than this begins too many words to be worth looking up.
SHORTEST_STEM = 3
# Up to so many memories are asked for by their ids; of more, each memory is asked whether it is among them.
FEW = 1000

_WORD = re.compile(r"\w+")
# Of an address the index has no scheme.
_SCHEME = re.compile(r"\A[a-z][a-z0-9+.-]*://")
_DECIMAL = re.compile(r"\d+(?:\.\d+)+")
# What the index keeps before a word: of "FJ-2219" it has "fj" and "-2219", of a path its beginning.
_BEFORE_NUMBERS, _BEFORE_WORDS = ("-", "+", "/"), ("/",)
# Unicode's categories of signs that stand for a thing: currencies, and "other" ones such as emoji.
_THINGS = frozenset({"Sc", "So"})
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
    "the", are left out beside others. Signs are looked for where nothing else stands between two blanks and they stand
    for a thing, as a currency or an emoji. A script without blanks says nowhere where a word begins: there any place
    does. Without anything to look for everything fits.

    Where the index finds nothing the texts are read: to it an address or "seeds/nuts" is one word.
    """
    written = [_SCHEME.sub("", chunk.strip(_MARKS))[:LONGEST_WORD] for chunk in as_indexed(words).lower().split()]
    chunks = _telling(session, [chunk for chunk in written if _WORD.search(chunk)][:MOST_WORDS])
    signs = dict.fromkeys(chain.from_iterable(_signs(chunk) for chunk in written if not _WORD.search(chunk)))
    shown = [Memory.text.contains(sign, autoescape=True) for sign in [*signs][:MOST_WORDS]]
    if not chunks and not shown:
        return Typed(true())
    mine = (Memory.user_id == user_id, Memory.status == "active")
    sets: list[CompoundSelect[UUID] | Select[UUID]] = [_having(user_id, *chunk) for chunk in chunks.items()]
    if shown:
        sets.append(select(Memory.id).where(*mine, *shown).correlate(None))
    found = intersect(*sets) if len(sets) > 1 else sets[0]
    ids: Sequence[UUID] = session.scalars(found.limit(FEW + 1)).all()
    read = and_(*(_reads(*chunk) for chunk in chunks.items()), *shown)
    if not ids and chunks:
        found = select(Memory.id).where(*mine, read).correlate(None)
        ids = session.scalars(found.limit(FEW + 1)).all()
    having = among(Memory.id, ids)
    if many := len(ids) > FEW:
        # `IS TRUE` makes PostgreSQL look up the ids once and keep them in a hash, whatever the planner knows of tables
        # that were just filled; as a join they might be looked up for every row.
        having = Memory.id.in_(found).is_(True)
    if active_only:
        return Typed(having, many)
    # The index holds what is active; the rest is read.
    rest = and_(Memory.status != "active", read)
    return Typed(or_(having, rest), many)


def _signs(chunk: str) -> Iterator[str]:
    return (each for each in chunk if unicodedata.category(each) in _THINGS)


def _telling(session: Session, chunks: Sequence[str]) -> dict[str, list[str]]:
    """Return the chunks between blanks with the words in each, without those that the index leaves out ("the").

    If that leaves none, the last chunk stays, as its word may go on; and a chunk of nothing but such words keeps them.
    """
    words = {chunk: [word for _, word in words_of(chunk)] for chunk in chunks}
    asked = {*chunks, *chain.from_iterable(words.values())}
    if len(asked) < 2:
        return words
    each = func.unnest(cast(list(asked), ARRAY(Text))).column_valued("each")
    kept = set(session.scalars(select(each).where(func.length(func.to_tsvector(_ENGLISH, each)) > 0)))
    told = [chunk for chunk in words if chunk in kept] or list(chunks[-1:])
    return {chunk: [word for word in words[chunk] if word in kept] or words[chunk] for chunk in told}


def _having(user_id: UUID, chunk: str, words: Sequence[str]) -> CompoundSelect[UUID]:
    """Return the ids of the active memories that have what stands between two blanks, or all the words in it.

    An address or a decimal number is one word to the index; two words with a dash are one word, and each by itself.
    """
    if [chunk] == words:
        return _word(user_id, chunk)
    if _DECIMAL.fullmatch(chunk):
        # What has a word with 2 and one with 5 somewhere has no 2.5.
        return union(*(_beginning(user_id, sign + chunk) for sign in ("", *_BEFORE_NUMBERS)))
    whole = (_beginning(user_id, sign + chunk) for sign in ("", *_BEFORE_WORDS))
    return union(*whole, intersect(*(_word(user_id, word) for word in words)))


def _word(user_id: UUID, word: str) -> CompoundSelect[UUID]:
    stems = func.tsvector_to_array(func.to_tsvector(_ENGLISH, word))
    ways = [_beginning(user_id, word), _lexemes(user_id).where(Posting.lexeme == any_(stems))]
    signs = _BEFORE_NUMBERS if word[0].isdigit() else _BEFORE_WORDS
    ways += [_beginning(user_id, sign + word) for sign in signs]
    heads = list(_heads(word))
    if heads:
        # Of "running" the index has "run": while it is typed, the stem is the beginning of what is typed. That alone
        # would find "rub" by "rubber" as well, so the text itself is asked.
        begun = _lexemes(user_id).where(Posting.lexeme.in_(heads), Posting.lexeme != func.all(stems))
        mine = (Memory.user_id == user_id, Memory.id == any_(func.array(begun.scalar_subquery(), type_=ARRAY(Uuid))))
        ways.append(select(Memory.id).where(*mine, _has(word)))
    return union(*ways)


def _heads(word: str) -> Iterator[str]:
    """Give the stems of which a word that is still being typed may be the beginning: "driv" goes on as "driving"."""
    for length in range(SHORTEST_STEM, len(word)):
        head = word[:length]
        yield head
        # "drive" loses its last letter in "driving", and "study" has another one in its stem.
        yield f"{head}e"
        if head.endswith("y"):
            yield f"{head[:-1]}i"


def _lexemes(user_id: UUID) -> Select[UUID]:
    spaces = select(Space.id).where(Space.user_id == user_id).scalar_subquery()
    mine = (Posting.user_id == user_id, Posting.space_id == any_(func.array(spaces, type_=ARRAY(Uuid))))
    return select(Posting.memory_id).where(*mine)


def _beginning(user_id: UUID, word: str) -> Select[UUID]:
    first, last = (collate(literal(bound), "C") for bound in (word, word + _LAST))
    return _lexemes(user_id).where(Posting.lexeme >= first, Posting.lexeme < last)


def _reads(chunk: str, words: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that a memory has what stands between two blanks, or all the words in it, as `_having`."""
    if _DECIMAL.fullmatch(chunk):
        return _has(chunk)
    each = (or_(_has(word), Memory.tsv.op("@@")(func.plainto_tsquery(_ENGLISH, word))) for word in words)
    return or_(_has(chunk), and_(*each))


def _has(word: str) -> ColumnElement[bool]:
    """Return the condition that a word of the text begins so; a number begins behind no other's point or comma."""
    begins = _WORD.match(word) and not UNSPACED.match(word)
    before = r"(?<!\d[.,])\m" if word[0].isdigit() else r"\m" if begins else ""
    return func.one_form(Memory.text).regexp_match(before + re.escape(word), flags="i")
