"""What a question is about, to tell whether anything found is: among memories of one person some always seem alike.

Words weigh by their idf in what is searched. Of a question's words those count that say what it is about: not the ones
that any question has ("tell", "kind", "favourite"), and not those of dates, which memories carry beside their text. A
date that a memory does repeat counts for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise

from retrieval.answers import asks, signed, what_asks
from retrieval.codes import UNIT
from retrieval.words import Question

# Lexemes, as the database stems them: what is frequent in questions about anything. Chosen as a list of English, not by
# what any case needs; what the database stops ("who", "have", "only") never arrives here.
_GENERIC = frozenset(
    """
    say get make go know take see come think look want give use find tell ask seem feel tri call need becom put mean
    keep let begin help talk start show hear like believ bring happen includ continu set understand speak turn got done
    gone made remind list summar summaris sum detail suggest recommend
    thing way kind sort type name part place case point fact lot bit number time person peopl user someon somebodi anyon
    anybodi everyon everybodi noth someth anyth everyth
    good new first last long great littl old right big differ next import best better well current present usual
    favourit favorit main general certain actual real
    mani much still also ever never alway often now yet alreadi quit rather realli mayb pleas one two three day us may
    might could would shall must without within upon per
    """.split()  # noqa: SIM905  # A list of a hundred quoted words cannot be read.
)
# Lexemes, and months as they are written.
_DATED = re.compile(
    r"""(?:19|20)\d\d | \d{1,2}(?:st|nd|rd|th)?
    | jan(?:uar[iy])? | feb(?:ruar[iy])? | mar(?:ch)? | apr(?:il)? | may | june? | jul[iy]? | aug(?:ust)?
    | sept?(?:emb(?:er)?)? | oct(?:ob(?:er)?)? | nov(?:emb(?:er)?)? | dec(?:emb(?:er)?)?
    | (?:mon|tues|wednes|thurs|fri|satur|sun)day
    | spring | summer | autumn | winter | season | year | month | week | weekend | day | morn | even | night
    | yesterday | today | tomorrow | date | time | ago | recent | late | earli""",
    re.VERBOSE,
)
# What a question for a time has, whichever it is.
_OF_ANY_TIME = frozenset("season year month week weekend day date time ago recent late earli".split())  # noqa: SIM905
_TOKEN = re.compile(r"[#\w][\w'\u2019.#/-]*")
_LETTERS = re.compile(r"[^\W\d_]+")
_USER = re.compile(r"\bthe\s+user(?:['\u2019]s)?(?![\w-])", re.IGNORECASE)
# German writes every noun with a capital. Words of any question in it, but for those that English has too, in itself or
# in names ("was", "die", "war", "mit", "von"); and words of English that German lacks.
GERMAN = frozenset(
    """
    der dem ein eine einem einen einer eines ist sind wer wen wem wessen wann wo wohin woher wie warum wieso womit wofür
    welche welchem welchen welcher welches ich mich mir mein meine meinem meinen meiner uns unser unsere unserem unseren
    wir und oder nicht kein keine keinen für zu zum zur bei beim auf aus vom wird wurde wurden habe haben hatte hatten
    """.split()  # noqa: SIM905  # As above.
)
_ENGLISH = frozenset(
    """
    the a of to and or is are were has have had do does did what who whose when where which how why my your our their i
    you he she they we for with from about at on by that this there
    """.split()  # noqa: SIM905  # As above.
)
# Written as names, and said of in other words: "Mum's operation" is what "the user's mother" has.
_KIN = frozenset(
    {"mum", "mom", "dad", "mother", "father", "granny", "gran", "nan", "grandma", "grandpa", "aunt", "uncle"}
)
# Written in whatever follows kanji: endings and what stands between words.
_KANA = re.compile(r"[\u3041-\u309f]")
# A date, a span of years or an amount, which is written with the same signs as an identifier.
_NO_CODE = re.compile(r"(?:19|20)\d\d(?:-(?:19|20)?\d\d){0,2}|\d[\d.,:/]*")
# But the number of a file or a case: no fraction or date has five digits, or four with a zero before them.
_FILED = re.compile(r"(?!1/)\d{1,4}/(?:\d{5,}|0\d{3,})|\d{5,}/\d{2,4}")
_VERSION = re.compile(r"v?\d{1,3}(?:\.\d{1,3}){2,3}")
_DATE = re.compile(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.\d\d")
_AMOUNT = re.compile(
    r"\d+(?:[.,]\d+)?-[^\W\d_]{3,}(?:-[^\W\d_]+)* | \d{4}s | \d+000 | \d{1,3}(?:\.\d{3})+ | \d\d?-\d\d?-(?:\d\d)?\d\d",
    re.VERBOSE,
)
_LETTERED = re.compile(r"[^\W\d_]{1,5}\d{2,}[^\W\d_]?")
# The sign of a radio station or a car: capitals on both sides of the digits.
_CALL_SIGN = re.compile(r"[A-ZÄÖÜ]{1,3}\d{1,3}[A-ZÄÖÜ]{2,4}")
# Written like one, but short for words by which a memory may have them.
_NO_CALL_SIGN = frozenset("A2DP E2EE J2EE J2ME J2SE L2TP P2PE S4HANA T1DM T2DM".split())  # noqa: SIM905  # As above.
_YEAR = re.compile(r"(?:19|20)\d\d")
# A number plate with what may look like a year ("FR-KM 2078"), or groups of few digits behind capitals ("NP 118 402").
_SPACED = re.compile(
    r"(?<![\w-])(?:[A-ZÄÖÜ]{1,3}-[A-Z]{1,2}\s+(?:19|20)\d\d|([A-ZÄÖÜ]{1,4})(?:\s\d{2,4}){2,4})(?![\w%/-]|[.,:]\d)"
)
# What stands before the three digits of a train, a flight or a model with but a blank between them ("ICE 579"): fewer
# digits may be anything, and more are an identifier by themselves. What stands before an amount is none.
_INITIALS, _THREE = re.compile(r"[A-Z]{2,4}"), re.compile(r"\d{3}")
_NO_INITIALS = frozenset(
    """
    AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP GEL GHS HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN
    MYR NGN NOK NZD PEN PHP PKR PLN RON RSD RUB SEK SGD THB TND TRY TWD TZS UAH UGX USD VND XAF XOF ZAR
    AM CA EU GB KB KG KM MAX MB MIN MM NO PM TB TOP UK US
    """.split()  # noqa: SIM905  # As above.
)
# One word and its number, or a letter instead: "flat B". What has the word alone may be about it: "the BMW".
_LETTER = r"(?<![^\W_])(?-i:[A-HJ-Z])(?![#+]|[.&]?\w|['\u2019](?!s\b)\w)"
_DOTTED = rf"\d+(?:\.\d+)*|{_LETTER}"
_NUMBER = rf"\d{{1,3}}(?:\.\d{{1,3}}){{0,3}}|{_LETTER}"
_NUMBERED = re.compile(r"\W*([^\W\d_]{2,})[ -]#?(\d{1,3})\W*")
# The same within more words: no day, time, share or number of more digits.
_PAIRED = re.compile(rf"(?<![\w-])([^\W\d_]{{2,}})[ -]#?({_NUMBER})(?![\w%/-]|[:.,]\d)")
# Between two numbers or letters that mean those between them as well, and before one that has no other end.
_TO = "to|till|until|through|bis"
_OPEN = re.compile(r"\b(?:since|until|till|up\s+to|after|before|seit|bis)\s+\Z", re.IGNORECASE)
_LONGEST_OPEN = 10
# A word and the numbers behind it: "ICE-579", "Sprint 41 and 42", "Ubuntu 24.04".
_BEHIND = re.compile(
    rf"""(?<![^\W_])([^\W\d_]+)[\s#-]{{0,3}}
    ((?:{_DOTTED})(?:\s*(?:[,/&+\u2013-]|(?:and|or|{_TO}|und|oder|et|ou)\b)\s*(?:\#|\1\s)?(?:{_DOTTED}))*)""",
    re.IGNORECASE | re.VERBOSE,
)
# Of these numbers, those between which others are meant.
_THROUGH = re.compile(
    rf"(\d{{1,4}}|(?-i:[A-Z]))\s*(?:[\u2013-]|(?:{_TO})\b)\s*(?:[^\W\d_]+\s)?(\d{{1,4}}|(?-i:[A-Z]))(?!\.?\d)",
    re.IGNORECASE,
)
# Behind a number that tells no thing from another of its name: "12 May", "7:30"; and "2 rooms".
_DAY_OR_TIME = re.compile(
    r"""(?:st|nd|rd|th)?[ -](?:of\s+)?(?:
        jan | feb | mar | apr | may | june? | july? | aug | sept? | oct | nov | dec
      | (?:jan|febr)uary | march | april | august | (?:sept|nov|dec)ember | october
    )(?![^\W_]) | :\d""",
    re.IGNORECASE | re.VERBOSE,
)
_MANY = re.compile(
    r"""[ ](?:[^\W\d_]{2,}s | people | persons? | digit | star | (?:bed)?room | night | day | week | month | year | hour
    | minute | mile | an? [ ] (?:night | day | week | month | year))(?![^\W_])(?![ ]\d)""",
    re.IGNORECASE | re.VERBOSE,
)
# Not "one", which stands for anything.
_SMALL = {
    each: str(number)
    for number, each in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)  # noqa: SIM905
}
_SPELLED = re.compile(rf"\b(?:{'|'.join(_SMALL)})\b", re.IGNORECASE)
# So many are looked at, and so many numbers lie between two.
_MOST_PAIRS, _LONGEST_SPAN = 8, 100
# Whoever writes more words than these with capitals alone means nothing by them.
_SHOUTED = 4
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
# Of "emergency" the index has "emerg".
_TELLING_STEM = 5
# Words that are joined to one name, as programs join them, with no digit.
_JOINED = re.compile(r"(?=[^\W\d]+\Z)\w*?[^\W\d_]{2}_[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is about, by the places of its lexemes.

    `content` and `dated` have the idf of each word that counts, and of those of dates; `topics` are the words of the
    content that are no names, `names` those that are, `times` the dates that name a time. `codes` has for each
    identifier that is asked for ("HERON-42", "#977") the lexemes that tell it from another, `joined` for each without
    digits ("E_TILE_RANGE") those of each of its parts, `whole` all lexemes of each, and of what is written like one
    ("VN207"). `numbers` has for each "ICE 579", and for nothing but "sprint 42", what is before the number, and that;
    `paired` the same for each "house 9", "flat B" and "Ubuntu 24.04" among other words. `numbered` are the lexemes of
    the numbers that what was not read must have, None where it need not have any, and `beside` those of `paired` that
    are no part of an identifier, None where all are. `told_of` says that identifiers stand beside what asks, and that
    it speaks of something else.
    """

    content: dict[int, float]
    dated: dict[int, float]
    topics: frozenset[int]
    names: frozenset[int]
    codes: tuple[frozenset[int], ...] = ()
    joined: tuple[tuple[frozenset[int], ...], ...] = ()
    whole: tuple[frozenset[int], ...] = ()
    times: frozenset[int] = frozenset()
    numbers: tuple[tuple[str, str], ...] = ()
    numbered: frozenset[int] | None = None
    paired: tuple[tuple[str, str], ...] = ()
    beside: frozenset[int] | None = None
    told_of: bool = False

    def coverage(self, places: Sequence[int]) -> float:
        """Return the share, in [0, 1], of what the words that count tell which an item with these places has."""
        dates = sum(self.dated.get(place, 0.0) for place in places)
        told = sum(self.content.get(place, 0.0) for place in places) + dates
        total = sum(self.content.values()) + dates
        return min(1.0, told / total) if total > 0 else 0.0

    def names_alone(self, places: Sequence[int]) -> bool:
        """Tell whether a question asks something of a name, and an item shares no word with it but names and dates."""
        return bool(self.topics and self.names) and self.names.issuperset(set(places) - self.dated.keys())

    def other_names(self, places: Sequence[int]) -> bool:
        """Tell whether names are asked for, and an item has none of them."""
        return bool(self.names) and self.names.isdisjoint(places)

    def lacks_date(self, places: Sequence[int]) -> bool:
        """Tell whether the question names a time, as "summer" does and "day" does not, that an item lacks."""
        return not self.times.issubset(places)

    def has_code(self, places: Sequence[int]) -> bool:
        """Tell whether an item has an identifier that is asked for with all that it is written of.

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
        # Of several one is enough.
        if self.codes and not any(code and code.issubset(places) for code in self.codes):
            return True
        # And the database keeps a file's name whole, so what has no part may have all.
        held = [[not part.isdisjoint(places) for part in parts] for parts in self.joined]
        return any(map(any, held)) and not any(map(all, held))

    def lacks_number(self, places: Sequence[int]) -> bool:
        """Tell whether an item has none of the numbers that tell what is asked for from another of its name."""
        return self.numbered is not None and self.numbered.isdisjoint(places)

    def names_another(self, text: str) -> bool:
        """Tell whether a text has other numbers alone behind what is asked for with a number: the ICE 597.

        What has the name without a number may be about it.
        """
        if not self.numbers and not self.paired:
            return False
        behind = _numbers_behind(text)
        # Of "firmware 1.42 is fine, 1.43 is not" the second number is of the same name.
        held = frozenset(_numbers_in(text)) if self.paired else frozenset()
        for pairs, also in ((self.numbers, frozenset[str]()), (self.paired, held)):
            found = [(number, behind[name]) for name, number in pairs if name in behind]
            if found:
                told = {number for number, _ in found}
                return not any(_is_among(each, also) for each in told) and not any(
                    _is_among(number, others) for number, others in found
                )
        return False


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
        if _codes(text):
            return UNHEARD_OF
        numbers, nowhere = tuple(_numbered(text)), frozenset({_NOWHERE} if _names(text) else ())
        numbered = frozenset[int]() if numbers else None
        found = replace(NOTHING_ASKED, names=nowhere, numbers=numbers, numbered=numbered)
        return found if nowhere or numbers else NOTHING_ASKED
    lexemes = dict(enumerate(question.lexemes))
    dated = {place for place, each in lexemes.items() if _DATED.fullmatch(each)}
    generic = {place for place, each in lexemes.items() if each in _GENERIC or says_little(each)}
    content = lexemes.keys() - dated - generic or lexemes.keys() - generic or set(lexemes)
    identified, told_of = _identified(text, [lexemes[place] for place in content])
    written = _codes(identified)
    with_digits = (frozenset().union(*(_lexemes_of(each, lexemes, code) for each in code)) for code in written)
    codes = tuple(filter(None, with_digits))
    whole = (frozenset().union(*(_parts_of(each, lexemes) for each in code)) for code in written)
    joined = tuple(_joined(identified, lexemes)) if "_" in identified else ()
    named = signed(identified)
    signs = [frozenset({place}) for place, each in lexemes.items() if each in named]
    numbers = () if told_of else tuple(_numbered(identified))
    codes = (*codes, *signs)
    # A week or a season may have a number as any other thing.
    heads = [each for place, each in lexemes.items() if place in content - dated or each in _OF_ANY_TIME]
    paired = () if told_of else tuple(_paired(identified, heads))
    written_names = _names(text)
    # A question may be answered by what says it in other words: "in even weeks". And the index lacks some letters.
    needed = {number for _, number in (numbers if asks(text) else (*numbers, *paired)) if number[0].isdigit()}
    numbered = frozenset(place for place, each in lexemes.items() if each in needed)
    coded = numbered.union(*codes, *chain(*joined))
    in_codes = set(re.split(r"[^a-z0-9]+", " ".join(chain(*written))))
    beside = {number for _, number in paired if number[0].isdigit()} - in_codes
    names = {place for place in content - dated - coded if any(_is_of(lexemes[place], n) for n in written_names)}
    return Asked(
        content={place: question.idfs[place] for place in content},
        dated={place: question.idfs[place] for place in dated - content},
        topics=frozenset(content - names),
        names=frozenset(names),
        codes=codes,
        joined=joined,
        whole=(*filter(None, whole), *signs),
        times=frozenset(place for place in dated - content if lexemes[place] not in _OF_ANY_TIME),
        numbers=numbers,
        numbered=numbered if needed else None,
        paired=paired,
        beside=frozenset(place for place, each in lexemes.items() if each in beside) if beside else None,
        told_of=told_of,
    )


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
    words = [_bare(each) for each in _TOKEN.findall(asking)]
    own = any(_is_of(lexeme, each) or _begins(lexeme, each) for lexeme in content for each in words)
    return text, own and _POINTS.search(asking) is None


def _identifies(text: str) -> bool:
    tokens = map(_bare, _TOKEN.findall(text))
    return bool(_codes(text) or signed(text) or any(_numbered(text)) or any(map(_JOINED.match, tokens)))


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
    left = meant(" ".join(_TOKEN.sub(lambda found: "" if _bare(found[0]) in names else found[0], text).split()))
    return left if re.search(r"\w", left) else ""


def _names(text: str) -> set[str]:
    """Return the words with a capital that do not begin a sentence, in lower case; none where every noun has one."""
    if _is_german(text):
        return set()
    found = (each for each in _TOKEN.finditer(text) if each[0][0].isupper() and each[0] != "I")
    inside = (each[0] for each in found if not _begins_sentence(text, each.start()))
    return {_bare(each) for each in inside} - _KIN


def _begins_sentence(text: str, start: int) -> bool:
    while start > 0 and text[start - 1].isspace():
        start -= 1
    return start == 0 or text[start - 1] in ".?!:"


def _is_german(text: str) -> bool:
    words = {each.lower() for each in _LETTERS.findall(text)}
    return len(words & GERMAN) > 1 and words.isdisjoint(_ENGLISH)


def _bare(token: str) -> str:
    return token.replace("\u2019", "'").rstrip(".'/-").removesuffix("'s").lower()


def _is_of(lexeme: str, name: str) -> bool:
    """Tell whether a lexeme is the stem of a name: stems lose an ending, and end in i instead of y."""
    return name.startswith(lexeme[:-1] or lexeme) and len(name) - len(lexeme) <= 3


def _begins(lexeme: str, word: str) -> bool:
    """Tell whether a word begins with a lexeme so long that it is its stem, however much the word has lost."""
    return len(lexeme) >= _TELLING_STEM and word.startswith(lexeme)


def _codes(text: str) -> list[list[str]]:
    """Return the identifiers with digits, each in the tokens that stand beside one another: "304417 00021" is one."""
    found: list[list[str]] = []
    spaced = {each.start(): each for each in _SPACED.finditer(text) if _is_spaced(text, each)}
    end = -1
    for each in _TOKEN.finditer(text):
        if whole := spaced.get(each.start()):
            found.append([*map(_bare, whole[0].split())])
            end = whole.end()
        if each.start() < end:
            continue
        token, beside = _bare(each[0]), bool(found) and not text[end : each.start()].strip()
        # The last group of a long number may be short.
        named = _is_code(token) or (
            _CALL_SIGN.fullmatch(each[0][: len(token)]) and each[0][: len(token)] not in _NO_CALL_SIGN
        )
        if not named and not (beside and len(found[-1]) > 1 and re.fullmatch(r"\d\d+", token)):
            continue
        if beside:
            found[-1].append(token)
        else:
            found.append([token])
        end = each.end()
    return found


def _is_spaced(text: str, found: re.Match[str]) -> bool:
    """Tell whether groups behind capitals are one identifier: no amount is among them, and no date ("OCT 12 2025")."""
    head = found[1] or ""
    return not (head in _NO_INITIALS or _DATED.fullmatch(head.lower()) or _counts(text, found.end()))


def _numbered(text: str) -> Iterator[tuple[str, str]]:
    """Give each "ICE 579" in two, and "sprint 42" where nothing else is said.

    The number tells it from another: what has it says little of it for that.
    """
    if (alone := _NUMBERED.fullmatch(text)) and not (_DATED.fullmatch(low := alone[1].lower()) or low in _GENERIC):
        yield low, alone[2]
        return
    if text.isupper() and len(text.split()) > _SHOUTED:
        return
    for one, other in pairwise(_TOKEN.finditer(text)):
        head, number, between = one[0], _bare(other[0]), text[one.end() : other.start()]
        initials = _INITIALS.fullmatch(head) and head not in _NO_INITIALS
        if initials and between.isspace() and _THREE.fullmatch(number) and not UNIT.match(text, other.end()):
            yield head.lower(), number


def _paired(text: str, content: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give each "house 9" of a question, where the word is one of the `content` (lexemes), with its number."""
    pairs = list(islice(_PAIRED.finditer(text), _MOST_PAIRS))
    behind = _numbers_behind(text) if pairs else {}
    for found in pairs:
        name, end = found[1].lower(), found.end()
        counts = found[2][0].isdigit() and _counts(text, end)
        # "House 7 and 9": each of them may be meant, but nobody counts up so many.
        numbers = {found[2], *behind.get(name, ())}
        if not counts and len(numbers) <= _MOST_PAIRS and any(_is_of(each, name) for each in content):
            yield from ((name, each) for each in sorted(numbers))


def _is_amount(text: str, end: int) -> bool:
    """Tell whether a number that ends there is an amount, a day or a time."""
    return UNIT.match(text, end) is not None or _DAY_OR_TIME.match(text, end) is not None


def _counts(text: str, end: int) -> bool:
    """Tell whether a number that ends there says how much, how many or when."""
    return _is_amount(text, end) or _MANY.match(text, end) is not None


def _numbers_behind(text: str) -> dict[str, set[str]]:
    """Return the numbers behind each word of a text, in lower case, with those that are listed after the first.

    Of "week 3-5" it has what lies between.
    """
    found: dict[str, set[str]] = {}
    for each in _BEHIND.finditer(text):
        if _is_amount(text, each.end()):
            continue
        told = [number for number in re.findall(_DOTTED, each[2]) if not _YEAR.fullmatch(number)]
        if not told:
            continue  # "The Golf 2015" is of that year, and may be a Golf 7.
        if len(told) == 1 and _OPEN.search(text, max(0, each.start() - _LONGEST_OPEN), each.start()):
            continue
        numbers = found.setdefault(each[1].lower(), set())
        numbers.update(told)
        for first, last in set(_THROUGH.findall(each[2])):
            numbers.update(_between(first, last))
    return found


def _between(first: str, last: str) -> Iterator[str]:
    """Give the numbers, or letters, from the first to the one before the last, unless they are many."""
    if first.isdigit() and last.isdigit() and 0 < int(last) - int(first) < _LONGEST_SPAN:
        yield from map(str, range(int(first), int(last)))
    elif first.isalpha() and last.isalpha():
        yield from map(chr, range(ord(first), ord(last)))


def _numbers_in(text: str) -> Iterator[str]:
    """Give all numbers and single letters of a text, also the small numbers that are written as words: "phase two"."""
    yield from re.findall(_DOTTED, text)
    yield from (_SMALL[each.lower()] for each in _SPELLED.findall(text))


def _is_among(number: str, others: Collection[str]) -> bool:
    """Tell whether a number or version is one of others, or what one begins with: 24.04.1 is a 24.04, and a 24."""
    if number in others:
        return True
    return any(each.startswith(f"{number}.") or number.startswith(f"{each}.") for each in others)


def _joined(text: str, lexemes: dict[int, str]) -> Iterator[tuple[frozenset[int], ...]]:
    """Give the lexemes of each part of each identifier without digits ("E_GLYPH_OVERFLOW"), at most eight of these."""
    tokens = dict.fromkeys(filter(_JOINED.match, map(_bare, _TOKEN.findall(text))))
    for token in islice(tokens, 8):
        parts = (frozenset(place for place, each in lexemes.items() if _is_of(each, p)) for p in token.split("_"))
        if found := tuple(filter(None, parts)):
            yield found


def _is_code(token: str) -> bool:
    """Tell whether a token names one thing among many of its kind.

    That is digits joined to something, four digits, or a version; no amount, as "5-star", "1000" or "1990s".
    """
    if _AMOUNT.fullmatch(token):
        return False
    if _LETTERED.fullmatch(token) or _FILED.fullmatch(token):
        return True
    if _VERSION.fullmatch(token):
        return _DATE.fullmatch(token) is None
    digits = sum(each.isdigit() for each in token)
    if not digits or (_NO_CODE.fullmatch(token) and (digits < 4 or not token.isdigit() or _YEAR.fullmatch(token))):
        return False
    joined = any(sign in token for sign in "-_#") and (token[0] == "#" or not token.replace("-", "").isdigit())
    return joined or digits >= 4


def _parts_of(code: str, lexemes: dict[int, str]) -> frozenset[int]:
    """Return the places of all lexemes that an identifier is written of; none where one of its parts has none."""
    if whole := [place for place, each in lexemes.items() if each == code]:
        return frozenset(whole)
    parts = set(filter(None, re.split(r"[^a-z0-9]+", code)))
    found = {place: each.lstrip("-#/") for place, each in lexemes.items() if each.lstrip("-#/") in parts}
    return frozenset(found) if parts.issubset(found.values()) else frozenset()


def _lexemes_of(code: str, lexemes: dict[int, str], tokens: Sequence[str]) -> frozenset[int]:
    """Return the places of the lexemes that hold the digits of a token of an identifier: all are needed.

    What looks like a year is one, but among the `tokens` of an identifier of several.
    """
    parts = {code, *re.split(r"[^a-z0-9]+", code)}
    numbered = {
        each for each in parts if any(map(str.isdigit, each)) and (len(tokens) > 1 or not _YEAR.fullmatch(each))
    }
    found = {place for place, each in lexemes.items() if each in numbered or each.lstrip("-#") in numbered}
    # Beside its parts the whole says nothing, and another way to write it lacks the whole.
    return frozenset(place for place in found if lexemes[place] != code) or frozenset(found)
