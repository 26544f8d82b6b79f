"""The tri-score: relevance, recency and importance, each in [0, 1], and their weighted sum."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from retrieval.days import asked_beside, dates
from retrieval.days.eras import Era, era_of
from retrieval.policy import Policy
from retrieval.ranking.fusion import clip, evidence, fuse, keyword_share
from retrieval.ranking.silence import ALL, SHOWN_EARLY, log_odds
from retrieval.ranking.types import Candidate, Ranked, Score, Scored
from retrieval.words import times
from retrieval.words.about import Asked
from retrieval.words.answers import unquoted

_DAY = 86_400.0
_WORD = re.compile(r"\w+")
# A text of so many bytes says as much as one memory needs.
DETAILED = 200
# The relevance of what only speaks of the time that is asked for; what was kept then has 1.
NAMED = 0.5
# A candidate without a vector needs this share of `min_score`: its words seldom show as much as a cosine does, and most
# of what they find would be dropped.
UNSEEN_EVIDENCE = 0.2
# What is left of the relevance of a candidate that lacks the identifier which is asked for, where another one has it:
# to a vector the wrong number is often more alike than the right one.
LACKING = 0.5


def recency(age_seconds: float, tau_seconds: float) -> float:
    """exp(-age / tau) in [0, 1]; an age below 0 (a clock ahead of ours) counts as 0.

    Exponential decay as in Park et al. 2023, "Generative Agents". `tau_seconds` must be above 0.
    """
    return math.exp(-max(0.0, age_seconds) / tau_seconds)


def score(relevance: float, created_at: datetime, importance: float, policy: Policy, now: datetime) -> Score:
    """The three parts, clipped to [0, 1], and alpha * relevance + beta * recency + gamma * importance.

    The total is in [0, alpha + beta + gamma].
    """
    relevance, importance = clip(relevance), clip(importance)
    fresh = recency((now - created_at).total_seconds(), policy.tau_days * _DAY)
    total = policy.alpha * relevance + policy.beta * fresh + policy.gamma * importance
    return Score(relevance, fresh, importance, total)


def rank(
    candidates: Sequence[Candidate],
    policy: Policy,
    *,
    bm25_bound: float,
    question: str,
    now: datetime,
    asked: Asked | None = None,
    fewest: int = 0,
) -> list[Scored]:
    """Candidates with enough evidence, best total first, equal totals by id.

    A candidate with `evidence` below `policy.min_score`, or with none, is dropped: neither recency nor importance nor
    a boost can make a match. But what was kept at the time that is asked for needs no more than the other words of
    what is `asked`; and where fewer than `fewest` are left, the best of the dropped that have any follow them, faint,
    until there are as many. Whether one of all answers is for `silence` to judge. The boosts of the policy add to the
    fused relevance; see `Policy`. What lacks an identifier that is `asked` for, and that another candidate has, is less
    relevant by `LACKING`. `bm25_bound` is as in `fusion.fuse`.
    """
    scoring = _Scoring(
        policy,
        bm25_bound,
        now,
        asked,
        relevance=fuse(candidates, policy, bm25_bound=bm25_bound),
        lacking=_lacking(candidates, asked),
        hint=asked_beside.hint_of(unquoted(question), now) if policy.date_boost > 0 else None,
        speaker=_named(candidates, question) if policy.speaker_boost > 0 else None,
    )
    clear: list[Scored] = []
    faint: list[tuple[Candidate, float]] = []
    for each in candidates:
        found = evidence(each, policy, bm25_bound)
        if found == 0:
            continue
        least = policy.min_score * (1.0 if each.cosine is not None else UNSEEN_EVIDENCE)
        if found < least and not _is_all_but_the_time(each, asked, scoring.hint):
            faint.append((each, found))
        else:
            clear.append(scoring.of(each, found))
    more = max(0, fewest - len(clear))
    # Scored only where they are needed: mostly there are enough, and in a large space nearly all are faint.
    rest = in_order([scoring.of(*each, is_faint=True) for each in faint])[:more] if more else []
    return [*in_order(clear), *rest]


@dataclass(frozen=True, slots=True)
class _Scoring:
    """What is needed to score the candidates of one question.

    `relevance` is the fused relevance of both legs, by id. `lacking` are the candidates without an identifier that
    another candidate has. `hint` is the date that the question asks for, and `speaker` the one whom it names; both None
    where the policy gives no boost for it.
    """

    policy: Policy
    bm25_bound: float
    now: datetime
    asked: Asked | None
    relevance: Mapping[UUID, float]
    lacking: Container[UUID]
    hint: dates.DateHint | None
    speaker: str | None

    def of(self, each: Candidate, found: float, *, is_faint: bool = False) -> Scored:
        """Return a candidate with its score; `found` is its evidence."""
        policy, bound = self.policy, self.bm25_bound
        fit = dates.match(self.hint, each.created_at) if self.hint else 0.0
        spoke = self.speaker is not None and each.speaker == self.speaker
        boosted = self.relevance[each.id] + policy.date_boost * fit + policy.speaker_boost * spoke
        boosted += policy.detail_boost * min(1.0, each.size / DETAILED)
        boosted *= LACKING if (lacks := each.id in self.lacking) else 1.0
        return Scored(
            candidate=each,
            score=score(boosted, each.created_at, each.importance, policy, self.now),
            evidence=found,
            date_match=fit,
            context=max(0.0, keyword_share(each.bm25_around, bound) - keyword_share(each.bm25, bound)),
            speaker_match=spoke,
            lacks_code=lacks,
            is_faint=is_faint,
            asked=self.asked,
        )


def _is_all_but_the_time(candidate: Candidate, asked: Asked | None, hint: dates.DateHint | None) -> bool:
    """Tell whether a candidate was kept at the time asked for and has all other words that count."""
    if asked is None or hint is None or dates.match(hint, candidate.created_at) < 1:
        return False
    return asked.coverage(candidate.places) > ALL


def rank_by_time(
    candidates: Sequence[Candidate], policy: Policy, period: dates.Period, *, named: Container[UUID], now: datetime
) -> list[Scored]:
    """Candidates for a question that asks for nothing but a time: those kept then, and those that name the time.

    A candidate kept at the time has a relevance of 1, one that is in `named` has a half; the other way round for a
    question about what is to come. Recency and importance add to both.
    """
    scored = []
    for each in candidates:
        inside, says = each.created_at in period, each.id in named
        if inside or says:
            made = score(
                1.0 if (says if period.to_come else inside) else NAMED, each.created_at, each.importance, policy, now
            )
            fit = float(inside)
            scored.append(Scored(each, made, made.relevance, date_match=fit, time_match=says))
    return in_order(scored)


def look_again(scored: Sequence[Scored], policy: Policy, *, question: str, now: datetime) -> list[Scored]:
    """Rank again the few candidates whose texts were fetched.

    For a question that asks when, a text that says a time gains; for a question about what is the case now, so does a
    text that says what has changed. A candidate that the reader read and that does not answer loses, and so does one
    that has another number than the thing asked for. A candidate that was not read loses as much as the mean of those
    that were: it may say that the answer has changed.
    """
    read = [log_odds(each.candidate.sureness) for each in scored if each.candidate.sureness is not None]
    likeliest, usual = max(read, default=0.0), sum(read) / max(1, len(read))
    when = policy.time_boost > 0 and times.asks_when(question)
    change = policy.change_boost > 0 and era_of(question) is Era.NOW
    again = []
    for each in scored:
        sureness = each.candidate.sureness
        if sureness is None and each.asked is not None and each.asked.names_another(each.candidate.text):
            sureness = SHOWN_EARLY
        behind = policy.reading_weight * (likeliest - (usual if sureness is None else log_odds(sureness)))
        again.append(_again(each, policy, now, when=when, change=change, behind=behind))
    return in_order(again)


def merged(found: Sequence[Sequence[Ranked]], policy: Policy) -> list[Ranked]:
    """Return what several searches for one question found as one ranking, each in its own order; no text twice.

    What was read has lost by the likeliest answer of its own search alone: it loses by the likeliest of all.
    """
    likeliest = [_likeliest(hits) for hits in found]
    of_all = max((each for each in likeliest if each is not None), default=0.0)
    weight = policy.alpha * policy.reading_weight
    behind = [0.0 if own is None else weight * (of_all - own) for own in likeliest]
    waiting = [deque(hits) for hits in found]
    best: dict[str, Ranked] = {}
    while any(waiting):
        heads = [hits[0].scored.standing if hits else -math.inf for hits in waiting]
        worth = [standing - less for standing, less in zip(heads, behind, strict=True)]
        hit = waiting[worth.index(max(worth))].popleft()
        best.setdefault(hit.scored.candidate.text, hit)
    return [replace(hit, rank=place) for place, hit in enumerate(best.values(), 1)]


def _likeliest(hits: Sequence[Ranked]) -> float | None:
    """Return the log-odds of the likeliest answer among those that were read; None where none was."""
    read = [each.scored.candidate.sureness for each in hits]
    return max((log_odds(each) for each in read if each is not None), default=None)


def in_order(scored: Sequence[Scored]) -> list[Scored]:
    """Best standing first, equal ones by id."""
    return sorted(scored, key=lambda each: (-each.standing, each.candidate.id))


def _again(each: Scored, policy: Policy, now: datetime, *, when: bool, change: bool, behind: float) -> Scored:
    memory = each.candidate
    timed = when and times.says_when(memory.text)
    # In a talk everybody says "now" and "since": there it tells nothing.
    alone = memory.speaker is None and each.coverage > 0
    changed = change and alone and times.says_change(memory.text)
    if not timed and not changed and behind == 0:
        return each
    boosted = each.score.relevance + policy.time_boost * timed + policy.change_boost * changed
    unread, made = (
        score(found, memory.created_at, memory.importance, policy, now) for found in (boosted, boosted - behind)
    )
    penalty = unread.total - made.total
    # What answers a little is better than what does not, though neither has relevance left.
    beyond = policy.alpha * max(0.0, behind - boosted)
    return replace(each, score=made, time_match=timed, change_match=changed, reading_penalty=penalty, beyond=beyond)


def in_talk(candidates: Sequence[Candidate]) -> bool:
    """Tell whether most candidates are turns of a talk; a single note may begin with a name and a colon too."""
    return 2 * sum(each.speaker is not None for each in candidates) > len(candidates)


def _lacking(candidates: Sequence[Candidate], asked: Asked | None) -> frozenset[UUID]:
    """Return the candidates that lack an identifier asked for; none where all do, as it tells nothing apart."""
    if asked is None:
        return frozenset()
    having_none = (each for each in candidates if asked.lacks_code(each.places) or asked.lacks_number(each.places))
    lacking = frozenset(each.id for each in having_none)
    return lacking if len(lacking) < len(candidates) else frozenset()


def _named(candidates: Sequence[Candidate], question: str) -> str | None:
    """Return the one speaker whom the question names; of several names none is meant more than another."""
    words = set(_WORD.findall(question.casefold()))
    speakers = {each.speaker for each in candidates if each.speaker is not None}
    found = [name for name in speakers if words.issuperset(_WORD.findall(name.casefold()))]
    return found[0] if len(found) == 1 else None
