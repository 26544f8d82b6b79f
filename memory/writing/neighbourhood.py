"""The rows of a space that new texts may meet: what one of them repeats, and what it may update."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from operator import attrgetter

from sqlalchemy import ARRAY, BigInteger, ColumnElement, and_, cast, func, or_, select
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.orm import Session

from memory.drafts.drafts import Draft
from memory.drafts.prepared import Prepared
from memory.forgetting.forget import set_aside
from memory.models import Memory, Space
from memory.texts.alike import Alike
from memory.texts.difference import compare, read
from memory.texts.fingerprints import NEAR, bands, from_signed, hamming, to_signed
from memory.texts.prefilter import Sketch, may_be_one, sketch
from memory.writing.trace import Neighbour

# A draft that may update many memories is linked to the latest few: the user has to decide on each.
MOST_LINKS = 3
# How many whole texts a draft is compared with, of those that it may repeat and of those that it may update, and how
# many a batch keeps in mind.
_READ = 8


class Neighbourhood:
    """What a batch may meet in a locked space: rows that say nearly the same, those that the batch adds included."""

    def __init__(self, session: Session, space: Space, now: datetime) -> None:
        self._session, self._space, self._now = session, space, now
        self._by_digest: dict[bytes, Memory] = {}
        self._alike = Alike()
        self._by_template: dict[bytes, deque[Memory]] = {}
        # Kept as sketches, as the words of a thousand texts that are all compared with each other would fill the
        # memory.
        self._sketches: dict[str, Sketch] = {}
        self._read = lru_cache(maxsize=_READ)(read)

    def load(self, items: Sequence[Prepared]) -> None:
        """Fetch every row that a draft may meet: by digest, by one of the four bands, by template."""
        near = self._load_near(items)
        # An expired memory is set aside first, and a draft that says the same is stored as new: merged into it, what it
        # said before would come back.
        expired = set_aside(self._session, self._space.user_id, near, self._now)
        for memory in near:
            if memory.id not in expired:
                self._add_near(memory)
        for memory in self._load_by_template(items):
            self._add_by_template(memory)

    def add(self, memory: Memory) -> None:
        """Add a row that was just made: a later draft of the batch may meet it."""
        self._add_near(memory)
        self._add_by_template(memory)

    def meet(self, item: Prepared) -> tuple[Memory | None, list[Neighbour]]:
        """Return the row that a draft repeats, None for none, and its neighbours: that row, then what it may update."""
        exact = self._by_digest.get(item.digest)
        same = exact or self._same(item)
        # One more than are read, as the one that the draft merges into may be among them.
        others = [memory for memory in self._alike.newest(item.simhash, _READ + 1) if memory is not same]
        if same is None:
            return None, self._rivals(item, [*others, *self._by_template.get(item.template or b"", ())])
        merged = Neighbour(same.id, _distance(same, item), same is exact, None)
        return same, [merged, *self._rivals(item, others)]

    def _load_near(self, items: Sequence[Prepared]) -> Sequence[Memory]:
        columns = (Memory.band0, Memory.band1, Memory.band2, Memory.band3)
        hashes = {item.simhash for item in items if item.simhash}
        wanted = [{bands(each)[n] for each in hashes} for n in range(4)]
        shared = or_(*(column.in_(values) for column, values in zip(columns, wanted, strict=True)))
        statement = select(Memory).where(
            Memory.user_id == self._space.user_id,
            Memory.space_id == self._space.id,
            Memory.status == "active",
            or_(Memory.text_digest.in_([item.digest for item in items]), and_(shared, _is_near(hashes))),
        )
        found = self._session.scalars(statement.execution_options(populate_existing=True))
        return sorted(found, key=attrgetter("id"))

    def _load_by_template(self, items: Sequence[Prepared]) -> Iterable[Memory]:
        """Return the newest few rows of each template, the oldest first, however many share it."""
        templates = {item.template for item in items if item.template is not None}
        if not templates:
            return ()
        place = func.row_number().over(partition_by=Memory.template_digest, order_by=Memory.id.desc())
        placed = (
            select(Memory.id, place.label("place"))
            .where(
                Memory.user_id == self._space.user_id,
                Memory.space_id == self._space.id,
                Memory.status == "active",
                Memory.unexpired(self._now),
                Memory.template_digest.in_(sorted(templates)),
            )
            .subquery()
        )
        newest = self._session.scalars(select(placed.c.id).where(placed.c.place <= MOST_LINKS)).all()
        if not newest:
            return ()
        # By id in a second look: joined in the first, the whole rows would be sorted along.
        wanted = select(Memory).where(Memory.user_id == self._space.user_id, Memory.id.in_(newest)).order_by(Memory.id)
        return self._session.scalars(wanted)

    def _add_near(self, memory: Memory) -> None:
        self._by_digest[memory.text_digest] = memory
        self._alike.add(memory)

    def _add_by_template(self, memory: Memory) -> None:
        if memory.template_digest is not None:
            self._by_template.setdefault(memory.template_digest, deque(maxlen=MOST_LINKS)).append(memory)

    def _same(self, item: Prepared) -> Memory | None:
        """Return the nearest row that the draft repeats in other words; beyond a few that may be one with it, none."""
        fitting = self._alike.of_one_frame(item.draft.text, item.simhash)
        likely = (memory for memory in fitting if may_be_one(self._sketch(memory), self._sketch(item.draft)))
        # A few are compared at most: thousands of texts may differ in a name alone, and each would be read for each
        # other.
        return next((memory for memory in islice(likely, _READ) if self._differs(memory, item) is None), None)

    def _differs(self, memory: Memory, item: Prepared) -> str | None:
        return compare(self._read(memory.text), self._read(item.draft.text))

    def _sketch(self, said: Memory | Draft) -> Sketch:
        if said.text not in self._sketches:
            self._sketches[said.text] = sketch(self._read(said.text))
        return self._sketches[said.text]

    def _rivals(self, item: Prepared, others: Iterable[Memory]) -> list[Neighbour]:
        """Return the newest few of what the draft may update: near rows, and rows of the same template.

        SimHash sees short texts that differ in one word as far apart; their template is the same.
        """
        found: list[Neighbour] = []
        newest = sorted({memory.id: memory for memory in others}.values(), key=attrgetter("id"), reverse=True)
        # A few are read at most: a draft may be near hundreds of memories that it does not differ from.
        for memory in newest[:_READ]:
            if len(found) == MOST_LINKS:
                break
            if (differs_in := self._differs(memory, item)) is not None:
                found.append(Neighbour(memory.id, _distance(memory, item), exact=False, differs_in=differs_in))
        return found


def _is_near(hashes: Collection[int]) -> ColumnElement[bool]:
    """Return what is true of the rows near one of these: of texts made by one pattern thousands share a band."""
    one = func.unnest(cast([to_signed(each) for each in hashes], ARRAY(BigInteger))).column_valued("one")
    differing = func.bit_count(cast(Memory.simhash.bitwise_xor(one), BIT(64)))
    return select(one).where(differing <= NEAR).exists()


def _distance(memory: Memory, item: Prepared) -> int:
    return hamming(from_signed(memory.simhash), item.simhash)
