"""Ask by how a thing is written here: who copies a number or remembers a name seldom writes it as it was noted.

A question whose words are not in the memories is compared with what is: numbers and codes without the signs between
their parts, days whatever their form, words joined or apart, parts of what the index keeps whole, names without their
accents and apostrophes, and other unusual words but for one slip.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import chain, islice, pairwise
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import OSA

from memory.driver import fetch
from memory.embedding.bundled import MINILM
from retrieval.about import GERMAN
from retrieval.candidates import Source
from retrieval.compounds import Otherwise, apart, joined
from retrieval.passage import EMPTY, stem, without_marks
from retrieval.statements import formed_statement, holding_statement, spelled_statement, vocabulary_statement

# So many forms of a number are tried, in so many texts that have parts of it; so many words that are not there, and so
# many that are like one.
_FORMS, _TEXTS, _UNKNOWN, _WORDS = 12, 30, 4, 4
# From so many letters on one slip leaves a word what it was, and from so many two.
_ONE_SLIP, _TWO_SLIPS = 5, 9
# So many letters has a word that may be misspelled, and one that may be written apart.
_LEAST_WORD, _LEAST_JOINED = 4, 3
# A stem is at most so much shorter than its word.
_ENDING = 3
# Letters that an apostrophe joins to a name, which to the index is a word of its own; it keeps so much of that.
_ELIDED, _STEM = "odl", 4

_TOKEN = re.compile(r"[^\W_]+")
_CHUNK = re.compile(r"[^\W_](?:[\w.@+/:-]*[^\W_])?")
_LIKE = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})
_SIGNS = re.compile(r"[\s\-/.()_\u2010-\u2013:]{1,3}")
_BETWEEN = r"[\s\-/.()_\u2010-\u2013:]{0,3}"
# Between digits that may be a value: a point, stroke, dash or colon of the question is there, and no further point or
# colon.
_SIGN, _NO_SIGN = r"\s?[\-/.()_\u2010-\u2013:]{1,2}\s?", r"[\s\-/()_\u2010-\u2013]{0,3}"
# So many digits are a number that signs only group.
_GROUPED = 7
# Where a code ends, and no number goes on.
_BEFORE, _AFTER = r"(?<![^\W_])(?<!\d[\-/.])", r"(?![^\W_])(?![\-/.]\d)"
# A code has at most so many parts and signs; its letters stand in groups of at most four.
_PARTS, _LONGEST = 8, 40
_GROUP = re.compile(r"[^\W\d_]{1,4}")
# Letters that a dash joins to a number: the database reads that as two words, and the number with the dash.
_DASHED = re.compile(r"(?<![^\W_])[^\W\d_]{1,20}-\Z")
# A number of four digits and more, whose thousands a sign may part: in English a comma, in German a point; the other of
# the two stands before its cents.
_THOUSANDS = re.compile(
    r"(?<![\w.,'\u2019-])(?P<whole>[1-9]\d{0,2}(?:[.,'\u2019\u00a0\u202f]\d{3}){1,4}|[1-9]\d{3,14})"
    r"(?:[.,](?P<rest>\d\d?))?(?![\w'\u2019-]|[.,]\d)"
)
# A version of three parts and more: some write it with a "v".
_VERSION = re.compile(r"v?(\d{1,3}(?:\.\d{1,3}){2,3})", re.IGNORECASE)
_BETWEEN_THOUSANDS = r"[.,'\u2019\u00a0\u202f]?"
# A word with capitals within: no text writes it so by chance.
_CAPITALS = re.compile(r"[^\W\d_]+[A-Z][^\W\d_]*")
# Words of up to four letters that stand beside numbers and are no part of them.
_SMALL = frozenset(
    """
    a an and are at be by can car code did do does for from had has have he her his how i in is it its me my no not of
    on or our pin she that the they this to us was we were what when who whom why will with you your
    """.split()  # noqa: SIM905  # A list of fifty quoted words cannot be read.
)
_PLAIN = re.compile(r"\d{1,3}|(?:19|20)\d\d")
# Letters and one number, which some write with zeros up to so many digits: ORA-942 and ORA-00942.
_LETTERED, _PADDED = re.compile(rf"([^\W\d_]{{1,5}}){_BETWEEN}0*([1-9]\d+)"), 6
# Capitals and a number of so many digits are a model, of which texts may have a kind: HP 305XL.
_MODEL = 3
# Shorter ones stand for a country, or are said of too many things.
_LEAST_NUMBER = 6
_HEAD = 3
# A number of fewer digits is a value, and part of too many others.
_LEAST_DIGITS = 4
# What the index keeps whole goes on behind one of these: an address, a path, "seeds/nuts"; a number may have a dash.
_JOINTS = "./@-"
_ADDRESS = re.compile(r"[^\W\d_].*[./@]|[./@].*[^\W\d_]")
_MARKS = "\"'()[]{}<>,;:!?.\u201c-\u201e\u2018\u2019\u00ab\u00bb\u2026"
# So many parts are looked for in wholes of at most so many characters. Asked as more wholes than two, none would have
# enough of the question's words.
_MOST_PARTS, _LONGEST_WHOLE, _WHOLES = 6, 120, 2
# So many words of the index are looked at for parts.
_HELD = 200
_DAY = re.compile(
    r"(?<![\w.])(?:(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)|(?P<first>\d\d?)[./](?P<second>\d\d?)[./](?P<last>\d{4}))(?!\w)"
)
_MONTHS = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "\u0131": "i"}
)
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


@dataclass(frozen=True, slots=True)
class Spelling:
    """What a question has, at `start`, and how a text that is searched writes it."""

    start: int
    asked: str
    written: str


@dataclass(frozen=True, slots=True)
class _Thing:
    """Something in a question: `probes` are lexemes of which a text that has it has some, `pattern` finds it there.

    `padded` finds it with more or fewer zeros before its number, or letters behind it, where no text has it otherwise.
    """

    start: int
    asked: str
    probes: Sequence[str]
    pattern: re.Pattern[str]
    padded: re.Pattern[str] | None = None


def respelled(source: Source, question: str, known: Sequence[str], *, thorough: bool = False) -> list[Spelling]:
    """Return how what is in a question is written in what is searched, where that is otherwise.

    `known` are the lexemes of the question that are there. `thorough` goes on where nothing was found before: it
    compares the words that English texts have, without accents, and looks inside of all that the index keeps whole.
    """
    most = source.policy.respellings
    found = [] if thorough else list(islice(_written(source, question), most))
    found += islice(_left_of(_compounds(source, question, known, thorough=thorough), found), most - len(found))
    unknown = _left(_unknown(question, known), found)
    wholes = _left(_parts_of_wholes(question, known), found)
    apart = [each for each in unknown if not any(one.start() <= each.start() < one.end() for one in wholes)]
    parts = [*wholes, *(each for each in apart if _is_unusual(each[0]) or thorough)]
    found += islice(_whole_written(source, parts[:_MOST_PARTS], thorough=thorough), most - len(found))
    words = [each for each in _left(unknown, found) if _is_unusual(each[0]) is not thorough]
    written = (_word_written(source, each.start(), each[0]) for each in islice(words, _UNKNOWN))
    found += islice(filter(None, written), most - len(found))
    return [each for each in found if each.asked.lower() != each.written.lower()]


def _left_of(spellings: Iterable[Spelling], found: Sequence[Spelling]) -> Iterator[Spelling]:
    """Give the spellings of what shares no letter with what was found."""
    taken = {place for each in found for place in range(each.start, each.start + len(each.asked))}
    for each in spellings:
        if taken.isdisjoint(span := range(each.start, each.start + len(each.asked))):
            taken.update(span)
            yield each


def _left(matches: Iterable[re.Match[str]], found: Sequence[Spelling]) -> list[re.Match[str]]:
    """Return the matches that begin in nothing of what was found."""
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
    """Give days, then codes and amounts elsewhere: a day looks like a code, and may be one in another text."""
    days = list(_things_written(source, _days(question)))
    yield from days
    taken = {place for each in days for place in range(each.start, each.start + len(each.asked))}
    for things in (_codes(question), _amounts(question)):
        rest = (each for each in things if taken.isdisjoint(range(each.start, each.start + len(each.asked))))
        written = list(_things_written(source, rest))
        yield from written
        taken.update(place for each in written for place in range(each.start, each.start + len(each.asked)))


def _things_written(source: Source, things: Iterable[_Thing]) -> Iterator[Spelling]:
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
            # One that writes it as it is asked is found anyway.
            same = (each for each in spellings if each.lower() == thing.asked.lower())
            yield Spelling(thing.start, thing.asked, next(same, spellings[0]))


def _spelled(texts: Iterable[str], pattern: re.Pattern[str]) -> list[str]:
    return [_as_indexed(text, found) for text in texts if (found := pattern.search(text))]


def _as_indexed(text: str, found: re.Match[str]) -> str:
    """Return what was found with the letters before it where the database reads a number with the dash between them."""
    before = text[max(0, found.start() - _LONGEST) : found.start()]
    joined = _DASHED.search(before) if found[0][0].isdigit() else None
    return (joined[0] if joined else "") + found[0]


def _texts(source: Source, probes: Sequence[str]) -> list[str]:
    """Return the texts that have most of some lexemes."""
    # A probe that ends with a star is how a lexeme begins.
    values = {
        **source.scope(),
        "now": source.now,
        "first": [each.removesuffix("*") for each in probes],
        "last": [each.removesuffix("*") + "~" if each.endswith("*") else each for each in probes],
        "most": _TEXTS,
    }
    statement = spelled_statement(source.query.shelf, filtered=source.query.filtered)
    return [text for (text,) in fetch(source.session, statement, values)]


def _parts_of_wholes(question: str, known: Sequence[str]) -> Iterator[re.Match[str]]:
    """Give what is written like an address, a path or a code, or part of one, and is nowhere by itself."""
    heard = {each.lstrip("-/") for each in known}
    chunks = [each for each in _CHUNK.finditer(question) if len(each[0]) <= _LONGEST_WHOLE]
    for place, found in enumerate(chunks):
        if found[0].isalpha():
            continue  # A word, as most are.
        parts = [each.lower() for each in _TOKEN.findall(found[0])]
        # The groups of one number stand beside each other, and a part of it is another number.
        beside = [each[0] for each in chunks[max(0, place - 1) : place + 2] if each is not found]
        alone = not any(any(map(str.isdigit, each)) for each in beside)
        if found[0].lower() not in heard and not heard.issuperset(parts) and _is_told(found[0], alone=alone):
            yield found


def _is_told(chunk: str, *, alone: bool) -> bool:
    """Tell whether a chunk that is no word can only be one thing: a value, as 12/3 or 178.42, is a part of many."""
    if chunk.isdigit():
        return alone and len(chunk) >= _LEAST_DIGITS and _PLAIN.fullmatch(chunk) is None
    return any(map(str.isalpha, chunk)) or _VERSION.fullmatch(chunk) is not None


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
    optional = "v?" if _VERSION.fullmatch(part) and part[0] != "v" else ""
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
        known_words = (each for each in _TOKEN.finditer(question) if _CAPITALS.fullmatch(each[0]))
        yield from _written_as(source, list(islice(filter(None, (_apart(each) for each in known_words)), _UNKNOWN)))
        return
    unknown = list(_unknown(question, known, least=1))
    new = {each[0].lower() for each in unknown}
    heard = frozenset(each[0].lower() for each in _TOKEN.finditer(question)) - new
    # Of a long word the stem may lack more than an ending.
    stems = frozenset(each[:-1] for each in known if len(each) >= _LEAST_WORD)
    words = (each for each in unknown if len(each[0]) >= _LEAST_JOINED and stems.isdisjoint(_beginnings(each[0])))
    made = map(_apart, words)
    # Of what has a sign it tells nothing that a part of it is there.
    whole, any_of = (_stems(each for each in known if not each.isalnum()), _stems(known))
    chains = (
        each for each in joined(question, heard) if not _has_stem(each.asked, any_of if each.asked.isalnum() else whole)
    )
    yield from _written_as(source, [*islice(filter(None, made), _UNKNOWN), *islice(chains, _UNKNOWN)])


def _apart(word: re.Match[str]) -> Otherwise | None:
    # What stands side by side in a text is soon a word of English: "a long".
    return apart(word.start(), word[0], by_blanks=word[0].lower() not in _english())


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
        thing = _Thing(one.start, one.asked, list(_probes(one, those)), re.compile(one.pattern, re.IGNORECASE))
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
    return _has_stem(word, _stems([lexeme])) and (len(lexeme) > 1 or lexeme == word)


def _amounts(question: str) -> Iterator[_Thing]:
    """Give the numbers whose thousands may be parted by another sign, or by none."""
    for found in _THOUSANDS.finditer(question):
        digits, rest = "".join(filter(str.isdigit, found["whole"])), found["rest"]
        if found[0] == digits and _PLAIN.fullmatch(digits):
            continue  # A year.
        groups = [digits[: len(digits) % 3], *(digits[at : at + 3] for at in range(len(digits) % 3, len(digits), 3))]
        groups = list(filter(None, groups))
        probes = [digits, *groups, ".".join(groups)]
        cents = r"(?:[.,]00)?"
        if rest in {None, "00"}:
            probes += [f"{digits}.00", f"{groups[-1]}.00"]
        else:
            probes += [f"{digits}.{rest}", f"{groups[-1]}.{rest}", rest]
            cents = rf"[.,]{rest}"
        pattern = rf"(?<![\w.,'\u2019-]){_BETWEEN_THOUSANDS.join(groups)}{cents}(?![\w'\u2019-]|[.,]\d)"
        yield _Thing(found.start(), found[0], probes, re.compile(pattern))


def _codes(question: str) -> Iterator[_Thing]:
    """Give what may be a number or code, each with its longest form first."""
    tokens = list(_TOKEN.finditer(question))
    for first, token in enumerate(tokens):
        if first and _is_part(tokens[first - 1][0]) and _joined(question, tokens[first - 1], token):
            continue  # The forms that begin before it have it, or nothing does.
        last = first
        while (
            last + 1 < len(tokens) and last + 1 - first < _PARTS and _joined(question, tokens[last], tokens[last + 1])
        ):
            last += 1
        for start in range(first, last + 1):
            for end in range(last, start - 1, -1):
                # Part of a number is another number.
                cut = (start > first and _numbered(tokens[start - 1])) or (end < last and _numbered(tokens[end + 1]))
                if not cut and (thing := _code(question, tokens[start : end + 1])):
                    yield thing


def _joined(question: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Tell whether two tokens may be parts of one code."""
    return _is_part(one[0]) and _is_part(other[0]) and _SIGNS.fullmatch(question[one.end() : other.start()]) is not None


def _numbered(token: re.Match[str]) -> bool:
    return any(map(str.isdigit, token[0]))


def _is_part(token: str) -> bool:
    return any(map(str.isdigit, token)) or (_GROUP.fullmatch(token) is not None and token.lower() not in _SMALL)


def _code(question: str, tokens: Sequence[re.Match[str]]) -> _Thing | None:
    start, end = tokens[0].start(), tokens[-1].end()
    key = "".join(each[0] for each in tokens)
    digits = sum(map(str.isdigit, key))
    if digits < 2 or not 3 <= len(key) <= _LONGEST or not key.isascii():
        return None
    if len(tokens) == 1 and _PLAIN.fullmatch(key):
        return None
    probes = _parts(key.lower())
    if digits < _GROUPED:
        forms = [_as_a_value(question, tokens)]
        if version := _VERSION.fullmatch(question[start:end]):
            probes, forms = [*probes, version[1], f"v{version[1]}"], [*forms, f"v?{re.escape(version[1])}"]
        padded = None
        if lettered := _LETTERED.fullmatch(question[start:end]):
            letters, number = lettered[1], lettered[2]
            numbers = [number.zfill(length) for length in range(len(number), _PADDED + 1)]
            probes = [*probes, *(form for each in numbers for form in (each, f"-{each}", f"{letters.lower()}{each}"))]
            loose = [f"{letters}{_BETWEEN}0{{0,{_PADDED}}}{number}"]
            if letters.isupper() and len(number) >= _MODEL:
                probes, loose = [*probes, f"{number}*"], [*loose, rf"{letters}{_BETWEEN}{number}[^\W\d_]{{1,2}}"]
            padded = _pattern(loose)
        return _Thing(start, question[start:end], probes, _pattern(forms), padded)
    plus = question[start - 1 : start] == "+"
    if plus:
        start -= 1
    return _Thing(start, question[start:end], probes, _pattern(_forms(key, plus=plus)))


def _parts(key: str) -> list[str]:
    """Return the lexemes that a text with a code may have, as the database reads numbers: some with a sign."""
    parts = {key[start:end] for start in range(len(key)) for end in range(start + 1, min(len(key), start + 24) + 1)}
    numbered = {each for each in parts if any(map(str.isdigit, each))} or parts
    # With a slash between them the database keeps all parts as one.
    beginnings = {each[:_HEAD] + "*" for each in (key, key.lstrip("0"), f"0{key[2:]}") if each[:_HEAD].isdigit()}
    return [*numbered, *(f"-{each}" for each in numbered if each.isdigit()), *beginnings]


def _pattern(forms: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"{_BEFORE}\+?(?:{'|'.join(forms)}){_AFTER}", re.IGNORECASE)


def _forms(key: str, *, plus: bool) -> Iterator[str]:
    """Give what matches a code with any signs between its parts; a telephone number with or without its country."""
    yield _spread(key)
    if key.isdigit() and len(key) > _LEAST_NUMBER + 1 and (plus or key.startswith("0")):
        abroad = plus or key.startswith("00")
        bare = key.lstrip("0")
        cores = [bare[cut:] for cut in (1, 2, 3)] if abroad else [bare]
        country = rf"(?:\+|00){_BETWEEN}\d{{1,3}}{_BETWEEN}(?:\(0\){_BETWEEN})?"
        yield from (rf"(?:{country}|0{_BETWEEN}){_spread(core)}" for core in cores if len(core) >= _LEAST_NUMBER)


def _spread(key: str) -> str:
    return _BETWEEN.join(map(re.escape, key))


def _as_a_value(question: str, tokens: Sequence[re.Match[str]]) -> str:
    """Return what matches a short code, whose signs between digits say something: 10.50 is not 1050, nor 12/3 123."""
    told = question[tokens[0].start() : tokens[-1].end()]
    letters = list(re.finditer(r"[^\W_]", told))
    made = re.escape(letters[0][0])
    for one, other in pairwise(letters):
        sign = told[one.end() : other.start()].strip()
        digits = one[0].isdigit() and other[0].isdigit()
        made += (_BETWEEN if not digits else _SIGN if sign else _NO_SIGN) + re.escape(other[0])
    return made


def _days(question: str) -> Iterator[_Thing]:
    for found in _DAY.finditer(question):
        days = list(_read_days(found))
        if days:
            probes = dict.fromkeys(each for day in days for each in _day_lexemes(day))
            pattern = re.compile("|".join(form for day in days for form in _day_forms(day)), re.IGNORECASE)
            yield _Thing(found.start(), found[0], list(probes), pattern)


def _read_days(found: re.Match[str]) -> Iterator[date]:
    """Give the days that are meant: with slashes the month may come first."""
    if found["year"]:
        orders = [(found["year"], found["month"], found["day"])]
    else:
        orders = [(found["last"], found["second"], found["first"]), (found["last"], found["first"], found["second"])]
        orders = orders if "/" in found[0] else orders[:1]
    for each in orders:
        try:
            yield date(*map(int, each))
        except ValueError:
            continue


def _day_lexemes(day: date) -> list[str]:
    month = _MONTHS[day.month - 1]
    numbers = [f"{day.year}", f"{day.day}", f"{day.day:02}", f"-{day.day:02}", f"-{day.month:02}"]
    ordinals = [f"{day.day}{ending}" for ending in ("st", "nd", "rd", "th")]
    return [month, month.rstrip("y") + "i", month[:3], *numbers, *ordinals, *_numeric(day)]


def _numeric(day: date) -> list[str]:
    forms = ("{d}.{m}.{y}", "{d:02}.{m:02}.{y}", "{d}/{m}/{y}", "{d:02}/{m:02}/{y}", "{m}/{d}/{y}", "{y}-{m:02}-{d:02}")
    return [form.format(d=day.day, m=day.month, y=day.year) for form in forms]


def _day_forms(day: date) -> list[str]:
    month = _MONTHS[day.month - 1]
    named = rf"{month[:3]}(?:{month[3:]})?\.?"
    number = rf"0?{day.day}(?:st|nd|rd|th)?"
    forms = (rf"{number}\s+(?:of\s+)?{named},?\s+{day.year}", rf"{named}\s+{number},?\s+{day.year}")
    return [rf"(?<!\w)(?:{form})(?!\w)" for form in (*forms, *map(re.escape, _numeric(day)))]


def _unknown(question: str, known: Sequence[str], *, least: int = _LEAST_WORD) -> Iterator[re.Match[str]]:
    """Give the words of at least so many letters, with a capital one less, of which nothing has the stem.

    Not those of any question: among notes in English the German "nicht" is no slip of "night".
    """
    heard, stems = frozenset(known), _stems(known)
    wholes = [each.span() for each in _CHUNK.finditer(question) if not each[0].isalpha() and each[0].lower() in heard]
    for found in _TOKEN.finditer(question):
        word, low = found[0], found[0].lower()
        if any(start <= found.start() < end for start, end in wholes):
            continue  # Part of what is there as a whole: "node" of "node.js".
        if not word.isalpha() or len(word) < least - word[0].isupper() or low in EMPTY or low in GERMAN:
            continue
        if not _has_stem(low, stems):
            yield found


def _stems(lexemes: Iterable[str]) -> frozenset[tuple[str, int]]:
    """Return with what a word of each lexeme begins, and how long that lexeme is: its last letter may be another."""
    return frozenset((each[:-1] or each, len(each)) for each in lexemes)


def _has_stem(word: str, stems: AbstractSet[tuple[str, int]]) -> bool:
    # A long question has as many lexemes as words: to compare each with each took a third of a second.
    low = word.lower()
    shortest = max(1, len(low) - _ENDING)
    return (len(low) <= _ENDING + 1 and (low[:1], 1) in stems) or any(
        (low[: length - 1], length) in stems for length in range(max(2, shortest), len(low) + 2)
    )


def _beginnings(word: str) -> Iterator[str]:
    low = word.lower()
    return (low[:end] for end in range(1, len(low) + 1))


def _is_unusual(word: str) -> bool:
    return word[0].isupper() or not word.isascii() or word.lower() not in _english()


@cache
def _english() -> frozenset[str]:
    """Return the words that English texts have, and names among them: those that the bundled model's vocabulary has."""
    lines = (Path(MINILM) / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(each for each in lines if each.isalpha())


def _word_written(source: Source, start: int, word: str) -> Spelling | None:
    """Return how the nearest word that is searched is written: without accents the same, or one slip away."""
    low = word.lower()
    if low[0] in _ELIDED and (name := next(_things_written(source, _elided(start, word)), None)) is not None:
        return name
    slips = 0 if low in _english() else (len(low) >= _ONE_SLIP) + (len(low) >= _TWO_SLIPS)
    folded = _folded(low)
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
    # Of "naïve" the index has "naïv".
    offs = _slips(folded | _folded(stem(low)), [lexeme for lexeme, _ in rows], slips)
    near = sorted((off, -count, lexeme) for off, (lexeme, count) in zip(offs, rows, strict=True) if off is not None)
    # A stem lacks the ending of its word, in which nothing may be wrong.
    for _, _, lexeme in near[:_WORDS]:
        written = sorted({each[0] for text in _texts(source, [lexeme])[:3] for each in _TOKEN.finditer(text)})
        offs = _slips(folded, [each.lower() for each in written], slips)
        best = min(((off, each) for off, each in zip(offs, written, strict=True) if off is not None), default=None)
        if best is not None:
            return Spelling(start, word, best[1])
    return None


def _elided(start: int, word: str) -> Iterator[_Thing]:
    """Give a name with the apostrophe that it may have behind its first letter: "OBrien", "Dangelo"."""
    first, rest = word[0], word[1:].lower()
    pattern = rf"(?<!\w){first}['\u2019]{re.escape(rest)}(?!\w)"
    yield _Thing(start, word, [f"{rest[:_STEM]}*"], re.compile(pattern, re.IGNORECASE))


def _slips(folded: frozenset[str], words: Sequence[str], most: int) -> list[int | None]:
    """Return how many slips lie between a word and each of others, their accents aside; None where more than `most`.

    One that begins otherwise is another word.
    """
    forms = [(form, place) for place, word in enumerate(words) for form in _folded(word)]
    found: list[int | None] = [None] * len(words)
    for one in folded:
        # All at once: they are hundreds, and each call from here takes longer than the rest.
        near = process.extract(one, [form for form, _ in forms], scorer=OSA.distance, score_cutoff=most, limit=None)
        for form, off, number in near:
            place = forms[number][1]
            before = found[place]
            if form[:1] == one[:1] and (before is None or off < before):
                found[place] = off
    return found


def _folded(word: str) -> frozenset[str]:
    """Return the ways to write a word without accents: "ö" as "o" or as "oe"."""
    if word.isascii():
        return frozenset({word})
    plain = word.translate(_LETTERS)
    return frozenset(without_marks(each.translate(_LETTERS)) for each in (plain, word.translate(_WRITTEN_OUT)))
