"""What keeps two near-duplicate texts apart: a number, a date, a polarity word, a proper name or a sign.

SimHash sees words, not meaning: "meet at 3pm" and "meet at 4pm" are neighbours, yet one updates the other.
The marks are rules over English. They lean towards "different": a wrong "different" keeps one row too many,
which the user can merge, while a wrong "same" would destroy a statement.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from math import isqrt
from typing import NamedTuple

from memory.addresses import addresses
from memory.signs import exchanged, signs
from memory.text import without_references

_MOST_EXTRA_WORDS = 2
# Words that may be exchanged, or come and go, without another meaning: emphasis, articles, and what verbs need.
_FILLER_WORDS = """
    really very just also quite actually that this with have then a an the is am are be it its so as do does has too
"""
_FILLERS = frozenset(_FILLER_WORDS.split())
# What puts a verb into another time: who was married need not be.
_TENSES = frozenset(("was", "were", "been", "had", "did", "will", "would"))
# Words of English and of hardly another language: an English text has one among so many words, as a rule several.
_ENGLISH_WORDS = """
    the and with that this from they their there your would which when where who why because should about every it
    been his she you never only after before always
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_ENGLISH_EVERY = 12
# What a title has in small letters.
_LITTLE = _ENGLISH | frozenset(["a", "an", "as", "at", "by", "for", "in", "is", "of", "on", "or", "to"])
_LONGEST_TEMPLATE = 500
_LONGEST_SHORT = 3
_FEWEST_TEMPLATE_WORDS = 2
# What a verb loses behind one of these, which come only with "not" and in questions.
_ENDING = re.compile(r"(?:(?<=ss|zz|ch|sh)es|(?<=[xo])es|(?<![su])s)$")
_AUXILIARIES = frozenset(("do", "does", "did"))
_LONGEST_DIES = 4
# Begins what stands for a mark: a letter to the patterns below, and in no language's ordinary words.
_MASK = "\u01c2"
_DATE_MASK, _NUMBER_MASK, _NAME_MASK = f"{_MASK}date", f"{_MASK}number", f"{_MASK}name"


@dataclass(frozen=True, slots=True)
class Marks:
    """The distinguishing marks of a text, each kind in the order of the text and in canonical lower case.

    Sequences, not sets: "from 3 to 4" is not "from 4 to 3", "Alice manages Bob" is not "Bob manages Alice".
    """

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    negations: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a comparison needs of a text: its marks, its other words in lower case, its addresses and signs.

    `english` is how many of the words tell that it is English.
    """

    marks: Marks
    words: list[str]
    addresses: frozenset[str]
    signs: tuple[str, ...]
    english: int


class Sums(NamedTuple):
    """What words come to, in whatever order: how many they are, their hashes and the squares of these added up."""

    number: int
    plain: int
    squared: int


class Gist(NamedTuple):
    """What is quickly compared of a text, in the place of all its words."""

    marks: int
    order: int
    words: Sums
    telling: Sums
    addresses: frozenset[str]
    signs: tuple[str, ...]


class Shape(NamedTuple):
    """A text without its figures, months and days of the week, and these in their order."""

    frame: str
    slots: tuple[str, ...]


def read(text: str) -> Reading:
    """Return a text's reading, for texts that are compared with many."""
    marks, tokens = _read(text)
    words = [token.group().lower() for token in tokens]
    return Reading(marks, words, addresses(text), signs(_plain(text)), _english(tokens))


def distinguishing(text: str) -> Marks:
    """Return the marks of the original text (names need its case); links and citations carry none."""
    return _read(text)[0]


def differs(stored: str, new: str) -> str | None:
    """Return the first kind of mark in which a new text differs from a stored one, or None if they may be one memory.

    One of "date", "number", "negation", "name", "sign", "order" and "wording"; "order" means the same words in another
    ("uv over pip", "pip over uv"). A name counts as the same when the other text has it in lower case. An address that
    only the new text has is a difference, as a name: merged, it would be lost. One that it lacks is none.
    """
    return compare(read(stored), read(new))


def compare(stored: Reading, new: Reading) -> str | None:
    """Return what `differs` returns, for two texts that were read before."""
    marks, words, other_words = stored.marks, stored.words, new.words
    if marks.dates != new.marks.dates:
        return "date"
    if marks.numbers != new.marks.numbers:
        return "number"
    if marks.negations != new.marks.negations:
        return "negation"
    named = {*marks.names, *new.marks.names}
    if [word for word in words if word in named] != [word for word in other_words if word in named]:
        return "name"
    if new.addresses - stored.addresses:
        return "name"
    if exchanged(stored.signs, new.signs):
        return "sign"
    if words != other_words and sorted(words) == sorted(other_words):
        return "order"
    # In another language the word that is added may be its "not".
    is_english = _ENGLISH_EVERY * (stored.english + new.english) >= len(words) + len(other_words)
    return "wording" if _reworded(words, other_words, _MOST_EXTRA_WORDS if is_english else 0) else None


def gist(reading: Reading) -> Gist:
    """Return what `may_be_one` asks of a text; hashes are those of this process."""
    marks = reading.marks
    return Gist(
        marks=hash((marks.dates, marks.numbers, marks.negations)),
        order=hash(tuple(reading.words)),
        words=_sums(reading.words),
        telling=_sums(word for word in reading.words if word not in _FILLERS),
        addresses=reading.addresses,
        signs=reading.signs,
    )


def _sums(words: Iterable[str]) -> Sums:
    # Whole numbers without a limit, not below 0: what is added to them can be worked out again.
    hashes = [hash(word) % (1 << 64) for word in words]
    return Sums(len(hashes), sum(hashes), sum(each * each for each in hashes))


def may_be_one(stored: Gist, new: Gist) -> bool:
    """Tell whether `compare` may find no difference between two texts; False where it finds one.

    Takes as long for pages as for a line, so that a text can be held against hundreds that are nearly alike.
    """
    if stored.marks != new.marks or not new.addresses <= stored.addresses or exchanged(stored.signs, new.signs):
        return False
    if stored.words == new.words and stored.order != new.order:
        return False
    fewer, more = sorted((stored.telling, new.telling))
    return _may_be_added(more.number - fewer.number, more.plain - fewer.plain, more.squared - fewer.squared)


def _may_be_added(number: int, plain: int, squared: int) -> bool:
    """Tell whether so many words more, at most what emphasis needs, can have made these differences of `Sums`."""
    if number == 0:
        return plain == squared == 0
    if number == 1:
        return plain * plain == squared
    # Two numbers of this sum and these squares have the root as their difference.
    rest = 2 * squared - plain * plain
    return number == _MOST_EXTRA_WORDS and rest >= 0 and isqrt(rest) ** 2 == rest


def shape(text: str) -> Shape:
    """Return the shape of a text, in a seventh of the time that its gist takes.

    Texts of one frame whose slots differ are not one memory: they tell of other numbers or days, or in another order.
    """
    plain = without_references(unicodedata.normalize("NFKC", text)).translate(_LOWER)
    parts = _SLOT.split(plain)
    slots = parts[1::2]
    # "3 May" is "May 3".
    parts[1::2] = [_NUMBER_MASK if slot.isdigit() else _DATE_MASK for slot in slots]
    return Shape("".join(parts), tuple(map(_slot, slots)))


def _slot(written: str) -> str:
    """Return what is the same for all that `_date` and `_number` may take for the same: of a month its beginning."""
    if not written.isdigit():
        return written[:_LONGEST_SHORT]
    number = written.lstrip("0")
    # 12 am is 0 am.
    return "" if number == "12" else number


def _reworded(words: list[str], other_words: list[str], most: int) -> bool:
    """Tell whether one text says something that the other lacks, beside `most` words more.

    In a long text one word or one sentence more moves few bits: "vegetarian" for "vegan" among 160 words stays
    within distance 3 most of the time. So a word exchanged for another keeps texts apart, however short it is ("cat"
    and "dog", "he" and "she"), and so do more words added than emphasis needs.
    """
    if [word for word in words if word in _TENSES] != [word for word in other_words if word in _TENSES]:
        return True
    ours = Counter(word for word in words if word not in _FILLERS)
    theirs = Counter(word for word in other_words if word not in _FILLERS)
    lost, added = (ours - theirs).total(), (theirs - ours).total()
    return (lost > 0 and added > 0) or max(lost, added) > most


def _english(tokens: Sequence[re.Match[str]]) -> int:
    """Return how many words tell that a text is English: those of a title stand in texts of any language.

    A title is what begins with a capital and goes on with capitals and little words: "The Crown", "Game of Thrones".
    """
    titles = [_is_capitalised(token.group()) for token in tokens]
    behind = _beside_title(tokens, titles)
    before = _beside_title(tokens[::-1], titles[::-1])[::-1]

    def is_of_title(place: int) -> bool:
        if not titles[place]:
            return behind[place] and before[place]
        return before[place] or not _begins_sentence(tokens[place])

    return sum(token.group().lower() in _ENGLISH and not is_of_title(place) for place, token in enumerate(tokens))


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() and (len(word) == 1 or not word.isupper())


def _beside_title(tokens: Sequence[re.Match[str]], titles: Sequence[bool]) -> list[bool]:
    """Tell of each word whether the one before it has a capital, past little words."""
    beside, is_beside = [], False
    for token, is_title in zip(tokens, titles, strict=True):
        beside.append(is_beside)
        is_beside = is_title or (is_beside and token.group().lower() in _LITTLE)
    return beside


def digest_material(text: str) -> str:
    """Return the marks as one canonical string, equal for equal marks; meant as input of a keyed digest.

    Names depend on case here, since there is no second text to compare with.
    """
    marks = distinguishing(text)
    return "\n".join(f"{field.name}={'|'.join(getattr(marks, field.name))}" for field in fields(Marks))


def template(text: str) -> str | None:
    """Return the words of a text with each number, date and name masked by its kind; None when too few are left.

    Texts with one template may be updates of one another: "The dentist is at 3pm" and "The dentist is at 4pm".
    Polarity words are left out, so that "is allergic" and "is not allergic" share a template too, and the endings of
    verbs: "drinks" and "does not drink". Of a label and a value, as "Rent 700", one word is enough. A long text has
    none: there, SimHash finds what differs in little.
    """
    if len(text) > _LONGEST_TEMPLATE:
        return None
    rest = _plain(text)
    for pattern, mask in ((_DATE, _DATE_MASK), (_POLARITY, ""), (_NUMBER, _NUMBER_MASK)):
        _, rest = _take(pattern, re.Match.group, rest, mask)
    found = list(_TOKEN.finditer(rest))
    if (note := _label_and_value([token.group() for token in found])) is not None:
        return note
    # A capital that only begins a sentence may be anything's, so it is a name where nothing else is a mark: "Rent is
    # 700" tells of the rent, "Ada drinks tea" of Ada.
    sure = any(token.group().startswith(_MASK) or (_is_name(token) and not _is_perhaps(token)) for token in found)
    tokens = [_masked(token, perhaps=not sure) for token in found]
    words = [_stem(word) for word in tokens if not word.startswith(_MASK)]
    if len(words) < _FEWEST_TEMPLATE_WORDS or not any(map(_is_content, words)):
        return None
    # "3 May 2024" and "Ada Lovelace" are one mark each, as are "May" and "Ada".
    stems = (word if word.startswith(_MASK) else _stem(word) for word in tokens if word not in _AUXILIARIES)
    return " ".join(word for word, _ in groupby(stems))


def _label_and_value(tokens: Sequence[str]) -> str | None:
    """Return the template of a word and the numbers or dates behind it; None for any other text."""
    label, *values = tokens or [""]
    if not values or label.startswith(_MASK) or not all(value.startswith(_MASK) for value in values):
        return None
    return f"{label.lower()} {' '.join(kind for kind, _ in groupby(values))}" if _is_content(label.lower()) else None


def _masked(token: re.Match[str], *, perhaps: bool) -> str:
    word = token.group()
    if word.startswith(_MASK):
        return word
    return _NAME_MASK if _is_name(token) and (perhaps or not _is_perhaps(token)) else word.lower()


def _stem(word: str) -> str:
    """Return a verb as it stands behind "does not": "drinks" and "drink" are one word of a template."""
    if len(word) > _LONGEST_DIES and word.endswith("ies"):
        return f"{word[:-3]}y"
    return _ENDING.sub("", word) if len(word) > _LONGEST_SHORT else word


def _is_content(word: str) -> bool:
    known = _FILLERS if len(word) > _LONGEST_SHORT else _FILLERS | _COMMON
    return len(word) >= _LONGEST_SHORT and word not in known


def _read(text: str) -> tuple[Marks, list[re.Match[str]]]:
    """Return the marks and the remaining words. Each kind takes its text from the next."""
    rest = _plain(text)
    dates, rest = _take(_DATE, _date, rest)
    negations, rest = _take(_POLARITY, lambda match: str(match.lastgroup), rest)
    numbers, rest = _take(_NUMBER, _number, rest)
    tokens = list(_TOKEN.finditer(rest))
    names = tuple(token.group().lower() for token in tokens if _is_name(token))
    return Marks(numbers, dates, negations, names), tokens


# The verb stays where its "not" goes: who wasn't married may be by now.
_CONTRACTED = re.compile(
    r"\b(?:(ca|wo|sha|do|does|did|is|are|was|were|has|have|had|would|should|could|must|need)n't|(ca)nnot)\b", re.I
)
_VERBS = {"ca": "can", "wo": "will", "sha": "shall"}


def _plain(text: str) -> str:
    plain = without_references(unicodedata.normalize("NFKC", text)).replace("\u2019", "'")
    return _CONTRACTED.sub(_apart, plain)


def _apart(contracted: re.Match[str]) -> str:
    verb = (contracted[1] or contracted[2]).lower()
    return f"{_VERBS.get(verb, verb)} not"


# Letter by letter, so that places stay. The last two are what a pattern that ignores case takes for an i.
_LOWER = str.maketrans(string.ascii_uppercase + "\u0130\u0131", string.ascii_lowercase + "ii")


def _take(
    pattern: re.Pattern[str], canonical: Callable[[re.Match[str]], str], text: str, mask: str = ","
) -> tuple[tuple[str, ...], str]:
    """Return what a pattern of small letters finds in a text of any, and the text with the mask in its places.

    A pattern that ignores case would take more than twice as long.
    """
    found, rest, end = [], [], 0
    for match in pattern.finditer(text.translate(_LOWER)):
        found.append(canonical(match))
        rest.append(text[end : match.start()])
        end = match.end()
    return tuple(found), f" {mask} ".join([*rest, text[end:]])


# --- names ---

_TOKEN = re.compile(r"\w+(?:[-./@]\w+)*(?:\+\+|#)?")
_CODE = re.compile(r"[\d_./@+#]|[a-z][A-Z]")  # HERON-42, snake_case, settings.py, C++, camelCase
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n])[\s\"'*()>-]*$")
# Words that open an English sentence, or a note in telegram style, without being anyone's name.
_COMMON_WORDS = """
    a about add after agreed all also although always am an and another any are as ask asked at be because
    before being best both bought build but buy by call can check could create decided did do does during
    each either every everyone fix for from get give go goes going good got had has have having he her here
    hi his how however i if in into is it its just keep last learned let lives made make many may me meet
    meeting met might most much must my need needs new next note now of off often ok on once one only open
    or other our out over owns plan plans please prefer preferred prefers put read reads remember remind run
    said save says see send set she should show since so some still switched take tell than thank thanks
    that the their them then there these they thinks this those though through to today told try turn two
    under until up update us use used user uses usually visited wants was we well went were what when where
    which while who why will wishes with work works would write writes yes you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def _is_name(token: re.Match[str]) -> bool:
    word = token.group()
    if _CODE.search(word) or (len(word) > 1 and word.isupper()):
        return True
    if not word[0].isupper() or word == "I":
        return False
    return word.lower() not in _COMMON or not _begins_sentence(token)


def _is_perhaps(token: re.Match[str]) -> bool:
    """Tell whether only a capital at the beginning of a sentence makes a word a name."""
    word = token.group()
    return not _CODE.search(word) and not (len(word) > 1 and word.isupper()) and _begins_sentence(token)


def _begins_sentence(token: re.Match[str]) -> bool:
    return _SENTENCE_START.search(token.string[max(0, token.start() - 12) : token.start()]) is not None


# --- dates ---

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# "may" and "march" are also verbs: they count beside a day, a year or a preposition of time only.
_DATE = re.compile(
    r"""\b(?:
      (?P<iso>\d{4}-\d{1,2}-\d{1,2})
    | (?P<numeric>\d{1,2}(?P<separator>[/.-])\d{1,2}(?P=separator)(?:\d{4}|(?<=/)\d{2}))
    | (?:(?P<which>next|last|this|every|coming|previous)\s)?
      (?: (?:(?P<day>\d{1,2})(?:st|nd|rd|th)?\s(?:of\s)?)?
          (?P<month>jan(?:uary)?|feb(?:ruary)?|mar|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?
            |oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?:may|march)(?=\s\d)
            |(?:(?<=\d\s)|(?<=\dst\s)|(?<=\d[nrt][dh]\s)|(?<=\b(?:in|of|by|to)\s)|(?<=\bbefore\s)
              |(?<=\b(?:late|last|next|this|from)\s)|(?<=\b(?:since|until|early|after|every)\s))
              (?:may|march))\.?
          (?:\s(?P<after>\d{1,2})(?:st|nd|rd|th)?(?![\d:%]|\s?[ap]\.?m))?(?:,?\s(?P<year>\d{4}))?
        | (?P<weekday>(?:mon|tues?|wednes|thurs?|fri|satur|sun)days?|mon|tues?|thu|thurs|fri))
    | (?P<words>(?:next|last|this|every|coming|previous)\s(?:day|week|weekend|month|quarter|year|term|season)
      | to(?:day|night|morrow)|yesterday|ago|(?:dai|week|fortnight|month|quarter|year|annual|hour)ly
      | morning|noon|afternoon|evening|midnight|weekends?|weekdays?
      | spring|summer|autumn|winter|christmas|easter)
    )\b""",
    re.VERBOSE,
)


def _date(match: re.Match[str]) -> str:
    """Return one spelling per date: 3 May 2024, May 3rd, 2024 and 2024-05-03 are 2024-5-3."""
    group = {name: (value or "").lower() for name, value in match.groupdict().items()}
    if group["iso"]:
        return "-".join(part.lstrip("0") for part in group["iso"].split("-"))
    if group["month"]:
        month = _MONTHS.index(group["month"][:3]) + 1
        # "12 May 24" may be of a year, and 24 whatever follows.
        day = "-".join(part.lstrip("0") for part in (group["day"], group["after"]) if part)
        return f"{group['which']} {group['year']}-{month}-{day}".strip()
    if group["weekday"]:
        return f"{group['which']} {group['weekday'][:3]}".strip()
    return match.group().lower()


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SLOT = re.compile(rf"([0-9]+|\b(?:{'|'.join(_MONTHS + _DAYS)})[a-z]*\b)")


# --- numbers ---

_COUNTED = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
"""
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = ["fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_VALUES = {word: str(value) for value, word in enumerate(_COUNTED.split())}
_VALUES |= {word: str(10 * value) for value, word in enumerate(_TENS, start=2)}
_VALUES |= {word: f"{value}th" for value, word in enumerate(_ORDINALS, start=4)}
_VALUES |= {"first": "1st", "second": "2nd", "third": "3rd", "half": "0.5", "once": "1", "twice": "2"}
_VALUES |= {
    "dozen": "12",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "billion": "1000000000",
}
_ONES = "|".join(_COUNTED.split()[1:10])
_UNITS = {
    "percent": "%",
    "per cent": "%",
    "pct": "%",
    "dollars": "$",
    "dollar": "$",
    "usd": "$",
    "euros": "€",
}
_UNITS |= {"euro": "€", "eur": "€", "gbp": "£", "a.m": "am", "p.m": "pm", "a.m.": "am", "p.m.": "pm"}
_NUMBER = re.compile(
    rf"""(?<!\w)(?<![^\W\d_][-_./@])        # not the tail of a code name such as HERON-42
    (?P<sign>[-\u2212]?)(?P<currency>[$€£¥]?)\s?
    (?:(?P<digits>\d+(?:[.,:]\d+)*|\.\d+)(?P<tight>st|nd|rd|th|k|m|bn|g|l|h|s|x|d)?
      |(?P<tens>{"|".join(_TENS)})(?:[-\s](?P<ones>{_ONES}))?
      |(?P<word>{"|".join(_VALUES)}))
    (?:\s?(?P<unit>%|percent|per\scent|pct|[ap]\.m\.?|[ap]m|dollars?|euros?|usd|eur|gbp|[$€£¥]
        |kg|km|cm|mm|mg|ml|kb|mb|gb|tb|ms|px))?
    (?!\w)""",
    re.VERBOSE,
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def _number(match: re.Match[str]) -> str:
    """Return one spelling per quantity: 1,000 is 1000, five percent is 5%, 3 p.m. is 15:00."""
    group = {name: (value or "").lower() for name, value in match.groupdict().items()}
    unit = group["currency"] or group["tight"] or _UNITS.get(group["unit"], group["unit"])
    amount = _amount(group)
    if unit in {"am", "pm"}:
        return _clock(amount, afternoon=unit == "pm")
    return f"{'-' if group['sign'] else ''}{amount}{unit}"


def _amount(group: dict[str, str]) -> str:
    if group["tens"]:
        return str(int(_VALUES[group["tens"]]) + int(_VALUES.get(group["ones"], "0")))
    if group["word"]:
        return _VALUES[group["word"]]
    digits = group["digits"]
    return digits.replace(",", "") if _THOUSANDS.fullmatch(digits) else digits.replace(",", ".")


def _clock(amount: str, *, afternoon: bool) -> str:
    hour, _, minute = amount.replace(".", ":").partition(":")
    if not hour.isdecimal() or int(hour) > 12:
        return amount
    return f"{int(hour) % 12 + 12 * afternoon}:{minute or '00'}"


# --- polarity ---

_POLARITY_WORDS = {
    "not": r"not|cannot|(?:ca|wo|sha|do|does|did|is|are|was|were|has|have|had|would|should|could|must|need"
    r"|ai)n'?t",
    "no_longer": r"no\s(?:longer|more)|any\s?more",
    "no": r"no|none|nobody|no\sone|nothing|nowhere|neither|nor",
    "never": r"never",
    "rarely": r"rarely|seldom|hardly|barely|scarcely",
    "without": r"without|except|excluding|unless|lack(?:s|ed|ing)?",
    "like": r"lik(?:es?|ed|ing)|lov(?:es?|ed|ing)|enjoy(?:s|ed|ing)?|ador(?:es?|ed)",
    "dislike": r"dislik(?:es?|ed|ing)|unlik(?:e|ed|ely)|hat(?:es?|ed|ing)|loath(?:es?|ed)"
    r"|detest(?:s|ed)?|despis(?:es?|ed)",
    "start": r"start(?:s|ed|ing)?|beg[aiu]ns?|resum(?:es?|ed|ing)",
    "stop": r"stop(?:s|ped|ping)?|quit(?:s|ting)?|ceas(?:es?|ed|ing)|g[ai]ves?\sup|cancel(?:s|l?ed|l?ing)?",
    "allow": r"allow(?:s|ed|ing)?|permit(?:s|ted)?|accept(?:s|ed|ing)?|approv(?:es?|ed)",
    "avoid": r"avoid(?:s|ed|ing)?|refus(?:es?|ed|ing)|forb(?:ids?|idden|ade)|bann?(?:s|ed)?|den(?:y|ies|ied)"
    r"|reject(?:s|ed|ing)?|prohibit(?:s|ed)?|declin(?:es?|ed)",
    "enable": r"enabl(?:es?|ed|ing)",
    "disable": r"disabl(?:es?|ed|ing)",
    "allergic": r"allerg(?:ic|y|ies)|intoleran(?:t|ce)",
    "un": r"un(?:able|available|aware|willing|safe|happy|interested|comfortable|supported|paid|finished"
    r"|married)|false|impossible|incorrect|invalid|inactive|disagree(?:s|d)?|fail(?:s|ed|ing)?",
    "more": r"more|increas(?:es?|ed|ing)",
    "less": r"less|fewer|decreas(?:es?|ed|ing)|reduc(?:es?|ed|ing)",
    "before": r"before",
    "after": r"after",
}
_POLARITY = re.compile(
    r"\b(?:" + "|".join(f"(?P<{kind}>{words})" for kind, words in _POLARITY_WORDS.items()) + r")\b",
)
