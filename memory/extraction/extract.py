"""Fact extraction: what waits is read outside of any transaction, and what was found is kept where it still fits."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session, sessionmaker

from memory.errors import InvalidError, RefusedError
from memory.extraction.reading import USER, facts_by_model
from memory.extraction.waiting import FULL, QUIET, Part, next_part, still_waits
from memory.facts.facts import Statement, state
from memory.keys import Keys
from memory.locks import Purpose
from memory.models import Conversation
from memory.record.journal import record
from memory.remote.llm import ChatModel, ChatModelError, RefusedTextError, UnfinishedAnswerError, UselessAnswerError
from memory.spaces.spaces import lock_space_by_id
from memory.storage.database import user_session

logger = logging.getLogger(__name__)

ACTOR = "extraction"
# A conversation that an endpoint refuses to read, as some do by its words, is tried again after so long; twice as long
# the next time, as each time may cost money, and a day at most. Not longer where it may be due to the endpoint.
APART, LONGEST_APART = timedelta(hours=1), timedelta(days=1)
# So is the endpoint itself, where it refuses one conversation after the other.
REST, LONGEST_REST = timedelta(minutes=1), timedelta(hours=1)
_KEY = f"hashtextextended(:name, {Purpose.READING.value})"
_HOLD, _LET_GO = text(f"SELECT pg_try_advisory_lock({_KEY})"), text(f"SELECT pg_advisory_unlock({_KEY})")
# After so many in a row it is the endpoint, and no conversation. So it is where it has answered none for an hour.
_MOST_REFUSED = 3


@dataclass(slots=True)
class _Run:
    """What one call of `step` has come to."""

    refused: int = 0
    is_away: bool = False


@dataclass(slots=True)
class _Pause:
    """How long something is left alone: twice as long each time, `longest` at most."""

    following: timedelta
    longest: timedelta
    until: datetime | None = None

    def begin(self, now: datetime) -> None:
        self.until, self.following = now + self.following, min(2 * self.following, self.longest)

    def holds(self, now: datetime) -> bool:
        return self.until is not None and now < self.until


class Extractor:
    """The worker's loop over conversations that wait to be read. One instance per process."""

    def __init__(
        self, sessions: sessionmaker[Session], keys: Keys, clock: Callable[[], datetime], chat_model: ChatModel
    ) -> None:
        self._sessions = sessions
        self._keys = keys
        self._clock = clock
        self._chat_model = chat_model
        self._last: UUID | None = None
        self._apart: dict[UUID, _Pause] = {}
        self._rest = _Pause(REST, LONGEST_REST)
        self._answered: datetime | None = None
        # Messages that are read at once: fewer while the model does not come to the end of its answers.
        self._most = FULL

    def step(self) -> int:
        """Read one part for each user who has something waiting, in turn; returns how many messages were settled.

        0 says that nothing is left to be read by now, or that the model does not answer.
        """
        now = self._clock()
        if self._rest.holds(now):
            return 0
        # Of what was deleted meanwhile nothing is heard any more.
        self._apart = {each: pause for each, pause in self._apart.items() if pause.holds(now - LONGEST_APART)}
        with self._sessions() as session:
            waiting = select(func.users_with_unread_conversations(now - QUIET, FULL))
            users = sorted(session.scalars(waiting))
        total, run = 0, _Run()
        # Behind whoever was last: nobody's backlog, nor what the model cannot read, keeps the others waiting.
        for user_id in sorted(users, key=lambda user: (self._last is not None and user <= self._last, user)):
            self._last = user_id
            total += self.extract_for(user_id, run)
            if run.refused >= _MOST_REFUSED:
                self._rest.begin(now)
            if run.is_away or run.refused >= _MOST_REFUSED:
                break
        return total

    def extract_for(self, user_id: UUID, run: _Run | None = None) -> int:
        """Read the next part that waits of one user's conversations; returns how many messages were settled.

        A conversation that the endpoint refuses is put apart, and the next one read.
        """
        run, held = run or _Run(), set[UUID]()
        while run.refused < _MOST_REFUSED and (part := self._next(user_id, held)) is not None:
            with self._held(part.conversation_id) as is_mine:
                if not is_mine:
                    held.add(part.conversation_id)
                    continue
                try:
                    read, found = self._read(user_id, part)
                except ChatModelError as error:
                    logger.warning("conversations wait to be read for facts: %s", error)
                    run.is_away = error.away
                    if error.away:
                        return 0
                    run.refused += 1
                    self._put_apart(part, error)
                    continue
                run.refused = 0
                self._apart.pop(part.conversation_id, None)
                return self._settle(user_id, read, found)
        return 0

    def _next(self, user_id: UUID, held: Collection[UUID]) -> Part | None:
        with user_session(self._sessions, user_id) as session:
            now = self._clock()
            apart = {each for each, pause in self._apart.items() if pause.holds(now)}
            part = next_part(session, user_id, now=now, apart=apart | {*held})
        while part is not None and len(part.said) > self._most:
            part = part.half()
        return part

    @contextmanager
    def _held(self, conversation_id: UUID) -> Iterator[bool]:
        """Keep other processes from reading a conversation; yields whether none of them does.

        No transaction is open meanwhile: the lock is the connection's, and goes with it where this process ends.
        """
        name = {"name": str(conversation_id)}
        with self._sessions() as session:
            connection = session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
            is_mine = bool(connection.scalar(_HOLD, name))
            try:
                yield is_mine
            finally:
                if is_mine:
                    connection.execute(_LET_GO, name)

    def _read(self, user_id: UUID, part: Part) -> tuple[Part, Sequence[Statement]]:
        """Return as much of a part as the model has an answer to, with the facts in it.

        What it has no useful answer to by itself is done without, if it has one to others. Nothing is sent that is
        to be read no longer by then. Raises `ChatModelError` where it gives none. Where it does not come to the end of
        one, half as much is read the next time, and a message by itself is put apart.
        """
        while any(said.role == USER for said in part.said) and self._still_waits(user_id, part):
            try:
                found = facts_by_model(self._chat_model, part, now=self._clock())
            except (RefusedTextError, UselessAnswerError) as error:
                if len(part.said) > 1:
                    part = part.half()
                    continue
                # What is refused may be taken once the endpoint is set right.
                if isinstance(error, RefusedTextError) or not self._answers():
                    raise
                logger.warning("a message is not read for facts: %s", error)
                break
            except UnfinishedAnswerError as error:
                if len(part.said) == 1:
                    self._put_apart(part, error)
                self._most = max(1, len(part.said) // 2)
                raise
            self._answered = self._clock()
            self._rest = _Pause(REST, LONGEST_REST)
            self._most = min(FULL, self._most + 1)
            return part, found
        return part, ()

    def _still_waits(self, user_id: UUID, part: Part) -> bool:
        with user_session(self._sessions, user_id) as session:
            return still_waits(session, user_id, part)

    def _put_apart(self, part: Part, error: ChatModelError) -> None:
        pause = self._apart.setdefault(part.conversation_id, _Pause(APART, LONGEST_APART))
        if not (isinstance(error, RefusedTextError | UselessAnswerError) or self._answers()):
            # It may be the endpoint: once that is back, nothing is to wait for a day.
            pause.following = APART
        pause.begin(self._clock())

    def _answers(self) -> bool:
        """Tell whether the model has given a useful answer lately."""
        return self._answered is not None and self._answered > self._clock() - APART

    def _settle(self, user_id: UUID, part: Part, found: Sequence[Statement]) -> int:
        """Keep what was found, and that the part was read; nothing where the conversation has changed meanwhile."""
        now = self._clock()
        with user_session(self._sessions, user_id) as session:
            space = lock_space_by_id(session, user_id, part.space_id)
            if space is None or not space.extract_facts or not space.memory_enabled or space.incognito_default:
                return 0
            key = (user_id, part.conversation_id)
            conversation = session.get(Conversation, key, with_for_update={"key_share": True})
            if conversation is None or conversation.archived_at is not None:
                return 0
            if (conversation.space_id, conversation.extracted_through) != (part.space_id, part.after):
                return 0
            done = Counter(self._keep(session, user_id, part.space_id, statement, now) for statement in found)
            conversation.extracted_through = part.upto
            # What was said, and when it changed, stays as it is: nobody has touched it.
            details = {"messages": part.length, **done}
            subject = part.conversation_id
            record(
                session, user_id, "conversation.extracted", actor=ACTOR, now=now, subject_id=subject, details=details
            )
        return part.length

    def _keep(self, session: Session, user_id: UUID, space_id: UUID, said: Statement, now: datetime) -> str:
        """Keep one fact, and return what became of it."""
        try:
            kept = state(session, user_id, space_id, said, keys=self._keys, now=now, actor=ACTOR, extracted=True)
        except (InvalidError, RefusedError):
            # What was forgotten, as any writer is told; here nobody is there to be told.
            return "refused"
        return "facts" if kept.created else "known"
