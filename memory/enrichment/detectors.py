"""Names in texts: spaCy's, without what is only a capital at the beginning of a sentence, and rules for the rest.

spaCy was trained on news. In what people say to each other it misses bare first names and takes "Awesome!" for an
organisation. It gives no confidence either, so each way of detecting has one: the share of different names that were
right, name and type, among those that it found in 2,760 turns of dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memory.enrichment.findings import LONGEST_SENTENCE, Name, merged, plain_name
from memory.enrichment.lexicon import DOING, DONE_TO, FIRST_NAMES, GREETINGS, KIN, LEADING, NO_NAMES, TITLES
from memory.enrichment.pipeline import Words, pipeline, words
from memory.texts.scripts import UNSPACED

PERSON, PLACE, ORGANISATION, OTHER = "person", "place", "organisation", "other"
# Beyond this much of a text nothing is looked for.
LONGEST_READ = 16_000
BATCH = 32

LABELS = {
    "PERSON": (PERSON, 0.9),
    "GPE": (PLACE, 0.8),
    "LOC": (PLACE, 0.9),
    "FAC": (PLACE, 0.6),
    "ORG": (ORGANISATION, 0.5),
    "NORP": ("group", 0.6),
    "PRODUCT": ("product", 0.7),
    "EVENT": ("event", 0.7),
    "WORK_OF_ART": ("work", 0.9),
    "LAW": ("law", 0.5),
    "LANGUAGE": ("language", 0.9),
}
# A word at the beginning of a sentence that spaCy takes for a person, and that is a noun too: "Luna", "Nature".
NOUN_OR_NAME = 0.5
SPEAKER, GREETED, ADDRESSED, CUED, CAPITALISED = 0.95, 0.95, 0.85, 0.6, 0.5

_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f"
_LOWER = "a-z\u00df-\u00f6\u00f8-\u00ff\u0100-\u017f"
# What parts names from one another in a sentence without blanks: its own letters, and its signs.
_UNSPACED = re.compile(rf"(?:{UNSPACED.pattern}|[\u3000-\u303f\uff00-\uffef])+")
_EMPTY_LINE = re.compile(r"\n\s*\n")
_AFTER_SPEAKER = re.compile(r"^[^:]{1,40}: ")
_NAME = rf"(?:[{_UPPER}]['\u2019])?[{_UPPER}][{_LOWER}]+(?:[-'\u2019][{_UPPER}][{_LOWER}]+)?"
# Where no word is cut: "Connor" begins none in "O'Connor", nor "Mary" in "Anne-Mary", but a quotation may with "'Anna".
_WORD = r"(?<!\w)(?<!\w['\u2019-])"
_WHOLE = rf"{_NAME}(?: {_NAME}){{0,2}}"
# "Anna: I met her", at the beginning of a line.
_SPEAKER = re.compile(rf"^[ \t>*_-]*({_WHOLE})[*_]*:[*_]*(?=\s+\S)", re.MULTILINE)
# "Thanks, Anna!" and "Hey Anna"; "See you, Anna."
_GREETED = re.compile(rf"\b(?i:(?:{GREETINGS})),? ({_NAME})(?=\s*[!.?,]|\s*$)", re.MULTILINE)
_ADDRESSED = re.compile(rf", ({_NAME})(?=\s*[!.?]|\s*$)", re.MULTILINE)
# "My sister Anna", "I told Anna"; "Anna said".
_BEFORE = re.compile(rf"\b(?:{KIN}|{DONE_TO})[:,]? (?:(?i:{'|'.join(sorted(TITLES))})\.? )?({_WHOLE})\b")
_AFTER = re.compile(rf"{_WORD}({_NAME})(?= (?:also |just |always |never |really |still )?(?:{DOING})\b)")
# Two or more words, or one within a sentence, that begin with capitals.
_CAPITALISED = re.compile(
    rf"(?<![.!?:\n\"'] )(?<!^){_WORD}([A-Z][\w&+-]*(?:(?: (?:of|the|and|&))? [A-Z0-9][\w&+-]*){{0,4}})"
)
# What stands before the first word of a line, be it an item of a list or a heading.
_BULLET = re.compile(r"[ \t>*#+\u2022-]*+(?:\d{1,3}[.)])?(?:\[[ xX]?\])?[ \t]*")
# Of an address or a path, each part may begin with a capital.
_WORDS = re.compile(r"\S+")
_ADDRESS = re.compile(r"://|\\|\w@\w|^[~.]{0,2}/\w")


def detect_names(texts: Sequence[str]) -> Iterator[tuple[Name, ...]]:
    """Yield the names in each text, one per entity and sentence; texts are read to `LONGEST_READ` characters."""
    read = [text[:LONGEST_READ] for text in texts]
    for text, doc in zip(read, pipeline().pipe(read, batch_size=BATCH), strict=True):
        yield names_in(text, doc)


def names_in(text: str, doc: Any) -> tuple[Name, ...]:
    """Return the names that spaCy and the rules find in a text; `doc` is spaCy's reading of it."""
    lists = words()
    spoken = [*_spoken(text, doc), *_by_rules(text, doc, lists), *_by_model(doc, lists)]
    found = [part for name in spoken for part in _parts(name, lists) if part.key not in TITLES]
    return merged([*found, *(part for name in _capitalised(text, doc, lists, found) for part in _parts(name, lists))])


def _parts(name: Name, lists: Words) -> Iterator[Name]:
    """Yield a name as it is, or what is written like one in a sentence that has no blanks between its words.

    What such a sentence is as a whole says nothing of these.
    """
    if not UNSPACED.search(name.name):
        yield name
        return
    for part in map(plain_name, _UNSPACED.split(name.name)):
        is_name = len(part) > 2 and part.casefold() not in lists.plain and _is_written_as_a_name(part, lists)
        if is_name and not part.islower():
            yield Name(part, OTHER, name.sentence, CAPITALISED)


def _by_model(doc: Any, lists: Words) -> Iterator[Name]:
    for entity in doc.ents:
        if entity.label_ not in LABELS:
            continue
        type_, confidence = LABELS[entity.label_]
        # What follows an empty line is another paragraph, or the reply.
        paragraph = _EMPTY_LINE.split(entity.text)[0]
        text = _AFTER_SPEAKER.sub("", paragraph) if type_ == PERSON else paragraph
        name = "" if _ADDRESS.search(entity.text) else _without_interjection(plain_name(text))
        begins = text != paragraph or _begins(entity)
        if (
            _ADDRESS.search(entity.text)
            or not _is_written_as_a_name(name, lists)
            or (begins and _is_plain(name, lists))
        ):
            continue
        if type_ == PERSON and _is_abbreviation(name):
            continue
        if begins and _is_noun(name.casefold(), lists):
            if type_ != PERSON:
                continue
            confidence = NOUN_OR_NAME
        yield Name(name, type_, _sentence(entity.sent), confidence)


def _begins(entity: Any) -> bool:
    """Tell whether an entity is where a capital says nothing: first in a sentence, or first after a speaker's name."""
    return bool(entity.start == entity.sent.start or entity.doc[entity.start - 1].text == ":")


def _without_interjection(name: str) -> str:
    """Return a name without what it was called out with: "Yep John", "Last Friday"."""
    first, _, rest = name.partition(" ")
    return _without_interjection(rest) if rest and first.casefold() in LEADING else name


def _is_written_as_a_name(name: str, lists: Words) -> bool:
    if name.casefold() in NO_NAMES or "," in name or len(name) < 2:
        return False
    if name.islower():
        # With digits or signs it is an id, a handle or a file.
        return name.replace("-", "").isalpha() and name not in lists.plain and name not in lists.nouns
    return any(char.isupper() for char in name)


def _is_abbreviation(name: str) -> bool:
    """Tell whether a name is a word in capitals alone, as "ISO" is: what it stands for is no person."""
    return len(name) > 2 and name.isalpha() and name.isupper() and name.casefold() not in FIRST_NAMES


def _is_plain(name: str, lists: Words) -> bool:
    """Tell whether a name is only a word with a capital, as every sentence begins with."""
    word = name.casefold()
    if " " in word or word in FIRST_NAMES:
        return False
    singular = {word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)} - {word}
    return word in lists.plain or word.endswith("ing") or bool(singular & lists.nouns)


def _is_noun(word: str, lists: Words) -> bool:
    return word in lists.nouns and word not in FIRST_NAMES


def _spoken(text: str, doc: Any) -> Iterator[Name]:
    """Yield who speaks, or is spoken to: there a name may be any word."""
    for pattern, confidence in ((_SPEAKER, SPEAKER), (_GREETED, GREETED), (_ADDRESSED, ADDRESSED)):
        for found in pattern.finditer(text):
            name = plain_name(found[1])
            if _is_no_word(name) and (pattern is not _SPEAKER or _speaks(text, doc, found)):
                yield Name(name, PERSON, _sentence_at(doc, found.start(1)), confidence)


def _is_no_word(name: str) -> bool:
    return bool(name) and not NO_NAMES & set(name.casefold().split())


def _speaks(text: str, doc: Any, found: re.Match[str]) -> bool:
    """Tell whether what stands before a colon is a speaker's name by more than its place."""
    name = found[1].casefold()
    lists = words()
    if name in FIRST_NAMES or not any(_is_plain(part, lists) or part in lists.nouns for part in name.split()):
        return True
    span = doc.char_span(*found.span(1), alignment_mode="expand")
    is_person = span is not None and any(token.ent_type_ == "PERSON" for token in span)
    return is_person or len(re.findall(rf"^[ \t>*_-]*{re.escape(found[1])}[*_]*:", text, re.MULTILINE)) > 1


def _by_rules(text: str, doc: Any, lists: Words) -> Iterator[Name]:
    """Yield those whom the words around them make persons."""
    for pattern in (_BEFORE, _AFTER):
        for found in pattern.finditer(text):
            name = plain_name(found[1])
            parts = name.casefold().split()
            # What follows a verb with a capital is a name; what goes before one may just begin the sentence.
            nouns_too = pattern is _AFTER
            if _is_no_word(name) and not any(
                _is_plain(part, lists) or (nouns_too and _is_noun(part, lists)) for part in parts
            ):
                yield Name(name, PERSON, _sentence_at(doc, found.start(1)), CUED)


def _capitalised(text: str, doc: Any, lists: Words, found: Iterable[Name]) -> Iterator[Name]:
    """Yield what is written like a name within a sentence, and is part of no name found already."""
    known = {part for name in found for part in name.key.split()} | TITLES
    for match in _CAPITALISED.finditer(_WORDS.sub(_without_address, text)):
        # The first word of a line has its capital for that.
        whole = match[1].partition(" ")[2] if _begins_line(text, match.start()) else match[1]
        name = _without_interjection(plain_name(whole.removesuffix(" I")))
        parts = name.casefold().split()
        if len(name) < 3 or known & set(parts) or _shouted(doc, match.start()):
            continue
        if len(parts) == 1 and (parts[0] in NO_NAMES or parts[0] in lists.plain):
            continue
        yield Name(name, OTHER, _sentence_at(doc, match.start()), CAPITALISED)


def _without_address(word: re.Match[str]) -> str:
    """Return a word, or as many blanks where it is an address: places in the text stay as they are."""
    return " " * len(word[0]) if _ADDRESS.search(word[0]) else word[0]


def _begins_line(text: str, at: int) -> bool:
    return _BULLET.fullmatch(text, text.rfind("\n", 0, at) + 1, at) is not None


def _shouted(doc: Any, at: int) -> bool:
    """Tell whether a sentence is in capitals as a whole, or each of its words begins with one, as a title's do."""
    letters = [word for word in _sentence_at(doc, at).split() if word[0].isalpha() and word != "I"]
    return sum(word[0].isupper() for word in letters) > max(2, len(letters) // 2)


def _sentence_at(doc: Any, at: int) -> str:
    token = doc.char_span(at, at + 1, alignment_mode="expand")
    return _sentence(token.sent) if token is not None else ""


def _sentence(span: Any) -> str:
    text = " ".join(span.text.split())
    return text if len(text) <= LONGEST_SENTENCE else f"{text[: LONGEST_SENTENCE - 1]}\N{HORIZONTAL ELLIPSIS}"
