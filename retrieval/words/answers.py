"""Whether a text can be the kind of answer that a question wants: an amount, or words as they are quoted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable
from itertools import islice

from retrieval.words import times

_ASKS = re.compile(
    r"""\bhow\s+(?:many|old|big|tall|far|long|heavy|high|wide|large|deep|fast|often
      | much(?!\s+(?:do|does|did)\s+\w+\s+(?:like|love|enjoy|care|know|hate|want|trust|remember|understand)))\b""",
    re.IGNORECASE | re.VERBOSE,
)
# What only a sentence has, and no list of key words: a word that asks or points, or a verb that only helps.
_SENTENCE = re.compile(
    r"""\b(?:who|whom|whose|what|which|when|where|why|how|is|are|am|was|were|be|been|do|does|did|has|have|had|can|could
      | will|would|shall|should|may|might|must|i|me|my|we|us|our|you|your|he|him|his|she|her|they|them|their|it|its|this
      | that|these|those|the|tell|remind|show|give|list|find|look|let|please)\b""",
    re.IGNORECASE | re.VERBOSE,
)
# What asks something, and what only brings a thing up.
_ASKS_OF_IT = re.compile(
    r"""\b(?:who|whom|whose|what|which|when|where|why|how)\b
      | ^\W*(?:(?:and|but|or|so)\s+)?(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|shall|should
      | may|might|must)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_BRINGS_UP = re.compile(r"\W*(?:(?:and|but|or|so)\s+)?(?:what|how)\s+(?:of|about)\b", re.IGNORECASE)
# A question like these wants each of several memories, not one that answers.
_ASKS_ALL = re.compile(
    r"""\b(?:
        everything | anything\s+(?:about|on|of) | overview | rundown | details
      | (?<!at\s)(?<!after\s)(?<!in\s)all\s+(?:the|my|our|his|her|of|that|i|we|you|there|about|on|what)\b
      | lists?\s+(?:all|the|my|our|every|of|what)
      | summar(?:y|ies|i[sz]e[sd]?) | sums?\s+up | tell\s+me\s+about | (?:go|run|walk\s+me)\s+through
      | what\s+(?:do|did|have)\s+(?:i|we|you)\s+(?:\w+\s+)?(?:know|note|noted|written|kept|got)
      | steps\s+(?:to|of|for|towards?|are|were) | (?:the|my|our|which|what)\s+(?:\w+\s+)?steps
      | to\s+be\s+done | (?:has|have)\s+to\s+happen | (?:is|what['\u2019]s|still)\s+left
      | (?:must|should|need\s+to|have\s+to)\s+(?:i\s+|we\s+|you\s+)?(?:do|get\s+done)
    )\b | ^\s*(?:all|list)\b""",
    re.IGNORECASE | re.VERBOSE,
)
# Who asks for things of a kind ("Which countries have I been to?") may want what more than one memory tells. Behind a
# verb stands somebody: "Which car does Thomas have?"
_VERB = r"(?:is|was|are|were|have|had|has|do|did|does|can|could|should|must|will|would|need)\b"
_DID = r"(?:[^\W\d_]{2,}ed|came|went|left|gave|got|took|made|said|told|sent|lost|won|broke|paid|bought|sold|kept)\b"
_BETWEEN = r"(?:of|to|in|on|for|with|about|at|from|by)\b"
_MANY = rf"(?:(?!{_VERB}|{_BETWEEN})[^\W\d_]+\s+){{0,2}}?(?!{_VERB}|{_BETWEEN})[^\W\d_]+[^\W\d_sui]s(?!['\u2019\w])"
_ASKS_SEVERAL = re.compile(
    rf"""\b(?:
        (?:which|what)\s+{_MANY}\s+(?:{_BETWEEN}\s+(?:(?!{_VERB}|that\b)[^\W\d_]+\s+){{1,3}})?(?!(?:is|was)\b){_VERB}
      | which\s+{_MANY}\s+{_DID}
      | (?:who|what|which)\s+(?:are|were)\s+(?:the|my|our|his|her|their)
    )\b
      | (?:\A|[.!?:]\s)\s*(?:please\s+)?(?:(?:can|could|would|will)\s+you\s+)?
        (?:show|give|send|get|find|tell)\s+(?:(?:me|us)\s+)?(?:the|my|our|his|her|their)\s+{_MANY}""",
    re.IGNORECASE | re.VERBOSE,
)
# Where a sentence ends: not after "Dr.", "St." or "5." (May), nor within "1.4.2" or "settings.py"; after a long
# number, a digit behind a letter ("grandMA3.") and what closes where a capital begins the next.
_END = re.compile(
    r"""(?<=[a-z]{4}\.)\s+ | (?<=[!?])\s+ | \n
      | (?:
        (?<=\d{3}\.) | (?<=-\d\d\.) | (?<=[A-Za-z]\d\.) | (?<=[)\]"`\u201d]\.) | (?<=\.[)\]"\u201d])
      )\s+(?=[A-Z])""",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+")
_PARTICLE = 3
_WHO = re.compile(r"who(?:['\u2019]s| (?:is|was|are|were)) (.+)", re.IGNORECASE)
# What may stand behind the name: "Who is Ada to me", "Who was Ada again".
_BEHIND_A_NAME = re.compile(r" (?:again|to \w+)\Z", re.IGNORECASE)
# Characters: names are shorter.
_LONGEST_WHO = 200
# An amount, or what stands for one: none, all, an only child, a dozen.
_SAYS = re.compile(
    r"""\d | \b(?:
        one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve
      | (?:thir|four|fif|six|seven|eigh|nine)teen | (?:twen|thir|for|fif|six|seven|eigh|nine)ty
      | first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth
      | zero|hundreds?|thousands?|millions?|half|halves|quarters?|thirds?|dozens?|pairs?|couple|twins|triplets
      | single|double|triple|both|none|nothing|no|nobody|all|only|whole|full|few|several|many|much|little|free
      | once|twice|never|always|seldom|rarely|often|sometimes|usually|every|each|per
      | hourly|daily|weekly|fortnightly|monthly|yearly|annual(?:ly)?|minutes?|hours?|ages
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


# Unicode's categories of symbols that stand for a thing: currencies, and "other" ones such as emoji.
_PICTURES = frozenset({"Sc", "So"})
# A flag is two letters of its own kind; others have a colour of skin, or are joined to the next.
_PICTURE = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|[^\\w\\s\u200d][\U0001f3fb-\U0001f3ff]?(?:\u200d[^\\w\\s\u200d][\U0001f3fb-\U0001f3ff]?)*"
)
# Asks for the picture before it in colour, which says nothing.
COLOURED = "\ufe0f"
# Names of companies and languages whose letters alone are other words, or none: "AT&T", "C#", "C++", ".NET".
_SIGNED = re.compile(
    r"""(?<![\w&=?/+#.])(?:
        [^\W\d_]{1,3}(?:&[^\W\d_]{1,3})+(?![\w&=]) | [^\W\d_](?:\+\+|\#)(?![\w+#]) | \.net(?!\w)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_MOST_SIGNED = 4
# No letter follows, in words that PostgreSQL and Python both have.
_NO_LETTER = r"(?=[\d_]|\W|$)"
# In English, German and French.
QUOTED = re.compile(
    r'"([^"]+)"|\u201c([^\u201c\u201d]+)\u201d|\u201e([^\u201c-\u201e]+)[\u201c\u201d]|\u00ab([^\u00ab\u00bb]+)\u00bb'
)


def unquoted(question: str) -> str:
    """Return a question without what stands in quotes, which is meant by its words alone.

    >>> unquoted('Who wrote "May 2023" on it?')
    'Who wrote   on it?'
    """
    return QUOTED.sub(" ", question)


def says_nothing(question: str) -> bool:
    """Tell whether a question has no letter, no digit and no picture or currency, so that there is nothing to look for.

    >>> says_nothing(" ?!"), says_nothing("the"), says_nothing("€")
    (True, False, False)
    """
    return not any(each.isalnum() or unicodedata.category(each) in _PICTURES for each in question)


def pictures(question: str) -> tuple[str, ...]:
    """Return the pictures, such as emoji, of a question that has nothing else to look for; none of other questions.

    >>> pictures("\N{HONEYBEE}, \N{HONEYBEE}?"), pictures("\N{HONEYBEE} honey"), pictures("\N{HONEYBEE} \N{EURO SIGN}")
    (('\N{HONEYBEE}',), (), ())
    """
    if any(each.isalnum() or unicodedata.category(each) == "Sc" for each in question):
        return ()
    found = dict.fromkeys(_PICTURE.findall(question.replace(COLOURED, "")))
    return tuple(each for each in found if unicodedata.category(each[0]) == "So")


def signed(question: str) -> dict[str, str]:
    """Return the names in a question that are little without their signs, in lower case, and what matches each.

    That is a regular expression of PostgreSQL as of Python, to be matched in whatever case. Texts are read for each
    name, so it is the first `_MOST_SIGNED` of them.

    >>> list(signed("Does AT&T use C#, C++ or .NET?")), list(signed("a & b, C major, #4711, x.net"))
    (['at&t', 'c#', 'c++', '.net'], [])
    """
    names = dict.fromkeys(found[0].lower() for found in _SIGNED.finditer(question))
    return {name: _signs_of(name) for name in islice(names, _MOST_SIGNED)}


def unsigned(question: str, names: Container[str]) -> str:
    """Return a question with blanks where it has some of its `signed` names: all else keeps its place.

    >>> unsigned("Who writes C# and C++?", {"c#"})
    'Who writes    and C++?'
    """
    return _SIGNED.sub(lambda found: " " * len(found[0]) if found[0].lower() in names else found[0], question)


def _signs_of(name: str) -> str:
    if "&" in name:
        letters = r"\s?&\s?".join(name.split("&"))
        return rf"(?<![\w&]){letters}(?![\w&])"
    if name.startswith("."):
        return rf"(?<![\w.]){re.escape(name)}{_NO_LETTER}"
    if name.endswith("#"):
        return rf"(?<![\w#]){name[0]}(?:[#\u266f]|[\s-]?sharp)(?![\w#])"
    # An "app" is no "A++".
    others = r"|pp|[\s-]?plus[\s-]?plus" if name == "c++" else ""
    return rf"(?<!\w){name[0]}(?:\+\+{others})(?!\+){_NO_LETTER}"


def written_out(name: str) -> str:
    """Return the words that stand for one of the `signed` names; empty where there are none.

    >>> written_out("c#"), written_out("c++"), written_out("at&t")
    ('csharp', 'cpp cplusplus', '')
    """
    if name.endswith("#"):
        return f"{name[0]}sharp"
    return "cpp cplusplus" if name == "c++" else ""


def asks(text: str) -> bool:
    """Tell whether a text is a question or a request, not the key words of one.

    >>> asks("How old is Ada"), asks("rent?"), asks("Ada shoe size")
    (True, True, False)
    """
    return "?" in text or _SENTENCE.search(text) is not None


def what_asks(question: str) -> str:
    """Return the last sentence that asks, of several; all of what has none: agents tell before they ask.

    >>> what_asks("I am packing. Where is Rex's lead? Thanks!"), what_asks("Rex's lead")
    ("Where is Rex's lead?", "Rex's lead")
    """
    asking = [each.strip() for each in _END.split(question) if "?" in each and _WORD.search(each)]
    return asking[-1] if asking else question.strip()


def only_names(question: str) -> bool:
    """Tell whether a question names what it is about and asks nothing of it, so that whatever is known of that answers.

    >>> only_names("the bakery's birthday?"), only_names("And what about Rex?"), only_names("Tell me the order number")
    (True, True, True)
    >>> only_names("Which knee was it?"), only_names("Rex, how old is he?"), only_names("And was Rex ill?")
    (False, False, False)
    """
    return _ASKS_OF_IT.search(question) is None or _BRINGS_UP.match(question) is not None


def wants_all(question: str) -> bool:
    """Tell whether a question asks for each of several memories.

    >>> wants_all("Everything about the new oven"), wants_all("List my allergies"), wants_all("All that I need")
    (True, True, True)
    >>> wants_all("Who has the spare key?"), wants_all("Was it open at all?")
    (False, False)
    """
    return _ASKS_ALL.search(question) is not None


def wants_several(question: str) -> bool:
    """Tell whether what several memories say may belong to the answer of a question, as it asks for things of a kind.

    >>> wants_several("Which countries have I been to?"), wants_several("Who are my neighbours?")
    (True, True)
    >>> wants_several("What does Jonas do?"), wants_several("Which bus do I take?")
    (False, False)
    >>> wants_several("Which car does Thomas have?"), wants_several("Which cars does Thomas have?")
    (False, True)
    """
    return _ASKS_SEVERAL.search(question) is not None


def asks_who(question: str) -> bool:
    """Tell whether a question asks who somebody is, by a name alone.

    >>> asks_who("Who is Ada Berg?"), asks_who("who's Ludwig van Beethoven to me"), asks_who("Who was Dr. Okri again?")
    (True, True, True)
    >>> asks_who("Who is Ada's doctor?"), asks_who("Who is in Rome?"), asks_who("Who is the vet?")
    (False, False, False)
    """
    asked = " ".join(question.split()).rstrip(" ?!.")
    if len(asked) > _LONGEST_WHO or "?" in asked:
        return False
    found = _WHO.fullmatch(asked)
    names = _BEHIND_A_NAME.sub("", found[1]).split() if found is not None else []
    # Particles stand within a name alone.
    return bool(names) and all(each[0].isupper() for each in (names[0], names[-1])) and _are_names(names[1:-1])


def _are_names(words: Iterable[str]) -> bool:
    return all(each[0].isupper() or len(each) <= _PARTICLE for each in words)


def wants_an_amount(question: str) -> bool:
    """Tell whether only texts that say an amount can answer a question.

    >>> wants_an_amount("How old is Ada?"), wants_an_amount("How much does Ada like tea?")
    (True, False)
    """
    return _ASKS.search(question) is not None


def says_an_amount(text: str) -> bool:
    """Tell whether a text says a number, a word for one or a time, of whatever.

    >>> says_an_amount("Ada keeps bees"), says_an_amount("Ada is seven"), says_an_amount("Ada swims on Mondays")
    (False, True, True)
    """
    return _SAYS.search(text) is not None or times.says_when(text)
