"""What a caller wants remembered, checked field by field before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from unicodedata import category
from uuid import UUID

from memory.errors import InvalidError
from memory.ids import in_one_case
from memory.models import ROLES, STATUSES, TYPES
from memory.texts.caseless import caseless
from memory.texts.scripts import compatible

MAX_TEXT_BYTES = 64 * 1024
# The texts of a batch together: while it is being stored, nobody else writes to its space.
MAX_BATCH_BYTES = 16 * 1024 * 1024
MAX_TAGS = 32
MAX_TAG_LENGTH = 64
MAX_SOURCE_IDS = 64
MAX_SOURCE_ID_LENGTH = 256
AHEAD = timedelta(days=1)
# Controls, joiners and marks of direction, separators; and the fillers, blank patterns and variation selectors that
# count as letters, symbols or accents.
_UNSEEN_KINDS = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}
DEFAULT_TYPE = "note"
DEFAULT_ROLE = "user"


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory before it is stored. `importance` in [0, 1] overrides the heuristics; `created_at` is aware."""

    text: str
    type: str = DEFAULT_TYPE
    role: str = DEFAULT_ROLE
    tags: tuple[str, ...] = ()
    theme: str | None = None
    source_ids: tuple[str, ...] = ()
    source_message: str | None = None
    manually_saved: bool = False
    importance: float | None = None
    metadata_confidence: float | None = None
    created_at: datetime | None = None
    expires_at: datetime | None = None
    # The message of a conversation here that it was said in; whoever stores the draft has looked it up.
    source_message_id: UUID | None = None
    # Whether the text is stored already. An earlier version may have let one through that nobody can see.
    stored: bool = False

    def __post_init__(self) -> None:
        check_text(self.text)
        if not self.stored and is_unseen(self.text):
            raise InvalidError("text", "must not be empty")
        check_choice("type", self.type, TYPES)
        check_choice("role", self.role, ROLES)
        check_words("tags", self.tags, MAX_TAGS, MAX_TAG_LENGTH)
        object.__setattr__(self, "tags", tuple(merged_tags((), self.tags)))
        check_words("source_ids", self.source_ids, MAX_SOURCE_IDS, MAX_SOURCE_ID_LENGTH)
        object.__setattr__(self, "source_ids", tuple(map(in_one_case, self.source_ids)))
        check_share("importance", self.importance)
        check_share("metadata_confidence", self.metadata_confidence)
        check_moment("created_at", self.created_at)
        check_moment("expires_at", self.expires_at)


def is_unseen(text: str) -> bool:
    """Tell whether a text has no character that is to be seen: white space, controls and what has no width alone."""
    return all(character in _UNSEEN or category(character) in _UNSEEN_KINDS for character in text)


def without_unseen(text: str) -> str:
    """Return a text without what nobody sees between its letters: joiners, soft hyphens, tags, variation selectors.

    White space stays, as controls do.
    """
    if text.isascii():
        return text
    return "".join(each for each in text if each not in _UNSEEN and category(each) != "Cf")


def check_text(text: str, field: str = "text", *, most: int = MAX_TEXT_BYTES) -> None:
    """Refuse what cannot be stored whole: nothing but white space, NUL, half a surrogate pair, over `most` bytes."""
    if not text.strip():
        raise InvalidError(field, "must not be empty")
    if "\x00" in text:
        raise InvalidError(field, "must not contain NUL bytes")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidError(field, "is not valid Unicode text") from None
    if size > most:
        raise InvalidError(field, f"must be at most {most} bytes of UTF-8, not {size}")


def check_batch(drafts: Sequence[Draft]) -> None:
    """Refuse drafts with more text than is stored at once."""
    size = sum(len(draft.text.encode()) for draft in drafts)
    if size > MAX_BATCH_BYTES:
        raise InvalidError("entries", f"must have at most {MAX_BATCH_BYTES} bytes of text together, not {size}")


def check_choice(field: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of `allowed`."""
    if value not in allowed:
        raise InvalidError(field, f"must be one of {', '.join(allowed)}")


def check_status(value: str) -> None:
    """Refuse an unknown status."""
    check_choice("status", value, STATUSES)


def check_words(field: str, words: tuple[str, ...], most: int, longest: int) -> None:
    """Refuse too many words, and words that are empty, too long or not storable."""
    if len(words) > most:
        raise InvalidError(field, f"must be at most {most}, not {len(words)}")
    for word in words:
        check_text(word, field)
        if len(word) > longest:
            raise InvalidError(field, f"must be at most {longest} characters each")


def check_share(field: str, value: float | None) -> None:
    """Refuse a number outside [0, 1], NaN included."""
    if value is not None and not 0 <= value <= 1:
        raise InvalidError(field, "must be between 0 and 1")


def check_moment(field: str, value: datetime | None) -> None:
    """Refuse a time without a zone, and one that cannot be read back: it would break every search that meets it."""
    if value is None:
        return
    if value.tzinfo is None:
        raise InvalidError(field, "must have a time zone")
    try:
        value.astimezone(UTC)
    except OverflowError:
        raise InvalidError(field, "must be within the years 1 to 9999 in UTC") from None


def check_not_ahead(created_at: datetime | None, now: datetime) -> None:
    """Refuse a `created_at` that is still to come: it would be the latest of all for as long as it takes.

    A day is left to clocks that are wrong, and to moments that were written down in another zone.
    """
    if created_at is not None and created_at - now > AHEAD:
        raise InvalidError("created_at", "must not be more than a day in the future")


def merged_tags(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """Return `old` followed by the tags that `new` adds, as many as may be, without blanks around them or doubled ones.

    A tag with the same `tag_key` is the same, and stays as it was written first.
    """
    kept: dict[str, str] = {}
    for tag in (*old, *map(without_blanks, new)):
        kept.setdefault(tag_key(tag), tag)
    return list(kept.values())[:MAX_TAGS]


def tag_key(tag: str) -> str:
    """Return what is the same for a tag in any case, and with any signs that nobody sees."""
    return caseless(compatible(tag))


def without_blanks(tag: str) -> str:
    """Return a tag without blanks around it or doubled ones."""
    return " ".join(tag.split())


def merged_words(old: list[str], new: tuple[str, ...], most: int) -> list[str]:
    """Return `old` followed by what `new` adds, in order, without repeats, at most `most`."""
    return list(dict.fromkeys([*old, *new]))[:most]


def later_expiry(one: datetime | None, other: datetime | None) -> datetime | None:
    """Return the later expiry; None is never. What is said again must not lapse with what was said before."""
    return max(one, other) if one is not None and other is not None else None
