"""Taking what a forgotten memory said out of the record of tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, cast, func, or_, select
from sqlalchemy import Text as SqlText
from sqlalchemy.orm import Session

from memory.ids import among
from memory.lineage.revisions import texts_of
from memory.models import Forgotten, Memory, ToolCall
from memory.portions import portions
from memory.redaction.forgotten_rows import texts_read
from memory.redaction.telling import moment, told_since
from memory.texts.needles import Needles

REDACTED: dict[str, Any] = {"redacted": True}
# Stands for a name that says a forgotten text: of a tool, of an operation, or of a request.
UNNAMED = "redacted"

_COLUMNS = (
    ToolCall.id,
    ToolCall.arguments,
    ToolCall.result,
    ToolCall.error,
    ToolCall.affected_ids,
    ToolCall.affected_paths,
    ToolCall.origin,
    ToolCall.tool,
    ToolCall.operation,
    ToolCall.correlation_id,
)
_NAMED = (ToolCall.tool, ToolCall.operation)
_MINE = ToolCall.user_id == func.app_user()
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Secrets:
    """Memories that are to be told of no more, and what they say."""

    ids: frozenset[UUID]
    needles: Needles

    def told_by(self, call: Any) -> bool:
        """Tell whether a call names one of the memories or says what one of them says."""
        return not self.ids.isdisjoint(call.affected_ids) or self.said_by(call)

    def said_by(self, call: Any) -> bool:
        """Tell whether a call itself carries one of the texts."""
        return self.needles.in_value([call.arguments, call.result, call.error, call.affected_paths])

    def named_by(self, call: Any) -> Sequence[str]:
        """Return those of a call's names that say one of the texts; a call may carry it there alone."""
        return [name for name in _names_of(call) if name is not None and self.needles.in_name(name)]


def _names_of(call: Any) -> Sequence[str | None]:
    """Return the names that whoever called was free to choose: the tools of this server have their own."""
    chosen = (call.tool, call.operation) if call.origin != "server" else ()
    return [*chosen, call.correlation_id]


class Calls:
    """Tool calls of the user that name one of some ids or carry one of the texts: looked for, then blanked.

    Works with the user whom the transaction is confined to; the caller commits.
    """

    def __init__(self, session: Session, needles: Needles) -> None:
        self._session, self._needles = session, needles
        self._begun, self._where = moment(session), _MINE
        self._found: set[UUID] = set()
        # `_saying` are those of the found calls that carry a text themselves, and `_paths` the paths that do. `_named`
        # are all calls with a name that does, and `_names` these names.
        self._saying: set[UUID] = set()
        self._paths: set[str] = set()
        self._named: set[UUID] = set()
        self._names: set[str] = set()

    def look(self, ids: Sequence[UUID]) -> None:
        """Look through the whole record the first time, and after that through what was written since this was made."""
        secrets = Secrets(frozenset(ids), self._needles)
        candidates = _that_may_tell(self._session, ids, self._needles, self._where) if ids or self._needles else ()
        for some in portions(candidates, _AT_ONCE):
            for call in self._session.execute(select(*_COLUMNS).where(_MINE, ToolCall.id.in_(some))):
                self._look_at(call, secrets)
        self._where = _MINE & told_since(self._begun)

    def _look_at(self, call: Any, secrets: Secrets) -> None:
        if names := secrets.named_by(call):
            self._named.add(call.id)
            self._names.update(names)
        if not secrets.told_by(call) or _is_blank(call, secrets):
            return
        self._found.add(call.id)
        if secrets.said_by(call):
            self._saying.add(call.id)
        self._paths.update(path for path in call.affected_paths if secrets.needles.in_text(path))

    def blank(self, conversation_ids: Sequence[UUID] = ()) -> int:
        """Blank the calls that were found; return how many. Of those with a telling name only that name is replaced.

        Calls of these conversations, which the caller is about to release, are locked in the same go, in one order.
        """
        if conversation_ids or self._named:
            # All of these calls are locked in the order of their ids.
            every = sorted(self._found | self._named)
            self._session.execute(select(func.hold_tool_calls(every, list(conversation_ids))))
        if self._named:
            self._session.execute(select(func.rename_tool_calls(sorted(self._named), sorted(self._names))))
        if not self._found:
            return 0
        told = (sorted(each) for each in (self._found, self._saying, self._paths))
        return self._session.scalar(select(func.redact_tool_calls(*told))) or 0


def _is_blank(call: Any, secrets: Secrets) -> bool:
    return is_redacted(call) and not secrets.needles.in_value(call.affected_paths)


def is_redacted(call: Any) -> bool:
    """Tell whether what a call said was taken out of the record."""
    return bool((call.arguments, call.result, call.error) == (REDACTED, REDACTED, None))


def _that_may_tell(
    session: Session, memory_ids: Sequence[UUID], needles: Needles, where: ColumnElement[bool]
) -> list[UUID]:
    """Return the calls that may have to be blanked, reading what each says once, as one text."""
    affected = func.unnest(ToolCall.affected_ids).column_valued("affected")
    # Each affected id is looked up by a hash; the overlap operator would compare each with each.
    named = select(affected).where(among(affected, memory_ids)).exists()
    texts = (ToolCall.error, ToolCall.affected_paths, ToolCall.correlation_id, *(_of_theirs(each) for each in _NAMED))
    parts = (ToolCall.arguments, ToolCall.result, *map(func.to_jsonb, texts))
    said = func.concat_ws("\n", *(cast(part, SqlText) for part in parts))
    statement = select(ToolCall.id, named, said)
    # Texts are compared here and not in the database, whose upper and lower case are not Python's.
    return [
        call_id
        for call_id, is_named, written in _read(session, statement, where, named, said, needles.pattern())
        if is_named or needles.may_be_in_json(written)
    ]


def _of_theirs(name: Any) -> ColumnElement[Any]:
    # The names of our own tools are in most calls, and say nothing.
    return case((ToolCall.origin != "server", name))


def _read(
    session: Session,
    statement: Select[*tuple[Any, ...]],
    where: ColumnElement[bool],
    named: Any,
    said: Any,
    fitting: str | None,
) -> Iterator[Any]:
    """Yield the rows of `statement` about calls that name something, or say what the pattern `fitting` fits."""
    if fitting is None:
        yield from session.execute(statement.where(where).execution_options(yield_per=_AT_ONCE))
        return
    # Their ids alone, all in one answer: a cursor, which gives some at a time, keeps the database from reading by
    # several processes at once, and hardly any of the calls has to come over here.
    ids = session.scalars(select(ToolCall.id).where(where, or_(named, said.op("~")(fitting)))).all()
    for some in portions(ids, _AT_ONCE):
        yield from session.execute(statement.where(_MINE, ToolCall.id.in_(some)))


def secrets_of(session: Session, user_id: UUID, now: datetime) -> Secrets | None:
    """Return the memories that are forgotten or expired and not purged yet, None where there are none."""
    # Of a forgotten space there may be thousands, until they are purged.
    said = select(Forgotten.id, texts_read(Forgotten.row)).where(Forgotten.user_id == user_id)
    forgotten = session.execute(said).all()
    mine = (Memory.user_id == user_id, Memory.expires_at <= now)
    expired = session.execute(select(Memory.id, Memory.text).where(*mine)).all()
    if not forgotten and not expired:
        return None
    texts = [text for _, its in forgotten for text in its] + [text for _, text in expired]
    if expired:
        texts += texts_of(session, user_id, [memory_id for memory_id, _ in expired])
    return Secrets(frozenset(memory_id for memory_id, _ in (*forgotten, *expired)), Needles(texts))
