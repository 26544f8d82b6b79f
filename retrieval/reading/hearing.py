"""Whether something that was found answers: what can be read is read, of the rest words, vectors and rules decide."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from memory.embedding.likeness import cosine_of
from retrieval.course import Course
from retrieval.days import asked_beside
from retrieval.days.dates import local, zone_of
from retrieval.days.eras import Era, as_asked_then, era_of
from retrieval.days.from_then import tells_no_other
from retrieval.lookup.candidates import Source
from retrieval.query import Dense
from retrieval.ranking.silence import Judge
from retrieval.ranking.types import Scored, Vector
from retrieval.reading.versions import overtakes, versions
from retrieval.words import times
from retrieval.words.about import Asked, without_names
from retrieval.words.answers import (
    asks,
    asks_who,
    only_names,
    says_an_amount,
    unquoted,
    wants_all,
    wants_an_amount,
    wants_several,
)
from retrieval.words.passage import EMPTY
from retrieval.words.speakers import is_talk

if TYPE_CHECKING:
    from retrieval.reading.reading import Reader

logger = logging.getLogger(__name__)

# So many candidates are fetched once more before the search keeps silent, to look for an amount or at what they say
# beside a name; where more are about the question, it is not silent.
LOOKED_AT = 10
# The first so many notes are read in several passages: with all of them, a search among long notes would take twice as
# long.
READ_WIDELY = 2
# What `degraded` says where there was no time to read all that had to be read.
UNREAD = "reading"


@dataclass(frozen=True, slots=True)
class Hearing:
    """One question before its judge, with what can be asked besides: the database, the model, and who reads."""

    source: Source
    judge: Judge
    dense: Dense | None
    question: str
    course: Course

    @classmethod
    def of(
        cls, question: str, asked: Asked, source: Source, dense: Dense | None, course: Course, *, talk: bool
    ) -> Hearing:
        """Return the hearing of a question understood as `asked`; `talk`: the candidates are turns of a talk."""
        judge = Judge(
            source.policy,
            asked,
            talk=talk,
            wants_all=wants_all(question),
            wants_several=wants_several(question),
            only_names=only_names(question),
            hint=None if asks(question) else asked_beside.hint_of(unquoted(question), source.now),
            words=frozenset(re.findall(r"[^\W\d_]+", question.lower())) - EMPTY,
        )
        return cls(source, judge, dense, question, course)

    @property
    def may_read(self) -> bool:
        """Tell whether what was found may be read at all."""
        # The reader learned from notes; an entity is a name and what was gathered of it.
        return self.source.query.shelf.holds_memories and self.judge.is_asked_for and self.judge.is_for_readers

    def is_answered(
        self, reader: Callable[[], Reader | None], scored: Sequence[Scored], weighed: Sequence[Scored]
    ) -> bool:
        """Tell whether one of what was found answers the question, as far as that can be told.

        `weighed` are the best of `scored`, with their texts, and what is faint. Notes how likely each that is read
        answers. `reader` gives who reads, None for nobody.
        """
        reading = reader() if self.may_read else None
        if reading is None or not reading.can_take(self.question):
            return self._is_about(scored)
        another = any(self.judge.asked.names_another(each.candidate.text) for each in weighed[:1])
        best = self.judge.readable(weighed)[: self.source.policy.reads_at_most]
        return replace(self, judge=replace(self.judge, outranked=another))._is_read(reading, scored, best)

    def shown(self, weighed: Sequence[Scored]) -> list[Scored]:
        """Return what is shown of the best, in their order: nothing beside the point where one surely answers."""
        judge = self.judge
        shown = [each for each in weighed if not each.is_faint or judge.is_likely(each)]
        key_words = not asks(self.question)
        certain = (judge.is_certain(each, key_words=key_words) for each in shown)
        if not self.may_read or judge.is_never_enough or not any(certain):
            return shown
        best = max(each.candidate.cosine or 0.0 for each in shown)
        return [each for each in shown if not judge.is_beside(each, best)]

    def _is_read(self, reader: Reader, scored: Sequence[Scored], best: Sequence[Scored]) -> bool:
        """Tell whether the reader finds that one of the best answers the question, or words alone tell so."""
        judge, question = self.judge, self.question
        key_words = not judge.wants_all and not asks(question)
        # Words tell nothing here: every text that names somebody says a little of who that is.
        who = asks_who(question)
        told = any(judge.is_told(each, key_words=key_words or who) for each in scored)
        # A question for everything has them read even so, so that what belongs to it comes before the rest.
        if told and not (judge.wants_all or who):
            return True
        with self.course.timed("read"):
            best = self._read(reader, best)
        if told or judge.is_answered(best):
            return True
        # Key words ask for what is about them; but half of "Achim's birthday" is in a note on another's, and to whoever
        # reads that it tells nothing of his. What cannot be read is judged as if there were no reader.
        if key_words and not (best and all(map(judge.is_hopeless, best))):
            return self._is_about(scored)
        unread = [each for each in scored if each.candidate.sureness is None]
        return any(each.candidate.sureness is None for each in best) and self._is_about(unread)

    def _read(self, reader: Reader, best: Sequence[Scored]) -> Sequence[Scored]:
        """Note how likely each candidate answers, until one is likely enough or the time is up.

        Returns the best without those that need not be read any more. A note in another language, or a failure of the
        reader, notes nothing.
        """
        judge, policy = self.judge, self.source.policy
        # Turns are left out wherever they stand, as they say half of what they mean.
        notes = [each for each in best if not is_talk(each.candidate.text)]
        asked = [*zip(self._asked_of(notes), self._texts_of(notes), strict=True)]
        whole = [judge.wants_the_end(each) for each in notes]
        # The first one is read alone, as it is enough for half of all questions. Where it is not, reading seldom ends
        # before `reads` notes, so the others are read at once; and all are where one is never enough.
        at_once = (policy.reads,) if judge.is_never_enough else (1, max(1, policy.reads - 1))
        until = time.monotonic() + policy.reading_ms / 1000
        try:
            found = reader.each(asked, seconds=policy.reading_ms / 1000, whole=whole, at_once=at_once)
            count = 0
            for count, (each, sureness) in enumerate(zip(notes, found, strict=True), 1):
                each.candidate.sureness = sureness
                if self._is_enough(notes[:count]):
                    break
            rest = {each.candidate.id for each in notes[count:]}
            self._read_versions(reader, notes, count, asked, until)
            return [each for each in best if each.candidate.id not in rest]
        except TimeoutError:
            self.course.degraded.append(UNREAD)
        except Exception:  # Whatever a runtime raises: a search goes on without.
            logger.exception("a note was not read")
        return best

    def _read_versions(
        self, reader: Reader, notes: Sequence[Scored], count: int, asked: Sequence[tuple[str, str]], until: float
    ) -> None:
        """Note how likely those answer that say the same as the first `count`, of the time that is asked for.

        That is what is newer than the one that answers, or what is older than any of them.
        """
        policy, era = self.source.policy, era_of(self.question)
        if era is None:
            return
        if era is Era.NOW:
            last = notes[max(0, count - 1) : count]
            ones: Sequence[Scored] = [
                each for each in last if (each.candidate.sureness or 0.0) >= policy.certain_reading
            ]
            others, question = notes[count:], ""
        else:
            # The older note did not know that it would be replaced, so it is read for the question as it was asked
            # then. For silence the question stays as it is: what still holds is not "my old rate".
            ones, others, question = notes[: min(count, policy.reads)], notes, as_asked_then(self.question)
        unrelated = self.dense.unrelated if self.dense is not None else 0.0
        found = {
            each.candidate.id for one in ones for each in versions(one, others, policy, era=era, unrelated=unrelated)
        }
        some = [(each, pair) for each, pair in zip(notes, asked, strict=True) if each.candidate.id in found]
        if not (some := some[: max(0, policy.reads - 1)]):
            return
        pairs = [(question or asking, text) for _, (asking, text) in some]
        likely = reader.each(pairs, seconds=max(0.0, until - time.monotonic()), at_once=(len(some),))
        for (each, _), sureness in zip(some, likely, strict=True):
            # A change is often told in other words than the question's. So reading a version never lowers how likely it
            # is.
            if overtakes(each, sureness, policy, era=era):
                each.candidate.sureness = max(sureness or 0.0, each.candidate.sureness or 0.0)

    def _asked_of(self, notes: Sequence[Scored]) -> Iterator[str]:
        """Give what each note is read for: of what was kept at the time that is asked for, all but that time.

        A note says seldom when it was kept: "Upgraded axum" answers "What did we upgrade in July?" where it is of July.
        """
        now, timeless = self.source.now, self.question
        # Looked for only where a date matched: it takes longer than all else here, and most questions name no time.
        if any(each.date_match == 1 for each in notes):
            timeless = asked_beside.without_time(self.question, now)
        for each in notes:
            kept = each.candidate.created_at
            of_then = each.date_match == 1 and tells_no_other(each.candidate.text, kept, zone_of(now))
            yield timeless if of_then else self.question

    def _texts_of(self, notes: Sequence[Scored]) -> Iterator[str]:
        """Give what is read of each note: where it is asked when something was done, also when it was kept.

        A note of what was done seldom says when: "Repotted the fern" answers "When did I repot the fern?" by its day.
        With a day any note looks like an answer to whoever reads it, "Watered the fern" as well: so only one that has
        all of the question's words is read with it.
        """
        zone, when = zone_of(self.source.now), times.asks_when_done(self.question)
        for place, each in enumerate(notes):
            text = "\n".join(_to_read(each, first=place < READ_WIDELY))
            kept = local(each.candidate.created_at, zone)
            dated = when and self._says_it_all(each) and tells_no_other(text, kept, zone)
            yield f"({kept.day} {kept:%B %Y}) {text}" if dated else text

    def _says_it_all(self, each: Scored) -> bool:
        """Tell whether a note has each word of what the question asks of, its verb perhaps as "bought"."""
        asked, places = self.judge.asked, each.candidate.places
        lacks = len(asked.content.keys() - set(places))
        return bool(places) and (not lacks or (lacks == 1 and times.says_done(self.question, each.candidate.text)))

    def _is_enough(self, read: Sequence[Scored]) -> bool:
        """Tell whether nothing more needs to be read."""
        judge, policy = self.judge, self.source.policy
        certain = (read[-1].candidate.sureness or 0.0) >= policy.certain_reading
        # Where each of several is wanted, reading goes on behind two that tell nothing, once one of them surely
        # answers.
        if (certain or judge.is_never_enough) and judge.is_answered(read):
            return not judge.is_never_enough
        # Further on they are read in pairs: where one tells nothing, the next would seldom tell more.
        return len(read) >= policy.reads and len(read) % 2 == 0 and all(map(judge.is_hopeless, read[-2:]))

    def _is_about(self, scored: Sequence[Scored]) -> bool:
        """Tell whether one of what was found is about the question, and says an amount where it wants one."""
        # One is enough, but for an amount: then each is looked at that may say it, as long as they are few.
        most = LOOKED_AT + 1 if wants_an_amount(self.question) else 1
        with self.course.timed("rank"):
            about = list(islice(self.judge.about(scored), most))
        about = about or self._answers_to_the_rest(self.judge.alike_by_name(scored))
        if not about or most == 1 or len(about) > LOOKED_AT:
            return bool(about)
        with self.course.timed("rank"):
            read = self.source.widen(about, None, asked=None, saving=False)
            return any(says_an_amount(each.candidate.text) for each in read)

    def _answers_to_the_rest(self, named: Sequence[Scored]) -> list[Scored]:
        """Return the candidates that share only a name with a question, and are about what it asks of that name.

        A name makes texts alike that have nothing else to do with each other, so they are compared with the question
        without the name.
        """
        rest = without_names(self.question) if named else ""
        if self.dense is None or not rest:
            return []
        vector = self.course.embed(self.dense, rest)
        if vector is None:
            return []
        with self.course.timed("rank"):
            read = self.source.widen(named[:LOOKED_AT], self.dense.model_id, asked=vector, saving=False)
            least = cosine_of(self.source.policy.rest_cosine, self.dense.unrelated)
            return [each for each in read if _cosine(each.candidate.vector, vector) >= least]


def _to_read(each: Scored, *, first: bool) -> Sequence[str]:
    """Return what of a note is read: of a long one the passages that come nearest, one where others come first."""
    return each.candidate.nearest[: None if first else 1] or (each.candidate.text,)


def _cosine(one: Vector | None, other: Vector) -> float:
    return float(one @ other) if one is not None else 0.0
