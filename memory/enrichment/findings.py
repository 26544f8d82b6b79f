"""What detectors find in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memory.texts.caseless import caseless

LONGEST_NAME = 80
TYPESET = "\u2019"  # the apostrophe of books
LONGEST_SENTENCE = 500
# Sentences of one text that are kept for its entities, those of the surest names.
MOST_MENTIONS = 50

_ARTICLE = re.compile(r"^(?:the|a|an|my|our|your|his|her|their)\s+", re.IGNORECASE)
_TITLE = re.compile(r"^(?:(?:mr|mrs|ms|mx|dr|prof|sir|dame|lord|lady|st)\b\.?|professor\b|doctor\b)\s+", re.IGNORECASE)
_POSSESSIVE = re.compile("(?:['\\u2019]s|(?<=s)['\\u2019])$", re.IGNORECASE)
_EDGES = " \t\r\n.,;:!?\"'`*_()[]{}<>|#-\u2013\u2014\u2018\u2019\u201c\u201d\u00ab\u00bb"


@dataclass(frozen=True, slots=True)
class Name:
    """An entity named in a sentence; `confidence` in [0, 1] is how often such a detection is right."""

    name: str
    type: str
    sentence: str
    confidence: float

    @property
    def key(self) -> str:
        """What it is merged by, beside its type and space."""
        return name_key(self.name)


@dataclass(frozen=True, slots=True)
class Tag:
    """A word or a few for what a text is about, with a confidence in [0, 1]."""

    tag: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in one text: names, one per entity and sentence, and tags."""

    names: tuple[Name, ...] = ()
    tags: tuple[Tag, ...] = ()

    @property
    def confidence(self) -> float | None:
        """The mean confidence of all that was found, in [0, 1]; None if nothing was."""
        found = [name.confidence for name in self.names] + [tag.confidence for tag in self.tags]
        return min(1.0, max(0.0, sum(found) / len(found))) if found else None


def plain_name(text: str) -> str:
    """Return a name as it is shown: without article, possessive and punctuation around it; "" if nothing is left."""
    name = " ".join(text.split()).strip(_EDGES)
    name = _ARTICLE.sub("", _POSSESSIVE.sub("", name)).strip(_EDGES)
    return name if any(char.isalpha() for char in name) and len(name) <= LONGEST_NAME else ""


def name_key(name: str) -> str:
    """Return the form by which names are the same: no case, no title, no possessive, no punctuation at the ends.

    Nor does it matter how a letter is composed, or whether an apostrophe is typed or typeset.
    """
    plain = _TITLE.sub("", plain_name(name)) or name
    return caseless(plain).replace(TYPESET, "'")


def derived_tags(findings: Findings, given: Iterable[str], most: int, longest: int) -> list[str]:
    """Return names and tags in lower case, the surest first, at most `most`, without those that were given."""
    seen = {" ".join(tag.casefold().split()) for tag in given}
    found = sorted([(n.confidence, n.name) for n in findings.names], reverse=True)
    found += sorted([(t.confidence, t.tag) for t in findings.tags], reverse=True)
    tags: list[str] = []
    for _, word in found:
        tag = " ".join(word.casefold().split())
        if tag and tag not in seen and len(tag) <= longest:
            seen.add(tag)
            tags.append(tag)
    return tags[:most]


def _in_full(names: Sequence[Name]) -> list[Name]:
    """Return the names with a bare surname as the one full name of a person in the text that ends with it.

    With a title it may be somebody else of that family.
    """
    full: dict[str, set[str]] = {}
    for name in names:
        if name.type == "person" and " " in name.key:
            full.setdefault(name.key.rpartition(" ")[2], set()).add(name.key)
    shown = {name.key: name.name for name in reversed(names)}
    return [
        replace(name, name=shown[next(iter(full[name.key]))])
        if name.type == "person" and name.name.casefold() == name.key and len(full.get(name.key, ())) == 1
        else name
        for name in names
    ]


def merged(names: Sequence[Name]) -> tuple[Name, ...]:
    """Return each name once per sentence, all mentions of one name with the type of the surest; not too many."""
    best: dict[str, Name] = {}
    names = _in_full(names)
    for name in names:
        if name.key not in best or name.confidence > best[name.key].confidence:
            best[name.key] = name
    kept: dict[tuple[str, str], Name] = {}
    for name in names:
        sure = best[name.key]
        kept.setdefault((name.key, name.sentence), Name(sure.name, sure.type, name.sentence, sure.confidence))
    mentions = list(kept.values())
    if len(mentions) > MOST_MENTIONS:
        mentions.sort(key=lambda name: -name.confidence)
    return tuple(mentions[:MOST_MENTIONS])
