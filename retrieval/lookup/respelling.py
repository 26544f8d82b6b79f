"""Ask by how a thing is written here: who copies a number or remembers a name seldom writes it as it was noted.

A question whose words are not in the memories is compared with what is: numbers and codes without the signs between
their parts, days whatever their form, words joined or apart, parts of what the index keeps whole, names without their
accents and apostrophes, and other unusual words but for one slip.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from memory.storage.driver import fetch
from retrieval.lookup.candidates import Source
from retrieval.lookup.spelling_statements import formed_statement, holding_statement, vocabulary_statement
from retrieval.words.about import begins_sentence
from retrieval.words.codes import LONGEST, PLAIN, TOKEN, VERSION, Thing, amounts_in, codes_in, days_in, measures_in
from retrieval.words.compounds import Otherwise, apart, joined
from retrieval.words.passage import stem
from retrieval.words.slips import (
    CHUNK,
    LEAST_WORD,
    beginnings,
    english,
    folded_forms,
    has_stem,
    is_unusual,
    slips_between,
    stems_of,
    unknown_words,
)

# So many numbers are tried, in so many texts that have parts of them; of words, so many that are nowhere, each with so
# many that are like it.
_FORMS, _TEXTS, _UNKNOWN, _WORDS = 12, 30, 4, 4
# From the first length on a word may have one slip and still be meant, from the second on two.
_ONE_SLIP, _TWO_SLIPS = 5, 9
# The shortest word that may be written apart.
_LEAST_JOINED = 3
# Letters that an apostrophe joins to a name ("O'Hara"), of which the index makes a word; and how much of that word it
# keeps.
_ELIDED, _STEM = "odl", 4
_LIKE = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})
# Letters that a dash joins to a number: the database reads that as two words, and the number with the dash.
_DASHED = re.compile(r"(?<![^\W_])[^\W\d_]{1,20}-\Z")
# A word with capitals within: no text writes it so by chance.
_CAPITALS = re.compile(r"[^\W\d_]+[A-Z][^\W\d_]*")
# A number of fewer digits is a value, and part of too many others.
_LEAST_DIGITS = 4
# What the index keeps whole goes on behind one of these: an address, a path, "seeds/nuts"; a number may have a dash.
_JOINTS = "./@-"
_ADDRESS = re.compile(r"[^\W\d_].*[./@]|[./@].*[^\W\d_]")
_MARKS = "\"'()[]{}<>,;:!?.\u201c-\u201e\u2018\u2019\u00ab\u00bb\u2026"
# So many parts of wholes are looked for, in wholes of at most so many characters. A part is asked as two wholes at
# most: with more of them, none would have enough of the question's words.
_MOST_PARTS, _LONGEST_WHOLE, _WHOLES = 6, 120, 2
# So many words of the index are searched for parts.
_HELD = 200


@dataclass(frozen=True, slots=True)
class Spelling:
    """What a question has, at `start`, and how a text that is searched writes it."""

    start: int
    asked: str
    written: str


def respelled(source: Source, question: str, known: Sequence[str], *, thorough: bool) -> list[Spelling]:
    """Return the spellings of things in a question that are written otherwise in what is searched.

    `known` are those of the question's lexemes that some item has. `thorough` is for when nothing was found at first:
    it also looks for slips in common English words, and inside of everything that the index keeps whole.
    """
    most = source.policy.respellings
    found = [] if thorough else list(islice(_written(source, question), most))
    found += islice(_left_of(_compounds(source, question, known, thorough=thorough), found), most - len(found))
    unknown = _left(unknown_words(question, known), found)
    wholes = _left(_parts_of_wholes(question, known), found)
    apart = [each for each in unknown if not any(one.start() <= each.start() < one.end() for one in wholes)]
    # What is longer is looked for in no whole, and to look at it takes the square of its length.
    short = (each for each in apart if len(each[0]) <= _LONGEST_WHOLE)
    parts = [*wholes, *(each for each in short if is_unusual(each[0]) or thorough)]
    found += islice(_whole_written(source, parts[:_MOST_PARTS], thorough=thorough), most - len(found))
    words = [each for each in _left(unknown, found) if is_unusual(each[0]) is not thorough]
    written = (_word_written(source, each.start(), each[0]) for each in islice(words, _UNKNOWN))
    found += islice(filter(None, written), most - len(found))
    return [each for each in found if each.asked.lower() != each.written.lower()]


def _left_of(spellings: Iterable[Spelling], found: Sequence[Spelling]) -> Iterator[Spelling]:
    """Give those spellings that share no letter with one found, nor with one given before."""
    taken = {place for each in found for place in range(each.start, each.start + len(each.asked))}
    for each in spellings:
        if taken.isdisjoint(span := range(each.start, each.start + len(each.asked))):
            taken.update(span)
            yield each


def _left(matches: Iterable[re.Match[str]], found: Sequence[Spelling]) -> list[re.Match[str]]:
    """Return the matches that do not begin inside one of the spellings found."""
    taken = [range(each.start, each.start + len(each.asked)) for each in found]
    return [each for each in matches if not any(each.start() in span for span in taken)]


def rewritten(question: str, spellings: Iterable[Spelling]) -> str:
    """Return a question with its words as they are written elsewhere.

    >>> rewritten("Who drives FRKM2087?", [Spelling(11, "FRKM2087", "FR-KM 2087")])
    'Who drives FR-KM 2087?'
    """
    for each in sorted(spellings, key=lambda spelling: -spelling.start):
        rest = question[each.start + len(each.asked) :]
        # What ends a sentence would be read as part of an address: "0761/443?".
        apart = " " if rest and not rest[0].isspace() and "/" in each.written else ""
        question = question[: each.start] + each.written + apart + rest
    return question


def _written(source: Source, question: str) -> Iterator[Spelling]:
    """Give the spellings of days first, then of what shares no letter with these: a day looks like a code too."""
    days = list(_things_written(source, days_in(question)))
    yield from days
    taken = {place for each in days for place in range(each.start, each.start + len(each.asked))}
    for things in (measures_in(question), codes_in(question), amounts_in(question)):
        rest = (each for each in things if taken.isdisjoint(range(each.start, each.start + len(each.asked))))
        written = list(_things_written(source, rest))
        yield from written
        taken.update(place for each in written for place in range(each.start, each.start + len(each.asked)))


def _things_written(source: Source, things: Iterable[Thing]) -> Iterator[Spelling]:
    end = 0
    for thing in islice(things, _FORMS):
        if thing.start < end:
            continue  # Part of what was found.
        texts = _texts(source, thing.probes)
        spellings = _spelled(texts, thing.pattern)
        if not spellings and thing.padded is not None:
            spellings = _spelled(texts, thing.padded)
        if spellings:
            end = thing.start + len(thing.asked)
            # A text that writes it as it is asked would be found anyway, so that spelling comes first.
            same = (each for each in spellings if each.lower() == thing.asked.lower())
            yield Spelling(thing.start, thing.asked, next(same, spellings[0]))


def _spelled(texts: Iterable[str], pattern: re.Pattern[str]) -> list[str]:
    return [_as_indexed(text, found) for text in texts if (found := pattern.search(text))]


def _as_indexed(text: str, found: re.Match[str]) -> str:
    """Return what was found, with the letters before it if the database reads a dash between them as a minus sign."""
    before = text[max(0, found.start() - LONGEST) : found.start()]
    joined = _DASHED.search(before) if found[0][0].isdigit() else None
    return (joined[0] if joined else "") + found[0]


def _texts(source: Source, probes: Sequence[str]) -> list[str]:
    """Return the texts that have most of some lexemes."""
    # Long parts weigh more than several short ones: "1" and "9" stand in many texts, "119" in those that may be meant.
    weights = {each: len(each.removesuffix("*")) ** 2 for each in probes}
    return [text for _, text, _ in source.with_most(weights, _TEXTS)]


def _parts_of_wholes(question: str, known: Sequence[str]) -> Iterator[re.Match[str]]:
    """Give what may be a part of an address, a path or a code, and is not a lexeme by itself."""
    heard = {each.lstrip("-/") for each in known}
    chunks = [each for each in CHUNK.finditer(question) if len(each[0]) <= _LONGEST_WHOLE]
    for place, found in enumerate(chunks):
        if found[0].isalpha():
            continue  # A word, as most are.
        parts = [each.lower() for each in TOKEN.findall(found[0])]
        # The groups of one number stand beside each other, and a part of it is another number.
        beside = [each[0] for each in chunks[max(0, place - 1) : place + 2] if each is not found]
        alone = not any(any(map(str.isdigit, each)) for each in beside)
        if found[0].lower() not in heard and not heard.issuperset(parts) and _is_told(found[0], alone=alone):
            yield found


def _is_told(chunk: str, *, alone: bool) -> bool:
    """Tell whether a chunk that is no word can only mean one thing; a value, as 12/3 or 178.42, is part of many."""
    if chunk.isdigit():
        return alone and len(chunk) >= _LEAST_DIGITS and PLAIN.fullmatch(chunk) is None
    return any(map(str.isalpha, chunk)) or VERSION.fullmatch(chunk) is not None


def _whole_written(source: Source, parts: Sequence[re.Match[str]], *, thorough: bool) -> Iterator[Spelling]:
    """Give the wholes that have a part between signs, as texts write them; several where there are some."""
    asked = {each[0].lower(): each for each in sorted(parts, key=lambda each: (each.start(), -each.end()))}
    # Where each begins is in the index; what goes on with a part, only all of them say.
    probes = {each: [f"{each}{joint}*" for joint in _JOINTS] + [f"-{each}"] * each.isdigit() for each in asked}
    if not asked or not (thorough or _texts(source, [*chain(*probes.values())])):
        probes = {}
    searched = [each for each in asked if thorough or (not probes and _ADDRESS.search(each))]
    if searched:
        held = _held(source, searched)
        probes |= {each: [lexeme for lexeme in held if _inside(each).search(lexeme)] for each in searched}
    end = 0
    for part, those in probes.items():
        found = asked[part]
        if found.start() >= end and (written := _wholes(source, part, those)):
            end = found.end()
            yield Spelling(found.start(), found[0], " or ".join(islice(written, _WHOLES)))


def _wholes(source: Source, part: str, probes: Sequence[str]) -> list[str]:
    """Return what has a part, as it is written between two blanks."""
    around = rf"\S{{0,{_LONGEST_WHOLE}}}"
    whole = re.compile(rf"(?<!\S){around}?{_inside(part).pattern}{around}", re.IGNORECASE)
    texts = _texts(source, probes) if probes else []
    return list(dict.fromkeys(each[0].strip(_MARKS) for text in texts for each in whole.finditer(text)))


def _inside(part: str) -> re.Pattern[str]:
    """Return what matches a part of a whole, where neither a word nor a decimal goes on before or behind it."""
    optional = "v?" if VERSION.fullmatch(part) and part[0] != "v" else ""
    before = r"(?<!\d[.,])" if part[0].isdigit() else ""
    after = r"(?![.,]\d)" if part[-1].isdigit() else ""
    return re.compile(rf"(?<![^\W_]){before}{optional}{re.escape(part)}(?![^\W_]){after}", re.IGNORECASE)


def _held(source: Source, parts: Sequence[str]) -> list[str]:
    """Return the lexemes that have one of some parts and signs."""
    values = {**source.scope(), "parts": [f"%{each.translate(_LIKE)}%" for each in parts], "most": _HELD}
    return [each for (each,) in fetch(source.session, holding_statement(source.query.shelf), values)]


def _compounds(source: Source, question: str, known: Sequence[str], *, thorough: bool) -> Iterator[Spelling]:
    """Give what is joined in a question and apart in what is searched, or the other way round.

    `thorough` gives what one text has as it is asked and another, which may be the one that is meant, does not: "PhD".
    """
    if thorough:
        known_words = (each for each in TOKEN.finditer(question) if _CAPITALS.fullmatch(each[0]))
        yield from _written_as(source, list(islice(filter(None, (_apart(each) for each in known_words)), _UNKNOWN)))
        return
    unknown = list(unknown_words(question, known, least=1))
    new = {each[0].lower() for each in unknown}
    heard = frozenset(each[0].lower() for each in TOKEN.finditer(question)) - new
    # The stem of a long word may lack more than its ending.
    stems = frozenset(each[:-1] for each in known if len(each) >= LEAST_WORD)
    words = (each for each in unknown if len(each[0]) >= _LEAST_JOINED and stems.isdisjoint(beginnings(each[0])))
    made = map(_apart, words)
    # For a word with a sign it does not count that a part of it is there.
    whole, any_of = (stems_of(each for each in known if not each.isalnum()), stems_of(known))
    chains = (
        each for each in joined(question, heard) if not has_stem(each.asked, any_of if each.asked.isalnum() else whole)
    )
    yield from _written_as(source, [*islice(filter(None, made), _UNKNOWN), *islice(chains, _UNKNOWN)])


def _apart(word: re.Match[str]) -> Otherwise | None:
    # What stands side by side in a text is soon a word of English: "a long".
    return apart(word.start(), word[0], by_blanks=word[0].lower() not in english())


def _written_as(source: Source, others: Sequence[Otherwise]) -> Iterator[Spelling]:
    if not others:
        return
    values = {
        **source.scope(),
        "forms": [each.forms for each in others],
        "by_parts": [each.by_parts for each in others],
    }
    probes: dict[int, list[str]] = {}
    for place, lexeme in fetch(source.session, formed_statement(source.query.shelf), values):
        probes.setdefault(place - 1, []).append(lexeme)
    for place, those in probes.items():
        one = others[place]
        thing = Thing(one.start, one.asked, list(_probes(one, those)), re.compile(one.pattern, re.IGNORECASE))
        if thing.probes:
            yield from _things_written(source, [thing])


def _probes(one: Otherwise, held: Sequence[str]) -> Iterator[str]:
    """Give those of some lexemes by which a text may have a compound: alone, or both words that it may be."""
    if not one.pairs:
        yield from held
        return
    yield from (each for each in held if not each.isalnum())
    for pair in one.pairs:
        both = [[each for each in held if _is_stem(each, half)] for half in pair]
        if all(both):
            yield from chain(*both)


def _is_stem(lexeme: str, word: str) -> bool:
    return has_stem(word, stems_of([lexeme])) and (len(lexeme) > 1 or lexeme == word)


def _word_written(source: Source, start: int, word: str) -> Spelling | None:
    """Return how the nearest word that is searched is written: without accents the same, or one slip away."""
    low = word.lower()
    if low[0] in _ELIDED and (name := next(_things_written(source, _elided(start, word)), None)) is not None:
        return name
    slips = 0 if low in english() else (len(low) >= _ONE_SLIP) + (len(low) >= _TWO_SLIPS)
    folded = folded_forms(low)
    values = {
        **source.scope(),
        "first": min(folded)[0],
        "after": chr(ord(min(folded)[0]) + 1),
        "shortest": len(low) - 2 - slips,
        "longest": len(low) + 2 + slips,
        # Without accents on either side nothing but slips tells two words apart.
        "accented": slips == 0 and low.isascii(),
    }
    rows = fetch(source.session, vocabulary_statement(source.query.shelf), values)
    # The index has "naïve" as "naïv".
    offs = slips_between(folded | folded_forms(stem(low)), [lexeme for lexeme, _ in rows], slips)
    near = sorted((off, -count, lexeme) for off, (lexeme, count) in zip(offs, rows, strict=True) if off is not None)
    # A stem lacks the ending of its word, in which nothing may be wrong.
    for _, _, lexeme in near[:_WORDS]:
        written = sorted({each for text in _texts(source, [lexeme])[:3] for each in _words_of(text, plain=word == low)})
        offs = slips_between(folded, [each.lower() for each in written], slips)
        best = min(((off, each) for off, each in zip(offs, written, strict=True) if off is not None), default=None)
        if best is not None:
            return Spelling(start, word, best[1])
    return None


def _words_of(text: str, *, plain: bool) -> Iterator[str]:
    """Give the words of a text; `plain` gives those that begin a sentence without their capital.

    A capital makes a name of a word in a question, and there it is none.

    >>> [*_words_of("Thesis: due in May. Ask Ola", plain=True)]
    ['thesis', 'due', 'in', 'May', 'ask', 'Ola']
    """
    for each in TOKEN.finditer(text):
        capital = plain and each[0].istitle() and begins_sentence(text, each.start())
        yield each[0].lower() if capital else each[0]


def _elided(start: int, word: str) -> Iterator[Thing]:
    """Give a name with the apostrophe that it may have behind its first letter: "OBrien", "Dangelo"."""
    first, rest = word[0], word[1:].lower()
    pattern = rf"(?<!\w){first}['\u2019]{re.escape(rest)}(?!\w)"
    yield Thing(start, word, [f"{rest[:_STEM]}*"], re.compile(pattern, re.IGNORECASE))
