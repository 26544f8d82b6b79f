"""What belongs together is summed up together, in its own words, as much as there is room for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from retrieval.history.rollup import FEWEST, MOST, ROOM, grouped
from retrieval.words.tokens import count

MARCH = datetime(2025, 3, 5, 9, tzinfo=UTC)


@dataclass
class Note:
    number: int
    text: str = "Glaze needs two coats on the outside"
    tags: tuple[str, ...] = ()
    theme: str | None = None
    importance: float = 0.2
    created_at: datetime = MARCH
    id: UUID = field(init=False)

    def __post_init__(self):
        self.id = UUID(int=self.number)


def notes(number, first=1, **fields):
    return [Note(each, **fields) for each in range(first, first + number)]


def numbers(groups):
    return sorted(sorted(each.number for each in group.memories) for group in groups)


def test_what_has_the_same_theme_or_first_tag_belongs_together():
    pots = notes(3, tags=("pots", "clay"), theme="studio")
    bees = notes(4, first=10, tags=("bees", "clay"))
    groups, rest = grouped([*bees, *pots], {}, 0.0)
    assert (numbers(groups), rest) == ([[1, 2, 3], [10, 11, 12, 13]], [])
    assert {(group.about, group.theme) for group in groups} == {("studio", "studio"), ("bees", None)}


def test_too_few_are_left_as_they_are():
    few = notes(FEWEST - 1, tags=("bees",))
    assert grouped(few, {}, 0.0) == ([], few)


def test_too_many_make_several_in_the_order_of_their_days():
    many = [Note(each, tags=("bees",), created_at=MARCH - timedelta(days=each)) for each in range(1, 2 * MOST + 2)]
    groups, rest = grouped(many, {}, 0.0)
    assert ([len(group.memories) for group in groups], rest) == ([8, 8, 9], [])
    days = [each.created_at for group in groups for each in group.memories]
    assert days == sorted(days)


def test_without_theme_and_tag_what_is_near_belongs_together():
    near, far = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    slanted = np.array([0.6, 0.0, 0.8])
    mine = notes(7)
    vectors = dict(zip([each.id for each in mine], [near, far, slanted, near, far, near], strict=False))
    groups, rest = grouped(mine, vectors, 0.0)
    assert (numbers(groups), [each.number for each in rest]) == ([[1, 3, 4, 6]], [2, 5, 7])
    # By a model for which all texts are near, no more than half is.
    assert numbers(grouped(mine, vectors, 0.72)[0]) == [[1, 4, 6]]


def test_what_is_alone_with_its_tag_may_be_near_to_others():
    mine = [*notes(2, tags=("bees",)), *notes(1, first=3, tags=("honey",))]
    near = np.array([1.0, 0.0])
    assert numbers(grouped(mine, {each.id: near for each in mine}, 0.0)[0]) == [[1, 2, 3]]


def test_a_summary_says_when_and_of_what_and_names_its_sources():
    mine = [
        Note(1, "The kiln reaches cone ten by noon", ("pots", "heat"), importance=0.7),
        Note(2, "Glaze needs two coats on the outside", ("pots",), created_at=MARCH + timedelta(days=40)),
        Note(3, "Clay from Ada is too wet for big bowls", ("pots", "heat")),
    ]
    ((group,), _) = grouped(mine, {}, 0.0)
    draft = group.draft(group.extract(), UTC)
    assert draft.text.splitlines() == [
        "3 notes of 2025-03 to 2025-04, pots:",
        "- The kiln reaches cone ten by noon",
        "- Clay from Ada is too wet for big bowls",
        "- Glaze needs two coats on the outside",
    ]
    assert (draft.type, draft.role, draft.tags) == ("summary", "system", ("pots",))
    assert draft.source_ids == tuple(str(UUID(int=number)) for number in (1, 3, 2))
    assert (draft.importance, draft.created_at) == (0.7, MARCH + timedelta(days=40))


def test_a_summary_has_the_tags_that_all_of_its_sources_have():
    """What has a tag may be found in another space by it, and what lacks it may not."""
    told, kept = ("kitchen", "oven"), ("oven",)
    mine = [Note(each, f"Note {each} of the house", told, theme="house") for each in range(1, 6)]
    ((group,), _) = grouped([*mine, Note(6, "The bonus of March paid for it", kept, theme="house")], {}, 0.0)
    assert group.draft(group.extract(), UTC).tags == ("oven",)
    ((group,), _) = grouped(mine, {}, 0.0)
    assert group.draft(group.extract(), UTC).tags == told


def test_more_than_there_is_room_for_is_left_out():
    said = "Hive {} gave {} jars of honey in the summer, after rain" + ", and more rain" * 10
    mine = [Note(each, said.format(each, 7 * each), ("bees",)) for each in range(MOST)]
    ((group,), _) = grouped(mine, {}, 0.0)
    said = group.extract()
    assert ROOM - 60 < count(said) <= ROOM
    assert len(set(said.splitlines())) == len(said.splitlines())


@pytest.mark.parametrize("text", ["?!", "a" * 50_000, "日本語のメモです。" * 3])
def test_any_text_can_be_summed_up(text):
    ((group,), _) = grouped(notes(3, text=text, tags=("x",)), {}, 0.0)
    assert count(group.extract()) <= ROOM
    assert len(group.material(UTC)) < 16_100
