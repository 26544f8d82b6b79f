"""What the rows of an export must be beyond their columns' types, and what is worked out of them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from memory.drafts.drafts import Draft, check_choice, check_not_ahead, check_text
from memory.drafts.payloads import check_json
from memory.drafts.prepared import prepare
from memory.errors import InvalidError
from memory.facts.facts import MOST, Statement
from memory.lineage.wordings import MOST_KEPT
from memory.models import TYPES
from memory.notebooks.checks import check_title
from memory.preferences.document import parse_kept
from memory.spaces.sharing import MOST_FOUND, check_tag
from memory.spaces.spaces import check_slug
from memory.texts.fingerprints import text_digest
from memory.transfer.export_file import LARGEST, Row

# Counted anew, mostly by the database itself as rows come in.
_COUNTED = {"conversations": {"message_count": 0, "total_tokens": 0, "episodes": 0, "tokens_indexed": 0}}

# Raises `InvalidError` with the field that is wrong, and may add to the row what is worked out of it.
Check = Callable[[Row], object]


def prepared(section: str, row: Row, check: Check | None, now: datetime) -> Row:
    """Return a row with what an export leaves out because it is worked out from the rest.

    Raises `InvalidError` with the field that cannot be kept.
    """
    check_not_ahead(row.get("created_at"), now)
    row |= _COUNTED.get(section, {})
    for name, value in row.items():
        if isinstance(value, dict):
            check_json(value, name, most=LARGEST, for_index=name != "payload")
    if "needs_embedding" in row:
        row["needs_embedding"] = True
    if check is not None:
        check(row)
    if section == "memories":
        # Checks what is stored as the write path does.
        tags, sources = tuple(row["tags"]), tuple(row["source_ids"])
        draft = Draft(row["text"], row["type"], row["role"], tags, source_ids=sources, stored=True)
        row |= {**prepare(draft).columns, "source_ids": list(draft.source_ids), "supersedes": None}
    return row


def _check_fact(row: Row) -> None:
    said = Statement(row["subject"], row["predicate"], row["object"], row["confidence"])
    row |= {**{name: getattr(said, name) for name in MOST}, **said.keys}


def _check_pair(row: Row) -> None:
    if row["memory_id"] == row["older_id"]:
        raise InvalidError("older_id", "must be another memory")


def _check_revision(row: Row) -> None:
    _check_said(row)
    check_choice("type", row["type"], TYPES)


def checks() -> dict[str, Check]:
    """Return what checks the rows of one document, by their section, one row after the other.

    That is what the columns' types leave open, and pages rely on.
    """
    return {
        **_CHECKS,
        "shares": _at_most(MOST_FOUND, "shares", "found_in", _check_share),
        "wordings": _at_most(MOST_KEPT, "wordings", "memory_id", _check_wording),
    }


def _at_most(most: int, section: str, field: str, check: Check) -> Check:
    """Return a check that lets no more than so many rows have the same id in a field."""
    counts: Counter[UUID] = Counter()

    def check_and_count(row: Row) -> None:
        check(row)
        counts[row[field]] += 1
        if counts[row[field]] > most:
            raise InvalidError(field, f"must be the same in at most {most} {section}")

    return check_and_count


def _check_share(row: Row) -> None:
    if row["space_id"] == row["found_in"]:
        raise InvalidError("found_in", "must be another space")
    check_tag(row["tag"])


def _check_wording(row: Row) -> None:
    _check_said(row)
    row["text_digest"] = text_digest(row["text"])


def _check_said(row: Row) -> None:
    # An empty text is refused: a text that says what a forgotten memory said is blanked, and every empty text would say
    # the same.
    check_text(row["text"])


_CHECKS: dict[str, Check] = {
    "themes": lambda row: check_slug(row["slug"]),
    "revisions": _check_revision,
    "notebooks": lambda row: check_title(row["title"]),
    "preferences": lambda row: parse_kept(row["document"]),
    "facts": _check_fact,
    "possible_updates": _check_pair,
}
