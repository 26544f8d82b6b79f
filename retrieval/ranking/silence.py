"""Whether anything found is about what is asked: among memories of one person something always seems a little alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from retrieval.days.dates import DateHint, match
from retrieval.days.told_days import says_another
from retrieval.policy import Policy
from retrieval.ranking.types import Candidate, Scored
from retrieval.words.about import Asked

# A candidate without a vector needs this part of the share of words that others need, as it has nothing else to speak
# for it.
UNSEEN = 4 / 7
# From this share of the words on a candidate has all of them, in whatever order the floats were added up.
ALL = 0.999
# Any but the first must be surer by this, in log-odds: with many notes one of them is likely to look like an answer.
BEHIND = 1.0
# What is less likely than this is as good as sure not to answer. Such a note is seldom read to its end, unless the
# policy asks for less than this.
SHOWN_EARLY = 0.05
# A cosine below this share of the best is far below it.
FAR = 0.45
# Log-odds are cut off here: beyond, nothing is surer.
SUREST = 6.0


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges whether what was found answers a question, by `sure_cosine` to `alone_reading` of `Policy`.

    `talk`: the candidates are turns of a talk, which say only half of what they mean. `wants_all`: the question wants
    each of several memories. `wants_several`: more than one memory may belong to the answer. `only_names`: the question
    names a thing and asks nothing of it. `hint` is the time that the question names, `words` are its other words, in
    lower case. `outranked`: the best of all candidates has another number than the one asked for, so whatever was read
    ranks behind it.
    """

    policy: Policy
    asked: Asked
    talk: bool = False
    wants_all: bool = False
    wants_several: bool = False
    only_names: bool = False
    hint: DateHint | None = None
    words: frozenset[str] = frozenset()
    outranked: bool = False

    @property
    def is_asked_for(self) -> bool:
        """Tell whether the policy ever keeps silent."""
        return self.policy.min_score > 0 and self.policy.sure_cosine > 0

    @property
    def is_for_readers(self) -> bool:
        """Tell whether what was found may be read: notes, which speak for themselves."""
        return self.policy.reads > 0 and not self.talk

    @property
    def is_never_enough(self) -> bool:
        """Tell whether one memory is never enough, however surely it answers."""
        return self.wants_all or self.wants_several

    def wants_the_end(self, scored: Scored) -> bool:
        """Tell whether the reader must read a candidate to its end, even one that is as good as sure not to answer.

        It must where a very low sureness can be enough: for a candidate that has all the words that count.
        """
        policy = self.policy
        least = min(policy.sure_reading, policy.named_reading, policy.list_reading, policy.min_score)
        return least < SHOWN_EARLY or scored.coverage > ALL

    def is_answered(self, best: Sequence[Scored]) -> bool:
        """Tell whether one of those of the best that were read is likely enough to answer; `best` is in order of rank.

        All but the first must be surer than the policy asks for, by `BEHIND`. A faint candidate counts only if it is
        shown.
        """
        read = [
            each for each in best if each.candidate.sureness is not None and (not each.is_faint or self.is_likely(each))
        ]
        return any(
            log_odds(each.candidate.sureness or 0.0) - (BEHIND if place or self.outranked else 0.0)
            >= log_odds(self._least_reading(each))
            for place, each in enumerate(read)
        )

    def _least_reading(self, scored: Scored) -> float:
        candidate = scored.candidate
        # A candidate that lacks the date has not all words, unless it was kept then: the Christmas concert, where the
        # one in summer is asked for.
        dated = scored.date_match > 0 or not self.asked.lacks_date(candidate.places)
        if scored.coverage > ALL and dated:
            # To the reader a name is no question. What has all words of one need not have what it asks for.
            names = self.only_names or self.wants_all
            return self.policy.topic_reading if names else self.policy.worded_reading
        # To the reader, whatever is known of something seems to belong a little to "everything about the boat", so a
        # list asks for more.
        if self.wants_all:
            return self.policy.list_reading
        named = self.asked.names_alone(candidate.places) or self.asked.other_names(candidate.places)
        return self.policy.named_reading if named else self.policy.sure_reading

    def is_likely(self, scored: Scored) -> bool:
        """Tell whether the reader is so sure of a candidate that neither its words nor its vector need be evidence."""
        return (scored.candidate.sureness or 0.0) >= self.policy.min_score

    def is_certain(self, scored: Scored, *, key_words: bool) -> bool:
        """Tell whether a candidate surely answers, by what the reader says or by its words."""
        sureness = scored.candidate.sureness or 0.0
        return sureness >= self.policy.alone_reading or self.is_told(scored, key_words=key_words)

    def is_beside(self, scored: Scored, best: float) -> bool:
        """Tell whether a candidate without a word of the question is beside the point; `best` is the best cosine.

        To an embedding model one number is as good as another, so a candidate without the number that is asked for does
        not answer by being alike.
        """
        if scored.coverage > 0 or scored.date_match > 0 or self.is_likely(scored):
            return False
        cosine = scored.candidate.cosine
        return scored.lacks_code or (cosine is not None and cosine < min(self.policy.sure_cosine, FAR * best))

    def is_hopeless(self, scored: Scored) -> bool:
        """Tell whether one was read and is as good as sure not to answer."""
        sureness = scored.candidate.sureness
        return sureness is not None and sureness < SHOWN_EARLY

    def is_told(self, scored: Scored, *, key_words: bool) -> bool:
        """Tell whether a candidate has the identifier asked for, or all words of a question that consists of key words.

        A user who only names a thing wants whatever is known of it.
        """
        places = scored.candidate.places
        if self.is_another(scored.candidate):
            return False
        return self.asked.has_code(places) or (key_words and scored.coverage > ALL)

    def readable(self, scored: Sequence[Scored]) -> list[Scored]:
        """Return the candidates that may answer, in their order, without those that `is_another` tells of."""
        return [each for each in scored if not self.is_another(each.candidate)]

    def is_another(self, candidate: Candidate) -> bool:
        """Tell whether a candidate lacks the identifier that is asked for, or has another number or another time.

        A candidate whose text was not fetched is not shown. It counts only where its lexemes have the number itself.
        """
        if self.asked.lacks_code(candidate.places) or self._is_of_another_time(candidate):
            return True
        return self.asked.names_another(candidate.text) if candidate.text else self.asked.lacks_number(candidate.places)

    def _is_of_another_time(self, candidate: Candidate) -> bool:
        """Tell whether a candidate tells of another time than a question that only names one, as "kWh in August".

        For a question that asks something, this is always false: what happened in September may answer it, which the
        reader decides.
        """
        if self.hint is None or not self.only_names or match(self.hint, candidate.created_at) == 1:
            return False
        if candidate.text:
            return says_another(self.hint, candidate.text, self.words)
        return self.asked.lacks_date(candidate.places)

    def about(self, scored: Iterable[Scored]) -> Iterator[Scored]:
        """Yield the candidates that are about what is asked, in their order.

        Where what is asked for was found, but with another number or of another time, a candidate that has none of its
        words is not about it merely because it is a little alike.
        """
        scored = list(scored)
        fetched = (each.candidate for each in scored if each.candidate.text)
        elsewhere = self._tells_apart and any(self.is_another(each) for each in fetched)
        for each in scored:
            if self.is_about(each.candidate) and not (elsewhere and self._is_only_alike(each.candidate)):
                yield each

    @property
    def _tells_apart(self) -> bool:
        return bool(self.asked.numbers or self.asked.paired) or (self.hint is not None and self.only_names)

    def _is_only_alike(self, candidate: Candidate) -> bool:
        alike = (candidate.cosine or 0.0) >= max(self.policy.named_cosine, self.policy.sure_cosine)
        return not alike and self.asked.content.keys().isdisjoint(candidate.places)

    def is_about(self, candidate: Candidate) -> bool:
        """Tell whether a candidate is enough to say that the question was answered at all."""
        policy, asked = self.policy, self.asked
        if self.is_another(candidate):
            return False
        # Whoever names a thing by its number wants whatever is known of it, so no other word need fit.
        if asked.has_code(candidate.places):
            return True
        if self.talk:
            return self._is_about_in_a_talk(candidate)
        if candidate.cosine is None:
            return asked.coverage(candidate.places) >= UNSEEN * policy.sure_share
        if candidate.cosine >= max(policy.named_cosine, policy.sure_cosine):
            return True
        # With nothing but the name the share does not count: a name of two words is soon most of a question, and tells
        # nothing of what is asked.
        if asked.names_alone(candidate.places):
            return False
        if asked.coverage(candidate.places) >= policy.sure_share:
            return True
        return candidate.cosine >= policy.sure_cosine and not asked.other_names(candidate.places)

    def _is_about_in_a_talk(self, candidate: Candidate) -> bool:
        # A little of the words or the meaning is enough, as people seldom name again what they are talking about.
        return (
            self.asked.coverage(candidate.places) >= self.policy.turn_share
            or (candidate.cosine or 0.0) >= self.policy.sure_cosine
        )

    def alike_by_name(self, scored: Sequence[Scored]) -> list[Scored]:
        """Return the candidates that may reach `sure_cosine` only by a name in the question, in their order.

        None in a talk: there the words besides the name decide.
        """
        return [
            each
            for each in scored
            if not self.talk
            and (each.candidate.cosine or 0.0) >= self.policy.sure_cosine
            and not self.is_another(each.candidate)
            and not self.asked.other_names(each.candidate.places)
            and self.asked.names_alone(each.candidate.places)
        ]


def log_odds(likelihood: float) -> float:
    """Return the log-odds of a likelihood in [0, 1], within `SUREST` on both sides."""
    if not 0 < likelihood < 1:
        return math.copysign(SUREST, likelihood - 0.5)
    return max(-SUREST, min(SUREST, math.log(likelihood / (1 - likelihood))))
