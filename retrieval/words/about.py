"""What a question is about, to tell whether anything found is: among memories of one person some always seem alike.

Words weigh by their idf in what is searched. Of a question's words those count that say what it is about: not the ones
that any question has ("tell", "kind", "favourite"), and not those of dates, which memories carry beside their text. A
date that a memory does repeat counts for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from retrieval.words.answers import asks, signed, what_asks
from retrieval.words.bm25 import Question
from retrieval.words.identifiers import JOINED, identifiers_in, joined_in, lexemes_of, parts_of
from retrieval.words.lexemes import DATED, GENERIC, OF_ANY_TIME, TOKEN, bare, is_of
from retrieval.words.numbered import names_another, numbered_in, paired_in

_LETTERS = re.compile(r"[^\W\d_]+")
_USER = re.compile(r"\bthe\s+user(?:['\u2019]s)?(?![\w-])", re.IGNORECASE)
# German writes every noun with a capital. Words of any question in it, but for those that English has too, in itself or
# in names ("was", "die", "war", "mit", "von"); and words of English that German lacks.
GERMAN = frozenset(
    """
    der dem ein eine einem einen einer eines ist sind wer wen wem wessen wann wo wohin woher wie warum wieso womit wofür
    welche welchem welchen welcher welches ich mich mir mein meine meinem meinen meiner uns unser unsere unserem unseren
    wir und oder nicht kein keine keinen für zu zum zur bei beim auf aus vom wird wurde wurden habe haben hatte hatten
    """.split()  # noqa: SIM905  # A list of a hundred quoted words cannot be read.
)
_ENGLISH = frozenset(
    """
    the a of to and or is are were has have had do does did what who whose when where which how why my your our their i
    you he she they we for with from about at on by that this there
    """.split()  # noqa: SIM905  # As above.
)
# Relatives are written like names, but other words may mean the same one: "Mum's operation" is what "the user's mother"
# has.
_KIN = frozenset(
    {"mum", "mom", "dad", "mother", "father", "granny", "gran", "nan", "grandma", "grandpa", "aunt", "uncle"}
)
# Written in whatever follows kanji: endings and what stands between words.
_KANA = re.compile(r"[\u3041-\u309f]")
# What points at something that was said before: "It", or "the ticket".
_POINTS = re.compile(
    r"""\b(?:
        its? | this | that | these | those | them | ones?
      | (?:the|said)\s+(?:bug|build|case|code|error|incident|invoice|issue|item|job|model|number|order|part|pr|product
          |request|task|ticket|version)
      | es | er | (?-i:sie | ihr\w*) | sein(?:e[mnrs]?)? | dies\w* | dazu | damit | dafür | davon | daran | darum | ihn
      | ihm | ils? | elles? | ce(?:la|ci|lui|lle) | ça
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
# A stem of at least so many letters tells its word, however much that has lost: "emergency" is "emerg" in the index.
_TELLING_STEM = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is about. Its words stand by their places, which are those of its lexemes."""

    # The idf of each word that counts, and of each that tells a date.
    content: dict[int, float]
    dated: dict[int, float]
    # Which words of the content are no names, and which are.
    topics: frozenset[int]
    names: frozenset[int]
    # For each identifier that is asked for ("HERON-42", "#977") the lexemes that tell it from another; for each without
    # digits ("E_TILE_RANGE") those of each of its parts; for each, and for what is written like one ("VN207"), all of
    # its lexemes.
    codes: tuple[frozenset[int], ...] = ()
    joined: tuple[tuple[frozenset[int], ...], ...] = ()
    whole: tuple[frozenset[int], ...] = ()
    # Which dates name a time, as "summer" does and "day" does not.
    times: frozenset[int] = frozenset()
    # The name and the number of each "ICE 579", and of a question that is nothing but "sprint 42".
    numbers: tuple[tuple[str, str], ...] = ()
    # The lexemes of the numbers of which what was not read must have one, None where it need not have any.
    numbered: frozenset[int] | None = None
    # The name and the number of each "house 9", "flat B" and "Ubuntu 24.04" among other words.
    paired: tuple[tuple[str, str], ...] = ()
    # The lexemes of those numbers of `paired` that are no part of an identifier, None where all are.
    beside: frozenset[int] | None = None
    # Whether identifiers stand beside what asks, and that speaks of something else.
    told_of: bool = False

    def coverage(self, places: Sequence[int]) -> float:
        """Return the share, in [0, 1], of the weight of the question's words that an item with `places` has."""
        dates = sum(self.dated.get(place, 0.0) for place in places)
        told = sum(self.content.get(place, 0.0) for place in places) + dates
        total = sum(self.content.values()) + dates
        return min(1.0, told / total) if total > 0 else 0.0

    def names_alone(self, places: Sequence[int]) -> bool:
        """Tell whether something is asked about a name, and an item shares only names or dates with the question."""
        return bool(self.topics and self.names) and self.names.issuperset(set(places) - self.dated.keys())

    def other_names(self, places: Sequence[int]) -> bool:
        """Tell whether names are asked for, and an item has none of them."""
        return bool(self.names) and self.names.isdisjoint(places)

    def lacks_date(self, places: Sequence[int]) -> bool:
        """Tell whether an item lacks a time that the question names; "summer" is such a time, "day" is none."""
        return not self.times.issubset(places)

    def has_code(self, places: Sequence[int]) -> bool:
        """Tell whether an item has an identifier asked for, with all its parts, and a number that stands beside it.

        Of "HERON-42 firmware 1.44" the number tells as much as the identifier.
        """
        if self.beside is not None and self.beside.isdisjoint(places):
            return False
        return any(code.issubset(places) for code in self.whole) or any(
            all(not part.isdisjoint(places) for part in parts) for parts in self.joined
        )

    def lacks_code(self, places: Sequence[int]) -> bool:
        """Tell whether an identifier is asked for that an item does not have."""
        if self.told_of:
            return False
        # Where several identifiers are asked for, one of them is enough.
        if self.codes and not any(code and code.issubset(places) for code in self.codes):
            return True
        # The database keeps the name of a file whole, so an item that has none of the parts may still have all of the
        # name.
        held = [[not part.isdisjoint(places) for part in parts] for parts in self.joined]
        return any(map(any, held)) and not any(map(all, held))

    def lacks_number(self, places: Sequence[int]) -> bool:
        """Tell whether a number tells the thing asked for from others of its name, and an item does not have it."""
        return self.numbered is not None and self.numbered.isdisjoint(places)

    def names_another(self, text: str) -> bool:
        """Tell whether a text names the thing asked for only with other numbers: "ICE 597" for "ICE 579".

        A text that has the name without a number may be about it.
        """
        return names_another(text, self.numbers, self.paired)


NOTHING_ASKED = Asked({}, {}, frozenset(), frozenset())
# An identifier that is nowhere: no item has it.
UNHEARD_OF = Asked({}, {}, frozenset(), frozenset(), codes=(frozenset(),))
# The place of a name that is nowhere.
_NOWHERE = -1


def understand(text: str, question: Question) -> Asked:
    """Return what a question is about; `question` has its lexemes, by whose places the answer speaks.

    It has none where nothing that is searched has one of its words: then nothing has its identifiers or names either.
    """
    if not question.lexemes:
        return _nowhere(text)
    lexemes = dict(enumerate(question.lexemes))
    dated = {place for place, each in lexemes.items() if DATED.fullmatch(each)}
    generic = {place for place, each in lexemes.items() if each in GENERIC or says_little(each)}
    content = lexemes.keys() - dated - generic or lexemes.keys() - generic or set(lexemes)
    identified, told_of = _identified(text, [lexemes[place] for place in content])
    written = identifiers_in(identified)
    codes, joined, whole = _codes(identified, written, lexemes)
    # Words that may have a number of their own, weeks and seasons among them.
    heads = [each for place, each in lexemes.items() if place in content - dated or each in OF_ANY_TIME]
    numbers = () if told_of else tuple(numbered_in(identified))
    paired = () if told_of else tuple(paired_in(identified, heads))
    # A question may be answered in other words ("in even weeks"), so only key words need all of the pairs. Letters are
    # left out, as the index lacks some.
    needed = {number for _, number in (numbers if asks(text) else (*numbers, *paired)) if number[0].isdigit()}
    numbered = frozenset(place for place, each in lexemes.items() if each.lstrip("-") in needed)
    in_codes = set(re.split(r"[^a-z0-9]+", " ".join(chain(*written))))
    beside = {number for _, number in paired if number[0].isdigit()} - in_codes
    named = content - dated - numbered.union(*codes, *chain(*joined))
    written_names = _names(text)
    names = {place for place in named if any(is_of(lexemes[place], each) for each in written_names)}
    return Asked(
        content={place: question.idfs[place] for place in content},
        dated={place: question.idfs[place] for place in dated - content},
        topics=frozenset(content - names),
        names=frozenset(names),
        codes=codes,
        joined=joined,
        whole=whole,
        times=frozenset(place for place in dated - content if lexemes[place] not in OF_ANY_TIME),
        numbers=numbers,
        numbered=numbered if needed else None,
        paired=paired,
        beside=frozenset(place for place, each in lexemes.items() if each in beside) if beside else None,
        told_of=told_of,
    )


def _nowhere(text: str) -> Asked:
    """Return what a question is about of whose words no item has one."""
    if identifiers_in(text):
        return UNHEARD_OF
    numbers, names = tuple(numbered_in(text)), frozenset({_NOWHERE} if _names(text) else ())
    numbered = frozenset[int]() if numbers else None
    found = replace(NOTHING_ASKED, names=names, numbers=numbers, numbered=numbered)
    return found if names or numbers else NOTHING_ASKED


def _codes(
    text: str, written: Sequence[Sequence[str]], lexemes: dict[int, str]
) -> tuple[tuple[frozenset[int], ...], tuple[tuple[frozenset[int], ...], ...], tuple[frozenset[int], ...]]:
    """Return `codes`, `joined` and `whole` of `Asked` for a text with the identifiers that are `written` in it."""
    with_digits = (frozenset().union(*(lexemes_of(each, lexemes, code) for each in code)) for code in written)
    parts = (frozenset().union(*(parts_of(each, lexemes) for each in code)) for code in written)
    named = signed(text)
    signs = [frozenset({place}) for place, each in lexemes.items() if each in named]
    joined = tuple(joined_in(text, lexemes)) if "_" in text else ()
    return (*filter(None, with_digits), *signs), joined, (*filter(None, parts), *signs)


def _identified(text: str, content: Sequence[str]) -> tuple[str, bool]:
    """Return the part of a text whose identifiers are asked for, and whether that only stands beside what asks.

    An agent tells where it works before it asks: "On branch ABC-1234. Which quotes does the user prefer?" What asks
    speaks of something else where it has words of the `content` (lexemes) and points at nothing.
    """
    asking = what_asks(text)
    if _identifies(asking):
        return asking, False
    if asking == text.strip():
        return text, False
    words = [bare(each) for each in TOKEN.findall(asking)]
    own = any(is_of(lexeme, each) or _begins(lexeme, each) for lexeme in content for each in words)
    return text, own and _POINTS.search(asking) is None


def _identifies(text: str) -> bool:
    tokens = map(bare, TOKEN.findall(text))
    return bool(identifiers_in(text) or signed(text) or any(numbered_in(text)) or any(map(JOINED.match, tokens)))


def meant(text: str) -> str:
    """Return the words of a question that tell one memory from another by their meaning: all but "the user".

    Most notes of agents speak of the user, so that saying it makes all of them a little more alike to the question.

    >>> meant("Which car does the user have?"), meant("the user's shoes"), meant("The user")
    ('Which car does have?', 'shoes', 'The user')
    """
    left = " ".join(_USER.sub(" ", text).split())
    return left if re.search(r"\w", left) else text


def says_little(lexeme: str) -> bool:
    """Tell whether a pair of characters is an ending or stands between words: it has a sign of hiragana.

    >>> says_little("のは"), says_little("茶は"), says_little("緑茶"), says_little("Tea")
    (True, True, False, False)
    """
    return _KANA.search(lexeme) is not None


def without_names(text: str) -> str:
    """Return what a question says beside the names in it; empty where that is nothing.

    >>> without_names("What is Anna's shoe size?"), without_names("Where does the user meet Jo Ann?")
    ('What is shoe size?', 'Where does meet ?')
    """
    names = _names(text)
    left = meant(" ".join(TOKEN.sub(lambda found: "" if bare(found[0]) in names else found[0], text).split()))
    return left if re.search(r"\w", left) else ""


def _names(text: str) -> set[str]:
    """Return the words with a capital that do not begin a sentence, in lower case; none where every noun has one."""
    if _is_german(text):
        return set()
    found = (each for each in TOKEN.finditer(text) if each[0][0].isupper() and each[0] != "I")
    inside = (each[0] for each in found if not begins_sentence(text, each.start()))
    return {bare(each) for each in inside} - _KIN


def begins_sentence(text: str, start: int) -> bool:
    """Tell whether a word at a place is the first of a sentence, where a capital does not make it a name."""
    while start > 0 and text[start - 1].isspace():
        start -= 1
    return start == 0 or text[start - 1] in ".?!:"


def _is_german(text: str) -> bool:
    words = {each.lower() for each in _LETTERS.findall(text)}
    return len(words & GERMAN) > 1 and words.isdisjoint(_ENGLISH)


def _begins(lexeme: str, word: str) -> bool:
    """Tell whether a word begins with a lexeme that is long enough to be its stem, however long its ending is."""
    return len(lexeme) >= _TELLING_STEM and word.startswith(lexeme)
