"""Facts of a space: stated, so that a newer one ends what it contradicts, read as of any moment, corrected, deleted."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Function,
    Row,
    Select,
    case,
    cast,
    delete,
    false,
    func,
    literal,
    or_,
    select,
    text,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import REGCONFIG
from sqlalchemy.orm import InstrumentedAttribute, Session

from memory.cursors import check_limit, from_cursor, to_cursor
from memory.drafts.drafts import is_unseen
from memory.errors import InvalidError, NotFoundError, RefusedError
from memory.ids import among
from memory.keys import Keys
from memory.models import Conversation, Fact, Message, Space
from memory.record.journal import record, redact
from memory.redaction.fact_texts import extracted_from, sentence
from memory.redaction.redaction import Secrets, secrets_of
from memory.redaction.telling import begin_to_tell
from memory.redaction.tombstones import bury, graveyard, refusal
from memory.spaces.spaces import lock_space_by_id
from memory.storage.unsynchronised import run_unsynchronised
from memory.texts.caseless import caseless
from memory.texts.fingerprints import normalise, simhash64
from memory.texts.markers import is_marked
from memory.texts.needles import Needles
from memory.texts.scripts import BEGINS, ENDS

LARGEST_PAGE = 200
# Who asks says “I”, and whoever writes that down may say “the user”: where one of these stands in a text, all do.
_ONESELF = re.compile(r"(?<!\w)(?:i|me|my|mine|myself|user)(?!\w)")
_NAMES_OF_ONESELF = "i, me, myself, the user"
# How much later than a statement a fact may begin and still be the one that it states. Of two callers who state the
# same at once the later one may get the space first, and nobody waits longer for a space than this.
_LONGEST_WAIT = timedelta(minutes=5)

# Characters. The first two are in an index, by which they are compared.
MOST = {"subject": 200, "predicate": 200, "object": 2000}


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact that somebody states, checked: raises `InvalidError` on the field that does not fit.

    Unless it is `single`, others of its subject and predicate stay true beside it. Without `valid_from` it is true
    from when it is stated, without `valid_until` it still is.
    """

    subject: str
    predicate: str
    object: str
    confidence: float = 1.0
    single: bool = True
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    source_message_id: UUID | None = None
    keys: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        for name, most in MOST.items():
            in_a_line = " ".join(getattr(self, name).split())
            if is_unseen(in_a_line):
                raise InvalidError(name, "must not be empty")
            # A single character may become several in a key (U+FDFA becomes 18), and an index takes no longer one.
            if max(len(in_a_line), len(caseless(in_a_line))) > most:
                raise InvalidError(name, f"must have at most {most:,} characters")
            object.__setattr__(self, name, in_a_line)
        if not 0 <= self.confidence <= 1:
            raise InvalidError("confidence", "must be between 0 and 1")
        object.__setattr__(self, "keys", {f"{name}_key": caseless(getattr(self, name)) for name in MOST})


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact as it is kept, whether it is new, and the facts that it ended."""

    fact: Fact
    created: bool
    ended: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class FactFilters:
    """Which facts to list; None means any. Spaces of `hidden` are left out.

    With `at`, those that were true then; with `until` too, at some time from then until before that.

    `naming` is a text, as a question: those whose subject or object stands in it, as words of their own. Those
    `extracted` were read out of a conversation, and nobody has confirmed or corrected them since; with `conversation`,
    those that stand in a message of it.
    """

    space_id: UUID | None = None
    subject: str | None = None
    predicate: str | None = None
    naming: str | None = None
    at: datetime | None = None
    until: datetime | None = None
    extracted: bool | None = None
    conversation: UUID | None = None
    hidden: Collection[str] = ()


_LATEST = (Fact.valid_from.desc(), Fact.id.desc())
# Words are stemmed as those of memories are.
_ENGLISH = cast("english", REGCONFIG)


@dataclass(frozen=True, slots=True)
class FactPage:
    """Some facts, each with the slug of its space, the latest first, and the cursor of the next page."""

    facts: Sequence[tuple[Fact, str]]
    next_cursor: str | None


# `due` is when the next fact of the same subject and predicate begins; what a model has read ends nothing that was
# stated. Only what would last beyond that is written.
_END_CONTRADICTED = text("""
UPDATE facts f SET valid_until = n.due
FROM (
    SELECT id, CASE WHEN extracted THEN lead(valid_from) OVER following
        ELSE min(CASE WHEN NOT extracted THEN valid_from END)
            OVER (following ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) END AS due
    FROM facts
    WHERE user_id = :user_id AND space_id = :space_id AND single
      AND (CAST(:subject AS text) IS NULL OR (subject_key = :subject AND predicate_key = :predicate))
    WINDOW following AS (PARTITION BY subject_key, predicate_key ORDER BY valid_from, id)
) n
WHERE f.user_id = :user_id AND f.id = n.id AND n.due < coalesce(f.valid_until, 'infinity')
RETURNING f.id
""")


def end_contradicted(
    session: Session, user_id: UUID, space_id: UUID, key: tuple[str, str] | None = None
) -> Sequence[UUID]:
    """End each single fact of a locked space when the next of its subject and predicate begins; return which changed.

    With a `key`, a subject and a predicate as `caseless` writes them, only facts of these are looked at.
    """
    subject, predicate = key or (None, None)
    session.flush()
    values = {"user_id": user_id, "space_id": space_id, "subject": subject, "predicate": predicate}
    changed = session.scalars(_END_CONTRADICTED, values).all()
    for fact in [each for each in session if isinstance(each, Fact)]:
        session.expire(fact)
    return changed


def state(
    session: Session,
    user_id: UUID,
    space_id: UUID,
    said: Statement,
    *,
    keys: Keys,
    now: datetime,
    actor: str,
    extracted: bool = False,
) -> Stated:
    """Keep a fact in a space; what it contradicts ends when it begins, and is never deleted.

    A fact that is stated again while it is true is kept once, with the higher confidence. If it began before one that
    contradicts it, it ends when that one begins. A fact that a model has `extracted` changes nothing that somebody has
    stated: where the two contradict each other, both stand. An extracted fact that somebody states counts as stated
    from then on.

    Raises `NotFoundError` where there is no such space; `RefusedError` where memory is off, for what was forgotten in
    the space less than a day ago, for what says a text that can still be brought back, and for what is marked as
    recalled; `InvalidError` for a source message that is not in the space, for an end before the beginning, and for an
    end of a fact that is known to last longer, which `correct_fact` is for.
    """
    space = lock_space_by_id(session, user_id, space_id)
    if space is None:
        raise NotFoundError("there is no such space")
    _check_enabled(space)
    begin_to_tell(session)
    _refuse(session, user_id, space_id, said, keys, now)
    if said.source_message_id is not None:
        _check_message(session, user_id, space_id, said.source_message_id)
    begins = said.valid_from or now
    over = said.valid_until
    if over is not None and over <= begins:
        raise InvalidError("valid_until", "must be after valid_from, which is now unless it is given")
    # Of those who state the same at once one waits for the other, and may have come before it.
    last = begins if said.valid_from else now + _LONGEST_WAIT
    known = _same(session, user_id, space_id, said, begins, last, of_any=extracted)
    if known is not None:
        return _state_again(session, known, said, extracted=extracted)
    fact = Fact(
        user_id=user_id,
        space_id=space_id,
        subject=said.subject,
        predicate=said.predicate,
        object=said.object,
        **said.keys,
        confidence=said.confidence,
        single=said.single,
        source_message_id=said.source_message_id,
        extracted=extracted,
        valid_from=begins,
        valid_until=over,
        created_at=now,
    )
    session.add(fact)
    ended = _ended_by(session, fact)
    details = {"ended": [str(each) for each in ended]}
    record(session, user_id, "fact.stated", actor=actor, now=now, subject_id=fact.id, details=details)
    session.flush()
    return Stated(fact, created=True, ended=ended)


def _state_again(session: Session, known: Fact, said: Statement, *, extracted: bool) -> Stated:
    """Add to a fact what a statement of the same says beside it; raises `InvalidError` if that would end it earlier."""
    if extracted and not known.extracted:
        return Stated(known, created=False, ended=())
    over = said.valid_until
    if over is not None and (known.valid_until is None or known.valid_until > over):
        raise InvalidError("valid_until", f"is to be changed in the fact that says this already, {known.id}")
    known.confidence = max(known.confidence, said.confidence)
    known.source_message_id = known.source_message_id or said.source_message_id
    is_news = known.extracted or known.single != said.single
    known.extracted = extracted
    ended: Sequence[UUID] = ()
    if is_news and not extracted:
        known.single = said.single
        ended = _ended_by(session, known)
    session.flush()
    return Stated(known, created=False, ended=ended)


def _check_enabled(space: Space) -> None:
    if not space.memory_enabled:
        raise RefusedError("memory_off", f"memory is off in the space {space.slug!r}: what it holds stays as it is")


def _refuse(session: Session, user_id: UUID, space_id: UUID, said: Statement, keys: Keys, now: datetime) -> None:
    """Refuse a fact for what a memory that says the same is refused for, and one that says what can be brought back.

    The latter would be deleted with the forgotten text once its undo has passed.
    """
    words = sentence(said)
    if is_marked(words):
        raise RefusedError("recalled", "this was recalled from here")
    plain = normalise(words)
    stone = graveyard(session, user_id, space_id, keys, now).blocks(words, plain, simhash64(plain))
    if stone is not None:
        raise RefusedError("tombstone", f"this was {refusal(session, stone, now)}")
    secrets = secrets_of(session, user_id, now)
    if secrets is not None and secrets.needles.in_text(words):
        raise RefusedError("tombstone", "this says what was forgotten, and can still be brought back for minutes")


def _ended_by(session: Session, fact: Fact) -> Sequence[UUID]:
    """Let a single fact end what it contradicts; return which others ended, or ended earlier."""
    session.flush()
    if not fact.single:
        return ()
    key = (fact.subject_key, fact.predicate_key)
    return [each for each in end_contradicted(session, fact.user_id, fact.space_id, key) if each != fact.id]


def _check_message(session: Session, user_id: UUID, space_id: UUID, message_id: UUID) -> None:
    joined = (Conversation.user_id == Message.user_id) & (Conversation.id == Message.conversation_id)
    mine = select(Message.id).join(Conversation, joined).where(Message.user_id == user_id, Message.id == message_id)
    if session.scalar(mine.where(Conversation.space_id == space_id)) is None:
        raise InvalidError("source_message_id", "there is no such message in this space")


def _is_true(moment: datetime, until: datetime | None) -> ColumnElement[bool]:
    """Return the condition that a fact is true at a moment, or at some time from then until before another one."""
    has_begun = Fact.valid_from <= moment if until is None else Fact.valid_from < until
    return has_begun & (Fact.valid_until.is_(None) | (Fact.valid_until > moment))


def _same(
    session: Session,
    user_id: UUID,
    space_id: UUID,
    said: Statement,
    first: datetime,
    last: datetime,
    *,
    beside: UUID | None = None,
    of_any: bool = False,
) -> Fact | None:
    """Return a fact other than `beside` that says this already, begins by `last` and ends after `first`.

    A fact that was stated goes before one that was extracted. Unless `of_any`, a stated one counts only where it is
    `single` as this is.
    """
    about = select(Fact).where(
        Fact.user_id == user_id,
        Fact.space_id == space_id,
        *(getattr(Fact, name) == key for name, key in said.keys.items()),
        *(() if of_any else ((Fact.single == said.single) | Fact.extracted,)),
        Fact.id.is_distinct_from(beside),
        Fact.valid_from <= last,
        Fact.valid_until.is_(None) | (Fact.valid_until > first),
    )
    return session.scalars(about.order_by(Fact.extracted, Fact.valid_from, Fact.id).limit(1)).first()


def list_facts(
    session: Session, user_id: UUID, filters: FactFilters, *, limit: int, cursor: str | None, now: datetime
) -> FactPage:
    """Return a page of facts by (valid_from, id), the latest first; raises `InvalidError` for a bad limit or cursor.

    A fact that says what a forgotten memory said is left out while that can be brought back, and its page is shorter.
    """
    check_limit(limit, LARGEST_PAGE)
    statement = _chosen(user_id, filters)
    if cursor is not None:
        statement = statement.where(tuple_(Fact.valid_from, Fact.id) < from_cursor(cursor))
    rows = session.execute(statement.order_by(*_LATEST).limit(limit + 1)).all()
    found = _told(session, user_id, rows[:limit], now)
    last = rows[limit - 1][0] if len(rows) > limit else None
    return FactPage(found, to_cursor(last.valid_from, last.id) if last else None)


def facts_for(
    session: Session, user_id: UUID, filters: FactFilters, *, most: int, now: datetime
) -> Sequence[tuple[Fact, str]]:
    """Return facts of whom the text `naming` of the filters names, each with the slug of its space.

    There may be more than anyone has room for, of the user above all. So those come first that have the most words of
    the text beside the name, and of these the latest. What a list leaves out is left out.
    """
    said = _words_of(Fact.predicate + " " + Fact.object)
    asked = func.tsvector_to_array(_words_of(filters.naming or ""))
    shared = func.length(said) - func.length(func.ts_delete(said, asked))
    rows = session.execute(_chosen(user_id, filters).order_by(shared.desc(), *_LATEST).limit(most)).all()
    return _told(session, user_id, rows, now)


def _words_of(said: ColumnElement[str] | str) -> Function[Any]:
    # As the index has them: of a text as it is written the parser may read the rest again and again.
    return func.to_tsvector(_ENGLISH, func.in_words(said))


def _told(session: Session, user_id: UUID, rows: Sequence[Row[Fact, str]], now: datetime) -> Sequence[tuple[Fact, str]]:
    secrets = secrets_of(session, user_id, now) if rows else None
    return [(fact, slug) for fact, slug in rows if secrets is None or not _is_secret(fact, secrets)]


def _chosen(user_id: UUID, filters: FactFilters) -> Select[Fact, str]:
    statement = _facts(user_id)
    if filters.space_id is not None:
        statement = statement.where(Fact.space_id == filters.space_id)
    if filters.hidden:
        statement = statement.where(Space.slug.not_in(filters.hidden))
    if filters.subject is not None:
        statement = statement.where(Fact.subject_key == caseless(filters.subject))
    if filters.predicate is not None:
        statement = statement.where(Fact.predicate_key == caseless(filters.predicate))
    if filters.naming is not None:
        words = _with_oneself(caseless(filters.naming))
        statement = statement.where(or_(_stands_in(Fact.subject_key, words), _stands_in(Fact.object_key, words)))
    if filters.at is not None:
        statement = statement.where(_is_true(filters.at, filters.until))
    if filters.extracted is not None:
        statement = statement.where(Fact.extracted == filters.extracted)
    if filters.conversation is not None:
        said = select(Message.id).where(Message.user_id == user_id, Message.conversation_id == filters.conversation)
        statement = statement.where(Fact.source_message_id.in_(said))
    return statement


def _with_oneself(words: str) -> str:
    """Return a text with every name of the user, where it has one.

    >>> _with_oneself("where do i live?"), _with_oneself("where does ida live?")
    ('where do i live?, i, me, myself, the user', 'where does ida live?')
    """
    return f"{words}, {_NAMES_OF_ONESELF}" if _ONESELF.search(words) else words


def _stands_in(name: InstrumentedAttribute[str], words: str) -> ColumnElement[bool]:
    # `strpos` goes first, as making a pattern of each name takes far longer than looking for the name as it is.
    pattern = BEGINS + func.regexp_replace(name, r"(\W)", r"\\\1", "g") + ENDS
    return case((func.strpos(words, name) > 0, literal(words).regexp_match(pattern)), else_=false())


def _is_secret(fact: Fact, secrets: Secrets) -> bool:
    return secrets.needles.in_text(sentence(fact))


def _facts(user_id: UUID) -> Select[Fact, str]:
    joined = (Space.user_id == Fact.user_id) & (Space.id == Fact.space_id)
    return select(Fact, Space.slug).join(Space, joined).where(Fact.user_id == user_id)


def get_fact(
    session: Session, user_id: UUID, fact_id: UUID, *, within: UUID | None = None, now: datetime
) -> tuple[Fact, str]:
    """Return a fact and the slug of its space.

    Raises `NotFoundError` for anyone else's, for one outside the space `within`, and for one that `list_facts` leaves
    out because of what it says.
    """
    row = session.execute(_facts(user_id).where(Fact.id == fact_id)).one_or_none()
    secrets = secrets_of(session, user_id, now) if row else None
    if row is None or within not in {None, row[0].space_id} or (secrets is not None and _is_secret(row[0], secrets)):
        raise NotFoundError("there is no such fact")
    return row[0], row[1]


def correct_fact(
    session: Session,
    user_id: UUID,
    fact_id: UUID,
    changes: Mapping[str, Any],
    *,
    keys: Keys,
    now: datetime,
    actor: str,
) -> Stated:
    """Change `object`, `confidence`, `valid_from` or `valid_until` of a fact; None for the last makes it true again.

    Whoever changes a fact has looked at it, so from then on it counts as stated and not as extracted. False for
    `extracted` says that alone: somebody has looked, and all is right. What contradicts the fact and began before it
    ends when it begins. Raises `NotFoundError`, `RefusedError` as `state` does, and `InvalidError` on a field that does
    not fit: a fact cannot be true beyond the next one that contradicts it.
    """
    fact, space = _locked(session, user_id, fact_id, now)
    _check_enabled(space)
    object_, confidence = changes.get("object", fact.object), changes.get("confidence", fact.confidence)
    said = Statement(fact.subject, fact.predicate, object_, confidence, fact.single)
    begins, until = changes.get("valid_from", fact.valid_from), changes.get("valid_until", fact.valid_until)
    _check_span(session, fact, begins, until)
    if said.object != fact.object:
        _refuse(session, user_id, fact.space_id, said, keys, now)
        if _same(session, user_id, fact.space_id, said, begins, begins, beside=fact_id) is not None:
            raise InvalidError("object", "is known already")
        # The old object was wrong, so it must not stay in the calls that said it.
        redact(session, [fact_id], Needles(()))
    new = {"object": said.object, "confidence": said.confidence, "valid_from": begins, "valid_until": until}
    fields = sorted(name for name, value in new.items() if value != getattr(fact, name))
    if fact.extracted and (fields or changes.get("extracted") is False):
        fields.append("extracted")
    if not fields:
        return Stated(fact, created=False, ended=())
    for name, value in {**new, **said.keys, "extracted": False}.items():
        setattr(fact, name, value)
    ended = _ended_by(session, fact)
    details = {"fields": fields, "ended": [str(each) for each in ended]}
    record(session, user_id, "fact.corrected", actor=actor, now=now, subject_id=fact_id, details=details)
    session.flush()
    return Stated(fact, created=False, ended=ended)


def _check_span(session: Session, fact: Fact, begins: datetime, until: datetime | None) -> None:
    """Raise `InvalidError` where a fact would end before it begins, or last beyond the next.

    On the moment that is another one than before; of two, on the end.
    """
    moved = until == fact.valid_until and begins != fact.valid_from
    if until is not None and until < begins:
        if moved:
            raise InvalidError("valid_from", "must not be after it ended")
        raise InvalidError("valid_until", "must not be before it began")
    within = Fact.valid_from < until if until is not None else true()
    later = select(func.min(Fact.valid_from), func.max(Fact.valid_from)).where(
        Fact.user_id == fact.user_id,
        Fact.space_id == fact.space_id,
        Fact.subject_key == fact.subject_key,
        Fact.predicate_key == fact.predicate_key,
        Fact.single,
        ~Fact.extracted,
        tuple_(Fact.valid_from, Fact.id) > (begins, fact.id),
        Fact.id != fact.id,
        within,
    )
    following, last = session.execute(later).one() if fact.single else (None, None)
    if following is None:
        return
    if moved:
        raise InvalidError(
            "valid_from",
            f"must be after {last:%Y-%m-%d %H:%M} UTC, when another fact of this began, unless it ends by then",
        )
    raise InvalidError(
        "valid_until", f"must not be after {following:%Y-%m-%d %H:%M} UTC, when the next fact of this began"
    )


def delete_fact(session: Session, user_id: UUID, fact_id: UUID, *, keys: Keys, now: datetime, actor: str) -> None:
    """Delete a fact for good, and what calls said of it; what it had ended stays ended. Raises `NotFoundError`.

    One that was extracted leaves a tombstone, as a forgotten memory does: the model may read the same again any moment.
    """
    fact, space = _locked(session, user_id, fact_id, now)
    if fact.extracted:
        bury(session, {fact.id: [sentence(fact)]}, keys, now, user_id=user_id, space_id=space.id)
    session.delete(fact)
    session.flush()
    redact(session, [fact_id], Needles(()))
    record(session, user_id, "fact.deleted", actor=actor, now=now, subject_id=fact_id)
    session.flush()


def delete_extracted(session: Session, user_id: UUID, space_id: UUID, *, keys: Keys, now: datetime, actor: str) -> int:
    """Delete for good what a model has read out of conversations in a space, as `delete_fact` does; returns how many.

    What somebody has confirmed or corrected stays. Raises `NotFoundError`.
    """
    space = lock_space_by_id(session, user_id, space_id)
    if space is None:
        raise NotFoundError("there is no such space")
    begin_to_tell(session)
    mine = _extracted(user_id, space_id)
    found = session.scalars(select(Fact).where(mine).order_by(Fact.id).with_for_update()).all()
    said = {fact.id: [sentence(fact)] for fact in found}
    bury(session, said, keys, now, user_id=user_id, space_id=space_id)
    run_unsynchronised(session, delete(Fact).where(Fact.user_id == user_id, among(Fact.id, said)))
    redact(session, list(said), Needles(()))
    if said:
        details = {"space": space.slug}
        record(session, user_id, "fact.deleted", actor=actor, now=now, count=len(said), details=details)
    session.flush()
    return len(said)


def count_extracted(session: Session, user_id: UUID, space_id: UUID) -> int:
    """Return how many facts `delete_extracted` would delete."""
    return session.scalar(select(func.count()).select_from(Fact).where(_extracted(user_id, space_id))) or 0


def _extracted(user_id: UUID, space_id: UUID) -> ColumnElement[bool]:
    return (Fact.user_id == user_id) & (Fact.space_id == space_id) & Fact.extracted


def _locked(session: Session, user_id: UUID, fact_id: UUID, now: datetime) -> tuple[Fact, Space]:
    """Lock the space of a fact and then the fact, which is read anew; raises `NotFoundError` where it is gone.

    Between the two it waits for whoever is forgetting what the fact says, as `memory.redaction.telling` has it.
    """
    seen, _ = get_fact(session, user_id, fact_id, now=now)
    space = lock_space_by_id(session, user_id, seen.space_id)
    begin_to_tell(session)
    fact = session.get(Fact, (user_id, fact_id), with_for_update=True, populate_existing=True)
    # While we waited the space may have been removed, and its facts moved to another one.
    if space is None or fact is None or fact.space_id != space.id:
        raise NotFoundError("there is no such fact")
    return fact, space


def move_extracted(session: Session, user_id: UUID, conversation_id: UUID, target_id: UUID) -> int:
    """Move what was read out of a conversation, and nobody has stated since, to another space; returns how many facts.

    That space and those that they are in are locked by the caller.
    """
    ids = extracted_from(session, [conversation_id])
    moved = update(Fact).where(Fact.user_id == user_id, among(Fact.id, ids))
    run_unsynchronised(session, moved.values(space_id=target_id))
    end_contradicted(session, user_id, target_id)
    return len(ids)


def move_facts(
    session: Session, user_id: UUID, space_id: UUID, target_id: UUID, *, ended: datetime | None = None
) -> None:
    """Move the facts of one locked space to another locked one; of those that contradict one another the earlier ends.

    With a moment `ended` those of them that are true then end at that moment, and end none of those that are there.
    """
    mine = (Fact.user_id == user_id, Fact.space_id == space_id)
    moved = update(Fact).where(*mine)
    if ended is not None:
        until = func.greatest(Fact.valid_from, func.least(Fact.valid_until, ended))
        run_unsynchronised(session, moved.values(valid_until=until, single=False))
    run_unsynchronised(session, moved.values(space_id=target_id))
    end_contradicted(session, user_id, target_id)
