"""What the pages' forms may say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar, get_origin
from uuid import UUID

from flask import request
from pydantic import AfterValidator, BaseModel, Field, Json
from pydantic_core import PydanticCustomError
from werkzeug.datastructures import MultiDict

from memory.drafts.drafts import MAX_TAG_LENGTH, Draft
from memory.errors import InvalidError
from memory.models import DEFAULT_SPACE
from memory.reading.browse import Filters, Order
from retrieval.days.dates import local, midnight
from webapp.api.schemas import EmbeddingState, Limit, Line, MemoryStatus, MemoryType, Question
from webapp.context import utc_now, zone

F = TypeVar("F", bound=BaseModel)

PolicyName = Literal["balanced", "specified"]

# What the search page takes. A question stands in an address, and of those no server reads more than some thousands.
LONGEST_QUESTION = 2_000
# Bytes of a form, whoever sends it: a text or document of 64 KiB, with three characters for each byte, takes 192 KiB.
LARGEST_FORM = 1024 * 1024
# Bytes of a form with chats from elsewhere: some years of them, packed.
LARGEST_CHATS = 32 * 1024 * 1024


class SearchForm(BaseModel):
    """A question and what narrows it."""

    q: Question = ""
    space: Line | None = None
    types: list[MemoryType] = []
    tag: Annotated[Line, Field(max_length=MAX_TAG_LENGTH)] | None = None
    policy: PolicyName | None = None
    limit: Limit | None = None
    nearest: bool = False

    def chosen(self) -> dict[str, Any]:
        """Return what was chosen, as it stands in an address."""
        given = self.model_dump(exclude_none=True, exclude_defaults=True)
        if self.space == DEFAULT_SPACE:
            del given["space"]
        return {name: "true" if value is True else value for name, value in given.items()}


# What each order of the list has first.
ORDERS: dict[Order, str] = {
    "newest": "newest",
    "oldest": "oldest",
    "changed": "last changed",
    "important": "most important",
}


def _as_moment(given: datetime) -> datetime:
    """Return the moment, in UTC, at which clocks show what is given: those of the reader's zone where it names none."""
    try:
        return (given if given.tzinfo is not None else given.replace(tzinfo=zone())).astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("moment", "must be within the calendar") from None


class BrowseForm(BaseModel):
    """Which memories to list; `q` are words of theirs, the last of which may still be typed.

    `ids` are those that were ticked, packed, and `asked` is the search that a memory was opened from instead of a list.
    """

    q: Annotated[Line, Field(max_length=500)] | None = None
    space: Line | None = None
    theme: Line | None = None
    type: MemoryType | None = None
    tag: Line | None = None
    source: Line | None = None
    token: UUID | None = None
    since: Annotated[datetime, AfterValidator(_as_moment)] | None = None
    status: MemoryStatus | Literal["any"] = "active"
    embedding: EmbeddingState | None = None
    pinned: bool | None = None
    saved: bool | None = None
    credentials: bool | None = None
    older: int | None = Field(None, ge=1, le=36_500)
    unrecalled: int | None = Field(None, ge=1, le=36_500)
    order: Order = "newest"
    cursor: Line | None = None
    ids: Line | None = None
    asked: Line | None = None

    def to_filters(self, now: datetime) -> Filters:
        """Return the filters of the domain; `older` and `unrecalled` are days before `now`."""
        return Filters(
            space=self.space,
            theme=self.theme,
            type=self.type,
            tag=self.tag,
            source_id=self.source,
            token_id=self.token,
            stored_after=self.since,
            status=None if self.status == "any" else self.status,
            embedding=self.embedding,
            pinned=self.pinned,
            manually_saved=self.saved,
            credentials=self.credentials,
            created_before=now - timedelta(days=self.older) if self.older else None,
            words=self.q,
            unrecalled_since=now - timedelta(days=self.unrecalled) if self.unrecalled else None,
        )

    def chosen(self) -> dict[str, str]:
        """Return what was chosen, as it stands in a link to the next page."""
        given = self.model_dump(
            mode="json", exclude_none=True, exclude_defaults=True, exclude={"cursor", "ids", "asked"}
        )
        return {name: str(value).lower() if value is True else str(value) for name, value in given.items()}

    @property
    def place(self) -> dict[str, str]:
        """Return what leads back to this page of the list, or to the search."""
        if self.asked:
            return {"asked": self.asked}
        return self.chosen() | ({"cursor": self.cursor} if self.cursor else {})

    @property
    def since_here(self) -> str:
        """Return `since` as a field of a form has it, by the clocks of the reader's zone."""
        return "" if self.since is None else f"{local(self.since, zone()):%Y-%m-%dT%H:%M}"

    @property
    def in_order(self) -> str:
        """Return the order of the list in words."""
        return f"{ORDERS[self.order]} first"

    @property
    def narrows_further(self) -> bool:
        """Tell whether anything is chosen by what the page keeps folded."""
        return not self.chosen().keys() <= {"q", "space", "theme", "type", "order"}


class RememberForm(BaseModel):
    """A memory to store; tags are divided by commas. `message` is the id of one that it was said in."""

    text: str = ""
    message: UUID | None = None
    space: Line | None = None
    type: MemoryType = "note"
    theme: Line | None = None
    tags: str = ""
    last_day: Annotated[date, Field(le=date(9999, 12, 30))] | None = None
    saved: bool = False

    @property
    def expires_at(self) -> datetime | None:
        """Return the moment at which the last day is over; raises `InvalidError` where that has passed."""
        if self.last_day is None:
            return None
        over = midnight(self.last_day + timedelta(days=1), zone())
        if over <= utc_now():
            raise InvalidError("last_day", "must not have passed")
        return over

    def to_draft(self) -> Draft:
        """Return the checked draft; raises `InvalidError`."""
        return Draft(
            text=by_lines(self.text),
            type=self.type,
            theme=self.theme,
            tags=tuple(tags_in(self.tags)),
            manually_saved=self.saved,
            expires_at=self.expires_at,
        )


def tags_in(text: str) -> list[str]:
    """Return the tags of a field, where commas divide them."""
    return [tag.strip() for tag in text.split(",") if tag.strip()]


def last_day_of(expires_at: datetime | None) -> date | None:
    """Return the last day, by the calendar of the reader's zone, on which there is something that expires."""
    return None if expires_at is None else local(expires_at - timedelta(microseconds=1), zone()).date()


class ShownForm(BaseModel):
    """A form that says what its fields held when it was shown: a JSON object in the field `shown`."""

    shown: Json[dict[str, Any]] = {}

    def touched(self, given: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the fields `given` where the form changed them, else what they are `now`.

        So an older tab does not undo what was changed elsewhere since it was shown.
        """
        shown = {name: _as_sent_back(value) for name, value in self.shown.items()}
        changed = {name: value for name, value in given.items() if name not in shown or value != shown[name]}
        return {name: value for name, value in changed.items() if value != now[name]}


def _as_sent_back(value: Any) -> Any:
    """Return what comes of a value in a field of one line that nobody touches."""
    return re.sub(r"[\r\n]", "", value).strip() if isinstance(value, str) else value


def begun_with(default: str) -> str:
    """Return what the text of the form was begun with, `default` where it does not say."""
    # A script adds a blank, so that the browser keeps it with what was typed.
    return request.form.get("based_on", default).strip()


def by_lines(text: str) -> str:
    """Return a text with the line ends that a browser makes of it, and a form sends back as CR LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(form: type[F], values: MultiDict[str, str]) -> F:
    """Return the filled form; a blank field counts as left out. Raises pydantic's `ValidationError`."""
    lists = {name for name, field in form.model_fields.items() if get_origin(field.annotation) is list}
    given = {
        name: values.getlist(name) if name in lists else value.strip()
        for name, value in values.items()
        # `visitor` says whose page it is, which was checked before.
        if value.strip() and name != "visitor"
    }
    return form.model_validate(given)


# What other programs put at the end of an address that is shared through them; those that begin with `utm_` as well.
_TRACKING = frozenset({"fbclid", "gclid", "msclkid", "ref"})
# What an address of a list says beside its filters.
_PLACE = frozenset({"cursor", "after", "ids", "asked"})


def narrowed_by(form: type[F], *beside: str) -> F:
    """Return the form that the address of a list fills; `beside` are names of other fields in it.

    Raises pydantic's `ValidationError`, and `InvalidError` for a filter that there is not: without it the list would
    show what it was to leave out.
    """
    known = {*form.model_fields, *beside, *_TRACKING, "visitor"}
    given = [name for name, value in request.args.items() if value.strip() and not name.startswith("utm_")]
    if unknown := [name for name in given if name not in known]:
        there = ", ".join(name for name in form.model_fields if name not in _PLACE)
        raise InvalidError(unknown[0], f"there is no such filter here; there are {there}")
    return parse(form, request.args)
