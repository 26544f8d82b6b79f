"""Bring in what somebody kept elsewhere: all of it or nothing, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import LargeBinary, any_, literal, select
from sqlalchemy.orm import Session

from memory.drafts.drafts import Draft
from memory.errors import ConflictError, InvalidError, RefusedError
from memory.ids import among
from memory.keys import Keys
from memory.models import Memory, Revision, Space
from memory.spaces.capacity import expired_in
from memory.spaces.spaces import lock_space, update_space
from memory.texts.fingerprints import text_digest
from memory.transfer.notes_files import Returning
from memory.writing.bulk import set_status_many
from memory.writing.edit import update
from memory.writing.remember import remember_many

# As many as one request of the API may store.
AT_ONCE = 500
# Who acts where the command brings something in.
COMMAND = "import"


def bring_in(
    session: Session,
    user_id: UUID,
    slug: str,
    drafts: Sequence[Draft],
    *,
    soft_cap: int | None,
    keys: Keys,
    now: datetime,
    actor: str,
    whole: Collection[str] = (),
    on_stored: Callable[[int], object] = lambda _stored: None,
) -> Counter[str]:
    """Store drafts in a space and return how many were created, corrected, merged, refused, there already, or archived.

    The caller commits. What comes back from an export with another text corrects the memory that it was; it is left
    where that was `changed` since, or is `elsewhere`, in another space. What the space has word for word is left as it
    is, so that to bring in the same again changes nothing. A `soft_cap` above that of the space becomes its own. Of
    files, and folders that end in a slash, which the drafts are `whole`, that is archived which is `gone` from them.
    Raises `InvalidError` for an unknown space, one that stores nothing, and one that could not keep all of it.
    """
    space = lock_space(session, user_id, slug)
    if not space.memory_enabled or space.incognito_default:
        why = "its memory is off" if not space.memory_enabled else "it is incognito by default"
        raise InvalidError("space", f"{slug!r} stores nothing: {why}")
    corrected = _correct(session, space, drafts, keys=keys, now=now, actor=actor)
    given = {text_digest(draft.text): draft for draft in reversed(drafts) if id(draft) not in corrected}
    known = (Memory.user_id == user_id, Memory.space_id == space.id, Memory.status == "active")
    there = set(
        session.scalars(select(Memory.text_digest).where(*known, among(Memory.text_digest, given, LargeBinary)))
    )
    new = [draft for digest, draft in reversed(given.items()) if digest not in there]
    if soft_cap is not None and soft_cap > space.soft_cap:
        space = update_space(session, user_id, slug, {"soft_cap": soft_cap}, now=now, actor=actor)
    _check_room(session, space, len(new), now)
    counts = Counter(there=len(drafts) - len(corrected) - len(new))
    counts.update(corrected.values())
    # Before the others come, as what is new in a file and nearly says the same is not to be merged into it.
    if ids := list(gone(session, user_id, slug, drafts, whole)):
        counts["archived"] = len(set_status_many(session, user_id, ids, "archived", keys=keys, now=now, actor=actor))
    for at in range(0, len(new), AT_ONCE):
        some = new[at : at + AT_ONCE]
        counts.update(
            outcome.outcome for outcome in remember_many(session, user_id, slug, some, keys=keys, now=now, actor=actor)
        )
        on_stored(len(some))
    return counts


def _correct(
    session: Session, space: Space, drafts: Sequence[Draft], *, keys: Keys, now: datetime, actor: str
) -> dict[int, str]:
    """Correct the memories that drafts come back from; return what became of each of these drafts, by its `id`."""
    named = [(draft.of, draft) for draft in drafts if isinstance(draft, Returning) and draft.of is not None]
    # Of a document that somebody has copied to write another one nobody knows which is the memory.
    times = Counter(of for of, _ in named)
    returning = {of: draft for of, draft in named if times[of] == 1}
    mine = (Memory.user_id == space.user_id, among(Memory.id, returning))
    there = session.scalars(select(Memory).where(*mine).order_by(Memory.id)).all()
    done: dict[int, str] = {}
    for memory in there:
        draft = returning[memory.id]
        if memory.space_id != space.id:
            done[id(draft)] = "elsewhere"
            continue
        active, same = memory.status == "active", draft.says(memory.text)
        if same and active:
            continue
        if same or _is_changed(session, memory, draft):
            # What was archived or replaced here since is not to come back as another memory, either.
            done[id(draft)] = "changed"
            continue
        if not active:
            continue
        try:
            update(session, space.user_id, memory.id, {"text": draft.text}, keys=keys, now=now, actor=actor)
        except ConflictError:
            # Another memory says so already.
            done[id(draft)] = "there"
        except RefusedError:
            done[id(draft)] = "refused"
        else:
            done[id(draft)] = "corrected"
    return done


def _is_changed(session: Session, memory: Memory, draft: Returning) -> bool:
    """Tell whether a memory has another text than a document was written of, and not by what was brought in since.

    Whoever works on in a folder brings it in again and again, with the versions that it was exported with. A text that
    the memory has had since then is that of an older copy.
    """
    since = memory.version - draft.version
    if not 0 <= since < memory.version:
        return True
    texts = (
        select(Revision.text, Revision.actor)
        .where(Revision.user_id == memory.user_id, Revision.memory_id == memory.id)
        .where(literal("text") == any_(Revision.fields))
        .order_by(Revision.number.desc())
        .limit(since)
    )
    rows = session.execute(texts).all()
    own = [row for row in rows if row.actor == COMMAND and not draft.says(row.text)]
    return not since == len(rows) == len(own)


def gone(
    session: Session, user_id: UUID, slug: str, drafts: Sequence[Draft], whole: Collection[str]
) -> Mapping[UUID, str]:
    """Return the active memories, with their texts, that are of `whole` files or folders alone and in no draft.

    What its owner has changed, pinned or saved by hand since it came is theirs, and none of these.
    """
    if not whole:
        return {}
    folders = tuple(name for name in whole if name.endswith("/"))
    files = set(whole)
    statement = select(Memory.id, Memory.text, Memory.text_digest, Memory.source_ids).where(
        Memory.user_id == user_id,
        Memory.space_id == select(Space.id).where(Space.user_id == user_id, Space.slug == slug).scalar_subquery(),
        Memory.status == "active",
        Memory.source_ids != [],
        Memory.version == 1,
        ~Memory.pinned,
        ~Memory.manually_saved,
    )
    said = {text_digest(draft.text) for draft in drafts}
    return {
        row.id: row.text
        for row in session.execute(statement.order_by(Memory.id))
        if row.text_digest not in said and all(name in files or name.startswith(folders) for name in row.source_ids)
    }


def _check_room(session: Session, space: Space, more: int, now: datetime) -> None:
    """Raise `InvalidError` where the weakest memories of a space would go for good to make room."""
    wanted = space.documents - expired_in(session, space, now) + more
    if more and wanted > space.soft_cap:
        raise InvalidError(
            "soft_cap",
            f"is too low: the space {space.slug!r} keeps {space.soft_cap:,} and would have {wanted:,}, of which the "
            f"weakest {wanted - space.soft_cap:,} would go for good; {wanted} keeps them all",
        )
