"""One search: scope, both legs, fusion, tri-score, threshold, MMR, token budget."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

from memory.spaces.sharing import Shared, shared_ids
from memory.storage.shelves import ENTITIES
from memory.texts.scripts import one_form
from retrieval.course import Course
from retrieval.days import asked_period
from retrieval.days.dates import Period
from retrieval.days.from_now import words_for
from retrieval.days.from_then import untold
from retrieval.days.told_days import READ
from retrieval.lookup.candidates import NO_KEYWORD_LEG, NO_SEMANTIC_LEG, KeywordLeg, SemanticLeg, Source, many_wait
from retrieval.lookup.respelling import respelled, rewritten
from retrieval.lookup.shelf_sql import SHARED
from retrieval.policy import Policy
from retrieval.query import MAX_QUERY, Dense, Hit, Query, Result
from retrieval.ranking.mmr import select as diversify
from retrieval.ranking.scoring import in_talk, look_again, merged, rank, rank_by_time
from retrieval.ranking.types import Candidate, Ranked, Scored, Vector
from retrieval.reading.hearing import Hearing
from retrieval.reading.versions import asked_for_first
from retrieval.shown.budget import fit
from retrieval.words.about import NOTHING_ASKED, meant, understand
from retrieval.words.answers import asks_who, pictures, says_nothing, unquoted, unsigned
from retrieval.words.decompose import parts_of
from retrieval.words.phrases import quoted, says
from retrieval.words.unspaced import is_unspaced, telling

if TYPE_CHECKING:
    from retrieval.reading.reading import Reader

logger = logging.getLogger(__name__)

# MMR chooses among so many times the limit; what ranks lower is never fetched whole.
POOL = 2
UNLIMITED = 1 << 31
# What `degraded` says where many of the scope's memories wait for their vectors.
WAITING = "vectors"


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
    except SQLAlchemyError as error:
        # A database that is away or busy is no error of ours: where the search stood says nothing to who runs it.
        cause = error.orig if isinstance(error, OperationalError) else None
        logger.error("search failed [%s]: %s", correlation_id, type(cause or error).__name__, exc_info=cause is None)
        _roll_back(session)
        result = Result((), policy, degraded=("database",), error=True, timings=run.course.timings)
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
    course: Course = field(default_factory=Course)
    withheld: int = 0
    more: bool = False

    def search(self, dense: Dense | None) -> Result:
        """Search for a question, and where it asks for several things, also for each of them."""
        with self.course.timed("total"):
            return self._search_all(dense) if self.source.query.shared else self._search_one(dense)

    def _search_one(self, dense: Dense | None) -> Result:
        question = self._question()
        if parts := parts_of(question, self.source.policy.parts):
            return self._search_parts(dense, question, parts)
        return self._search(dense, question, may_respell=True)

    def _search_all(self, dense: Dense | None) -> Result:
        """Bring what the space has and what others share with it, the better one first: each is searched by itself.

        So nothing but what is shared tells of another space, be it how often it has a word.
        """
        query, session, now = self.source.query, self.source.session, self.source.now
        own = self._over(shared=())
        found, by = [own._search_one(dense)], dict[UUID, Shared]()
        for each in query.shared:
            if only := tuple(shared_ids(session, query.user_id, each, now=now)):
                part = {"space_id": each.space_id, "tag": each.tag, "only": only, "scope_size": len(only)}
                result = self._over(shared=(), shelf=SHARED, **part)._search_one(dense)
                found.append(result)
                by |= {hit.ranked.scored.candidate.id: each for hit in result.hits}
        best = merged([[hit.ranked for hit in result.hits] for result in found], self.source.policy)
        self.more = len(best) > query.limit or any(result.more for result in found)
        self.withheld = 0 if best else found[0].withheld
        result = self._cut(best[: query.limit], sum(each.considered for each in found))
        hits = [replace(hit, shared=by.get(hit.ranked.scored.candidate.id)) for hit in result.hits]
        return replace(result, hits=tuple(hits), period=found[0].period)

    def _over(self, **changes: Any) -> _Run:
        """Return a search for or over something else in the same course, whatever its budget."""
        return replace(
            self, source=replace(self.source, query=replace(self.source.query, token_budget=None, **changes))
        )

    def _search_parts(self, dense: Dense | None, question: str, parts: Sequence[str]) -> Result:
        """Search for the whole question and each of its parts, and take hits from these in turn, the best first.

        No memory need answer two questions at once, so the whole may find nothing; but a part may mean what another
        says ("When is the exam? Which room?"), so the whole comes first.
        """
        found = [self._over(text=each)._search(dense, each, may_respell=True) for each in (question, *parts)]
        whole, *others = found
        silent = [f"“{part}”" for part, each in zip(parts, others, strict=True) if not each.hits]
        self.course.warnings.append("several things are asked for: each was searched for by itself as well")
        # Parts without hits are named only where the whole found nothing, as its hits may answer any part; and where no
        # part found anything, there is nothing to tell apart.
        if not whole.hits and len(silent) < len(parts):
            self.course.warnings += [f"nothing was found for {each}" for each in silent]
        best: dict[UUID, Ranked] = {}
        for hit in chain.from_iterable(zip_longest(*([hit.ranked for hit in each.hits] for each in found))):
            if hit is not None:
                best.setdefault(hit.scored.candidate.id, hit)
        limit, considered = self.source.query.limit, max(each.considered for each in found)
        ranked = [replace(hit, rank=place) for place, hit in enumerate([*best.values()][:limit], 1)]
        self.more = len(best) > limit or any(each.more for each in found)
        self.withheld = 0 if ranked else min(sum(each.withheld for each in found), limit)
        return self._cut(ranked, considered)

    def _search(self, dense: Dense | None, question: str, *, may_respell: bool) -> Result:
        if says_nothing(question):
            # A model embeds dots like any other text, and some memory is always the nearest to them.
            return self._cut((), 0)
        shown = pictures(question) if "keyword" in self.source.policy.legs else ()
        if shown or self._is_unreadable(question, dense):
            # Without the semantic leg: to most models one picture is as good as any other.
            self.source = replace(self.source, policy=replace(self.source.policy, legs=("keyword",)))
        query, policy = self.source.query, self.source.policy
        if (period := self._period(question)) is not None:
            # Truncated to nothing, memories of that time were found all the same.
            if (found := self._of_the_time(period)).hits or found.truncated:
                return found
            shelf = self.source.query.shelf
            self.course.warnings.append(f"no {'memory' if shelf.holds_memories else shelf.name} is of that time")
            may_respell = False
        keyword, semantic = self._legs(dense, question)
        if may_respell and (written := self._respelled(question, keyword)) is not None:
            return self._again(dense, written)
        model_id = dense.model_id if dense is not None else None
        phrases = quoted(question) or shown
        pool = self._joined(keyword, semantic, model_id, phrases)
        with self.course.timed("rank"):
            bound, now = keyword.question.bound, self.source.now
            asked = understand(question, keyword.question) if "keyword" in policy.legs else NOTHING_ASKED
            hearing = Hearing.of(question, asked, self.source, dense, self.course, talk=in_talk(pool))
            # Notes without enough evidence are read too, as they may answer all the same; but not where somebody is
            # asked for, whom only a text with the name tells of.
            fewest = policy.reads_at_most if hearing.may_read and not phrases and not asks_who(question) else 0
            kept = rank(pool, policy, bm25_bound=bound, question=question, now=now, asked=asked, fewest=fewest)
        scored = [each for each in kept if not each.is_faint]
        with self.course.timed("fetch"):
            few = len(scored) if phrases else max(POOL * query.limit, policy.reads_at_most)
            weighed = self._widen(kept[:few], model_id, semantic.vector)
        may_be_silent = hearing.judge.is_asked_for
        words = words_for(question) if period is not None and may_be_silent else None
        weighed = _saying(weighed, phrases, words)
        heard = scored if words is None else [each for each in weighed if not each.is_faint]
        if may_be_silent and not phrases and not (weighed and hearing.is_answered(self.reader, heard, weighed)):
            if may_respell and (written := self._respelled(question, keyword, thorough=True)) is not None:
                return self._again(dense, written)
            self.withheld, weighed = min(len(scored), query.limit), []
        return self._cut(self._best_of(hearing.shown(weighed), question, semantic.unrelated), len(pool))

    def _joined(
        self, keyword: KeywordLeg, semantic: SemanticLeg, model_id: UUID | None, phrases: Sequence[str]
    ) -> list[Candidate]:
        """Return the candidates of both legs as one pool, and note whether many of them have no vector yet."""
        with self.course.timed("join"):
            # Texts that have all words of a phrase are added: among many of them, the one with the phrase itself need
            # not be the best by either leg.
            quoting = phrases and "keyword" in self.source.policy.legs
            also = self.source.with_all(" ".join(phrases)) if quoting else ()
            pool = self.source.pool(keyword, semantic, model_id, also)
        if semantic.vector is not None and many_wait(self.source, semantic, pool):
            self.course.degraded.append(WAITING)
        return pool

    def _best_of(self, weighed: Sequence[Scored], question: str, unrelated: float) -> list[Ranked]:
        """Rank the candidates again now that they were read, and choose the best that are not much alike.

        Notes whether there are more.
        """
        query, policy = self.source.query, self.source.policy
        with self.course.timed("rank"):
            # Cut to the limit only after that: whoever wants one hit wants the one that answers, wherever it stood
            # before it was read.
            again = look_again(weighed, policy, question=question, now=self.source.now)
            best = asked_for_first(again, policy, question=question, unrelated=unrelated)[: POOL * query.limit]
            ranked = diversify(best, limit=query.limit, lam=policy.mmr_lambda, unrelated=unrelated)
        self.more = len(best) > len(ranked)
        return ranked

    def _is_unreadable(self, question: str, dense: Dense | None) -> bool:
        """Tell whether a question can be searched for by its words, and the model cannot read its script."""
        if dense is None or not dense.latin_alone or not set(self.source.policy.legs) > {"keyword"}:
            return False
        if unreadable := is_unspaced(question):
            self.course.warnings.append("the embedding model cannot read this script: searched for by its words alone")
        return unreadable

    def _again(self, dense: Dense | None, question: str) -> Result:
        """Search for what is written otherwise; the passages that are shown speak of that, too."""
        self.source = replace(self.source, query=replace(self.source.query, text=question))
        return self._search(dense, question, may_respell=False)

    def _respelled(self, question: str, keyword: KeywordLeg, *, thorough: bool = False) -> str | None:
        """Return the question with words written as in what is searched; None where none is written otherwise."""
        policy = self.source.policy
        if not policy.respellings or "keyword" not in policy.legs or quoted(question):
            return None
        with self.course.timed("respell"):
            words = keyword.question
            known = [each for each, count in zip(words.lexemes, words.counts, strict=True) if count]
            spellings = respelled(self.source, unsigned(question, known), known, thorough=thorough)
        # The warning does not tell the spelling found: answers are kept, and what is quoted from a memory must not
        # outlive it.
        self.course.warnings += [f"“{each.asked}” is spelled otherwise here" for each in spellings]
        return rewritten(question, spellings) if spellings else None

    def _period(self, question: str) -> Period | None:
        """Return the period of a question that asks for nothing else; entities have none, episodes none to come."""
        shelf = self.source.query.shelf
        if shelf is ENTITIES or self.source.policy.date_boost == 0:
            return None
        # A question with quotes asks for words, even where they are a date, so for more than a time.
        if unquoted(question) != question:
            return None
        period = asked_period.alone(question, self.source.now)
        return None if period is not None and period.to_come and not shelf.holds_memories else period

    def _of_the_time(self, period: Period) -> Result:
        """Return what was kept in a period and what speaks of it, all of it, as the question asks for nothing else."""
        policy, now = self.source.policy, self.source.now
        with self.course.timed("keyword"):
            # What is said in a talk names days of all kinds: there what was said then is meant.
            by_name = "keyword" in policy.legs and self.source.query.shelf.holds_memories
            named = self.source.naming(period) if by_name else frozenset[UUID]()
        with self.course.timed("join"):
            pool = self.source.pool(NO_KEYWORD_LEG, NO_SEMANTIC_LEG, None, also=[*self._ids_of(period), *named])
        with self.course.timed("rank"):
            scored = rank_by_time(pool, policy, period, named=named, now=now)
        with self.course.timed("fetch"):
            weighed = self._widen(scored[: self.source.query.limit], None, None)
        ranked = [Ranked(each, mmr_penalty=0.0, rank=place) for place, each in enumerate(weighed, 1)]
        self.more = len(scored) > len(ranked)
        return replace(self._cut(ranked, len(pool)), period=period)

    def _ids_of(self, period: Period) -> list[UUID]:
        return [each for part in period.parts or (period,) for each in self.source.of_the_time(part)]

    def _cut(self, ranked: Sequence[Ranked], considered: int) -> Result:
        budget = self.source.query.token_budget
        with self.course.timed("budget"):
            fitted = fit(ranked, budget if budget is not None else UNLIMITED, self.source.query.text)
        return Result(
            tuple(Hit(hit, snippet) for hit, snippet in fitted.items),
            self.source.policy,
            token_count=fitted.token_count,
            truncated=fitted.truncated,
            considered=considered,
            # A search that was done again may have gone without the same twice.
            degraded=tuple(dict.fromkeys(self.course.degraded)),
            warnings=tuple(dict.fromkeys(self.course.warnings)),
            timings=self.course.timings,
            withheld=self.withheld,
            more=self.more,
        )

    def _legs(self, dense: Dense | None, question: str) -> tuple[KeywordLeg, SemanticLeg]:
        """Run the policy's legs."""
        legs = self.source.policy.legs
        semantic = self._semantic(dense, meant(question)) if "semantic" in legs else NO_SEMANTIC_LEG
        return self._keyword(question if "keyword" in legs else ""), semantic

    def _keyword(self, words: str) -> KeywordLeg:
        with self.course.timed("keyword"):
            if shown := pictures(words):
                return self.source.pictured(shown)
            return self.source.keyword_leg(telling(words)) if words else NO_KEYWORD_LEG

    def _question(self) -> str:
        """Return the question as the legs can take it: at most 8,192 characters, nothing that SQL refuses."""
        question = self.source.query.text
        # One sign of Arabic is eighteen letters in the form that the index has.
        said = one_form(question[:MAX_QUERY].replace("\x00", " ").encode("utf-8", "replace").decode())
        if max(len(question), len(said)) > MAX_QUERY:
            self.course.warnings.append(f"the query was cut to {MAX_QUERY} characters")
            # The real length is not known here, as callers cut it to what shows that it was too long.
            logger.warning("a query was cut to %d characters", MAX_QUERY)
        return said[:MAX_QUERY]

    def _semantic(self, dense: Dense | None, question: str) -> SemanticLeg:
        """Run the semantic leg; where it fails, note that, and the keyword leg answers alone."""
        vector = self.course.embed(dense, question)
        if dense is None or vector is None:
            return NO_SEMANTIC_LEG
        with self.course.timed("semantic"):
            try:
                return self.source.semantic_leg(dense, vector)
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise
                logger.exception("the semantic leg failed")
                self.source.session.rollback()
                self.course.degraded.append("semantic")
                return NO_SEMANTIC_LEG

    def _widen(self, scored: Sequence[Scored], model_id: UUID | None, asked: Vector | None) -> list[Scored]:
        """Fetch what is shown, and save the scores; where somebody changes a row at this moment, do without saving."""
        saving = self.source.query.shelf.holds_memories
        try:
            return self.source.widen(scored, model_id, asked=asked, saving=saving)
        except (IntegrityError, OperationalError) as error:
            if error.connection_invalidated:
                raise
            self.source.session.rollback()
            logger.info("scores were not saved: %s", type(error.orig).__name__)
            return self.source.widen(scored, model_id, asked=asked, saving=False)


def _saying(weighed: Sequence[Scored], phrases: Sequence[str], words: Sequence[str] | None) -> list[Scored]:
    """Return the candidates that say all `phrases` and, unless `words` is None, may say the time that these stand for.

    A candidate may say the time if it says one of the words, other than of when it was kept, or if it is too long to be
    searched for days: a question for a time alone wants nothing else.
    """

    def fits(memory: Candidate) -> bool:
        text = memory.text
        on_time = words is None or len(text) > READ or says_one(untold(text, memory.created_at), words)
        return on_time and (not phrases or says(text, phrases))

    def says_one(text: str, words: Sequence[str]) -> bool:
        return any(says(text, [word]) for word in words)

    return [each for each in weighed if fits(each.candidate)]


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
