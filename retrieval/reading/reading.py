"""Read a question and a note together, to tell whether the note answers it.

Vectors and words say what a note is about, made before anybody asks: "Rex had his shots in May" is about what "How old
is Rex?" is about, and does not answer it. The reader is a cross-encoder (Nogueira and Cho 2019) that comes as a
package, `memory.embedding.cross_encoder`, trained on by `evals.reader`; what training changed lies in `reader.npz`. It
computes in whole numbers of eight bits where that gives what training computed, else in single precision, and reads
English.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memory.embedding.bundled import MINILM
from memory.embedding.passages import LONGEST, READ
from memory.embedding.rounded import Arithmetic, arithmetics
from retrieval.reading.model import STOPS, WEIGHTS, ReaderModel, open_cross_encoder, read_stops
from retrieval.words.answers import what_asks

logger = logging.getLogger(__name__)

# Pieces of words of a question. A longer note is read in parts as long as the notes that it learned from: of more at
# once it makes anything. The passages of a long one that are read come to so many parts, and few to more.
_LONGEST_QUESTION = 64
_PART = 40
_MOST_PARTS = 9
# Log-odds that the rounded numbers may be off by for a sample that training computed: a few tenths are usual.
_TOLERANCE = 0.6
_REMEMBERED = 8192
# What shows early that it does not answer is taken to be so likely to: the stops were fitted to tell that, and no more.
HOPELESS = 0.02
# A part that answers this likely tells enough of its note: the others are not read.
_SETTLED = 0.9
# Stands for what is not remembered; None is remembered, and says that a text cannot be read.
_FORGOTTEN = -1.0

# The vocabulary has nearly every English word whole, and of other languages two pieces or more for most.
# Of the questions of `evals/languages.jsonl` the others have 1.4 or more, of the golden ones 95 % less.
_PIECES_PER_WORD = 1.4
# Words of a trade break into more: "rate limit for webhooks". So many are English beside a word that leans to it.
_PIECES_BESIDE_ENGLISH = 2.0
# So many words without a capital tell the language without the others.
_TELLING = 3
# What the vocabulary does not know at all is one piece, and as foreign as many.
_UNKNOWN_PIECES = 4
# One of the first or two of the second, and none of the next, make a text with unusual words English all the same.
_ONLY_ENGLISH = frozenset(
    """
    the with what which who where when why how from about their your does did should because every after before until
    never always only called takes gets our she they would could each monday tuesday wednesday thursday friday saturday
    sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays january february june july october
    """.split()  # noqa: SIM905  # A list of fifty quoted words cannot be read.
)
_ENGLISH = frozenset(
    """
    is has have had been be were do we and this that there are my you its
    to of for by it not but at on or an no
    """.split()  # noqa: SIM905  # As above.
)
# No other language in Latin letters has these, or few have some and seldom alone: Polish "my", Danish "for".
_LEANS_TO_ENGLISH = frozenset("my our your all every with for this that there its were".split())  # noqa: SIM905
# What a request begins with, or what can be answered by yes or no, and whom that is asked of: both make it English.
_ASKS = frozenset(
    """
    is am are were do does did has have had can could may might must will would shall should
    list show give tell find
    """.split()  # noqa: SIM905  # As above.
)
_ASKED_OF = frozenset(
    """
    i we you he she it they there the my our your his her their this that these those any anyone anybody anything
    me us all every
    """.split()  # noqa: SIM905  # As above.
)
# One of these tells a short text in another language whose words the vocabulary happens to have.
_FOREIGN = frozenset(
    """
    ist sind wo wie wer wann wem wen welche welcher welches haben hast und nicht ich mein meine dein wir ihr
    où qui que quel quelle quels quand comment combien nous vous une sont è quando quanto mio sono della gli
    quién qué dónde cuándo cómo cuál está tiene onde quem qual meu minha são waar wat wanneer mijn een zijn heeft
    gdzie kiedy jak moje hva hvor hvem hvordan når vem hvad hvornår hvilken
    für auf eine zum zur het voor niet naar maar geen og ikke jeg på för inte och att jag avec pour dans
    nie się jest są je není že nem
    """.split()  # noqa: SIM905  # As above.
)
# Of these English has two as well: beside what only English has they are no others.
_ALSO_ENGLISH = frozenset({"comment", "pour"})
_WORD = re.compile(r"[^\W\d_]+")
# Also after short words: a part may well end within "Dr. Meyer".
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
# Characters of a text that is read: longer ones would be read in part, and what answers may be in the rest.
LONGEST_TEXT = READ * (LONGEST + 1)


def _name(question: str, text: str, *, to_the_end: bool) -> bytes:
    said = f"{to_the_end} {len(question)} {question}{text}".encode("utf-8", "replace")
    return hashlib.blake2b(said, digest_size=16).digest()


def _is_english(lower: Sequence[str]) -> bool | None:
    """Tell by the lists of common words whether a text is in English; None where they leave that open."""
    surely = not _ONLY_ENGLISH.isdisjoint(lower)
    others = _FOREIGN - _ALSO_ENGLISH if surely else _FOREIGN
    english, foreign = (len(known.intersection(lower)) for known in (_ENGLISH | _ONLY_ENGLISH, others))
    if foreign:
        # Names are of any language: "Where does Wen come from?", "the concert at São João".
        return surely and english > 2 * foreign
    if surely or english > 1 or (_asks(lower) and not _ASKED_OF.isdisjoint(lower[1:2])):
        return True
    return None


def _asks(lower: Sequence[str]) -> bool:
    return not _ASKS.isdisjoint(lower[:1])


def _sigmoid(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


class CannotReadError(Exception):
    """The reader does not compute here what it was trained to."""


class Reader:
    """Tells how likely notes answer questions; safe to share between threads.

    What it read lately it remembers by a digest, never by its words. `stops` is a file of where reading may end early,
    None for nowhere. Raises `CannotReadError` where it computes something else than in training, and whatever finds a
    file damaged.
    """

    def __init__(self, weights: Path = WEIGHTS, stops: Path | None = STOPS) -> None:
        # That of the bundled encoder: both have the vocabulary of BERT.
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(Path(MINILM) / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._begin, self._end = self._tokenizer.encode("").ids
        self._unknown = self._tokenizer.token_to_id("[UNK]") or 0
        with np.load(weights) as file:
            arrays = dict(file)
        encoder = open_cross_encoder()
        self._known: OrderedDict[bytes, float | None] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(psutil.cpu_count() or 1, thread_name_prefix="reading")
        known = [] if stops is None else read_stops(stops, weights)
        for arithmetic in arithmetics():
            self.model = ReaderModel(encoder, arrays, arithmetic, known)
            if (off := self._off(arrays)) <= _TOLERANCE:
                slow = arithmetic is Arithmetic.SINGLE
                logger.log(logging.WARNING if slow else logging.INFO, "the reader computes in %s", arithmetic.value)
                return
        raise CannotReadError(f"a sample is off by {off:.2f}")

    def can_read(self, text: str) -> bool:
        """Tell whether a note is short enough and in English, as far as its words tell; what has no words is."""
        if len(text) > LONGEST_TEXT:
            return False
        words = _WORD.findall(text)
        lower = [word.lower() for word in words]
        told = _is_english(lower)
        return self._looks_english(words, lower) if told is None else told

    def _looks_english(self, words: Sequence[str], lower: Sequence[str]) -> bool:
        """Tell whether words that the lists leave open are English, by how few pieces of the vocabulary they take."""
        if 2 * sum(not word.isascii() for word in words) > len(words):
            return False
        # Names say little of the language around them, as long as there is some: "Is Zoleka married?"
        plain = [word for word in words if word.islower()]
        leans = not _LEANS_TO_ENGLISH.isdisjoint(lower) and all(word.isascii() for word in plain)
        most = _PIECES_BESIDE_ENGLISH if leans else _PIECES_PER_WORD
        if len(plain) >= _TELLING:
            return self._is_known(plain, most)
        return self._is_known(words, most) or (_asks(lower) and bool(plain) and self._is_known(plain, most))

    def _is_known(self, words: Sequence[str], most: float) -> bool:
        """Tell whether the vocabulary has some words in at most so many pieces each, on average."""
        pieces = self._pieces(" ".join(words))
        foreign = (_UNKNOWN_PIECES - 1) * pieces.count(self._unknown)
        return len(pieces) + foreign <= most * len(words)

    def can_take(self, question: str) -> bool:
        """Tell whether a question is in English, and short enough for what it asks to be read."""
        asked = what_asks(question)
        return self.can_read(asked) and len(self._pieces(asked)) <= _LONGEST_QUESTION

    def sureness(self, question: str, text: str, *, to_the_end: bool = False) -> float | None:
        """Return how likely it is, in [0, 1], that a text answers a question; None for a text that it cannot read.

        Of a question only the last sentence that asks is read, of a text of several parts the likeliest counts, or the
        first that surely answers. What shows early that it does not is `HOPELESS`, unless it is read `to_the_end`.
        """
        question = what_asks(question)
        name = _name(question, text, to_the_end=to_the_end)
        if (remembered := self._remembered(name)) != _FORGOTTEN:
            return remembered
        # That a text cannot be read is remembered as well: it takes longer to tell than all the rest.
        found = self._likelihood(question, text, to_the_end=to_the_end) if self.can_read(text) else None
        with self._lock:
            self._known[name] = found
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found

    def each(
        self,
        asked: Iterable[tuple[str, str]],
        *,
        seconds: float | None = None,
        whole: Sequence[bool] = (),
        at_once: Iterable[int] = (),
    ) -> Iterator[float | None]:
        """Yield the sureness of each pair of a question and a text; `whole` says of each whether to its end.

        `at_once` says how many are begun together, each time when those before are done; the last two by two. Whoever
        stops has had the rest of those read in vain. All of a process are read by as many threads as there are cores,
        or else many at once would keep one another from ever ending. Raises `TimeoutError` where the next was not read
        `seconds` after the first was asked for.
        """
        until = None if seconds is None else time.monotonic() + seconds
        wanted = iter([*zip(asked, chain(whole, repeat(False)), strict=False)])
        for size in chain(at_once, repeat(2)):
            if not (some := [*islice(wanted, size)]):
                return
            reading = [self._begun(*pair, to_the_end=each) for pair, each in some]
            try:
                for each in reading:
                    yield each.result(None if until is None else until - time.monotonic())
            finally:
                for each in reading:
                    each.cancel()

    def _begun(self, question: str, text: str, *, to_the_end: bool) -> Future[float | None]:
        """Begin to read a text; what was read lately is there at once and waits for nobody."""
        remembered = self._remembered(_name(what_asks(question), text, to_the_end=to_the_end))
        if remembered == _FORGOTTEN:
            return self._pool.submit(self.sureness, question, text, to_the_end=to_the_end)
        done: Future[float | None] = Future()
        done.set_result(remembered)
        return done

    def _remembered(self, name: bytes) -> float | None:
        """Return the sureness that is remembered, or else `_FORGOTTEN`."""
        with self._lock:
            if name not in self._known:
                return _FORGOTTEN
            self._known.move_to_end(name)
            return self._known[name]

    def _likelihood(self, question: str, text: str, *, to_the_end: bool) -> float:
        found: list[float] = []
        for part in self.pieces(question, text):
            log_odds = self.model.log_odds(*part, to_the_end=to_the_end)
            if log_odds is not None:
                found.append(_sigmoid(log_odds))
                if found[-1] >= _SETTLED:
                    break
        return max(found, default=HOPELESS)

    def pieces(self, question: str, text: str) -> Iterator[tuple[list[int], list[int]]]:
        """Give what the model is given of a question and of each part of a text."""
        asked = [self._begin, *self._pieces(question)[:_LONGEST_QUESTION], self._end]
        for part in islice(self._parts(text), _MOST_PARTS):
            yield asked, [*part, self._end]

    def _parts(self, text: str) -> Iterator[list[int]]:
        """Give the parts that a text is read in: sentences as far as they have room, the next begins with the last."""
        held: list[list[int]] = []
        told = self._pieces(text)
        # Passages share a sentence with the next.
        sentences = dict.fromkeys(_SENTENCE_END.split(text))
        for sentence in map(self._pieces, sentences) if len(told) > _PART else [told]:
            if held and sum(map(len, held)) + len(sentence) > _PART:
                yield [*chain.from_iterable(held)]
                held = held[-1:] if len(held) > 1 and len(held[-1]) + len(sentence) <= _PART else []
            if len(sentence) > _PART:
                yield from (sentence[start : start + _PART] for start in range(0, len(sentence), _PART * 3 // 4))
                continue
            held.append(sentence)
        if held:
            yield [*chain.from_iterable(held)]

    def _pieces(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _off(self, arrays: Mapping[str, NDArray[Any]]) -> float:
        samples = json.loads(arrays["samples"].tobytes())
        found = [
            max(self.model.log_odds(*part, to_the_end=True) or 0.0 for part in self.pieces(*each)) for each in samples
        ]
        return float(np.abs(np.array(found) - arrays["logits"]).max())


def shared_reader() -> Reader | None:
    """Return this process's reader, loaded at the first call; None, and the log says why, where it cannot be."""
    with _loading:
        return _loaded()


@cache
def _loaded() -> Reader | None:
    try:
        return Reader()
    except Exception:  # Without a reader a search goes by words and vectors alone: better than none.
        logger.exception("there is no reader")
        return None


# A cache alone would let the first callers load one each.
_loading = threading.Lock()
