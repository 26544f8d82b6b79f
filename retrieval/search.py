"""One search: scope, both legs, fusion, tri-score, threshold, MMR, token budget."""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

from memory.embedding.base import EmbeddingError
from memory.embedding.likeness import cosine_of
from memory.scripts import one_form
from memory.shelves import MEMORIES
from retrieval import dates
from retrieval.about import NOTHING_ASKED, meant, understand, without_names
from retrieval.answers import (
    asks,
    asks_who,
    only_names,
    pictures,
    says_an_amount,
    says_nothing,
    unquoted,
    unsigned,
    wants_all,
    wants_an_amount,
)
from retrieval.budget import fit
from retrieval.candidates import NOTHING_NEAR, NOTHING_WORDED, Near, Source, Worded, is_talk, many_wait
from retrieval.dates import Period
from retrieval.mmr import select as diversify
from retrieval.passage import EMPTY
from retrieval.phrases import quoted, says
from retrieval.policy import Policy
from retrieval.query import MAX_QUERY, Dense, Hit, Query, Result
from retrieval.respelling import respelled, rewritten
from retrieval.scoring import in_talk, look_again, rank, rank_by_time
from retrieval.silence import Judge
from retrieval.types import Ranked, Scored, Vector
from retrieval.unspaced import is_unspaced, telling

if TYPE_CHECKING:
    from retrieval.reading import Reader

logger = logging.getLogger(__name__)

# Diversity chooses among so many times the limit; what ranks lower is never fetched whole.
POOL = 2
UNLIMITED = 1 << 31
# So many are read once more to tell whether the search should keep silent; where more are about it, it should not.
LOOKED_AT = 10
# What `degraded` says where many of the scope's memories wait for their vectors.
WAITING = "vectors"
# What it says where there was no time to read all that had to be read.
UNREAD = "reading"


def search(
    session: Session,
    query: Query,
    policy: Policy,
    *,
    dense: Dense | None,
    now: datetime,
    correlation_id: str = "",
    reader: Callable[[], Reader | None] = lambda: None,
) -> Result:
    """Find, rank and cut to the budget; writes `last_scores` of the memories it weighed. The caller commits.

    `reader` gives what tells whether what was found answers the question; without it words and vectors alone decide.
    Either leg alone is enough: without `dense`, or when it fails, the answer says `degraded: ["semantic"]`, and
    `["vectors"]` where many memories have no vector yet, `["reading"]` where there was no time to read the best: that
    has an end, so that a busy machine still answers. An unreachable database is an empty result with `error`, never
    an exception.
    """
    run = _Run(Source(session, query, policy, now), reader)
    try:
        result = run.search(dense)
    except SQLAlchemyError:
        logger.exception("search failed [%s]", correlation_id)
        _roll_back(session)
        result = Result((), policy, degraded=("database",), error=True, timings=run.timings)
    log_search(result, query, correlation_id)
    return result


def _roll_back(session: Session) -> None:
    try:
        session.rollback()
    except SQLAlchemyError:
        logger.warning("the connection was lost")


@dataclass
class _Run:
    """The state of one search: what was measured and what was skipped."""

    source: Source
    reader: Callable[[], Reader | None]
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    withheld: int = 0
    more: bool = False

    def search(self, dense: Dense | None) -> Result:
        """Search, and where words are written otherwise in what is searched, search by these."""
        with self._timed("total"):
            return self._search(dense, self._question(), may_respell=True)

    def _search(self, dense: Dense | None, question: str, *, may_respell: bool) -> Result:
        if says_nothing(question):
            # To a model dots are as good as any text, and some memory is always the nearest to them.
            return self._cut((), 0)
        shown = pictures(question) if "keyword" in self.source.policy.legs else ()
        if shown or self._is_unreadable(question, dense):
            # To most models one picture is as good as any other.
            self.source = replace(self.source, policy=replace(self.source.policy, legs=("keyword",)))
        query, policy = self.source.query, self.source.policy
        # Notes may tell of a time in which none was kept: then it is searched for as anything else.
        if (period := self._period(question)) is not None:
            # Where the budget has no room for any of it, it is of that time all the same.
            if (found := self._of_the_time(period)).hits or found.truncated:
                return found
            self.warnings.append("no memory is of that time")
        worded, near = self._legs(dense, question)
        if may_respell and (written := self._respelled(question, worded)) is not None:
            return self._again(dense, written)
        model_id = dense.model_id if dense is not None else None
        phrases = quoted(question) or shown
        with self._timed("join"):
            # Among many that have the words, those that have the phrase need not be the best by either leg.
            also = self.source.with_all(" ".join(phrases)) if phrases and "keyword" in policy.legs else ()
            pool = self.source.pool(worded, near, model_id, also)
        if near.vector is not None and many_wait(self.source, near, pool):
            self.degraded.append(WAITING)
        with self._timed("rank"):
            bound, now = worded.question.bound, self.source.now
            asked = understand(question, worded.question) if "keyword" in policy.legs else NOTHING_ASKED
            judge = Judge(
                policy,
                asked,
                talk=in_talk(pool),
                wants_all=wants_all(question),
                only_names=only_names(question),
                hint=None if asks(question) else dates.parse(unquoted(question), now),
                words=frozenset(re.findall(r"[^\W\d_]+", question.lower())) - EMPTY,
            )
            reads = self._reads()
            # What is read may answer however little speaks for it; but who somebody is tells what has the name.
            fewest = reads if self._may_read(judge) and not phrases and not asks_who(question) else 0
            kept = rank(pool, policy, bm25_bound=bound, question=question, now=now, asked=asked, fewest=fewest)
        scored = [each for each in kept if not each.is_faint]
        with self._timed("fetch"):
            few = len(scored) if phrases else max(POOL * query.limit, reads)
            weighed = self._widen(kept[:few], model_id, near.vector)
        if phrases:
            weighed = [each for each in weighed if says(each.candidate.text, phrases)]
        elif judge.is_asked_for and not (kept and self._is_answered(judge, scored, weighed, dense, question)):
            if may_respell and (written := self._respelled(question, worded, thorough=True)) is not None:
                return self._again(dense, written)
            self.withheld, weighed = min(len(scored), query.limit), []
        weighed = [each for each in weighed if not each.is_faint or judge.is_likely(each)]
        with self._timed("rank"):
            # Only then the best of them: who wants one alone wants what answers, wherever it stood before it was read.
            weighed = look_again(weighed, policy, question=question, now=self.source.now)[: POOL * query.limit]
            lam, unrelated = policy.mmr_lambda, near.unrelated
            ranked = diversify(weighed, limit=query.limit, lam=lam, unrelated=unrelated)
        self.more = len(weighed) > len(ranked)
        return self._cut(ranked, len(pool))

    def _is_unreadable(self, question: str, dense: Dense | None) -> bool:
        """Tell whether a question can be searched for by its words, and the model cannot read its script."""
        if dense is None or not dense.latin_alone or not set(self.source.policy.legs) > {"keyword"}:
            return False
        if unreadable := is_unspaced(question):
            self.warnings.append("the embedding model cannot read this script: searched for by its words alone")
        return unreadable

    def _again(self, dense: Dense | None, question: str) -> Result:
        """Search for what is written otherwise; the passages that are shown speak of that, too."""
        self.source = replace(self.source, query=replace(self.source.query, text=question))
        return self._search(dense, question, may_respell=False)

    def _respelled(self, question: str, worded: Worded, *, thorough: bool = False) -> str | None:
        """Return the question with its words as they are written in what is searched; None where they are so."""
        policy = self.source.policy
        if not policy.respellings or "keyword" not in policy.legs or quoted(question):
            return None
        with self._timed("respell"):
            known = [each for each, count in zip(worded.question.lexemes, worded.question.counts, strict=True) if count]
            spellings = respelled(self.source, unsigned(question, known), known, thorough=thorough)
        # Answers are kept, and what is told with them must not outlive the memory that it stands in: so not how.
        self.warnings += [f"“{each.asked}” is spelled otherwise here" for each in spellings]
        return rewritten(question, spellings) if spellings else None

    def _period(self, question: str) -> Period | None:
        """Return the time that is asked for where nothing else is; entities and exchanges have no time of their own."""
        if self.source.query.shelf is not MEMORIES or self.source.policy.date_boost == 0:
            return None
        # Quotes mean the words, those of a date too; and what asks for words asks for more than a time.
        if unquoted(question) != question:
            return None
        return dates.alone(question, self.source.now)

    def _of_the_time(self, period: Period) -> Result:
        """Bring what is of a time, and what speaks of it: who asks for nothing else means all that there is."""
        policy, now = self.source.policy, self.source.now
        worded = self._keyword(period.words if "keyword" in policy.legs else "")
        with self._timed("join"):
            pool = self.source.pool(worded, NOTHING_NEAR, None, also=self._ids_of(period))
        with self._timed("rank"):
            scored = rank_by_time(pool, policy, period, words=len(worded.question.lexemes), now=now)
        with self._timed("fetch"):
            weighed = self._widen(scored[: self.source.query.limit], None, None)
        ranked = [Ranked(each, mmr_penalty=0.0, rank=place) for place, each in enumerate(weighed, 1)]
        self.more = len(scored) > len(ranked)
        return replace(self._cut(ranked, len(pool)), period=period)

    def _ids_of(self, period: Period) -> list[UUID]:
        return [each for part in period.parts or (period,) for each in self.source.of_the_time(part)]

    def _cut(self, ranked: Sequence[Ranked], considered: int) -> Result:
        budget = self.source.query.token_budget
        with self._timed("budget"):
            fitted = fit(ranked, budget if budget is not None else UNLIMITED, self.source.query.text)
        return Result(
            tuple(Hit(hit, snippet) for hit, snippet in fitted.items),
            self.source.policy,
            token_count=fitted.token_count,
            truncated=fitted.truncated,
            considered=considered,
            # Who asked again went without the same twice.
            degraded=tuple(dict.fromkeys(self.degraded)),
            warnings=tuple(dict.fromkeys(self.warnings)),
            timings=self.timings,
            withheld=self.withheld,
            more=self.more,
        )

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1000
            self.timings[stage] = round(self.timings.get(stage, 0.0) + spent, 3)

    def _legs(self, dense: Dense | None, question: str) -> tuple[Worded, Near]:
        """Run the policy's legs."""
        legs = self.source.policy.legs
        near = self._semantic(dense, meant(question)) if "semantic" in legs else NOTHING_NEAR
        return self._keyword(question if "keyword" in legs else ""), near

    def _keyword(self, words: str) -> Worded:
        with self._timed("keyword"):
            if shown := pictures(words):
                return self.source.pictured(shown)
            return self.source.worded(telling(words)) if words else NOTHING_WORDED

    def _question(self) -> str:
        """Return the question as the legs can take it: at most 8,192 characters, nothing that SQL refuses."""
        question = self.source.query.text
        if len(question) > MAX_QUERY:
            self.warnings.append(f"the query was cut to {MAX_QUERY} characters")
            # How long it was is not known here: callers may hand over no more than shows that it was too long.
            logger.warning("a query was cut to %d characters", MAX_QUERY)
        return one_form(question[:MAX_QUERY].replace("\x00", " ").encode("utf-8", "replace").decode())

    def _semantic(self, dense: Dense | None, question: str) -> Near:
        """Run the semantic leg; whatever stops it leaves the keyword leg to answer alone, and says so."""
        vector = self._embed(dense, question)
        if dense is None or vector is None:
            self.degraded.append("semantic")
            return NOTHING_NEAR
        with self._timed("semantic"):
            try:
                return self.source.nearest(dense, vector)
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise
                logger.exception("the semantic leg failed")
                self.source.session.rollback()
                self.degraded.append("semantic")
                return NOTHING_NEAR

    def _embed(self, dense: Dense | None, question: str) -> Vector | None:
        """Return the question's vector, or None when the provider is absent, fails or has changed."""
        if dense is None:
            return None
        with self._timed("embed"):
            try:
                vector, _cached = dense.embedder.embed_one(question)
            except EmbeddingError as error:
                logger.warning("the query was not embedded: %s", error)
                return None
        if dense.dimensions is not None and vector.shape[0] != dense.dimensions:
            logger.error("the query has %d dimensions, the model %d", vector.shape[0], dense.dimensions)
            return None
        return vector

    def _is_answered(
        self, judge: Judge, scored: Sequence[Scored], weighed: Sequence[Scored], dense: Dense | None, question: str
    ) -> bool:
        """Tell whether one of what was found answers the question, as far as that can be told.

        `weighed` are the best of `scored`, with their texts, and what is faint.
        """
        reader = self.reader() if self._may_read(judge) else None
        if reader is not None and reader.can_take(question):
            best = judge.readable(weighed)[: self._reads()]
            judge = replace(
                judge, outranked=any(judge.asked.names_another(each.candidate.text) for each in weighed[:1])
            )
            return self._is_read(reader, judge, scored, best, dense, question)
        return self._is_about(judge, scored, dense, question)

    def _may_read(self, judge: Judge) -> bool:
        # The reader learned from notes; an entity is a name and what was gathered of it.
        return self.source.query.shelf is MEMORIES and judge.is_asked_for and judge.is_for_readers

    def _reads(self) -> int:
        """Return how many of the best are read at most."""
        policy = self.source.policy
        return policy.reads and max(policy.reads, policy.most_reads)

    def _is_read(
        self,
        reader: Reader,
        judge: Judge,
        scored: Sequence[Scored],
        best: Sequence[Scored],
        dense: Dense | None,
        question: str,
    ) -> bool:
        """Tell whether one of the best answers the question to who reads both, or is told without reading."""
        key_words = not judge.wants_all and not asks(question)
        # Whatever names somebody says a little of who that is.
        who = asks_who(question)
        told = any(judge.is_told(each, key_words=key_words or who) for each in scored)
        # Who wants all that there is has them read even so, to have before the rest what belongs to it.
        if told and not (judge.wants_all or who):
            return True
        with self._timed("read"):
            best = self._read(reader, judge, best, question)
        if told or judge.is_answered(best):
            return True
        # Key words ask for what is about them. What cannot be read is judged as if there were no reader.
        unread = [each for each in scored if each.candidate.sureness is None]
        if key_words or any(each.candidate.sureness is None for each in best):
            return self._is_about(judge, scored if key_words else unread, dense, question)
        return False

    def _read(self, reader: Reader, judge: Judge, best: Sequence[Scored], question: str) -> Sequence[Scored]:
        """Note how likely each answers, until that is enough or there is no time left.

        Return the best without the rest that need not be read. Another language and a failure leave no word.
        """
        # Turns say half of what they mean, wherever they stand.
        notes = [each for each in best if not is_talk(each.candidate.text)]
        texts = [each.candidate.passage or each.candidate.text for each in notes]
        policy, whole = self.source.policy, [judge.wants_the_end(each) for each in notes]
        # The best is enough for half of what is asked, so it is read alone; what does not end there seldom ends before
        # all that are read at least, and where each of several is wanted none is enough.
        at_once = (policy.reads,) if judge.wants_all else (1, max(1, policy.reads - 1))
        try:
            found = reader.each(question, texts, seconds=policy.reading_ms / 1000, whole=whole, at_once=at_once)
            for count, (each, sureness) in enumerate(zip(notes, found, strict=True), 1):
                each.candidate.sureness = sureness
                if self._is_enough(judge, notes[:count]):
                    rest = {each.candidate.id for each in notes[count:]}
                    return [each for each in best if each.candidate.id not in rest]
        except TimeoutError:
            self.degraded.append(UNREAD)
        except Exception:  # Whatever a runtime raises: a search goes on without.
            logger.exception("a note was not read")
        return best

    def _is_enough(self, judge: Judge, read: Sequence[Scored]) -> bool:
        """Tell whether nothing more needs to be read."""
        policy = self.source.policy
        certain = (read[-1].candidate.sureness or 0.0) >= policy.certain_reading
        # Where each of several is wanted, one is never enough.
        if certain and not judge.wants_all and judge.is_answered(read):
            return True
        # Further on they are read in pairs: where one tells nothing, the next would seldom tell more.
        return len(read) >= policy.reads and len(read) % 2 == 0 and all(map(judge.is_hopeless, read[-2:]))

    def _is_about(self, judge: Judge, scored: Sequence[Scored], dense: Dense | None, question: str) -> bool:
        """Tell whether one of what was found is about the question, and says an amount where it wants one."""
        # One is enough, but for an amount: then each is looked at that may say it, as long as they are few.
        most = LOOKED_AT + 1 if wants_an_amount(question) else 1
        with self._timed("rank"):
            about = list(islice(judge.about(scored), most))
        about = about or self._answers_to_the_rest(judge.alike_by_name(scored), dense, question)
        if not about or most == 1 or len(about) > LOOKED_AT:
            return bool(about)
        with self._timed("rank"):
            read = self.source.widen(about, None, asked=None, saving=False)
            return any(says_an_amount(each.candidate.text) for each in read)

    def _answers_to_the_rest(self, named: Sequence[Scored], dense: Dense | None, question: str) -> list[Scored]:
        """Return those that share only a name with a question and are about what it asks of that name.

        A name makes texts alike that have nothing else to do with each other: so the rest is compared without it.
        """
        rest = without_names(question) if named else ""
        if dense is None or not rest:
            return []
        vector = self._embed(dense, rest)
        if vector is None:
            self.degraded.append("semantic")
            return []
        with self._timed("rank"):
            read = self.source.widen(named[:LOOKED_AT], dense.model_id, asked=vector, saving=False)
            least = cosine_of(self.source.policy.rest_cosine, dense.unrelated)
            return [each for each in read if _cosine(each.candidate.vector, vector) >= least]

    def _widen(self, scored: Sequence[Scored], model_id: UUID | None, asked: Vector | None) -> list[Scored]:
        """Read what is shown and write the last scores; who changes these at this moment must not cost the answer."""
        saving = self.source.query.shelf is MEMORIES
        try:
            return self.source.widen(scored, model_id, asked=asked, saving=saving)
        except (IntegrityError, OperationalError) as error:
            if error.connection_invalidated:
                raise
            self.source.session.rollback()
            logger.info("scores were not saved: %s", type(error.orig).__name__)
            return self.source.widen(scored, model_id, asked=asked, saving=False)


def _cosine(one: Vector | None, other: Vector) -> float:
    return float(one @ other) if one is not None else 0.0


def query_hash(question: str) -> str:
    """Return 16 hex digits that name a question in logs without saying it."""
    return hashlib.blake2b(question.encode("utf-8", "replace"), digest_size=8).hexdigest()


def log_search(result: Result, query: Query, correlation_id: str) -> None:
    """Write the line that every search leaves: whose it was and what came of it, never what was asked or found."""
    logger.info(
        "retrieval correlation_id=%s query_hash=%s user_id=%s results=%d latency_ms=%.1f degraded=%s error=%s",
        correlation_id,
        query_hash(query.text),
        query.user_id,
        len(result.hits),
        result.timings.get("total", 0.0),
        ",".join(result.degraded) or "-",
        result.error,
    )
