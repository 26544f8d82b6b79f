"""What distinguishes a text from others of nearly the same words: its numbers, dates, polarity words and names.

The marks are rules over English. They lean towards "different": a wrong "different" keeps one row too many, which the
user can merge, while a wrong "same" would destroy a statement.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from dataclasses import dataclass, fields

from memory.texts.fingerprints import without_references
from memory.texts.scripts import WORD, compatible

# Begins what stands for a mark: a letter to the patterns below, and in no language's ordinary words.
MASK = "\u01c2"
DATE_MASK, NUMBER_MASK, NAME_MASK = f"{MASK}date", f"{MASK}number", f"{MASK}name"


@dataclass(frozen=True, slots=True)
class Marks:
    """The distinguishing marks of a text, each kind in the order of the text and in canonical lower case.

    Sequences, not sets: "from 3 to 4" is not "from 4 to 3", "Alice manages Bob" is not "Bob manages Alice".
    """

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    negations: tuple[str, ...]
    names: tuple[str, ...]


def distinguishing(text: str) -> Marks:
    """Return the marks of the original text (names need its case); links and citations carry none."""
    return marks_and_tokens(text)[0]


def digest_material(text: str) -> str:
    """Return the marks as one canonical string, equal for equal marks; meant as input of a keyed digest.

    Names depend on case here, since there is no second text to compare with.
    """
    marks = distinguishing(text)
    return "\n".join(f"{field.name}={'|'.join(getattr(marks, field.name))}" for field in fields(Marks))


def marks_and_tokens(text: str) -> tuple[Marks, list[re.Match[str]]]:
    """Return the marks, and the words that no date, polarity word or number has taken: names are among them.

    Each kind takes its text from the next.
    """
    rest = plain(text)
    dates, rest = _take(_DATE, _date, rest)
    negations, rest = _take(_POLARITY, lambda match: str(match.lastgroup), rest)
    numbers, rest = _take(_NUMBER, _number, rest)
    tokens = list(TOKEN.finditer(rest))
    names = tuple(token.group().lower() for token in tokens if is_name(token))
    return Marks(numbers, dates, negations, names), tokens


def masked(text: str) -> str:
    """Return a text as `plain` has it, with a mask for each date and number and without its polarity words."""
    rest = plain(text)
    for pattern, mask in ((_DATE, DATE_MASK), (_POLARITY, ""), (_NUMBER, NUMBER_MASK)):
        _, rest = _take(pattern, re.Match.group, rest, mask)
    return rest


# The verb stays where its "not" goes: who wasn't married may be by now.
_CONTRACTED = re.compile(
    r"\b(?:(ca|wo|sha|do|does|did|is|are|was|were|has|have|had|would|should|could|must|need)n't|(ca)nnot)\b", re.I
)
_VERBS = {"ca": "can", "wo": "will", "sha": "shall"}


def plain(text: str) -> str:
    """Return the text `compatible`, without links and citations, each contracted "not" written apart."""
    straight = without_references(compatible(text)).replace("\u2019", "'")
    return _CONTRACTED.sub(_apart, straight)


def _apart(contracted: re.Match[str]) -> str:
    verb = (contracted[1] or contracted[2]).lower()
    return f"{_VERBS.get(verb, verb)} not"


# Replaces letter by letter, so that places stay the same. The last two are what a pattern that ignores case takes for
# an i.
LOWER = str.maketrans(string.ascii_uppercase + "\u0130\u0131", string.ascii_lowercase + "ii")


def _take(
    pattern: re.Pattern[str], canonical: Callable[[re.Match[str]], str], text: str, mask: str = ","
) -> tuple[tuple[str, ...], str]:
    """Return what a pattern of small letters finds in a text of any, and the text with the mask in its places.

    A pattern that ignores case would take more than twice as long.
    """
    found, rest, end = [], [], 0
    for match in pattern.finditer(text.translate(LOWER)):
        found.append(canonical(match))
        rest.append(text[end : match.start()])
        end = match.end()
    return tuple(found), f" {mask} ".join([*rest, text[end:]])


# --- names ---

TOKEN = re.compile(rf"{WORD.pattern}(?:[-./@]{WORD.pattern})*(?:\+\+|#)?")
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
COMMON = frozenset(_COMMON_WORDS.split())


def is_name(token: re.Match[str]) -> bool:
    word = token.group()
    if _CODE.search(word) or (len(word) > 1 and word.isupper()):
        return True
    if not word[0].isupper() or word == "I":
        return False
    return word.lower() not in COMMON or not begins_sentence(token)


def is_perhaps_name(token: re.Match[str]) -> bool:
    """Tell whether only a capital at the beginning of a sentence makes a word a name."""
    word = token.group()
    return not _CODE.search(word) and not (len(word) > 1 and word.isupper()) and begins_sentence(token)


def begins_sentence(token: re.Match[str]) -> bool:
    return _SENTENCE_START.search(token.string[max(0, token.start() - 12) : token.start()]) is not None


# --- dates ---

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
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
        month = MONTHS.index(group["month"][:3]) + 1
        # "12 May 24" may be of a year, and 24 whatever follows.
        day = "-".join(part.lstrip("0") for part in (group["day"], group["after"]) if part)
        return f"{group['which']} {group['year']}-{month}-{day}".strip()
    if group["weekday"]:
        return f"{group['which']} {group['weekday'][:3]}".strip()
    return match.group().lower()


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


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
