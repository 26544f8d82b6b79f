"""What is asked of summaries is answered by those that have its words."""

from __future__ import annotations

from datetime import UTC, datetime

from evals.dataset import Collection, DataSet, Item, Question
from evals.rolled_up import summed_up

KILN = ("The kiln reaches cone ten by noon", "The kiln is fired with gas", "The kiln door is bent")
LONG = "The kiln shelf is made of cordierite. " + "It was bought of Ada with the other shelves of the kiln. " * 40
MOON = "The moon landing was on television"


def test_an_item_is_answered_by_the_summary_that_has_its_words():
    items = tuple(Item(f"i{number}", text) for number, text in enumerate([*KILN, LONG, MOON]))
    asked = Question("q", "one", "What is the kiln fired with?", "studio", frozenset({"i1", "i3", "i4"}))
    data = summed_up(DataSet("golden", "pots", (Collection("studio", items),), (asked,)), datetime.now(UTC))
    (made,) = data.collections[0].items
    assert (made.type, all(each in made.text for each in KILN), MOON in made.text) == ("summary", True, False)
    # A part of the long one is there, and nobody could tell from that what the rest says.
    assert data.questions[0].expected == {made.id, "lost i3", "lost i4"}
    assert (data.kind, data.name) == ("rolled", "pots_rolled")


def test_a_collection_without_items_stays_one():
    data = summed_up(DataSet("golden", "pots", (Collection("studio"),), ()), datetime.now(UTC))
    assert data.collections == (Collection("studio"),)
